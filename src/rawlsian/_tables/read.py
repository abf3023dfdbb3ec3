"""Read a table as it is: text stays text until the columns have been looked at."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet

from rawlsian._tables import unpack
from rawlsian._tables.column import (
    MISSING_TEXTS,
    Table,
    check_rows,
    from_arrow,
)
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.excel import read_excel
from rawlsian._tables.header import told_apart
from rawlsian._tables.read_text import read_text

STANDARD_INPUT = "-"


def read_table(
    source: str,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing_texts: Sequence[str] = (),
    sheet: str | None = None,
    header_row: int | None = None,
) -> Table:
    """Read text, compressed or not, Parquet or Excel from a file or standard input."""
    missing, named = MISSING_TEXTS.union(missing_texts), _named(source)
    with _open(source) as stream:
        head = _peek(stream)
        is_parquet, is_workbook = head.startswith(b"PAR1"), _is_workbook(stream, head)
        if sheet is not None and not is_workbook:
            raise WrongUseError(
                f"--sheet is for Excel workbooks, which {named} is not; leave it out."
            )
        if is_parquet:
            if header_row is not None:
                raise WrongUseError(
                    f"--header-row is for text and Excel, but {named} is Parquet, "
                    "whose columns have names; leave it out."
                )
            return _read_parquet(stream, source, missing)
        if is_workbook:
            unpack.check_archive(stream, named)
            return read_excel(stream, named, sheet, header_row, missing)
        content = _decompressed(stream, head, source)
    return read_text(content, named, delimiter, encoding, missing, header_row)


def _is_workbook(stream: IO[bytes], head: bytes) -> bool:
    """Return True for an archive of the parts of a workbook."""
    if not head.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(stream) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except unpack.ARCHIVE_ERRORS:
        return False
    finally:
        stream.seek(0)


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


def _read_parquet(stream: IO[bytes], source: str, missing: frozenset[str]) -> Table:
    try:
        unpack.check_parquet(stream, _named(source))
        table = pyarrow.parquet.read_table(stream)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{_named(source)} is not a whole Parquet file ({reason})."
        ) from error
    unpack.check_values(table, _named(source))
    check_rows(len(table), _named(source))
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
    kind, remarks = _kind_of_frame(frame), list[str]()
    try:
        if hasattr(frame, "iloc"):
            table, remarks = _from_pandas(frame)
        else:
            table = pa.table(getattr(frame, "to_arrow", lambda: frame)())
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise TableError(
            f"the {kind} cannot be read as a table ({str(error).splitlines()[0]}); "
            "give each column one type and a name of its own."
        ) from error
    if not len(table):
        raise TableError("the table has no rows.")
    return _from_table(table, MISSING_TEXTS.union(missing_texts), kind, remarks)


def _from_pandas(frame: Any) -> tuple[pa.Table, list[str]]:
    """A frame without its index, and remarks on names that are alike.

    Categories that are intervals or periods become text.
    """
    frame = frame.copy(deep=False)
    names, remarks = told_apart(list(map(str, frame.columns)))
    if remarks:
        frame.columns = names
    for place, kind in enumerate(frame.dtypes):
        categories = getattr(kind, "categories", None)
        if str(getattr(categories, "dtype", "")).startswith(("interval", "period")):
            renamed = frame.iloc[:, place].cat.rename_categories(str)
            frame.isetitem(place, renamed)
    return pa.Table.from_pandas(frame, preserve_index=False), remarks


def _from_table(
    table: Any, missing: frozenset[str], how: str, remarks: Sequence[str] = ()
) -> Table:
    names, alike = told_apart(table.column_names)
    table = table.rename_columns(names)
    columns = {name: from_arrow(name, table.column(name), missing) for name in names}
    return Table(columns, table.num_rows, how, (*remarks, *alike), table)


def _decompressed(stream: IO[bytes], head: bytes, source: str) -> bytes:
    """The bytes of the text itself, whatever the name of the file says."""
    openers: dict[bytes, Callable[[Any], Any]] = {
        b"\x1f\x8b": gzip.open,
        b"BZh": bz2.open,
        b"\xfd7zXZ\x00": lzma.open,
        b"\x28\xb5\x2f\xfd": _zstd,
        b"PK\x03\x04": lambda raw: _unzipped(raw, source),
    }
    opener = next((o for magic, o in openers.items() if head.startswith(magic)), None)
    try:
        if opener is None:
            return stream.read()
        n_packed = unpack.size_of(stream)
        with opener(stream) as opened:
            return unpack.unpacked(opened, n_packed, _named(source))
    except unpack.ARCHIVE_ERRORS as error:
        raise TableError(
            f"{_named(source)} cannot be decompressed ({error}); is it whole?"
        ) from error


def _zstd(stream: IO[bytes]) -> IO[bytes]:
    """Open a zstd file; pyarrow's read keeps its memory for ever if it fails."""
    return io.BufferedReader(pa.CompressedInputStream(stream, "zstd"))


def _unzipped(stream: IO[bytes], source: str) -> IO[bytes]:
    archive = zipfile.ZipFile(stream)
    names = [
        name
        for name in archive.namelist()
        if not name.startswith("__MACOSX/") and not name.endswith("/")
    ]
    if len(names) != 1:
        raise TableError(
            f"{_named(source)} is a zip archive of {len(names)} files; give one table."
        )
    return archive.open(names[0])
