"""Frontier between the utilitarian and the Rawlsian clustering."""

from __future__ import annotations

import numpy as np
import pytest

from rawlsian import RawlsianKMeans, frontier, plot_trajectory
from support.cases import make_case


@pytest.fixture(scope="module")
def points(golden):
    return frontier(
        golden.X, golden.sex, n_clusters=5, max_distance=8.0, random_state=0
    )


def test_from_point_to_point_the_worst_off_gain_and_all_lose(points):
    assert len(points.overall) > 5
    assert (np.diff(points.utilities.min(axis=1)) > 0).all()
    assert (np.diff(points.overall) < 0).all()


def test_the_ends_are_k_means_and_the_rawlsian_point(points, golden):
    best = RawlsianKMeans(5, random_state=0, pooling=0).fit(golden.X).inertia_
    fair = RawlsianKMeans(5, max_distance=8.0, random_state=0, pooling=0)
    fair.fit(golden.X, sensitive_features=golden.sex)

    assert 8.0 - best / len(golden.X) == pytest.approx(points.overall[0], abs=1e-4)
    lowest = fair.group_utilities_.min()
    assert points.utilities[-1].min() == pytest.approx(lowest, abs=1e-4)


def test_what_is_told_of_a_point_follows_from_its_centers(points, golden):
    for point in (0, 3, -1):
        labels = points.labels(point, golden.X)
        own = points.cluster_centers[point][labels]
        distances = ((golden.X - own) ** 2).sum(axis=1)
        for g, name in enumerate(points.groups):
            utility = 8.0 - distances[golden.sex == name].mean()
            assert points.utilities[point, g] == pytest.approx(utility)
        assert points.overall[point] == pytest.approx(8.0 - distances.mean())


def test_the_same_seed_gives_the_same_points_on_any_number_of_threads(monkeypatch):
    case = make_case(0, 60, 3, 3, weights="floats")

    def run():
        return frontier(
            case.X, case.groups, n_clusters=3, sample_weight=case.weights,
            random_state=1,
        ).utilities  # fmt: skip

    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    alone = run()
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")

    np.testing.assert_array_equal(run(), alone)


def test_with_one_group_there_is_nothing_to_trade():
    case = make_case(0, 30, 3, 1)

    assert len(frontier(case.X, None, n_clusters=3, random_state=0).overall) == 1


def test_a_frontier_can_be_drawn(points):
    ax = plot_trajectory(points, lag="Male")

    assert ax.get_xlabel() == "utility of Female"
    assert "n_points" in repr(points)


def test_bad_numbers_are_told():
    with pytest.raises(ValueError, match="n_points must be a whole number, 2 or more"):
        frontier(np.eye(4), None, n_clusters=2, n_points=1)
    with pytest.raises(ValueError, match="n_clusters=5 is more than the 4 rows"):
        frontier(np.eye(4), None, n_clusters=5)


@pytest.mark.parametrize("n_points", [2, 3, 21])
def test_there_are_no_more_points_than_asked_for(n_points):
    case = make_case(0, 60, 3, 2)

    points = frontier(
        case.X, case.groups, n_clusters=3, n_points=n_points, random_state=0
    )

    assert 2 <= len(points.overall) <= n_points


def test_a_small_group_that_is_worst_off_is_served():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    X[:6] *= 8

    points = frontier(
        X, ["b"] * 6 + ["a"] * 994, n_clusters=2, n_points=5, random_state=0
    )

    assert points.utilities[-1, 1] > points.utilities[0, 1]


def test_labels_are_for_rows_with_the_same_columns(points):
    with pytest.raises(ValueError, match="X has 1 columns, but the points were found"):
        points.labels(0, np.zeros((3, 1)))
    with pytest.raises(ValueError, match="NaN"):
        points.labels(0, np.full((3, 42), np.nan))
