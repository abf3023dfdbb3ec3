"""Find how the numbers of a column are written, by looking at all of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rawlsian._tables.column import Column
from rawlsian._tables.errors import TableError
from rawlsian._tables.numbers import (
    LEADING_ZERO,
    NOT_FINITE,
    NUMBER,
    as_floats,
    fits,
    is_point_or_thousands,
    main_unit,
    match,
    readings_of,
)
from rawlsian._tables.values import mixed
from rawlsian.preprocessing.reading import AS_IT_IS, Reading, number_text

# Levels that are looked at to find currency signs.
LEVELS_LOOKED_AT = 1000
# A column with at least this fraction of numbers is meant to be one of numbers.
MOSTLY = 0.5


def find_reading(column: Column, decimal: str | None) -> Reading | None:
    """Return how numbers of a column are written; None if it does not hold numbers.

    Raises if two readings fit, if at least half of the rows hold numbers and others do
    not, or if all are numbers with another decimal sign than ``decimal``, the one that
    the user gives, if they do.
    """
    texts = column.levels
    if column.stored_as == "number":
        return AS_IT_IS
    if column.stored_as != "text" or match(texts, LEADING_ZERO).any():
        return None
    is_plain = match(texts, NUMBER)
    if (
        decimal != ","
        and is_plain.any()
        and (is_plain | match(texts, NOT_FINITE)).all()
    ):
        return AS_IT_IS
    unit = main_unit(_some(column))
    if unit is None:
        return None
    found = [(each, fits(texts, each)) for each in readings_of(texts, unit, decimal)]
    fitting = [each for each, is_good in found if is_good.all()]
    if fitting:
        _refuse_two(column, fitting)
        return fitting[0]
    _refuse_other_sign(column, unit, decimal)
    best = max((is_good for _, is_good in found), key=lambda each: _share(each, column))
    if _share(best, column) >= MOSTLY:
        or_else = f", --categorical {column.name!r} or --drop {column.name!r}"
        raise mixed(column, best, "has mostly numbers", or_else)
    return None


def _some(column: Column) -> Any:
    """Return texts from all over the column, and the most frequent."""
    n_levels = len(column.levels)
    most = int(np.argmax(np.bincount(column.codes[column.codes >= 0])))
    step = n_levels // LEVELS_LOOKED_AT + 1
    return column.levels.take(pa.array([most, *range(0, n_levels, step)]))


def _share(is_good: NDArray[np.bool_], column: Column) -> float:
    """Return the fraction of the rows with a value that have a good level."""
    n_good = np.append(is_good, False)[column.codes].sum()
    return float(n_good / (column.codes >= 0).sum())


def _refuse_two(column: Column, readings: list[Reading]) -> None:
    """Raise if the readings give some text two values."""
    first, *others = ((each, as_floats(column.levels, each)) for each in readings)
    for reading, values in others:
        differs = values != first[1]
        if differs.any():
            place = int(np.argmax(differs))
            raise two_readings(
                column, place, (first[0].decimal, first[1][place]),
                (reading.decimal, values[place]),
            )  # fmt: skip


def _refuse_other_sign(column: Column, unit: str, decimal: str | None) -> None:
    """Raise if all are numbers, but with another decimal sign than the one given."""
    if decimal is None:
        return
    other = "," if decimal == "." else "."
    texts = column.levels
    if any(fits(texts, each).all() for each in readings_of(texts, unit, other)):
        place = int(np.argmax(match(texts, f".*[{other}].*")))
        raise TableError(
            f"column {column.name!r} has numbers such as {texts[place].as_py()!r}, "
            f"whose decimal sign is {other!r} and not the {decimal!r} of --decimal; "
            f"say --decimal '{column.name}={other}', too."
        )


def two_readings(
    column: Column, place: int, *readings: tuple[str, float]
) -> TableError:
    """Return the error for a number that may mean two, with what decides."""
    meant = sorted(readings, reverse=True)
    values = " or ".join(number_text(value) for _, value in meant)
    say = ", or ".join(
        f"--decimal '{column.name}={sign}' for {number_text(value)}"
        for sign, value in meant
    )
    return TableError(
        f"column {column.name!r} has numbers such as "
        f"{column.levels[place].as_py()!r}, which may mean {values}; say {say}."
    )


def check_points(column: Column, has_commas: bool) -> bool:
    """Return True if points of plain numbers may separate thousands.

    Raises if that would change more than the unit, or if another column has decimal
    commas (``has_commas``).
    """
    if column.stored_as != "text":
        return False
    is_open, matters = is_point_or_thousands(column.levels)
    if matters or (is_open and has_commas):
        has_point = match(column.levels, r".*\..*")
        place = int(np.argmax(has_point))
        value = float(column.levels[place].as_py())
        raise two_readings(column, place, (".", value), (",", round(1000 * value)))
    return is_open
