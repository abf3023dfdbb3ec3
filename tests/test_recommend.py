"""Recommendation: effects on people, the trade-off and its bend, limits, rules."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import t as student
from sklearn.cluster import KMeans

from rawlsian import FairLloyd, open_blocks
from rawlsian._core.pooling import Pooling
from rawlsian._core.problem import Problem
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._recommend.advice import Wishes, _better_kmeans, advise
from rawlsian._recommend.choice import (
    Candidate,
    Limits,
    Objective,
    balance_of,
    lowest_limits,
    trade_off,
)
from rawlsian._recommend.effects import Effect, Served, Sums, sum_up
from rawlsian._recommend.new_people import Target, leave_out
from rawlsian._recommend.parts import PartsPopulation
from rawlsian._recommend.population import MemoryPopulation, searched_groups
from rawlsian._recommend.rules import (
    BestRestart,
    Clusters,
    Finder,
    Keep,
    KMeansRule,
    PartOfTheWay,
    Solver,
    TradeOff,
    Walk,
    is_complete,
)
from support.cases import cases, make_case

# --- Effects -----------------------------------------------------------------------


def effect_of(groups, weights, before, after, n_clusters=1, is_small=None):
    """Return the effect of labels and distances."""
    n_groups = int(max(groups)) + 1
    small = np.zeros(n_groups, bool) if is_small is None else np.array(is_small)
    served = [Served(np.array(labels), np.array(d, float)) for labels, d in
              (before, after)]  # fmt: skip
    sums = sum_up(
        np.array(groups, np.int32), np.array(weights, float), n_groups, n_clusters,
        *served, 10.0,
    )  # fmt: skip
    return Effect(sums, small)


def slow_interval(rows, confidence):
    """Return change and half width of (w, d0, d), by the formulas of a textbook."""
    rows = [row for row in rows if row[0] > 0]
    total = sum(w for w, _, _ in rows)
    before, after = (sum(row[0] * row[j] for row in rows) / total for j in (1, 2))
    if before == 0:
        return (0.0 if after == 0 else np.inf), 0.0
    ratio, effective = after / before, total**2 / sum(w * w for w, _, _ in rows)
    if len(rows) == 1:
        return 100 * (ratio - 1), np.inf
    spread = sum((w / total * (d - ratio * d0)) ** 2 for w, d0, d in rows)
    error = np.sqrt(spread * effective / (effective - 1)) / before
    quantile = student.ppf((1 + confidence) / 2, effective - 1)
    return 100 * (ratio - 1), 100 * quantile * error


def fewest_moved(weights, before, after, k):
    """Return the smallest weight of rows in another cluster, over all numberings."""
    return min(
        sum(w for w, a, b in zip(weights, before, after, strict=True) if p[b] != a)
        for p in permutations(range(k))
    )


@given(case=cases(n=(2, 12)), seed=st.integers(0, 99))
@settings(max_examples=60)
def test_effects_are_those_of_a_plain_loop(case, seed):
    rng, k = np.random.default_rng(seed), int(case.labels.max()) + 1
    n, problem = len(case.X), case.problem
    after = Clusters(rng.normal(size=(k, case.X.shape[1])), rng.integers(0, k, n))
    keep = Clusters(case.assignment.centers, case.labels)
    population = MemoryPopulation(problem, 0)
    effect = population.effects(keep, [after])[0]
    served = [population.served(each).distances for each in (keep, after)]
    confidence = 1 - 0.05 / problem.n_groups
    for g in range(problem.n_groups):
        rows = [
            (case.weights[i], served[0][i], served[1][i])
            for i in range(n)
            if problem.groups[i] == g
        ]
        change, reach = slow_interval(rows, confidence)
        assert effect.changes[g] == pytest.approx(change)
        ends = (change - reach, change + reach)
        assert effect.intervals[g] == pytest.approx(ends, abs=1e-5, rel=1e-6)
        nearer = sum(w for w, a, b in rows if b < a - 1e-8)
        assert effect.sums.nearer[g] == pytest.approx(nearer)
    moved = fewest_moved(case.weights, case.labels, after.labels, k)
    assert effect.moved.sum() == pytest.approx(moved)


def test_distances_are_those_of_a_plain_loop():
    case = make_case(1, 30, 3, 2)
    centers = np.random.default_rng(0).normal(size=(3, case.X.shape[1]))
    found = MemoryPopulation(case.problem, 0).served(Clusters(centers))
    for i, x in enumerate(case.X):
        distances = [float(((x - center) ** 2).sum()) for center in centers]
        assert found.labels[i] == int(np.argmin(distances))
        assert found.distances[i] == pytest.approx(min(distances))


def test_counts_follow_the_new_numbers_and_moved_are_the_rest():
    before, after = [0, 0, 0, 1, 1, 2], [2, 2, 1, 0, 0, 1]
    effect = effect_of([0, 0, 1, 1, 1, 1], np.ones(6), (before, np.ones(6)),
                       (after, np.ones(6)), 3)  # fmt: skip
    assert effect.numbers.tolist() == [1, 2, 0]
    assert effect.counts.tolist() == [[2, 0], [0, 2], [0, 2]]
    assert effect.moved.tolist() == [0, 1]


def test_nobody_moves_if_clusters_are_only_renamed():
    case = make_case(4, 50, 4, 3, weights="floats")
    renamed = np.array([2, 0, 3, 1])[case.labels]
    served = [(labels, np.ones(50)) for labels in (case.labels, renamed)]
    effect = effect_of(case.groups, case.weights, *served, 4)
    assert (effect.moved == 0).all()


def test_clusters_beside_themselves_change_nothing():
    X, weights = np.random.default_rng(0).uniform(0.1, 2, size=(2, 40, 3))
    problem = Problem.from_arrays(X, np.arange(40) % 3, sample_weight=weights[:, 0])
    keep = Clusters(X[:3])
    effect = MemoryPopulation(problem, 0).effects(keep, [keep])[0]
    assert (effect.changes == 0).all()
    assert effect.intervals == pytest.approx(0.0, abs=1e-5)
    assert not effect.moved.any()
    assert not effect.sums.nearer.any()
    assert not effect.sums.farther.any()


def test_a_small_group_has_a_change_but_no_interval_and_takes_no_part_in_bonferroni():
    labels, d0 = np.zeros(9, int), np.arange(1.0, 10)
    args = [0, 0, 0, 1, 1, 1, 2, 2, 2], np.ones(9), (labels, d0), (labels, d0[::-1])
    few = effect_of(*args, is_small=[False, False, True])
    alone = effect_of(*args, is_small=[False, True, True])
    assert np.isfinite(few.changes).all()
    assert np.isnan(few.intervals[2]).all()
    confidence = 1 - 0.05 / 2
    rows = list(zip(np.ones(3), d0[:3], d0[::-1][:3], strict=True))
    assert np.diff(few.intervals[0]) == pytest.approx(
        2 * slow_interval(rows, confidence)[1]
    )
    assert np.diff(alone.intervals[0]) == pytest.approx(
        2 * slow_interval(rows, 0.95)[1]
    )


def test_a_weight_of_two_moves_the_change_as_a_row_twice_but_not_the_certainty():
    d0, d = [1.0, 2.0, 3.0], [2.0, 2.0, 1.0]
    heavy = effect_of([0, 0, 0], [2, 2, 2], ([0] * 3, d0), ([0] * 3, d))
    light = effect_of([0, 0, 0], [1, 1, 1], ([0] * 3, d0), ([0] * 3, d))
    np.testing.assert_allclose(heavy.intervals, light.intervals)
    assert heavy.people.tolist() == [6.0]


def test_intervals_of_all_groups_hold_in_95_of_100_samples():
    rng, n_held, n_samples = np.random.default_rng(0), 0, 600
    groups = np.repeat([0, 1, 2], [30, 60, 200])
    labels = np.zeros(len(groups), int)
    for _ in range(n_samples):  # true changes: d = d0 (0.8, 1, 1.1) + noise
        d0 = rng.uniform(0.5, 1.5, len(groups))
        d = d0 * np.array([0.8, 1.0, 1.1])[groups] + rng.normal(0, 0.2, len(groups))
        effect = effect_of(groups, np.ones(len(groups)), (labels, d0), (labels, d))
        low, high = effect.intervals.T
        truth = np.array([-20.0, 0.0, 10.0])
        n_held += bool(((low <= truth) & (truth <= high)).all())
    assert 0.93 <= n_held / n_samples <= 0.975


def test_intervals_with_unequal_weights_hold_in_95_of_100_samples():
    rng, n_held, n_samples = np.random.default_rng(1), 0, 600
    labels, groups = np.zeros(80, int), np.zeros(80, int)
    for _ in range(n_samples):
        weights = rng.choice([0.0, 1.0, 4.0], 80)
        d0 = rng.uniform(0.5, 1.5, 80)
        d = 0.9 * d0 + rng.normal(0, 0.2, 80)
        effect = effect_of(groups, weights, (labels, d0), (labels, d))
        low, high = effect.overall_interval
        n_held += low <= -10 <= high
    assert 0.925 <= n_held / n_samples <= 0.975


def test_a_distance_that_is_rounding_is_none():
    rows = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 100, axis=0)
    problem = Problem.from_arrays(rows, np.tile(["a", "b"], 200))
    means = np.array([rows[100 * c : 100 * (c + 1)].mean(axis=0) for c in range(4)])
    apart, near = Clusters(means * (1 + 1e-15)), Clusters(rows[::100])
    effect = MemoryPopulation(problem, 0).effects(apart, [near])[0]
    assert effect.changes.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("weights", ["ones", "floats", "zeros"])
def test_parts_and_memory_find_the_same_effects(weights):
    case = make_case(3, 300, 3, 3, weights=weights)
    problem = case.problem
    large = OutOfCoreProblem.of(
        open_blocks(case.X, block_size=70), case.groups, sample_weight=case.weights,
        max_distance=10.0,
    )  # fmt: skip
    keep = Clusters(case.X[:3])
    others = [keep, Clusters(case.X[3:6]), Clusters(case.X[6:9], case.labels)]
    memory = MemoryPopulation(problem, 90)
    parts = PartsPopulation(large, 90, 3, 0)
    for ours, theirs in zip(memory.effects(keep, others),
                            parts.effects(keep, others), strict=True):  # fmt: skip
        for name in ("terms", "nearer", "farther", "common"):
            own, their = (getattr(each.sums, name) for each in (ours, theirs))
            np.testing.assert_allclose(own, their, rtol=1e-12, atol=1e-12)
        assert ours.numbers.tolist() == theirs.numbers.tolist()
        np.testing.assert_allclose(ours.intervals, theirs.intervals, atol=1e-5)


# --- Choice ------------------------------------------------------------------------


def point(costs, people=(100.0, 100.0), moved=0.0, before=None):
    """Return a candidate with these mean costs of groups, and that many moved."""
    people, costs = np.array(people), np.array(costs, float)
    before = costs if before is None else np.array(before, float)
    terms = np.zeros((8, len(people)))
    terms[0] = terms[1] = terms[7] = people
    terms[2], terms[3] = people * before, people * costs
    common = np.zeros((len(people), 2, 2))
    common[:, 0, 0], common[0, 0, 1] = people, moved
    common[0, 0, 0] -= moved
    none = np.zeros(len(people))
    parts = np.stack([terms, np.zeros_like(terms)])
    effect = Effect(Sums(parts, none, none, common), none.astype(bool))
    return Candidate(Keep(), Clusters(np.zeros((1, 1))), effect)


TWO = Objective(np.arange(2))


def random_points(seed, n=40, n_groups=3):
    """Return random candidates, some of them with equal costs."""
    rng = np.random.default_rng(seed)
    costs = rng.integers(1, 12, size=(n, n_groups)) / 4
    people = np.array([50.0, 100.0, 20.0])[:n_groups]
    return [point(each, people, float(rng.integers(1, 20)), costs[0]) for each in costs]


def is_dominated(one, others):
    """Return True if another is as good for every group, and better for one."""
    own = one.effect.costs
    return any(
        (other.effect.costs <= own).all() and (other.effect.costs < own).any()
        for other in others
    )


@pytest.mark.parametrize("pooling", [0.0, 30.0])
@pytest.mark.parametrize("seed", range(8))
def test_no_point_is_dominated_by_a_candidate_within_the_limits(seed, pooling):
    keep, *others = candidates = random_points(seed)
    pooled = Pooling.of(pooling, keep.effect.people)
    limits = Limits(0.08, 80.0)
    allowed = [each for each in others if limits.admit(each.effect)]
    points = trade_off(candidates, Objective(np.arange(3), pooled), limits)
    assert points[0] is keep
    assert not any(is_dominated(each, [keep, *allowed]) for each in points[1:])


@pytest.mark.parametrize("seed", range(8))
def test_the_trade_off_is_that_of_all_pairs(seed):
    keep, *others = candidates = random_points(seed)
    objective = Objective(np.arange(3))

    def pair(each):
        return each.effect.overall, objective.worst_cost(each.effect)

    slow = {
        pair(one)
        for one in others
        if pair(one)[1] < pair(keep)[1]
        and not any(
            pair(two)[0] <= pair(one)[0] and pair(two)[1] <= pair(one)[1]
            and pair(two) != pair(one)
            for two in others
        )
    }  # fmt: skip
    found = [pair(each) for each in trade_off(candidates, objective, Limits())[1:]]
    assert found == sorted(slow)


def test_gains_too_small_to_name_make_no_points_but_add_up():
    costs = [2.0, 2.0 - 1e-4, 2.0 - 3e-4, 2.0 - 3.5e-4, 2.0 - 6e-4]
    candidates = [point([c, 0.001 * i]) for i, c in enumerate(costs)]
    points = trade_off(candidates, TWO, Limits())
    assert points == [candidates[0], candidates[2], candidates[4]]


def test_balance_and_bend_by_hand():
    costs = [[10.0, 5.0], [9.0, 6.0], [8.0, 7.25], [7.9, 7.89]]
    points = [point(each) for each in costs]
    balance = balance_of(points, TWO)
    np.testing.assert_allclose(balance.gains, [0, 10, 20, 21])
    np.testing.assert_allclose(balance.costs, [0, 0, 100 / 60, 5.2666667])
    assert balance.bend == 2  # gain less cost: 0, 10, 18.3, 15.7


@pytest.mark.parametrize(("net", "bend"), [(9.4, 2), (9.6, 1)])
def test_the_bend_is_the_first_point_with_95_per_cent_of_the_best_net_gain(net, bend):
    costs = [[10.0, 10.0], [10 - net / 10, 10 + net / 10], [9.0, 11.0]]
    balance = balance_of([point(each, (100.0, 1.0)) for each in costs], TWO)
    balance = balance._replace(gains=np.array([0, net, 10.0]), costs=np.zeros(3))
    assert balance.bend == bend


def test_the_bend_is_to_keep_if_every_point_costs_more_than_it_brings():
    points = [point([10.0, 5.0]), point([9.9, 6.0]), point([9.0, 8.0])]
    assert balance_of(points, TWO).bend == 0


def test_balance_is_not_pooled_but_the_order_of_points_is():
    people = np.array([100.0, 100.0])
    pooled = Objective(np.arange(2), Pooling.of(1000.0, people))
    points = [point([10.0, 5.0]), point([9.0, 5.0])]
    assert pooled.worst_cost(points[0].effect) < 8
    assert balance_of(points, pooled).gains[1] == pytest.approx(10)


def test_with_infinite_pooling_nothing_but_a_better_k_means_is_better():
    objective = Objective(np.arange(2), Pooling.of(np.inf, np.array([100.0, 100.0])))
    dear, better = point([9.0, 6.5]), point([9.0, 5.0])
    points = trade_off([point([10.0, 5.0]), dear, better], objective, Limits())
    assert points[1:] == [better]


def test_small_groups_are_not_judged_however_badly_they_are_served():
    is_small, judged = searched_groups(np.array([5.0, 90.0, 40.0, 8.0]), 30)
    assert is_small.tolist() == [True, False, False, True]
    effect = point([100.0, 1.0, 2.0, 50.0], (5.0, 90.0, 40.0, 8.0)).effect
    assert judged.tolist() == [1, 2]
    assert Objective(judged).worst_cost(effect) == 2.0


def test_if_all_groups_are_small_the_largest_is_searched():
    is_small, judged = searched_groups(np.array([5.0, 7.0, 7.0]), 30)
    assert is_small.all()
    assert judged.tolist() == [1]


def test_people_of_small_groups_have_no_weight_in_the_search():
    groups = np.repeat(["few", "many", "some"], [3, 30, 20])
    X = np.random.default_rng(0).normal(size=(53, 2))
    memory = MemoryPopulation(Problem.from_arrays(X, groups), 10).of_search
    large = OutOfCoreProblem.of(open_blocks(X, block_size=20), groups)
    parts = PartsPopulation(large, 10, 2, 0).of_search
    for found in (memory, parts):
        assert found.group_names.tolist() == ["many", "some"]
        assert found.people.tolist() == [30, 20]
    assert memory.weights.tolist() == [0.0] * 3 + [1.0] * 50
    assert parts.members.sum(axis=0).tolist() == [30, 20]


def test_an_extreme_small_group_does_not_change_what_is_searched():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(600, 2)), rng.normal(6, 3, size=(20, 2))])
    groups = np.repeat(["f", "m", "x"], [200, 400, 20])
    with_x, without = (
        MemoryPopulation(Problem.from_arrays(X[:n], groups[:n]), 30).finder(
            3, "nearest", 0.0, 0
        )
        for n in (620, 600)
    )
    found, alone = (Solver().find(each).centers for each in (with_x, without))
    own = [max(cost(X[:600][groups[:600] == g], each) for g in "fm")
           for each in (found, alone)]  # fmt: skip
    assert own[0] == pytest.approx(own[1], rel=1e-3)


def test_k_means_that_is_kept_counts_people_of_small_groups():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.normal(9, 1, size=(20, 2))])
    groups = np.repeat(["f", "m", "x"], [100, 200, 20])
    finder = MemoryPopulation(Problem.from_arrays(X, groups), 30).finder(
        3, "nearest", 0.0, 0
    )
    best = KMeans(3, n_init=20, random_state=0, tol=0).fit(X).inertia_ / len(X)
    assert cost(X, finder.keep.centers) == pytest.approx(best, rel=1e-6)


# --- Limits ------------------------------------------------------------------------


def test_a_limit_admits_what_just_meets_it_and_no_more():
    effect = point([11.0, 5.0], moved=7.0, before=[10.0, 5.0]).effect
    assert Limits(7 / 200, 10.0).admit(effect)
    assert not Limits(6.9 / 200, 10.0).admit(effect)
    assert not Limits(7 / 200, 9.9).admit(effect)


def test_rounding_of_a_share_does_not_exceed_a_limit():
    effect = point([1.0, 1.0], (500.0, 500.0), moved=7.0).effect
    assert 0.7 / 100 < 7 / 1000
    assert Limits(0.7 / 100).admit(effect)


def test_small_groups_are_not_held_to_the_limit_on_loss():
    effect = point([20.0, 5.0], before=[10.0, 5.0]).effect
    assert not Limits(max_loss=5.0).admit(effect)
    assert Limits(max_loss=5.0).admit(Effect(effect.sums, np.array([True, False])))


@pytest.mark.parametrize("seed", range(8))
def test_limits_that_are_named_admit_a_better_point_and_none_lower_does(seed):
    candidates = random_points(seed)
    objective, limits = Objective(np.arange(3)), Limits(0.0, 0.0)
    for named in lowest_limits(candidates, objective, limits):
        assert len(trade_off(candidates, objective, named)) > 1
    limits = Limits(0.0, np.inf)
    (named,) = lowest_limits(candidates, objective, limits)
    assert len(trade_off(candidates, objective, named)) > 1
    lower = Limits(named.max_moved - 1e-6, np.inf)
    assert len(trade_off(candidates, objective, lower)) == 1


def test_limits_are_named_for_dominated_candidates_too():
    keep = [10.0, 5.0]
    far, near = point([8.0, 5.0], moved=90.0), point([9.5, 5.1], moved=10.0)
    assert is_dominated(near, [far])
    named = lowest_limits([point(keep), far, near], TWO, Limits(0.01))
    assert [each.max_moved for each in named] == [10 / 200]


# --- Advice ------------------------------------------------------------------------


def advice(X, groups, k, *, utility="nearest", pooling=0.0, limits=None, start=None,
           weights=None, min_group=1, seed=0):  # fmt: skip
    problem = Problem.from_arrays(X, groups, sample_weight=weights)
    limits = Limits() if limits is None else limits
    wishes = Wishes(k, utility, pooling, limits, "recommended", seed, True)
    population = MemoryPopulation(problem, min_group, start)
    return advise(population, wishes, lambda _: True, lambda *_: None)


NORMAL = np.random.default_rng(0).normal(size=(40, 3))
AB = np.tile(["a", "b"], 20)


@pytest.mark.parametrize("utility", ["nearest", "assigned"])
@pytest.mark.parametrize("rows", [
    np.ones((20, 3)), np.repeat(NORMAL[:4], 5, axis=0), NORMAL[:6], NORMAL[:2],
])  # fmt: skip
def test_no_more_different_rows_than_clusters_is_nothing_to_improve(rows, utility):
    found = advice(rows, AB[: len(rows)], min(len(rows), 6), utility=utility)
    assert found.reason == "nothing better"
    assert (found.points[0].effect.changes == 0).all()


def test_a_gain_that_too_few_people_are_left_to_measure_is_no_reason_to_change():
    X = NORMAL[:9] * np.where(AB[:9] == "a", 5.0, 1.0)[:, None]
    found = advice(X, AB[:9], 5)
    assert len(found.points) > 1
    assert not found.new_people
    assert (found.reason, found.recommended) == ("gain", 0)


@pytest.mark.parametrize("utility", ["nearest", "assigned"])
def test_no_candidate_is_better_for_everyone_than_what_is_kept(utility):
    found = advice(NORMAL, AB, 4, utility=utility)
    kept = found.points[0].effect.overall
    assert all(each.effect.overall >= kept * (1 - 1e-9) for each in found.points)


def test_k_means_of_a_sample_is_kept_only_if_it_is_better_for_all_people():
    population = MemoryPopulation(Problem.from_arrays(NORMAL, AB), 1)
    good, bad = Clusters(np.zeros((1, 3))), Clusters(np.full((1, 3), 9.0))
    for before, after in ((good, bad), (bad, good)):
        stub = SimpleNamespace(as_kmeans=lambda _, after=after: after, n_clusters=1)
        assert _better_kmeans(population, stub, before) is good


def test_the_finder_of_an_advice_does_not_search_again():
    found = advice(NORMAL, AB, 3)
    state = found.finder.rng.get_state()[2]
    assert len(found.finder.ends.plain)
    assert found.finder.rng.get_state()[2] == state


@pytest.mark.parametrize("utility", ["nearest", "assigned"])
def test_the_same_seed_gives_the_same_advice_on_any_number_of_threads(
    utility, monkeypatch
):
    def run():
        found = advice(NORMAL, AB, 3, utility=utility, pooling="cv")
        costs = [each.effect.costs for each in found.points]
        intervals = [each.gain_interval for each in found.new_people.values()]
        return np.array(costs), np.array(intervals), found.reason

    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    alone = run()
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    for ours, theirs in zip(run(), alone, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_far_from_the_origin_have_the_same_advice():
    X = NORMAL.round(2)
    near = advice(X, AB, 3)
    far = advice(X + 2.0**20, AB, 3)
    np.testing.assert_allclose(
        far.points[-1].effect.costs, near.points[-1].effect.costs, rtol=1e-6
    )


@pytest.mark.parametrize("utility", ["nearest", "assigned"])
@pytest.mark.parametrize(("k", "groups", "reason"), [
    (3, np.array(["a"] * 40), "one group"), (3, np.arange(40) // 5, None),
    (1, AB, None),
])  # fmt: skip
def test_odd_tables_have_advice(k, groups, reason, utility):
    found = advice(NORMAL, groups, k, utility=utility)
    assert reason in (None, found.reason)
    assert not np.isnan(found.points[-1].effect.changes).any()


@pytest.mark.parametrize("utility", ["nearest", "assigned"])
def test_rows_without_weight_change_no_figure(utility):
    weights = np.repeat([1.0, 0.0], [36, 4])
    X = NORMAL.copy()
    X[36:] *= 50
    all_rows = advice(X, AB, 3, utility=utility, weights=weights)
    few = advice(X[:36], AB[:36], 3, utility=utility)
    kept = [each.points[0].effect.costs for each in (all_rows, few)]
    np.testing.assert_allclose(*kept)
    assert all_rows.points[0].effect.people.tolist() == [18, 18]


@pytest.mark.parametrize("utility", ["nearest", "assigned"])
def test_every_point_is_within_the_limits_and_lower_limits_are_named(utility):
    limits, start = Limits(0.2, 5.0), (np.arange(40) % 3).astype(np.int32)
    found = advice(NORMAL, AB, 3, utility=utility, limits=limits, start=start)
    assert all(limits.admit(each.effect) for each in found.points)
    tight = advice(NORMAL, AB, 3, utility=utility, limits=Limits(0, 0), start=start)
    assert tight.reason == "limits"
    raised = advice(NORMAL, AB, 3, utility=utility, limits=tight.needed[0], start=start)
    assert len(raised.points) > 1


# --- Rules -------------------------------------------------------------------------


def finder_of(X, groups, k, utility="nearest", start=None):
    problem = Problem.from_arrays(X, groups)
    return MemoryPopulation(problem, 1, start).finder(k, utility, 0.0, 0)


def cost(X, centers, weights=None):
    distances = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1)
    return float(np.average(distances, weights=weights))


@pytest.fixture(scope="module")
def blobs():
    """Rows around nine places, which one group has farther apart, and a finder."""
    rng = np.random.default_rng(5)
    groups = np.repeat(["a", "b"], [200, 60])
    X = rng.normal(size=(260, 2)) + 4 * rng.integers(0, 3, size=(260, 2))
    X[200:] *= 1.4
    return X, groups, finder_of(X, groups, 5)


def worst(X, groups, centers):
    return max(cost(X[groups == g], centers) for g in ("a", "b"))


def test_what_is_kept_is_as_good_as_the_best_of_50_runs_of_scikit_learn(blobs):
    X, _, finder = blobs
    best = KMeans(5, n_init=50, random_state=0, tol=0).fit(X)
    kept = cost(X, Keep().find(finder).centers)
    assert kept <= cost(X, best.cluster_centers_) * (1 + 1e-9)


def test_the_solver_serves_the_worst_off_no_worse_than_fair_lloyd(blobs):
    X, groups, finder = blobs
    fair = FairLloyd(5, n_init=20, random_state=0).fit(X, sensitive_features=groups)
    ours = worst(X, groups, Solver().find(finder).centers)
    assert ours <= worst(X, groups, fair.cluster_centers_) * (1 + 1e-9)


def test_the_trade_off_starts_at_k_means(blobs):
    X, _, finder = blobs
    found, kept = (rule.find(finder).centers for rule in (TradeOff(0.0), Keep()))
    assert cost(X, found) == pytest.approx(cost(X, kept), rel=1e-9)


def test_the_trade_off_ends_at_the_weights_of_the_solver(blobs):
    X, groups, finder = blobs
    shares = finder.ends.shares
    weights = (shares / np.array([200, 60]))[(groups == "b").astype(int)]
    found, solver = (rule.find(finder).centers for rule in (TradeOff(1.0), Solver()))
    assert cost(X, found, weights) <= cost(X, solver, weights) * (1 + 1e-9)


def test_the_best_restart_is_a_run_of_k_means_that_was_kept(blobs):
    X, groups, finder = blobs
    ours = worst(X, groups, BestRestart().find(finder).centers)
    assert ours <= min(worst(X, groups, each) for each in finder.ends.plain) + 1e-12


def test_no_part_of_the_way_is_to_keep_and_all_of_it_is_the_other(blobs):
    _, _, finder = blobs
    none = PartOfTheWay(Solver(), 0.0).find(finder).centers
    whole = PartOfTheWay(Solver(), 1.0).find(finder).centers
    np.testing.assert_array_equal(none, finder.keep.centers)
    solver = Solver().find(finder).centers
    np.testing.assert_allclose(np.sort(whole, axis=0), np.sort(solver, axis=0))


@pytest.mark.parametrize("utility", ["nearest", "assigned"])
@pytest.mark.parametrize("operator", ["rawls", "batch"])
def test_a_walk_stays_within_its_limit(blobs, operator, utility):
    X, groups, _ = blobs
    finder = finder_of(X, groups, 4, utility)
    begun = finder.labels_of(finder.keep)
    free, bound = (Walk(operator, most).find(finder) for most in (1.0, 0.02))
    assert (finder.labels_of(free) != begun).mean() > 0.02
    assert (finder.labels_of(bound) != begun).mean() <= 0.02


def test_members_serve_people_by_the_means_of_their_clusters(blobs):
    X, groups, _ = blobs
    finder = finder_of(X, groups, 5, "assigned")
    for rule in (Keep(), Solver(), TradeOff(0.5), BestRestart()):
        centers, labels = rule.find(finder)
        for c in range(5):
            np.testing.assert_allclose(centers[c], X[labels == c].mean(axis=0))


def test_a_cluster_with_people_of_no_weight_only_is_not_complete():
    problem = Problem.from_arrays(
        [[0.0], [1.0], [9.0]], list("aba"), sample_weight=[1, 1, 0]
    )
    assert is_complete(problem, np.array([0, 1, 1], np.int32), 2)
    assert not is_complete(problem, np.array([0, 0, 1], np.int32), 2)


# --- People who are left out -------------------------------------------------------


def left_out(X, groups, k, rule, start=None, weights=None):
    """Leave people out of the clusters kept and of a rule."""
    problem = Problem.from_arrays(X, groups, sample_weight=weights)
    rng = np.random.RandomState(0)
    finder = Finder(problem, problem, k, "nearest", start, rng)
    keep, target = (Target(each, each.find(finder).centers) for each in (Keep(), rule))
    found = leave_out(problem, finder, start, keep, [target], 0, lambda *_: None)
    return None if found is None else found[0]


def test_the_clusters_kept_gain_nothing_on_themselves(blobs):
    X, groups, _ = blobs
    found = left_out(X, groups, 5, Keep())
    assert (found.gain, found.gain_interval) == (0.0, (0.0, 0.0))
    assert not found.is_clear_gain
    np.testing.assert_array_equal(found.kept, found.found)


def test_costs_of_people_left_out_are_above_those_of_people_in_the_table(blobs):
    X, groups, finder = blobs
    found = left_out(X, groups, 5, Solver())
    assert found.found.max() > worst(X, groups, Solver().find(finder).centers)
    assert found.n_rows == len(X)


@pytest.mark.parametrize(
    "rule", [KMeansRule(), BestRestart(), TradeOff(0.5), Solver(), Walk("batch"),
             PartOfTheWay(Solver(), 0.5)], ids=lambda each: each.name
)  # fmt: skip
def test_every_rule_finds_its_clustering_again_near_its_own_centers(blobs, rule):
    _, _, finder = blobs
    found = rule.find(finder).centers
    keep = finder.keep
    same = replace(finder, kept=keep, found_ends=finder.ends, origin=keep.centers)
    again = rule.find_near(same, found).centers
    np.testing.assert_allclose(again, found, atol=1e-6)


def test_a_group_may_be_missing_in_a_part():
    groups = np.array(["alone", *AB[:39]])
    found = left_out(NORMAL, groups, 3, Solver())
    assert found.group_names.tolist() == ["a", "alone", "b"]
    assert np.isfinite([*found.kept, *found.found, *found.gain_interval]).all()


@pytest.mark.parametrize(("n", "k"), [(4, 1), (9, 4), (12, 6)])
def test_too_few_rows_are_not_left_out(n, k):
    assert left_out(NORMAL[:n], AB[:n], k, Solver()) is None


def test_a_start_with_a_cluster_of_one_cannot_be_left_out():
    start = np.array([1] + [0] * 39, np.int32)
    assert left_out(NORMAL, AB, 2, Solver(), start=start) is None


def test_rows_without_weight_are_never_left_out():
    weights = np.repeat([1.0, 0.0], [30, 10])
    ours = left_out(NORMAL, AB, 2, Solver(), weights=weights)
    assert ours.n_rows == 30
