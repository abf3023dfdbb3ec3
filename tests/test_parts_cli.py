"""``rawlsian fit`` and ``audit`` of tables in parts, on threads and with Dask."""

from __future__ import annotations

import json
import sys
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster
from sklearn.metrics import adjusted_rand_score

from rawlsian import fit_table
from rawlsian._outofcore import problem
from rawlsian._recommend.parts import PartsPopulation
from rawlsian._rows.dask import ClusterError
from rawlsian._support.files import WriteError, write_folder
from rawlsian._tables import backends as _backends, parts as _parts
from rawlsian._tables.centers import save_centers
from rawlsian._tables.errors import TableError
from rawlsian._tables.folder import names_of
from rawlsian._tables.model import load_model
from rawlsian.cli.common import Screen
from support.clusters import forked_workers
from support.commands import rawlsian

pytestmark = pytest.mark.usefixtures("short_search", "known_searches")

ASK = ("--sensitive", "sex", "--clusters", 3)
FREE = ("--method", "kmeans-free")
ASSIGNED = ("--served-by", "members")  # needed by methods that reassign


def by(method):
    """Return the options of a method for rows in parts; None recommends."""
    if method is None:
        return ()
    return ("--method", method, *(() if method.startswith("kmeans") else ASSIGNED))


def people(n=60, seed=0, **columns):
    """Return three clumps of people, with a job, a sex and an identifier."""
    rng = np.random.default_rng(seed)
    clump = rng.integers(3, size=n)
    table = {
        "id": [f"P{seed}-{i:04d}" for i in range(n)],
        "age": (20 + 25 * clump + rng.normal(0, 3, n)).round(3),
        "pay": (10 * clump + rng.normal(0, 4, n)).round(3),
        "job": rng.choice(["cook", "smith", "clerk"], n),
        "sex": rng.choice(["f", "m"], n, p=[0.3, 0.7]),
        "old": rng.integers(2, size=n),
        **columns,
    }
    return pa.table(table)


def write(folder, *tables, names=None):
    """Write parts a.parquet, b.parquet, ... to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in zip(names or "abcdefgh", tables, strict=False):
        pq.write_table(table, folder / f"{name}.parquet")
    return folder


@pytest.fixture
def parts(tmp_path):
    return write(tmp_path / "people", *(people(seed=s) for s in range(3)))


def fit(table, *arguments, method=FREE):
    """Run a quick fit; return its JSON."""
    done = rawlsian("fit", table, *ASK, *method, "--drop", "old", "--json", *arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def clusters(folder):
    """Return the written clusters, one part after the other."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    return pa.concat_tables(tables)


def together(folder, *tables):
    """Write all rows to one file."""
    path = folder / "together.parquet"
    pq.write_table(pa.concat_tables(tables), path)
    return path


def utilities(result):
    return [each[when] for each in result["groups"] for when in ("before", "after")]


def fails(done, code, *texts):
    """Assert one line on standard error, the exit code, and no traceback."""
    assert done.exit_code == code, done.output
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("Error: ")
    assert "should not happen" not in lines[0]
    for text in texts:
        assert text in lines[0]


def refuses(table, code, *texts, options=()):
    asked = rawlsian("fit", table, *ASK, "--drop", "old", *options)
    fails(asked, code, *texts)


# --- As rows in memory ---------------------------------------------------------------


def test_parts_are_clustered_as_they_would_be_in_memory(tmp_path, parts):
    whole = together(tmp_path, *(people(seed=s) for s in range(3)))

    in_parts = fit(parts, "--out", tmp_path / "labels")
    in_memory = fit(whole, "--out", tmp_path / "labels.parquet")

    ours = clusters(tmp_path / "labels")
    theirs = pq.read_table(tmp_path / "labels.parquet")
    assert ours.drop(["row", "cluster"]) == theirs.drop(["row", "cluster"])
    assert adjusted_rand_score(ours["cluster"], theirs["cluster"]) == 1.0
    # Encoded rows in parts are float32.
    assert utilities(in_parts) == pytest.approx(utilities(in_memory), abs=1e-6)
    assert in_parts["engine"] == "blocks"
    assert in_parts["passes"] > 2
    assert "engine" not in in_memory
    for same in ("moved", "max_distance", "clustered_on", "not_clustered_on"):
        assert in_parts[same] == in_memory[same]


@pytest.mark.parametrize("missing", ["drop", "category"])
def test_missing_values_are_as_they_are_in_memory(tmp_path, missing):
    rng = np.random.default_rng(5)
    tables = [
        people(
            seed=s,
            pay=pa.array(rng.normal(10, 5, 60).round(2), mask=rng.random(60) < 0.1),
            job=pa.array(rng.choice(["x", "y"], 60), mask=rng.random(60) < 0.1),
            sex=pa.array(rng.choice(["f", "m"], 60), mask=rng.random(60) < 0.1),
        )
        for s in range(3)
    ]
    folder = write(tmp_path / "people", *tables)

    ours = fit(folder, "--missing", missing, "--out", tmp_path / "labels")
    theirs = fit(together(tmp_path, *tables), "--missing", missing, "--out",
                 tmp_path / "labels.parquet")  # fmt: skip

    assert utilities(ours) == pytest.approx(utilities(theirs), abs=1e-6)
    written, expected = (
        each["not_clustered"].to_pylist()
        for each in (
            clusters(tmp_path / "labels"),
            pq.read_table(tmp_path / "labels.parquet"),
        )
    )
    assert written == expected
    counts = ({each["reason"]: each["rows"] for each in result["rows_not_clustered"]}
              for result in (ours, theirs))  # fmt: skip
    assert next(counts) == next(counts)
    if missing == "category":
        assert "median of the rows that were looked at first" in ours["remarks"][0]


def test_an_audit_finds_what_it_finds_in_memory(tmp_path, parts):
    whole = together(tmp_path, *(people(seed=s) for s in range(3)))
    ask = ("--sensitive", "sex", "--sensitive", "job", "--labels", "old", "--json")

    ours, theirs = (
        json.loads(rawlsian("audit", each, *ask).stdout) for each in (parts, whole)
    )

    for mine, other in zip(ours["groups"], theirs["groups"], strict=True):
        assert mine["group"] == other["group"]
        assert mine["utility"] == pytest.approx(other["utility"], abs=1e-6)
    assert [each["cluster"] for each in ours["clusters"]] == [
        each["cluster"] for each in theirs["clusters"]
    ]
    assert ours["least_advantaged"] == theirs["least_advantaged"]
    assert ours.keys() == theirs.keys()


def test_how_a_table_is_cut_changes_nothing(tmp_path, parts, monkeypatch):
    fit(parts, "--out", tmp_path / "large")
    monkeypatch.setattr(_parts, "PIECE_ROWS", 7)

    fit(parts, "--out", tmp_path / "small")

    assert clusters(tmp_path / "small") == clusters(tmp_path / "large")
    pieces = _parts.open_parts([str(parts / "a.parquet")], frozenset(), ()).pieces()
    assert [(piece.first, piece.n_rows) for piece in pieces[:2]] == [(0, 6), (6, 7)]
    assert sum(piece.n_rows for piece in pieces) == 60


@pytest.mark.parametrize("method", ["rawls", "batch", "kmeans-free", "kmeans-mean"])
def test_every_method_serves_the_worst_off_no_worse(parts, method):
    done = rawlsian("fit", parts, *ASK, "--drop", "old", *by(method), "--json")

    result = json.loads(done.stdout)
    before, after = ([each[when] for each in result["groups"]]
                     for when in ("before", "after"))  # fmt: skip
    assert min(after) >= min(before) - 1e-9
    assert (result["steps"] is None) == method.startswith("kmeans")


def test_the_model_predicts_what_was_fitted(tmp_path, parts):
    fit(parts, "--out", tmp_path / "labels", "--save", tmp_path / "model.json")

    rawlsian("predict", tmp_path / "model.json", parts / "b.parquet", "--out",
             tmp_path / "new.parquet")  # fmt: skip

    fitted = pq.read_table(tmp_path / "labels" / "b.parquet")
    assert pq.read_table(tmp_path / "new.parquet") == fitted


def test_tables_tell_rows_parts_and_passes(parts, monkeypatch):
    done = rawlsian("fit", f"{parts}/*.parquet", *ASK, *FREE, "--drop", "old")

    words = " ".join(done.stdout.split())
    assert "180 rows, 6 columns (Parquet, 3 parts)." in words
    assert "passes over 180 rows in 3 parts." in words
    assert "sample" not in words
    monkeypatch.setattr("rawlsian._outofcore.sample.LEAST_SEARCHED", 100)
    done = rawlsian("fit", parts, *ASK, *FREE, "--drop", "old")
    assert "searched on a sample, and finished on all rows." in done.stdout.replace(
        "\n", " "
    ).replace("  ", " ")


def test_a_cluster_of_one_person_is_told(tmp_path):
    far = people(n=1, seed=3, age=[900.0], pay=[900.0])
    folder = write(tmp_path / "people", people(), people(seed=1), far)

    told = fit(folder, "--drop", "job")
    done = rawlsian("fit", folder, *ASK, *FREE, "--drop", "old", "--drop", "job")

    (remark,) = [each for each in told["remarks"] if " is one person: " in each]
    assert remark in " ".join(done.stdout.split())


def test_passes_are_shown(parts, monkeypatch):
    shown = []
    monkeypatch.setattr(Screen, "show", lambda _, *stage: shown.append(stage))

    rawlsian("fit", parts, *ASK, *FREE, "--drop", "old")

    assert ("search: pass", 1, 30) in shown
    assert any(stage[0] == "kmeans-free: runs" for stage in shown)
    assert any(stage[0] == "kmeans-free: pass" for stage in shown)


# --- Parts that differ ---------------------------------------------------------------


def test_columns_are_found_by_their_names(tmp_path, parts):
    fit(parts, "--out", tmp_path / "labels")
    table = people(seed=1)
    write(parts, table.select(table.column_names[::-1]), names="b")

    fit(parts, "--out", tmp_path / "again")

    assert clusters(tmp_path / "again") == clusters(tmp_path / "labels")


def test_a_column_that_a_part_lacks_is_told_if_it_is_needed(parts):
    write(parts, people(seed=1).drop("age"), names="b")
    refuses(parts, 1, "b.parquet' has no column 'age'", "--drop 'age'")

    write(parts, people(seed=1).drop("sex"), names="b")
    refuses(parts, 1, "b.parquet' has no column 'sex'")

    write(parts, people(seed=1).drop("old").drop("id"), names="b")
    assert fit(parts)["not_clustered_on"]["id"].startswith("an identifier")


def test_an_identifier_that_a_part_lacks_is_not_written(tmp_path, parts):
    write(parts, people(seed=1).drop("id"), names="b")

    fit(parts, "--out", tmp_path / "labels")

    assert clusters(tmp_path / "labels").column_names == [
        "row", "cluster", "not_clustered",
    ]  # fmt: skip
    refuses(parts, 1, "b.parquet' has no column 'id'", options=("--id", "id"))


def test_an_empty_part_has_an_empty_file(tmp_path, parts):
    write(parts, people(seed=1).slice(0, 0), names="b")

    fit(parts, "--out", tmp_path / "labels")

    written = [pq.read_table(tmp_path / "labels" / f"{each}.parquet") for each in "abc"]
    assert [each.num_rows for each in written] == [60, 0, 60]
    assert written[1].schema == written[0].schema


def test_parts_without_any_rows_are_refused(tmp_path):
    refuses(write(tmp_path / "people", people(0)), 1, "a.parquet'", "no rows")


def test_missing_values_name_file_column_and_count(parts):
    pay = pa.array([None, 1.0, None] * 20)
    write(parts, people(seed=2, pay=pay), names="c")

    refuses(parts, 1, "40 of 180 rows", "pay (40)", "row 1 of", "c.parquet'")


def test_rows_left_out_name_the_file_of_the_first(tmp_path, parts):
    write(parts, people(seed=1, sex=["", "f", "m"] * 20), names="b")

    result = fit(parts, "--missing", "drop", "--out", tmp_path / "labels")

    (left_out,) = result["rows_not_clustered"]
    assert left_out == {
        "reason": "missing: sex", "rows": 20, "first_row": 1,
        "first_file": str(parts / "b.parquet"),
    }  # fmt: skip
    written = pq.read_table(tmp_path / "labels" / "b.parquet")
    assert written["cluster"].null_count == 20
    assert written["not_clustered"][0].as_py() == "missing: sex"


def test_a_piece_of_which_all_rows_are_left_out_is_written(tmp_path, parts):
    write(parts, people(seed=1, sex=pa.nulls(60, pa.string())), names="b")

    fit(parts, "--missing", "drop", "--out", tmp_path / "labels")

    written = pq.read_table(tmp_path / "labels" / "b.parquet")
    assert written["cluster"].null_count == 60
    assert clusters(tmp_path / "labels").num_rows == 180


def test_a_group_and_a_level_may_be_in_one_part_only(parts):
    write(parts, people(seed=1, sex=["x"] * 60, job=["new", "cook"] * 30), names="b")

    result = fit(parts)

    assert [each["group"] for each in result["groups"]] == ["f", "m", "x"]
    assert result["groups"][2]["size"] == 60


def test_whole_numbers_and_others_are_alike(tmp_path, parts):
    whole = people(seed=1).set_column(1, "age", pa.array(np.arange(60) % 40))
    write(parts, whole, names="b")
    nothing = people(seed=2).set_column(3, "job", pa.nulls(60))
    write(parts, nothing, names="c")

    result = fit(parts, "--missing", "category")

    assert result["clustered_on"] == ["age", "pay", "job"]


def test_parquet_has_many_types_for_one_thing(parts):
    days = np.datetime64("2020-01-01") + np.arange(60)
    for s, name in enumerate("abc"):
        table = people(seed=s, day=days.astype("M8[s]" if name == "b" else "M8[D]"))
        table = table.append_column("tags", pa.array([["x"]] * 60))
        if name == "b":
            job = table["job"].dictionary_encode()
            table = table.set_column(3, "job", job)
        write(parts, table, names=name)

    result = fit(parts)

    assert result["clustered_on"] == ["age", "pay", "job"]
    assert result["not_clustered_on"]["tags"].startswith("lists")
    assert result["not_clustered_on"]["day"].startswith("dates")


def test_text_in_one_part_and_numbers_in_another_are_told(parts):
    texts = pa.array(["12"] * 60)
    write(parts, people(seed=1).set_column(1, "age", texts), names="b")

    refuses(parts, 1, "'age' holds numbers in", "a.parquet'", "but text in",
            "b.parquet'", "--drop 'age'")  # fmt: skip
    assert "age" not in fit(parts, "--drop", "age")["clustered_on"]


@pytest.mark.parametrize("n_looked_at", [2, 50_000])
def test_what_is_no_number_is_named_with_its_row(parts, monkeypatch, n_looked_at):
    monkeypatch.setattr(_parts, "ROWS_LOOKED_AT", n_looked_at * 3)
    texts = [people(seed=s)["age"].cast(pa.string()) for s in range(3)]
    for s, name in enumerate("abc"):
        values = texts[s].to_pylist()
        if name == "b":
            values[40] = "many"
        write(parts, people(seed=s, age=values), names=name)

    refuses(parts, 1, "'age'", "numbers, but 'many' in row 41 of", "b.parquet'")


def test_infinity_is_named_with_its_row(parts, monkeypatch):
    monkeypatch.setattr(_parts, "ROWS_LOOKED_AT", 30)
    pay = [1.0] * 59 + [np.inf]
    write(parts, people(seed=2, pay=pay), names="c")

    refuses(parts, 1, "'pay' holds infinity", "row 60 of", "c.parquet'")


def test_more_levels_than_categories_have_are_told_with_the_file(parts, monkeypatch):
    monkeypatch.setattr(_parts, "ROWS_LOOKED_AT", 150)
    for s, name in enumerate("ab"):
        jobs = ["cook", "smith"] * 25 + [f"job {s} {i}" for i in range(70)]
        write(parts, people(120, seed=s, job=jobs), names=name)

    refuses(parts, 1, "'job' has more than the 100 different texts", "b.parquet'",
            "--categorical 'job'")  # fmt: skip
    assert "job" in fit(parts, "--categorical", "job")["clustered_on"]


def test_numbers_that_count_on_over_the_parts_are_an_identifier(tmp_path, parts):
    for s, name in enumerate("abc"):
        counted = people(100, seed=s).drop("id")
        counted = counted.append_column("n", pa.array(np.arange(100) + 1000 * s))
        write(parts, counted, names=name)

    result = fit(parts, "--out", tmp_path / "labels")

    assert "counts the rows of each part" in result["not_clustered_on"]["n"]
    assert clusters(tmp_path / "labels")["n"][100].as_py() == 1000


def test_the_range_of_numbers_is_that_of_all_rows(tmp_path, parts, monkeypatch):
    monkeypatch.setattr(_parts, "ROWS_LOOKED_AT", 30)
    pay = [*range(58), -1000.0, 3000.0]
    write(parts, people(seed=2, pay=pay), names="c")

    result = fit(parts, "--save", tmp_path / "model.json")

    model = json.loads((tmp_path / "model.json").read_text())
    (feature,) = (each for each in model["features"] if each["name"] == "pay")
    assert (feature["lowest"], feature["spread"]) == (-1000, 4000)
    assert "first rows of every part, 30 together" in result["remarks"][-1]


def test_a_text_that_says_missing_is_told_from_missing_values(parts):
    write(parts, people(seed=1, sex=["(missing)", "f"] * 30), names="b")
    write(parts, people(seed=2, sex=pa.array([None, "m"] * 30)), names="c")

    refuses(parts, 1, "'sex'", "b.parquet'", "'(missing)'",
            options=("--missing", "category"))  # fmt: skip


def test_groups_of_too_many_numbers_in_all_are_refused(parts, monkeypatch):
    monkeypatch.setattr(_parts, "ROWS_LOOKED_AT", 30)
    write(parts, people(seed=2, sex=[1] * 30 + list(range(30))), names="c")
    for s, name in enumerate("ab"):
        write(parts, people(seed=s, sex=[1] * 60), names=name)

    refuses(parts, 1, "'sex' has 30 different numbers")


def test_a_damaged_part_is_named(parts):
    whole = (parts / "b.parquet").read_bytes()
    (parts / "b.parquet").write_bytes(whole[:-10])

    refuses(parts, 1, "b.parquet' cannot be read")


def test_a_part_that_is_gone_before_it_is_read_is_named(parts):
    paths = [str(parts / "a.parquet")]
    (piece,) = _parts.open_parts(paths, frozenset(), ()).pieces()
    (parts / "a.parquet").unlink()

    with pytest.raises(TableError, match=r"a\.parquet' cannot be read"):
        piece.columns(["age"], frozenset())


def test_a_table_of_nothing_but_counted_rows_is_refused(parts):
    for s, name in enumerate("abc"):
        counted = people(100, seed=s).select(["sex"])
        counted = counted.append_column("n", pa.array(np.arange(100) + 1000 * s))
        write(parts, counted, names=name)

    fails(
        rawlsian("fit", parts, *ASK),
        1,
        "no column is left",
        "counts the rows",
    )


def test_two_columns_of_one_name_are_told_with_the_file(parts):
    table = people(seed=1)
    twice = table.rename_columns([*table.column_names[:-1], "age"])
    write(parts, twice, names="b")

    refuses(parts, 1, "b.parquet' two columns are called 'age'")


def test_rows_that_do_not_differ_are_refused(parts):
    for name in "abc":
        write(parts, people(age=[1.0] * 60).select(["age", "sex"]), names=name)

    done = rawlsian("fit", parts, *ASK, "--numeric", "age")

    fails(done, 1, "all rows are alike", "age")


# --- The folder ----------------------------------------------------------------------


def test_a_folder_that_is_there_is_replaced_only_if_asked(tmp_path, parts):
    out = tmp_path / "labels"
    write(out, people(3), names=["older"])
    refuses(parts, 2, "is there already", "--force", options=("--out", out))

    fit(parts, "--out", out, "--force")

    assert sorted(path.name for path in out.iterdir()) == [
        "a.parquet", "b.parquet", "c.parquet",
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "labels", "labels.centers.csv", "people",
    ]  # fmt: skip


def test_a_folder_with_other_things_in_it_is_never_replaced(tmp_path, parts):
    out = tmp_path / "labels"
    out.mkdir()
    (out / "notes.txt").write_text("mine")

    refuses(parts, 2, "notes.txt", options=("--out", out, "--force"))
    assert (out / "notes.txt").read_text() == "mine"


def test_the_parts_are_never_replaced(tmp_path, parts):
    for out in (parts, tmp_path):
        refuses(parts, 2, "is where the table is", options=("--out", out, "--force"))
    assert len(list(parts.iterdir())) == 3


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet"])
def test_the_name_of_a_file_is_refused_where_a_folder_is_written(parts, name):
    refuses(parts, 2, name, "folder", options=("--out", name))


def test_a_file_and_a_place_that_is_not_there_are_refused(tmp_path, parts):
    (tmp_path / "file").write_text("")

    refuses(parts, 2, "is a file", options=("--out", tmp_path / "file"))
    refuses(parts, 2, "cannot be written", options=("--out", tmp_path / "no" / "out"))


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_what_fails_on_the_way_leaves_nothing_behind(
    tmp_path, parts, monkeypatch, force
):
    if force:
        write(tmp_path / "labels", people(3), names=["older"])
    before = sorted(tmp_path.rglob("*"))

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rawlsian._tables.folder.LabelledPieces._table", full)
    done = rawlsian("fit", parts, *ASK, *FREE, "--out", tmp_path / "labels", *force)

    fails(done, 1, "No space left", "nothing was written")
    assert sorted(tmp_path.rglob("*")) == before


def test_the_older_folder_stays_if_the_new_one_cannot_be_put_there(
    tmp_path, monkeypatch
):
    write(tmp_path / "labels", people(3), names=["older"])
    rename = Path.rename

    def refuse(self, target):
        if (self / "new.parquet").exists():
            raise OSError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    # As on a system that cannot swap two names at once.
    monkeypatch.setattr("rawlsian._support.unfinished._swap", lambda *names: False)
    with pytest.raises(WriteError, match="Permission denied"):
        write_folder(
            str(tmp_path / "labels"),
            lambda folder: write(folder, people(3), names=["new"]),
            may_replace=True,
        )

    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["older.parquet"]
    assert [path.name for path in tmp_path.iterdir()] == ["labels"]


def test_parts_of_one_name_are_numbered():
    names = names_of(["x/a.parquet", "y/a.parquet", "y/b.pq"])

    assert names == ["1-a.parquet", "2-a.parquet", "3-b.pq.parquet"]
    assert names_of(["x/a.parquet", "y/b"]) == ["a.parquet", "b.parquet"]


# --- Wrong use -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--method", "R2"), "rawls, batch, kmeans-free and kmeans-mean work"),
        (("--clusters", "2:4"), "name one number"),
        (("--report", "page.html"), "--out, --save and --json work"),
        (("--frontier", "points.csv"), "--out, --save and --json work"),
        (("--scheduler", "tcp://x:1"), "goes with --engine dask"),
        (("--engine", "memory"), "--engine memory reads one file"),
        (("--engine", "spark"), "auto, memory, blocks, dask"),
        (("--clusters", "500"), "more than the 180 rows"),
        (("--sensitive", "gender"), "'gender', which is not a column"),
    ],
)
def test_what_rows_in_parts_cannot_have_is_refused(parts, options, text):
    refuses(parts, 2, text, options=options)


@pytest.mark.parametrize("options", [(), ("--served-by", "center")])
@pytest.mark.parametrize("engine", ["blocks", "dask"])
def test_a_walk_by_the_nearest_mean_is_refused_in_parts(parts, engine, options):
    done = rawlsian("fit", parts, *ASK, "--engine", engine, "--method", "rawls",
                    *options)  # fmt: skip

    fails(done, 2, "--method rawls with --served-by center needs all rows in memory",
          f"with --engine {engine} add --served-by members")  # fmt: skip


def test_members_without_a_method_are_refused_in_parts(parts):
    refuses(parts, 2, "--served-by members without --method needs all rows in memory",
            "add --method rawls or kmeans-mean", options=ASSIGNED)  # fmt: skip


def test_an_audit_of_parts_by_the_nearest_mean_is_that_of_memory(tmp_path, parts):
    whole = together(tmp_path, *(people(seed=s) for s in range(3)))
    ask = ("--sensitive", "sex", "--labels", "old", "--served-by", "center", "--json")

    ours, theirs = (
        json.loads(rawlsian("audit", each, *ask).stdout) for each in (parts, whole)
    )

    assert ours["served_by"] == theirs["served_by"] == "center"
    for mine, other in zip(ours["groups"], theirs["groups"], strict=True):
        assert mine["utility"] == pytest.approx(other["utility"], abs=1e-6)


def test_an_audit_of_parts_makes_no_page(parts):
    done = rawlsian("audit", parts, "--sensitive", "sex", "--labels", "old",
                    "--report", "page.html")  # fmt: skip

    fails(done, 2, "--report needs all rows in memory", "--json works")


def test_parts_are_parquet(tmp_path):
    (tmp_path / "a.csv").write_text("age,sex\n1,f\n2,m\n")

    refuses(tmp_path / "*.csv", 2, "a.csv' is not Parquet", "--engine memory")
    refuses(tmp_path / "a.csv", 2, "is not Parquet", options=("--engine", "blocks"))
    refuses(tmp_path, 2, "no Parquet file is there")
    refuses("-", 2, "standard input", options=("--engine", "blocks"))
    refuses(tmp_path, 2, "--delimiter and --encoding", options=("--delimiter", ";"))
    refuses(tmp_path / "no.parquet", 2, "cannot read", options=("--engine", "blocks"))


def test_one_file_may_be_read_in_blocks(parts):
    assert fit(parts / "a.parquet", "--engine", "blocks")["engine"] == "blocks"
    assert "engine" not in fit(parts / "a.parquet")


def test_more_clusters_than_different_rows_are_refused(parts):
    for s, name in enumerate("abc"):
        few = people(seed=s, age=[1.0, 2.0] * 30).select(["age", "sex"])
        write(parts, few, names=name)

    done = rawlsian("fit", parts, *ASK)

    fails(done, 2, "more than k-means can tell apart", "at most 2")


def test_rows_for_which_there_is_no_room_are_refused(parts, monkeypatch):
    class Full:
        free = 10

    monkeypatch.setattr(_backends.shutil, "disk_usage", lambda folder: Full)

    refuses(parts, 1, "TMPDIR", "--engine dask")


def test_a_scratch_file_that_cannot_be_written_is_told(parts, monkeypatch):
    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

    full = _backends.ThreadBackend(Full())
    monkeypatch.setattr(_backends, "ThreadBackend", lambda scratch: full)

    refuses(parts, 1, "scratch file", "No space left", "nothing was written")


def interrupt_at(monkeypatch, stage, n_done):
    """Raise KeyboardInterrupt at this progress of a stage."""
    show = Screen.show

    def interrupt(self, *progress):
        show(self, *progress)
        if progress[:2] == (stage, n_done):
            raise KeyboardInterrupt

    monkeypatch.setattr(Screen, "show", interrupt)


@pytest.mark.parametrize("n_passes", [1, 4])
def test_ctrl_c_during_k_means_stops(parts, monkeypatch, n_passes):
    interrupt_at(monkeypatch, "search: pass", n_passes)

    done = rawlsian("fit", parts, *ASK, "--drop", "old")

    assert done.exit_code == 130
    assert done.stderr == "stopped; nothing was written.\n"


@pytest.mark.parametrize("method", ["rawls", "kmeans-free"])
def test_ctrl_c_on_the_way_keeps_what_was_reached(tmp_path, parts, monkeypatch, method):
    interrupt_at(monkeypatch, f"{method}: pass", 4)

    done = rawlsian("fit", parts, *ASK, "--drop", "old", *by(method),
                    "--out", tmp_path / "labels")  # fmt: skip

    assert done.exit_code == 130
    assert done.stderr.startswith("stopped on the way: the clusters are those reached")
    assert clusters(tmp_path / "labels")["cluster"].null_count == 0


# --- Dask ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scheduler():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_backends, "n_threads", lambda: 2)
        with forked_workers(), _backends._out_of_reach_of_ctrl_c():
            cluster = _backends._local_cluster()
    with cluster:
        yield cluster.scheduler_address


@pytest.fixture
def on_dask(scheduler):
    return "--engine", "dask", "--scheduler", scheduler


@pytest.mark.parametrize("method", ["rawls", "kmeans-free", None])
def test_dask_gives_the_clusters_that_threads_give(tmp_path, parts, on_dask, method):
    incomplete = people(seed=4, job=pa.array(["cook", None] * 30))
    write(parts, people(0), incomplete, names="de")
    ask, how = ("--missing", "drop"), {"method": by(method)}

    ours = fit(parts, *ask, *on_dask, "--out", tmp_path / "dask", **how)
    theirs = fit(parts, *ask, "--out", tmp_path / "blocks", **how)

    assert clusters(tmp_path / "dask") == clusters(tmp_path / "blocks")
    assert (ours.pop("engine"), theirs.pop("engine")) == ("dask", "blocks")
    assert ours.pop("written") != theirs.pop("written")
    assert ours == theirs


@pytest.mark.parametrize("what", ["labels", "model", "centers"])
def test_dask_audits_as_threads_do(parts, on_dask, tmp_path, what):
    model, centers = tmp_path / "model.json", tmp_path / "centers.csv"
    fit(parts, "--save", model)
    found = load_model(str(model))
    save_centers(str(centers), found.features, found.centers)
    given = {
        "labels": ("--labels", "old"),
        "model": ("--centers", model),
        "centers": ("--centers", centers, "--drop", "old"),
    }
    ask = ("--sensitive", "sex", *given[what], "--json")

    ours, theirs = (
        rawlsian("audit", parts, *ask, *more).stdout for more in (on_dask, ())
    )

    assert json.loads(ours) == json.loads(theirs)


def test_what_a_worker_finds_wrong_is_told_in_one_line(parts, on_dask, monkeypatch):
    monkeypatch.setattr(_parts, "ROWS_LOOKED_AT", 30)
    write(parts, people(seed=2, pay=[1.0] * 59 + [np.inf]), names="c")

    refuses(parts, 1, "'pay' holds infinity", "c.parquet'", options=on_dask)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ClusterError("no Dask worker is left."), "no Dask worker is left; "),
        (CancelledError(), "the Dask cluster is gone, or its workers are; "),
        (ModuleNotFoundError(name="rawlsian"), "the Dask workers lack rawlsian; "),
    ],
)
def test_a_cluster_that_fails_leaves_nothing_behind(
    tmp_path, parts, on_dask, monkeypatch, error, text
):
    def lost(*arguments):
        raise error

    monkeypatch.setattr(PartsPopulation, "effects", lost)
    done = rawlsian("fit", parts, *ASK, *on_dask, "--out", tmp_path / "labels")

    fails(done, 1, text, "; nothing was written.")
    assert list(tmp_path.iterdir()) == [parts]


def test_without_a_scheduler_dask_works_on_this_machine(parts, monkeypatch):
    started = []

    def local():
        started.append(
            LocalCluster(processes=False, n_workers=1, dashboard_address="127.0.0.1:0")
        )
        return started[0]

    monkeypatch.setattr(_backends, "_local_cluster", local)

    assert fit(parts, "--engine", "dask")["engine"] == "dask"
    assert started[0].status.name == "closed"


def test_a_scheduler_that_does_not_answer_is_told(parts, monkeypatch):
    monkeypatch.setattr(_backends, "PATIENCE", 1)

    nowhere = "tcp://127.0.0.1:9"

    refuses(parts, 2, f"no Dask scheduler answers at {nowhere!r}",
            options=("--engine", "dask", "--scheduler", nowhere))  # fmt: skip


def test_without_dask_its_extra_is_named(parts, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    refuses(parts, 2, "pip install 'rawlsian[dask]'", options=("--engine", "dask"))


@pytest.mark.parametrize("method", ["rawls", "kmeans-free"])
def test_a_fit_of_parts_checks_its_rows_in_one_pass(
    method, parts, monkeypatch, known_searches
):
    known_searches()
    checked, check = [], problem.check_summaries

    def counted(blocks, summaries):
        checked.append(blocks)
        check(blocks, summaries)

    monkeypatch.setattr(problem, "check_summaries", counted)

    served_by = "members" if method == "rawls" else None
    fit_table(str(parts), "sex", clusters=2, method=method, served_by=served_by)

    assert len(checked) == 1
