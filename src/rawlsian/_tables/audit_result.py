"""Result of an audit of a table, the same wherever the rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rawlsian._tables.results import needs_memory, wrote_lines
from rawlsian._tables.text import TextTable, as_text

if TYPE_CHECKING:
    from rawlsian._tables.facts import Facts
    from rawlsian._tables.memory import AuditInMemory
    from rawlsian._tables.serving import ServedBy
    from rawlsian.metrics import Audit


@dataclass(frozen=True, eq=False, repr=False)
class TableAudit:
    """How well the clusters of a table serve each group, from ``audit_table``.

    ``str`` gives what the command prints.

    Attributes
    ----------
    facts : Facts
        Rows and columns of the table, what was left out and why, and remarks.
    audit : Audit
        Distances and utilities of each group and cluster, with intervals.
    clusters : list of str
        Names of the clusters.
    served_by : {"center", "members"}
        What serves a person: the nearest center, or the mean of their cluster.
    written : tuple of str
        Files that were written.
    """

    facts: Facts
    audit: Audit
    clusters: list[str]
    served_by: ServedBy
    written: tuple[str, ...]
    _in_memory: AuditInMemory | None

    def page(self) -> str:
        """Return the page that ``report`` writes.

        Returns
        -------
        str
            HTML, in one file.
        """
        from rawlsian._tables.audit_page import audit_page
        from rawlsian.report import page_html

        if self._in_memory is None:
            raise needs_memory("page")
        return page_html(audit_page(self._in_memory))

    def sentences(self) -> list[str]:
        """Return what was found, in sentences."""
        from rawlsian._tables.audit_text import audit_summary, composition, hurtful
        from rawlsian._tables.serving import SENTENCE

        lines = hurtful(self.audit, self.clusters)
        if lines:
            lines = ["What adds most to that:", *(f"  {line}" for line in lines)]
        return [
            *audit_summary(self.audit), *lines, *composition(self.audit, self.clusters),
            SENTENCE[self.served_by],
        ]  # fmt: skip

    def summary(self) -> list[str | TextTable]:
        """Return the lines and tables that the command prints."""
        from rawlsian._tables.audit_text import groups_table, utilities_table

        return [
            *self.facts.lines("Compared on"),
            groups_table(self.audit, self.served_by),
            *self.sentences(),
            "",
            utilities_table(self.audit),
            *wrote_lines(self.written),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints.

        Returns
        -------
        dict
            Distances and utilities of each group and cluster, columns, rows, remarks.
        """
        from rawlsian.metrics.audit import number_or_none
        from rawlsian.metrics.composition import separation

        audit, clusters = self.audit, self.clusters
        shortfalls = map(number_or_none, audit.shortfalls())
        low, high = map(number_or_none, audit.gap_interval)
        return {
            "groups": audit.by_group(),
            "worst_off": audit.worst_off,
            "gap": number_or_none(audit.gap),
            "gap_interval": None if low is None else [low, high],
            "is_clear_gap": audit.is_clear_gap,
            "confidence": audit.confidence,
            "min_group": audit.min_group,
            "served_by": self.served_by,
            "overall": audit.overall,
            "least_advantaged": audit.least_advantaged,
            "max_distance": audit.max_distance,
            "separation": separation(audit.cluster_sizes),
            "clusters": [
                {**row, "cluster": clusters[row["cluster"]]}
                for row in audit.by_cluster()
            ],
            "shortfalls": dict(zip(clusters, shortfalls, strict=True)),
            **self.facts.to_dict(),
            "written": list(self.written),
        }

    def to_frame(self) -> Any:
        """Return the groups as ``Audit.to_frame`` does.

        Returns
        -------
        pandas.DataFrame
            One row per group.
        """
        return self.audit.to_frame()

    def _repr_html_(self) -> str:
        return self.audit._repr_html_()

    def __str__(self) -> str:
        return as_text(self.summary())

    def __repr__(self) -> str:
        return (
            f"TableAudit(n_clusters={len(self.clusters)}, "
            f"worst_off={self.audit.worst_off!r}, gap={self.audit.gap:.1f})"
        )
