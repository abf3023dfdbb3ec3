"""Intervals of how far each group is behind everyone else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from sklearn.utils import gen_batches

from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import nearest
from rawlsian._core.problem import Problem

DRAWS_AT_ONCE = 2**16

# Rows whose distances are computed at a time: in float64, whatever X is in.
ROWS_A_BLOCK = 1024

# Means of more rows are normal, whatever the costs: resampling them would take long,
# and the quantile of the absolute t statistic differs from Student's by order 1 / n.
MOST_RESAMPLED = 2_000


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


class Comparisons(NamedTuple):
    """Each group, and everyone else: all people outside the group.

    Attributes
    ----------
    groups, rests : MeanCosts
        Mean costs of each group, and of everyone else; if there is one group, there is
        nobody else, and the figures are NaN.
    is_small : ndarray of shape (n_groups,)
        True for groups with fewer than ``min_group`` people.
    is_compared : ndarray of shape (n_groups,)
        True if both the group and everyone else have that many.
    """

    groups: MeanCosts
    rests: MeanCosts
    is_small: NDArray[np.bool_]
    is_compared: NDArray[np.bool_]

    @classmethod
    def of_sums(cls, sums: NDArray[np.float64], min_group: int) -> Comparisons:
        """Compare groups by their sums; see ``MeanCosts.of_sums``."""
        groups = MeanCosts.of_sums(sums)
        if sums.shape[1] == 1:
            rests = MeanCosts(*np.full((3, 1), np.nan))
        else:
            rests = MeanCosts.of_sums(_sums_of_others(sums))
        least = min_group * (1 - 1e-9)  # equal weights of so many rows may round
        is_small = groups.sizes < least
        return cls(groups, rests, is_small, ~is_small & (rests.sizes >= least))

    @property
    def n_different(self) -> int:
        """Number of comparisons; with two groups, both are the same one."""
        n_compared = int(self.is_compared.sum())
        return 1 if len(self.is_small) == 2 else n_compared


def _sums_of_others(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums over all other groups, without a difference of large numbers."""
    nobody = np.zeros((len(sums), 1))
    before = np.hstack([nobody, np.cumsum(sums[:, :-1], axis=1)])
    after = np.hstack([nobody, np.cumsum(sums[:, :0:-1], axis=1)])[:, ::-1]
    return before + after


def student_reaches(
    found: Comparisons, confidence: float, inflation: NDArray[np.float64] | float = 1.0
) -> NDArray[np.float64]:
    """Return half the width of each interval of a group's cost less everyone else's.

    Intervals are Student's (Welch), times an inflation, and hold for all groups at once
    (Bonferroni). NaN for groups that are not compared.
    """
    total = found.groups.variances + found.rests.variances
    tail = (1 - confidence) / (2 * max(found.n_different, 1))
    reach = np.full_like(total, np.nan)
    reach[found.is_compared] = 0.0
    # Without any spread there is no doubt, and no number of degrees of freedom.
    has_spread = found.is_compared & (total > 0)
    quantile = stdtrit(_welch_freedom(found), 1 - tail)
    np.multiply(quantile * inflation, np.sqrt(total), out=reach, where=has_spread)
    return reach


def bootstrap_reaches(
    tables: list[NDArray[np.float64]],
    found: Comparisons,
    n_bootstrap: int,
    confidence: float,
    random_state: int | np.random.Generator | None,
) -> NDArray[np.float64]:
    """Return half the widths of bootstrap-t intervals; see ``student_reaches``.

    The bootstrap gives the quantile of Student's t statistic for one group and everyone
    else, both resampled. With more groups the quantile must be more extreme than a
    bootstrap can tell: its ratio to that of Student's distribution is kept.

    ``tables`` have, for each group, the terms of its sums: a column for each row.
    """
    rng, inflation = np.random.default_rng(random_state), np.ones(len(tables))
    student = stdtrit(_welch_freedom(found), (1 + confidence) / 2)
    for g in np.flatnonzero(found.is_compared).tolist():
        if len(tables) == 2 and g == 1:
            inflation[1] = inflation[0]  # the same comparison
            continue
        others = [table for h, table in enumerate(tables) if h != g]
        of_group, of_rest = (
            _resampled(some, MeanCosts(*(each[g] for each in mean)), n_bootstrap, rng)
            for some, mean in (([tables[g]], found.groups), (others, found.rests))
        )
        difference = found.groups.means[g] - found.rests.means[g]
        largest = _quantile_of_t(of_group, of_rest, difference, confidence)
        if np.isfinite(largest):
            inflation[g] = largest / student[g]
    return student_reaches(found, confidence, inflation)


def _welch_freedom(found: Comparisons) -> NDArray[np.float64]:
    """Return Welch's degrees of freedom of each group beside everyone else."""
    groups, rests = found.groups, found.rests
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = groups.variances**2 / (groups.sizes - 1)
        parts += rests.variances**2 / (rests.sizes - 1)
        total = groups.variances + rests.variances
        freedom: NDArray[np.float64] = total**2 / parts
    return freedom


def _quantile_of_t(
    of_group: MeanCosts, of_rest: MeanCosts, difference: float, confidence: float
) -> float:
    """Return the quantile of the absolute t statistic of resamples; NaN without any.

    A resample of equal costs has no such statistic.
    """
    error = np.sqrt(of_group.variances + of_rest.variances)
    known = (error > 0) & np.isfinite(error)
    if not known.any():
        return float("nan")
    off = np.abs(of_group.means - of_rest.means - difference)[known]
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


def tables_of_terms(
    problem: Problem, distances: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return for each group the terms of its sums, a column for each row with weight.

    ``distances`` are the squared distances of all rows to what serves them.
    """
    tables = []
    for g in range(problem.n_groups):
        rows = (problem.groups == g) & (problem.weights > 0)
        tables.append(sum_terms(distances[rows], problem.weights[rows]))
    return tables


def squared_distances(assignment: Assignment) -> NDArray[np.float64]:
    """Return the squared distance of each example to the mean that serves it."""
    X, centers = assignment.problem.X, assignment.centers
    if assignment.problem.utility == "nearest":
        return nearest(X, centers)[1]
    out = np.empty(len(X))
    for c in range(assignment.n_clusters):
        members = np.flatnonzero(assignment.labels == c)
        for block in gen_batches(len(members), ROWS_A_BLOCK):
            rows = members[block]
            out[rows] = ((X[rows] - centers[c]) ** 2).sum(axis=1)
    return out


def _resampled(
    tables: list[NDArray[np.float64]],
    found: MeanCosts,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> MeanCosts:
    """Return the mean costs of resamples of these rows, with replacement."""
    if sum(table.shape[1] for table in tables) <= MOST_RESAMPLED:
        rows = np.concatenate(tables, axis=1)
        return MeanCosts.of_sums(resampled_sums(rows, n_bootstrap, rng))
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
