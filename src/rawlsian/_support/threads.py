"""Contiguous chunks of rows on threads; each chunk writes only its own rows.

The kernels release the GIL, so plain threads are enough. A pool lives for one call:
it costs a tenth of a millisecond, and leaves nothing behind that a later ``fork``
could inherit in a broken state.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def n_threads() -> int:
    """Return ``NUMBA_NUM_THREADS`` if it is set, else the number of usable cores."""
    asked = os.environ.get("NUMBA_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_in_chunks(
    function: Callable[[int, int], T], n: int, *, smallest_chunk: int
) -> list[T]:
    """Call ``function(start, stop)`` on chunks that cover ``range(n)``, in order.

    Work for fewer than two chunks runs in the calling thread, because a thread would
    cost more than it saves. So does work within such a function, as the cores have
    enough to do.
    """
    n_chunks = min(n_threads(), n // smallest_chunk)
    if n_chunks < 2 or getattr(_thread, "is_ours", False):
        return [function(0, n)]
    edges = [n * chunk // n_chunks for chunk in range(n_chunks + 1)]
    with ctrl_c_later():
        return _on_threads(function, edges)


def run_together(function: Callable[[int], T], n: int, n_together: int) -> list[T]:
    """Return ``function(i)`` of each i in range(n), so many together on threads.

    Ctrl-C is noticed between them.
    """
    done: list[T] = []
    for first in range(0, n, n_together):
        some = range(first, min(first + n_together, n))

        def run_some(start: int, stop: int, some: range = some) -> list[T]:
            return [function(i) for i in some[start:stop]]

        chunks = run_in_chunks(run_some, len(some), smallest_chunk=1)
        done += [each for chunk in chunks for each in chunk]
    return done


def _on_threads(function: Callable[[int, int], T], edges: list[int]) -> list[T]:
    with ThreadPoolExecutor(len(edges) - 1, initializer=_mark_thread) as pool:
        return list(pool.map(function, edges[:-1], edges[1:]))


_thread = threading.local()


def _mark_thread() -> None:
    _thread.is_ours = True


@contextmanager
def ctrl_c_later() -> Iterator[None]:
    """Let Ctrl-C wait while this thread starts others or waits for them.

    An exception at the wrong moment would leave a lock of Python's held, or released
    twice: the threads then wait for ever, or fail. Kernels let Ctrl-C wait as well.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is None:  # not set by Python
        yield
        return
    came: list[object] = []
    before = signal.signal(signal.SIGINT, lambda *signals: came.append(signals))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


class _OneBlasThread:
    """Limit BLAS to one thread while at least one call needs it.

    The limit holds for the whole process. The first call sets it, and the last one
    takes it back: each by itself would restore what another has set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_calls = 0
        self.limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if self.n_calls == 0:
                self.limit = _controller().limit(limits=1, user_api="blas")
            self.n_calls += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.n_calls -= 1
            if self.n_calls == 0:
                self.limit.restore_original_limits()


@lru_cache
def _controller() -> ThreadpoolController:
    """Return the control of the threads of BLAS; looking for it takes milliseconds."""
    return ThreadpoolController()


one_blas_thread = _OneBlasThread()
