"""A problem whose rows are in blocks: what is known of it, a sample, and passes.

Everything that the solvers need of the rows is a sum over them. A pass adds up these
sums for a rule that says which cluster each row is in; only the sums leave the blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import (
    LARGEST_WEIGHT_RATIO,
    MaxDistance,
    Problem,
    check_max_distance,
    refuse_overflow,
    refuse_text,
)
from rawlsian._outofcore import block_sums
from rawlsian._outofcore.placing import Rule, Sums, add_up, assign, label, rounded
from rawlsian._rows.blocks import Blocks
from rawlsian._rows.executors import Column
from rawlsian._rows.groups import (
    EVERYONE,
    Encoded,
    check_number_of_groups,
    encode_block,
    merge_names,
    missing_groups,
)
from rawlsian._search.crossing import Callback

# Rows of the sample on which clusters are searched: at least so many, or so many for
# each cluster, half of that for each group, up to a limit.
LEAST_SEARCHED, SEARCHED_A_CLUSTER, MOST_SEARCHED = 10_000, 2_000, 40_000
# A sample is at least so many times the clusters, and the groups.
SAMPLED_A_PLACE = 20
# What is found there is made better and compared on so many times as many, as far as
# these are no more than so many numbers.
TIMES_COMPARED, MOST_NUMBERS = 8, 2**26

# Labels beyond this are no numbers of clusters.
MOST_CLUSTERS = 100_000

# Held while a clusterer that is not ours predicts.
_ONE_AT_A_TIME = threading.Lock()

# Passes over all rows, unless a user says otherwise.
MAX_PASSES = 30


class PassStep(NamedTuple):
    """What a callback is told after a pass over rows in blocks.

    Attributes
    ----------
    n_passes, max_passes : int
        Number of passes so far, and the most that there can be.
    largest_cost : float
        The lowest largest mean group cost of all rows that is known so far; NaN
        before there is one.
    """

    n_passes: int
    max_passes: int
    largest_cost: float


@dataclass(eq=False)
class LargeProblem:
    """Rows in blocks, checked once, with their groups and weights.

    Attributes
    ----------
    blocks : Blocks
        The rows.
    groups, weights : Column
        Codes and weights of the rows; weights of length 1 hold for a whole block.
    lengths : list of int
        Rows of each block.
    group_names : ndarray of shape (n_groups,)
        The groups, sorted.
    group_sizes : ndarray of shape (n_groups,)
        Sum of the weights of each group.
    members : ndarray of shape (n_blocks, n_groups)
        Rows with weight, by block and group.
    max_distance : float
        Utility is this less the squared distance.
    middle : ndarray of shape (n_features,)
        Halfway between the lowest and the highest number of each column.
    max_passes : int
        How many times all rows may be gone over.
    callback : callable or None
        Called with a ``PassStep`` after each time.
    n_passes : int
        How many times they have been.
    largest_cost : float
        The largest mean cost of a group in the best that is known so far.
    """

    blocks: Blocks
    groups: Column
    weights: Column
    lengths: list[int]
    members: NDArray[np.int64]
    group_names: NDArray[Any]
    group_sizes: NDArray[np.float64]
    max_distance: float
    middle: NDArray[np.float64]
    max_passes: int
    callback: Callback | None
    n_passes: int = 0
    largest_cost: float = np.nan

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_names)

    @property
    def starts(self) -> Column:
        """The first row of each block, of all rows."""
        return [0, *np.cumsum(self.lengths)[:-1].tolist()]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Group sizes as shares of the whole."""
        shares: NDArray[np.float64] = self.group_sizes / self.group_sizes.sum()
        return shares

    @classmethod
    def of(
        cls,
        blocks: Blocks,
        sensitive_features: Any,
        *,
        sample_weight: Any = None,
        max_distance: MaxDistance = "auto",
        max_passes: int = MAX_PASSES,
        callback: Callback | None = None,
    ) -> LargeProblem:
        """Check everything that a caller gave, in one pass."""
        is_one = sample_weight is None or np.ndim(sample_weight) == 0
        is_one = is_one and not isinstance(sample_weight, str)
        if is_one:
            weight = _weights_of_block(1.0 if sample_weight is None else sample_weight)
            weights: Column = [weight.reshape(1)] * blocks.n_blocks
        else:
            given = blocks.columns_of(sample_weight, "sample_weight")
            weights = blocks.executor.keep(_weights_of_block, [given])
        names, groups = _encode_groups(blocks, sensitive_features)
        looks = list(blocks.run(_look, [groups, weights], len(names), is_one))
        _check_looks(blocks, looks)
        members = np.array([look.members for look in looks]).reshape(-1, len(names))
        sizes = np.zeros((2, len(names)))
        for look in looks:
            add_up(sizes, look.sizes)
        sizes = rounded(sizes)
        if not (sizes > 0).all():
            name = names.tolist()[int(np.argmin(sizes))]
            raise ValueError(
                f"sample_weight gives group {name!r} a total weight of 0, so that its "
                "mean utility is undefined; drop its rows or give them weight."
            )
        lowest = np.min([look.lowest for look in looks], axis=0)
        highest = np.max([look.highest for look in looks], axis=0)
        refuse_overflow(check_max_distance("auto", lowest, highest))
        large = cls(
            blocks, groups, weights, [look.n_rows for look in looks], members, names,
            sizes, check_max_distance(max_distance, lowest, highest),
            (lowest + highest) / 2, max_passes, callback,
        )  # fmt: skip
        large._passed()
        return large

    def _passed(self) -> None:
        """One more pass is done."""
        self.n_passes += 1
        if self.callback is not None:
            self.callback(PassStep(self.n_passes, self.max_passes, self.largest_cost))

    @property
    def passes_left(self) -> int:
        """How many times all rows may still be gone over."""
        return self.max_passes - self.n_passes

    def sample(self, n_clusters: int, rng: np.random.RandomState) -> Sample:
        """Some rows of every group, weighted so that they stand for all of them."""
        members = self.members.sum(axis=0)
        n_searched = _n_searched(n_clusters, members)
        most = max(MOST_NUMBERS // self.blocks.n_features, n_searched)
        ranks = _draw(members, min(TIMES_COMPARED * n_searched, most), rng)
        before = np.cumsum(self.members, axis=0) - self.members
        wanted = [
            [
                r[np.searchsorted(r, first) : np.searchsorted(r, first + n)] - first
                for r, first, n in zip(ranks, before[b], self.members[b], strict=True)
            ]
            for b in range(self.blocks.n_blocks)
        ]
        found = list(self.blocks.run(_take, [self.groups, self.weights, wanted]))
        self._passed()
        X = np.concatenate([each[0] for each in found])
        groups = np.concatenate([each[1] for each in found])
        weights = np.concatenate([each[2] for each in found])
        return Sample(_weighted(X, groups, weights, self.group_sizes), wanted)

    def assign(self, rule: Rule, shift: NDArray[np.float64]) -> Sums:
        """The sums of all rows in the clusters that the rule gives them."""
        sums: Sums = self.add_up(assign, [], rule, shift, self.n_groups)
        return sums

    def add_up(self, function: Any, columns: list[Column], *shared: Any) -> Any:
        """One pass: what ``function`` gives for the blocks, added up in their order."""
        columns = [self.groups, self.weights, *columns]
        total = _total(self.blocks.run(function, columns, *shared))
        self._passed()
        return total

    def place(
        self, function: Any, columns: list[Column], *shared: Any
    ) -> tuple[Column, Any]:
        """One pass: a column, which stays where the blocks are, and what adds up."""
        columns = [self.groups, self.weights, *columns]
        both = self.blocks.keep(function, columns, *shared)
        total = _total(self.blocks.executor.run(_second, [both]))
        column = self.blocks.executor.keep(_first, [both])
        self._passed()
        return column, total

    def labels(self, rule: Rule) -> Any:
        """The cluster of each row, of the kind that goes with the rows."""
        labels = self.blocks.keep(label, [self.groups], rule)
        # To be told of what goes wrong here, and not when the labels are looked at.
        list(self.blocks.executor.run(len, [labels]))
        self._passed()
        return self.join(labels)

    def given_labels(self, labels: Any) -> tuple[Column, NDArray[np.int64]]:
        """A user's labels, and how many rows with weight each cluster has."""
        return self._checked(self.blocks.columns_of(labels, "labels"))

    def predicted_labels(self, estimator: Any) -> tuple[Column, NDArray[np.int64]]:
        """What a fitted clusterer says of all rows, numbered without gaps."""
        labels, members = self._checked(self.blocks.keep(_predict, [], estimator))
        self._passed()
        if members.all():
            return labels, members
        numbers = np.maximum(np.cumsum(members > 0) - 1, 0).astype(np.int32)
        return (
            self.blocks.executor.keep(_renumber, [labels], numbers),
            members[members > 0],
        )

    def _checked(self, given: Column) -> tuple[Column, NDArray[np.int64]]:
        columns = [given, self.groups, self.weights]
        looks = list(self.blocks.executor.run(_look_at_labels, columns))
        for b, look in enumerate(looks):
            if isinstance(look, str):
                raise ValueError(
                    f"{look}, from {self.blocks.name_row(b, 0)} on; give one cluster "
                    "for each row, numbered from 0 to k - 1."
                )
        members = np.zeros(max(map(len, looks)), np.int64)
        for look in looks:
            members[: len(look)] += look
        return self.blocks.executor.keep(_as_labels, [given]), members

    def join(self, labels: Column) -> Any:
        """Labels as one array of the kind that goes with the rows."""
        return self.blocks.join(labels, np.int32, self.lengths)


def _first(both: tuple[Any, Any]) -> Any:
    return both[0]


def _second(both: tuple[Any, Any]) -> Any:
    return both[1]


def _total(parts: Iterator[Any]) -> Any:
    """The sum of all parts, in their order."""
    total = deepcopy(next(parts))  # which may also be kept somewhere
    for part in parts:
        total.add(part)
    return total


class Sample(NamedTuple):
    """Some of the rows as a problem, and which they are: by block and group."""

    problem: Problem
    wanted: list[list[NDArray[np.int64]]]

    def to_search(self, n_clusters: int, rng: np.random.RandomState) -> Problem:
        """Fewer of them, weighted alike."""
        problem = self.problem
        members = np.bincount(problem.groups)
        ranks = _draw(members, _n_searched(n_clusters, members), rng)
        rows = _rows(problem.groups, problem.weights, ranks)
        if len(rows) == problem.n_samples:
            return problem
        return _weighted(
            problem.X[rows], problem.groups[rows], problem.weights[rows],
            problem.group_sizes,
        )  # fmt: skip

    def labels(self, large: LargeProblem, labels: Column) -> NDArray[np.int32]:
        """The clusters that these rows are in."""
        found = large.blocks.executor.run(
            _take_labels, [large.groups, large.weights, labels, self.wanted]
        )
        taken: NDArray[np.int32] = np.concatenate(list(found))
        return taken


def _n_searched(n_clusters: int, members: NDArray[np.int64]) -> int:
    """How many rows suffice to search clusters on."""
    n_groups = len(members)
    for_two = max(LEAST_SEARCHED, SEARCHED_A_CLUSTER * n_clusters)
    enough = min(for_two * max(n_groups, 2) // 2, MOST_SEARCHED)
    return max(enough, SAMPLED_A_PLACE * n_clusters, SAMPLED_A_PLACE * n_groups)


def _draw(
    members: NDArray[np.int64], n_rows: int, rng: np.random.RandomState
) -> list[NDArray[np.int64]]:
    """So many rows, as many of each group as of the others, or all that it has.

    They are counted within the group.
    """
    left, drawn = n_rows, np.zeros_like(members)
    for place, g in enumerate(np.argsort(members, kind="stable")):
        drawn[g] = min(members[g], left // (len(members) - place))
        left -= int(drawn[g])
    # The newer generator draws without shuffling all that there are.
    generator = np.random.default_rng(rng.randint(2**32, size=4, dtype=np.uint32))
    return [
        np.sort(generator.choice(int(n), int(m), replace=False, shuffle=False))
        for n, m in zip(members, drawn, strict=True)
    ]


def _weighted(
    X: NDArray[np.float64],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    group_sizes: NDArray[np.float64],
) -> Problem:
    """A problem whose groups weigh what they do among all rows."""
    scale = group_sizes / np.bincount(groups, weights)
    names = np.arange(len(group_sizes))
    return Problem.of_checked(X, names, groups, weights * scale[groups], 0.0)


# --- What is done with a block ---


class _Look(NamedTuple):
    n_rows: int
    bad: tuple[int, int]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    members: NDArray[np.int64]
    sizes: NDArray[np.float64]
    weight_range: tuple[float, float]
    fault: str


def _look(X: Any, groups: Any, weights: Any, n_groups: int, is_one: bool) -> _Look:
    lowest = np.full(X.shape[1], np.inf)
    highest = np.full(X.shape[1], -np.inf)
    fault = ""
    if len(groups) != len(X):
        fault = f"sensitive_features has {len(groups):,} rows where X has {len(X):,}"
    elif not is_one and weights.shape != (len(X),):
        fault = f"sample_weight has shape {weights.shape} where X has {len(X):,} rows"
    bad = block_sums.look_at(X, lowest, highest)
    members = np.zeros(n_groups, np.int64)
    sizes = np.zeros((2, n_groups))
    positive = weights[weights > 0]
    weight_range = (
        (float(positive.min()), float(positive.max())) if len(positive) else (np.inf, 0)
    )
    if not fault:
        block_sums.add_weights(groups, weights, members, sizes)
    return _Look(len(X), bad, lowest, highest, members, sizes, weight_range, fault)


def _check_looks(blocks: Blocks, looks: Sequence[_Look]) -> None:
    for b, look in enumerate(looks):
        if look.fault:
            raise ValueError(
                f"{look.fault}, from {blocks.name_row(b, 0)} on; give one value for "
                "each row of X."
            )
        row, column = look.bad
        if row >= 0:
            name = blocks.feature_names[column] if blocks.feature_names else column
            raise ValueError(
                f"X must be finite numbers, but column {name!r} of "
                f"{blocks.name_row(b, row)} is NaN or infinite; fill in or drop "
                "missing values."
            )
    n_rows = sum(look.n_rows for look in looks)
    if n_rows < 2:
        raise ValueError(f"X has {n_rows} row(s), but a minimum of 2 is required.")
    lightest = min(look.weight_range[0] for look in looks)
    heaviest = max(look.weight_range[1] for look in looks)
    if heaviest == 0:
        raise ValueError("sample_weight must not be all zero.")
    if heaviest > LARGEST_WEIGHT_RATIO * lightest:
        raise ValueError(
            f"sample_weight spans from {lightest:g} to {heaviest:g}, more than the "
            f"factor of {LARGEST_WEIGHT_RATIO:g} that can be told from rounding; give "
            "the lightest rows more weight, or 0 to leave them out."
        )


def _encode_groups(
    blocks: Blocks, sensitive_features: Any
) -> tuple[NDArray[Any], Column]:
    """Names of the groups, sorted, and each row's code, where the blocks are."""
    if sensitive_features is None:
        zeros = blocks.executor.keep(_no_groups, [blocks.lengths])
        return np.array([EVERYONE]), zeros
    raw = blocks.columns_of(sensitive_features, "sensitive_features")
    encoded = blocks.executor.keep(encode_block, [raw])
    told = list(blocks.executor.run(_tell_groups, [encoded]))
    for b, (block, _) in enumerate(told):
        if block.missing is not None:
            first = blocks.name_row(b, block.missing[1])
            raise ValueError(missing_groups(block, first))
    names, places = merge_names([block.names for block, _ in told])
    check_number_of_groups(len(names), sum(n_rows for _, n_rows in told))
    return names, blocks.executor.keep(_recode, [encoded, places])


def _tell_groups(encoded: Encoded) -> tuple[Encoded, int]:
    """All but the codes, and how many there are."""
    return encoded._replace(codes=np.empty(0, np.int32)), len(encoded.codes)


def _no_groups(n_rows: int) -> NDArray[np.int32]:
    return np.zeros(n_rows, np.int32)


def _recode(encoded: Encoded, places: NDArray[np.int32]) -> NDArray[np.int32]:
    codes: NDArray[np.int32] = places[encoded.codes]
    return codes


def _weights_of_block(values: Any) -> NDArray[np.float64]:
    refuse_text(values, "sample_weight")
    weights = np.array(values, np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            "sample_weight must be finite numbers that are not negative; found "
            f"{weights[~(np.isfinite(weights) & (weights >= 0))][0]}."
        )
    return weights


def _take(
    X: Any, groups: Any, weights: Any, wanted: list[NDArray[np.int64]]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    rows = _rows(groups, weights, wanted)
    taken = np.broadcast_to(weights, groups.shape)[rows]
    return X[rows].astype(np.float64), groups[rows], taken


def _take_labels(
    groups: Any, weights: Any, labels: Any, wanted: list[NDArray[np.int64]]
) -> NDArray[np.int32]:
    taken: NDArray[np.int32] = labels[_rows(groups, weights, wanted)]
    return taken


def _rows(
    groups: Any, weights: Any, wanted: list[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """The rows of a block that are wanted: so manieth of each group with weight."""
    has_weight = np.broadcast_to(weights > 0, groups.shape)
    rows = [
        np.flatnonzero((groups == g) & has_weight)[ranks]
        for g, ranks in enumerate(wanted)
        if len(ranks)
    ]
    return np.sort(np.concatenate(rows)) if rows else np.empty(0, np.int64)


def _look_at_labels(labels: Any, groups: Any, weights: Any) -> Any:
    """Rows with weight of each cluster, or what is wrong with the labels."""
    labels = np.asarray(labels)
    if labels.shape != groups.shape:
        return f"labels has shape {labels.shape} where X has {len(groups):,} rows"
    if not len(labels):
        return np.zeros(1, np.int64)
    if labels.dtype.kind not in "iu":
        return f"labels must be integers, found {labels.dtype}"
    if labels.min() < 0 or labels.max() >= MOST_CLUSTERS:
        return (
            "labels must not be below 0 or huge, found values from "
            f"{labels.min()} to {labels.max()}"
        )
    has_weight = np.broadcast_to(weights > 0, labels.shape)
    return np.bincount(labels, has_weight).astype(np.int64)


def _predict(X: Any, estimator: Any) -> NDArray[Any]:
    if not len(X):
        return np.empty(0, np.int32)
    # Whatever it was fitted on, that was float64. One at a time: nobody promised that
    # it can be called by several threads, and KMeans leaves BLAS with one thread then.
    with _ONE_AT_A_TIME:
        return np.asarray(estimator.predict(X.astype(np.float64, copy=False)))


def _renumber(labels: Any, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    renumbered: NDArray[np.int32] = numbers[labels]
    return renumbered


def _as_labels(labels: Any) -> NDArray[np.int32]:
    return np.asarray(labels).astype(np.int32)


def check_no_gap(members: NDArray[np.int64]) -> None:
    """Refuse labels that leave a cluster empty."""
    if not members.all():
        raise ValueError(
            f"labels has a gap: its highest value is {len(members) - 1}, but cluster "
            f"{int(np.argmin(members))} has no row with weight; number the clusters 0 "
            f"to {np.count_nonzero(members) - 1}."
        )
