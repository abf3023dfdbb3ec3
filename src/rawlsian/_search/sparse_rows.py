"""Sparse rows and random initial rows for Lloyd's algorithm, compiled.

One-hot rows are mostly zeros. Row i has ``values[entry]`` in column ``columns[entry]``
for ``ends[i] <= entry < ends[i + 1]``. Kernels read entries in pairs, so a zero entry
pads an odd number. Rows are sorted, so many begin with the same ``shared[i]`` pairs of
entries as the row before.

Numba's cache checks only the file of a function, so no compiled function calls one of
another file.
"""

import numpy as np

from rawlsian._support.compile import njit


@njit
def count_entries(X, shift, rows, ends):
    """ends[i + 1] = ends[i] + entries of X[rows[i]] - shift, made even.  OUT: ends."""
    ends[0] = 0
    for i in range(rows.shape[0]):
        n_entries = 0
        for j in range(X.shape[1]):
            if X[rows[i], j] != shift[j]:
                n_entries += 1
        ends[i + 1] = ends[i] + n_entries + n_entries % 2


@njit
def list_entries(X, shift, rows, order, ends, columns, values):
    """List the entries of X[rows] - shift, within a row by columns in this order.

    IN: ends, from count_entries.  OUT: columns, values, both given as zeros.
    """
    for i in range(rows.shape[0]):
        entry = ends[i]
        for j in order:
            if X[rows[i], j] != shift[j]:
                columns[entry] = j
                values[entry] = X[rows[i], j] - shift[j]
                entry += 1


@njit
def count_shared(ends, columns, values, shared):
    """Count the pairs of entries with which a row begins as the row before does.

    OUT: shared.
    """
    shared[:] = 0
    for i in range(1, shared.shape[0]):
        here, before = ends[i], ends[i - 1]
        n_common = min(ends[i + 1] - here, here - before)
        while shared[i] * 2 < n_common and (
            columns[here] == columns[before]
            and values[here] == values[before]
            and columns[here + 1] == columns[before + 1]
            and values[here + 1] == values[before + 1]
        ):
            shared[i] += 1
            here += 2
            before += 2


@njit
def distinct_rows(draws, rows):
    """Turn draws[run, t] in [0, n - t) into distinct rows of each run in [0, n).

    rows[run, t] is the draws[run, t]-th of the rows not yet drawn.  OUT: rows.
    """
    n_runs, n_drawn = draws.shape
    taken = np.empty(n_drawn, np.int64)  # sorted
    for run in range(n_runs):
        for t in range(n_drawn):
            row, before = draws[run, t], 0
            while before < t and taken[before] <= row:
                row += 1
                before += 1
            for later in range(t, before, -1):
                taken[later] = taken[later - 1]
            taken[before] = row
            rows[run, t] = row
