"""Intervals of how far each group is behind the best-off group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import nearest


def bootstrap_intervals(
    assignment: Assignment,
    n_bootstrap: int,
    confidence: float,
    random_state: int | np.random.Generator | None,
) -> NDArray[np.float64]:
    """Return percentile intervals of U(best) - U(g), resampling within each group."""
    problem, utilities = assignment.problem, assignment.utilities
    if n_bootstrap == 0:
        return np.full((problem.n_groups, 2), np.nan)
    intervals = np.zeros((problem.n_groups, 2))
    order = np.argsort(utilities, kind="stable")
    rng = np.random.default_rng(random_state)
    distances = _squared_distances(assignment)

    def drawn(g: int) -> NDArray[np.float64]:
        rows = (problem.groups == g) & (problem.weights > 0)
        return _resampled_means(
            distances[rows], problem.weights[rows], n_bootstrap, rng
        )

    n_pairs = problem.n_groups * (problem.n_groups - 1) / 2
    best = drawn(int(order[-1]))
    for g in order[:-1]:
        gaps = drawn(int(g)) - best  # utility is max_distance less distance
        if n_pairs == 1:
            intervals[g] = np.quantile(
                gaps, [(1 - confidence) / 2, (1 + confidence) / 2]
            )
        else:
            # The best group is picked from the data, so intervals must hold for all
            # pairs at once. These quantiles are too extreme for a bootstrap.
            reach = -ndtri((1 - confidence) / (2 * n_pairs)) * gaps.std()
            behind = utilities[order[-1]] - utilities[g]
            intervals[g] = behind - reach, behind + reach
    return intervals


def normal_intervals(
    costs: NDArray[np.float64], variances: NDArray[np.float64], confidence: float
) -> NDArray[np.float64]:
    """Return normal intervals that hold for all pairs of groups at once."""
    n_groups, best = len(costs), int(np.argmin(costs))
    n_pairs = max(n_groups * (n_groups - 1) / 2, 1)
    reach = -ndtri((1 - confidence) / (2 * n_pairs))
    reach = reach * np.sqrt(variances + variances[best])
    reach[best] = 0.0
    behind = costs - costs[best]
    return np.column_stack([behind - reach, behind + reach])


def _squared_distances(assignment: Assignment) -> NDArray[np.float64]:
    """Return the squared distance of each example to the mean that serves it."""
    X, centers = assignment.problem.X, assignment.centers
    if assignment.problem.utility == "nearest":
        return nearest(X, centers)[1]
    out = np.empty(len(X))
    for c in range(assignment.n_clusters):
        rows = assignment.labels == c
        out[rows] = ((X[rows] - centers[c]) ** 2).sum(axis=1)
    return out


def _resampled_means(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_bootstrap: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return weighted means of resamples of rows, with replacement."""
    means = np.empty(n_bootstrap)
    total = values * weights
    for resample in range(n_bootstrap):
        rows = rng.integers(len(values), size=len(values))
        means[resample] = total[rows].sum() / weights[rows].sum()
    return means
