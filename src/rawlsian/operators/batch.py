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

# A batch holds up if it brings at least this share of what its moves promise.
HOLDS_UP = 0.5


@dataclass(frozen=True)
class Batch:
    """Move many examples at once, those first that cost the others least.

    Single moves that raise the utility of the least advantaged group are ranked by
    their exchange rate: what it gains for what the others lose. Of the moves that
    together promise the highest lowest utility, all are tried; if what they bring,
    evaluated exactly, is less than half of what they promise, the better half of them,
    and so on. Where not even one holds up, the moves of R1 are proposed: it ends only
    where R1 would.

    Parameters
    ----------
    least_gain : float, default=0.0
        A batch must raise the lowest utility by more than this share of the mean cost
        of the worst-off group. Above 0, no moves of R1 are proposed: with many rows
        there are thousands of them that gain next to nothing.

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
        """Yield the largest batch that holds up or, if there is none, R1's moves."""
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
    """Moves by exchange rate, halved until they hold up, and where they lead."""
    examples, targets, promised = _ranked_moves(assignment)
    labels, problem = assignment.labels, assignment.problem
    lowest, tolerance = assignment.lowest, problem.tolerance
    n_moved = int(np.argmax(promised)) + 1 if len(examples) > 0 else 0
    while n_moved > 0:
        moves = examples[:n_moved], targets[:n_moved]
        _, fault = cluster_sums.fault_in_moves(
            *moves, labels, problem.weights, assignment.members
        )
        if not fault:  # there could be one only: a cluster would be left empty
            utilities = assignment.utilities_after(*moves)
            least = lowest + HOLDS_UP * (promised[n_moved - 1] - lowest)
            if utilities.min() > max(least, lowest + max(tolerance, least_gain)):
                return moves, utilities
        n_moved //= 2
    return None


def _ranked_moves(
    assignment: Assignment,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Moves by exchange rate and the lowest utility that so many of them promise.

    One move an example, none of them harmful to the least advantaged group.
    """
    problem, labels = assignment.problem, assignment.labels
    n_groups, rows = problem.n_groups, np.arange(problem.n_samples)
    lag = int(np.argmin(assignment.utilities))
    with np.errstate(invalid="ignore", divide="ignore"):
        leaving = assignment.move_costs[labels, :, rows].T
        gain = -(assignment.move_costs[:, lag] + leaving[lag])
        # Row n_groups has the sum over all groups.
        loss = assignment.move_costs[:, n_groups] + leaving[n_groups] + gain
        loss[loss <= problem.tolerance * problem.group_sizes.sum()] = 0.0
        is_useful = gain > problem.tolerance * problem.group_sizes[lag]
        rate = np.where(is_useful, gain / loss, -1.0)
    rate[labels, rows] = -1.0
    # Where nobody loses, rates are infinite and the gain decides.
    targets = np.argmax(np.where(rate == rate.max(axis=0), gain, -np.inf), axis=0)
    examples = np.flatnonzero(rate[targets, rows] > 0)
    targets = targets[examples]
    order = np.lexsort((-gain[targets, examples], -rate[targets, examples]))
    examples, targets = examples[order], targets[order]
    costs = assignment.move_costs[targets, :n_groups, examples]
    costs += leaving[:n_groups, examples].T
    after = assignment.utilities - np.cumsum(costs / problem.group_sizes, axis=0)
    return examples, targets, after.min(axis=1)
