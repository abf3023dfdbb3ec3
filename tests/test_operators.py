"""Every operator against the slow reference, on hundreds of random cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import NICE, cases, is_same_partition, make_case
from rawlsian import R1, R2, AnyOf, Proposals, R2Exhaustive, operators, skyline
from rawlsian._kernels import overall_utilities
from rawlsian._traverse import select
from rawlsian.operators import get_operator

OPERATORS = ["R1", "R2", "R1+R2", "R2-exhaustive"]


def as_pairs(moves):
    return tuple(zip(*(part.tolist() for part in moves), strict=True))


def everything(blocks):
    """All proposals of an operator as {moves: utilities}."""
    return {
        as_pairs(block.moves(j)): block.utilities[j]
        for block in blocks
        for j in range(len(block.utilities))
    }


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=150)
@given(case=cases(rows=NICE, n=(2, 9)))
def test_the_reference_selects_the_same_operation(name, case):
    expected = case.reference.select(
        case.labels, case.reference.operations(name, case.labels)
    )

    found = select(get_operator(name).generate(case.assignment), case.assignment)

    if expected is None:
        assert found is None
    else:
        ours, theirs = case.labels.copy(), case.labels.copy()
        for labels, moves in ((ours, as_pairs(found)), (theirs, expected[0])):
            for i, c in moves:
                labels[i] = c
        assert is_same_partition(ours, theirs)


@pytest.mark.parametrize("name", ["R1", "R2-exhaustive"])
@settings(max_examples=150)
@given(case=cases(rows=("grid", "duplicates"), n=(2, 8)))
def test_with_ties_the_selected_operation_ranks_as_high_as_any(name, case):
    assignment, reference = case.assignment, case.reference
    admitted = reference.operations(name, case.labels)
    now = reference.utilities(case.labels)

    found = select(get_operator(name).generate(assignment), assignment)

    assert (found is None) == (not admitted)
    if found is not None:
        best = max(reference.rank(utilities, now) for _, utilities in admitted)
        rank = reference.rank(reference.after(case.labels, as_pairs(found)), now)
        assert rank[0] == best[0]
        assert rank[1] == pytest.approx(best[1], abs=1e-12)


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=100)
@given(case=cases())
def test_proposals_say_where_they_lead(name, case):
    for moves, utilities in everything(
        get_operator(name).generate(case.assignment)
    ).items():
        expected = case.reference.after(case.labels, moves)

        assert expected is not None
        assert utilities == pytest.approx(expected, abs=1e-9)


@settings(max_examples=100)
@given(case=cases(rows=NICE), p=st.sampled_from([0.05, 0.3, 1.0]))
def test_r2_proposes_every_admitted_pair_of_good_moves(case, p):
    expected = case.reference.operations("R2", case.labels, p, 0.2)

    found = everything(R2(p=p, q=0.2).generate(case.assignment))

    assert list(found) == [moves for moves, _ in expected]


@settings(max_examples=100)
@given(case=cases(rows=NICE))
def test_all_admitted_single_moves_are_found_on_request(case):
    expected = case.reference.operations("R1", case.labels)

    blocks = list(operators._search_singles(case.assignment, keep_all=True))

    singles = [single for found, _ in blocks for single in found]
    moves = operators.decode_singles(case.assignment, np.array(singles, dtype=int))
    assert list(as_pairs(moves)) == [moves[0] for moves, _ in expected]


@settings(max_examples=100)
@given(case=cases(rows=NICE))
def test_all_admitted_pairs_are_found_on_request(case):
    n_singles = len(case.reference.singles(case.labels))
    expected = case.reference.operations("R2-exhaustive", case.labels)

    found = everything(
        operators._pairs(case.assignment, np.arange(n_singles), keep_all=True)
    )

    assert list(found) == [moves for moves, _ in expected]


def test_a_thousand_examples_and_five_clusters_make_7_992_000_pairs():
    # (1000 choose 2) * 4^2, "nearly 8 million" in the paper. Distinct examples only:
    # all pairs of the 4000 single moves less those of the same example.
    assert 4000 * 3999 // 2 - 1000 * (4 * 3 // 2) == 7_992_000


@pytest.mark.parametrize("name", OPERATORS)
def test_where_blocks_are_cut_makes_no_difference(monkeypatch, name):
    case = make_case(3, 60, 4, 3)
    expected = select(get_operator(name).generate(case.assignment), case.assignment)
    for constant in ("MOVES_A_BLOCK", "PAIRS_A_BLOCK"):
        monkeypatch.setattr(operators, constant, 7)

    found = select(get_operator(name).generate(case.assignment), case.assignment)

    assert as_pairs(found) == as_pairs(expected)


def test_r2_keeps_seven_percent_of_a_hundred_moves_as_seven():
    # 0.07 * 100 is 7.000000000000001 in floating point.
    assert len(operators._top(np.arange(100.0), 0.07)) == 7


def test_the_best_moves_of_equal_value_are_the_earliest():
    assert operators._top(np.array([1.0, 2.0, 2.0, 0.0]), 0.25).tolist() == [1]


def test_plain_r2_can_stop_where_a_single_move_would_help():
    # With one admitted single move there is no pair of admitted moves.
    stuck = [
        case
        for case in (make_case(seed, 6, 2, 2) for seed in range(100))
        if select(R2().generate(case.assignment), case.assignment) is None
        and select(R1().generate(case.assignment), case.assignment) is not None
    ]

    assert stuck
    for case in stuck:
        both = AnyOf(R1(), R2()).generate(case.assignment)
        assert select(both, case.assignment) is not None


def test_exhaustive_r2_may_swap_the_only_member_of_a_cluster():
    # Rows 0 (group b) and 1 (group a) are in each other's place; cluster 0 has only
    # row 0, so no single move can mend it.
    case = make_case(0, 4, 2, 2)._replace(
        X=np.array([[9.0], [0.0], [9.1], [9.2]]),
        labels=np.array([0, 1, 1, 1]),
        groups=np.array([1, 0, 1, 0]),
        weights=np.ones(4),
    )

    found = select(R2Exhaustive().generate(case.assignment), case.assignment)

    assert as_pairs(found) == ((0, 1), (1, 0))


# --- select ---


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32 - 1), n_groups=st.integers(1, 4))
def test_selecting_is_the_paper_s_order_of_preference(seed, n_groups):
    rng = np.random.default_rng(seed)
    case = make_case(seed, 6, 2, n_groups, weights="floats")
    assignment, reference = case.assignment, case.reference
    now = assignment.utilities
    proposed = now + rng.integers(-2, 5, size=(12, n_groups)) / 4  # many ties
    admitted = [
        (j, row) for j, row in enumerate(proposed)
        if row.min() > now.min() + reference.tolerance
    ]  # fmt: skip
    expected = None
    for j, row in admitted:
        rank = reference.rank(row, now)
        if expected is None or rank > expected[0]:
            expected = rank, j

    found = select([Proposals(proposed, lambda j: (j, j))], assignment)

    if expected is None:
        assert found is None
    else:
        assert reference.rank(proposed[found[0]], now) == pytest.approx(expected[0])
        rows = [tuple(row) for row in proposed]
        assert found[0] == rows.index(rows[found[0]])  # the earliest of equals


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), cut=st.integers(1, 19))
def test_selecting_folds_over_blocks(seed, cut):
    rng = np.random.default_rng(seed)
    assignment = make_case(seed, 6, 2, 3).assignment
    proposed = assignment.utilities + rng.integers(-1, 4, size=(20, 3)) / 4
    whole = [Proposals(proposed, lambda j: j)]
    parts = [
        Proposals(proposed[:cut], lambda j: j),
        Proposals(proposed[cut:], lambda j: cut + j),
    ]

    assert select(parts, assignment) == select(whole, assignment)


@settings(max_examples=200)
@given(case=cases(rows=(*NICE, "grid"), groups=(2, 4)))
def test_the_admitted_point_with_the_highest_overall_utility_is_on_the_skyline(case):
    admitted = case.reference.operations("R1", case.labels)
    if not admitted:
        return
    points = np.array([utilities for _, utilities in admitted])
    overall = overall_utilities(points, case.problem.shares)

    assert skyline(points)[np.argmax(overall)]


@pytest.mark.parametrize("operator", ["R3", "r1", 5, R1, None, ""])
def test_an_unknown_operator_is_named_together_with_those_there_are(operator):
    with pytest.raises(ValueError, match="operator must be one of 'R1', 'R2'"):
        get_operator(operator)


@pytest.mark.parametrize("share", [0, -0.1, 1.5, float("nan")])
def test_shares_of_r2_lie_between_0_and_1(share):
    with pytest.raises(ValueError, match="p must be above 0 and at most 1"):
        R2(p=share)
    with pytest.raises(ValueError, match="q must be above 0 and at most 1"):
        R2(q=share)
