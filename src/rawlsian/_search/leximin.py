"""Leximin: after the worst-off group the second worst-off, and so on.

For a partition, minimising the largest mean cost fixes the centers of all clusters with
members of a group that has this cost. The other centers are free to serve the other
groups: the largest of their costs is minimised in the same way, and so on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from rawlsian._core.nearest import group_means, nearest
from rawlsian._core.problem import Problem
from rawlsian._core.sparse import SparseRows
from rawlsian._search import lloyd
from rawlsian._search.fair_lloyd import SAME, FairRuns, Solutions

# A group with a smaller lambda does not have the largest cost.
NO_WEIGHT = 1e-6


def leximin_best(runs: FairRuns, solutions: Solutions) -> Solutions:
    """Put the leximin-best solution before the solutions, which come best first.

    It starts from one of the solutions with the lowest largest cost. Each of these is
    improved by alternating leximin centers and nearest centers.
    """
    problem = runs.problem
    lowest = solutions.objectives[0]
    is_level = solutions.objectives - lowest <= SAME * lowest
    level = np.flatnonzero(is_level).tolist()
    ends = [
        _alternate(problem, solutions.centers[run] + problem.shift, runs.max_iter)
        for run in level
    ]
    best = 0
    for place, (costs, _) in enumerate(ends):
        if is_better(costs, ends[best][0]):
            best = place
    costs, centers = ends[best]
    chosen = solutions.take([level[best]])
    chosen = chosen._replace(costs=costs[None], centers=centers[None] - problem.shift)
    return chosen.join(solutions)


def is_better(costs: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Return True if the largest cost is lower or, if equal, the next, and so on."""
    # The tolerance is relative, as Fair-Lloyd equalises costs only up to a relative
    # error. hartigan.is_leximin_better compares single moves, whose gains can be far
    # smaller than that, and so uses the tolerance of a Problem.
    for ours, theirs in zip(np.sort(costs)[::-1], np.sort(others)[::-1], strict=True):
        if abs(ours - theirs) > SAME * max(ours, theirs):
            return bool(ours < theirs)
    return False


def _alternate(
    problem: Problem, centers: NDArray[np.float64], max_iter: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Alternate leximin centers and nearest centers while that improves the costs.

    Returns the mean costs of the groups, and the centers.
    """
    labels, distances = nearest(problem.X, centers)
    costs = group_means(problem, distances)
    for _ in range(max_iter):
        moved = leximin_centers(problem, labels, centers)
        labels, distances = nearest(problem.X, moved)
        after = group_means(problem, distances)
        if not is_better(after, costs):
            break
        costs, centers = after, moved
    return costs, centers


def leximin_centers(
    problem: Problem, labels: NDArray[np.int32], centers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return leximin-best centers of a partition; those of empty clusters stay."""
    mix, sums = problem.pooling.mix, _statistics(problem, labels, len(centers))
    found = leximin_of_sums(
        problem.group_sizes, mix(sums[0]), mix(sums[1]), mix(sums[2]),
        centers - problem.shift,
    )  # fmt: skip
    moved: NDArray[np.float64] = found + problem.shift
    return moved


def leximin_of_sums(
    group_sizes: NDArray[np.float64],
    counts: NDArray[np.float64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    centers: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return leximin-best centers, given the sums of a partition.

    ``counts`` and ``squares`` have shape (n_groups, n_clusters), ``sums`` has shape
    (n_groups, n_clusters, n_features). ``centers`` are those of empty clusters.
    """
    n_groups, n_clusters = counts.shape
    found = centers.copy()
    spent = np.zeros(n_groups)  # costs of the groups in clusters with fixed centers
    waiting = _separate(counts, np.arange(n_groups), np.arange(n_clusters))
    while waiting:
        groups, clusters = waiting.pop()
        here = np.ix_(groups, clusters)
        weights = fair_weights_of_sums(
            group_sizes[groups], counts[here], sums[here],
            spent[groups] + squares[here].sum(axis=1),
        )  # fmt: skip
        pull = weights / group_sizes[groups]
        has_weight = weights > NO_WEIGHT
        is_fixed = counts[here][has_weight].sum(axis=0) > 0
        for c in clusters[is_fixed]:
            mass = pull @ counts[groups, c]
            found[c] = pull @ sums[groups, c] / mass
            norm = found[c] @ found[c]
            spent += squares[:, c] - 2 * sums[:, c] @ found[c] + counts[:, c] * norm
        waiting += _separate(counts, groups[~has_weight], clusters[~is_fixed])
    return found


def _separate(
    counts: NDArray[np.float64], groups: NDArray[np.int64], clusters: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return connected sets of groups and clusters; sets do not affect each other.

    Solved together, their largest costs would be equalised, although some sets could
    do better.
    """
    shares = counts[np.ix_(groups, clusters)] > 0
    n_groups, n_clusters = shares.shape
    links = np.zeros((n_groups + n_clusters,) * 2)
    links[:n_groups, n_groups:] = shares
    n_sets, which = connected_components(links, directed=False)
    sets = [
        (groups[which[:n_groups] == one], clusters[which[n_groups:] == one])
        for one in range(n_sets)
    ]
    return [(some, theirs) for some, theirs in sets if len(some) and len(theirs)]


def _statistics(
    problem: Problem, labels: NDArray[np.int32], n_clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return counts, sums and squares, by group and cluster."""
    n_groups, (_, n_features) = problem.n_groups, problem.X.shape
    cells, shape = problem.groups * n_clusters + labels, (n_groups, n_clusters)

    def add_up(values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.bincount(cells, problem.weights * values, n_groups * n_clusters)
        return np.asarray(total, dtype=np.float64).reshape(shape)

    if isinstance(problem.X, SparseRows):
        rows = problem.X.minus(problem.shift)
        sums = rows.sums(problem.weights, cells, n_groups * n_clusters)
        sums = sums.reshape(*shape, n_features)
    else:
        sums = np.empty((*shape, n_features))
        for j in range(n_features):
            # In float64 also for rows of float32, with any version of NumPy.
            column = np.subtract(problem.X[:, j], problem.shift[j], dtype=np.float64)
            sums[:, :, j] = add_up(column)
    return add_up(np.ones(len(labels))), sums, add_up(problem.norms)


def fair_weights_of_sums(
    group_sizes: NDArray[np.float64],
    counts: NDArray[np.float64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return lambda, the group weights that minimise the largest mean cost.

    ``counts`` has shape (n_groups, n_clusters), ``sums`` has shape
    (n_groups, n_clusters, n_features), ``squares`` has shape (n_groups,).
    """
    n_groups = len(group_sizes)
    # In the order for which fair_runs has the kernel compiled; another takes seconds.
    dots = np.ascontiguousarray(np.einsum("gcj,hcj->ghc", sums, sums))
    weights, costs = np.full(n_groups, 1 / n_groups), np.empty(n_groups)
    lloyd.fair_weights(
        0, 1, group_sizes, squares, counts.ravel(), dots, lloyd.FAIR_TOLERANCE, weights,
        costs,
    )  # fmt: skip
    return weights
