"""Rows of float32 stay float32, and give the results of the same numbers as float64."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from rawlsian import (
    FairLloyd,
    RawlsianKMeans,
    audit,
    frontier,
    group_utilities,
    kmeans_restarts,
    proved_bound,
    traverse,
)

WEIGHTS = np.random.RandomState(5).uniform(0.5, 2, size=90)


def dense():
    """Return rows of float32 far from the origin, and their groups."""
    rng = np.random.RandomState(0)
    groups = rng.randint(3, size=90)
    X = rng.normal(size=(90, 4)) * [1, 3, 0.1, 1] + [100, 0, 3, -1e4] + groups[:, None]
    return X.astype(np.float32), groups


def one_hot():
    """Return sparse-like rows of float32, with ties and equal rows."""
    rng = np.random.RandomState(1)
    X = np.eye(7)[rng.randint(7, size=90)] * 0.7 + (rng.random_sample((90, 7)) < 0.1)
    return X.astype(np.float32), rng.randint(2, size=90)


def assert_equal(ours, theirs):
    """Assert that arrays are equal bit for bit, and of one type."""
    for a, b in zip(ours, theirs, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


def fitted(estimator, X, groups):
    """Return all that a fit and the fitted estimator give."""
    estimator.fit(X, sensitive_features=groups, sample_weight=WEIGHTS)
    return (
        estimator.labels_, estimator.cluster_centers_, estimator.group_costs_,
        estimator.group_utilities_, estimator.inertia_, estimator.predict(X[::2]),
        estimator.transform(X), estimator.score(X, sensitive_features=groups),
    )  # fmt: skip


@pytest.mark.parametrize("case", [dense, one_hot])
@pytest.mark.parametrize(
    "estimator",
    [
        RawlsianKMeans(4, random_state=0, effort=0.2),
        RawlsianKMeans(4, random_state=0, effort=0.2, pooling=0, bound="group"),
        RawlsianKMeans(4, random_state=0, effort=0.2, pooling=0, centers="mean"),
        FairLloyd(4, n_init=3, random_state=0),
    ],
)
def test_a_fit_gives_the_results_of_float64(case, estimator):
    X, groups = case()

    narrow = fitted(estimator, X, groups)

    assert_equal(narrow, fitted(estimator, X.astype(np.float64), groups))


def test_a_sample_that_is_searched_gives_the_results_of_float64():
    rng = np.random.RandomState(2)
    X, groups = rng.normal(size=(700, 3)).astype(np.float32), rng.randint(2, size=700)
    search = RawlsianKMeans(3, pooling=0, effort=0.05, random_state=0)

    narrow, wide = (
        search.fit(rows, sensitive_features=groups).cluster_centers_
        for rows in (X, X.astype(np.float64))
    )

    np.testing.assert_array_equal(narrow, wide)


@pytest.mark.parametrize("case", [dense, one_hot])
@pytest.mark.parametrize("utility", ["assigned", "nearest"])
def test_audits_and_walks_give_the_results_of_float64(case, utility):
    X, groups = case()
    labels = np.arange(90) % 3

    def results(X):
        found = audit(X, labels, groups, utility=utility, random_state=0)
        way = traverse(X, labels, groups, utility=utility, operator="rawls")
        return (
            found.utilities, found.costs, found.intervals, found.cluster_utilities,
            way.labels, way.utilities,
            group_utilities(X, labels, groups, utility=utility),
        )  # fmt: skip

    assert_equal(results(X), results(X.astype(np.float64)))


@pytest.mark.parametrize("case", [dense, one_hot])
def test_restarts_bounds_and_trade_offs_give_the_results_of_float64(case):
    X, groups = case()

    def results(X):
        runs = kmeans_restarts(X, 3, n_runs=20, sensitive_features=groups,
                               random_state=0)  # fmt: skip
        points = frontier(X, groups, n_clusters=3, n_points=3, random_state=0)
        bound = proved_bound(X, groups, n_clusters=3, max_iter=20, random_state=0)
        return (
            runs.inertia, runs.utilities, runs.labels(3), points.utilities,
            points.labels(1, X), bound.utility,
        )  # fmt: skip

    assert_equal(results(X), results(X.astype(np.float64)))


def test_sparse_rows_of_float32_give_the_results_of_float64():
    X, groups = one_hot()
    search = RawlsianKMeans(4, random_state=0, effort=0.2)

    narrow, wide = (
        fitted(search, sparse.csr_matrix(rows), groups)
        for rows in (X, X.astype(np.float64))
    )

    assert_equal(narrow, wide)


def test_no_copy_of_x_in_float64_is_made():
    rng = np.random.RandomState(3)
    X = rng.normal(size=(20_000, 50)).astype(np.float32)
    groups, labels = np.arange(20_000) % 2, np.arange(20_000) % 3
    search = RawlsianKMeans(2, pooling=0, effort=0.05, n_init=2, random_state=0)
    start = FairLloyd(2, n_init=2, random_state=0)

    def peak(call):
        tracemalloc.start()
        try:
            call()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    for call in (
        lambda: search.fit(X, sensitive_features=groups),
        lambda: start.fit(X, sensitive_features=groups),
        lambda: search.predict(X),
        lambda: search.score(X, sensitive_features=groups),
        lambda: search.transform(X),
        lambda: audit(X, labels, groups, n_bootstrap=0),
    ):  # fmt: skip
        call()  # compiles
        assert peak(call) < X.nbytes  # half of a copy in float64
