"""Entries: the non-zero entries of the rows of X, in the order that kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem
from rawlsian._core.sparse import SparseRows
from rawlsian._search import sparse_rows
from rawlsian._search.csr_entries import list_csr

# Sample of rows in which distinct values of each column, and entries, are counted.
ROWS_LOOKED_AT = 1024


class Entries(NamedTuple):
    """The non-zero entries of the shifted rows of X, in sorted order.

    The row at position ``place`` is ``X[rows[place]]``; ``places`` is the inverse
    permutation. ``shared``, ``norms`` and ``groups`` are by place. See ``sparse_rows``
    for ``shared``, ``ends``, ``columns`` and ``values``.
    """

    rows: NDArray[np.intp]
    places: NDArray[np.intp]
    shared: NDArray[np.int64]
    ends: NDArray[np.int64]
    columns: NDArray[np.uint32]
    values: NDArray[np.float64]
    norms: NDArray[np.float64]
    groups: NDArray[np.int32]


def share_of_entries(problem: Problem) -> float:
    """Return the share of non-zero entries in a sample of the shifted rows.

    A sparse matrix counts as empty: its rows are never made dense.
    """
    X = problem.X
    if isinstance(X, SparseRows):
        return 0.0
    looked_at = X[:: len(X) // ROWS_LOOKED_AT + 1]
    return float((looked_at != problem.shift).mean())


def list_entries(problem: Problem) -> Entries:
    """List entries of rows sorted by columns, those with the fewest values first."""
    if isinstance(problem.X, SparseRows):
        listed = list_csr(problem.X, problem.shift, ROWS_LOOKED_AT)
    else:
        listed = _list_dense(problem.X, problem.shift)
    rows, ends, columns, values = listed
    shared, places = np.empty(len(rows), np.int64), np.empty_like(rows)
    sparse_rows.count_shared(ends, columns, values, shared)
    places[rows] = np.arange(len(rows))
    return Entries(
        rows, places, shared, ends, columns, values,
        problem.norms[rows], problem.groups[rows],
    )  # fmt: skip


def _list_dense(
    X: NDArray[np.float64], shift: NDArray[np.float64]
) -> tuple[
    NDArray[np.intp], NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]
]:
    """Return rows in sorted order, and ends, columns and values of their entries."""
    looked_at = np.sort(X[:: len(X) // ROWS_LOOKED_AT + 1], axis=0)
    order = np.argsort((np.diff(looked_at, axis=0) != 0).sum(axis=0), kind="stable")
    rows = np.lexsort(tuple(X[:, j] for j in order[::-1]))
    ends = np.empty(len(X) + 1, np.int64)
    sparse_rows.count_entries(X, shift, rows, ends)
    columns, values = np.zeros(ends[-1], np.uint32), np.zeros(ends[-1])
    sparse_rows.list_entries(X, shift, rows, order, ends, columns, values)
    return rows, ends, columns, values
