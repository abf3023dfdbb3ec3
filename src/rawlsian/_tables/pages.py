"""Pages of an audit and of a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Utility
from rawlsian._tables.analysis import Fitted
from rawlsian._tables.choosing_k import (
    LEAST_GAIN,
    N_FOLDS,
    PRIOR_PEOPLE,
    Choice,
)
from rawlsian._tables.facts import Reason
from rawlsian._tables.memory import AuditInMemory, FitInMemory, MemoryTable
from rawlsian._tables.methods import describe
from rawlsian._tables.new_people import N_FOLDS as HELD_OUT_FOLDS
from rawlsian._tables.prepare import Prepared
from rawlsian._tables.sentences import (
    COUNTED,
    CRITERION,
    audit_summary,
    behind_best,
    better_point,
    choice_sentence,
    end_of_range,
    fit_summary,
    hurtful,
    lone_people,
    pooling_sentence,
)
from rawlsian._tables.write import free_name
from rawlsian.report import (
    Curve,
    Curves,
    Page,
    TextColumns,
    Way,
    frontier_way,
    trajectory_way,
)
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
CURVES = (
    "Silhouette: how well the clusters are separated. The highest is taken.",
    f"Held-out cost: people are dealt into {N_FOLDS} parts with the same mix of "
    "groups. K-means is fitted without one part at a time, and the cost is the mean "
    "squared distance of the people of that part to the nearest center. It falls with "
    "nearly every added cluster, so the smallest number is taken that no larger one "
    "beats by more than a standard error and by more than "
    f"{LEAST_GAIN:.0%} of the total variance for each added cluster.",
    "Worst-off group: the largest held-out cost of a group, taken in the same way. "
    f"The cost of a group of n people counts n / (n + {PRIOR_PEOPLE}), and that of "
    "everyone the rest, because a maximum over small groups would mostly show their "
    "noise.",
)
NEW_PEOPLE = (
    "The table has mean squared distances to the nearest center: lower is better. In "
    "the table: of the people on whom the centers were fitted. New people: {rows:,} "
    f"people were dealt into {HELD_OUT_FOLDS} parts with the same mix of groups, and "
    "the people of each part were measured with centers that were fitted without them. "
    "The strength of pooling was chosen on all of these people, which makes the gain a "
    "little too high."
)
HELD_OUT_OF = "Held-out costs are means over {rows:,} people."
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
            *_chosen_from(found.choice),
            ("Method", fitted.method),
            ("Utility", COUNTED[fitted.utility]),
            *(("Pooling", each) for each in pooling_sentence(fitted.outcome)),
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
        curves=_curves(found.choice),
        new_people=_new_people(found),
    )


def _new_people(found: FitInMemory) -> TextColumns | None:
    """The section on people who are left out of fits, if they were measured."""
    if found.new_people is None:
        return None
    heads, rows = found.new_people.columns(found.fitted.method)
    texts = (
        *found.new_people.sentences(),
        NEW_PEOPLE.format(rows=found.new_people.n_rows),
    )
    return TextColumns(heads, tuple(rows), texts)


def _chosen_from(choice: Choice | None) -> tuple[tuple[str, str], ...]:
    """The fact on the range of numbers of clusters, if there was one."""
    if choice is None:
        return ()
    first, last = (choice.candidates[at].n_clusters for at in (0, -1))
    return (("Chosen from", f"{first} to {last}, by {CRITERION[choice.chosen_by]}"),)


def _curves(choice: Choice | None) -> Curves | None:
    """The section on the number of clusters, if it was chosen from a range."""
    if choice is None:
        return None
    tried, taken = choice.candidates, choice.choices
    silhouettes, costs, worst_costs = (
        tuple(getattr(each, name) for each in tried)
        for name in ("silhouette", "held_out_cost", "held_out_worst_cost")
    )
    return Curves(
        tuple(each.n_clusters for each in tried),
        choice.n_clusters,
        (
            Curve("Silhouette", "higher", silhouettes, taken["silhouette"]),
            Curve("Held-out cost, everyone", "lower", costs, taken["held-out"]),
            Curve(
                "Held-out cost, worst-off group",
                "lower",
                worst_costs,
                taken["held-out-worst"],
            ),
        ),
        ("Worst-off group", tuple(each.held_out_worst_group or "" for each in tried)),
        (
            f"{choice_sentence(choice)}.",
            *end_of_range(choice),
            *CURVES,
            HELD_OUT_OF.format(rows=choice.n_held_out),
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
    curves: Curves | None = None,
    new_people: TextColumns | None = None,
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
        curves=curves,
        new_people=new_people,
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
