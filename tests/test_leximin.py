"""More than two groups: after the worst-off, the second worst-off, and so on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from rawlsian import FairLloyd, RawlsianKMeans, load_adult
from rawlsian._search.fair_lloyd import FairRuns, Solutions
from rawlsian._search.leximin import is_better, leximin_best, leximin_centers
from support.cases import cases, make_case
from support.reference import all_assignments

# a is worst off wherever its center is; b and c share the other cluster.
X = np.array([0.0, 4, 10, 10, 12, 12, 12])[:, None]
GROUPS = list("aabbccc")


def costs_of(X, groups, labels, centers):
    distances = ((X - centers[labels]) ** 2).sum(axis=1)
    return np.bincount(groups, distances) / np.bincount(groups)


def test_a_lower_largest_cost_is_better_and_then_the_second_largest():
    assert is_better(np.array([1.0, 3]), np.array([4.0, 0]))
    assert is_better(np.array([4.0, 1]), np.array([2.0, 4]))
    assert not is_better(np.array([4.0, 1]), np.array([1.0, 4]))
    assert not is_better(np.array([4.0 + 1e-12, 2]), np.array([4.0, 1]))


def test_centers_away_from_the_worst_off_serve_the_next():
    problem = make_case(0, 7, 2, 3)._replace(
        X=X, groups=np.array([0, 0, 1, 1, 2, 2, 2]), weights=np.ones(7)
    ).problem  # fmt: skip
    labels = np.array([0, 0, 1, 1, 1, 1, 1], np.int32)

    centers = leximin_centers(problem, labels, np.zeros((2, 1)))

    # The mean of the second cluster is 11.2, which costs b 1.44 and c 0.64.
    assert centers == pytest.approx(np.array([[2.0], [11.0]]))


@settings(max_examples=60)
@given(cases(n=(6, 14), k=(2, 4), groups=(3, 4), weights=("ones",)))
def test_no_centers_nearby_are_better_for_the_partition(case):
    rng = np.random.default_rng(0)
    k = case.labels.max() + 1
    labels = case.labels.astype(np.int32)

    centers = leximin_centers(case.problem, labels, np.zeros((k, case.X.shape[1])))

    costs = costs_of(case.X, case.groups, labels, centers)
    for scale in np.repeat([1.0, 0.1, 1e-2, 1e-3], 30):
        moved = centers + scale * rng.normal(size=centers.shape)
        stays = rng.random(k) < 0.5
        moved[stays] = centers[stays]
        others = costs_of(case.X, case.groups, labels, moved)
        falls = np.sort(costs)[::-1] - np.sort(others)[::-1]
        # The largest cost is within 1e-10 of its minimum; this slack can lower the
        # next by about 1e-5.
        is_level_before = np.cumsum(falls < -1e-9) == 0
        assert not (is_level_before & (falls > 1e-4)).any()


def test_of_solutions_that_are_level_the_leximin_best_comes_first():
    problem = make_case(0, 7, 2, 3)._replace(
        X=X, groups=np.array([0, 0, 1, 1, 2, 2, 2]), weights=np.ones(7)
    ).problem  # fmt: skip
    shift = problem.shift
    level = np.array([[[2.0], [11.2]], [[2.0], [10.1]], [[0.0], [11.0]]]) - shift
    costs = np.array([[4, 1.44, 0.64], [4, 0.01, 3.61], [8, 1, 1]])
    solutions = Solutions(costs, np.ones((3, 3)) / 3, level, np.ones(3, np.int64))

    best = leximin_best(FairRuns(problem, 300), solutions)

    assert best.costs[0] == pytest.approx([4, 1, 1])
    assert len(best.costs) == 4


def test_the_estimator_serves_the_second_worst_off_too():
    fitted = RawlsianKMeans(2, random_state=0, pooling=0).fit(
        X, sensitive_features=GROUPS
    )

    assert fitted.group_costs_ == pytest.approx([4, 1, 1])


@pytest.mark.parametrize("seed", range(8))
def test_with_means_no_single_move_is_better_in_the_leximin_order(seed):
    case = make_case(seed, 14, 3, 3)
    fitted = RawlsianKMeans(
        3, centers="mean", n_init=8, n_crossings=8, random_state=0, pooling=0
    )
    labels = fitted.fit(case.X, sensitive_features=case.groups).labels_
    costs = 10 - case.reference.utilities(labels)

    for moves in case.reference.singles(labels):
        after = case.reference.after(labels, moves)
        assert after is None or not is_better(10 - after, costs * (1 - 1e-8))


def test_small_data_with_three_groups_ends_at_the_leximin_optimum_of_brute_force():
    n_found = 0
    for seed in range(4):
        case = make_case(seed, 7, 2, 3)
        best = None
        for labels in all_assignments(7, 2):
            centers = leximin_centers(
                case.problem, labels.astype(np.int32), np.zeros((2, case.X.shape[1]))
            )
            costs = costs_of(case.X, case.groups, labels, centers)
            best = costs if best is None or is_better(costs, best) else best
        fitted = RawlsianKMeans(2, random_state=0, pooling=0)
        found = fitted.fit(case.X, sensitive_features=case.groups).group_costs_
        n_found += not is_better(best * (1 + 1e-6), found)
    assert n_found == 4


@pytest.mark.parametrize("columns", [["race"], ["sex", "race"]])
def test_on_adult_no_group_is_worse_off_than_the_worst_of_many_starts(columns):
    adult = load_adult(sample=500, random_state=576)
    options = {"max_distance": adult.max_distance, "random_state": 0}
    groups = np.column_stack([adult.table[name] for name in columns])
    data = {"X": adult.data, "sensitive_features": groups}

    fitted = RawlsianKMeans(5, **options, pooling=0).fit(**data)
    others = FairLloyd(5, n_init=200, **options).fit(**data)

    assert len(fitted.groups_) > 4
    assert fitted.group_costs_.max() <= others.group_costs_.max() * (1 + 1e-6)
