"""RawlsianKMeans and FairLloyd: optimal centers of a partition, and the search."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import assume, given, settings, strategies as st
from scipy.optimize import brentq, minimize
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rawlsian import FairLloyd, RawlsianKMeans, group_utilities, traverse
from rawlsian._core.problem import Problem
from rawlsian._engines import finishing
from rawlsian._search.crossing import random_centers
from rawlsian._search.fair_lloyd import FairRuns
from support.brute_force import least_cost_of_any_partition, partitions
from support.cases import NICE, cases, make_case

SEEDS = st.integers(0, 2**32 - 1)


def expected_to_fail(estimator):
    reason = (
        "as for KMeans: starts are drawn among rows, so that other rows mean other "
        "starts"
    )
    checks = "check_sample_weight_equivalence_on_{}_data"
    return {checks.format(kind): reason for kind in ("dense", "sparse")}


# scikit-learn's checks pass a y, which causes a warning.
@pytest.mark.filterwarnings("ignore:y is ignored")
@parametrize_with_checks(
    [
        FairLloyd(3, n_init=2),
        RawlsianKMeans(3, n_crossings=10),
        RawlsianKMeans(3, centers="mean", n_init=8, n_crossings=10, pooling=0),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


def costs_of(case, labels, centers):
    """Return the mean cost of each group."""
    distances = ((case.X - centers[labels]) ** 2).sum(axis=1)
    sizes = np.bincount(case.groups, case.weights)
    return np.bincount(case.groups, case.weights * distances) / sizes


def weighted_centers(case, labels, group_weights, old):
    """Return means in which a row of group g counts lambda_g / N_g; old if empty."""
    sizes = np.bincount(case.groups, case.weights)
    pull = case.weights * (np.asarray(group_weights) / sizes)[case.groups]
    centers = old.copy()
    for c in np.unique(labels):
        rows = labels == c
        if pull[rows].sum() > 0:
            centers[c] = np.average(case.X[rows], axis=0, weights=pull[rows])
    return centers


def nearest(X, centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)


def run(case, init, **options):
    """Make one run of Fair-Lloyd from these centers, which are not shifted."""
    runs = FairRuns(case.problem, options.pop("max_iter", 300))
    shift = case.problem.shift
    found = runs.run((init - shift)[None], **options).take([0])
    return found._replace(centers=found.centers + shift)


def some_centers(case, seed):
    rng = np.random.default_rng(seed)
    k = int(case.labels.max()) + 1
    rows = rng.choice(np.flatnonzero(case.weights > 0), k, replace=False)
    return case.X[rows]


# --- Fair centers of a partition ---


@settings(max_examples=80)
@given(cases(rows=NICE, n=(4, 12), k=(1, 3), groups=(1, 4)), SEEDS)
def test_fair_centers_are_as_good_as_those_of_a_convex_solver(case, seed):
    assume((case.weights > 0).sum() > case.labels.max())
    init = some_centers(case, seed)
    labels = nearest(case.X, init)

    found = run(case, init, max_iter=1)

    reached = costs_of(case, labels, found.centers[0]).max()
    assert found.objectives[0] == pytest.approx(reached, rel=1e-7, abs=1e-9)
    assert reached <= convex_solution(case, labels, init) * (1 + 1e-6) + 1e-9


def convex_solution(case, labels, init):
    """Minimise the largest cost over centers by a general solver."""
    shape, scale = init.shape, case.X.mean(axis=0)

    def costs(z):
        return costs_of(case, labels, z[:-1].reshape(shape) + scale)

    begin = weighted_centers(case, labels, np.ones(case.groups.max() + 1), init)
    t = costs_of(case, labels, begin).max()
    solved = minimize(
        lambda z: z[-1],
        np.append((begin - scale).ravel(), t),
        constraints={"type": "ineq", "fun": lambda z: z[-1] - costs(z)},
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-12},
    )
    return costs(solved.x).max()


@given(cases(rows=NICE, n=(4, 30), k=(1, 4), groups=(2, 4)), SEEDS)
def test_one_lambda_for_all_clusters_proves_the_centers_the_best(case, seed):
    # For every lambda on the simplex, the least of sum_g lambda_g cost_g over centers
    # is a bound on the largest cost of any centers for this partition.
    assume((case.weights > 0).sum() > case.labels.max())
    init = some_centers(case, seed)
    labels = nearest(case.X, init)

    found = run(case, init, max_iter=1)
    group_weights, centers = found.group_weights[0], found.centers[0]

    assert group_weights.sum() == pytest.approx(1)
    assert (group_weights > 0).all()
    used = np.unique(labels[case.weights > 0])
    expected = weighted_centers(case, labels, group_weights, centers)
    np.testing.assert_allclose(centers[used], expected[used], rtol=1e-6, atol=1e-6)
    costs = costs_of(case, labels, centers)
    assert group_weights @ costs >= costs.max() * (1 - 1e-8) - 1e-9


# --- Fair-Lloyd ---


def reference_fair_lloyd(case, centers):
    """Alternate nearest centers and a root search for lambda, for two groups."""
    labels = None
    for _ in range(300):
        old, labels = labels, nearest(case.X, centers)
        if old is not None and (labels == old).all():
            return labels
        start = centers

        def at(share, labels=labels, start=start):
            return weighted_centers(case, labels, [share, 1 - share], start)

        def difference(share, labels=labels, at=at):
            costs = costs_of(case, labels, at(share))
            return costs[0] - costs[1]

        low, high = 1e-9, 1 - 1e-9
        if difference(high) >= 0:
            share = high
        elif difference(low) <= 0:
            share = low
        else:
            share = brentq(difference, low, high, xtol=1e-15, rtol=1e-14)
        centers = at(share)
    raise AssertionError


@settings(max_examples=60)
@given(cases(rows=NICE, n=(6, 40), k=(1, 4), groups=(2, 2)), SEEDS)
def test_a_run_is_fair_lloyd_from_its_start(case, seed):
    assume((case.weights > 0).sum() > case.labels.max())
    init = some_centers(case, seed)
    assume(len(np.unique(nearest(case.X, init)[case.weights > 0])) == len(init))
    expected = reference_fair_lloyd(case, init)
    assume(len(np.unique(expected[case.weights > 0])) == len(init))

    found = run(case, init)

    assert nearest(case.X, found.centers[0]).tolist() == expected.tolist()


@given(cases(rows=NICE, n=(8, 30), k=(2, 4), groups=(1, 4)), SEEDS)
def test_every_iteration_lowers_the_largest_cost(case, seed):
    assume((case.weights > 0).sum() > case.labels.max())
    init = some_centers(case, seed)
    objectives = [
        run(case, init, max_iter=n).objectives[0] for n in range(1, 8)
    ]  # fmt: skip

    assert (np.diff(objectives) <= 1e-8 * objectives[0] + 1e-12).all()


def test_the_best_run_is_the_one_with_the_lowest_largest_cost(golden):
    fitted = FairLloyd(5, n_init=30, random_state=0)
    fitted.fit(golden.X, sensitive_features=golden.sex)

    problem = Problem.from_arrays(golden.X, golden.sex)
    rng = np.random.RandomState(0)
    init = random_centers(problem, 30, 5, rng)
    objectives = FairRuns(problem, 300).run(init).objectives
    assert fitted.group_costs_.max() == pytest.approx(objectives.min(), rel=1e-9)


def test_runs_are_not_chosen_by_the_rules_of_public_versions():
    # Some keep a run only if it is better for every group; some go by the sum of costs.
    case = make_case(2, 30, 3, 3)
    init = random_centers(case.problem, 10, 3, np.random.RandomState(0))
    costs = FairRuns(case.problem, 300).run(init).costs
    kept = costs[0]
    for run_costs in costs[1:]:
        kept = run_costs if (run_costs < kept).all() else kept
    by_sum = costs[np.argmin(costs.sum(axis=1))]

    fitted = FairLloyd(3, n_init=10, random_state=0)
    fitted.fit(case.X, sensitive_features=case.groups)

    assert fitted.group_costs_.max() < 0.99 * kept.max()
    assert fitted.group_costs_.max() < 0.99 * by_sum.max()


def test_a_line_search_for_each_cluster_would_be_worse():
    # Alone, each cluster would be equally far from both of its groups. Together it is
    # better to be near a in the first and near b in the second.
    X = np.array([0.0, 0, 0, 3, 100, 103, 103, 103])[:, None]
    groups = list("aaab") + list("abbb")

    fitted = FairLloyd(2, n_init=20, random_state=0).fit(X, sensitive_features=groups)

    alone = (1.5**2 * 4) / 4  # both centers in the middle
    assert fitted.group_costs_.max() < alone / 1.2
    assert fitted.group_weights_ == pytest.approx([0.5, 0.5], abs=1e-6)


def test_each_of_three_groups_that_are_level_has_a_weight():
    # At the corners of a triangle, and one cluster: nobody's weight can be dropped.
    X = np.array([[0.0, 0], [4, 0], [2, 3]])

    fitted = FairLloyd(1, random_state=0).fit(X, sensitive_features=list("abc"))

    assert (fitted.group_weights_ > 0.1).all()
    assert fitted.group_costs_ == pytest.approx([fitted.group_costs_[0]] * 3)


@pytest.mark.parametrize("n_groups", [4, 10, 20])
def test_many_groups_that_are_level_cost_the_same(n_groups):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 4, size=(3 * n_groups, 2)).astype(float)
        groups = np.arange(len(X)) % n_groups
        weights = rng.uniform(0.2, 3, len(X))

        found = FairLloyd(2, n_init=4, random_state=0)
        found.fit(X, sensitive_features=groups, sample_weight=weights)

        # The largest cost is within this of its minimum.
        proved = found.group_weights_ @ found.group_costs_
        assert found.group_costs_.max() - proved < 1e-7 * found.group_costs_.max()


def test_a_run_goes_on_after_a_cluster_was_founded_anew():
    X = np.array([4.0, 0, 0, 4, 4, 1])[:, None]
    problem = Problem.from_arrays(X, None)

    found = FairRuns(problem, 300).run((X[[0, 3, 4]] - problem.shift)[None])

    assert found.objectives[0] == 0  # there are three different rows


def test_a_run_above_the_ceiling_is_given_up(golden):
    problem = Problem.from_arrays(golden.X, golden.sex)
    runs = FairRuns(problem, 300)
    init = random_centers(problem, 8, 5, np.random.RandomState(0))

    whole, given_up = runs.run(init), runs.run(init, patience=2, ceiling=0.0)

    assert (given_up.n_iter == 2).all()
    assert (whole.n_iter > 2).all()


def test_a_center_that_nobody_is_near_goes_to_the_row_that_costs_most():
    case = make_case(0, 12, 2, 2)
    init = np.array([case.X[0], case.X[0] + 1000])

    found = run(case, init)

    assert len(np.unique(nearest(case.X, found.centers[0]))) == 2


# --- The search ---


@pytest.mark.parametrize("k", [2, 3])
def test_on_small_data_the_search_finds_what_brute_force_does(k):
    n_found = 0
    for seed in range(10):
        case = make_case(seed, 7, k, 2)
        fitted = RawlsianKMeans(k, n_init=20, n_crossings=40, random_state=0, pooling=0)
        fitted.fit(case.X, sensitive_features=case.groups)
        best = least_cost_of_any_partition(case, k)
        assert fitted.group_costs_.max() >= best - 1e-9
        n_found += fitted.group_costs_.max() <= best * (1 + 1e-6) + 1e-9

    assert n_found == 10


def test_the_search_does_better_than_as_many_independent_starts(golden):
    lone = FairLloyd(5, n_init=200, random_state=0)
    crossed = RawlsianKMeans(5, n_init=40, n_crossings=160, random_state=0, pooling=0)

    costs = [
        fitted.fit(golden.X, sensitive_features=golden.sex).group_costs_.max()
        for fitted in (lone, crossed)
    ]

    assert costs[1] < costs[0]


def test_with_one_group_it_is_k_means(golden):
    theirs = KMeans(5, n_init=30, random_state=0).fit(golden.X).inertia_

    ours = RawlsianKMeans(5, random_state=0, pooling=0).fit(golden.X)

    assert ours.inertia_ <= theirs * (1 + 1e-9)
    assert ours.group_weights_.tolist() == [1.0]


def test_what_it_stores_belongs_together(golden):
    fitted = RawlsianKMeans(
        5, n_crossings=32, max_distance=8.0, random_state=0, pooling=0
    )
    fitted.fit(golden.X, sensitive_features=golden.sex)

    X = golden.X
    assert fitted.labels_.tolist() == fitted.predict(X).tolist()
    assert fitted.labels_.tolist() == fitted.transform(X).argmin(axis=1).tolist()
    distances = fitted.transform(X).min(axis=1) ** 2
    for g, name in enumerate(fitted.groups_):
        cost = distances[golden.sex == name].mean()
        assert fitted.group_costs_[g] == pytest.approx(cost)
    np.testing.assert_allclose(fitted.group_utilities_, 8.0 - fitted.group_costs_)
    assert fitted.inertia_ == pytest.approx(distances.sum())
    score = fitted.score(X, sensitive_features=golden.sex)
    assert score == pytest.approx(-fitted.group_costs_.max())
    assert fitted.get_feature_names_out()[0] == "rawlsiankmeans0"


def test_a_row_of_weight_two_is_two_rows():
    case = make_case(0, 40, 3, 2)
    weights = np.random.default_rng(0).integers(1, 4, size=40)
    rows = np.repeat(np.arange(40), weights)
    options = {"n_init": 60, "n_crossings": 200, "random_state": 0}

    weighted = RawlsianKMeans(3, **options, pooling=0).fit(
        case.X, sensitive_features=case.groups, sample_weight=weights
    )
    repeated = RawlsianKMeans(3, **options, pooling=0).fit(
        case.X[rows], sensitive_features=case.groups[rows]
    )

    np.testing.assert_allclose(weighted.group_costs_, repeated.group_costs_, rtol=1e-8)


def test_threads_and_slots_change_nothing(golden, monkeypatch):
    def fit():
        fitted = RawlsianKMeans(4, n_crossings=64, random_state=1, pooling=0)
        return fitted.fit(golden.X, sensitive_features=golden.sex).cluster_centers_

    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    alone = fit()
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    monkeypatch.setattr("rawlsian._search.restarts.MOST_SLOTS", 3)

    np.testing.assert_array_equal(fit(), alone)


def test_three_groups_and_more_are_served(golden):
    groups = np.arange(len(golden.X)) % 5

    fitted = RawlsianKMeans(4, n_crossings=64, random_state=0, pooling=0)
    fitted.fit(golden.X, sensitive_features=groups)

    # Groups with weight have the same cost, the others less.
    weighs = fitted.group_weights_ > 1e-6
    costs = fitted.group_costs_
    np.testing.assert_allclose(costs[weighs], costs.max(), rtol=1e-6)
    assert (costs <= costs.max()).all()


def test_a_callback_is_told_how_far_it_is(golden):
    steps = []
    fitted = RawlsianKMeans(
        3,
        n_init=8,
        n_crossings=70,
        random_state=0,
        callback=steps.append,
        pooling=0,
    )

    fitted.fit(golden.X, sensitive_features=golden.sex)

    assert [step.n_done for step in steps] == [8, 40, 72, 78]
    assert {step.n_runs for step in steps} == {78}
    costs = [step.largest_cost for step in steps]
    assert costs == sorted(costs, reverse=True)
    assert fitted.group_costs_.max() == pytest.approx(costs[-1], rel=1e-8)


def test_ctrl_c_keeps_the_best_so_far(golden):
    def stop(step):
        if step.n_done > 40:
            raise KeyboardInterrupt

    fitted = RawlsianKMeans(3, n_init=8, random_state=0, callback=stop, pooling=0)

    with pytest.warns(ConvergenceWarning, match="the best found so far"):
        fitted.fit(golden.X, sensitive_features=golden.sex)

    assert fitted.cluster_centers_.shape == (3, 42)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number, 1 or more, got 0"),
        ({"n_clusters": 6}, "n_clusters=6 is more than the 5 rows of X"),
        ({"n_init": 0}, "n_init must be a whole number, 1 or more, got 0"),
        ({"n_crossings": -1}, "n_crossings must be a whole number, 0 or more, got -1"),
        ({"centers": "median"}, "centers must be 'free' or 'mean', got 'median'"),
        ({"max_iter": 1.5}, "max_iter must be a whole number, 1 or more, got 1.5"),
    ],
)
def test_bad_parameters_are_told_in_one_sentence(options, message):
    fitted = RawlsianKMeans(**{"n_clusters": 2, **options}, pooling=0)

    with pytest.raises(ValueError, match=message):
        fitted.fit(np.random.default_rng(0).normal(size=(5, 2)))


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_three_groups_can_be_served_perfectly(centers):
    X = np.repeat([[0.8], [0.6], [0.5]], 4, axis=0)

    fitted = RawlsianKMeans(3, centers=centers, random_state=0, pooling=0)
    fitted.fit(X, sensitive_features=list("abc") * 4)

    assert fitted.group_costs_ == pytest.approx(0, abs=1e-15)
    assert (fitted.group_costs_ >= 0).all()


def test_groups_given_as_y_are_warned_of():
    case = make_case(0, 20, 2, 2)

    with pytest.warns(UserWarning, match="give groups as fit"):
        RawlsianKMeans(2, n_init=4, n_crossings=0, pooling=0).fit(case.X, case.groups)


def test_the_groups_travel_through_a_pipeline():
    case = make_case(0, 40, 3, 2)
    with sklearn.config_context(enable_metadata_routing=True):
        fair = RawlsianKMeans(3, random_state=0, pooling=0).set_fit_request(
            sensitive_features=True
        )
        pipeline = make_pipeline(StandardScaler(), fair)
        pipeline.fit(case.X, sensitive_features=case.groups)

    alone = RawlsianKMeans(3, random_state=0, pooling=0)
    alone.fit(StandardScaler().fit_transform(case.X), sensitive_features=case.groups)
    assert pipeline[-1].groups_.tolist() == [0, 1]
    assert np.array_equal(pipeline[-1].labels_, alone.labels_)


def test_more_clusters_than_different_rows_leaves_nothing_to_pay():
    X = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)

    fitted = RawlsianKMeans(5, n_init=4, n_crossings=8, random_state=0, pooling=0)

    assert fitted.fit(X, sensitive_features=list("ab") * 6).inertia_ == 0


# --- Mean centers ---


@pytest.fixture(scope="module")
def golden_means(golden):
    """Return the fit of the golden sample with mean centers."""
    fitted = RawlsianKMeans(
        5, centers="mean", max_distance=8.0, random_state=0, pooling=0
    )
    return fitted.fit(golden.X, sensitive_features=golden.sex)


@pytest.mark.parametrize(("k", "n_groups"), [(2, 2), (3, 2), (2, 3)])
def test_on_small_data_mean_centers_find_what_brute_force_does(k, n_groups):
    n_found = 0
    for seed in range(10):
        case = make_case(seed, 7, k, n_groups)
        fitted = RawlsianKMeans(
            k, centers="mean", max_distance=10.0, random_state=0, pooling=0
        )
        fitted.fit(case.X, sensitive_features=case.groups)
        best = max(
            case.reference.utilities(labels).min() for labels in partitions(7, k)
        )
        reached = fitted.group_utilities_.min()
        assert reached <= best + 1e-9
        n_found += reached > best - 1e-9

    assert n_found >= 9  # benchmarks/bench_rawls.py: 98 to 100 % of 200


def test_what_it_stores_with_mean_centers_belongs_together(golden, golden_means):
    fitted = golden_means
    expected = group_utilities(golden.X, fitted.labels_, golden.sex, max_distance=8.0)
    np.testing.assert_allclose(fitted.group_utilities_, expected, rtol=1e-12)
    np.testing.assert_allclose(fitted.group_costs_, 8.0 - expected, rtol=1e-9)
    for c in range(5):
        mean = golden.X[fitted.labels_ == c].mean(axis=0)
        np.testing.assert_allclose(fitted.cluster_centers_[c], mean, atol=1e-12)
    own = fitted.cluster_centers_[fitted.labels_]
    assert fitted.inertia_ == pytest.approx(((golden.X - own) ** 2).sum())
    assert not hasattr(fitted, "group_weights_")


def test_with_mean_centers_nothing_that_rawls_tries_helps_further(golden, golden_means):
    walk = traverse(golden.X, golden_means.labels_, golden.sex, operator="rawls")

    assert walk.n_iter == 0


@pytest.mark.parametrize("stage", ["improved", "traverse_of"])
def test_ctrl_c_while_means_are_searched_keeps_the_best_so_far(stage, monkeypatch):
    case = make_case(0, 40, 3, 2)

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(finishing, stage, stop)
    fitted = RawlsianKMeans(
        3, centers="mean", random_state=0, bound="proved", pooling=0
    )
    with pytest.warns(ConvergenceWarning, match="the best found so far"):
        fitted.fit(case.X, sensitive_features=case.groups)

    assert fitted.labels_.max() == 2
    assert not hasattr(fitted, "bound_")  # Ctrl-C ends that, too


def test_ctrl_c_between_random_starts_keeps_the_best_so_far(golden):
    def stop(step):
        if step.n_done >= 128:
            raise KeyboardInterrupt

    fitted = FairLloyd(3, n_init=1000, random_state=0, callback=stop)

    with pytest.warns(ConvergenceWarning, match="the best found so far"):
        fitted.fit(golden.X, sensitive_features=golden.sex)

    some = FairLloyd(3, n_init=128, random_state=0)
    some.fit(golden.X, sensitive_features=golden.sex)
    assert np.array_equal(fitted.labels_, some.labels_)


def test_the_number_of_threads_does_not_change_mean_centers(monkeypatch):
    case = make_case(4, 120, 4, 3)

    def fit():
        fitted = RawlsianKMeans(4, centers="mean", n_init=16, n_crossings=32, pooling=0)
        fitted.set_params(random_state=0).fit(case.X, sensitive_features=case.groups)
        return fitted.labels_, fitted.group_costs_

    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    alone = fit()
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    for one, other in zip(fit(), alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_mean_centers_end_higher_than_r1_from_k_means(golden, golden_means):
    labels = KMeans(5, n_init=10, random_state=0).fit(golden.X).labels_
    walked = traverse(golden.X, labels, golden.sex, max_distance=8.0)

    assert golden_means.group_utilities_.min() > walked.utilities[-1].min()


def test_free_centers_serve_the_worst_off_group_no_worse_than_means(
    golden, golden_means
):
    free = RawlsianKMeans(5, max_distance=8.0, random_state=0, pooling=0)
    free.fit(golden.X, sensitive_features=golden.sex)

    assert free.group_utilities_.min() > golden_means.group_utilities_.min()


def test_mean_centers_take_weights():
    case = make_case(0, 30, 3, 2)
    weights = np.random.default_rng(0).integers(1, 4, size=30)

    fitted = RawlsianKMeans(
        3, centers="mean", max_distance=9.0, random_state=0, pooling=0
    )
    fitted.fit(case.X, sensitive_features=case.groups, sample_weight=weights)

    expected = group_utilities(
        case.X, fitted.labels_, case.groups, sample_weight=weights, max_distance=9.0
    )
    np.testing.assert_allclose(fitted.group_utilities_, expected, rtol=1e-12)
