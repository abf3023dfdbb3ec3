"""Contiguous chunks of rows on threads; each chunk writes only its own rows.

The kernels release the GIL, so plain threads are enough. A pool lives for one call:
it costs a tenth of a millisecond, and leaves nothing behind that a later ``fork``
could inherit in a broken state.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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
    cost more than it saves.
    """
    if n < 2 * smallest_chunk:
        return [function(0, n)]
    n_chunks = min(n_threads(), n // smallest_chunk)
    edges = [n * chunk // n_chunks for chunk in range(n_chunks + 1)]
    with ThreadPoolExecutor(n_chunks) as pool:
        return list(pool.map(function, edges[:-1], edges[1:]))
