"""Rows as their non-zero entries, and starts drawn among them: what a run begins with.

One-hot rows are mostly zeros. Row i has ``values[entry]`` in column ``columns[entry]``
for entry from ``ends[i]`` up to ``ends[i + 1]``. A zero makes their number even where
it is odd: they are met in twos. Rows come sorted, so that many begin with the same
``shared[i]`` twos as the row before.

Numba's cache looks at the file of a function only, so that no compiled function of
another file is called.
"""

import numpy as np

from rawlsian._support.compile import njit


@njit
def count_entries(X, shift, rows, ends):
    """Where the entries of each row of X[rows] - shift end.  OUT: ends."""
    ends[0] = 0
    for i in range(rows.shape[0]):
        n_entries = 0
        for j in range(X.shape[1]):
            if X[rows[i], j] != shift[j]:
                n_entries += 1
        ends[i + 1] = ends[i] + n_entries + n_entries % 2


@njit
def list_entries(X, shift, rows, order, ends, columns, values, shared):
    """The entries of X[rows] - shift, those of a row with its columns in this order.

    OUT: columns, values, both given as zeros; shared, how many twos of entries a row
    has in common with the row before.
    """
    for i in range(rows.shape[0]):
        entry = ends[i]
        for j in order:
            if X[rows[i], j] != shift[j]:
                columns[entry] = j
                values[entry] = X[rows[i], j] - shift[j]
                entry += 1
        shared[i] = 0
        if i == 0:
            continue
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
    """Turn draws[run, t] from 0 to n - t - 1 into different rows from 0 to n - 1.

    The t-th draw counts the rows that were not drawn before.  OUT: rows.
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
