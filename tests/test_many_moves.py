"""Operators that move many examples: their proposals and final clusterings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from rawlsian import (
    R1,
    AnyOf,
    Assignment,
    Batch,
    FirstOf,
    Proposals,
    Relocate,
    kmeans_restarts,
    select,
    traverse,
)
from rawlsian._core.problem import Problem
from rawlsian._search.fair_lloyd import FairRuns
from rawlsian._search.partitions import best_partitions, improved
from rawlsian.operators import relocate
from support.cases import NICE, UTILITIES, cases, make_case


def the_proposal(operator, assignment):
    """Return moves and utilities of an operator's one proposal."""
    (block,) = operator.generate(assignment)
    assert len(block.utilities) == 1
    return block.moves(0), block.utilities[0]


@pytest.fixture(scope="module")
def start(golden):
    """Return a k-means clustering of the golden sample with women as the LAG."""
    restarts = kmeans_restarts(
        golden.X, 5, n_runs=300, sensitive_features=golden.sex, random_state=0
    )
    runs = np.flatnonzero(restarts.least_advantaged == "Female")
    return restarts.labels(int(runs[np.argmax(restarts.overall[runs])]))


# --- Utilities after moves ---


@given(case=cases(utilities=UTILITIES, n=(3, 12)))
def test_utilities_after_moves_are_those_of_applying_them(case):
    rng = np.random.default_rng(0)
    examples = rng.permutation(len(case.X))[: len(case.X) // 2]
    targets = rng.integers(0, case.labels.max() + 1, len(examples))
    expected = case.reference.after(
        case.labels, list(zip(examples, targets, strict=True))
    )
    assignment = case.assignment

    if expected is None:
        with pytest.raises(ValueError, match="would be left empty"):
            assignment.utilities_after(examples, targets)
    else:
        found = assignment.utilities_after(examples, targets)
        assert found == pytest.approx(expected, abs=1e-9)
    assert np.array_equal(assignment.labels, case.labels)
    assert assignment.utilities == pytest.approx(case.reference.utilities(case.labels))


# --- Batch ---


def slow_batch(case):
    """Rank moves by exchange rate; halve until they gain half of the prediction."""
    reference, labels = case.reference, case.labels
    now = reference.utilities(labels)
    lag, sizes = int(np.argmin(now)), reference.group_sizes
    best = {}
    for ((i, c),) in reference.singles(labels):
        after = reference.after(labels, [(i, c)])
        if after is None or case.weights[i] == 0:
            continue
        change = (after - now) * sizes
        gain, loss = change[lag], change[lag] - change.sum()
        if gain <= reference.tolerance * sizes[lag]:
            continue
        has_loser = loss > reference.tolerance * sizes.sum()
        rate = gain / loss if has_loser else np.inf
        # Under "nearest", which of two clusters is entered often makes no difference.
        assume(i not in best or abs(gain - best[i][1]) > 1e-9)
        if i not in best or (rate, gain) > best[i][:2]:
            best[i] = (rate, gain, c, after - now)
    order = sorted(best, key=lambda i: (-best[i][0], -best[i][1]))
    promised = np.array(
        [
            (now + sum(best[i][3] for i in order[: m + 1])).min()
            for m in range(len(order))
        ]
    )
    n_moved = int(np.argmax(promised)) + 1 if order else 0
    while n_moved > 0:
        moves = [(i, best[i][2]) for i in order[:n_moved]]
        after = reference.after(labels, moves)
        if after is not None:
            least = 0.5 * (promised[n_moved - 1] - now.min())
            if after.min() - now.min() > max(least, reference.tolerance):
                return moves
        n_moved //= 2
    return None


@given(
    case=cases(
        utilities=UTILITIES, rows=NICE, n=(2, 14), weights=("ones", "floats", "zeros")
    )
)
def test_a_batch_is_the_largest_by_exchange_rate_that_holds_up(case):
    expected = slow_batch(case)

    if expected is None:
        theirs = select(R1().generate(case.assignment), case.assignment)
        ours = select(Batch().generate(case.assignment), case.assignment)
        assert repr(ours) == repr(theirs)
    else:
        moves, utilities = the_proposal(Batch(), case.assignment)
        assert list(zip(*map(np.ndarray.tolist, moves), strict=True)) == expected
        assert utilities == pytest.approx(
            case.reference.after(case.labels, expected), abs=1e-9
        )


@settings(max_examples=60)
@given(case=cases(utilities=UTILITIES, n=(2, 30)))
def test_batch_ends_only_where_r1_would(case):
    options = {"sample_weight": case.weights, "utility": case.utility}
    end = traverse(case.X, case.labels, case.groups, operator="batch", **options)

    further = traverse(case.X, end.labels, case.groups, operator="R1", **options)

    assert further.n_iter == 0


def test_batch_takes_fewer_steps_than_r1_and_ends_as_high(golden, start):
    one, many = (
        traverse(golden.X, start, golden.sex, operator=operator)
        for operator in ("R1", "batch")
    )

    assert many.n_iter < one.n_iter / 3
    assert many.utilities[-1].min() >= one.utilities[-1].min()
    assert max(len(operation.examples) for operation in many.operations) > 10


# --- Improving a partition, as relocate does ---


def slow_improvement(case, labels, temperatures):
    """Move each row in turn to its best cluster; recompute everything each time."""
    reference, tolerance = case.reference, case.reference.tolerance

    def ranks_before(costs, others, temperature):
        if temperature > 0:
            soft, other = (
                c.max()
                + temperature * np.log(np.exp((c - c.max()) / temperature).sum())
                for c in (costs, others)
            )
            return soft < other - tolerance
        for ours, theirs in zip(
            np.sort(costs)[::-1], np.sort(others)[::-1], strict=True
        ):
            if abs(ours - theirs) > tolerance:
                return ours < theirs
        return False

    labels = labels.copy()
    for temperature in temperatures:
        for _ in range(20):
            n_moved = 0
            for i in range(len(labels)):
                best = None
                costs = -reference.utilities(labels)
                for c in range(labels.max() + 1):
                    after = reference.after(labels, [(i, c)])
                    if after is None or case.weights[i] == 0 or c == labels[i]:
                        continue
                    if ranks_before(-after, costs, temperature):
                        best, costs = c, -after
                if best is not None:
                    labels[i] = best
                    n_moved += 1
            if n_moved == 0:
                break
    return labels


@settings(max_examples=60)
@given(case=cases(rows=NICE, n=(4, 12), weights=("ones", "floats", "zeros")))
def test_improving_moves_each_row_to_where_it_is_best(case):
    problem, temperatures = case.problem, [0.1, 0.001, 0.0]
    runs = FairRuns(problem, 300)
    order = runs.entries.rows  # the order in which rows are visited
    sorted_case = case._replace(
        X=case.X[order], groups=case.groups[order], weights=case.weights[order]
    )

    (found,) = improved(
        runs, [case.labels.astype(np.int32)], case.labels.max() + 1, temperatures
    )

    expected = slow_improvement(
        sorted_case, case.labels[order], np.array(temperatures) * problem.variance
    )
    assert found[order].tolist() == expected.tolist()


def test_improving_to_the_end_leaves_no_single_move_that_raises_the_lowest():
    case = make_case(3, 60, 4, 3)
    runs = FairRuns(case.problem, 300)

    (labels,) = improved(runs, [case.labels.astype(np.int32)], 4)

    assert Assignment(case.problem, labels).lowest > case.assignment.lowest
    walk = traverse(case.X, labels, case.groups, operator="R1")
    assert walk.n_iter == 0


def test_partitions_have_no_empty_cluster_and_are_not_repeated():
    case = make_case(3, 30, 3, 2)
    far = np.full(case.X.shape[1], 1e3)
    centers = np.array([[*case.X[:2], far], [*case.X[:2], far], case.X[:3]])

    found = best_partitions(case.problem, centers, 5)

    assert len(found) == 2
    assert all(np.bincount(labels, minlength=3).min() > 0 for labels in found)


# --- Relocate ---


@settings(max_examples=40)
@given(case=cases(utilities=UTILITIES, n=(2, 20)))
def test_relocate_proposes_what_its_moves_lead_to(case):
    assignment = case.assignment

    for block in Relocate(n_trials=6).generate(assignment):
        for j, utilities in enumerate(block.utilities):
            examples, targets = block.moves(j)
            labels = case.labels.copy()
            labels[examples] = targets
            assert (case.weights[examples] > 0).all()
            assert len(np.unique(labels[case.weights > 0])) == case.labels.max() + 1
            assert utilities == pytest.approx(
                case.reference.utilities(labels), abs=1e-9
            )


def test_relocate_leaves_a_basin_that_pairs_of_moves_do_not_leave():
    # Three clumps and three clusters, but two clusters share a clump.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], 20, axis=0)
    labels = np.array([0] * 10 + [1] * 10 + [2] * 40)
    groups = np.arange(60) % 2

    pairs, relocated = (
        traverse(X, labels, groups, operator=operator, max_distance=0)
        for operator in ("R2-exhaustive", "relocate")
    )

    assert pairs.utilities[-1].min() < -50
    assert relocated.utilities[-1].min() > -3


def test_relocating_moves_no_more_examples_than_it_must():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], 20, axis=0)
    labels = np.array([0] * 10 + [1] * 10 + [2] * 40)

    walk = traverse(X, labels, np.arange(60) % 2, operator="relocate", max_iter=1)

    assert len(walk.operations[0].examples) <= 30 + 5


@pytest.fixture
def large(monkeypatch):
    """Take any dense rows for so many that they are not moved one at a time."""
    monkeypatch.setattr(relocate, "MOST_SWEPT", 0)
    return Relocate(n_trials=30, least_gain=1e-6)


def far_people(seed):
    """Return rows far from the origin; the last group has three of 120, far apart."""
    rng = np.random.default_rng(seed)
    groups = np.array([0] * 60 + [1] * 57 + [2] * 3)
    X = rng.normal(size=(120, 3)) + np.array([1000, -500, 0])
    X[groups == 2] += [[8, 0, 0], [0, 8, 0], [0, 0, 8]]
    return X, groups


def test_on_large_data_relocating_serves_a_group_of_three_and_harms_no_minimum(large):
    for seed in range(5):
        X, groups = far_people(seed)
        labels = np.arange(120) % 4

        walk = traverse(X, labels, groups, operator=large, max_distance=0)

        lowest = walk.utilities.min(axis=1)
        assert walk.n_iter > 0
        assert (np.diff(lowest) > 0).all()
        assert lowest[-1] > 0.3 * lowest[0]  # distances: 0.3 of those at the start


def test_trials_run_on_rows_of_each_group_though_groups_are_many(large):
    X, _ = far_people(0)
    labels = np.arange(120) % 4

    walk = traverse(X, labels, np.arange(120) % 40, operator=large, max_iter=1)

    assert walk.n_iter == 1


def test_trials_on_a_part_of_the_rows_propose_what_their_moves_lead_to(large):
    X, groups = far_people(0)
    labels = (np.arange(120) % 4).astype(np.int32)
    assignment = Assignment(Problem.from_arrays(X, groups), labels)

    (block,) = large.generate(assignment)

    for j, utilities in enumerate(block.utilities):
        after = labels.copy()
        examples, targets = block.moves(j)
        after[examples] = targets
        assert utilities == pytest.approx(
            Assignment(assignment.problem, after).utilities, abs=1e-6
        )


def test_the_same_assignment_gives_the_same_relocations(golden, start):
    one, other = (
        traverse(golden.X, start, golden.sex, operator="relocate", max_iter=2)
        for _ in range(2)
    )

    assert one.n_iter > 0
    assert np.array_equal(one.labels, other.labels)


@pytest.mark.parametrize("n_trials", [0, -3, 1.5])
def test_a_number_of_trials_that_there_cannot_be_is_an_error(n_trials):
    with pytest.raises(ValueError, match="n_trials must be a whole number, 1 or more"):
        Relocate(n_trials=n_trials)


# --- Composition ---


class Counting:
    """An operator that counts calls of ``generate``."""

    def __init__(self, operator):
        self.operator, self.n_asked = operator, 0

    def generate(self, assignment):
        self.n_asked += 1
        yield from self.operator.generate(assignment)


class Nothing:
    """An operator that proposes only a worse clustering."""

    def generate(self, assignment):
        worse = assignment.utilities[None] - 1.0
        yield Proposals(worse, lambda j: (np.array([0]), np.array([0])))


def test_first_of_asks_the_next_only_where_the_first_has_nothing():
    case = make_case(2, 40, 4, 2)
    first, second = Counting(R1()), Counting(R1())

    walk = traverse(case.X, case.labels, case.groups, operator=FirstOf(first, second))

    assert walk.n_iter > 1
    assert first.n_asked == walk.n_iter + 1
    assert second.n_asked == 1


def test_first_of_goes_on_where_a_proposal_is_not_admitted():
    case = make_case(2, 40, 4, 2)

    found = traverse(
        case.X, case.labels, case.groups, operator=FirstOf(Nothing(), "R1")
    )

    alone = traverse(case.X, case.labels, case.groups, operator="R1")
    assert np.array_equal(found.labels, alone.labels)


@pytest.mark.parametrize("compose", [AnyOf, FirstOf])
def test_composing_nothing_is_an_error(compose):
    with pytest.raises(ValueError, match=f"{compose.__name__} needs at least one"):
        compose()


def test_composed_operators_say_what_they_are_made_of():
    assert repr(FirstOf("R1", "batch")) == (
        "FirstOf(R1(keep_all=False), Batch(least_gain=0.0))"
    )


# --- Rawls ---


@settings(max_examples=60)
@given(
    case=cases(
        utilities=UTILITIES, rows=NICE, n=(4, 24), k=(2, 4), weights=("ones", "floats")
    )
)
def test_rawls_leaves_nothing_that_its_parts_would_do(case):
    options = {"sample_weight": case.weights, "utility": case.utility}
    end = traverse(case.X, case.labels, case.groups, operator="rawls", **options)

    parts = ("R1", "R2-exhaustive", "relocate")
    for operator in parts if case.utility == "assigned" else ("R1", "relocate"):
        further = traverse(
            case.X, end.labels, case.groups, operator=operator, **options
        )
        assert further.n_iter == 0


def test_on_adult_rawls_ends_far_above_r1_and_r2(golden, start):
    ends = {
        operator: traverse(golden.X, start, golden.sex, operator=operator)
        .utilities[-1]
        .min()
        for operator in ("R1", "R2", "rawls")
    }

    assert ends["rawls"] > max(ends["R1"], ends["R2"]) + 0.02


def test_on_many_rows_rawls_does_without_pairs(monkeypatch):
    case = make_case(2, 40, 4, 2)
    monkeypatch.setattr("rawlsian.operators.compositions.MOST_MOVES", 10)

    few = traverse(case.X, case.labels, case.groups, operator="rawls")

    parts = FirstOf(Batch(1e-6), Relocate(least_gain=1e-6))
    expected = traverse(case.X, case.labels, case.groups, operator=parts)
    assert np.array_equal(few.labels, expected.labels)


def test_a_batch_gains_at_least_what_it_must(golden, start):
    walk = traverse(golden.X, start, golden.sex, operator=Batch(1e-3), max_distance=0)

    lowest = walk.utilities.min(axis=1)
    assert walk.n_iter > 0
    assert (np.diff(lowest) > -1e-3 * lowest[:-1]).all()


def test_relocating_with_a_least_gain_costs_no_more_than_that(golden, start):
    ends = [
        traverse(
            golden.X, start, golden.sex, operator=Relocate(least_gain=least_gain),
            max_distance=0,
        ).utilities[-1].min()
        for least_gain in (0.0, 1e-6)
    ]  # fmt: skip

    assert ends[1] == pytest.approx(ends[0], rel=1e-3)


@pytest.mark.parametrize("operator", [Batch, Relocate])
@pytest.mark.parametrize("least_gain", [-1e-6, 1.0])
def test_a_least_gain_is_a_share(operator, least_gain):
    with pytest.raises(
        ValueError, match="least_gain must be a fraction from 0 to below 1"
    ):
        operator(least_gain=least_gain)
