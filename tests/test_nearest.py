"""Costs under the nearest mean: exact to rounding, for every move and pair."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rawlsian import R2Exhaustive, kmeans_restarts, traverse
from rawlsian._core import nearest_costs
from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import nearest
from rawlsian.operators.proposals import select
from rawlsian.operators.r1_r2 import decode_singles
from support.cases import WEIGHTS, cases, make_case


def centered(case):
    """Return the reference on rows near the origin, where it rounds little."""
    return case._replace(X=case.X - case.problem.shift).reference


def assert_equal_but_for_rounding(case, found, expected):
    assert np.abs(found - expected).max() <= 1e-12 * case.problem.variance + 1e-15


def all_pairs(case):
    """Return examples and targets of single moves, and utilities after each pair."""
    # With such a tolerance every pair counts as one that raises the lowest utility.
    problem = replace(case.problem, tolerance=-1e9)
    assignment = Assignment(problem, case.labels)
    singles = np.arange(len(case.X) * (assignment.n_clusters - 1))
    examples, targets = decode_singles(assignment, singles)
    has_weight = case.weights[examples] > 0
    examples, targets = examples[has_weight], targets[has_weight]
    return (
        examples,
        targets,
        {
            divmod(int(pair), len(examples)): after
            for pairs, utilities in assignment.pairs(examples, targets)
            for pair, after in zip(pairs, utilities, strict=True)
        },
    )


def near_kmeans(seed, n, k, n_groups, weights):
    """Return a case that starts from k-means, where few rows change their cells."""
    case = make_case(seed, n, k, n_groups, weights=weights, utility="nearest")
    labels = kmeans_restarts(case.X, k, n_runs=1, random_state=seed).labels(0)
    return case._replace(labels=labels)


@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (64, 64, 3), (130, 70, 4)])
def test_nearest_centers_have_the_bits_of_a_plain_sum(n, d, k):
    rng = np.random.default_rng(n)
    X, centers = rng.normal(size=(n, d)), rng.normal(size=(k, d))
    centers[-1] = centers[0]  # a tie: the first wins

    labels, distances = nearest(X, centers)

    # cumsum adds one column after the other.
    plain = np.cumsum((X[:, None] - centers) ** 2, axis=2)[:, :, -1]
    assert labels.tolist() == plain.argmin(axis=1).tolist()
    assert distances.tolist() == plain.min(axis=1).tolist()


@settings(max_examples=100)
@given(case=cases(utilities=("nearest",), n=(2, 12), k=(1, 5)))
def test_no_single_move_differs_from_recomputing_everything(case):
    assignment, reference = case.assignment, centered(case)

    for i, label in enumerate(case.labels):
        for c in range(assignment.n_clusters):
            after = reference.after(case.labels, [(i, c)])
            if c != label and after is not None:
                cost = assignment.move_costs[[label, c], :-1, i].sum(axis=0)
                found = assignment.utilities - cost / reference.group_sizes
                assert_equal_but_for_rounding(case, found, after)


@settings(max_examples=80)
@given(case=cases(utilities=("nearest",), n=(3, 8), k=(2, 4)))
def test_no_pair_differs_from_recomputing_everything(case):
    examples, targets, found = all_pairs(case)
    reference = centered(case)

    for a in range(len(examples)):
        for b in range(a + 1, len(examples)):
            moves = [(examples[a], targets[a]), (examples[b], targets[b])]
            after = reference.after(case.labels, moves)
            if examples[a] == examples[b] or after is None:
                assert (a, b) not in found
            else:
                assert_equal_but_for_rounding(case, found[a, b], after)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(2, 6),
    n_groups=st.integers(1, 4),
    weights=st.sampled_from(WEIGHTS[:3]),
)
def test_from_k_means_no_move_or_pair_differs_either(seed, k, n_groups, weights):
    case = near_kmeans(seed, 40, k, n_groups, weights)
    examples, targets, found = all_pairs(case)
    reference, costs = centered(case), case.assignment.move_costs[:, :-1]
    rng = np.random.default_rng(seed)

    for i, c in zip(examples, targets, strict=True):
        after = reference.after(case.labels, [(i, c)])
        if after is not None:
            both = costs[case.labels[i], :, i] + costs[c, :, i]
            now = case.assignment.utilities - both / reference.group_sizes
            assert_equal_but_for_rounding(case, now, after)
    for a, b in rng.permutation(list(found))[:100]:
        moves = [(examples[a], targets[a]), (examples[b], targets[b])]
        after = reference.after(case.labels, moves)
        assert_equal_but_for_rounding(case, found[a, b], after)


def costs_of_moves(assignment):
    """Return the cost to each group of moving each row to each cluster."""
    costs = assignment.move_costs
    rows = np.arange(costs.shape[2])
    both = costs + costs[assignment.labels, :, rows].T
    both[assignment.labels, :, rows] = 0.0
    return both


@settings(max_examples=80)
@given(
    case=cases(utilities=("nearest",), n=(4, 20), k=(2, 5)),
    n_held=st.sampled_from([1, 3, 256]),
    n_moved=st.integers(1, 3),
)
def test_after_many_moves_costs_are_those_of_a_new_assignment(case, n_held, n_moved):
    rng = np.random.default_rng(0)
    n, k = len(case.X), case.assignment.n_clusters
    scale = case.problem.variance * case.weights.sum()
    with patch.object(nearest_costs, "MOST_ROWS_HELD", n_held):
        assignment = case.assignment
        assert assignment.move_costs.shape == (k, case.problem.n_groups + 1, n)
        for _ in range(8):
            rows, targets = rng.permutation(n)[:n_moved], rng.integers(k, size=n_moved)
            with contextlib.suppress(ValueError):  # it would empty a cluster
                assignment.apply(rows, targets)

            now = costs_of_moves(assignment)
            new = costs_of_moves(Assignment(case.problem, assignment.labels.copy()))

            assert np.array_equal(np.isinf(now), np.isinf(new))
            finite = np.isfinite(new)
            assert np.abs(now[finite] - new[finite]).max(initial=0) <= 1e-12 * scale


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_pairs_is_found_if_some_rows_are_heavy(seed):
    case = near_kmeans(seed, 120, 3, 2, "ones")
    weights = np.random.default_rng(seed).lognormal(sigma=1.5, size=120)
    assignment = case._replace(weights=weights).assignment

    few, all_ = (
        select(R2Exhaustive(keep_all).generate(assignment), assignment)
        for keep_all in (False, True)
    )

    assert few is not None
    assert np.array_equal(few, all_)


@pytest.mark.parametrize("operator", ["R1", "R2", "batch", "relocate", "rawls"])
def test_nobody_is_served_by_a_mean_that_is_further_than_another(operator):
    case = near_kmeans(3, 60, 4, 3, "floats")

    walk = traverse(
        case.X, case.labels, case.groups, operator=operator, utility="nearest",
        sample_weight=case.weights,
    )  # fmt: skip

    served, squared = nearest(case.X, walk.cluster_centers)
    costs = np.bincount(case.groups, case.weights * squared)
    assert np.array_equal(walk.served_labels, served)
    assert walk.utility == "nearest"
    assert np.ptp(walk.utilities[-1] + costs / centered(case).group_sizes) < 1e-12


def test_with_the_assigned_mean_the_labels_are_those_that_serve():
    case = make_case(0, 20, 3, 2)

    walk = traverse(case.X, case.labels, case.groups)

    assert walk.utility == "assigned"
    assert np.array_equal(walk.served_labels, walk.labels)


def test_from_k_means_both_utilities_begin_alike():
    case = near_kmeans(5, 60, 4, 2, "ones")

    starts = [
        traverse(case.X, case.labels, case.groups, utility=utility).utilities[0]
        for utility in ("assigned", "nearest")
    ]

    assert starts[0] == pytest.approx(starts[1], abs=1e-12)


@pytest.mark.parametrize("utility", ["near", "", None, 1, ["nearest"], "Nearest"])
def test_another_utility_gets_one_sentence(utility):
    with pytest.raises(ValueError, match=r"^utility must be 'assigned' .* got"):
        traverse([[0.0], [1.0]], [0, 1], ["a", "b"], utility=utility)
