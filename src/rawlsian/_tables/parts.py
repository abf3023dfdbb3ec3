"""Parquet files that make one table together: find them, look into them, cut them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from glob import glob, has_magic
from itertools import accumulate, pairwise, repeat
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rawlsian._rows.parquet import few_row_groups
from rawlsian._support.threads import ctrl_c_later, n_threads
from rawlsian._tables.column import (
    OTHER_VALUES,
    Column,
    Table,
    check_names,
    from_arrow,
    kind_of,
)
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.names import listed_columns
from rawlsian._tables.read import STANDARD_INPUT
from rawlsian._tables.text import counted
from rawlsian._tables.unpack import check_values

# Rows by which columns are classified: the first of every part, together.
ROWS_LOOKED_AT = 50_000
# Rows that are read and encoded at a time.
PIECE_ROWS = 100_000
# A row group is read whole, so that each piece of it reads it again.
MOST_PIECES = 16

IN_WORDS = {
    "text": "text",
    "number": "numbers",
    "date": "dates",
    "other": OTHER_VALUES,
}


class Part(NamedTuple):
    """A Parquet file: its name, rows by row group, and types of its columns."""

    path: str
    row_groups: list[int]
    types: dict[str, pa.DataType]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.row_groups)


class Piece(NamedTuple):
    """Rows of a part that are read at a time.

    Attributes
    ----------
    part : int
        The place of the part.
    path, file : str
        Its path as the user gave it, and in full for workers that run elsewhere.
    row_groups : list of int
        The row groups that are read.
    skipped, n_rows : int
        Rows of these that come before, and rows of the piece.
    first : int
        Rows of the part that come before.
    """

    part: int
    path: str
    file: str
    row_groups: list[int]
    skipped: int
    n_rows: int
    first: int

    def columns(
        self, names: Sequence[str], missing_texts: frozenset[str]
    ) -> dict[str, Column]:
        """These columns of its rows."""
        try:
            with pq.ParquetFile(self.file) as file:
                table = file.read_row_groups(
                    self.row_groups, columns=list(names), use_threads=False
                ).slice(self.skipped, self.n_rows)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.path, error) from error
        check_values(table, repr(self.path))
        return {
            name: from_arrow(name, table.column(name), missing_texts)._replace(
                name_row=self.name_row
            )
            for name in names
        }

    def name_row(self, place: int) -> str:
        """Name a row for the user."""
        return f"row {self.first + place + 1} of {self.path!r}"


class Parts(NamedTuple):
    """All parts in their order, and the first rows of each as one table.

    ``starts`` are the places there of the first row of each part that has rows.
    """

    parts: list[Part]
    first_rows: Table
    starts: list[int]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(part.n_rows for part in self.parts)

    @property
    def is_all_looked_at(self) -> bool:
        """True if the first rows are all rows."""
        return self.first_rows.n_rows == self.n_rows

    def pieces(self) -> list[Piece]:
        """All rows in pieces; a small part is one, and an empty one has none."""
        return [
            piece for j, part in enumerate(self.parts) for piece in _pieces(j, part)
        ]

    def lacking(self, name: str) -> str | None:
        """The first part with rows that does not have a column."""
        return next(
            (
                part.path
                for part in self.parts
                if part.n_rows and name not in part.types
            ),
            None,
        )


def is_in_parts(source: str) -> bool:
    """Return True for a folder or a pattern, False for a file or standard input."""
    if source == STANDARD_INPUT or Path(source).is_file():
        return False
    return Path(source).is_dir() or has_magic(source)


def find_parts(source: str) -> list[str]:
    """The files of a pattern or a folder, in the order of their names, or the one."""
    if source == STANDARD_INPUT:
        raise WrongUseError(
            "standard input cannot be read in parts; name Parquet files, or say "
            "--engine memory."
        )
    if not is_in_parts(source):
        return [source]
    if Path(source).is_dir():
        found = sorted(str(path) for path in Path(source).glob("*.parquet"))
    else:
        found = sorted(path for path in glob(source) if not Path(path).is_dir())
    if not found:
        raise WrongUseError(
            f"no Parquet file is there for {source!r}; name a folder that has some, or "
            "a pattern in quotes such as 'people/*.parquet'."
        )
    return found


def open_parts(
    paths: Sequence[str], missing_texts: frozenset[str], dropped: Sequence[str]
) -> Parts:
    """Look into all parts; their columns are found by name."""
    n_rows = max(ROWS_LOOKED_AT // len(paths), 1)
    with ctrl_c_later(), ThreadPoolExecutor(n_threads()) as pool:
        found = list(pool.map(_look_into, paths, repeat(n_rows)))
    parts = [part for part, _ in found]
    some = [(part, head) for part, head in found if len(head)]
    if not some:
        raise TableError(f"{paths[0]!r} and all other parts have no rows.")
    *starts, n_rows = accumulate((len(head) for _, head in some), initial=0)
    rows = _RowsOfParts(starts, [part.path for part, _ in some])
    names = dict.fromkeys(name for part, _ in some for name in part.types)
    left_out = listed_columns(dropped, names, "--drop")
    columns = {
        name: from_arrow(
            name, _values(name, some, name in left_out), missing_texts
        )._replace(name_row=rows.name)
        for name in names
    }
    how = f"Parquet, {counted(len(parts), 'part')}"
    return Parts(parts, Table(columns, n_rows, how), starts)


class _RowsOfParts(NamedTuple):
    starts: list[int]
    paths: list[str]

    def name(self, place: int) -> str:
        part = bisect_right(self.starts, place) - 1
        return f"row {place - self.starts[part] + 1} of {self.paths[part]!r}"


def _look_into(path: str, n_rows: int) -> tuple[Part, pa.Table]:
    """Return a part and its first rows."""
    try:
        with open(path, "rb") as stream:
            is_parquet = stream.read(4) == b"PAR1"
    except OSError as error:
        raise WrongUseError(f"cannot read {path!r} ({error.strerror}).") from error
    if not is_parquet:
        raise WrongUseError(
            f"{path!r} is not Parquet, which parts must be; write it so, or read it by "
            "itself with --engine memory."
        )
    try:
        with pq.ParquetFile(path) as file:
            about, schema = file.metadata, file.schema_arrow
            names = schema.names
            sizes = [about.row_group(r).num_rows for r in range(about.num_row_groups)]
            first = pa.Table.from_batches(_first_rows(file, n_rows), schema)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    check_values(first, repr(path))
    try:
        check_names(names)
    except TableError as error:
        raise TableError(f"in {path!r} {error}") from error
    types = dict(zip(names, schema.types, strict=True))
    return Part(path, sizes, types), first


def _first_rows(file: Any, n_rows: int) -> Iterator[Any]:
    for batch in file.iter_batches(n_rows, use_threads=False):
        yield batch.slice(0, n_rows)
        n_rows -= len(batch)
        if n_rows <= 0:
            return


def _unreadable(path: str, error: Exception) -> TableError:
    reason = (getattr(error, "strerror", None) or str(error)).splitlines()[0]
    return TableError(
        f"{path!r} cannot be read ({reason}); it must be a whole Parquet file, which "
        "Dask workers, if there are any, can open by the same name."
    )


def _values(
    name: str, some: Sequence[tuple[Part, pa.Table]], is_dropped: bool
) -> pa.ChunkedArray:
    """A column's first values of all parts, as one type."""
    kind = _common_type(name, [part for part, _ in some], is_dropped)
    chunks = [
        chunk
        for _, head in some
        for chunk in (
            _cast(head.column(name), kind).chunks
            if name in head.column_names and not is_dropped
            else [pa.nulls(len(head), kind)]
        )
    ]
    return pa.chunked_array(chunks, kind)


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if kind_of(values.type) == "other":
        return pa.chunked_array([pa.nulls(len(values), kind)])
    return values.cast(kind, safe=False)


def _common_type(name: str, parts: Sequence[Part], is_dropped: bool) -> pa.DataType:
    """The type that holds a column of all parts, or an error that names two of them."""
    if is_dropped:
        return pa.binary()
    typed = {
        part.path: part.types[name]
        for part in parts
        if name in part.types and not pa.types.is_null(part.types[name])
    }
    kinds = {path: kind_of(each) for path, each in typed.items()}
    if not kinds:
        return pa.null()
    first, kind = next(iter(kinds.items()))
    other = next((path for path, each in kinds.items() if each != kind), None)
    if other is not None:
        raise TableError(
            f"column {name!r} holds {IN_WORDS[kind]} in {first!r}, but "
            f"{IN_WORDS[kinds[other]]} in {other!r}; make them alike, or leave it out "
            f"with --drop {name!r}."
        )
    if kind == "text":
        return pa.string()
    if kind == "other":
        return pa.binary()
    if len(set(typed.values())) == 1 and not pa.types.is_dictionary(typed[first]):
        return typed[first]
    return pa.float64() if kind == "number" else pa.timestamp("us")


def _pieces(place: int, part: Part) -> Iterator[Piece]:
    """Row groups, as many at a time as make a piece; a large one in several."""
    file = str(Path(part.path).absolute())
    first = 0
    for row_groups in few_row_groups(part.row_groups, PIECE_ROWS):
        n_rows = sum(part.row_groups[r] for r in row_groups)
        n_pieces = min(-(-n_rows // PIECE_ROWS), MOST_PIECES)
        edges = [n_rows * j // n_pieces for j in range(n_pieces + 1)]
        for start, stop in pairwise(edges):
            yield Piece(
                place, part.path, file, row_groups, start, stop - start, first + start
            )
        first += n_rows
