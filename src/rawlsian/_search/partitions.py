"""Partitions whose centers are the means of their clusters, as in the paper.

Most of the gain for the worst-off group comes from a good initial partition, such as
the results of Fair-Lloyd and k-means. The best of these are then improved by moving one
example at a time.
"""

from __future__ import annotations

from bisect import bisect
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import nearest
from rawlsian._core.problem import Problem
from rawlsian._search import hartigan
from rawlsian._search.fair_lloyd import FairRuns
from rawlsian._support.threads import run_in_chunks

Labels: TypeAlias = NDArray[np.int32]

# Temperatures relative to the total variance, each half of the one before, then 0; and
# the limit on sweeps at each.
TEMPERATURES = [*(0.05 * 0.5**level for level in range(12)), 0.0]
MAX_SWEEPS = 20
# If small gains do not count: each a quarter of the one before, and fewer sweeps.
# On the whole of Adult this lowers the lowest utility by 1.5e-5 and takes a third of
# the time.
QUICK_TEMPERATURES = [*(0.05 * 0.25**level for level in range(6)), 0.0]
QUICK_SWEEPS = 3

# If lowest utilities differ by less, relative to the variance, partitions are equal.
SAME = 1e-9

# Improving takes most of the time, so partitions are limited: the largest number of
# rows in all of them together, and the number of partitions to keep in any case.
AFFORDABLE, LEAST_KEPT = 80_000, 2


def best_partitions(
    problem: Problem, centers: NDArray[np.float64], n_kept: int
) -> list[Labels]:
    """Return the partitions by nearest center that serve the worst-off group best.

    They are compared with means for centers. At least one and at most n_kept are
    returned, fewer for many rows, without duplicates. An empty cluster gets one row.
    """
    n_kept = min(n_kept, max(AFFORDABLE // problem.n_samples, LEAST_KEPT))
    best: list[tuple[float, Labels]] = []
    for these in centers:
        labels = _without_gaps(nearest(problem.X, these)[0], problem, len(these))
        cost = -Assignment(problem, labels).lowest
        costs = [other for other, _ in best]
        place = bisect(costs, cost)
        neighbours = costs[max(place - 1, 0) : place + 1]
        if all(abs(cost - other) > SAME * problem.variance for other in neighbours):
            best.insert(place, (cost, labels))
            del best[n_kept:]
    return [labels for _, labels in best]


def _without_gaps(labels: Labels, problem: Problem, n_clusters: int) -> Labels:
    """Give each empty cluster a row of the largest one.  IN and OUT: labels."""
    rows = np.flatnonzero(problem.weights > 0)
    members = np.bincount(labels[rows], minlength=n_clusters)
    for c in np.flatnonzero(members == 0):
        source = int(np.argmax(members))
        row = rows[np.flatnonzero(labels[rows] == source)[-1]]
        labels[row] = c
        members[source] -= 1
        members[c] += 1
    return labels


def improved(
    runs: FairRuns,
    partitions: list[Labels],
    n_clusters: int,
    temperatures: list[float] | None = None,
    least_gain: float = 0.0,
) -> list[Labels]:
    """Improve each partition by moving one example at a time, until no move helps.

    With a ``least_gain`` this also ends when a sweep over all examples lowers the
    largest mean cost by less, and takes fewer sweeps before that.
    """
    problem, entries = runs.problem, runs.entries
    weights = problem.weights[entries.rows]
    is_quick = least_gain > 0
    if temperatures is None:
        temperatures = QUICK_TEMPERATURES if is_quick else TEMPERATURES
    max_sweeps = QUICK_SWEEPS if is_quick else MAX_SWEEPS
    heat = problem.variance * np.array(temperatures)

    def improve(start: int, stop: int) -> list[Labels]:
        found = []
        for labels in partitions[start:stop]:
            moved = labels[entries.rows]
            hartigan.improve(
                entries.ends, entries.columns, entries.values, weights, entries.groups,
                problem.group_sizes, *problem.pooling[1:], n_clusters,
                problem.X.shape[1], heat, max_sweeps, least_gain, problem.tolerance,
                moved,
            )  # fmt: skip
            found.append(moved[entries.places])
        return found

    chunks = run_in_chunks(improve, len(partitions), smallest_chunk=1)
    return [labels for chunk in chunks for labels in chunk]


def costs_of(problem: Problem, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the mean cost of each group; the problem's max_distance must be 0."""
    return -Assignment(problem, labels).utilities
