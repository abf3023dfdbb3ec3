"""Files of centers: a row for each cluster, in the user's own units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rawlsian._tables.column import Column, Table
from rawlsian._tables.errors import TableError
from rawlsian._tables.model import LARGEST_CENTER
from rawlsian._tables.read import read_table
from rawlsian._tables.values import as_numbers
from rawlsian._tables.write import as_cell, write_table
from rawlsian.preprocessing.features import Attribute, Feature

CLUSTER = "cluster"
# A share below 0 or above 1 by no more than this is rounding.
ROUNDING = 1e-9


class NamedCenters(NamedTuple):
    """Encoded centers, of shape (n_clusters, n_features), and their clusters' names."""

    names: list[str]
    centers: NDArray[np.float64]


def centers_table(
    features: Sequence[Feature],
    centers: NDArray[np.float64],
    clusters: Sequence[str] | None = None,
) -> Any:
    """Return encoded centers as a table in the user's units.

    The first column, ``cluster``, has the names of the clusters, or counts from 0. A
    number has its mean. A category has a column for each level, ``column=level``, with
    its share from 0 to 1. A number that may be missing has two more, ``column is
    missing=no`` and ``column is missing=yes``.
    A column whose name is taken gets a number behind it.

    Parameters
    ----------
    features : list of Feature
        How the columns are encoded.
    centers : ndarray of shape (n_clusters, n_features)
        The centers, encoded so.
    clusters : sequence of str, default=None
        Names of the clusters.

    Returns
    -------
    pyarrow.Table
        A row for each cluster. ``read_centers`` inverts it to within rounding: 1e-12,
        unless numbers are thousands of times as large as their range.
    """
    attributes = [each for feature in features for each in feature.attributes]
    numbers = list(map(str, range(len(centers))))
    is_counted = clusters is None or list(clusters) == numbers
    names = np.arange(len(centers)) if is_counted else list(clusters or ())
    columns: dict[str, Any] = {CLUSTER: pa.array(names)}
    for j, (name, each) in enumerate(zip(_names(attributes), attributes, strict=True)):
        values = np.asarray(each.in_units(centers[:, j]))
        # Adding and subtracting rows leaves rounding errors: clip shares.
        columns[name] = pa.array(values if each.level is None else values.clip(0, 1))
    return pa.table(columns)


def save_centers(
    path: str,
    features: Sequence[Feature],
    centers: NDArray[np.float64],
    clusters: Sequence[str] | None = None,
) -> None:
    """Write ``centers_table`` to a file that ends in .csv, .tsv or .parquet."""
    if clusters is not None and not path.lower().endswith(".parquet"):
        clusters = list(map(as_cell, clusters))
    write_table(path, centers_table(features, centers, clusters))


def read_centers(path: str, features: Sequence[Feature]) -> NamedCenters:
    """Read a file that ``save_centers`` wrote, or that is like one.

    Parameters
    ----------
    path : str
        CSV, TSV or Parquet; its columns may have any order.
    features : list of Feature
        How the columns of the table are encoded, which the centers serve.

    Returns
    -------
    NamedCenters
        Centers, encoded so, in the order of the rows, and the names of the clusters.
    """
    table = read_table(path)
    attributes = [each for feature in features for each in feature.attributes]
    found = _columns(path, table, _names(attributes))
    centers = np.column_stack(
        [_encoded(path, *pair) for pair in zip(attributes, found[1:], strict=True)]
    )
    return NamedCenters(_clusters(path, found[0]), centers)


def _names(attributes: Sequence[Attribute]) -> list[str]:
    """Return a different name for each encoded column, also where names are cells."""
    names, taken = list[str](), {CLUSTER}
    for each in attributes:
        name = each.name if each.level is None else f"{each.name}={each.level}"
        free, number = name, 2
        while _cell(free) in taken:
            free, number = f"{name} ({number})", number + 1
        taken.add(_cell(free))
        names.append(free)
    return names


def _cell(name: str) -> str:
    """Return the name of a column as a text file has it."""
    return as_cell(name).strip()


def _columns(path: str, table: Table, names: Sequence[str]) -> list[Column]:
    """Return the column of clusters, and the columns of these names."""
    expected = [CLUSTER, *names]
    if table.how != "Parquet":
        expected = list(map(_cell, expected))
    missing = [name for name in expected if name not in table.columns]
    others = [name for name in table.columns if name not in set(expected)]
    if missing or others:
        fault = (
            f"lacks the column {missing[0]!r:.80}"
            if missing
            else f"has a column {others[0]!r:.80} that the table does not need"
        )
        raise TableError(
            f"the file of centers {path!r} {fault}; it must have the column 'cluster', "
            "a column for each number and one for each level of a category, as "
            "'job=cook', of the columns that are compared. Leave others out with "
            "--drop, or audit a model, which has its own columns."
        )
    return [table.columns[name] for name in expected]


def _encoded(path: str, attribute: Attribute, column: Column) -> NDArray[np.float64]:
    """Return the encoded values of a column; a number that does not vary is 0."""
    if (column.codes < 0).any():
        row = column.name_row(int(np.argmin(column.codes)))
        raise TableError(
            f"the file of centers {path!r} has no value in column {column.name!r}, "
            f"{row}; give a number."
        )
    try:
        values = as_numbers(column).numbers
    except TableError as error:
        raise TableError(f"in the file of centers {path!r} {error}") from error
    if attribute.level is not None:
        _check_shares(path, column.name, values)
    encoded = attribute.encoded(values)
    if not (np.abs(encoded) <= LARGEST_CENTER).all():
        raise TableError(
            f"the file of centers {path!r} has numbers in column {column.name!r} that "
            "are too far from those of the table."
        )
    return encoded


def _check_shares(path: str, name: str, shares: NDArray[np.float64]) -> None:
    is_share = (shares >= -ROUNDING) & (shares <= 1 + ROUNDING)
    if not is_share.all():
        raise TableError(
            f"the file of centers {path!r} has {shares[~is_share][0]:g} in column "
            f"{name!r}, which must be a share of people, from 0 to 1."
        )


def _clusters(path: str, column: Column) -> list[str]:
    """Return the names of the clusters, which must differ."""
    if (column.codes < 0).any() or len(column.levels) < len(column.codes):
        raise TableError(
            f"the file of centers {path!r} must name each cluster once in its column "
            "'cluster'."
        )
    return [str(text) for text in column.texts()[column.codes]]
