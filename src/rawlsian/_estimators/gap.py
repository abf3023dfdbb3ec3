"""How much of what could be gained was gained: what estimators tell of their result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem
from rawlsian.bounds.group import group_bound_of
from rawlsian.bounds.proved import proved_bound_of

WhichBound = Literal["group", "proved"] | None

# A cost that is this share of the largest squared norm of a row, or less, is rounding.
ROUNDING = 1e-24


def check_which_bound(bound: object) -> None:
    """Raise unless it is one of the bounds that can be asked for."""
    if bound not in (None, "group", "proved"):
        raise ValueError(
            f"bound must be None, 'group' or 'proved', got {bound!r}; it says with "
            "which bound the result is compared."
        )


def forget_gap(estimator: Any) -> None:
    """Drop what an earlier fit told, which may not be told this time."""
    for name in ("bound_", "gap_closed_", "proved_gap_", "group_weights_"):
        if hasattr(estimator, name):
            delattr(estimator, name)


def tell_gap(
    estimator: Any,
    problem: Problem,
    centers: NDArray[np.float64],
    cost: float,
    start: float,
    rng: np.random.RandomState,
    group_weights: NDArray[np.float64] | None = None,
) -> None:
    """Set bound_, gap_closed_ and proved_gap_, as far as they were asked for.

    ``cost`` and ``start`` are the largest mean costs of a group, now and before.
    """
    if estimator.bound == "group":
        bound = group_bound_of(problem, len(centers), rng, known=centers)
    else:
        bound = proved_bound_of(problem, len(centers), rng, lam=group_weights)
    estimator.bound_ = replace(bound, known_cost=cost)
    left, nothing = start - bound.cost, ROUNDING * float(problem.norms.max())
    estimator.gap_closed_ = 1.0 if left <= nothing else (start - cost) / left
    if bound.is_proved:
        gap = cost / bound.cost - 1 if bound.cost > 0 else np.inf
        estimator.proved_gap_ = 0.0 if cost <= nothing else gap
