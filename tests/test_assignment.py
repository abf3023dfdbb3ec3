"""Sufficient statistics, move costs and incremental updates against definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rawlsian._core import group_costs as _group_costs, problem as _problem
from rawlsian._core.assignment import Assignment
from support.cases import UTILITIES, cases, make_case, spread


@given(case=cases(utilities=UTILITIES))
def test_utilities_are_those_of_the_definition(case):
    expected = case.reference.utilities(case.labels)

    assert case.assignment.utilities == pytest.approx(expected, abs=1e-9)
    assert case.assignment.overall == pytest.approx(case.reference.overall(expected))


@given(case=cases(utilities=UTILITIES))
def test_centers_are_the_means_of_the_members(case):
    expected = [
        np.average(case.X[rows], axis=0, weights=case.weights[rows])
        for rows in (case.labels == c for c in range(case.labels.max() + 1))
    ]

    assert case.assignment.centers == pytest.approx(np.array(expected), abs=1e-9)


@given(case=cases(utilities=UTILITIES, weights=("counts",)))
def test_a_row_of_weight_w_counts_as_w_rows(case):
    repeat = case.weights.astype(int)
    repeated = case._replace(
        X=np.repeat(case.X, repeat, axis=0),
        labels=np.repeat(case.labels, repeat),
        groups=np.repeat(case.groups, repeat),
        weights=np.ones(repeat.sum()),
    )

    assert case.assignment.utilities == pytest.approx(
        repeated.assignment.utilities, abs=1e-9
    )


@settings(max_examples=100)
@given(case=cases(utilities=UTILITIES, n=(2, 12)))
def test_move_costs_are_what_moving_one_row_changes(case):
    assignment, reference = case.assignment, case.reference
    now = reference.utilities(case.labels)

    for i in range(len(case.X)):
        for c in range(assignment.n_clusters):
            if c == case.labels[i]:
                continue
            after = reference.after(case.labels, [(i, c)])
            leave, enter = assignment.move_costs[[case.labels[i], c], :, i]
            both = leave + enter
            if after is None:
                assert np.isinf(both).all()
                continue
            change = (now - after) * reference.group_sizes
            assert both[:-1] == pytest.approx(change, abs=1e-9 * spread(case))
            assert both[-1] == pytest.approx(change.sum(), abs=1e-9 * spread(case))


def _random_moves(rng, assignment, n_moves):
    """Up to n_moves distinct rows and targets that leave no cluster empty."""
    examples = rng.permutation(len(assignment.labels))[:n_moves]
    targets = rng.integers(assignment.n_clusters, size=len(examples))
    labels = assignment.labels.copy()
    labels[examples] = targets
    has_weight = assignment.problem.weights > 0
    heads = np.bincount(labels[has_weight], minlength=assignment.n_clusters)
    return (examples, targets) if heads.all() else None


@settings(max_examples=80)
@given(
    case=cases(utilities=UTILITIES, n=(4, 12)),
    seed=st.integers(0, 2**32 - 1),
    n_moves=st.integers(1, 9),
)
def test_apply_agrees_with_starting_afresh(case, seed, n_moves):
    assignment, rng = case.assignment, np.random.default_rng(seed)
    assert assignment.move_costs is not None  # built before the moves, updated by them

    for _ in range(5):
        moves = _random_moves(rng, assignment, n_moves)
        if moves is not None:
            assignment.apply(*moves)

    fresh = Assignment(case.problem, assignment.labels)
    scale = spread(case)
    assert assignment.utilities == pytest.approx(fresh.utilities, abs=1e-9)
    if case.utility == "assigned":  # a row may be as near to two means
        assert assignment.counts == pytest.approx(fresh.counts, abs=1e-9)
        assert assignment.costs == pytest.approx(fresh.costs, abs=1e-9 * scale)
    for c in range(assignment.n_clusters):
        assert assignment.move_costs[c] == pytest.approx(
            fresh.move_costs[c], abs=1e-9 * scale
        )


def test_move_costs_have_the_same_bits_with_and_without_a_transposed_copy(monkeypatch):
    case = make_case(1, 30, 3, 2, rows="sparse")
    expected = case.assignment
    monkeypatch.setattr(_problem, "LARGEST_TRANSPOSED", 0)
    other = case._replace().assignment  # of a problem of its own
    assert expected.problem.columns.size > other.problem.columns.size == 0

    for assignment in (expected, other):
        assert assignment.move_costs is not None
        assignment.apply([3, 4], [1, 2])

    assert np.array_equal(expected.move_costs, other.move_costs)


@pytest.mark.parametrize(
    ("rows", "utility", "n_moves"),
    [
        ("continuous", "assigned", 12_500),
        ("far", "assigned", 12_500),
        ("far", "nearest", 5_000),
    ],
)
def test_drift_stays_below_1e_9_over_many_moves(monkeypatch, rows, utility, n_moves):
    case = make_case(5, 200, 4, 3, rows=rows, weights="floats", utility=utility)
    assignment, rng = case.assignment, np.random.default_rng(0)
    assert assignment.move_costs is not None  # move costs are updated too
    recomputed = []
    costs = assignment._costs
    recompute = costs.recompute
    monkeypatch.setattr(costs, "recompute", lambda: (recomputed.append(1), recompute()))
    worst = 0.0

    for move in range(n_moves):
        i = int(rng.integers(200))
        if assignment.members[assignment.labels[i]] > 1:
            assignment.apply([i], [int(rng.integers(4))])
        if move % 997 == 0:
            exact = Assignment(case.problem, assignment.labels)
            finite = np.isfinite(exact.move_costs)
            worst = max(
                worst,
                np.abs(assignment.utilities - exact.utilities).max(),
                np.abs(assignment.move_costs[finite] - exact.move_costs[finite]).max(),
            )

    assert worst < 1e-9
    assert len(recomputed) >= 0.8 * n_moves // _group_costs.MOVES_BEFORE_RECOMPUTE


@pytest.mark.parametrize(
    ("examples", "targets", "reason"),
    [
        ([9], [0], "no such example"),
        ([-1], [0], "no such example"),
        ([0], [3], "no such cluster"),
        ([0, 0], [1, 2], "named twice"),
        ([2], [0], "left empty"),
        ([0], [1, 2], "same length"),
        ([0.7], [1], "whole numbers"),
    ],
)
def test_a_move_that_may_not_be_made_changes_nothing(examples, targets, reason):
    case = make_case(0, 5, 3, 2)._replace(labels=np.array([0, 1, 2, 0, 1]))
    assignment = case.assignment

    with pytest.raises(ValueError, match=reason):
        assignment.apply(examples, targets)

    assert np.array_equal(assignment.labels, case.labels)


def test_the_only_member_may_leave_if_another_enters_at_once():
    case = make_case(0, 5, 3, 2)._replace(labels=np.array([0, 1, 2, 0, 1]))
    assignment = case.assignment

    assignment.apply([2, 0], [0, 2])

    fresh = Assignment(case.problem, [2, 1, 0, 0, 1])
    assert assignment.utilities == pytest.approx(fresh.utilities)


def test_the_callers_arrays_are_not_changed():
    case = make_case(0, 20, 3, 2)
    kept = [array.copy() for array in case[:4]]

    case.assignment.apply([1], [2])

    assert all(map(np.array_equal, case[:4], kept))


def test_x_is_not_copied_when_it_is_float64_and_c_ordered():
    case = make_case(0, 20, 3, 2)

    assert np.shares_memory(case.problem.X, case.X)
