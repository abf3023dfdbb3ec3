"""Values of a column in a known reading: numbers, categories or groups."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rawlsian._tables.column import Column
from rawlsian._tables.errors import TableError
from rawlsian._tables.folding import fold, merged, spellings
from rawlsian._tables.numbers import NOT_FINITE, as_floats, fits, match
from rawlsian.preprocessing.reading import AS_IT_IS, Reading

Kind = Literal["number", "category"]

# Characters of a value that a sentence shows.
LONGEST_SHOWN = 60


class Used(NamedTuple):
    """A column that is used: levels are floats, or texts of categories."""

    name: str
    kind: Kind
    levels: NDArray[Any]
    codes: NDArray[np.int32]
    reading: Reading = AS_IT_IS

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        missing: NDArray[np.bool_] = self.codes < 0
        return missing

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers of a column of numbers, row by row."""
        return np.append(self.levels, np.nan)[self.codes]

    @property
    def order(self) -> NDArray[np.intp]:
        """Places of its levels in the order in which groups are listed."""
        if self.reading.edges:
            return np.arange(len(self.levels))
        return np.argsort(self.levels)


def read_as(column: Column, kind: Kind, reading: Reading, or_else: str = "") -> Used:
    """Read a column as another one was read."""
    if kind == "category":
        return as_category(column, reading)
    return as_numbers(column, reading, or_else)


# --- Categories and groups -----------------------------------------------------------


def as_category(column: Column, reading: Reading = AS_IT_IS) -> Used:
    """The column's values as text, with spellings merged if the reading does that."""
    texts, codes = column.texts(), column.codes
    if reading.spellings is not None:
        texts, codes = merged(texts, dict(reading.spellings), codes)
    return Used(column.name, "category", texts, codes, reading)


def merging(column: Column) -> Reading:
    """Return the reading that merges spellings into the most frequent of each."""
    found = spellings(level_counts(column))
    chosen = sorted((key, texts[0]) for key, texts in found.items())
    return AS_IT_IS._replace(spellings=tuple(chosen))


def level_counts(column: Column) -> dict[str, int]:
    """Return how many rows have each text."""
    texts = column.texts()
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(texts))
    return dict(zip(texts.tolist(), counts.tolist(), strict=True))


def as_groups(column: Column, reading: Reading) -> Used:
    """The column's values as groups: texts, or numbers between bounds."""
    if not reading.edges:
        return as_category(column, reading)
    numbers = as_numbers(column, reading)
    places = np.searchsorted(reading.edges, numbers.levels, side="right")
    codes = np.append(places, -1)[numbers.codes].astype(np.int32)
    names = np.array(reading.group_names, object)
    return Used(column.name, "category", names, codes, reading)


# --- Numbers -------------------------------------------------------------------------


def as_numbers(column: Column, reading: Reading = AS_IT_IS, or_else: str = "") -> Used:
    """The column's values as finite numbers, or an error that names what is not one.

    ``or_else`` ends the sentence: another way out than to correct the table.
    """
    if reading.order:
        return _as_ordered(column, reading)
    if column.stored_as == "number":
        numbers = column.levels.cast(pa.float64(), safe=False).to_numpy()
    elif column.stored_as != "text":
        raise TableError(
            f"column {column.name!r} must hold numbers, not dates, lists or bytes."
        )
    else:
        is_good = fits(column.levels, reading) | match(column.levels, NOT_FINITE)
        if not is_good.all():
            written = reading._replace(scale="range").words
            has = " ".join(
                ["must hold numbers", *([f"({', '.join(written)})"] * bool(written))]
            )
            raise mixed(column, is_good, has, or_else)
        numbers = as_floats(column.levels, reading)
    _refuse_not_finite(column, numbers, or_else)
    if reading.scale == "log":
        _refuse_negative(column, numbers)
    return Used(column.name, "number", numbers, column.codes, reading)


def _as_ordered(column: Column, reading: Reading) -> Used:
    """Ordered categories as numbers from 1; folded, if spellings are merged."""
    key = str if reading.spellings is None else fold
    places = {key(level): place for place, level in enumerate(reading.order, start=1)}
    found = [places.get(key(text)) for text in column.texts()]
    if None in found:
        place = found.index(None)
        raise TableError(
            f"column {column.name!r} has {column.texts()[place]!r:.60} in "
            f"{column.first_row(place)}, which is not among its ordered levels "
            f"{', '.join(reading.order)}; correct it, add it to --ordinal, or say --na "
            f"{column.texts()[place]!r:.60} if it means missing."
        )
    levels = np.array(found, np.float64)
    return Used(column.name, "number", levels, column.codes, reading)


def _refuse_not_finite(
    column: Column, numbers: NDArray[np.float64], or_else: str
) -> None:
    if not np.isfinite(numbers).all():
        place = int(np.flatnonzero(~np.isfinite(numbers))[0])
        text = str(column.levels[place].as_py())
        shown, or_missing = f"{text[:LONGEST_SHOWN]}...", ""
        if len(text) <= LONGEST_SHOWN:
            shown, or_missing = text, f", or say --na {text!r} if it means missing"
        raise TableError(
            f"column {column.name!r} holds infinity or a number too large ({shown}) in "
            f"{column.first_row(place)}; replace it{or_missing}{or_else}."
        )


def _refuse_negative(column: Column, numbers: NDArray[np.float64]) -> None:
    if (numbers < 0).any():
        place = int(np.flatnonzero(numbers < 0)[0])
        raise TableError(
            f"column {column.name!r} holds {numbers[place]:g} in "
            f"{column.first_row(place)}, but --scale log takes numbers of 0 and more; "
            f"say --scale {column.name}=robust, or another."
        )


def mixed(
    column: Column, is_good: NDArray[np.bool_], has: str, or_else: str
) -> TableError:
    """Return the error that names the first level that is not good."""
    place = int(np.argmin(is_good))
    text = repr(column.levels[place].as_py())
    return TableError(
        f"column {column.name!r} {has}, but {text:.60} in "
        f"{column.first_row(place)}; correct it, or say --na {text:.60} if it means "
        f"missing{or_else}."
    )
