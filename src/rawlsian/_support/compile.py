"""The njit of all kernels: lazy, cached, without fastmath and without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def njit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call; cache the machine code if a folder is writable."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    compiled: Callable[..., Any]
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no writable cache folder
        compiled = numba.njit(**options)(function)
    return compiled
