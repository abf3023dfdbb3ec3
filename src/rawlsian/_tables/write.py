"""Label files: the cluster of each row, as CSV, TSV or Parquet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from rawlsian._support.files import OutputError, write_whole
from rawlsian._tables.column import OTHER_VALUES, Column, Table, kind_of
from rawlsian._tables.complete import LeftOut
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.numbers import is_written_number

# Columns that are appended to a table.
APPENDED = ("cluster_before", "cluster", "moved", "not_clustered")
# Names of clusters that are whole numbers.
WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
ENDINGS = (".csv", ".tsv", ".parquet")
# A spreadsheet takes a cell that begins with one of these as a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def check_ending(
    path: str | None, option: str, endings: tuple[str, ...] = ENDINGS
) -> None:
    """Refuse a file whose name promises something else."""
    if path is not None and not path.lower().endswith(endings):
        *others, last = endings
        said = f"{', '.join(others)} or {last}" if others else last
        raise OutputError(f"{option} {path!r} must end in {said}.")


class MemoryLabels(NamedTuple):
    """Clusters of a table in memory, and what its label files hold besides.

    Attributes
    ----------
    n_rows : int
        Number of rows of the table.
    identifier : Column or None
        Column that names the rows.
    rows : ndarray of shape (n_kept,)
        Positions of the rows that have a cluster.
    left_out : LeftOut
        The other rows, and why they have none.
    labels : ndarray of shape (n_kept,)
        The clusters.
    names : tuple of str or None
        Names of the clusters in files; None writes their numbers.
    cells : pyarrow.Table or None
        The table that clusters are appended to; None writes them alone.
    before : ndarray of shape (n_kept,) or None
        The clusters before, which are appended, too.
    """

    n_rows: int
    identifier: Column | None
    rows: NDArray[np.int64]
    left_out: LeftOut
    labels: NDArray[np.int32]
    names: tuple[str, ...] | None = None
    cells: Any = None
    before: NDArray[np.int32] | None = None

    def table(self) -> pa.Table:
        """Return all rows in their order: number, identifier, cluster, why not."""
        if self.cells is not None:
            return self._appended(self.names)
        return self._table({"cluster": self.labels}, self.identifier, self.names)

    def clusters(self) -> NDArray[np.int32]:
        """Return the cluster of each row of the table, -1 for rows without one."""
        clusters = np.full(self.n_rows, -1, np.int32)
        clusters[self.rows] = self.labels
        return clusters

    def save(self, path: str, may_replace: bool) -> None:
        """Write the clusters; whether a file may be replaced was checked before."""
        if self.cells is None:
            self.write(path, {"cluster": self.labels})
            return
        if _is_parquet(path):
            write_table(path, self._appended(self.names))
            return
        names = None if self.names is None else tuple(map(as_cell, self.names))
        write_table(path, _with_text_cells(self._appended(names)))

    def readable(self, path: str | None) -> MemoryLabels:
        """Return itself, as the clusters are in memory."""
        return self

    def write(self, path: str, columns: dict[str, NDArray[Any]]) -> None:
        """Write columns of clusters to a file that ends in .csv, .tsv or .parquet."""
        identifier, names = self.identifier, self.names
        if not _is_parquet(path):
            names = None if names is None else tuple(map(as_cell, names))
            if identifier is not None:
                cells = [as_cell(text) for text in identifier.texts()]
                identifier = identifier._replace(levels=pa.array(cells, pa.string()))
        write_table(path, self._table(columns, identifier, names))

    def _table(
        self,
        columns: dict[str, NDArray[Any]],
        identifier: Column | None,
        names: tuple[str, ...] | None,
    ) -> pa.Table:
        if names is not None:
            values = cluster_values(names)
            columns = {name: values[labels] for name, labels in columns.items()}
        return labels_table(self.n_rows, identifier, self.rows, columns, self.left_out)

    def _appended(self, names: tuple[str, ...] | None) -> pa.Table:
        """Return the table with the clusters before and after, and who moved."""
        assert self.before is not None
        both = {"cluster_before": self.before, "cluster": self.labels}
        added = self._table(both, None, names)
        place = np.full(self.n_rows, -1, np.int64)
        place[self.rows] = np.arange(len(self.rows))
        moved = _spread(pa.array(self.before != self.labels), place)
        table = self.cells
        for name in APPENDED:
            column = moved if name == "moved" else added.column(name)
            table = table.append_column(name, column)
        return table


def checked_cells(table: Table) -> Any:
    """Return the values of a table, or refuse one that has an appended column."""
    taken = [name for name in APPENDED if name in table.columns]
    if taken:
        raise WrongUseError(
            f"--append adds the column {taken[0]!r}, which the table has already; "
            "rename that one, or leave --append out."
        )
    return table.cells


def cluster_values(names: Sequence[str]) -> NDArray[Any]:
    """Return the names of clusters: whole numbers as such, others as text."""
    if all(WHOLE.fullmatch(name) for name in names):
        return np.array(list(map(int, names)), np.int64)
    return np.array(names, object)


def _with_text_cells(table: pa.Table) -> pa.Table:
    """Return a table as text files have it: no cell that a spreadsheet runs."""
    for j, column in enumerate(table.columns):
        kind = kind_of(column.type)
        if kind == "other":
            raise TableError(
                f"column {table.column_names[j]!r} holds {OTHER_VALUES}, which text "
                "files cannot; write .parquet, or leave --append out."
            )
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if kind == "text" and not pa.types.is_boolean(column.type):
            texts = column.cast(pa.string()).dictionary_encode().combine_chunks()
            cells = pa.array(map(as_cell, texts.dictionary.to_pylist()), pa.string())
            column = cells.take(texts.indices)
        table = table.set_column(j, table.column_names[j], column)
    return table


def write_table(path: str, table: pa.Table) -> None:
    """Write a file that ends in .csv, .tsv or .parquet, whole or not at all.

    In text files, names of columns that look like formulas become text.
    """
    if _is_parquet(path):
        write_whole(path, lambda to: pyarrow.parquet.write_table(table, to))
    else:
        delimiter = "\t" if path.lower().endswith(".tsv") else ","
        write_whole(path, lambda to: _write_text(to, table, delimiter))


def _is_parquet(path: str) -> bool:
    return path.lower().endswith(".parquet")


def labels_table(
    n_rows: int,
    identifier: Column | None,
    rows: NDArray[np.int64],
    labels: dict[str, NDArray[Any]],
    left_out: LeftOut,
    n_before: int = 0,
) -> pa.Table:
    """Return what a label file holds; rows are counted on from those before."""
    numbers = np.arange(n_before + 1, n_before + n_rows + 1)
    columns: dict[str, Any] = {"row": pa.array(numbers)}
    if identifier is not None:
        name = free_name(identifier.name, ["row", *labels, "not_clustered"])
        columns[name] = _spread(identifier.levels, identifier.codes)
    place = np.full(n_rows, -1, np.int64)
    place[rows] = np.arange(len(rows))
    for name, clusters in labels.items():
        is_text = clusters.dtype == object
        values = pa.array(clusters if is_text else clusters.astype(np.int64))
        columns[name] = _spread(values, place)
    place[:] = -1
    place[left_out.rows] = left_out.codes
    columns["not_clustered"] = _spread(pa.array(left_out.reasons, pa.string()), place)
    return pa.table(columns)


def free_name(name: str, taken: Sequence[str]) -> str:
    """The identifier's own name, unless another column has it."""
    return name if name not in taken else f"{name} in the table"


def _spread(values: Any, places: NDArray[Any]) -> Any:
    """The value at each row's place; nothing where that is below 0."""
    return values.take(pa.array(places, mask=places < 0))


def _write_text(path: Path, table: pa.Table, delimiter: str) -> None:
    with path.open("wb") as stream:
        # pyarrow would put every name in quotes.
        names = io.StringIO()
        writer = csv.writer(names, delimiter=delimiter, lineterminator="\n")
        writer.writerow(map(as_cell, table.column_names))
        stream.write(names.getvalue().encode())
        pyarrow.csv.write_csv(
            table,
            stream,
            pyarrow.csv.WriteOptions(
                include_header=False,
                delimiter=delimiter,
                quoting_style="needed" if _needs_quotes(table, delimiter) else "none",
            ),
        )


def _needs_quotes(table: pa.Table, delimiter: str) -> bool:
    """Return True if a text could end a cell; pyarrow quotes all texts or none."""
    special = "|".join(map(re.escape, (delimiter, '"', "\n", "\r")))
    return any(
        pc.any(pc.match_substring_regex(column, special)).as_py()
        for column in table.columns
        if pa.types.is_string(column.type)
    )


def as_cell(text: str) -> str:
    """A cell that no spreadsheet runs: what looks like a formula becomes text.

    Numbers stay as people write them, so that the file can be read again.
    """
    if text.startswith(FORMULA_STARTS) and not is_written_number(text):
        return f"'{text}"
    return text
