"""Finish the solutions of a search on a problem in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import group_means, nearest
from rawlsian._core.problem import Problem
from rawlsian._engines.engine import Clusters
from rawlsian._search.crossing import SearchEnd
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns, Solutions
from rawlsian._search.leximin import is_better, leximin_best
from rawlsian._search.partitions import best_partitions, costs_of, improved
from rawlsian._support.interruption import keeps_partial
from rawlsian.operators.compositions import Rawls
from rawlsian.operators.traversal import traverse_of

# Number of partitions to improve if centers are means.
N_IMPROVED = 32

# Number of solutions of a part of the rows that run on all; they end when an iteration
# lowers the largest cost by less than the first share of it, the best of them by less
# than the second.
N_REFINED, ROUGH_GAIN, LEAST_GAIN = 8, 1e-4, 1e-7


def refined(
    searched: Problem, whole: Problem, found: Solutions, is_interrupted: bool
) -> Solutions:
    """Run the best solutions of a part on all rows; best first.

    If all rows were searched, or upon Ctrl-C, the solutions stay as they are.
    """
    if searched.n_samples == whole.n_samples:
        return found
    found = found._replace(centers=found.centers + searched.shift - whole.shift)
    if is_interrupted:
        return found
    runs = FairRuns(whole, MAX_ITER)
    rough = runs.run(found.centers[:N_REFINED], least_gain=ROUGH_GAIN)
    rough = rough.take(np.argsort(rough.objectives, kind="stable").tolist())
    best = runs.run(rough.centers[:1], least_gain=LEAST_GAIN)
    best = best.join(rough)
    return leximin_best(runs, best) if whole.n_groups > 2 else best


def free_centers(problem: Problem, found: Solutions, is_interrupted: bool) -> Clusters:
    """Return the first solution, recomputed from its centers."""
    centers = found.centers[0] + problem.shift
    labels, distances = nearest(problem.X, centers)
    return Clusters(
        labels, centers, group_means(problem.pooled(0), distances),
        inertia=float(problem.weights @ distances), n_iter=int(found.n_iter[0]),
        group_weights=found.group_weights[0], stop_reason=search_end(is_interrupted),
    )  # fmt: skip


def improved_partition(
    runs: FairRuns, found: Solutions, is_interrupted: bool
) -> tuple[NDArray[np.int32], bool]:
    """Improve the best partitions of the solutions; return the best, is_interrupted.

    Ctrl-C ends the improvement with the best partition so far.
    """
    problem, n_clusters = runs.problem, found.centers.shape[1]
    starts = best_partitions(problem, found.centers + problem.shift, N_IMPROVED)
    labels = starts[0]
    try:
        if not is_interrupted:
            for candidate in improved(runs, starts, n_clusters):
                costs = costs_of(problem, candidate)
                if is_better(costs, costs_of(problem, labels)):
                    labels = candidate
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        is_interrupted = True
    return labels, is_interrupted


def walked_means(runs: FairRuns, found: Solutions, is_interrupted: bool) -> Clusters:
    """Improve the best partitions, and walk on from the best of them.

    Ctrl-C ends this with the best partition so far.
    """
    problem, n_clusters = runs.problem, found.centers.shape[1]
    labels, is_interrupted = improved_partition(runs, found, is_interrupted)
    try:
        if not is_interrupted:
            way = traverse_of(problem, labels, operator=Rawls())
            labels, is_interrupted = way.labels, way.stop_reason == "interrupted"
        if not is_interrupted:
            # Serve the other groups better, without harm to the worst-off.
            labels = improved(runs, [labels], n_clusters, [0.0])[0]
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        is_interrupted = True
    end = Assignment(problem.pooled(0), labels)
    return Clusters(
        labels, end.centers, -end.utilities, inertia=float(end.costs.sum()),
        n_iter=int(found.n_iter[0]), group_weights=None,
        stop_reason=search_end(is_interrupted),
    )  # fmt: skip


def search_end(is_interrupted: bool) -> SearchEnd:
    """Return why a search in memory ended."""
    return "interrupted" if is_interrupted else "completed"
