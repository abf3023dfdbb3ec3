"""Rows that have all values they need; the others, by reason and by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._tables.errors import TableError
from rawlsian._tables.specs import MissingPolicy
from rawlsian._tables.values import Used
from rawlsian.preprocessing.features import MISSING, Feature
from rawlsian.preprocessing.reading import Reading


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows that are left out.

    Attributes
    ----------
    rows : ndarray of shape (n_left_out,)
        Their positions in the table, ascending.
    codes : ndarray of shape (n_left_out,)
        The position of each one's reason among ``reasons``.
    reasons : list of str
        Why, such as "missing: age".
    """

    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    reasons: list[str]

    def by_reason(self) -> list[tuple[str, int, int]]:
        """Each reason, how many rows it has, and the first, counted from 1."""
        return [
            (
                reason,
                int((self.codes == c).sum()),
                int(self.rows[self.codes == c][0]) + 1,
            )
            for c, reason in enumerate(self.reasons)
        ]


class Needed(NamedTuple):
    """Columns that are used, that make the groups, and that every row must have.

    ``labels`` are the clusters and ``weights`` the weights, if there are any.
    """

    used: list[Used]
    sensitive: list[Used]
    labels: Used | None = None
    weights: Used | None = None

    @property
    def always(self) -> list[Used]:
        """Columns of which a row must have a value, whatever is asked for."""
        return [each for each in (self.labels, self.weights) if each is not None]

    @property
    def all(self) -> list[Used]:
        """All of them."""
        return [*self.used, *self.sensitive, *self.always]

    def at(self, rows: NDArray[np.int64]) -> Needed:
        """Return the columns of some rows."""
        return Needed(
            [_at(column, rows) for column in self.used],
            [_at(column, rows) for column in self.sensitive],
            None if self.labels is None else _at(self.labels, rows),
            None if self.weights is None else _at(self.weights, rows),
        )


class CompleteRows(NamedTuple):
    """Rows that can be clustered: positions and columns; ``lost`` counts the others.

    ``lost`` has the number of rows that are left out by the values of the sensitive
    columns, and by None for rows that lack one of these values.
    """

    rows: NDArray[np.int64]
    left_out: LeftOut
    columns: Needed
    lost: Counter[tuple[str, ...] | None]


def keep_complete(
    columns: Needed,
    missing: MissingPolicy,
    n_rows: int,
    features: Sequence[Feature] | None = None,
) -> CompleteRows:
    """Leave out rows that lack a value, or make a level of that."""
    needed = needed_columns(columns, missing, features)
    sensitive = [
        with_missing(column) if missing.of(column.name) == "category" else column
        for column in columns.sensitive
    ]
    rows, left_out = complete_rows(
        {f"missing: {column.name}": column.is_missing for column in needed}, n_rows
    )
    return CompleteRows(
        rows,
        left_out,
        columns._replace(sensitive=sensitive).at(rows),
        count_groups([_at(column, left_out.rows) for column in sensitive]),
    )


def needed_columns(
    columns: Needed, missing: MissingPolicy, features: Sequence[Feature] | None
) -> list[Used]:
    """Return the columns of which a row must have a value.

    A model decides by itself which of its columns may lack values.
    """
    must = [each for each in columns.used if missing.of(each.name) != "category"]
    if features is not None:
        pairs = zip(features, columns.used, strict=True)
        must = [column for feature, column in pairs if not feature.may_be_missing]
    groups = [each for each in columns.sensitive if missing.of(each.name) != "category"]
    return [*must, *groups, *columns.always]


def count_groups(columns: Sequence[Used]) -> Counter[tuple[str, ...] | None]:
    """Count rows by the values of the sensitive columns; None if one is missing."""
    lacks = np.any([column.is_missing for column in columns], axis=0)
    values, codes = combinations(
        [column._replace(codes=column.codes[~lacks]) for column in columns]
    )
    counts = np.bincount(codes, minlength=len(values)).tolist()
    found = Counter[tuple[str, ...] | None](dict(zip(values, counts, strict=True)))
    if lacks.any():
        found[None] = int(lacks.sum())
    return found


def _at(column: Used, rows: NDArray[np.int64]) -> Used:
    return column._replace(codes=column.codes[rows])


def combinations(
    columns: Sequence[Used],
) -> tuple[list[tuple[str, ...]], NDArray[np.int64]]:
    """The combinations of values that occur, sorted, and each row's place in them."""
    combined = np.zeros(len(columns[0].codes), np.int64)
    for column in columns:
        order = column.order  # so that the names come out sorted
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        combined = combined * len(order) + rank[column.codes]
    _, first, codes = np.unique(combined, return_index=True, return_inverse=True)
    found = [
        tuple(str(column.levels[column.codes[row]]) for column in columns)
        for row in first
    ]
    return found, codes


def group_order(
    readings: Sequence[Reading],
) -> Callable[[tuple[str, ...]], tuple[tuple[int, str], ...]]:
    """Return a key that sorts groups: by their bounds, or by their names."""
    places = [
        {name: place for place, name in enumerate(reading.group_names)}
        for reading in readings
    ]

    def key(values: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
        pairs = zip(places, values, strict=True)
        return tuple((known.get(text, len(known)), text) for known, text in pairs)

    return key


def complete_rows(
    lacks: dict[str, NDArray[np.bool_]], n_rows: int
) -> tuple[NDArray[np.int64], LeftOut]:
    """The rows for which no reason to leave them out holds, and the others."""
    masks = np.array(list(lacks.values()), np.bool_).reshape(len(lacks), n_rows)
    is_left_out = masks.any(axis=0)
    rows = np.flatnonzero(is_left_out)
    patterns, codes = np.unique(masks[:, rows].T, axis=0, return_inverse=True)
    reasons = ["; ".join(compress(lacks, pattern)) for pattern in patterns]
    left_out = LeftOut(rows, codes.reshape(-1), reasons if len(rows) else [])
    return np.flatnonzero(~is_left_out), left_out


def with_missing(column: Used) -> Used:
    """A category whose missing values are a level of their own."""
    if not column.is_missing.any():
        return column
    if MISSING in column.levels:
        raise TableError(
            f"column {column.name!r} has both missing values and the text {MISSING!r}; "
            "write that text in another way, so that they can be told apart."
        )
    codes = np.where(column.is_missing, len(column.levels), column.codes)
    levels = np.append(column.levels, MISSING)
    return column._replace(levels=levels, codes=codes.astype(np.int32))
