"""Pages of an audit and of a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Utility
from rawlsian._tables.analysis import Fitted
from rawlsian._tables.facts import Reason
from rawlsian._tables.memory import AuditInMemory, FitInMemory, MemoryTable
from rawlsian._tables.methods import describe
from rawlsian._tables.prepare import Prepared
from rawlsian._tables.sentences import (
    COUNTED,
    audit_summary,
    behind_best,
    better_point,
    fit_summary,
    hurtful,
    lone_people,
)
from rawlsian._tables.write import free_name
from rawlsian.report import Page, Way, frontier_way, trajectory_way
from rawlsian.report.words import LIMITS, TRADE_OFF, utility_paragraph

SAMPLED = (
    " Its centers were searched on a sample of {rows:,} rows; the figures are those of "
    "all rows."
)
SHOWN: dict[Utility, str] = {
    "assigned": "The clusters are those of the table.",
    "nearest": "The means are those of the clusters of the table; everyone is shown in "
    "the cluster of the nearest mean.",
}
INTERVAL = (
    "The interval of how far a group is behind resamples the people of each group, "
    "with the clusters held fixed: it shows how much that owes to who happens to be "
    "in the table. With more than two groups it is wide enough for all pairs of "
    "groups at once."
)


def fit_page(found: FitInMemory) -> Page:
    """The page of a fit: the way to it, and the trade-off."""
    fitted, trade_off, restarts = found.fitted, found.trade_off, found.cloud
    better = better_point(fitted.outcome, trade_off.frontier)
    sampled = ""
    if trade_off.n_searched < fitted.problem.n_samples:
        sampled = SAMPLED.format(rows=trade_off.n_searched)
    cloud = f"The cloud: {len(restarts):,} runs of k-means, each from random rows."
    return _page(
        found.table,
        title=f"Clusters of {found.table.name}",
        summary=fit_summary(fitted.outcome),
        columns="Clustered on",
        facts=(
            ("Method", fitted.method),
            ("Utility", COUNTED[fitted.utility]),
            ("Seed", str(found.seed)),
            *(("Worth knowing", each) for each in lone_people(fitted.outcome)),
            *((("Better point", better),) if better else ()),
        ),
        cluster_names=tuple(map(str, range(fitted.n_clusters))),
        ways=(_way(fitted), frontier_way(trade_off.frontier, trade_off.labels)),
        cloud=restarts,
        methods=(
            describe(fitted.method, fitted.utility),
            TRADE_OFF + sampled,
            cloud,
        ),
    )


def audit_page(found: AuditInMemory) -> Page:
    """The page of an audit: one clustering."""
    audit = found.audit
    way = Way(
        "The clusters that were audited",
        "one",
        np.zeros(1, np.int64),
        audit.utilities[None],
        np.array([audit.overall]),
        found.labels[None],
    )
    return _page(
        found.table,
        title=f"How the clusters of {found.table.name} serve each group",
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
                for line in hurtful(audit, found.clusters)
            ),
        ),
        cluster_names=tuple(found.clusters),
        ways=(way,),
        cloud=None,
        methods=(SHOWN[audit.utility], INTERVAL),
        limits=LIMITS[:-1],  # the last is about a change
    )


def _page(
    table: MemoryTable,
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
    prepared, problem, identifier = table.prepared, table.problem, table.identifier
    names, header = None, "id"
    if identifier is not None:
        texts = np.append(identifier.texts(), "")
        names = tuple(texts[identifier.codes[prepared.rows]])
        header = free_name(identifier.name, ["row", "cluster"])
    utility = utility_paragraph(
        problem.max_distance,
        some_count_twice=any(f.fill is not None for f in prepared.features),
    )
    return Page(
        title=title,
        summary=summary,
        facts=(
            ("Rows", f"{table.n_rows:,}"),
            ("Rows used", f"{len(prepared.rows):,}"),
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
        "Rows that were left out": [
            f"{each.reason}: {each.where}"
            for each in map(Reason._make, prepared.left_out.by_reason())
        ],
    }
    return tuple((head, tuple(lines)) for head, lines in lists.items() if lines)


# --- Ways --------------------------------------------------------------------------


def _way(fitted: Fitted) -> Way:
    if fitted.trajectory is not None:
        title = f"From k-means, by {fitted.method}"
        way = trajectory_way(fitted.trajectory, title, fitted.problem.X)
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
