"""Options by column: memory, parts, models and files read a table in the same way."""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rawlsian import audit_table, fit_table, predict_table
from rawlsian._tables.audit_page import audit_page
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.fit_page import fit_page
from rawlsian._tables.memory import MemoryTable
from rawlsian._tables.model import load_model
from rawlsian._tables.request import TableRequest
from rawlsian._tables.write import as_cell
from rawlsian.report.write import page_contents
from support.commands import rawlsian
from support.workbooks import workbook

pytestmark = pytest.mark.usefixtures("short_search")

QUICK = {"pooling": 0, "new_people": False}
LEVELS = ["low", "mid", "high"]


def german(x):
    """Write a number as Germans do."""
    return f"{x:,.2f}".translate(str.maketrans(",.", ".,"))


def people(n=60, seed=0):
    """Return people whose columns need every option."""
    rng = np.random.default_rng(seed)
    clump = rng.integers(3, size=n)
    sex = np.where(rng.random(n) < 0.4, "f", "m").astype(object)
    sex[:4] = ["F", "F", "M", "M"]
    pay = np.exp(6 + clump + rng.normal(0, 0.5, n))
    return pa.table(
        {
            "pay": [f"{german(x)} €" for x in pay],
            "size": [german(1.7 + x) for x in rng.normal(0, 0.1, n)],
            "risk": [LEVELS[j] for j in clump],
            "bonus": pa.array(np.where(rng.random(n) < 0.1, None, clump * 2.0)),
            "w": rng.integers(1, 4, n),
            "age": 20 + rng.integers(50, size=n),
            "sex": sex,
            "segment": clump + 1,
        }
    )


OPTIONS = {
    "sensitive": ["sex", "age"],
    "fold": "sex",
    "bins": {"age": [30, 50]},
    "ordinal": {"risk": LEVELS},
    "scale": {"pay": "log", "size": "std", "risk": "range"},
    "missing": {"bonus": "category"},
    "weight": "w",
}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    options = {**OPTIONS, "drop": "segment"}
    fit = fit_table(
        people(200), **options, **QUICK, clusters=3, min_group=2, choose="most",
        save=folder / "model.json", out=folder / "labels.csv",
    )  # fmt: skip
    return fit, folder


def prepared(table, **options):
    return MemoryTable.read(TableRequest.given(table, **options)).prepared


# --- Scales --------------------------------------------------------------------------

NUMBERS = [1.0, 2.0, 2.0, 3.0, 5.0, 8.0, 9.0, 9.5, 12.0, 40.0]


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("range", (np.array(NUMBERS) - 1) / 39),
        ("std", (np.array(NUMBERS) - 1) / (2 * np.std(NUMBERS))),
        # The quartiles are 2.25 and 9.375, which are 1.349 deviations apart.
        ("robust", (np.array(NUMBERS) - 1) / (2 * 7.125 / 1.349)),
        ("log", np.log(np.add(NUMBERS, 1) / 2) / np.log(41 / 2)),
    ],
)
def test_numbers_are_scaled_as_asked(scale, expected):
    table = pa.table({"x": NUMBERS, "sex": ["f", "m"] * 5})

    found = prepared(table, sensitive="sex", scale=scale)

    np.testing.assert_allclose(found.X[:, 0], expected)
    assert found.max_distance == pytest.approx(expected.max() ** 2)


def test_ordered_levels_are_equally_spaced_in_their_order():
    table = pa.table({"risk": [*LEVELS, "low"], "sex": ["f", "m"] * 2})

    found = prepared(table, sensitive="sex", ordinal="risk=low,mid,high")

    assert found.X[:, 0].tolist() == [0, 0.5, 1, 0]


def test_numbers_of_likert_items_can_be_ordered_too():
    table = pa.table({"q": [2, 4, 3, 2], "sex": ["f", "m"] * 2})

    found = prepared(table, sensitive="sex", ordinal={"q": [1, 2, 3, 4, 5]})

    assert found.X[:, 0].tolist() == [0.25, 0.75, 0.5, 0.25]


def test_a_constant_middle_half_cannot_be_scaled_robustly():
    table = pa.table({"x": [0.0] * 8 + [1.0, 2.0], "sex": ["f", "m"] * 5})

    with pytest.raises(TableError, match=r"'x' has the value 0 in the middle half"):
        prepared(table, sensitive="sex", scale="robust")


# --- Groups --------------------------------------------------------------------------


def test_groups_by_bounds_come_in_their_order():
    table = pa.table({"x": [1.5, 2, 4, 1], "age": [9, 100, 25, 24.5]})

    found = prepared(table, sensitive="age", bins="age=10,25,100")

    assert found.group_names == [
        "below 10", "10 to below 25", "25 to below 100", "100 or above",
    ]  # fmt: skip
    assert found.groups.tolist() == [0, 3, 2, 1]


def test_folding_takes_the_most_frequent_spelling():
    sex = ["f", "F", "f", "É ", "e", "e"]
    table = pa.table({"x": [1.5, 2, 4, 1, 3, 7], "sex": sex})

    found = prepared(table, sensitive="sex", fold="sex")

    assert found.group_names == ["e", "f"]
    assert found.groups.tolist() == [1, 1, 1, 0, 0, 0]


def test_group_names_are_the_same_text_everywhere(fitted):
    fit, folder = fitted
    names = fit.outcome.group_names.tolist()

    assert names == [
        f"{sex}, {age}"
        for sex in "fm"
        for age in ("below 30", "30 to below 50", "50 or above")
    ]
    model = folder / "model.json"
    audit = audit_table(people(200), ["sex", "age"], centers=model)
    found = predict_table(model, people(200))
    assert [each["group"] for each in fit.to_dict()["groups"]] == names
    assert audit.audit.groups.tolist() == names
    assert [each[0] for each in found.utilities] == names
    for name in names:
        assert name in str(fit)
        assert json.dumps(name) in audit.page()


# --- Weights -------------------------------------------------------------------------


def test_a_weight_is_that_many_rows():
    table = people()
    twice = table.take(np.repeat(np.arange(60), table["w"].to_numpy()))
    ask = {"labels": "segment", "drop": "pay,bonus", "min_group": 2}

    weighted = audit_table(table, "sex", weight="w", **ask).audit
    repeated = audit_table(twice.drop_columns("w"), "sex", **ask).audit

    np.testing.assert_allclose(weighted.sizes, repeated.sizes)
    np.testing.assert_allclose(weighted.behind, repeated.behind, atol=1e-9)
    np.testing.assert_allclose(weighted.cluster_sizes, repeated.cluster_sizes)


def test_k_means_counts_the_weights():
    # Without weights the clusters of two are {0, 1} and {10}.
    table = pa.table(
        {"x": [0.0, 1, 10], "w": [1000, 1000, 1e-3], "sex": ["f", "m", "f"]}
    )

    fit = fit_table(table, "sex", clusters=2, weight="w", choose="keep", **QUICK)

    assert fit.labels[0] != fit.labels[1]


def test_weights_that_are_missing_leave_rows_out():
    table = people().set_column(4, "w", pa.array([None] * 2 + [1] * 58))
    ask = {"sensitive": "sex", "weight": "w", "drop": "bonus"}

    with pytest.raises(TableError, match=r"2 of 60 rows .* in w \(2\)"):
        prepared(table, **ask)
    assert prepared(table, **ask, missing="w=drop").rows.tolist() == [*range(2, 60)]


# --- Parts and models ----------------------------------------------------------------


def in_parts(folder, table, n_parts=3):
    folder.mkdir()
    step = -(-len(table) // n_parts)
    for j in range(n_parts):
        pq.write_table(table.slice(j * step, step), folder / f"{j}.parquet")
    return folder


def test_parts_are_read_as_one_table_is(tmp_path):
    table = people(200)
    ask = {**OPTIONS, "labels": "segment", "min_group": 2}

    in_memory = audit_table(table, **ask)
    parts = audit_table(in_parts(tmp_path / "parts", table), **ask)

    assert [each.words for each in parts.facts.features] == [
        each.words for each in in_memory.facts.features
    ]
    assert parts.audit.groups.tolist() == in_memory.audit.groups.tolist()
    np.testing.assert_allclose(parts.audit.sizes, in_memory.audit.sizes)
    np.testing.assert_allclose(parts.audit.behind, in_memory.audit.behind, atol=1e-3)
    assert "Rows are weighted by 'w'" in str(parts)


def test_later_rows_must_be_written_as_the_first_are(tmp_path, monkeypatch):
    monkeypatch.setattr("rawlsian._tables.parts.ROWS_LOOKED_AT", 60)
    table = people(90)
    pay = [*table["pay"].to_pylist()[:-1], "12.5 €"]
    folder = in_parts(tmp_path / "parts", table.set_column(0, "pay", [pay]), 1)

    with pytest.raises(TableError, match=r"'pay' must hold numbers .* '12.5 €' in row"):
        audit_table(folder, "sex", labels="segment", missing="category")


def test_missing_values_of_parts_are_treated_by_column(tmp_path):
    folder = in_parts(tmp_path / "parts", people(90))

    with pytest.raises(TableError, match=r"rows have missing values, in bonus"):
        audit_table(folder, "sex", labels="segment", missing={"pay": "drop"})
    found = audit_table(folder, "sex", labels="segment", missing={"bonus": "drop"})
    assert [each.reason for each in found.facts.left_out] == ["missing: bonus"]


def test_what_needs_one_file_is_refused_for_parts(tmp_path):
    folder = in_parts(tmp_path / "parts", people(90))

    with pytest.raises(WrongUseError, match="--append needs all rows in memory"):
        fit_table(folder, "sex", clusters=2, append=True, **QUICK)
    with pytest.raises(WrongUseError, match="--sheet and --header-row are for files"):
        audit_table(folder, "sex", labels="segment", header_row=2)


def test_a_model_reads_another_table_as_the_fit_did(fitted):
    fit, folder = fitted

    found = predict_table(folder / "model.json", people(200))

    np.testing.assert_array_equal(found.labels, fit.labels)
    assert load_model(str(folder / "model.json")).features == fit.model.features


def test_an_audit_of_a_model_finds_what_the_fit_told(fitted):
    fit, folder = fitted
    expected = fit.outcome.result.effect

    for centers in ("model.json", "labels.centers.csv"):
        ask = {"sensitive": ["sex", "age"]}
        if centers != "model.json":
            ask = {**OPTIONS, "drop": "segment"}
        found = audit_table(people(200), **ask, centers=folder / centers)
        costs = found.audit.max_distance - found.audit.utilities
        np.testing.assert_allclose(costs, expected.costs, rtol=1e-9)
        np.testing.assert_allclose(found.audit.sizes, expected.people)


def test_a_model_refuses_numbers_that_are_written_otherwise(fitted):
    _, folder = fitted
    table = people(20).set_column(1, "size", pa.array(["1.75"] * 20))

    with pytest.raises(TableError, match=r"'size' must hold numbers \(decimal comma\)"):
        predict_table(folder / "model.json", table)


def test_a_model_of_the_first_version_is_still_read(tmp_path):
    table = people().select(["age", "sex"])
    fit = fit_table(table, "sex", clusters=2, **QUICK, save=tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    for name in ("weight", "group_readings"):
        del content[name]
    for feature in content["features"]:
        del feature["reach"], feature["reading"]
    (tmp_path / "m.json").write_text(json.dumps({**content, "version": 1}))

    assert load_model(str(tmp_path / "m.json")).features == fit.model.features


@pytest.mark.parametrize(
    "reading",
    [
        {"decimal": ";"}, {"scale": "cube"}, {"unit": "x"}, {"edges": [2, 1]},
        {"decimal": ",", "thousands": ","}, {"order": 3}, {"spellings": [1]},
    ],
)  # fmt: skip
def test_a_reading_that_makes_no_sense_is_damaged(fitted, tmp_path, reading):
    _, folder = fitted
    content = json.loads((folder / "model.json").read_text())
    content["features"][0]["reading"] |= reading
    (tmp_path / "m.json").write_text(json.dumps(content))

    with pytest.raises(TableError, match="is damaged"):
        load_model(str(tmp_path / "m.json"))


@pytest.mark.parametrize("option", ["columns", "scale", "ordinal", "decimal"])
def test_what_a_model_decides_cannot_be_asked_for(fitted, option):
    _, folder = fitted
    values = {"scale": "log", "decimal": ",", "ordinal": {"risk": LEVELS}}

    with pytest.raises(WrongUseError, match="do not go with a model"):
        audit_table(
            people(), "sex", centers=folder / "model.json",
            **{option: values.get(option, "pay")},
        )  # fmt: skip


# --- Columns in options --------------------------------------------------------------


def test_columns_are_listed_with_commas_or_by_repeating(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(people(), path)
    ask = ("audit", path, "--labels", "segment", "--json")

    one = rawlsian(
        *ask, "--sensitive", "sex,risk", "--drop", "pay,size", "--drop", "bonus"
    )
    many = rawlsian(
        *ask, "--sensitive", "sex", "--sensitive", "risk", "--drop", "pay", "--drop",
        "size", "--drop", "bonus",
    )  # fmt: skip

    assert one.exit_code == many.exit_code == 0, one.output
    assert json.loads(one.stdout) == json.loads(many.stdout)
    assert json.loads(one.stdout)["clustered_on"] == ["w", "age"]


def test_columns_that_are_not_asked_for_still_name_the_rows():
    names = pa.array([f"P{j:03d}" for j in range(60)])
    table = people().add_column(0, "name", names)

    fit = fit_table(table, "sex", columns="age,size", clusters=2, **QUICK)

    assert fit.labels_table()["name"].equals(table["name"])
    line = "Left out: name, pay, risk, bonus, w and segment (not among --columns)."
    assert line in str(fit).splitlines()


def test_a_name_with_an_equals_sign_can_be_given_an_option():
    table = pa.table({"a=b": NUMBERS, "sex": ["f", "m"] * 5})

    found = prepared(table, sensitive="sex", scale="a=b=log")

    assert found.features[0].reading.scale == "log"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": "pay,nothing"}, "--drop names 'nothing', which is not a column"),
        ({"drop": "pay,,size"}, "--drop names '', which is not a column"),
        ({"scale": "nothing=log"}, "--scale names 'nothing', which is not a column"),
        ({"scale": "pay=cube"}, "--scale must be one of .* got 'cube' for 'pay'"),
        ({"ordinal": "risk"}, "--ordinal must name a column and its levels"),
        ({"ordinal": "risk=low"}, "--ordinal risk= needs two or more different levels"),
        ({"bins": "age=50,30"}, "--bins age= needs ascending numbers"),
        ({"bins": "pay=1,2"}, "--bins names 'pay', which is not a sensitive column"),
        ({"bins": "sex=1,2"}, "--bins names 'sex', but row 1 has 'F'"),
        ({"decimal": ";"}, "--decimal must be . or a comma"),
        ({"missing": "pay=guess"}, "--missing must be one of .* got 'guess' for 'pay'"),
        ({"columns": "pay", "drop": "pay"}, "'pay' is given by both --drop and"),
        ({"weight": "sex"}, "'sex' is given by both --sensitive and --weight"),
        ({"weight": "risk"}, "--weight names 'risk', but row 1 has"),
        ({"weight": 3}, "weight must be the name of a column, got int"),
        ({"fold": "age"}, "--fold names 'age', which it does not concern"),
        ({"sheet": "x"}, "--sheet and --header-row are for files of text or Excel"),
        ({"header_row": 0}, "--header-row must be the number of a row, from 1"),
    ],
)
def test_an_option_that_cannot_be_followed_is_told_in_a_sentence(options, message):
    with pytest.raises(TableError, match=message) as error:
        prepared(people(), **{"sensitive": "sex", "missing": "drop", **options})

    assert "\n" not in str(error.value)


# --- Pages ---------------------------------------------------------------------------


def test_the_page_tells_how_each_column_is_read_and_scaled(fitted):
    fit, _ = fitted

    page = fit_page(fit._in_memory)

    read_as = fit.to_dict()["read_as"]
    told = ", ".join(f"{name} ({words})" for name, words in read_as.items())
    assert dict(page.provenance)["Clustered on"] == told
    utility = page.methods[-1]
    assert "same weight" not in utility
    assert "pay is scaled by logarithm; size is scaled by its standard" in utility
    assert "bonus is scaled by its range" in utility
    assert "missing values counts twice" in utility


def test_the_page_counts_weights_as_the_fit_does(fitted):
    fit, _ = fitted
    result = fit.outcome.result

    data = page_contents(fit_page(fit._in_memory))

    way = data["ways"][0]
    assert data["groupSizes"] == result.effect.people.tolist()
    assert data["shown"][1]["counts"] == result.effect.counts.tolist()
    assert way["counts"][way["opensAt"]] == result.effect.counts.tolist()
    assert way["moved"][way["opensAt"]] == result.n_moved
    assert data["map"]["caption"].startswith("Each dot is a row of the table")


def test_a_row_that_stands_for_three_shows_what_three_rows_do():
    table = people()
    weights = table["w"].to_numpy()
    ask = {"sensitive": "sex", "labels": "segment", "columns": "size,age,risk"}

    weighted = audit_table(table, **ask, weight="w")._in_memory
    repeated = table.take(np.repeat(np.arange(len(table)), weights))
    alike = audit_table(repeated, **ask)._in_memory

    data, expected = (page_contents(audit_page(each)) for each in (weighted, alike))
    assert data["shown"][0]["counts"] == expected["shown"][0]["counts"]
    assert data["shown"][0]["names"] == expected["shown"][0]["names"]
    for name in ("portraits", "drawn"):
        assert data["shown"][0][name] == expected["shown"][0][name]
    for ours, theirs in zip(data["attributes"], expected["attributes"], strict=True):
        assert ours[:2] == theirs[:2]
        assert ours[2] == pytest.approx(theirs[2])


def test_columns_that_are_scaled_by_their_range_have_the_same_weight():
    fit = fit_table(people(), "sex", clusters=2, columns="size,risk", **QUICK)

    utility = fit_page(fit._in_memory).methods[-1]
    assert "all columns have the same weight." in utility


# --- Files ---------------------------------------------------------------------------


def test_clusters_are_appended_to_the_table(tmp_path):
    table = people().append_column("note", pa.array(["=1+1", " x ", "NA"] * 20))
    ask = {"start": "segment", "columns": "size,age", "append": True, **QUICK}

    fit = fit_table(
        table, "sex", **ask, served_by="members", choose="most", min_group=2,
        out=tmp_path / "t.csv",
    )  # fmt: skip

    found = fit.labels_table()
    assert found.select(table.column_names).equals(table)
    assert found.column_names[len(table.column_names) :] == [
        "cluster_before", "cluster", "moved", "not_clustered",
    ]  # fmt: skip
    assert found["cluster_before"].to_pylist() == table["segment"].to_pylist()
    before, after = found["cluster_before"].to_numpy(), found["cluster"].to_numpy()
    assert found["moved"].to_pylist() == (before != after).tolist()
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0].endswith("segment,note,cluster_before,cluster,moved,not_clustered")
    assert "'=1+1" in lines[1]


def test_a_table_with_written_numbers_can_be_audited_after_appending(tmp_path):
    table = people()
    debts = [f"-{text}" for text in table["pay"].to_pylist()]
    table = table.append_column("debt", pa.array(debts))
    table = table.append_column("owed", pa.array([text[:-2] for text in debts]))
    path = tmp_path / "t.csv"
    ask = {"columns": "debt,owed,size", "served_by": "members", "min_group": 2}

    fit_table(
        table, "sex", start="segment", choose="most", append=True, out=path,
        **ask, **QUICK,
    )  # fmt: skip
    again = audit_table(path, "sex", labels="segment", **ask).audit
    first = audit_table(table, "sex", labels="segment", **ask).audit

    np.testing.assert_array_equal(again.costs, first.costs)


@pytest.mark.parametrize(
    ("text", "is_safe"),
    [
        ("-2,42 €", True), ("-2,42", True), ("-1.234,50", True), ("+12%", True),
        ("-$5", True), ("--1,5", False), ("-2+3", False), ("-A1", False),
        ("=1", False), ("-€", False),
        ("-1,2,3,4 €", False), ("@SUM(1)", False), ("+1\n=2", False),
    ],
)  # fmt: skip
def test_only_numbers_are_written_as_they_are(text, is_safe):
    assert as_cell(text) == (text if is_safe else f"'{text}")


def test_a_table_with_a_column_of_that_name_is_not_appended_to(tmp_path):
    table = people().rename_columns(
        ["pay", "size", "risk", "bonus", "w", "age", "sex", "cluster"]
    )

    with pytest.raises(WrongUseError, match="--append adds the column 'cluster'"):
        fit_table(table, "sex", start="cluster", missing="drop", append=True,
                  out=tmp_path / "t.csv", **QUICK)  # fmt: skip


def test_append_without_a_file_is_wrong_use():
    with pytest.raises(WrongUseError, match="--append goes with --out"):
        fit_table(people(), "sex", clusters=2, append=True)

    done = rawlsian("fit", "t.csv", "--sensitive", "sex", "--clusters", 2, "--append")

    assert done.exit_code == 2
    assert "--append goes with --out" in done.stderr


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_integer_labels_stay_integers(tmp_path, format):
    path = tmp_path / f"t.{format}"
    segment = [None if j == 5 else float(j % 3 + 1) for j in range(60)]
    table = people().set_column(7, "segment", pa.array(segment))
    if format == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        pq.write_table(table, path)

    fit = fit_table(
        path, "sex", start="segment", columns="age", missing="drop", choose="keep",
        **QUICK,
    )  # fmt: skip

    assert fit.labels_table()["cluster"].type == pa.int64()
    assert fit.labels_table()["cluster"].to_pylist() == segment
    assert fit.outcome.cluster_names == ("1", "2", "3")


def test_without_its_reader_a_workbook_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / "t.xlsx").write_bytes(workbook(Data=[["x", "sex"], [1, "f"]]))

    with pytest.raises(WrongUseError, match=r"needs python-calamine; pip install"):
        prepared(tmp_path / "t.xlsx", sensitive="sex")


def test_a_workbook_is_fitted_and_predicted_as_its_rows_are(tmp_path):
    table = people(90).select(["size", "risk", "age", "sex"])
    rows = [
        table.column_names,
        *map(list, zip(*table.to_pydict().values(), strict=True)),
    ]
    path = tmp_path / "people.xlsx"
    path.write_bytes(workbook(Notes=[["see the other"]], People=[["Title"], *rows]))
    ask = {"sensitive": "sex", "clusters": 3, **QUICK}

    fit = fit_table(path, **ask, sheet="People")
    found = predict_table(fit, path, sheet="People", header_row=2)

    np.testing.assert_array_equal(fit.labels, fit_table(table, **ask).labels)
    np.testing.assert_array_equal(found.labels, fit.labels)
