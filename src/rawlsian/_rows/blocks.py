"""Rows in blocks that are never all in memory, and passes over them.

A pass calls one function on each block and gives what comes of it in the order of the
blocks, so that whoever adds it up gets the same sum every time. Besides the rows a
function gets columns: what is known of each row (its group, weight, cluster), as a list
with one array a block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rawlsian._support.threads import n_threads

Column = list[Any]


class Blocks(ABC):
    """Rows of numbers in blocks, never all in memory; ``open_blocks`` makes them.

    Attributes
    ----------
    n_features : int
        Number of columns.
    feature_names : list of str or None
        Their names, where there are any.
    n_blocks : int
        Number of blocks.
    """

    n_features: int
    feature_names: list[str] | None
    n_blocks: int

    @abstractmethod
    def run(
        self,
        function: Callable[..., Any],
        columns: Sequence[Column],
        *shared: Any,
        has_rows: bool = True,
    ) -> Iterator[Any]:
        """``function(X, *columns, *shared)`` of each block, in their order.

        Without rows, if it does not need them: ``function(*columns, *shared)``.
        """

    @abstractmethod
    def keep(
        self,
        function: Callable[..., Any],
        columns: Sequence[Column],
        *shared: Any,
        has_rows: bool = True,
    ) -> Column:
        """The same as a column, which stays where the blocks are."""

    def later(
        self, function: Callable[..., Any], columns: Sequence[Column], *shared: Any
    ) -> Column:
        """The same, worked out when it is asked for, where there is such a thing."""
        return self.keep(function, columns, *shared)

    @property
    @abstractmethod
    def lengths(self) -> list[int]:
        """Rows of each block."""

    @abstractmethod
    def columns_of(self, values: Any, argument: str) -> Column:
        """What a user gave for each row: an array a block, or what stands for it."""

    @abstractmethod
    def join(
        self, column: Column, dtype: Any, lengths: Sequence[int] | None = None,
        width: int | None = None,
    ) -> Any:  # fmt: skip
        """A column as one array of the kind that goes with these rows.

        Of shape (n_rows,), or (n_rows, width).
        """

    @abstractmethod
    def name_row(self, block: int, row: int) -> str:
        """What a user calls a row of a block."""

    def tell(self, estimator: Any) -> None:
        """Set what scikit-learn's estimators know of the columns of X."""
        estimator.n_features_in_ = self.n_features
        if self.feature_names is not None:
            estimator.feature_names_in_ = np.array(self.feature_names, object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_

    def check_like(self, estimator: Any) -> None:
        """Refuse columns other than those that an estimator was fitted on."""
        n_expected = estimator.n_features_in_
        if self.n_features != n_expected:
            raise ValueError(
                f"X has {self.n_features} features, but {type(estimator).__name__} is "
                f"expecting {n_expected} features as input."
            )
        seen = getattr(estimator, "feature_names_in_", None)
        ours = self.feature_names
        if ours is not None and seen is not None and ours != list(seen):
            raise ValueError(
                f"X has the columns {', '.join(ours)}, but {type(estimator).__name__} "
                f"was fitted on {', '.join(seen)}, in this order; name them so."
            )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.n_blocks:,} blocks, {self.n_features:,} "
            "columns)"
        )


class Part(Protocol):
    """Rows from ``start`` to ``stop``, of all rows, that can be read."""

    @property
    def start(self) -> int:
        """The first of them."""

    @property
    def stop(self) -> int:
        """The one after the last."""

    def read(self) -> NDArray[Any]:
        """The rows as a C-ordered matrix of float32 or float64."""

    def read_columns(self, names: list[str], argument: str) -> Any:
        """Other columns of these rows, by their names."""

    def name_row(self, row: int) -> str:
        """What a user calls one of them."""


class ArrayPart(NamedTuple):
    """Rows of an array, such as one that is mapped from a file."""

    array: Any
    start: int
    stop: int

    def read(self) -> NDArray[Any]:
        """The rows; a view where they are floats already."""
        return as_floats(self.array[self.start : self.stop])

    def read_columns(self, names: list[str], argument: str) -> Any:
        """An array has no others."""
        raise ValueError(
            f"{argument} is {', '.join(names)!r}, but X is an array, which has no "
            "columns to be named; give one value for each row of X."
        )

    def name_row(self, row: int) -> str:
        """Its number."""
        return f"row {self.start + row:,}"


def as_floats(rows: Any) -> NDArray[Any]:
    """Rows as a C-ordered matrix of float32 or float64, copied only if they must be."""
    kind = np.dtype(rows.dtype)
    if kind.kind != "f" or kind.itemsize > 8:
        kind = np.dtype(np.float64)
    return np.ascontiguousarray(rows, np.float32 if kind.itemsize < 8 else np.float64)


class LocalBlocks(Blocks):
    """Blocks that this machine reads, on all of its threads."""

    def __init__(
        self, parts: Sequence[Part], feature_names: list[str] | None, n_features: int
    ) -> None:
        if not parts:
            raise ValueError("X has 0 rows; give at least two.")
        self.parts = parts
        self.feature_names = feature_names
        self.n_features = n_features
        self.n_blocks = len(parts)

    def run(
        self,
        function: Callable[..., Any],
        columns: Sequence[Column],
        *shared: Any,
        has_rows: bool = True,
    ) -> Iterator[Any]:
        """Call it on all threads; only a few results wait to be taken."""

        def call(block: int) -> Any:
            rows = [self.parts[block].read()] if has_rows else []
            values = (column[block] for column in columns)
            read = (value() if callable(value) else value for value in values)
            return function(*rows, *read, *shared)

        width = n_threads()
        with ThreadPoolExecutor(width) as pool:
            waiting: deque[Any] = deque()
            try:
                for block in range(self.n_blocks):
                    waiting.append(pool.submit(call, block))
                    if len(waiting) > 2 * width:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def keep(
        self,
        function: Callable[..., Any],
        columns: Sequence[Column],
        *shared: Any,
        has_rows: bool = True,
    ) -> Column:
        """In memory: a column is small beside the rows."""
        return list(self.run(function, columns, *shared, has_rows=has_rows))

    def columns_of(self, values: Any, argument: str) -> Column:
        """Columns of the same files by their names, or an array cut as the rows are."""
        names = self._names_in(values)
        if names:
            return [partial(part.read_columns, names, argument) for part in self.parts]
        by_position = getattr(values, "iloc", values)
        check_is_column(values, argument)
        if len(values) != self._n_rows:
            raise ValueError(
                f"{argument} has {len(values):,} rows, but X has {self._n_rows:,}; "
                "give one value for each row of X."
            )
        return [by_position[part.start : part.stop] for part in self.parts]

    @property
    def lengths(self) -> list[int]:
        """Rows of each block."""
        return [part.stop - part.start for part in self.parts]

    @property
    def _n_rows(self) -> int:
        return self.parts[-1].stop

    def _names_in(self, values: Any) -> list[str]:
        """Names of columns; a list of as many texts as there are rows is of groups."""
        if isinstance(values, str):
            return [values]
        if self.feature_names is None or not isinstance(values, (list, tuple)):
            return []
        are_names = len(values) != self._n_rows and all(map(_is_name, values))
        return list(values) if are_names else []

    def join(
        self, column: Column, dtype: Any, lengths: Sequence[int] | None = None,
        width: int | None = None,
    ) -> Any:  # fmt: skip
        """One array in memory."""
        return np.concatenate(column)

    def name_row(self, block: int, row: int) -> str:
        """The file, if there is one, and the row in it."""
        return self.parts[block].name_row(row)


def check_is_column(values: Any, argument: str) -> None:
    """Refuse what cannot have a value for each row."""
    if not hasattr(values, "__len__") or np.ndim(values) == 0:
        raise ValueError(f"{argument} is {values!r}; give one value for each row of X.")


def _is_name(value: object) -> bool:
    return isinstance(value, str)
