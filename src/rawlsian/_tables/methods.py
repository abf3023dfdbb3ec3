"""Methods of a fit, each with its estimator and a sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from rawlsian._estimators.fair_lloyd import FairLloyd
from rawlsian._estimators.kmeans import RawlsianKMeans

WALK = (
    "The start is the best of ten runs of k-means. From there {how}; every step raises "
    "the utility of the group that is worst off at that moment, and it ends when no "
    "step does. Centers are the means of their clusters, and a person need not be in "
    "the cluster of the nearest one."
)
SEARCH = (
    "The start is the best of ten runs of k-means. Beside it {name} searches a "
    "clustering with the utility of the worst-off group as high as it finds; "
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
    """

    sentence: str
    solver: Callable[..., Any] | None = None
    has_free_centers: bool = False


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
    "fair-lloyd": Method(_search("fair-lloyd") + FREE, FairLloyd, True),
}
