"""Nearest centers, and weighted means by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import cluster_sums
from rawlsian._core.problem import ROWS_A_THREAD, Problem
from rawlsian._support.threads import run_in_chunks


def nearest(
    X: NDArray[np.float64], centers: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return each row's nearest center (ties: lowest index) and squared distance."""
    labels, distances = np.zeros(len(X), np.int32), np.empty(len(X))
    run_in_chunks(
        lambda start, stop: cluster_sums.nearest_centers(
            X, centers, labels, distances, start, stop
        ),
        len(X),
        smallest_chunk=ROWS_A_THREAD,
    )
    return labels, distances


def group_means(problem: Problem, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted mean of values, one per row, in each group, pooled."""
    sums = np.bincount(problem.groups, problem.weights * values, problem.n_groups)
    pooled = problem.pooling.mix(np.asarray(sums, np.float64))
    means: NDArray[np.float64] = pooled / problem.group_sizes
    return means
