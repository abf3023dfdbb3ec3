"""Header of a table: title rows above it, names that are alike, empty columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.numbers import is_number
from rawlsian._tables.text import counted, listed
from rawlsian._tables.unpack import check_n_columns

# Rows that are looked at to find the header.
ROWS_LOOKED_AT = 50
# Titles that are quoted.
MOST_QUOTED = 3

Row = Sequence[str]


class Header(NamedTuple):
    """Names of the columns, and remarks on what was found about them."""

    names: list[str]
    remarks: list[str]


def header_place(rows: Sequence[Row]) -> int:
    """Return the place of the header, which may stand below title rows.

    Rows are title rows if they are empty, or have a first cell and at most half as
    many cells as the table, and the row below them can be a header: more than half of
    its cells are texts, and none is a number.
    """
    rows = rows[:ROWS_LOOKED_AT]
    widths = Counter(len(row) for row in rows if _n_filled(row))
    width = max(widths, key=lambda each: (widths[each], each), default=0)
    place = 0
    while place < len(rows) and _is_title(rows, place, width):
        place += 1
    if place == len(rows) or not _is_header(rows[place], width):
        return _first_filled(rows)
    return place


def check_header_row(header_row: int | None, n_rows: int) -> None:
    """Refuse a header below the last row."""
    if header_row is not None and header_row > n_rows:
        raise WrongUseError(
            f"--header-row {header_row} is below the last row, which is {n_rows}."
        )


def _first_filled(rows: Sequence[Row]) -> int:
    return next((j for j, row in enumerate(rows) if _n_filled(row)), 0)


def _n_filled(row: Row) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _is_title(rows: Sequence[Row], place: int, width: int) -> bool:
    row = rows[place]
    n_filled = _n_filled(row)
    if n_filled == 0:
        return True
    if not row[0].strip() or n_filled > max(1, width // 2) or width < 2:
        return False
    # In a table of two columns a header may lack the second name.
    is_alone = place + 1 < len(rows) and not _n_filled(rows[place + 1])
    return len(row) < width or width > 2 or is_alone


def _is_header(row: Row, width: int) -> bool:
    filled = [cell.strip() for cell in row if cell.strip()]
    return len(filled) > width / 2 and not any(map(is_number, filled))


def on_titles(rows: Sequence[Row]) -> list[str]:
    """Return a remark on the rows above the header, if any has text."""
    texts = [" ".join(cell.strip() for cell in row if cell.strip()) for row in rows]
    texts = [text for text in texts if text]
    if not texts:
        return []
    quoted = listed([f"{text!r:.60}" for text in texts[:MOST_QUOTED]])
    more = f" and {len(texts) - MOST_QUOTED} more" if len(texts) > MOST_QUOTED else ""
    is_one = len(texts) == 1
    return [
        f"{'A row' if is_one else f'{len(texts)} rows'} above the header "
        f"{'is' if is_one else 'are'} not part of the table: {quoted}{more}."
    ]


def named(cells: Row) -> Header:
    """Return a name of its own, in one line, for each column of a header."""
    names = (" ".join(cell.split("\n")) for cell in cells)
    return told_apart(
        [name.strip() or f"unnamed {j}" for j, name in enumerate(names, start=1)]
    )


def told_apart(names: Sequence[str]) -> Header:
    """Return names of which no two are alike: those that are get numbers.

    Too many columns are refused.
    """
    check_n_columns(len(names))
    counts = Counter(names)
    taken, apart = set(names), list(names)
    remarks = []
    for name in [name for name, count in counts.items() if count > 1]:
        number, new = 0, []
        for place in [j for j, each in enumerate(names) if each == name]:
            number += 1
            while f"{name} ({number})" in taken:
                number += 1
            apart[place] = f"{name} ({number})"
            new.append(repr(apart[place]))
        remarks.append(
            f"{counts[name]} columns are called {name!r}; they are told apart as "
            f"{listed(new)}."
        )
    return Header(apart, remarks)


def on_empty(n_columns: int, n_rows: int) -> list[str]:
    """Return a remark on empty columns without a name, and empty rows, at the end."""
    found = [
        *([counted(n_columns, "empty column")] if n_columns else []),
        *([counted(n_rows, "empty row")] if n_rows else []),
    ]
    return [f"Dropped from the end of the table: {listed(found)}."] if found else []
