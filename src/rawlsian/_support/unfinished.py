"""Temporary files and folders that get their name when they are finished.

Each is locked while it is written. A process that is killed loses its locks, so the
next one to write into the folder knows what was abandoned there, and removes it.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, so nothing is removed later
    fcntl = None  # type: ignore[assignment]

# Names of unfinished files, and the pattern that they match.
PREFIX, TOKEN = ".rawlsian-", "[0-9a-f]" * 16

# Of renameat2 in Linux: paths are relative to the current folder; swap two names.
AT_FDCWD, RENAME_EXCHANGE = -100, 2


@contextmanager
def unfinished(target: Path, *, is_folder: bool = False) -> Iterator[Path]:
    """Make an empty file or folder beside a path; remove it unless it was renamed."""
    _remove_abandoned(target.parent)
    path, lock = _make(target.parent, is_folder)
    try:
        yield path
    finally:
        _remove(path)
        if lock is not None:
            os.close(lock)


def replace_folder(new: Path, target: Path) -> None:
    """Give a folder the name of another one, which is then removed.

    Where the system cannot swap two names at once, the target has none for a moment.
    """
    if _swap(new, target):
        return  # what has the name of the new one now is removed as unfinished
    old = target.with_name(f".{secrets.token_hex(8)}")
    target.rename(old)
    try:
        new.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _swap(one: Path, other: Path) -> bool:
    """Swap two names at once; return False where the system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    code = rename(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE)
    return int(code) == 0


def _make(folder: Path, is_folder: bool) -> tuple[Path, int | None]:
    """Make a file or folder with a name of its own, and lock it."""
    while True:
        path = folder / f"{PREFIX}{secrets.token_hex(8)}"
        if is_folder:
            path.mkdir()
        else:
            path.touch(exist_ok=False)
        if fcntl is None:
            return path, None
        with suppress(FileNotFoundError):  # another process took it for abandoned
            lock = os.open(path, os.O_RDONLY)
            with suppress(OSError):  # no locks here, so nothing is removed later
                fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():
                return path, lock
            os.close(lock)


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed processes left: nobody holds its lock."""
    if fcntl is None:
        return
    for path in folder.glob(PREFIX + TOKEN):
        with suppress(OSError):  # it is gone, or not ours
            lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(lock)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
