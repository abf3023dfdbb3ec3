"""The njit of all kernels: lazy, cached, without fastmath and without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def njit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call; cache the machine code if a folder is writable."""
    compiled: Callable[..., Any]
    try:
        compiled = numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # numba finds no writable cache folder
        compiled = numba.njit(**OPTIONS)(function)
    return compiled


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile into each kernel that calls it: passing many arrays takes time."""
    compiled: Callable[..., Any] = numba.njit(forceinline=True, **OPTIONS)(function)
    return compiled


def is_compiled(kernel: Any) -> bool:
    """Return True if machine code of a kernel is in the cache."""
    folder = kernel.stats.cache_path
    name = f"*.{kernel.__name__}-*.nbi"
    return folder is not None and any(Path(folder).glob(name))
