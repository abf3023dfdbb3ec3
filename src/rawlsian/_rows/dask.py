"""Dask as row source and executor: on this machine, or on the workers of a client.

A pass is one task per block. Rows, groups and labels stay where Dask keeps them; only
sums come back. If a worker is lost, Dask recomputes its blocks from the source, with
the same result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import dask
import numpy as np

from rawlsian._rows.blocks import (
    Blocks,
    check_is_column,
    check_n_values,
    not_numeric,
)
from rawlsian._rows.executors import Column, Executor, T
from rawlsian._rows.groups import keep_types

# Seconds between checks for workers, and seconds to wait if there is none, unless
# Dask's configuration has another number under this name.
LOOK_EVERY, PATIENCE = 1.0, 60.0
PATIENCE_KEY = "rawlsian.no-workers-timeout"


GONE = (
    "the Dask cluster is gone, or the rows that it had were cancelled; start another, "
    "or load them anew, and run this again."
)


class ClusterError(RuntimeError):
    """The Dask cluster could not do the work."""


class DaskExecutor(Executor):
    """Runs functions where Dask keeps the blocks: one task per block."""

    def run(
        self, function: Callable[..., T], columns: Sequence[Column], *shared: Any
    ) -> Iterator[T]:
        """Call the function where the blocks are, and fetch the results."""
        return iter(_compute(self.later(function, columns, *shared)))

    def keep(
        self, function: Callable[..., Any], columns: Sequence[Column], *shared: Any
    ) -> Column:
        """Call the function where the blocks are, and leave the results there."""
        with _one_sentence():
            return list(dask.persist(*self.later(function, columns, *shared)))

    def later(
        self, function: Callable[..., Any], columns: Sequence[Column], *shared: Any
    ) -> Column:
        """Return tasks, which Dask runs on demand."""
        call = dask.delayed(_call, pure=False, traverse=False)
        # Send them once, not with every task.
        same = dask.delayed(shared, pure=False, traverse=False)
        return [call(function, same, *values) for values in zip(*columns, strict=True)]

    def join(
        self, column: Column, dtype: Any, lengths: Sequence[int] | None = None,
        width: int | None = None,
    ) -> Any:  # fmt: skip
        """Return a Dask array, chunked as the rows are."""
        import dask.array as da

        unknown = float("nan")
        parts = [
            da.from_delayed(
                value,
                (
                    unknown if lengths is None else lengths[b],
                    *([] if width is None else [width]),
                ),
                dtype,
            )
            for b, value in enumerate(column)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)


def _call(function: Any, shared: tuple[Any, ...], *values: Any) -> Any:
    """Run one task."""
    return function(*values, *shared)


class DaskBlocks(Blocks):
    """The chunks of a Dask array, or the partitions of a Dask frame.

    Attributes
    ----------
    rows : list of Delayed
        Tasks that return the rows of each block.
    """

    def __init__(
        self, rows: Sequence[Any], n_features: int, feature_names: list[str] | None
    ) -> None:
        self.rows = list(rows)
        self.n_features = n_features
        self.feature_names = feature_names
        self.executor = DaskExecutor()
        self._lengths: list[int] | None = None

    @classmethod
    def of(cls, X: Any) -> DaskBlocks:
        """Open an array of two dimensions, or a frame of numbers."""
        if _is_frame(X):
            wrong = [n for n, kind in X.dtypes.items() if not _is_numeric(kind)]
            if wrong:
                raise not_numeric(wrong[0], "X", X.dtypes[wrong[0]])
            names = list(X.columns)
            are_texts = all(isinstance(name, str) for name in names)
            rows = _delayed_frame(X)
            return cls(rows, len(names), names if are_texts else None)
        shape: tuple[float, ...] = getattr(X, "shape", ())
        kind = getattr(X, "dtype", np.dtype("O"))
        if len(shape) != 2 or np.isnan(shape[1]) or kind.kind not in "fiub":
            raise ValueError(
                "X must be a Dask array of two dimensions or a Dask frame, of numbers, "
                f"found {type(X).__name__} of shape {shape} and type {kind}."
            )
        X = X.rechunk({1: -1})
        blocks = cls(X.to_delayed().ravel(), int(shape[1]), None)
        if not np.isnan(shape[0]):
            blocks._lengths = [int(n) for n in X.chunks[0]]
        return blocks

    def join(
        self, column: Column, dtype: Any, lengths: Sequence[int] | None = None,
        width: int | None = None,
    ) -> Any:  # fmt: skip
        """Return a Dask array, chunked as the rows are."""
        lengths = self._lengths if lengths is None else lengths
        return super().join(column, dtype, lengths, width)

    def columns_of(self, values: Any, argument: str) -> Column:
        """Return the blocks of a Dask collection, or an array divided into blocks."""
        if isinstance(values, str):
            raise ValueError(
                f"{argument} is the text {values!r}; give the column itself, as "
                f"frame[{values!r}]."
            )
        if _is_frame(values) or hasattr(values, "to_delayed"):
            return self._delayed(values, argument)
        check_is_column(values, argument)
        array = getattr(values, "iloc", np.asarray(keep_types(values)))
        lengths = self.lengths
        check_n_values(len(values), sum(lengths), argument)
        ends = np.cumsum([0, *lengths])
        return [
            dask.delayed(array[start:stop], pure=False, traverse=False)
            for start, stop in pairwise(ends)
        ]

    def _delayed(self, values: Any, argument: str) -> Column:
        """Return the blocks of a Dask collection, which must have X's partitions."""
        if hasattr(values, "rechunk"):
            chunks: dict[int, Any] = {1: -1} if values.ndim == 2 else {}
            if not np.isnan(values.shape[0]):
                check_n_values(values.shape[0], sum(self.lengths), argument)
                chunks[0] = tuple(self.lengths)
            values = values.rechunk(chunks)
        is_frame = hasattr(values, "npartitions") and hasattr(values, "divisions")
        found = _delayed_frame(values) if is_frame else np.ravel(values.to_delayed())
        found = list(found)
        if len(found) != self.n_blocks:
            raise ValueError(
                f"{argument} has {len(found)} partitions, but X has {self.n_blocks}; "
                "take both from one frame, or make their partitions alike."
            )
        return found

    @property
    def lengths(self) -> list[int]:
        """Number of rows of each block, counted if they are not known."""
        if self._lengths is None:
            self._lengths = list(self.run(len, []))
        return self._lengths

    def name_row(self, block: int, row: int) -> str:
        """Return the row's name for error messages."""
        return f"row {row:,} of partition {block}"


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "npartitions")


def _delayed_frame(frame: Any) -> Any:
    """Return the partitions as the user sees them.

    An optimised graph reads several Parquet files at once. How many depends on the
    columns, so partitions of rows and of groups would differ.
    """
    return frame.to_delayed(optimize_graph=False)


def _is_numeric(kind: Any) -> bool:
    """Return True for a type of numbers; pandas has types of its own."""
    return getattr(kind, "kind", "O") in "fiub"


def current_client() -> Any:
    """Return the client that Dask would use, or None."""
    scheduler = getattr(dask.base.get_scheduler(), "__self__", None)
    if scheduler is None or "distributed" not in sys.modules:
        return None
    from distributed import Client

    if not isinstance(scheduler, Client):
        return None
    if scheduler.asynchronous or _is_in_worker():
        raise ClusterError(
            "the Dask client is asynchronous, or this runs inside of a Dask worker, "
            "which would wait for itself; use Client(...) outside of the workers."
        )
    return scheduler


def _is_in_worker() -> bool:
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def _compute(tasks: list[Any]) -> Sequence[Any]:
    """Run tasks and return their results, in order."""
    client = current_client()
    if client is None:
        return tuple(dask.compute(*tasks))
    with _one_sentence():
        futures = client.compute(tasks)
        _wait(client, futures)
        found: Sequence[Any] = client.gather(futures)
        return found


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Raise a ClusterError of one sentence if Dask lost its workers or its cluster."""
    if "distributed" not in sys.modules:
        yield
        return
    from distributed import KilledWorker, client as clients
    from distributed.comm import CommClosedError

    closed = getattr(clients, "ClosedClientError", CommClosedError)  # newer than 2025.1
    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            "Dask workers died again and again over the same block, perhaps because "
            "memory ran out; give smaller blocks or workers with more memory."
        ) from error
    except (CancelledError, CommClosedError, closed) as error:
        raise ClusterError(GONE) from error


def _wait(client: Any, futures: Sequence[Any]) -> None:
    """Wait for the futures, but not for ever if there are no workers."""
    from distributed import wait

    alone_since: float | None = None
    while True:
        try:
            wait(futures, timeout=LOOK_EVERY)
            return
        except TimeoutError:
            pass
        try:
            n_workers = len(client.nthreads())
        except OSError as error:
            raise ClusterError(GONE) from error
        if n_workers:
            alone_since = None
            continue
        patience = float(dask.config.get(PATIENCE_KEY, PATIENCE))
        now = time.monotonic()
        alone_since = now if alone_since is None else alone_since
        if now - alone_since >= patience:
            client.cancel(futures)
            raise ClusterError(
                f"no Dask worker is left, and none came within {patience:.0f} "
                f"seconds ({PATIENCE_KEY}); start some and run this again."
            )
