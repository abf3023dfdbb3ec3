"""How much of what could be gained was gained: what estimators tell of their result."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rawlsian._problem import Problem
from rawlsian.bounds import Bound, best_group_bound, best_proved_bound

WhichBound = Literal["group", "proved"] | None


def check_which_bound(bound: object) -> None:
    """Raise unless it is one of the bounds that can be asked for."""
    if bound not in (None, "group", "proved"):
        raise ValueError(
            f"bound must be None, 'group' or 'proved', got {bound!r}; it says with "
            "which bound the result is compared."
        )


def tell_gap(
    estimator: Any,
    problem: Problem,
    utilities: NDArray[np.float64],
    start: float,
    rng: np.random.RandomState,
    group_weights: NDArray[np.float64] | None = None,
) -> None:
    """Set bound_, gap_closed_ and proved_gap_, as far as they were asked for."""
    if estimator.bound is None:
        return
    centers, reached = estimator.cluster_centers_, float(utilities.min())
    bound: Bound
    if estimator.bound == "group":
        bound = best_group_bound(problem, len(centers), rng, known=centers)
    else:
        bound = best_proved_bound(problem, len(centers), rng, lam=group_weights)
        cost = problem.max_distance - reached
        estimator.proved_gap_ = cost / bound.cost - 1 if bound.cost > 0 else np.inf
        if cost <= problem.tolerance:
            estimator.proved_gap_ = 0.0
    estimator.bound_ = bound
    left = bound.utility - start
    is_at_the_bound = left <= problem.tolerance
    estimator.gap_closed_ = 1.0 if is_at_the_bound else (reached - start) / left
