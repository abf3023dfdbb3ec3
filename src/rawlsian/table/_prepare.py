"""From the columns of a table to numbers: rows without values, encoding, groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian.preprocessing import HOT
from rawlsian.report import Attribute
from rawlsian.table._columns import (
    Roles,
    Unused,
    Used,
    check_roles,
    groups_of,
    sort_out,
)
from rawlsian.table._read import Table, TableError

MISSING = "(missing)"
MOST_GROUPS = 100
FEW_PEOPLE = 10
LABELS_NAME = re.compile(r"(^|[_\W])(cluster|segment|label|kmeans)s?([_\W]|$)", re.I)
MOST_BYTES = 8 * 2**30


class Feature(NamedTuple):
    """What was learnt of a column; with it another table is encoded alike.

    Attributes
    ----------
    name : str
        The column.
    levels : tuple of str or None
        Its categories, sorted; None for numbers.
    lowest, spread : float
        The range of numbers, which is scaled to [0, 1].
    fill : float or None
        What stands for a missing number; None where none may be missing.
    """

    name: str
    levels: tuple[str, ...] | None
    lowest: float
    spread: float
    fill: float | None

    @property
    def n_varying(self) -> int:
        """How far apart it can set two rows."""
        if self.levels is not None:
            return int(len(self.levels) > 1)
        return int(self.spread > 0) + (self.fill is not None)

    @property
    def attributes(self) -> list[Attribute]:
        """What its encoded columns stand for."""
        if self.levels is not None:
            return [Attribute(self.name, level, 0.0, HOT) for level in self.levels]
        number = Attribute(self.name, None, self.lowest, self.spread)
        if self.fill is None:
            return [number]
        is_missing = f"{self.name} is missing"
        return [number, *(Attribute(is_missing, x, 0.0, HOT) for x in ("no", "yes"))]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table, ready to be clustered.

    Attributes
    ----------
    X : ndarray of shape (n_kept, n_features)
        The encoded rows.
    features : list of Feature
        How they were encoded.
    groups : ndarray of shape (n_kept, n_sensitive)
        The values of the sensitive columns.
    rows : ndarray of shape (n_kept,)
        Their positions in the table.
    left_out : list of (int, str)
        The positions of the other rows, and why they are not clustered.
    unused : list of Unused
        The columns that are not clustered on.
    remarks : list of str
        What the user should know.
    """

    X: NDArray[np.float64]
    features: list[Feature]
    groups: NDArray[Any]
    rows: NDArray[np.int64]
    left_out: list[tuple[int, str]]
    unused: list[Unused]
    remarks: list[str]

    @property
    def max_distance(self) -> float:
        """The largest squared distance that two of these rows can have."""
        return float(sum(feature.n_varying for feature in self.features))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What the columns of X stand for."""
        return tuple(each for feature in self.features for each in feature.attributes)


def prepare(
    table: Table, roles: Roles, when_missing: str, labels: Used | None = None
) -> Prepared:
    """Sort out columns and rows, and encode what is left."""
    check_roles(table, roles)
    used, unused = sort_out(table, roles)
    sensitive = groups_of(table, roles.sensitive)
    needed = [*used, *sensitive, *([labels] if labels is not None else [])]
    _refuse_missing(needed, when_missing, table.n_rows)
    if when_missing == "category":
        needed = [labels] if labels is not None else []
        sensitive = [_with_missing(column) for column in sensitive]
    rows, left_out = _complete_rows(needed, table.n_rows)
    used = [column._replace(codes=column.codes[rows]) for column in used]
    features = [learn(column) for column in used]
    X = encode(features, used)
    if not X.size or not np.ptp(X, axis=0).any():
        raise TableError(
            "all rows are alike in the columns that are clustered on "
            f"({', '.join(column.name for column in used[:10])}); there is nothing to "
            "cluster."
        )
    groups = np.column_stack(
        [column.levels[column.codes[rows]] for column in sensitive]
    )
    return Prepared(X, features, groups, rows, left_out, unused, _remarks(used, groups))


def _refuse_missing(columns: Sequence[Used], when_missing: str, n_rows: int) -> None:
    counts = {
        column.name: int(column.is_missing.sum())
        for column in columns
        if column.is_missing.any()
    }
    if when_missing != "error" or not counts:
        return
    incomplete = int(np.any([column.is_missing for column in columns], axis=0).sum())
    shown = ", ".join(f"{name} ({count:,})" for name, count in counts.items())
    raise TableError(
        f"{incomplete:,} of {n_rows:,} rows have missing values, in {shown}; say "
        "--missing drop to leave these rows out, --missing category to give missing "
        "values a level of their own, or leave columns out with --drop."
    )


def _complete_rows(
    columns: Sequence[Used], n_rows: int
) -> tuple[NDArray[np.int64], list[tuple[int, str]]]:
    """The rows that have all of these values, and what the others lack."""
    lacks = np.zeros(n_rows, np.bool_)
    for column in columns:
        lacks |= column.is_missing
    left_out = []
    for row in np.flatnonzero(lacks).tolist():
        names = dict.fromkeys(
            column.name for column in columns if column.codes[row] < 0
        )
        left_out.append((row, f"missing: {', '.join(names)}"))
    rows = np.flatnonzero(~lacks)
    if not len(rows):
        raise TableError(
            "every row has a missing value; leave columns out with --drop, or say "
            "--missing category."
        )
    return rows, left_out


def _with_missing(column: Used) -> Used:
    """A category whose missing values are a level of their own."""
    if not column.is_missing.any():
        return column
    if MISSING in column.levels:
        raise TableError(
            f"column {column.name!r} has both missing values and the text {MISSING!r}; "
            "rename that text, so that they can be told apart."
        )
    codes = np.where(column.is_missing, len(column.levels), column.codes)
    levels = np.append(column.levels, MISSING)
    return column._replace(levels=levels, codes=codes.astype(np.int32))


def learn(column: Used) -> Feature:
    """The range of a column of numbers, or the levels of a category."""
    present = np.unique(column.codes[~column.is_missing])
    if column.kind == "category":
        column = _with_missing(column)
        present = np.unique(column.codes)
        levels = tuple(sorted(column.levels[present]))
        return Feature(column.name, levels, 0.0, 0.0, None)
    if not len(present):
        raise TableError(f"column {column.name!r} is empty in the rows that are left.")
    numbers = column.levels[present]
    fill = None
    if column.is_missing.any():
        fill = float(np.median(column.numbers[~column.is_missing]))
    return Feature(
        column.name, None, float(numbers.min()), float(np.ptp(numbers)), fill
    )


def encode(features: Sequence[Feature], columns: Sequence[Used]) -> NDArray[np.float64]:
    """Every feature at most 1 apart, as ``UnitDistanceEncoder`` does.

    A level that was not learnt is encoded as zeros: 1/2 from every other.
    """
    n_rows = len(columns[0].codes)
    width = sum(len(feature.attributes) for feature in features)
    if n_rows * width * 8 > MOST_BYTES:
        raise TableError(
            f"{n_rows:,} rows and {width:,} encoded columns need "
            f"{n_rows * width * 8 / 2**30:.0f} GB; leave out columns with many levels "
            "by --drop."
        )
    out = np.zeros((n_rows, width))
    first = 0
    for feature, column in zip(features, columns, strict=True):
        n_columns = len(feature.attributes)
        _encode_column(feature, column, out[:, first : first + n_columns])
        first += n_columns
    return out


def _encode_column(feature: Feature, column: Used, out: NDArray[np.float64]) -> None:
    """Write the encoded columns of one feature."""
    if feature.levels is not None:
        if MISSING in feature.levels:
            column = _with_missing(column)
        places = {level: place for place, level in enumerate(feature.levels)}
        known = np.array([places.get(level, -1) for level in column.levels], np.intp)
        levels = known[column.codes]
        rows = np.flatnonzero(levels >= 0)
        out[rows, levels[rows]] = HOT
        return
    numbers = column.numbers
    if feature.fill is not None:
        is_missing = column.is_missing
        numbers = np.where(is_missing, feature.fill, numbers)
        out[:, 1], out[:, 2] = HOT * ~is_missing, HOT * is_missing
    if feature.spread > 0:
        # In two steps, as a range may be too wide for their difference.
        out[:, 0] = numbers / feature.spread - feature.lowest / feature.spread


def clusters_of(
    labels: Used, rows: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int32]]:
    """Names of the clusters that these rows are in, sorted, and the rows' codes."""
    names, codes = np.unique(labels.codes[rows], return_inverse=True)
    texts = [str(text) for text in labels.levels[names]]
    order = sorted(range(len(texts)), key=lambda c: _natural(texts[c]))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return [texts[c] for c in order], rank[codes]


def _natural(text: str) -> tuple[bool, float, str]:
    """Numbers in their order, then other texts in theirs."""
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text


def group_texts(names: NDArray[Any]) -> tuple[str, ...]:
    """Names of groups for people; those of intersections are joined."""
    return tuple(
        ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)
        for name in names.tolist()
    )


def _remarks(used: Sequence[Used], groups: NDArray[Any]) -> list[str]:
    """What is worth a warning: small groups, one group, filled numbers."""
    remarks = [
        f"{column.name!r}: missing values ({column.is_missing.sum():,}) stand at its "
        "median, with a column that tells so."
        for column in used
        if column.kind == "number" and column.is_missing.any()
    ]
    remarks += [
        f"{column.name!r} is clustered on; if it holds older clusters, leave it out "
        f"with --drop {column.name!r}."
        for column in used
        if LABELS_NAME.search(column.name)
    ]
    names, counts = _count_groups(groups)
    if len(names) > MOST_GROUPS:
        raise TableError(
            f"the sensitive columns make {len(names):,} groups, more than "
            f"{MOST_GROUPS}; use fewer columns, or columns with fewer values."
        )
    if len(names) == 1:
        remarks.append(
            f"Everyone is in one group, {names[0]!r}: there is nobody to compare with."
        )
    small = [name for name, n in zip(names, counts, strict=True) if n < FEW_PEOPLE]
    if small:
        remarks.append(
            f"Fewer than {FEW_PEOPLE} people are in {'; '.join(small[:10])}: figures "
            "of so small a group say little."
        )
    return remarks


def _count_groups(groups: NDArray[Any]) -> tuple[list[str], list[int]]:
    counts: dict[tuple[str, ...], int] = {}
    for row in map(tuple, groups.tolist()):
        counts[row] = counts.get(row, 0) + 1
    return [", ".join(row) for row in counts], list(counts.values())


def identifier_of(roles: Roles, unused: Sequence[Unused]) -> str | None:
    """The column that names the rows: the one given, or the first that was noticed."""
    if roles.identifier is not None:
        return roles.identifier
    return next((column.name for column in unused if column.is_identifier), None)
