"""Independent jobs, run in parallel if the user configured a joblib backend.

``joblib.parallel_config(backend="dask")`` sends them to the workers of a Dask client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import ThreadingBackend, get_active_backend

S = TypeVar("S")
T = TypeVar("T")


def n_jobs() -> int:
    """Return the number of jobs that run at a time; 1 if no backend is configured."""
    backend, _ = get_active_backend(prefer="threads")
    if isinstance(backend, ThreadingBackend):
        return 1
    return int(effective_n_jobs(Parallel().n_jobs))


def in_order(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Yield ``function(item)`` for each item, in order, as soon as it is computed."""
    if n_jobs() == 1:
        yield from map(function, items)
    else:
        jobs = Parallel(return_as="generator")
        yield from jobs(delayed(function)(item) for item in items)
