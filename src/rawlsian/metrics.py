"""How well a clustering serves each group."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import MaxDistance, Problem
from rawlsian._outofcore.audit import Served, served
from rawlsian._outofcore.problem import LargeProblem
from rawlsian._rows.opening import as_blocks, refuse_blocks

__all__ = [
    "Audit",
    "audit",
    "group_utilities",
    "least_advantaged",
    "skyline",
    "utility_gap",
    "utility_ratio",
]

FOUR_FIFTHS = 0.8


def group_utilities(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    *,
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
) -> NDArray[np.float64]:
    """Mean utility of each group, in the sorted order of the groups.

    U(g) is the mean over the members of g of ``max_distance`` less the squared
    distance to the mean of the cluster that they are assigned to.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The examples, as numbers.
    labels : array-like of shape (n_samples,)
        The cluster of each example: integers from 0 to k - 1, each in use.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        The group of each example; several columns mean their intersections.
    sample_weight : array-like of shape (n_samples,), default=None
        A row of weight w counts as w people.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit; "auto" is the squared diagonal of the bounding
        box of X.

    Returns
    -------
    ndarray of shape (n_groups,)
        Higher is better.

    Examples
    --------
    >>> from rawlsian import group_utilities
    >>> X = [[0.0], [2.0], [4.0], [4.0]]
    >>> group_utilities(X, [0, 0, 1, 1], ["a", "a", "b", "b"], max_distance=16)
    array([15., 16.])
    """
    return _assignment(
        X, labels, sensitive_features, sample_weight, max_distance
    ).utilities


def least_advantaged(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    *,
    sample_weight: ArrayLike | None = None,
) -> Hashable:
    """Name of the group with the lowest utility; of several, the first by name.

    Parameters are those of ``group_utilities``.

    Examples
    --------
    >>> from rawlsian import least_advantaged
    >>> least_advantaged([[0], [2], [4], [4]], [0, 0, 1, 1], ["a", "a", "b", "b"])
    'a'
    """
    assignment = _assignment(X, labels, sensitive_features, sample_weight, "auto")
    return _name(assignment.problem, int(np.argmin(assignment.utilities)))


def utility_gap(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Highest less lowest group utility; 0 when all groups are served alike.

    It does not depend on ``max_distance``. Other parameters are those of
    ``group_utilities``.

    Examples
    --------
    >>> from rawlsian import utility_gap
    >>> utility_gap([[0], [2], [4], [4]], [0, 0, 1, 1], ["a", "a", "b", "b"])
    1.0
    """
    utilities = group_utilities(
        X, labels, sensitive_features, sample_weight=sample_weight, max_distance=0.0
    )
    return float(np.ptp(utilities))


def utility_ratio(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    *,
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
) -> float:
    """Lowest group utility as a share of the highest; 1 when all are served alike.

    The four-fifths rule of United States employment guidelines takes a ratio below
    0.8 as evidence of adverse impact. Read it so with care: the ratio depends on
    ``max_distance``, and a generous one brings any clustering close to 1.

    Parameters are those of ``group_utilities``.

    Examples
    --------
    >>> from rawlsian import utility_ratio
    >>> X = [[0], [2], [4], [4]]
    >>> utility_ratio(X, [0, 0, 1, 1], ["a", "a", "b", "b"], max_distance=4)
    0.75
    """
    utilities = group_utilities(
        X,
        labels,
        sensitive_features,
        sample_weight=sample_weight,
        max_distance=max_distance,
    )
    if utilities.min() < 0:
        raise ValueError(
            "utility_ratio needs utilities that are not negative, found "
            f"{utilities.min():.6g}; give a larger max_distance."
        )
    return _ratio(utilities)


def skyline(points: ArrayLike) -> NDArray[np.bool_]:
    """Which points no other point beats for every group at once.

    Point q is beaten by s if s is strictly higher in every column, as in the paper's
    definition; so points that tie in one column with a better one stay.

    Parameters
    ----------
    points : array-like of shape (n_points, n_groups)
        Group utilities, a row a point.

    Returns
    -------
    ndarray of shape (n_points,)
        True for the points of the skyline.

    Examples
    --------
    >>> from rawlsian import skyline
    >>> skyline([[1, 3], [2, 2], [1, 1], [3, 0]])
    array([ True,  True, False,  True])
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or np.isnan(points).any():
        raise ValueError(
            "points must be a table of numbers, a row a point and a column a group, "
            f"without NaN; found shape {points.shape}."
        )
    is_on_skyline = np.ones(len(points), dtype=np.bool_)
    # A point can be beaten only by one with a higher sum: from the highest sum down,
    # each point of the skyline strikes out what it beats.
    for j in np.argsort(-points.sum(axis=1), kind="stable"):
        if is_on_skyline[j]:
            is_on_skyline &= ~(points < points[j]).all(axis=1)
    return is_on_skyline


@dataclass(frozen=True, eq=False)
class Audit:
    """How well a clustering serves each group, and where it falls short.

    ``str(audit)`` is a table for people; ``by_group()`` and ``by_cluster()`` are rows
    for ``pandas.DataFrame``.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    sizes : ndarray of shape (n_groups,)
        Members of each group (sums of weights).
    utilities : ndarray of shape (n_groups,)
        Mean utility of each group.
    overall : float
        Mean utility of everyone.
    gap : float
        Highest less lowest group utility.
    gap_interval : tuple of float
        Bootstrap interval of the gap between the group that is best served here and
        the one that is worst served. Below 0: it might be the other way round.
        NaN if no resamples were asked for.
    intervals : ndarray of shape (n_groups, 2)
        The same for each group: how far it is behind the best served.
    confidence : float
        Confidence of these intervals.
    ratio : float
        Lowest as a share of highest group utility; NaN if one is negative.
    passes_four_fifths : bool
        Whether the ratio is at least 0.8. See ``utility_ratio`` for a caveat.
    cluster_sizes : ndarray of shape (n_clusters, n_groups)
        Members of each group in each cluster.
    cluster_utilities : ndarray of shape (n_clusters, n_groups)
        Their mean utility; NaN where a group has no member in a cluster.
    max_distance : float
        The utility of a perfect fit.
    """

    groups: NDArray[Any]
    sizes: NDArray[np.float64]
    utilities: NDArray[np.float64]
    overall: float
    gap: float
    gap_interval: tuple[float, float]
    intervals: NDArray[np.float64]
    confidence: float
    ratio: float
    passes_four_fifths: bool
    cluster_sizes: NDArray[np.float64]
    cluster_utilities: NDArray[np.float64]
    max_distance: float

    @property
    def least_advantaged(self) -> Hashable:
        """Name of the group with the lowest utility."""
        name: Hashable = self.groups.tolist()[int(np.argmin(self.utilities))]
        return name

    def by_group(self) -> list[dict[str, Any]]:
        """One row a group: name, size, utility, and how far it is behind the best.

        "low" and "high" are the interval of the latter; None without resamples.
        """
        has_intervals = not np.isnan(self.intervals).any()
        return [
            {
                "group": name,
                "size": float(self.sizes[g]),
                "utility": float(self.utilities[g]),
                "behind": float(self.utilities.max() - self.utilities[g]),
                "low": float(self.intervals[g, 0]) if has_intervals else None,
                "high": float(self.intervals[g, 1]) if has_intervals else None,
            }
            for g, name in enumerate(self.groups.tolist())
        ]

    def shortfalls(self) -> NDArray[np.float64]:
        """What each cluster adds to how far the worst-off group is behind everyone.

        The mean over the group of how much lower a member's utility is than that of
        everyone, summed over its members in the cluster; so the shortfalls add up to
        the overall utility less the group's. Below 0 where a cluster serves it well.
        """
        worst = int(np.argmin(self.utilities))
        sizes = self.cluster_sizes[:, worst]
        lower = self.overall - np.where(sizes, self.cluster_utilities[:, worst], 0.0)
        shortfalls: NDArray[np.float64] = sizes * lower / self.sizes[worst]
        return shortfalls

    def by_cluster(self) -> list[dict[str, Any]]:
        """One row a cluster and group: size and utility, None where nobody is."""
        names = self.groups.tolist()
        return [
            {
                "cluster": cluster,
                "group": name,
                "size": float(self.cluster_sizes[cluster, g]),
                "utility": float(self.cluster_utilities[cluster, g])
                if self.cluster_sizes[cluster, g]
                else None,
            }
            for cluster in range(len(self.cluster_sizes))
            for g, name in enumerate(names)
        ]

    def __str__(self) -> str:
        names = [str(row["group"]) for row in self.by_group()]
        width = max(len("everyone"), *map(len, names))
        lines = [f"{'group':<{width}}  {'size':>9}  {'utility':>9}  {'behind':>9}"]
        for name, row in zip(names, self.by_group(), strict=True):
            lines.append(
                f"{name:<{width}}  {row['size']:>9g}  {row['utility']:>9.4f}  "
                f"{row['behind']:>9.4f}"
            )
        lines.append(
            f"{'everyone':<{width}}  {self.sizes.sum():>9g}  {self.overall:>9.4f}"
        )
        lines.append(f"least advantaged: {self.least_advantaged}")
        lines.append(f"gap: {self.gap:.4f}{self._interval()}")
        lines.append(
            f"ratio: {self._reading()} (a perfect fit is {self.max_distance:g})"
        )
        return "\n".join(lines)

    def _interval(self) -> str:
        low, high = self.gap_interval
        if np.isnan(low):
            return ""
        return f" ({self.confidence:.0%} interval {low:.4f} to {high:.4f})"

    def _reading(self) -> str:
        if np.isnan(self.ratio):
            return "undefined, as a utility is negative"
        verdict = "at least" if self.passes_four_fifths else "below"
        return f"{self.ratio:.4f}, {verdict} four fifths"


def audit(
    X: Any,
    labels: Any,
    sensitive_features: Any,
    *,
    sample_weight: Any = None,
    max_distance: MaxDistance = "auto",
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Audit:
    """Say how well a clustering, from wherever it came, serves each group.

    Parameters
    ----------
    X, labels, sensitive_features, sample_weight, max_distance
        As in ``group_utilities``. X may also be in blocks (see ``open_blocks``) or a
        Dask array or frame; three passes are made over such.
    n_bootstrap : int, default=1000
        Number of resamples for the interval of the gap; 0 for no interval. They take
        about 10 s for a million rows.
    confidence : float in (0, 1), default=0.95
        Confidence of that interval.
    random_state : int, numpy Generator or None, default=None
        Seed of the resamples.

    Returns
    -------
    Audit
        Figures by group and by cluster and group, the gap and its interval.

    Notes
    -----
    The interval resamples the rows of each group, whole with their weights, and holds
    the clusters fixed: it
    says how much the gap owes to who happens to be in the table, not how much it
    would change if the clustering were done again. With more than two groups the best
    and the worst are picked after looking; intervals are then wide enough to hold for
    all pairs of groups at once (Bonferroni, by the standard deviation of the
    resamples). Of a group of a few people they say little. Rows in blocks are not drawn
    again: their intervals are those of the normal distribution, with the same variance.

    Examples
    --------
    >>> from rawlsian import audit
    >>> X = [[0.0], [2.0], [4.0], [4.0]]
    >>> report = audit(X, [0, 0, 1, 1], ["a", "a", "b", "b"], random_state=0)
    >>> print(report)
    group          size    utility     behind
    a                 2    15.0000     1.0000
    b                 2    16.0000     0.0000
    everyone          4    15.5000
    least advantaged: a
    gap: 1.0000 (95% interval 1.0000 to 1.0000)
    ratio: 0.9375, at least four fifths (a perfect fit is 16)
    """
    _check_bootstrap(n_bootstrap, confidence)
    blocks = as_blocks(X, is_mapped_too=True)
    if blocks is not None:
        found = served(
            blocks, labels, sensitive_features, sample_weight=sample_weight,
            max_distance=max_distance,
        )  # fmt: skip
        return _audit_of_blocks(found, n_bootstrap > 0, confidence)
    assignment = _assignment(X, labels, sensitive_features, sample_weight, max_distance)
    problem = assignment.problem
    intervals = _intervals(assignment, n_bootstrap, confidence, random_state)
    return _audit(
        problem, assignment.utilities, assignment.counts, assignment.costs, intervals,
        confidence,
    )  # fmt: skip


def _audit(
    problem: Problem | LargeProblem,
    utilities: NDArray[np.float64],
    counts: NDArray[np.float64],
    costs: NDArray[np.float64],
    intervals: NDArray[np.float64],
    confidence: float,
) -> Audit:
    """What follows from members and costs by cluster and group."""
    means = np.divide(costs, counts, out=np.full_like(counts, np.nan), where=counts > 0)
    ratio = _ratio(utilities)
    low, high = intervals[int(np.argmin(utilities))].tolist()
    return Audit(
        groups=problem.group_names,
        sizes=problem.group_sizes,
        utilities=utilities,
        overall=float(problem.shares @ utilities),
        gap=float(np.ptp(utilities)),
        gap_interval=(low, high),
        intervals=intervals,
        confidence=confidence,
        ratio=ratio,
        passes_four_fifths=ratio >= FOUR_FIFTHS,
        cluster_sizes=counts,
        cluster_utilities=problem.max_distance - means,
        max_distance=problem.max_distance,
    )


def _audit_of_blocks(found: Served, has_intervals: bool, confidence: float) -> Audit:
    """The same for rows in blocks, with intervals of the normal distribution."""
    large = found.large
    n_groups, best = large.n_groups, int(np.argmin(found.costs))
    intervals = np.full((n_groups, 2), np.nan)
    if has_intervals:
        n_pairs = max(n_groups * (n_groups - 1) / 2, 1)
        reach = -ndtri((1 - confidence) / (2 * n_pairs))
        reach = reach * np.sqrt(found.variances + found.variances[best])
        reach[best] = 0.0
        behind = found.costs - found.costs[best]
        intervals = np.column_stack([behind - reach, behind + reach])
    utilities = large.max_distance - found.costs
    return _audit(
        large, utilities, found.counts, found.cluster_costs, intervals, confidence
    )


def _assignment(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    sample_weight: ArrayLike | None,
    max_distance: MaxDistance,
) -> Assignment:
    refuse_blocks(X, "this measure", "audit takes rows in blocks and tells the same")
    problem = Problem.from_arrays(
        X, sensitive_features, sample_weight=sample_weight, max_distance=max_distance
    )
    return Assignment(problem, labels)


def _name(problem: Problem, g: int) -> Hashable:
    """Name of group g as a plain Python value."""
    name: Hashable = problem.group_names.tolist()[g]
    return name


def _ratio(utilities: NDArray[np.float64]) -> float:
    """Lowest over highest; NaN where a utility is negative."""
    if utilities.min() < 0:
        return float("nan")
    if utilities.max() == utilities.min():
        return 1.0
    return float(utilities.min() / utilities.max())


def _check_bootstrap(n_bootstrap: int, confidence: float) -> None:
    if not isinstance(n_bootstrap, Integral) or int(n_bootstrap) < 0:
        raise ValueError(
            "n_bootstrap must be a number of resamples, 0 or more, got "
            f"{n_bootstrap!r}."
        )
    if not 0 < confidence < 1:
        raise ValueError(
            f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}."
        )


def _intervals(
    assignment: Assignment,
    n_bootstrap: int,
    confidence: float,
    random_state: int | np.random.Generator | None,
) -> NDArray[np.float64]:
    """Percentile intervals of U(best) - U(g), resampling within each group."""
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
            # The best was picked after looking, so that the interval must hold for
            # all pairs at once: too far out for the quantiles of some resamples.
            reach = -ndtri((1 - confidence) / (2 * n_pairs)) * gaps.std()
            behind = utilities[order[-1]] - utilities[g]
            intervals[g] = behind - reach, behind + reach
    return intervals


def _squared_distances(assignment: Assignment) -> NDArray[np.float64]:
    """Squared distance of each example to the mean of its cluster."""
    X, centers = assignment.problem.X, assignment.centers
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
    """Weighted means of resamples of rows, with replacement."""
    means = np.empty(n_bootstrap)
    total = values * weights
    for resample in range(n_bootstrap):
        rows = rng.integers(len(values), size=len(values))
        means[resample] = total[rows].sum() / weights[rows].sum()
    return means
