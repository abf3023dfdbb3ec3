"""Reading: how what people wrote in a column becomes numbers, levels or groups."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, NamedTuple

Scale = Literal["range", "std", "robust", "log"]

PER_CENT = "%"
IN_WORDS = {
    ",": "commas for thousands",
    ".": "points for thousands",
    " ": "spaces for thousands",
    "'": "apostrophes for thousands",
}
SCALES: dict[Scale, str] = {
    "range": "scaled by its range",
    "std": "scaled by its standard deviation",
    "robust": "scaled robustly",
    "log": "scaled by logarithm",
}


class Reading(NamedTuple):
    """How the values of a column are read: with it another table is read alike.

    Attributes
    ----------
    decimal, thousands : str
        Decimal sign of numbers that are written as text, and what separates their
        thousands; "" for nothing.
    unit : str
        Currency or per cent sign beside the numbers; "" for none.
    scale : {"range", "std", "robust", "log"}
        What numbers are divided by: their range, two standard deviations, two robust
        ones; "log" takes log(1 + x) first, and its range.
    order : tuple of str
        Ordered categories, from the lowest, which count as numbers from 1.
    spellings : tuple of (str, str) or None
        For each folded text the spelling that stands for all of its spellings; None
        takes every spelling as a value of its own.
    edges : tuple of float
        Bounds that make groups of numbers.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    scale: Scale = "range"
    order: tuple[str, ...] = ()
    spellings: tuple[tuple[str, str], ...] | None = None
    edges: tuple[float, ...] = ()

    @property
    def is_plain_number(self) -> bool:
        """True if numbers are written as programs write them."""
        return (self.decimal, self.thousands, self.unit) == (".", "", "")

    @property
    def words(self) -> list[str]:
        """What is special about it, for the summary."""
        return [
            *(["decimal comma"] if self.decimal == "," else []),
            *([IN_WORDS[self.thousands]] if self.thousands else []),
            *(["per cent"] if self.unit == PER_CENT else [self.unit] * bool(self.unit)),
            *([" < ".join(self.order)] if self.order else []),
            *(["spellings merged"] if self.spellings is not None else []),
            *([SCALES[self.scale]] if self.scale != "range" else []),
        ]

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups that the edges make, from the lowest."""
        if not self.edges:
            return ()
        texts = [number_text(edge) for edge in self.edges]
        between = [f"{low} to below {high}" for low, high in pairwise(texts)]
        return (f"below {texts[0]}", *between, f"{texts[-1]} or above")


AS_IT_IS = Reading()


def number_text(value: float) -> str:
    """Return a number as people write it: whole ones without a point."""
    return str(int(value)) if float(value).is_integer() else str(value)
