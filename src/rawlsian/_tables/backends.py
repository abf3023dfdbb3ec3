"""Backends of tables in parts: threads of this machine, or Dask workers."""

from __future__ import annotations

import logging
import shutil
import signal
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._rows.executors import Executor, ThreadExecutor
from rawlsian._rows.opening import open_blocks
from rawlsian._support.files import WriteError
from rawlsian._support.threads import n_threads
from rawlsian._tables.errors import TableError, WorkersError, WrongUseError
from rawlsian._tables.parts import Piece
from rawlsian._tables.survey import Encoding, encode_piece

# Seconds to wait for a scheduler to answer.
PATIENCE = 5
DASK_LOGGER = "distributed"


class EncodedRows(NamedTuple):
    """Encoded rows, their groups and, of an audit, their clusters.

    ``weights`` is None if every row stands for one person.
    """

    X: Any
    groups: Any
    labels: Any
    weights: Any


class Backend(ABC):
    """Execution backend; holds the encoded rows."""

    name: str
    executor: Executor

    def run(
        self, function: Callable[..., Any], items: Sequence[Any], *shared: Any
    ) -> Iterator[Any]:
        """``function(item, *shared)`` of each, in their order."""
        return self.executor.run(function, [list(items)], *shared)

    @abstractmethod
    def encode(
        self, pieces: Sequence[Piece], lengths: Sequence[int], encoding: Encoding
    ) -> EncodedRows:
        """The encoded rows of pieces that have rows."""

    @abstractmethod
    def fetch(self, labels: Any, start: int, stop: int) -> NDArray[np.int32]:
        """Some of the labels, here in memory."""


class ThreadBackend(Backend):
    """The threads of this machine; encoded rows are in a file without a name.

    The system frees it when it is closed, however this program ends.
    """

    name = "blocks"

    def __init__(self, scratch: Any) -> None:
        self.scratch = scratch
        self.executor = ThreadExecutor()

    def encode(
        self, pieces: Sequence[Piece], lengths: Sequence[int], encoding: Encoding
    ) -> EncodedRows:
        """Write the rows to the scratch file, and map it."""
        shape = sum(lengths), encoding.width
        _check_room(4 * shape[0] * shape[1])
        others: list[tuple[NDArray[Any], ...]] = []
        for X, *columns in self.run(encode_piece, pieces, encoding):
            self._write(X)
            others.append(tuple(columns))
        # Copy on write: compiled code takes it for an ordinary array.
        mapped = np.memmap(self.scratch, np.float32, "c", shape=shape)
        groups, labels, weights = map(np.concatenate, zip(*others, strict=True))
        return EncodedRows(
            open_blocks(mapped), groups, labels,
            weights if encoding.has_weights else None,
        )  # fmt: skip

    def _write(self, X: NDArray[np.float32]) -> None:
        try:
            self.scratch.write(X.data)
            self.scratch.flush()
        except OSError as error:
            raise WriteError(
                f"the scratch file in {tempfile.gettempdir()!r} could not be written: "
                f"{error.strerror}"
            ) from error

    def fetch(self, labels: Any, start: int, stop: int) -> NDArray[np.int32]:
        """Return a slice: they are in memory."""
        found: NDArray[np.int32] = labels[start:stop]
        return found


def _check_room(n_bytes: int) -> None:
    """Refuse, before any work is done, more than there is room for."""
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise TableError(
            f"the encoded rows need {n_bytes / 1e9:,.1f} GB in {folder!r}, where "
            f"{free / 1e9:,.1f} GB are free; set TMPDIR to a folder with more room, "
            "leave out columns with many levels by --drop, or take --engine dask."
        )


class DaskBackend(Backend):
    """The workers of a Dask cluster, which keep the encoded rows."""

    name = "dask"

    def __init__(self) -> None:
        from rawlsian._rows.dask import DaskExecutor

        self.executor = DaskExecutor()

    def encode(
        self, pieces: Sequence[Piece], lengths: Sequence[int], encoding: Encoding
    ) -> EncodedRows:
        """Dask arrays with a chunk a piece."""
        executor = self.executor
        encoded = executor.keep(encode_piece, [list(pieces)], encoding)
        X, groups, labels, weights = (
            executor.keep(itemgetter(j), [encoded]) for j in range(4)
        )
        return EncodedRows(
            executor.join(X, np.float32, lengths, encoding.width),
            executor.join(groups, np.int32, lengths),
            executor.join(labels, np.int32, lengths),
            executor.join(weights, np.float64, lengths)
            if encoding.has_weights
            else None,
        )

    def fetch(self, labels: Any, start: int, stop: int) -> NDArray[np.int32]:
        """Fetch the chunks that have them."""
        chunks = np.ravel(labels[start:stop].to_delayed()).tolist()
        return np.concatenate(list(self.run(_same, chunks)))


def _same(value: Any) -> Any:
    return value


@contextmanager
def thread_backend() -> Iterator[Backend]:
    """Threads, and room for the rows that goes when they do."""
    with tempfile.TemporaryFile(prefix="rawlsian-") as scratch:
        yield ThreadBackend(scratch)


@contextmanager
def dask_backend(scheduler: str | None) -> Iterator[Backend]:
    """Workers of a scheduler, or else of this machine as long as they are needed."""
    try:
        import dask.array  # noqa: F401
        from distributed import Client, KilledWorker
        from distributed.comm import CommClosedError

        from rawlsian._rows.dask import ClusterError
    except ModuleNotFoundError as error:
        raise WrongUseError(
            f"--engine dask needs {error.name}, which is not installed; pip install "
            "'rawlsian[dask]' brings it."
        ) from error
    with ExitStack() as stack:
        stack.enter_context(_no_dask_logs())
        if scheduler is None:
            stack.enter_context(Client(stack.enter_context(_started())))
        else:
            stack.enter_context(_client(scheduler))
        try:
            yield DaskBackend()
        except ClusterError as error:
            raise WorkersError(str(error).rstrip(".")) from error
        except ModuleNotFoundError as error:
            raise WorkersError(
                f"the Dask workers lack {error.name}; install there what is installed "
                "here"
            ) from error
        except (CancelledError, CommClosedError, KilledWorker) as error:
            raise WorkersError(
                "the Dask cluster is gone, or its workers are; start another and run "
                "this again"
            ) from error


def _started() -> Any:
    """Return workers of this machine, or raise in one sentence."""
    try:
        with _out_of_reach_of_ctrl_c():
            return _local_cluster()
    except RuntimeError:  # whose own traceback is long, and comes from every worker
        raise WorkersError(
            "the Dask workers could not start; in a script, call this below "
            "`if __name__ == '__main__':`"
        ) from None


def _local_cluster() -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=n_threads(),
        threads_per_worker=1,
        processes=True,
        # A port of its own: None means 8787, with a warning where that is taken, though
        # no dashboard is shown there.
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        silence_logs=logging.CRITICAL,
    )


@contextmanager
def _out_of_reach_of_ctrl_c() -> Iterator[None]:
    """Let processes that are started meanwhile not get it; this one does afterwards.

    A terminal sends it to all of them, and what was reached could not be kept.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # which would end the blocking when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _client(scheduler: str) -> Any:
    from distributed import Client

    try:
        return Client(scheduler, timeout=PATIENCE)
    except Exception as error:  # of any kind, where something else listens there
        raise WrongUseError(
            f"no Dask scheduler answers at {scheduler!r}; name one that runs, such as "
            "tcp://10.0.0.1:8786, or leave out --scheduler to work on this machine."
        ) from error


@contextmanager
def _no_dask_logs() -> Iterator[None]:
    """Silence the logs of Dask: its errors are raised in our words."""
    names = [name for name in logging.root.manager.loggerDict if _is_of_dask(name)]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _is_of_dask(name: str) -> bool:
    return name == DASK_LOGGER or name.startswith(f"{DASK_LOGGER}.")
