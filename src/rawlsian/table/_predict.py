"""New rows and the nearest center of a model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._fair import nearest
from rawlsian.table._columns import Unused, Used, as_category, find, look_at
from rawlsian.table._model import Model
from rawlsian.table._read import Column, Table, TableError


class Predicted(NamedTuple):
    """Which rows have which cluster, and why the others have none.

    ``utilities`` are name, size and mean utility of each group, None where the table
    does not have the sensitive columns.
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.int32]
    left_out: list[tuple[int, str]]
    utilities: list[tuple[str, int, float]] | None


def predict(
    model: Model,
    table: Table,
    when_missing: str,
    when_unknown: str,
) -> Predicted:
    """The nearest center of each row that the model can place."""
    columns = model.columns_of(table)
    reasons: dict[int, list[str]] = {}
    for feature, column in zip(model.features, columns, strict=True):
        if not model.may_miss(feature):
            _note(reasons, np.flatnonzero(column.is_missing), "missing", column.name)
    if reasons and when_missing == "error":
        row, lacks = min(reasons.items())
        raise TableError(
            f"{len(reasons):,} of {table.n_rows:,} rows lack values that the model "
            f"needs, the first is row {row + 1} ({'; '.join(lacks)}); fill them in, or "
            "say --missing drop to leave these rows out."
        )
    _note_unknown(model, columns, when_unknown, reasons)
    rows = np.setdiff1d(np.arange(table.n_rows), list(reasons))
    if not len(rows):
        raise TableError("no row is left that the model can place.")
    kept = [column._replace(codes=column.codes[rows]) for column in columns]
    labels, distances = nearest(model.encode(kept), model.centers)
    left_out = [(row, "; ".join(texts)) for row, texts in sorted(reasons.items())]
    utilities = _utilities(model, table, rows, distances)
    return Predicted(rows, labels, left_out, utilities)


def _note(
    reasons: dict[int, list[str]], rows: NDArray[np.intp], what: str, name: str
) -> None:
    for row in rows.tolist():
        reasons.setdefault(row, []).append(f"{what}: {name}")


def _note_unknown(
    model: Model, columns: list[Used], when: str, reasons: dict[int, list[str]]
) -> None:
    """Refuse rows with levels that the model has not seen, or note them."""
    unknown = model.unknown_levels(columns)
    if not unknown or when == "ignore":
        return
    if when == "error":
        name, levels = next(iter(unknown.items()))
        raise TableError(
            f"column {name!r} has {len(levels):,} value(s) that the model has not "
            f"seen, such as {levels[0]!r:.60}; say --unknown drop to leave these rows "
            "out, or --unknown ignore to take them as unlike all others."
        )
    for column in columns:
        if column.name in unknown:
            is_new = np.isin(column.levels, unknown[column.name])
            rows = np.flatnonzero(np.append(is_new, False)[column.codes])
            _note(reasons, rows, "unknown value", column.name)


def _utilities(
    model: Model,
    table: Table,
    rows: NDArray[np.int64],
    distances: NDArray[np.float64],
) -> list[tuple[str, int, float]] | None:
    """How well each group is served, if the table tells who is in which."""
    if not all(name in table.columns for name in model.sensitive):
        return None
    sensitive = [as_category(table.columns[name]) for name in model.sensitive]
    codes = np.column_stack([column.codes[rows] for column in sensitive])
    known = (codes >= 0).all(axis=1)
    found, group = np.unique(codes[known], axis=0, return_inverse=True)
    counts = np.bincount(group.ravel())
    means = np.bincount(group.ravel(), distances[known]) / np.maximum(counts, 1)
    names = [
        ", ".join(
            str(column.levels[code])
            for column, code in zip(sensitive, codes_of, strict=True)
        )
        for codes_of in found
    ]
    utilities = model.max_distance - means
    return list(zip(names, counts.tolist(), utilities.tolist(), strict=True))


def identifier(table: Table, name: str | None) -> Column | None:
    """The column that names the rows, given or noticed."""
    if name is not None:
        return find(table, name, "--id")
    return next(filter(_names_rows, table.columns.values()), None)


def _names_rows(column: Column) -> bool:
    try:
        seen = look_at(column)
    except TableError:  # of no use as a feature, but then it need not be one
        return False
    return isinstance(seen, Unused) and seen.is_identifier
