"""Pooling: each group's cost is mixed with everyone's, everywhere alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.cluster import KMeans

from rawlsian import (
    RawlsianKMeans,
    RawlsianPostprocessor,
    frontier,
    group_bound,
    open_blocks,
    proved_bound,
    traverse,
)
from rawlsian._core.folds import deal_problem
from rawlsian._core.nearest import group_means, nearest
from rawlsian._core.pooling import Pooling
from rawlsian._core.problem import Problem
from rawlsian._estimators import pooling_cv
from rawlsian._search.crossing import random_centers
from rawlsian._search.fair_lloyd import FairRuns, Solutions
from rawlsian._search.leximin import leximin_centers
from support.brute_force import least_pooled_cost, partitions
from support.cases import POOLINGS, cases, make_case
from support.people import people

FEW = {"n_init": 16, "n_crossings": 32, "random_state": 0}


def by_definition(costs, people, pooling):
    """Mix each group's cost with everyone's by n / (n + m)."""
    own = np.zeros(len(people)) if np.isinf(pooling) else people / (people + pooling)
    return own * costs + (1 - own) * (people @ costs) / people.sum()


# --- The costs ---


@given(case=cases(poolings=POOLINGS), seed=st.integers(0, 2**32 - 1))
def test_pooled_costs_are_those_of_the_definition(case, seed):
    values = np.random.default_rng(seed).random(len(case.X))
    problem = case.problem
    costs = group_means(problem.pooled(0), values)

    expected = by_definition(costs, problem.people, case.pooling)

    assert group_means(problem, values) == pytest.approx(expected)
    assert problem.pooled_means(costs) == pytest.approx(expected)
    assert problem.shares @ expected == pytest.approx(
        problem.people @ costs / problem.people.sum()
    )


@pytest.mark.parametrize("strength", [0.5, 10.0, np.inf])
def test_a_pooled_problem_is_one_with_copies_of_all_rows_in_every_group(strength):
    case = make_case(2, 30, 3, 3, weights="floats")._replace(pooling=strength)
    _, own, everyone = Pooling.of(strength, case.problem.people)
    rows, groups = np.tile(np.arange(30), 3), np.repeat(np.arange(3), 30)
    share = everyone + own * (case.groups[rows] == groups)
    copied = Problem.from_arrays(
        case.X[rows], groups, sample_weight=case.weights[rows] * share
    )
    starts = random_centers(case.problem, 6, 3, np.random.RandomState(0))

    ours, theirs = (
        FairRuns(problem, 100).run(starts + case.problem.shift - problem.shift)
        for problem in (case.problem, copied)
    )

    assert ours.costs == pytest.approx(theirs.costs, rel=1e-7)
    assert ours.centers == pytest.approx(theirs.centers, abs=1e-5)


def test_leximin_centers_of_a_pooled_problem_are_those_of_its_copies():
    case = make_case(5, 24, 3, 3)._replace(pooling=4.0)
    _, own, everyone = case.problem.pooling
    rows, groups = np.tile(np.arange(24), 3), np.repeat(np.arange(3), 24)
    share = everyone + own * (case.groups[rows] == groups)
    copied = Problem.from_arrays(case.X[rows], groups, sample_weight=share)
    labels, centers = case.labels.astype(np.int32), np.zeros((3, case.X.shape[1]))

    ours = leximin_centers(case.problem, labels, centers)

    theirs = leximin_centers(copied, labels[rows], centers)
    assert ours == pytest.approx(theirs, abs=1e-5)


# --- Fits ---


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("strength", [0.5, 10.0])
def test_on_small_data_the_search_finds_the_pooled_optimum_of_brute_force(k, strength):
    for seed in range(6):
        case = make_case(seed, 8, k, 2)._replace(pooling=strength)
        fitted = RawlsianKMeans(k, pooling=strength, n_init=20, n_crossings=40,
                                random_state=0)  # fmt: skip
        fitted.fit(case.X, sensitive_features=case.groups)

        best = least_pooled_cost(case, k)

        assert fitted.pooled_costs_.max() == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(("k", "n_groups"), [(2, 2), (2, 3)])
def test_with_mean_centers_it_finds_the_pooled_optimum_of_brute_force(k, n_groups):
    n_found = 0
    for seed in range(6):
        case = make_case(seed, 7, k, n_groups)._replace(pooling=3.0)
        fitted = RawlsianKMeans(k, centers="mean", pooling=3.0, random_state=0)
        fitted.fit(case.X, sensitive_features=case.groups)
        reference = case.reference
        best = max(
            reference.pooled(reference.utilities(labels)).min()
            for labels in partitions(7, k)
        )
        reached = 10.0 - fitted.pooled_costs_.max()
        assert reached <= best + 1e-9
        n_found += reached > best - 1e-9

    assert n_found >= 5


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_infinite_pooling_is_k_means(golden, centers):
    theirs = KMeans(5, n_init=30, random_state=0).fit(golden.X).inertia_

    fitted = RawlsianKMeans(5, centers=centers, pooling=np.inf, random_state=0)
    fitted.fit(golden.X, sensitive_features=golden.sex)

    assert fitted.inertia_ <= theirs * (1 + 1e-9)
    assert fitted.pooled_costs_ == pytest.approx(fitted.inertia_ / len(golden.X))


def test_the_costs_that_a_fit_reports_are_those_of_the_groups_people(golden):
    fitted = RawlsianKMeans(5, pooling=300, **FEW)
    fitted.fit(golden.X, sensitive_features=golden.sex)

    problem = Problem.from_arrays(golden.X, golden.sex)
    costs = group_means(problem, nearest(golden.X, fitted.cluster_centers_)[1])
    assert fitted.group_costs_ == pytest.approx(costs)
    assert fitted.pooled_costs_ == pytest.approx(
        by_definition(costs, problem.people, 300)
    )
    assert fitted.pooling_ == 300


def test_the_stronger_the_pooling_the_lower_everyone_s_cost(golden):
    inertia = [
        RawlsianKMeans(5, pooling=pooling, random_state=0)
        .fit(golden.X, sensitive_features=golden.sex).inertia_
        for pooling in (0, 1000, 10_000, np.inf)
    ]  # fmt: skip

    assert inertia == sorted(inertia, reverse=True)
    assert inertia[-1] < inertia[0]


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_block_size_changes_nothing_in_a_pooled_fit(centers):
    X, groups = people(500)
    fits = [
        RawlsianKMeans(4, centers=centers, pooling=100, **FEW).fit(
            open_blocks(X, block_size=size), sensitive_features=groups
        )
        for size in (7, 65_536)
    ]

    assert (fits[0].cluster_centers_ == fits[1].cluster_centers_).all()
    assert (fits[0].labels_ == fits[1].labels_).all()


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_out_of_core_a_pooled_fit_is_nearly_that_in_memory(centers):
    X, groups = people(800)
    options = {"centers": centers, "pooling": 200, "random_state": 0}

    here, there = (
        RawlsianKMeans(4, **options).fit(rows, sensitive_features=groups)
        for rows in (X, open_blocks(X, block_size=120))
    )

    assert there.pooled_costs_.max() <= here.pooled_costs_.max() * 1.005
    problem = Problem.from_arrays(X, groups)
    assert there.pooled_costs_ == pytest.approx(
        by_definition(there.group_costs_, problem.people, 200)
    )


# --- Walks ---


@pytest.mark.parametrize("utility", ["assigned", "nearest"])
@pytest.mark.parametrize("operator", ["R1", "R2", "batch", "rawls"])
def test_each_step_of_a_pooled_walk_raises_the_lowest_pooled_utility(operator, utility):
    case = make_case(1, 60, 4, 3, utility=utility)._replace(pooling=20.0)

    way = traverse(case.X, case.labels, case.groups, operator=operator,
                   utility=utility, pooling=20.0)  # fmt: skip

    pooled = [case.problem.pooled_means(each).min() for each in way.utilities]
    assert (np.diff(pooled) > 0).all()
    assert way.n_iter > 0


def test_a_pooled_walk_reports_the_utilities_of_the_groups_people():
    case = make_case(1, 40, 3, 3)

    way = traverse(case.X, case.labels, case.groups, pooling=20.0, max_distance=10.0)

    assert way.utilities[-1] == pytest.approx(case.reference.utilities(way.labels))
    assert way.overall == pytest.approx(
        way.utilities @ np.bincount(case.groups) / len(case.X)
    )


def test_with_infinite_pooling_a_walk_raises_the_overall_utility():
    case = make_case(1, 40, 3, 3)

    way = traverse(case.X, case.labels, case.groups, pooling=np.inf)

    assert way.n_iter > 0
    assert (np.diff(way.overall) > 0).all()


def test_out_of_core_a_pooled_walk_raises_the_lowest_pooled_utility():
    X, groups = people(600)
    labels = KMeans(4, n_init=1, random_state=0).fit_predict(X)

    way = traverse(open_blocks(X, block_size=100), labels, groups, operator="batch",
                   pooling=300)  # fmt: skip

    problem = Problem.from_arrays(X, groups).pooled(300)
    pooled = [problem.pooled_means(each).min() for each in way.utilities]
    assert way.n_iter > 0
    assert (np.diff(pooled) > 0).all()


def test_a_postprocessor_pools_in_its_decisions(golden):
    start = KMeans(5, n_init=1, random_state=0).fit(golden.X)

    fitted = RawlsianPostprocessor(start, operator="R1", prefit=True, pooling=5000)
    fitted.fit(golden.X, sensitive_features=golden.sex)

    way = traverse(golden.X, start.labels_, golden.sex, operator="R1",
                   utility="nearest", pooling=5000)  # fmt: skip
    assert (fitted.trajectory_.labels == way.labels).all()
    assert fitted.pooling_ == 5000


# --- Bounds and the frontier ---


def test_the_pooled_proved_bound_is_never_above_the_pooled_optimum():
    for seed in range(72):  # each k, strength and kind of rows twice
        k, rng = 1 + seed % 3, np.random.default_rng(seed)
        strength = [0.5, 5.0, 100.0][seed // 3 % 3]
        rows = ["continuous", "grid", "duplicates", "far"][seed % 4]
        case = make_case(seed, 6, k, 2, rows=rows)._replace(pooling=strength)

        bound = proved_bound(
            case.X, case.groups, n_clusters=k, pooling=strength, max_iter=10,
            group_weights=rng.dirichlet(np.ones(2)),
        )  # fmt: skip

        best = least_pooled_cost(case, k)
        assert bound.cost <= best * (1 + 1e-12) + 1e-12
        assert bound.pooling == strength


def test_a_pooled_bound_is_near_the_pooled_cost_and_names_its_pooling(golden):
    fitted = RawlsianKMeans(5, pooling=2000, bound="proved", **FEW)
    fitted.fit(golden.X[:80], sensitive_features=golden.sex[:80])

    assert fitted.bound_.pooling == 2000
    assert fitted.bound_.known_cost == pytest.approx(fitted.pooled_costs_.max())
    assert 0 <= fitted.proved_gap_ < 0.1
    assert fitted.bound_.cost <= fitted.group_costs_.max()


def test_the_group_bound_of_a_pooled_problem_is_below_its_cost():
    X, groups = people(300)
    fitted = RawlsianKMeans(3, pooling=100, random_state=0)
    fitted.fit(X, sensitive_features=groups)

    bound = group_bound(X, groups, n_clusters=3, pooling=100, random_state=0)
    plain = group_bound(X, groups, n_clusters=3, random_state=0)

    assert bound.cost <= fitted.pooled_costs_.max() * (1 + 1e-9)
    assert bound.cost != plain.cost


def test_the_frontier_of_a_pooled_problem_ends_at_the_pooled_optimum(golden):
    options = {"n_clusters": 5, "n_points": 5, "random_state": 0}

    points = frontier(golden.X, golden.sex, pooling=2000, **options)

    fitted = RawlsianKMeans(5, pooling=2000, random_state=0)
    fitted.fit(golden.X, sensitive_features=golden.sex)
    sizes = np.bincount(golden.sex == "Male").astype(float)
    problem = Problem.from_arrays(golden.X, golden.sex)
    costs = problem.max_distance - points.utilities[-1]
    pooled = by_definition(costs, problem.people, 2000)
    assert sizes.sum() == len(golden.X)
    assert pooled.max() == pytest.approx(fitted.pooled_costs_.max(), rel=1e-6)


# --- Cross-validation ---


@settings(max_examples=50)
@given(case=cases(n=(2, 40), groups=(1, 6)), n_folds=st.integers(2, 7))
def test_folds_have_equally_many_rows_of_each_group(case, n_folds):
    folds = deal_problem(case.problem, n_folds, np.random.RandomState(0))

    assert ((folds < 0) == (case.weights == 0)).all()
    for g in range(case.problem.n_groups):
        sizes = np.bincount(folds[(case.groups == g) & (folds >= 0)],
                            minlength=n_folds)  # fmt: skip
        assert np.ptp(sizes) <= 1


def population(n, rng):
    """Return rows around three places."""
    return rng.normal(size=(n, 4)) + 6 * np.eye(4)[rng.integers(0, 3, n)]


def noisy_groups():
    """Return rows of one population, and groups of 380, 12 and 8 people."""
    X = population(400, np.random.default_rng(4))
    return X, np.repeat(["large", "small", "tiny"], [380, 12, 8])


def test_groups_that_are_only_noise_are_pooled_and_new_people_gain():
    X, groups = noisy_groups()
    new = population(5000, np.random.default_rng(0))

    pooled, plain = (
        RawlsianKMeans(3, pooling=pooling, **FEW).fit(X, sensitive_features=groups)
        for pooling in ("cv", 0)
    )

    choice = pooled.pooling_cv_
    assert pooled.pooling_ == choice.strength > 100
    assert choice.strengths[0] == 0
    assert np.isinf(choice.strengths[-1])
    assert choice.group_costs.shape == (len(choice.strengths), 3)
    assert pooled.score(new) > plain.score(new)


def test_held_out_costs_are_those_of_centers_that_did_not_see_the_person(monkeypatch):
    X, groups = noisy_groups()
    problem = Problem.from_arrays(X, groups)
    seen = []

    def path(part, fair, plain, strengths):
        seen.append(part)
        return [part.X.mean(axis=0, keepdims=True)] * len(strengths)

    ends = pooling_cv.search_ends(FairRuns(problem, 10), 1, np.random.RandomState(1))
    monkeypatch.setattr(pooling_cv, "_path", path)
    # A search would draw from the generator that deals the folds.
    monkeypatch.setattr(pooling_cv, "search_ends", lambda *given, **options: ends)
    choice = pooling_cv.choose_pooling(problem, 1, np.random.RandomState(0))

    costs = np.zeros(len(X))
    folds = deal_problem(problem, pooling_cv.N_FOLDS, np.random.RandomState(0))
    for fold in range(pooling_cv.N_FOLDS):
        center = X[folds != fold].mean(axis=0)
        out = folds == fold
        costs[out] = ((X[out] - center) ** 2).sum(axis=1)
    expected = [costs[groups == name].mean() for name in np.unique(groups)]
    assert choice.group_costs[0] == pytest.approx(expected)
    assert len(seen) == pooling_cv.N_FOLDS


def test_the_choice_is_the_same_twice_and_on_any_number_of_threads(monkeypatch):
    X, groups = noisy_groups()
    fits = []
    for threads in ("1", "3"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        fits.append(
            RawlsianKMeans(3, pooling="cv", **FEW).fit(X, sensitive_features=groups)
        )

    assert (fits[0].cluster_centers_ == fits[1].cluster_centers_).all()
    assert (fits[0].pooling_cv_.group_costs == fits[1].pooling_cv_.group_costs).all()


def test_a_group_of_one_person_can_be_cross_validated():
    X, groups = noisy_groups()
    groups = np.where(np.arange(400) == 399, "alone", groups)

    fitted = RawlsianKMeans(3, pooling="cv", **FEW).fit(X, sensitive_features=groups)

    assert np.isfinite(fitted.pooling_cv_.group_costs).all()


def test_more_groups_than_folds_can_be_cross_validated():
    X, _ = noisy_groups()

    fitted = RawlsianKMeans(2, pooling="cv", **FEW)
    fitted.fit(X[:60], sensitive_features=np.arange(60) % 9)

    assert fitted.pooling_cv_.group_costs.shape[1] == 9


def test_with_one_group_there_is_nothing_to_pool():
    X, _ = noisy_groups()

    fitted = RawlsianKMeans(2, pooling="cv", **FEW).fit(X)

    assert fitted.pooling_ == 0
    assert not hasattr(fitted, "pooling_cv_")


def test_rows_of_no_weight_are_as_if_they_were_not_there():
    X, groups = noisy_groups()
    weights = np.ones(400)
    weights[::7] = 0.0

    fitted = RawlsianKMeans(2, pooling="cv", **FEW)
    fitted.fit(X, sensitive_features=groups, sample_weight=weights)

    assert np.isfinite(fitted.pooling_cv_.expected_largest).all()


def test_a_postprocessor_can_choose_its_pooling():
    X, groups = noisy_groups()

    fitted = RawlsianPostprocessor(
        KMeans(3, n_init=1), operator="R1", pooling="cv", random_state=0
    ).fit(X, sensitive_features=groups)

    assert fitted.pooling_ == fitted.pooling_cv_.strength > 0


def test_as_many_clusters_as_rows_need_no_pooling():
    X, groups = np.arange(5.0)[:, None], list("aabbb")

    fitted = RawlsianKMeans(5, pooling="cv", **FEW).fit(X, sensitive_features=groups)

    assert fitted.pooling_ == 0
    assert fitted.inertia_ == 0


def test_weights_of_any_scale_give_the_same_choice():
    X, groups = noisy_groups()
    fits = [
        RawlsianKMeans(3, pooling="cv", **FEW).fit(
            X, sensitive_features=groups, sample_weight=np.full(400, weight)
        )
        for weight in (1.0, 2.0**-10)
    ]

    assert fits[1].pooling_ == pytest.approx(fits[0].pooling_ / 1024)
    assert fits[1].pooling_cv_.group_costs == pytest.approx(
        fits[0].pooling_cv_.group_costs
    )


def test_costs_that_are_only_rounding_choose_no_pooling():
    X = np.repeat([[0.1, 0.7], [1.3, 2.2]], 10, axis=0)

    fitted = RawlsianKMeans(2, **FEW).fit(X, sensitive_features=np.arange(20) % 3)

    assert fitted.pooling_ == 0


def test_strengths_too_large_to_add_up_are_infinite():
    assert Pooling.of(1e308, np.array([3.0, 4.0])).own == 0
    assert Pooling.of(1e308, np.array([3.0, 4.0])).everyone == 0.5


def test_if_a_fifth_of_the_rows_is_too_much_fewer_are_left_out():
    X, groups = np.arange(9.0)[:, None] ** 2, list("aabbbabbb")

    fitted = RawlsianKMeans(8, pooling="cv", **FEW).fit(X, sensitive_features=groups)

    assert len(fitted.pooling_cv_.strengths) > 1
    assert (fitted.pooling_cv_.group_costs > 0).all()


@pytest.mark.parametrize("pooling", [-1, "no", None, np.nan, True, "CV", [3]])
def test_bad_values_of_pooling_get_one_sentence(pooling):
    X, groups = noisy_groups()
    for fit in (
        lambda: RawlsianKMeans(2, pooling=pooling).fit(X, sensitive_features=groups),
        lambda: RawlsianPostprocessor(pooling=pooling).fit(
            X, sensitive_features=groups
        ),
        lambda: traverse(X, np.arange(400) % 2, groups, pooling=pooling),
        lambda: proved_bound(X, groups, n_clusters=2, pooling=pooling),
    ):
        with pytest.raises(ValueError, match="pooling must be a number of people"):
            fit()


@pytest.mark.parametrize(("copies", "n_carried"), [(1, 6), (6, pooling_cv.N_CARRIED)])
def test_with_few_rows_folds_start_from_all_solutions_else_from_the_best(
    monkeypatch, copies, n_carried
):
    X, groups = noisy_groups()
    X, groups = np.repeat(X, copies, axis=0), np.repeat(groups, copies)
    centers = np.random.default_rng(0).normal(size=(6, 2, X.shape[1]))
    fair = Solutions(np.zeros((6, 3)), np.zeros((6, 3)), centers, np.zeros(6, int))
    carried = []

    def path(part, fair, plain, strengths):
        carried.append((len(fair), len(plain)))
        return [part.X[:2]] * len(strengths)

    monkeypatch.setattr(pooling_cv, "_path", path)
    pooling_cv.choose_pooling(
        Problem.from_arrays(X, groups), 2, np.random.RandomState(0),
        pooling_cv.Ends(fair, centers),
    )  # fmt: skip

    assert carried == pooling_cv.N_FOLDS * [(n_carried, n_carried)]
