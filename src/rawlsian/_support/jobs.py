"""Independent jobs, run in parallel if the user configured a joblib backend.

``joblib.parallel_config(backend="dask")`` sends them to the workers of a Dask client.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import ThreadingBackend, get_active_backend
from threadpoolctl import threadpool_limits

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
        yield from map(function, items)
    else:
        jobs = Parallel(return_as="generator")
        yield from jobs(delayed(function)(item) for item in items)


def in_processes(
    function: Callable[[S], T], items: Sequence[S]
) -> Generator[T, None, None]:
    """Yield ``function(item)`` for long jobs, in order, on all cores of the machine.

    A joblib backend that the user configured takes precedence. ``NUMBA_NUM_THREADS``
    limits the number of processes, as it does that of threads; a process has one
    thread. Few jobs, or a single core, need no process. BLAS has one thread in every
    case, so that the number of processes does not change how it rounds. Closing the
    generator ends the processes.
    """
    job = partial(_with_one_blas_thread, function)
    n_processes = min(n_threads(), len(items) // JOBS_A_PROCESS)
    if is_configured() or n_processes < 2:
        yield from in_order(job, items)
        return
    with parallel_config("loky", n_jobs=n_processes, inner_max_num_threads=1):
        # Without batches or memory maps: each result comes when it is computed, and
        # arrays arrive as they were sent.
        jobs = Parallel(return_as="generator", batch_size=1, max_nbytes=None)
    with _ctrl_c_ignored():  # the call starts the processes
        results = jobs(delayed(job)(item) for item in items)
    try:
        # "yield from" would close the results before the warnings are off.
        for result in results:  # noqa: UP028
            yield result
    finally:
        with warnings.catch_warnings():
            # joblib warns of the jobs that it cancels.
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _with_one_blas_thread(function: Callable[[S], T], item: S) -> T:
    with threadpool_limits(1, "blas"):
        return function(item)


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
