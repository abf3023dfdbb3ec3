"""Numbers as people write them: which readings fit a column, and their values."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rawlsian.preprocessing.reading import AS_IT_IS, PER_CENT, Reading

# Not 1_000 nor full-width digits, which Python would read.
UNSIGNED = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
NUMBER = f"[+-]?{UNSIGNED}"
NOT_FINITE = r"(?i:[+-]?(?:inf|infinity|nan))"
LEADING_ZERO = r"[+-]?0[0-9]+"
# Numbers with a point that may also separate thousands.
POINT_OR_THOUSANDS = r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}"
UP_TO_THREE_DIGITS = r"[+-]?(?:0|[1-9][0-9]{0,2})"

# Texts that show soon that a column is written in another way.
FIRST_LOOKED_AT = 100

CURRENCIES = (
    "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "zł", "kr", "Fr.", "EUR", "USD", "GBP",
    "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "CAD", "AUD",
)  # fmt: skip
# Blanks between thousands: a space, and those of typesetters.
BLANK = "[ \u00a0\u202f\u2009]"
SEPARATORS = {"": "", ",": ",", ".": r"\.", " ": BLANK, "'": "['\u2019]"}
SIGN = "[+\u2212-]?"


def is_number(text: str) -> bool:
    """Return True if a text is a number."""
    return re.fullmatch(NUMBER, text) is not None


def is_written_number(text: str) -> bool:
    """Return True if some way of writing numbers makes a text a number."""
    unit = next((each for each in (*CURRENCIES, PER_CENT) if each in text), "")
    return is_number(text) or any(
        re.fullmatch(pattern_of(Reading(point, between, unit)), text)
        for point, between in product(".,", SEPARATORS)
        if point != between
    )


def match(texts: Any, pattern: str) -> NDArray[np.bool_]:
    """Return a mask of the texts of an Arrow array that match the whole pattern."""
    found = pc.match_substring_regex(texts, f"^(?:{pattern})$")
    matches: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return matches


def pattern_of(reading: Reading) -> str:
    """Return the pattern of finite numbers that are written so."""
    if reading.is_plain_number:
        return f"{SIGN}{UNSIGNED}"
    point, between = SEPARATORS[reading.decimal], SEPARATORS[reading.thousands]
    body = f"[0-9]+(?:{point}[0-9]*)?|{point}[0-9]+"
    if between:
        body = f"[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+(?:{point}[0-9]*)?|{body}"
    unit = f"(?:{re.escape(reading.unit)})?" if reading.unit else ""
    blanks = f"{BLANK}*"
    before = f"(?:{SIGN}{blanks}{unit}{blanks}|{unit}{blanks}{SIGN})"
    return f"{before}(?:{body}){blanks}{unit}"


def as_floats(texts: Any, reading: Reading = AS_IT_IS) -> NDArray[np.float64]:
    """Texts of an Arrow array, all of them numbers or not finite, as floats."""
    if not reading.is_plain_number:
        if reading.unit:
            texts = pc.replace_substring(texts, reading.unit, "")
        texts = pc.replace_substring_regex(texts, BLANK, "")
        if reading.thousands:
            between = SEPARATORS[reading.thousands]
            texts = pc.replace_substring_regex(texts, between, "")
        texts = pc.replace_substring(texts, reading.decimal, ".")
    texts = pc.replace_substring(texts, "\u2212", "-")
    unsigned = pc.replace_substring_regex(texts, r"^\+", "")
    floats: NDArray[np.float64] = unsigned.cast(pa.float64()).to_numpy(
        zero_copy_only=False
    )
    return floats


def main_unit(texts: Any) -> str | None:
    """Return the currency or per cent sign that most of these texts have.

    "" if there are numbers without one; None if there are no numbers.
    """
    signs = f"[0-9.,'\u2019+\u2212-]|{BLANK}"
    has_digit = pc.match_substring_regex(texts, "[0-9]")
    beside = pc.replace_substring_regex(texts.filter(has_digit), signs, "")
    n_texts = Counter(beside.to_pylist())
    n_texts["Fr."] = n_texts["Fr"]  # whose point was taken away
    known = [unit for unit in (*CURRENCIES, PER_CENT) if n_texts[unit]]
    return max(known, key=n_texts.__getitem__, default="" if n_texts[""] else None)


def readings_of(texts: Any, unit: str, decimal: str | None) -> list[Reading]:
    """Return readings of numbers with a separator in them, the plainest first.

    A reading that differs from a plainer one only by signs that do not occur is left
    out. ``decimal`` is the sign that the user gives, if they do.
    """
    occurs = {
        sign: bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())
        for sign, pattern in SEPARATORS.items()
    }
    found = [".", *([","] if occurs[","] else [])]
    points = found if decimal is None else [decimal]
    return [
        Reading(point, between, unit)
        for point, between in product(points, SEPARATORS)
        if point != between and (occurs[between] or not between)
    ]


def fits(texts: Any, reading: Reading) -> NDArray[np.bool_]:
    """Return a mask of the texts that are finite numbers in this reading."""
    found = match(texts, pattern_of(reading))
    if reading.unit == PER_CENT:  # 0.5 among 12% may be a share
        found &= match(texts, f".*{PER_CENT}.*|{SIGN}0")
    return found


def is_point_or_thousands(texts: Any) -> tuple[bool, bool]:
    """Return whether points may separate thousands, and whether it matters.

    It matters if other numbers of the column have no point: the readings then differ
    in more than the unit.
    """
    either = f"{POINT_OR_THOUSANDS}|{UP_TO_THREE_DIGITS}"
    if not match(texts[:FIRST_LOOKED_AT], either).all():
        return False, False
    with_point = match(texts, POINT_OR_THOUSANDS)
    without = match(texts, UP_TO_THREE_DIGITS)
    is_open = bool(with_point.any() and (with_point | without).all())
    return is_open, is_open and bool(without.any())
