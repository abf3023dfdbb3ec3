"""Learn how a column is encoded, and encode columns so: for arrays and for tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Two different levels are then a squared distance of 1 apart.
HOT = 1 / np.sqrt(2)
# The level of missing values.
MISSING = "(missing)"

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
        For numbers ``lowest + spread * mean`` is the mean in the user's units.
    """

    name: str
    level: str | None
    lowest: float
    spread: float


class Feature(NamedTuple):
    """Encoding of a column: with it another table is encoded alike.

    Attributes
    ----------
    name : str
        The column.
    levels : tuple or None
        Its categories, sorted; None for numbers.
    lowest, spread : float
        The range of numbers, which is scaled to [0, 1].
    fill : float or None
        Number that stands for a missing one; None where none may be missing.
    """

    name: str
    levels: tuple[Any, ...] | None
    lowest: float = 0.0
    spread: float = 0.0
    fill: float | None = None

    @property
    def n_varying(self) -> int:
        """How far apart it can set two rows."""
        if self.levels is not None:
            return int(len(self.levels) > 1)
        return int(self.spread > 0) + (self.fill is not None)

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
        number = Attribute(self.name, None, self.lowest, self.spread)
        if self.fill is None:
            return [number]
        is_missing = f"{self.name} is missing"
        return [number, *(Attribute(is_missing, x, 0.0, HOT) for x in ("no", "yes"))]

    def places(self, values: Iterable[Any]) -> NDArray[np.intp]:
        """Return the place of each value among the levels, -1 if it is not there."""
        known = {level: place for place, level in enumerate(self.levels or ())}
        return np.array([known.get(value, -1) for value in values], np.intp)


def learn_range(
    name: str, numbers: NDArray[np.float64], fill: float | None = None
) -> Feature:
    """Learn the range of a column of numbers."""
    with np.errstate(over="ignore"):
        spread = float(np.ptp(numbers))
    if not np.isfinite(spread):
        raise ValueError(
            f"the numbers of column {name!r} lie too far apart "
            f"({numbers.min():g} to {numbers.max():g}); scale them first."
        )
    return Feature(name, None, float(numbers.min()), spread, fill)


def encode(
    features: Sequence[Feature],
    columns: Iterable[Values],
    n_rows: int,
    *,
    divides_first: bool = False,
) -> NDArray[np.float64]:
    """Encode columns so that each feature sets two rows at most 1 apart.

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
    if spread > 0 and divides_first:
        out[:, 0] = numbers / spread - lowest / spread
    elif spread > 0:
        out[:, 0] = (numbers - lowest) / spread
