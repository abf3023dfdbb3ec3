"""Bounds: a proved cost is never above a cost that can be reached."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from rawlsian import RawlsianKMeans, check_certificate, group_bound, proved_bound
from rawlsian._search.fair_lloyd import FairRuns
from rawlsian.bounds import kernels
from rawlsian.bounds.ascent import Plane, highest
from rawlsian.bounds.branching import Node, children
from rawlsian.bounds.leading import LeadingPairs, clip_to_sum, off_vector
from rawlsian.bounds.relaxation import (
    EVALUATE_EVERY,
    FIRST_CUTS,
    PATIENCE,
    Multiplier,
    Relaxation,
)
from rawlsian.bounds.rows import WeightedRows, merge, merged
from support.brute_force import least_cost_of_any_partition, partitions
from support.cases import make_case


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("rows", ["continuous", "grid", "duplicates"])
def test_the_proved_bound_is_never_above_the_optimum(k, rows):
    for seed in range(2):
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
    for seed in range(3):  # each number of clusters
        rng = np.random.default_rng(seed)
        case = make_case(seed, 7, 2, 3, weights="floats")
        X = scale * case.X + offset
        lam = rng.dirichlet(np.ones(3)) * (rng.random(3) < 0.8) + [1e-3, 0, 0]
        sizes = np.bincount(case.groups, case.weights)
        weights = (lam / lam.sum() / sizes)[case.groups] * case.weights
        k = 1 + seed % 3

        bound = proved_bound(
            X, case.groups, n_clusters=k, sample_weight=case.weights,
            group_weights=lam, max_rows=max_rows, max_iter=40, random_state=0,
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
    few, within = merge(WeightedRows(rows, weights), 5, np.random.RandomState(0))
    nearest = ((rows[:, None] - few.rows) ** 2).sum(axis=2).argmin(axis=1)
    spread = np.zeros((12, 5))
    spread[np.arange(12), nearest] = np.sqrt(weights / few.weights[nearest])
    some = rng.random((5, 5))
    M = some + some.T
    whole = Relaxation(rows, weights, 4)
    small = Relaxation(few.rows, few.weights, 4, within)

    by_all_rows = whole.bound(as_multiplier(spread @ M @ spread.T))
    by_merged_rows = small.bound(as_multiplier(M))

    assert by_merged_rows == pytest.approx(by_all_rows, abs=1e-5)  # entries: float32


def as_multiplier(N):
    """Return N in compact form, without cuts."""
    entries = N[np.triu_indices(len(N))].astype(np.float32)
    return Multiplier(entries, np.empty((0, 4), np.int32), np.empty(0, np.float32))


def test_cuts_hold_for_every_clustering():
    rng = np.random.default_rng(0)
    r = np.sqrt(rng.dirichlet(np.ones(8)))
    pairs = [(i, j, m, -1) for i, j, m in permutations(range(8), 3) if j < m]
    triples = [c for c in permutations(range(8), 4) if c[1] < c[2] < c[3]]
    cuts = np.array(pairs + triples)
    weights = rng.random(len(cuts))
    for labels in rng.integers(0, 3, size=(50, 8)):
        Y = np.zeros((8, 8))
        for c in range(3):
            inside = labels == c
            if inside.any():
                part = np.where(inside, r, 0)
                Y += np.outer(part, part) / (part @ part)
        matrix, raised = np.zeros((8, 8)), weights.copy()

        kernels.weigh_cuts(Y - np.outer(r, r), 1 / r, cuts, np.ones(len(cuts)), raised)
        kernels.add_cuts(1 / r, cuts, weights, matrix)

        slack = -np.array([violation(Y / np.outer(r, r), *cut) for cut in cuts])
        assert slack.min() > -1e-12
        assert raised == pytest.approx(np.maximum(weights - slack, 0))
        assert (matrix * Y).sum() == pytest.approx(weights @ slack)


def violation(Z, i, *others):
    """Return by how much Z violates cut (i, T)."""
    T = [t for t in others if t >= 0]
    within = sum(Z[s, t] for s, t in combinations(T, 2))
    return sum(Z[i, t] for t in T) - within - Z[i, i]


def test_norms_of_cuts_are_those_of_their_matrices():
    r = np.array([0.3, 0.5, 0.2, 0.7, 0.1])
    for cut in ((0, 1, 2, -1), (3, 0, 2, 4)):
        cuts, matrix = np.array([cut]), np.zeros((5, 5))
        kernels.add_cuts(1 / r, cuts, np.ones(1), matrix)
        expected = (matrix**2).sum()
        assert kernels.squared_norms(1 / r, cuts)[0] == pytest.approx(expected)


def cuts_by_search(Z, i, least, slack, n_kept, n_most):
    """Return the cuts of row i and their violations, plainly."""
    rest = [j for j in range(len(Z)) if j != i]
    limit = max(least, Z[i, i] - max(Z[i, rest]) - slack)
    near = [j for j in rest if Z[i, j] > limit]
    pairs = [T for T in combinations(near, 2) if violation(Z, i, *T) > -slack]
    found = {}
    for T in sorted(pairs, key=lambda T: -violation(Z, i, *T))[:n_kept]:
        while len(T) < n_most:
            more = max(
                ((*T, t) for t in near if t not in T),
                key=lambda more: violation(Z, i, *more), default=T,
            )  # fmt: skip
            if violation(Z, i, *more) <= violation(Z, i, *T) + least:
                break
            T = more
        if violation(Z, i, *T) > least:
            found[tuple(sorted(T))] = violation(Z, i, *T)
    return found


@pytest.mark.parametrize("n_most", [2, 3, 4])
@pytest.mark.parametrize("slack", [0.0, 0.3])
def test_the_cuts_found_are_pairs_that_are_violated_most_extended(n_most, slack):
    rng = np.random.default_rng(n_most)
    some = rng.random((9, 9)) ** 2
    Z = some + some.T
    violations, others = np.empty((9, 5)), np.empty((9, 5, n_most), np.int32)

    kernels.find_cuts(Z, 0.01, slack, violations, others)

    for i in range(9):
        found = {
            tuple(int(t) for t in T if t >= 0): v
            for T, v in zip(others[i], violations[i], strict=True) if v > 0
        }  # fmt: skip
        expected = cuts_by_search(Z, i, 0.01, slack, 5, n_most)
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("n_free", [0, 2])
def test_one_pass_makes_the_step_of_the_alternating_projections(n_free):
    rng = np.random.default_rng(n_free)
    n, a, step = 7, 1.8, 0.3
    projection, K, S = (some + some.T for some in rng.normal(size=(3, n, n)))
    r, apart = rng.random(n), np.array([[0, 1], [2, 4]])
    is_free = np.zeros((n, n), bool)
    is_free[n - n_free :] = is_free[:, n - n_free :] = True
    is_apart = np.zeros((n, n), bool)
    is_apart[[0, 1, 2, 4], [1, 0, 4, 2]] = True
    after, M = S.copy(), np.empty((n, n))

    kernels.advance(projection, r, K, step, a, n - n_free, apart, after, M)

    def positive(S):
        return np.where(is_free, S, np.where(is_apart, 0.0, np.maximum(S, 0)))

    multiplier = S - positive(S)
    expected = a * (projection + np.outer(r, r)) + (1 - a) * positive(S) + multiplier
    assert after == pytest.approx(expected)
    multiplier = expected - positive(expected)
    assert pytest.approx(positive(expected) - multiplier + K / step) == M


def test_warm_vectors_give_nearly_the_projection_of_all_eigenvalues():
    rng = np.random.default_rng(0)
    r = np.sqrt(rng.dirichlet(np.ones(300)))
    factors, noise = rng.normal(size=(300, 6)), rng.normal(size=(300, 300))
    M = factors @ factors.T / 300 + 0.001 * (noise + noise.T)
    warm = LeadingPairs(r, rng.normal(size=(300, 20)), 4)
    for _ in range(5):
        projected = warm.project(M)

    values, vectors = np.linalg.eigh(off_vector(M, r))
    clipped = clip_to_sum(values, 4)

    assert warm.vectors.shape[1] < 40
    assert projected == pytest.approx((vectors * clipped) @ vectors.T, abs=1e-4)
    assert projected @ r == pytest.approx(np.zeros(300), abs=1e-12)


def clipped_by_bisection(values, total):
    """Return values less a constant, clipped, that sum to total, by halving."""
    low, high = values.min() - 1.0, values.max()
    for _ in range(100):
        middle = 0.5 * (low + high)
        if np.clip(values - middle, 0, 1).sum() > total:
            low = middle
        else:
            high = middle
    return np.clip(values - high, 0, 1)


def test_values_are_clipped_to_their_sum():
    rng = np.random.default_rng(0)
    for seed in range(200):
        values = rng.normal(size=rng.integers(1, 12)) * 10 ** rng.uniform(-2, 2)
        if seed % 3 == 0:
            values = values.round()  # ties
        total = rng.integers(1, len(values) + 1)

        clipped = clip_to_sum(values, total)

        assert clipped == pytest.approx(clipped_by_bisection(values, total), abs=1e-12)
        assert clipped.sum() == pytest.approx(total)


def test_a_relaxation_ends_when_it_hardly_gains_on_the_target():
    case = make_case(3, 30, 4, 2)
    weights = np.full(30, 1 / 30)

    n_iter = []
    for share in (0.0, 0.5):
        relaxation = Relaxation(case.X, weights, 4)
        steps = list(relaxation.iterate(400, 0.0, target=1e6, share=share))
        n_iter.append(steps[-1][0])

    assert n_iter == [400, EVALUATE_EVERY * PATIENCE]


def test_cuts_make_the_bound_tighter():
    case = make_case(3, 60, 4, 2)
    fitted = RawlsianKMeans(4, random_state=0, pooling=0)
    cost = fitted.fit(case.X, sensitive_features=case.groups).group_costs_.max()
    options = {"n_clusters": 4, "group_weights": fitted.group_weights_, "tol": 0.0}

    without, with_them = (
        proved_bound(case.X, case.groups, max_iter=n, **options).cost
        for n in (FIRST_CUTS, 20 * FIRST_CUTS)
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
        max_distance=8.0, max_iter=40, max_rows=300, callback=steps.append,
    )  # fmt: skip

    assert bound.kind == "semidefinite"
    assert 0.97 * cost < bound.cost <= cost
    assert bound.utility == pytest.approx(8.0 - bound.cost)
    assert [step.n_iter for step in steps] == [20, 40]


def test_merged_rows_still_give_a_bound(golden, fitted):
    cost = fitted.group_costs_.max()
    options = {"group_weights": fitted.group_weights_, "max_rows": 200}

    merged = proved_bound(
        golden.X, golden.sex, n_clusters=5, max_iter=60, random_state=0, **options
    )

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


def test_the_time_limit_leaves_a_bound_of_one_iteration(golden):
    steps = []

    bound = proved_bound(
        golden.X, golden.sex, n_clusters=5, group_weights=[0.1, 0.9], max_rows=200,
        time_limit=0, callback=steps.append,
    )  # fmt: skip

    assert [step.n_iter for step in steps] == [1]
    assert bound.cost > 0


def test_it_stops_at_the_target_gap_to_the_known_cost():
    case, steps = make_case(3, 60, 4, 2), []

    bound = proved_bound(
        case.X, case.groups, n_clusters=4, target_gap=0.05, random_state=0,
        callback=steps.append,
    )  # fmt: skip

    assert bound.gap <= 0.05
    assert len(steps) == 1 or bound.known_cost / steps[-2].cost - 1 > 0.05


def test_a_known_cost_makes_the_gap_to_it():
    case = make_case(3, 30, 3, 2)
    options = {"n_clusters": 3, "group_weights": [0.5, 0.5], "max_iter": 20}

    bound = proved_bound(case.X, case.groups, known_cost=100.0, **options)

    assert bound.gap == pytest.approx(100 / bound.cost - 1)


def proof_of(seed, *, max_rows=1000):
    """Return data with weights and a pooled bound, with its certificate."""
    case = make_case(seed, 24, 3, 3, weights="floats")
    bound = proved_bound(
        case.X, case.groups, n_clusters=3, sample_weight=case.weights, pooling=seed,
        group_weights=[0.2, 0.3, 0.5], max_rows=max_rows, split=True, max_iter=40,
    )  # fmt: skip
    return bound, (case.X, case.groups), {"sample_weight": case.weights}


@pytest.mark.parametrize("max_rows", [10, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_the_certificate_alone_proves_the_bound(seed, max_rows):
    bound, data, options = proof_of(seed, max_rows=max_rows)

    cost = check_certificate(bound.certificate, *data, **options)

    assert cost >= bound.cost > 0
    assert cost == pytest.approx(bound.cost, rel=1e-7)
    assert len(bound.certificate.multipliers) == (3 if max_rows == 10 else 1)


def tampered(certificate, rng):
    """Return the certificate with one thing changed."""
    multiplier = certificate.multipliers[0]
    entries, weights = multiplier.entries.copy(), multiplier.weights.copy()
    cuts, some = multiplier.cuts.copy(), rng.integers(len(multiplier.cuts))
    which = rng.integers(7)
    if which == 0:
        return replace(certificate, cost=certificate.cost * (1 + 10 ** rng.uniform(-6)))
    if which == 1:
        shift = rng.uniform(0.01, 0.1)
        lam = certificate.group_weights + np.array([shift, -shift, 0])
        return replace(certificate, group_weights=lam)
    if which == 2:
        return replace(certificate, n_clusters=certificate.n_clusters - 1)
    if which == 3:
        entries[rng.integers(len(entries))] = -(10 ** rng.uniform(-8, 0))
    elif which == 4:
        weights[some] = -(10 ** rng.uniform(-8, 0))
    elif which == 5:
        entries *= 1 + 10 ** rng.uniform(-3, 1)
    else:
        cuts[some] = [(-1, 5, 2, 3), (0, 5, 24, -1), (0, 5, -2, 3)][rng.integers(3)]
    return replace(certificate, multipliers=(Multiplier(entries, cuts, weights),))


def test_a_certificate_that_was_tampered_with_is_rejected():
    bound, data, options = proof_of(2)
    rng = np.random.default_rng(0)

    for _ in range(100):
        with pytest.raises(
            ValueError, match=r"[Tt]he .*certificate|certificate claims"
        ):
            check_certificate(tampered(bound.certificate, rng), *data, **options)


def test_a_certificate_does_not_hold_for_other_data():
    bound, (X, groups), options = proof_of(1)

    for other in (X[1:], X * 1.001, X[::-1]):
        n = len(other)
        weights = options["sample_weight"][:n]
        with pytest.raises(ValueError, match="certificate"):
            check_certificate(
                bound.certificate, other, groups[:n], sample_weight=weights
            )


def test_the_bounds_of_parts_add_up_to_a_bound_of_the_whole(golden, fitted):
    cost, steps = fitted.group_costs_.max(), []
    options = {"n_clusters": 5, "group_weights": fitted.group_weights_, "max_iter": 40}

    bound = proved_bound(
        golden.X, golden.sex, max_rows=500, split=True, callback=steps.append, **options
    )

    assert 0.95 * cost < bound.cost <= cost
    assert bound.n_rows <= 500
    assert [step.n_iter for step in steps] == [1, 2]
    assert steps[-1].cost == bound.cost


@pytest.mark.parametrize("seed", range(2))
def test_branching_proves_the_optimum_and_no_more(seed):
    case = make_case(seed, 7, 3, 2, rows="grid")
    best = least_cost_of_any_partition(case, 3)

    bound = proved_bound(
        case.X, case.groups, n_clusters=3, max_iter=40, max_nodes=9, random_state=0
    )

    assert bound.cost <= best * (1 + 1e-12)
    assert not bound.is_optimal or bound.known_cost == pytest.approx(best, rel=2e-6)


def test_branching_closes_a_gap_that_the_relaxation_leaves():
    case, options = make_case(5, 30, 4, 2), {"n_clusters": 4, "random_state": 0}

    root = proved_bound(case.X, case.groups, **options)
    tree = proved_bound(case.X, case.groups, max_nodes=9, **options)

    assert root.gap > 1e-4
    assert tree.is_optimal
    assert not root.is_optimal
    assert tree.n_nodes > 1
    assert tree.certificate is None


def test_no_relaxation_of_a_tree_is_solved_twice(monkeypatch):
    case, solved = make_case(5, 30, 4, 2), []
    iterate = Relaxation.iterate

    def noted(self, *arguments):
        solved.append(self)
        return iterate(self, *arguments)

    monkeypatch.setattr(Relaxation, "iterate", noted)

    tree = proved_bound(
        case.X, case.groups, n_clusters=4, max_nodes=3, max_iter=20, random_state=0
    )

    assert tree.n_nodes == 3
    assert len(solved) >= 3
    assert len({id(each) for each in solved}) == len(solved)


@pytest.mark.parametrize("seed", [20, 80, 140, 170])
def test_as_many_clusters_as_rows_cost_nothing_in_a_tree_either(seed):
    case = make_case(seed, 7, 3, 1, rows="duplicates", weights="floats")
    assert len(np.unique(case.X, axis=0)) == 3

    bound = proved_bound(
        case.X, case.groups, n_clusters=3, sample_weight=case.weights, max_nodes=5
    )

    assert bound.cost == 0


def test_a_node_takes_the_lambda_that_is_best_for_it():
    case, options = make_case(7, 30, 3, 2), {"n_clusters": 3, "random_state": 0}

    root = proved_bound(case.X, case.groups, **options)
    tree = proved_bound(case.X, case.groups, max_nodes=9, **options)

    assert root.gap > 1e-3  # with this lambda another clustering is better
    assert tree.is_optimal


@pytest.mark.parametrize("scale", [1e-7, 1e8])
def test_units_of_the_data_change_no_tree(scale):
    case, options = make_case(7, 30, 3, 2), {"n_clusters": 3, "random_state": 0}

    plain, scaled = (
        proved_bound(X, case.groups, max_nodes=9, **options)
        for X in (case.X, scale * case.X)
    )

    assert scaled.is_optimal
    assert scaled.cost == pytest.approx(scale**2 * plain.cost, rel=1e-6)


def test_rows_of_groups_without_weight_are_too_many_as_well():
    case = make_case(0, 40, 3, 2)
    few = np.bincount(case.groups).min()
    weights = np.bincount(case.groups) == few

    bound = proved_bound(
        case.X, case.groups, n_clusters=3, group_weights=weights, max_rows=few,
        known_cost=1e9, max_nodes=9, max_iter=20,
    )  # fmt: skip

    assert (bound.n_rows, bound.n_nodes) == (few, 1)


def test_a_better_lambda_counts_though_there_is_no_node_left():
    case, options = make_case(0, 30, 3, 2), {"n_clusters": 3, "random_state": 0}

    root = proved_bound(case.X, case.groups, **options)
    tree = proved_bound(case.X, case.groups, max_nodes=2, **options)

    assert tree.n_nodes == 1
    assert tree.cost > 1.001 * root.cost


def test_the_lowest_plane_is_highest_where_planes_cross():
    lam = np.array([0.4, 0.6])
    planes = [Plane(0.0, lam, np.array(costs)) for costs in ([1.0, 2.0], [3.0, 0.5])]

    wide, height = highest(planes, lam, 0.5)
    narrow, _ = highest(planes, lam, 0.01)

    assert wide == pytest.approx([3 / 7, 4 / 7])
    assert height == pytest.approx(11 / 7)
    assert narrow == pytest.approx([0.41, 0.59])


def test_branches_keep_a_pair_together_or_apart():
    rng = np.random.default_rng(0)
    whole = WeightedRows(rng.normal(size=(6, 2)), rng.dirichlet(np.ones(6)))
    labels, lam = np.array([0, 1, 2, 3, 0, 4]), np.ones(1)
    node = Node(0.0, 0, lam, labels, np.array([[1, 5]]), (4, 1))

    (apart, pairs), (together, same) = children(node)

    assert pairs.tolist() == [[1, 5], [4, 1]]
    assert apart.tolist() == node.labels.tolist()
    assert together.tolist() == [0, 0, 1, 2, 0, 3]
    assert same.tolist() == [[1, 5]]
    assert merged(whole, together).rows.shape == (4, 2)
    assert len(list(children(node._replace(pair=(1, 5))))) == 1  # they are apart


def test_ctrl_c_leaves_the_bound_so_far():
    seen = []

    def stop(step):
        seen.append(step.cost)
        raise KeyboardInterrupt

    case = make_case(0, 30, 3, 2)

    bound = proved_bound(case.X, case.groups, n_clusters=3, callback=stop)
    assert (bound.stop_reason, [bound.cost]) == ("interrupted", seen)


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


def test_ctrl_c_in_the_search_for_lambda_passes_on(ctrl_c_in_the_search):
    case = make_case(0, 30, 3, 2)

    with pytest.raises(KeyboardInterrupt):
        proved_bound(case.X, case.groups, n_clusters=3, random_state=0)


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
    values = clip_to_sum(np.array([-1.0, 0.2, 0.9, 3.0]), 2)

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
        ({"max_nodes": 0}, "max_nodes must be a whole number, 1 or more, got 0"),
        ({"tol": -1}, "tol must be a number, 0 or more, got -1"),
        ({"target_gap": None}, "target_gap must be a number, 0 or more, got None"),
        ({"known_cost": -1}, "known_cost must be None or a number, 0 or more, got -1"),
        ({"time_limit": "a"}, "time_limit must be a number, 0 or more, got 'a'"),
    ],
)
def test_bad_input_is_told_in_one_sentence(options, message):
    case = make_case(0, 8, 2, 2)

    with pytest.raises(ValueError, match=message):
        proved_bound(case.X, case.groups, **{"n_clusters": 2, **options})


@pytest.mark.parametrize("apart", [20.0, 50.0, 1000.0])
def test_separated_clusters_have_a_tight_bound_and_a_certificate(apart):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 2)) + apart * np.repeat(np.eye(3, 2), 15, axis=0)
    groups = np.tile(["a", "b", "c"], 15)

    bound = proved_bound(X, groups, n_clusters=3, random_state=0)

    assert bound.gap < 1e-3
    assert check_certificate(bound.certificate, X, groups) >= bound.cost


@pytest.mark.parametrize(("groups", "weights", "sentence"), [
    ([["a", "x"]] * 5, None, "join several columns"),
    (list("aabbb"), [1, 1], "one weight for each"),
    (list("aabbc"), None, "for 2 groups, but there are 3"),
])  # fmt: skip
def test_a_certificate_of_other_data_is_refused_in_one_sentence(
    groups, weights, sentence
):
    X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    bound = proved_bound(X, list("aabbb"), n_clusters=2, random_state=0)

    with pytest.raises(ValueError, match=sentence):
        check_certificate(bound.certificate, X, groups, sample_weight=weights)
