"""What the pages of an audit and of a fit show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem
from rawlsian._search.frontier import Frontier
from rawlsian._tables.analysis import Fitted, Outcome, TradeOff
from rawlsian._tables.columns import Roles, Unused
from rawlsian._tables.methods import METHODS
from rawlsian._tables.prepare import FEW_PEOPLE, Feature, Prepared
from rawlsian._tables.read import Column, Table
from rawlsian._tables.write import free_name
from rawlsian.metrics import Audit
from rawlsian.report import Page, Way, frontier_way, trajectory_way
from rawlsian.report.words import LIMITS, TRADE_OFF, UTILITY

SAMPLED = (
    " Its centers were searched on a sample of {rows:,} rows; the figures are those of "
    "all rows."
)

# Clusters named as those that hurt the worst-off group most.
MOST_HURTFUL = 3
# A gain that four digits show.
NOTEWORTHY = 1e-4
INTERVAL = (
    "The interval of how far a group is behind resamples the people of each group, "
    "with the clusters held fixed: it tells how much that owes to who happens to be in "
    "the table. With more than two groups it is wide enough for all pairs of groups at "
    "once."
)


class Reason(NamedTuple):
    """Why some rows are not clustered, how many, and the first, counted from 1."""

    reason: str
    n_rows: int
    first_row: int
    file: str | None = None

    @property
    def first(self) -> str:
        """What the first of them is called."""
        in_file = "" if self.file is None else f" of {self.file!r}"
        return f"row {self.first_row}{in_file}"


class Facts(NamedTuple):
    """What is told of a table, in one file or in many: rows, columns, remarks."""

    name: str
    n_rows: int
    n_columns: int
    how: str
    features: list[Feature]
    unused: list[Unused]
    left_out: list[Reason]
    remarks: list[str]


@dataclass(frozen=True, eq=False)
class Source:
    """Where the rows come from; not the table itself, which would stay in memory."""

    name: str
    n_rows: int
    n_columns: int
    how: str
    prepared: Prepared
    identifier: Column | None

    @classmethod
    def of(cls, name: str, table: Table, prepared: Prepared, roles: Roles) -> Source:
        """The table, with the column that names its rows if there is one."""
        noticed = (column.name for column in prepared.unused if column.is_identifier)
        found = roles.identifier or next(noticed, None)
        identifier = None if found is None else table.columns[found]
        n_columns = len(table.columns)
        return cls(name, table.n_rows, n_columns, table.how, prepared, identifier)

    @property
    def facts(self) -> Facts:
        """What is told of it."""
        return Facts(
            self.name,
            self.n_rows,
            self.n_columns,
            self.how,
            self.prepared.features,
            self.prepared.unused,
            [Reason(*each) for each in self.prepared.left_out.by_reason()],
            self.prepared.remarks,
        )


def fit_page(
    source: Source,
    fitted: Fitted,
    seed: int,
    trade_off: TradeOff,
    restarts: NDArray[np.float64],
) -> Page:
    """The page of a fit: the way to it, and the trade-off."""
    problem = fitted.problem
    better = better_point(fitted, trade_off.frontier)
    sampled = ""
    if trade_off.n_searched < problem.n_samples:
        sampled = SAMPLED.format(rows=trade_off.n_searched)
    cloud = f"The cloud: {len(restarts):,} runs of k-means, each from random rows."
    return _page(
        source,
        problem,
        title=f"Clusters of {source.name}",
        summary=fit_summary(fitted.outcome),
        columns="Clustered on",
        facts=(
            ("Method", fitted.method),
            ("Seed", str(seed)),
            *((("Worth knowing", better),) if better else ()),
        ),
        cluster_names=tuple(map(str, range(fitted.n_clusters))),
        ways=(_way(fitted), frontier_way(trade_off.frontier, trade_off.labels)),
        cloud=restarts,
        methods=(METHODS[fitted.method].sentence, TRADE_OFF + sampled, cloud),
    )


def audit_page(
    source: Source,
    problem: Problem,
    audit: Audit,
    labels: NDArray[Any],
    cluster_names: Sequence[str],
) -> Page:
    """The page of an audit: one clustering."""
    way = Way(
        "The clusters that were audited",
        "one",
        np.zeros(1, np.int64),
        audit.utilities[None],
        np.array([audit.overall]),
        labels[None],
    )
    return _page(
        source,
        problem,
        title=f"How the clusters of {source.name} serve each group",
        summary=audit_summary(audit),
        columns="Compared on",
        facts=(
            *(
                (f"{name} is behind", behind)
                for name, behind in zip(audit.groups, behind_best(audit), strict=True)
                if behind
            ),
            *(
                ("What adds most to that", line)
                for line in hurtful(audit, cluster_names)
            ),
        ),
        cluster_names=tuple(cluster_names),
        ways=(way,),
        cloud=None,
        methods=("The clusters are those of the table.", INTERVAL),
        limits=LIMITS[:-1],  # the last is about a change
    )


def _page(
    source: Source,
    problem: Problem,
    *,
    title: str,
    summary: tuple[str, ...],
    columns: str,
    facts: tuple[tuple[str, str], ...],
    cluster_names: tuple[str, ...],
    ways: tuple[Way, ...],
    cloud: NDArray[np.float64] | None,
    methods: tuple[str, ...],
    limits: tuple[str, ...] = LIMITS,
) -> Page:
    prepared, identifier = source.prepared, source.identifier
    names, header = None, "id"
    if identifier is not None:
        texts = np.append(identifier.texts(), "")
        names = tuple(texts[identifier.codes[prepared.rows]])
        header = free_name(identifier.name, ["row", "cluster"])
    utility = UTILITY.format(limit=problem.max_distance)
    return Page(
        title=title,
        summary=summary,
        facts=(
            ("Rows", f"{source.n_rows:,}"),
            ("Clustered", f"{len(prepared.rows):,}"),
            (columns, ", ".join(f.name for f in prepared.features)),
            ("Clusters", str(len(cluster_names))),
            *facts,
        ),
        groups=tuple(problem.group_names),
        group_codes=problem.groups,
        max_distance=problem.max_distance,
        cluster_names=cluster_names,
        X=prepared.X,
        attributes=prepared.attributes,
        ways=ways,
        cloud=cloud,
        row_header=header,
        row_names=names,
        row_numbers=prepared.rows + 1,
        notes=_notes(prepared),
        methods=(utility, *methods),
        limits=limits,
    )


def _notes(prepared: Prepared) -> tuple[tuple[str, tuple[str, ...]], ...]:
    lists = {
        "Worth knowing": prepared.remarks,
        "Columns that were left out": [
            f"{column.name}: {column.reason}" for column in prepared.unused
        ],
        "Rows that were not clustered": [
            f"{reason}: {count:,} rows, the first is row {first}"
            for reason, count, first in prepared.left_out.by_reason()
        ],
    }
    return tuple((head, tuple(lines)) for head, lines in lists.items() if lines)


# --- Ways --------------------------------------------------------------------------


def _way(fitted: Fitted) -> Way:
    if fitted.trajectory is not None:
        way = trajectory_way(fitted.trajectory, f"From k-means, by {fitted.method}")
        n_points = fitted.trajectory.n_iter + 1
        if len(way.steps) == n_points:
            return way
        title = f"{way.title}: {len(way.steps)} of its {n_points:,} points"
        return replace(way, title=title)
    ends = (fitted.before, fitted.after)
    return Way(
        f"From k-means to {fitted.method}",
        "trajectory",
        np.arange(2),
        np.array([end.utilities for end in ends]),
        np.array([end.overall for end in ends]),
        np.array([end.labels for end in ends]),
    )


# --- Sentences ---------------------------------------------------------------------


def fit_summary(outcome: Outcome) -> tuple[str, str]:
    """What changed, in two sentences."""
    names, before, after = outcome.group_names, outcome.before, outcome.after
    lowest, lowest_after = before.utilities.min(), after.utilities.min()
    distance = outcome.max_distance - lowest
    nearer = (lowest_after - lowest) / distance if distance > 0 else 0.0
    moved, n_rows = outcome.n_moved, int(outcome.group_sizes.sum())
    if moved == 0 and lowest_after - lowest < NOTEWORTHY:
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
        f"Overall utility goes from {before.overall:.4f} to {after.overall:.4f}, and "
        f"{moved:,} of {n_rows:,} people ({moved / n_rows:.1%}) "
        f"{'is' if moved == 1 else 'are'} in another cluster.",
    )


def _worst(utilities: NDArray[np.float64], names: NDArray[Any]) -> str:
    """The group of the lowest utility, or all that are level with it as it is told."""
    level = [
        name
        for name, utility in zip(names, utilities, strict=True)
        if f"{utility:.4f}" == f"{utilities.min():.4f}"
    ]
    return " and ".join(level) if len(level) < 4 else f"{len(level)} groups"


def better_point(fitted: Fitted, frontier: Frontier) -> str | None:
    """A sentence on the point of the trade-off that is better for every group."""
    gains = frontier.utilities - fitted.after.utilities
    is_better = (gains > NOTEWORTHY).all(axis=1)
    if not is_better.any():
        return None
    lowest = frontier.utilities.min(axis=1)
    point = int(np.argmax(np.where(is_better, lowest, -np.inf)))
    return (
        f"Point {point} of the trade-off is better for every group: the lowest utility "
        f"is {lowest[point]:.4f}, and everyone's {frontier.overall[point]:.4f}. There "
        "centers need not be means, and everyone is in the cluster of the nearest one."
    )


def audit_summary(audit: Audit) -> tuple[str, str]:
    """What was found, in two sentences."""
    names = audit.groups
    worst, best = int(audit.utilities.argmin()), int(audit.utilities.argmax())
    if len(names) == 1:
        return (
            f"Everyone is in one group, {names[0]}, with a mean utility of "
            f"{audit.overall:.4f}.",
            "With no other group there is nobody to compare with.",
        )
    interval = f" ({audit.confidence:.0%} interval: {interval_of(audit, worst)})"
    return (
        f"{names[worst]} is served worst, with a mean utility of "
        f"{audit.utilities[worst]:.4f}: {audit.gap:.4f} behind {names[best]}"
        f"{interval}.",
        f"The ratio of the two is {four_fifths(audit)}.",
    )


def four_fifths(audit: Audit) -> str:
    """The ratio, read as the four-fifths rule does."""
    if np.isnan(audit.ratio):
        return "undefined, as a utility is negative"
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
    """Whether there are enough people in a group, and in the best served."""
    best = int(audit.utilities.argmax())
    return bool(min(audit.sizes[g], audit.sizes[best]) >= FEW_PEOPLE)


def interval_of(audit: Audit, g: int) -> str:
    """The interval of how far a group is behind, or why it has none."""
    if audit.sizes[g] < FEW_PEOPLE:
        return "too few people"
    if not has_interval(audit, g):
        return "too few in the best"
    low, high = audit.intervals[g]
    return f"{low:.4f} to {high:.4f}"


def hurtful(audit: Audit, clusters: Sequence[str]) -> list[str]:
    """The clusters that add most to how far the worst-off group is behind everyone.

    None where everyone is in one group, which cannot be behind itself.
    """
    if len(audit.groups) == 1:
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
