"""Read delimited text: names from the header, and every column as text."""

from __future__ import annotations

import csv
import io
from typing import Any

import pyarrow as pa
import pyarrow.csv

from rawlsian._tables.column import (
    Column,
    Table,
    check_names,
    check_rows,
    levels_of,
    tidy,
)
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.text import counted

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
HEAD_BYTES = 2**16


def read_text(
    content: bytes,
    named: str,
    delimiter: str | None,
    encoding: str,
    missing: frozenset[str],
) -> Table:
    """Decode and parse the bytes of a text file, which errors call ``named``."""
    content, encoding = _decoded(content, encoding, named)
    content = content.lstrip(b"\r\n")
    if not content:
        raise TableError(f"{named} is empty; give a table with a header.")
    if delimiter is None:
        delimiter = _guess_delimiter(content[:HEAD_BYTES].decode(errors="ignore"))
    names = _header(content, delimiter, named)
    encoded = _parse(content, names, delimiter, named)
    check_rows(encoded.num_rows, named)
    _refuse_open_quote(content, encoded, named)
    columns = {
        name: Column(name, *tidy(*levels_of(encoded.column(j)), missing), "text")
        for j, name in enumerate(names)
    }
    separated = DELIMITERS.get(delimiter, repr(delimiter))
    return Table(columns, encoded.num_rows, f"separated by {separated}, {encoding}")


def _decoded(content: bytes, encoding: str, named: str) -> tuple[bytes, str]:
    """The text as UTF-8 without a byte order mark, and what it was."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    is_utf8 = encoding.lower() in ("utf-8", "utf8")
    if is_utf8 and b"\0" in content[:HEAD_BYTES]:
        raise TableError(
            f"{named} is not text; give CSV, TSV or Parquet, or say which "
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
            "--encoding latin-1."
        ) from error
    if is_utf8:
        return content.removeprefix(b"\xef\xbb\xbf"), encoding
    return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").encode(), encoding


def _guess_delimiter(head: str) -> str:
    """The delimiter that splits the first lines into the most columns, all alike."""
    lines = head.splitlines()[:20]
    if len(head) >= HEAD_BYTES // 2 and len(lines) > 1:
        lines.pop()  # it may have been cut

    def columns(delimiter: str) -> int:
        widths = {len(row) for row in csv.reader(lines, delimiter=delimiter) if row}
        return min(widths) if len(widths) == 1 else 1

    best = max(DELIMITERS, key=columns)
    if columns(best) > 1:
        return best
    # Rows differ: the header decides, and rows that do not fit it raise.
    return max(DELIMITERS, key=lines[0].count)


def _header(content: bytes, delimiter: str, named: str) -> list[str]:
    if len(delimiter.encode()) != 1:
        raise WrongUseError(
            f"--delimiter must be one character such as ';', got {delimiter!r}."
        )
    lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
    first = next(csv.reader(lines, delimiter=delimiter), [])
    names = [
        name.strip() or f"unnamed {place}" for place, name in enumerate(first, start=1)
    ]
    if len(names) == 1:
        others = [other for other in DELIMITERS if other in names[0]]
        if others:
            raise TableError(
                f"{named} has one column, {names[0]!r}, when separated by "
                f"{DELIMITERS.get(delimiter, repr(delimiter))}; try --delimiter "
                f"{others[0]!r}."
            )
    check_names(names)
    return names


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
