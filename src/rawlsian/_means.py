"""Mean centers: the best clusterings known, and a walk from there.

Where centers are the means of the clusters, as in the paper, most of the gain is in the
right partition to begin with: the ends of fair and of plain runs of k-means. What is
best for the worst-off group among these is then walked on from, one and two examples
at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian._assignment import Assignment
from rawlsian._fair import FairRuns, Solutions, random_centers
from rawlsian._problem import Problem
from rawlsian._traverse import Trajectory, traverse

# Clusterings that are walked on from, and the decimals in which they must differ.
N_WALKED, DECIMALS = 6, 9

# Up to this many single moves the last walk looks at all pairs of them.
MOST_MOVES = 20_000


def walk_from_the_best(
    problem: Problem, free: Solutions, n_runs: int, max_iter: int,
    rng: np.random.RandomState,
) -> Trajectory:  # fmt: skip
    """The walk that ends best for the worst-off group.

    It starts at the partition of a fair solution, or at the end of a plain k-means run.
    """
    n_clusters = free.centers.shape[1]
    everyone = Problem.from_arrays(problem.X, None, sample_weight=problem.weights)
    init = random_centers(problem, n_runs, n_clusters, rng)
    plain = FairRuns(everyone, max_iter).run(init - everyone.shift + problem.shift)
    starts = _most_fair(
        problem,
        [*(free.centers + problem.shift), *(plain.centers + everyone.shift)],
    )  # fmt: skip
    walks = [_walk(problem, labels, "R1") for labels in starts]
    best = max(walks, key=lambda walk: float(walk.utilities[-1].min()))
    is_small = problem.n_samples * (n_clusters - 1) <= MOST_MOVES
    operator = "R2-exhaustive" if is_small else "R1+R2"
    return _walk(problem, best.start_labels, operator, at_least=best)


def _most_fair(
    problem: Problem, centers: list[NDArray[np.float64]]
) -> list[NDArray[np.int32]]:
    """The partitions of these centers that serve the worst-off group best."""
    by_lowest: dict[float, NDArray[np.int32]] = {}
    for these in centers:
        labels, _ = nearest(problem.X, these)
        if np.bincount(labels, problem.weights, len(these)).min() > 0:
            lowest = float(Assignment(problem, labels).utilities.min())
            by_lowest.setdefault(round(lowest, DECIMALS), labels)
    return [by_lowest[key] for key in sorted(by_lowest, reverse=True)[:N_WALKED]]


def _walk(
    problem: Problem,
    labels: NDArray[np.int32],
    operator: str,
    at_least: Trajectory | None = None,
) -> Trajectory:
    """A traversal, or another one that ends higher."""
    walk = traverse(
        problem.X, labels, problem.group_names[problem.groups], operator=operator,
        sample_weight=problem.weights, max_distance=problem.max_distance,
    )  # fmt: skip
    if at_least and at_least.utilities[-1].min() > walk.utilities[-1].min():
        return at_least
    return walk


def nearest(
    X: NDArray[np.float64], centers: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The nearest center of each row, ties to the lower, and its squared distance."""
    labels = np.empty(len(X), np.int32)
    least = np.full(len(X), np.inf)
    for c, center in enumerate(centers):
        distances = ((X - center) ** 2).sum(axis=1)
        labels[distances < least] = c
        np.minimum(least, distances, out=least)
    return labels, least
