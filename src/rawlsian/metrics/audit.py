"""Audit: how well a clustering serves each group, with intervals."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.checks import check_utility
from rawlsian._core.problem import MaxDistance, Utility
from rawlsian._engines.engine import Engine
from rawlsian._engines.opening import open_rows
from rawlsian.metrics.utilities import name_of, ratio_of

FOUR_FIFTHS = 0.8


NO_RATIO = "undefined, as a utility is negative"
BY_NEAREST = "labels give the means, and every person counts by the nearest mean"


@dataclass(frozen=True, eq=False)
class Audit:
    """How well a clustering serves each group, and where it falls short.

    ``str(audit)`` is a table to read; ``by_group()`` and ``by_cluster()`` return rows
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
        Interval of the gap between the best-off and the worst-off group. If it reaches
        below 0, their order is uncertain. NaN if ``n_bootstrap`` is 0.
    intervals : ndarray of shape (n_groups, 2)
        Interval of how far each group is behind the best-off group. Infinite if one of
        the two has so few people that their spread is unknown.
    confidence : float
        Confidence of these intervals.
    ratio : float
        Lowest group utility divided by the highest; NaN if one is negative.
    passes_four_fifths : bool
        True if the ratio is at least 0.8. See ``utility_ratio`` for a caveat.
    cluster_sizes : ndarray of shape (n_clusters, n_groups)
        Members of each group in each cluster.
    cluster_utilities : ndarray of shape (n_clusters, n_groups)
        Mean utility of each group in each cluster; NaN if it has no member there.
    max_distance : float
        The utility of a perfect fit.
    utility : {"assigned", "nearest"}
        The mean that serves a person: that of their cluster, or the nearest. If it is
        "nearest", ``cluster_sizes`` and ``cluster_utilities`` count people in the
        cluster of the nearest mean, and a cluster may have nobody.
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
    utility: Utility

    @property
    def least_advantaged(self) -> Hashable:
        """Name of the group with the lowest utility."""
        return name_of(self.groups, self.utilities)

    def by_group(self) -> list[dict[str, Any]]:
        """Return one row per group: name, size, utility, and how far it is behind.

        "low" and "high" are the interval of the last; None if ``n_bootstrap`` is 0 or
        there are too few people.
        """
        has_interval = np.isfinite(np.ptp(self.intervals, axis=1))
        return [
            {
                "group": name,
                "size": float(self.sizes[g]),
                "utility": float(self.utilities[g]),
                "behind": float(self.utilities.max() - self.utilities[g]),
                "low": float(self.intervals[g, 0]) if has_interval[g] else None,
                "high": float(self.intervals[g, 1]) if has_interval[g] else None,
            }
            for g, name in enumerate(self.groups.tolist())
        ]

    def shortfalls(self) -> NDArray[np.float64]:
        """Return each cluster's part of the worst-off group's shortfall from everyone.

        For a cluster: the share of the group in it, times the overall utility less the
        members' mean utility. The parts sum to the shortfall; a negative part means
        that the cluster serves the group well.
        """
        worst = int(np.argmin(self.utilities))
        sizes = self.cluster_sizes[:, worst]
        lower = self.overall - np.where(sizes, self.cluster_utilities[:, worst], 0.0)
        shortfalls: NDArray[np.float64] = sizes * lower / self.sizes[worst]
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
        if self.utility == "nearest":
            lines.append(f"utility: {BY_NEAREST}")
        return "\n".join(lines)

    def _interval(self) -> str:
        low, high = self.gap_interval
        if np.isnan(low):
            return ""
        if np.isinf(low):
            return " (too few people for an interval)"
        return f" ({self.confidence:.0%} interval {low:.4f} to {high:.4f})"

    def _reading(self) -> str:
        if np.isnan(self.ratio):
            return NO_RATIO
        verdict = "at least" if self.passes_four_fifths else "below"
        return f"{self.ratio:.4f}, {verdict} four fifths"


def audit(
    X: Any,
    labels: Any,
    sensitive_features: Any,
    *,
    utility: Utility = "assigned",
    sample_weight: Any = None,
    max_distance: MaxDistance = "auto",
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Audit:
    """Report how well a clustering, of whatever origin, serves each group.

    Parameters
    ----------
    X, labels, sensitive_features, utility, sample_weight, max_distance
        As in ``group_utilities``. X may also be out of core (see ``open_blocks``) or a
        Dask array or frame; the audit then makes three passes, with either utility: to
        check the rows, to add up the means, and to measure the distances.
    n_bootstrap : int, default=1000
        Number of resamples for the intervals; 0 for no intervals.
    confidence : float in (0, 1), default=0.95
        Confidence of the intervals.
    random_state : int, numpy Generator or None, default=None
        Seed of the resamples.

    Returns
    -------
    Audit
        Figures by group and by cluster, the gap and its interval.

    Notes
    -----
    The interval resamples the rows of each group, with their weights, and holds the
    clusters fixed: it shows the sampling error of the gap, not how the gap changes with
    another clustering. It is a bootstrap-t interval: the resamples give the
    distribution of the difference divided by its standard error. With more than two
    groups, the best-off and the worst-off group are picked from the data; intervals are
    then wide enough to hold for all pairs of groups at once (Bonferroni; the quantile
    of the bootstrap grows as Student's does). Groups of more than 10,000 rows are not
    resampled, because their means are normal. Out of core, rows are not resampled, and
    the intervals are those of Student's distribution (Welch).

    In simulations 95 % intervals hold in 93 % of samples or more, for groups of 10 to
    300 people, with one exception: if costs are strongly skewed, and one of two groups
    has 10 or 30 people and the other 300, they hold in 83 to 92 %
    (benchmarks/bench_coverage.py). For fewer than 10 people do not rely on them.

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
    check_utility(utility)
    _check_bootstrap(n_bootstrap, confidence)
    engine = open_rows(X, takes_mapped=True).with_groups(
        sensitive_features, sample_weight=sample_weight, max_distance=max_distance,
        utility=utility,
    )  # fmt: skip
    return audit_of(
        engine, labels, n_bootstrap=n_bootstrap, confidence=confidence,
        random_state=random_state,
    )  # fmt: skip


def audit_of(
    engine: Engine,
    labels: Any,
    *,
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Audit:
    """Audit labels of checked rows, as ``audit`` does."""
    utilities, counts, costs, intervals = engine.audit(
        labels, n_bootstrap, confidence, random_state
    )
    known = engine.known
    means = np.divide(costs, counts, out=np.full_like(counts, np.nan), where=counts > 0)
    ratio = ratio_of(utilities)
    low, high = intervals[int(np.argmin(utilities))].tolist()
    return Audit(
        groups=known.group_names,
        sizes=known.group_sizes,
        utilities=utilities,
        overall=float(known.shares @ utilities),
        gap=float(np.ptp(utilities)),
        gap_interval=(low, high),
        intervals=intervals,
        confidence=confidence,
        ratio=ratio,
        passes_four_fifths=ratio >= FOUR_FIFTHS,
        cluster_sizes=counts,
        cluster_utilities=known.max_distance - means,
        max_distance=known.max_distance,
        utility=engine.utility,
    )


def _check_bootstrap(n_bootstrap: int, confidence: float) -> None:
    if not isinstance(n_bootstrap, Integral) or int(n_bootstrap) < 0:
        raise ValueError(
            "n_bootstrap must be a number of resamples, 0 or more, got "
            f"{n_bootstrap!r}."
        )
    check_confidence(confidence)


def check_confidence(confidence: float) -> None:
    """Raise ValueError unless confidence lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(
            f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}."
        )
