"""Rows of a sparse matrix, compiled.

Row i has ``values[entry]`` in column ``columns[entry]`` for
``ends[i] <= entry < ends[i + 1]``; columns ascend, and no value is 0.

Sums run over rows and columns in the order of the dense kernels. A zero adds nothing,
so most sums are those of dense rows, bit for bit. Numba's cache checks only the file of
a function, so no compiled function calls one of another file.
"""

import numpy as np

from rawlsian._support.compile import njit

# A distance this small, relative to its terms, has lost six digits. Distances that
# differ by less than the second, relative to their terms, may be equal.
CANCELLED = 1e-6
NEARLY_EQUAL = 1e-9


@njit
def column_figures(ends, columns, values, weights, n_features):
    """Return the weighted mean and variance, lowest and highest value of columns."""
    total, present = 0.0, np.zeros(n_features)
    mean, variance = np.zeros(n_features), np.zeros(n_features)
    lowest, highest = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    members = np.zeros(n_features, np.int64)
    for i in range(weights.shape[0]):
        total += weights[i]
        for entry in range(ends[i], ends[i + 1]):
            j, value = columns[entry], values[entry]
            members[j] += 1
            present[j] += weights[i]
            mean[j] += weights[i] * value
            lowest[j], highest[j] = min(lowest[j], value), max(highest[j], value)
    mean /= total
    for i in range(weights.shape[0]):
        for entry in range(ends[i], ends[i + 1]):
            j = columns[entry]
            variance[j] += weights[i] * (values[entry] - mean[j]) ** 2
    for j in range(n_features):
        if members[j] < weights.shape[0]:  # the others are 0
            variance[j] += max(total - present[j], 0.0) * mean[j] ** 2
            lowest[j], highest[j] = min(lowest[j], 0.0), max(highest[j], 0.0)
    return mean, variance / total, lowest, highest


@njit
def count_entries(columns, members):
    """members[j] = number of entries in column j.  OUT: members, given as zeros."""
    for entry in range(columns.shape[0]):
        members[columns[entry]] += 1


@njit
def subtract(ends, columns, values, shift, shifted, out_ends, out_columns, out_values):
    """List the entries of the rows less ``shift``, which is 0 but in some columns.

    IN: shifted, these columns, ascending.  OUT: out_ends; out_columns and out_values,
    unless they are empty: then entries are only counted.
    """
    n, is_counting = 0, out_columns.shape[0] == 0
    out_ends[0] = 0
    for i in range(ends.shape[0] - 1):
        entry, place = ends[i], 0
        while entry < ends[i + 1] or place < shifted.shape[0]:
            j, value = np.int64(shift.shape[0]), 0.0
            if entry < ends[i + 1]:
                j = np.int64(columns[entry])
            if place < shifted.shape[0] and shifted[place] <= j:
                if shifted[place] < j:
                    j = np.int64(shifted[place])
                else:
                    value = values[entry]
                    entry += 1
                value -= shift[j]
                place += 1
            else:
                value = values[entry]
                entry += 1
            if value != 0.0:
                if not is_counting:
                    out_columns[n], out_values[n] = j, value
                n += 1
        out_ends[i + 1] = n


@njit
def squared_norms(ends, values, norms):
    """norms[i] = |x_i|^2.  OUT: norms."""
    for i in range(norms.shape[0]):
        total = 0.0
        for entry in range(ends[i], ends[i + 1]):
            total += values[entry] * values[entry]
        norms[i] = total


@njit
def add_by_cell(ends, columns, values, weights, cells, sums):
    """sums[cells[i]] += weights[i] x_i.  OUT: sums."""
    for i in range(weights.shape[0]):
        for entry in range(ends[i], ends[i + 1]):
            sums[cells[i], columns[entry]] += weights[i] * values[entry]


@njit
def exact_distance(row, center):
    """Return |row - center|^2 of a dense row."""
    distance = 0.0
    for j in range(row.shape[0]):
        distance += (row[j] - center[j]) ** 2
    return distance


@njit
def nearest_centers(
    ends, columns, values, full, centers, by_column, norms, labels, distances, start,
    stop,
):  # fmt: skip
    """labels[i] = argmin_c |x_i - centers[c]|^2; ties go to the lowest index.

    |x - m|^2 is summed over ``full`` columns; over the others, it is
    |x|^2 - 2 x.m + |m|^2. Where that cancels most digits, or two centers are nearly
    equally near, all columns are summed as for a dense row, so labels are the same.
    IN: by_column, the centers transposed; norms, |m|^2 over columns that are not full.
    OUT: labels[start:stop]; distances[start:stop], squared.
    """
    n_clusters, n_features = centers.shape
    row, scores = np.zeros(n_features), np.empty(n_clusters)
    is_full = np.zeros(n_features, np.bool_)
    is_full[full] = True
    for i in range(start, stop):
        square = 0.0
        scores[:] = norms
        for entry in range(ends[i], ends[i + 1]):
            j, value = columns[entry], values[entry]
            row[j] = value
            if not is_full[j]:
                square += value * value
                for c in range(n_clusters):
                    scores[c] -= 2.0 * value * by_column[j, c]
        for j in full:
            for c in range(n_clusters):
                scores[c] += (row[j] - by_column[j, c]) ** 2
        best = np.argmin(scores)
        terms, least = square + norms[best], square + scores[best]
        near = scores[best] + NEARLY_EQUAL * (terms + abs(scores[best]))
        n_near = 0
        for c in range(n_clusters):
            n_near += scores[c] <= near
        if n_near > 1 or least < CANCELLED * terms:
            least = np.inf
            for c in range(n_clusters):
                if scores[c] <= near:
                    distance = exact_distance(row, centers[c])
                    if distance < least:
                        best, least = c, distance
        labels[i], distances[i] = best, least
        for entry in range(ends[i], ends[i + 1]):
            row[columns[entry]] = 0.0


# --- Sorted entries ---


@njit
def sort_in_rows(ends, columns, ranks, sorted_ranks, offsets):
    """Sort the entries of each row by the rank of their columns.

    OUT: sorted_ranks; offsets, so that an entry is at ends[i] + offsets[entry].
    """
    for i in range(ends.shape[0] - 1):
        start, stop = ends[i], ends[i + 1]
        here = ranks[columns[start:stop]]
        order = np.argsort(here)
        offsets[start:stop] = order
        sorted_ranks[start:stop] = here[order]


@njit
def is_before(ends, sorted_ranks, offsets, values, a, b):
    """Return True if row a comes strictly before row b, column by column of rank."""
    p, q = ends[a], ends[b]
    while p < ends[a + 1] or q < ends[b + 1]:
        rank_a = sorted_ranks[p] if p < ends[a + 1] else np.uint32(2**32 - 1)
        rank_b = sorted_ranks[q] if q < ends[b + 1] else np.uint32(2**32 - 1)
        ours = values[ends[a] + offsets[p]] if rank_a <= rank_b else 0.0
        theirs = values[ends[b] + offsets[q]] if rank_b <= rank_a else 0.0
        if ours != theirs:
            return ours < theirs
        p += 1
        q += 1
    return False


@njit
def sort_rows(ends, sorted_ranks, offsets, values):
    """Return the rows in lexicographic order; equal rows by index (merge sort)."""
    n_rows = ends.shape[0] - 1
    rows, merged = np.arange(n_rows), np.empty(n_rows, np.int64)
    width = 1
    while width < n_rows:
        for left in range(0, n_rows, 2 * width):
            middle, right = min(left + width, n_rows), min(left + 2 * width, n_rows)
            a, b = left, middle
            for place in range(left, right):
                if b >= right or (
                    a < middle
                    and not is_before(
                        ends, sorted_ranks, offsets, values, rows[b], rows[a]
                    )
                ):
                    merged[place] = rows[a]
                    a += 1
                else:
                    merged[place] = rows[b]
                    b += 1
        rows, merged = merged, rows
        width *= 2
    return rows


@njit
def list_entries(
    ends, columns, values, offsets, rows, out_ends, out_columns, out_values
):
    """List the entries of ``rows``, within a row by rank, padded to even numbers.

    IN: out_columns, out_values, given as zeros.  OUT: out_columns, out_values.
    """
    for place in range(rows.shape[0]):
        i, out = rows[place], out_ends[place]
        for entry in range(ends[i], ends[i + 1]):
            source = ends[i] + offsets[entry]
            out_columns[out], out_values[out] = columns[source], values[source]
            out += 1
