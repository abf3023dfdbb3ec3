"""Sparse X: the same results as dense X, without making it dense."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rawlsian import (
    FairLloyd,
    RawlsianKMeans,
    RawlsianPostprocessor,
    audit,
    frontier,
    group_bound,
    group_utilities,
    held_out,
    kmeans_restarts,
    proved_bound,
    stability,
    traverse,
)
from rawlsian._core import sparse as sparse_module
from rawlsian._core.nearest import nearest
from rawlsian._core.problem import Problem
from rawlsian._core.sparse import SparseRows
from rawlsian._search.entries import list_entries

FEW = {"n_init": 4, "n_crossings": 4, "random_state": 0}


def ugly(seed):
    """Return X with ties, duplicates, and full, constant and empty columns."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(4, 60), rng.integers(4, 9)
    X = np.where(rng.random((n, d)) < 0.3, rng.integers(-2, 4, (n, d)) / 3, 0.0)
    X[:, 0] = 0.0
    if seed % 2:
        X[:, 1], X[:, 2] = rng.normal(10.0, 1.0, n), 5.0
    X[rng.integers(n, size=n // 4)] = X[0]
    groups = np.arange(n) % rng.integers(1, 5)
    weights = rng.integers(1, 4, n) / 2
    return X, groups, weights


@pytest.fixture(params=range(4))
def case(request):
    return ugly(request.param)


# --- The problem ---


@pytest.mark.parametrize("seed", range(16))
def test_a_sparse_problem_has_the_figures_and_entries_of_the_dense_one(seed):
    X, groups, weights = ugly(seed)

    dense, ours = (
        Problem.from_arrays(each, groups, sample_weight=weights)
        for each in (X, sparse.csr_array(X))
    )

    assert isinstance(ours.X, SparseRows)
    for name in ("shift", "norms", "max_distance", "group_sizes"):
        assert np.array_equal(getattr(dense, name), getattr(ours, name)), name
    assert ours.variance == pytest.approx(dense.variance, rel=1e-12)
    for of_dense, of_sparse in zip(
        list_entries(dense), list_entries(ours), strict=True
    ):
        assert np.array_equal(of_dense, of_sparse)


@pytest.mark.parametrize("seed", range(16))
def test_nearest_centers_of_sparse_rows_are_those_of_dense_rows(seed):
    X, *_ = ugly(seed)
    rng = np.random.default_rng(seed)
    centers = X[rng.integers(len(X), size=4)]  # rows: distances of 0, equal centers
    centers[3] = X[: len(X) // 2 + 1].mean(axis=0)

    labels, distances = nearest(X, centers)
    ours, theirs = nearest(SparseRows.of(sparse.csr_array(X)), centers)

    assert np.array_equal(labels, ours)
    assert theirs == pytest.approx(distances, rel=1e-9, abs=0.0)


def test_far_from_the_origin_no_digits_are_lost():
    X, *_ = ugly(1)
    X[:, 1] += 1e7
    centers = X[:3] + 0.1

    assert nearest(SparseRows.of(sparse.csr_array(X)), centers)[1] == pytest.approx(
        nearest(X, centers)[1], rel=1e-9
    )


def test_rows_less_a_shift_are_those_of_dense_rows():
    X, *_ = ugly(3)
    shift = np.zeros(X.shape[1])
    shift[[1, 2, -1]] = 2.0, 5.0, 0.5

    found = SparseRows.of(sparse.csr_array(X)).minus(shift)

    assert np.array_equal(found.csr.toarray(), X - shift)
    assert found.values.all()


# --- Results ---


@pytest.mark.parametrize(
    "estimator",
    [
        RawlsianKMeans(3, **FEW),
        RawlsianKMeans(3, centers="mean", pooling=0, **FEW),
        FairLloyd(3, n_init=4, random_state=0),
        RawlsianPostprocessor(KMeans(3, n_init=1, random_state=0), pooling=5.0),
    ],
)
def test_estimators_find_the_same_clusters(case, estimator):
    X, groups, _ = case
    given = sparse.csr_matrix(X)
    prefit = {}
    if isinstance(estimator, RawlsianPostprocessor):  # KMeans rounds by itself
        kmeans = estimator.estimator.fit(X)
        prefit = {"estimator": kmeans, "prefit": True}

    dense, ours = (
        type(estimator)(**{**estimator.get_params(deep=False), **prefit}).fit(
            each, sensitive_features=groups
        )
        for each in (X, given)
    )

    assert np.array_equal(dense.labels_, ours.labels_)
    assert np.array_equal(dense.cluster_centers_, ours.cluster_centers_)
    assert ours.group_utilities_ == pytest.approx(dense.group_utilities_, rel=1e-9)
    assert np.array_equal(dense.predict(X), ours.predict(given))
    assert ours.score(given, sensitive_features=groups) == pytest.approx(
        dense.score(X, sensitive_features=groups), rel=1e-9
    )
    if hasattr(ours, "transform"):
        assert ours.transform(given) == pytest.approx(dense.transform(X), abs=1e-6)


def test_functions_give_the_same_figures(case):
    X, groups, weights = case
    given, labels = sparse.csr_array(X), np.arange(len(X)) % 3
    common = {"sample_weight": weights, "max_distance": 9.0}

    for utility in ("assigned", "nearest"):
        dense, ours = (
            audit(each, labels, groups, utility=utility, min_group=2, random_state=0,
                  **common)
            for each in (X, given)
        )  # fmt: skip
        for name in ("costs", "intervals", "cluster_sizes", "cluster_utilities"):
            assert getattr(ours, name) == pytest.approx(
                getattr(dense, name), rel=1e-9, abs=1e-9, nan_ok=True
            )
    dense, ours = (traverse(each, labels, groups, **common) for each in (X, given))
    assert np.array_equal(dense.utilities, ours.utilities)
    assert np.array_equal(dense.labels, ours.labels)
    dense, ours = (
        kmeans_restarts(each, 3, n_runs=9, sensitive_features=groups, random_state=0)
        for each in (X, given)
    )
    assert np.array_equal(dense.utilities, ours.utilities)
    assert np.array_equal(dense.labels(4), ours.labels(4))


def test_bounds_and_frontiers_are_the_same():
    X, groups, _ = ugly(4)
    given = sparse.csr_array(X)

    for function in (group_bound, proved_bound):
        dense, ours = (
            function(each, groups, n_clusters=2, random_state=0).cost
            for each in (X, given)
        )
        assert ours == pytest.approx(dense, rel=1e-9)
    dense, ours = (
        frontier(each, groups, n_clusters=2, n_points=3, random_state=0)
        for each in (X, given)
    )
    assert ours.utilities == pytest.approx(dense.utilities, rel=1e-9)
    assert np.array_equal(ours.labels(0, given), dense.labels(0, X))


def test_people_left_out_are_measured_alike():
    X, groups, _ = ugly(4)
    fair = FairLloyd(2, n_init=2)
    given = sparse.csr_array(X)

    dense, ours = (held_out(fair, each, groups, random_state=0) for each in (X, given))
    assert str(dense) == str(ours)
    dense, ours = (
        stability(fair, each, groups, n_bootstrap=3, random_state=0)
        for each in (X, given)
    )
    assert str(dense) == str(ours)


# --- Kinds of matrices ---


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("container", ["matrix", "array"])
def test_every_format_is_taken(kind, container):
    X, groups, _ = ugly(2)
    given = getattr(sparse, f"{kind}_{container}")(X)

    assert np.array_equal(
        audit(given, groups % 2, groups, n_bootstrap=0).costs.round(9),
        audit(X, groups % 2, groups, n_bootstrap=0).costs.round(9),
    )


def test_duplicate_unsorted_and_zero_entries_are_summed_and_the_users_matrix_stays():
    ends, columns = np.array([0, 3, 4, 4]), np.array([2, 0, 2, 1])
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0, 0.0]), columns, ends), (3, 3))

    rows = SparseRows.of(X)

    assert rows.columns.tolist() == [0, 2]
    assert rows.values.tolist() == [2.0, 4.0]
    assert X.nnz == 4
    assert X.indices.tolist() == [2, 0, 2, 1]


def test_indices_of_64_bits_and_small_numbers_are_taken():
    X, groups, _ = ugly(2)
    given = sparse.csr_array(X.astype(np.float32))
    given.indices, given.indptr = (
        each.astype(np.int64) for each in (given.indices, given.indptr)
    )

    fair = RawlsianKMeans(2, pooling=0, **FEW).fit(given, sensitive_features=groups)

    assert np.array_equal(fair.predict(given), fair.labels_)
    assert np.array_equal(pickle.loads(pickle.dumps(fair)).predict(given), fair.labels_)


def test_a_one_hot_encoder_fits_into_a_pipeline_as_it_is():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=80), rng.integers(0, 9, 80)])
    sex = rng.integers(0, 2, 80)
    encode = make_column_transformer(
        (StandardScaler(), [0]), (OneHotEncoder(), [1]), sparse_threshold=1.0
    )
    fair = FairLloyd(3, n_init=2, random_state=0)

    pipeline = make_pipeline(encode, fair)
    pipeline.fit(table, fairlloyd__sensitive_features=sex)

    assert sparse.issparse(encode.transform(table))
    assert np.array_equal(pipeline.predict(table), pipeline[-1].labels_)


# --- Limits ---


@pytest.fixture
def too_large(monkeypatch):
    monkeypatch.setattr(sparse_module, "MOST_DENSE", 20)


@pytest.mark.parametrize(
    ("attempt", "what"),
    [
        (lambda X, g: traverse(X, g % 2, g), "reassigning examples"),
        (lambda X, g: group_utilities(X, g % 2, g), "an Assignment"),
        (lambda X, g: proved_bound(X, g, n_clusters=2), "a proved bound"),
        (lambda X, g: RawlsianPostprocessor().fit(X), "reassigning examples"),
        (lambda X, g: RawlsianKMeans(2, centers="mean").fit(X), "centers='mean'"),
        (lambda X, g: RawlsianKMeans(2, bound="group").fit(X), "bound='group'"),
        (lambda X, g: held_out(FairLloyd(2), X, g), "measuring people who are left"),
    ],
)
def test_a_large_sparse_matrix_is_never_made_dense(too_large, attempt, what):
    X, groups, _ = ugly(2)

    with pytest.raises(
        ValueError, match=f"^{what}.* needs dense rows, but X is sparse"
    ):
        attempt(sparse.csr_array(X), groups)


def test_searches_and_audits_work_on_entries_whatever_the_size(too_large):
    X, groups, _ = ugly(2)
    X = sparse.csr_array(X)

    fair = RawlsianKMeans(2, **FEW).fit(X, sensitive_features=groups)
    kmeans_restarts(X, 2, n_runs=2)

    assert fair.score(X) < 0
    assert audit(X, fair.labels_, groups, n_bootstrap=0).costs.max() > 0
