"""Results of the table functions, the same wherever the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rawlsian._tables.text import TextTable, as_text, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rawlsian._tables.choosing_k import Candidate, Choice
    from rawlsian._tables.facts import Facts, Passes, Reason
    from rawlsian._tables.memory import FitInMemory
    from rawlsian._tables.model import Model
    from rawlsian._tables.outcome import Option, Outcome
    from rawlsian._tables.outputs import Outputs


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
            reason. With ``append`` the columns of the table, ``cluster_before``,
            ``cluster``, ``moved`` and ``not_clustered``. Labels of a table in parts are
            read from the folder ``out``.
        """
        return self._labels.table()

    @property
    def labels(self) -> NDArray[np.int32]:
        """Cluster of each row of the table, -1 for rows that are not clustered."""
        labels: NDArray[np.int32] = self._labels.clusters()
        return labels


@dataclass(frozen=True, eq=False, repr=False)
class TableFit(_WithLabels):
    """Options for the clusters of a table, and the one chosen, from ``fit_table``.

    ``str`` gives what the command prints.

    Attributes
    ----------
    facts : Facts
        Rows and columns of the table, what was left out and why, and remarks.
    outcome : Outcome
        The options with their effects, the recommendation, and what was chosen.
    model : Model
        Encoding and centers, for ``predict_table``.
    seed : int
        Seed of all random draws.
    choice : Choice or None
        Where a range of clusters was asked for: k-means with each number, and which
        number each criterion takes.
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
    passes: Passes | None
    written: tuple[str, ...]
    _outputs: Outputs
    _labels: Any
    _in_memory: FitInMemory | None

    @property
    def options(self) -> tuple[Option, ...]:
        """Keep, recommended, most; and the result, if it is none of these."""
        return self.outcome.options

    @property
    def verdict(self) -> str:
        """The recommendation, and why, in one sentence."""
        from rawlsian._tables.verdict import verdict

        return verdict(self.outcome)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """K-means with each number of clusters, where a range was asked for."""
        return () if self.choice is None else self.choice.candidates

    @property
    def centers(self) -> NDArray[np.float64]:
        """Encoded centers, of shape (n_clusters, n_features)."""
        return self.model.centers

    def centers_table(self) -> Any:
        """Return the centers in the table's own units.

        Returns
        -------
        pyarrow.Table
            A row for each cluster: the mean of each number, the share of each level of
            a category. ``out`` writes it beside the labels if centers serve people.
        """
        from rawlsian._tables.centers import centers_table

        names = self.outcome.cluster_names
        return centers_table(self.model.features, self.model.centers, names)

    @property
    def is_interrupted(self) -> bool:
        """True if Ctrl-C stopped it; the clusters are then those reached so far."""
        return self.outcome.is_interrupted

    @property
    def stop_reason(self) -> str | None:
        """Why a walk ended; None for a search."""
        ended = self.outcome.ended
        return None if ended is None else ended.stop_reason

    def page(self) -> str:
        """Return the page that ``report`` writes.

        Returns
        -------
        str
            HTML, in one file.
        """
        from rawlsian._tables.fit_page import fit_page
        from rawlsian.report import page_html

        if self._in_memory is None:
            raise needs_memory("page")
        return page_html(fit_page(self._in_memory))

    def sentences(self) -> list[str]:
        """Return what is recommended, what was chosen and what it changes."""
        from rawlsian._tables import verdict as say
        from rawlsian._tables.sentences import (
            lone_people,
            most_is_kept,
            pooling_sentence,
        )

        outcome = self.outcome
        most = most_is_kept(outcome) if outcome.result.key == "most" else []
        return [
            *say.chosen_sentence(outcome), *most, *say.domination(outcome),
            *say.gap_sentence(outcome), *say.kmeans_sentence(outcome),
            say.serving(outcome.result), *say.moved_sentence(outcome),
            say.separation_sentence(outcome), *say.small_groups(outcome),
            *say.new_people_sentence(outcome.result), *pooling_sentence(outcome),
            *lone_people(outcome),
            *([] if self.passes is None else [self.passes.sentence]),
        ]  # fmt: skip

    def summary(self) -> list[str | TextTable]:
        """Return the lines and tables that the command prints."""
        from rawlsian._tables import fit_text, printed

        outcome = self.outcome
        summary: list[str | TextTable] = [*self.facts.lines("Clustered on")]
        if self.choice is not None:
            summary += printed.choice_lines(self.choice)
        summary += [
            self.verdict, "", fit_text.options_table(outcome),
            fit_text.changes_table(outcome), *self.sentences(),
        ]  # fmt: skip
        if self._outputs.frontier is not None:
            summary.append(fit_text.trade_off_table(outcome))
        summary.append(fit_text.utilities_table(outcome))
        return [*summary, *wrote_lines(self.written)]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints.

        Returns
        -------
        dict
            The recommendation, the options with their effects, the trade-off, columns,
            rows, remarks.
        """
        from rawlsian._tables.fit_json import fit_dict

        return fit_dict(
            self.outcome, self.facts, self.seed, self.choice, self.passes, self.written
        )

    def __str__(self) -> str:
        return as_text(self.summary())

    def __repr__(self) -> str:
        outcome = self.outcome
        return (
            f"TableFit(n_clusters={outcome.n_clusters}, chosen={outcome.result.key!r}, "
            f"recommended point {outcome.advice.recommended} of "
            f"{len(outcome.advice.points)})"
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
    utilities : list of (str, float, float) or None
        Name, size (sum of weights) and mean utility of each group; None where the
        table does not have the sensitive columns.
    ignored : dict of str to int
        Number of rows with a value of a column that the model has not seen, and that
        are placed all the same, with ``unknown="ignore"``.
    written : tuple of str
        Files that were written.
    """

    n_rows: int
    n_placed: int
    left_out: list[Reason]
    utilities: list[tuple[str, float, float]] | None
    ignored: dict[str, int]
    written: tuple[str, ...]
    _labels: Any

    def summary(self) -> list[str | TextTable]:
        """Return the lines and tables that the command prints."""
        summary: list[str | TextTable] = [
            f"{self.n_placed:,} of {counted(self.n_rows, 'row')} "
            f"{'has' if self.n_rows == 1 else 'have'} a cluster.",
            *(each.sentence for each in self.left_out),
            *self._on_ignored(),
        ]
        if self.utilities is not None:
            rows = [
                (name, f"{size:,.0f}", f"{utility:.4f}")
                for name, size, utility in self.utilities
            ]
            columns = ("group", "people", "utility")
            summary.append(TextTable("How well each group is served", columns, rows))
        return [*summary, *wrote_lines(self.written)]

    def _on_ignored(self) -> list[str]:
        """Return how many values were ignored, if any were."""
        if not self.ignored:
            return []
        texts = (f"{name} in {counted(n, 'row')}" for name, n in self.ignored.items())
        return [
            "Values that the model has not seen are taken as equally far from all "
            f"others: {', '.join(texts)}."
        ]

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
            "unknown_ignored": dict(self.ignored),
            "groups": groups,
            "written": list(self.written),
        }

    def __str__(self) -> str:
        return as_text(self.summary())

    def __repr__(self) -> str:
        return f"TablePrediction(n_rows={self.n_rows}, n_placed={self.n_placed})"


def needs_memory(what: str) -> Exception:
    """Return the error for what needs all rows in memory."""
    from rawlsian._tables.errors import WrongUseError

    return WrongUseError(
        f"{what} needs all rows in memory, but this table was in parts; fit one file, "
        "or a sample of the rows."
    )


def wrote_lines(written: Sequence[str]) -> list[str]:
    """Return a line for each file that was written."""
    return [f"Wrote {path}." for path in written]
