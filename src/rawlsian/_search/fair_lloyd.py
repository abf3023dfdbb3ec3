"""Fair-Lloyd: alternate nearest centers and fair centers, many runs in parallel.

Socially fair k-means (Ghadiri, Samadi and Vempala, 2021) minimises the largest mean
squared distance of a group over centers that may lie anywhere. Each step of a run
lowers it.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem
from rawlsian._search import lloyd
from rawlsian._search.dense_runs import dense_runs
from rawlsian._search.entries import Entries, list_entries, share_of_entries
from rawlsian._search.restarts import slots_for
from rawlsian._support.threads import (
    n_threads,
    one_blas_thread,
    run_in_chunks,
    run_together,
)

# Default limit on the iterations of a run.
MAX_ITER = 300

# Costs with a smaller relative difference belong to the same solution.
SAME = 1e-9

RUNS_A_THREAD = 4
# Runs on sparse rows for each slot, so that few slots idle when the last runs are left,
# and slots at least, which fill the registers.
RUNS_A_SLOT, LEAST_SLOTS = 4, 8
# Runs of a batch on dense rows, at least: fewer would read each block too often.
RUNS_A_BATCH = 8

# Products of an iteration of a batch on dense rows, up to which two cores have a batch
# each: starting threads three times an iteration took longer than it saved. More cores
# share each iteration, as four batches instead of two take 8 % more CPU.
PRODUCTS_A_BATCH = 2**30

# Share of entries in X above which matrix products are faster.
DENSE_ABOVE = 0.35


class Solutions(NamedTuple):
    """Results of runs, one row per run.

    ``costs`` and ``group_weights`` have shape (n_runs, n_groups): mean costs of the
    groups, pooled if the problem is, and lambda. ``centers`` has shape (n_runs,
    n_clusters, n_features); the problem's shift is subtracted from them. ``n_iter`` has
    shape (n_runs,).
    """

    costs: NDArray[np.float64]
    group_weights: NDArray[np.float64]
    centers: NDArray[np.float64]
    n_iter: NDArray[np.int64]

    @property
    def objectives(self) -> NDArray[np.float64]:
        """Largest mean cost of a group, of shape (n_runs,)."""
        largest: NDArray[np.float64] = self.costs.max(axis=1)
        return largest

    def take(self, runs: list[int]) -> Solutions:
        """Return the solutions of some runs."""
        return Solutions(
            self.costs[runs], self.group_weights[runs], self.centers[runs],
            self.n_iter[runs],
        )  # fmt: skip

    def join(self, others: Solutions) -> Solutions:
        """Return these solutions followed by others."""
        return Solutions(
            np.concatenate([self.costs, others.costs]),
            np.concatenate([self.group_weights, others.group_weights]),
            np.concatenate([self.centers, others.centers]),
            np.concatenate([self.n_iter, others.n_iter]),
        )


class FairRuns:
    """Runs of Fair-Lloyd on one problem; keeps the entries of X between calls."""

    def __init__(
        self, problem: Problem, max_iter: int, entries: Entries | None = None
    ) -> None:
        self.problem = problem
        self.max_iter = max_iter
        self._entries = entries
        squares = problem.weights * problem.norms
        by_group = np.bincount(problem.groups, squares, problem.n_groups)
        self.squares = problem.pooling.mix(np.asarray(by_group, np.float64))

    @cached_property
    def is_dense(self) -> bool:
        """True if matrix products of whole rows are faster than sums of entries."""
        return share_of_entries(self.problem) > DENSE_ABOVE

    @property
    def entries(self) -> Entries:
        """The entries of X, listed at first use."""
        if self._entries is None:
            self._entries = list_entries(self.problem)
        return self._entries

    def on(self, problem: Problem) -> FairRuns:
        """Return runs on the same rows and weights with other groups or pooling."""
        entries = None
        if not self.is_dense:
            groups = problem.groups[self.entries.rows]
            entries = self.entries._replace(groups=groups)
        runs = FairRuns(problem, self.max_iter, entries)
        runs.is_dense = self.is_dense
        return runs

    def run(
        self,
        init: NDArray[np.float64],
        *,
        patience: int = 0,
        ceiling: float = np.inf,
        least_gain: float = 0.0,
    ) -> Solutions:
        """Run Fair-Lloyd from init, of shape (n_runs, n_clusters, n_features), shifted.

        A run ends early if its largest mean cost is above ``ceiling`` after
        ``patience`` iterations, or if an iteration lowers it by less than a relative
        ``least_gain``.
        """
        find = self._run_dense if self.is_dense else self._run_sparse
        return find(init, patience, ceiling, least_gain)

    def _run_dense(
        self,
        init: NDArray[np.float64],
        patience: int,
        ceiling: float,
        least_gain: float,
    ) -> Solutions:
        n_runs, n_clusters, n_features = init.shape
        # Two batches or more, whatever the number of threads, if each has some runs.
        n_slots = max(-(-n_runs // 2), RUNS_A_BATCH)
        n_slots = slots_for(min(n_slots, n_runs), self.problem, n_clusters)

        def run_batch(batch: int) -> Solutions:
            start = batch * n_slots
            return Solutions(
                *dense_runs(
                    self.problem, self.squares, init[start : start + n_slots],
                    self.max_iter, patience=patience, ceiling=ceiling,
                    least_gain=least_gain,
                )
            )  # fmt: skip

        n_batches = -(-n_runs // n_slots)
        products = n_slots * n_clusters * n_features * self.problem.n_samples
        has_threads = n_batches >= n_threads() and products <= PRODUCTS_A_BATCH
        with one_blas_thread:
            first, *others = run_together(
                run_batch, n_batches, n_threads() if has_threads else 1
            )
        for solutions in others:
            first = first.join(solutions)
        return first

    def _run_sparse(
        self,
        init: NDArray[np.float64],
        patience: int,
        ceiling: float,
        least_gain: float,
    ) -> Solutions:
        problem, entries = self.problem, self.entries
        weights = problem.weights[entries.rows]
        n_runs, n_clusters, _ = init.shape
        n_slots = slots_for(
            max(n_runs // RUNS_A_SLOT, LEAST_SLOTS), problem, n_clusters
        )
        found = Solutions(
            np.empty((n_runs, problem.n_groups)), np.empty((n_runs, problem.n_groups)),
            np.empty_like(init), np.empty(n_runs, np.int64),
        )  # fmt: skip

        def find(start: int, stop: int) -> None:
            lloyd.fair_runs(
                entries.shared, entries.ends, entries.columns, entries.values, weights,
                entries.groups, problem.group_sizes, *problem.pooling[1:], self.squares,
                init[start:stop], min(n_slots, stop - start), self.max_iter,
                patience, ceiling, least_gain,
                *(each[start:stop] for each in found),
            )  # fmt: skip

        run_in_chunks(find, n_runs, smallest_chunk=RUNS_A_THREAD)
        return found
