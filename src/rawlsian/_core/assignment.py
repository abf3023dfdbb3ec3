"""Assignment: labels and the sums from which all utilities are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core import cluster_sums, move_kernels
from rawlsian._core.checks import check_labels
from rawlsian._core.problem import ROWS_A_THREAD, Problem
from rawlsian._support.threads import run_in_chunks

# Each move rounds the sums a little; after this many they are recomputed.
MOVES_BEFORE_RECOMPUTE = 4096

_FAULTS = {
    1: "there is no such example",
    2: "there is no such cluster",
    3: "the example is named twice",
    4: "its cluster would be left empty",
}


class Assignment:
    """Labels and sufficient statistics of one clustering of a problem.

    The center of a cluster is the mean of its members. Only ``apply`` changes an
    assignment; operators read from it and never write to it.

    Parameters
    ----------
    problem : Problem
        The examples, groups and weights.
    labels : array-like of shape (n_samples,)
        The cluster of each example, integers from 0 to n_clusters - 1. Every cluster
        must have members with weight.

    Attributes
    ----------
    problem : Problem
        As given.
    labels : ndarray of shape (n_samples,)
        The cluster of each example.
    n_clusters : int
        Number of clusters. No cluster is empty.
    utilities : ndarray of shape (n_groups,)
        Mean utility of each group.
    counts : ndarray of shape (n_clusters, n_groups)
        Total weight n[c, g] of the members of group g in cluster c.
    costs : ndarray of shape (n_clusters, n_groups)
        Weighted sum of squared distances to the center, by cluster and group.
    members : ndarray of shape (n_clusters,)
        Number of examples with positive weight in each cluster.
    mass, mean_norms : ndarray of shape (n_clusters,)
        Total weight N of each cluster, and squared norm m.m of its mean.
    mean_dots : ndarray of shape (n_clusters, n_groups)
        Products m.S[c, g] of the mean of a cluster with the sum of each group in it.

    Notes
    -----
    In a traversal ``utilities`` do not include ``max_distance``: they are 0 or
    negative. ``max_distance`` is added when they are reported, so its rounding cannot
    change a decision.
    """

    def __init__(self, problem: Problem, labels: ArrayLike) -> None:
        self.problem = problem
        self.labels = check_labels(labels, problem.weights)
        self.n_clusters = int(self.labels.max()) + 1
        n_groups, n_clusters = problem.n_groups, self.n_clusters
        self.members = np.zeros(n_clusters, dtype=np.int64)
        self.counts = np.zeros((n_clusters, n_groups))
        self.costs = np.zeros((n_clusters, n_groups))
        self.utilities = np.zeros(n_groups)
        self._sums = np.zeros((n_clusters, n_groups, problem.X.shape[1]))
        self._squares = np.zeros((n_clusters, n_groups))
        self.mass = np.zeros(n_clusters)
        self.mean_norms = np.zeros(n_clusters)
        self.mean_dots = np.zeros((n_clusters, n_groups))
        self._is_changed = np.ones(n_clusters, dtype=np.bool_)
        self._has_move_costs = False
        self.recompute()

    @property
    def lowest(self) -> float:
        """Utility of the worst-off group."""
        return min(self.utilities.tolist())

    @property
    def overall(self) -> float:
        """Mean utility of all examples."""
        return float(self.problem.shares @ self.utilities)

    @property
    def centers(self) -> NDArray[np.float64]:
        """Means of the clusters, of shape (n_clusters, n_features)."""
        centers: NDArray[np.float64] = self._sums.sum(axis=1) / self.mass[:, None]
        return centers + self.problem.shift

    @property
    def products(self) -> NDArray[np.float64]:
        """Products x_i . S[c, g], of shape (n_clusters, n_groups, n_samples)."""
        self._ensure_move_costs()
        return self._products

    @property
    def move_costs(self) -> NDArray[np.float64]:
        """Change in each group's cost when an example leaves or enters a cluster.

        The shape is (n_clusters, n_groups + 1, n_samples). ``move_costs[c, g, i]`` is
        the change for group g when example i leaves c, if it is in c, or else enters c.
        Moving example i from a to c changes the cost of group g by
        ``move_costs[a, g, i] + move_costs[c, g, i]``. Index g = n_groups holds the
        sum over groups. The cost of leaving a cluster of one example is infinite.
        """
        self._ensure_move_costs()
        return self._move_costs

    def apply(self, examples: ArrayLike, targets: ArrayLike) -> NDArray[np.int64]:
        """Move each example to its target cluster, all at once.

        Parameters
        ----------
        examples : array-like of shape (n_moved,)
            Row numbers of the examples, each at most once.
        targets : array-like of shape (n_moved,)
            The cluster that each of them moves to.

        Returns
        -------
        ndarray of shape (n_moved,)
            The clusters that the examples were in.

        Raises
        ------
        ValueError
            If an example or cluster does not exist, an example is named twice, or
            a cluster would be left empty. The assignment is unchanged then.
        """
        examples, targets = _whole_numbers(examples), _whole_numbers(targets)
        self._check_moves(examples, targets)
        problem, sources = self.problem, np.empty_like(targets)
        cluster_sums.reassign(
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
            self._update_products(examples, sources, targets)
            self._refresh_move_costs()
        return sources

    def utilities_after(
        self, examples: ArrayLike, targets: ArrayLike
    ) -> NDArray[np.float64]:
        """Compute the group utilities after these moves, without making them.

        These are the utilities that an operator proposes.

        Parameters
        ----------
        examples : array-like of shape (n_moved,)
            Row numbers of the examples, each at most once.
        targets : array-like of shape (n_moved,)
            The cluster that each of them moves to; it may be the one it is in.

        Returns
        -------
        ndarray of shape (n_groups,)
            Mean utility of each group after the moves.

        Raises
        ------
        ValueError
            As ``apply``.
        """
        examples, targets = _whole_numbers(examples), _whole_numbers(targets)
        self._check_moves(examples, targets)
        problem = self.problem
        counts, sums, squares = (
            array.copy() for array in (self.counts, self._sums, self._squares)
        )
        is_changed, utilities = self._is_changed.copy(), np.empty_like(self.utilities)
        cluster_sums.reassign(
            problem.X, problem.shift, problem.norms, problem.weights, problem.groups,
            examples, targets, self.labels.copy(), self.members.copy(), counts, sums,
            squares, is_changed, np.empty_like(targets),
        )  # fmt: skip
        cluster_sums.summarise(
            counts, sums, squares, problem.group_sizes, problem.max_distance,
            is_changed, self.mass.copy(), self.mean_norms.copy(),
            self.mean_dots.copy(), self.costs.copy(), utilities,
        )  # fmt: skip
        return utilities

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
            self._fill_products()
            self._refresh_move_costs()

    def _check_moves(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> None:
        """Raise ValueError if a move is not allowed."""
        if examples.ndim != 1 or examples.shape != targets.shape:
            raise ValueError(
                f"cannot move examples of shape {examples.shape} to targets of shape "
                f"{targets.shape}; give two lists of the same length."
            )
        move, fault = cluster_sums.fault_in_moves(
            examples, targets, self.labels, self.problem.weights, self.members
        )
        if fault:
            raise ValueError(
                f"cannot move example {examples[move]} to cluster {targets[move]}: "
                f"{_FAULTS[fault]}."
            )

    def _summarise(self) -> None:
        """Update means, costs and utilities after the sums changed."""
        cluster_sums.summarise(
            self.counts, self._sums, self._squares, self.problem.group_sizes,
            self.problem.max_distance, self._is_changed, self.mass,
            self.mean_norms, self.mean_dots, self.costs, self.utilities,
        )  # fmt: skip

    def _ensure_move_costs(self) -> None:
        """Allocate and fill products and move costs, at their first use."""
        if self._has_move_costs:
            return
        n_groups, n_samples = self.problem.n_groups, self.problem.n_samples
        self._products = np.empty((self.n_clusters, n_groups, n_samples))
        self._move_costs = np.empty((self.n_clusters, n_groups + 1, n_samples))
        self._has_move_costs = True
        self._fill_products()
        self._is_changed[:] = True
        self._refresh_move_costs()

    def _fill_products(self) -> None:
        """Compute all products from the sums."""
        X, shift = self.problem.X, self.problem.shift
        self._for_rows(move_kernels.fill_products, X, shift, self._sums, self._products)

    def _update_products(
        self,
        examples: NDArray[np.int64],
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
    ) -> None:
        """Update the products after these moves; recompute them if that is cheaper."""
        problem = self.problem
        if len(examples) > problem.n_groups * self.n_clusters:
            self._fill_products()
            return
        self._for_rows(
            move_kernels.update_products, problem.X, problem.columns, problem.shift,
            problem.weights, problem.groups, examples, sources, targets, self._products,
        )  # fmt: skip

    def _refresh_move_costs(self) -> None:
        """Recompute the move costs of the clusters marked as changed."""
        problem = self.problem
        self._for_rows(
            move_kernels.fill_move_costs, problem.norms, problem.weights,
            problem.groups, self.labels, self.members, self.counts, self.mass,
            self.mean_norms, self.mean_dots, self._products, self._is_changed,
            self._move_costs,
        )  # fmt: skip

    def _for_rows(self, kernel: Callable[..., None], *arguments: NDArray[Any]) -> None:
        """Call ``kernel(*arguments, start, stop)`` for chunks of rows, on threads."""
        run_in_chunks(
            lambda start, stop: kernel(*arguments, start, stop),
            self.problem.n_samples,
            smallest_chunk=ROWS_A_THREAD,
        )


def _whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """Return values as int64, or raise ValueError if they are not integers."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(
            f"examples and targets must be whole numbers, found {array.dtype}."
        )
    return array.astype(np.int64, copy=False)
