"""Write labels of a table in parts, a file for each part, and read them back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rawlsian._support.files import OutputError, write_folder
from rawlsian._tables.backends import Backend
from rawlsian._tables.column import Column, from_arrow
from rawlsian._tables.complete import LeftOut
from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.parts import Part, Parts, Piece
from rawlsian._tables.plan import ColumnChoice, read_rows
from rawlsian._tables.write import ENDINGS, labels_table

NOBODY = LeftOut(np.empty(0, np.int64), np.empty(0, np.int64), [])


def check_is_folder(path: str) -> None:
    """Refuse the name of a file where a folder is written."""
    if path.lower().endswith(ENDINGS):
        raise OutputError(
            f"--out {path!r} must name a folder, which gets a Parquet file for each "
            "part of the table; leave out the ending."
        )


class LabelledPieces(NamedTuple):
    """Labels of a table in parts, to be written.

    Attributes
    ----------
    parts : Parts
        The parts.
    pieces : list of Piece
        Their pieces, in order.
    lengths : list of int
        Rows of each piece that have a cluster.
    choice : ColumnChoice
        The columns that were read, and the one that names the rows.
    labels : ndarray or Dask array
        The clusters.
    backend : Backend
        Where they are.
    """

    parts: Parts
    pieces: Sequence[Piece]
    lengths: Sequence[int]
    choice: ColumnChoice
    labels: Any
    backend: Backend

    def write(self, folder: Path) -> None:
        """A file for each part; labels are fetched piece by piece."""
        by_part: dict[int, list[tuple[Piece, int, int]]] = defaultdict(list)
        start = 0
        for piece, n_kept in zip(self.pieces, self.lengths, strict=True):
            by_part[piece.part].append((piece, start, n_kept))
            start += n_kept
        names = names_of([part.path for part in self.parts.parts])
        for j, (part, name) in enumerate(zip(self.parts.parts, names, strict=True)):
            schema = self._empty(part).schema
            with pq.ParquetWriter(folder / name, schema) as writer:
                for each in by_part[j]:
                    writer.write_table(self._table(*each))

    def save(self, path: str, may_replace: bool) -> None:
        """Write a folder, whole or not at all."""
        write_folder(path, self.write, may_replace=may_replace)

    def readable(self, path: str | None) -> LabelFolder:
        """Return the folder that was written, for reading."""
        return LabelFolder(path, names_of([part.path for part in self.parts.parts]))

    def _table(self, piece: Piece, start: int, n_kept: int) -> pa.Table:
        """Return the label table of a piece."""
        rows, left_out = np.arange(piece.n_rows), NOBODY
        if n_kept < piece.n_rows:
            kept, _ = read_rows(piece, self.choice.plan)
            rows, left_out = kept.rows, kept.left_out
        labels = np.empty(0, np.int32)
        if n_kept:
            labels = self.backend.fetch(self.labels, start, start + n_kept)
        return labels_table(
            piece.n_rows, self._identifier(piece), rows, {"cluster": labels}, left_out,
            piece.first,
        )  # fmt: skip

    def _identifier(self, piece: Piece) -> Column | None:
        name, texts = self.choice.identifier, self.choice.plan.missing_texts
        return None if name is None else piece.columns([name], texts)[name]

    def _empty(self, part: Part) -> pa.Table:
        """Return a label table without rows, for its schema."""
        name, identifier = self.choice.identifier, None
        if name is not None:
            nothing = pa.chunked_array([], part.types.get(name, pa.string()))
            identifier = from_arrow(name, nothing, frozenset())
        nobody = np.empty(0, np.int64)
        return labels_table(0, identifier, nobody, {"cluster": nobody}, NOBODY)


class LabelFolder(NamedTuple):
    """Files with the clusters of each part, in the order of the parts."""

    path: str | None
    names: list[str]

    def table(self) -> pa.Table:
        """Read them, one after the other, with one type for the identifier."""
        tables = self._read()
        some = [table for table in tables if len(table)] or tables[:1]
        try:
            return pa.concat_tables(some, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # no type holds all identifiers
            return pa.concat_tables(map(_with_text_identifier, some))

    def clusters(self) -> NDArray[np.int32]:
        """Read the clusters alone, -1 for rows without one."""
        found = pa.concat_tables(self._read(["cluster"]))["cluster"].fill_null(-1)
        clusters: NDArray[np.int32] = found.to_numpy().astype(np.int32)
        return clusters

    def _read(self, columns: list[str] | None = None) -> list[pa.Table]:
        """Return the content of each file."""
        if self.path is None:
            raise WrongUseError(
                "labels of a table in parts are only written; name a folder for them "
                "by --out."
            )
        folder = Path(self.path)
        return [pq.read_table(folder / name, columns=columns) for name in self.names]


def _with_text_identifier(table: pa.Table) -> pa.Table:
    """Cast the identifier, which is the second column, to text."""
    name = table.column_names[1]
    return table.set_column(1, name, table.column(1).cast(pa.string()))


def names_of(paths: Sequence[str]) -> list[str]:
    """Names of the files of all parts: their own, numbered where two are alike."""
    names = [f"{Path(path).name.removesuffix('.parquet')}.parquet" for path in paths]
    if len(set(names)) == len(names):
        return names
    width = len(str(len(names)))
    return [f"{j:0{width}}-{name}" for j, name in enumerate(names, start=1)]
