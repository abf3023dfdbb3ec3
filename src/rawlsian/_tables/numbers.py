"""Which texts are numbers: one answer for reading, sorting out and writing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# Not 1_000 nor full-width digits, which Python would read.
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
NOT_FINITE = r"(?i:[+-]?(?:inf|infinity|nan))"
LEADING_ZERO = r"[+-]?0[0-9]+"


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    return re.fullmatch(NUMBER, text) is not None


def match(texts: Any, pattern: str) -> NDArray[np.bool_]:
    """Which texts of an Arrow array match the whole pattern."""
    found = pc.match_substring_regex(texts, f"^(?:{pattern})$")
    matches: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return matches


def as_floats(texts: Any) -> NDArray[np.float64]:
    """Texts of an Arrow array, all of them numbers or not finite, as floats."""
    unsigned = pc.replace_substring_regex(texts, r"^\+", "")
    floats: NDArray[np.float64] = unsigned.cast(pa.float64()).to_numpy(
        zero_copy_only=False
    )
    return floats
