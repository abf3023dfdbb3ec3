"""Summaries: lines and small tables, as plain text or as a terminal draws them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class TextTable(NamedTuple):
    """A small table under a title; a row of no cells is a rule."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number and a noun, in the plural (with an s) unless it is one."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def listed(texts: Sequence[str]) -> str:
    """Return texts with commas between them and "and" before the last."""
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last


def as_text(summary: Iterable[str | TextTable]) -> str:
    """Return lines and tables as plain text."""
    return "\n".join(
        each if isinstance(each, str) else _table_as_text(each) for each in summary
    )


def _table_as_text(table: TextTable) -> str:
    """Return the title and aligned columns: names to the left, numbers to the right."""
    rows = [table.columns, *table.rows]
    widths = [
        max(len(row[j]) for row in rows if j < len(row))
        for j in range(len(table.columns))
    ]
    lines = [table.title]
    for row in rows:
        cells = [
            cell.rjust(width) if j else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join(cells).rstrip() if row else "-" * len(lines[1]))
    return "\n".join(lines)
