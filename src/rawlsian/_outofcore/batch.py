"""Batches of moves on out-of-core rows: the step of the batch operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem
from rawlsian._outofcore import block_sums
from rawlsian._outofcore.means import Means, Partition
from rawlsian._outofcore.placing import Sums, add_up, rounded
from rawlsian._outofcore.problem import OutOfCoreProblem

# Number of batches evaluated in one pass, each the better half of the one before.
N_TIERS = 8

# Exchange rates are binned on a log2 scale, 16 bins per octave, from 2^-32 to 2^32. If
# nobody loses, the gain is binned instead, in as many bins above these.
N_BINS = 1024

# Multiplied with row indices, this spreads them evenly over 2^32, to thin out moves.
SCATTER = 2654435769


def next_batch(
    large: OutOfCoreProblem, at: Partition, sample: Problem, least_gain: float
) -> Partition | None:
    """Carry out the best batch of moves, or return None if none gains enough.

    Like the batch operator, with binned exchange rates. One pass sums the predicted
    costs per bin; a second evaluates N_TIERS batches, each the better half of the one
    before.
    """
    means, shift = at.means, sample.shift
    lag, least = int(np.argmax(means.costs)), least_gain * at.largest
    tolerance = sample.tolerance * means.group_sizes
    state = (
        lag, means.centers, means.mass, means.members, means.counts, means.excess,
        *means.pooling[1:], tolerance[lag], tolerance.sum(),
        means.costs[lag] * means.group_sizes[lag],
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
            after = Partition(at.labels, sums, shift, large.pooling)
            gain = at.largest - after.largest
            if after.means.is_whole and gain > least:
                best, least = (batch, after), gain
        if best is not None:
            batch, after = best
            after.labels = large.blocks.executor.keep(_moved, columns, batch)
            return after
    return None


class _Batch(NamedTuple):
    """Moves in the bins from ``least_bin`` up, or a fraction of them."""

    least_bin: int
    share: float


def _halved(
    place: int, share: float, n_moves: NDArray[np.int64]
) -> tuple[list[_Batch], tuple[int, float]]:
    """Return batches, each the better half of the one before, and the next start.

    Within one bin, moves have no order: half of them are chosen by row index.
    """
    batches = []
    for _ in range(N_TIERS):
        batches.append(_Batch(2 * N_BINS - 1 - place, share))
        # The most bins that have no more than half of the moves.
        fewer = int(np.searchsorted(n_moves, n_moves[place] // 2, side="right")) - 1
        if fewer >= 0 and n_moves[fewer]:
            place = fewer
        else:
            share /= 2
    return batches, (place, share)


@dataclass(eq=False)
class Promises:
    """Number of moves in each bin, and their cost for each group."""

    n_moves: NDArray[np.int64]
    costs: NDArray[np.float64]

    def add(self, other: Promises) -> None:
        """Add the promises of other rows."""
        self.n_moves += other.n_moves
        add_up(self.costs, other.costs)

    def from_the_top(
        self, means: Means
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return number and predicted gain of the moves from the highest bin down."""
        costs = np.cumsum(rounded(self.costs)[::-1], axis=0) / means.group_sizes
        gains = means.costs.max() - (means.costs + costs).max(axis=1)
        return np.cumsum(self.n_moves[::-1]), gains


class _Moves(NamedTuple):
    """The best move of each row of a block, and its bin."""

    targets: NDArray[np.int32]
    bins: NDArray[np.int16]


def _promise(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    labels: NDArray[np.int32],
    *state: Any,
) -> tuple[_Moves, Promises]:
    moves = _Moves(np.empty(len(X), np.int32), np.empty(len(X), np.int16))
    block_sums.best_moves(X, groups, weights, labels, *state, N_BINS, *moves)
    _, means, mass, _, counts, excess, own, everyone, *_ = state
    n_bins, n_groups = 2 * N_BINS, counts.shape[1]
    promises = Promises(np.zeros(n_bins, np.int64), np.zeros((2, n_bins, n_groups)))
    block_sums.add_promises(
        X, groups, weights, labels, *moves, means, mass, counts, excess, own,
        everyone, promises.n_moves, promises.costs,
    )  # fmt: skip
    return moves, promises


@dataclass(eq=False)
class _Changes:
    """Changes of the sums, by tier."""

    parts: list[Sums]

    def add(self, other: _Changes) -> None:
        for ours, theirs in zip(self.parts, other.parts, strict=True):
            ours.add(theirs)


def _changes(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    labels: NDArray[np.int32],
    moves: _Moves,
    start: int,
    batches: list[_Batch],
    shift: NDArray[np.float64],
    sums: Sums,
) -> _Changes:
    """Add up the moves of a block by tier, the smallest batch that a move is in."""
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
    """Return a mask of the rows to move; thinning depends on row indices only."""
    is_in: NDArray[np.bool_] = moves.bins >= batch.least_bin
    if batch.share < 1:
        rows = np.arange(start, start + len(is_in), dtype=np.uint64)
        scattered = rows * np.uint64(SCATTER) % np.uint64(2**32)
        is_in &= scattered < batch.share * 2**32
    return is_in


def _moved(
    labels: NDArray[np.int32], moves: _Moves, start: int, batch: _Batch
) -> NDArray[np.int32]:
    moved: NDArray[np.int32] = np.where(
        _is_in(batch, moves, start), moves.targets, labels
    )
    return moved
