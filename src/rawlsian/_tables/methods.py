"""Methods of a fit, each with its estimator and a sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from rawlsian._core.parameters import PoolingStrength
from rawlsian._core.problem import Utility
from rawlsian._estimators.fair_lloyd import FairLloyd
from rawlsian._estimators.kmeans import RawlsianKMeans
from rawlsian._tables.errors import WrongUseError

WALK = (
    "The start is the best of ten runs of k-means. From there {how}; every step raises "
    "the lowest group utility, pooled if groups are pooled, and it ends when no step "
    "does. "
)
SERVED: dict[Utility, str] = {
    "assigned": "Centers are the means of their clusters, and a person need not be in "
    "the cluster of the nearest one.",
    "nearest": "Centers are the means of the people assigned to them; everyone is then "
    "in the cluster of the nearest center, so nobody is held in one that serves them "
    "worse.",
}
SEARCH = (
    "The start is the best of ten runs of k-means. Beside it {name} searches for a "
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


def describe(method: str, utility: Utility) -> str:
    """Return the paragraph of a page on the method."""
    how = METHODS[method]
    return how.sentence if how.solver else how.sentence + SERVED[utility]


def pooling_of(method: str, pooling: PoolingStrength | None) -> PoolingStrength:
    """Return the pooling of a method: one that was asked for, or chosen by "cv"."""
    if METHODS[method].takes_pooling:
        return "cv" if pooling is None else pooling
    if pooling not in (None, 0):
        raise WrongUseError(
            f"--pooling {pooling} does not go with --method {method}; leave it out, or "
            "take --method kmeans-free."
        )
    return 0.0


def utility_of(method: str, utility: Utility | None) -> Utility:
    """Return the utility of a method: one that was asked for, or its own."""
    how = METHODS[method]
    if how.solver is None:
        return utility or "nearest"
    if utility is not None:
        raise WrongUseError(
            f"--utility {utility} goes with methods that reassign people, such as "
            f"rawls; with --method {method} leave it out."
        )
    return "nearest" if how.has_free_centers else "assigned"
