"""What the pages of an audit and of a fit show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._frontier import Frontier
from rawlsian._many_moves import renumbering
from rawlsian._problem import Problem
from rawlsian._traverse import Trajectory
from rawlsian.metrics import Audit
from rawlsian.report import Page, Way
from rawlsian.table._analysis import Fitted, with_centers
from rawlsian.table._columns import Roles
from rawlsian.table._prepare import Prepared, group_texts, identifier_of
from rawlsian.table._read import Column, Table

# Points of a trajectory that the slider stops at.
MOST_POINTS = 60

UTILITY = (
    "Utility: each person's squared distance to the center of their cluster is taken "
    "from {limit:g}, the largest squared distance that two people in this table can "
    "have, and the mean is taken over a group. Higher is better; {limit:g} would be a "
    "perfect fit. Every number column is scaled to the range from 0 to 1, and two "
    "different categories are 1 apart, so that each column counts alike."
)
METHODS = {
    "rawls": "The start is the best of ten runs of k-means. From there people are "
    "reassigned, many at a time where that helps, one or two at a time, or by founding "
    "a cluster elsewhere; every step raises the utility of the group that is worst off "
    "at that moment, and it ends when no step does. Centers are the means of their "
    "clusters, and a person need not be in the cluster of the nearest one.",
    "operator": "The start is the best of ten runs of k-means. From there the operator "
    "{method} reassigns people step by step; every step raises the utility of the "
    "group that is worst off at that moment, and it ends when no step does. Centers "
    "are the means of their clusters, and a person need not be in the cluster of the "
    "nearest one.",
    "free": "The start is the best of ten runs of k-means. Beside it {method} searches "
    "centers that make the utility of the worst-off group as high as it finds; "
    "centers may lie anywhere, and everyone is in the cluster of the nearest one.",
    "kmeans-mean": "The start is the best of ten runs of k-means. Beside it "
    "kmeans-mean searches a clustering in which the utility of the worst-off group is "
    "as high as it finds, with the means of the clusters as centers; a person need "
    "not be in the cluster of the nearest one.",
}
TRADE_OFF = (
    "The trade-off: clusterings between the best k-means found, which has the highest "
    "overall utility, and the one that serves the worst-off group best. Of those "
    "found, none is better than another on both counts. Centers may lie anywhere here, "
    "and everyone is in the cluster of the nearest one."
)
SAMPLED = (
    " Its centers were searched on a sample of {rows:,} rows; the figures are those of "
    "all rows."
)
LIMITS = (
    "These figures compare how closely clusters describe groups on average. They do "
    "not tell whether what is done with the clusters is fair, whether the columns "
    "measure what they should, or whether any one person is served well.",
    "A group's mean hides differences within it, such as between young and old women. "
    "Name several sensitive columns to look at their intersections, and mind how few "
    "people are then in each.",
    "Utility depends on which columns are in the table and how they are scaled, and "
    "the ratio of two utilities on what a perfect fit counts. Compare figures of the "
    "same table only.",
    "A higher lowest utility usually costs others something; who pays is shown above. "
    "Whether that is right is for the people concerned to decide, not for this page.",
)


@dataclass(frozen=True, eq=False)
class Source:
    """Where the rows of a page come from."""

    name: str
    table: Table
    prepared: Prepared
    identifier: Column | None

    @classmethod
    def of(cls, name: str, table: Table, prepared: Prepared, roles: Roles) -> Source:
        """The table, with the column that names its rows if there is one."""
        found = identifier_of(roles, prepared.unused)
        return cls(
            name, table, prepared, None if found is None else table.columns[found]
        )


def fit_page(
    source: Source,
    fitted: Fitted,
    seed: int,
    frontier: Frontier,
    frontier_rows: int,
    restarts: NDArray[np.float64],
) -> Page:
    """The page of a fit: the way to it, and the trade-off."""
    problem = fitted.problem
    ways = [_way(fitted), frontier_way(frontier, problem, fitted.before.labels)]
    trade_off = TRADE_OFF
    if frontier_rows < problem.n_samples:
        trade_off += SAMPLED.format(rows=frontier_rows)
    kind = fitted.method if fitted.method in METHODS else "operator"
    if fitted.method in ("kmeans-free", "fair-lloyd"):
        kind = "free"
    cloud = (
        f"The cloud: {len(restarts):,} runs of k-means, each from random rows."
        if len(restarts)
        else ""
    )
    return _page(
        source,
        problem,
        title=f"Clusters of {source.name}, made fairer",
        summary=fit_summary(fitted),
        facts=(("Method", fitted.method), ("Seed", str(seed))),
        cluster_names=tuple(f"cluster {c}" for c in range(fitted.n_clusters)),
        ways=tuple(ways),
        cloud=restarts,
        methods=(METHODS[kind].format(method=fitted.method), trade_off, cloud),
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
        small(labels, len(cluster_names))[None],
    )
    interval = (
        ""
        if np.isnan(audit.gap_interval[0])
        else "The interval of the gap resamples the people of each group, with the "
        "clusters held fixed: it tells how much the gap owes to who happens to be in "
        "the table."
    )
    return _page(
        source,
        problem,
        title=f"How the clusters of {source.name} serve each group",
        summary=audit_summary(audit),
        facts=(),
        cluster_names=tuple(f"cluster {name}" for name in cluster_names),
        ways=(way,),
        cloud=np.empty((0, problem.n_groups)),
        methods=("The clusters are those of the table.", interval),
    )


def _page(
    source: Source,
    problem: Problem,
    *,
    title: str,
    summary: tuple[str, ...],
    facts: tuple[tuple[str, str], ...],
    cluster_names: tuple[str, ...],
    ways: tuple[Way, ...],
    cloud: NDArray[np.float64],
    methods: tuple[str, ...],
) -> Page:
    prepared, identifier = source.prepared, source.identifier
    names = None
    if identifier is not None:
        levels = np.append(identifier.levels.astype(str).astype(object), "")
        names = tuple(levels[identifier.codes[prepared.rows]])
    utility = UTILITY.format(limit=problem.max_distance)
    return Page(
        title=title,
        summary=summary,
        facts=(
            ("Rows", f"{source.table.n_rows:,}"),
            ("Clustered", f"{len(prepared.rows):,}"),
            ("Columns clustered on", ", ".join(f.name for f in prepared.features)),
            ("Clusters", str(len(cluster_names))),
            *facts,
        ),
        groups=group_texts(problem.group_names),
        group_codes=problem.groups,
        max_distance=problem.max_distance,
        cluster_names=cluster_names,
        X=prepared.X,
        attributes=prepared.attributes,
        ways=ways,
        cloud=cloud,
        bound=None,
        row_header="row" if identifier is None else identifier.name,
        row_names=names,
        row_numbers=prepared.rows + 1,
        notes=_notes(prepared),
        methods=tuple(text for text in (utility, *methods) if text),
        limits=LIMITS,
    )


def _notes(prepared: Prepared) -> tuple[tuple[str, tuple[str, ...]], ...]:
    lists = {
        "Worth knowing": prepared.remarks,
        "Columns that were not clustered on": [
            f"{column.name}: {column.reason}" for column in prepared.unused
        ],
        "Rows that were not clustered": [
            f"row {row + 1}: {reason}" for row, reason in prepared.left_out
        ],
    }
    return tuple((head, tuple(lines)) for head, lines in lists.items() if lines)


# --- Ways --------------------------------------------------------------------------


def small(labels: NDArray[Any], n_clusters: int) -> NDArray[Any]:
    """Labels in as few bytes as hold them."""
    return labels.astype(np.min_scalar_type(n_clusters - 1))


def _way(fitted: Fitted) -> Way:
    if fitted.trajectory is not None:
        title = f"From k-means, step by step ({fitted.method})"
        return trajectory_way(fitted.trajectory, title, fitted.n_clusters)
    ends = (fitted.before, fitted.after)
    return Way(
        f"From k-means to {fitted.method}",
        "trajectory",
        np.arange(2),
        np.array([end.utilities for end in ends]),
        np.array([end.overall for end in ends]),
        np.array([small(end.labels, fitted.n_clusters) for end in ends]),
    )


def trajectory_way(trajectory: Trajectory, title: str, n_clusters: int) -> Way:
    """Some of its points: both ends, and what lies evenly between them."""
    last = trajectory.n_iter
    evenly = np.linspace(0, last, min(MOST_POINTS, last + 1))
    steps = np.unique(evenly.round().astype(np.int64))
    now = small(trajectory.start_labels, n_clusters)
    labels = np.empty((len(steps), len(now)), now.dtype)
    done = 0
    for point, step in enumerate(steps):
        for operation in trajectory.operations[done:step]:
            now[operation.examples] = operation.targets
        labels[point], done = now, int(step)
    return Way(
        title,
        "trajectory",
        steps,
        trajectory.utilities[steps],
        trajectory.overall[steps],
        labels,
    )


def frontier_labels(
    frontier: Frontier, problem: Problem, start: NDArray[Any]
) -> NDArray[Any]:
    """Labels of each point, numbered so that few rows seem to have moved."""
    n_clusters = frontier.cluster_centers.shape[1]
    labels = np.empty(
        (len(frontier.overall), problem.n_samples), np.min_scalar_type(n_clusters - 1)
    )
    for point, centers in enumerate(frontier.cluster_centers):
        found = with_centers(problem, centers).labels
        start = renumbering(found, start, n_clusters)[found]
        labels[point] = start
    return labels


def frontier_way(frontier: Frontier, problem: Problem, start: NDArray[Any]) -> Way:
    """Every point of the trade-off."""
    return Way(
        "The trade-off, from the highest overall to the highest lowest utility",
        "frontier",
        np.arange(len(frontier.overall)),
        frontier.utilities,
        frontier.overall,
        frontier_labels(frontier, problem, start),
    )


# --- Sentences ---------------------------------------------------------------------


def fit_summary(fitted: Fitted) -> tuple[str, str]:
    """What changed, in two sentences."""
    problem, before, after = fitted.problem, fitted.before, fitted.after
    names = group_texts(problem.group_names)
    worst, worst_after = int(before.utilities.argmin()), int(after.utilities.argmin())
    lowest, lowest_after = before.utilities[worst], after.utilities[worst_after]
    distance = problem.max_distance - lowest
    nearer = (lowest_after - lowest) / distance if distance > 0 else 0.0
    moved, n_rows = fitted.n_moved, problem.n_samples
    return (
        f"The lowest group utility goes from {lowest:.4f} ({names[worst]}) to "
        f"{lowest_after:.4f} ({names[worst_after]}): the worst-off group's mean "
        f"squared distance to its centers is {abs(nearer):.1%} "
        f"{'less' if nearer >= 0 else 'more'}.",
        f"Overall utility goes from {before.overall:.4f} to {after.overall:.4f}, and "
        f"{moved:,} of {n_rows:,} people ({moved / n_rows:.1%}) are in another "
        "cluster.",
    )


def audit_summary(audit: Audit) -> tuple[str, str]:
    """What was found, in two sentences."""
    names = group_texts(audit.groups)
    worst, best = int(audit.utilities.argmin()), int(audit.utilities.argmax())
    if len(names) == 1:
        return (
            f"Everyone is in one group, {names[0]}, with a mean utility of "
            f"{audit.overall:.4f}.",
            "With no other group there is nobody to compare with.",
        )
    low, high = audit.gap_interval
    interval = (
        ""
        if np.isnan(low)
        else f" ({audit.confidence:.0%} interval {low:.4f} to {high:.4f})"
    )
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
