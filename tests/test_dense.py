"""Fair-Lloyd by matrix products against the same by entries; samples; effort."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from threadpoolctl import threadpool_info

from rawlsian import RawlsianKMeans
from rawlsian._core.problem import Problem
from rawlsian._engines import memory
from rawlsian._estimators.pooling_cv import search_ends
from rawlsian._search import crossing
from rawlsian._search.crossing import random_centers, search
from rawlsian._search.fair_lloyd import FairRuns
from support.cases import NICE, cases


def people(n, n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n)
    means = rng.normal(size=(12, 5)) * 3
    return rng.normal(size=(n, 5)) + means[(groups + rng.integers(0, 9, n))], groups


def runs_of(problem, is_dense, max_iter=300):
    runs = FairRuns(problem, max_iter)
    runs.is_dense = is_dense
    return runs


@settings(max_examples=30)
@given(
    cases(rows=NICE, n=(4, 30), k=(1, 4), groups=(1, 4)),
    st.integers(0, 99),
    st.sampled_from([0.0, 7.0]),
)
def test_dense_runs_are_those_by_entries(case, seed, strength):
    k = int(case.labels.max()) + 1
    assume((case.weights > 0).sum() > k)
    problem = case.problem.pooled(strength)
    init = random_centers(problem, 5, k, np.random.RandomState(seed))
    # One iteration: after it rounding may decide between equally near centers.
    dense, entries = (
        runs_of(problem, which, max_iter=1).run(init) for which in (True, False)
    )

    np.testing.assert_allclose(
        dense.objectives, entries.objectives, rtol=1e-8, atol=1e-9
    )
    assert (dense.n_iter == entries.n_iter).all()


def test_long_dense_runs_end_where_those_by_entries_end():
    problem = Problem.from_arrays(*people(900, 3), max_distance=0.0)
    init = random_centers(problem, 9, 6, np.random.RandomState(0))

    dense, entries = (runs_of(problem, which).run(init) for which in (True, False))

    np.testing.assert_allclose(dense.costs, entries.costs, rtol=1e-9)
    np.testing.assert_allclose(dense.centers, entries.centers, atol=1e-7)
    assert (dense.n_iter == entries.n_iter).all()


def test_a_run_that_gains_little_ends():
    problem = Problem.from_arrays(*people(900), max_distance=0.0)
    init = random_centers(problem, 4, 6, np.random.RandomState(0))
    for is_dense in (True, False):
        runs = runs_of(problem, is_dense)
        short, long = runs.run(init, least_gain=1e-2), runs.run(init)

        assert (short.n_iter <= long.n_iter).all()
        assert short.n_iter.sum() < long.n_iter.sum()
        assert (short.objectives >= long.objectives * (1 - 1e-12)).all()


@pytest.fixture
def few_searched(monkeypatch):
    """Search 200 rows of more."""
    monkeypatch.setattr(memory, "LEAST_SEARCHED", 200)
    monkeypatch.setattr(memory, "SEARCHED_A_CLUSTER", 1)


@pytest.mark.parametrize("threads", ["2", "4"])
def test_a_sampled_fit_is_the_same_on_any_number_of_threads(
    few_searched, monkeypatch, threads
):
    from rawlsian._search import dense_runs

    monkeypatch.setattr(dense_runs, "PRODUCTS_A_THREAD", 1)  # use them
    monkeypatch.setattr(dense_runs, "COLUMNS_A_THREAD", 1)
    X, groups = people(2000, 3)
    fits = []
    for n in ("1", threads):
        monkeypatch.setenv("NUMBA_NUM_THREADS", n)
        fit = RawlsianKMeans(5, effort=0.2, random_state=0)
        fits.append(fit.fit(X, sensitive_features=groups))

    assert (fits[0].cluster_centers_ == fits[1].cluster_centers_).all()
    assert (fits[0].labels_ == fits[1].labels_).all()


@pytest.mark.parametrize(
    ("n_columns", "n_searched"), [(200, 200), (450, 133), (800, 100), (1600, 100)]
)
def test_fewer_wide_rows_are_searched_if_they_are_dense(
    few_searched, n_columns, n_searched
):
    rng, drawn = np.random.RandomState(0), np.random.RandomState(1)
    dense = rng.normal(size=(300, n_columns))
    one_hot = np.eye(n_columns)[rng.randint(n_columns, size=300)]
    groups = np.arange(300) % 2

    found = [
        memory.InMemoryEngine(Problem.from_arrays(X, groups)).to_search(2, drawn, 1.0)
        for X in (dense, one_hot)
    ]

    assert [each.n_samples for each in found] == [n_searched, 200]


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_what_a_sample_finds_is_finished_on_all_rows(few_searched, centers):
    X, groups = people(400, 3)
    options = {"centers": centers, "pooling": 0, "random_state": 0, "n_init": 8,
               "n_crossings": 16}  # fmt: skip

    sampled, whole = (
        RawlsianKMeans(2, effort=effort, **options).fit(X, sensitive_features=groups)
        for effort in (1, 9)
    )

    assert sampled.labels_.shape == (400,)
    ours, theirs = sampled.group_costs_.max(), whole.group_costs_.max()
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_a_search_ends_when_crossings_stop_to_help():
    problem = Problem.from_arrays(*people(200), max_distance=0.0)
    steps = []

    search(FairRuns(problem, 300), 3, rng=np.random.RandomState(0), effort=0.5,
           callback=steps.append)  # fmt: skip

    assert steps[0].n_runs > steps[-1].n_runs == steps[-1].n_done


@pytest.mark.parametrize("effort", [0, -1, "much", np.inf, None])
def test_a_wrong_effort_gets_one_sentence(effort):
    X, groups = people(20)
    with pytest.raises(ValueError, match="effort must be a number above 0, got"):
        RawlsianKMeans(2, effort=effort).fit(X, sensitive_features=groups)


@pytest.mark.parametrize("pooling", [0, "cv"])
def test_a_search_ends_when_its_time_is_up(monkeypatch, pooling):
    X, groups = people(200)
    clock = count()
    monkeypatch.setattr(crossing, "monotonic", lambda: next(clock))
    fits, steps = [], ([], [])
    for seconds, seen in zip((None, 1), steps, strict=True):
        fair = RawlsianKMeans(3, pooling=pooling, max_time=seconds, random_state=0,
                              callback=seen.append)  # fmt: skip
        fits.append(fair.fit(X, sensitive_features=groups))

    assert [fit.stop_reason_ for fit in fits] == ["completed", "max_time"]
    assert len(steps[1]) < len(steps[0])
    assert len(fits[1].labels_) == 200


def test_no_search_of_the_ends_of_pooling_goes_on_when_the_time_is_up():
    runs = FairRuns(Problem.from_arrays(*people(200), max_distance=0.0), 300)
    steps = []

    search_ends(
        runs, 3, np.random.RandomState(0), time_limit=crossing.TimeLimit(-np.inf),
        callback=steps.append,
    )  # fmt: skip

    assert len(steps) == 1


def test_time_that_is_enough_changes_nothing():
    X, groups = people(200)

    whole, timed = (
        RawlsianKMeans(3, max_time=seconds, random_state=0).fit(
            X, sensitive_features=groups
        )
        for seconds in (None, 1e6)
    )

    assert timed.stop_reason_ == "completed"
    assert (timed.cluster_centers_ == whole.cluster_centers_).all()


@pytest.mark.parametrize("max_time", [0, -1, "long", np.nan, True])
def test_a_wrong_time_gets_one_sentence(max_time):
    X, groups = people(20)
    with pytest.raises(ValueError, match="max_time must be a number of seconds above"):
        RawlsianKMeans(2, max_time=max_time).fit(X, sensitive_features=groups)


def test_fits_on_many_python_threads_leave_the_threads_of_blas_as_they_were():
    X, groups = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    before = threadpool_info()

    def fit(seed):
        fair = RawlsianKMeans(2, effort=0.05, pooling=0, random_state=seed)
        return fair.fit(X, sensitive_features=groups).labels_

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fit, range(24)))

    assert threadpool_info() == before


def test_a_tiny_effort_still_searches_rows_of_every_group_and_cluster():
    X = np.random.default_rng(0).normal(size=(900, 2))
    groups = np.arange(900) % 30

    fair = RawlsianKMeans(3, effort=1e-4, pooling=0, random_state=0)

    assert len(fair.fit(X, sensitive_features=groups).group_costs_) == 30
