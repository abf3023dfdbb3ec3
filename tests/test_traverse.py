"""Algorithm 1: the golden case, invariants, brute force, stopping."""

from __future__ import annotations

import os
import signal
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from rawlsian import Assignment, Proposals, group_utilities, operators, traverse
from rawlsian._core import (
    assigned_costs as _assigned_costs,
    group_costs as _group_costs,
    nearest_costs as _nearest_costs,
    problem as _problem,
)
from rawlsian._core.problem import Problem
from rawlsian._support import threads as _threads
from rawlsian.operators import r1_r2 as _r1_r2
from support.cases import NICE, UTILITIES, cases, is_same_partition, make_case
from support.reference import Reference, all_assignments

OPERATORS = ["R1", "R2", "R1+R2", "R2-exhaustive"]
EVERY_OPERATOR = [*OPERATORS, "batch", "relocate", "rawls"]


def run(case, operator, **options):
    return traverse(
        case.X,
        case.labels,
        case.groups,
        operator=operator,
        sample_weight=case.weights,
        max_distance=10.0,
        utility=case.utility,
        **options,
    )


# --- Several steps in one compiled call ---


def recorded(trajectory):
    """Return the bytes of every step."""
    moves = [(o.examples, o.sources, o.targets) for o in trajectory.operations]
    return (
        [[array.tobytes() for array in move] for move in moves],
        trajectory.utilities.tobytes(),
        trajectory.labels.tobytes(),
        trajectory.stop_reason,
    )


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("rows", ["continuous", "far", "grid", "duplicates"])
@pytest.mark.parametrize("n_before_recompute", [4096, 7])
def test_steps_in_one_call_have_the_bits_of_steps_one_by_one(
    utility, rows, n_before_recompute, monkeypatch
):
    for module in (_group_costs, _assigned_costs, _nearest_costs):
        monkeypatch.setattr(module, "MOVES_BEFORE_RECOMPUTE", n_before_recompute)
    kinds = list(product((2, 3, 5), (1, 2, 4), ("ones", "zeros", "floats")))
    for seed, (k, n_groups, weights) in enumerate(kinds):
        case = make_case(seed, 24, k, n_groups, rows, weights, utility)

        at_once = recorded(run(case, "R1"))
        one_by_one = recorded(run(case, "R1", callback=lambda step: None))

        assert at_once == one_by_one


@pytest.mark.parametrize("utility", UTILITIES)
def test_steps_of_the_golden_case_do_not_depend_on_their_number_in_a_call(
    golden, utility, monkeypatch
):
    data = {"X": golden.X, "labels": golden.labels, "sensitive_features": golden.sex}
    at_once = traverse(**data, utility=utility, max_iter=60)

    # At least one step a call, and after each call one outside of it.
    monkeypatch.setattr(_group_costs, "SINGLES_A_CALL", 4 * 3 * len(golden.X))
    three_at_once = traverse(**data, utility=utility, max_iter=60)

    assert at_once.stop_reason == "max_iter"
    assert recorded(at_once) == recorded(three_at_once)


def test_an_heir_of_r1_proposes_its_own_moves():
    class Nothing(operators.R1):
        def generate(self, assignment):
            return iter(())

    case = make_case(3, 24, 3, 2)

    assert run(case, "R1").n_iter > 0
    assert run(case, Nothing()).n_iter == 0


# --- The golden case ---


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("operator", ["R1", "R2"])
def test_the_golden_case_is_reproduced(golden, operator, utility):
    start, expected = (golden.expected[utility][key] for key in ("start", operator))

    trajectory = traverse(
        golden.X,
        golden.labels,
        golden.sex,
        operator=operator,
        utility=utility,
        max_distance=golden.max_distance,
    )

    assert trajectory.groups.tolist() == golden.expected[utility]["groups"]
    assert trajectory.n_iter == expected["iterations"]
    assert trajectory.utilities[0] == pytest.approx(start, abs=1e-9)
    assert trajectory.utilities[10] == pytest.approx(expected["after_10"], abs=1e-9)
    assert trajectory.utilities[-1] == pytest.approx(expected["end"], abs=1e-9)
    assert trajectory.stop_reason == "no_operation"


def test_three_steps_of_the_golden_case_agree_with_the_reference(golden):
    groups = (golden.sex == "Male").astype(int)
    reference = Reference(golden.X[::10], groups[::10], max_distance=8.0)
    labels = golden.labels[::10]

    expected, end = reference.traverse(labels, "R1", max_iter=3)
    found = traverse(
        golden.X[::10], labels, golden.sex[::10], max_distance=8.0, max_iter=3
    )

    assert found.utilities == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(found.labels, end)


# --- Against the reference, and invariants ---


@pytest.mark.parametrize("operator", OPERATORS)
@settings(max_examples=60)
@given(case=cases(utilities=UTILITIES, rows=NICE, n=(2, 8), weights=("ones", "floats")))
def test_a_whole_traversal_agrees_with_the_reference(operator, case):
    expected, end = case.reference.traverse(case.labels, operator)

    trajectory = run(case, operator)

    assert trajectory.utilities == pytest.approx(expected, abs=1e-9)
    assert is_same_partition(trajectory.labels, end)


@pytest.mark.parametrize("operator", EVERY_OPERATOR)
@given(case=cases(utilities=UTILITIES, n=(2, 20)))
def test_each_step_raises_the_lowest_utility_and_empties_no_cluster(operator, case):
    trajectory = run(case, operator)

    assert (np.diff(trajectory.utilities.min(axis=1)) > 0).all()
    for step in range(trajectory.n_iter + 1):
        labels = trajectory.labels_at(step)
        assert len(np.unique(labels[case.weights > 0])) == case.labels.max() + 1
        assert trajectory.utilities[step] == pytest.approx(
            case.reference.utilities(labels), abs=1e-9
        )


@pytest.mark.parametrize(("operator", "n_moved"), [("R1", 1), ("R2-exhaustive", 2)])
@pytest.mark.parametrize("seed", range(20))
def test_by_brute_force_it_stops_only_where_no_operation_helps(operator, n_moved, seed):
    case = make_case(seed, 7, 3, 2 + seed % 2, utility=UTILITIES[seed // 10])
    trajectory = run(case, operator)
    reached = trajectory.utilities[-1].min()

    within_reach = [
        case.reference.utilities(labels).min()
        for labels in all_assignments(7, 3)
        if (labels != trajectory.labels).sum() == n_moved
    ]

    assert within_reach
    assert max(within_reach) <= reached + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_by_brute_force_r1_and_r2_together_stop_no_lower_than_r1_could(seed):
    case = make_case(seed, 7, 3, 2)
    trajectory = run(case, "R1+R2")

    assert not case.reference.operations("R1", trajectory.labels)
    assert not case.reference.operations("R2", trajectory.labels)


def test_an_assignment_that_is_already_best_is_returned_as_it_is():
    case = make_case(0, 7, 2, 2)
    best = max(
        all_assignments(7, 2), key=lambda labels: case.reference.utilities(labels).min()
    )

    for operator in EVERY_OPERATOR:
        trajectory = run(case._replace(labels=best), operator)
        assert trajectory.n_iter == 0
        assert np.array_equal(trajectory.labels, best)


@pytest.mark.parametrize("operator", OPERATORS)
def test_numbering_clusters_differently_changes_no_utility(operator):
    case = make_case(2, 40, 4, 3)
    order = np.array([2, 0, 3, 1])

    plain = run(case, operator)
    permuted = run(case._replace(labels=order[case.labels]), operator)

    assert plain.n_iter > 0
    assert permuted.utilities == pytest.approx(plain.utilities, abs=1e-12)
    assert np.array_equal(permuted.labels, order[plain.labels])


@pytest.mark.parametrize("operator", EVERY_OPERATOR)
def test_naming_groups_differently_permutes_the_utilities(operator):
    case = make_case(2, 40, 4, 3)

    plain = run(case, operator)
    renamed = run(case._replace(groups=2 - case.groups), operator)

    assert renamed.utilities[:, ::-1] == pytest.approx(plain.utilities, abs=1e-12)
    assert np.array_equal(renamed.labels, plain.labels)


@pytest.mark.parametrize("max_distance", [0, 1e6, 1e20])
@pytest.mark.parametrize("operator", EVERY_OPERATOR)
def test_max_distance_shifts_utilities_and_changes_no_label(operator, max_distance):
    case = make_case(2, 40, 4, 2)

    near = traverse(case.X, case.labels, case.groups, operator=operator)
    far = traverse(
        case.X, case.labels, case.groups, operator=operator, max_distance=max_distance
    )

    shift = max_distance - ((case.X.max(axis=0) - case.X.min(axis=0)) ** 2).sum()
    assert far.utilities == pytest.approx(near.utilities + shift)
    assert np.array_equal(far.labels, near.labels)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_unit_of_measurement_changes_no_label(scale):
    case = make_case(2, 40, 4, 2)

    plain = traverse(case.X, case.labels, case.groups)
    scaled = traverse(case.X * scale, case.labels, case.groups)

    assert plain.n_iter > 0
    assert np.array_equal(scaled.labels, plain.labels)


@pytest.mark.parametrize("operator", OPERATORS)
def test_float32_comes_close_to_float64(operator):
    case = make_case(2, 40, 4, 2)
    rounded = case.X.astype(np.float32)

    single = traverse(rounded, case.labels, case.groups, operator=operator)
    double = traverse(
        rounded.astype(np.float64), case.labels, case.groups, operator=operator
    )

    assert np.array_equal(single.labels, double.labels)
    assert single.utilities[0] == pytest.approx(
        traverse(case.X, case.labels, case.groups).utilities[0], rel=1e-6
    )


def test_rows_of_weight_two_lead_where_repeated_rows_start():
    case = make_case(2, 30, 3, 2, weights="counts")
    repeat = case.weights.astype(int)

    weighted = run(case, "R1")
    repeated = traverse(
        np.repeat(case.X, repeat, axis=0),
        np.repeat(weighted.labels, repeat),
        np.repeat(case.groups, repeat),
        max_distance=10.0,
        max_iter=0,
    )

    assert repeated.utilities[0] == pytest.approx(weighted.utilities[-1], abs=1e-12)


@pytest.mark.parametrize("operator", EVERY_OPERATOR)
def test_rows_of_weight_zero_change_nothing(operator):
    case = make_case(2, 40, 3, 2, weights="zeros")
    kept = case.weights > 0
    people = case._replace(
        X=case.X[kept],
        labels=case.labels[kept],
        groups=case.groups[kept],
        weights=case.weights[kept],
    )

    with_them, without = run(case, operator), run(people, operator)

    assert 0 < kept.sum() < 40
    assert with_them.utilities == pytest.approx(without.utilities, abs=1e-12)
    assert np.array_equal(with_them.labels[kept], without.labels)


# --- Threads ---


@pytest.mark.parametrize("rows", ["continuous", "grid", "duplicates"])
@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("operator", EVERY_OPERATOR)
def test_the_number_of_threads_changes_nothing(monkeypatch, operator, utility, rows):
    case = make_case(5, 30, 4, 3, rows=rows, utility=utility)
    alone = run(case, operator)
    monkeypatch.setattr(_threads, "n_threads", lambda: 3)
    for module in (_group_costs, _problem):
        monkeypatch.setattr(module, "ROWS_A_THREAD", 8)
    monkeypatch.setattr(_r1_r2, "MOVES_A_THREAD", 8)
    monkeypatch.setattr(_group_costs, "PAIRS_A_THREAD", 8)
    monkeypatch.setattr(_assigned_costs, "FIRSTS_A_THREAD", 8)
    together = run(case, operator)

    assert alone.n_iter > 0
    assert np.array_equal(together.utilities, alone.utilities)
    assert np.array_equal(together.labels, alone.labels)


def test_work_is_cut_into_one_chunk_a_thread(monkeypatch):
    monkeypatch.setattr(_threads, "n_threads", lambda: 3)

    chunks = _threads.run_in_chunks(lambda a, b: (a, b), 100, smallest_chunk=10)

    assert chunks == [(0, 33), (33, 66), (66, 100)]


def test_work_done_together_comes_back_in_order(monkeypatch):
    monkeypatch.setattr(_threads, "n_threads", lambda: 2)

    for n_together in (1, 2, 5):
        done = _threads.run_together(lambda i: i * i, 5, n_together)

        assert done == [0, 1, 4, 9, 16]


def test_numba_num_threads_sets_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "5")
    assert _threads.n_threads() == 5

    monkeypatch.delenv("NUMBA_NUM_THREADS")
    assert _threads.n_threads() >= 1


# --- Stopping and looking back ---


def test_max_iter_stops_and_says_so():
    case = make_case(2, 40, 4, 2)

    trajectory = run(case, "R1", max_iter=3)

    assert (trajectory.n_iter, trajectory.stop_reason) == (3, "max_iter")
    assert np.array_equal(trajectory.labels, run(case, "R1").labels_at(3))


def test_a_trajectory_remembers_every_step():
    case = make_case(2, 40, 4, 2)
    trajectory = run(case, "R2")
    start, labels = trajectory.labels_at(0), trajectory.labels_at(0)

    for operation in trajectory.operations:
        assert np.array_equal(labels[operation.examples], operation.sources)
        labels[operation.examples] = operation.targets

    assert np.array_equal(start, case.labels)
    assert np.array_equal(labels, trajectory.labels)
    assert np.array_equal(trajectory.labels_at(-1), trajectory.labels)
    assert len(trajectory.overall) == len(trajectory.utilities) == trajectory.n_iter + 1
    assert repr(trajectory).startswith(f"Trajectory(n_iter={trajectory.n_iter}, ")


@pytest.mark.parametrize("step", [-100, 100])
def test_a_step_that_never_was_is_an_error(step):
    with pytest.raises(IndexError, match=f"step {step} is not among"):
        run(make_case(2, 10, 2, 2), "R1").labels_at(step)


def test_a_callback_hears_of_each_step():
    case = make_case(2, 40, 4, 2)
    steps = []

    trajectory = run(case, "R1", callback=steps.append)

    assert [step.n_iter for step in steps] == list(range(1, trajectory.n_iter + 1))
    assert [step.overall for step in steps] == pytest.approx(trajectory.overall[1:])
    assert steps[-1].utilities == pytest.approx(trajectory.utilities[-1])
    assert steps[0].operation is trajectory.operations[0]


def test_ctrl_c_returns_what_was_reached():
    case = make_case(2, 40, 4, 2)

    def interrupt(step):
        if step.n_iter == 2:
            raise KeyboardInterrupt

    trajectory = run(case, "R1", callback=interrupt)

    assert (trajectory.n_iter, trajectory.stop_reason) == (2, "interrupted")
    assert np.array_equal(trajectory.labels, run(case, "R1").labels_at(2))


def test_ctrl_c_while_proposals_are_generated_loses_nothing():
    class Interrupted:
        calls = 0

        def generate(self, assignment):
            self.calls += 1
            if self.calls == 4:
                raise KeyboardInterrupt
            yield from operators.R1().generate(assignment)

    trajectory = run(make_case(2, 40, 4, 2), Interrupted())

    assert (trajectory.n_iter, trajectory.stop_reason) == (3, "interrupted")


def test_a_real_sigint_returns_what_was_reached():
    def stop(step):
        if step.n_iter == 2:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        trajectory = run(make_case(2, 60, 4, 2), "R1", callback=stop)
    except KeyboardInterrupt:  # which would end all tests
        pytest.fail("the interrupt was not caught")
    finally:
        signal.signal(signal.SIGINT, before)

    assert (trajectory.stop_reason, trajectory.n_iter) == ("interrupted", 2)


# --- Operators of one's own ---


class SwapTwo:
    """A user's operator: exchange the clusters of two examples."""

    def generate(self, assignment):
        labels, problem = assignment.labels, assignment.problem
        found = []
        for i in range(len(labels)):
            for j in range(i):
                if labels[i] != labels[j]:
                    trial = Assignment(problem, labels)
                    trial.apply([i, j], [labels[j], labels[i]])
                    found.append((trial.utilities, i, j))
        if found:
            utilities = np.array([point for point, _, _ in found])
            yield Proposals(utilities, lambda p: self._moves(found[p], labels))

    @staticmethod
    def _moves(proposal, labels):
        _, i, j = proposal
        return np.array([i, j]), np.array([labels[j], labels[i]])


def test_an_operator_of_ones_own_needs_nothing_but_generate():
    case = make_case(2, 12, 3, 2)

    trajectory = run(case, SwapTwo())

    assert trajectory.n_iter > 0
    assert np.array_equal(
        np.bincount(trajectory.labels), np.bincount(case.labels)
    )  # exchanging keeps sizes


def test_an_operator_may_give_views_of_the_labels():
    class MoveLikeTheFirst:
        """Proposes R1's best move, with a target that is a view of the labels."""

        def generate(self, assignment):
            for block in operators.R1().generate(assignment):
                yield Proposals(block.utilities, lambda j, b=block: self._view(b, j))
                self.labels = assignment.labels

        def _view(self, block, j):
            examples, targets = block.moves(j)
            same = np.flatnonzero(self.labels == targets[0])[:1]
            start = int(same[0])
            return examples.tolist(), self.labels[start : start + 1]

    case = make_case(2, 40, 4, 2)
    operator = MoveLikeTheFirst()
    operator.labels = None

    trajectory = run(case, operator)

    assert trajectory.n_iter > 0
    assert np.array_equal(trajectory.labels, run(case, "R1").labels)
    assert np.array_equal(trajectory.labels_at(-1), trajectory.labels)


def test_an_operator_that_misstates_its_utilities_is_caught():
    class Boaster:
        def generate(self, assignment):
            utilities = assignment.utilities[None] + 1
            yield Proposals(utilities, lambda j: (np.array([0]), assignment.labels[:1]))

    with pytest.raises(RuntimeError, match=r"Boaster.*must yield the utilities"):
        run(make_case(2, 12, 3, 2), Boaster())


# --- Small and odd ---


def test_rounding_with_weights_of_very_different_size_is_taken_back():
    # Found by fuzzing: after some steps a predicted gain is 2.2e-14, the true one 0.
    X = np.array([[2, 1], [1, 2], [0, 1], [2, 2], [1, 1]]) / 3
    weights = [4, 20, 69494, 30, 5041]

    trajectory = traverse(
        X, [0, 1, 2, 0, 1], [0, 1, 0, 1, 0], sample_weight=weights, max_distance=1.0
    )

    assert trajectory.stop_reason == "no_operation"
    assert (np.diff(trajectory.utilities.min(axis=1)) > 0).all()


def test_the_end_is_computed_afresh_from_the_labels():
    case = make_case(2, 40, 4, 2)

    trajectory = run(case, "R1")

    fresh = group_utilities(case.X, trajectory.labels, case.groups, max_distance=10.0)
    assert trajectory.n_iter > 10
    assert np.array_equal(trajectory.utilities[-1], fresh)


def test_one_cluster_leaves_nothing_to_do():
    case = make_case(0, 5, 1, 2)

    for operator in EVERY_OPERATOR:
        assert run(case, operator).n_iter == 0


def test_identical_rows_leave_nothing_to_do():
    X = np.ones((6, 2))

    for operator in EVERY_OPERATOR:
        trajectory = traverse(X, [0, 0, 1, 1, 2, 2], list("ababab"), operator=operator)
        assert trajectory.n_iter == 0
        assert (trajectory.utilities == 0).all()  # no spread: max_distance is 0


def test_with_one_group_the_overall_utility_rises():
    case = make_case(2, 40, 4, 1)

    trajectory = traverse(case.X, case.labels, None)

    assert trajectory.n_iter > 0
    assert trajectory.groups.tolist() == ["all"]
    assert trajectory.utilities[:, 0] == pytest.approx(trajectory.overall)


def test_two_rows_in_two_clusters_stay_where_they_are():
    trajectory = traverse([[0.0], [1.0]], [0, 1], ["a", "b"], operator="R2-exhaustive")

    assert trajectory.labels.tolist() == [0, 1]


def test_the_tolerance_is_a_trillionth_on_the_paper_s_scale(golden):
    tolerance = Problem.from_arrays(golden.X, golden.sex, max_distance=8.0).tolerance

    assert 0.5e-12 < tolerance < 2e-12
