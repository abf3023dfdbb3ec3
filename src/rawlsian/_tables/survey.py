"""Survey of a table in parts: its first rows, then one pass over all rows.

The first rows decide what each column is. The pass finds its lowest and highest number
or all of its levels, and which groups and clusters there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._tables.column import Column
from rawlsian._tables.columns import (
    MOST_LEVELS,
    Kind,
    Roles,
    Unused,
    Used,
    as_category,
    as_numbers,
    check_group_numbers,
    check_roles,
    groups_of,
    is_numbered,
    nothing_to_use,
    sort_out,
)
from rawlsian._tables.complete import CompleteRows, combinations, keep_complete
from rawlsian._tables.errors import TableError
from rawlsian._tables.given_features import columns_for, others_than
from rawlsian._tables.numbers import is_number
from rawlsian._tables.parts import Parts, Piece
from rawlsian._tables.prepare import (
    OF_FIT,
    check_any_left,
    check_any_varies,
    check_number_of_clusters,
    check_number_of_groups,
    encode,
    learn,
    missing_as_text,
    missing_values,
    name_of_group,
    natural,
    remarks_on_columns,
    remarks_on_groups,
    remarks_on_levels,
)
from rawlsian.preprocessing.features import MISSING, Feature

FILL = "the median of the rows that were looked at first"

# --- The first rows ------------------------------------------------------------------


class Plan(NamedTuple):
    """Columns to read of every piece, and how.

    Attributes
    ----------
    kinds : dict of str to {"number", "category"}
        The columns that are used.
    sensitive : tuple of str
        The columns that make the groups.
    labels : str or None
        The column of clusters, of an audit.
    when_missing : {"error", "drop", "category"}
        How rows with missing values are treated.
    missing_texts : frozenset of str
        Texts that mean missing.
    features : tuple of Feature or None
        Those of a model, whose encoding applies; None learns them.
    """

    kinds: dict[str, Kind]
    sensitive: tuple[str, ...]
    labels: str | None
    when_missing: str
    missing_texts: frozenset[str]
    features: tuple[Feature, ...] | None

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        labels = () if self.labels is None else (self.labels,)
        return list(dict.fromkeys([*self.kinds, *self.sensitive, *labels]))


class ColumnChoice(NamedTuple):
    """Columns to read, as the first rows decide.

    Attributes
    ----------
    plan : Plan
        Columns to read.
    medians : dict of str to float
        Number that stands for a missing one, of each column of numbers.
    unused : list of Unused
        Columns that are not used.
    identifier : str or None
        The column that names the rows.
    """

    plan: Plan
    medians: dict[str, float]
    unused: list[Unused]
    identifier: str | None


def choose_columns(
    parts: Parts,
    roles: Roles,
    when_missing: str,
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
    groups_of(table, roles.sensitive)
    plan = Plan(
        {column.name: column.kind for column in used},
        roles.sensitive, roles.labels, when_missing, missing_texts,
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
    medians = {
        column.name: float(np.median(column.numbers[~column.is_missing]))
        for column in used
        if column.kind == "number" and features is None
    }
    noticed = (each.name for each in unused if each.is_identifier)
    everywhere = (name for name in noticed if parts.lacking(name) is None)
    identifier = roles.identifier or next(everywhere, None)
    return ColumnChoice(plan, medians, unused, identifier)


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


# --- One pass over all rows ----------------------------------------------------------


def read_rows(piece: Piece, plan: Plan) -> tuple[CompleteRows, dict[str, int]]:
    """The rows of a piece that can be clustered; missing values of each column."""
    columns = piece.columns(plan.names, plan.missing_texts)
    if plan.features is None:
        used = [_as(columns[name], kind) for name, kind in plan.kinds.items()]
    else:
        used = columns_for(plan.features, columns)
    sensitive = [as_category(columns[name]) for name in plan.sensitive]
    labels = None if plan.labels is None else as_category(columns[plan.labels])
    n_missing = {name: int((columns[name].codes < 0).sum()) for name in columns}
    if plan.when_missing == "category":
        for column in sensitive:
            _refuse_missing_as_text(column, piece)
    kept = keep_complete(
        used, sensitive, labels, plan.when_missing, piece.n_rows, plan.features
    )
    return kept, n_missing


def _as(column: Column, kind: Kind) -> Used:
    if kind == "category":
        return as_category(column)
    return as_numbers(column, f", or --drop {column.name!r}")


def _refuse_missing_as_text(column: Used, piece: Piece) -> None:
    """Raise, as missing values of another part would look the same as the text."""
    if MISSING in column.levels:
        raise missing_as_text(f"{column.name!r} of {piece.path!r}")


class PieceSummary(NamedTuple):
    """Summary of a piece.

    Attributes
    ----------
    n_kept : int
        Rows that can be clustered.
    used : list of Used
        The columns in a few rows: lowest and highest number, or all levels, and a
        missing value if there is one.
    groups : Counter of tuples of str
        Rows that can be clustered, by the values of the sensitive columns.
    clusters : set of str
        Labels that occur.
    n_missing : dict of str to int
        Missing values of each column, in all rows.
    left_out : list of tuples of str, int and int
        Why rows cannot be clustered, how many, and the first, counted from 1.
    lost : Counter of tuples of str, and of None
        Rows that cannot be clustered, by the values of the sensitive columns; by None
        if one of these is missing.
    """

    n_kept: int
    used: list[Used]
    groups: Counter[tuple[str, ...]]
    clusters: set[str]
    n_missing: dict[str, int]
    left_out: list[tuple[str, int, int]]
    lost: Counter[tuple[str, ...] | None]


def survey_piece(piece: Piece, plan: Plan) -> PieceSummary:
    """Look at all rows of a piece."""
    kept, n_missing = read_rows(piece, plan)
    values, codes = combinations(kept.sensitive)
    counts = np.bincount(codes, minlength=len(values)).tolist()
    clusters = set[str]()
    if kept.labels is not None:
        clusters.update(kept.labels.levels[np.unique(kept.labels.codes)])
    return PieceSummary(
        len(kept.rows),
        [_in_few_rows(column) for column in kept.used],
        Counter(dict(zip(values, counts, strict=True))),
        clusters,
        n_missing,
        kept.left_out.by_reason(),
        kept.lost,
    )


def _in_few_rows(*columns: Used) -> Used:
    """Columns of several pieces as one that is learnt alike, but for the median."""
    present = np.concatenate(
        [
            column.levels[np.unique(column.codes[~column.is_missing])]
            for column in columns
        ]
    )
    levels = np.unique(present)
    if columns[0].kind == "number":
        levels = levels[[0, -1]] if len(levels) else levels
    codes = np.arange(len(levels), dtype=np.int32)
    if any(column.is_missing.any() for column in columns):
        codes = np.append(codes, np.int32(-1))
    return columns[0]._replace(levels=levels, codes=codes)


@dataclass(eq=False)
class Survey:
    """Summaries of all pieces together.

    Attributes
    ----------
    lengths : list of int
        Rows of each piece that can be clustered.
    used : list of Used
        The columns in a few rows.
    groups : Counter of tuples of str
        Rows of each group.
    clusters : set of str
        Labels that occur.
    n_missing : dict of str to int
        Missing values of each column.
    left_out : dict of str to LeftOutRows
        Why rows cannot be clustered, how many, and the first.
    lost : Counter of tuples of str, and of None
        Rows that cannot be clustered, by group.
    """

    lengths: list[int] = field(default_factory=list)
    used: list[Used] = field(default_factory=list)
    groups: Counter[tuple[str, ...]] = field(default_factory=Counter)
    clusters: set[str] = field(default_factory=set)
    n_missing: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, LeftOutRows] = field(default_factory=dict)
    lost: Counter[tuple[str, ...] | None] = field(default_factory=Counter)

    def add(self, piece: Piece, summary: PieceSummary, said: Sequence[str]) -> None:
        """Add a piece; columns in ``said`` may have any number of levels."""
        self.lengths.append(summary.n_kept)
        before = self.used or summary.used
        self.used = [
            _in_few_rows(*pair) for pair in zip(before, summary.used, strict=True)
        ]
        for column in self.used:
            if column.kind == "category" and column.name not in said:
                _check_levels(column, piece)
        self.groups += summary.groups
        check_number_of_groups(len(self.groups))
        self.clusters |= summary.clusters
        self.n_missing.update(summary.n_missing)
        self.lost.update(summary.lost)
        for reason, n_rows, first in summary.left_out:
            seen = self.left_out.get(reason)
            if seen is None:
                seen = LeftOutRows(0, piece.part, piece.first + first, piece.path)
            self.left_out[reason] = seen._replace(n_rows=seen.n_rows + n_rows)


class LeftOutRows(NamedTuple):
    """How many rows are left out for a reason, and where the first is."""

    n_rows: int
    part: int
    first_row: int
    path: str


def _check_levels(column: Used, piece: Piece) -> None:
    if len(column.levels) > MOST_LEVELS:
        raise TableError(
            f"column {column.name!r} has more than the {MOST_LEVELS} different texts "
            f"that are taken as categories, with those of {piece.path!r}; say "
            f"--categorical {column.name!r} to take them all the same, or --drop "
            f"{column.name!r}."
        )


class Encoding(NamedTuple):
    """How the rows of every piece are encoded.

    Attributes
    ----------
    plan : Plan
        Columns to read.
    features : list of Feature
        How columns are encoded.
    groups : list of tuples of str
        Values of the sensitive columns, sorted; their places are the codes.
    group_sizes : ndarray of shape (n_groups,)
        Rows of each group.
    clusters : list of str
        Labels of an audit, sorted; their places are the codes.
    """

    plan: Plan
    features: list[Feature]
    groups: list[tuple[str, ...]]
    group_sizes: NDArray[np.float64]
    clusters: list[str]

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return sum(feature.width for feature in self.features)

    @property
    def max_distance(self) -> float:
        """The largest squared distance that two rows can have."""
        return float(sum(feature.n_varying for feature in self.features))

    @property
    def group_names(self) -> list[str]:
        """Names of the groups."""
        return [name_of_group(values) for values in self.groups]


def survey(
    pieces: Sequence[Piece],
    summaries: Iterable[PieceSummary],
    said: Sequence[str],
    progress: Callable[[int], object],
) -> Survey:
    """Put the summaries together; columns in ``said`` may have any levels."""
    found = Survey()
    for done, (piece, each) in enumerate(zip(pieces, summaries, strict=True), start=1):
        found.add(piece, each, said)
        progress(done)
    return found


def encoding_of(found: Survey, choice: ColumnChoice, n_rows: int) -> Encoding:
    """How to encode all rows, if they can be clustered."""
    plan = choice.plan
    if plan.when_missing == "error" and found.left_out:
        raise _missing(found, plan, n_rows)
    check_any_left(sum(found.lengths))
    for j, name in enumerate(plan.sensitive):
        levels = {values[j] for values in found.groups}
        if all(map(is_number, levels)):
            check_group_numbers(name, len(levels))
    features = list(plan.features or ())
    if plan.features is None:
        features = [_learn(column, choice.medians) for column in found.used]
    check_any_varies(features)
    groups = sorted(found.groups)
    sizes = np.array([found.groups[values] for values in groups], np.float64)
    if plan.labels is not None:
        check_number_of_clusters(plan.labels, len(found.clusters))
    clusters = sorted(found.clusters, key=natural)
    return Encoding(plan, features, groups, sizes, clusters)


def _learn(column: Used, medians: dict[str, float]) -> Feature:
    feature = learn(column)
    if feature.fill is None:
        return feature
    return feature._replace(fill=medians[column.name])


def _missing(found: Survey, plan: Plan, n_rows: int) -> TableError:
    shown = ", ".join(
        f"{name} ({found.n_missing[name]:,})"
        for name in plan.names
        if found.n_missing[name]
    )
    first = min(found.left_out.values(), key=lambda each: each[1:])
    incomplete = sum(each.n_rows for each in found.left_out.values())
    first_row = f"; the first is row {first.first_row} of {first.path!r}"
    return missing_values(incomplete, n_rows, shown + first_row)


def remarks_of(found: Survey, encoding: Encoding, parts: Parts) -> list[str]:
    """Return remarks on columns, groups and the first rows."""
    is_learnt = encoding.plan.features is None
    fill = FILL if is_learnt else OF_FIT
    remarks = [
        *remarks_on_columns(encoding.features, found.n_missing, fill),
        *([] if is_learnt else remarks_on_levels(encoding.features, found.used)),
        *remarks_on_groups(encoding.group_names, encoding.group_sizes),
    ]
    if not parts.is_all_looked_at:
        remarks.append(
            "What each column is was decided by the first rows of every part, "
            f"{parts.first_rows.n_rows:,} together."
        )
    return remarks


def encode_piece(
    piece: Piece, encoding: Encoding
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
    """The encoded rows of a piece, their groups, and of an audit their clusters."""
    kept, _ = read_rows(piece, encoding.plan)
    X = encode(encoding.features, kept.used).astype(np.float32)
    values, codes = combinations(kept.sensitive)
    places = {each: code for code, each in enumerate(encoding.groups)}
    groups = np.array([places[each] for each in values], np.int32)[codes]
    labels = np.empty(0, np.int32)
    if kept.labels is not None:
        names = {name: code for code, name in enumerate(encoding.clusters)}
        known = [names.get(level, -1) for level in kept.labels.levels]
        labels = np.array(known, np.int32)[kept.labels.codes]
    return X, groups, labels
