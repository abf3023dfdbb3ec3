"""Groups: sensitive features of any kind, encoded as names and codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# More groups than this, with fewer rows per group than that, are taken for a mistake,
# such as ages.
MANY_GROUPS, FEW_ROWS = 100, 4

# The name of the only group, if no groups are given.
EVERYONE = "all"

_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}


def encode_groups(
    sensitive_features: Any, n_samples: int
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the names of the groups, sorted, and the code of each row.

    The names are the values of one column; tuples, one for each combination that
    occurs, of several columns; and ``"all"``, one group, for ``None``.
    """
    if sensitive_features is None:
        return np.array([EVERYONE]), np.zeros(n_samples, np.int32)
    encoded = encode_block(sensitive_features, n_samples)
    if encoded.missing is not None:
        raise ValueError(missing_groups(encoded, f"row {encoded.missing[1]}"))
    check_number_of_groups(len(encoded.names), n_samples)
    return encoded.names, encoded.codes


class Encoded(NamedTuple):
    """Group names of some rows, sorted, and the code of each row.

    If values are missing, there are no names: ``missing`` has the column and the row of
    the first, and their number in that column.
    """

    names: NDArray[Any]
    codes: NDArray[np.int32]
    missing: tuple[int, int, int] | None = None


def encode_block(sensitive_features: Any, n_samples: int | None = None) -> Encoded:
    """Encode the groups of all rows or of one block."""
    refuse_mask(sensitive_features, "sensitive_features")
    columns = _columns(sensitive_features)
    n_samples = len(columns[0]) if n_samples is None else n_samples
    for position, column in enumerate(columns):
        if column.shape != (n_samples,):
            raise ValueError(
                f"sensitive_features has {len(column)} rows, but X has {n_samples}; "
                "give one group value for each row of X."
            )
        missing = np.flatnonzero(is_missing(column))
        if len(missing):
            place = position, int(missing[0]), len(missing)
            return Encoded(np.empty(0, object), np.empty(0, np.int32), place)
    names, codes = zip(*map(encode_values, columns), strict=True)
    if len(names) == 1:
        return Encoded(names[0], codes[0].astype(np.int32))
    # Codes follow the order of the names, so sorting codes sorts the tuples too.
    combinations, rows = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    tuples = np.empty(len(combinations), dtype=object)
    for g, combination in enumerate(combinations):
        tuples[g] = tuple(
            values.tolist()[code]
            for values, code in zip(names, combination, strict=True)
        )
    return Encoded(tuples, rows.ravel().astype(np.int32))


def missing_groups(encoded: Encoded, first_row: str) -> str:
    """Return the error sentence for rows without a group."""
    assert encoded.missing is not None
    position, _, count = encoded.missing
    return (
        f"sensitive_features has {count} missing value(s) in column {position}, the "
        f"first at {first_row}; drop these rows or give them a group of their own, "
        "such as 'unknown'."
    )


def check_number_of_groups(n_groups: int, n_samples: int) -> None:
    """Raise ValueError if there are many groups with few rows each, as of an age."""
    if n_groups > max(MANY_GROUPS, n_samples / FEW_ROWS):
        raise ValueError(
            f"sensitive_features makes {n_groups} groups of {n_samples} rows, few of "
            "them with more than some members; group the values first, as ages by "
            "decade."
        )


def merge_names(
    names: Sequence[NDArray[Any]],
) -> tuple[NDArray[Any], list[NDArray[np.int32]]]:
    """Return all names of several blocks, sorted, and codes for each block's names."""
    some = [each for each in names if len(each)] or [np.empty(0, object)]
    if len({each.dtype.kind for each in some}) > 1:
        some = [each.astype(object) for each in some]
    merged, codes = encode_values(np.concatenate(some))
    ends = np.cumsum([len(each) for each in names])[:-1]
    return merged, np.split(codes.astype(np.int32), ends)


def refuse_mask(values: Any, argument: str) -> None:
    """Raise ValueError if values are masked: NumPy would read below the mask."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{argument} has {np.ma.getmaskarray(values).sum()} masked value(s); fill "
            "them in or drop these rows."
        )


def frame_columns(frame: Any) -> list[NDArray[Any]]:
    """Return the columns of a pandas or polars frame, as arrays."""
    by_position = getattr(frame, "iloc", None)
    if by_position is not None:  # names may occur twice in pandas
        return [np.asarray(by_position[:, j]) for j in range(frame.shape[1])]
    return [np.asarray(frame[name]) for name in frame.columns]


def _columns(sensitive_features: Any) -> list[NDArray[Any]]:
    """Return the columns of a series, frame, array or list, as arrays."""
    if hasattr(sensitive_features, "columns"):
        arrays = frame_columns(sensitive_features)
    else:
        if isinstance(sensitive_features, str):
            raise ValueError(
                f"sensitive_features is the text {sensitive_features!r}; give the "
                "column itself, one group value for each row of X, not its name."
            )
        values = np.asarray(keep_types(sensitive_features))
        if values.ndim not in (1, 2):
            raise ValueError(
                "sensitive_features must be one column or a table of columns, found "
                f"shape {values.shape}; give one group value for each row of X."
            )
        arrays = [values] if values.ndim == 1 else list(values.T)
    if not arrays:
        raise ValueError(
            "sensitive_features has no column; give at least one, or None to treat "
            "all rows as one group."
        )
    return arrays


def keep_types(sensitive_features: Any) -> Any:
    """Return lists as object arrays: NumPy would turn [1, "a", None] into text."""
    if isinstance(sensitive_features, (list, tuple)):
        return np.array(sensitive_features, dtype=object)
    return sensitive_features


def encode_values(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return distinct values and codes, as ``np.unique`` does, of hashable values."""
    if column.dtype != object:
        return np.unique(column, return_inverse=True)
    positions: dict[Any, int] = {}
    try:
        first_seen = [
            positions.setdefault(value, len(positions)) for value in column.tolist()
        ]
    except TypeError as error:
        raise ValueError(
            f"found a value that cannot name a group or category ({error}); use text, "
            "numbers or booleans."
        ) from error
    values = list(positions)
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
    except TypeError:  # values of several types have no order of their own
        order = sorted(
            range(len(values)), key=lambda j: (type(values[j]).__name__, str(values[j]))
        )
    names = np.empty(len(values), dtype=object)
    names[:] = [values[j] for j in order]
    rank = np.empty(len(values), dtype=np.intp)
    rank[order] = np.arange(len(values))
    return _simplest(names), rank[first_seen]


def _simplest(names: NDArray[Any]) -> NDArray[Any]:
    """Return names as text, integers or booleans if all are of that one type."""
    types = {type(name) for name in names}
    if len(types) == 1 and types <= {str, int, bool}:
        return np.array(names.tolist())
    return names


def is_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True for each value that is None, NaN, NaT or pandas' NA."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind in "mM":
        return np.asarray(np.isnat(column))
    # Few types occur in a column of objects, so look at those first.
    types = set(map(type, column)) if column.dtype == object else set()
    always = {kind for kind in types if kind.__name__ in _MISSING_TYPES}
    sometimes = {kind for kind in types if issubclass(kind, (float, np.floating))}
    if not always | sometimes:
        return np.zeros(len(column), dtype=np.bool_)
    return np.array(
        [
            type(value) in always or (type(value) in sometimes and value != value)
            for value in column
        ]
    )
