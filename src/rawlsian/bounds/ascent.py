"""Weights of groups that raise a bound: cutting planes within a trust region."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

# First radius in which lambda may move, its factors after a step that raises the bound
# and one that does not, and the largest number of steps.
RADIUS, WIDER, NARROWER, MAX_STEPS = 0.05, 2.0, 0.25, 10

# A step must promise this share of what is missing, else branching is worth more.
WORTHWHILE = 0.05

# Smaller weights of groups are set to 0 in a proved bound.
TRACE = 1e-6


class Plane(NamedTuple):
    """Bound for some lambda, and the cost of each group in what attains it.

    The bound is concave in lambda, and rises at most like the weighted sum of costs.
    """

    bound: float
    group_weights: NDArray[np.float64]
    costs: NDArray[np.float64]


def ascend(
    plane_of: Callable[[NDArray[np.float64]], Plane],
    group_weights: NDArray[np.float64],
    target: float,
    ends: float = np.inf,
) -> Plane:
    """Return the highest bound found, starting from these weights.

    No step begins when the bound is at the target, or after the time ``ends``.
    """
    best = plane_of(group_weights)
    planes, radius = [best], RADIUS
    while best.bound < target and len(planes) <= MAX_STEPS:
        if time.perf_counter() > ends:
            break
        lam, promised = highest(planes, best.group_weights, radius)
        if promised - best.bound < WORTHWHILE * (target - best.bound):
            break
        found = plane_of(without_traces(lam))
        planes.append(found)
        radius *= WIDER if found.bound > best.bound else NARROWER
        best = max(best, found, key=lambda plane: plane.bound)
    return best


def highest(
    planes: list[Plane], center: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.float64], float]:
    """Return lambda near the center where the lowest plane is highest, and how high.

    If the linear program cannot be solved, that is the center, and no promise.
    """
    n_groups = len(center)
    costs = np.array([plane.costs for plane in planes])
    scale = float(costs.max()) or 1.0  # the solver has absolute tolerances
    costs = costs / scale
    found = linprog(
        np.append(np.zeros(n_groups), -1.0),
        A_ub=np.column_stack([-costs, np.ones(len(costs))]), b_ub=np.zeros(len(costs)),
        A_eq=np.append(np.ones(n_groups), 0.0)[None], b_eq=[1.0],
        bounds=[(max(c - radius, 0.0), min(c + radius, 1.0)) for c in center]
        + [(None, None)],
    )  # fmt: skip
    if found.x is None:
        return center, -np.inf
    return found.x[:-1], scale * float(found.x[-1])


def without_traces(lam: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set to 0 the tiny weights that only give every cluster some mass."""
    kept = np.where(lam < TRACE, 0.0, lam)
    shares: NDArray[np.float64] = kept / kept.sum()
    return shares
