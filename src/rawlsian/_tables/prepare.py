"""Prepare a table in memory: missing values, encoding, groups, remarks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._tables.column import Table
from rawlsian._tables.columns import (
    Roles,
    Unused,
    Used,
    check_roles,
    groups_of,
    sort_out,
)
from rawlsian._tables.complete import (
    LeftOut,
    combinations,
    count_groups,
    keep_complete,
    needed_columns,
    with_missing,
)
from rawlsian._tables.errors import TableError
from rawlsian._tables.facts import GroupRows, group_rows
from rawlsian._tables.given_features import columns_for, others_than, unknown_levels
from rawlsian._tables.text import counted
from rawlsian.preprocessing.features import (
    MISSING,
    Attribute,
    Feature,
    Values,
    encode as encode_values,
    learn_range,
)

MOST_GROUPS = 100
MOST_CLUSTERS = 10_000
FEW_PEOPLE = 10
LABELS_NAME = re.compile(r"(^|[_\W])(cluster|segment|label|kmeans)s?([_\W]|$)", re.I)
MOST_BYTES = 8 * 2**30
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

    @property
    def max_distance(self) -> float:
        """The largest squared distance that two of these rows can have."""
        return float(sum(feature.n_varying for feature in self.features))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Meaning of the columns of X."""
        return tuple(each for feature in self.features for each in feature.attributes)


def prepare(
    table: Table,
    roles: Roles,
    when_missing: str,
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
    sensitive = groups_of(table, roles.sensitive)
    needed = needed_columns(used, sensitive, labels, "error", features)
    _refuse_missing(needed, when_missing, table.n_rows)
    kept = keep_complete(used, sensitive, labels, when_missing, table.n_rows, features)
    check_any_left(len(kept.rows))
    group_names, groups = group_codes(kept.sensitive)
    learnt = [learn(each) for each in kept.used] if features is None else list(features)
    check_any_varies(learnt)
    X = encode(learnt, kept.used)
    n_missing = {each.name: int(each.is_missing.sum()) for each in kept.used}
    remarks = [
        *remarks_on_columns(learnt, n_missing, FILL if features is None else OF_FIT),
        *([] if features is None else remarks_on_levels(features, kept.used)),
        *remarks_on_groups(group_names, np.bincount(groups)),
    ]
    by_group = []
    if kept.lost:
        by_group = group_rows(count_groups(kept.sensitive), kept.lost, name_of_group)
    return Prepared(
        X, learnt, groups, group_names, kept.rows, kept.left_out, unused, remarks,
        by_group,
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
    if not any(feature.n_varying for feature in features):
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
    """The range of a column of numbers, or the levels of a category."""
    present = np.unique(column.codes[~column.is_missing])
    if column.kind == "category":
        if MISSING in column.levels:
            raise missing_as_text(repr(column.name))
        column = with_missing(column)
        present = np.unique(column.codes)
        levels = tuple(sorted(column.levels[present]))
        return Feature(column.name, levels)
    if not len(present):
        raise TableError(f"column {column.name!r} is empty in the rows that are left.")
    fill = None
    if column.is_missing.any():
        fill = float(np.median(column.numbers[~column.is_missing]))
    try:
        return learn_range(column.name, column.levels[present], fill)
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
    return encode_values(features, values, n_rows, divides_first=True)


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


def remarks_on_columns(
    features: Sequence[Feature], n_missing: dict[str, int], fill: str
) -> list[str]:
    """Return remarks on numbers replaced by a ``fill``, and on older clusters."""
    remarks = [
        _on_fill(feature.name, n_missing[feature.name], fill)
        for feature in features
        if feature.fill is not None and n_missing[feature.name]
    ]
    remarks += [
        f"{feature.name!r} is used; if it holds older clusters, leave it out "
        f"with --drop {feature.name!r}."
        for feature in features
        if LABELS_NAME.search(feature.name)
    ]
    return remarks


def _on_fill(name: str, n_missing: int, fill: str) -> str:
    were, them = ("was", "it") if n_missing == 1 else ("were", "them")
    return (
        f"{name!r}: {counted(n_missing, 'missing value')} {were} replaced by {fill}, "
        f"and an extra column marks {them}, so {name!r} counts twice."
    )


def remarks_on_levels(
    features: Sequence[Feature], columns: Sequence[Used]
) -> list[str]:
    """Return remarks on values of categories that a model has not seen."""
    return [
        f"{name!r}: {counted(len(levels), 'value')} that the model has not seen "
        f"({', '.join(map(repr, levels[:3]))}{', ...' if len(levels) > 3 else ''}) "
        f"{'is' if len(levels) == 1 else 'are'} taken as equally far from all others."
        for name, levels in unknown_levels(features, columns).items()
    ]


def remarks_on_groups(names: Sequence[str], counts: NDArray[Any]) -> list[str]:
    """Return remarks on a single group, and on groups of few people."""
    remarks = []
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
