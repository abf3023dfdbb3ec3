"""Sentences and tables on the findings of an audit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rawlsian._tables.serving import ServedBy
from rawlsian._tables.text import TextTable
from rawlsian.metrics.audit import Audit, signed
from rawlsian.metrics.composition import separation

# Clusters named as those that hurt the worst-off group most.
MOST_HURTFUL = 3
# Clusters whose share of the worst-off group is named.
MOST_SHARES = 8
# Differences in points that are only rounding.
ROUNDING = 1e-9

DISTANCE: dict[ServedBy, str] = {
    "center": "Mean squared distance to the nearest center",
    "members": "Mean squared distance to the mean of the own cluster",
}


def audit_summary(audit: Audit) -> tuple[str, ...]:
    """Return sentences on what was found."""
    perfect = "Every cluster has one person, so every fit is perfect."
    is_single = bool((audit.cluster_sizes.sum(axis=1) == 1).all())
    return (*_on_groups(audit), *([perfect] if is_single else []))


def _on_groups(audit: Audit) -> tuple[str, ...]:
    """Return who is served worst, and whether that may be chance."""
    if len(audit.groups) == 1:
        return (
            f"Everyone is in one group, {audit.groups[0]}: there is nobody to compare "
            "with.",
        )
    if (np.abs(audit.behind) <= ROUNDING).all():
        return ("All groups are served alike.",)
    least = audit.min_group
    if audit.worst_off is None:
        return (
            f"No group is compared with everyone else: that takes {least} people in "
            "the group, and as many outside it.",
        )
    if audit.gap <= ROUNDING:
        return (
            f"No group of {least} people or more is served worse than everyone else.",
        )
    is_beyond = bool((audit.is_small & (audit.behind > audit.gap)).any())
    among = f"Of the groups with {least} people or more, " if is_beyond else ""
    worst = (
        f"{among}{audit.worst_off} is served worst: its mean squared distance is "
        f"{audit.gap:.1f} points above that of everyone else ({audit.confidence:.0%} "
        f"interval {_span(*audit.gap_interval)})."
    )
    if not audit.is_clear_gap:
        return (worst, "The interval includes 0, so this gap may be chance.")
    return (worst, *_others_behind(audit))


def _others_behind(audit: Audit) -> list[str]:
    """Return the other groups that are clearly behind, if there are any."""
    names = audit.groups.tolist()
    others = [
        f"{names[g]} ({audit.behind[g]:.1f} points)"
        for g in np.argsort(-audit.behind, kind="stable").tolist()
        if audit.is_clear[g] and names[g] != audit.worst_off
    ]
    if not others:
        return []
    listed = ", ".join(others)
    return [f"Also clearly behind everyone else, at a shorter distance: {listed}."]


def _span(low: float, high: float) -> str:
    """Return an interval of points; zero has no sign."""
    return f"{round(low, 1) + 0.0:.1f} to {round(high, 1) + 0.0:.1f}"


def interval_text(audit: Audit, g: int) -> str:
    """The interval of how far a group is behind, or why it has none."""
    low, high = audit.intervals[g]
    if not np.isnan(low):
        return _span(low, high)
    if len(audit.groups) == 1:
        return "nobody else"
    return "too few people" if audit.is_small[g] else "too few others"


def hurtful(audit: Audit, clusters: Sequence[str]) -> list[str]:
    """The clusters that add most to the gap; none if no group is served worse."""
    if audit.worst_off is None or audit.gap <= ROUNDING:
        return []
    worst = audit.groups.tolist().index(audit.worst_off)
    shortfalls = audit.shortfalls()
    lines = []
    for c in np.argsort(-shortfalls, kind="stable")[:MOST_HURTFUL].tolist():
        if shortfalls[c] > ROUNDING:
            share = audit.cluster_sizes[c, worst] / audit.sizes[worst]
            lines.append(
                f"cluster {clusters[c]}: {share:.1%} of the group, adds "
                f"{shortfalls[c]:.1f} points"
            )
    return lines


def composition(audit: Audit, clusters: Sequence[str]) -> list[str]:
    """Return how far the clusters separate the groups, with the shares of one group.

    That group is the worst-off one, or the least advantaged one.
    """
    if len(audit.groups) == 1:
        return []
    name = audit.least_advantaged if audit.worst_off is None else audit.worst_off
    members = audit.cluster_sizes[:, audit.groups.tolist().index(name)]
    sizes = audit.cluster_sizes.sum(axis=1)
    used = np.flatnonzero(sizes > 0)
    shares = members[used] / sizes[used]
    shown = np.arange(len(used))
    if len(used) > MOST_SHARES:
        shown = np.array([np.argmin(shares), np.argmax(shares)])
    texts = [f"{clusters[used[j]]} {shares[j]:.1%}" for j in shown.tolist()]
    listed = "by cluster" if len(used) <= MOST_SHARES else "at least and at most"
    return [
        f"Separation of the groups: {separation(audit.cluster_sizes):.2f} (0: every "
        "cluster has the same mix of groups; 1: every cluster is one group). "
        f"{name} is {members.sum() / sizes.sum():.1%} of everyone; {listed}: "
        f"{', '.join(texts)}."
    ]


def groups_table(audit: Audit, served_by: ServedBy) -> TextTable:
    """Distances of each group, and how they compare with everyone else's."""
    rows: list[tuple[str, ...]] = [
        (
            str(name),
            f"{audit.sizes[g]:,.0f}",
            f"{audit.levels[g]:.1f}",
            signed(audit.behind[g]),
            interval_text(audit, g),
        )
        for g, name in enumerate(audit.groups.tolist())
    ]
    interval = f"{audit.confidence:.0%} interval"
    return TextTable(
        f"{DISTANCE[served_by]}, everyone = 100; lower is better",
        ("group", "people", "distance", "against everyone else", interval),
        [*rows, (), ("everyone", f"{audit.sizes.sum():,.0f}", "100.0")],
    )


def utilities_table(audit: Audit) -> TextTable:
    """Utilities of each group, on the scale of the paper."""
    rows: list[tuple[str, ...]] = [
        (str(name), f"{utility:.4f}")
        for name, utility in zip(audit.groups.tolist(), audit.utilities, strict=True)
    ]
    return TextTable(
        f"Utilities; a perfect fit is {audit.max_distance:g}, higher is better",
        ("group", "utility"),
        [*rows, (), ("everyone", f"{audit.overall:.4f}")],
    )
