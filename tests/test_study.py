"""The paper's study: files of the command, computations and verdicts."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import assume, given, settings
from typer.testing import CliRunner

from rawlsian import (
    StudyConfig,
    __version__,
    kmeans_restarts,
    load_adult,
    run_study,
    traverse,
)
from rawlsian.__main__ import main
from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import Problem
from rawlsian._support.processes import Processes
from rawlsian.cli import app
from rawlsian.operators.r1_r2 import admitted_pairs, admitted_singles
from rawlsian.study import (
    claims as _claims,
    figures as _figures,
    report as _report,
    stages as _stages,
    tables as _tables,
    verdicts as _verdicts,
)
from support.cases import NICE, cases, make_case
from support.claims import judged_again
from support.study import SMALLEST, small_samples, without_seconds

ROOT = Path(__file__).parent.parent
QUICK = ["study", "--runs", "300", "--samples", "2", "--clusters", "3"]


@pytest.fixture(scope="module", autouse=True)
def of_small_samples():
    with small_samples():
        yield


@pytest.fixture(scope="module")
def quick(tmp_path_factory, of_small_samples):
    """Run a small study by the command; return its folder and its output."""
    folder = tmp_path_factory.mktemp("study")
    done = CliRunner().invoke(app, [*QUICK, "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return folder, done.output


@pytest.fixture(scope="module")
def results(quick):
    return json.loads((quick[0] / "results.json").read_text())


# --- Files of the command ---


def test_results_have_everything_that_is_promised(results):
    assert results["stages_finished"] == [
        "data", "existence", "traversals", "samples", "beyond", "claims"
    ]  # fmt: skip
    assert results["dataset"]["rows"] == 30_718
    assert results["dataset"]["columns"] == 42
    assert results["dataset"]["groups"]["Female"]["examples"] == 9_930
    existence = results["existence"]
    assert existence["runs"] == 300
    assert 0 < existence["lag_runs"] < 300
    for name in ("utilitarian", "rawlsian"):
        assert set(existence[name]) == {"Female", "Male", "overall"}
        assert existence[name]["Female"] < existence[name]["Male"]
    assert len(existence["points"]["Female"]) == 300
    assert list(results["traversals"]) == ["nearest", "assigned"]
    for walks in results["traversals"].values():
        assert [t["operator"] for t in walks] == list(_stages.MAIN_OPERATORS)
    assert len(results["samples"]["rows"]) == 2


def test_every_start_of_a_sample_has_both_readings(results):
    for row in results["samples"]["rows"]:
        for start, operators in (
            ("filtered", _stages.MAIN_OPERATORS), ("unfiltered", _stages.OPERATORS)
        ):  # fmt: skip
            readings = row[start]["readings"]
            assert list(readings) == ["nearest", "assigned"]
            for found in readings.values():
                assert tuple(t["operator"] for t in found["traversals"]) == operators
                assert found["r2_strays_from_r1"] > 0
                assert ("pairs" in found) == (start == "filtered")


def test_readings_agree_where_k_means_ends_and_differ_later(results):
    for row in results["samples"]["rows"]:
        nearest, assigned = (
            row["filtered"]["readings"][name]["traversals"][0]
            for name in ("nearest", "assigned")
        )

        assert nearest["start"] == pytest.approx(assigned["start"], abs=1e-12)
        assert nearest["iterations"] > assigned["iterations"]
        assert nearest["end"] != pytest.approx(assigned["end"], abs=1e-6)


def test_a_traversal_is_told_from_start_to_end(results):
    for walk in itertools.chain(*results["traversals"].values()):
        start = results["existence"]["utilitarian"]
        assert walk["start"] == pytest.approx(start, abs=1e-12)
        assert min(walk["end"].values()) >= min(walk["start"].values())
        assert walk["overall"] == walk["end"]["overall"]
        assert walk["stop_reason"] == "no_operation"
        assert walk["seconds"] > 0
        assert len(walk["path"]["Male"]) == walk["iterations"] + 1
        assert walk["path"]["Male"][-1] == walk["end"]["Male"]


def test_what_it_says_of_a_sample_can_be_had_from_the_library(results):
    seed = results["existence"]["sample_seed"]
    adult = load_adult(sample=125, random_state=seed)

    assert (adult.sensitive_features == "Female").sum() == 67
    restarts = kmeans_restarts(
        adult.data, 3, n_runs=300, sensitive_features=adult.sensitive_features,
        max_distance=8, random_state=seed,
    )  # fmt: skip
    is_female = restarts.least_advantaged == "Female"
    assert is_female.sum() == results["existence"]["lag_runs"]
    best = np.flatnonzero(is_female)[np.argmax(restarts.overall[is_female])]
    for reading, (r1, *_) in results["traversals"].items():
        trajectory = traverse(
            adult.data, restarts.labels(best), adult.sensitive_features,
            utility=reading, max_distance=8,
        )  # fmt: skip
        assert trajectory.n_iter == r1["iterations"]
        assert trajectory.utilities[-1, 0] == r1["end"]["Female"]


def test_beyond_the_paper_each_method_is_compared_with_both_bounds(results):
    beyond = results["beyond"]

    assert len(beyond["rows"]) == 2
    for row in beyond["rows"]:
        nearest, assigned = row["methods"]["nearest"], row["methods"]["assigned"]
        assert {name: list(ends) for name, ends in row["methods"].items()} == (
            beyond["methods"]
        )
        assert row["group"] < row["proved"]
        assert nearest["free centers"]["lowest"] >= assigned["mean centers"]["lowest"]
        for ends in (nearest, assigned):
            assert ends["rawls"]["lowest"] >= ends["R1"]["lowest"]
            for end in ends.values():
                assert end["lowest"] <= row["group"] + 1e-9
                gained = end["lowest"] - row["start_lowest"]
                possible = row["group"] - row["start_lowest"]
                assert end["gap_closed"] == gained / possible
                assert end["proved_gap"] == pytest.approx(
                    (8 - end["lowest"]) / (8 - row["proved"]) - 1
                )


def test_what_is_drawn_beyond_the_paper_ends_where_the_table_says(results):
    beyond, seed = results["beyond"], results["existence"]["sample_seed"]
    (row,) = (row for row in beyond["rows"] if row["seed"] == seed)

    for reading, paths in beyond["shown"]["paths"].items():
        assert list(paths) == ["R1", "R2", "batch", "rawls"]
        for name, path in paths.items():
            method = row["methods"][reading][name]
            assert min(path["Female"][-1], path["Male"][-1]) == method["lowest"]
            assert len(path["Male"]) == method["iterations"] + 1
    free = row["methods"]["nearest"]["free centers"]
    assert min(free["point"].values()) == free["lowest"]
    last = min(beyond["shown"]["frontier"][name][-1] for name in ("Female", "Male"))
    assert last == pytest.approx(free["lowest"], abs=1e-6)


def assert_the_sample_shown_is_nearest_to_the_paper(results):
    rows = {row["seed"]: row["filtered"] for row in results["samples"]["rows"]}
    distance = {
        seed: abs(row["readings"]["nearest"]["traversals"][0]["iterations"] - 261)
        for seed, row in rows.items()
        if row and _claims.is_better(row["existence"])
    }

    assert results["existence"]["sample_seed"] == min(distance, key=distance.get)
    reason = results["existence"]["sample_chosen_by"]
    assert "nearest to the paper's 261, with utility by the nearest mean" in reason


def test_the_sample_shown_is_the_one_nearest_to_the_papers_iterations(results):
    assert_the_sample_shown_is_nearest_to_the_paper(results)


@pytest.fixture(scope="module")
def page(quick):
    """Contents of the page, as its scripts read them."""
    text = (quick[0] / "page.html").read_text()
    start = text.index('<script type="application/json" id="data">')
    contents, _ = json.JSONDecoder().raw_decode(text[text.index("{", start) :])
    return contents


def test_the_page_of_the_study_has_every_walk_and_the_proved_bound(page, results):
    contents = page
    assert [way["title"].split(":")[0] for way in contents["ways"][:4]] == [
        "rawls", "R1", "R2", "batch",
    ]  # fmt: skip
    assert contents["ways"][4]["kind"] == "frontier"
    ends = results["beyond"]["shown"]["paths"]["nearest"]
    for way, name in zip(
        contents["ways"], ("rawls", "R1", "R2", "batch"), strict=False
    ):
        for g, group in enumerate(contents["groups"]):
            assert way["utilities"][-1][g] == pytest.approx(ends[name][group][-1])
    shown = results["existence"]["sample_seed"]
    row = next(r for r in results["beyond"]["rows"] if r["seed"] == shown)
    assert contents["bound"][1] == row["proved"]


def test_every_figure_is_there_as_png_and_svg(quick):
    folder = quick[0] / "figures"

    names = sorted(file.name for file in folder.iterdir())

    assert names == sorted(
        f"{name}.{ending}" for name in _figures.FIGURES for ending in ("png", "svg")
    )
    for name in _figures.FIGURES:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert ET.parse(folder / f"{name}.svg").getroot().tag.endswith("svg")


def test_the_report_has_every_claim_and_figure(quick, results):
    report = (quick[0] / "report.md").read_text()

    for claim in results["claims"]:
        for found in claim.get("readings", {"": claim}).values():
            assert found["ours"] in report
    for name in _figures.FIGURES:
        assert f"figures/{name}.png" in report
    assert "not finished" not in report


def test_the_command_shows_each_stage(quick):
    for said in ("30,718 people", "R2-exhaustive", "gap closed", "verdict", "Done in"):
        assert said in quick[1]


TWO_SAMPLES = replace(SMALLEST, samples=2)


@pytest.fixture(scope="module")
def unfiltered(tmp_path_factory, of_small_samples):
    """Run a study in one thread whose filter lets no run through."""
    folder = tmp_path_factory.mktemp("unfiltered")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_NUM_THREADS", "1")
        return folder, run_study(TWO_SAMPLES, folder)


@pytest.fixture(scope="module")
def of_one_thread(unfiltered):
    return without_seconds(unfiltered[1])


class SharedProcesses(Processes):
    """Processes that stay for the next study, unless a study is stopped.

    A process takes two seconds to import everything.
    """

    def __enter__(self):
        return self if self._processes else super().__enter__()

    def __exit__(self, kind, *error):
        if kind is not None:
            super().__exit__(kind, *error)


@pytest.fixture(scope="module")
def processes():
    shared = SharedProcesses(2)
    yield shared
    Processes.__exit__(shared, None, None, None)


@pytest.fixture
def two_processes(processes, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    monkeypatch.setattr("rawlsian._support.jobs.JOBS_A_PROCESS", 1)
    monkeypatch.setattr("rawlsian._support.jobs.Processes", lambda n: processes)
    return processes


def test_three_threads_give_the_same_results(of_one_thread, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    # For so few rows one thread would do.
    for module in ("_core.group_costs", "_search.restarts"):
        monkeypatch.setattr(f"rawlsian.{module}.ROWS_A_THREAD", 64)
    monkeypatch.setattr("rawlsian._core.nearest.NUMBERS_A_THREAD", 64)
    monkeypatch.setattr("rawlsian.operators.r1_r2.MOVES_A_THREAD", 64)

    again = without_seconds(run_study(SMALLEST))

    # The first sample of a larger study is that of a smaller one.
    for part in ("samples", "beyond"):
        assert again[part]["rows"] == of_one_thread[part]["rows"][:1]


def test_two_processes_give_the_same_results(of_one_thread, two_processes):
    assert without_seconds(run_study(TWO_SAMPLES)) == of_one_thread


def test_ctrl_c_ends_a_study_in_two_processes(two_processes):
    finished = []

    def stop(progress):
        finished[:] = progress.results["stages_finished"]
        if progress.stage == "samples":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(TWO_SAMPLES, callback=stop)

    assert finished == ["data", "existence", "traversals"]
    assert all(each._process.returncode for each in two_processes._processes)


def test_the_same_results_give_the_same_figures(quick, results):
    drawn = _figures.draw("figure3_r1_r2", results)

    for ending, content in drawn.items():
        assert (
            content == (quick[0] / "figures" / f"figure3_r1_r2.{ending}").read_bytes()
        )


def test_drawing_neither_heeds_nor_changes_settings_of_matplotlib(quick, results):
    figure = plt.figure()
    before = plt.get_backend(), dict(plt.rcParams)
    with plt.rc_context({"axes.facecolor": "black", "font.size": 30}):
        drawn = _figures.draw("figure3_r1_r2", results)

    content = (quick[0] / "figures" / "figure3_r1_r2.png").read_bytes()
    assert drawn["png"] == content
    assert (plt.get_backend(), dict(plt.rcParams)) == before
    assert plt.fignum_exists(figure.number)
    plt.close(figure)


def test_numbers_of_numpy_are_whole_numbers_and_booleans_are_not():
    assert StudyConfig(runs=np.int64(5)) == StudyConfig(runs=5)
    with pytest.raises(ValueError, match="runs must be a whole number"):
        StudyConfig(runs=True)


class StopAfter:
    def __init__(self, stage):
        self.stage = stage

    def __call__(self, progress):
        if progress.stage == self.stage and progress.done == progress.total:
            raise KeyboardInterrupt


def test_a_stopped_study_leaves_what_it_finished_readable(tmp_path):
    stale = tmp_path / "figures" / "figure4_iterations.png"
    stale.parent.mkdir()
    for file in (stale, tmp_path / "page.html"):
        file.write_text("of an earlier study")

    with pytest.raises(KeyboardInterrupt):
        run_study(SMALLEST, tmp_path, callback=StopAfter("existence"))

    results = json.loads((tmp_path / "results.json").read_text())
    assert results["stages_finished"] == ["data", "existence"]
    assert "2 of 6 stages are here" in (tmp_path / "report.md").read_text()
    figures = sorted(file.name for file in (tmp_path / "figures").iterdir())
    assert figures == ["figure1_existence.png", "figure1_existence.svg"]
    assert not (tmp_path / "page.html").exists()


def test_ctrl_c_is_told_in_one_line(tmp_path, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(_stages, "explore", stop)

    done = CliRunner().invoke(app, [*QUICK, "--out", str(tmp_path)])

    assert done.exit_code == 130
    assert done.stderr == f"stopped; 1 of 6 stages are in {tmp_path}\n"
    assert json.loads((tmp_path / "results.json").read_text())["dataset"]


def test_where_the_filter_lets_no_run_through_it_goes_on_without(unfiltered):
    folder, results = unfiltered

    assert results["existence"]["lag_runs"] == 0  # Male is the LAG
    assert results["existence"]["filter"] == "unfiltered"
    assert [row["filtered"] for row in results["samples"]["rows"]] == [None, None]
    assert [len(walks) for walks in results["traversals"].values()] == [4, 4]
    assert "filter lets nothing through" in (folder / "report.md").read_text()
    assert len(list((folder / "figures").iterdir())) == 12
    assert results["beyond"]["rows"][0]["start"] == "unfiltered"


# --- Wrong use ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dataset", "nothing"], "dataset must be one of 'adult', got 'nothing'"),
        (["--runs", "0"], "runs must be a whole number from 1 to 1,000,000, got 0"),
        (["--samples", "-1"], "samples must be a whole number from 1"),
        (["--clusters", "1"], "clusters must be a whole number from 2 to 20, got 1"),
        (["--out", ""], "--out is empty; name a folder"),
        (["--seed", "-1"], "seed must be a whole number from 0"),
    ],
)
def test_wrong_use_is_one_line_and_writes_nothing(tmp_path, arguments, message):
    out = tmp_path / "out"

    done = CliRunner().invoke(app, ["study", "--out", str(out), *arguments])

    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {message}")
    assert done.stderr.count("\n") == 1
    assert not out.exists()


def test_an_output_folder_that_is_a_file_is_wrong_use(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")

    for out, message in ((file, "is a file"), (file / "x", "cannot be written to")):
        done = CliRunner().invoke(app, [*QUICK, "--out", str(out)])
        assert done.exit_code == 2
        assert done.output.count("\n") == 1
        assert message in done.stderr
    assert file.read_text() == "mine"


def test_an_output_folder_that_may_not_be_written_to_is_wrong_use(
    tmp_path, monkeypatch
):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)  # as for root nothing is

    done = CliRunner().invoke(app, [*QUICK, "--out", str(tmp_path)])

    assert done.exit_code == 2
    assert "cannot be written to (Permission denied); name another" in done.stderr
    assert not (tmp_path / "results.json").exists()


def test_a_full_disk_is_one_line_and_leaves_what_there_was(tmp_path, monkeypatch):
    (tmp_path / "report.md").write_text("of an earlier study")

    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)

    done = CliRunner().invoke(app, [*QUICK, "--out", str(tmp_path)])

    assert done.exit_code == 1
    assert "No space left on device; nothing was finished" in done.stderr
    assert (tmp_path / "report.md").read_text() == "of an earlier study"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["figures", "report.md"]


def test_a_mistake_of_ours_is_not_called_wrong_use(tmp_path, monkeypatch):
    def fail(*args, **options):
        raise ValueError("a bug")

    monkeypatch.setattr(_stages, "explore", fail)

    done = CliRunner().invoke(app, [*QUICK, "--out", str(tmp_path)])

    assert isinstance(done.exception, ValueError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["study", "--runs", "abc"], "Invalid value for '--runs'"),
        (["study", "--nonsense"], "No such option"),
        (["study", "extra"], "unexpected extra argument"),
        (["nothing"], "No such command 'nothing'"),
    ],
)
def test_what_cannot_be_parsed_is_one_line(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["rawlsian", *arguments])

    with pytest.raises(SystemExit) as stopped:
        main()

    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_without_arguments_the_help_is_shown(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["rawlsian"])

    with pytest.raises(SystemExit) as stopped:
        main()

    assert not stopped.value.code
    assert "study" in capsys.readouterr().out


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_what_the_command_line_needs_its_extra_is_named(missing, tmp_path):
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "sys.argv = ['rawlsian', 'study', '--out', sys.argv[1]]\n"
        "from rawlsian.__main__ import main; main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert not (tmp_path / "out").exists()
    assert f"{missing}, which is not installed; pip install 'rawlsian[" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_matplotlib_its_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    done = CliRunner().invoke(app, ["study", "--out", str(tmp_path / "out")])

    assert done.exit_code == 2
    assert not (tmp_path / "out").exists()
    assert "matplotlib, which is not installed; pip install 'rawlsian[" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_version_can_be_asked_for():
    assert CliRunner().invoke(app, ["--version"]).output == f"rawlsian {__version__}\n"


# --- Computations ---


@settings(max_examples=40)
@given(case=cases(rows=NICE, n=(3, 8), k=(2, 3), weights=("ones",)))
def test_pairs_are_counted_as_the_reference_does(case):
    assignment, reference = case.assignment, case.reference

    singles = admitted_singles(assignment)
    n_pairs = sum(len(first) for first, _ in admitted_pairs(assignment))

    assert len(singles) == len(reference.operations("R1", case.labels))
    assert n_pairs == len(reference.operations("R2-exhaustive", case.labels))


@settings(max_examples=40)
@given(case=cases(rows=NICE, n=(3, 7), k=(2, 3), groups=(2, 3), weights=("ones",)))
def test_pairs_that_raise_the_group_that_is_lowest_now_are_counted(case):
    now = case.reference.utilities(case.labels)
    assume(np.diff(np.sort(now))[0] > 1e-9)  # rounding would decide who it is
    lag, k = int(np.argmin(now)), int(case.labels.max()) + 1
    tolerance = case.problem.tolerance
    expected = 0
    for x, y in itertools.combinations(range(len(case.labels)), 2):
        for c, d in itertools.product(range(k), repeat=2):
            if c != case.labels[x] and d != case.labels[y]:
                after = case.reference.after(case.labels, [(x, c), (y, d)])
                expected += after is not None and after[lag] > now[lag] + tolerance

    pairs = admitted_pairs(case.assignment, lag_only=True)

    assert sum(len(first) for first, _ in pairs) == expected


def test_an_example_that_returns_counts_as_a_move_taken_back():
    class Walk:
        operations = [  # noqa: RUF012
            Operation([0], [0], [1]),
            Operation([1, 0], [0, 1], [1, 2]),
            Operation([0], [2], [0]),  # back to where it began
        ]

    assert _stages._moves_taken_back(Walk()) == 1


class Operation:
    def __init__(self, examples, sources, targets):
        self.examples, self.sources, self.targets = examples, sources, targets


class Way:
    def __init__(self, *points):
        self.utilities = np.array(points, dtype=float)
        self.n_iter = len(points) - 1


def test_how_far_two_ways_lie_apart_is_measured_from_their_lines():
    straight = Way((0, 0), (4, 0), (10, 0))

    assert _stages.deviation(straight, Way((0, 0), (7, 0), (10, 0))) == 0
    assert _stages.deviation(straight, Way((0, 0), (5, 2), (10, 0))) == 0.2
    assert _stages.deviation(straight, Way((0, 0), (4, 0))) == 0.6  # stops early
    assert _stages.deviation(Way((0, 0)), straight) is None


@pytest.mark.parametrize("reading", ["nearest", "assigned"])
def test_pairs_of_one_move_that_is_useless_alone_are_told_apart(reading):
    case = make_case(3, 40, 3, 2)
    sample = _stages.Sample(0, case.X, case.groups, 10.0, np.arange(len(case.X)))
    problem = Problem.from_arrays(
        case.X, case.groups, max_distance=10.0, utility=reading
    )
    assignment = Assignment(problem, case.labels)

    counts = _stages.count_pairs(_stages.Origin(sample, case.labels), reading)

    assert counts["pairs"] == 40 * 39 // 2 * 4
    pairs = sum(len(first) for first, _ in admitted_pairs(assignment))
    assert counts["pairs_that_raise"] == pairs
    of_lag = sum(len(first) for first, _ in admitted_pairs(assignment, lag_only=True))
    assert counts["pairs_that_lower_the_lag"] == 3120 - of_lag
    # Some raise the group that is lowest now but push another below it.
    assert counts["pairs_that_lower_the_lag"] < 3120 - counts["pairs_that_raise"]
    assert 0 < counts["single_moves_that_raise"] < counts["single_moves"] == 80
    assert (
        0
        < counts["pairs_that_raise_of_useless_moves"]
        < counts["pairs_that_raise_with_a_useless_move"]
        < counts["pairs_that_raise"]
        < counts["pairs"]
    )


# --- Verdicts ---


@pytest.mark.parametrize(
    ("is_so", "verdict"),
    [([True] * 3, "holds"), ([True, False], "depends"), ([False], "differs"),
     ([], "depends")],
)  # fmt: skip
def test_a_claim_holds_if_it_is_so_in_every_sample(is_so, verdict):
    assert _claims._in_samples("it", "yes", is_so, "", "")["verdict"] == verdict


@pytest.mark.parametrize(
    ("paper", "verdict"),
    [(50, "holds"), (25, "holds"), (24, "depends"), (100, "depends"),
     (101, "differs"), (-1, "differs")],
)  # fmt: skip
def test_a_number_holds_between_the_quartiles(paper, verdict):
    claim = _claims._within("it", paper, range(101), "here", str)

    assert claim["verdict"] == verdict


def assert_claims_are_those_judged_again(results):
    found = {}
    for claim in results["claims"]:
        for reading, one in claim.get("readings", {None: claim}).items():
            found[claim["claim"], reading] = one["ours"], one["verdict"]

    for (words, reading), (ours, verdict) in judged_again(results).items():
        # "R2 iterations" begins another claim, too: take the shortest.
        claim = min(
            (c for c, r in found if c.startswith(words) and r == reading), key=len
        )
        said, judged = found.pop((claim, reading))
        assert said.startswith(ours), claim
        assert judged == verdict, claim
    assert not found


def test_claims_are_judged_the_same_in_plain_python(results):
    assert_claims_are_those_judged_again(results)


def test_a_claim_that_depends_on_the_reading_has_a_verdict_for_each(results):
    by_reading = [claim for claim in results["claims"] if "readings" in claim]

    assert len(by_reading) == 14
    for claim in by_reading:
        assert list(claim["readings"]) == ["nearest", "assigned"]
        assert "ours" not in claim
        assert "verdict" not in claim


def test_which_reading_fits_which_number_of_the_paper_is_said_by_quartiles():
    def number(first, third, verdict):
        values = {"quartile_1": first, "quartile_3": third}
        return {"ours": "", "verdict": verdict, "values": values}

    readings = {"nearest": number(51, 320, "holds"), "assigned": number(24, 89, "no")}
    claims = [
        {"claim": "R1 iterations", "paper": "261", "readings": readings},
        {"claim": "something else", "paper": "1", "ours": "2", "verdict": "differs"},
    ]

    assert _verdicts.fits(claims) == [
        "R1 iterations: 261 in the paper; nearest fits (51 to 320); assigned does not "
        "fit (24 to 89)."
    ]


# --- The page in the docs ---


@pytest.fixture(scope="module")
def published():
    return json.loads((ROOT / "docs/study/results.json").read_text())


def test_the_docs_have_the_claims_as_generated(published):
    page, beyond = (
        (ROOT / "docs" / name).read_text() for name in ("reproducing.md", "beyond.md")
    )

    assert _tables.claims_table(published["claims"]) in page
    assert _tables.beyond_table(published) in beyond
    for name in _figures.FIGURES:
        assert f"study/figures/{name}.png" in page + beyond
        assert (ROOT / f"docs/study/figures/{name}.png").exists()


def test_the_published_claims_follow_from_the_published_results(published):
    assert _claims.check_claims(published) == published["claims"]
    assert_claims_are_those_judged_again(published)
    assert_the_sample_shown_is_nearest_to_the_paper(published)
    assert published["config"] == {
        "dataset": "adult", "runs": 5000, "samples": 30, "seed": 0, "clusters": 5
    }  # fmt: skip


def test_the_published_report_is_written_from_the_published_results(published):
    report = (ROOT / "docs/study/report.md").read_text()

    assert _report.write_report(published) == report


def test_every_table_of_the_page_beyond_is_filled_in():
    page = (ROOT / "docs/beyond.md").read_text()

    for name in ("study", "samples", "groups", "small", "proved", "whole"):
        inside = page.split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0]
        assert inside.strip().startswith("| ")


def test_what_the_page_beyond_says_in_words_is_so(published):
    ends = [row["methods"] for row in published["beyond"]["rows"]]
    shown = published["beyond"]["shown"]

    for paths in shown["paths"].values():
        # "R1, R2 and batch go to the line of equal utility and are stuck there. rawls
        # goes on: it relocates a cluster, walks to the line, relocates again."
        for name in ("R1", "R2", "batch"):
            gap = abs(paths[name]["Female"][-1] - paths[name]["Male"][-1])
            assert gap < _claims.ON_THE_LINE
        lowest = np.minimum(paths["rawls"]["Female"], paths["rawls"]["Male"])
        assert lowest[-1] > paths["batch"]["Female"][-1] + 0.01
        assert (np.diff(lowest) > 0.001).sum() >= 2
    for row in ends:
        # "Mean centers close less of the gap than free ones"
        free, mean = row["nearest"]["free centers"], row["assigned"]["mean centers"]
        assert mean["gap_closed"] <= free["gap_closed"]
        for methods in row.values():
            assert methods["rawls"]["gap_closed"] >= methods["R1"]["gap_closed"]


def test_what_the_pages_say_in_words_is_so(published):
    samples = published["samples"]["rows"]
    rows = _claims.started(published, "nearest")
    n = len(samples)

    # "Runs in which women are the LAG are few in most samples."
    assert sum(row["lag_runs"] < 0.1 * row["runs"] for row in samples) > n / 2
    # "In nearly all samples the best run of all has men as the LAG,
    best = [row["unfiltered"]["existence"]["utilitarian"] for row in samples]
    assert sum(point["Male"] < point["Female"] for point in best) > 0.9 * n
    # and in most it serves both groups better than the approximate Rawlsian point."
    fairest = [row["existence"]["rawlsian"] for row in rows]
    n_both = sum(
        b["Male"] > f["Male"] and b["Female"] > f["Female"]
        for b, f in zip(best, fairest, strict=True)
    )
    assert n_both > n / 2


def test_what_the_page_says_of_the_readings_is_so(published):
    readings = ("nearest", "assigned")
    rows = {name: _claims.started(published, name) for name in readings}
    found = {
        (claim["claim"], reading): one
        for claim in published["claims"]
        for reading, one in claim.get("readings", {}).items()
    }

    # "the paper's 261 iterations of R1 lie between our quartiles, and its 152 of R2 are
    # about our upper quartile. By the assigned mean, both are above everything"
    assert found["R1 iterations", "nearest"]["verdict"] == "holds"
    assert abs(found["R2 iterations", "nearest"]["values"]["quartile_3"] - 152) < 10
    for operator, reported in _claims.PAPER_ITERATIONS.items():
        assert (
            found[f"{operator} iterations", "assigned"]["values"]["highest"] < reported
        )
    # "0.58 lies between our quartiles by the assigned mean. By the nearest mean, it is
    # above our upper quartile, within our range."
    ratio, share = "R2 iterations / R1 iterations", _verdicts_on_share(found)
    assert found[ratio, "assigned"]["verdict"] == "holds"
    assert found[ratio, "nearest"]["verdict"] == "depends"
    assert found[ratio, "nearest"]["values"]["quartile_3"] < 152 / 261
    # "62 % ... is above our quartiles by the nearest mean and below them by the
    # assigned mean, within the range of both"
    assert [one["verdict"] for one in share] == ["depends", "depends"]
    assert share[0]["values"]["quartile_3"] < 0.62 < share[1]["values"]["quartile_1"]
    # "R1 gains about twice as much ..., in about three times as many steps"
    walks = {
        name: [_claims.traversal(row, "R1") for row in _claims.apart(rows[name])]
        for name in readings
    }
    gains = [np.median([*map(_claims.gain, walks[name])]) for name in readings]
    steps = [np.median([w["iterations"] for w in walks[name]]) for name in readings]
    assert round(gains[0] / gains[1]) == 2
    assert round(steps[0] / steps[1]) == 3


def _verdicts_on_share(found):
    claim = "R2 operations that lower the LAG utility"
    return [found[claim, reading] for reading in ("nearest", "assigned")]


def test_what_the_page_says_of_figure_2_is_so(published):
    def share_below(reading):
        rows = _claims.apart(_claims.started(published, reading))
        is_below = [
            _claims.gain(_claims.traversal(row, "R1"))
            < _claims.best_gain(row["existence"])
            for row in rows
            if _claims.is_better(row["existence"])
        ]
        return np.mean(is_below)

    # "By the nearest mean it takes more and smaller steps. By the assigned mean, it
    # ends below the approximate Rawlsian point in most samples ... (not in this one);
    # by the nearest mean, in fewer than half of them."
    nearest, assigned = (
        published["traversals"][name][0] for name in ("nearest", "assigned")
    )
    assert nearest["iterations"] > assigned["iterations"]
    assert _claims.gain(assigned) > _claims.best_gain(published["existence"])
    assert share_below("assigned") > 0.5
    assert share_below("nearest") < 0.5


def test_the_published_readings_are_those_of_an_independent_program(published):
    rows = {
        name: _claims.apart(_claims.started(published, name))
        for name in ("nearest", "assigned")
    }

    def quartiles(reading, operator):
        found = [_claims.traversal(row, operator) for row in rows[reading]]
        return np.quantile([walk["iterations"] for walk in found], [0.5, 0, 1])

    assert len(rows["nearest"]) == 23
    assert quartiles("nearest", "R1").tolist() == [127, 23, 534]
    assert quartiles("assigned", "R1").tolist() == [44, 6, 142]
    assert quartiles("assigned", "R2").tolist() == [25, 3, 85]
