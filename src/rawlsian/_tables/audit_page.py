"""The page of an audit: one clustering, and how it serves each group."""

from __future__ import annotations

from typing import Any

import numpy as np

from rawlsian._tables.audit_text import audit_summary, composition, hurtful
from rawlsian._tables.memory import AuditInMemory
from rawlsian._tables.page_parts import group_fits, provenance, rows_of, utility_text
from rawlsian._tables.serving import SENTENCE
from rawlsian.metrics.audit import Audit
from rawlsian.metrics.composition import separation
from rawlsian.report import Page, Shown, Tile, Way
from rawlsian.report.words import LIMITS

AUDITED = "The clusters that were audited"
LEVEL = (
    "Mean squared distance to what serves a person; everyone is 100, and lower is "
    "better. Bars are 95% intervals of each group's mean."
)
POINTS = (
    "Each group is compared with everyone else: all people outside the group. The unit "
    "is a point: the mean squared distance of everyone is 100 points."
)
INTERVAL = (
    "The interval resamples the people of the group and those of everyone else, with "
    "the clusters held fixed: it shows how much the difference owes to who happens to "
    "be in the table. With more than two groups it is wide enough for all of them."
)


def audit_page(found: AuditInMemory) -> Page:
    """Return the page of an audit."""
    audit, table = found.audit, found.table
    labels, distances = found.served
    way = Way(
        AUDITED, "one", np.zeros(1, np.int64), audit.utilities[None],
        np.array([audit.overall]), labels[None],
    )  # fmt: skip
    verdict, *summary = audit_summary(audit)
    contents: dict[str, Any] = {**rows_of(table)}
    utility = utility_text(table.prepared, audit.max_distance)
    return Page(
        title=f"How the clusters of {table.name} serve each group",
        verdict=verdict,
        summary=(
            *summary,
            SENTENCE[found.served_by],
            *composition(audit, found.clusters),
        ),
        tiles=_tiles(audit, found.clusters),
        group_fits=group_fits(table, found.served, None, audit.is_small),
        level_text=LEVEL,
        before=Shown(AUDITED, labels, distances, _separation(audit)),
        provenance=provenance(
            table,
            "Compared on",
            (
                ("Clusters", str(len(found.clusters))),
                ("Served by", found.served_by),
                ("Smallest group judged", f"{audit.min_group} people"),
            ),
        ),
        cluster_names=tuple(found.clusters),
        ways=(way,),
        methods=(POINTS, INTERVAL, utility),
        limits=LIMITS[:-1],  # the last is about a change
        **contents,
    )


def _separation(audit: Audit) -> float:
    return separation(audit.cluster_sizes)


def _tiles(audit: Audit, clusters: list[str]) -> tuple[Tile, ...]:
    """Return the gap, the groups that are clearly behind, and the separation."""
    separated = Tile(
        "Separation",
        f"{_separation(audit):.2f}",
        "0: the same mix of groups in every cluster; 1: one group in each.",
    )
    if audit.worst_off is None:
        none = Tile("Gap", "none", "No two groups have enough people to be compared.")
        return (none, separated)
    low, high = audit.gap_interval
    gap = Tile(
        "Gap",
        f"{audit.gap:+.1f}",
        f"{audit.worst_off} against everyone else, in points where everyone is 100; "
        f"95% interval {low:+.1f} to {high:+.1f}.",
    )
    behind = [str(name) for name in audit.groups[audit.is_clear]]
    clearly = Tile(
        "Clearly served worse",
        f"{len(behind)} of {len(audit.groups)}",
        ("; ".join(behind) or "No group: the differences may be chance.")
        + ("." if behind else ""),
    )
    worst = hurtful(audit, clusters)
    where = [
        Tile("Where it comes from", each.rsplit(":", 1)[0], "; ".join(worst))
        for each in worst[:1]
    ]
    return (gap, clearly, *where, separated)
