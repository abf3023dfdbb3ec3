"""SparseRows: the examples of a problem as a sparse matrix.

Searches, nearest centers and audits read the entries that are not zero. Walks, means
and bounds read dense rows: ``SparseRows.dense`` makes them, up to a size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from rawlsian._core import csr_kernels

# Numbers in the largest matrix that is made dense: half a gigabyte.
MOST_DENSE = 2**26


class ColumnFigures(NamedTuple):
    """Weighted mean and variance, lowest and highest value of each column."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of a CSR matrix: columns ascend within a row, and no entry is 0.

    Attributes
    ----------
    ends : ndarray of shape (n_samples + 1,)
        The entries of row i are ``ends[i]`` to ``ends[i + 1] - 1``.
    columns, values : ndarray of shape (n_entries,)
        Column and value of each entry.
    n_features : int
        Number of columns.
    """

    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    n_features: int

    @classmethod
    def of(cls, X: Any) -> SparseRows:
        """Return the rows of a SciPy CSR matrix; copy only if necessary."""
        if not X.has_canonical_format or not X.data.all():
            X = X.copy()
            X.sum_duplicates()
            X.eliminate_zeros()
        ends, columns = (
            X.indptr.astype(np.int64),
            X.indices.astype(np.int32, copy=False),
        )
        values = X.data.astype(np.float64, copy=False)
        return cls(ends, columns, values, int(X.shape[1]))

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self), self.n_features

    @property
    def csr(self) -> Any:
        """The rows as a SciPy CSR matrix, without a copy."""
        ends = self.ends
        if ends[-1] < 2**31:  # SciPy would copy columns to the type of the ends
            ends = ends.astype(np.int32)
        return csr_matrix((self.values, self.columns, ends), self.shape)

    def __getitem__(self, rows: NDArray[Any]) -> SparseRows:
        """Return the rows of a mask or of row numbers."""
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return SparseRows.of(self.csr[rows])

    def dense(self, what: str) -> NDArray[np.float64]:
        """Return the rows as an array, or raise ValueError if that would be large."""
        refuse_large(self, what)
        X: NDArray[np.float64] = self.csr.toarray()
        return X

    @cached_property
    def full(self) -> NDArray[np.int64]:
        """The columns in which at least half of the rows have an entry."""
        members = np.zeros(self.n_features, np.int64)
        csr_kernels.count_entries(self.columns, members)
        return np.flatnonzero(2 * members >= len(self))

    def figures(self, weights: NDArray[np.float64]) -> ColumnFigures:
        """Return mean, variance, lowest and highest value of each column."""
        return ColumnFigures(
            *csr_kernels.column_figures(
                self.ends, self.columns, self.values, weights, self.n_features
            )
        )

    def minus(self, shift: NDArray[np.float64]) -> SparseRows:
        """Return the rows less ``shift``, which should be 0 but in full columns."""
        shifted = np.flatnonzero(shift)
        if len(shifted) == 0:
            return self
        given = (self.ends, self.columns, self.values, shift, shifted)
        ends, none = np.empty_like(self.ends), np.empty(0)
        csr_kernels.subtract(*given, ends, none.astype(np.int32), none)
        columns, values = np.empty(ends[-1], np.int32), np.empty(ends[-1])
        csr_kernels.subtract(*given, ends, columns, values)
        return SparseRows(ends, columns, values, self.n_features)

    def norms(self) -> NDArray[np.float64]:
        """Return the squared norm of each row."""
        norms = np.empty(len(self))
        csr_kernels.squared_norms(self.ends, self.values, norms)
        return norms

    def sums(
        self, weights: NDArray[np.float64], cells: NDArray[Any], n_cells: int
    ) -> NDArray[np.float64]:
        """Return the weighted sum of the rows in each cell, (n_cells, n_features)."""
        sums = np.zeros((n_cells, self.n_features))
        csr_kernels.add_by_cell(
            self.ends, self.columns, self.values, weights, cells, sums
        )
        return sums


Matrix: TypeAlias = NDArray[np.float64] | NDArray[np.float32] | SparseRows


def as_matrix(X: Any) -> Matrix:
    """Return a checked array as it is, and a SciPy CSR matrix as ``SparseRows``."""
    return SparseRows.of(X) if issparse(X) else X


def as_given(X: Matrix) -> Any:
    """Return X in the type that scikit-learn takes."""
    return X.csr if isinstance(X, SparseRows) else X


def refuse_large(X: Matrix, what: str) -> None:
    """Raise ValueError if X is sparse, and too large to be made dense for ``what``."""
    n_rows, n_columns = X.shape
    if isinstance(X, SparseRows) and n_rows * n_columns > MOST_DENSE:
        raise ValueError(
            f"{what} needs dense rows, but X is sparse, and {n_rows:,} x {n_columns:,} "
            f"numbers would take {8 * n_rows * n_columns / 1e9:.1f} GB (the limit is "
            f"{8 * MOST_DENSE / 1e9:.1f} GB); use RawlsianKMeans with free centers and "
            "no bound, which reads the entries only, or fewer rows or columns."
        )
