"""Read a sheet of an Excel workbook."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import IO, Any

import pyarrow as pa

from rawlsian._tables.column import Table, as_text, check_rows, from_arrow
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.header import (
    check_header_row,
    header_place,
    named as named_columns,
    on_empty,
    on_titles,
)
from rawlsian._tables.text import listed

Cell = Any


def read_excel(
    stream: IO[bytes],
    named: str,
    sheet: str | None,
    header_row: int | None,
    missing: frozenset[str],
) -> Table:
    """Read the sheet that is named, or the first that has cells."""
    name, rows, others = _sheet(stream, named, sheet)
    check_header_row(header_row, len(rows))
    texts = [list(map(_text, row)) for row in rows]
    place = header_place(texts) if header_row is None else header_row - 1
    header, body = texts[place] if texts else [], rows[place + 1 :]
    filled = [j for j, row in enumerate(body, start=1) if any(map(_has, row))]
    n_rows = filled[-1] if filled else 0
    width = max((_width(row) for row in [header, *body]), default=0)
    dropped = on_empty(len(header) - width, len(body) - n_rows)
    names, remarks = named_columns(header[:width])
    check_rows(n_rows, f"the sheet {name!r} of {named}")
    cells = pa.table(
        {
            name: _values([row[j] for row in body[:n_rows]])
            for j, name in enumerate(names)
        }
    )
    columns = {name: from_arrow(name, cells.column(name), missing) for name in names}
    return Table(
        columns, n_rows, f"Excel, sheet {name!r}",
        (*others, *on_titles(texts[:place]), *remarks, *dropped), cells,
    )  # fmt: skip


def _sheet(
    stream: IO[bytes], named: str, sheet: str | None
) -> tuple[str, list[list[Cell]], list[str]]:
    """Return the name of a sheet, its rows, and a remark on other sheets."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ModuleNotFoundError as error:
        raise WrongUseError(
            f"{named} is an Excel workbook, which needs python-calamine; pip install "
            "'rawlsian[cli]' brings it, or save the sheet as CSV."
        ) from error
    try:
        workbook = CalamineWorkbook.from_filelike(stream)
        names = list(workbook.sheet_names)
        if sheet is not None and sheet not in names:
            raise WrongUseError(
                f"--sheet {sheet!r} is not in {named}, whose sheets are "
                f"{listed([repr(each) for each in names])}."
            )
        for name in names if sheet is None else [sheet]:
            rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
            if rows:
                return name, rows, _on_others(names, name, sheet)
    except (CalamineError, OSError, ValueError) as error:
        if isinstance(error, WrongUseError):
            raise
        raise TableError(
            f"{named} is not a whole Excel workbook ({error}); save it again, or as "
            "CSV."
        ) from error
    raise TableError(f"{named} is empty; give a table with a header.")


def _on_others(names: Sequence[str], name: str, sheet: str | None) -> list[str]:
    """Return a remark on sheets that are not read, unless one was asked for."""
    others = [repr(each) for each in names if each != name]
    if sheet is not None or not others:
        return []
    return [f"Other sheets are not read: {listed(others)}; --sheet names one."]


def _has(cell: Cell) -> bool:
    return not (isinstance(cell, str) and not cell.strip())


def _text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    return as_text(cell)


def _width(row: Sequence[Cell]) -> int:
    """Return the number of cells up to the last that is filled."""
    return max((j for j, cell in enumerate(row, start=1) if _has(cell)), default=0)


def _values(cells: Sequence[Cell]) -> Any:
    """Return the cells of a column as numbers or texts; empty ones are null."""
    values = [cell if _has(cell) else None for cell in cells]
    kinds = {type(value) for value in values} - {type(None)}
    if kinds and kinds <= {int, float}:
        return pa.array(values, pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    texts = [None if value is None else _text(value) for value in values]
    return pa.array(texts, pa.string())
