"""Write files whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path


class OutputError(OSError):
    """Why a file cannot be written, told before any work is done."""


class WriteError(OSError):
    """Why a file could not be written in the end."""


def check_outputs(
    paths: Sequence[str | None], *, inputs: Sequence[str] = (), may_replace: bool
) -> None:
    """Refuse, before any work is done, files that could not be written at its end."""
    taken = {Path(path).resolve(): "is what is read" for path in inputs}
    for path in (Path(path) for path in paths if path is not None):
        if path.resolve() in taken:
            raise OutputError(f"{str(path)!r} {taken[path.resolve()]}; name another.")
        taken[path.resolve()] = "is asked for twice"
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder; name a file in it.")
        if path.exists() and not path.is_file():
            raise OutputError(f"{str(path)!r} is not a file; name a file.")
        if path.exists() and not may_replace:
            raise OutputError(
                f"{str(path)!r} is there already; say --force to replace it, or name "
                "another file."
            )
        try:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise OutputError(
                f"{str(path)!r} cannot be written ({error.strerror}); name another "
                "place."
            ) from error


def write_whole(path: str | Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a file beside the path, then put it in its place."""
    target = Path(path).resolve()  # so that a link stays one
    unfinished = target.with_name(f".{secrets.token_hex(8)}")
    try:
        write(unfinished)
        if target.exists():
            unfinished.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(unfinished, target)
    except OSError as error:
        reason = error.strerror or error
        raise WriteError(f"{str(path)!r} could not be written: {reason}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a file of text, whole or not at all."""
    write_whole(path, lambda to: to.write_text(text, encoding="utf-8"))
