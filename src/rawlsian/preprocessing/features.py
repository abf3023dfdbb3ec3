"""Learn how a column is encoded, and encode columns so: for arrays and for tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian.preprocessing.reading import AS_IT_IS, Reading, Scale

# Two different levels are then a squared distance of 1 apart.
HOT = 1 / np.sqrt(2)
# The level of missing values.
MISSING = "(missing)"

# Numbers are divided by two standard deviations, so that one of a normal distribution
# sets two people as far apart on average as an even category of two levels (Gelman,
# Statistics in Medicine 27, 2008). A normal interquartile range has 1.349 of them.
DEVIATIONS, IN_QUARTILES = 2.0, 1.349

# Numbers, NaN where missing; or the different values of categories and each row's code.
Values = NDArray[np.float64] | tuple[NDArray[Any], NDArray[Any]]


class Attribute(NamedTuple):
    """Meaning of one encoded column, for reporting a mean in the user's units.

    Attributes
    ----------
    name : str
        The column of the user's table.
    level : str or None
        For categories the level: a mean of ``X`` over ``spread`` is then the share of
        people who have it. None for numbers.
    lowest, spread : float
        For numbers ``lowest + spread * mean`` is the mean in the user's units, or the
        mean of log(1 + x).
    is_log : bool
        True for logarithms.
    """

    name: str
    level: str | None
    lowest: float
    spread: float
    is_log: bool = False

    def in_units(self, mean: Any) -> Any:
        """Return an encoded mean in the user's units, or as a share of people."""
        if self.level is not None:
            return mean / self.spread
        value = self.lowest + self.spread * mean
        return np.expm1(value) if self.is_log else value

    def encoded(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what ``in_units`` gives these values; 0 for a constant column."""
        if self.level is not None:
            return values * self.spread
        if self.spread == 0:
            return np.zeros(len(values))
        numbers = values
        if self.is_log:
            with np.errstate(invalid="ignore", divide="ignore"):
                numbers = np.log1p(values)
        return (numbers - self.lowest) / self.spread


class Feature(NamedTuple):
    """Encoding of a column: with it another table is encoded alike.

    Attributes
    ----------
    name : str
        The column.
    levels : tuple or None
        Its categories, sorted; None for numbers.
    lowest, spread : float
        Numbers x are encoded as (x - lowest) / spread; of a scale by logarithm both
        are those of log(1 + x).
    fill : float or None
        Number that stands for a missing one; None where none may be missing.
    reach : float
        Largest squared distance of two encoded numbers that were learnt.
    reading : Reading
        How what is written in the column becomes numbers or levels.
    """

    name: str
    levels: tuple[Any, ...] | None
    lowest: float = 0.0
    spread: float = 0.0
    fill: float | None = None
    reach: float = 1.0
    reading: Reading = AS_IT_IS

    @property
    def max_distance(self) -> float:
        """Largest squared distance at which it sets two rows that were learnt."""
        if self.levels is not None:
            return float(len(self.levels) > 1)
        return (self.reach if self.spread > 0 else 0.0) + (self.fill is not None)

    @property
    def words(self) -> str:
        """Its kind, and what is special about how it is read and scaled."""
        kind = "number" if self.levels is None else "category"
        if self.reading.order:
            kind = "ordered"
        words = ", ".join(self.reading.words)
        return f"{kind}: {words}" if words else kind

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        if self.levels is not None:
            return len(self.levels)
        return 1 if self.fill is None else 3

    @property
    def may_be_missing(self) -> bool:
        """True if a missing value can be encoded."""
        return self.fill is not None or MISSING in (self.levels or ())

    @property
    def attributes(self) -> list[Attribute]:
        """Meaning of its encoded columns."""
        if self.levels is not None:
            return [Attribute(self.name, level, 0.0, HOT) for level in self.levels]
        is_log = self.reading.scale == "log"
        number = Attribute(self.name, None, self.lowest, self.spread, is_log)
        if self.fill is None:
            return [number]
        is_missing = f"{self.name} is missing"
        return [number, *(Attribute(is_missing, x, 0.0, HOT) for x in ("no", "yes"))]

    def places(self, values: Iterable[Any]) -> NDArray[np.intp]:
        """Return the place of each value among the levels, -1 if it is not there."""
        known = {level: place for place, level in enumerate(self.levels or ())}
        return np.array([known.get(value, -1) for value in values], np.intp)


def learn_range(
    name: str,
    numbers: NDArray[np.float64],
    fill: float | None = None,
    reading: Reading = AS_IT_IS,
    deviation: float | None = None,
) -> Feature:
    """Learn how a column of numbers is scaled.

    ``deviation`` is its standard deviation, or its robust one, if it is scaled so.
    """
    if reading.scale == "log":
        numbers = np.log1p(numbers)
    with np.errstate(over="ignore"):
        spread = float(np.ptp(numbers))
    if not np.isfinite(spread):
        raise ValueError(
            f"the numbers of column {name!r} lie too far apart "
            f"({numbers.min():g} to {numbers.max():g}); scale them first."
        )
    lowest, reach = float(numbers.min()), 1.0
    if reading.order and reading.scale == "range":  # of all levels that are given
        lowest, reach = 1.0, float(spread > 0)
        spread = len(reading.order) - 1.0
    if reading.scale in ("std", "robust") and spread > 0:
        if deviation is None:  # of first rows that are alike
            raise ValueError(
                f"column {name!r} has one value in the rows that were looked at first, "
                "so its deviation is not known; say --scale range or log for it."
            )
        unit = DEVIATIONS * deviation
        spread, reach = unit, (spread / unit) ** 2
    return Feature(name, None, lowest, spread, fill, reach, reading)


def deviation_of(name: str, numbers: NDArray[np.float64], scale: Scale) -> float | None:
    """Return the deviation by which a scale divides; None if it does not."""
    if scale in ("range", "log") or not len(numbers) or not np.ptp(numbers) > 0:
        return None
    if scale == "std":
        return float(np.std(numbers))
    low, high = np.quantile(numbers, (0.25, 0.75))
    if low == high:
        raise ValueError(
            f"column {name!r} has the value {low:g} in the middle half of its rows, so "
            "it cannot be scaled robustly; say --scale std, log or range for it."
        )
    return float(high - low) / IN_QUARTILES


def encode(
    features: Sequence[Feature],
    columns: Iterable[Values],
    n_rows: int,
    *,
    divides_first: bool = False,
) -> NDArray[np.float64]:
    """Encode columns; unless scaled otherwise, each sets two rows at most 1 apart.

    A level that was not learnt is encoded as zeros: 1/2 from every other. A missing
    number stands at ``fill``, and a second feature says that it is missing.

    ``divides_first`` scales by x / spread - lowest / spread, which no number overflows,
    instead of (x - lowest) / spread. They differ in the last bit: tables and models
    have used the one, ``UnitDistanceEncoder`` and the paper's data the other.
    """
    out = np.zeros((n_rows, sum(feature.width for feature in features)))
    first = 0
    for feature, column in zip(features, columns, strict=True):
        block = out[:, first : first + feature.width]
        if isinstance(column, tuple):
            values, codes = column
            levels = feature.places(values)[codes]
            rows = np.flatnonzero(levels >= 0)
            block[rows, levels[rows]] = HOT
        else:
            _encode_numbers(feature, column, block, divides_first)
        first += feature.width
    return out


def _encode_numbers(
    feature: Feature,
    numbers: NDArray[np.float64],
    out: NDArray[np.float64],
    divides_first: bool,
) -> None:
    """Write the encoded columns of numbers; a constant column is 0."""
    lowest, spread = feature.lowest, feature.spread
    if feature.fill is not None:
        is_missing = np.isnan(numbers)
        numbers = np.where(is_missing, feature.fill, numbers)
        out[:, 1], out[:, 2] = HOT * ~is_missing, HOT * is_missing
    if feature.reading.scale == "log":
        numbers = np.log1p(numbers)
    if spread > 0 and divides_first:
        out[:, 0] = numbers / spread - lowest / spread
    elif spread > 0:
        out[:, 0] = (numbers - lowest) / spread
