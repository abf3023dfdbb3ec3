"""Comparison of a result with a bound: `bound_`, `gap_closed_` and `proved_gap_`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rawlsian._core.problem import Problem
from rawlsian._search.crossing import thorough_search
from rawlsian._search.fair_lloyd import FairRuns
from rawlsian._search.partitions import best_partitions, costs_of
from rawlsian._support.callers import warn_caller
from rawlsian._support.interruption import keeps_partial
from rawlsian.bounds.bound import CLOSED
from rawlsian.bounds.group import group_bound_of
from rawlsian.bounds.proved import proved_bound_of

WhichBound = Literal["group", "proved"] | None

# A cost up to this, relative to the largest squared norm of a row, is rounding.
ROUNDING = 1e-24


def check_which_bound(bound: object) -> None:
    """Raise ValueError unless bound is None, "group" or "proved"."""
    if bound not in (None, "group", "proved"):
        raise ValueError(
            f"bound must be None, 'group' or 'proved', got {bound!r}; it is the bound "
            "to compare the result with."
        )


def forget_gap(estimator: Any) -> None:
    """Delete attributes of an earlier fit that this one may not set."""
    for name in (
        "bound_",
        "gap_closed_",
        "proved_gap_",
        "proved_optimal_",
        "group_weights_",
        "pooling_cv_",
    ):
        if hasattr(estimator, name):
            delattr(estimator, name)


class optional_bound:  # noqa: N801, a context manager
    """Warn if Ctrl-C ends the computation of the bound: the clusters are final.

    It is a class because the warning would point at the frame of ``contextlib``.
    """

    def __enter__(self) -> None:
        """Start the computation."""

    def __exit__(self, kind: object, *_: object) -> bool:
        """Turn Ctrl-C into a warning."""
        if kind is not KeyboardInterrupt or not keeps_partial():
            return False
        warn_caller(
            "Interrupted; there is no bound_, but labels_ are final.",
            ConvergenceWarning,
        )
        return True


def set_gap(
    estimator: Any,
    problem: Problem,
    centers: NDArray[np.float64],
    cost: float,
    start: float,
    rng: np.random.RandomState,
    group_weights: NDArray[np.float64] | None = None,
) -> None:
    """Set `bound_` and `gap_closed_`; if proved, `proved_gap_`, `proved_optimal_`.

    ``cost`` and ``start`` are the largest mean costs of a group, now and before.
    """
    if estimator.bound == "group":
        bound = group_bound_of(problem, len(centers), rng, known=centers)
    else:
        bound = proved_bound_of(
            problem, len(centers), rng, lam=group_weights, known_cost=cost
        )
    estimator.bound_ = replace(bound, known_cost=cost)
    left, nothing = start - bound.cost, ROUNDING * float(problem.norms.max())
    estimator.gap_closed_ = 1.0 if left <= nothing else (start - cost) / left
    if bound.is_proved:
        gap = cost / bound.cost - 1 if bound.cost > 0 else np.inf
        estimator.proved_gap_ = 0.0 if cost <= nothing else gap
        estimator.proved_optimal_ = estimator.proved_gap_ <= CLOSED


def utilitarian_cost(
    problem: Problem, max_iter: int, n_clusters: int, rng: np.random.RandomState
) -> float:
    """Search the best plain k-means; return its largest mean group cost.

    The problem's max_distance must be 0.
    """
    everyone = problem.as_one_group()
    found = thorough_search(FairRuns(everyone, max_iter), n_clusters, rng)
    centers = found.centers[:1] + everyone.shift
    return float(costs_of(problem, best_partitions(problem, centers, 1)[0]).max())
