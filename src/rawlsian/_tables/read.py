"""Read a table as it is: text stays text until the columns have been looked at."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.text import counted

STANDARD_INPUT = "-"
OTHER_VALUES = "lists, times of day or bytes"
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
HEAD_BYTES = 2**16
MISSING_TEXTS = frozenset(
    ["", "#N/A", "#NA", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "<NA>"]
)


def in_table(place: int) -> str:
    """Name a row, counted from 1 below the header."""
    return f"row {place + 1}"


class Column(NamedTuple):
    """A column as it was read.

    Attributes
    ----------
    name : str
        Its name in the table.
    levels : pyarrow.Array of length n_levels
        The different values: text without spaces around it, or numbers.
    codes : ndarray of shape (n_rows,)
        The position of each row's value in ``levels``; -1 where it is missing.
    stored_as : {"text", "number", "date", "other"}
        Type in the file; all of a text file is text.
    name_row : callable
        Names the row at a position.
    """

    name: str
    levels: Any
    codes: NDArray[np.int32]
    stored_as: str
    name_row: Callable[[int], str] = in_table

    def texts(self) -> NDArray[Any]:
        """The levels as text: whole numbers without a point, others in full."""
        texts = np.empty(len(self.levels), object)
        texts[:] = [_as_text(value) for value in self.levels.to_pylist()]
        return texts

    def first_row(self, place: int) -> str:
        """Name the first row that has that level."""
        return self.name_row(int(np.argmax(self.codes == place)))


def _as_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


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
    missing = MISSING_TEXTS.union(missing_texts)
    with _open(source) as stream:
        head = _peek(stream)
        if head.startswith(b"PAR1"):
            return _read_parquet(stream, source, missing)
        content = _decompressed(stream, head, source)
    return _read_text(content, source, delimiter, encoding, missing)


def _named(source: str) -> str:
    return "standard input" if source == STANDARD_INPUT else f"the table {source!r}"


def _open(source: str) -> IO[bytes]:
    if source == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())
    path = Path(source)
    if path.is_dir():
        raise WrongUseError(f"{source!r} is a folder; name a file in it.")
    try:
        if path.is_fifo():  # no part of which can be looked at twice
            return io.BytesIO(path.read_bytes())
        return path.open("rb")
    except OSError as error:
        raise WrongUseError(f"cannot read {source!r} ({error.strerror}).") from error


def _peek(stream: IO[bytes], n_bytes: int = 8) -> bytes:
    head = stream.read(n_bytes)
    stream.seek(0)
    return head


# --- Parquet -----------------------------------------------------------------------


def _read_parquet(stream: IO[bytes], source: str, missing: frozenset[str]) -> Table:
    try:
        table = pyarrow.parquet.read_table(stream)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{_named(source)} is not a whole Parquet file ({reason})."
        ) from error
    _check_rows(len(table), _named(source))
    return _from_table(table, missing, "Parquet")


def check_frame(frame: Any) -> None:
    """Refuse a single column, and frames of Dask."""
    if hasattr(frame, "__dask_graph__"):
        raise WrongUseError(
            f"the {_kind_of_frame(frame)} is not in memory; give what its compute() "
            "returns, or write it with to_parquet and name that folder."
        )
    if hasattr(frame, "to_frame") or isinstance(frame, pa.ChunkedArray):
        raise WrongUseError(f"the {_kind_of_frame(frame)} is one column; give a table.")


def _kind_of_frame(frame: Any) -> str:
    return f"{type(frame).__module__.split('.')[0]} {type(frame).__name__}"


def read_frame(frame: Any, missing_texts: Sequence[str] = ()) -> Table:
    """Take a pandas, polars or pyarrow table as it would be read from Parquet."""
    kind = _kind_of_frame(frame)
    try:
        if hasattr(frame, "iloc"):
            table = _from_pandas(frame)
        else:
            table = pa.table(getattr(frame, "to_arrow", lambda: frame)())
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise TableError(
            f"the {kind} cannot be read as a table ({str(error).splitlines()[0]}); "
            "give each column one type and a name of its own."
        ) from error
    if not len(table):
        raise TableError("the table has no rows.")
    return _from_table(table, MISSING_TEXTS.union(missing_texts), kind)


def _from_pandas(frame: Any) -> pa.Table:
    """A frame without its index; categories that are intervals or periods as text."""
    frame = frame.copy(deep=False)
    for place, kind in enumerate(frame.dtypes):
        categories = getattr(kind, "categories", None)
        if str(getattr(categories, "dtype", "")).startswith(("interval", "period")):
            renamed = frame.iloc[:, place].cat.rename_categories(str)
            frame.isetitem(place, renamed)
    return pa.Table.from_pandas(frame, preserve_index=False)


def _from_table(table: Any, missing: frozenset[str], how: str) -> Table:
    check_names(table.column_names)
    columns = {
        name: from_arrow(name, table.column(name), missing)
        for name in table.column_names
    }
    return Table(columns, table.num_rows, how)


def from_arrow(name: str, values: pa.ChunkedArray, missing: frozenset[str]) -> Column:
    """A column of Parquet: numbers stay numbers, what is text is text."""
    stored_as = kind_of(values.type)
    if pa.types.is_dictionary(values.type) and stored_as != "other":
        values = values.cast(values.type.value_type)
    if stored_as == "text":
        levels, codes = _levels(values.cast(pa.string()))
        return Column(name, *_tidy(levels, codes, missing), stored_as)
    if stored_as == "number":
        levels, codes = _levels(_without_nan(values))
        is_missing = _are_named_missing(levels, missing - MISSING_TEXTS)
        return Column(name, *_without(levels, codes, is_missing), stored_as)
    if stored_as == "date":
        return Column(name, *_levels(values), stored_as)
    nothing = np.full(len(values), -1, np.int32)
    return Column(name, pa.array([], pa.string()), nothing, stored_as)


def kind_of(arrow_type: pa.DataType) -> str:
    """Return the kind of an Arrow type: text, number, date or other."""
    kind, types = arrow_type, pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    is_text = types.is_string(kind) or types.is_large_string(kind)
    is_named = types.is_boolean(kind) or types.is_null(kind)
    return "text" if is_text or is_named or str(kind) == "string_view" else "other"


def _without_nan(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    if not pa.types.is_floating(values.type):
        return values
    # Adding 0 makes 0.0 of -0.0, which would be a level of its own.
    return pc.add(pc.if_else(pc.is_nan(values), None, values), 0.0)


def _are_named_missing(numbers: Any, texts: frozenset[str]) -> NDArray[np.bool_]:
    """Mark numbers that one of the texts spells; -999.0 may be spelled -999."""
    if not texts:
        return np.zeros(len(numbers), np.bool_)
    spelled = (
        (str(x), str(x) if isinstance(x, int) else _as_text(float(x)))
        for x in numbers.to_pylist()
    )
    return np.array([not texts.isdisjoint(each) for each in spelled], np.bool_)


def _levels(values: pa.ChunkedArray) -> tuple[Any, NDArray[np.int32]]:
    """The different values and each row's place among them, -1 for null."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    if values.num_chunks == 0:
        return pa.array([], values.type.value_type), np.empty(0, np.int32)
    encoded = values.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return encoded.dictionary, codes.astype(np.int32)


# --- Text --------------------------------------------------------------------------


def _decompressed(stream: IO[bytes], head: bytes, source: str) -> bytes:
    """The bytes of the text itself, whatever the name of the file says."""
    openers: dict[bytes, Callable[[Any], Any]] = {
        b"\x1f\x8b": gzip.open,
        b"BZh": bz2.open,
        b"\xfd7zXZ\x00": lzma.open,
        b"\x28\xb5\x2f\xfd": lambda raw: pa.CompressedInputStream(raw, "zstd"),
        b"PK\x03\x04": lambda raw: _unzipped(raw, source),
    }
    opener = next((o for magic, o in openers.items() if head.startswith(magic)), None)
    try:
        if opener is None:
            return stream.read()
        with opener(stream) as opened:
            content: bytes = opened.read()
            return content
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise TableError(
            f"{_named(source)} cannot be decompressed ({error}); is it whole?"
        ) from error


def _unzipped(stream: IO[bytes], source: str) -> IO[bytes]:
    archive = zipfile.ZipFile(stream)
    names = [
        name
        for name in archive.namelist()
        if not name.startswith("__MACOSX/") and not name.endswith("/")
    ]
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
    content: bytes,
    source: str,
    delimiter: str | None,
    encoding: str,
    missing: frozenset[str],
) -> Table:
    content, encoding = _decoded(content, encoding, source)
    content = content.lstrip(b"\r\n")
    if not content:
        raise TableError(f"{_named(source)} is empty; give a table with a header.")
    if delimiter is None:
        delimiter = _guess_delimiter(content[:HEAD_BYTES].decode(errors="ignore"))
    names = _header(content, delimiter, source)
    encoded = _parse(content, names, delimiter, source)
    _check_rows(encoded.num_rows, _named(source))
    _refuse_open_quote(content, encoded, source)
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
    is_utf8 = encoding.lower() in ("utf-8", "utf8")
    if is_utf8 and b"\0" in content[:HEAD_BYTES]:
        raise TableError(
            f"{_named(source)} is not text; give CSV, TSV or Parquet, or say which "
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
            f"{_named(source)} is not {encoding}: line {line} has the byte "
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


def _header(content: bytes, delimiter: str, source: str) -> list[str]:
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
                f"{_named(source)} has one column, {names[0]!r}, when separated by "
                f"{DELIMITERS.get(delimiter, repr(delimiter))}; try --delimiter "
                f"{others[0]!r}."
            )
    check_names(names)
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
                f"{_named(source)} has {counted(found, 'value')} in row {place}, not "
                f"counting the header, but {counted(len(names), 'column')}; correct "
                "that row, or name the right --delimiter."
            ) from error
        raise TableError(
            f"{_named(source)} cannot be read: {str(error).splitlines()[0]}."
        ) from error


def _refuse_open_quote(content: bytes, encoded: pa.Table, source: str) -> None:
    """Raise if the last cell took in all that followed, for want of a second quote."""
    last = encoded.column(encoded.num_columns - 1)[-1].as_py()
    if last and "\n" in last and not content.rstrip().endswith(b'"'):
        raise TableError(
            f"{_named(source)} has a quote in row {encoded.num_rows} that is never "
            "closed, so that the rows after it cannot be read; correct that row."
        )


def _block_size(content: bytes) -> int:
    """A megabyte, or more where a row may be longer than that."""
    longest = max(content.find(b"\n", 0, 2**26), 0)  # the header, or the only row
    return max(2**20, 16 * longest)


def _tidy(
    levels: Any, codes: NDArray[np.int32], missing: frozenset[str]
) -> tuple[Any, NDArray[np.int32]]:
    """Texts without spaces around them; those that mean missing become -1."""
    trimmed = pc.utf8_trim_whitespace(levels).dictionary_encode()
    texts = trimmed.dictionary
    is_missing = pc.is_in(texts, pa.array(sorted(missing), texts.type))
    places = trimmed.indices.to_numpy(zero_copy_only=False)
    codes = np.append(places, -1)[codes]  # -1 where the code is
    return _without(texts, codes, is_missing.to_numpy(zero_copy_only=False))


# --- Both --------------------------------------------------------------------------


def _without(
    levels: Any, codes: NDArray[Any], is_missing: NDArray[np.bool_]
) -> tuple[Any, NDArray[np.int32]]:
    """Take out levels that mean missing; rows that had one get -1."""
    places = np.where(is_missing, -1, np.cumsum(~is_missing) - 1)
    places = np.append(places, -1)  # where the code is -1
    return levels.filter(pa.array(~is_missing)), places[codes].astype(np.int32)


def check_names(names: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(
                f"two columns are called {name!r}; rename one, so that it is clear "
                "which is meant."
            )
        seen.add(name)


def _check_rows(n_rows: int, named: str) -> None:
    if n_rows == 0:
        raise TableError(f"{named} has a header but no rows.")
