"""Limits on what a file may become in memory, and on its columns."""

from __future__ import annotations

import io
import lzma
import os
import zipfile
import zlib
from typing import IO, Any

import pyarrow.parquet

from rawlsian._tables.errors import TableError

# A file that unpacks to more bytes, or has more values, than the first number must not
# be that many times smaller than what it becomes.
LARGEST, MOST_TIMES = 2**28, 100
CHUNK = 2**24

# The last three are of zip: an unknown method or version, a password, a damaged name.
ARCHIVE_ERRORS = (
    OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile,
    NotImplementedError, RuntimeError, UnicodeDecodeError,
)  # fmt: skip

# Each takes about a millisecond, and distances between people mean less and less.
MOST_COLUMNS = 10_000


def size_of(stream: IO[bytes]) -> int:
    """Return the number of bytes of a stream, and go back to its start."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    return size


def unpacked(opened: Any, n_packed: int, named: str) -> bytes:
    """Read an opened archive to its end, or raise TableError at the limit."""
    content = io.BytesIO()
    while chunk := opened.read(CHUNK):
        content.write(chunk)
        _check_size(content.tell(), n_packed, named)
    return content.getvalue()


def check_archive(stream: IO[bytes], named: str) -> None:
    """Raise TableError if a zip archive says that it unpacks to more than the limit."""
    with zipfile.ZipFile(stream) as archive:
        n_bytes = sum(file.file_size for file in archive.infolist())
    _check_size(n_bytes, size_of(stream), named)


def _check_size(n_bytes: int, n_packed: int, named: str) -> None:
    limit = max(LARGEST, MOST_TIMES * n_packed)
    if n_bytes > limit:
        raise TableError(
            f"{named} has {n_packed:,} bytes and unpacks to more than {limit:,}, "
            f"the limit; if it is what you expect, unpack it yourself."
        )


def check_parquet(stream: IO[bytes], named: str) -> None:
    """Raise TableError if a Parquet file has far more values than bytes."""
    n_bytes = size_of(stream)
    known = pyarrow.parquet.ParquetFile(stream).metadata
    stream.seek(0)
    n_values = known.num_rows * known.num_columns
    limit = max(LARGEST, MOST_TIMES * n_bytes)
    if n_values > limit:
        raise TableError(
            f"{named} has {n_bytes:,} bytes and {n_values:,} values, more than "
            f"{limit:,}, the limit in memory; if it is what you expect, say --engine "
            "blocks."
        )


def check_values(table: pyarrow.Table, named: str) -> None:
    """Raise TableError if values of a Parquet table are not what their types say."""
    try:
        table.validate(full=True)
    except pyarrow.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{named} has text that is not UTF-8, or damaged values ({reason}); write "
            "it again."
        ) from error


def check_n_columns(n_columns: int) -> None:
    """Raise TableError if a table has more columns than are compared in one."""
    if n_columns > MOST_COLUMNS:
        raise TableError(
            f"the table has {n_columns:,} columns, more than {MOST_COLUMNS:,}, the "
            "limit; give those that describe people."
        )
