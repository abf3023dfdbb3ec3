"""Read delimited text: names from the header, and every column as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from rawlsian._tables.column import Column, Table, check_rows, from_texts
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.header import (
    ROWS_LOOKED_AT,
    check_header_row,
    header_place,
    named as named_columns,
    on_empty,
    on_titles,
)
from rawlsian._tables.numbers import match
from rawlsian._tables.text import counted

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
HEAD_BYTES = 2**16
# Whole numbers as programs write them that keep missing values among real numbers.
WHOLE_WITH_POINT = r"-?(?:0|[1-9][0-9]*)\.0"
LONGEST_HEADER = 2**26


def read_text(
    content: bytes,
    named: str,
    delimiter: str | None,
    encoding: str,
    missing: frozenset[str],
    header_row: int | None = None,
) -> Table:
    """Decode and parse the bytes of a text file, which errors call ``named``."""
    content, encoding = _decoded(content, encoding, named)
    if not content.strip(b"\r\n"):
        raise TableError(f"{named} is empty; give a table with a header.")
    head = content[:HEAD_BYTES] if header_row is None else content
    lines = head.splitlines(keepends=True)
    check_header_row(header_row, len(lines))
    if delimiter is None:
        delimiter = _guess_delimiter(lines[(header_row or 1) - 1 :])
    _check_delimiter(delimiter)
    titles, n_above = _titles(lines, delimiter, header_row)
    content = content[sum(map(len, lines[:n_above])) :]
    names, remarks = _header(content, delimiter, named)
    encoded = _parse(content, names, delimiter, named)
    check_rows(encoded.num_rows, named)
    _refuse_open_quote(content, encoded, named)
    cells, on_end = _without_empty_end(encoded.rename_columns(names))
    check_rows(cells.num_rows, named)
    columns = {
        name: _spelled(from_texts(name, cells.column(name), missing))
        for name in cells.column_names
    }
    separated = DELIMITERS.get(delimiter, repr(delimiter))
    return Table(
        columns, cells.num_rows, f"separated by {separated}, {encoding}",
        (*on_titles(titles), *remarks, *on_end), cells,
    )  # fmt: skip


def _titles(
    lines: Sequence[bytes], delimiter: str, header_row: int | None
) -> tuple[list[list[str]], int]:
    """Return the rows above the header, and how many lines they have."""
    if header_row is not None:
        above = lines[: header_row - 1]
        return list(_rows(above, delimiter)), len(above)
    rows, starts = [], [0]
    reader = _rows(lines, delimiter)
    for row in islice(reader, ROWS_LOOKED_AT):
        rows.append(row)
        starts.append(starts[-1] + 1 + sum(cell.count("\n") for cell in row))
    place = header_place(rows)
    return rows[:place], starts[place]


def _rows(lines: Iterable[bytes], delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of lines, as far as they can be read."""
    texts = io.TextIOWrapper(io.BytesIO(b"".join(lines)), "utf-8", errors="replace")
    with suppress(csv.Error):  # a cell of more than 100,000 letters
        yield from csv.reader(texts, delimiter=delimiter)


def _without_empty_end(cells: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the table without empty rows, and empty unnamed columns, at its end."""
    names = cells.column_names
    n_columns = len(names)
    while n_columns > 1 and _is_dropped(cells, names[n_columns - 1], n_columns):
        n_columns -= 1
    kept = cells.select(names[:n_columns])
    n_rows = kept.num_rows
    while n_rows and n_columns > 1 and _is_empty_row(kept, n_rows - 1):
        n_rows -= 1
    dropped = len(names) - n_columns, kept.num_rows - n_rows
    return kept.slice(0, n_rows), on_empty(*dropped)


def _is_dropped(cells: pa.Table, name: str, place: int) -> bool:
    column = cells.column(name)
    return name == f"unnamed {place}" and column.null_count == len(column)


def _is_empty_row(cells: pa.Table, row: int) -> bool:
    return not any(column[row].is_valid for column in cells.columns)


def _spelled(column: Column) -> Column:
    """Spell values as frames do: true and false, and whole numbers without a point.

    That is done if a column has nothing else, and never makes two values one.
    """
    levels = column.levels
    if len(levels) == 0:
        return column
    lower = [text.lower() for text in levels.to_pylist()] if len(levels) <= 2 else []
    if lower and set(lower) <= {"true", "false"} and len(set(lower)) == len(lower):
        return column._replace(levels=pa.array(lower, pa.string()))
    if match(levels, WHOLE_WITH_POINT).all():
        return column._replace(levels=pc.replace_substring_regex(levels, r"\.0$", ""))
    return column


def _decoded(content: bytes, encoding: str, named: str) -> tuple[bytes, str]:
    """The text as UTF-8 without a byte order mark, and what it was."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    is_utf8 = encoding.lower() in ("utf-8", "utf8")
    if is_utf8 and b"\0" in content[:HEAD_BYTES]:
        raise TableError(
            f"{named} is not text; give CSV, TSV, Parquet or .xlsx, or say which "
            "--encoding it has."
        )
    try:
        text = content.decode(encoding)
    except LookupError as error:
        raise WrongUseError(
            f"--encoding {encoding!r} is not known; utf-8, latin-1 and cp1252 are."
        ) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{named} is not {encoding}: line {line} has the byte "
            f"0x{content[error.start]:02x}; if it comes from an older program, try "
            "--encoding cp1252 or --encoding latin-1."
        ) from error
    if is_utf8:
        return content.removeprefix(b"\xef\xbb\xbf"), encoding
    return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").encode(), encoding


def _guess_delimiter(head: Sequence[bytes]) -> str:
    """The delimiter that splits the first lines into the most columns, all alike."""
    lines = [each.decode(errors="ignore") for each in head[:20] if each.strip()]
    if len(lines) > 1 and sum(map(len, lines)) >= HEAD_BYTES // 2:
        lines.pop()  # it may have been cut

    def columns(delimiter: str, lines: Sequence[str] = lines) -> int:
        widths = {len(row) for row in csv.reader(lines, delimiter=delimiter) if row}
        return min(widths) if len(widths) == 1 else 1

    best = max(DELIMITERS, key=columns)
    if columns(best) > 1 or not lines:
        return best
    below = next((j for j in range(1, len(lines) - 1) if _is_below(lines, j)), None)
    if below is not None:  # title rows, which are not split
        return max(DELIMITERS, key=lambda each: columns(each, lines[below:]))
    # Rows differ: the header decides, and rows that do not fit it raise.
    return max(DELIMITERS, key=lines[0].count)


def _is_below(lines: Sequence[str], place: int) -> bool:
    """Return True if lines from here on are split alike, unlike those above."""
    return any(
        lines[place - 1].count(sign) < lines[place].count(sign)
        and len({len(row) for row in csv.reader(lines[place:], delimiter=sign)}) == 1
        for sign in DELIMITERS
    )


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter.encode()) != 1:
        raise WrongUseError(
            f"--delimiter must be one character such as ';', got {delimiter!r}."
        )


def _header(content: bytes, delimiter: str, named: str) -> tuple[list[str], list[str]]:
    """Return the names of the columns, and remarks on them."""
    rows = _rows([content[:LONGEST_HEADER]], delimiter)
    first = next(rows, [])
    if len(first) == 1:
        others = [other for other in DELIMITERS if other in first[0]]
        if others:
            raise TableError(
                f"{named} has one column, {first[0].strip()!r}, when separated by "
                f"{DELIMITERS.get(delimiter, repr(delimiter))}; try --delimiter "
                f"{others[0]!r}."
            )
    some = [row for row in islice(rows, 20) if row][:-1]
    n_more = min((len(row) for row in some), default=0) - len(first)
    if n_more > 0 and not any(cell.strip() for row in some for cell in row[-n_more:]):
        first = [*first, *[""] * n_more]  # rows end in delimiters, the header does not
    return named_columns(first)


def _parse(content: bytes, names: list[str], delimiter: str, named: str) -> pa.Table:
    """All columns as text, with each different text kept once."""
    wrong: list[Any] = []

    def note(row: Any) -> str:
        wrong.append(row)
        return "error"

    texts = pa.dictionary(pa.int32(), pa.string())
    places = [str(j) for j in range(len(names))]
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(content),
            # Threads would lose the number of the row that is wrong.
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False,
                column_names=places,
                skip_rows_after_names=1,
                block_size=_block_size(content),
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                invalid_row_handler=note,
                # In a table of one column an empty line is a row without a value.
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(places, texts),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if wrong:
            place, found = wrong[0].number - 1, wrong[0].actual_columns
            raise TableError(
                f"{named} has {counted(found, 'value')} in row {place}, not "
                f"counting the header, but {counted(len(names), 'column')}; correct "
                "that row, or name the right --delimiter."
            ) from error
        raise TableError(
            f"{named} cannot be read: {str(error).splitlines()[0]}."
        ) from error


def _refuse_open_quote(content: bytes, encoded: pa.Table, named: str) -> None:
    """Raise if the last cell took in all that followed, for want of a second quote."""
    last = encoded.column(encoded.num_columns - 1)[-1].as_py()
    if last and "\n" in last and not content.rstrip().endswith(b'"'):
        raise TableError(
            f"{named} has a quote in row {encoded.num_rows} that is never "
            "closed, so that the rows after it cannot be read; correct that row."
        )


def _block_size(content: bytes) -> int:
    """A megabyte, or more where a row may be longer than that."""
    longest = max(content.find(b"\n", 0, 2**26), 0)  # the header, or the only row
    return max(2**20, 16 * longest)
