"""Parquet files as row source: a block is a few row groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._rows.blocks import LocalBlocks, not_numeric

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "Parquet files need pyarrow, which is not installed; pip install "
        "'rawlsian[cli]' brings it.",
        name=error.name,
    ) from error


class ParquetReader(NamedTuple):
    """Reader of some row groups of a file; ``columns`` make the rows."""

    path: str
    row_groups: list[int]
    columns: list[str]
    dtype: np.dtype[Any]
    start: int
    stop: int
    first_in_file: int

    def read(self) -> NDArray[Any]:
        """Return the rows; nulls are NaN."""
        table = self._read(self.columns)
        rows = np.empty((table.num_rows, len(self.columns)), self.dtype)
        for j, name in enumerate(self.columns):
            rows[:, j] = table.column(name).to_numpy()
        return rows

    def read_columns(self, names: list[str], argument: str) -> Any:
        """Return other columns: one as an array, several as a table."""
        schema = pq.read_schema(self.path)
        for name in names:
            if schema.names.count(name) != 1:
                how = "does not have" if name not in schema.names else "has twice"
                raise ValueError(
                    f"{argument} names the column {name!r}, which {self.path!r} {how}; "
                    f"its columns are {_listed(schema.names)}."
                )
            if pa.types.is_nested(schema.field(name).type):
                raise ValueError(
                    f"{argument} names the column {name!r}, which holds lists or the "
                    f"like in {self.path!r}; name one with a value for each row."
                )
        table = self._read(names)
        arrays = [_as_array(table.column(name)) for name in names]
        if len(arrays) == 1:
            return arrays[0]
        # As objects: NumPy would convert all columns to one type.
        both = np.empty((table.num_rows, len(arrays)), object)
        for j, array in enumerate(arrays):
            both[:, j] = array
        return both

    def _read(self, names: list[str]) -> pa.Table:
        with pq.ParquetFile(self.path) as file:
            return file.read_row_groups(
                self.row_groups, columns=list(names), use_threads=False
            )

    def name_row(self, row: int) -> str:
        """Return the row's name for error messages."""
        return f"row {self.first_in_file + row:,} of {self.path!r}"


def open_parquet(
    paths: Sequence[str], columns: Sequence[str] | None, block_size: int
) -> LocalBlocks:
    """Open the rows of all files in this order; columns are found by name."""
    readers: list[ParquetReader] = []
    start = 0
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                sizes = [
                    file.metadata.row_group(r).num_rows
                    for r in range(file.metadata.num_row_groups)
                ]
                schema = file.schema_arrow
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"{path!r} is no Parquet file: {reason}.") from error
        names = _check_columns(path, schema, columns)
        dtype = np.result_type(*(_dtype(path, schema, name) for name in names))
        first = 0
        for row_groups in few_row_groups(sizes, block_size):
            n_rows = sum(sizes[r] for r in row_groups)
            reader = ParquetReader(
                path, row_groups, names, dtype, start, start + n_rows, first
            )
            readers.append(reader)
            start, first = start + n_rows, first + n_rows
    names = list(columns or ())
    # One type for all, so a pass is compiled once.
    dtype = np.result_type(*(each.dtype for each in readers), np.float32)
    return LocalBlocks(
        [each._replace(dtype=dtype) for each in readers], names, len(names)
    )


def few_row_groups(sizes: Sequence[int], block_size: int) -> list[list[int]]:
    """Divide row groups into blocks of up to block_size rows; skip empty ones."""
    blocks: list[list[int]] = []
    n_rows = block_size
    for r, size in enumerate(sizes):
        if size == 0:
            continue
        if n_rows + size > block_size:
            blocks.append([])
            n_rows = 0
        blocks[-1].append(r)
        n_rows += size
    return blocks


def _check_columns(
    path: str, schema: pa.Schema, columns: Sequence[str] | None
) -> list[str]:
    if not columns or isinstance(columns, str):
        raise ValueError(
            f"columns must list the columns of {path!r} that make the rows, got "
            f"{columns!r}; it has {_listed(schema.names)}."
        )
    for name in columns:
        if schema.names.count(name) != 1:
            how = "has no" if name not in schema.names else "has more than one"
            raise ValueError(
                f"{path!r} {how} column {name!r}; its columns are "
                f"{_listed(schema.names)}."
            )
    return list(columns)


def _dtype(path: str, schema: pa.Schema, name: str) -> Any:
    """Return the type for a column: float32 for float32 and float16, else float64."""
    kind = schema.field(name).type
    if pa.types.is_float32(kind) or pa.types.is_float16(kind):
        return np.float32
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return np.float64
    if pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return np.float64
    raise not_numeric(name, repr(path), kind)


def _as_array(column: Any) -> NDArray[Any]:
    """Return a column as an array: numbers if it has no nulls, else objects."""
    kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if column.null_count == 0 and is_number:
        return np.asarray(column.to_numpy())
    if not pa.types.is_dictionary(kind):
        column = column.dictionary_encode()
    encoded = column.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    values = np.empty(len(encoded.dictionary) + 1, object)  # the last is None
    values[:-1] = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(values[codes])


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return f"{shown} and {len(names) - 10} more" if len(names) > 10 else shown
