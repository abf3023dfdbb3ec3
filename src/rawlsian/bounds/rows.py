"""Rows of a relaxation: distinct ones, merged ones, and parts that are miniatures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin

from rawlsian._core.problem import Problem
from rawlsian._search.crossing import thorough_search
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns

# Iterations of the k-means that merges rows (it need not converge), and the least
# weight of a row in it, relative to the largest.
MERGING_ITERATIONS, LEAST_PULL = 10, 1e-6


class WeightedRows(NamedTuple):
    """Rows, of shape (n_rows, n_features), and their weights, which sum to 1."""

    rows: NDArray[np.float64]
    weights: NDArray[np.float64]


class GroupedRows(NamedTuple):
    """Distinct rows, and the weight of each in the mean cost of each group.

    ``shares`` has shape (n_rows, n_groups); each column sums to 1.
    """

    rows: NDArray[np.float64]
    shares: NDArray[np.float64]


def grouped_rows(problem: Problem) -> GroupedRows:
    """Return the distinct rows, sorted, and their shares of each group's cost."""
    X = problem.dense("a proved bound").X
    rows, inverse = np.unique(X, axis=0, return_inverse=True)
    shares = np.empty((len(rows), problem.n_groups))
    for g, unit in enumerate(np.eye(problem.n_groups)):
        weights = problem.pull(unit)[problem.groups] * problem.weights
        shares[:, g] = np.bincount(inverse.ravel(), weights)
    return GroupedRows(rows - problem.shift, shares / shares.sum(axis=0))


def weighted_rows(problem: Problem, lam: NDArray[np.float64]) -> WeightedRows:
    """Return distinct rows, sorted, and the weights that lambda gives them."""
    weights = problem.pull(lam)[problem.groups] * problem.weights
    X = problem.dense("a proved bound").X[weights > 0]
    rows, inverse = np.unique(X, axis=0, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights[weights > 0])
    # Far from the origin, sums would lose digits.
    return WeightedRows(rows - problem.shift, sums / sums.sum())


def merge(
    whole: WeightedRows, max_rows: int, rng: np.random.RandomState
) -> tuple[WeightedRows, NDArray[np.float64] | None]:
    """Merge rows to at most max_rows; return means, and the scatter within them."""
    rows, weights = whole
    if len(rows) <= max_rows:
        return whole, None
    # Any merging is valid; rows of tiny weight must not be lost to rounding.
    pull = np.maximum(weights, LEAST_PULL * weights.max())
    problem = Problem.from_arrays(rows, None, sample_weight=pull)
    init, _ = kmeans_plusplus(
        rows, max_rows, sample_weight=pull, random_state=rng, n_local_trials=1
    )
    found = FairRuns(problem, MERGING_ITERATIONS).run(init[None] - problem.shift)
    labels = pairwise_distances_argmin(rows, found.centers[0] + problem.shift)
    _, labels = np.unique(labels, return_inverse=True)
    means, mass = merged(whole, labels)
    scaled = np.sqrt(weights)[:, None] * (rows - means[labels])
    return WeightedRows(means, mass), scaled.T @ scaled


def merged(whole: WeightedRows, labels: NDArray[np.intp]) -> WeightedRows:
    """Return the mean and the weight of the rows with each label."""
    rows, weights = whole
    mass = np.asarray(np.bincount(labels, weights), dtype=np.float64)
    means = np.empty((len(mass), rows.shape[1]))
    for j in range(rows.shape[1]):
        means[:, j] = np.bincount(labels, weights * rows[:, j]) / mass
    return WeightedRows(means, mass)


def miniatures(
    whole: WeightedRows, max_rows: int, n_clusters: int, rng: np.random.RandomState
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Split rows into parts that resemble the whole; return parts and distances.

    The cost of k-means is at least the sum of its costs on the parts. The more alike
    these are, the less is lost. So the rows of each cluster are sorted by their columns
    of largest variance, and dealt out in turn. The distances are those to the centers
    found, squared.
    """
    rows, weights = whole
    problem = Problem.from_arrays(rows, None, sample_weight=weights)
    found = thorough_search(FairRuns(problem, MAX_ITER), n_clusters, rng)
    centers = found.centers[0] + problem.shift
    labels = pairwise_distances_argmin(rows, centers)
    columns = np.argsort(-np.var(rows, axis=0), kind="stable")
    order = np.lexsort((*rows.T[columns[::-1]], labels))
    parts = np.empty(len(rows), np.int32)
    parts[order] = np.arange(len(rows)) % -(-len(rows) // max_rows)
    return parts, ((rows - centers[labels]) ** 2).sum(axis=1)
