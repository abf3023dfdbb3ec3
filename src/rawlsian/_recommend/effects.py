"""Effect of a clustering on people, beside the clustering that it may replace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import stdtrit

from rawlsian._core.nearest import nearest

# A person is nearer or farther if the squared distance changes by more than this,
# relative to the largest possible distance; a smaller change is rounding.
ROUNDING = 1e-9
# A squared distance up to the first, relative to the largest possible distance, or up
# to the second, relative to the largest squared norm of a center, is rounding.
NO_DISTANCE, NO_DIFFERENCE = 1e-24, 1e-28


class Served(NamedTuple):
    """Clusters of people, and squared distances to the centers that serve them.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        Cluster of each row.
    distances : ndarray of shape (n_rows,)
        Squared distance of each row to the center that serves it.
    """

    labels: NDArray[np.integer]
    distances: NDArray[np.float64]


def served_by(
    X: NDArray[np.float64],
    centers: NDArray[np.float64],
    labels: NDArray[np.integer] | None,
    max_distance: float,
) -> Served:
    """Return clusters and distances of rows; without labels, by the nearest center.

    Distances that are rounding become 0, so that no per cent of them is computed.
    """
    if labels is None:
        labels, distances = nearest(X, centers)
    else:
        distances = np.empty(len(X))
        for c in range(len(centers)):
            rows = labels == c
            distances[rows] = ((X[rows] - centers[c]) ** 2).sum(axis=1)
    norms = (centers**2).sum(axis=1)
    least = NO_DISTANCE * max_distance + NO_DIFFERENCE * float(norms.max())
    distances[distances <= least] = 0.0
    return Served(labels, distances)


class Sums(NamedTuple):
    """Sums over people, by group, from which an effect is computed.

    Sums of several blocks of rows can be added; where the blocks end changes nothing.

    Attributes
    ----------
    parts : ndarray of shape (2, 8, n_groups)
        Number of rows with weight, then sums of w, w d0, w d, w^2 d0^2, w^2 d0 d and
        w^2 d^2, and of w^2 (w: weight; d0, d: squared distance before and after), each
        in two parts that are to be added.
    nearer, farther : ndarray of shape (n_groups,)
        People whose squared distance falls, and rises.
    common : ndarray of shape (n_groups, n_clusters, n_clusters)
        People by cluster before and after.
    """

    parts: NDArray[np.float64]
    nearer: NDArray[np.float64]
    farther: NDArray[np.float64]
    common: NDArray[np.float64]

    @property
    def terms(self) -> NDArray[np.float64]:
        """The sums of shape (8, n_groups)."""
        return np.asarray(self.parts.sum(axis=0))

    def plus(self, other: Sums) -> Sums:
        """Return the sums over both sets of rows."""
        return Sums(*(ours + theirs for ours, theirs in zip(self, other, strict=True)))


def sum_up(
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    n_groups: int,
    n_clusters: int,
    before: Served,
    after: Served,
    max_distance: float,
    *,
    is_block: bool = False,
) -> Sums:
    """Sum up a clustering and the one before it over some rows.

    ``is_block`` is True if these are a block of the rows: so that other blocks give the
    same sums, each number is split into two, whose sums are without rounding.
    """
    d0, d, squared = before.distances, after.distances, weights**2
    columns = (
        (weights > 0).astype(np.float64), weights, weights * d0, weights * d,
        squared * d0**2, squared * d0 * d, squared * d**2, squared,
    )  # fmt: skip
    rise, least = d - d0, ROUNDING * max_distance
    shape = (n_groups, n_clusters, n_clusters)
    cells = np.ravel_multi_index((groups, before.labels, after.labels), shape)
    common = np.bincount(cells, weights, int(np.prod(shape))).reshape(shape)
    nearer, farther = weights * (rise < -least), weights * (rise > least)
    n_nearer, n_farther = (_by_group(groups, x, n_groups) for x in (nearer, farther))
    parts = np.zeros((2, len(columns), n_groups))
    for j, column in enumerate(columns):
        largest = max_distance ** (2 if j in (4, 5, 6) else 1)
        split = _split(column, largest) if is_block else (column,)
        for part, values in enumerate(split):
            parts[part, j] = _by_group(groups, values, n_groups)
    return Sums(parts, n_nearer, n_farther, common.astype(np.float64))


def _by_group(
    groups: NDArray[np.int32], values: NDArray[np.float64], n_groups: int
) -> NDArray[np.float64]:
    return np.asarray(np.bincount(groups, values, n_groups), np.float64)


def _split(
    values: NDArray[np.float64], largest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return multiples of a power of two, and of a smaller one, that make up values.

    A hundred million of them up to ``largest`` are added without rounding.
    """
    unit = 2.0 ** (np.ceil(np.log2(largest)) - 26)
    first = np.rint(values / unit) * unit
    small = unit * 2.0**-26
    return first, np.rint((values - first) / small) * small


@dataclass(frozen=True, eq=False)
class Effect:
    """Effect of a clustering on each group, beside the clustering before.

    Attributes
    ----------
    sums : Sums
        Sums over all people.
    is_small : ndarray of shape (n_groups,)
        True for groups with too few people for a statement.
    confidence : float
        Confidence of the intervals.
    """

    sums: Sums
    is_small: NDArray[np.bool_]
    confidence: float = 0.95

    @property
    def people(self) -> NDArray[np.float64]:
        """People of each group: sums of weights."""
        return np.asarray(self.sums.terms[1])

    @property
    def costs_before(self) -> NDArray[np.float64]:
        """Mean squared distance of each group before."""
        return np.asarray(self.sums.terms[2] / self.people)

    @property
    def costs(self) -> NDArray[np.float64]:
        """Mean squared distance of each group after."""
        return np.asarray(self.sums.terms[3] / self.people)

    @property
    def overall_before(self) -> float:
        """Mean squared distance of everyone before."""
        return float(self.sums.terms[2].sum() / self.people.sum())

    @property
    def overall(self) -> float:
        """Mean squared distance of everyone after."""
        return float(self.sums.terms[3].sum() / self.people.sum())

    @cached_property
    def changes(self) -> NDArray[np.float64]:
        """Change of each group's mean squared distance, in per cent."""
        return _change(self.sums.terms)

    @property
    def overall_change(self) -> float:
        """Change of everyone's mean squared distance, in per cent."""
        return float(_change(self._everyone)[0])

    @cached_property
    def intervals(self) -> NDArray[np.float64]:
        """Intervals of the changes, for all groups at once; NaN for small groups.

        The change of a group is a ratio of two means over the same people. Its error is
        that of the mean of ``d - ratio d0`` (delta method), times a quantile of
        Student's distribution, which Bonferroni's rule makes wide enough for all groups
        that are not small.

        Both clusterings are taken as given. If they were found with the same people,
        the gain of the group that they were found for is flattered, and the interval
        says nothing of new people: those are for ``NewPeople``.
        """
        n_large = max(int((~self.is_small).sum()), 1)
        reach = _reach(self.sums.terms, 1 - (1 - self.confidence) / n_large)
        reach[self.is_small] = np.nan
        return np.column_stack([self.changes - reach, self.changes + reach])

    @property
    def overall_interval(self) -> tuple[float, float]:
        """Interval of everyone's change, in per cent."""
        reach = float(_reach(self._everyone, self.confidence)[0])
        return self.overall_change - reach, self.overall_change + reach

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """Number of each cluster after, so that few people seem to move.

        Clusters are matched with those before by the people in common.
        """
        before, after = linear_sum_assignment(-self.sums.common.sum(axis=0))
        numbers = np.empty(len(after), np.intp)
        numbers[after] = before
        return numbers

    @property
    def moved(self) -> NDArray[np.float64]:
        """People of each group who are in another cluster than before."""
        common = self.sums.common.copy()
        common[:, self.numbers, np.arange(len(self.numbers))] = 0.0  # who stay
        return np.asarray(common.sum(axis=(1, 2)))

    @property
    def counts(self) -> NDArray[np.float64]:
        """People of each group in each cluster after, numbered by ``numbers``."""
        return np.asarray(self.sums.common.sum(axis=1).T[np.argsort(self.numbers)])

    @property
    def _everyone(self) -> NDArray[np.float64]:
        return np.asarray(self.sums.terms.sum(axis=1, keepdims=True))


def _change(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 100 (d / d0 - 1); 0 where both are 0, infinite where only d0 is."""
    before, after = terms[2], terms[3]
    changes = np.where(after > 0, np.inf, 0.0)
    np.divide(100 * (after - before), before, out=changes, where=before > 0)
    return changes


def _reach(terms: NDArray[np.float64], confidence: float) -> NDArray[np.float64]:
    """Return half the width of the interval of each change, in per cent."""
    n_rows, weight, before, after, first, mixed, second, squared = terms
    ratio = np.zeros_like(before)
    np.divide(after, before, out=ratio, where=before > 0)
    spread = np.maximum(second - 2 * ratio * mixed + ratio**2 * first, 0.0)
    effective = weight**2 / squared  # number of rows that count alike (Kish)
    freedom = np.maximum(np.minimum(effective, n_rows) - 1, 0.0)
    reach = np.full_like(before, np.inf)
    is_known = (freedom > 0) & (before > 0)
    error = np.sqrt(spread * effective / np.maximum(freedom, 1e-9))
    quantile = stdtrit(np.maximum(freedom, 1e-9), (1 + confidence) / 2)
    np.divide(100 * quantile * error, before, out=reach, where=is_known)
    return np.where(before == 0, 0.0, reach)
