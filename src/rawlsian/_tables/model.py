"""Models: encoding and centers, saved as JSON, which cannot run anything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._support.files import write_text
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._version import __version__
from rawlsian.preprocessing.features import Feature

FORMAT, FORMAT_VERSION = "rawlsian-model", 1
LARGEST_CENTER = 1e100


@dataclass(frozen=True, eq=False)
class Model:
    """Encoding and centers, to give new rows their nearest center.

    Attributes
    ----------
    features : list of Feature
        How the columns are encoded.
    centers : ndarray of shape (n_clusters, n_features)
        The centers, encoded so.
    sensitive : tuple of str
        The sensitive columns of the table that it was fitted on.
    max_distance : float
        The utility of a perfect fit.
    method : str
        Method of the fit.
    identifier : str or None
        The column that named the rows of that table.
    cluster_names : tuple of str or None
        Names of the clusters, if the fit began from clusters with names.
    """

    features: list[Feature]
    centers: NDArray[np.float64]
    sensitive: tuple[str, ...]
    max_distance: float
    method: str
    identifier: str | None = None
    cluster_names: tuple[str, ...] | None = None

    def save(self, path: str) -> None:
        """Write it as JSON, whole or not at all."""
        content = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "written_by": f"rawlsian {__version__}",
            "method": self.method,
            "sensitive": self.sensitive,
            "identifier": self.identifier,
            "max_distance": self.max_distance,
            "cluster_names": self.cluster_names,
            "features": [feature._asdict() for feature in self.features],
            "centers": self.centers.tolist(),
        }
        text = json.dumps(content, indent=1, allow_nan=False)
        write_text(path, text + "\n")


def load_model(path: str) -> Model:
    """Read a model, and check that it is one."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUseError(f"cannot read {path!r} ({error.strerror}).") from error
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise TableError(f"{path!r} is not a model; rawlsian fit --save writes one.")
    if content.get("version") != FORMAT_VERSION:
        raise TableError(
            f"{path!r} is a model of version {content.get('version')!r}, but this "
            f"rawlsian reads version {FORMAT_VERSION}; use the rawlsian that wrote it."
        )
    try:
        return _model(content)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TableError(
            f"the model {path!r} is damaged ({type(error).__name__}: {error})."
        ) from error


def _model(content: dict[str, Any]) -> Model:
    features = [_feature(each) for each in _list(content["features"])]
    names = [feature.name for feature in features]
    if not names or len(set(names)) < len(names):
        raise ValueError("it has no columns, or two of one name")
    sensitive = tuple(map(str, _list(content["sensitive"])))
    if not sensitive:
        raise ValueError("it has no sensitive column")
    centers = np.array(content["centers"], np.float64)
    width = sum(feature.width for feature in features)
    if centers.ndim != 2 or centers.shape[1] != width or not len(centers):
        raise ValueError(f"its centers have shape {centers.shape}, not (k, {width})")
    # Encoded rows lie between 0 and 1; squares of these must not overflow.
    if not (np.abs(centers) <= LARGEST_CENTER).all():
        raise ValueError("its centers are not finite, or too far away")
    max_distance, method = _finite(content["max_distance"]), str(content["method"])
    identifier = content["identifier"]
    if identifier is not None:
        identifier = str(identifier)
    given, clusters = content.get("cluster_names"), None
    if given is not None:
        clusters = tuple(map(str, _list(given)))
        if len(clusters) != len(centers) or len(set(clusters)) < len(clusters):
            raise ValueError("it does not name each cluster once")
    return Model(
        features, centers, sensitive, max_distance, method, identifier, clusters
    )


def _feature(content: dict[str, Any]) -> Feature:
    levels, fill = content["levels"], content["fill"]
    spread = _finite(content["spread"])
    if spread < 0:
        raise ValueError("a spread is below 0")
    return Feature(
        name=str(content["name"]),
        levels=None if levels is None else tuple(map(str, _list(levels))),
        lowest=_finite(content["lowest"]),
        spread=spread,
        fill=None if fill is None else _finite(fill),
    )


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} is not a list")
    return value


def _finite(value: Any) -> float:
    number = float(value)
    if not isfinite(number):
        raise ValueError("it holds a number that is not finite")
    return number
