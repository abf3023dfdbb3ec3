"""Algorithm 1: walk from an assignment to a fairer one, one operation at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import move_kernels
from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import nearest
from rawlsian._core.points import columns_of_points
from rawlsian._core.problem import Problem, Utility
from rawlsian._support.frames import frame_of, html_of
from rawlsian._support.interruption import keeps_partial
from rawlsian.operators.proposals import Moves, Operator, select
from rawlsian.operators.r1_r2 import MOVES_A_THREAD, R1

# Relative to the variance. Rounding stays far below; above, the operator is wrong.
LARGEST_TOLERANCE = 1e-3

# Steps of a walk without a limit; a call makes fewer.
MANY = 2**31

StopReason = Literal["no_operation", "max_iter", "interrupted"]


@dataclass(frozen=True, eq=False)
class Operation:
    """The moves of one step.

    Attributes
    ----------
    examples, sources, targets : ndarray of shape (n_moved,)
        The rows that moved, the clusters they left and the clusters they entered.
    """

    examples: NDArray[np.int64]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]


# An operation, and the mean utility of each group after it.
Recorded: TypeAlias = tuple[Operation, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Every step from the first assignment to the last.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Names of the groups, sorted; the columns of ``utilities``.
    utilities : ndarray of shape (n_iter + 1, n_groups)
        Mean utility of each group at the start and after each step.
    overall : ndarray of shape (n_iter + 1,)
        Mean utility of all examples at the start and after each step.
    labels : ndarray of shape (n_samples,)
        Labels at the end.
    cluster_centers : ndarray of shape (n_clusters, n_features)
        Means of the clusters at the end.
    operations : list of Operation
        The moves of each step.
    stop_reason : {"no_operation", "max_iter", "interrupted"}
        Why it ended: nothing that the operator proposed raises the lowest utility;
        the limit was reached; or the user pressed Ctrl-C.
    start_labels : ndarray of shape (n_samples,)
        Labels at the start.
    utility : {"assigned", "nearest"}
        The mean that serves an example: that of its cluster, or the nearest.
    served_labels : ndarray of shape (n_samples,)
        The cluster whose mean serves each example at the end, which is the one to use.
        These are ``labels`` if utility is "assigned". If it is "nearest", ``labels``
        only decide where the means are, and this is the cluster of the nearest mean.
    """

    groups: NDArray[Any]
    utilities: NDArray[np.float64]
    overall: NDArray[np.float64]
    labels: NDArray[np.int32]
    cluster_centers: NDArray[np.float64]
    operations: list[Operation]
    stop_reason: StopReason
    start_labels: NDArray[np.int32]
    utility: Utility
    served_labels: NDArray[np.int32]

    def __repr__(self) -> str:
        return (
            f"Trajectory(n_iter={self.n_iter}, stop_reason={self.stop_reason!r}, "
            f"lowest utility {self.utilities[0].min():.6g} -> "
            f"{self.utilities[-1].min():.6g})"
        )

    @property
    def n_iter(self) -> int:
        """Number of operations that were carried out."""
        return len(self.operations)

    def to_frame(self) -> Any:
        """Return one row per step as a pandas DataFrame; row 0 is the start.

        Returns
        -------
        pandas.DataFrame
            Columns "step", "lowest" and "overall" utility, "utility of" each group, and
            "n_moved", the number of examples that the step moved.
        """
        return frame_of(self._columns())

    def _repr_html_(self) -> str:
        return html_of(repr(self), self._columns())

    def _columns(self) -> dict[str, Any]:
        columns = columns_of_points("step", self.groups, self.utilities, self.overall)
        n_moved = [len(operation.examples) for operation in self.operations]
        return {**columns, "n_moved": [0, *n_moved]}

    def labels_at(self, step: int) -> NDArray[np.int32]:
        """Return the labels after that many steps; 0 is the start, -1 the end."""
        if not -self.n_iter - 1 <= step <= self.n_iter:
            raise IndexError(
                f"step {step} is not among the {self.n_iter + 1} points of this "
                "trajectory; 0 is the start and -1 the end."
            )
        labels = self.start_labels.copy()
        for operation in self.operations[: step % (self.n_iter + 1)]:
            labels[operation.examples] = operation.targets
        return labels


@dataclass(frozen=True, eq=False)
class Step:
    """The argument of a callback, after each step.

    Attributes
    ----------
    n_iter : int
        Number of operations carried out so far.
    utilities : ndarray of shape (n_groups,)
        Mean utility of each group now.
    overall : float
        Mean utility of all examples now.
    operation : Operation
        The moves of this step.
    """

    n_iter: int
    utilities: NDArray[np.float64]
    overall: float
    operation: Operation


def traverse_of(
    problem: Problem,
    labels: Any,
    *,
    operator: Operator,
    max_iter: int | None = None,
    callback: Callable[[Step], object] | None = None,
) -> Trajectory:
    """Raise the utility of the worst-off group of a problem, as ``traverse`` does."""
    # Compare utilities without max_distance: its rounding must not decide.
    assignment = Assignment(replace(problem, max_distance=0.0), labels)
    start_labels = assignment.labels.copy()
    start_utilities = problem.max_distance + assignment.own_utilities
    steps: list[Recorded] = []
    stop_reason: StopReason = "max_iter"
    is_compiled = callback is None and _walks_in_one_call(operator, assignment)
    try:
        while max_iter is None or len(steps) < max_iter:
            if is_compiled:
                left = MANY if max_iter is None else max_iter - len(steps)
                steps += _walk_singles(assignment, operator, left, problem.max_distance)
                if len(steps) == max_iter:
                    break
            moves = select(operator.generate(assignment), assignment)
            if moves is None:
                stop_reason = "no_operation"
                break
            operation = _carry_out(moves, assignment, operator)
            if operation is None:
                continue
            steps.append((operation, problem.max_distance + assignment.own_utilities))
            if callback is not None:
                overall = problem.max_distance + assignment.overall
                callback(Step(len(steps), steps[-1][1].copy(), overall, operation))
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        stop_reason = "interrupted"
    return _trajectory(
        problem.pooled(0), start_labels, start_utilities, steps, stop_reason
    )


def _walks_in_one_call(operator: Operator, assignment: Assignment) -> bool:
    """Return True if one call can make several steps, as on one thread.

    A heir of R1 may propose other moves; where threads share a step, Python between
    the kernels takes next to no time.
    """
    n_singles = assignment.problem.n_samples * (assignment.n_clusters - 1)
    is_pooled = assignment.problem.pooling.everyone > 0
    return type(operator) is R1 and 0 < n_singles < 2 * MOVES_A_THREAD and not is_pooled


def _walk_singles(
    assignment: Assignment, operator: Operator, most: int, max_distance: float
) -> list[Recorded]:
    """Make steps of R1 in one call, and undo the last if it did not help."""
    (examples, sources, targets), utilities, is_raised = assignment.walk_singles(most)
    n_made = len(examples)
    if not is_raised:
        n_made -= 1
        _undo(examples[n_made:], sources[n_made:], assignment, operator)
    utilities += max_distance
    return [
        (Operation(examples[at], sources[at], targets[at]), utilities[step])
        for step in range(n_made)
        for at in (slice(step, step + 1),)
    ]


def _carry_out(
    moves: Moves, assignment: Assignment, operator: Operator
) -> Operation | None:
    """Apply the moves; return None if they did not raise the lowest utility."""
    before = assignment.lowest
    # Copy: an operator may return views of arrays that apply() changes.
    examples, targets = np.array(moves[0]), np.array(moves[1])
    sources = assignment.apply(examples, targets)
    if assignment.lowest > before:
        return Operation(examples, sources, targets)
    _undo(examples, sources, assignment, operator)
    return None


def _undo(
    examples: NDArray[np.int64],
    sources: NDArray[np.int64],
    assignment: Assignment,
    operator: Operator,
) -> None:
    """Undo moves that did not raise the lowest utility, and raise the tolerance.

    Rounding was larger than the tolerance, as can happen if weights differ by orders of
    magnitude.
    """
    assignment.apply(examples, sources)
    assignment.recompute()
    problem = assignment.problem
    if problem.tolerance > LARGEST_TOLERANCE * problem.variance:
        raise RuntimeError(
            f"{type(operator).__name__} proposes operations that do not raise the "
            "lowest group utility; its generate() must yield the utilities after its "
            "moves, as Assignment.utilities_after returns them."
        )
    assignment.tolerate(10 * problem.tolerance)


def _trajectory(
    problem: Problem,
    start_labels: NDArray[np.int32],
    start_utilities: NDArray[np.float64],
    steps: list[Recorded],
    stop_reason: StopReason,
) -> Trajectory:
    """Return the trajectory of these steps, its end recomputed from the labels."""
    labels = start_labels.copy()
    for operation, _ in steps:
        labels[operation.examples] = operation.targets
    end = Assignment(problem, labels)
    utilities = np.array([start_utilities, *(utilities for _, utilities in steps)])
    utilities[-1] = end.utilities
    return Trajectory(
        groups=problem.group_names,
        utilities=utilities,
        overall=move_kernels.overall_utilities(utilities, problem.shares),
        labels=labels,
        cluster_centers=end.centers,
        operations=[operation for operation, _ in steps],
        stop_reason=stop_reason,
        start_labels=start_labels,
        utility=problem.utility,
        served_labels=_served(problem, end),
    )


def _served(problem: Problem, end: Assignment) -> NDArray[np.int32]:
    """Return the cluster whose mean serves each example, as ``predict`` finds it."""
    if problem.utility == "assigned":
        return end.labels
    return nearest(problem.X, end.centers)[0]
