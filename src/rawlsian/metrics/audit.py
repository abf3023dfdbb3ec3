"""Audit: how well a clustering serves each group, with intervals."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.checks import check_utility
from rawlsian._core.problem import MaxDistance, Utility
from rawlsian._engines.engine import AuditFigures, Engine, IntervalSettings
from rawlsian._engines.opening import open_rows
from rawlsian._support.frames import frame_of, html_of
from rawlsian.metrics.utilities import name_of

N_BOOTSTRAP, CONFIDENCE, MIN_GROUP = 1000, 0.95, 30
# A mean cost, relative to the utility of a perfect fit, that is only rounding.
NO_COST = 1e-20

SCALE = "level: mean squared distance, everyone = 100; lower is better"
BY_NEAREST = "utility: every person counts by the nearest center"


@dataclass(frozen=True, eq=False)
class Audit:
    """How well a clustering serves each group, and where it falls short.

    Each group is compared with everyone else: all people outside the group. The unit is
    a *point*: the mean squared distance of everyone is 100 points.

    ``str(audit)`` is a table to read; ``to_frame()`` is a pandas DataFrame, and
    ``by_group()`` and ``by_cluster()`` return plain rows.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    sizes : ndarray of shape (n_groups,)
        Members of each group (sums of weights).
    costs : ndarray of shape (n_groups,)
        Mean squared distance of each group: ``max_distance - utilities``.
    levels : ndarray of shape (n_groups,)
        ``costs`` in points: 100 times the cost of a group, divided by that of everyone.
        Lower is better. If the cost of everyone is 0, all levels are 100.
    behind : ndarray of shape (n_groups,)
        Level of each group minus that of everyone else. Positive: the group is served
        worse. NaN if there is one group.
    intervals : ndarray of shape (n_groups, 2)
        Intervals of ``behind``, which hold for all groups at once. NaN if the group, or
        everyone else, has fewer than ``min_group`` people, or ``n_bootstrap`` is 0.
    is_small : ndarray of shape (n_groups,)
        True for groups with fewer than ``min_group`` people.
    worst_off : hashable or None
        Name of the group with the largest cost, among groups that have at least
        ``min_group`` people inside and outside, and that are clearly behind if any is.
        None if there is no such group.
    gap : float
        ``behind`` of that group; NaN if there is none.
    gap_interval : tuple of float
        Interval of the gap. If it includes 0, the gap may be chance.
    confidence : float
        Confidence of the intervals.
    min_group : int
        The least number of people for a comparison.
    utilities : ndarray of shape (n_groups,)
        Mean utility of each group.
    overall : float
        Mean utility of everyone.
    cluster_sizes : ndarray of shape (n_clusters, n_groups)
        Members of each group in each cluster.
    cluster_utilities : ndarray of shape (n_clusters, n_groups)
        Mean utility of each group in each cluster; NaN if it has no member there.
    max_distance : float
        The utility of a perfect fit.
    utility : {"assigned", "nearest"}
        The center that serves a person: the mean of their cluster, or the nearest. If
        it is "nearest", ``cluster_sizes`` and ``cluster_utilities`` count people in the
        cluster of the nearest center, and a cluster may have nobody.
    """

    groups: NDArray[Any]
    sizes: NDArray[np.float64]
    costs: NDArray[np.float64]
    levels: NDArray[np.float64]
    behind: NDArray[np.float64]
    intervals: NDArray[np.float64]
    is_small: NDArray[np.bool_]
    worst_off: Hashable | None
    gap: float
    gap_interval: tuple[float, float]
    confidence: float
    min_group: int
    utilities: NDArray[np.float64]
    overall: float
    cluster_sizes: NDArray[np.float64]
    cluster_utilities: NDArray[np.float64]
    max_distance: float
    utility: Utility

    @property
    def least_advantaged(self) -> Hashable:
        """Name of the group with the lowest utility, however few people it has."""
        return name_of(self.groups, self.utilities)

    @property
    def is_clear(self) -> NDArray[np.bool_]:
        """True for groups whose interval is above 0: chance alone is no explanation."""
        is_clear: NDArray[np.bool_] = self.intervals[:, 0] > 0
        return is_clear

    @property
    def is_clear_gap(self) -> bool:
        """True if the interval of the gap is above 0."""
        return self.gap_interval[0] > 0

    def by_group(self) -> list[dict[str, Any]]:
        """Return one row per group, in plain Python values.

        "behind" is None if there is one group. "low" and "high" are its interval; None
        if there is none.
        """
        lows, highs = self.intervals.T
        return [
            {
                "group": name,
                "size": float(self.sizes[g]),
                "utility": float(self.utilities[g]),
                "cost": float(self.costs[g]),
                "level": float(self.levels[g]),
                "behind": number_or_none(self.behind[g]),
                "low": number_or_none(lows[g]),
                "high": number_or_none(highs[g]),
                "is_small": bool(self.is_small[g]),
            }
            for g, name in enumerate(self.groups.tolist())
        ]

    def to_frame(self) -> Any:
        """Return one row per group as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            The columns of ``by_group``; NaN where there is no number.
        """
        lows, highs = self.intervals.T
        return frame_of(
            {
                "group": self.groups.tolist(),
                "size": self.sizes,
                "utility": self.utilities,
                "cost": self.costs,
                "level": self.levels,
                "behind": self.behind,
                "low": lows,
                "high": highs,
                "is_small": self.is_small,
            }
        )

    def _repr_html_(self) -> str:
        lows, highs = ([signed(end) for end in ends] for ends in self.intervals.T)
        return html_of(
            f"worst off: {self._headline()}; {SCALE}",
            {
                "group": [*self.groups.tolist(), "everyone"],
                "size": [*self.sizes, self.sizes.sum()],
                "level": [*(f"{level:.1f}" for level in self.levels), "100.0"],
                "behind": [*map(signed, self.behind), ""],
                "low": [*lows, ""],
                "high": [*highs, ""],
                "utility": [*self.utilities, self.overall],
            },
        )

    def shortfalls(self) -> NDArray[np.float64]:
        """Return each cluster's part of the gap, in points.

        For a cluster: the share of the worst-off group in it, times the level of these
        members minus the level of everyone else. The parts sum to the gap; a negative
        part means that the cluster serves the group well. NaN without a gap.
        """
        if self.worst_off is None:
            return np.full(len(self.cluster_sizes), np.nan)
        worst = self.groups.tolist().index(self.worst_off)
        sizes = self.cluster_sizes[:, worst]
        costs = self.max_distance - self.cluster_utilities[:, worst]
        everyone = float(self.sizes @ self.costs / self.sizes.sum())
        points = _points(everyone, self.max_distance)
        above_mean = points * (np.where(sizes, costs, 0.0) - self.costs[worst])
        shortfalls: NDArray[np.float64] = (
            sizes * (above_mean + self.gap) / self.sizes[worst]
        )
        return shortfalls

    def by_cluster(self) -> list[dict[str, Any]]:
        """Return one row per cluster and group: size, and utility or None if empty."""
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
        names = [str(name) for name in self.groups.tolist()]
        width = max(len("everyone"), *map(len, names))
        heads = ("size", "level", "behind", "low", "high", "utility")
        lines = [f"{'group':<{width}}{''.join(f'{head:>10}' for head in heads)}"]
        for g, name in enumerate(names):
            lines.append(
                f"{name:<{width}}{self.sizes[g]:>10g}{self.levels[g]:>10.1f}"
                f"{signed(self.behind[g]):>10}{self._ends(g):>20}"
                f"{self.utilities[g]:>10.4f}"
            )
        lines.append(
            f"{'everyone':<{width}}{self.sizes.sum():>10g}{100:>10.1f}{'':>30}"
            f"{self.overall:>10.4f}"
        )
        lines += [SCALE, f"worst off: {self._headline()}"]
        lines.append(
            f"least advantaged: {self.least_advantaged} (lowest utility; a perfect fit "
            f"is {self.max_distance:g})"
        )
        return "\n".join([*lines, *([BY_NEAREST] if self.utility == "nearest" else [])])

    def _ends(self, g: int) -> str:
        low, high = self.intervals[g]
        if not np.isnan(low):
            return f"{signed(low):>10}{signed(high):>10}"
        if len(self.groups) == 1 or not self.is_small[g]:
            return ""
        return "too few people"

    def _headline(self) -> str:
        if len(self.groups) == 1:
            return "nobody to compare with"
        if self.worst_off is None:
            return f"no group has {self.min_group} people inside and outside"
        low, high = (signed(end) for end in self.gap_interval)
        interval = f" ({self.confidence:.0%} interval {low} to {high})" if low else ""
        return f"{self.worst_off}, {signed(self.gap)} points{interval}"


def signed(points: float) -> str:
    """Return a number of points with its sign; nothing for NaN."""
    return "" if np.isnan(points) else f"{round(points, 1) + 0.0:+.1f}"


def number_or_none(number: float) -> float | None:
    """Return a number, or None for NaN, which JSON does not have."""
    return None if np.isnan(number) else float(number)


def audit(
    X: Any,
    labels: Any,
    sensitive_features: Any,
    *,
    utility: Utility = "assigned",
    sample_weight: Any = None,
    max_distance: MaxDistance = "auto",
    n_bootstrap: int = N_BOOTSTRAP,
    confidence: float = CONFIDENCE,
    min_group: int = MIN_GROUP,
    random_state: int | np.random.Generator | None = None,
) -> Audit:
    """Report how well a clustering, of whatever origin, serves each group.

    Parameters
    ----------
    X, labels, sensitive_features, utility, sample_weight, max_distance
        As in ``group_utilities``. Sparse X stays sparse. X may also be out of core (see
        ``open_blocks``) or a Dask array or frame; the audit then makes three passes,
        with either utility: to check the rows, to add up the means, and to measure the
        distances.
    n_bootstrap : int, default=1000
        Number of resamples for the intervals; 0 for no intervals.
    confidence : float in (0, 1), default=0.95
        Confidence of the intervals.
    min_group : int, default=30
        Groups with fewer people get no interval and are never ``worst_off``. With
        unequal weights their effective number counts: the square of the sum of the
        weights, divided by the sum of their squares.
    random_state : int, numpy Generator or None, default=None
        Seed of the resamples.

    Returns
    -------
    Audit
        Figures by group and by cluster, the gap and its interval.

    Notes
    -----
    The interval resamples the rows of the group, and those of everyone else, with their
    weights, and holds the clusters fixed: it shows the sampling error of the
    difference, not how it changes with another clustering. The cost of everyone, the
    unit of the scale, is held fixed, too. It is a bootstrap-t interval: the resamples
    give the distribution of the difference divided by its standard error. With more
    than two groups, intervals are wide enough to hold for all groups at once
    (Bonferroni, over the groups that have an interval; the quantile of the bootstrap
    grows as Student's does). More than 2,000 rows are not resampled, because their
    means are normal. Out of core, rows are not resampled, and the intervals are those
    of Student's distribution (Welch).

    In simulations with groups of 30 to 300 people, the 95 % intervals of all groups at
    once hold in 94 to 96 % of samples if costs are symmetric, in 85 to 96 % if they are
    skewed (exponential), and in 75 to 99 % if strongly so (lognormal). They fail at the
    upper end, by which a small group seems to be served better than it is. With five
    or ten groups, no interval is wrongly above 0 in 97 % or more. With two groups that
    is 93 % or more, but 88 % for groups of 30 and 300 with lognormal costs
    (benchmarks/bench_coverage.py).

    Examples
    --------
    >>> from rawlsian import audit
    >>> X = [[0.0], [2.0], [4.0], [4.0], [5.0], [6.0]]
    >>> labels, groups = [0, 0, 1, 1, 1, 1], ["a", "a", "b", "b", "b", "b"]
    >>> print(audit(X, labels, groups, min_group=2, random_state=0))
    group         size     level    behind       low      high   utility
    a                2     126.3     +39.5     -63.8    +142.7   35.0000
    b                4      86.8     -39.5    -142.7     +63.8   35.3125
    everyone         6     100.0                                 35.2083
    level: mean squared distance, everyone = 100; lower is better
    worst off: a, +39.5 points (95% interval -63.8 to +142.7)
    least advantaged: a (lowest utility; a perfect fit is 36)
    """
    check_utility(utility)
    _check_settings(n_bootstrap, confidence, min_group)
    engine = open_rows(X, takes_mapped=True).with_groups(
        sensitive_features, sample_weight=sample_weight, max_distance=max_distance,
        utility=utility,
    )  # fmt: skip
    return audit_of(
        engine, labels, n_bootstrap=n_bootstrap, confidence=confidence,
        min_group=min_group, random_state=random_state,
    )  # fmt: skip


def audit_of(
    engine: Engine,
    labels: Any,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    confidence: float = CONFIDENCE,
    min_group: int = MIN_GROUP,
    random_state: int | np.random.Generator | None = None,
) -> Audit:
    """Audit labels of checked rows, as ``audit`` does."""
    settings = IntervalSettings(n_bootstrap, confidence, min_group, random_state)
    figures = engine.audit(labels, settings)
    return _audit(engine, figures, settings, engine.utility)


def audit_by_centers(
    engine: Engine,
    centers: NDArray[np.float64],
    *,
    min_group: int = MIN_GROUP,
    random_state: int | np.random.Generator | None = None,
) -> Audit:
    """Audit centers: everyone is served by the nearest, and no labels are needed."""
    settings = IntervalSettings(N_BOOTSTRAP, CONFIDENCE, min_group, random_state)
    figures = engine.audit_centers(centers, settings)
    return _audit(engine, figures, settings, "nearest")


def renamed(audit: Audit, names: NDArray[Any]) -> Audit:
    """Return an audit whose groups have other names, in the same order."""
    worst_off = audit.worst_off
    if worst_off is not None:
        worst_off = names.tolist()[audit.groups.tolist().index(worst_off)]
    return replace(audit, groups=names, worst_off=worst_off)


def _audit(
    engine: Engine, figures: AuditFigures, settings: IntervalSettings, utility: Utility
) -> Audit:
    """Put the figures on the scale on which everyone has 100 points."""
    utilities, counts, cluster_costs, found, reaches = figures
    known, costs = engine.known, found.groups.means
    everyone = float(known.shares @ costs)
    points = _points(everyone, known.max_distance)
    behind = points * (costs - found.rests.means)
    intervals = np.column_stack([behind - points * reaches, behind + points * reaches])
    gap, gap_interval, worst_off = np.nan, (np.nan, np.nan), None
    if found.is_compared.any():
        # A group that is clearly behind comes before one that may be so by chance.
        is_clear = found.is_compared & (intervals[:, 0] > 0)
        is_named = is_clear if is_clear.any() else found.is_compared
        worst = int(np.argmax(np.where(is_named, costs, -np.inf)))
        gap, gap_interval = float(behind[worst]), tuple(intervals[worst].tolist())
        worst_off = known.group_names.tolist()[worst]
    empty = np.full_like(counts, np.nan)
    means = np.divide(cluster_costs, counts, out=empty, where=counts > 0)
    return Audit(
        groups=known.group_names,
        sizes=known.group_sizes,
        costs=costs,
        levels=100 + points * (costs - everyone),
        behind=behind,
        intervals=intervals,
        is_small=found.is_small,
        worst_off=worst_off,
        gap=gap,
        gap_interval=gap_interval,
        confidence=settings.confidence,
        min_group=settings.min_group,
        utilities=utilities,
        overall=float(known.shares @ utilities),
        cluster_sizes=counts,
        cluster_utilities=known.max_distance - means,
        max_distance=known.max_distance,
        utility=utility,
    )


def _points(everyone: float, max_distance: float) -> float:
    """Return the points of a cost of 1, given the cost of everyone; 0 if that is 0."""
    return 100 / everyone if everyone > NO_COST * max_distance else 0.0


def _check_settings(n_bootstrap: int, confidence: float, min_group: int) -> None:
    if not isinstance(n_bootstrap, Integral) or int(n_bootstrap) < 0:
        raise ValueError(
            "n_bootstrap must be a number of resamples, 0 or more, got "
            f"{n_bootstrap!r}."
        )
    if not isinstance(min_group, Integral) or int(min_group) < 2:
        raise ValueError(
            f"min_group must be a number of people, 2 or more, got {min_group!r}."
        )
    check_confidence(confidence)


def check_confidence(confidence: float) -> None:
    """Raise ValueError unless confidence lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(
            f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}."
        )
