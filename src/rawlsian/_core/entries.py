"""Rows as their non-zero entries, in the order in which kernels read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import sparse_rows
from rawlsian._core.problem import Problem

# Rows that tell how many different values a column has.
ROWS_LOOKED_AT = 1024


class Entries(NamedTuple):
    """The rows of X as the kernels read them, in an order of their own.

    Row ``rows[place]`` of X is at a place in it; ``places[row]`` is the place of a row.
    """

    rows: NDArray[np.intp]
    places: NDArray[np.intp]
    shared: NDArray[np.int64]
    ends: NDArray[np.int64]
    columns: NDArray[np.uint32]
    values: NDArray[np.float64]
    norms: NDArray[np.float64]
    groups: NDArray[np.int32]


def list_entries(problem: Problem) -> Entries:
    """Rows sorted by the columns with the fewest values: one-hot columns lead."""
    X, shift = problem.X, problem.shift
    looked_at = np.sort(X[:: len(X) // ROWS_LOOKED_AT + 1], axis=0)
    order = np.argsort((np.diff(looked_at, axis=0) != 0).sum(axis=0), kind="stable")
    rows = np.lexsort(tuple(X[:, j] for j in order[::-1]))
    ends, shared = np.empty(len(X) + 1, np.int64), np.empty(len(X), np.int64)
    sparse_rows.count_entries(X, shift, rows, ends)
    columns, values = np.zeros(ends[-1], np.uint32), np.zeros(ends[-1])
    sparse_rows.list_entries(X, shift, rows, order, ends, columns, values, shared)
    places = np.empty_like(rows)
    places[rows] = np.arange(len(rows))
    return Entries(
        rows, places, shared, ends, columns, values,
        problem.norms[rows], problem.groups[rows],
    )  # fmt: skip
