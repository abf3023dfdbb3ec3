"""Independent pieces of work, side by side where the user asked joblib for that.

``joblib.parallel_config(backend="dask")`` sends them to the workers of a Dask client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import ThreadingBackend, get_active_backend

T = TypeVar("T")


def n_jobs() -> int:
    """How many pieces are worked on at a time; 1 where no backend was asked for."""
    backend, _ = get_active_backend(prefer="threads")
    if isinstance(backend, ThreadingBackend):
        return 1
    return int(effective_n_jobs(Parallel().n_jobs))


def in_order(function: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
    """``function`` of each item, in their order, as soon as it is there."""
    if n_jobs() == 1:
        yield from map(function, items)
    else:
        jobs = Parallel(return_as="generator")
        yield from jobs(delayed(function)(item) for item in items)
