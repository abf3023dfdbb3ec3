"""Options of an audit, checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

from rawlsian._tables.centers import NamedCenters, read_centers
from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.model import Model, load_model
from rawlsian._tables.request import check_labels, check_seed
from rawlsian._tables.serving import ServedBy, checked_served_by
from rawlsian.preprocessing.features import Feature


class AuditOptions(NamedTuple):
    """What is audited, what serves a person, and how groups are compared.

    ``centers`` are a model, or the path of a file of centers; None for an audit of the
    column of clusters.
    """

    centers: Model | str | None
    served_by: ServedBy
    min_group: int
    seed: int

    @classmethod
    def given(
        cls,
        labels: Any,
        centers: Any,
        served_by: str | None,
        min_group: int,
        seed: int,
    ) -> AuditOptions:
        """Return the options, or raise WrongUseError."""
        if (labels is None) == (centers is None):
            given = "neither is" if labels is None else "both are"
            raise WrongUseError(
                "an audit takes the clusters of --labels or the centers of --centers, "
                f"but {given} given; give one of them."
            )
        check_seed(seed)
        chosen = None if served_by is None else checked_served_by(served_by)
        if centers is None:
            check_labels(labels)
        elif chosen == "members":
            raise WrongUseError(
                "--served-by members goes with --labels; with --centers everyone is "
                "served by the nearest center, so leave it out."
            )
        default: ServedBy = "members" if centers is None else "center"
        return cls(
            _opened(centers), chosen or default, checked_min_group(min_group), seed
        )

    @property
    def model(self) -> Model | None:
        """The model whose encoding applies, if one is given."""
        return self.centers if isinstance(self.centers, Model) else None

    def named_centers(self, features: Sequence[Feature]) -> NamedCenters:
        """Return the centers in the encoding of these features."""
        if isinstance(self.centers, Model):
            centers = self.centers.centers
            names = self.centers.cluster_names or map(str, range(len(centers)))
            return NamedCenters(list(names), centers)
        assert self.centers is not None
        return read_centers(self.centers, features)


def _opened(centers: Any) -> Model | str | None:
    """Load a model, by the ending of its path; a file of centers is read later."""
    given = getattr(centers, "model", centers)
    if given is None or isinstance(given, Model):
        return given
    if not isinstance(given, (str, os.PathLike)):
        raise WrongUseError(
            "centers must be the path of a model or of a table of centers, a TableFit "
            f"or its model, got {type(centers).__name__}."
        )
    path = os.fspath(given)
    return load_model(path) if path.lower().endswith(".json") else path


def checked_min_group(min_group: Any) -> int:
    """Return the least number of people in a group that is compared."""
    is_whole = hasattr(min_group, "__index__") and not isinstance(min_group, bool)
    if not is_whole or index(min_group) < 2:
        raise WrongUseError(f"--min-group must be 2 or more, got {min_group!r}.")
    return index(min_group)
