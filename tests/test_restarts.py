"""Many k-means runs at once compared with single runs of scikit-learn."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.cluster import KMeans

from rawlsian import group_utilities, kmeans_restarts
from rawlsian._search import restarts as _restarts
from support.cases import NICE, UGLY, cases, is_same_partition, make_case, spread
from support.reference import lloyd

SEEDS = st.integers(0, 2**32 - 1)


def restarts_of(case, n_runs, seed=0, **options):
    return kmeans_restarts(
        case.X,
        int(case.labels.max()) + 1,
        n_runs=n_runs,
        sensitive_features=case.groups,
        max_distance=10.0,
        random_state=seed,
        **options,
    )


def start(X, restarts, run):
    """Return initial centroids of a run."""
    return X[restarts._init[run]]


def sklearn_labels(X, centroids, **options):
    fitted = KMeans(len(centroids), init=centroids, n_init=1, tol=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about clusters that stay empty
        return fitted.fit(X).labels_


@given(cases(rows=NICE, n=(2, 40), k=(1, 9)), SEEDS)
def test_each_run_is_lloyds_algorithm_from_its_start(case, seed):
    restarts = restarts_of(case, 11, seed)

    for run in range(11):
        labels, n_iter = lloyd(case.X, start(case.X, restarts, run))
        assert restarts.labels(run).tolist() == labels.tolist()
        assert restarts.n_iter[run] == n_iter


@settings(max_examples=30)
@given(SEEDS, st.integers(2, 60), st.integers(1, 9), st.sampled_from(NICE))
def test_each_run_ends_as_scikit_learns_does(seed, n, k, rows):
    case = make_case(seed, n, min(k, n), 1, rows)
    restarts = restarts_of(case, 3, seed)

    for run in range(3):
        theirs = sklearn_labels(case.X, start(case.X, restarts, run))
        assert restarts.labels(run).tolist() == theirs.tolist()


def test_runs_on_adult_end_as_scikit_learns_do_but_for_ties(golden):
    # Rows of categories may be equally near to two centroids; then rounding decides, in
    # scikit-learn as here.
    restarts = kmeans_restarts(golden.X, 5, n_runs=60, random_state=0)
    n_same = 0

    for run in range(60):
        centroids = start(golden.X, restarts, run)
        if (
            restarts.labels(run).tolist()
            == sklearn_labels(golden.X, centroids).tolist()
        ):
            n_same += 1
            continue
        assert closest_tie(golden.X, centroids) < 1e-12

    assert n_same > 50  # a few have ties, most have none


def closest_tie(X, centroids):
    """Return the least gap, over rows and iterations, between two nearest centers."""
    gaps = []
    for _ in range(8):
        distances = ((X[:, None] - centroids) ** 2).sum(axis=2)
        gaps.append(np.diff(np.sort(distances)[:, :2]).min())
        labels = distances.argmin(axis=1)
        centroids = np.array([X[labels == c].mean(axis=0) for c in range(5)])
    return min(gaps)


@given(cases(weights=("ones",), n=(2, 30), k=(1, 6)), SEEDS)
def test_utilities_and_inertia_are_those_of_the_labels(case, seed):
    restarts = restarts_of(case, 8, seed)

    for run in range(8):
        labels = np.unique(restarts.labels(run), return_inverse=True)[1]
        expected = group_utilities(case.X, labels, case.groups, max_distance=10.0)
        close = {"rtol": 0, "atol": 1e-12 * spread(case)}
        np.testing.assert_allclose(restarts.utilities[run], expected, **close)
        shares = np.bincount(case.groups) / len(case.X)
        assert restarts.overall[run] == pytest.approx(expected @ shares, abs=1e-11)
        inertia = len(case.X) * (10.0 - expected @ shares)
        assert restarts.inertia[run] == pytest.approx(inertia, rel=1e-9, abs=1e-9)


@given(cases(rows=UGLY, n=(2, 30), k=(1, 6)), SEEDS)
def test_with_ties_and_duplicates_every_row_ends_at_a_nearest_mean(case, seed):
    restarts = restarts_of(case, 10, seed)

    for run in range(10):
        labels = restarts.labels(run)
        used = np.unique(labels)
        means = np.array([case.X[labels == c].mean(axis=0) for c in used])
        distances = ((case.X[:, None] - means) ** 2).sum(axis=2)
        own = distances[np.arange(len(labels)), np.searchsorted(used, labels)]
        assert (own <= distances.min(axis=1) + 1e-9).all()
        n_different = len(np.unique(case.X, axis=0))
        assert len(used) == min(n_different, restarts._init.shape[1])


@pytest.mark.parametrize("n_far", [1, 2, 3])
def test_empty_clusters_are_founded_anew_as_in_scikit_learn(n_far):
    rng = np.random.default_rng(n_far)
    X = rng.normal(size=(50, 4))
    centroids = np.concatenate([X[:3], rng.normal(size=(n_far, 4)) + 100])

    ours = kmeans_restarts(X, 3 + n_far, n_runs=1, init=[centroids]).labels(0)

    assert is_same_partition(ours, sklearn_labels(X, centroids))
    assert len(np.unique(ours)) == 3 + n_far


def test_more_clusters_than_different_rows_leaves_clusters_empty():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)

    restarts = kmeans_restarts(X, 4, n_runs=20, random_state=0)

    np.testing.assert_array_equal(restarts.inertia, 0.0)
    assert len(np.unique(restarts.labels(3))) == 2


@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_a_run_cut_short_is_cut_as_in_scikit_learn(max_iter, monkeypatch):
    monkeypatch.setattr(_restarts, "MAX_ITER", max_iter)
    X = np.random.default_rng(0).normal(size=(300, 3))

    restarts = kmeans_restarts(X, 6, n_runs=4, random_state=0)

    for run in range(4):
        theirs = sklearn_labels(X, start(X, restarts, run), max_iter=max_iter)
        assert restarts.labels(run).tolist() == theirs.tolist()
        assert restarts.n_iter[run] == max_iter


def test_threads_blocks_and_slots_change_nothing(golden, monkeypatch):
    def run():
        return kmeans_restarts(
            golden.X, 5, n_runs=300, sensitive_features=golden.sex, random_state=1
        )

    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    alone = run()
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    monkeypatch.setattr(_restarts, "ROWS_A_BLOCK", 40_000)
    monkeypatch.setattr(_restarts, "MOST_SLOTS", 5)
    together = run()

    np.testing.assert_array_equal(alone.utilities, together.utilities)
    np.testing.assert_array_equal(alone.inertia, together.inertia)
    np.testing.assert_array_equal(alone.n_iter, together.n_iter)


def test_a_run_does_not_depend_on_how_many_there_are():
    X = np.random.default_rng(0).normal(size=(40, 2))

    few = kmeans_restarts(X, 3, n_runs=5, random_state=7)
    many = kmeans_restarts(X, 3, n_runs=500, random_state=7)

    np.testing.assert_array_equal(few.inertia, many.inertia[:5])
    assert few.labels(4).tolist() == many.labels(4).tolist()


@given(st.integers(1, 12), st.integers(1, 12), SEEDS)
def test_initial_centroids_are_different_rows(n, k, seed):
    n, k = max(n, k, 2), min(n, k)
    X = np.arange(n, dtype=float)[:, None]

    rows = kmeans_restarts(X, k, n_runs=30, random_state=seed)._init

    assert rows.shape == (30, k)
    assert ((rows >= 0) & (rows < n)).all()
    assert all(len(set(run)) == k for run in rows.tolist())


def test_every_pair_of_rows_is_drawn_equally_often():
    rows = kmeans_restarts(np.eye(4), 2, n_runs=12_000, random_state=0)._init

    _, counts = np.unique(rows, axis=0, return_counts=True)

    # 12 ordered pairs, 1000 times each on average; 5 standard deviations is 150.
    assert len(counts) == 12
    assert abs(counts - 1000).max() < 150


def test_utilitarian_is_the_lowest_inertia_and_rawlsian_the_highest_minimum(
    golden,
):
    restarts = kmeans_restarts(
        golden.X, 5, n_runs=200, sensitive_features=golden.sex, random_state=0
    )

    assert restarts.utilitarian == restarts.inertia.argmin()
    assert restarts.rawlsian == restarts.utilities.min(axis=1).argmax()
    assert set(restarts.least_advantaged) == {"Female", "Male"}
    is_female = restarts.utilities[:, 0] < restarts.utilities[:, 1]
    np.testing.assert_array_equal(restarts.least_advantaged == "Female", is_female)


@pytest.mark.parametrize("apart", [1e3, 1e6, 1e8])
def test_inertia_keeps_its_digits_where_clusters_are_far_apart(apart):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) + apart * np.repeat([[0, 0], [1, 0], [0, 1]], 30, 0)

    restarts = kmeans_restarts(X, 3, n_runs=1, init=[X[[0, 30, 60]]])

    means = np.repeat([X[c : c + 30].mean(axis=0) for c in (0, 30, 60)], 30, axis=0)
    assert restarts.inertia[0] == pytest.approx(((X - means) ** 2).sum(), rel=1e-6)


def test_labels_are_those_of_the_data_as_it_was():
    X = np.random.default_rng(0).normal(size=(50, 3))
    restarts = kmeans_restarts(X, 4, n_runs=3, random_state=0)
    before = [restarts.labels(run).tolist() for run in range(3)]

    X *= -3
    X[:10] = 5

    assert [restarts.labels(run).tolist() for run in range(3)] == before


def test_without_groups_everyone_is_one_group():
    restarts = kmeans_restarts(np.eye(5), 2, n_runs=3, random_state=0)

    assert restarts.utilities.shape == (3, 1)
    np.testing.assert_array_equal(restarts.utilities[:, 0], restarts.overall)


def test_the_data_are_left_alone_and_restarts_can_be_pickled():
    X = np.random.default_rng(0).normal(size=(30, 2))
    before = X.copy()

    restarts = pickle.loads(pickle.dumps(kmeans_restarts(X, 3, n_runs=4)))

    np.testing.assert_array_equal(X, before)
    assert restarts.labels(2).shape == (30,)
    assert "n_runs=4" in repr(restarts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number, 1 or more, got 0"),
        ({"n_clusters": 2.5}, "n_clusters must be a whole number"),
        ({"n_clusters": 6}, "n_clusters=6 is more than the 5 rows of X"),
        ({"n_runs": 0}, "n_runs must be a whole number, 1 or more, got 0"),
        ({"n_runs": True}, "n_runs must be a whole number"),
        ({"init": "k-means"}, "init must be 'random' or an array of centroids, got"),
        ({"init": np.zeros((3, 2))}, r"init has shape \(3, 2\), expected \(3, 2, 4\)"),
        ({"init": np.full((3, 2, 4), np.nan)}, "init holds NaN or infinity"),
        ({"init": [[1], [1, 2]]}, "init must be 'random' or numbers"),
        ({"init": np.full((3, 2, 4), 1j)}, "init must be 'random' or numbers"),
        ({"random_state": -1}, "random_state must be None, a whole number that is not"),
        ({"random_state": "a"}, "random_state must be None, a whole number"),
        ({"init": [[["a"] * 4] * 2] * 3}, "init must be numbers, but holds text"),
        ({"sensitive_features": ["a"]}, "sensitive_features"),
        ({"max_distance": -1}, "max_distance must be 'auto' or a number"),
    ],
)
def test_bad_input_is_told_in_one_sentence(options, message):
    arguments = {"n_clusters": 2, "n_runs": 3, **options}

    with pytest.raises(ValueError, match=message):
        kmeans_restarts(np.random.default_rng(0).normal(size=(5, 4)), **arguments)


@pytest.mark.parametrize("run", [-1, 4, 1.5])
def test_a_run_that_there_is_not_is_an_index_error(run):
    restarts = kmeans_restarts(np.eye(5), 2, n_runs=4)

    with pytest.raises(IndexError, match=f"run {run} is not among the 4 runs"):
        restarts.labels(run)
