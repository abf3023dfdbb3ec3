"""Hostile tables and models: a result or one sentence, whatever a file holds.

scripts/fuzz runs thousands of such inputs; what it found has a test here.
"""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rawlsian._tables import parts, unpack
from rawlsian._tables.column import from_arrow
from rawlsian._tables.columns import is_numbered
from rawlsian._tables.errors import TableError
from rawlsian._tables.read import read_table
from support.commands import rawlsian
from support.fuzzing import AUDIT, Fuzzer

pytestmark = pytest.mark.usefixtures("short_search")

N_INPUTS = 500


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    return Fuzzer(tmp_path_factory.mktemp("fuzz"))


def sentence(done, code=1):
    """Return the one line of an error."""
    assert done.exit_code == code, done.output
    (line,) = done.stderr.splitlines()
    return line


def audit(path):
    return rawlsian("audit", path, *AUDIT)


def test_every_hostile_file_gives_a_result_or_one_sentence(fuzzer):
    inputs = (fuzzer.make(0, number) for number in range(N_INPUTS))
    wrong = [
        f"{j}: {said}" for j, each in enumerate(inputs) if (said := fuzzer.run(each)[1])
    ]

    assert wrong == []


# --- What the fuzzer found ----------------------------------------------------------


def test_a_zip_archive_of_an_unknown_method_cannot_be_decompressed(tmp_path):
    stream, path = io.BytesIO(), tmp_path / "table.zip"
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("table.csv", "a,b\n1,2\n")
    content = bytearray(stream.getvalue())
    for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        content[content.index(signature) + place] = 99  # the method
    path.write_bytes(content)

    assert "cannot be decompressed (That compression method" in sentence(audit(path))


def test_a_column_of_dates_is_no_identifier(fuzzer, tmp_path):
    table = pq.read_table(fuzzer.folder / "plain.parquet").remove_column(0)
    days = pa.array(range(table.num_rows), pa.timestamp("s"))
    pq.write_table(table.append_column("day", days), tmp_path / "table.parquet")

    done = rawlsian(
        "predict", fuzzer.folder / "plain.json", tmp_path / "table.parquet", "--out",
        tmp_path / "labels.csv",
    )  # fmt: skip

    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "labels.csv").read_text().startswith("row,cluster,")


def test_a_hundred_thousand_columns_are_too_many(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{j}" for j in range(100_000)) + "\n")

    assert "100,000 columns, more than 10,000, the limit" in sentence(audit(path))


def test_a_name_of_ten_thousand_characters_is_cut_in_a_sentence(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(f"{'n' * 10_000},age\n1,2\n")

    assert len(sentence(audit(path), 2)) < 1_000


def test_codes_for_a_terminal_are_not_printed(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\x1b[31mred,age\n1,2\n")

    assert "\x1b" not in sentence(audit(path), 2)


# --- Files that become large --------------------------------------------------------


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(unpack, "LARGEST", 1_000)


def test_a_gzip_bomb_is_refused_by_a_limit_that_is_named(tmp_path, small_limit):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a" * 1_000_000))

    line = sentence(audit(path))

    assert "unpacks to more than" in line
    assert "the limit; if it is what you expect, unpack it yourself." in line


def test_parquet_with_far_more_values_than_bytes_is_refused(tmp_path, small_limit):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": pa.array([1] * 1_000_000)}), path)

    assert "1,000,000 values, more than" in sentence(audit(path))


def test_a_table_that_repeats_itself_is_read(tmp_path, small_limit):
    path = tmp_path / "table.csv.gz"
    rows = "".join(f"{j % 7},{'fm'[j % 2]},{'AB'[j // 10]}\n" for j in range(20))
    path.write_bytes(gzip.compress(f"age,sex,segment\n{rows}".encode()))

    assert audit(path).exit_code == 0


def test_a_column_without_any_value_is_no_identifier():
    nothing = pa.chunked_array([pa.nulls(3, pa.int64())])

    assert not is_numbered(from_arrow("empty", nothing, frozenset()))


@pytest.mark.parametrize("number", [455, 1351])
def test_damaged_archives_and_names_are_refused_in_one_sentence(fuzzer, number):
    given = fuzzer.make(3, number)  # a zip of version 22.4; Parquet, a name not UTF-8

    assert fuzzer.run(given)[1] is None


def test_a_model_whose_numbers_overflow_is_refused_in_one_sentence(fuzzer):
    assert fuzzer.run(fuzzer.make(100, 2322))[1] is None


def test_a_number_that_is_too_large_is_named_by_its_first_digits(fuzzer, tmp_path):
    path = tmp_path / "table.csv"
    rows = "".join(f"{j % 2},{j},a\n" for j in range(40))
    path.write_text(f"sex,age,segment\n0,{'9' * 400},a\n{rows}")

    said = sentence(rawlsian("audit", path, "--sensitive", "sex", "--labels", "segment",
                             "--numeric", "age"))  # fmt: skip

    assert f"too large ({'9' * 60}...) in row 1; replace it." in said
    assert fuzzer.run(fuzzer.make(4, 6747))[1] is None


def test_text_of_parquet_that_is_not_utf_8_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "table.parquet"
    broken = pa.array([b"a", b"\x9b"]).view(pa.string())
    pq.write_table(pa.table({"job": broken}), path)

    assert "table.parquet' has text that is not UTF-8" in sentence(audit(path))


@pytest.mark.parametrize("place", [1, 2500], ids=["first rows", "later rows"])
def test_text_of_parts_that_is_not_utf_8_is_refused_in_one_sentence(
    tmp_path, monkeypatch, place
):
    monkeypatch.setattr(parts, "ROWS_LOOKED_AT", 1000)
    words = [b"a", b"b"] * 1500
    words[place] = b"\x9b"
    table = pa.table({
        "job": pa.array(words).view(pa.string()), "age": range(3000),
        "sex": ["f", "m"] * 1500, "segment": list("xyz") * 1000,
    })  # fmt: skip
    pq.write_table(table, tmp_path / "0.parquet")

    said = sentence(audit(tmp_path))

    assert "0.parquet' has text that is not UTF-8" in said


def test_a_part_whose_text_was_damaged_ends_in_one_sentence(fuzzer):
    assert fuzzer.run(fuzzer.make(11, 17021))[1] is None


def test_archives_that_cannot_be_read_leave_no_memory_behind(tmp_path):
    path = tmp_path / "table.csv.zst"
    path.write_bytes(pa.compress(b"a,b\n1,2\n" * 99, "zstd", asbytes=True)[:-9])
    tracemalloc.start()
    try:
        for _ in range(9):
            with pytest.raises(TableError, match="cannot be decompressed"):
                read_table(str(path))
        n_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert n_bytes < 3 * unpack.CHUNK
