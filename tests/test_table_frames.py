"""Tables of every type that frames and Parquet have, and what they are refused for."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rawlsian import fit_table, predict_table
from rawlsian._support.files import OutputError
from rawlsian._tables import backends
from rawlsian._tables.errors import TableError, WorkersError, WrongUseError

pytestmark = pytest.mark.usefixtures("short_search", "known_searches")

FIT = {"pooling": 0, "new_people": False, "sensitive": "sex", "clusters": 3}
MEMBERS = {"method": "rawls", "served_by": "members"}


def people(n=60, **columns):
    rng = np.random.default_rng(0)
    clump = rng.integers(3, size=n)
    table = {
        "age": 20 + 20 * clump + rng.integers(10, size=n),
        "pay": (10 * clump + rng.normal(0, 4, n)).round(3),
        "job": rng.choice(["cook", "smith", "clerk"], n),
        "sex": rng.choice(["f", "m"], n, p=[0.3, 0.7]),
    }
    return pd.DataFrame(table | columns)


def in_parts(folder, *tables):
    folder.mkdir()
    for name, table in zip("abcdef", tables, strict=False):
        if not isinstance(table, pa.Table):
            table = pa.Table.from_pandas(table, preserve_index=False)
        pq.write_table(table, folder / f"{name}.parquet")
    return folder


# --- Identifiers of parts ------------------------------------------------------------

LARGE = 2**60 + 1


@pytest.mark.parametrize(
    "kinds", [(pa.int32(), pa.int64()), (pa.int64(), pa.float64())]
)
def test_identifiers_of_two_types_are_read_back(tmp_path, kinds):
    rows = pa.Table.from_pandas(people())
    numbers = [
        pa.array(range(60 * j, 60 * j + 60), kind) for j, kind in enumerate(kinds)
    ]
    tables = [rows.append_column("nr", each) for each in numbers]
    parts = in_parts(tmp_path / "parts", *tables)

    found = fit_table(parts, **FIT, **MEMBERS, id="nr", out=tmp_path / "out")

    table = found.labels_table()
    assert table["nr"].to_pylist() == list(range(120))
    assert table["cluster"].to_pylist() == found.labels.tolist()


def test_an_empty_part_does_not_change_the_type_of_the_identifier(tmp_path):
    first = people(nr=range(60))
    empty = first.iloc[:0].astype({"nr": object})
    parts = in_parts(tmp_path / "parts", empty, first)

    found = fit_table(parts, **FIT, **MEMBERS, id="nr", out=tmp_path / "out")

    assert found.labels_table()["nr"].to_pylist() == list(range(60))


def test_identifiers_that_no_type_holds_become_text(tmp_path):
    numbers = pa.array([LARGE + i for i in range(60)])
    whole = pa.Table.from_pandas(people()).append_column("nr", numbers)
    others = people(nr=np.arange(60) + 0.5)
    parts = in_parts(tmp_path / "parts", whole, others)

    found = fit_table(parts, **FIT, **MEMBERS, id="nr", out=tmp_path / "out")

    names = found.labels_table()["nr"].to_pylist()
    assert names[0] == str(LARGE)
    assert names[-1] == "59.5"
    assert len(found.labels) == 120


# --- Categories of pandas ------------------------------------------------------------


def test_intervals_can_name_groups():
    frame = people()
    frame["band"] = pd.cut(frame["age"], [0, 30, 50, 90])

    found = fit_table(frame, "band", clusters=3)

    names = found.outcome.group_names.tolist()
    assert names == ["(0, 30]", "(30, 50]", "(50, 90]"]


def test_intervals_and_periods_may_be_dropped_or_clustered_on():
    months = pd.period_range("2020-01", periods=3, freq="M")
    frame = people(month=pd.Categorical(months.take(np.arange(60) % 3)))
    frame["band"] = pd.cut(frame["age"], 3)

    found = fit_table(frame, **FIT, drop="band")

    assert found.to_dict()["clustered_on"] == ["age", "pay", "job", "month"]
    assert isinstance(frame["band"].dtype.categories, pd.IntervalIndex)
    assert "2020-02" in found.model.features[3].levels


def test_a_category_of_bytes_is_left_out():
    table = pa.Table.from_pandas(people())
    codes = pa.array([b"a", b"b"] * 30).dictionary_encode()

    found = fit_table(table.append_column("code", codes), **FIT)

    assert found.to_dict()["not_clustered_on"]["code"] == "lists, times of day or bytes"


# --- Numbers that mean missing -------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "na"),
    [
        ("age", -999, "-999"),
        ("pay", -999.0, "-999"),
        ("pay", -999.0, "-999.0"),
        ("pay", np.inf, "inf"),
        ("pay", -0.5, "-0.5"),
    ],
)
def test_numbers_that_mean_missing_are_left_out_as_of_a_text_file(
    tmp_path, column, value, na
):
    frame = people()
    frame.loc[7, column] = value
    ask = {**FIT, "na": na, "missing": "drop"}
    file = frame.astype(str)
    file.loc[7, column] = na
    file.to_csv(tmp_path / "t.csv", index=False)

    found, expected = fit_table(frame, **ask), fit_table(tmp_path / "t.csv", **ask)

    assert np.flatnonzero(found.labels < 0).tolist() == [7]
    assert found.labels.tolist() == expected.labels.tolist()
    assert np.array_equal(found.centers, expected.centers)


def test_numbers_that_mean_missing_are_left_out_of_parts(tmp_path):
    whole, others = people(), people()
    whole.loc[7, "age"] = -999
    others["age"] = others["age"].astype(float)
    others.loc[8, "age"] = -999
    parts = in_parts(tmp_path / "parts", whole, others)

    found = fit_table(
        parts,
        **FIT,
        **MEMBERS,
        na="-999",
        missing="drop",
        out=tmp_path / "out",
    )

    assert np.flatnonzero(found.labels < 0).tolist() == [7, 68]


def test_decimals_that_mean_missing_are_left_out():
    pay = pa.array(people()["pay"].round(2), pa.float64())
    pay = pa.array([-999, *pay.to_pylist()[1:]]).cast(pa.decimal128(9, 2), safe=False)
    table = pa.Table.from_pandas(people()).set_column(1, "pay", pay)

    found = fit_table(table, **FIT, na="-999", missing="drop")

    assert np.flatnonzero(found.labels < 0).tolist() == [0]


# --- True and false ------------------------------------------------------------------


@pytest.mark.parametrize("spell", [str, lambda flag: str(flag).upper()])
@pytest.mark.parametrize("is_frame_fitted", [True, False])
def test_true_and_false_are_the_same_in_frames_and_text_files(
    tmp_path, spell, is_frame_fitted
):
    frame = people(member=np.arange(60) % 3 > 0)
    path = tmp_path / "t.csv"
    frame.assign(member=frame["member"].map(spell)).to_csv(path, index=False)
    fitted, other = (frame, path) if is_frame_fitted else (path, frame)
    model = fit_table(fitted, **FIT).model

    found = predict_table(model, other)

    assert found.labels.tolist() == predict_table(model, fitted).labels.tolist()


def test_beside_true_and_false_other_values_are_unknown():
    member = np.where(np.arange(60) % 3, "TRUE", "False").astype(object)
    model = fit_table(people(member=np.arange(60) % 3 > 0), **FIT).model
    member[5] = "perhaps"

    with pytest.raises(TableError, match=r"1 value.* not seen, such as 'perhaps'"):
        predict_table(model, people(member=member))


def test_a_model_that_knows_two_spellings_of_true_keeps_both():
    member = np.array(["true", "TRUE", "false"] * 20)
    model = fit_table(people(member=member), **FIT).model

    with pytest.raises(TableError, match="not seen, such as 'True'"):
        predict_table(model, people(member=np.array(["true", "True"] * 30)))


# --- No table ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series([1, 2]), "pandas Series"),
        (pl.Series([1, 2]), "polars Series"),
        (pa.chunked_array([[1, 2]]), "pyarrow ChunkedArray"),
    ],
)
def test_a_single_column_is_refused(column, kind):
    with pytest.raises(WrongUseError, match=f"^the {kind} is one column; give a table"):
        fit_table(column, **FIT)


@pytest.mark.parametrize("engine", ["auto", "dask"])
def test_a_frame_of_dask_is_refused_with_two_ways_out(engine):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(people(), npartitions=2)

    with pytest.raises(WrongUseError, match=r"is not in memory; give .* to_parquet"):
        fit_table(frame, **FIT, engine=engine)


@pytest.mark.parametrize("frame", [pd.DataFrame(), people().iloc[:0], pl.DataFrame()])
def test_a_frame_without_rows_is_refused(frame):
    with pytest.raises(TableError, match=r"^the table has no rows\.$"):
        fit_table(frame, **FIT)


# --- Arguments -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "clusters", [range(100, 2, -1), range(2, 9, 3), True, np.True_, (True, 4)]
)
def test_numbers_of_clusters_are_whole_and_follow_each_other(clusters):
    with pytest.raises(WrongUseError, match="--clusters must be a number such as 5 or"):
        fit_table(people(), "sex", clusters=clusters)


@pytest.mark.parametrize("name", ["x.json", "parts/../x.json"])
def test_a_path_asked_for_twice_is_refused_before_any_work(tmp_path, name):
    parts = in_parts(tmp_path / "parts", people())
    stages = []

    with pytest.raises(OutputError, match="is asked for twice; name another"):
        fit_table(
            parts, **FIT, **MEMBERS, out=tmp_path / name,
            save=tmp_path / "x.json",
            progress=lambda stage, *_: stages.append(stage),
        )  # fmt: skip

    assert not stages
    assert list(tmp_path.iterdir()) == [parts]


def test_lists_cannot_name_the_rows_of_a_fit_or_a_prediction():
    frame = people(tags=[[i] for i in range(60)])
    model = fit_table(frame, **FIT).model

    for refused in (
        lambda: fit_table(frame, **FIT, id="tags"),
        lambda: predict_table(model, frame, id="tags"),
    ):
        with pytest.raises(WrongUseError, match="--id names 'tags', which holds lists"):
            refused()


def test_an_identifier_that_holds_lists_now_is_not_written():
    model = fit_table(people(nr=range(60)), **FIT, id="nr").model

    found = predict_table(model, people(nr=[[i] for i in range(60)]))

    assert "nr" not in found.labels_table().column_names


# --- Dask ----------------------------------------------------------------------------


def test_workers_that_cannot_start_are_told_in_one_sentence(tmp_path, monkeypatch):
    def fails():
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(backends, "_local_cluster", fails)
    parts = in_parts(tmp_path / "parts", people())

    with pytest.raises(WorkersError, match="could not start; in a script, call") as no:
        fit_table(parts, **FIT, **MEMBERS, engine="dask")

    assert no.value.__suppress_context__


def test_logs_of_the_caller_are_kept_and_those_of_dask_silenced(
    tmp_path, monkeypatch, caplog
):
    def local():
        return LocalCluster(processes=False, n_workers=1, dashboard_address=":0")

    def report(stage, done, of):
        mine.warning(stage)
        heard[stage] = dask.isEnabledFor(logging.CRITICAL)

    heard: dict[str, bool] = {}
    LocalCluster = pytest.importorskip("distributed").LocalCluster
    monkeypatch.setattr(backends, "_local_cluster", local)
    mine, dask = map(logging.getLogger, ("mine", "distributed.client"))
    parts = in_parts(tmp_path / "parts", people())

    fit_table(parts, **FIT, **MEMBERS, engine="dask", progress=report)

    assert list(heard) == list(dict.fromkeys(caplog.messages))
    assert not heard["encoding"]
    assert dask.isEnabledFor(logging.CRITICAL)
