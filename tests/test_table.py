"""Tables: reading, classifying columns, encoding, saving models."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, strategies as st

from rawlsian import UnitDistanceEncoder, audit_table, fit_table, predict_table
from rawlsian._tables.column import MISSING_TEXTS, Column
from rawlsian._tables.columns import Roles, Unused, look_at, sort_out
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.model import Model, load_model
from rawlsian._tables.predict import identifier_of, predict
from rawlsian._tables.prepare import clusters_of, prepare
from rawlsian._tables.read import read_table
from rawlsian._tables.specs import ColumnSpecs, MissingPolicy
from rawlsian._tables.values import Used, as_category

PEOPLE = "age,job,sex\n20,cook,f\n30,cook,m\n40,smith,f\n50,smith,m\n"


def table_of(tmp_path, content, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(str(path), **options)


def values(table, name):
    column = table.columns[name]
    levels = column.levels.to_pylist()
    return [None if code < 0 else levels[code] for code in column.codes]


def column_of(texts, name="column"):
    levels = list(dict.fromkeys(text for text in texts if text is not None))
    codes = [-1 if text is None else levels.index(text) for text in texts]
    return Column(
        name, pa.array(levels, pa.string()), np.array(codes, np.int32), "text"
    )


def when_missing(policy):
    return Roles(("sex",), specs=ColumnSpecs(missing=MissingPolicy(policy)))


# --- Reading -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("plain.csv", lambda text: text),
        ("packed.csv.gz", gzip.compress),
        ("packed.csv.bz2", bz2.compress),
        ("packed.csv.xz", lzma.compress),
        ("packed.csv.zst", lambda text: pa.compress(text, "zstd", asbytes=True)),
        ("misnamed.csv", gzip.compress),
    ],
)
def test_compressed_or_not_a_table_reads_the_same(tmp_path, name, pack):
    table = table_of(tmp_path, pack(PEOPLE.encode()), name)

    assert table.n_rows == 4
    assert values(table, "job") == ["cook", "cook", "smith", "smith"]


def test_a_zip_of_one_table_is_read(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("people.csv", PEOPLE)

    assert table_of(tmp_path, packed.getvalue(), "people.zip").n_rows == 4


def test_an_archive_that_is_no_workbook_is_refused(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("xl/workbook.xml", "")

    with pytest.raises(TableError, match="is not a whole Excel workbook"):
        table_of(tmp_path, packed.getvalue(), "people.xlsx")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    table = table_of(tmp_path, PEOPLE.replace(",", delimiter))

    assert list(table.columns) == ["age", "job", "sex"]


def test_commas_within_quotes_do_not_separate(tmp_path):
    table = table_of(tmp_path, 'a,b\n1,"x, y"\n2,"p, q"\n')

    assert values(table, "b") == ["x, y", "p, q"]


def test_spaces_around_values_do_not_count(tmp_path):
    table = table_of(tmp_path, "a, b\n1, x\n2 ,x \n")

    assert values(table, "a") == ["1", "2"]
    assert values(table, "b") == ["x", "x"]


def test_leading_zeros_are_kept(tmp_path):
    assert values(table_of(tmp_path, "code\n007\n07\n"), "code") == ["007", "07"]


def test_what_means_missing_is_missing_and_more_can_be_named(tmp_path):
    table = table_of(tmp_path, "a,b\nNA,?\n,x\nnull,?\n", missing_texts=["?"])

    assert values(table, "a") == [None, None, None]
    assert values(table, "b") == [None, "x", None]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(tmp_path, encoding):
    table = table_of(tmp_path, "a,b\né,2\n".encode(encoding))

    assert values(table, "a") == ["é"]


def test_a_column_without_a_name_gets_one(tmp_path):
    assert list(table_of(tmp_path, ",b\n0,1\n").columns) == ["unnamed 1", "b"]


def test_a_row_of_another_length_is_named(tmp_path):
    with pytest.raises(TableError, match=r"3 values in row 2, .* but 2 columns"):
        table_of(tmp_path, "a,b\n1,2\n3,4,5\n")


@given(
    st.lists(
        st.lists(
            # Of control characters Python strips some that Arrow does not.
            st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])),
            min_size=2,
            max_size=2,
        ),
        min_size=1,
    )
)
def test_texts_come_back_as_python_reads_them(rows):
    import csv
    import tempfile
    from pathlib import Path

    rows = [*rows, ["x", "y"]]  # as empty rows at the end are dropped
    lines = io.StringIO()
    csv.writer(lines, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), lines.getvalue(), delimiter=",")

    for j, name in enumerate("ab"):
        expected = [row[j].strip() for row in rows]
        assert values(table, name) == [
            None if text in MISSING_TEXTS else text for text in expected
        ]


def test_parquet_keeps_its_types(tmp_path):
    day = datetime.date(2020, 1, 1)
    content = pa.table(
        {
            "number": pa.array([1.5, None, float("nan")]),
            "whole": pa.array([1, 2, None]),
            "flag": pa.array([True, False, None]),
            "text": pa.array(["x", None, "y"]).dictionary_encode(),
            "day": pa.array([day, day, None]),
            "list": pa.array([[1], [2], []]),
        }
    )
    pyarrow.parquet.write_table(content, tmp_path / "t.parquet")

    table = read_table(str(tmp_path / "t.parquet"))

    assert values(table, "number") == [1.5, None, None]
    assert values(table, "whole") == [1, 2, None]
    assert values(table, "flag") == ["true", "false", None]
    assert values(table, "text") == ["x", None, "y"]
    assert [c.stored_as for c in table.columns.values()] == [
        "number", "number", "text", "text", "date", "other",
    ]  # fmt: skip


def test_texts_that_mean_missing_can_be_named_for_parquet_too(tmp_path):
    content = pa.table({"job": ["cook", "?", "smith"]})
    pyarrow.parquet.write_table(content, tmp_path / "t.parquet")

    table = read_table(str(tmp_path / "t.parquet"), missing_texts=["?"])

    assert values(table, "job") == ["cook", None, "smith"]


@pytest.mark.parametrize("first", [2**53, 2**60])
def test_large_whole_numbers_of_parquet_stay_what_they_are(tmp_path, first):
    content = pa.table({"id": pa.array(range(first, first + 12), pa.int64())})
    pyarrow.parquet.write_table(content, tmp_path / "t.parquet")

    column = read_table(str(tmp_path / "t.parquet")).columns["id"]

    assert column.texts().tolist() == [str(first + i) for i in range(12)]
    assert look_at(column).is_identifier


def test_numbers_of_parquet_are_written_as_people_write_them(tmp_path):
    content = pa.table({"x": [0.1, 2.0, -0.0, 0.0, 1e300]})
    pyarrow.parquet.write_table(content, tmp_path / "t.parquet")

    column = read_table(str(tmp_path / "t.parquet")).columns["x"]

    assert column.texts().tolist()[:3] == ["0.1", "2", "0"]
    assert len(column.levels) == 4


@pytest.mark.parametrize(
    "values_of",
    [
        pa.array([[1], [2]]),
        pa.array([b"a", b"b"]),
        pa.array([datetime.time(1), datetime.time(2)]),
        pa.array([datetime.timedelta(1), None]),
    ],
)
def test_what_parquet_holds_besides_is_named_and_left_out(tmp_path, values_of):
    pyarrow.parquet.write_table(pa.table({"x": values_of}), tmp_path / "t.parquet")

    column = read_table(str(tmp_path / "t.parquet")).columns["x"]

    assert look_at(column).reason == "lists, times of day or bytes"


def test_a_column_of_nothing_is_empty(tmp_path):
    pyarrow.parquet.write_table(pa.table({"x": pa.nulls(3)}), tmp_path / "t.parquet")

    assert (
        look_at(read_table(str(tmp_path / "t.parquet")).columns["x"]).reason == "empty"
    )


def test_a_cut_parquet_file_is_refused(tmp_path):
    with pytest.raises(TableError, match="not a whole Parquet file"):
        table_of(tmp_path, b"PAR1 and no more", "t.parquet")


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(PEOPLE.encode())[:-10],
        gzip.compress(PEOPLE.encode())[:12] + b"damaged" * 9,
        b"PK\x03\x04 and no more",
        lzma.compress(PEOPLE.encode())[:-9],
    ],
    # Not the bytes, which hold the time: two processes would disagree on the names.
    ids=["cut", "damaged", "zip", "xz"],
)
def test_what_cannot_be_decompressed_is_refused(tmp_path, content):
    with pytest.raises(TableError, match="cannot be decompressed"):
        table_of(tmp_path, content)


@pytest.mark.parametrize(
    "content", [b"\n\n\r\n", b"\xef\xbb\xbf", "\ufeff".encode("utf-16")]
)
def test_a_file_of_nothing_but_line_ends_is_empty(tmp_path, content):
    with pytest.raises(TableError, match="is empty"):
        table_of(tmp_path, content)


def test_a_quote_that_is_never_closed_is_told_with_its_row(tmp_path):
    rows = "".join(f"{i},x\n" for i in range(20))

    with pytest.raises(TableError, match="a quote in row 21 that is never closed"):
        table_of(tmp_path, f'a,b\n{rows}20,"open\n{rows}')


def test_a_last_cell_of_several_lines_is_fine(tmp_path):
    assert values(table_of(tmp_path, 'a,b\n1,"x\ny"\n'), "b") == ["x\ny"]


def test_a_header_of_many_long_names_is_read_whole(tmp_path):
    names = [f"column {i} {'x' * 20}" for i in range(4000)]

    table = table_of(tmp_path, ",".join(names) + "\n" + ",".join(["1"] * 4000) + "\n")

    assert list(table.columns) == names


def test_other_encodings_may_hold_zero_bytes(tmp_path):
    content = "a,b\n1,x\n".encode("utf-16-le")

    assert values(table_of(tmp_path, content, encoding="utf-16-le"), "b") == ["x"]


def test_in_a_table_of_one_column_an_empty_line_is_a_missing_value(tmp_path):
    assert values(table_of(tmp_path, "a\n1\n\n2\n"), "a") == ["1", None, "2"]


def test_zips_made_on_a_mac_are_read(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("people.csv", PEOPLE)
        archive.writestr("__MACOSX/._people.csv", "")

    assert table_of(tmp_path, packed.getvalue(), "people.zip").n_rows == 4


# --- Columns -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "2.5", "-3e2", "1"], "number"),
        (["1", None, "2", "1"], "number"),
        (["a", "b", "a", "b"], "category"),
        (["007", "013", "007", "022"], "category"),
        (["yes", "no", "yes", None], "category"),
        (["1_000", "2_000", "1_000", "1_000"], "category"),
        (["\uff11", "\uff12", "\uff11", "\uff11"], "category"),
        (["+1", "-.5", "2.", "1"], "number"),
    ],
)
def test_numbers_and_categories_are_told_apart(texts, kind):
    found = look_at(column_of(texts))

    assert isinstance(found, Used)
    assert found.kind == kind


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([f"P{i:04d}" for i in range(50)], "an identifier"),
        ([str(i) for i in range(50)], "an identifier"),
        ([f"2020-01-{i:02d}" for i in range(1, 31)], "dates"),
        ([f"{i}/3/1999" for i in range(1, 29)], "dates"),
        ([f"3 May {i}" for i in range(1950, 1990)], "dates"),
        ([f"202001{i:02d}" for i in range(1, 31)], "dates"),
        (["unknown", *(f"2020-01-{i:02d}" for i in range(1, 31))], "dates"),
        ([str(30_000_000 + 7919 * i) for i in range(50)], "an identifier"),
        ([f"she said it was the {i}th" for i in range(50)], "free text"),
        ([f"place {i // 2}" for i in range(400)], "more than the 100"),
        (["x"] * 20, "has the same value in all rows, 'x'"),
        ([None] * 20, "empty"),
    ],
)
def test_what_cannot_be_clustered_on_is_named_with_its_reason(texts, reason):
    found = look_at(column_of(texts))

    assert isinstance(found, Unused)
    assert reason in found.reason


def test_whole_numbers_that_differ_are_an_identifier_only_if_so_named():
    numbers = [str(7 * i) for i in range(50)]

    assert look_at(column_of(numbers, "customer_id")).is_identifier
    assert look_at(column_of(numbers, "customerId")).is_identifier
    assert look_at(column_of([*numbers, "0"], "id")).is_identifier
    for name in ("income", "amount_paid", "bid"):
        assert look_at(column_of(numbers, name)).kind == "number"


def test_ages_that_happen_to_follow_each_other_are_no_identifier():
    ages = [str(age) for age in range(30, 42)]

    assert look_at(column_of(ages, "age")).kind == "number"


def test_the_user_may_say_that_what_looks_like_an_identifier_is_a_number():
    assert look_at(column_of([str(i) for i in range(50)]), "number").kind == "number"


def test_numbers_mixed_with_text_are_refused_with_the_row():
    sentence = "'children' has mostly numbers, but 'many' in row 3; correct it, or say"

    with pytest.raises(TableError, match=sentence):
        look_at(column_of(["1", "2", "many", "3"], "children"))


def test_text_that_the_user_calls_numbers_is_refused_with_the_row():
    sentence = (
        "^--numeric names 'job', but row 2 has 'farmer', which is not a number; leave "
        "--numeric out, or correct the table.$"
    )

    with pytest.raises(TableError, match=sentence):
        look_at(column_of(["1", "farmer", "cook"], "job"), "number")


def test_a_text_among_what_the_user_calls_numbers_is_refused_with_the_row():
    with pytest.raises(TableError, match=r"'a' has mostly numbers, but '[?]' in row 3"):
        look_at(column_of(["1", "2", "?"], "a"), "number")


def test_infinity_is_refused_with_the_row():
    with pytest.raises(TableError, match=r"'income' holds infinity .* in row 2"):
        look_at(column_of(["1", "inf", "2"], "income"))


def test_the_user_may_say_that_numbers_are_categories(tmp_path):
    table = table_of(tmp_path, "code,sex\n1,f\n2,m\n1,m\n")

    used, _ = sort_out(table, Roles(("sex",), categorical=("code",)))

    assert [(column.name, column.kind) for column in used] == [("code", "category")]


def test_sensitive_columns_are_used_only_if_asked_for(tmp_path):
    table = table_of(tmp_path, PEOPLE)

    for use_sensitive, expected in (
        (False, ["age", "job"]),
        (True, ["age", "job", "sex"]),
    ):
        used, _ = sort_out(table, Roles(("sex",), use_sensitive=use_sensitive))
        assert [column.name for column in used] == expected


# --- Preparing ---------------------------------------------------------------------


def test_a_table_is_encoded_as_the_encoder_does(tmp_path):
    prepared = prepare(table_of(tmp_path, PEOPLE), Roles(("sex",)))

    rows = [[20, "cook"], [30, "cook"], [40, "smith"], [50, "smith"]]
    encoder = UnitDistanceEncoder()
    np.testing.assert_allclose(prepared.X, encoder.fit_transform(rows), atol=1e-15)
    assert prepared.max_distance == encoder.max_distance_ == 2


def test_missing_values_are_an_error_that_counts_them(tmp_path):
    table = table_of(tmp_path, "age,job,sex\n20,,f\n,cook,m\n40,smith,\n50,smith,m\n")

    with pytest.raises(
        TableError,
        match=r"3 of 4 rows .* in age \(1\), job \(1\), sex \(1\). Say --mis",
    ):
        prepare(table, Roles(("sex",)))


def test_rows_with_missing_values_are_left_out_with_their_reason(tmp_path):
    table = table_of(tmp_path, "age,job,sex\n20,,\n30,cook,m\n40,smith,f\n50,cook,m\n")

    prepared = prepare(table, when_missing("drop"))

    assert prepared.rows.tolist() == [1, 2, 3]
    assert prepared.left_out.by_reason() == [("missing: job; missing: sex", 1, 1)]
    assert len(prepared.X) == 3


def test_missing_values_become_a_level_and_numbers_stand_at_their_median(tmp_path):
    table = table_of(tmp_path, "age,job,sex\n20,,f\n,cook,\n40,smith,f\n50,smith,m\n")

    prepared = prepare(table, when_missing("category"))

    assert [(a.name, a.level) for a in prepared.attributes] == [
        ("age", None), ("age is missing", "no"), ("age is missing", "yes"),
        ("job", "(missing)"), ("job", "cook"), ("job", "smith"),
    ]  # fmt: skip
    assert prepared.features[0].fill == 40
    assert prepared.group_names == ["(missing)", "f", "m"]
    assert prepared.groups.tolist() == [1, 0, 1, 2]
    assert prepared.max_distance == 3
    assert any("median" in remark for remark in prepared.remarks)


def test_a_text_that_says_missing_is_not_mixed_up_with_missing_values(tmp_path):
    for content in (
        "job,sex\n(missing),f\n,m\ncook,f\n",
        "job,sex\n(missing),f\na,m\n",
    ):
        table = table_of(tmp_path, content)
        with pytest.raises(TableError, match=r"the text '.missing.'"):
            prepare(table, when_missing("category"))


def test_numbers_of_sensitive_columns_are_refused_where_they_are_many(tmp_path):
    rows = "\n".join(f"{i},{i % 2}" for i in range(30))
    table = table_of(tmp_path, f"age,x\n{rows}\n")

    with pytest.raises(TableError, match="30 different numbers, too many for groups"):
        prepare(table, Roles(("age",)))


def test_several_sensitive_columns_make_their_intersections(tmp_path):
    content = "age,sex,race\n1,f,a\n2,m,a\n3,f,b\n5,m,b\n"

    prepared = prepare(table_of(tmp_path, content), Roles(("sex", "race")))

    assert prepared.group_names == ["f, a", "f, b", "m, a", "m, b"]
    assert prepared.groups.tolist() == [0, 2, 1, 3]


def test_names_of_intersections_cannot_be_mixed_up(tmp_path):
    content = 'age,p,q\n1,"a, b",c\n2,a,"b, c"\n'

    prepared = prepare(table_of(tmp_path, content), Roles(("p", "q")))

    assert prepared.group_names == ['a, "b, c"', '"a, b", c']


def test_numbers_too_far_apart_to_be_scaled_are_refused(tmp_path):
    table = table_of(tmp_path, "x,sex\n1e308,f\n-1e308,m\n0,f\n")

    with pytest.raises(TableError, match="'x' lie too far apart"):
        prepare(table, Roles(("sex",)))


def test_rows_that_are_all_alike_once_others_are_left_out_are_refused(tmp_path):
    table = table_of(tmp_path, "x,y,sex\n1,,f\n2,3,m\n2,3,f\n2,,f\n")

    with pytest.raises(TableError, match="all rows are alike"):
        prepare(table, when_missing("drop"))


def test_where_every_row_lacks_something_there_is_nothing_to_do(tmp_path):
    table = table_of(tmp_path, "x,y,sex\n1,,f\n,3,m\n2,,f\n")

    with pytest.raises(TableError, match="every row has a missing value"):
        prepare(table, when_missing("drop"))


def test_too_large_an_encoding_is_refused_before_it_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr("rawlsian._tables.prepare.MOST_BYTES", 10)

    with pytest.raises(TableError, match="4 rows and 3 encoded columns need"):
        prepare(table_of(tmp_path, PEOPLE), Roles(("sex",)))


def test_clusters_are_in_the_order_of_their_numbers():
    labels = column_of(["10", "9", "b", "10", "a"])

    names, codes = clusters_of(as_category(labels), np.arange(5))

    assert names == ["9", "10", "a", "b"]
    assert codes.tolist() == [1, 0, 3, 1, 2]


# --- Models ------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path):
    prepared = prepare(table_of(tmp_path, PEOPLE), Roles(("sex",)))
    return Model(prepared.features, prepared.X[[0, 3]], ("sex",), 2.0, "rawls")


def test_a_saved_model_reads_back_the_same(tmp_path, model):
    model.save(str(tmp_path / "model.json"))

    back = load_model(str(tmp_path / "model.json"))

    assert back.features == model.features
    np.testing.assert_array_equal(back.centers, model.centers)
    assert (back.sensitive, back.max_distance) == (("sex",), 2.0)


def test_new_rows_get_their_nearest_center(tmp_path, model):
    found = predict(
        model,
        table_of(tmp_path, "sex,job,age\nf,cook,22\nm,smith,48\n"),
        "error",
        "error",
    )

    assert found.labels.tolist() == [0, 1]
    assert [(name, size) for name, size, _ in found.utilities] == [("f", 1), ("m", 1)]
    np.testing.assert_allclose(found.utilities[0][2], 2 - (2 / 30) ** 2)


def test_a_category_that_looks_like_numbers_now_is_still_a_category(tmp_path):
    content = "room,age,sex\n1a,1,f\n2,5,m\n2,3,f\n"
    roles = Roles(("sex",), categorical=("room",))
    prepared = prepare(table_of(tmp_path, content), roles)
    model = Model(prepared.features, prepared.X[:2], ("sex",), 2.0, "R1")

    found = predict(model, table_of(tmp_path, "room,age\n2,5\n2,4\n"), "error", "error")

    assert found.labels.tolist() == [1, 1]
    assert found.utilities is None


def test_people_of_unknown_group_are_a_group_of_their_own(tmp_path, model):
    table = table_of(tmp_path, "sex,job,age\nf,cook,22\n,smith,48\n")

    found = predict(model, table, "error", "error")

    assert [(name, size) for name, size, _ in found.utilities] == [
        ("(missing)", 1), ("f", 1),
    ]  # fmt: skip


def test_a_feature_is_never_taken_for_the_identifier(tmp_path, model):
    rows = "".join(f"{i},cook,{7 * i}\n" for i in range(12))
    table = table_of(tmp_path, f"age,job,customer_id\n{rows}")

    assert identifier_of(model, table, None).name == "customer_id"
    assert identifier_of(model, table, "job").name == "job"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age\n20\n", "needs the column 'job'"),
        ("age,job\n20,baker\n", r"'job' has 1 value that the model has not seen"),
        ("age,job\n,cook\n", "the first is row 1 .missing: age."),
        ("age,job\nold,cook\n", "must hold numbers, but 'old' in row 1"),
        ("age,job\n\uff11,cook\n", "must hold numbers, but '\uff11' in row 1"),
    ],
)
def test_a_table_that_does_not_fit_the_model_is_refused(
    tmp_path, model, content, message
):
    with pytest.raises(TableError, match=message):
        predict(model, table_of(tmp_path, content), "error", "error")


def test_rows_that_the_model_cannot_place_may_be_left_out(tmp_path, model):
    table = table_of(tmp_path, "age,job\n,baker\n20,cook\n30,baker\n")

    found = predict(model, table, "drop", "drop")

    assert found.rows.tolist() == [1]
    assert sorted(found.left_out.by_reason()) == [
        ("missing: age; unknown value: job", 1, 1), ("unknown value: job", 1, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "is not a model"),
        ("[]", "is not a model"),
        ("[" * 100_000, "is not a model"),
        ('{"format": "rawlsian-model", "version": 99}', "version 99"),
        ('{"format": "rawlsian-model", "version": 1}', "is damaged"),
    ],
)
def test_what_is_not_a_model_is_refused(tmp_path, content, message):
    path = tmp_path / "model.json"
    path.write_text(content)

    with pytest.raises(TableError, match=message):
        load_model(str(path))


@pytest.mark.parametrize(
    "change",
    [
        {"centers": [[1.0]]},
        {"centers": [[float("nan")] * 3]},
        {"centers": [[1e308] * 3]},
        {"features": []},
        {"features": "age"},
        {"sensitive": "sex"},
        {"sensitive": []},
        {"max_distance": float("nan")},
        {"max_distance": 10**400},
        {
            "features": [
                {"name": "x", "levels": None, "lowest": 0, "spread": -1, "fill": None}
            ]
        },
    ],
)
def test_a_model_that_makes_no_sense_is_damaged(tmp_path, model, change):
    path = tmp_path / "model.json"
    model.save(str(path))
    content = json.loads(path.read_text()) | change
    path.write_text(json.dumps(content))

    with pytest.raises(TableError, match="is damaged"):
        load_model(str(path))


def test_numbers_too_far_from_those_of_a_model_are_refused_with_their_column(tmp_path):
    people, path = tmp_path / "people.csv", tmp_path / "model.json"
    people.write_text(PEOPLE)
    fit_table(people, "sex", clusters=2, save=path, new_people=False)
    content = json.loads(path.read_text())
    content["features"][0]["lowest"] = 1e308
    path.write_text(json.dumps(content))
    far = "^column 'age' has values that are more than 1e"

    with pytest.raises(TableError, match=far):
        predict_table(path, people)
    pa.parquet.write_table(pa.csv.read_csv(people), tmp_path / "people.parquet")
    for engine in ("memory", "blocks"):
        with pytest.raises(TableError, match=far):
            audit_table(tmp_path / "people.parquet", "sex", centers=path, engine=engine)


def test_a_model_that_is_not_there_is_wrong_use(tmp_path):
    with pytest.raises(WrongUseError, match="cannot read"):
        load_model(str(tmp_path / "nothing.json"))
