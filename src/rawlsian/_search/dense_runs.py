"""Fair-Lloyd on dense rows: scores of many runs by one matrix product a block.

Runs start together, and one that has ended leaves the batch. Rows are read in blocks
of a fixed size, and BLAS has one thread in each of ours, so that results do not depend
on the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem
from rawlsian._search import dense_rows, lloyd
from rawlsian._support.threads import one_blas_thread, run_in_chunks

# Numbers in the scores of a block, which should stay in the cache, and the least and
# largest number of rows of a block.
SCORES_A_BLOCK, LEAST_ROWS, MOST_ROWS = 2**16, 64, 1024

# Products of numbers: with fewer, a thread costs more than it saves.
PRODUCTS_A_THREAD = 2**21
# Columns: with fewer for each thread, all threads would mostly compare labels.
COLUMNS_A_THREAD = 8


# A squared distance up to this, relative to the largest squared norm, is rounding.
ROUNDING = 1e-24


class Batch(NamedTuple):
    """State of the runs of a batch; the first axis of each array is the run.

    ``labels`` has shape (n_runs, n_samples), ``members`` (numbers of rows) and
    ``counts`` (sums of weights) have shape (n_runs, n_clusters, n_groups), ``sums`` has
    shape (n_runs, n_clusters, n_groups, n_features).
    """

    runs: NDArray[np.intp]
    centers: NDArray[np.float64]
    labels: NDArray[np.int32]
    members: NDArray[np.int64]
    counts: NDArray[np.float64]
    sums: NDArray[np.float64]
    group_weights: NDArray[np.float64]
    costs: NDArray[np.float64]

    @classmethod
    def start(cls, problem: Problem, init: NDArray[np.float64]) -> Batch:
        """Return runs with these centers, whose rows are in no cluster yet."""
        n_runs, n_clusters, n_features = init.shape
        n_groups = problem.n_groups
        shape = (n_runs, n_clusters, n_groups)
        return cls(
            np.arange(n_runs), init.copy(),
            np.full((n_runs, problem.n_samples), -1, np.int32),
            np.zeros(shape, np.int64), np.zeros(shape), np.zeros((*shape, n_features)),
            np.full((n_runs, n_groups), 1 / n_groups), np.empty((n_runs, n_groups)),
        )  # fmt: skip

    def take(self, kept: NDArray[np.bool_]) -> Batch:
        """Return some of the runs."""
        some: Any = (array[kept] for array in self)
        return Batch(*some)


class DenseEnds(NamedTuple):
    """Results of the runs of a batch, as in ``Solutions``."""

    costs: NDArray[np.float64]
    group_weights: NDArray[np.float64]
    centers: NDArray[np.float64]
    n_iter: NDArray[np.int64]


def dense_runs(
    problem: Problem,
    squares: NDArray[np.float64],
    init: NDArray[np.float64],
    max_iter: int,
    *,
    patience: int = 0,
    ceiling: float = np.inf,
    least_gain: float = 0.0,
) -> DenseEnds:
    """Run Fair-Lloyd from init, as ``lloyd.fair_runs`` does."""
    shape = (len(init), problem.n_groups)
    ends = DenseEnds(
        np.empty(shape), np.empty(shape), np.empty_like(init),
        np.empty(len(init), np.int64),
    )  # fmt: skip
    batch, before = Batch.start(problem, init), np.full(len(init), np.inf)
    with one_blas_thread:
        for age in range(1, max_iter + 1):
            old_centers = batch.centers.copy()
            n_changed = assign(problem, batch)
            is_moving = n_changed > 0
            share = (age < max_iter) * n_changed / problem.n_samples
            place_centers(problem, squares, batch, share)
            is_whole = np.isfinite(batch.centers).all(axis=(1, 2))
            for run in np.flatnonzero(~is_whole).tolist():
                is_moving[run] |= _refill(problem, batch, run, old_centers[run])
            largest = batch.costs.max(axis=1)
            if age == patience:
                is_moving &= largest <= ceiling
            if least_gain > 0:
                is_moving &= before - largest >= least_gain * largest
            before = largest
            has_ended = ~is_moving | (age == max_iter)
            done = batch.runs[has_ended]
            ends.costs[done] = batch.costs[has_ended]
            ends.group_weights[done] = batch.group_weights[has_ended]
            ends.centers[done] = batch.centers[has_ended]
            ends.n_iter[done] = age
            if has_ended.all():
                break
            if has_ended.any():
                batch, before = batch.take(is_moving), before[is_moving]
    return ends


def assign(problem: Problem, batch: Batch) -> NDArray[np.int64]:
    """Move each row to its nearest center; return how many rows moved in each run.

    OUT: labels, members, counts, sums.
    """
    n_runs, n_clusters, n_features = batch.centers.shape
    n_samples, n_lanes = problem.n_samples, n_runs * n_clusters
    stacked = np.ascontiguousarray(batch.centers.reshape(n_lanes, n_features))
    half_norms = 0.5 * (batch.centers**2).sum(axis=2)
    n_rows = min(max(SCORES_A_BLOCK // n_lanes, LEAST_ROWS), MOST_ROWS)
    moved = np.empty_like(batch.labels)

    def find(first: int, last: int) -> None:
        rows = np.empty((n_rows, n_features))
        scores = np.empty((n_lanes, n_rows))
        for start in range(first * n_rows, min(last * n_rows, n_samples), n_rows):
            block = problem.X[start : start + n_rows]
            n = len(block)
            np.subtract(block, problem.shift, out=rows[:n])
            found = scores if n == n_rows else np.empty((n_lanes, n))
            np.matmul(stacked, rows[:n].T, out=found)
            by_run = found.reshape(n_runs, n_clusters, n)
            dense_rows.pick_nearest(by_run, half_norms, moved, start)

    products = n_rows * n_lanes * n_features
    run_in_chunks(
        find, -(-n_samples // n_rows), smallest_chunk=-(-PRODUCTS_A_THREAD // products)
    )
    rows_of = (problem.weights, problem.groups, batch.labels, moved)
    run_in_chunks(
        lambda start, stop: dense_rows.move_rows(
            problem.X, problem.shift, *rows_of, start, stop, batch.sums
        ),
        n_features,
        smallest_chunk=max(COLUMNS_A_THREAD, 2**21 // (n_samples * n_runs)),
    )
    n_changed = np.empty(n_runs, np.int64)
    dense_rows.count_moves(*rows_of, batch.members, batch.counts, n_changed)
    batch.sums[batch.members == 0] = 0.0
    return n_changed


def place_centers(
    problem: Problem,
    squares: NDArray[np.float64],
    batch: Batch,
    share: NDArray[np.float64],
) -> None:
    """Move the centers to the fair centers of the clusters; NaN if one is empty.

    ``share`` is the share of rows that changed, by run; the more, the less exact is
    the minimum.  OUT: group_weights, costs, centers.
    """
    n_runs, n_clusters, n_groups = batch.counts.shape
    dots = np.matmul(batch.sums, batch.sums.transpose(0, 1, 3, 2))
    lanes = n_clusters * n_runs  # the run is innermost, as in lloyd
    pull = np.empty(n_groups * lanes)
    tolerances = np.maximum(lloyd.ROUGH_TOLERANCE * share, lloyd.FAIR_TOLERANCE)
    lloyd.weigh_groups(
        *problem.pooling[1:], problem.group_sizes, squares,
        np.ascontiguousarray(batch.counts.transpose(2, 1, 0)).ravel(),
        np.ascontiguousarray(dots.transpose(2, 3, 1, 0)).reshape(
            n_groups, n_groups, lanes
        ),
        tolerances, batch.group_weights, batch.costs, pull,
    )  # fmt: skip
    by_run = pull.reshape(n_groups, n_clusters, n_runs).transpose(2, 1, 0)
    mass = (by_run * batch.counts).sum(axis=2)
    totals = np.matmul(by_run[:, :, None], batch.sums)[:, :, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        batch.centers[:] = totals / mass[:, :, None]


def _refill(
    problem: Problem, batch: Batch, run: int, before: NDArray[np.float64]
) -> bool:
    """Put centers that are NaN on the rows that cost most.

    Returns True if one of these rows is apart from its center by more than rounding.
    ``before`` are the centers that the labels come from.  OUT: centers of the run.
    """
    pull = problem.pull(batch.group_weights[run])
    distances = dense_rows.squared_distances(
        problem.X, problem.shift, batch.labels[run], before
    )
    is_apart = distances > ROUNDING * problem.norms.max()
    distances *= problem.weights * pull[problem.groups]
    is_useful = False
    for c in np.flatnonzero(~np.isfinite(batch.centers[run]).all(axis=1)):
        far = int(np.argmax(distances))
        is_useful |= bool(is_apart[far] and distances[far] > 0)
        distances[far] = -1.0
        batch.centers[run, c] = problem.X[far] - problem.shift
    return is_useful
