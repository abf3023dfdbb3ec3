"""Write which row is in which cluster."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from rawlsian._files import OutputError, write_whole
from rawlsian.table._read import Column

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


def write_labels(
    path: str,
    n_rows: int,
    identifier: Column | None,
    rows: NDArray[np.int64],
    labels: dict[str, Sequence[str] | NDArray[Any]],
    left_out: Iterable[tuple[int, str]],
) -> None:
    """All rows of the table in their order: number, identifier, clusters, why not.

    Parameters
    ----------
    path : str
        A file that ends in .csv, .tsv or .parquet.
    n_rows : int
        Number of rows of the table.
    identifier : Column or None
        What the rows are called.
    rows : ndarray of shape (n_kept,)
        Positions of the rows that have a cluster.
    labels : dict of str to array of shape (n_kept,)
        Columns of clusters, each with its name.
    left_out : iterable of (int, str)
        Positions of the others, and why they have none.
    """
    columns: dict[str, NDArray[Any]] = {"row": np.arange(1, n_rows + 1)}
    if identifier is not None:
        columns[_free_name(identifier.name, ["row", *labels])] = _values(identifier)
    for name, values in labels.items():
        columns[name] = np.full(n_rows, None, object)
        columns[name][rows] = values
    reasons = np.full(n_rows, None, object)
    for row, reason in left_out:
        reasons[row] = reason
    columns["not_clustered"] = reasons
    ending = Path(path).suffix.lower()
    if ending == ".parquet":
        table = pa.table(columns)
        write_whole(path, lambda to: pyarrow.parquet.write_table(table, to))
    else:
        delimiter = "\t" if ending == ".tsv" else ","
        write_whole(path, lambda to: _write_text(to, columns, delimiter))


def _free_name(name: str, taken: Sequence[str]) -> str:
    """The identifier's own name, unless another column has it."""
    return name if name not in (*taken, "not_clustered") else f"{name} in the table"


def _values(column: Column) -> NDArray[Any]:
    """A column's values row by row, None where missing."""
    levels = column.levels.astype(object)
    if column.stored_as == "number" and not (column.levels % 1).any():
        levels = np.array([int(number) for number in column.levels], object)
    with_none = np.full(len(levels) + 1, None, object)
    with_none[:-1] = levels
    values: NDArray[Any] = with_none[column.codes]
    return values


def _write_text(path: Path, columns: dict[str, NDArray[Any]], delimiter: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, delimiter=delimiter, lineterminator="\n")
        writer.writerow(map(as_text, columns))
        texts = [[as_text(value) for value in column] for column in columns.values()]
        writer.writerows(zip(*texts, strict=True))


def as_text(value: object) -> str:
    """A cell that no spreadsheet runs: what looks like a formula becomes text."""
    if value is None:
        return ""
    text = str(value)
    if text.startswith(FORMULA_STARTS) and not _is_number(text):
        return f"'{text}"
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
