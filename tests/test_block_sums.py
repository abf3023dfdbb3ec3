"""Compiled passes over a block compared with plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from rawlsian._outofcore import block_sums
from rawlsian._outofcore.batch import _promise
from rawlsian._outofcore.means import Means
from rawlsian._outofcore.placing import (
    Rule,
    Sums,
    add_up,
    assign,
    label,
    rounded,
    sums_of,
)
from support.cases import POOLINGS, cases


def codes(case):
    return case.groups.astype(np.int32)


def sums_by_hand(case, labels, shift, n_clusters):
    """Compute every sum to the last digit, one cluster and group at a time."""
    n_groups = int(case.groups.max()) + 1
    counts = np.zeros((n_clusters, n_groups))
    sums = np.zeros((n_clusters, n_groups, case.X.shape[1]))
    for c in range(n_clusters):
        for g in range(n_groups):
            rows = (labels == c) & (case.groups == g)
            w, x = case.weights[rows], case.X[rows] - shift
            counts[c, g] = math.fsum(w)
            for j in range(x.shape[1]):
                sums[c, g, j] = math.fsum(w * x[:, j])
    return counts, sums


@given(cases())
def test_sums_are_right_to_the_last_digit(case):
    n_clusters, shift = int(case.labels.max()) + 1, np.full(case.X.shape[1], 0.1)
    n_groups = int(case.groups.max()) + 1
    labels = case.labels.astype(np.int32)
    sums = sums_of(
        case.X, codes(case), case.weights, labels, n_clusters, shift, n_groups
    )
    counts, expected = sums_by_hand(case, labels, shift, n_clusters)
    assert (rounded(sums.counts) == counts).all()
    assert (rounded(sums.sums) == expected).all()
    members = np.bincount(labels[case.weights > 0], minlength=n_clusters)
    assert (sums.members.sum(axis=1) == members).all()


@given(st.lists(st.floats(-1e10, 1e10), min_size=2, max_size=60), st.data())
def test_sums_do_not_depend_on_how_rows_are_cut(values, data):
    def total(part):
        pair = np.zeros((2, 1))
        for value in part:
            pair[0, 0], pair[1, 0] = block_sums.add(pair[0, 0], pair[1, 0], value)
        return pair

    whole = total(values)
    cut = data.draw(st.integers(0, len(values)))
    parts = total(values[:cut])
    add_up(parts, total(values[cut:]))
    # Twice the digits of a float, unless they cancel each other.
    close = pytest.approx(
        math.fsum(values), rel=1e-15, abs=1e-28 * sum(map(abs, values))
    )
    assert rounded(parts)[0] == close
    assert rounded(whole)[0] == close


@given(cases(), st.integers(0, 99))
def test_rows_go_to_the_center_that_is_nearest_offsets_included(case, seed):
    rng = np.random.default_rng(seed)
    n_groups, (_, d) = int(case.groups.max()) + 1, case.X.shape
    n_sets = n_groups if rng.random() < 0.5 else 1
    rule = Rule(rng.normal(size=(n_sets, 4, d)), rng.normal(size=(n_sets, 4)))
    found = label(case.X, codes(case), rule)
    sums = assign(case.X, codes(case), case.weights, rule, np.zeros(d), n_groups)
    costs = np.zeros(n_groups)
    for i, x in enumerate(case.X):
        s = case.groups[i] if n_sets > 1 else 0
        scores = ((x - rule.centers[s]) ** 2).sum(axis=1) + rule.offsets[s]
        assert np.isclose(scores[found[i]], scores.min(), rtol=1e-12, atol=1e-12)
        costs[case.groups[i]] += case.weights[i] * scores.min()
    np.testing.assert_allclose(rounded(sums.costs), costs, rtol=1e-9, atol=1e-9)
    again = sums_of(case.X, codes(case), case.weights, found, 4, np.zeros(d), n_groups)
    assert (again.sums == sums.sums).all()
    assert (again.members == sums.members).all()


@given(cases())
def test_ties_go_to_the_lower_cluster_and_float32_is_read_exactly(case):
    X = case.X.astype(np.float32)
    centers = np.repeat(X[:1].astype(float), 3, axis=0)
    found = label(X, codes(case), Rule.nearest(centers))
    assert (found == 0).all()
    rule = Rule.nearest(X[:2].astype(float))
    wide = label(X.astype(float), codes(case), rule)
    assert (label(X, codes(case), rule) == wide).all()


@given(cases(poolings=POOLINGS))
def test_means_and_costs_follow_from_the_sums(case):
    means = means_of(case)
    utilities = case.reference.utilities(case.labels)
    pooled = case.reference.pooled(utilities)
    np.testing.assert_allclose(-means.own_costs, utilities - 10.0, atol=1e-9)
    np.testing.assert_allclose(-means.costs, pooled - 10.0, atol=1e-9)
    np.testing.assert_allclose(means.centers, case.assignment.centers, atol=1e-9)


def means_of(case):
    shift, n_groups = case.problem.shift, int(case.groups.max()) + 1
    labels, n_clusters = case.labels.astype(np.int32), int(case.labels.max()) + 1
    sums = sums_of(
        case.X, codes(case), case.weights, labels, n_clusters, shift, n_groups
    )
    return Means(sums, shift, case.problem.pooling)


def promise_of(case):
    """Return the best move of each row, and the predicted costs."""
    means = means_of(case)
    lag = int(np.argmax(means.costs))
    least = case.problem.tolerance * means.group_sizes
    return _promise(
        case.X, codes(case), case.weights, case.labels.astype(np.int32),
        lag, means.centers, means.mass, means.members, means.counts, means.excess,
        *means.pooling[1:], least[lag], least.sum(),
        means.costs[lag] * means.group_sizes[lag],
    )  # fmt: skip


@settings(max_examples=80)
@given(cases(poolings=POOLINGS), st.sampled_from([1.0, 1e-6]))
def test_the_best_move_of_each_row_is_the_one_with_the_best_exchange_rate(case, others):
    lag = int(np.argmax(means_of(case).costs))
    # If the other groups have little weight, they lose little: rates of a million.
    lighter = np.where(case.groups == lag, 1.0, others) * case.weights
    case = case._replace(weights=lighter)
    assignment, means = case.assignment, means_of(case)
    assume(lag == int(np.argmax(means.costs)))
    n_groups = case.problem.n_groups
    least = case.problem.tolerance * means.group_sizes
    (targets, steps), _ = promise_of(case)
    move_costs, labels = assignment.move_costs, case.labels
    for i in range(len(case.X)):
        a, rates = labels[i], {}
        can_leave = case.weights[i] > 0 and means.members[a] > 1
        if not can_leave:
            assert steps[i] == -1
            continue
        for c in range(assignment.n_clusters):
            if c == a:
                continue
            gain = -(move_costs[c, lag, i] + move_costs[a, lag, i])
            loss = move_costs[c, n_groups, i] + move_costs[a, n_groups, i] + gain
            # The least and the greatest rate that rounding of the loss leaves possible.
            is_finite = loss - 1e-9 > least.sum()
            rates[c] = (
                gain / (max(loss, 0.0) + 1e-9),
                gain / (loss - 1e-9) if is_finite else np.inf,
            )
            if gain <= least[lag]:
                rates[c] = (0.0, 0.0)
        best = max((low for low, _ in rates.values()), default=0.0)
        gains = [-(move_costs[c, lag, i] + move_costs[a, lag, i]) for c in rates]
        if gains and abs(max(gains)) < 1e-9:
            continue  # too little to be told from rounding
        assert (steps[i] >= 0) == (best > 0)
        if steps[i] < 0:
            continue
        _, mine = rates[targets[i]]
        assert mine >= best * (1 - 1e-6)


@given(cases(poolings=POOLINGS))
def test_promises_are_what_the_moves_would_cost_one_at_a_time(case):
    assignment, means = case.assignment, means_of(case)
    (targets, steps), promises = promise_of(case)
    n_groups = case.problem.n_groups
    expected = np.zeros(n_groups)
    for i in np.flatnonzero(steps >= 0):
        after = assignment.utilities_after([i], [targets[i]])
        expected += (assignment.utilities - after) * means.group_sizes
    assert promises.n_moves.sum() == (steps >= 0).sum()
    total = rounded(promises.costs).sum(axis=0)
    np.testing.assert_allclose(total, expected, atol=1e-7)


@given(cases())
def test_the_first_number_that_is_not_finite_is_found(case):
    X, room = case.X.copy(), np.zeros((2, case.X.shape[1]))
    assert block_sums.look_at(X, room[0], room[1]) == (-1, -1)
    X[-1, -1] = np.nan
    assert block_sums.look_at(X, room[0], room[1]) == (len(X) - 1, X.shape[1] - 1)


def test_sums_of_nothing_are_nothing():
    X, none = np.empty((0, 2)), np.empty(0, np.int32)
    sums = sums_of(X, none, np.ones(1), none, 3, np.zeros(2), 2)
    assert not any(part.any() for part in (sums.members, sums.counts, sums.sums))
    total = Sums.zeros(3, 2, 2)
    total.add(sums)
    assert not total.sums.any()


@given(cases(poolings=POOLINGS), st.integers(0, 99))
def test_the_rule_puts_a_light_row_where_it_adds_least_to_the_weighted_cost(case, seed):
    rng = np.random.default_rng(seed)
    means, n_groups = means_of(case), case.problem.n_groups
    group_weights = rng.dirichlet(np.ones(n_groups)) + 0.05
    rule = means.rule(group_weights)
    a = group_weights / means.group_sizes
    _, own, everyone = means.pooling
    x, g, w = rng.normal(size=case.X.shape[1]) + case.X.mean(axis=0), 0, 1e-6
    added = []
    for c in range(len(means.mass)):
        changes = []
        for h in range(n_groups):
            d = x - means.centers[c]
            change, _ = block_sums.entry_costs(
                w, means.mass[c], means.counts[c, h], d @ d, d @ means.excess[c, h],
                everyone + own * (h == g),
            )  # fmt: skip
            changes.append(change / w)
        added.append(float(a @ changes) / means.pooling.mix(a)[g])
    scores = ((x - rule.centers[g]) ** 2).sum(axis=1) + rule.offsets[g]
    np.testing.assert_allclose(scores, added, rtol=1e-3, atol=1e-3)
