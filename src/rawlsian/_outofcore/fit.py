"""Search small, finish large: clusters of rows that are in blocks.

The search runs on a weighted sample. What it finds is then finished on all rows: with
free centers by taking fair centers and nearest centers in turn, with means by the batch
operator, which starts from a rule that the sample's clusters follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import Problem
from rawlsian._outofcore import block_sums
from rawlsian._outofcore.placing import Rule, Sums, add_up, assigned, rounded, sums_of
from rawlsian._outofcore.problem import LargeProblem, Sample
from rawlsian._rows.executors import Column
from rawlsian._search.fair_lloyd import FairRuns, Solutions
from rawlsian._search.leximin import (
    fair_weights_of_sums,
    is_better,
    leximin_best,
    leximin_of_sums,
)
from rawlsian.operators.proposals import select
from rawlsian.operators.relocate import Relocate

# A pass that lowers the largest mean cost by less than this share is the last.
LEAST_GAIN = 1e-6

# Solutions of the search that are made better on the whole sample, and how many of
# these are compared on all rows.
N_REFINED, N_COMPARED = 8, 2
MAX_REFINING = 30

# Of a batch, its better half, the better half of that and so on, so many are tried.
N_TIERS = 8

# Exchange rates are told apart by sixteenths of a doubling, from 2^-32 to 2^32; where
# nobody loses, gains are, on a second ladder above that.
N_STEPS = 1024

# Rows are thinned out by this, which spreads their numbers evenly over 2^32.
SCATTER = 2654435769

# How much the worst-off group weighs in the rules that are tried on a sample, and how
# often each is renewed by what it leads to.
WORST_WEIGHTS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
RENEWALS = 4


@dataclass(frozen=True, eq=False)
class FreeEnd:
    """Centers for all rows, what they cost each group, and lambda."""

    centers: NDArray[np.float64]
    costs: NDArray[np.float64]
    inertia: float
    group_weights: NDArray[np.float64]
    is_interrupted: bool


def refined(
    searched: Problem, sample: Problem, found: Solutions, is_interrupted: bool
) -> Solutions:
    """Solutions of a part of the sample, run on the whole of it; best first."""
    some = found.take(list(range(min(N_REFINED, len(found.centers)))))
    if searched is sample:
        return some
    if is_interrupted:  # there is no time for more
        shift = searched.shift - sample.shift
        return some._replace(centers=some.centers + shift)
    runs = FairRuns(sample, MAX_REFINING)
    ends = runs.run(some.centers + searched.shift - sample.shift)
    ends = ends.take(np.argsort(ends.objectives, kind="stable").tolist())
    return leximin_best(runs, ends) if sample.n_groups > 2 else ends


def finish_free(
    large: LargeProblem, sample: Problem, found: Solutions, is_interrupted: bool
) -> FreeEnd:
    """Fair centers and nearest centers in turn, from the best of the sample.

    It leaves one pass for the labels.
    """
    shift = sample.shift
    centers, lam = found.centers[0] + shift, found.group_weights[0]
    sums = large.assign(Rule.nearest(centers), shift)
    n_compared = 1 if is_interrupted else min(N_COMPARED, len(found.centers))
    try:
        for place in range(1, n_compared):
            if large.passes_left < 2:
                break
            others = found.centers[place] + shift
            theirs = large.assign(Rule.nearest(others), shift)
            if is_better(theirs.mean_costs, sums.mean_costs):
                centers, lam, sums = others, found.group_weights[place], theirs
        large.largest_cost = float(sums.mean_costs.max())
        while large.passes_left >= 2 and not is_interrupted:
            moved, weights = _fair_centers(large.group_sizes, sums, centers - shift)
            after = large.assign(Rule.nearest(moved + shift), shift)
            gain = large.largest_cost - float(after.mean_costs.max())
            if is_better(after.mean_costs, sums.mean_costs):
                centers, lam, sums = moved + shift, weights, after
            if gain < LEAST_GAIN * large.largest_cost:
                break
            large.largest_cost -= gain
    except KeyboardInterrupt:
        is_interrupted = True
    inertia = float(rounded(sums.costs).sum())
    return FreeEnd(centers, sums.mean_costs, inertia, lam, is_interrupted)


def _fair_centers(
    group_sizes: NDArray[np.float64], sums: Sums, centers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leximin-best centers for the partition of these sums, and lambda."""
    counts = rounded(sums.counts).T
    totals = rounded(sums.sums).transpose(1, 0, 2)
    squares = rounded(sums.squares).T
    moved = leximin_of_sums(group_sizes, counts, totals, squares, centers)
    lam = fair_weights_of_sums(group_sizes, counts, totals, squares.sum(axis=1))
    return moved, lam


# --- Means ---


class Means:
    """What follows from the sums of a partition, if its centers are means."""

    def __init__(self, sums: Sums, shift: NDArray[np.float64]) -> None:
        self.counts = rounded(sums.counts)
        self.members = sums.members.sum(axis=1)
        totals = rounded(sums.sums)
        self.mass = self.counts.sum(axis=1)
        with np.errstate(invalid="ignore"):  # an empty cluster has no mean
            means = totals.sum(axis=1) / self.mass[:, None]
        self.centers = means + shift
        self.excess = totals - self.counts[:, :, None] * means[:, None]
        dots = np.einsum("cj,cgj->cg", means, totals)
        norms = (means**2).sum(axis=1)[:, None]
        costs = rounded(sums.squares) - 2 * dots + self.counts * norms
        self.cluster_costs = np.maximum(costs, 0.0)  # rounding can leave -1e-17
        self.group_sizes = self.counts.sum(axis=0)

    @property
    def costs(self) -> NDArray[np.float64]:
        """Mean cost of each group."""
        costs: NDArray[np.float64] = self.cluster_costs.sum(axis=0) / self.group_sizes
        return costs

    @property
    def is_whole(self) -> bool:
        """Whether every cluster has a member."""
        return bool(self.members.all())

    def rule(self, group_weights: NDArray[np.float64]) -> Rule:
        """The rule that a row goes where it adds least to the weighted cost.

        With a = lambda / N, a row x of group g adds a_g |x - m|^2 in a cluster, whose
        mean it pulls along by (x - m) / N_c; that changes the cost of the others by
        -2 (x - m).q, where q = sum_g a_g (S_g - n_g m) / N_c. The sum of both is
        a_g |x - m - q / a_g|^2 - |q|^2 / a_g: a squared distance and an offset.
        """
        a = group_weights / self.group_sizes
        q = np.einsum("g,cgj->cj", a, self.excess) / self.mass[:, None]
        centers = self.centers + q / a[:, None, None]
        return Rule(centers, -(q**2).sum(axis=1) / a[:, None] ** 2)


def rule_of_sample(sample: Problem, labels: NDArray[np.int32]) -> Rule:
    """The rule by which the sample's rows are served as much as can be as by labels.

    Rows that are not in the cluster of the nearest mean are where they are for the sake
    of others; the rule says where rows like them belong.
    """
    n_clusters, n_groups = int(labels.max()) + 1, sample.n_groups
    at = _means_of_sample(sample, labels, n_clusters)
    worst, best = int(np.argmax(at.costs)), None
    for weight in WORST_WEIGHTS if n_groups > 1 else (1.0,):
        group_weights = np.full(n_groups, (1 - weight) / max(n_groups - 1, 1))
        group_weights[worst] = weight
        means = at
        for _ in range(RENEWALS):
            rule = means.rule(group_weights)
            labels = np.empty(sample.n_samples, np.int32)
            block_sums.label_rows(
                sample.X, sample.groups, rule.centers, rule.offsets, labels
            )
            means = _means_of_sample(sample, labels, n_clusters)
            if not means.is_whole:
                break
            if best is None or is_better(means.costs, best[0]):
                best = means.costs, rule
    return Rule.nearest(at.centers) if best is None else best[1]


def _means_of_sample(
    sample: Problem, labels: NDArray[np.int32], n_clusters: int
) -> Means:
    sums = sums_of(
        sample.X, sample.groups, sample.weights, labels, n_clusters, sample.shift,
        sample.n_groups,
    )  # fmt: skip
    return Means(sums, sample.shift)


class Partition:
    """Clusters of all rows, and what follows from them if centers are means."""

    def __init__(self, labels: Column, sums: Sums, shift: NDArray[np.float64]) -> None:
        self.labels = labels
        self.sums = sums
        self.means = Means(sums, shift)

    @property
    def largest(self) -> float:
        """The largest mean cost of a group."""
        return float(self.means.costs.max())


def by_rule(large: LargeProblem, rule: Rule, shift: NDArray[np.float64]) -> Partition:
    """All rows, in the clusters that a rule gives them: one pass."""
    labels, sums = large.place(assigned, [], rule, shift, large.n_groups)
    return Partition(labels, sums, shift)


def next_batch(
    large: LargeProblem, at: Partition, sample: Problem, least_gain: float
) -> Partition | None:
    """Many moves at once, those first that cost the others least.

    As the batch operator, but that exchange rates are sorted into steps of a ladder:
    one pass adds up what the moves of each step promise. Another adds up what becomes
    of the sums if the moves of the best number of steps are made, or the better half of
    them, and so on; that which serves the worst-off group best is done. None if
    nothing that gains enough is found.
    """
    means, shift = at.means, sample.shift
    lag, least = int(np.argmax(means.costs)), least_gain * at.largest
    tolerance = sample.tolerance * means.group_sizes
    state = (
        lag, means.centers, means.mass, means.members, means.counts, means.excess,
        tolerance[lag], tolerance.sum(), means.costs[lag] * means.group_sizes[lag],
    )  # fmt: skip
    moves, promises = large.place(_promise, [at.labels], *state)
    n_moves, gains = promises.from_the_top(means)
    place, share = int(np.argmax(gains)), 1.0
    columns = [at.labels, moves, large.starts]
    while share * gains[place] > least and large.passes_left > 0:
        batches, (place, share) = _halved(place, share, n_moves)
        changes = large.add_up(_changes, columns, batches, shift, at.sums)
        best, sums = None, at.sums
        for batch, change in zip(batches[::-1], changes.parts[::-1], strict=True):
            sums = sums.plus(change)
            after = Partition(at.labels, sums, shift)
            gain = at.largest - after.largest
            if after.means.is_whole and gain > least:
                best, least = (batch, after), gain
        if best is not None:
            batch, after = best
            after.labels = large.blocks.executor.keep(_moved, columns, batch)
            return after
    return None


class _Batch(NamedTuple):
    """Moves from a step of the ladder up, or a share of them."""

    least_step: int
    share: float


def _halved(
    place: int, share: float, n_moves: NDArray[np.int64]
) -> tuple[list[_Batch], tuple[int, float]]:
    """Batches, each the better half of the one before, and where the next begins.

    Half of what is on one step is any half of that.
    """
    batches = []
    for _ in range(N_TIERS):
        batches.append(_Batch(2 * N_STEPS - 1 - place, share))
        # The most steps that have no more than half of the moves.
        fewer = int(np.searchsorted(n_moves, n_moves[place] // 2, side="right")) - 1
        if fewer >= 0 and n_moves[fewer]:
            place = fewer
        else:
            share /= 2
    return batches, (place, share)


@dataclass(eq=False)
class Promises:
    """Moves by the step of their rate: how many, and what they cost each group."""

    n_moves: NDArray[np.int64]
    costs: NDArray[np.float64]

    def add(self, other: Promises) -> None:
        """Take in those of other rows."""
        self.n_moves += other.n_moves
        add_up(self.costs, other.costs)

    def from_the_top(
        self, means: Means
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Moves of the highest steps, and by how much they lower the largest cost."""
        costs = np.cumsum(rounded(self.costs)[::-1], axis=0) / means.group_sizes
        gains = means.costs.max() - (means.costs + costs).max(axis=1)
        return np.cumsum(self.n_moves[::-1]), gains


class _Moves(NamedTuple):
    """The best move of each row of a block, and the step of the ladder it is on."""

    targets: NDArray[np.int32]
    steps: NDArray[np.int16]


def _promise(
    X: Any, groups: Any, weights: Any, labels: Any, *state: Any
) -> tuple[_Moves, Promises]:
    moves = _Moves(np.empty(len(X), np.int32), np.empty(len(X), np.int16))
    block_sums.best_moves(X, groups, weights, labels, *state, N_STEPS, *moves)
    _, means, mass, _, counts, excess, *_ = state
    n_steps, n_groups = 2 * N_STEPS, counts.shape[1]
    promises = Promises(np.zeros(n_steps, np.int64), np.zeros((2, n_steps, n_groups)))
    block_sums.add_promises(
        X, groups, weights, labels, *moves, means, mass, counts, excess,
        promises.n_moves, promises.costs,
    )  # fmt: skip
    return moves, promises


@dataclass(eq=False)
class _Changes:
    """What becomes of the sums, by tier."""

    parts: list[Sums]

    def add(self, other: _Changes) -> None:
        for ours, theirs in zip(self.parts, other.parts, strict=True):
            ours.add(theirs)


def _changes(
    X: Any, groups: Any, weights: Any, labels: Any, moves: _Moves, start: int,
    batches: list[_Batch], shift: Any, sums: Sums,
) -> _Changes:  # fmt: skip
    """The tier of a move is the smallest of the batches that it is in."""
    tiers = np.full(len(X), -1, np.int8)
    for t, batch in enumerate(batches):
        tiers[_is_in(batch, moves, start)] = t
    n_clusters, n_groups, n_features = sums.sums.shape[1:]
    shape = len(batches), 2, n_clusters, n_groups
    members = np.zeros((len(batches), n_clusters, n_groups), np.int64)
    counts, squares, totals = (
        np.zeros(shape), np.zeros(shape), np.zeros((*shape, n_features)),
    )  # fmt: skip
    block_sums.add_moves(
        X, groups, weights, labels, moves.targets, tiers, shift,
        members, counts, totals, squares,
    )  # fmt: skip
    none = np.zeros((2, n_groups))
    return _Changes(
        [
            Sums(members[t], counts[t], totals[t], squares[t], none.copy())
            for t in range(len(batches))
        ]
    )


def _is_in(batch: _Batch, moves: _Moves, start: int) -> NDArray[np.bool_]:
    """Which rows of a block are moved; the share depends on their numbers only."""
    is_in: NDArray[np.bool_] = moves.steps >= batch.least_step
    if batch.share < 1:
        rows = np.arange(start, start + len(is_in), dtype=np.uint64)
        scattered = rows * np.uint64(SCATTER) % np.uint64(2**32)
        is_in &= scattered < batch.share * 2**32
    return is_in


def _moved(labels: Any, moves: _Moves, start: int, batch: _Batch) -> NDArray[np.int32]:
    moved: NDArray[np.int32] = np.where(
        _is_in(batch, moves, start), moves.targets, labels
    )
    return moved


def relocated(large: LargeProblem, at: Partition, sample: Sample) -> Partition | None:
    """A partition that taking a cluster apart and founding it elsewhere leads to.

    Found on the sample, and told for all rows by its rule; None if that is no better.
    """
    labels = sample.labels(large, at.labels)
    if len(np.unique(labels)) < len(at.means.mass):
        return None  # a cluster too small to be in the sample
    assignment = Assignment(sample.problem, labels)
    moves = select(Relocate(least_gain=LEAST_GAIN).generate(assignment), assignment)
    if moves is None:
        return None
    labels[moves[0]] = moves[1]
    after = by_rule(large, rule_of_sample(sample.problem, labels), sample.problem.shift)
    is_gain = at.largest - after.largest > LEAST_GAIN * at.largest
    return after if after.means.is_whole and is_gain else None


StopReason = Literal["no_operation", "max_iter", "max_passes", "interrupted"]


class WalkEnd(NamedTuple):
    """Where a walk ended, and what groups cost at the start and after each step."""

    at: Partition
    costs: list[NDArray[np.float64]]
    n_moved: list[int]
    stop_reason: StopReason


def walk(
    large: LargeProblem,
    at: Partition,
    sample: Sample,
    *,
    relocates: bool,
    max_iter: int | None = None,
    least_gain: float = LEAST_GAIN,
) -> WalkEnd:
    """From a partition to one where no batch helps, nor relocating a cluster."""
    costs, n_moved = [at.means.costs], list[int]()
    stop_reason: StopReason = "max_iter"
    large.largest_cost = at.largest
    try:
        while max_iter is None or len(n_moved) < max_iter:
            after = None
            if large.passes_left >= 2:
                after = next_batch(large, at, sample.problem, least_gain)
            if after is None and relocates and large.passes_left > 0:
                after = relocated(large, at, sample)
            if after is None:
                is_over = large.passes_left < 2
                stop_reason = "max_passes" if is_over else "no_operation"
                break
            columns = [at.labels, after.labels]
            moved = large.blocks.executor.run(_n_different, columns)
            n_moved.append(sum(moved))
            at = after
            large.largest_cost = at.largest
            costs.append(at.means.costs)
    except KeyboardInterrupt:
        stop_reason = "interrupted"
    return WalkEnd(at, costs, n_moved, stop_reason)


def _n_different(labels: Any, others: Any) -> int:
    return int((labels != others).sum())
