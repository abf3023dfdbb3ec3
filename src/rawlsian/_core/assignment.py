"""Assignment: labels and the sums from which all utilities are computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core import cluster_sums
from rawlsian._core.assigned_costs import AssignedCosts
from rawlsian._core.checks import check_labels
from rawlsian._core.group_costs import Block, GroupCosts, SingleSteps
from rawlsian._core.nearest_costs import NearestCosts
from rawlsian._core.pooling import Pooling
from rawlsian._core.problem import Problem
from rawlsian._core.sparse import SparseRows

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
        Mean utility of each group; pooled if ``problem.pooling`` says so. These decide.
    own_utilities : ndarray of shape (n_groups,)
        Mean utility of each group's own people.
    counts : ndarray of shape (n_clusters, n_groups)
        Total weight n[c, g] of the members of group g whom the mean of c serves: those
        in cluster c or, if ``problem.utility`` is "nearest", those nearest to it.
    costs : ndarray of shape (n_clusters, n_groups)
        Weighted sum of their squared distances to that mean.
    members : ndarray of shape (n_clusters,)
        Number of examples with positive weight that are labeled with each cluster.

    Notes
    -----
    In a traversal ``utilities`` do not include ``max_distance``: they are 0 or
    negative. ``max_distance`` is added when they are reported, so its rounding cannot
    change a decision.
    """

    def __init__(self, problem: Problem, labels: ArrayLike) -> None:
        self.labels = check_labels(labels, problem.weights)
        self.n_clusters = int(self.labels.max()) + 1
        kind = NearestCosts if problem.utility == "nearest" else AssignedCosts
        if isinstance(problem.X, SparseRows):
            problem = problem.dense("an Assignment")
        self._costs: GroupCosts = kind(problem, self.labels, self.n_clusters)
        self._is_pooled = problem.pooling.everyone > 0
        self._pooled_move_costs: NDArray[np.float64] | None = None

    @property
    def problem(self) -> Problem:
        """The examples, groups and weights."""
        return self._costs.problem

    def tolerate(self, tolerance: float) -> None:
        """Let utilities that rise by no more than this count as unchanged."""
        self._costs.problem = replace(self.problem, tolerance=tolerance)

    @property
    def members(self) -> NDArray[np.int64]:
        """Number of examples with positive weight in each cluster."""
        return self._costs.members

    @property
    def counts(self) -> NDArray[np.float64]:
        """Total weight n[c, g] of the members of group g whom the mean of c serves."""
        return self._costs.counts

    @property
    def costs(self) -> NDArray[np.float64]:
        """Weighted sum of squared distances of those whom the mean of c serves."""
        return self._costs.costs

    @property
    def utilities(self) -> NDArray[np.float64]:
        """Mean utility of each group, pooled if the problem is."""
        if not self._is_pooled:  # saves a microsecond
            return self._costs.utilities
        return self.problem.pooled_means(self._costs.utilities)

    @property
    def own_utilities(self) -> NDArray[np.float64]:
        """Mean utility of each group's own people."""
        return self._costs.utilities

    @property
    def lowest(self) -> float:
        """Utility of the worst-off group."""
        return float(min(self.utilities.tolist()))

    @property
    def overall(self) -> float:
        """Mean utility of all examples."""
        return float(self.problem.shares @ self.utilities)

    @property
    def centers(self) -> NDArray[np.float64]:
        """Means of the clusters, of shape (n_clusters, n_features)."""
        return self._costs.centers

    @property
    def move_costs(self) -> NDArray[np.float64]:
        """Change in each group's cost when an example leaves or enters a cluster.

        The shape is (n_clusters, n_groups + 1, n_samples). ``move_costs[c, g, i]`` is
        the part of example i's leaving c, if it is in c, or else of its entering c.
        Moving example i from a to c changes the cost of group g by
        ``move_costs[a, g, i] + move_costs[c, g, i]``. Index g = n_groups holds the
        sum over groups. The cost of leaving a cluster of one example is infinite.
        With pooling, these are the costs of the pooled groups.
        """
        if not self._is_pooled:
            return self._costs.move_costs
        if self._pooled_move_costs is None:
            self._pooled_move_costs = _pooled(
                self._costs.move_costs, self.problem.pooling
            )
        return self._pooled_move_costs

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
        self._pooled_move_costs = None
        return self._costs.move(examples, targets)

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
        after = self._costs.utilities_after(examples, targets)
        return self.problem.pooled_means(after)

    def pairs(
        self,
        examples: NDArray[np.int64],
        targets: NDArray[np.int64],
        utilities: NDArray[np.float64] | None = None,
    ) -> Iterator[Block]:
        """Yield all pairs of single moves that raise the lowest utility, in order.

        Moves are sorted by example. Pair a < b has the number a n_moves + b. Pairs are
        judged against ``utilities``, by default those of the assignment.
        """
        now = self.utilities if utilities is None else utilities
        return self._costs.pairs(examples, targets, now)

    def promising_pairs(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64], limit: float
    ) -> Iterator[Block]:
        """Yield the pairs that raise the lowest utility and may be the best, in order.

        The best pair must cost less than ``limit`` in total.
        """
        return self._costs.promising_pairs(examples, targets, limit)

    def walk_singles(self, n_steps: int) -> SingleSteps:
        """Make up to so many of the best single moves, one by one, in one call.

        Utilities must not be pooled.
        """
        return self._costs.walk_singles(n_steps)

    def recompute(self) -> None:
        """Recompute everything from the labels, which removes accumulated rounding."""
        self._pooled_move_costs = None
        self._costs.recompute()

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


def _pooled(move_costs: NDArray[np.float64], pooling: Pooling) -> NDArray[np.float64]:
    """Return the move costs of pooled groups; costs of all groups come last."""
    everyone = move_costs[:, -1:]
    pooled = np.repeat(pooling.everyone * everyone, move_costs.shape[1], axis=1)
    if pooling.own > 0:  # infinite costs times 0 would be NaN
        pooled += pooling.own * move_costs
    pooled[:, -1:] = everyone
    return pooled


def _whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """Return values as int64, or raise ValueError if they are not integers."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(
            f"examples and targets must be whole numbers, found {array.dtype}."
        )
    return array.astype(np.int64, copy=False)
