"""``rawlsian audit``, ``fit`` and ``predict`` as their users meet them."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from rawlsian import RawlsianKMeans
from rawlsian._tables import compiling, method_run
from rawlsian._tables.columns import Roles
from rawlsian._tables.methods import METHODS
from rawlsian._tables.prepare import prepare
from rawlsian._tables.read import read_table
from rawlsian.cli import app
from rawlsian.metrics import audit as audit_arrays
from support.commands import rawlsian

pytestmark = pytest.mark.usefixtures("short_search", "known_searches")

PEOPLE = str(Path(__file__).parent.parent / "docs" / "people.csv")


def write(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def few_people(tmp_path, n=60, **columns):
    """A table of two clumps, with a job and a sex; more columns may be given."""
    rng = np.random.default_rng(0)
    table = {
        "id": [f"P{i:03d}" for i in range(n)],
        "age": [int(20 + 40 * (i % 2) + rng.integers(10)) for i in range(n)],
        "job": [("cook", "smith", "clerk")[i % 3] for i in range(n)],
        "sex": [("f", "m", "m")[i % 3 if i % 5 else 0] for i in range(n)],
        **columns,
    }
    lines = io.StringIO()
    csv.writer(lines).writerows([table, *zip(*table.values(), strict=True)])
    return write(tmp_path, lines.getvalue())


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def people_fit(tmp_path_factory):
    """A table of real people; what a fit of it tells as JSON, and its labels."""
    folder = tmp_path_factory.mktemp("people")
    table = folder / "people.csv"
    table.write_text("".join(Path(PEOPLE).read_text().splitlines(True)[:301]))
    done = rawlsian(
        "fit", table, "--sensitive", "sex", "--clusters", 5, "--drop", "segment",
        "--method", "rawls", "--served-by", "members", "--out", folder / "labels.csv",
        "--frontier", folder / "points.csv", "--json",
    )  # fmt: skip
    labels = [int(row["cluster"]) for row in rows_of(folder / "labels.csv")]
    return table, json.loads(done.stdout), labels


# Run each command in a process of its own, forked from one that has imported what takes
# seconds to import. Standard error is a pipe: the limit is one for files.
FORKS = """
import json, os, resource, sys
from rawlsian.__main__ import main
from rawlsian.cli import app
from rawlsian._tables import run

told = []
for arguments, out, limit in json.loads(sys.argv[1]):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(out, os.O_WRONLY), 1)
        os.dup2(writing, 2)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        sys.argv = ["rawlsian", *arguments]
        main()
    os.close(writing)
    with open(reading) as errors:
        told.append((errors.read(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def without_room(tmp_path_factory):
    """Run commands whose output has no room; return stderr and exit code of each.

    Two print an audit, as text and as JSON, and one may write 200 bytes to a file.
    """
    folder = tmp_path_factory.mktemp("limited")
    table, model = few_people(folder), folder / "m.json"
    # Not fit, for which numba could not cache what it compiles.
    assert rawlsian("fit", table, *FIT, "--save", model).exit_code == 0
    audit = ["audit", PEOPLE, "--sensitive", "sex", "--labels", "segment"]
    predict = ["predict", model, table, "--out", folder / "labels.csv"]
    jobs = [
        (audit, "/dev/full", None),
        ([*audit, "--json"], "/dev/full", None),
        (predict, "/dev/null", 200),
    ]
    done = subprocess.run(
        [sys.executable, "-c", FORKS, json.dumps(jobs, default=str)],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )  # fmt: skip
    text, as_json, limited = json.loads(done.stdout)
    return {"text": text, "json": as_json, "limited": limited, "folder": folder}


FIT = ("--sensitive", "sex", "--clusters", "2", "--min-group", "10")


def fit(tmp_path, table, *arguments):
    return rawlsian("fit", table, *FIT, "--out", tmp_path / "labels.csv", *arguments)


def fails(done, code, *texts):
    """One line on standard error, the exit code, and no traceback."""
    assert done.exit_code == code, done.output
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("Error: ")
    for text in texts:
        assert text in lines[0]


# --- fit -----------------------------------------------------------------------------


def test_fit_writes_all_rows_in_their_order_with_the_identifier(tmp_path):
    table = few_people(tmp_path)

    done = fit(tmp_path, table)

    assert done.exit_code == 0, done.output
    written = rows_of(tmp_path / "labels.csv")
    assert [row["row"] for row in written] == [str(i + 1) for i in range(60)]
    assert [row["id"] for row in written] == [f"P{i:03d}" for i in range(60)]
    assert {row["cluster"] for row in written} == {"0", "1"}
    assert {row["not_clustered"] for row in written} == {""}


def test_what_was_not_clustered_is_listed_with_its_reason(tmp_path):
    jobs = ["cook", "smith", ""] * 20
    table = few_people(tmp_path, job=jobs)

    done = fit(tmp_path, table, "--missing", "drop")

    assert "Left out: 20 rows, the first is row 3 (missing: job)." in done.stdout
    written = rows_of(tmp_path / "labels.csv")
    assert [row["cluster"] == "" for row in written] == [job == "" for job in jobs]
    assert {row["not_clustered"] for row in written[2::3]} == {"missing: job"}


def test_fit_says_what_is_clustered_on_and_what_is_not(tmp_path):
    done = fit(tmp_path, few_people(tmp_path, born=["1999-12-31", "2001-01-01"] * 30))

    assert "Clustered on 2: age (number), job (category)." in done.stdout
    assert "Left out: id (an identifier" in done.stdout
    assert "Left out: sex (sensitive" in done.stdout
    assert "Left out: born (dates" in done.stdout


def test_what_fit_tells_is_what_an_audit_of_its_labels_finds(people_fit):
    table, told, labels = people_fit
    prepared = prepare(read_table(table), Roles(("sex",), drop=("segment",)))
    found = audit_arrays(
        prepared.X, labels, prepared.groups, max_distance=8, n_bootstrap=0
    )
    assert [each["after"] for each in told["groups"]] == pytest.approx(found.utilities)
    assert told["overall"]["after"] == pytest.approx(found.overall)
    assert told["least_advantaged"]["before"] == "Female"
    before, after = (
        [each[when] for each in told["groups"]] for when in ("before", "after")
    )
    assert min(after) > min(before)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_serves_the_worst_off_no_worse(tmp_path, method):
    done = fit(tmp_path, few_people(tmp_path), "--method", method, "--json")

    told = json.loads(done.stdout)
    before, after = (
        min(each[when] for each in told["groups"]) for when in ("before", "after")
    )
    assert after >= before - 1e-12
    assert told["method"] == method


def test_the_same_seed_gives_the_same_files(tmp_path, known_searches):
    table = few_people(tmp_path)
    contents = []
    for _ in range(2):
        known_searches()
        done = fit(
            tmp_path, table, "--force", "--save", tmp_path / "m.json",
            "--frontier", tmp_path / "f.csv", "--seed", 3,
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        contents.append(
            [
                (tmp_path / name).read_bytes()
                for name in ("labels.csv", "m.json", "f.csv")
            ]
        )

    assert contents[0] == contents[1]


def test_a_range_of_clusters_is_tried_and_the_choice_shown(tmp_path):
    # Two clumps of ages far apart: two clusters have the best silhouette.
    table = few_people(tmp_path, job=["cook"] * 60)

    done = rawlsian("fit", table, "--sensitive", "sex", "--clusters", "2:5", "--json")

    told = json.loads(done.stdout)
    assert [each["n_clusters"] for each in told["tried"]] == [2, 3, 4, 5]
    best = max(told["tried"], key=lambda each: each["silhouette"])
    assert told["clusters"] == best["n_clusters"] == 2


def test_parquet_goes_in_and_out(tmp_path):
    table = read_table(str(few_people(tmp_path)))
    content = {
        name: column.texts()[column.codes] for name, column in table.columns.items()
    }
    content["age"] = content["age"].astype(np.int64)
    pyarrow.parquet.write_table(pyarrow.table(content), tmp_path / "people.parquet")

    out = tmp_path / "labels.parquet"
    done = rawlsian("fit", tmp_path / "people.parquet", *FIT, "--out", out)

    assert done.exit_code == 0, done.output
    written = pyarrow.parquet.read_table(out)
    assert written.column_names == ["row", "id", "cluster", "not_clustered"]
    assert written["id"].to_pylist() == content["id"].tolist()
    assert set(written["cluster"].to_pylist()) == {0, 1}


def test_a_table_may_come_from_standard_input(tmp_path):
    content = few_people(tmp_path).read_bytes()

    done = rawlsian("fit", "-", *FIT, "--json", input=content)

    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["clusters"] == 2


def test_the_frontier_file_has_the_labels_of_every_point(tmp_path):
    done = fit(
        tmp_path, few_people(tmp_path), "--frontier", tmp_path / "points.csv", "--json"
    )

    told = json.loads(done.stdout)
    written = rows_of(tmp_path / "points.csv")
    names = [name for name in written[0] if name.startswith("point_")]
    assert len(names) == len(told["trade_off"])
    lowest = [min(point["utilities"].values()) for point in told["trade_off"]]
    assert lowest == sorted(lowest)
    assert len(written) == 60


def test_a_column_that_may_hold_older_clusters_is_remarked_upon(tmp_path):
    table = few_people(tmp_path, old_segment=["a", "b"] * 30)

    done = fit(tmp_path, table)

    text = " ".join(done.stdout.split())
    assert "'old_segment' is used; if it holds older clusters" in text


def test_a_point_that_is_better_for_every_group_is_told():
    done = rawlsian(
        "fit", PEOPLE, "--sensitive", "sex", "--clusters", 5, "--drop", "segment",
        "--method", "batch", "--json",
    )  # fmt: skip

    told = json.loads(done.stdout)
    after = {each["group"]: each["after"] for each in told["groups"]}
    lowest = {
        j: min(point["utilities"].values())
        for j, point in enumerate(told["trade_off"])
        if all(point["utilities"][group] > after[group] for group in after)
    }
    best = max(lowest, key=lowest.get)
    (remark,) = (each for each in told["remarks"] if "--method asked" in each)
    assert f"but point {best} is at least as good for every group" in remark


def test_that_nothing_could_be_improved_is_told(tmp_path):
    ages = [20 + i % 7 if i % 3 else 90 for i in range(90)]
    table = few_people(tmp_path, 90, age=ages, sex=["f", "m", "m"] * 30)

    done = rawlsian("fit", table, "--sensitive", "sex", "--clusters", 1, "--served-by",
                    "members")  # fmt: skip

    text = " ".join(done.stdout.split())
    assert "Keep k-means: none of the 23 clusterings that were compared serves" in text


def test_json_is_all_that_is_printed(tmp_path):
    done = fit(tmp_path, few_people(tmp_path), "--json")

    assert json.loads(done.stdout)["written"] == [
        str(tmp_path / "labels.csv"),
        str(tmp_path / "labels.centers.csv"),
    ]


# --- predict -------------------------------------------------------------------------


def test_a_saved_model_gives_new_rows_their_cluster(tmp_path):
    table = few_people(tmp_path)
    fit(tmp_path, table, "--method", "kmeans-free", "--save", tmp_path / "m.json")

    done = rawlsian(
        "predict", tmp_path / "m.json", table, "--out", tmp_path / "again.csv"
    )

    # With free centers everyone is with the nearest, so that it is the same again.
    assert done.exit_code == 0, done.output
    assert rows_of(tmp_path / "again.csv") == rows_of(tmp_path / "labels.csv")
    assert "60 of 60 rows have a cluster." in done.stdout
    assert "How well each group is served" in done.stdout


def test_predict_leaves_out_what_it_is_told_to(tmp_path):
    fit(tmp_path, few_people(tmp_path), "--save", tmp_path / "m.json")
    table = write(tmp_path, "age,job\n30,cook\n,cook\n50,pilot\n", "new.csv")
    out = tmp_path / "new-labels.csv"

    refused = rawlsian("predict", tmp_path / "m.json", table, "--out", out)
    done = rawlsian(
        "predict", tmp_path / "m.json", table, "--out", out,
        "--missing", "drop", "--unknown", "drop",
    )  # fmt: skip

    fails(refused, 1, "--missing drop")
    assert done.exit_code == 0, done.output
    assert [row["not_clustered"] for row in rows_of(out)] == [
        "", "missing: age", "unknown value: job",
    ]  # fmt: skip


# --- audit ---------------------------------------------------------------------------


def test_audit_tells_what_the_library_finds(tmp_path):
    done = rawlsian(
        "audit", PEOPLE, "--sensitive", "sex", "--labels", "segment", "--json"
    )

    told = json.loads(done.stdout)
    prepared = prepare(read_table(PEOPLE), Roles(("sex",), labels="segment"))
    segments = [int(row["segment"][1:]) - 1 for row in rows_of(PEOPLE)]
    found = audit_arrays(
        prepared.X, segments, prepared.groups, max_distance=8, random_state=0
    )
    assert told["least_advantaged"] == "Female"
    assert [each["utility"] for each in told["groups"]] == pytest.approx(
        found.utilities
    )
    assert told["gap_interval"] == pytest.approx(found.gap_interval)
    assert sum(told["shortfalls"].values()) == pytest.approx(found.gap)


def test_audit_prints_groups_and_the_clusters_that_hurt_most():
    done = rawlsian("audit", PEOPLE, "--sensitive", "sex", "--labels", "segment")

    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "Female is served worst: its mean squared distance is 36.6 points" in text
    assert "What adds most to that: cluster S3: 38.3% of the group" in text
    assert "everyone = 100; lower is better" in text
    assert "95% interval" in text


def test_audit_takes_intersections():
    done = rawlsian(
        "audit", PEOPLE, "--sensitive", "sex", "--sensitive", "race", "--labels",
        "segment", "--json",
    )  # fmt: skip

    told = json.loads(done.stdout)
    assert "Female, Black" in [each["group"] for each in told["groups"]]
    assert any("Fewer than 10 people" in remark for remark in told["remarks"])


def test_clusters_of_any_name_can_be_audited(tmp_path):
    names = ["[bold]gold", "a:cat:b", "[/red]\\"]
    done = rawlsian(
        "audit", few_people(tmp_path, segment=names * 20), "--sensitive", "sex",
        "--labels", "segment", "--json",
    )  # fmt: skip

    assert list(json.loads(done.stdout)["shortfalls"]) == sorted(names)


def test_names_are_printed_as_they_are(tmp_path):
    names = ["[bold]gold", "a:cat:b", "[/red]\\"]

    done = fit(tmp_path, few_people(tmp_path, sex=names * 20))

    for name in names:
        assert f" {name} " in done.stdout


# --- Pages ---------------------------------------------------------------------------


def test_the_page_of_a_fit_says_what_changed(tmp_path):
    page = tmp_path / "page.html"

    done = fit(tmp_path, few_people(tmp_path), "--report", page)

    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "Keep k-means: no group is served worse than everyone else" in text
    assert "The trade-off" in text
    assert page.stat().st_size < 3_000_000


def test_the_page_of_an_audit_says_who_is_served_worst(tmp_path):
    page = tmp_path / "page.html"

    done = rawlsian(
        "audit", PEOPLE, "--sensitive", "sex", "--labels", "segment", "--report", page
    )

    assert done.exit_code == 0, done.output
    assert "Female is served worst" in page.read_text()


def test_the_page_of_an_audit_of_one_group_says_nothing_of_being_behind(tmp_path):
    table = few_people(tmp_path, sex=["f"] * 60, segment=["a", "b", "b"] * 20)
    page = tmp_path / "page.html"

    done = rawlsian(
        "audit", table, "--sensitive", "sex", "--labels", "segment", "--report", page
    )

    assert done.exit_code == 0, done.output
    assert "nobody to compare with" in page.read_text()
    assert "What adds most to that" not in page.read_text() + done.stdout


def test_a_column_named_script_is_escaped_on_the_page(tmp_path):
    name = "<script>alert(1)</script>"
    table = few_people(tmp_path, **{name: ["</script><b>", "y"] * 30})
    page = tmp_path / "page.html"

    done = fit(tmp_path, table, "--report", page)

    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "alert(1)" in text
    assert name not in text
    assert "</script><b>" not in text


# --- Hostile input -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "code", "texts"),
    [
        pytest.param("", 1, ["is empty"], id="an empty file"),
        pytest.param("age,sex\n", 1, ["a header but no rows"], id="a header only"),
        pytest.param(
            "age,sex\n1,f\n1,m\n1,f\n", 1, ["no column is left to use", "age"],
            id="constant columns",
        ),
        pytest.param(
            "age,job,sex\n1,é,f\n2,é,m\n".encode("latin-1"), 1,
            ["not utf-8", "line 2", "--encoding latin-1"], id="latin-1 bytes",
        ),
        pytest.param(
            "age,sex\nInfinity,f\n2,m\n3,f\n", 1, ["'age'", "infinity", "row 1"],
            id="infinity",
        ),
        pytest.param(
            "age,sex\n1,f\n2,m\nx,f\n4,m\n", 1,
            ["'age' has mostly numbers", "'x' in row 3"],
            id="mixed types",
        ),
        pytest.param(
            "born,sex\n2001-01-01,f\n2002-02-02,m\n2003-03-03,f\n", 1,
            ["no column is left", "dates"], id="dates only",
        ),
        pytest.param(
            "age,sex\n1,f\n,m\n3,f\n", 1,
            ["1 of 3 rows", "age (1)", "--missing drop", "--missing category"],
            id="missing values",
        ),
        pytest.param(
            "age\n1\n2\n3\n", 2, ["--sensitive names 'sex'"], id="no such column"
        ),
        pytest.param(
            "age,sex\n1,f\n2,m,3\n", 1, ["3 values in row 2"], id="a ragged row"
        ),
        pytest.param(b"\x00\x01\x02\x03", 1, ["is not text"], id="no table at all"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_used_gets_one_clear_line(
    tmp_path, content, code, texts
):
    done = fit(tmp_path, write(tmp_path, content))

    fails(done, code, *texts)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


def test_a_wrong_delimiter_is_told_with_the_right_one(tmp_path):
    table = write(tmp_path, "age;sex\n1;f\n2;m\n")

    fails(fit(tmp_path, table, "--delimiter", ","), 1, "'age;sex'", "--delimiter ';'")
    assert fit(tmp_path, table).exit_code == 0


def test_latin_1_is_read_when_it_is_named(tmp_path):
    content = "age,job,sex\n1,é,f\n2,à,m\n3,é,f\n4,à,m\n".encode("latin-1")

    done = fit(tmp_path, write(tmp_path, content), "--encoding", "latin-1")

    assert done.exit_code == 0, done.output


def test_more_clusters_than_rows_is_wrong_use(tmp_path):
    done = rawlsian("fit", few_people(tmp_path), "--sensitive", "sex", "--clusters", 61)

    fails(done, 2, "--clusters 61 is more than the 60 rows")


def test_more_clusters_than_different_rows_is_wrong_use(tmp_path):
    table = few_people(tmp_path, age=[1, 2] * 30, job=["cook"] * 60)

    done = rawlsian("fit", table, "--sensitive", "sex", "--clusters", 3)

    fails(done, 2, "more than the 2 different rows")


def test_one_group_is_remarked_upon(tmp_path):
    done = fit(
        tmp_path, few_people(tmp_path, sex=["f"] * 60), "--report", tmp_path / "p.html"
    )

    assert done.exit_code == 0, done.output
    assert "Everyone is in one group, 'f'" in done.stdout


def test_a_group_of_one_row_is_remarked_upon(tmp_path):
    table = few_people(tmp_path, sex=["f"] + ["m"] * 59)

    done = fit(tmp_path, table, "--report", tmp_path / "p.html")

    assert done.exit_code == 0, done.output
    assert "Fewer than 10 people are in f" in done.stdout


def test_constant_columns_are_named_and_left_out(tmp_path):
    done = fit(tmp_path, few_people(tmp_path, country=["x"] * 60))

    assert "Left out: country (has the same value in all rows" in done.stdout


def test_ten_thousand_categories_are_named_and_left_out(tmp_path):
    n = 30_000
    streets = [f"street {i % 10_000}" for i in range(n)]

    done = fit(tmp_path, few_people(tmp_path, n, street=streets), "--method", "batch")

    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "Left out: street (10,000 different texts" in text


def test_a_label_column_with_one_cluster_can_be_audited(tmp_path):
    table = few_people(tmp_path, segment=["all"] * 60)

    done = rawlsian(
        "audit", table, "--sensitive", "sex", "--labels", "segment",
        "--report", tmp_path / "p.html",
    )  # fmt: skip

    assert done.exit_code == 0, done.output
    assert "by cluster: all" in " ".join(done.stdout.split())


def test_formulas_are_written_back_as_text(tmp_path):
    names = [f"=cmd|' /C calc'!A{i}" for i in range(60)]

    fit(tmp_path, few_people(tmp_path, id=names))

    assert [row["id"] for row in rows_of(tmp_path / "labels.csv")] == [
        f"'{name}" for name in names
    ]


def test_negative_numbers_are_not_taken_for_formulas(tmp_path):
    fit(tmp_path, few_people(tmp_path, id=[-i for i in range(60)]))

    assert [row["id"] for row in rows_of(tmp_path / "labels.csv")][:2] == ["0", "-1"]


def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path):
    table, out = few_people(tmp_path), tmp_path / "labels.csv"
    out.write_text("precious")

    done = fit(tmp_path, table)

    fails(done, 2, "is there already", "--force")
    assert out.read_text() == "precious"
    assert fit(tmp_path, table, "--force").exit_code == 0
    assert out.read_text() != "precious"


def test_a_folder_that_is_not_there_is_told_before_any_work(tmp_path):
    done = rawlsian(
        "fit", few_people(tmp_path), *FIT, "--out", tmp_path / "nowhere" / "labels.csv"
    )

    fails(done, 2, "cannot be written (No such file or directory)")


def test_a_full_disk_leaves_the_old_file_and_no_part_of_the_new(tmp_path, monkeypatch):
    table, out = few_people(tmp_path), tmp_path / "labels.csv"
    out.write_text("precious")

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.replace", full)

    fails(fit(tmp_path, table, "--force"), 1, "No space left on device", "nothing was")
    assert out.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "labels.csv",
        "table.csv",
    ]


def test_a_limit_on_file_sizes_leaves_no_part_of_a_file(without_room):
    """The same for real, in a process that may write 200 bytes to a file."""
    error, code = without_room["limited"]

    assert code == 1, error
    assert "could not be written" in error
    assert "Traceback" not in error
    written = sorted(path.name for path in without_room["folder"].iterdir())
    assert written == ["m.json", "table.csv"]


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["--clusters", "five"], ["--clusters must be a number", "'five'"]),
        (["--clusters", "5:2"], ["--clusters must be a number", "'5:2'"]),
        (["--clusters", "5:"], ["--clusters must be a number", "'5:'"]),
        (["--clusters", "0"], ["--clusters must be a number", "'0'"]),
        (["--categorical", "age", "--numeric", "age"], ["'age' is given by both"]),
        (["--method", "magic"], ["--method must be one of rawls", "'magic'"]),
        (["--missing", "guess"], ["--missing must be one of error, drop, category"]),
        (["--out", "labels.xlsx"], ["must end in .csv, .tsv or .parquet"]),
        (["--report", "page.pdf"], ["--report 'page.pdf' must end in .html or .htm"]),
        (["--save", "model.pkl"], ["--save 'model.pkl' must end in .json"]),
        (["--seed", "-1"], ["--seed must be a number from 0"]),
        (["--drop", "shoe"], ["--drop names 'shoe'", "its columns are id, age"]),
        (["--drop", "sex"], ["'sex' is given by both"]),
        (["--encoding", "klingon"], ["--encoding 'klingon' is not known"]),
    ],
)
def test_wrong_use_is_told_in_one_line(tmp_path, arguments, texts):
    done = rawlsian("fit", few_people(tmp_path), *FIT, *arguments)

    fails(done, 2, *texts)


def test_a_table_that_is_not_there_is_wrong_use(tmp_path):
    fails(fit(tmp_path, tmp_path / "nothing.csv"), 2, "cannot read", "No such file")


def test_debug_shows_the_traceback(tmp_path):
    done = fit(tmp_path, write(tmp_path, ""), "--debug")

    assert "is empty" in str(done.exception)


def test_ctrl_c_keeps_what_was_reached(tmp_path, monkeypatch, known_searches):
    known_searches()
    walk = method_run.traverse_of

    def interrupted(*arguments, callback, **options):
        def stop(step):
            callback(step)
            if step.n_iter == 2:
                raise KeyboardInterrupt

        return walk(*arguments, callback=stop, **options)

    monkeypatch.setattr(method_run, "traverse_of", interrupted)

    done = rawlsian(
        "fit", PEOPLE, "--sensitive", "sex", "--clusters", 5, "--method", "R1",
        "--out", tmp_path / "labels.csv",
    )  # fmt: skip

    assert done.exit_code == 130
    assert "stopped on the way" in done.stderr
    assert len(rows_of(tmp_path / "labels.csv")) == 1000


@pytest.mark.parametrize("method", [(), ("--method", "R1")])
def test_ctrl_c_in_a_walk_of_the_search_writes_nothing(
    tmp_path, monkeypatch, method, known_searches
):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    known_searches()
    monkeypatch.setattr("rawlsian.operators.traversal.select", interrupted)

    done = fit(tmp_path, few_people(tmp_path), *method)

    assert done.exit_code == 130
    assert done.stderr.strip().splitlines()[-1] == "stopped; nothing was written."
    assert not (tmp_path / "labels.csv").exists()


def test_pooling_is_chosen_and_new_people_are_told_of(tmp_path):
    table = few_people(tmp_path)

    done = rawlsian("fit", table, *FIT, "--method", "kmeans-free", "--pooling", "cv",
                    "--json")  # fmt: skip

    found = json.loads(done.stdout)
    assert found["pooling"] == "inf" or found["pooling"] >= 0
    new = found["options"][-1]["new_people"]
    assert [each["group"] for each in new["groups"]] == ["f", "m"]
    assert new["gain_interval"][0] <= new["gain_percent"] <= new["gain_interval"][1]
    assert new["is_clear_gain"] == (new["gain_interval"][0] > 0)


def test_where_no_gain_can_be_expected_the_small_groups_are_named(tmp_path):
    table = few_people(tmp_path, sex=["f"] * 5 + ["m", "d"] * 25 + ["f"] * 5)

    done = rawlsian("fit", table, *FIT, "--min-group", 20, "--method", "kmeans-free",
                    "--pooling", 5)  # fmt: skip

    text = " ".join(done.stdout.split())
    assert "For people who are not in this table, expect the worst-off" in text
    assert re.search("no gain can be promised|do not use these clusters", text)
    assert "Too few people for a statement (below 20)" in text
    assert re.search(r"not optimised for: f \(10, [+-]\d+\.\d%\)\.", text)
    assert "as if 5 people, drawn from everyone, had joined it" in text


def test_a_clear_gain_for_new_people_is_told_with_its_interval():
    done = rawlsian("fit", PEOPLE, "--sensitive", "sex", "--clusters", 5, "--drop",
                    "segment", "--method", "kmeans-free", "--pooling", 300)  # fmt: skip

    text = " ".join(done.stdout.split())
    assert "For people who are not in this table, expect the worst-off group" in text
    assert re.search(r"to be [0-9.]+% lower \(95% interval of the gain [0-9.]+ ", text)


@pytest.mark.parametrize("method", ["rawls", "kmeans-mean", "fair-lloyd"])
def test_every_method_with_a_rule_for_new_people_measures_them(tmp_path, method):
    pooling = () if method == "fair-lloyd" else ("--pooling", 5)

    done = CliRunner().invoke(app, [
        "fit", str(few_people(tmp_path)), *FIT, "--method", method, "--json",
        *map(str, pooling),
    ])  # fmt: skip

    result = json.loads(done.stdout)["options"][-1]
    assert result["option"] == "method"
    assert len(result["new_people"]["groups"]) == 2


def test_new_people_are_served_by_the_nearest_mean_where_members_serve(tmp_path):
    done = rawlsian("fit", few_people(tmp_path), *FIT, "--served-by", "members",
                    "--method", "rawls", "--pooling", 0, "--json")  # fmt: skip

    result = json.loads(done.stdout)["options"][-1]
    assert result["served_by"] == "members"
    assert len(result["new_people"]["groups"]) == 2


def test_four_rows_are_too_few_to_leave_some_out(tmp_path):
    done = rawlsian("fit", few_people(tmp_path, 4), *FIT, "--min-group", 2, "--method",
                    "rawls", "--pooling", "cv", "--json")  # fmt: skip

    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["options"][-1]["new_people"] is None


def test_costs_in_the_table_are_those_of_its_utilities(tmp_path):
    done = rawlsian("fit", few_people(tmp_path), *FIT, "--choose", "most", "--json")

    found = json.loads(done.stdout)
    everyone = found["max_distance"] - found["overall"]["before"]
    keep, _, most = found["options"]
    for group, kept, taken in zip(
        found["groups"], keep["groups"], most["groups"], strict=True
    ):
        before, after = (found["max_distance"] - group[t] for t in ("before", "after"))
        assert kept["level"] == pytest.approx(100 * before / everyone)
        assert taken["level"] == pytest.approx(100 * after / everyone)
        assert taken["change_percent"] == pytest.approx(100 * (after / before - 1))


def test_infinite_pooling_is_named_and_survives_json(tmp_path):
    done = rawlsian("fit", few_people(tmp_path), *FIT, "--pooling", "inf",
                    "--no-new-people", "--json")  # fmt: skip

    assert json.loads(done.stdout)["pooling"] == "inf"


@pytest.mark.parametrize("pooling", ["-1", "much", "nan"])
def test_bad_values_of_pooling_get_one_sentence(tmp_path, pooling):
    done = rawlsian("fit", few_people(tmp_path), *FIT, "--pooling", pooling)

    assert done.exit_code == 2
    assert "--pooling must be cv, inf or a number of people" in done.stderr


def test_fair_lloyd_refuses_to_pool(tmp_path):
    done = rawlsian("fit", few_people(tmp_path), *FIT, "--method", "fair-lloyd",
                    "--pooling", 5)  # fmt: skip

    assert done.exit_code == 2
    assert "does not go with --method fair-lloyd" in " ".join(done.stderr.split())


def test_ctrl_c_keeps_the_best_that_a_search_has_found(tmp_path, monkeypatch):
    def interrupting(*arguments, callback, **options):
        def stop(step):
            raise KeyboardInterrupt

        return RawlsianKMeans(*arguments, callback=stop, **options)

    method = METHODS["kmeans-free"]._replace(solver=interrupting)
    monkeypatch.setitem(METHODS, "kmeans-free", method)

    done = fit(tmp_path, few_people(tmp_path), "--method", "kmeans-free")

    assert done.exit_code == 130
    assert "stopped on the way" in done.stderr
    assert len(rows_of(tmp_path / "labels.csv")) == 60


def test_ctrl_c_before_there_is_anything_writes_nothing(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("rawlsian._recommend.rules.search_ends", interrupted)

    done = fit(tmp_path, few_people(tmp_path))

    assert done.exit_code == 130
    assert done.stderr.strip().splitlines()[-1] == "stopped; nothing was written."
    assert not (tmp_path / "labels.csv").exists()


@pytest.mark.parametrize("command", ["audit", "fit", "predict", "study"])
def test_every_command_helps_with_an_example(command):
    done = rawlsian(command, "--help")

    assert done.exit_code == 0
    assert "Example" in done.stdout
    assert f"rawlsian {command}" in done.stdout


def test_the_general_help_has_examples():
    assert "rawlsian audit people.csv --sensitive sex" in rawlsian("--help").stdout


def test_help_shows_no_value_for_flags():
    lines = rawlsian("fit", "--help").stdout.splitlines()

    for flag in ("--use-sensitive", "--json", "--force", "--debug"):
        (line,) = (line for line in lines if flag in line)
        assert "bool" not in line.lower()


# --- Inputs and outputs that meet ----------------------------------------------------


def test_the_table_itself_is_never_written_over(tmp_path):
    table = few_people(tmp_path)
    content = table.read_text()
    (tmp_path / "folder").mkdir()
    for same in (table, tmp_path / "folder" / ".." / table.name):
        done = rawlsian("fit", table, *FIT, "--out", same, "--force")
        fails(done, 2, "is what is read")

    assert table.read_text() == content


def test_two_outputs_cannot_be_one_file(tmp_path):
    (tmp_path / "folder").mkdir()
    again = tmp_path / "folder" / ".." / "labels.csv"

    fails(
        fit(tmp_path, few_people(tmp_path), "--frontier", again), 2, "asked for twice"
    )


def test_what_is_no_file_is_never_replaced(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)

    done = rawlsian("fit", few_people(tmp_path), *FIT, "--out", pipe, "--force")

    fails(done, 2, "is not a file")


def test_a_link_stays_a_link_and_a_mode_stays_a_mode(tmp_path):
    target, link = tmp_path / "there.csv", tmp_path / "labels.csv"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)

    assert fit(tmp_path, few_people(tmp_path), "--force").exit_code == 0
    assert link.is_symlink()
    assert target.read_text().startswith("row,")
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_long_name_can_be_written(tmp_path):
    table = few_people(tmp_path)
    out, longer = (tmp_path / f"{'x' * n}.csv" for n in (240, 245))
    alone = ("--served-by", "members")

    assert rawlsian("fit", table, *FIT, "--out", out).exit_code == 0
    assert rawlsian("fit", table, *FIT, *alone, "--out", longer).exit_code == 0
    assert out.exists()
    assert longer.exists()
    # The name of the centers is longer than that of the labels.
    done = rawlsian("fit", table, *FIT, "--out", longer, "--force")
    fails(done, 2, "xxx.centers.csv' cannot be written (File name too long)")


def test_a_table_may_come_through_a_pipe(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    content = few_people(tmp_path).read_text()
    writer = threading.Thread(target=pipe.write_text, args=(content,))
    writer.start()

    done = rawlsian("fit", pipe, *FIT, "--json")
    writer.join()

    assert json.loads(done.stdout)["clusters"] == 2


def test_an_identifier_called_cluster_does_not_hide_the_clusters(tmp_path):
    names = [f"N{i}" for i in range(60)]
    table = few_people(tmp_path, cluster=names, id=["x"] * 60)

    fit(tmp_path, table, "--id", "cluster")

    written = rows_of(tmp_path / "labels.csv")
    assert [row["cluster in the table"] for row in written] == names
    assert {row["cluster"] for row in written} == {"0", "1"}


def test_identifiers_with_commas_and_quotes_come_back(tmp_path):
    names = [f'a "{i}", b\nc' for i in range(60)]

    fit(tmp_path, few_people(tmp_path, id=names), "--id", "id")

    assert [row["id"] for row in rows_of(tmp_path / "labels.csv")] == names


def test_whole_numbers_of_parquet_come_back_whole(tmp_path):
    n = 40
    content = pyarrow.table(
        {
            "id": pyarrow.array(range(2**60, 2**60 + n), pyarrow.int64()),
            "age": [20.5 + (i % 2) * 30 + i for i in range(n)],
            "sex": ["f", "m"] * (n // 2),
        }
    )
    pyarrow.parquet.write_table(content, tmp_path / "t.parquet")

    for ending in ("csv", "parquet"):
        out = tmp_path / f"o.{ending}"
        assert (
            rawlsian("fit", tmp_path / "t.parquet", *FIT, "--out", out).exit_code == 0
        )
    assert [int(row["id"]) for row in rows_of(tmp_path / "o.csv")] == list(
        range(2**60, 2**60 + n)
    )
    again = pyarrow.parquet.read_table(tmp_path / "o.parquet")
    assert again["id"].to_pylist() == list(range(2**60, 2**60 + n))


def test_the_trade_off_of_a_sample_has_no_point_that_another_beats(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("rawlsian._recommend.population.MOST_SEARCHED", 100)
    monkeypatch.setattr("rawlsian._tables.fit_page.MOST_SEARCHED", 100)
    page = tmp_path / "page.html"

    done = rawlsian(
        "fit", PEOPLE, "--sensitive", "sex", "--clusters", 3, "--json", "--frontier",
        tmp_path / "points.csv", "--report", page,
    )  # fmt: skip

    told = json.loads(done.stdout)
    overall = [point["overall"] for point in told["trade_off"]]
    lowest = [min(point["utilities"].values()) for point in told["trade_off"]]
    assert overall == sorted(overall, reverse=True)
    assert lowest == sorted(lowest)
    assert overall[0] == told["overall"]["before"]
    assert "on 100 rows with as many of each group; the best of" in page.read_text()


def test_a_range_is_printed_with_its_choice(tmp_path):
    done = rawlsian(
        "fit", few_people(tmp_path), "--sensitive", "sex", "--clusters", "1:3"
    )

    assert "K-means with several numbers of clusters" in done.stdout
    assert "3 has the best silhouette" in done.stdout
    assert re.search("1 +│ +none ", done.stdout)  # one cluster has no silhouette
    for criterion in ("silhouette", "held-out", "held-out-worst"):
        assert f" {criterion} " in done.stdout


@pytest.mark.parametrize(
    ("choose_by", "words"),
    [
        ("silhouette", "has the best silhouette"),
        ("held-out", "is enough by the held-out cost"),
        ("held-out-worst", "is enough by the held-out cost of the worst-off group"),
    ],
)
def test_each_criterion_takes_the_number_that_it_names(tmp_path, choose_by, words):
    fit = ("fit", few_people(tmp_path), "--sensitive", "sex", "--clusters", "2:4",
           "--method", "kmeans-free", "--choose-by", choose_by)  # fmt: skip

    told = json.loads(rawlsian(*fit, "--json").stdout)

    assert told["chosen_by"] == choose_by
    assert told["clusters"] == told["choices"][choose_by]
    assert list(told["choices"]) == ["silhouette", "held-out", "held-out-worst"]
    for each in told["tried"]:
        assert each["held_out_cost"] > 0
        assert each["held_out_worst_group"] in ("f", "m")
    assert f"{told['clusters']} {words}" in " ".join(rawlsian(*fit).stdout.split())


def test_a_cost_that_falls_to_the_end_of_the_range_is_told(tmp_path):
    fit = ("fit", few_people(tmp_path), "--sensitive", "sex", "--clusters", "1:2",
           "--method", "kmeans-free")  # fmt: skip

    remark = "2 is the end of the range, and the cost still falls there"
    assert remark in rawlsian(*fit, "--choose-by", "held-out").stdout
    assert remark not in rawlsian(*fit).stdout


def test_as_many_clusters_as_people_have_no_held_out_cost(tmp_path):
    table = write(
        tmp_path, "x,sex\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(9))
    )

    done = rawlsian("fit", table, "--sensitive", "sex", "--clusters", "8:9",
                    "--choose-by", "held-out")  # fmt: skip

    assert "No number of clusters has a held-out cost; 8 is the first" in done.stdout


@pytest.mark.parametrize(
    ("clusters", "choose_by", "texts"),
    [
        ("4", "held-out", ("chooses from a range", "with --clusters 4 leave it out")),
        ("4:4", "silhouette", ("chooses from a range", "--clusters 4")),
        ("2:4", "elbow", ("--choose-by must be one of silhouette, held-out,",)),
    ],
)
def test_a_criterion_without_a_choice_is_refused(tmp_path, clusters, choose_by, texts):
    done = rawlsian("fit", few_people(tmp_path), "--sensitive", "sex",
                    "--clusters", clusters, "--choose-by", choose_by)  # fmt: skip

    fails(done, 2, *texts)


def test_rows_that_differ_by_rounding_only_can_be_told_apart(tmp_path):
    table = write(tmp_path, "x,sex\n0,f\n0.9999999999999999,m\n1,f\n")

    done = rawlsian("fit", table, "--sensitive", "sex", "--clusters", 3, "--json")

    told = json.loads(done.stdout)
    (keep, *_) = told["options"]
    assert sorted(map(sum, keep["composition"])) == [1, 1, 1]
    # Costs that are rounding are none: nobody is served worse than others.
    assert {each["level"] for each in keep["groups"]} == {100}


@pytest.mark.parametrize("method", ["kmeans-free", "kmeans-mean"])
def test_a_search_has_a_page_too(tmp_path, method):
    page = tmp_path / "page.html"

    done = fit(tmp_path, few_people(tmp_path), "--method", method, "--report", page)

    assert done.exit_code == 0, done.output
    assert f"Chosen instead: {method} (mean squared distance:" in page.read_text()


def test_a_mistake_of_ours_is_told_as_one(tmp_path, monkeypatch):
    def broken(*arguments):
        raise ValueError("shapes differ")

    monkeypatch.setattr("rawlsian._recommend.rules.search_ends", broken)

    fails(fit(tmp_path, few_people(tmp_path)), 1, "shapes differ", "should not happen")


def test_too_little_memory_is_told(tmp_path, monkeypatch):
    def hungry(*arguments):
        raise MemoryError

    monkeypatch.setattr("rawlsian._recommend.rules.search_ends", hungry)

    fails(fit(tmp_path, few_people(tmp_path)), 1, "not enough memory")


@pytest.mark.parametrize("kind", ["text", "json"])
def test_output_that_cannot_be_printed_is_one_line(without_room, kind):
    error, code = without_room[kind]

    assert code == 1
    assert "No space left on device" in error
    assert "Traceback" not in error


def test_labels_that_name_rows_are_told(tmp_path):
    rows = "\n".join(f"{i},{i % 7},{'ab'[i % 2]}" for i in range(11_000))
    table = write(tmp_path, f"id,x,sex\n{rows}\n")
    done = rawlsian("audit", table, "--sensitive", "sex", "--labels", "id")
    fails(done, 1, "'id' has 11,000 different values, too many for clusters")


def test_a_pattern_that_the_shell_took_apart_is_told():
    files = ["a.parquet", "b.parquet"]
    command = [sys.executable, "-m", "rawlsian", "fit", *files, *FIT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: one table is expected")
    assert "put a pattern in quotes" in done.stderr


# --- Compiling before the first fit ---


def n_compiled():
    """Return the number of signatures that kernels were compiled for."""
    modules = [m for name, m in list(sys.modules.items()) if "rawlsian." in name]
    kernels = {f for m in modules for f in vars(m).values() if hasattr(f, "py_func")}
    return sum(len(kernel.signatures) for kernel in kernels)


def test_what_is_compiled_first_is_all_that_a_fit_needs(tmp_path):
    compiling.compile_search()
    compiling.compile_walks()
    n_before = n_compiled()

    assert fit(tmp_path, few_people(tmp_path)).exit_code == 0
    assert n_compiled() == n_before > 20


@pytest.mark.parametrize("is_first", [True, False])
def test_the_first_fit_says_that_two_processes_compile(tmp_path, monkeypatch, is_first):
    begun, table = [], few_people(tmp_path)
    monkeypatch.setattr(compiling, "is_compiled", lambda kernel: not is_first)
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **_: begun.append(command) or Mock()
    )

    done = fit(tmp_path, table)

    assert done.exit_code == 0
    assert ("in two processes" in done.stderr) == is_first
    assert [command[-1] for command in begun] == [compiling.COMMAND] * is_first
