"""Weighted sample of out-of-core rows, in which clusters are searched."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.balanced import (
    SAMPLED_A_PLACE,
    balanced_part,
    draw_ranks,
    rows_of_ranks,
    weighted_problem,
)
from rawlsian._core.problem import Problem
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._rows.executors import Column

# Number of rows to search. With two groups it is the larger of the first number and the
# second times the clusters; it grows with the number of groups, up to the third.
LEAST_SEARCHED, SEARCHED_A_CLUSTER, MOST_SEARCHED = 10_000, 2_000, 40_000
# Solutions are refined on a sample that is this many times larger, unless it would hold
# more numbers than the second.
TIMES_COMPARED, MOST_NUMBERS = 8, 2**26


class Sample(NamedTuple):
    """Rows of every group, weighted to represent all rows.

    Attributes
    ----------
    problem : Problem
        The rows.
    wanted : list of list of ndarray
        Ranks of these rows within their groups, by block and group.
    """

    problem: Problem
    wanted: list[list[NDArray[np.int64]]]

    def to_search(self, n_clusters: int, rng: np.random.RandomState) -> Problem:
        """Return a weighted part of the sample, in which clusters are searched."""
        members = np.bincount(self.problem.groups)
        return balanced_part(self.problem, _n_searched(n_clusters, members), rng)

    def pooled(self, strength: float) -> Sample:
        """Return the sample with pooling of this strength."""
        return self._replace(problem=self.problem.pooled(strength))

    def labels(self, large: OutOfCoreProblem, labels: Column) -> NDArray[np.int32]:
        """Return the labels of the rows in the sample."""
        found = large.blocks.executor.run(
            _take_labels, [large.groups, large.weights, labels, self.wanted]
        )
        taken: NDArray[np.int32] = np.concatenate(list(found))
        return taken


def draw_sample(
    large: OutOfCoreProblem, n_clusters: int, rng: np.random.RandomState
) -> Sample:
    """Draw rows of every group in one pass; take all rows of small groups."""
    members = large.members.sum(axis=0)
    n_searched = _n_searched(n_clusters, members)
    most = max(MOST_NUMBERS // large.blocks.n_features, n_searched)
    ranks = draw_ranks(members, min(TIMES_COMPARED * n_searched, most), rng)
    before = np.cumsum(large.members, axis=0) - large.members
    wanted = [
        [
            r[np.searchsorted(r, first) : np.searchsorted(r, first + n)] - first
            for r, first, n in zip(ranks, before[b], large.members[b], strict=True)
        ]
        for b in range(large.blocks.n_blocks)
    ]
    found = list(large.blocks.run(_take, [large.groups, large.weights, wanted]))
    large.count_pass()
    X = np.concatenate([each[0] for each in found])
    groups = np.concatenate([each[1] for each in found])
    weights = np.concatenate([each[2] for each in found])
    return Sample(weighted_problem(X, groups, weights, large.people), wanted)


def _n_searched(n_clusters: int, members: NDArray[np.int64]) -> int:
    """Return the number of rows to search."""
    n_groups = len(members)
    for_two = max(LEAST_SEARCHED, SEARCHED_A_CLUSTER * n_clusters)
    enough = min(for_two * max(n_groups, 2) // 2, MOST_SEARCHED)
    return max(enough, SAMPLED_A_PLACE * n_clusters, SAMPLED_A_PLACE * n_groups)


def _take(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    wanted: list[NDArray[np.int64]],
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    rows = rows_of_ranks(groups, weights, wanted)
    taken = np.broadcast_to(weights, groups.shape)[rows]
    return X[rows].astype(np.float64), groups[rows], taken


def _take_labels(
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    labels: NDArray[np.int32],
    wanted: list[NDArray[np.int64]],
) -> NDArray[np.int32]:
    taken: NDArray[np.int32] = labels[rows_of_ranks(groups, weights, wanted)]
    return taken
