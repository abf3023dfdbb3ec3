"""Write files and folders completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rawlsian._support.unfinished import replace_folder, unfinished


class OutputError(OSError):
    """A file cannot be written; raised before any work begins."""


class WriteError(OSError):
    """Writing a file failed."""


def check_outputs(
    paths: Sequence[str | None], *, inputs: Sequence[str] = (), may_replace: bool
) -> None:
    """Raise OutputError, before any work begins, if a path cannot be written."""
    taken = {Path(path).resolve(): "is what is read" for path in inputs}
    for path in (Path(path) for path in paths if path is not None):
        if path.resolve() in taken:
            raise OutputError(f"{str(path)!r} {taken[path.resolve()]}; name another.")
        taken[path.resolve()] = "is asked for twice"
        _check_name(path)
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder; name a file in it.")
        if path.exists() and not path.is_file():
            raise OutputError(f"{str(path)!r} is not a file; name a file.")
        if path.exists() and not may_replace:
            raise OutputError(
                f"{str(path)!r} is there already; say --force to replace it, or name "
                "another file."
            )
        _check_writable(path)


def _check_name(path: Path) -> None:
    """Raise OutputError if the name is longer than the system allows."""
    try:
        path.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise OutputError(
                f"{str(path)!r} cannot be written ({error.strerror}); name another."
            ) from error


def _check_writable(path: Path) -> None:
    """Raise OutputError if no file can be made in the folder of the path."""
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OutputError(
            f"{str(path)!r} cannot be written ({error.strerror}); name another place."
        ) from error


def check_folder(path: str, *, inputs: Sequence[str], may_replace: bool) -> None:
    """Raise OutputError, before any work begins, if a folder cannot be written."""
    target = Path(path).resolve()
    if any(target in Path(each).resolve().parents for each in inputs):
        raise OutputError(f"{path!r} is where the table is; name another folder.")
    if target.exists() and not target.is_dir():
        raise OutputError(f"{path!r} is a file; name a folder.")
    if target.exists() and not may_replace:
        raise OutputError(
            f"{path!r} is there already; say --force to replace it, or name another "
            "folder."
        )
    if target.exists():
        _refuse_others(path)
    _check_writable(target)


def _refuse_others(path: str) -> None:
    """Raise OutputError if a folder holds anything but Parquet files."""
    for each in Path(path).iterdir():
        if each.suffix != ".parquet" or not each.is_file():
            raise OutputError(
                f"{path!r} holds {each.name!r}, which is not a Parquet file, so it is "
                "not replaced; name another folder."
            )


def write_folder(
    path: str, write: Callable[[Path], object], *, may_replace: bool
) -> None:
    """Let ``write`` fill a temporary folder beside the path, then rename it."""
    target = Path(path).resolve()
    try:
        with unfinished(target, is_folder=True) as new:
            write(new)
            if may_replace and target.exists():
                _refuse_others(path)
                replace_folder(new, target)
            else:
                new.rename(target)
    except OSError as error:
        reason = error.strerror or error
        raise WriteError(f"{path!r} could not be written: {reason}") from error


def write_whole(path: str | Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file beside the path, then rename it."""
    target = Path(path).resolve()  # a symbolic link stays a link
    try:
        with unfinished(target) as new:
            write(new)
            if target.exists():
                new.chmod(stat.S_IMODE(target.stat().st_mode))
            os.replace(new, target)
    except OSError as error:
        reason = error.strerror or error
        raise WriteError(f"{str(path)!r} could not be written: {reason}") from error


def write_text(path: str | Path, text: str) -> None:
    """Write a text file completely or not at all."""
    write_whole(path, lambda to: to.write_text(text, encoding="utf-8"))
