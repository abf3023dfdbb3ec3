"""Algorithm 1: from an assignment to a fairer one, an operation at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import move_kernels
from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import MaxDistance, Problem
from rawlsian._outofcore.problem import MAX_PASSES
from rawlsian._outofcore.walk import traverse_blocks
from rawlsian._rows.opening import as_blocks
from rawlsian.operators.compositions import get_operator
from rawlsian.operators.proposals import Moves, Operator, select

# Times the variance. Rounding stays far below; beyond it an operator must be wrong.
LARGEST_TOLERANCE = 1e-3

StopReason = Literal["no_operation", "max_iter", "interrupted"]


@dataclass(frozen=True, eq=False)
class Operation:
    """What one step moved.

    Attributes
    ----------
    examples, sources, targets : ndarray of shape (n_moved,)
        The rows that were moved, the clusters they left and the ones they entered.
    """

    examples: NDArray[np.int64]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The way from the first assignment to the last.

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
        What each step moved, from where to where.
    stop_reason : {"no_operation", "max_iter", "interrupted"}
        Why it ended: nothing that the operator proposed raises the lowest utility;
        the limit was reached; or the user pressed Ctrl-C.
    start_labels : ndarray of shape (n_samples,)
        Labels at the start.
    """

    groups: NDArray[Any]
    utilities: NDArray[np.float64]
    overall: NDArray[np.float64]
    labels: NDArray[np.int32]
    cluster_centers: NDArray[np.float64]
    operations: list[Operation]
    stop_reason: StopReason
    start_labels: NDArray[np.int32]

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

    def labels_at(self, step: int) -> NDArray[np.int32]:
        """Labels after that many steps; 0 is the start, -1 the end."""
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
    """What a callback is told after each step.

    Attributes
    ----------
    n_iter : int
        Number of operations carried out so far.
    utilities : ndarray of shape (n_groups,)
        Mean utility of each group now.
    overall : float
        Mean utility of all examples now.
    operation : Operation
        What this step moved.
    """

    n_iter: int
    utilities: NDArray[np.float64]
    overall: float
    operation: Operation


def traverse(
    X: Any,
    labels: Any,
    sensitive_features: Any,
    *,
    operator: str | Operator = "R1",
    sample_weight: Any = None,
    max_distance: MaxDistance = "auto",
    max_iter: int | None = None,
    max_passes: int = MAX_PASSES,
    callback: Callable[[Any], object] | None = None,
) -> Any:
    """Raise the utility of the worst-off group, one operation at a time.

    At every step the operator proposes operations. Those that raise the lowest group
    utility are admitted; among them one that harms no group is preferred, then the
    one with the highest overall utility, then the earliest. It ends when no
    operation is admitted.

    Parameters
    ----------
    X : array-like or Blocks of shape (n_samples, n_features)
        The examples, as numbers. For rows in blocks (see ``open_blocks``), Dask arrays
        and frames the operator must be "batch" or "rawls".
    labels : array-like of shape (n_samples,)
        The clustering to start from: integers from 0 to k - 1, each in use.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        The group of each example: text, numbers, booleans; several columns mean
        their intersections. ``None`` means one group.
    operator : str or object with ``generate``, default="R1"
        "R1", the paper's first, moves one example, "R2" a pair of good single moves,
        "R1+R2" whichever is better, "R2-exhaustive" any pair, "batch" many examples
        that hold up together, "relocate" whoever belongs elsewhere when a cluster is
        founded anew, and "rawls" whatever helps, which reaches furthest.
    sample_weight : array-like of shape (n_samples,), default=None
        A row of weight w counts as w people who move together.
    max_distance : "auto" or float, default="auto"
        Utility is this less the squared distance to the cluster's mean. "auto" is
        the squared diagonal of the bounding box of X. It changes no decision.
    max_iter : int, default=None
        Stop after that many operations.
    max_passes : int, default=30
        How many times rows in blocks are gone over at most; each operation takes two
        passes or more. Rows in memory are not limited by it.
    callback : callable, default=None
        Called with a ``Step`` after each operation; for rows in blocks, with a
        ``PassStep`` after each pass.

    Returns
    -------
    Trajectory or LargeTrajectory
        Labels at the end and at every step, utilities, and why it ended; of rows in
        blocks, labels at the end only. Ctrl-C ends it early and returns what was
        reached.

    Examples
    --------
    >>> from rawlsian import traverse
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> trajectory = traverse(X, [0, 0, 0, 1, 1], ["a", "b", "a", "b", "b"])
    >>> trajectory.stop_reason
    'no_operation'
    """
    operator = get_operator(operator)
    _check_max_iter(max_iter)
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function, got {callback!r}.")
    blocks = as_blocks(X)
    if blocks is not None:
        return traverse_blocks(
            blocks, labels, sensitive_features, operator=operator,
            sample_weight=sample_weight, max_distance=max_distance, max_iter=max_iter,
            max_passes=max_passes, callback=callback,
        )  # fmt: skip
    problem = Problem.from_arrays(
        X, sensitive_features, sample_weight=sample_weight, max_distance=max_distance
    )
    # Utilities without max_distance decide, so that it cannot matter by rounding.
    assignment = Assignment(replace(problem, max_distance=0.0), labels)
    start_labels = assignment.labels.copy()
    start_utilities = problem.max_distance + assignment.utilities
    steps: list[tuple[Operation, NDArray[np.float64]]] = []
    stop_reason: StopReason = "max_iter"
    try:
        while max_iter is None or len(steps) < max_iter:
            moves = select(operator.generate(assignment), assignment)
            if moves is None:
                stop_reason = "no_operation"
                break
            operation = _carry_out(moves, assignment, operator)
            if operation is None:
                continue
            steps.append((operation, problem.max_distance + assignment.utilities))
            if callback is not None:
                overall = problem.max_distance + assignment.overall
                callback(Step(len(steps), steps[-1][1].copy(), overall, operation))
    except KeyboardInterrupt:
        stop_reason = "interrupted"
    return _trajectory(problem, start_labels, start_utilities, steps, stop_reason)


def _carry_out(
    moves: Moves, assignment: Assignment, operator: Operator
) -> Operation | None:
    """Apply the moves; None if they did not raise the lowest utility after all.

    Then rounding was larger than the tolerance, as can happen with weights of very
    different size: the moves are taken back and the tolerance is raised.
    """
    before = assignment.lowest
    # Copies: what an operator gives may be a view of what the moves change.
    examples, targets = np.array(moves[0]), np.array(moves[1])
    sources = assignment.apply(examples, targets)
    if assignment.lowest > before:
        return Operation(examples, sources, targets)
    assignment.apply(examples, sources)
    assignment.recompute()
    problem = assignment.problem
    if problem.tolerance > LARGEST_TOLERANCE * problem.variance:
        raise RuntimeError(
            f"{type(operator).__name__} proposes operations that do not raise the "
            "lowest group utility; its generate() must yield the utilities that its "
            "moves lead to, as Assignment.utilities_after gives them."
        )
    assignment.problem = replace(problem, tolerance=10 * problem.tolerance)
    return None


def _trajectory(
    problem: Problem,
    start_labels: NDArray[np.int32],
    start_utilities: NDArray[np.float64],
    steps: list[tuple[Operation, NDArray[np.float64]]],
    stop_reason: StopReason,
) -> Trajectory:
    """The trajectory of these steps, with its end computed afresh from the labels."""
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
    )


def _check_max_iter(max_iter: object) -> None:
    if max_iter is None or (isinstance(max_iter, Integral) and int(max_iter) >= 0):
        return
    raise ValueError(
        f"max_iter must be None (no limit) or a number of steps, got {max_iter!r}."
    )
