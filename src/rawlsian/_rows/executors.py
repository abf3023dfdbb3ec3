"""Executors: run a function on each block, on threads or on the workers of a cluster.

A column is a list with one entry per block: a value, a function that reads it, or a
Dask task. Rows, groups, weights and labels are all columns. Results come in the order
of the blocks, so their sum is always the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from rawlsian._support.threads import ctrl_c_later, n_threads

T = TypeVar("T")

Column = list[Any]


class Executor(ABC):
    """Runs functions on the blocks of columns."""

    @abstractmethod
    def run(
        self, function: Callable[..., T], columns: Sequence[Column], *shared: Any
    ) -> Iterator[T]:
        """Yield ``function(*columns, *shared)`` for each block, in order."""

    @abstractmethod
    def keep(
        self, function: Callable[..., Any], columns: Sequence[Column], *shared: Any
    ) -> Column:
        """Return the results as a column, which stays where they were computed."""

    def later(
        self, function: Callable[..., Any], columns: Sequence[Column], *shared: Any
    ) -> Column:
        """Return the results as a column, computed on demand if that is possible."""
        return self.keep(function, columns, *shared)

    @abstractmethod
    def join(
        self, column: Column, dtype: Any, lengths: Sequence[int] | None = None,
        width: int | None = None,
    ) -> Any:  # fmt: skip
        """Return a column as one array, of shape (n_rows,) or (n_rows, width)."""


def _result(future: Future[T]) -> T:
    with ctrl_c_later():
        return future.result()


class ThreadExecutor(Executor):
    """Runs functions on all threads of this machine; columns stay in memory."""

    def run(
        self, function: Callable[..., T], columns: Sequence[Column], *shared: Any
    ) -> Iterator[T]:
        """Yield the results; at most a few are computed ahead."""
        assert len(set(map(len, columns))) == 1, "columns differ in their blocks"

        def call(block: int) -> T:
            values = (column[block] for column in columns)
            read = (value() if callable(value) else value for value in values)
            return function(*read, *shared)

        width = n_threads()
        with ThreadPoolExecutor(width) as pool:
            waiting: deque[Future[T]] = deque()
            try:
                for block in range(len(columns[0])):
                    with ctrl_c_later():
                        waiting.append(pool.submit(call, block))
                    if len(waiting) > 2 * width:
                        yield _result(waiting.popleft())
                while waiting:
                    yield _result(waiting.popleft())
            finally:
                for future in waiting:
                    future.cancel()

    def keep(
        self, function: Callable[..., Any], columns: Sequence[Column], *shared: Any
    ) -> Column:
        """Return the results in memory: a column is small beside the rows."""
        return list(self.run(function, columns, *shared))

    def join(
        self, column: Column, dtype: Any, lengths: Sequence[int] | None = None,
        width: int | None = None,
    ) -> Any:  # fmt: skip
        """Return one array in memory."""
        return np.concatenate(column)
