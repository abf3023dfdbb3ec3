"""Place new rows with the nearest center of a model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.nearest import nearest
from rawlsian._tables.column import Column, Table
from rawlsian._tables.columns import (
    Roles,
    find_identifier,
    identifier_among,
    weights_of,
)
from rawlsian._tables.complete import LeftOut, complete_rows, with_missing
from rawlsian._tables.errors import TableError
from rawlsian._tables.given_features import columns_for, unknown_levels
from rawlsian._tables.model import Model
from rawlsian._tables.prepare import encode, group_codes
from rawlsian._tables.text import counted
from rawlsian._tables.values import Used, as_groups


class Placement(NamedTuple):
    """Clusters of the rows that have one, and why the others have none.

    ``utilities`` are name, size and mean utility of each group, None where the table
    does not have the sensitive columns. ``ignored`` are numbers of rows whose value of
    a column the model has not seen, if these are ignored.
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.int32]
    left_out: LeftOut
    utilities: list[tuple[str, float, float]] | None
    ignored: dict[str, int]


def predict(
    model: Model, table: Table, when_missing: str, when_unknown: str
) -> Placement:
    """The nearest center of each row that the model can place."""
    columns = columns_for(model.features, table.columns)
    lacks = {
        f"missing: {feature.name}": column.is_missing
        for feature, column in zip(model.features, columns, strict=True)
        if not feature.may_be_missing
    }
    if when_missing == "error":
        _refuse_missing(lacks, table.n_rows)
    unknown = _unknown(model, columns, when_unknown)
    if when_unknown != "ignore":
        lacks |= {f"unknown value: {name}": has for name, has in unknown.items()}
    rows, left_out = complete_rows(lacks, table.n_rows)
    if not len(rows):
        raise TableError("no row is left that the model can place.")
    kept = [column._replace(codes=column.codes[rows]) for column in columns]
    labels, distances = nearest(encode(model.features, kept), model.centers)
    utilities = _utilities(model, table, rows, distances)
    ignored = {}
    if when_unknown == "ignore":
        ignored = {name: int(has[rows].sum()) for name, has in unknown.items()}
    return Placement(rows, labels, left_out, utilities, ignored)


def _refuse_missing(lacks: dict[str, NDArray[np.bool_]], n_rows: int) -> None:
    _, left_out = complete_rows(lacks, n_rows)
    n_lacking = len(left_out.rows)
    if n_lacking:
        raise TableError(
            f"{n_lacking:,} of {counted(n_rows, 'row')} "
            f"{'lacks' if n_lacking == 1 else 'lack'} values that the model needs, the "
            f"first is row {left_out.rows[0] + 1} "
            f"({left_out.reasons[left_out.codes[0]]}); fill them in, or say --missing "
            "drop to leave these rows out."
        )


def _unknown(
    model: Model, columns: list[Used], when: str
) -> dict[str, NDArray[np.bool_]]:
    """Return masks of rows with levels that the model has not seen, by column."""
    unknown = unknown_levels(model.features, columns)
    if unknown and when == "error":
        name, levels = next(iter(unknown.items()))
        raise TableError(
            f"column {name!r} has {counted(len(levels), 'value')} that the model has "
            f"not seen, such as {levels[0]!r:.60}; say --unknown drop to leave these "
            "rows out, or --unknown ignore to take them as equally far from all others."
        )
    return {
        column.name: np.append(np.isin(column.levels, unknown[column.name]), False)[
            column.codes
        ]
        for column in columns
        if column.name in unknown
    }


def _utilities(
    model: Model,
    table: Table,
    rows: NDArray[np.int64],
    distances: NDArray[np.float64],
) -> list[tuple[str, float, float]] | None:
    """Return utilities of each group, if the table has the sensitive columns."""
    if not all(name in table.columns for name in model.sensitive):
        return None
    sensitive = [
        as_groups(table.columns[name], how) for name, how in model.groups.items()
    ]
    names, codes = group_codes(
        [
            with_missing(column._replace(codes=column.codes[rows]))
            for column in sensitive
        ]
    )
    weights = _weights(model, table)[rows]
    people = np.bincount(codes, weights)
    costs = np.bincount(codes, weights * distances)
    with np.errstate(invalid="ignore"):  # a group whose rows stand for nobody
        utilities = model.max_distance - costs / people
    sizes = [int(each) if each.is_integer() else each for each in people.tolist()]
    return list(zip(names, sizes, utilities.tolist(), strict=True))


def _weights(model: Model, table: Table) -> NDArray[np.float64]:
    """Return weights by the column of the fit, if the table has it; 0 where missing."""
    column = None if model.weight is None else table.columns.get(model.weight)
    if column is None:
        return np.ones(table.n_rows)
    weights = weights_of(table, Roles((), weight=model.weight))
    assert weights is not None
    return np.nan_to_num(weights.numbers)


def identifier_of(model: Model, table: Table, name: str | None) -> Column | None:
    """The column that names the rows, given or noticed."""
    if name is not None:
        return find_identifier(table, name)
    of_fit = model.identifier
    noticed = None if of_fit is None else table.columns.get(of_fit)
    if noticed is not None and noticed.stored_as != "other":
        return noticed
    known = {*model.sensitive, *(feature.name for feature in model.features)}
    others = (each for each in table.columns.values() if each.name not in known)
    return identifier_among(others)
