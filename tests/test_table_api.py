"""``fit_table``, ``audit_table`` and ``predict_table`` compared with the commands."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import adjusted_rand_score

from rawlsian import (
    TableAudit,
    TableFit,
    TablePrediction,
    audit_table,
    fit_table,
    predict_table,
)
from rawlsian._core import problem
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.fit_page import fit_page
from rawlsian._tables.fitting import MemoryFit
from support.commands import rawlsian

pytestmark = pytest.mark.usefixtures("short_search", "known_searches")

FIT = {
    "pooling": 0,
    "min_group": 10,
    "new_people": False,
    "sensitive": "sex",
    "clusters": 3,
    "drop": "segment",
}
SEX = ("--sensitive", "sex")
FEW = ("--min-group", 10)
AUDIT = {"sensitive": "sex", "labels": "segment"}


def people(n=60):
    rng = np.random.default_rng(0)
    clump = rng.integers(3, size=n)
    return pa.table(
        {
            "id": [f"P{i:04d}" for i in range(n)],
            "age": 20 + 20 * clump + rng.integers(10, size=n),
            "pay": (10 * clump + rng.normal(0, 4, n)).round(3),
            "job": rng.choice(["cook", "smith", "clerk"], n),
            "sex": rng.choice(["f", "m"], n, p=[0.3, 0.7]),
            "segment": rng.choice(["A", "B"], n),
        }
    )


def in_a_file(table, folder):
    path = folder / "people.csv"
    pyarrow.csv.write_csv(table, path)
    return path


KINDS = {
    "path": in_a_file,
    "text": lambda table, folder: str(in_a_file(table, folder)),
    "pandas": lambda table, folder: table.to_pandas().set_index(np.arange(60) + 7),
    "polars": lambda table, folder: pl.from_arrow(table),
    "pyarrow": lambda table, folder: table,
}


@pytest.fixture
def file(tmp_path):
    return in_a_file(people(), tmp_path)


@pytest.fixture
def parts(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, first in (("a", 0), ("b", 40)):
        pq.write_table(people().slice(first, 40), folder / f"{name}.parquet")
    return folder


def printed(*arguments):
    # Wider than any path: a longer one would be broken in two.
    wide = {"COLUMNS": "1000"}
    done = rawlsian(*arguments, env=wide)
    assert done.exit_code == 0, done.output
    return done.stdout


# --- Every kind of table -------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gets_the_same_clusters(tmp_path, kind):
    expected = fit_table(people(), **FIT)

    found = fit_table(KINDS[kind](people(), tmp_path), **FIT)

    assert isinstance(found, TableFit)
    assert found.labels.tolist() == expected.labels.tolist()
    assert np.array_equal(found.centers, expected.centers)
    assert found.labels_table() == expected.labels_table()
    assert found.to_dict() == expected.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_audited_and_placed_alike(tmp_path, kind):
    table = KINDS[kind](people(), tmp_path)
    model = fit_table(people(), **FIT).model

    audited, placed = audit_table(table, **AUDIT), predict_table(model, table)

    assert isinstance(audited, TableAudit)
    assert audited.to_dict() == audit_table(people(), **AUDIT).to_dict()
    assert isinstance(placed, TablePrediction)
    expected = predict_table(model, people())
    assert placed.to_dict() == expected.to_dict()
    assert placed.labels_table() == expected.labels_table()


def test_a_frame_without_values_says_which_rows_have_no_cluster():
    frame = people().to_pandas()
    frame.loc[2, "pay"] = np.nan
    frame.loc[4, "job"] = None

    found = fit_table(frame, **FIT, missing="drop")

    assert np.flatnonzero(found.labels < 0).tolist() == [2, 4]
    reasons = found.labels_table()["not_clustered"].to_pylist()
    assert reasons[2] == "missing: pay"
    assert reasons[4] == "missing: job"
    assert [each.n_rows for each in found.facts.left_out] == [1, 1]


def test_pandas_and_polars_types_are_understood():
    job = pd.Categorical(people()["job"].to_pylist())
    flag = [bool(i % 3) for i in range(60)]
    frame = people().to_pandas().assign(job=job, flag=flag)

    ours, theirs = fit_table(frame, **FIT), fit_table(pl.from_pandas(frame), **FIT)

    assert ours.to_dict() == theirs.to_dict()
    assert ours.to_dict()["clustered_on"] == ["age", "pay", "job", "flag"]


# --- As the commands do --------------------------------------------------------------


def test_results_are_what_the_commands_print_as_json(file, tmp_path):
    points = tmp_path / "points.csv"
    ask = ("--sensitive", "sex", "--json")

    result = printed("fit", file, *ask, "--clusters", "2:4", "--drop", "segment",
                     "--frontier", points, "--pooling", "cv")  # fmt: skip
    audited = printed("audit", file, *ask, "--labels", "segment")

    found = fit_table(file, "sex", clusters=(2, 4), drop="segment", frontier=points,
                      force=True)  # fmt: skip
    assert found.to_dict() == json.loads(result)
    assert audit_table(file, **AUDIT).to_dict() == json.loads(audited)


def test_results_print_what_the_commands_print(file, tmp_path):
    out = tmp_path / "labels.csv"
    model = fit_table(file, **FIT).model
    model.save(tmp_path / "model.json")

    result = [
        printed("fit", file, *SEX, "--clusters", 3, "--drop", "segment", *FEW),
        printed("audit", file, *SEX, "--labels", "segment"),
        printed("predict", tmp_path / "model.json", file, "--out", out),
    ]  # fmt: skip

    found = [fit_table(file, **FIT), audit_table(file, **AUDIT)]
    found.append(predict_table(model, file, out=out, force=True))
    for ours, theirs in zip(found, result, strict=True):
        assert words(str(ours)) == words(theirs)


def words(text):
    """Return the words, without the lines of tables and line breaks."""
    return [w for w in text.replace("│", " ").split() if w[0].isalnum() or w[0] in "+-"
            if set(w) != {"-"}]  # fmt: skip


def test_a_fit_checks_its_rows_once(file, tmp_path, monkeypatch, known_searches):
    known_searches()
    checked = []
    check = problem.check_examples
    monkeypatch.setattr(
        problem, "check_examples", lambda X: checked.append(X) or check(X)
    )

    fit_table(file, **FIT, report=tmp_path / "page.html", frontier=tmp_path / "all.csv")

    assert len(checked) == 1


def test_results_are_shown_in_one_line():
    fit = fit_table(people(), **FIT)
    advice = fit.outcome.advice

    assert repr(fit) == (
        "TableFit(n_clusters=3, chosen='recommended', recommended point "
        f"{advice.recommended} of {len(advice.points)})"
    )
    found = audit_table(people(), **AUDIT)
    assert repr(found) == "TableAudit(n_clusters=2, worst_off=None, gap=nan)"
    placed = predict_table(fit, people())
    assert repr(placed) == "TablePrediction(n_rows=60, n_placed=60)"


def test_a_fit_places_people_like_its_model():
    fit = fit_table(people(), **FIT)

    ours, theirs = (predict_table(each, people()) for each in (fit, fit.model))

    assert ours.labels.tolist() == theirs.labels.tolist()


def test_pages_are_what_the_commands_write(file, tmp_path):
    page = tmp_path / "page.html"
    printed("fit", file, "--sensitive", "sex", "--clusters", 3, "--drop", "segment",
            *FEW, "--report", page)  # fmt: skip
    assert fit_table(file, **FIT).page() == page.read_text()

    printed("audit", file, "--sensitive", "sex", "--labels", "segment", "--report",
            page, "--force")  # fmt: skip
    assert audit_table(file, **AUDIT).page() == page.read_text()


def test_the_trade_off_is_printed_only_where_it_was_asked_for(tmp_path):
    found = fit_table(people(), **FIT)
    asked = fit_table(people(), **FIT, frontier=tmp_path / "points.csv")

    points = found.to_dict()["trade_off"]
    lowest = [min(point["utilities"].values()) for point in points]
    assert lowest == sorted(lowest)
    assert asked.to_dict()["trade_off"] == points
    assert "A star marks the bend" not in str(found)
    assert "A star marks the bend" in str(asked)


def test_clusters_may_be_given_in_several_ways():
    results = [
        fit_table(people(), **FIT | {"clusters": each, "drop": ["segment"]})
        for each in ("2:4", (2, 4), range(2, 5))
    ]

    assert {str(each) for each in results} == {str(results[0])}
    assert [each.n_clusters for each in results[0].candidates] == [2, 3, 4]
    one = fit_table(people(), **FIT | {"sensitive": ["sex"], "clusters": np.int64(3)})
    assert str(one) == str(fit_table(people(), **FIT))


def test_a_criterion_chooses_the_number_of_clusters():
    by_cost = fit_table(people(), **FIT | {"clusters": "2:6"}, choose_by="held-out")

    assert by_cost.choice.chosen_by == "held-out"
    assert by_cost.outcome.n_clusters == by_cost.choice.choices["held-out"]
    with pytest.raises(WrongUseError, match="with --clusters 3 leave it out"):
        fit_table(people(), **FIT, choose_by="held-out")


def test_the_page_shows_how_the_number_was_chosen(file):
    ranged = FIT | {"clusters": "2:4", "method": "kmeans-free"}

    page = fit_table(file, **ranged, choose_by="held-out-worst").page()

    assert "2 to 4, by held-out cost of the worst-off group" in page
    assert "Held-out costs are means over 60 people." in page
    assert '"curves":null' in fit_table(file, **FIT).page()


def test_progress_is_reported():
    stages = []

    fit_table(people(), **FIT, progress=lambda *stage: stages.append(stage))

    assert stages[:3] == [
        ("reading", 0, None),
        ("searching candidates", 0, 23),
        ("searching candidates", 1, 23),
    ]


# --- Files ---------------------------------------------------------------------------


def test_nothing_is_written_unless_it_is_asked_for(file, tmp_path):
    before = sorted(tmp_path.rglob("*"))

    found = fit_table(file, **FIT)
    results = [found, audit_table(file, **AUDIT), predict_table(found.model, file)]

    assert sorted(tmp_path.rglob("*")) == before
    assert [each.written for each in results] == [(), (), ()]


def test_files_are_written_and_named(file, tmp_path):
    names = {"out": "labels.csv", "save": "model.json", "frontier": "points.csv",
             "report": "page.html"}  # fmt: skip
    paths = {option: tmp_path / name for option, name in names.items()}

    found = fit_table(file, **FIT, **paths)

    names = [paths["out"], tmp_path / "labels.centers.csv", *list(paths.values())[1:]]
    assert found.written == tuple(map(str, names))
    labels = pyarrow.csv.read_csv(paths["out"])["cluster"].to_numpy()
    assert labels.tolist() == found.labels.tolist()
    assert paths["report"].read_text() == found.page()
    placed = [predict_table(each, file) for each in (paths["save"], found.model)]
    assert placed[0].labels.tolist() == placed[1].labels.tolist()


def test_an_error_names_what_had_been_written(file, tmp_path, monkeypatch):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryFit, "trade_off_labels", property(stopped))
    out = tmp_path / "labels.csv"

    with pytest.raises(KeyboardInterrupt) as stop:
        fit_table(file, **FIT, out=out, frontier=tmp_path / "points.csv")

    centers = tmp_path / "labels.centers.csv"
    assert stop.value.__notes__ == [f"written so far: {out}, {centers}"]
    assert out.exists()


# --- Utility -------------------------------------------------------------------------


def test_by_default_predict_gives_the_labels_of_the_fit():
    fit = fit_table(people(), **FIT)

    assert fit.outcome.result.served_by == fit.to_dict()["served_by"] == "center"
    assert np.array_equal(predict_table(fit, people()).labels, fit.labels)


def test_by_default_figures_belong_to_the_centers_of_the_model():
    fit = fit_table(people(), **FIT, choose="most")

    found = predict_table(fit, people())

    assert [utility for _, _, utility in found.utilities] == pytest.approx(
        fit.outcome.utilities[1]
    )
    assert "The fairness is in the centers" in str(fit)
    assert "The fairness is in the centers" in fit.page()


def test_a_saved_model_predicts_the_labels_of_the_fit(tmp_path):
    fit = fit_table(people(), **FIT, save=tmp_path / "model.json")

    found = predict_table(tmp_path / "model.json", people())

    assert np.array_equal(found.labels, fit.labels)


def test_people_can_stay_in_the_clusters_that_they_are_assigned_to():
    fit = fit_table(people(), **FIT, method="rawls", served_by="members")
    labeled = people().append_column("found", pa.array(fit.labels))

    found = audit_table(labeled, "sex", labels="found", drop="segment")

    assert fit.to_dict()["served_by"] == "members"
    assert found.audit.utilities == pytest.approx(fit.outcome.utilities[1])
    assert "by the mean of the members of their cluster" in str(fit)


def test_the_page_shows_everyone_with_the_nearest_mean_at_every_point():
    most = fit_table(people(), **FIT, choose="most")
    walk = fit_table(people(), **FIT, method="rawls")

    trade_off = fit_page(most._in_memory).ways[0]
    way = fit_page(walk._in_memory).ways[1]

    for shown, fit in ((trade_off, most), (way, walk)):
        assert shown.utilities[-1] == pytest.approx(fit.outcome.utilities[1])
        assert np.array_equal(shown.labels[-1], fit.labels)


def test_methods_that_do_not_reassign_serve_in_their_own_way():
    served = {
        method: fit_table(people(), **FIT, method=method).to_dict()["served_by"]
        for method in ("kmeans-free", "kmeans-mean")
    }

    assert served == {"kmeans-free": "center", "kmeans-mean": "members"}


def test_an_audit_by_the_nearest_mean_counts_people_there():
    members, center = (
        audit_table(people(), **AUDIT, served_by=served_by)
        for served_by in ("members", "center")
    )

    assert center.audit.utilities.min() > members.audit.utilities.min()
    assert center.to_dict()["served_by"] == "center"
    assert "Everyone is served by the nearest center." in str(center)
    assert "nearest" not in str(members)
    sizes = np.bincount(center._in_memory.served.labels)
    assert center.audit.cluster_sizes.sum(axis=1).tolist() == sizes.tolist()
    assert "Everyone is served by the nearest center." in center.page()


# --- Parts ---------------------------------------------------------------------------


def test_a_table_in_parts_gives_the_same_kind_of_result(parts, tmp_path):
    ask = {**FIT, "method": "kmeans-free"}

    ours = fit_table(parts, **ask, out=tmp_path / "labels")
    theirs = fit_table(people(), **ask)

    assert [each.name for each in fields(ours)] == [
        each.name for each in fields(theirs)
    ]
    assert ours.passes.engine == "blocks"
    assert theirs.passes is None
    assert adjusted_rand_score(ours.labels, theirs.labels) == 1.0
    columns = ["id", "not_clustered"]
    assert ours.labels_table().select(columns) == theirs.labels_table().select(columns)
    assert ours.centers.shape == theirs.centers.shape
    extra = {"engine", "passes"}
    assert ours.to_dict().keys() - extra == theirs.to_dict().keys()
    assert ours.sentences()[0] == theirs.sentences()[0]


def test_an_audit_of_parts_gives_the_same_kind_of_result(parts):
    ours, theirs = audit_table(parts, **AUDIT), audit_table(people(), **AUDIT)

    assert ours.to_dict().keys() == theirs.to_dict().keys()
    assert ours.audit.utilities == pytest.approx(theirs.audit.utilities, abs=1e-6)


def test_what_a_table_in_parts_does_not_have_is_one_sentence(parts):
    found = fit_table(parts, **FIT, method="rawls", served_by="members")

    with pytest.raises(WrongUseError, match="labels of a table in parts are only"):
        _ = found.labels
    for ask in (found.page, audit_table(parts, **AUDIT).page):
        with pytest.raises(WrongUseError, match="needs all rows in memory"):
            ask()


# --- Wrong use -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"clusters": 0}, "--clusters must be a number such as 5"),
        ({"clusters": 2.5}, "--clusters must be a number such as 5"),
        ({"clusters": (4, 2)}, "--clusters must be a number such as 5"),
        ({"clusters": ("2", "4")}, "--clusters must be a number such as 5"),
        ({"clusters": (2, 3, 4)}, "--clusters must be a number such as 5"),
        ({"clusters": None}, "--clusters is missing; give a number or a range"),
        ({"sensitive": None}, "--sensitive must be a text or a list of texts"),
        ({"drop": 5}, "--drop must be a text or a list of texts"),
        ({"sensitive": pd.Series(["f"])}, "got a Series; give the name of the column"),
        ({"sensitive": pl.Series(["f"])}, "got a Series; give the name of the column"),
        ({"drop": [["age"]]}, "--drop must be a text or a list of texts"),
        ({"drop": np.zeros((2, 99))}, "--drop must be a text or a list of texts"),
        ({"na": [-9]}, "--na must be a text or a list of texts, got -9."),
        ({"id": np.arange(60)}, "^id must be the name of a column, got ndarray; add"),
        ({"seed": "one"}, "--seed must be a number from 0"),
        ({"sensitive": []}, "--sensitive names no column"),
        ({"sensitive": "gender"}, "--sensitive names 'gender'"),
        ({"method": "magic"}, "--method must be one of rawls"),
        ({"served_by": "nearest"}, "--served-by must be one of center, members, got"),
        ({"method": "kmeans-free", "served_by": "center"}, "-free leave it out"),
        ({"method": "kmeans-mean", "served_by": "members"}, "goes with methods that"),
        ({"missing": "guess"}, "--missing must be one of error, drop, category"),
        ({"seed": -1}, "--seed must be a number from 0"),
        ({"engine": "spark"}, "--engine must be one of auto"),
        ({"engine": "blocks"}, "--engine blocks reads Parquet files, but the table is"),
        ({"scheduler": "tcp://x:1"}, "goes with --engine dask"),
        ({"delimiter": ";"}, "--delimiter and --encoding are for text files"),
        ({"encoding": "latin-1"}, "--delimiter and --encoding are for text files"),
    ],
)
def test_bad_arguments_are_told_in_one_sentence(options, text):
    with pytest.raises(WrongUseError, match=text) as error:
        fit_table(people(), **{**FIT, **options})

    assert "\n" not in str(error.value)


@pytest.mark.parametrize("labels", [np.zeros(60, int), [0] * 60])
def test_labels_that_are_no_name_are_told(labels):
    sentence = (
        f"labels must be the name of a column, got {type(labels).__name__}; add the "
        "labels to the table as a column, or use rawlsian.audit for arrays."
    )

    with pytest.raises(WrongUseError, match=f"^{re.escape(sentence)}$"):
        audit_table(people(), "sex", labels=labels)


def test_an_identifier_that_is_no_name_is_told_by_a_prediction():
    with pytest.raises(WrongUseError, match="id must be the name of a column, got li"):
        predict_table(fit_table(people(), **FIT), people(), id=["P1"])


def test_a_lazy_frame_is_to_be_collected():
    with pytest.raises(WrongUseError, match=r"got LazyFrame; call .collect\(\) first."):
        fit_table(pl.from_arrow(people()).lazy(), **FIT)


@pytest.mark.parametrize(
    "table",
    [
        None, 5, {"age": [1]}, [[1, "f"]], np.zeros((2, 2)),
    ],
)  # fmt: skip
def test_what_is_no_table_is_told(table):
    with pytest.raises(WrongUseError, match="table must be the path of a file or a"):
        audit_table(table, **AUDIT)


def test_a_frame_that_is_no_table_is_told():
    table = pd.DataFrame({"age": [1, "x", None], "sex": ["f", "m", "m"]})

    with pytest.raises(TableError, match="cannot be read as a table") as error:
        fit_table(table, **FIT)

    assert "\n" not in str(error.value)


def test_an_empty_frame_is_told():
    with pytest.raises(TableError, match="the table has no rows"):
        fit_table(people().slice(0, 0), **FIT)


def test_a_model_that_is_not_there_is_told(tmp_path):
    with pytest.raises(WrongUseError, match=r"cannot read the model .*no such file"):
        predict_table(tmp_path / "model.json", people())


def test_what_is_no_model_is_told():
    with pytest.raises(WrongUseError, match="a TableFit or its model, got TableAudit"):
        predict_table(audit_table(people(), **AUDIT), people())


def test_without_pyarrow_one_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(ImportError, match="need pyarrow") as error:
        fit_table("x.csv", "sex", clusters=2)
    assert str(error.value).startswith(
        "tables need pyarrow, which is not installed; pip"
    )
