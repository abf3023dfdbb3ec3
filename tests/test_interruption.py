"""Ctrl-C and SIGTERM: a result is complete, or it says that it is not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rawlsian import (
    FairLloyd,
    RawlsianKMeans,
    RawlsianPostprocessor,
    held_out,
    open_blocks,
    proved_bound,
    run_study,
    traverse,
)
from rawlsian.__main__ import _as_ctrl_c
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._support.interruption import (
    call_partial,
    call_whole,
    finished,
    keeps_partial,
)
from support.interruptions import (
    estimators,
    functions,
    is_same,
    n_moments,
    outcome,
    tables,
)
from support.people import FEW, people
from support.study import SMALLEST, small_samples

pytestmark = pytest.mark.usefixtures("short_search")

# scripts/interruptions tries 400 moments of each call, and the study's.
N_MOMENTS = 2


def ctrl_c(*arguments, **options):
    raise KeyboardInterrupt


# --- The rule -----------------------------------------------------------------------


def test_only_the_outermost_call_keeps_a_partial_result():
    assert not keeps_partial()
    assert call_partial(keeps_partial)
    assert not call_partial(call_partial, keeps_partial)
    assert not call_whole(call_partial, keeps_partial)
    assert not call_partial(call_whole, keeps_partial)


def test_an_interrupted_call_leaves_nothing_behind():
    with pytest.raises(KeyboardInterrupt):
        call_partial(ctrl_c)

    assert not keeps_partial()


def test_the_last_part_begins_again_after_ctrl_c_if_the_call_keeps_results():
    outcomes = [KeyboardInterrupt, "labels"] * 2

    def last():
        found = outcomes.pop(0)
        if found is KeyboardInterrupt:
            raise KeyboardInterrupt
        return found

    assert call_partial(finished, last) == ("labels", True)
    with pytest.raises(KeyboardInterrupt):
        finished(last)


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
@pytest.mark.parametrize("make", [functions, estimators, tables])
def test_ctrl_c_at_any_moment_is_raised_or_marked_or_changes_nothing(make):
    for name, call in make().items():
        undisturbed = call()
        last = n_moments(call)
        for moment in np.linspace(1, last, N_MOMENTS + 2).astype(int)[1:-1].tolist():
            way, found = outcome(call, moment)

            said = f"{name}, moment {moment} of {last}"
            assert way != "returned" or is_same(found, undisturbed), said


# --- Calls within calls -------------------------------------------------------------


def interrupting(step):
    if hasattr(step, "n_done"):
        raise KeyboardInterrupt


def test_ctrl_c_in_the_estimator_of_a_postprocessor_stops_the_fit():
    X, groups = people(60, 3)
    inner = RawlsianKMeans(3, callback=interrupting, **FEW)

    with pytest.raises(KeyboardInterrupt):
        RawlsianPostprocessor(inner).fit(X, sensitive_features=groups)


def test_ctrl_c_in_a_refit_stops_held_out():
    X, groups = people(60, 3)

    with pytest.raises(KeyboardInterrupt):
        held_out(FairLloyd(2, callback=interrupting), X, groups, cv=2, n_repeats=1)


def test_ctrl_c_in_a_call_of_a_callback_ends_the_outer_call():
    X, groups = people(60, 3)
    labels = np.arange(60) % 3

    def walk_on(step):
        if step.n_iter == 2:
            traverse(X, labels, groups, callback=ctrl_c)

    trajectory = traverse(X, labels, groups, callback=walk_on)

    assert (trajectory.stop_reason, trajectory.n_iter) == ("interrupted", 2)


def test_a_bound_that_was_stopped_says_so():
    X, groups = people(30, 3)

    bound = proved_bound(X, groups, n_clusters=2, callback=ctrl_c, random_state=0)

    assert (bound.is_proved, bound.stop_reason) == (True, "interrupted")


def test_ctrl_c_in_a_traversal_ends_the_study(monkeypatch):
    monkeypatch.setattr("rawlsian.operators.traversal.select", ctrl_c)

    with small_samples(), pytest.raises(KeyboardInterrupt):
        run_study(SMALLEST)


# --- Out of core: the last passes ---------------------------------------------------


@pytest.mark.parametrize("method", ["assign", "labels"])
def test_ctrl_c_in_the_passes_after_a_search_loses_nothing(monkeypatch, method):
    X, groups = people(60, 3)
    plain, moments = getattr(OutOfCoreProblem, method), [ctrl_c]

    def pass_over(*arguments):
        return (moments.pop() if moments else plain)(*arguments)

    monkeypatch.setattr(OutOfCoreProblem, method, pass_over)
    fair = RawlsianKMeans(3, **FEW)
    with pytest.warns(ConvergenceWarning, match="the best found so far"):
        fair.fit(open_blocks(X), sensitive_features=groups)

    assert fair.stop_reason_ == "interrupted"
    assert np.array_equal(fair.predict(X), fair.labels_)


# --- Signals ------------------------------------------------------------------------


def test_sigterm_is_ctrl_c_to_the_command_line():
    X, groups = people(60, 3)
    before = [
        signal.signal(signal.SIGTERM, _as_ctrl_c),
        signal.signal(signal.SIGINT, signal.default_int_handler),
    ]
    try:
        trajectory = traverse(
            X, np.arange(60) % 3, groups,
            callback=lambda step: signal.raise_signal(signal.SIGTERM),
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])

    assert (trajectory.stop_reason, trajectory.n_iter) == ("interrupted", 1)


def test_sigterm_ends_a_study_in_the_background_and_keeps_what_it_finished(tmp_path):
    command = [sys.executable, "-m", "rawlsian", "study", "--out", tmp_path]
    with subprocess.Popen(
        command,
        # As shells start what is to run in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            while "people, 42 columns" not in process.stdout.readline():
                assert process.poll() is None
            process.send_signal(signal.SIGINT)  # is not meant for it
            assert process.stdout.readline()
            process.terminate()
            # A kernel that is being compiled lets signals wait.
            _, errors = process.communicate(timeout=250)
        finally:
            process.kill()

    assert process.returncode == 130
    assert errors == f"stopped; 1 of 6 stages are in {tmp_path}\n"
    finished = json.loads((tmp_path / "results.json").read_text())["stages_finished"]
    assert finished == ["data"]
