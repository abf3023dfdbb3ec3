"""Sentences on the changes of a fit and the findings of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Utility
from rawlsian._search.frontier import Frontier
from rawlsian._tables.analysis import Outcome
from rawlsian._tables.choosing_k import Choice, ChooseBy
from rawlsian._tables.prepare import FEW_PEOPLE
from rawlsian.metrics.audit import BY_NEAREST, NO_RATIO, Audit
from rawlsian.preprocessing.features import MISSING

# Clusters named as those that hurt the worst-off group most.
MOST_HURTFUL = 3
# Clusters of one person that are named.
MOST_NAMED = 5
# Nothing can be better for everyone together than the best k-means.
WEAK_START = (
    " Everyone together gains, too, so these k-means clusters were not the best, and "
    "part of the gain is due to that: try another --seed."
)
# Larger numbers of people are shown with an exponent.
MOST_DIGITS = 1e12
# A gain that four digits show.
NOTEWORTHY = 1e-4
# Which center counts in a fit.
COUNTED: dict[Utility, str] = {
    "assigned": "Everyone counts by the mean of their own cluster, which need not be "
    "the nearest.",
    "nearest": "Everyone counts by the nearest center. These figures belong to those "
    "centers: an audit of the labels alone recomputes other means.",
}
# Criteria that choose a number of clusters.
CRITERION: dict[ChooseBy, str] = {
    "silhouette": "silhouette",
    "held-out": "held-out cost",
    "held-out-worst": "held-out cost of the worst-off group",
}
# A gap, relative to the utility of a perfect fit, that is only rounding.
ROUNDING = 1e-12


def fit_summary(outcome: Outcome) -> tuple[str, str]:
    """Return two sentences on what changed."""
    names, before, after = outcome.group_names, outcome.before, outcome.after
    lowest, lowest_after = before.utilities.min(), after.utilities.min()
    distance = outcome.max_distance - lowest
    nearer = (lowest_after - lowest) / distance if distance > 0 else 0.0
    if outcome.n_moved == 0 and lowest_after - lowest < NOTEWORTHY:
        return (
            f"Nothing that {outcome.method} tried raises the lowest group utility, "
            f"{lowest:.4f} ({_worst(before.utilities, names)}).",
            "The clusters are those of k-means.",
        )
    return (
        f"The lowest group utility goes from {lowest:.4f} "
        f"({_worst(before.utilities, names)}) to {lowest_after:.4f} "
        f"({_worst(after.utilities, names)}): the worst-off group's mean "
        f"squared distance to its centers is {abs(nearer):.1%} "
        f"{'less' if nearer >= 0 else 'more'}.",
        f"Overall utility goes from {before.overall:.4f} to {after.overall:.4f}"
        f"{_moved(outcome.n_moved, int(outcome.group_sizes.sum()))}"
        f"{WEAK_START if after.overall > before.overall + NOTEWORTHY else ''}",
    )


def pooling_sentence(outcome: Outcome) -> list[str]:
    """Say how much the groups were pooled, if they were."""
    strength = outcome.pooling
    if strength == 0:
        return []
    if np.isinf(strength):
        return ["Groups are pooled without limit: everyone counts alike."]
    people = f"{strength:,.0f}" if strength < MOST_DIGITS else f"{strength:.3g}"
    return [
        "Groups are pooled, so that chance decides less: each counts as if "
        f"{people} people, drawn from everyone, had joined it."
    ]


def _moved(n_moved: int, n_rows: int) -> str:
    """End the sentence with how many people are in another cluster."""
    if n_moved == 0:
        return ". Nobody is in another cluster; only the centers moved."
    return (
        f", and {n_moved:,} of {n_rows:,} people ({n_moved / n_rows:.1%}) "
        f"{'is' if n_moved == 1 else 'are'} in another cluster."
    )


def _worst(utilities: NDArray[np.float64], names: NDArray[Any]) -> str:
    """Name the group of the lowest utility, and those level with it to four digits."""
    level = [
        str(name).replace(MISSING, f"{MISSING[1:-1]!r}")  # no brackets in brackets
        for name, utility in zip(names, utilities, strict=True)
        if f"{utility:.4f}" == f"{utilities.min():.4f}"
    ]
    return " and ".join(level) if len(level) < 4 else f"{len(level)} groups"


def choice_sentence(choice: Choice) -> str:
    """Return which number of clusters is taken, and by what criterion."""
    used, criterion = choice.n_clusters, CRITERION[choice.chosen_by]
    if choice.choices[choice.chosen_by] is None:
        return f"No number of clusters has a {criterion}; {used} is the first"
    is_best = choice.chosen_by == "silhouette"
    why = f"has the best {criterion}" if is_best else f"is enough by the {criterion}"
    return f"K-means with several numbers of clusters; {used} {why}"


def choice_notes(choice: Choice) -> list[str]:
    """Return how to read the figures, and whether a wider range may be better."""
    return [
        "held-out is the mean squared distance to the nearest center of people who "
        "were left out when the centers were found, held-out-worst that of the "
        "worst-off group; lower is better. A star marks the number that a column "
        "takes; --choose-by says which column decides.",
        *end_of_range(choice),
    ]


def end_of_range(choice: Choice) -> list[str]:
    """Return a remark if the cost still falls at the end of the range."""
    used, last = choice.n_clusters, choice.candidates[-1].n_clusters
    if used != last or choice.chosen_by == "silhouette":
        return []
    return [
        f"{used} is the end of the range, and the cost still falls there; a wider "
        "range may take more."
    ]


def lone_people(outcome: Outcome) -> list[str]:
    """Return a remark on the clusters that are one person, if there are any."""
    sizes = outcome.cluster_sizes
    alone = [str(c) for c in np.flatnonzero((sizes > 0) & (sizes <= 1))]
    if not alone:
        return []
    if len(alone) == 1:
        return [
            f"Cluster {alone[0]} is one person: its center describes nobody else, and "
            "may identify them. Fewer clusters may avoid this."
        ]
    which = f"Clusters {', '.join(alone[:-1])} and {alone[-1]}"
    if len(alone) > MOST_NAMED:
        which = f"{len(alone):,} clusters"
    return [
        f"{which} are one person each: their centers describe nobody else, and may "
        "identify them. Fewer clusters may avoid this."
    ]


def better_point(outcome: Outcome, frontier: Frontier) -> str | None:
    """A sentence on the point of the trade-off that is better for every group."""
    gains = frontier.utilities - outcome.after.utilities
    is_better = (gains > NOTEWORTHY).all(axis=1)
    if not is_better.any():
        return None
    lowest = frontier.utilities.min(axis=1)
    point = int(np.argmax(np.where(is_better, lowest, -np.inf)))
    return (
        f"Point {point} of the trade-off is better for every group. Its lowest group "
        f"utility is {lowest[point]:.4f} and its overall utility is "
        f"{frontier.overall[point]:.4f}. Its centers are free: they need not be means, "
        "and everyone is in the cluster of the nearest one."
    )


def audit_summary(audit: Audit) -> tuple[str, ...]:
    """Return sentences on what was found."""
    perfect = "Every cluster has one person, so every fit is perfect."
    is_single = bool((audit.cluster_sizes.sum(axis=1) == 1).all())
    nearest = f"{BY_NEAREST[0].upper()}{BY_NEAREST[1:]}."
    return (
        *_on_groups(audit),
        *([perfect] if is_single else []),
        *([nearest] if audit.utility == "nearest" else []),
    )


def _on_groups(audit: Audit) -> tuple[str, ...]:
    names = audit.groups
    worst, best = int(audit.utilities.argmin()), int(audit.utilities.argmax())
    if len(names) == 1:
        return (
            f"Everyone is in one group, {names[0]}, with a mean utility of "
            f"{audit.overall:.4f}.",
            "With no other group there is nobody to compare with.",
        )
    if _is_level(audit):
        return (f"All groups have the same utility, {audit.overall:.4f}.",)
    interval = f" ({audit.confidence:.0%} interval: {interval_of(audit, worst)})"
    return (
        f"{names[worst]} is served worst, with a mean utility of "
        f"{audit.utilities[worst]:.4f}: {audit.gap:.4f} behind {names[best]}"
        f"{interval}.",
        f"The ratio of the two is {four_fifths(audit)}.",
    )


def _is_level(audit: Audit) -> bool:
    """Return True if all groups have the same utility."""
    return audit.gap <= ROUNDING * audit.max_distance


def four_fifths(audit: Audit) -> str:
    """The ratio, read as the four-fifths rule does."""
    if np.isnan(audit.ratio):
        return NO_RATIO
    verdict = "at least" if audit.passes_four_fifths else "below"
    return (
        f"{audit.ratio:.4f}, {verdict} four fifths (a perfect fit counts "
        f"{audit.max_distance:g} here, and the ratio depends on that)"
    )


def behind_best(audit: Audit) -> list[str]:
    """How far each group is behind the best served, with the interval if it has one."""
    return [
        f"{row['behind']:.4f} ({audit.confidence:.0%} interval: "
        f"{interval_of(audit, g)})"
        if row["behind"]
        else ""
        for g, row in enumerate(audit.by_group())
    ]


def has_interval(audit: Audit, g: int) -> bool:
    """Return True if a group and the best served have enough people."""
    best = int(audit.utilities.argmax())
    return bool(min(audit.sizes[g], audit.sizes[best]) >= FEW_PEOPLE)


def interval_of(audit: Audit, g: int) -> str:
    """The interval of how far a group is behind, or why it has none."""
    if audit.sizes[g] < FEW_PEOPLE:
        return "too few people"
    if not has_interval(audit, g):
        return "best-off group too small"
    low, high = audit.intervals[g]
    return f"{low:.4f} to {high:.4f}"


def hurtful(audit: Audit, clusters: Sequence[str]) -> list[str]:
    """The clusters that add most to how far the worst-off group is behind everyone.

    None where all groups have the same utility, or there is only one.
    """
    if _is_level(audit):
        return []
    worst = int(audit.utilities.argmin())
    shortfalls = audit.shortfalls()
    lines = []
    for c in np.argsort(-shortfalls, kind="stable")[:MOST_HURTFUL].tolist():
        if shortfalls[c] > 0:
            share = audit.cluster_sizes[c, worst] / audit.sizes[worst]
            lines.append(
                f"cluster {clusters[c]}: {share:.1%} of the group, at a utility of "
                f"{audit.cluster_utilities[c, worst]:.4f}, adds {shortfalls[c]:.4f}"
            )
    return lines
