"""`bound_`, `gap_closed_` and `proved_gap_`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from rawlsian import (
    RawlsianKMeans,
    RawlsianPostprocessor,
    group_bound,
    kmeans_restarts,
    proved_bound,
)
from support.cases import make_case

pytestmark = pytest.mark.usefixtures("short_search")


def fit(estimator, case):
    return estimator.fit(case.X, sensitive_features=case.groups)


def test_without_a_bound_nothing_is_told_of_it():
    fitted = fit(RawlsianKMeans(2, random_state=0, pooling=0), make_case(0, 20, 2, 2))

    assert not hasattr(fitted, "bound_")
    assert not hasattr(fitted, "gap_closed_")


@pytest.mark.parametrize("utility", ["assigned", "nearest"])
def test_the_gap_is_counted_from_the_start_of_the_walk(golden, utility):
    kmeans = KMeans(5, n_init=10, random_state=0)
    walker = RawlsianPostprocessor(
        kmeans, utility=utility, bound="group", random_state=0
    )
    walker.fit(golden.X[::3], sensitive_features=golden.sex[::3])

    start = walker.trajectory_.utilities[0].min()
    reached = walker.group_utilities_.min()
    expected = (reached - start) / (walker.bound_.utility - start)
    assert walker.gap_closed_ == pytest.approx(expected)
    assert 0.1 < walker.gap_closed_ < 1
    assert not walker.bound_.is_proved
    assert not hasattr(walker, "proved_gap_")


def test_the_gap_is_counted_from_the_best_k_means():
    case = make_case(5, 40, 3, 2)
    fair = fit(
        RawlsianKMeans(3, bound="group", random_state=0, max_distance=8.0, pooling=0),
        case,
    )

    data = {"sensitive_features": case.groups, "max_distance": 8.0}
    plain = kmeans_restarts(case.X, 3, n_runs=2000, random_state=0, **data)
    start = plain.utilities[plain.utilitarian].min()
    bound = group_bound(case.X, **data, n_clusters=3, random_state=1)

    reached = fair.group_utilities_.min()
    assert fair.bound_.utility == pytest.approx(bound.utility)
    expected = (reached - start) / (bound.utility - start)
    assert fair.gap_closed_ == pytest.approx(expected)
    assert 0 < fair.gap_closed_ <= 1


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_the_proved_gap_is_that_of_the_proved_bound(centers):
    case = make_case(0, 20, 2, 2)
    fitted = fit(
        RawlsianKMeans(2, centers=centers, bound="proved", random_state=0, pooling=0),
        case,
    )

    bound = proved_bound(case.X, case.groups, n_clusters=2, random_state=0)

    assert fitted.bound_.is_proved
    assert fitted.bound_.cost == pytest.approx(bound.cost, rel=1e-3)
    expected = fitted.group_costs_.max() / fitted.bound_.cost - 1
    assert fitted.proved_gap_ == pytest.approx(expected)
    assert 0 <= fitted.proved_gap_ < 0.5
    assert fitted.proved_optimal_ == (fitted.proved_gap_ <= 1e-6)


def test_a_bound_says_how_far_it_is_from_the_best_known():
    case = make_case(0, 20, 2, 2)
    fitted = fit(RawlsianKMeans(2, random_state=0, pooling=0), case)

    searched = proved_bound(case.X, case.groups, n_clusters=2, random_state=0)
    given = proved_bound(case.X, case.groups, n_clusters=2, group_weights=[1, 1])

    assert searched.known_cost == pytest.approx(fitted.group_costs_.max())
    assert searched.gap == pytest.approx(searched.known_cost / searched.cost - 1)
    assert given.gap is None


def test_a_gap_of_which_nothing_is_proved_is_not_told_as_none():
    rng = np.random.default_rng(0)
    X = 0.1 * rng.normal(size=(40, 2))
    X[20:] += 1e6

    fitted = RawlsianKMeans(2, bound="proved", random_state=0, pooling=0)
    fitted.fit(X, sensitive_features=np.arange(40) % 2)

    assert fitted.bound_.cost == 0  # rounding may be larger than the gap left
    assert fitted.proved_gap_ == np.inf


@pytest.mark.parametrize(
    "estimator", [RawlsianKMeans(2, pooling=0), RawlsianPostprocessor()]
)
def test_fitting_again_without_a_bound_forgets_the_old_one(estimator):
    case = make_case(0, 20, 2, 2)
    fit(estimator.set_params(bound="proved", random_state=0), case)
    assert estimator.proved_gap_ >= 0

    fit(estimator.set_params(bound="group"), case)
    assert not hasattr(estimator, "proved_gap_")
    fit(estimator.set_params(bound=None), case)
    assert not hasattr(estimator, "bound_")


def test_max_distance_changes_no_gap():
    case = make_case(5, 40, 3, 2)

    near, far = (
        fit(
            RawlsianKMeans(
                3,
                centers="mean",
                bound="group",
                random_state=0,
                max_distance=delta,
                pooling=0,
            ),
            case,
        )
        for delta in (0, 1e15)
    )

    assert np.array_equal(near.labels_, far.labels_)
    assert near.gap_closed_ == far.gap_closed_
    assert np.array_equal(near.group_costs_, far.group_costs_)


def test_where_nothing_is_left_all_of_it_is_closed():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)

    fitted = RawlsianKMeans(3, bound="proved", random_state=0, pooling=0)
    fitted.fit(X, sensitive_features=list("ab") * 6)

    assert fitted.gap_closed_ == 1
    assert fitted.proved_gap_ == 0


@pytest.mark.parametrize(
    "estimator", [RawlsianKMeans(2, pooling=0), RawlsianPostprocessor()]
)
def test_an_unknown_bound_is_told_in_one_sentence(estimator):
    with pytest.raises(
        ValueError, match="bound must be None, 'group' or 'proved', got"
    ):
        fit(estimator.set_params(bound="best"), make_case(0, 20, 2, 2))
