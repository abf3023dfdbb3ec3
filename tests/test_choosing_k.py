"""Choosing the number of clusters, compared with plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.cluster import KMeans

from rawlsian._core.folds import deal_problem
from rawlsian._core.problem import Problem
from rawlsian._tables import choosing_k
from rawlsian._tables.choosing_k import (
    HeldOutCosts,
    cost_of_everyone,
    cost_of_worst,
    enough,
    held_out_distances,
    try_range,
)

pytestmark = pytest.mark.usefixtures("short_search")


def silent(stage, n_done, n_all):
    pass


def clumps(n=60, centers=(0.0, 10.0, 20.0), sizes=(40, 15, 5), seed=0):
    """People around some centers, in groups that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    X = rng.choice(centers, n)[:, None] + rng.normal(size=(n, 2))
    return Problem.from_arrays(X, rng.permutation(np.repeat(range(len(sizes)), sizes)))


def random_case(seed):
    """Groups, weights and held-out distances with three numbers of clusters."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    groups = np.append(np.arange(3), rng.integers(3, size=n - 3))
    weights = rng.integers(1, 4, size=n).astype(float)
    X = rng.normal(size=(n, 2))
    problem = Problem.from_arrays(X, groups, sample_weight=weights)
    return problem, rng.gamma(2.0, size=(3, n)) / np.arange(1, 4)[:, None]


# --- Costs ---------------------------------------------------------------------------


def test_a_person_is_measured_by_centers_that_were_found_without_their_fold():
    problem = clumps(n=24, sizes=(20, 3, 1))

    found = held_out_distances(problem, [1, 3], 7, silent)

    folds = deal_problem(problem, 5, np.random.default_rng(7))
    for row, n_clusters in zip(found, [1, 3], strict=True):
        for i, x in enumerate(problem.X):
            others = problem.X[folds != folds[i]]
            centers = KMeans(n_clusters, n_init=10, random_state=7).fit(others)
            nearest = min(math.dist(x, c) ** 2 for c in centers.cluster_centers_)
            assert row[i] == pytest.approx(nearest)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    found = []
    for n_threads in (1, 4):
        monkeypatch.setattr(choosing_k, "n_threads", lambda n=n_threads: n)
        found.append(held_out_distances(clumps(n=300, sizes=(200, 99, 1)),
                                        [2, 5], 0, silent))  # fmt: skip

    np.testing.assert_array_equal(*found)


def test_more_clusters_than_people_outside_a_fold_have_no_cost():
    found = held_out_distances(clumps(n=10, sizes=(9, 1)), [8, 9], 0, silent)

    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


def mixed_by_loop(problem, distances, g):
    """A group's cost, n / (n + 50) its own and the rest everyone's."""
    people = list(zip(problem.weights, distances, problem.groups, strict=True))
    n = sum(w for w, _, h in people if h == g)
    own = sum(w * d for w, d, h in people if h == g) / n
    everyone = sum(w * d for w, d, _ in people) / sum(w for w, _, _ in people)
    return n / (n + 50) * own + 50 / (n + 50) * everyone


@given(st.integers(0, 2**32 - 1))
def test_costs_are_those_of_a_loop_over_people(seed):
    problem, distances = random_case(seed)

    everyone = cost_of_everyone(problem, distances)
    worst = cost_of_worst(problem, distances)

    for k, row in enumerate(distances):
        mean = np.average(row, weights=problem.weights)
        costs = [mixed_by_loop(problem, row, g) for g in range(3)]
        assert everyone.costs[k] == pytest.approx(mean)
        assert worst.costs[k] == pytest.approx(max(costs))
        assert costs[worst.groups[k]] == pytest.approx(max(costs))


def error_by_loop(problem, first, second, g=None):
    """Standard error of a difference of costs, of everyone or mixed with a group's."""
    w, n = problem.weights, problem.weights.sum()
    change = first - second
    pulls = (change - np.average(change, weights=w)) / n
    if g is not None:
        inside = problem.groups == g
        n_g = w[inside].sum()
        own = change - np.average(change[inside], weights=w[inside])
        share = n_g / (n_g + 50)
        pulls = share * own * inside / n_g + (1 - share) * pulls
    return math.sqrt(sum(w_i * p**2 for w_i, p in zip(w, pulls, strict=True)))


def enough_by_loop(numbers, costs, errors, price):
    """The smallest number that no larger one beats by an error and by the price."""
    for j, number in enumerate(numbers):
        beaten = False
        for other in range(j + 1, len(numbers)):
            gain = costs[j] - costs[other]
            more = numbers[other] - number
            beaten |= gain > errors[j][other] and gain > more * price
        if not beaten:
            return number
    raise AssertionError("the last number is never beaten")


@given(st.integers(0, 2**32 - 1))
def test_the_number_is_that_of_a_loop_over_pairs_of_numbers(seed):
    problem, distances = random_case(seed)
    price = 0.02 * problem.variance
    everyone = cost_of_everyone(problem, distances)
    errors = [[error_by_loop(problem, a, b) for b in distances] for a in distances]

    expected = enough_by_loop([2, 3, 4], everyone.costs, errors, price)

    assert enough([2, 3, 4], everyone, problem) == expected


@given(st.integers(0, 2**32 - 1))
def test_the_error_of_the_worst_off_group_is_that_of_its_people_and_everyone(seed):
    problem, distances = random_case(seed)
    worst = cost_of_worst(problem, distances)
    a, b = worst.influences[:2]

    if worst.groups[0] == worst.groups[1]:
        error = math.sqrt((a - b) ** 2 @ problem.weights)
        expected = error_by_loop(problem, *distances[:2], worst.groups[0])
        assert error == pytest.approx(expected)


def test_the_error_of_everyone_is_that_of_paired_differences():
    problem, distances = random_case(5)
    problem = Problem.from_arrays(problem.X, problem.groups)  # weights of one
    a, b, _ = cost_of_everyone(problem, distances).influences

    change = distances[0] - distances[1]

    expected = change.std() / math.sqrt(len(change))
    assert math.sqrt(((a - b) ** 2).sum()) == pytest.approx(expected)


# --- Choice --------------------------------------------------------------------------


def certain(*costs):
    """Costs without noise of people whose total variance is one."""
    problem = Problem.from_arrays([[-1.0], [1.0]], None)
    zeros = np.zeros((len(costs), 2))
    return HeldOutCosts(np.array(costs), zeros, np.zeros(len(costs), int)), problem


@pytest.mark.parametrize(
    ("costs", "taken"),
    [
        ((0.9, 0.5, 0.485, 0.47, 0.455), 3),  # each cluster more gains 0.015
        ((0.9, 0.8, 0.7, 0.6, 0.5), 6),  # each pays: the end of the range
        ((0.5, 0.5, 0.3, 0.3, 0.3), 4),  # one that gains nothing is passed over
        ((0.5, 0.6, 0.7, 0.8, 0.9), 2),
        ((0.9, 0.5, np.nan, np.nan, np.nan), 3),
    ],
)
def test_the_smallest_number_is_taken_that_is_worth_its_clusters(costs, taken):
    assert enough(range(2, 7), *certain(*costs)) == taken


def test_a_gain_within_its_standard_error_does_not_count():
    problem = Problem.from_arrays([[-1.0], [1.0]], None)
    distances = np.array([[0.5, 0.5], [0.0, 0.9]])  # 0.05 less, and twice 0.45 apart

    assert enough([2, 3], cost_of_everyone(problem, distances), problem) == 2


def test_no_number_is_taken_if_none_has_a_cost():
    assert enough([2, 3], *certain(np.nan, np.nan)) is None


def test_a_group_of_one_person_hardly_moves_the_worst_off_cost():
    problem = Problem.from_arrays(np.arange(100.0)[:, None], np.append(np.zeros(99), 1))
    distances = np.ones((1, 100))
    distances[0, -1] = 20.0

    worst = cost_of_worst(problem, distances)

    assert worst.groups.tolist() == [1]
    assert worst.costs[0] == pytest.approx(1 / 51 * 20 + 50 / 51 * 1.19)


@pytest.mark.parametrize("choose_by", ["silhouette", "held-out", "held-out-worst"])
def test_clumps_far_apart_are_found_by_every_criterion(choose_by):
    choice, found = try_range(clumps(), range(1, 8), choose_by, 0, silent)

    assert choice.choices == dict.fromkeys(choosing_k.CRITERIA, 3)
    assert choice.n_clusters == len(found.centers) == 3


def test_held_out_costs_of_many_rows_are_those_of_a_sample(monkeypatch):
    monkeypatch.setattr(choosing_k, "HELD_OUT_ROWS", 30)

    choice, found = try_range(clumps(), range(2, 5), "held-out", 0, silent)

    assert choice.n_held_out == 30
    assert len(found.labels) == 60


def test_equal_rows_need_no_more_clusters_than_there_are_different_ones():
    X = np.repeat([[0.0], [1.0], [5.0]], [8, 8, 1], axis=0)
    problem = Problem.from_arrays(X, np.arange(17) % 2)

    choice, _ = try_range(problem, range(2, 4), "held-out", 0, silent)

    assert choice.candidates[1].held_out_cost < 1
