"""Intervals of how far each group is behind the best-off group."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import nearest

DRAWS_AT_ONCE = 2**16

# Means of groups with more rows are normal, whatever the costs: resampling them would
# take long and show nothing else.
MOST_RESAMPLED = 10_000


class MeanCosts(NamedTuple):
    """Mean costs of groups, or of resamples of a group, and how exact they are.

    Attributes
    ----------
    means : ndarray
        Mean costs.
    variances : ndarray
        Sampling variances of the means; infinite if there is one row.
    sizes : ndarray
        Effective numbers of rows: the square of the sum of the weights, divided by the
        sum of their squares.
    """

    means: NDArray[np.float64]
    variances: NDArray[np.float64]
    sizes: NDArray[np.float64]

    @classmethod
    def of_sums(cls, sums: NDArray[np.float64]) -> MeanCosts:
        """Return means from sums of w, w d, w^2, w^2 d, w^2 d^2 (weight, distance)."""
        weight, cost, squared, first, second = sums
        means, sizes = cost / weight, weight**2 / squared
        spread = np.maximum(second - 2 * means * first + means**2 * squared, 0.0)
        freedom = sizes - 1
        known = freedom > 1e-9  # equal weights of one row may round
        variances = np.full_like(means, np.inf)
        np.divide(
            spread / weight**2 * sizes, freedom, out=variances, where=known
        )  # rows drawn with replacement, unbiased
        return cls(means, variances, sizes)


def bootstrap_intervals(
    assignment: Assignment,
    n_bootstrap: int,
    confidence: float,
    random_state: int | np.random.Generator | None,
) -> NDArray[np.float64]:
    """Return bootstrap-t intervals of U(best) - U(g), resampling within each group.

    The bootstrap gives the quantile of Student's t statistic for one pair of groups.
    With more groups the quantile must be more extreme than a bootstrap can tell: its
    ratio to that of Student's distribution is kept.
    """
    n_groups = assignment.problem.n_groups
    if n_bootstrap == 0:
        return np.full((n_groups, 2), np.nan)
    tables = _tables_of_sums(assignment)
    found = MeanCosts.of_sums(np.column_stack([each.sum(axis=1) for each in tables]))
    # The order of the utilities decides: means here may be rounded otherwise.
    order = np.argsort(assignment.utilities, kind="stable")[::-1]
    best, rng = int(order[0]), np.random.default_rng(random_state)
    inflation = np.ones(n_groups)
    of_best = _resampled(tables[best], n_bootstrap, rng)
    for g in map(int, order[1:]):
        of_group = _resampled(tables[g], n_bootstrap, rng)
        gap = found.means[g] - found.means[best]
        largest = _quantile_of_t(of_group, of_best, gap, confidence)
        freedom = _welch_freedom(found, best)[g]
        if np.isfinite(largest):
            inflation[g] = largest / stdtrit(freedom, (1 + confidence) / 2)
    behind = assignment.utilities[best] - assignment.utilities
    return _around(behind, found, best, confidence, inflation)


def student_intervals(found: MeanCosts, confidence: float) -> NDArray[np.float64]:
    """Return Student intervals that hold for all pairs of groups at once."""
    best = int(np.argmin(found.means))
    behind = found.means - found.means[best]
    return _around(behind, found, best, confidence, np.ones(len(behind)))


def _around(
    behind: NDArray[np.float64],
    found: MeanCosts,
    best: int,
    confidence: float,
    inflation: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return intervals around ``behind``, Bonferroni's for all pairs of groups.

    The best group is picked from the data, so intervals must hold for all pairs.
    """
    n_pairs = max(len(behind) * (len(behind) - 1) / 2, 1)
    total = found.variances + found.variances[best]
    quantile = stdtrit(
        _welch_freedom(found, best), 1 - (1 - confidence) / (2 * n_pairs)
    )
    reach = np.zeros_like(behind)
    # Without any spread there is no doubt, and no number of degrees of freedom.
    np.multiply(quantile * inflation, np.sqrt(total), out=reach, where=total > 0)
    reach[np.isinf(total)] = np.inf
    reach[best] = 0.0
    return np.column_stack([behind - reach, behind + reach])


def _welch_freedom(found: MeanCosts, best: int) -> NDArray[np.float64]:
    """Return Welch's degrees of freedom of each group beside the best."""
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = found.variances**2 / (found.sizes - 1)
        total = found.variances + found.variances[best]
        freedom: NDArray[np.float64] = total**2 / (parts + parts[best])
    return freedom


def _quantile_of_t(
    of_group: MeanCosts, of_best: MeanCosts, gap: float, confidence: float
) -> float:
    """Return the quantile of the absolute t statistic of resamples; NaN without any.

    A resample of equal costs has no such statistic.
    """
    error = np.sqrt(of_group.variances + of_best.variances)
    known = (error > 0) & np.isfinite(error)
    if not known.any():
        return float("nan")
    off = np.abs(of_group.means - of_best.means - gap)[known]
    return float(np.quantile(off / error[known], confidence))


def sum_terms(
    distances: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the terms of the five sums of ``MeanCosts.of_sums``, a column per row."""
    squared = weights**2
    return np.stack([
        weights, weights * distances, squared, squared * distances,
        squared * distances**2,
    ])  # fmt: skip


def _tables_of_sums(assignment: Assignment) -> list[NDArray[np.float64]]:
    """Return for each group what ``MeanCosts.of_sums`` sums, a column for each row.

    Rows without weight are left out.
    """
    problem, distances = assignment.problem, _squared_distances(assignment)
    tables = []
    for g in range(problem.n_groups):
        rows = (problem.groups == g) & (problem.weights > 0)
        tables.append(sum_terms(distances[rows], problem.weights[rows]))
    return tables


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


def _resampled(
    table: NDArray[np.float64], n_bootstrap: int, rng: np.random.Generator
) -> MeanCosts:
    """Return the mean costs of resamples of a group's rows, with replacement."""
    if table.shape[1] <= MOST_RESAMPLED:
        return MeanCosts.of_sums(resampled_sums(table, n_bootstrap, rng))
    found = MeanCosts.of_sums(table.sum(axis=1, keepdims=True))
    means = found.means + np.sqrt(found.variances) * rng.normal(size=n_bootstrap)
    return MeanCosts(means, np.broadcast_to(found.variances, means.shape), found.sizes)


def resampled_sums(
    table: NDArray[np.float64], n_bootstrap: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return sums over resamples of columns, of shape (n_sums, n_bootstrap).

    The table has a column for each row of a group; they are drawn with replacement.
    """
    n_rows = table.shape[1]
    sums = np.empty((len(table), n_bootstrap))
    at_once = max(DRAWS_AT_ONCE // n_rows, 1)
    for first in range(0, n_bootstrap, at_once):
        n_resamples = min(at_once, n_bootstrap - first)
        drawn = rng.integers(n_rows, size=(n_resamples, n_rows))
        drawn += n_rows * np.arange(n_resamples)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=drawn.size).astype(np.float64)
        # einsum, unlike BLAS, rounds alike on any number of threads
        sums[:, first : first + n_resamples] = np.einsum(
            "bi,ji->jb", counts.reshape(drawn.shape), table
        )
    return sums
