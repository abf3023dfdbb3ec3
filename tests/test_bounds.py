"""Bounds: a proved cost is never above a cost that can be reached."""

from __future__ import annotations

import numpy as np
import pytest

from rawlsian import RawlsianKMeans, group_bound, proved_bound
from rawlsian._search.fair_lloyd import FairRuns
from rawlsian.bounds import (
    proved,
    relaxation as _relaxation,
    triangle_cuts as _cuts,
)
from support.brute_force import least_cost_of_any_partition, partitions
from support.cases import make_case


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("rows", ["continuous", "grid", "duplicates"])
def test_the_proved_bound_is_never_above_the_optimum(k, rows):
    for seed in range(8):
        case = make_case(seed, 7, k, 2, rows=rows)
        best = least_cost_of_any_partition(case, k)

        bound = proved_bound(
            case.X, case.groups, n_clusters=k, max_iter=40, random_state=0
        )

        assert bound.is_proved
        assert bound.cost <= best * (1 + 1e-12) + 1e-12


def test_any_group_weights_give_a_bound():
    case = make_case(1, 7, 2, 2)
    best = least_cost_of_any_partition(case, 2)

    for weights in ([1, 0], [0, 1], [1, 1], [3, 1]):
        bound = proved_bound(
            case.X, case.groups, n_clusters=2, group_weights=weights, max_iter=40
        )
        assert bound.cost <= best * (1 + 1e-12) + 1e-12


def least_weighted_cost(X, weights, k):
    """Return the least cost of k-means with these weights, by brute force."""
    X, least = X - X[0], np.inf  # exact, also if all rows are far from the origin
    for labels in partitions(len(X), k):
        cost = 0.0
        for c in range(k):
            w = weights[labels == c]
            if w.sum() > 0:
                mean = w @ X[labels == c] / w.sum()
                cost += w @ ((X[labels == c] - mean) ** 2).sum(axis=1)
        least = min(least, cost)
    return least


@pytest.mark.parametrize("max_rows", [3, 4, 600])
@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e6])
def test_merged_or_far_away_it_is_no_higher_than_weighted_k_means(
    max_rows, offset, scale
):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        case = make_case(seed, 7, 2, 3, weights="floats")
        X = scale * case.X + offset
        lam = rng.dirichlet(np.ones(3)) * (rng.random(3) < 0.8) + [1e-3, 0, 0]
        sizes = np.bincount(case.groups, case.weights)
        weights = (lam / lam.sum() / sizes)[case.groups] * case.weights
        k = 1 + seed % 3

        bound = proved_bound(
            X, case.groups, n_clusters=k, sample_weight=case.weights,
            group_weights=lam, max_rows=max_rows, random_state=0,
        )  # fmt: skip

        assert bound.cost <= least_weighted_cost(X, weights, k)


def test_rows_that_are_all_equal_leave_no_bound():
    for value in (0.0, 0.1, 1e8 / 3):
        X = np.full((6, 2), value)
        bound = proved_bound(X, list("ababab"), n_clusters=2, random_state=0)
        assert bound.cost == 0


def test_merging_gives_the_bound_of_all_rows_for_a_multiplier_that_is_merged():
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(12, 3)), rng.dirichlet(np.ones(12))
    merged, masses, within = proved._merge(rows, weights, 5, np.random.RandomState(0))
    nearest = ((rows[:, None] - merged) ** 2).sum(axis=2).argmin(axis=1)
    spread = np.zeros((12, 5))
    spread[np.arange(12), nearest] = np.sqrt(weights / masses[nearest])
    some = rng.random((5, 5))
    M = some + some.T
    whole = _relaxation.Relaxation(rows, weights, np.zeros((3, 3)), 4)
    small = _relaxation.Relaxation(merged, masses, within, 4)

    by_all_rows = whole.bound(spread @ M @ spread.T)
    by_merged_rows = small.bound(np.pad(M, (0, 3)))

    assert by_merged_rows == pytest.approx(by_all_rows, abs=1e-7)


def test_triangle_inequalities_hold_for_every_clustering():
    rng = np.random.default_rng(0)
    r = np.sqrt(rng.dirichlet(np.ones(8)))
    cuts = np.array(
        [(i, j, m) for i in range(8) for j in range(8) for m in range(j + 1, 8)
         if i not in (j, m)]
    )  # fmt: skip
    weights = rng.random(len(cuts))
    violations, norms, matrix = (
        np.empty(len(cuts)),
        np.empty(len(cuts)),
        np.empty((8, 8)),
    )
    for labels in rng.integers(0, 3, size=(50, 8)):
        Z = np.zeros((8, 8))
        for c in range(3):
            inside = labels == c
            if inside.any():
                Z[np.ix_(inside, inside)] = 1 / (r[inside] ** 2).sum()

        _cuts.measure_cuts(Z, 1 / r, cuts, violations, norms)
        _cuts.add_up_cuts(1 / r, cuts, weights / norms, matrix)

        assert violations.max() < 1e-12
        # The matrix is minus the sum of the measured violations.
        assert (matrix * np.outer(r, r) * Z).sum() == pytest.approx(
            -weights @ violations
        )


def test_the_cuts_found_are_those_that_are_violated_most():
    rng = np.random.default_rng(0)
    some = rng.random((9, 9))
    Z = some + some.T
    found = np.empty((9, 5)), np.empty((9, 5), np.int64), np.empty((9, 5), np.int64)

    _cuts.find_cuts(Z, 0.01, 0, 9, *found)

    for i in range(9):
        violations = sorted(
            (
                Z[i, j] + Z[i, m] - Z[i, i] - Z[j, m]
                for j in range(9) for m in range(j + 1, 9) if i not in (j, m)
            ),
            reverse=True,
        )  # fmt: skip
        expected = [v if v > 0.01 else 0.0 for v in violations[:5]]
        assert found[0][i] == pytest.approx(expected)
        for v, j, m in zip(*(part[i] for part in found), strict=True):
            assert v == 0 or v == pytest.approx(Z[i, j] + Z[i, m] - Z[i, i] - Z[j, m])


def test_triangle_inequalities_make_the_bound_tighter():
    case = make_case(3, 60, 4, 2)
    fitted = RawlsianKMeans(4, random_state=0, pooling=0)
    cost = fitted.fit(case.X, sensitive_features=case.groups).group_costs_.max()
    options = {"n_clusters": 4, "group_weights": fitted.group_weights_, "tol": 0.0}

    without, with_them = (
        proved_bound(case.X, case.groups, max_iter=n, **options).cost
        for n in (_relaxation.FIRST_CUTS, 10 * _relaxation.FIRST_CUTS)
    )

    assert cost - with_them < 0.5 * (cost - without)


@pytest.fixture(scope="module")
def fitted(golden):
    """Return the best clusters known of the golden sample."""
    estimator = RawlsianKMeans(5, max_distance=8.0, random_state=0, pooling=0)
    return estimator.fit(golden.X, sensitive_features=golden.sex)


def test_on_adult_the_proved_bound_is_close(golden, fitted):
    cost, steps = fitted.group_costs_.max(), []

    bound = proved_bound(
        golden.X, golden.sex, n_clusters=5, group_weights=fitted.group_weights_,
        max_distance=8.0, max_iter=20, max_rows=300, callback=steps.append,
    )  # fmt: skip

    assert bound.kind == "semidefinite"
    assert 0.97 * cost < bound.cost <= cost
    assert bound.utility == pytest.approx(8.0 - bound.cost)
    assert [step.n_iter for step in steps] == [10, 20]


def test_merged_rows_still_give_a_bound(golden, fitted):
    cost = fitted.group_costs_.max()
    options = {"group_weights": fitted.group_weights_, "max_rows": 200}

    merged = proved_bound(golden.X, golden.sex, n_clusters=5, random_state=0, **options)

    assert merged.kind == "semidefinite"
    assert merged.n_rows <= 200
    assert 0.95 * cost < merged.cost < cost


def test_a_row_of_weight_two_is_two_rows():
    case = make_case(0, 20, 3, 2)
    weights = np.arange(20) % 3 + 1
    rows = np.repeat(np.arange(20), weights)
    options = {"n_clusters": 3, "group_weights": [0.4, 0.6], "max_iter": 30}

    weighted = proved_bound(case.X, case.groups, sample_weight=weights, **options)
    repeated = proved_bound(case.X[rows], case.groups[rows], **options)

    assert weighted.cost == pytest.approx(repeated.cost, rel=1e-6)


def test_ctrl_c_and_the_time_limit_leave_a_bound(golden):
    def stop(step):
        raise KeyboardInterrupt

    options = {"n_clusters": 5, "group_weights": [0.1, 0.9], "max_rows": 200}
    steps = []

    stopped = proved_bound(golden.X, golden.sex, callback=stop, **options)
    in_a_hurry = proved_bound(
        golden.X, golden.sex, time_limit=0, callback=steps.append, **options
    )

    assert stopped.is_proved
    assert stopped.cost > 0
    assert [step.n_iter for step in steps] == [1]
    assert in_a_hurry.cost > 0


@pytest.fixture
def ctrl_c_in_the_search(monkeypatch):
    """Raise KeyboardInterrupt in the second batch of runs."""
    run, calls = FairRuns.run, []

    def stop(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return run(*arguments, **options)

    monkeypatch.setattr(FairRuns, "run", stop)


def test_ctrl_c_in_the_search_for_lambda_leaves_a_spectral_bound(ctrl_c_in_the_search):
    case = make_case(0, 30, 3, 2)

    bound = proved_bound(case.X, case.groups, n_clusters=3, random_state=0)

    assert bound.is_proved
    assert bound.kind == "spectral"
    assert bound.cost > 0


def test_ctrl_c_leaves_no_group_bound_from_half_a_search(ctrl_c_in_the_search):
    case = make_case(0, 30, 3, 2)

    with pytest.raises(KeyboardInterrupt):
        group_bound(case.X, case.groups, n_clusters=3, random_state=0)


def test_no_group_is_served_better_than_the_group_bound_says(golden, fitted):
    bound = group_bound(
        golden.X, golden.sex, n_clusters=5, max_distance=8.0, random_state=0
    )

    assert not bound.is_proved
    assert fitted.group_utilities_.min() <= bound.utility
    # METHOD: the best found is within a thousandth of it on this sample.
    assert fitted.group_utilities_.min() > bound.utility - 0.001


def test_a_group_with_no_more_people_than_clusters_costs_nothing():
    bound = group_bound([[0.0], [1.0], [5.0]], list("aab"), n_clusters=2)

    assert bound.cost == 0


def test_projecting_keeps_the_sum_and_the_limits():
    values = _relaxation.clip_to_sum(np.array([-1.0, 0.2, 0.9, 3.0]), 2)

    assert values.sum() == pytest.approx(2)
    assert values.min() >= 0
    assert values.max() <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number, 1 or more, got 0"),
        ({"group_weights": [1]}, "group_weights must be 2 numbers that are not neg"),
        ({"group_weights": [1, -1]}, "group_weights must be 2 numbers"),
        ({"group_weights": [0, 0]}, "group_weights must be 2 numbers"),
        ({"n_clusters": 9}, "n_clusters=9 is more than the 8 rows of X"),
        ({"max_rows": 2.5}, "max_rows must be a whole number, 2 or more, got 2.5"),
        ({"max_iter": 0}, "max_iter must be a whole number, 1 or more, got 0"),
        ({"tol": -1}, "tol must be a number, 0 or more, got -1"),
        ({"time_limit": "a"}, "time_limit must be a number, 0 or more, got 'a'"),
    ],
)
def test_bad_input_is_told_in_one_sentence(options, message):
    case = make_case(0, 8, 2, 2)

    with pytest.raises(ValueError, match=message):
        proved_bound(case.X, case.groups, **{"n_clusters": 2, **options})
