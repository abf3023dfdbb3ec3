"""What can be wrong with a table, or with what is asked of it."""

from __future__ import annotations


class TableError(ValueError):
    """Why a table cannot be used and what to do, in one line."""


class WrongUseError(TableError):
    """What was asked for cannot be had of this table, whatever it holds."""


class WorkersError(RuntimeError):
    """Why workers elsewhere could not do their work."""
