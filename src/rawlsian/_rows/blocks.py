"""Out-of-core rows: a source that reads them block by block, and its executor.

A pass calls one function on each block. The function gets the rows and columns, such as
the group, weight or cluster of each row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rawlsian._rows.executors import Column, Executor, T, ThreadExecutor
from rawlsian._rows.groups import refuse_mask


class Blocks(ABC):
    """Out-of-core rows of numbers; ``open_blocks`` makes them.

    Attributes
    ----------
    n_features : int
        Number of columns.
    feature_names : list of str or None
        Names of the columns, if they have any.
    n_blocks : int
        Number of blocks.
    rows : list
        The rows of each block, functions that read them, or Dask tasks.
    executor : Executor
        Runs functions on the blocks.
    """

    n_features: int
    feature_names: list[str] | None
    rows: Column
    executor: Executor

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.rows)

    def run(
        self, function: Callable[..., T], columns: Sequence[Column], *shared: Any
    ) -> Iterator[T]:
        """Yield ``function(X, *columns, *shared)`` for each block, in order."""
        call = partial(_with_floats, function)
        return self.executor.run(call, [self.rows, *columns], *shared)

    def keep(
        self, function: Callable[..., Any], columns: Sequence[Column], *shared: Any
    ) -> Column:
        """Return the results as a column, which stays where the blocks are."""
        call = partial(_with_floats, function)
        return self.executor.keep(call, [self.rows, *columns], *shared)

    def later(
        self, function: Callable[..., Any], columns: Sequence[Column], *shared: Any
    ) -> Column:
        """Return the results as a column, computed on demand if that is possible."""
        call = partial(_with_floats, function)
        return self.executor.later(call, [self.rows, *columns], *shared)

    def join(
        self, column: Column, dtype: Any, lengths: Sequence[int] | None = None,
        width: int | None = None,
    ) -> Any:  # fmt: skip
        """Return a column as one array: in memory, or a Dask array for Dask's rows."""
        return self.executor.join(column, dtype, lengths, width)

    @property
    @abstractmethod
    def lengths(self) -> list[int]:
        """Number of rows of each block."""

    @abstractmethod
    def columns_of(self, values: Any, argument: str) -> Column:
        """Return a user's values, one per row, as a column."""

    @abstractmethod
    def name_row(self, block: int, row: int) -> str:
        """Return the row's name for error messages."""

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.n_blocks:,} blocks, {self.n_features:,} "
            "columns)"
        )


def _with_floats(function: Callable[..., T], rows: Any, *values: Any) -> T:
    """Call a function on rows, converted to floats, and other values."""
    refuse_mask(rows, "X")
    if issparse(rows):
        raise ValueError("X is sparse; the blocks of a Dask array must be dense.")
    array = rows.to_numpy(np.float64) if hasattr(rows, "columns") else rows
    return function(as_floats(array), *values)


class BlockReader(Protocol):
    """Reader of the rows ``start`` to ``stop - 1``."""

    @property
    def start(self) -> int:
        """Index of the first row."""

    @property
    def stop(self) -> int:
        """Index after the last row."""

    def read(self) -> NDArray[Any]:
        """Return the rows as a matrix of numbers."""

    def read_columns(self, names: list[str], argument: str) -> Any:
        """Return other columns of these rows, by their names."""

    def name_row(self, row: int) -> str:
        """Return the row's name for error messages."""


class ArrayReader(NamedTuple):
    """Reader of rows of an array, which may be mapped from a file."""

    array: Any
    start: int
    stop: int

    def read(self) -> NDArray[Any]:
        """Return a view of the rows."""
        rows: NDArray[Any] = self.array[self.start : self.stop]
        return rows

    def read_columns(self, names: list[str], argument: str) -> Any:
        """Raise ValueError: an array has no other columns."""
        raise ValueError(
            f"{argument} is {', '.join(names)!r}, but X is an array, which has no "
            "named columns; give one value for each row of X."
        )

    def name_row(self, row: int) -> str:
        """Return the number of the row."""
        return f"row {self.start + row:,}"


def as_floats(rows: Any) -> NDArray[Any]:
    """Return rows as C-ordered float32 or float64; copy only if necessary."""
    kind = np.dtype(rows.dtype)
    if kind.kind != "f" or kind.itemsize > 8:
        kind = np.dtype(np.float64)
    return np.ascontiguousarray(rows, np.float32 if kind.itemsize < 8 else np.float64)


class LocalBlocks(Blocks):
    """Blocks that this machine reads, on all of its threads."""

    def __init__(
        self,
        readers: Sequence[BlockReader],
        feature_names: list[str] | None,
        n_features: int,
    ) -> None:
        if not readers:
            raise ValueError("X has 0 rows; give at least two.")
        self.readers = readers
        self.rows = [reader.read for reader in readers]
        self.feature_names = feature_names
        self.n_features = n_features
        self.executor = ThreadExecutor()

    def columns_of(self, values: Any, argument: str) -> Column:
        """Return columns of the same files by name, or an array divided into blocks."""
        names = self._names_in(values)
        if names:
            return [
                partial(each.read_columns, names, argument) for each in self.readers
            ]
        by_position = getattr(values, "iloc", values)
        check_is_column(values, argument)
        check_n_values(len(values), self._n_rows, argument)
        return [by_position[each.start : each.stop] for each in self.readers]

    @property
    def lengths(self) -> list[int]:
        """Number of rows of each block."""
        return [each.stop - each.start for each in self.readers]

    @property
    def _n_rows(self) -> int:
        return self.readers[-1].stop

    def _names_in(self, values: Any) -> list[str]:
        """Return column names; a list with one text per row holds groups, not names."""
        if isinstance(values, str):
            return [values]
        if self.feature_names is None or not isinstance(values, (list, tuple)):
            return []
        are_names = len(values) != self._n_rows and all(map(_is_name, values))
        return list(values) if are_names else []

    def name_row(self, block: int, row: int) -> str:
        """Return the row's name for error messages."""
        return self.readers[block].name_row(row)


def check_is_column(values: Any, argument: str) -> None:
    """Raise ValueError if values cannot be one value per row."""
    if not hasattr(values, "__len__") or np.ndim(values) == 0:
        raise ValueError(f"{argument} is {values!r}; give one value for each row of X.")


def check_n_values(n_values: int, n_rows: int, argument: str) -> None:
    """Raise ValueError if the number of values is not the number of rows."""
    if n_values != n_rows:
        raise ValueError(
            f"{argument} has {n_values:,} rows, but X has {n_rows:,}; give one value "
            "for each row of X."
        )


def not_numeric(column: object, source: str, kind: object) -> ValueError:
    """Return the error for a column of X that holds no numbers."""
    return ValueError(
        f"column {column!r} of {source} is not numeric ({kind}); encode it first, or "
        "leave it out."
    )


def _is_name(value: object) -> bool:
    return isinstance(value, str)
