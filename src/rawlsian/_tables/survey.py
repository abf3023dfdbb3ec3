"""Survey of a table in parts: one pass over all rows.

It finds the lowest and highest number of each column or all of its levels, and which
groups and clusters there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._tables.columns import (
    MOST_LEVELS,
    check_group_numbers,
)
from rawlsian._tables.complete import (
    combinations,
    group_order,
)
from rawlsian._tables.errors import TableError
from rawlsian._tables.numbers import is_number
from rawlsian._tables.parts import Parts, Piece
from rawlsian._tables.plan import ColumnChoice, Plan, read_rows
from rawlsian._tables.prepare import (
    OF_FIT,
    check_any_left,
    check_any_varies,
    check_number_of_clusters,
    check_number_of_groups,
    encode,
    learn,
    learn_numbers,
    missing_values,
    name_of_group,
    natural,
)
from rawlsian._tables.remarks import (
    remarks_on_columns,
    remarks_on_groups,
    remarks_on_levels,
    remarks_on_weights,
)
from rawlsian._tables.values import Used
from rawlsian.preprocessing.features import Feature

FILL = "the median of the rows that were looked at first"


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
    people : float
        Sum of the weights, 0 without any.
    """

    n_kept: int
    used: list[Used]
    groups: Counter[tuple[str, ...]]
    clusters: set[str]
    n_missing: dict[str, int]
    left_out: list[tuple[str, int, int]]
    lost: Counter[tuple[str, ...] | None]
    people: float


def survey_piece(piece: Piece, plan: Plan) -> PieceSummary:
    """Look at all rows of a piece."""
    kept, n_missing = read_rows(piece, plan)
    columns, people = kept.columns, 0.0
    values, codes = combinations(columns.sensitive)
    counts = np.bincount(codes, minlength=len(values)).tolist()
    clusters = set[str]()
    if columns.labels is not None:
        clusters.update(columns.labels.levels[np.unique(columns.labels.codes)])
    if columns.weights is not None:
        people = float(columns.weights.numbers.sum())
    return PieceSummary(
        len(kept.rows),
        [_in_few_rows(column) for column in columns.used],
        Counter(dict(zip(values, counts, strict=True))),
        clusters,
        n_missing,
        kept.left_out.by_reason(),
        kept.lost,
        people,
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
    people : float
        Sum of the weights, 0 without any.
    """

    lengths: list[int] = field(default_factory=list)
    used: list[Used] = field(default_factory=list)
    groups: Counter[tuple[str, ...]] = field(default_factory=Counter)
    clusters: set[str] = field(default_factory=set)
    n_missing: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, LeftOutRows] = field(default_factory=dict)
    lost: Counter[tuple[str, ...] | None] = field(default_factory=Counter)
    people: float = 0.0

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
        self.people += summary.people
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
        return float(sum(feature.max_distance for feature in self.features))

    @property
    def has_weights(self) -> bool:
        """True if rows may stand for other numbers of people than one."""
        return self.plan.weight is not None

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
    _refuse_missing(found, plan, n_rows)
    check_any_left(sum(found.lengths))
    for j, (name, reading) in enumerate(plan.sensitive.items()):
        levels = {values[j] for values in found.groups} - {*reading.group_names}
        if levels and all(map(is_number, levels)):
            check_group_numbers(name, len(levels))
    features = list(plan.features or ())
    if plan.features is None:
        features = [_learn(column, choice) for column in found.used]
    check_any_varies(features)
    groups = sorted(found.groups, key=group_order(list(plan.sensitive.values())))
    sizes = np.array([found.groups[values] for values in groups], np.float64)
    if plan.labels is not None:
        check_number_of_clusters(plan.labels, len(found.clusters))
    clusters = sorted(found.clusters, key=natural)
    return Encoding(plan, features, groups, sizes, clusters)


def _learn(column: Used, choice: ColumnChoice) -> Feature:
    """Learn a column from its lowest and highest number, or its levels."""
    if column.kind == "category":
        return learn(column)
    deviation = choice.deviations[column.name]
    fill = choice.medians[column.name] if column.is_missing.any() else None
    return learn_numbers(column, fill, deviation)


def _refuse_missing(found: Survey, plan: Plan, n_rows: int) -> None:
    """Raise if a value is missing where that is an error."""
    refused = [name for name in plan.names if plan.missing.of(name) == "error"]
    reasons = {f"missing: {name}" for name in refused}
    rows = [
        each
        for reason, each in found.left_out.items()
        if not reasons.isdisjoint(reason.split("; "))
    ]
    if not rows:
        return
    shown = ", ".join(
        f"{name} ({found.n_missing[name]:,})"
        for name in refused
        if found.n_missing[name]
    )
    first = min(rows, key=lambda each: each[1:])
    incomplete = sum(each.n_rows for each in rows)
    first_row = f"; the first is row {first.first_row} of {first.path!r}"
    raise missing_values(incomplete, n_rows, shown + first_row)


def remarks_of(
    found: Survey, encoding: Encoding, parts: Parts, choice: ColumnChoice
) -> list[str]:
    """Return remarks on columns, groups and the first rows."""
    is_learnt = encoding.plan.features is None
    fill, weight = FILL if is_learnt else OF_FIT, encoding.plan.weight
    remarks = [
        *choice.remarks,
        *remarks_on_weights(
            None if weight is None else weight[0], sum(found.lengths), found.people
        ),
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


class EncodedPiece(NamedTuple):
    """Encoded rows of a piece, their groups, and clusters and weights if any."""

    X: NDArray[np.float32]
    groups: NDArray[np.int32]
    labels: NDArray[np.int32]
    weights: NDArray[np.float64]


def encode_piece(piece: Piece, encoding: Encoding) -> EncodedPiece:
    """Encode the rows of a piece."""
    kept = read_rows(piece, encoding.plan)[0].columns
    X = encode(encoding.features, kept.used).astype(np.float32)
    values, codes = combinations(kept.sensitive)
    places = {each: code for code, each in enumerate(encoding.groups)}
    groups = np.array([places[each] for each in values], np.int32)[codes]
    labels = np.empty(0, np.int32)
    if kept.labels is not None:
        names = {name: code for code, name in enumerate(encoding.clusters)}
        known = [names.get(level, -1) for level in kept.labels.levels]
        labels = np.array(known, np.int32)[kept.labels.codes]
    weights = np.empty(0) if kept.weights is None else kept.weights.numbers
    return EncodedPiece(X, groups, labels, weights)
