"""Results of the table functions, the same wherever the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rawlsian._tables.text import TextTable, as_text, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rawlsian._search.frontier import Frontier
    from rawlsian._tables.analysis import Outcome
    from rawlsian._tables.choosing_k import Candidate, Choice
    from rawlsian._tables.facts import Facts, Passes, Reason
    from rawlsian._tables.memory import AuditInMemory, FitInMemory
    from rawlsian._tables.model import Model
    from rawlsian._tables.new_people import NewPeople
    from rawlsian._tables.outputs import Outputs
    from rawlsian.metrics import Audit


class _WithLabels:
    """Labels of all rows, from a table that label files hold."""

    _labels: Any

    def labels_table(self) -> Any:
        """Return what ``out`` writes, as a pyarrow table.

        Returns
        -------
        pyarrow.Table
            All rows in their order: ``row`` counts from 1; the identifier, if the table
            has one; ``cluster``, null for rows without one; ``not_clustered``, the
            reason. Labels of a table in parts are read from the folder ``out``.
        """
        return self._labels.table()

    @property
    def labels(self) -> NDArray[np.int32]:
        """Cluster of each row of the table, -1 for rows that are not clustered."""
        labels: NDArray[np.int32] = self._labels.clusters()
        return labels


@dataclass(frozen=True, eq=False, repr=False)
class TableFit(_WithLabels):
    """Fairer clusters of a table, as ``fit_table`` returns them.

    ``str`` gives what the command prints.

    Attributes
    ----------
    facts : Facts
        Rows and columns of the table, what was left out and why, and remarks.
    outcome : Outcome
        Groups, their utilities before and after, and how the method ended.
    model : Model
        Encoding and centers, for ``predict_table``.
    seed : int
        Seed of all random draws.
    choice : Choice or None
        Where a range of clusters was asked for: k-means with each number, and which
        number each criterion takes.
    new_people : NewPeople or None
        How people who were left out of fits are served, beside k-means; None if that
        was not measured.
    passes : Passes or None
        Passes over the rows of a table in parts; None for one in memory.
    written : tuple of str
        Files that were written.
    """

    facts: Facts
    outcome: Outcome
    model: Model
    seed: int
    choice: Choice | None
    new_people: NewPeople | None
    passes: Passes | None
    written: tuple[str, ...]
    _outputs: Outputs
    _labels: Any
    _in_memory: FitInMemory | None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """K-means with each number of clusters, where a range was asked for."""
        return () if self.choice is None else self.choice.candidates

    @property
    def centers(self) -> NDArray[np.float64]:
        """Encoded centers, of shape (n_clusters, n_features)."""
        return self.model.centers

    @property
    def is_interrupted(self) -> bool:
        """True if Ctrl-C stopped it; the clusters are then those reached so far."""
        return self.outcome.is_interrupted

    @property
    def stop_reason(self) -> str | None:
        """Why a walk ended; None for a search."""
        return self.outcome.stop_reason

    @property
    def frontier(self) -> Frontier:
        """The trade-off, searched when it is first asked for."""
        return self._rows("frontier").trade_off.frontier

    def page(self) -> str:
        """Return the page that ``report`` writes.

        Returns
        -------
        str
            HTML, in one file.
        """
        from rawlsian._tables.pages import fit_page
        from rawlsian.report import page_html

        return page_html(fit_page(self._rows("page")))

    def sentences(self) -> list[str]:
        """Return what changed, in sentences."""
        from rawlsian._tables.sentences import (
            COUNTED,
            fit_summary,
            lone_people,
            pooling_sentence,
        )

        passes = [] if self.passes is None else [self.passes.sentence]
        new_people = [] if self.new_people is None else self.new_people.sentences()
        better = self._better()
        return [
            *fit_summary(self.outcome), COUNTED[self.outcome.utility],
            *pooling_sentence(self.outcome), *new_people, *lone_people(self.outcome),
            *passes, *([] if better is None else [better]),
        ]  # fmt: skip

    def summary(self) -> list[str | TextTable]:
        """Return the lines and tables that the command prints."""
        from rawlsian._tables import printed

        outcome = self.outcome
        summary: list[str | TextTable] = [*self.facts.lines("Clustered on")]
        if self.choice is not None:
            summary += printed.choice_lines(self.choice)
        summary += [printed.utilities_table(outcome), *self.sentences()]
        if self._has_trade_off and self._outputs.frontier is not None:
            summary.append(printed.frontier_table(self.frontier))
        return [*summary, *_wrote(self.written)]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints.

        Returns
        -------
        dict
            Utilities of each group before and after, columns, rows, remarks.
        """
        from rawlsian._tables.sentences import lone_people

        outcome = self.outcome
        names = [str(name) for name in outcome.group_names]
        before, after = outcome.before, outcome.after
        content: dict[str, Any] = {
            "method": outcome.method,
            "utility": outcome.utility,
            "clusters": outcome.n_clusters,
            "seed": self.seed,
            "pooling": outcome.pooling if np.isfinite(outcome.pooling) else "inf",
            "max_distance": outcome.max_distance,
            "groups": [
                {
                    "group": name,
                    "size": float(outcome.group_sizes[g]),
                    "before": float(before.utilities[g]),
                    "after": float(after.utilities[g]),
                }
                for g, name in enumerate(names)
            ],
            "overall": {"before": before.overall, "after": after.overall},
            "least_advantaged": {
                "before": names[int(before.utilities.argmin())],
                "after": names[int(after.utilities.argmin())],
            },
            "moved": outcome.n_moved,
            "steps": outcome.n_steps,
            "stop_reason": outcome.stop_reason,
            "new_people": None
            if self.new_people is None
            else self.new_people.to_dict(),
            **({} if self.passes is None else self.passes.to_dict()),
            **self.facts.to_dict(),
            "written": list(self.written),
        }
        content["remarks"] += lone_people(outcome)
        if self.choice is not None:
            content["chosen_by"] = self.choice.chosen_by
            content["choices"] = dict(self.choice.choices)
            content["tried"] = [asdict(each) for each in self.choice.candidates]
        if self._has_trade_off:
            better = self._better()
            content["frontier"] = _frontier_points(self.frontier, names)
            content["remarks"] += [] if better is None else [better]
        return content

    def __str__(self) -> str:
        return as_text(self.summary())

    def __repr__(self) -> str:
        outcome = self.outcome
        return (
            f"TableFit(method={outcome.method!r}, n_clusters={outcome.n_clusters}, "
            f"lowest utility {outcome.before.utilities.min():.4f} -> "
            f"{outcome.after.utilities.min():.4f})"
        )

    @property
    def _has_trade_off(self) -> bool:
        """True if the trade-off was asked for, and the fit not interrupted."""
        asked = (self._outputs.frontier, self._outputs.page)
        return any(asked) and not self.is_interrupted

    def _better(self) -> str | None:
        """Return the sentence on a point that is better for every group, if any."""
        from rawlsian._tables.sentences import better_point

        if not self._has_trade_off:
            return None
        return better_point(self.outcome, self.frontier)

    def _rows(self, what: str) -> FitInMemory:
        if self._in_memory is None:
            raise _needs_memory(what)
        return self._in_memory


@dataclass(frozen=True, eq=False, repr=False)
class TableAudit:
    """How well the clusters of a table serve each group, from ``audit_table``.

    ``str`` gives what the command prints.

    Attributes
    ----------
    facts : Facts
        Rows and columns of the table, what was left out and why, and remarks.
    audit : Audit
        Utilities of each group and cluster, with intervals.
    clusters : list of str
        Names of the clusters.
    written : tuple of str
        Files that were written.
    """

    facts: Facts
    audit: Audit
    clusters: list[str]
    written: tuple[str, ...]
    _in_memory: AuditInMemory | None

    def page(self) -> str:
        """Return the page that ``report`` writes.

        Returns
        -------
        str
            HTML, in one file.
        """
        from rawlsian._tables.pages import audit_page
        from rawlsian.report import page_html

        if self._in_memory is None:
            raise _needs_memory("page")
        return page_html(audit_page(self._in_memory))

    def sentences(self) -> list[str]:
        """Return what was found, in sentences."""
        from rawlsian._tables.sentences import audit_summary, hurtful

        audit = self.audit
        lines = hurtful(audit, self.clusters)
        if lines:
            behind = audit.overall - audit.utilities.min()
            head = (
                f"{audit.least_advantaged} is {behind:.4f} behind everyone. What adds "
                "most to that:"
            )
            lines = [head, *(f"  {line}" for line in lines)]
        return [*audit_summary(audit), *lines]

    def summary(self) -> list[str | TextTable]:
        """Return the lines and tables that the command prints."""
        from rawlsian._tables.printed import groups_table

        return [
            *self.facts.lines("Compared on"),
            groups_table(self.audit),
            *self.sentences(),
            *_wrote(self.written),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints.

        Returns
        -------
        dict
            Utilities of each group and cluster, columns, rows, remarks.
        """
        from rawlsian._tables.sentences import has_interval

        audit, clusters = self.audit, self.clusters
        none = {"low": None, "high": None}
        worst = int(audit.utilities.argmin())
        shortfalls = audit.shortfalls().tolist()
        return {
            "groups": [
                row if has_interval(audit, g) else row | none
                for g, row in enumerate(audit.by_group())
            ],
            "overall": audit.overall,
            "least_advantaged": audit.least_advantaged,
            "gap": audit.gap,
            "gap_interval": list(audit.gap_interval)
            if has_interval(audit, worst)
            else None,
            "confidence": audit.confidence,
            "ratio": None if np.isnan(audit.ratio) else audit.ratio,
            "passes_four_fifths": audit.passes_four_fifths,
            "max_distance": audit.max_distance,
            "utility": audit.utility,
            "clusters": [
                {**row, "cluster": clusters[row["cluster"]]}
                for row in audit.by_cluster()
            ],
            "shortfalls": dict(zip(clusters, shortfalls, strict=True)),
            **self.facts.to_dict(),
            "written": list(self.written),
        }

    def __str__(self) -> str:
        return as_text(self.summary())

    def __repr__(self) -> str:
        return (
            f"TableAudit(n_clusters={len(self.clusters)}, "
            f"least_advantaged={self.audit.least_advantaged!r}, "
            f"lowest utility {self.audit.utilities.min():.4f})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class TablePrediction(_WithLabels):
    """Nearest clusters of the rows of a table, from ``predict_table``.

    ``str`` gives what the command prints.

    Attributes
    ----------
    n_rows, n_placed : int
        Number of rows of the table, and of those that have a cluster.
    left_out : list of Reason
        Rows without a cluster, by reason.
    utilities : list of (str, int, float) or None
        Name, size and mean utility of each group; None where the table does not have
        the sensitive columns.
    written : tuple of str
        Files that were written.
    """

    n_rows: int
    n_placed: int
    left_out: list[Reason]
    utilities: list[tuple[str, int, float]] | None
    written: tuple[str, ...]
    _labels: Any

    def summary(self) -> list[str | TextTable]:
        """Return the lines and tables that the command prints."""
        summary: list[str | TextTable] = [
            f"{self.n_placed:,} of {counted(self.n_rows, 'row')} "
            f"{'has' if self.n_rows == 1 else 'have'} a cluster.",
            *(each.sentence for each in self.left_out),
        ]
        if self.utilities is not None:
            rows = [
                (name, f"{size:,}", f"{utility:.4f}")
                for name, size, utility in self.utilities
            ]
            columns = ("group", "people", "utility")
            summary.append(TextTable("How well each group is served", columns, rows))
        return [*summary, *_wrote(self.written)]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and utilities as plain Python.

        Returns
        -------
        dict
            Number of rows, rows without a cluster, utilities of each group.
        """
        groups = None
        if self.utilities is not None:
            names = ("group", "size", "utility")
            groups = [dict(zip(names, each, strict=True)) for each in self.utilities]
        return {
            "rows": self.n_rows,
            "placed": self.n_placed,
            "rows_not_clustered": [
                {
                    "reason": each.reason,
                    "rows": each.n_rows,
                    "first_row": each.first_row,
                }
                for each in self.left_out
            ],
            "groups": groups,
            "written": list(self.written),
        }

    def __str__(self) -> str:
        return as_text(self.summary())

    def __repr__(self) -> str:
        return f"TablePrediction(n_rows={self.n_rows}, n_placed={self.n_placed})"


def _needs_memory(what: str) -> Exception:
    from rawlsian._tables.errors import WrongUseError

    return WrongUseError(
        f"{what} needs all rows in memory, but this table was in parts; fit one file, "
        "or a sample of the rows."
    )


def _wrote(written: Sequence[str]) -> list[str]:
    return [f"Wrote {path}." for path in written]


def _frontier_points(frontier: Frontier, names: list[str]) -> list[dict[str, Any]]:
    return [
        {"overall": float(overall), "utilities": dict(zip(names, row, strict=True))}
        for overall, row in zip(
            frontier.overall, frontier.utilities.tolist(), strict=True
        )
    ]
