"""Messy tables: each tells its point in a line, and frames read as their files do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rawlsian._tables.errors import TableError
from rawlsian._tables.memory import MemoryTable
from rawlsian._tables.request import TableRequest
from support.messy import CORPUS

pytestmark = pytest.mark.usefixtures("short_search")

READABLE = [each for each in CORPUS if not each.fails]


def prepared(table, options):
    """Read and prepare a table, as a fit or an audit does first."""
    return MemoryTable.read(TableRequest.given(table, **options))


def written(case, folder):
    path = folder / case.name
    path.write_bytes(case.content)
    return path


def lines_of(table):
    return table.facts.lines("Clustered on")


def test_the_corpus_is_large():
    assert len(CORPUS) >= 40
    assert len({each.point for each in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.point)
def test_a_messy_table_tells_its_point_in_a_line(case, tmp_path):
    path = written(case, tmp_path)

    if case.fails:
        with pytest.raises(TableError) as error:
            prepared(path, case.options)
        lines = [str(error.value)]
    else:
        lines = lines_of(prepared(path, case.options))

    for part in case.says:
        assert any(part in line for line in lines), lines
    assert not any("\n" in line for line in lines)


@pytest.mark.parametrize("case", READABLE, ids=lambda case: case.point)
def test_every_column_is_used_or_named_with_a_reason(case, tmp_path):
    table = prepared(written(case, tmp_path), case.options)

    used = [feature.name for feature in table.prepared.features]
    unused = [each.name for each in table.prepared.unused]
    assert len({*used, *unused}) == len(used) + len(unused) == table.n_columns
    assert all(each.reason for each in table.prepared.unused)
    n_left_out = sum(each.n_rows for each in table.facts.left_out)
    assert len(table.prepared.rows) + n_left_out == table.n_rows


# --- Frames --------------------------------------------------------------------------

FRAMES = {
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
}


def same(found, expected):
    """Assert that two prepared tables hold the same people."""
    ours, theirs = found.prepared, expected.prepared
    np.testing.assert_array_equal(ours.X, theirs.X)
    np.testing.assert_array_equal(ours.groups, theirs.groups)
    np.testing.assert_array_equal(ours.rows, theirs.rows)
    assert ours.group_names == theirs.group_names
    assert ours.features == theirs.features
    assert ours.unused == theirs.unused


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("case", READABLE, ids=lambda case: case.point)
def test_a_frame_of_a_messy_table_gives_what_its_file_gives(case, kind, tmp_path):
    request = TableRequest.given(written(case, tmp_path), **case.options)
    cells = request.source.read().cells
    plain = [
        column.cast(column.type.value_type)
        if pa.types.is_dictionary(column.type)
        else column
        for column in cells.columns
    ]
    frame = FRAMES[kind](pa.table(plain, names=cells.column_names))
    options = {
        name: value
        for name, value in case.options.items()
        if name not in ("sheet", "header_row")
    }

    same(prepared(frame, options), MemoryTable.read(request))


def typed_people():
    """Return people with columns of many types, and values that are missing."""
    return pd.DataFrame(
        {
            "whole": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8],
            "real": [0.5, np.nan, 2.25, 1e-3, -1.5, 3.0, 2.5, 0.1, 7.0, 1.0, 2.0, 0.3],
            "is_member": [True, False, True] * 4,
            "text": ["a", "b", "c", None] * 3,
            "group": [1.0, 2.0] * 6,
        }
    )


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("format", ["csv", "tsv", "parquet"])
def test_a_typed_frame_gives_what_its_file_gives(kind, format, tmp_path):
    frame, path = typed_people(), tmp_path / f"table.{format}"
    if format == "parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="," if format == "csv" else "\t")
    options = {"sensitive": ["group", "is_member"], "missing": "category"}
    table = pa.Table.from_pandas(frame, preserve_index=False)

    found = prepared(FRAMES[kind](table), options)

    same(found, prepared(path, options))
    assert found.prepared.group_names == [
        "1, false", "1, true", "2, false", "2, true",
    ]  # fmt: skip
