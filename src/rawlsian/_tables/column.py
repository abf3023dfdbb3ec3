"""Columns as they were read: their different values, and each row's place in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rawlsian._tables.errors import TableError

OTHER_VALUES = "lists, times of day or bytes"
MISSING_TEXTS = frozenset(
    ["", "#N/A", "#NA", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "<NA>"]
)


def in_table(place: int) -> str:
    """Name a row, counted from 1 below the header."""
    return f"row {place + 1}"


class Column(NamedTuple):
    """A column as it was read.

    Attributes
    ----------
    name : str
        Its name in the table.
    levels : pyarrow.Array of length n_levels
        The different values: text without spaces around it, or numbers.
    codes : ndarray of shape (n_rows,)
        The position of each row's value in ``levels``; -1 where it is missing.
    stored_as : {"text", "number", "date", "other"}
        Type in the file; all of a text file is text.
    name_row : callable
        Names the row at a position.
    n_trimmed : int
        Rows whose text had blanks around it that others with the same text have not.
    """

    name: str
    levels: Any
    codes: NDArray[np.int32]
    stored_as: str
    name_row: Callable[[int], str] = in_table
    n_trimmed: int = 0

    def texts(self) -> NDArray[Any]:
        """The levels as text: whole numbers without a point, others in full."""
        texts = np.empty(len(self.levels), object)
        texts[:] = [as_text(value) for value in self.levels.to_pylist()]
        return texts

    def first_row(self, place: int) -> str:
        """Name the first row that has that level."""
        return self.name_row(int(np.argmax(self.codes == place)))


def as_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class Table(NamedTuple):
    """A table as it was read: its columns, and a word on how.

    ``remarks`` are sentences on what is not part of the table; ``cells`` is an Arrow
    table with all values as they stand in the source, None for a table in parts.
    """

    columns: dict[str, Column]
    n_rows: int
    how: str
    remarks: tuple[str, ...] = ()
    cells: Any = None


def from_arrow(name: str, values: pa.ChunkedArray, missing: frozenset[str]) -> Column:
    """A column of Parquet: numbers stay numbers, what is text is text."""
    stored_as = kind_of(values.type)
    if pa.types.is_dictionary(values.type) and stored_as != "other":
        values = values.cast(values.type.value_type)
    if stored_as == "text":
        return from_texts(name, values.cast(pa.string()), missing)
    if stored_as == "number":
        levels, codes = levels_of(_without_nan(values))
        is_missing = _are_named_missing(levels, missing - MISSING_TEXTS)
        return Column(name, *_without(levels, codes, is_missing), stored_as)
    if stored_as == "date":
        return Column(name, *levels_of(values), stored_as)
    nothing = np.full(len(values), -1, np.int32)
    return Column(name, pa.array([], pa.string()), nothing, stored_as)


def kind_of(arrow_type: pa.DataType) -> str:
    """Return the kind of an Arrow type: text, number, date or other."""
    kind, types = arrow_type, pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    is_text = types.is_string(kind) or types.is_large_string(kind)
    is_named = types.is_boolean(kind) or types.is_null(kind)
    return "text" if is_text or is_named or str(kind) == "string_view" else "other"


def _without_nan(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    if not pa.types.is_floating(values.type):
        return values
    # Adding 0 makes 0.0 of -0.0, which would be a level of its own.
    return pc.add(pc.if_else(pc.is_nan(values), None, values), 0.0)


def _are_named_missing(numbers: Any, texts: frozenset[str]) -> NDArray[np.bool_]:
    """Mark numbers that one of the texts spells; -999.0 may be spelled -999."""
    if not texts:
        return np.zeros(len(numbers), np.bool_)
    spelled = (
        (str(x), str(x) if isinstance(x, int) else as_text(float(x)))
        for x in numbers.to_pylist()
    )
    return np.array([not texts.isdisjoint(each) for each in spelled], np.bool_)


def levels_of(values: pa.ChunkedArray) -> tuple[Any, NDArray[np.int32]]:
    """The different values and each row's place among them, -1 for null."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    if values.num_chunks == 0:
        return pa.array([], values.type.value_type), np.empty(0, np.int32)
    encoded = values.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return encoded.dictionary, codes.astype(np.int32)


def from_texts(name: str, values: pa.ChunkedArray, missing: frozenset[str]) -> Column:
    """A column of texts without blanks around them; some of them mean missing."""
    levels, codes = levels_of(values)
    trimmed = pc.utf8_trim_whitespace(levels).dictionary_encode()
    texts = trimmed.dictionary
    is_missing = pc.is_in(texts, pa.array(sorted(missing), texts.type))
    is_missing = is_missing.to_numpy(zero_copy_only=False)
    places = trimmed.indices.to_numpy(zero_copy_only=False)
    n_trimmed = 0
    if len(texts) < len(levels):
        has_blanks = pc.not_equal(levels, trimmed.cast(levels.type))
        has_twin = (np.bincount(places, minlength=len(texts)) > 1) & ~is_missing
        counts = has_blanks.to_numpy(zero_copy_only=False) & has_twin[places]
        n_trimmed = int(np.append(counts, False)[codes].sum())
    codes = np.append(places, -1)[codes]  # -1 where the code is
    texts, codes = _without(texts, codes, is_missing)
    return Column(name, texts, codes, "text", n_trimmed=n_trimmed)


def _without(
    levels: Any, codes: NDArray[Any], is_missing: NDArray[np.bool_]
) -> tuple[Any, NDArray[np.int32]]:
    """Take out levels that mean missing; rows that had one get -1."""
    places = np.where(is_missing, -1, np.cumsum(~is_missing) - 1)
    places = np.append(places, -1)  # where the code is -1
    return levels.filter(pa.array(~is_missing)), places[codes].astype(np.int32)


def check_names(names: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(
                f"two columns are called {name!r}; rename one, so that it is clear "
                "which is meant."
            )
        seen.add(name)


def check_rows(n_rows: int, named: str) -> None:
    """Refuse a table without rows."""
    if n_rows == 0:
        raise TableError(f"{named} has a header but no rows.")
