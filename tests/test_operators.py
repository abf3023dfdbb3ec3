"""Operators compared with the slow reference on hundreds of random cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from rawlsian import (
    R1,
    R2,
    AnyOf,
    Proposals,
    R2Exhaustive,
    kmeans_restarts,
    select,
    skyline,
    traverse,
)
from rawlsian._core import (
    assigned_costs as _assigned_costs,
    group_costs as _group_costs,
    nearest_costs as _nearest_costs,
)
from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import Problem
from rawlsian.operators import r1_r2 as _r1_r2
from rawlsian.operators.compositions import get_operator
from support.cases import (
    NICE,
    POOLINGS,
    UGLY,
    UTILITIES,
    WEIGHTS,
    cases,
    is_same_partition,
    make_case,
)

OPERATORS = ["R1", "R2", "R1+R2", "R2-exhaustive"]


def as_pairs(moves):
    return tuple(zip(*(part.tolist() for part in moves), strict=True))


def everything(blocks):
    """Return all proposals of an operator as {moves: utilities}."""
    return {
        as_pairs(block.moves(j)): block.utilities[j]
        for block in blocks
        for j in range(len(block.utilities))
    }


@pytest.mark.parametrize("name", OPERATORS)
@given(case=cases(utilities=UTILITIES, poolings=POOLINGS, rows=NICE, n=(2, 9)))
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


# Which of several equal moves R2 keeps may depend on rounding, so here it keeps all.
TIED = {"R1": R1(), "R2": R2(1, 1), "R1+R2": AnyOf("R1", R2(1, 1))}
TIED["R2-exhaustive"] = R2Exhaustive()


@pytest.mark.parametrize("name", OPERATORS)
@given(case=cases(utilities=UTILITIES, poolings=POOLINGS, rows=UGLY, n=(2, 8)))
def test_with_ties_the_selected_operation_ranks_as_high_as_any(name, case):
    assignment, reference = case.assignment, case.reference
    admitted = reference.operations(name, case.labels, 1, 1)
    now = reference.utilities(case.labels)

    found = select(TIED[name].generate(assignment), assignment)

    assert (found is None) == (not admitted)
    if found is not None:
        best = max(reference.rank(utilities, now) for _, utilities in admitted)
        rank = reference.rank(reference.after(case.labels, as_pairs(found)), now)
        assert rank[0] == best[0]
        assert rank[1] == pytest.approx(best[1], abs=1e-12)


def test_of_equal_rows_the_first_is_moved():
    # Rows 2 to 5 are the same in every respect; moving one of them helps.
    case = make_case(0, 8, 2, 2)._replace(
        X=np.array([[0.0], [0.1], [5.0], [5.0], [5.0], [5.0], [5.2], [5.3]]),
        labels=np.array([0, 0, 0, 0, 0, 0, 1, 1]),
        groups=np.array([1, 1, 0, 0, 0, 0, 1, 0]),
        weights=np.ones(8),
    )

    found = select(R1().generate(case.assignment), case.assignment)

    assert as_pairs(found) == ((2, 1),)


@pytest.mark.parametrize("name", OPERATORS)
@given(case=cases(utilities=UTILITIES, poolings=POOLINGS))
def test_proposals_say_where_they_lead(name, case):
    for moves, utilities in everything(
        get_operator(name).generate(case.assignment)
    ).items():
        expected = case.reference.after(case.labels, moves)

        assert expected is not None
        assert utilities == pytest.approx(case.reference.pooled(expected), abs=1e-9)


@given(
    case=cases(utilities=UTILITIES, poolings=POOLINGS, rows=NICE),
    p=st.sampled_from([0.05, 0.3, 1.0]),
)
def test_r2_proposes_every_admitted_pair_of_good_moves(case, p):
    expected = case.reference.operations("R2", case.labels, p, 0.2)

    found = everything(R2(p=p, q=0.2).generate(case.assignment))

    assert list(found) == [moves for moves, _ in expected]


@pytest.mark.parametrize("operator", [R1(keep_all=True), R2Exhaustive(keep_all=True)])
@given(case=cases(utilities=UTILITIES, poolings=POOLINGS, rows=NICE))
def test_all_admitted_operations_are_proposed_on_request(operator, case):
    name = "R1" if isinstance(operator, R1) else "R2-exhaustive"
    expected = case.reference.operations(name, case.labels)

    found = everything(operator.generate(case.assignment))

    assert list(found) == [moves for moves, _ in expected]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rows", ["continuous", "grid", "duplicates"])
@pytest.mark.parametrize("utility", UTILITIES)
def test_proposing_only_what_may_be_best_selects_the_same(utility, seed, rows):
    case = make_case(seed, 60, 4, 3, rows=rows, weights="counts", utility=utility)
    for few, all_ in ((R1(), R1(True)), (R2Exhaustive(), R2Exhaustive(True))):
        selected = [
            select(operator.generate(case.assignment), case.assignment)
            for operator in (few, all_)
        ]

        assert as_pairs(selected[0]) == as_pairs(selected[1])


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(2, 5),
    n_groups=st.integers(1, 3),
    weights=st.sampled_from(WEIGHTS),
    utility=st.sampled_from(UTILITIES),
    pooling=st.sampled_from([0.0, 20.0]),
)
def test_bounds_leave_out_no_pair_that_is_the_best(
    seed, k, n_groups, weights, utility, pooling
):
    # From k-means and after many steps, when bounds leave out most pairs.
    case = make_case(seed, 32, k, n_groups, weights=weights)
    labels = kmeans_restarts(case.X, k, n_runs=1, random_state=seed).labels(0)
    assume(np.bincount(labels, case.weights, minlength=k).all())
    start = (case.X, labels, case.groups)
    options = {"sample_weight": case.weights, "max_iter": 15, "utility": utility}
    options["pooling"] = pooling

    few = traverse(*start, operator=R2Exhaustive(), **options)
    all_ = traverse(*start, operator=R2Exhaustive(keep_all=True), **options)

    np.testing.assert_allclose(few.utilities, all_.utilities, rtol=0, atol=1e-12)
    assert is_same_partition(few.labels, all_.labels)


@pytest.mark.parametrize("seed", range(3))
def test_a_row_heavier_than_clusters_changes_nothing_that_is_selected(seed):
    case = make_case(seed, 40, 4, 2)
    case.weights[0] = 1000.0

    few, all_ = (
        select(R2Exhaustive(keep_all).generate(case.assignment), case.assignment)
        for keep_all in (False, True)
    )

    assert as_pairs(few) == as_pairs(all_)


def test_on_adult_bounds_leave_out_no_pair_that_is_the_best(golden):
    X, labels, sex = golden.X[::2], golden.labels[::2], golden.sex[::2]
    # After 300 steps the best pair costs less than many single moves do.
    for steps in (0, 300):
        trajectory = traverse(X, labels, sex, operator="R2-exhaustive", max_iter=steps)
        assert trajectory.n_iter == steps
        problem = Problem.from_arrays(X, sex, max_distance=8.0)
        assignment = Assignment(problem, trajectory.labels)

        few, all_ = (
            select(R2Exhaustive(keep_all).generate(assignment), assignment)
            for keep_all in (False, True)
        )

        assert as_pairs(few) == as_pairs(all_)


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("name", OPERATORS)
def test_where_blocks_are_cut_makes_no_difference(monkeypatch, name, utility):
    case = make_case(3, 60, 4, 3, utility=utility)
    expected = select(get_operator(name).generate(case.assignment), case.assignment)
    monkeypatch.setattr(_r1_r2, "MOVES_A_BLOCK", 7)
    monkeypatch.setattr(_group_costs, "PAIRS_A_BLOCK", 7)
    monkeypatch.setattr(_assigned_costs, "FIRSTS_A_BLOCK", 7)
    monkeypatch.setattr(_nearest_costs, "FIRSTS_A_TIME", 7)

    found = select(get_operator(name).generate(case.assignment), case.assignment)

    assert as_pairs(found) == as_pairs(expected)


def test_r2_keeps_seven_percent_of_a_hundred_moves_as_seven():
    # 0.07 * 100 is 7.000000000000001 in floating point.
    assert len(_r1_r2._top(np.arange(100.0), 0.07)) == 7


def test_r2_keeps_one_move_at_least():
    assert len(_r1_r2._top(np.arange(5.0), 1e-12)) == 1
    assert len(_r1_r2._top(np.empty(0), 0.5)) == 0


def test_the_best_moves_of_equal_value_are_the_earliest():
    assert _r1_r2._top(np.array([1.0, 2.0, 2.0, 0.0]), 0.25).tolist() == [1]


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


@settings(max_examples=80)
@given(case=cases(utilities=UTILITIES, rows=(*NICE, "grid"), n=(4, 20), groups=(2, 4)))
def test_the_admitted_point_with_the_highest_overall_utility_is_on_the_skyline(case):
    blocks = list(R1(keep_all=True).generate(case.assignment))
    assume(any(len(block.utilities) for block in blocks))
    points = np.concatenate([block.utilities for block in blocks])
    overall = points @ case.problem.shares

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


def test_any_of_needs_operators_and_takes_their_names():
    assert repr(AnyOf("R1", R2(0.1))) == (
        "AnyOf(R1(keep_all=False), R2(p=0.1, q=0.05))"
    )
    with pytest.raises(ValueError, match="needs at least one operator"):
        AnyOf()
    with pytest.raises(ValueError, match="AnyOf takes operators one by one"):
        AnyOf(["R1", "R2"])


class Yields:
    """An operator whose ``generate`` yields or returns the given object."""

    def __init__(self, blocks):
        self.blocks = blocks

    def generate(self, assignment):
        return self.blocks


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (None, "generate must yield Proposals, but it returned None"),
        ([(1, 2)], r"must yield Proposals\(utilities, moves\) with a function"),
        ([Proposals(np.zeros((1, 2)), ([0], [1]))], "with a function moves"),
    ],
)
def test_slips_in_an_operator_are_told(blocks, message):
    case = make_case(0, 6, 2, 2)

    with pytest.raises(ValueError, match=message):
        traverse(case.X, case.labels, case.groups, operator=Yields(blocks))


@pytest.mark.parametrize("shape", [(4, 1), (4, 3), (4,)])
def test_proposals_of_the_wrong_shape_are_an_error(shape):
    assignment = make_case(0, 6, 2, 2).assignment

    with pytest.raises(ValueError, match="one column for each of 2 groups, found"):
        select([Proposals(np.zeros(shape), lambda j: j)], assignment)


# --- Single rules of selecting, one by one. Groups of one; utilities -1, 0 and 0. ---


@pytest.fixture
def three_people():
    # Shares of 1/2, 1/4 and 1/4, in which sums are exact.
    case = make_case(0, 3, 1, 3)._replace(
        groups=np.arange(3), weights=np.array([2.0, 1.0, 1.0])
    )
    assignment = case.assignment
    assignment.utilities[:] = [-1.0, 0.0, 0.0]
    return assignment


def chosen(proposed, assignment):
    return select([Proposals(np.array(proposed), lambda j: j)], assignment)


def test_the_earliest_of_equal_proposals_is_selected(three_people):
    harmful = [-0.5, -0.25, 0.5]  # more overall, but the second person loses
    as_good = [-0.5, 0.5, -0.25]  # the same overall
    harmless = [-0.5, 0.0, 0.125]

    assert chosen([harmful, harmful], three_people) == 0
    assert chosen([harmful, as_good], three_people) == 0
    assert chosen([as_good, harmful], three_people) == 0
    assert chosen([harmful, harmless, harmless], three_people) == 1


def test_who_loses_less_than_the_tolerance_counts_as_unharmed(three_people):
    tiny = three_people.problem.tolerance / 2
    harmful, unharmed = [-0.5, -0.1, 0.5], [-0.9, -tiny, 0.0]

    assert chosen([harmful, unharmed], three_people) == 1
    assert chosen([harmful, [-0.9, -4 * tiny, 0.0]], three_people) == 0


def test_a_rise_within_the_tolerance_is_none(three_people):
    tiny = three_people.problem.tolerance / 2

    assert chosen([[-1.0 + tiny, 0.0, 5.0]], three_people) is None
    assert chosen([[-1.0 + 4 * tiny, 0.0, 5.0]], three_people) == 0


def test_of_equal_operations_that_of_the_earlier_operator_is_selected(three_people):
    class Named:
        def __init__(self, name):
            self.name = name

        def generate(self, assignment):
            yield Proposals(np.array([[-0.5, 0.0, 0.0]]), lambda j: self.name)

    for first, second in ("ab", "ba"):
        both = AnyOf(Named(first), Named(second)).generate(three_people)
        assert select(both, three_people) == first


def test_nobody_cannot_take_the_place_of_the_only_member():
    # Row 0 is alone in cluster 0; joining cluster 1 would bring its mean nearer to
    # row 4, the only one of the worst-off group. Row 5 has no weight, so it cannot keep
    # cluster 0 alive.
    case = make_case(0, 6, 2, 2)._replace(
        X=np.array([[20.0], [0.0], [0.0], [0.0], [10.0], [5.0]]),
        labels=np.array([0, 1, 1, 1, 1, 1]),
        groups=np.array([1, 1, 1, 1, 0, 1]),
        weights=np.array([1.0, 1, 1, 1, 1, 0]),
    )
    assignment = case.assignment

    found = everything(R2Exhaustive(keep_all=True).generate(assignment))

    assert found
    assert all(5 not in dict(moves) for moves in found)
