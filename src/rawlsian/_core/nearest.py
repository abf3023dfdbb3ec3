"""Nearest centers, means of clusters, and weighted means by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core import cluster_sums, csr_kernels
from rawlsian._core.checks import check_labels
from rawlsian._core.problem import Problem
from rawlsian._core.sparse import Matrix, SparseRows
from rawlsian._support.threads import run_in_chunks

# Distances to centers, times columns, that are worth a thread: a millisecond or so.
NUMBERS_A_THREAD = 2**21


def nearest(
    X: Matrix, centers: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return each row's nearest center (ties: lowest index) and squared distance."""
    labels, distances = np.zeros(len(X), np.int32), np.empty(len(X))
    given: tuple[object, ...] = (X, centers)
    kernel = cluster_sums.nearest_centers
    if isinstance(X, SparseRows):
        given = _sparse_terms(X, centers)
        kernel = csr_kernels.nearest_centers
    run_in_chunks(
        lambda start, stop: kernel(*given, labels, distances, start, stop),
        len(X),
        smallest_chunk=max(NUMBERS_A_THREAD // (X.shape[1] * len(centers)), 1),
    )
    return labels, distances


def _sparse_terms(X: SparseRows, centers: NDArray[np.float64]) -> tuple[object, ...]:
    """Return the rows and centers as the kernel of sparse rows takes them."""
    rest = centers.copy()
    rest[:, X.full] = 0.0
    return (
        X.ends, X.columns, X.values, X.full, np.ascontiguousarray(centers),
        np.ascontiguousarray(centers.T), (rest**2).sum(axis=1),
    )  # fmt: skip


def served_by_means(
    problem: Problem, labels: ArrayLike
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the cluster that serves each sparse row, and its squared distance.

    The means are those of ``labels``, a user's; the problem's utility says which mean
    serves a row.
    """
    X = problem.X
    assert isinstance(X, SparseRows), "dense rows have an Assignment"
    checked = check_labels(labels, problem.weights)
    mass = np.bincount(checked, problem.weights)
    sums = X.minus(problem.shift).sums(problem.weights, checked, len(mass))
    centers = sums / mass[:, None] + problem.shift
    if problem.utility == "nearest":
        return nearest(X, centers)
    distances = np.empty(len(X))
    for c in range(len(mass)):
        rows = checked == c
        distances[rows] = nearest(X[rows], centers[c : c + 1])[1]
    return checked, distances


def group_means(problem: Problem, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted mean of values, one per row, in each group, pooled."""
    sums = np.bincount(problem.groups, problem.weights * values, problem.n_groups)
    pooled = problem.pooling.mix(np.asarray(sums, np.float64))
    means: NDArray[np.float64] = pooled / problem.group_sizes
    return means
