"""Engines: input is checked once, and one module decides where rows are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from rawlsian import (
    Batch,
    FairLloyd,
    RawlsianKMeans,
    RawlsianPostprocessor,
    audit,
    frontier,
    kmeans_restarts,
    open_blocks,
    traverse,
)
from rawlsian._core.problem import Problem
from rawlsian._engines.memory import ArrayRows, InMemoryEngine
from rawlsian._engines.opening import open_rows
from rawlsian._engines.outofcore import BlockRows
from rawlsian._rows.executors import ThreadExecutor
from rawlsian._search.frontier import frontier_of
from rawlsian._search.restarts import restarts_of
from rawlsian.metrics.audit import audit_of
from rawlsian.operators.traversal import traverse_of
from support.people import FEW, people

pytestmark = pytest.mark.usefixtures("short_search")

KINDS = [np.asarray, open_blocks]


@pytest.fixture(scope="module")
def few():
    X, groups = people(300)
    return X, groups, KMeans(3, n_init=1, random_state=0).fit_predict(X)


def interrupt(step):
    raise KeyboardInterrupt


# --- Executors ---


def test_threads_give_results_in_order_and_read_columns_that_are_functions():
    columns = [list(range(50)), [lambda b=b: 10 * b for b in range(50)]]

    found = ThreadExecutor().run(lambda a, b, c: a + b + c, columns, 1)

    assert list(found) == [11 * b + 1 for b in range(50)]


def test_an_error_in_one_block_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(ThreadExecutor().run(lambda b: 1 // b, [[1, 0, 1]]))


# --- One decision ---


def test_arrays_are_in_memory_and_blocks_are_out_of_core(few, tmp_path):
    X = np.zeros((40_000, 1))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")

    assert isinstance(open_rows(few[0]), ArrayRows)
    assert isinstance(open_rows(open_blocks(few[0])), BlockRows)
    assert isinstance(open_rows(mapped), ArrayRows)
    assert isinstance(open_rows(mapped, takes_mapped=True), BlockRows)


def test_both_engines_audit_the_same_labels_alike(few):
    X, groups, labels = few

    ours, theirs = (
        audit_of(open_rows(kind(X)).with_groups(groups), labels, n_bootstrap=0)
        for kind in KINDS
    )

    assert ours.groups.tolist() == theirs.groups.tolist()
    np.testing.assert_allclose(ours.utilities, theirs.utilities, rtol=1e-12)
    np.testing.assert_allclose(ours.cluster_sizes, theirs.cluster_sizes)


def test_both_engines_give_the_same_costs_with_nearest_centers(few):
    X, groups, _ = few
    centers = X[:4].copy()

    ours, theirs = (
        open_rows(kind(X)).with_groups(groups).nearest_costs(centers) for kind in KINDS
    )

    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_all_rows_as_one_problem_are_refused_out_of_core(few):
    engine = open_rows(open_blocks(few[0])).with_groups(few[1])

    with pytest.raises(ValueError, match="a bound takes rows in memory"):
        _ = engine.problem


def test_a_walk_by_the_nearest_mean_is_refused_out_of_core_before_any_pass(few):
    X, groups, labels = few
    blocks = open_blocks(X)
    blocks.run = None  # a pass would call it

    for walk in (
        partial(traverse, operator="rawls", utility="nearest", labels=labels),
        RawlsianPostprocessor(KMeans(3)).fit,
    ):
        with pytest.raises(ValueError, match="use utility='assigned', or RawlsianKM"):
            walk(blocks, sensitive_features=groups)


# --- Checked once ---


def test_what_takes_a_problem_gives_what_takes_arrays(few):
    X, groups, labels = few
    problem = Problem.from_arrays(X, groups)

    ways = (
        traverse_of(problem, labels, operator=Batch()),
        traverse(X, labels, groups, operator="batch"),
    )
    assert np.array_equal(ways[0].labels, ways[1].labels)
    points = (
        frontier_of(problem, n_clusters=2, n_points=3, random_state=0),
        frontier(X, groups, n_clusters=2, n_points=3, random_state=0),
    )
    assert np.array_equal(points[0].utilities, points[1].utilities)
    runs = (
        restarts_of(problem, 2, n_runs=5, random_state=0),
        kmeans_restarts(X, 2, n_runs=5, sensitive_features=groups, random_state=0),
    )
    assert np.array_equal(runs[0].utilities, runs[1].utilities)
    audits = (
        audit_of(InMemoryEngine(problem), labels, random_state=0),
        audit(X, labels, groups, random_state=0),
    )
    assert np.array_equal(audits[0].intervals, audits[1].intervals)


@pytest.mark.parametrize("estimator", [FairLloyd(3), RawlsianKMeans(3, **FEW)])
def test_an_estimator_is_fitted_on_a_problem_as_on_arrays(few, estimator):
    X, groups, _ = few
    estimator.set_params(random_state=0, n_init=3)

    fitted = estimator.fit(X, sensitive_features=groups).labels_
    estimator._fit_engine(InMemoryEngine(Problem.from_arrays(X, groups)))

    assert np.array_equal(estimator.labels_, fitted)


# --- Operators out of core ---


def test_an_operator_derived_from_batch_walks_out_of_core(few):
    @dataclass(frozen=True)
    class Own(Batch):
        pass

    X, groups, labels = few

    own = traverse(open_blocks(X), labels, groups, operator=Own())
    batch = traverse(open_blocks(X), labels, groups, operator="batch")

    assert np.array_equal(own.labels, batch.labels)


# --- Signals ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("centers", ["free", "mean"])
def test_a_search_says_why_it_ended(few, kind, centers):
    X, groups, _ = few
    fair = RawlsianKMeans(3, centers=centers, **FEW)

    fair.fit(kind(X), sensitive_features=groups)
    assert fair.stop_reason_ == "completed"
    fair.set_params(callback=lambda s: interrupt(s) if hasattr(s, "n_done") else None)
    with pytest.warns(ConvergenceWarning, match="the best found so far"):
        fair.fit(kind(X), sensitive_features=groups)

    assert fair.stop_reason_ == "interrupted"


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_a_search_that_runs_out_of_passes_says_so(centers):
    X, groups = people(3000)
    fair = RawlsianKMeans(4, centers=centers, max_passes=4, **FEW)

    fair.fit(open_blocks(X), sensitive_features=groups)

    assert fair.stop_reason_ == "max_passes"


def test_fair_lloyd_says_why_it_ended(few):
    X, groups, _ = few

    assert FairLloyd(2).fit(X, sensitive_features=groups).stop_reason_ == "completed"
    with pytest.warns(ConvergenceWarning):
        fair = FairLloyd(2, callback=interrupt).fit(X, sensitive_features=groups)
    assert fair.stop_reason_ == "interrupted"


@pytest.mark.parametrize("kind", KINDS)
def test_the_postprocessor_has_the_stop_reason_of_its_trajectory(few, kind):
    X, groups, _ = few
    kmeans = KMeans(3, n_init=1, random_state=0)
    fair = RawlsianPostprocessor(kmeans, utility="assigned")

    fair.fit(kind(X), sensitive_features=groups)
    assert fair.stop_reason_ == fair.trajectory_.stop_reason != "max_iter"
    fair.set_params(max_iter=0).fit(kind(X), sensitive_features=groups)

    assert fair.stop_reason_ == "max_iter"


ESTIMATORS = [
    FairLloyd(2, n_init=1), RawlsianKMeans(2, **FEW),
    RawlsianPostprocessor(KMeans(2, n_init=1), operator="batch", utility="assigned"),
]  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_a_warning_of_y_names_the_line_of_the_caller(few, estimator):
    with pytest.warns(UserWarning, match="y is ignored") as caught:
        estimator.fit(few[0], few[1])

    assert [each.filename for each in caught] == [__file__]


@pytest.mark.parametrize("method", ["fit", "fit_predict"])
@pytest.mark.parametrize(
    ("estimator", "kind"),
    [*((each, np.asarray) for each in ESTIMATORS), (ESTIMATORS[1], open_blocks),
     (ESTIMATORS[2], open_blocks)],
)  # fmt: skip
def test_a_warning_of_ctrl_c_names_the_line_of_the_caller(few, estimator, kind, method):
    X, groups, _ = few

    def late(step):
        if not hasattr(step, "n_passes") or step.n_passes > 4:
            raise KeyboardInterrupt

    estimator.set_params(callback=late)
    with pytest.warns(ConvergenceWarning, match="Interrupted") as caught:
        getattr(estimator, method)(kind(X), sensitive_features=groups)
    estimator.set_params(callback=None)

    assert [each.filename for each in caught] == [__file__]


def test_a_warning_of_a_bound_that_was_stopped_names_the_line(few, monkeypatch):
    monkeypatch.setattr(
        "rawlsian._estimators.postprocessor.set_gap", lambda *a, **k: interrupt(None)
    )
    fair = RawlsianPostprocessor(KMeans(3, n_init=1), bound="group")

    with pytest.warns(ConvergenceWarning, match="labels_ are final") as caught:
        fair.fit(few[0], sensitive_features=few[1])

    assert [each.filename for each in caught] == [__file__]


def test_a_warning_by_way_of_a_grid_search_names_the_line_that_called_it():
    X = np.random.default_rng(0).normal(size=(12, 2))
    fair = RawlsianKMeans(2, n_init=1, n_crossings=0, pooling=0)
    search = GridSearchCV(fair, {"max_iter": [3]}, cv=2)

    with pytest.warns(UserWarning, match="y is ignored") as caught:
        search.fit(X, np.arange(12) % 2)

    assert {each.filename for each in caught} == {__file__}


def test_stopping_the_bound_leaves_the_search_completed(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("rawlsian._estimators.kmeans.set_gap", stop)
    fair = RawlsianKMeans(
        2, n_init=1, n_crossings=0, bound="group", random_state=0, pooling=0
    )

    with pytest.warns(ConvergenceWarning, match="there is no bound_"):
        fair.fit([[0.0], [1.0], [5.0], [6.0]], sensitive_features=list("abab"))

    assert fair.stop_reason_ == "completed"
    assert not hasattr(fair, "bound_")


def test_a_fit_out_of_core_that_fails_leaves_a_fitted_estimator_as_it_was():
    X = np.random.default_rng(0).normal(size=(12, 3))
    groups = list("ab") * 6
    fair = RawlsianKMeans(
        2, n_init=2, n_crossings=0, bound="group", random_state=0, pooling=0
    )
    labels = fair.fit(X, sensitive_features=groups).predict(X)

    with pytest.raises(ValueError, match="takes rows in memory"):
        fair.fit(open_blocks(X[:, :2]), sensitive_features=groups)

    np.testing.assert_array_equal(fair.predict(X), labels)


def test_a_fit_that_fails_keeps_all_results_of_the_one_before():
    X = np.random.default_rng(0).normal(size=(12, 3))
    fair = RawlsianKMeans(
        3, n_init=2, n_crossings=0, bound="group", random_state=0, pooling=0
    )
    fair.fit(X, sensitive_features=list("ab") * 6)

    with pytest.raises(ValueError, match="n_clusters=3 is more than"):
        fair.fit(X[:2], sensitive_features=["a", "b"])

    assert hasattr(fair, "bound_")
    assert hasattr(fair, "group_weights_")
