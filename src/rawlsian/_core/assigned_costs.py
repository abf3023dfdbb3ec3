"""Costs of groups if the mean of the assigned cluster serves each example."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import cluster_sums, move_kernels
from rawlsian._core.group_costs import (
    MOVES_BEFORE_RECOMPUTE,
    Block,
    GroupCosts,
    in_order_of_pairs,
)
from rawlsian._core.problem import Problem
from rawlsian._support.threads import run_in_chunks

# First moves of pairs, searched block by block.
FIRSTS_A_BLOCK = 256
FIRSTS_A_THREAD = 16


class AssignedCosts(GroupCosts):
    """Costs as squared distances to the mean of the assigned cluster.

    Attributes
    ----------
    mass, mean_norms : ndarray of shape (n_clusters,)
        Total weight N of each cluster, and squared norm m.m of its mean.
    mean_dots : ndarray of shape (n_clusters, n_groups)
        Products m.S[c, g] of the mean of a cluster with the sum of each group in it.
    """

    def __init__(
        self, problem: Problem, labels: NDArray[np.int32], n_clusters: int
    ) -> None:
        super().__init__(problem, labels, n_clusters)
        n_groups = problem.n_groups
        self.counts = np.zeros((n_clusters, n_groups))
        self.costs = np.zeros((n_clusters, n_groups))
        self.utilities = np.zeros(n_groups)
        self._sums = np.zeros((n_clusters, n_groups, problem.X.shape[1]))
        self._squares = np.zeros((n_clusters, n_groups))
        self.mass = np.zeros(n_clusters)
        self.mean_norms = np.zeros(n_clusters)
        self.mean_dots = np.zeros((n_clusters, n_groups))
        self._is_changed = np.ones(n_clusters, dtype=np.bool_)
        self.recompute()

    @property
    def centers(self) -> NDArray[np.float64]:
        """Means of the clusters."""
        centers: NDArray[np.float64] = self._sums.sum(axis=1) / self.mass[:, None]
        return centers + self.problem.shift

    @property
    def products(self) -> NDArray[np.float64]:
        """Products x_i . S[c, g], of shape (n_clusters, n_groups, n_samples)."""
        self._ensure_move_costs()
        return self._products

    def recompute(self) -> None:
        """Recompute all sums from the labels, which removes accumulated rounding."""
        problem = self.problem
        cluster_sums.accumulate(
            problem.X, problem.shift, problem.norms, problem.weights, problem.groups,
            self.labels, self.members, self.counts, self._sums, self._squares,
        )  # fmt: skip
        self._moves_since_recompute = 0
        self._is_changed[:] = True
        self._summarise()
        if self._has_move_costs:
            self._fill_products(self._sums, self._products)
            self._refresh_move_costs()

    def move(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Make the moves and update the sums."""
        problem, sources = self.problem, np.empty_like(targets)
        move_kernels.reassign(
            problem.X, problem.shift, problem.norms, problem.weights, problem.groups,
            examples, targets, self.labels, self.members, self.counts, self._sums,
            self._squares, self._is_changed, sources,
        )  # fmt: skip
        self._moves_since_recompute += len(examples)
        if self._moves_since_recompute >= MOVES_BEFORE_RECOMPUTE:
            self.recompute()
            return sources
        self._summarise()
        if self._has_move_costs:
            self._update_products(
                problem.groups, (examples, sources, targets), self._sums, self._products
            )
            self._refresh_move_costs()
        return sources

    def utilities_after(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Compute the group utilities on a copy of the sums."""
        problem = self.problem
        counts, sums, squares = (
            array.copy() for array in (self.counts, self._sums, self._squares)
        )
        is_changed, utilities = self._is_changed.copy(), np.empty_like(self.utilities)
        move_kernels.reassign(
            problem.X, problem.shift, problem.norms, problem.weights, problem.groups,
            examples, targets, self.labels.copy(), self.members.copy(), counts, sums,
            squares, is_changed, np.empty_like(targets),
        )  # fmt: skip
        move_kernels.summarise(
            counts, sums, squares, problem.people, problem.max_distance,
            is_changed, self.mass.copy(), self.mean_norms.copy(),
            self.mean_dots.copy(), self.costs.copy(), utilities,
        )  # fmt: skip
        return utilities

    def _pair_search(
        self,
        examples: NDArray[np.int64],
        targets: NDArray[np.int64],
        utilities: NDArray[np.float64],
    ) -> Callable[[int, int], Block]:
        """Return the search of ``pairs``, on the rows that move."""
        problem = self.problem
        distinct, rows = np.unique(examples, return_inverse=True)
        state = (
            problem.norms[distinct], problem.weights[distinct],
            problem.groups[distinct], self.labels[distinct], self.members, self.counts,
            self.mass, self.mean_norms, self.mean_dots,
            # np.take, unlike indexing, returns the memory order that the kernel reads.
            np.take(self.products, distinct, axis=2),
            np.take(self.move_costs, distinct, axis=2),
        )  # fmt: skip

        def search(start: int, stop: int) -> Block:
            pairs, after = move_kernels.pair_moves(
                problem.X, problem.shift, distinct, *state, *problem.pooling[1:],
                utilities, problem.group_sizes, problem.tolerance, rows, targets, start,
                stop,
            )  # fmt: skip
            return pairs, after

        return search

    def promising_pairs(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64], limit: float
    ) -> Iterator[Block]:
        """Yield the pairs that raise the lowest utility and may be the best."""
        problem, n_moves = self.problem, len(examples)
        utilities = problem.pooled_means(self.utilities)
        costs, saved = np.empty(n_moves), np.empty(n_moves)
        move_kernels.pairing_costs(
            problem.norms, problem.weights, self.labels, self.mass, self.mean_norms,
            self.products, self.move_costs, examples, targets, costs, saved,
        )  # fmt: skip
        if np.isinf(saved).mean() > 0.5:
            # A row heavier than most clusters makes the bound useless for nearly all.
            yield from self.pairs(examples, targets, utilities)
            return
        order = np.argsort(costs, kind="stable")
        # The cheaper move of a pair that costs less than limit costs less than half of
        # it. NaN (infinity less infinity) stays in.
        with np.errstate(invalid="ignore"):
            is_too_dear = 2 * costs - saved >= limit
        places = np.flatnonzero(~is_too_dear[order])
        blocks = []
        for first in range(0, max(len(places), 1), FIRSTS_A_BLOCK):

            def find(start: int, stop: int, first: int = first) -> Block:
                pairs, after = move_kernels.promising_pairs(
                    problem.X, problem.shift, problem.norms, problem.weights,
                    problem.groups, self.labels, self.members, self.counts, self.mass,
                    self.mean_norms, self.mean_dots, self.products, self.move_costs,
                    *problem.pooling[1:], utilities, problem.group_sizes,
                    problem.tolerance, examples, targets, costs, saved, order, limit,
                    places[first + start : first + stop],
                )  # fmt: skip
                return pairs, after

            n_places = min(len(places) - first, FIRSTS_A_BLOCK)
            blocks += run_in_chunks(find, n_places, smallest_chunk=FIRSTS_A_THREAD)
        yield in_order_of_pairs(blocks)

    def _walk_singles(
        self, moved: tuple[NDArray[np.int64], ...], after: NDArray[np.float64]
    ) -> tuple[int, bool]:
        """Make the steps in one compiled call."""
        problem = self.problem
        n_made, is_raised = move_kernels.walk_singles(
            problem.X, problem.columns, problem.shift, problem.norms, problem.weights,
            problem.groups, self.labels, self.members, self.counts, self._sums,
            self._squares, self._is_changed, self._products, self.utilities,
            problem.group_sizes, problem.shares, problem.tolerance, self._move_costs,
            *moved, problem.people, problem.max_distance, self.mass, self.mean_norms,
            self.mean_dots, self.costs, after,
        )  # fmt: skip
        self._moves_since_recompute += n_made
        return n_made, is_raised

    def _summarise(self) -> None:
        """Update means, costs and utilities after the sums changed."""
        move_kernels.summarise(
            self.counts, self._sums, self._squares, self.problem.people,
            self.problem.max_distance, self._is_changed, self.mass,
            self.mean_norms, self.mean_dots, self.costs, self.utilities,
        )  # fmt: skip

    def _make_move_costs(self) -> None:
        """Allocate and fill products and move costs."""
        n_groups, n_samples = self.problem.n_groups, self.problem.n_samples
        self._products = np.empty((self.n_clusters, n_groups, n_samples))
        self._move_costs = np.empty((self.n_clusters, n_groups + 1, n_samples))
        self._fill_products(self._sums, self._products)
        self._is_changed[:] = True
        self._refresh_move_costs()

    def _refresh_move_costs(self) -> None:
        """Recompute the move costs of the clusters marked as changed."""
        problem = self.problem
        self._for_rows(
            move_kernels.fill_move_costs, problem.norms, problem.weights,
            problem.groups, self.labels, self.members, self.counts, self.mass,
            self.mean_norms, self.mean_dots, self._products, self._is_changed,
            self._move_costs,
        )  # fmt: skip
