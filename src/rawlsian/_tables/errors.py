"""Errors of tables, and notes on what had been written when one came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

WRITTEN = "written so far: "


class TableError(ValueError):
    """Why a table cannot be used and what to do, in one line."""


class WrongUseError(TableError):
    """Why a request is impossible, whatever the table holds."""


class WorkersError(RuntimeError):
    """Why workers elsewhere could not do their work."""


@contextmanager
def noting(written: Sequence[str]) -> Iterator[None]:
    """Add a note on what has been written to an error, or to Ctrl-C."""
    try:
        yield
    except BaseException as error:
        if written:
            error.add_note(f"{WRITTEN}{', '.join(written)}")
        raise


def note_on_written(error: BaseException) -> str:
    """Return what had been written when an error came."""
    notes = [
        note for note in getattr(error, "__notes__", ()) if note.startswith(WRITTEN)
    ]
    return notes[0] if notes else "nothing was written."
