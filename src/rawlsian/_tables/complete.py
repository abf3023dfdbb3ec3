"""Rows that have all values they need; the others, by reason and by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._tables.columns import Used
from rawlsian._tables.errors import TableError
from rawlsian.preprocessing.features import MISSING, Feature


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


class CompleteRows(NamedTuple):
    """Rows that can be clustered: positions and columns; ``lost`` counts the others.

    ``lost`` has the number of rows that are left out by the values of the sensitive
    columns, and by None for rows that lack one of these values.
    """

    rows: NDArray[np.int64]
    left_out: LeftOut
    used: list[Used]
    sensitive: list[Used]
    labels: Used | None
    lost: Counter[tuple[str, ...] | None]


def keep_complete(
    used: Sequence[Used],
    sensitive: Sequence[Used],
    labels: Used | None,
    when_missing: str,
    n_rows: int,
    features: Sequence[Feature] | None = None,
) -> CompleteRows:
    """Leave out rows that lack a value, or make a level of that."""
    needed = needed_columns(used, sensitive, labels, when_missing, features)
    if when_missing == "category":
        sensitive = [with_missing(column) for column in sensitive]
    rows, left_out = complete_rows(
        {f"missing: {column.name}": column.is_missing for column in needed}, n_rows
    )
    return CompleteRows(
        rows,
        left_out,
        [_at(column, rows) for column in used],
        [_at(column, rows) for column in sensitive],
        None if labels is None else _at(labels, rows),
        count_groups([_at(column, left_out.rows) for column in sensitive]),
    )


def needed_columns(
    used: Sequence[Used],
    sensitive: Sequence[Used],
    labels: Used | None,
    when_missing: str,
    features: Sequence[Feature] | None,
) -> list[Used]:
    """Return the columns of which a row must have a value.

    A model decides by itself which of its columns may lack values.
    """
    is_category = when_missing == "category"
    if features is not None:
        pairs = zip(features, used, strict=True)
        must = [column for feature, column in pairs if not feature.may_be_missing]
    else:
        must = [] if is_category else list(used)
    return [
        *must,
        *([] if is_category else sensitive),
        *([] if labels is None else [labels]),
    ]


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
        order = np.argsort(column.levels)  # so that the names come out sorted
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        combined = combined * len(order) + rank[column.codes]
    _, first, codes = np.unique(combined, return_index=True, return_inverse=True)
    found = [
        tuple(str(column.levels[column.codes[row]]) for column in columns)
        for row in first
    ]
    return found, codes


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
