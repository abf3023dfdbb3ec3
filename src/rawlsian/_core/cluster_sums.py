"""Sufficient statistics of a clustering, compiled.

Letters as in the paper: row i has group g and weight w and is in cluster c. Rows are
read as x = X[i] - shift. For each cluster and group we keep counts n = sum w, sums
S = sum w x and squares Q = sum w |x|^2; for each cluster mass N = sum_g n and mean
m = sum_g S / N.

Sums run in one fixed order, as in ``move_kernels``. Numba's cache checks only the file
of a function, so no compiled function calls one of another file.
"""

import numpy as np

from rawlsian._support.compile import njit

# Rows and columns of a tile of X, which stays in the cache.
TILE = 64


# --- Rows ---


@njit
def column_moments(X, weights):
    """Return the weighted mean and variance of each column of X."""
    n_samples, n_features = X.shape
    mean, variance = np.zeros(n_features), np.zeros(n_features)
    total = weights.sum()
    for i in range(n_samples):
        for j in range(n_features):
            mean[j] += weights[i] * X[i, j]
    mean /= total
    for i in range(n_samples):
        for j in range(n_features):
            variance[j] += weights[i] * (X[i, j] - mean[j]) ** 2
    return mean, variance / total


@njit
def squared_norms(X, shift, norms, start, stop):
    """norms[i] = |X[i] - shift|^2.  OUT: norms[start:stop]."""
    for i in range(start, stop):
        total = 0.0
        for j in range(X.shape[1]):
            value = X[i, j] - shift[j]
            total += value * value
        norms[i] = total


@njit
def nearest_centers(X, centers, labels, distances, start, stop):
    """labels[i] = argmin_c |X[i] - centers[c]|^2; ties go to the lowest index.

    Rows are read tile by tile, transposed, so that the innermost loop vectorises; the
    sum of a distance has the order of the columns.
    OUT: labels[start:stop]; distances[start:stop], squared.
    """
    n_clusters, n_features = centers.shape
    tile = np.zeros((TILE, TILE))
    totals = np.empty((n_clusters, TILE))
    for first in range(start, stop, TILE):
        n_rows = min(TILE, stop - first)
        totals[:] = 0.0
        for begin in range(0, n_features, TILE):
            n_columns = min(TILE, n_features - begin)
            for i in range(n_rows):
                for j in range(n_columns):
                    tile[j, i] = X[first + i, begin + j]
            for c in range(n_clusters):
                total = totals[c]
                for j in range(n_columns):
                    center = centers[c, begin + j]
                    for i in range(TILE):
                        total[i] += (tile[j, i] - center) ** 2
        for i in range(n_rows):
            distances[first + i] = np.inf
            for c in range(n_clusters):
                if totals[c, i] < distances[first + i]:
                    labels[first + i], distances[first + i] = c, totals[c, i]


# --- Statistics ---


@njit
def accumulate(
    X, shift, norms, weights, groups, labels, members, counts, sums, squares
):
    """Compute all sums from the labels.  OUT: members, counts, sums, squares."""
    members[:] = 0
    counts[:] = 0.0
    sums[:] = 0.0
    squares[:] = 0.0
    for i in range(X.shape[0]):
        c, g, w = labels[i], groups[i], weights[i]
        members[c] += w > 0.0
        counts[c, g] += w
        squares[c, g] += w * norms[i]
        for j in range(X.shape[1]):
            sums[c, g, j] += w * (X[i, j] - shift[j])


@njit
def fault_in_moves(examples, targets, labels, weights, members):
    """Return the position of the first invalid move and its fault, or (-1, 0).

    Faults: 1 no such example, 2 no such cluster, 3 the example is named twice,
    4 its cluster would be empty after all moves.
    """
    n_samples, n_clusters = labels.shape[0], members.shape[0]
    is_named = np.zeros(n_samples, np.bool_)
    left = members.copy()
    for move in range(examples.shape[0]):
        i, target = examples[move], targets[move]
        if i < 0 or i >= n_samples:
            return move, 1
        if target < 0 or target >= n_clusters:
            return move, 2
        if is_named[i]:
            return move, 3
        is_named[i] = True
        if weights[i] > 0.0:
            left[labels[i]] -= 1
            left[target] += 1
    for move in range(examples.shape[0]):
        if left[labels[examples[move]]] == 0:
            return move, 4
    return -1, 0
