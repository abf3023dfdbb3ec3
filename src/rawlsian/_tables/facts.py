"""Facts about a table that every result reports: rows, columns, remarks, passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rawlsian._tables.columns import NOT_ASKED_FOR, Unused
from rawlsian._tables.text import counted, listed

if TYPE_CHECKING:
    from rawlsian.preprocessing.features import Feature


# Groups that are named with the rows that they lose.
MOST_NAMED = 10


class Reason(NamedTuple):
    """Why some rows are left out, how many, and the first, counted from 1."""

    reason: str
    n_rows: int
    first_row: int
    file: str | None = None

    @property
    def first(self) -> str:
        """Name of the first of them."""
        in_file = "" if self.file is None else f" of {self.file!r}"
        return f"row {self.first_row}{in_file}"

    @property
    def where(self) -> str:
        """Number of rows, and the first of them."""
        if self.n_rows == 1:
            return f"1 row, {self.first}"
        return f"{self.n_rows:,} rows, the first is {self.first}"

    @property
    def sentence(self) -> str:
        """Return the sentence that is printed."""
        return f"Left out: {self.where} ({self.reason})."


class GroupRows(NamedTuple):
    """Rows of a group that are left out, of all of its rows.

    ``group`` is None for rows whose sensitive value is missing: they have no group.
    """

    group: str | None
    n_left_out: int
    n_rows: int

    @property
    def text(self) -> str:
        """How many rows are left out, of how many."""
        if self.group is None:
            return f"{self.n_left_out:,} without a group"
        share = self.n_left_out / self.n_rows
        return f"{self.group} {self.n_left_out:,} of {self.n_rows:,} ({share:.1%})"


def group_rows(
    kept: Mapping[Any, int],
    left_out: Mapping[Any, int],
    name: Callable[[tuple[str, ...]], str],
    order: Callable[[tuple[str, ...]], Any] | None = None,
) -> list[GroupRows]:
    """Return rows that are left out by group; nothing if there are none.

    Parameters
    ----------
    kept, left_out : mapping of sensitive values to int
        Rows of each group; None for rows that are left out and have no group.
    name, order : callable
        Names the group of these values, and sorts them; None sorts by the values.
    """
    if not left_out:
        return []
    groups = {*kept, *(each for each in left_out if each is not None)}
    values = sorted(groups, key=order)
    found = [
        GroupRows(name(each), left_out.get(each, 0),
                  kept.get(each, 0) + left_out.get(each, 0))
        for each in values
    ]  # fmt: skip
    without = left_out.get(None, 0)
    return [*found, *([GroupRows(None, without, without)] if without else [])]


def by_group_sentence(groups: Sequence[GroupRows]) -> list[str]:
    """Return which groups lose most rows, if any do."""
    if not groups:
        return []
    most = sorted(groups, key=lambda each: -each.n_left_out / each.n_rows)
    shown = groups if len(groups) <= MOST_NAMED else most[:MOST_NAMED]
    more = len(groups) - len(shown)
    others = f"; and {counted(more, 'other group')}" if more else ""
    texts = "; ".join(each.text for each in shown)
    return [f"Left out by group: {texts}{others}."]


def _left_out(unused: Sequence[Unused]) -> list[str]:
    """Return a line for each column; one for all that were not asked for."""
    others = [each.name for each in unused if each.reason == NOT_ASKED_FOR]
    return [
        *(
            f"Left out: {each.name} ({each.reason})."
            for each in unused
            if each.reason != NOT_ASKED_FOR
        ),
        *([f"Left out: {listed(others)} ({NOT_ASKED_FOR})."] if others else []),
    ]


class Facts(NamedTuple):
    """Facts about a table, in one file or in many.

    Attributes
    ----------
    name : str
        Name of the table.
    n_rows, n_columns : int
        Its size, rows that are left out included.
    how : str
        Format of the table.
    features : list of Feature
        The columns that are used.
    unused : list of Unused
        The other columns, each with the reason.
    left_out : list of Reason
        Rows that are left out, by reason.
    remarks : list of str
        Sentences worth knowing.
    left_out_by_group : list of GroupRows
        Rows that are left out, by group; empty if there are none.
    """

    name: str
    n_rows: int
    n_columns: int
    how: str
    features: list[Feature]
    unused: list[Unused]
    left_out: list[Reason]
    remarks: list[str]
    left_out_by_group: list[GroupRows]

    def lines(self, verb: str) -> list[str]:
        """Return what is printed; ``verb`` is "Clustered on" or "Compared on"."""
        used = ", ".join(
            f"{feature.name} ({feature.words})" for feature in self.features
        )
        return [
            f"{self.name}: {counted(self.n_rows, 'row')}, "
            f"{counted(self.n_columns, 'column')} ({self.how}).",
            f"{verb} {len(self.features)}: {used}.",
            *_left_out(self.unused),
            *(each.sentence for each in self.left_out),
            *by_group_sentence(self.left_out_by_group),
            *self.remarks,
            "",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return columns, rows that are left out, and remarks."""
        return {
            "clustered_on": [feature.name for feature in self.features],
            "read_as": {feature.name: feature.words for feature in self.features},
            "not_clustered_on": {each.name: each.reason for each in self.unused},
            "rows_not_clustered": [
                {"reason": each.reason, "rows": each.n_rows,
                 "first_row": each.first_row}
                | ({} if each.file is None else {"first_file": each.file})
                for each in self.left_out
            ],
            "rows_not_clustered_by_group": [
                {"group": each.group, "rows": each.n_left_out, "of": each.n_rows}
                for each in self.left_out_by_group
            ],
            "remarks": list(self.remarks),
        }  # fmt: skip


class Passes(NamedTuple):
    """Passes over the rows of a table in parts."""

    engine: str
    n_rows: int
    n_parts: int
    n_passes: int

    @property
    def sentence(self) -> str:
        """Return the sentence that is printed."""
        from rawlsian._outofcore.sample import LEAST_SEARCHED

        searched = ""
        if self.n_rows > LEAST_SEARCHED:
            searched = "; clusters were searched on a sample, and finished on all rows"
        passes, rows = f"{self.n_passes} passes", counted(self.n_rows, "row")
        return f"{passes} over {rows} in {counted(self.n_parts, 'part')}{searched}."

    def to_dict(self) -> dict[str, Any]:
        """Return the engine and the number of passes."""
        return {"engine": self.engine, "passes": self.n_passes}
