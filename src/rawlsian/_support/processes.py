"""Processes that compute jobs and are killed when nobody waits for their results.

This process starts no thread and no lock is shared: Ctrl-C may come at any moment, and
an exception that it raises within a lock of Python's leaves the lock held, so that
whoever needs it waits for ever. Reading from a killed process ends at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe, wait
from pickle import PicklingError
from typing import Any, TypeVar

from rawlsian._support.interruption import call_whole

S = TypeVar("S")
T = TypeVar("T")

COMMAND = (
    "import sys; from rawlsian._support.processes import connect; "
    "connect(int(sys.argv[1]))"
)

# A process has one thread of each kind.
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip


def connect(handle: int) -> None:
    """Compute jobs for the process at the other end."""
    serve(Connection(handle))


def serve(connection: Connection) -> None:
    """Compute each job that arrives, and send its result or its error."""
    with suppress(EOFError, BrokenPipeError):  # nobody is there any more
        while True:
            outcome = _outcome(*connection.recv())
            try:
                connection.send(outcome)
            except (PicklingError, TypeError, AttributeError) as error:
                sentence = f"A result cannot be sent to another process: {error}"
                connection.send((None, TypeError(sentence)))


def _outcome(function: Callable[[S], T], item: S) -> tuple[Any, BaseException | None]:
    try:
        return call_whole(function, item), None
    except BaseException as error:
        error.add_note("In a process of its own: " + traceback.format_exc())
        return None, error


class _Process:
    """A process that computes one job at a time."""

    def __init__(self) -> None:
        self.connection, other = Pipe()
        path = os.pathsep.join(map(str, sys.path))
        with other:
            self._process = subprocess.Popen(
                # -P leaves out the current folder, unless this process has it.
                [sys.executable, "-P", "-c", COMMAND, str(other.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env={**os.environ, "PYTHONPATH": path, **dict.fromkeys(THREADS, "1")},
            )
        self.place = 0  # of the item that it computes

    def send(self, function: Callable[[S], object], item: S, place: int) -> None:
        self.place = place
        with _lost_process_as_error():
            self.connection.send((function, item))

    def receive(self) -> Any:
        with _lost_process_as_error():
            result, error = self.connection.recv()
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self.connection.close()


@contextmanager
def _lost_process_as_error() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise RuntimeError(
            "A process ended before its job was done. It may have run out of memory; "
            "NUMBA_NUM_THREADS=1 runs all jobs in this process."
        ) from None


class Processes:
    """Processes that share jobs; on leaving the context they are killed."""

    def __init__(self, n_processes: int) -> None:
        self._n_processes = n_processes
        self._processes: list[_Process] = []
        self._busy: dict[Any, _Process] = {}  # by connection

    def __enter__(self) -> Processes:
        try:
            with _ctrl_c_ignored():
                for _ in range(self._n_processes):
                    self._processes.append(_Process())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self._processes:
            process.end()

    def map(self, function: Callable[[S], T], items: Sequence[S]) -> Iterator[T]:
        """Yield ``function(item)`` for each item, in order, as soon as it is there."""
        assert not self._busy, "jobs are left of a map that was not finished"
        waiting, busy = iter(enumerate(items)), self._busy
        found: dict[int, T] = {}
        for process, (place, item) in zip(self._processes, waiting, strict=False):
            process.send(function, item, place)
            busy[process.connection] = process
        for wanted in range(len(items)):
            while wanted not in found:
                for connection in wait(busy):
                    process = busy.pop(connection)
                    found[process.place] = process.receive()
                    for place, item in waiting:
                        process.send(function, item, place)
                        busy[connection] = process
                        break
            yield found.pop(wanted)


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """Ignore Ctrl-C, as do the processes that start now.

    It reaches all processes of a terminal; this one ends the others.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread only
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
