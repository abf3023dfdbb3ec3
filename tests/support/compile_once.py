"""Import of this module lets one process at a time compile a kernel.

Without a cache, as in a fresh clone, the processes of the tests need the same kernels
at the same time. Each would compile all of them; so the others wait for the one that
began, and load what it cached.
"""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from pathlib import Path

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

_compile = Dispatcher.compile
_locked = set()


@contextmanager
def _alone(dispatcher):
    folder, function = dispatcher._cache.cache_path, dispatcher.py_func
    # Lock once: a kernel that is being compiled may ask for itself in another type.
    if folder is None or function in _locked:
        yield
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    name = f"{function.__module__}.{function.__qualname__}.lock"
    with open(Path(folder) / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _locked.add(function)
        try:
            yield
        finally:
            _locked.remove(function)


def _compile_alone(self, sig):
    # Numba's own lock first, and kernels before those that they call: all processes
    # and threads take the locks in the same order.
    with global_compiler_lock, _alone(self):
        return _compile(self, sig)


Dispatcher.compile = _compile_alone
