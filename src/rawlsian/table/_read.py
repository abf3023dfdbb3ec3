"""Read a table as it is: text stays text until the columns have been looked at."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

STANDARD_INPUT = "-"
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
HEAD_BYTES = 2**16
MISSING_TEXTS = frozenset(
    ["", "#N/A", "#NA", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "<NA>"]
)


class TableError(ValueError):
    """Why a table cannot be used and what to do, in one line."""


class WrongUseError(TableError):
    """What was asked for cannot be had of this table, whatever it holds."""


class Column(NamedTuple):
    """A column as it was read.

    Attributes
    ----------
    name : str
        Its name in the table.
    levels : ndarray of shape (n_levels,)
        The different values: text, or floats where ``is_typed`` and numeric.
    codes : ndarray of shape (n_rows,)
        The position of each row's value in ``levels``; -1 where it is missing.
    stored_as : {"text", "number", "date", "other"}
        What the file says that it is; all of a text file is text.
    """

    name: str
    levels: NDArray[Any]
    codes: NDArray[np.int32]
    stored_as: str


class Table(NamedTuple):
    """A table as it was read: its columns, and a word on how."""

    columns: dict[str, Column]
    n_rows: int
    how: str


def read_table(
    source: str,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing_texts: Sequence[str] = (),
) -> Table:
    """Read CSV, TSV or Parquet, compressed or not, from a file or standard input."""
    with _open(source) as stream:
        head = _peek(stream)
        if not head:
            raise TableError(f"{_named(source)} is empty; give a table with a header.")
        if head.startswith(b"PAR1"):
            return _read_parquet(stream, source, missing_texts)
        with _decompressed(stream, head, source) as text:
            return _read_text(text, source, delimiter, encoding, missing_texts)


def _named(source: str) -> str:
    return "standard input" if source == STANDARD_INPUT else f"the table {source!r}"


def _open(source: str) -> IO[bytes]:
    if source == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())
    path = Path(source)
    if path.is_dir():
        raise WrongUseError(f"{source!r} is a folder; name a file in it.")
    try:
        return path.open("rb")
    except OSError as error:
        raise WrongUseError(f"cannot read {source!r} ({error.strerror}).") from error


def _peek(stream: IO[bytes], n_bytes: int = 8) -> bytes:
    head = stream.read(n_bytes)
    stream.seek(0)
    return head


# --- Parquet -----------------------------------------------------------------------


def _read_parquet(
    stream: IO[bytes], source: str, missing_texts: Sequence[str]
) -> Table:
    try:
        table = pyarrow.parquet.read_table(stream)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{_named(source)} is not a whole Parquet file ({reason})."
        ) from error
    _check_names(table.column_names)
    _check_rows(table.num_rows, source)
    missing = MISSING_TEXTS.union(missing_texts)
    columns = {
        name: _from_arrow(name, table.column(name), missing)
        for name in table.column_names
    }
    return Table(columns, table.num_rows, "Parquet")


def _from_arrow(name: str, values: pa.ChunkedArray, missing: frozenset[str]) -> Column:
    """A column of Parquet: numbers stay numbers, what is text is text."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_temporal(kind):
        stored_as, values = "date", values.cast(pa.string())
    elif pa.types.is_nested(kind) or pa.types.is_null(kind) or _is_binary(kind):
        nothing = np.full(len(values), -1, np.int32)
        return Column(name, np.array([], object), nothing, "other")
    elif pa.types.is_boolean(kind):
        stored_as, values = "text", values.cast(pa.string())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        stored_as = "text"
    else:
        return _typed_numbers(name, values)
    levels, codes = _levels(values.combine_chunks().dictionary_encode())
    return Column(name, *_tidy(levels, codes, missing), stored_as)


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _typed_numbers(name: str, values: pa.ChunkedArray) -> Column:
    numbers = values.cast(pa.float64(), safe=False)
    numbers = pc.if_else(pc.is_nan(numbers), None, numbers)
    levels, codes = _levels(numbers.combine_chunks().dictionary_encode())
    return Column(name, levels.astype(np.float64), codes, "number")


def _levels(encoded: Any) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The different values and each row's place among them, -1 for null."""
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no chunk at all
        encoded = pa.array([], pa.dictionary(pa.int32(), pa.string()))
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_numpy(zero_copy_only=False), codes.astype(np.int32)


# --- Text --------------------------------------------------------------------------


def _decompressed(stream: IO[bytes], head: bytes, source: str) -> IO[bytes]:
    """The bytes of the text itself, whatever the name of the file says."""
    openers: dict[bytes, Callable[[Any], Any]] = {
        b"\x1f\x8b": gzip.open,
        b"BZh": bz2.open,
        b"\xfd7zXZ\x00": lzma.open,
        b"\x28\xb5\x2f\xfd": lambda raw: pa.CompressedInputStream(raw, "zstd"),
        b"PK\x03\x04": lambda raw: _unzipped(raw, source),
    }
    for magic, opener in openers.items():
        if head.startswith(magic):
            opened: IO[bytes] = opener(stream)
            return opened
    return stream


def _unzipped(stream: IO[bytes], source: str) -> IO[bytes]:
    archive = zipfile.ZipFile(stream)
    names = archive.namelist()
    if any(name.startswith("xl/") for name in names):
        raise TableError(
            f"{_named(source)} is an Excel workbook; save the sheet as CSV first."
        )
    if len(names) != 1:
        raise TableError(
            f"{_named(source)} is a zip archive of {len(names)} files; give one table."
        )
    return archive.open(names[0])


def _read_text(
    stream: IO[bytes],
    source: str,
    delimiter: str | None,
    encoding: str,
    missing_texts: Sequence[str],
) -> Table:
    try:
        content = stream.read()
    except (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise TableError(
            f"{_named(source)} cannot be decompressed ({error}); is it whole?"
        ) from error
    content, encoding = _decoded(content, encoding, source)
    content = content.lstrip(b"\r\n")
    head = content[:HEAD_BYTES].decode("utf-8", errors="ignore")
    delimiter = delimiter or _guess_delimiter(head)
    names = _header(head, delimiter, source)
    encoded = _parse(content, names, delimiter, source)
    _check_rows(encoded.num_rows, source)
    missing = MISSING_TEXTS.union(missing_texts)
    columns = {
        name: Column(name, *_tidy(*_levels(encoded.column(j)), missing), "text")
        for j, name in enumerate(names)
    }
    separated = DELIMITERS.get(delimiter, repr(delimiter))
    return Table(columns, encoded.num_rows, f"separated by {separated}, {encoding}")


def _decoded(content: bytes, encoding: str, source: str) -> tuple[bytes, str]:
    """The text as UTF-8 without a byte order mark, and what it was."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content[:HEAD_BYTES] and encoding != "utf-16":
        raise TableError(f"{_named(source)} is not text; give CSV, TSV or Parquet.")
    try:
        if encoding.lower() not in ("utf-8", "utf8"):
            return content.decode(encoding).encode(), encoding
        if not content.isascii():
            content.decode("utf-8")
    except LookupError as error:
        raise WrongUseError(
            f"--encoding {encoding!r} is not known; utf-8, latin-1 and cp1252 are."
        ) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{_named(source)} is not {encoding}: line {line} has the byte "
            f"0x{content[error.start]:02x}; if it comes from an older program, try "
            "--encoding latin-1."
        ) from error
    return content, "utf-8"


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
    # Rows differ: the header decides, and the rows that do not fit it are told.
    return max(DELIMITERS, key=lines[0].count)


def _header(head: str, delimiter: str, source: str) -> list[str]:
    if len(delimiter.encode()) != 1:
        raise WrongUseError(
            f"--delimiter must be one character such as ';', got {delimiter!r}."
        )
    first = next(csv.reader(io.StringIO(head, newline=None), delimiter=delimiter), [])
    names = [
        name.strip() or f"unnamed {place}" for place, name in enumerate(first, start=1)
    ]
    if len(names) == 1:
        others = [other for other in DELIMITERS if other in names[0]]
        if others:
            raise TableError(
                f"{_named(source)} has one column, {names[0]!r}, when separated by "
                f"{DELIMITERS.get(delimiter, repr(delimiter))}; try --delimiter "
                f"{others[0]!r}."
            )
    _check_names(names)
    return names


def _parse(content: bytes, names: list[str], delimiter: str, source: str) -> pa.Table:
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
                use_threads=False, column_names=places, skip_rows_after_names=1
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(places, texts),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if wrong:
            place, found = wrong[0].number, wrong[0].actual_columns
            raise TableError(
                f"{_named(source)} has {found} value(s) in row {place}, counting the "
                f"header as 1, but {len(names)} columns; mend that row, or name the "
                "right --delimiter."
            ) from error
        raise TableError(
            f"{_named(source)} cannot be read: {str(error).splitlines()[0]}."
        ) from error


def _tidy(
    levels: NDArray[Any], codes: NDArray[np.int32], missing: frozenset[str]
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Texts without spaces around them; those that mean missing become -1."""
    texts: dict[str, int] = {}
    places = np.empty(len(levels) + 1, np.int32)
    for place, level in enumerate(levels):
        text = level.strip()
        places[place] = -1 if text in missing else texts.setdefault(text, len(texts))
    places[-1] = -1  # where the code is -1
    return np.array(list(texts), object), places[codes]


# --- Both --------------------------------------------------------------------------


def _check_names(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(
                f"two columns are called {name!r}; rename one, so that it is clear "
                "which is meant."
            )
        seen.add(name)


def _check_rows(n_rows: int, source: str) -> None:
    if n_rows == 0:
        raise TableError(f"{_named(source)} has a header but no rows.")
