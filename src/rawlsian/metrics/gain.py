"""Gain of the worst-off group over k-means, and costs of groups, with intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._engines.intervals import MeanCosts, resampled_sums, sum_terms
from rawlsian.metrics.refits import People

# Groups with fewer rows are taken to vary as everyone does, and have no interval.
FEW_ROWS = 10

# No resample is taken to have a lower mean cost, relative to that of the group.
LEAST_COST = 0.1


class Intervals(NamedTuple):
    """Costs of groups and gain, with intervals.

    Attributes
    ----------
    costs : ndarray of shape (n_groups, 2)
        Interval of each group's mean cost; NaN for small groups.
    gain : float
        Mean gain over the resamples, in per cent.
    gain_interval : tuple of float
        Interval of the gain.
    """

    costs: NDArray[np.float64]
    gain: float
    gain_interval: tuple[float, float]


def gain_of(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how many per cent the largest cost is below that of k-means.

    Costs have the shape (2, ..., n_groups): the estimator's, and those of k-means. NaN
    if only k-means fits everyone perfectly.
    """
    largest, of_kmeans = costs.max(axis=-1)
    ratio = np.where(largest == of_kmeans, 1.0, np.nan)
    np.divide(largest, of_kmeans, out=ratio, where=of_kmeans > 0)
    gains: NDArray[np.float64] = 100 * (1 - ratio)
    return gains


def intervals_of(
    people: People,
    held_out: NDArray[np.float64],
    by_refit: NDArray[np.float64],
    n_bootstrap: int,
    confidence: float,
    rng: np.random.Generator,
) -> Intervals:
    """Return intervals for new people of the fit on all rows.

    Parameters
    ----------
    people : People
        All rows.
    held_out : ndarray of shape (2, n_rows)
        Held-out cost of each row with weight: the estimator's, and that of k-means.
    by_refit : ndarray of shape (2, n_refits, n_groups)
        Mean costs of all rows with the centers of each refit.
    n_bootstrap, confidence, rng
        Number of resamples, confidence, and random numbers.

    Notes
    -----
    Two errors add up. People are drawn again within each group. For the gain,
    deviations from the mean are made longer as in Student's distribution; for costs
    they are turned round as in a bootstrap-t interval. The fit on all rows differs from
    the mean of the refits as refits differ from one another.
    """
    drawn = _resampled_groups(people, held_out, n_bootstrap, rng)
    gain = float(gain_of(drawn.means).mean())
    n_refits = by_refit.shape[1]
    noise = rng.standard_t(n_refits - 1, size=n_bootstrap)
    noise *= np.sqrt(1 + 1 / n_refits)
    ends = (1 - confidence) / 2, (1 + confidence) / 2
    gains = gain_of(drawn.longer) + noise * gain_of(by_refit).std(ddof=1)
    low, high = np.minimum(np.quantile(gains, ends), 100.0).tolist()
    spread = by_refit[0].std(axis=0, ddof=1)
    costs = np.quantile(drawn.costs + noise[:, None] * spread, ends, axis=0).T
    costs[_row_counts(people) < FEW_ROWS] = np.nan
    return Intervals(np.maximum(costs, 0.0), gain, (low, high))


def _row_counts(people: People) -> NDArray[np.intp]:
    """Return the number of rows with weight in each group."""
    return np.bincount(people.groups[people.present], minlength=len(people.group_names))


class _Drawn(NamedTuple):
    """Costs of groups in resamples.

    Attributes
    ----------
    means : ndarray of shape (2, n_bootstrap, n_groups)
        Mean costs with the estimator and with k-means.
    longer : ndarray of shape (2, n_bootstrap, n_groups)
        Mean costs with deviations that are spread as Student's t statistic is.
    costs : ndarray of shape (n_bootstrap, n_groups)
        Costs with the estimator whose quantiles are a bootstrap-t interval: the mean
        less its standard error times the t statistic of the resample.
    """

    means: NDArray[np.float64]
    longer: NDArray[np.float64]
    costs: NDArray[np.float64]


def _resampled_groups(
    people: People,
    costs: NDArray[np.float64],
    n_bootstrap: int,
    rng: np.random.Generator,
) -> _Drawn:
    """Return costs of resamples within each group."""
    groups, weights = people.groups[people.present], people.weights[people.present]
    means = np.stack([people.group_means(each, people.present) for each in costs])
    residuals = costs - means[:, groups]
    off, longer = np.empty((2, 2, n_bootstrap, means.shape[1]))
    studentized = np.empty(off.shape[1:])
    for g, n_rows in enumerate(_row_counts(people)):
        rows = groups == g if n_rows >= FEW_ROWS else slice(None)
        found = _deviations(residuals[:, rows], weights[rows], n_bootstrap, rng)
        as_few = np.sqrt(len(groups) / n_rows) if n_rows < FEW_ROWS else 1.0
        off[:, :, g] = found.off * as_few
        longer[:, :, g] = found.off * as_few * found.factors
        studentized[:, g] = means[0, g] - found.studentized
    means = means[:, None]
    least = LEAST_COST * means  # long deviations could make a cost negative
    return _Drawn(
        np.maximum(means + off, least), np.maximum(means + longer, least), studentized
    )


class _Deviations(NamedTuple):
    off: NDArray[np.float64]  # mean residuals: the estimator's, and those of k-means
    factors: NDArray[np.float64]  # that spread them as Student's t statistic is
    studentized: NDArray[np.float64]  # the estimator's t, times the standard error


def _deviations(
    residuals: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_bootstrap: int,
    rng: np.random.Generator,
) -> _Deviations:
    """Return mean residuals of resamples of rows."""
    table = np.vstack([sum_terms(residuals[0], weights), residuals[1] * weights])
    found = MeanCosts.of_sums(table[:5].sum(axis=1, keepdims=True))
    sums = resampled_sums(table, n_bootstrap, rng)
    again = MeanCosts.of_sums(sums[:5])
    freedom = max(float(found.sizes[0]) - 1, 1.0)
    factors = np.sqrt(found.sizes / rng.chisquare(freedom, size=n_bootstrap))
    ratio = np.zeros(n_bootstrap)
    np.divide(found.variances, again.variances, out=ratio, where=again.variances > 0)
    off = np.stack([again.means, sums[5] / sums[0]])
    return _Deviations(off, factors, again.means * np.sqrt(ratio))
