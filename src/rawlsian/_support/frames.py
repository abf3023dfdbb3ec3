"""Results as pandas frames and as HTML tables."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

# Rows of an HTML table; of more, the first and the last are shown.
MOST_SHOWN = 10


def frame_of(columns: Mapping[str, Any]) -> Any:
    """Return a pandas DataFrame, or raise ImportError if pandas is not installed."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "to_frame needs pandas, which is not installed; pip install pandas brings "
            "it."
        ) from error
    return pandas.DataFrame(dict(columns))


def html_of(caption: str, columns: Mapping[str, Any]) -> str:
    """Return an HTML table with escaped text; long tables are cut in the middle."""
    rows = list(zip(*columns.values(), strict=True))
    lines = [_row([_shown(cell) for cell in row], "td") for row in rows]
    if len(lines) > MOST_SHOWN:
        half = MOST_SHOWN // 2
        left_out = _row(["…"] * len(columns), "td")
        lines = [*lines[:half], left_out, *lines[-half:]]
    head = _row(list(columns), "th")
    return (
        f'<table class="dataframe"><caption>{escape(caption)}</caption>'
        f"<thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _row(cells: list[str], tag: str) -> str:
    inside = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"


def _shown(cell: Any) -> str:
    """Return a cell as text: six digits of a number, nothing for None and NaN."""
    if cell is None:
        return ""
    if isinstance(cell, (float, np.floating)):
        return "" if np.isnan(cell) else f"{cell:.6g}"
    return str(cell)
