"""Colours, patterns, shapes and dashes of groups and clusters.

Colours are dark enough for white paper and light enough for a dark screen. A second
channel tells groups apart without colours: patterns in bars, shapes on the map, dashes
of lines.
"""

from __future__ import annotations

from typing import Any, TypeVar

INK = "currentColor"
COLOURS = (
    "#0072B2", "#DD8500", "#009E73", "#C45A93",
    "#3D9BE0", "#9A6A3A", "#7B6BD0", "#7C848E",
    "#1B9AA5", "#D9480F", "#8A8F1F", "#E0566B",
)  # fmt: skip
# A pattern for each four groups: four that share one have colours far apart.
PATTERNS = ("plain", "rising", "dots", "falling", "level", "upright")
N_PER_PATTERN = 4
DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (4, 2), (12, 3), (1, 3))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

Choice = TypeVar("Choice")


def cycle(choices: tuple[Choice, ...], place: int) -> Choice:
    """Return the choice at a place, from the first again after the last."""
    return choices[place % len(choices)]


def look(place: int) -> dict[str, Any]:
    """Return colour, colour of text on it, pattern, shape and dash."""
    colour = cycle(COLOURS, place)
    return {
        "colour": colour,
        "text": text_on(colour),
        "pattern": cycle(PATTERNS, place // N_PER_PATTERN),
        "shape": cycle(SHAPES, place),
        "dash": cycle(DASHES, place),
    }


def text_on(colour: str) -> str:
    """Return black or white: whichever has the higher contrast to the colour."""
    light = luminance(colour) + 0.05
    return "#000000" if light / 0.05 > 1.05 / light else "#ffffff"


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as "#0072B2", as in WCAG 2."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [((x + 0.055) / 1.055) ** 2.4 if x > 0.04 else x / 12.92 for x in parts]
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
