"""Entries of sparse rows, listed as those of the same dense rows would be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import csr_kernels
from rawlsian._core.sparse import SparseRows


def list_csr(
    X: SparseRows, shift: NDArray[np.float64], rows_looked_at: int
) -> tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]
]:
    """Return rows in sorted order, and ends, columns and values of their entries.

    No row is made dense. See ``Entries`` for the arrays.
    """
    looked_at = X[np.arange(0, len(X), len(X) // rows_looked_at + 1)]
    order = np.argsort(_n_values(looked_at), kind="stable")
    ranks = np.empty(X.n_features, np.uint32)
    ranks[order] = np.arange(X.n_features)
    shifted = X.minus(shift)
    given = shifted.ends, shifted.columns
    offsets, sorted_ranks = (
        np.empty(len(shifted.values), np.uint32) for _ in range(2)
    )  # two arrays, as one of them is soon needed no more
    csr_kernels.sort_in_rows(*given, ranks, sorted_ranks, offsets)
    rows = csr_kernels.sort_rows(shifted.ends, sorted_ranks, offsets, shifted.values)
    del sorted_ranks
    lengths = np.diff(shifted.ends)[rows]
    ends = np.concatenate([[0], np.cumsum(lengths + lengths % 2)])
    columns, values = np.zeros(ends[-1], np.uint32), np.zeros(ends[-1])
    csr_kernels.list_entries(
        *given, shifted.values, offsets, rows, ends, columns, values
    )
    return rows, ends, columns, values


def _n_values(X: SparseRows) -> NDArray[np.int64]:
    """Return the number of distinct values in each column, zero being one of them."""
    order = np.lexsort((X.values, X.columns))
    columns, values = X.columns[order], X.values[order]
    is_new = np.ones(len(columns), bool)
    is_new[1:] = (np.diff(columns) != 0) | (np.diff(values) != 0)
    n_distinct = np.bincount(columns[is_new], minlength=X.n_features)
    has_zero = np.bincount(X.columns, minlength=X.n_features) < len(X)
    return n_distinct + has_zero
