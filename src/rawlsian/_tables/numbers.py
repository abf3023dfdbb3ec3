"""Recognise texts that are numbers: one rule for reading, classifying and writing."""

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
    """Return True if a text is a number."""
    return re.fullmatch(NUMBER, text) is not None


def match(texts: Any, pattern: str) -> NDArray[np.bool_]:
    """Return a mask of the texts of an Arrow array that match the whole pattern."""
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
