"""Nearest centers and cluster sums of dense rows, compiled; many runs at once.

Scores come from matrix products, see ``dense_runs``. Labels have shape (n_runs,
n_samples), sums (n_runs, n_clusters, n_groups, n_features).

Numba's cache checks only the file of a function, so no compiled function calls one of
another file.
"""

import numpy as np

from rawlsian._support.compile import njit

# Rows whose labels are compared at a time: few enough to stay in the cache.
ROWS_A_BLOCK = 256


@njit
def pick_nearest(scores, half_norms, labels, start):
    """labels[run, start + i] = argmax_c scores[run, c, i] - |m|^2 / 2.

    Ties go to the lowest cluster.  OUT: labels of the rows of this block.
    """
    n_runs, n_clusters, n_rows = scores.shape
    best, nearest = np.empty(n_rows), np.empty(n_rows, np.int32)
    for run in range(n_runs):
        half_norm = half_norms[run, 0]
        for i in range(n_rows):
            best[i] = scores[run, 0, i] - half_norm
            nearest[i] = 0
        for c in range(1, n_clusters):
            half_norm = half_norms[run, c]
            for i in range(n_rows):
                score, highest = scores[run, c, i] - half_norm, best[i]
                nearest[i] = c if score > highest else nearest[i]
                best[i] = score if score > highest else highest
        labels[run, start : start + n_rows] = nearest


@njit
def move_rows(X, shift, weights, groups, labels, moved, start, stop, sums):
    """Move rows from their labels to others, in the sums of columns start to stop - 1.

    A label of -1 means that the row is in no cluster yet.  OUT: sums.
    """
    n_runs, n_samples = labels.shape
    row = np.empty(stop - start)
    for first in range(0, n_samples, ROWS_A_BLOCK):
        last = min(first + ROWS_A_BLOCK, n_samples)
        for i in range(first, last):
            g, weight, is_read = groups[i], weights[i], False
            for run in range(n_runs):
                old, new = labels[run, i], moved[run, i]
                if old == new:
                    continue
                if not is_read:
                    for j in range(start, stop):
                        row[j - start] = weight * (X[i, j] - shift[j])
                    is_read = True
                for j in range(start, stop):
                    sums[run, new, g, j] += row[j - start]
                if old >= 0:
                    for j in range(start, stop):
                        sums[run, old, g, j] -= row[j - start]


@njit
def count_moves(weights, groups, labels, moved, members, counts, n_changed):
    """Move rows in the numbers of members and the counts, and in the labels.

    OUT: labels, equal to ``moved``; members and counts, of shape (n_runs, n_clusters,
    n_groups), exactly 0 without members; n_changed, rows that changed in each run.
    """
    n_runs, n_samples = labels.shape
    for run in range(n_runs):
        n_changed[run] = 0
        for i in range(n_samples):
            old, new, g = labels[run, i], moved[run, i], groups[i]
            if old == new:
                continue
            n_changed[run] += 1
            labels[run, i] = new
            members[run, new, g] += 1
            counts[run, new, g] += weights[i]
            if old >= 0:
                members[run, old, g] -= 1
                counts[run, old, g] -= weights[i]
                if members[run, old, g] == 0:
                    counts[run, old, g] = 0.0


@njit
def squared_distances(X, shift, labels, centers):
    """Return |x - m|^2 of each row to its center; exactly 0 if they are equal."""
    distances = np.zeros(X.shape[0])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            distances[i] += (X[i, j] - shift[j] - centers[labels[i], j]) ** 2
    return distances
