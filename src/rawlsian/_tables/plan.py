"""Plan of a table in parts: what each column is, as the first rows show it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._tables.columns import (
    Roles,
    Unused,
    as_weights,
    check_roles,
    groups_of,
    is_numbered,
    nothing_to_use,
    sort_out,
    weights_of,
)
from rawlsian._tables.complete import (
    CompleteRows,
    Needed,
    keep_complete,
)
from rawlsian._tables.errors import TableError
from rawlsian._tables.given_features import columns_for, others_than
from rawlsian._tables.parts import Parts, Piece
from rawlsian._tables.prepare import (
    missing_as_text,
)
from rawlsian._tables.remarks import (
    remarks_on_sensitive,
    remarks_on_values,
)
from rawlsian._tables.specs import MissingPolicy
from rawlsian._tables.values import Kind, Used, as_category, as_groups, read_as
from rawlsian.preprocessing.features import MISSING, Feature, deviation_of
from rawlsian.preprocessing.reading import Reading, Scale


class Plan(NamedTuple):
    """Columns to read of every piece, and how.

    Attributes
    ----------
    used : dict of str to (Kind, Reading)
        The columns that are used: numbers or categories, and how they are read.
    sensitive : dict of str to Reading
        The columns that make the groups, and how they are read.
    labels : str or None
        The column of clusters, of an audit.
    weight : (str, Reading) or None
        The column of weights, and how it is read.
    missing : MissingPolicy
        How rows with missing values are treated.
    missing_texts : frozenset of str
        Texts that mean missing.
    features : tuple of Feature or None
        Those of a model, whose encoding applies; None learns them.
    """

    used: dict[str, tuple[Kind, Reading]]
    sensitive: dict[str, Reading]
    labels: str | None
    weight: tuple[str, Reading] | None
    missing: MissingPolicy
    missing_texts: frozenset[str]
    features: tuple[Feature, ...] | None

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        others = [self.labels, None if self.weight is None else self.weight[0]]
        one = [name for name in others if name is not None]
        return list(dict.fromkeys([*self.used, *self.sensitive, *one]))


class ColumnChoice(NamedTuple):
    """Columns to read, as the first rows decide.

    Attributes
    ----------
    plan : Plan
        Columns to read.
    medians, deviations : dict of str to float
        Number that stands for a missing one, and deviation by which numbers are
        scaled if they are, of each column of numbers.
    unused : list of Unused
        Columns that are not used.
    identifier : str or None
        The column that names the rows.
    remarks : list of str
        Sentences on the values of the first rows.
    """

    plan: Plan
    medians: dict[str, float]
    deviations: dict[str, float | None]
    unused: list[Unused]
    identifier: str | None
    remarks: list[str]


def choose_columns(
    parts: Parts,
    roles: Roles,
    missing_texts: frozenset[str],
    features: Sequence[Feature] | None = None,
) -> ColumnChoice:
    """Sort out the columns by the first rows; every part must have those needed.

    ``features`` are those of a model, whose columns are then used.
    """
    table = parts.first_rows
    check_roles(table, roles)
    if features is None:
        used, unused = sort_out(table, roles)
        used, counting = _without_counts(parts, used, roles)
        unused = [*unused, *counting]
    else:
        used = columns_for(features, table.columns)
        unused = others_than(features, table)
    sensitive, weights = groups_of(table, roles), weights_of(table, roles)
    plan = Plan(
        {column.name: (column.kind, column.reading) for column in used},
        {column.name: column.reading for column in sensitive}, roles.labels,
        None if weights is None else (weights.name, weights.reading),
        roles.specs.missing, missing_texts,
        None if features is None else tuple(features),
    )  # fmt: skip
    needed = [*plan.names, *([roles.identifier] if roles.identifier else [])]
    for name in needed:
        lacking = parts.lacking(name)
        if lacking is not None:
            raise TableError(
                f"{lacking!r} has no column {name!r}, which other parts have; add it, "
                f"or leave it out of all with --drop {name!r}."
            )
    numbers = {
        column.name: (column.numbers[~column.is_missing], column.reading.scale)
        for column in used
        if column.kind == "number" and features is None
    }
    medians = {name: float(np.median(each)) for name, (each, _) in numbers.items()}
    deviations = {name: _deviation(name, *each) for name, each in numbers.items()}
    remarks = [
        *([] if features is not None else remarks_on_values(table, used, roles)),
        *remarks_on_sensitive(table, sensitive),
    ]
    noticed = (each.name for each in unused if each.is_identifier)
    everywhere = (name for name in noticed if parts.lacking(name) is None)
    identifier = roles.identifier or next(everywhere, None)
    return ColumnChoice(plan, medians, deviations, unused, identifier, remarks)


def _deviation(name: str, numbers: NDArray[np.float64], scale: Scale) -> float | None:
    try:
        return deviation_of(name, numbers, scale)
    except ValueError as error:
        raise TableError(str(error)) from error


def _without_counts(
    parts: Parts, used: Sequence[Used], roles: Roles
) -> tuple[list[Used], list[Unused]]:
    """Numbers that count the rows of each part are not used."""
    kept: list[Used] = []
    counting: list[Unused] = []
    for column in used:
        is_said = roles.said_of(column.name) is not None
        if column.kind == "number" and not is_said and _counts(parts, column.name):
            reason = "an identifier: it counts the rows of each part"
            counting.append(Unused(column.name, reason, is_identifier=True))
        else:
            kept.append(column)
    if not kept:
        raise nothing_to_use(counting)
    return kept, counting


def _counts(parts: Parts, name: str) -> bool:
    column = parts.first_rows.columns[name]
    edges = [*parts.starts, parts.first_rows.n_rows]
    return all(
        is_numbered(column._replace(codes=column.codes[start:stop]))
        for start, stop in pairwise(edges)
    )


def read_rows(piece: Piece, plan: Plan) -> tuple[CompleteRows, dict[str, int]]:
    """The rows of a piece that can be clustered; missing values of each column."""
    columns = piece.columns(plan.names, plan.missing_texts)
    if plan.features is None:
        used = [
            read_as(columns[name], *how, f", or --drop {name!r}")
            for name, how in plan.used.items()
        ]
    else:
        used = columns_for(plan.features, columns)
    sensitive = [as_groups(columns[name], how) for name, how in plan.sensitive.items()]
    labels = None if plan.labels is None else as_category(columns[plan.labels])
    weights = None
    if plan.weight is not None:
        weights = as_weights(columns[plan.weight[0]], plan.weight[1])
    n_missing = {name: int((columns[name].codes < 0).sum()) for name in columns}
    for column in sensitive:
        if plan.missing.of(column.name) == "category":
            _refuse_missing_as_text(column, piece)
    needed = Needed(used, sensitive, labels, weights)
    return keep_complete(needed, plan.missing, piece.n_rows, plan.features), n_missing


def _refuse_missing_as_text(column: Used, piece: Piece) -> None:
    """Raise, as missing values of another part would look the same as the text."""
    if MISSING in column.levels:
        raise missing_as_text(f"{column.name!r} of {piece.path!r}")
