"""Prepare a table in memory: missing values, encoding, groups, remarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rawlsian._tables.column import Table
from rawlsian._tables.columns import (
    Roles,
    Unused,
    check_roles,
    groups_of,
    sort_out,
    weights_of,
)
from rawlsian._tables.complete import (
    LeftOut,
    Needed,
    combinations,
    count_groups,
    group_order,
    keep_complete,
    needed_columns,
    with_missing,
)
from rawlsian._tables.errors import TableError
from rawlsian._tables.facts import GroupRows, group_rows
from rawlsian._tables.given_features import columns_for, others_than
from rawlsian._tables.remarks import (
    remarks_on_columns,
    remarks_on_groups,
    remarks_on_levels,
    remarks_on_sensitive,
    remarks_on_values,
    remarks_on_weights,
)
from rawlsian._tables.specs import MissingPolicy
from rawlsian._tables.text import counted
from rawlsian._tables.values import Used
from rawlsian.preprocessing.features import (
    MISSING,
    Attribute,
    Feature,
    Values,
    deviation_of,
    encode as encode_values,
    learn_range,
)
from rawlsian.preprocessing.reading import Reading

MOST_GROUPS = 100
MOST_CLUSTERS = 10_000
MOST_BYTES = 8 * 2**30
# Encoded numbers beyond it leave nothing of the others in a sum; those of blocks are
# float32, which ends at 3e38.
FARTHEST = 1e30
# Numbers that stand for missing ones.
FILL, OF_FIT = "the median", "the median of the table of the fit"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table, ready to be clustered.

    Attributes
    ----------
    X : ndarray of shape (n_kept, n_features)
        The encoded rows.
    features : list of Feature
        How they were encoded.
    groups : ndarray of shape (n_kept,)
        The position of each row's group among the names.
    group_names : list of str
        Sorted; those of intersections are joined by commas.
    rows : ndarray of shape (n_kept,)
        Their positions in the table.
    left_out : LeftOut
        The other rows.
    unused : list of Unused
        The columns that are not used.
    remarks : list of str
        Sentences worth knowing.
    left_out_by_group : list of GroupRows
        The other rows by group.
    weights : ndarray of shape (n_kept,) or None
        How many people each row stands for; None for one each.
    group_readings : tuple of Reading
        How the sensitive columns were read.
    """

    X: NDArray[np.float64]
    features: list[Feature]
    groups: NDArray[np.int64]
    group_names: list[str]
    rows: NDArray[np.int64]
    left_out: LeftOut
    unused: list[Unused]
    remarks: list[str]
    left_out_by_group: list[GroupRows]
    weights: NDArray[np.float64] | None
    group_readings: tuple[Reading, ...]

    @property
    def max_distance(self) -> float:
        """The largest squared distance that two of these rows can have."""
        return float(sum(feature.max_distance for feature in self.features))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Meaning of the columns of X."""
        return tuple(each for feature in self.features for each in feature.attributes)


def prepare(
    table: Table,
    roles: Roles,
    labels: Used | None = None,
    features: Sequence[Feature] | None = None,
) -> Prepared:
    """Sort out columns and rows, and encode what is left.

    ``features`` are those of a model, whose encoding applies; None learns them.
    """
    check_roles(table, roles)
    if features is None:
        used, unused = sort_out(table, roles)
    else:
        used = columns_for(features, table.columns)
        unused = others_than(features, table)
    sensitive = groups_of(table, roles)
    columns = Needed(used, sensitive, labels, weights_of(table, roles))
    missing = roles.specs.missing
    _refuse_missing(columns, missing, table.n_rows, features)
    kept = keep_complete(columns, missing, table.n_rows, features)
    check_any_left(len(kept.rows))
    group_names, groups = group_codes(kept.columns.sensitive)
    rows = kept.columns.used
    learnt = [learn(each) for each in rows] if features is None else list(features)
    check_any_varies(learnt)
    X = encode(learnt, rows)
    n_missing = {each.name: int(each.is_missing.sum()) for each in rows}
    weights = None if kept.columns.weights is None else kept.columns.weights.numbers
    remarks = [
        *table.remarks,
        *([] if features is not None else remarks_on_values(table, used, roles)),
        *remarks_on_sensitive(table, sensitive),
        *remarks_on_weights(
            roles.weight, len(kept.rows), 0 if weights is None else weights.sum()
        ),
        *remarks_on_columns(learnt, n_missing, FILL if features is None else OF_FIT),
        *([] if features is None else remarks_on_levels(features, rows)),
        *remarks_on_groups(group_names, np.bincount(groups)),
    ]
    by_group = []
    if kept.lost:
        order = group_order([each.reading for each in sensitive])
        counts = count_groups(kept.columns.sensitive)
        by_group = group_rows(counts, kept.lost, name_of_group, order)
    return Prepared(
        X, learnt, groups, group_names, kept.rows, kept.left_out, unused, remarks,
        by_group, weights, tuple(each.reading for each in sensitive),
    )  # fmt: skip


def check_any_left(n_rows: int) -> None:
    """Refuse a table of which no row can be clustered."""
    if n_rows == 0:
        raise TableError(
            "every row has a missing value; leave columns out with --drop, or say "
            "--missing category."
        )


def check_any_varies(features: Sequence[Feature]) -> None:
    """Refuse a table whose rows do not differ."""
    if not any(feature.max_distance for feature in features):
        raise TableError(
            "all rows are alike in the columns that are used "
            f"({', '.join(feature.name for feature in features[:10])}); use "
            "columns in which rows differ."
        )


def group_codes(columns: Sequence[Used]) -> tuple[list[str], NDArray[np.int64]]:
    """Names of the groups that these columns make, sorted, and each row's code."""
    found, codes = combinations(columns)
    check_number_of_groups(len(found))
    return [name_of_group(values) for values in found], codes


def check_number_of_groups(n_groups: int) -> None:
    """Refuse more groups than anyone can look at."""
    if n_groups > MOST_GROUPS:
        raise TableError(
            f"the sensitive columns make {n_groups:,} groups, more than "
            f"{MOST_GROUPS}; use fewer columns, or columns with fewer values."
        )


def name_of_group(values: tuple[str, ...]) -> str:
    """Values in a row; in quotes where a comma could be taken for one between two."""
    if len(values) == 1:
        return values[0]
    return ", ".join(f'"{text}"' if "," in text else text for text in values)


def _refuse_missing(
    columns: Needed,
    missing: MissingPolicy,
    n_rows: int,
    features: Sequence[Feature] | None,
) -> None:
    """Raise if a value is missing where that is an error."""
    needed = needed_columns(columns, missing, features)
    lacking = [
        column
        for column in needed
        if missing.of(column.name) == "error" and column.is_missing.any()
    ]
    if not lacking:
        return
    counts = {column.name: int(column.is_missing.sum()) for column in lacking}
    incomplete = int(np.any([column.is_missing for column in lacking], axis=0).sum())
    shown = ", ".join(f"{name} ({count:,})" for name, count in counts.items())
    raise missing_values(incomplete, n_rows, shown)


def missing_values(n_incomplete: int, n_rows: int, where: str) -> TableError:
    """Return the error for rows that lack values."""
    return TableError(
        f"{n_incomplete:,} of {counted(n_rows, 'row')} "
        f"{'has' if n_incomplete == 1 else 'have'} missing values, in {where}. Say "
        "--missing drop to leave these rows out, --missing category to give missing "
        "values a level of their own, or leave columns out with --drop."
    )


def missing_as_text(column: str) -> TableError:
    """Return the error for a column with the text that stands for missing values."""
    return TableError(
        f"column {column} has the text {MISSING!r}, which stands for missing values "
        "here; write it in another way."
    )


def learn(column: Used) -> Feature:
    """The scale of a column of numbers, or the levels of a category."""
    if column.kind == "category":
        if MISSING in column.levels:
            raise missing_as_text(repr(column.name))
        column = with_missing(column)
        levels = tuple(sorted(column.levels[_places(column)]))
        return Feature(column.name, levels, reading=column.reading)
    numbers, fill = column.numbers[~column.is_missing], None
    if column.is_missing.any():
        fill = float(np.median(numbers)) if len(numbers) else None
    try:
        deviation = deviation_of(column.name, numbers, column.reading.scale)
    except ValueError as error:
        raise TableError(str(error)) from error
    return learn_numbers(column, fill, deviation)


def _places(column: Used) -> NDArray[np.intp]:
    """Return the places of the levels that occur."""
    codes = column.codes[~column.is_missing]
    return np.flatnonzero(np.bincount(codes, minlength=len(column.levels)))


def learn_numbers(column: Used, fill: float | None, deviation: float | None) -> Feature:
    """The scale of a column of numbers, by its lowest and highest or a deviation."""
    numbers = column.levels[_places(column)]
    if not len(numbers):
        raise TableError(f"column {column.name!r} is empty in the rows that are left.")
    try:
        return learn_range(column.name, numbers, fill, column.reading, deviation)
    except ValueError as error:
        raise TableError(str(error)) from error


def encode(features: Sequence[Feature], columns: Sequence[Used]) -> NDArray[np.float64]:
    """Encode columns as they were learnt, if there is memory for that."""
    n_rows = len(columns[0].codes)
    width = sum(feature.width for feature in features)
    if n_rows * width * 8 > MOST_BYTES:
        raise TableError(
            f"{n_rows:,} rows and {width:,} encoded columns need "
            f"{n_rows * width * 8 / 2**30:.0f} GB; leave out columns with many levels "
            "by --drop."
        )
    values = (_values(*pair) for pair in zip(features, columns, strict=True))
    with np.errstate(over="ignore", invalid="ignore"):  # refused in the next line
        X = encode_values(features, values, n_rows, divides_first=True)
    _refuse_far_values(features, X)
    return X


def _refuse_far_values(features: Sequence[Feature], X: NDArray[np.float64]) -> None:
    """Raise TableError if squared distances would overflow, or drown all others."""
    first = 0
    for feature in features:
        if not (np.abs(X[:, first]) <= FARTHEST).all():
            raise TableError(
                f"column {feature.name!r} has values that are more than {FARTHEST:.0e} "
                f"times its scale of {feature.spread:g} from {feature.lowest:g}; "
                "correct them, or the model."
            )
        first += feature.width


def _values(feature: Feature, column: Used) -> Values:
    if feature.levels is None:
        return column.numbers
    if MISSING in feature.levels:
        column = with_missing(column)
    return column.levels, column.codes


def check_number_of_clusters(name: str, n_clusters: int) -> None:
    """Refuse a column that names rows, not clusters."""
    if n_clusters > MOST_CLUSTERS:
        raise TableError(
            f"--labels {name!r} has {n_clusters:,} different values, too many for "
            "clusters; name the column with each row's cluster."
        )


def clusters_of(
    labels: Used, rows: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int32]]:
    """Names of the clusters that these rows are in, sorted, and the rows' codes."""
    names, codes = np.unique(labels.codes[rows], return_inverse=True)
    check_number_of_clusters(labels.name, len(names))
    texts = [str(text) for text in labels.levels[names]]
    order = sorted(range(len(texts)), key=lambda c: natural(texts[c]))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return [texts[c] for c in order], rank[codes]


def natural(text: str) -> tuple[bool, float, str]:
    """Numbers in their order, then other texts in theirs."""
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text
