"""Batch: move many examples at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import cluster_sums
from rawlsian._core.assignment import Assignment
from rawlsian.operators.proposals import Moves, Proposals, check_least_gain
from rawlsian.operators.r1_r2 import R1

# A batch holds up if its gain is at least this fraction of the sum of its moves' gains.
HOLDS_UP = 0.5


@dataclass(frozen=True)
class Batch:
    """Move many examples at once, first those whose moves cost the others least.

    Single moves that raise the utility of the least advantaged group are ranked by
    their exchange rate: its gain divided by the loss of the others. The first batch is
    the one whose moves, added up, predict the highest lowest utility. It is evaluated
    exactly; if its gain is less than half of the predicted one, the better half of it
    is tried, and so on. If no batch holds up, the moves of R1 are proposed, so a
    traversal ends only where R1 would end.

    Parameters
    ----------
    least_gain : float, default=0.0
        A batch must raise the lowest utility by more than this, relative to the mean
        cost of the worst-off group; from 0 to below 1. Above 0, no moves of R1 are
        proposed: with many rows there are thousands of them that gain next to nothing.

    Examples
    --------
    >>> from rawlsian import load_adult, kmeans_restarts, traverse
    >>> adult = load_adult(sample=500, random_state=576)
    >>> data = {"X": adult.data, "sensitive_features": adult.sensitive_features}
    >>> start = kmeans_restarts(**data, n_clusters=5, n_runs=1, random_state=0)
    >>> ways = [traverse(labels=start.labels(0), operator=o, **data)
    ...         for o in ("R1", "batch")]
    >>> ways[1].n_iter < ways[0].n_iter
    True
    """

    least_gain: float = 0.0

    def __post_init__(self) -> None:
        check_least_gain(self.least_gain)

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield the largest batch that holds up or, if there is none, the moves of R1.

        Parameters
        ----------
        assignment : Assignment
            The clustering to start from; it is not changed.

        Yields
        ------
        Proposals
            One proposal, or the proposals of R1.
        """
        cost = assignment.problem.max_distance - assignment.lowest
        batch = _largest_that_holds_up(assignment, self.least_gain * cost)
        if batch is not None:
            moves, utilities = batch
            yield Proposals(utilities[None], lambda _: moves)
        elif self.least_gain == 0:
            yield from R1().generate(assignment)


def _largest_that_holds_up(
    assignment: Assignment, least_gain: float
) -> tuple[Moves, NDArray[np.float64]] | None:
    """Return the largest batch that holds up and the utilities after it, or None."""
    examples, targets, promised = _ranked_moves(assignment)
    labels, problem = assignment.labels, assignment.problem
    lowest, tolerance = assignment.lowest, problem.tolerance
    n_moved = int(np.argmax(promised)) + 1 if len(examples) > 0 else 0
    while n_moved > 0:
        moves = examples[:n_moved], targets[:n_moved]
        _, fault = cluster_sums.fault_in_moves(
            *moves, labels, problem.weights, assignment.members
        )
        if not fault:  # the only possible fault: a cluster would be left empty
            utilities = assignment.utilities_after(*moves)
            least = lowest + HOLDS_UP * (promised[n_moved - 1] - lowest)
            if utilities.min() > max(least, lowest + max(tolerance, least_gain)):
                return moves, utilities
        n_moved //= 2
    return None


def _ranked_moves(
    assignment: Assignment,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return examples and targets by falling exchange rate, and predicted utilities.

    There is at most one move per example, and each helps the least advantaged group.
    The j-th prediction is the lowest utility after the first j + 1 moves.
    """
    problem, labels = assignment.problem, assignment.labels
    n_groups, rows = problem.n_groups, np.arange(problem.n_samples)
    lag = int(np.argmin(assignment.utilities))
    with np.errstate(invalid="ignore", divide="ignore"):
        leaving = assignment.move_costs[labels, :, rows].T
        gain = -(assignment.move_costs[:, lag] + leaving[lag])
        # Row n_groups holds the sum over all groups.
        loss = assignment.move_costs[:, n_groups] + leaving[n_groups] + gain
        loss[loss <= problem.tolerance * problem.group_sizes.sum()] = 0.0
        is_useful = gain > problem.tolerance * problem.group_sizes[lag]
        rate = np.where(is_useful, gain / loss, -1.0)
    rate[labels, rows] = -1.0
    # If nobody loses, rates are infinite and the gain decides.
    targets = np.argmax(np.where(rate == rate.max(axis=0), gain, -np.inf), axis=0)
    examples = np.flatnonzero(rate[targets, rows] > 0)
    targets = targets[examples]
    order = np.lexsort((-gain[targets, examples], -rate[targets, examples]))
    examples, targets = examples[order], targets[order]
    costs = assignment.move_costs[targets, :n_groups, examples]
    costs += leaving[:n_groups, examples].T
    after = assignment.utilities - np.cumsum(costs / problem.group_sizes, axis=0)
    return examples, targets, after.min(axis=1)
