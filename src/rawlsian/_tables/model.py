"""Models: encoding and centers, saved as JSON, which cannot run anything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rawlsian._support.files import write_text
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.numbers import CURRENCIES
from rawlsian._tables.text import listed
from rawlsian._version import __version__
from rawlsian.preprocessing.features import Feature
from rawlsian.preprocessing.reading import AS_IT_IS, PER_CENT, SCALES, Reading, Scale

FORMAT, FORMAT_VERSION = "rawlsian-model", 2
# Versions that are read: the first had no readings and no weights.
READABLE_VERSIONS = (1, 2)
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
    group_readings : tuple of Reading
        How the sensitive columns are read; () as they are.
    weight : str or None
        The column of weights of that table.
    """

    features: list[Feature]
    centers: NDArray[np.float64]
    sensitive: tuple[str, ...]
    max_distance: float
    method: str
    identifier: str | None = None
    cluster_names: tuple[str, ...] | None = None
    group_readings: tuple[Reading, ...] = ()
    weight: str | None = None

    @property
    def groups(self) -> dict[str, Reading]:
        """How each sensitive column is read."""
        readings = self.group_readings or (AS_IT_IS,) * len(self.sensitive)
        return dict(zip(self.sensitive, readings, strict=True))

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
            "group_readings": [each._asdict() for each in self.group_readings],
            "weight": self.weight,
            "features": [
                feature._asdict() | {"reading": feature.reading._asdict()}
                for feature in self.features
            ],
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
    if content.get("version") not in READABLE_VERSIONS:
        raise TableError(
            f"{path!r} is a model of version {content.get('version')!r}, but this "
            f"rawlsian reads versions {listed(list(map(str, READABLE_VERSIONS)))}; use "
            "the rawlsian that wrote it."
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
    readings = tuple(map(_reading, _list(content.get("group_readings", []))))
    if len(readings) not in (0, len(sensitive)):
        raise ValueError("it does not say how each sensitive column is read")
    weight = content.get("weight")
    return Model(
        features, centers, sensitive, max_distance, method, identifier, clusters,
        readings, None if weight is None else str(weight),
    )  # fmt: skip


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
        reach=_finite(content.get("reach", 1.0)),
        reading=_reading(content.get("reading", {})),
    )


def _reading(content: dict[str, Any]) -> Reading:
    given = AS_IT_IS._asdict() | content
    spellings = given["spellings"]
    reading = Reading(
        decimal=_one_of(given["decimal"], (".", ",")),
        thousands=_one_of(given["thousands"], ("", ",", ".", " ", "'")),
        unit=_one_of(given["unit"], ("", PER_CENT, *CURRENCIES)),
        scale=cast(Scale, _one_of(given["scale"], tuple(SCALES))),
        order=tuple(map(str, _list(list(given["order"])))),
        spellings=None
        if spellings is None
        else tuple((str(key), str(text)) for key, text in spellings),
        edges=tuple(map(_finite, given["edges"])),
    )
    if list(reading.edges) != sorted(set(reading.edges)):
        raise ValueError("bounds of groups are not ascending")
    if reading.decimal == reading.thousands:
        raise ValueError("one sign is both decimal and for thousands")
    return reading


def _one_of(value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"{value!r:.40} is none of {choices}")
    return str(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} is not a list")
    return value


def _finite(value: Any) -> float:
    number = float(value)
    if not isfinite(number):
        raise ValueError("it holds a number that is not finite")
    return number
