"""Methods of a fit, each with its estimator and a sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from rawlsian._core.parameters import PoolingStrength
from rawlsian._estimators.fair_lloyd import FairLloyd
from rawlsian._estimators.kmeans import RawlsianKMeans
from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.serving import ServedBy

WALK = (
    "The start is the best k-means found, or the clusters of --start. From there "
    "{how}; every step raises the lowest group utility, pooled if groups are pooled, "
    "and it ends when no step does. "
)
SERVED: dict[ServedBy, str] = {
    "members": "Centers are the means of their clusters, and a person need not be in "
    "the cluster of the nearest one.",
    "center": "Centers are the means of the people assigned to them; everyone is then "
    "in the cluster of the nearest center, so nobody is held in one that serves them "
    "worse.",
}
SEARCH = (
    "Beside the best k-means found {name} searches for a "
    "clustering in which the utility of the worst-off group is as high as possible; "
)
FREE = "centers may lie anywhere, and everyone is in the cluster of the nearest one."
MEANS = (
    "centers are the means of their clusters, and a person need not be in the cluster "
    "of the nearest one."
)


class Method(NamedTuple):
    """How clusters are made fairer.

    Attributes
    ----------
    sentence : str
        Describes it on a page.
    solver : callable or None
        Makes an estimator of the number of clusters; None where the method is an
        operator that starts from k-means.
    has_free_centers : bool
        True if centers may lie anywhere, and everyone is with the nearest.
    takes_pooling : bool
        True if it can pool the costs of groups.
    """

    sentence: str
    solver: Callable[..., Any] | None = None
    has_free_centers: bool = False
    takes_pooling: bool = True


def _operator(how: str) -> Method:
    return Method(WALK.format(how=how))


def _search(name: str) -> str:
    return SEARCH.format(name=name)


METHODS = {
    "rawls": _operator(
        "people are reassigned, many at a time where that helps, one or two at a time, "
        "or by founding a cluster elsewhere"
    ),
    "R1": _operator("R1, the paper's first operator, reassigns one person at a time"),
    "R2": _operator("R2, the paper's second operator, reassigns two at a time"),
    "R1+R2": _operator("one or two people are reassigned at a time"),
    "R2-exhaustive": _operator("the best of all pairs of people is reassigned"),
    "batch": _operator("many people are reassigned at a time"),
    "relocate": _operator("a cluster is taken apart and founded elsewhere"),
    "kmeans-free": Method(_search("kmeans-free") + FREE, RawlsianKMeans, True),
    "kmeans-mean": Method(
        _search("kmeans-mean") + MEANS, partial(RawlsianKMeans, centers="mean")
    ),
    "fair-lloyd": Method(_search("fair-lloyd") + FREE, FairLloyd, True, False),
}


def describe(method: str, served_by: ServedBy) -> str:
    """Return the paragraph of a page on the method."""
    how = METHODS[method]
    return how.sentence if how.solver else how.sentence + SERVED[served_by]


def pooling_of(method: str | None, pooling: PoolingStrength | None) -> PoolingStrength:
    """Return the pooling of a method: one that was asked for, or chosen by "cv"."""
    if method is None or METHODS[method].takes_pooling:
        return "cv" if pooling is None else pooling
    if pooling not in (None, 0):
        raise WrongUseError(
            f"--pooling {pooling} does not go with --method {method}; leave it out, or "
            "take --method kmeans-free."
        )
    return 0.0


def serving_of(method: str | None, served_by: ServedBy | None) -> ServedBy:
    """Return what serves a person: as asked for, or as the method has it."""
    if method is None or METHODS[method].solver is None:
        return served_by or "center"
    if served_by is not None:
        raise WrongUseError(
            f"--served-by {served_by} goes with methods that reassign people, such as "
            f"rawls; with --method {method} leave it out."
        )
    return "center" if METHODS[method].has_free_centers else "members"
