"""Independent jobs, run in parallel if the user configured a joblib backend.

``joblib.parallel_config(backend="dask")`` sends them to the workers of a Dask client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import ThreadingBackend, get_active_backend
from threadpoolctl import threadpool_limits

from rawlsian._support.interruption import call_whole
from rawlsian._support.processes import Processes
from rawlsian._support.threads import n_threads

S = TypeVar("S")
T = TypeVar("T")

# A process takes seconds to import everything, so it gets this many jobs or more.
JOBS_A_PROCESS = 3


def is_configured() -> bool:
    """Return True if the user configured a joblib backend."""
    backend, _ = get_active_backend(prefer="threads")
    return not isinstance(backend, ThreadingBackend)


def n_jobs() -> int:
    """Return the number of jobs that run at a time; 1 if no backend is configured."""
    return int(effective_n_jobs(Parallel().n_jobs)) if is_configured() else 1


def in_order(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Yield ``function(item)`` for each item, in order, as soon as it is computed."""
    if n_jobs() == 1:
        yield from (call_whole(function, item) for item in items)
    else:
        jobs = Parallel(return_as="generator")
        yield from jobs(delayed(call_whole)(function, item) for item in items)


class Map(Protocol):
    """Function that yields ``function(item)`` for each item, in order."""

    def __call__(
        self, function: Callable[[S], T], items: Sequence[S], /
    ) -> Iterator[T]: ...


@contextmanager
def in_processes(n_items: int) -> Iterator[Map]:
    """Return a map for long jobs that uses all cores of the machine.

    A joblib backend that the user configured takes precedence. ``NUMBA_NUM_THREADS``
    limits the number of processes, as it does that of threads; a process has one
    thread. Few items, or a single core, need no process; Windows gets none. BLAS has
    one thread in every case, so that the number of processes does not change how it
    rounds. On leaving the context the processes end, with what they compute.
    """
    n_processes = min(n_threads(), n_items // JOBS_A_PROCESS)
    if is_configured() or n_processes < 2 or os.name == "nt":
        yield _in_order_on_one_blas_thread
        return
    with Processes(n_processes) as processes:
        yield processes.map


def _in_order_on_one_blas_thread(
    function: Callable[[S], T], items: Sequence[S]
) -> Iterator[T]:
    return in_order(partial(_with_one_blas_thread, function), items)


def _with_one_blas_thread(function: Callable[[S], T], item: S) -> T:
    with threadpool_limits(1, "blas"):
        return function(item)
