"""Reading tables, sorting out their columns, encoding them, and saving models."""

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
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawlsian import UnitDistanceEncoder
from rawlsian.table._columns import Roles, Unused, Used, look_at, sort_out
from rawlsian.table._model import Model, load_model
from rawlsian.table._predict import predict
from rawlsian.table._prepare import clusters_of, prepare
from rawlsian.table._read import Column, TableError, WrongUseError, read_table

PEOPLE = "age,job,sex\n20,cook,f\n30,cook,m\n40,smith,f\n50,smith,m\n"


def table_of(tmp_path, content, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(str(path), **options)


def values(table, name):
    column = table.columns[name]
    return [None if code < 0 else column.levels[code] for code in column.codes]


def column_of(texts, name="column"):
    levels = list(dict.fromkeys(text for text in texts if text is not None))
    codes = [-1 if text is None else levels.index(text) for text in texts]
    return Column(name, np.array(levels, object), np.array(codes, np.int32), "text")


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


def test_a_workbook_is_refused_by_its_name(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("xl/workbook.xml", "")

    with pytest.raises(TableError, match="Excel workbook; save the sheet as CSV"):
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
    with pytest.raises(TableError, match=r"3 value\(s\) in row 3, .* but 2 columns"):
        table_of(tmp_path, "a,b\n1,2\n3,4,5\n")


@given(
    st.lists(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0")),
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

    lines = io.StringIO()
    csv.writer(lines, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), lines.getvalue(), delimiter=",")

    missing = [
        "",
        "#N/A",
        "#NA",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "n/a",
        "nan",
        "null",
        "<NA>",
    ]
    for j, name in enumerate("ab"):
        expected = [row[j].strip() for row in rows]
        assert values(table, name) == [
            None if text in missing else text for text in expected
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
    assert values(table, "whole") == [1.0, 2.0, None]
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


def test_a_cut_parquet_file_is_refused(tmp_path):
    with pytest.raises(TableError, match="not a whole Parquet file"):
        table_of(tmp_path, b"PAR1 and no more", "t.parquet")


def test_a_cut_gzip_file_is_refused(tmp_path):
    with pytest.raises(TableError, match="cannot be decompressed"):
        table_of(tmp_path, gzip.compress(PEOPLE.encode())[:-10])


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
    assert look_at(column_of(numbers, "income")).kind == "number"


def test_numbers_mixed_with_text_are_refused_with_the_row():
    with pytest.raises(TableError, match=r"but 'many' in row 3; mend it, or say --na"):
        look_at(column_of(["1", "2", "many", "3"], "children"))


def test_numbers_with_commas_are_refused():
    with pytest.raises(TableError, match="numbers with a comma, such as '1,5'"):
        look_at(column_of(["1,5", "2,5", "1,5"], "height"))


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
    prepared = prepare(table_of(tmp_path, PEOPLE), Roles(("sex",)), "error")

    rows = [[20, "cook"], [30, "cook"], [40, "smith"], [50, "smith"]]
    encoder = UnitDistanceEncoder()
    np.testing.assert_allclose(prepared.X, encoder.fit_transform(rows), atol=1e-15)
    assert prepared.max_distance == encoder.max_distance_ == 2


def test_missing_values_are_an_error_that_counts_them(tmp_path):
    table = table_of(tmp_path, "age,job,sex\n20,,f\n,cook,m\n40,smith,\n50,smith,m\n")

    with pytest.raises(
        TableError,
        match=r"3 of 4 rows .* in age \(1\), job \(1\), sex \(1\); say --mis",
    ):
        prepare(table, Roles(("sex",)), "error")


def test_rows_with_missing_values_are_left_out_with_their_reason(tmp_path):
    table = table_of(tmp_path, "age,job,sex\n20,,\n30,cook,m\n40,smith,f\n50,cook,m\n")

    prepared = prepare(table, Roles(("sex",)), "drop")

    assert prepared.rows.tolist() == [1, 2, 3]
    assert prepared.left_out == [(0, "missing: job, sex")]
    assert len(prepared.X) == 3


def test_missing_values_become_a_level_and_numbers_stand_at_their_median(tmp_path):
    table = table_of(tmp_path, "age,job,sex\n20,,f\n,cook,\n40,smith,f\n50,smith,m\n")

    prepared = prepare(table, Roles(("sex",)), "category")

    assert [(a.name, a.level) for a in prepared.attributes] == [
        ("age", None), ("age is missing", "no"), ("age is missing", "yes"),
        ("job", "(missing)"), ("job", "cook"), ("job", "smith"),
    ]  # fmt: skip
    assert prepared.features[0].fill == 40
    assert prepared.groups.ravel().tolist() == ["f", "(missing)", "f", "m"]
    assert prepared.max_distance == 3
    assert any("median" in remark for remark in prepared.remarks)


def test_a_text_that_says_missing_is_not_mixed_up_with_missing_values(tmp_path):
    table = table_of(tmp_path, "job,sex\n(missing),f\n,m\ncook,f\n")

    with pytest.raises(TableError, match="both missing values and the text"):
        prepare(table, Roles(("sex",)), "category")


def test_numbers_of_sensitive_columns_are_refused_where_they_are_many(tmp_path):
    rows = "\n".join(f"{i},{i % 2}" for i in range(30))
    table = table_of(tmp_path, f"age,x\n{rows}\n")

    with pytest.raises(TableError, match="30 different numbers, too many for groups"):
        prepare(table, Roles(("age",)), "error")


def test_several_sensitive_columns_make_their_intersections(tmp_path):
    content = "age,sex,race\n1,f,a\n2,m,a\n3,f,b\n5,m,b\n"

    prepared = prepare(table_of(tmp_path, content), Roles(("sex", "race")), "error")

    assert prepared.groups.tolist() == [["f", "a"], ["m", "a"], ["f", "b"], ["m", "b"]]


def test_clusters_are_in_the_order_of_their_numbers():
    labels = column_of(["10", "9", "b", "10", "a"])

    names, codes = clusters_of(
        Used("c", "category", labels.levels, labels.codes), np.arange(5)
    )

    assert names == ["9", "10", "a", "b"]
    assert codes.tolist() == [1, 0, 3, 1, 2]


# --- Models ------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path):
    prepared = prepare(table_of(tmp_path, PEOPLE), Roles(("sex",)), "error")
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
    prepared = prepare(table_of(tmp_path, content), roles, "error")
    model = Model(prepared.features, prepared.X[:2], ("sex",), 2.0, "R1")

    found = predict(model, table_of(tmp_path, "room,age\n2,5\n2,4\n"), "error", "error")

    assert found.labels.tolist() == [1, 1]
    assert found.utilities is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age\n20\n", "needs the column 'job'"),
        ("age,job\n20,baker\n", r"'job' has 1 value\(s\) that the model has not seen"),
        ("age,job\n,cook\n", "the first is row 1 .missing: age."),
        ("age,job\nold,cook\n", "holds numbers, but 'old' in row 1"),
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
    assert found.left_out == [
        (0, "missing: age; unknown value: job"), (2, "unknown value: job"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "is not a model"),
        ("[]", "is not a model"),
        ('{"format": "rawlsian-model", "version": 99}', "version 99"),
        ('{"format": "rawlsian-model", "version": 1}', "is damaged"),
    ],
)
def test_what_is_not_a_model_is_refused(tmp_path, content, message):
    path = tmp_path / "model.json"
    path.write_text(content)

    with pytest.raises(TableError, match=message):
        load_model(str(path))


def test_a_model_with_centers_of_another_width_is_damaged(tmp_path, model):
    path = tmp_path / "model.json"
    model.save(str(path))
    content = json.loads(path.read_text())
    content["centers"] = [[1.0]]
    path.write_text(json.dumps(content))

    with pytest.raises(TableError, match="is damaged"):
        load_model(str(path))


def test_a_model_that_is_not_there_is_wrong_use(tmp_path):
    with pytest.raises(WrongUseError, match="cannot read"):
        load_model(str(tmp_path / "nothing.json"))
