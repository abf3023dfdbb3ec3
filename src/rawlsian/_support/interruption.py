"""Interruption (Ctrl-C): only the outermost call may return a partial result.

Code that catches KeyboardInterrupt asks ``keeps_partial()`` and raises it again unless
that is True, so whoever needs a complete result never gets a part of one unawares.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# None outside of all calls below. Threads and processes begin with None.
_keeps: ContextVar[bool | None] = ContextVar("keeps_partial", default=None)


def keeps_partial() -> bool:
    """Return True within the user's own call, if that can return a partial result."""
    return _keeps.get() is True


def call_partial(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that, as the outermost call, keeps what it has upon Ctrl-C."""
    return _call(_keeps.get() is None, lambda: function(*args, **kwargs))


def call_whole(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that needs complete results; Ctrl-C goes through all of it."""
    return _call(False, lambda: function(*args, **kwargs))


def _call(keeps: bool, function: Callable[[], T]) -> T:
    # The context ends with the call, even if Ctrl-C comes at the worst moment.
    context = copy_context()
    context.run(_keeps.set, keeps)
    return context.run(function)


def finished(last: Callable[[], T]) -> tuple[T, bool]:
    """Return the result of the last part of a call, and True if Ctrl-C came.

    Without that part the rest would be lost, so Ctrl-C begins it again; a second one
    ends the call.
    """
    try:
        return last(), False
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        return last(), True
