"""Algorithm 1 out of core: batches of moves, and relocating clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.points import columns_of_points
from rawlsian._outofcore.labels import LabelColumn
from rawlsian._outofcore.means import Partition, by_labels
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._outofcore.sample import Sample
from rawlsian._outofcore.steps import OutOfCoreStep, steps_of
from rawlsian._rows.executors import Column
from rawlsian._support.frames import frame_of, html_of
from rawlsian._support.interruption import finished, keeps_partial
from rawlsian.operators.proposals import Operator

# Passes that a walk needs: to check the rows, to draw the sample and to add up the
# clusters at the start.
LEAST_PASSES = 3
# With fewer passes left, a walk ends with "max_passes".
FEWEST_TO_GO_ON = 2

StopReason = Literal["no_operation", "max_iter", "max_passes", "interrupted"]


@dataclass(frozen=True, eq=False)
class LargeTrajectory:
    """Every step from the first partition of out-of-core rows to the last.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Names of the groups, sorted; the columns of ``utilities``.
    utilities : ndarray of shape (n_iter + 1, n_groups)
        Mean utility of each group at the start and after each step.
    overall : ndarray of shape (n_iter + 1,)
        Mean utility of all examples at the start and after each step.
    labels, start_labels : ndarray or Dask array of shape (n_samples,)
        Labels at the end and at the start.
    cluster_centers : ndarray of shape (n_clusters, n_features)
        Means of the clusters at the end.
    n_moved : list of int
        Number of examples that each step moved.
    stop_reason : {"no_operation", "max_iter", "max_passes", "interrupted"}
        Why it ended: no step raises the lowest utility; the limit on steps or on
        passes was reached; or the user pressed Ctrl-C.
    n_passes : int
        Number of passes over all rows.
    """

    groups: NDArray[Any]
    utilities: NDArray[np.float64]
    overall: NDArray[np.float64]
    labels: Any
    start_labels: Any
    cluster_centers: NDArray[np.float64]
    n_moved: list[int]
    stop_reason: StopReason
    n_passes: int

    def __repr__(self) -> str:
        return (
            f"LargeTrajectory(n_iter={self.n_iter}, stop_reason={self.stop_reason!r}, "
            f"lowest utility {self.utilities[0].min():.6g} -> "
            f"{self.utilities[-1].min():.6g})"
        )

    @property
    def n_iter(self) -> int:
        """Number of steps."""
        return len(self.n_moved)

    def to_frame(self) -> Any:
        """Return one row per step as a pandas DataFrame, as ``Trajectory.to_frame``."""
        return frame_of(self._columns())

    def _repr_html_(self) -> str:
        return html_of(repr(self), self._columns())

    def _columns(self) -> dict[str, Any]:
        columns = columns_of_points("step", self.groups, self.utilities, self.overall)
        return {**columns, "n_moved": [0, *self.n_moved]}


class WalkEnd(NamedTuple):
    """Last partition of a walk, and group costs at the start and after each step."""

    at: Partition
    costs: list[NDArray[np.float64]]
    n_moved: list[int]
    stop_reason: StopReason


def traverse_out_of_core(
    large: OutOfCoreProblem,
    sample: Sample,
    start: LabelColumn,
    operator: Operator,
    max_iter: int | None,
) -> LargeTrajectory:
    """Walk from checked labels, as ``traverse`` does."""
    shift = sample.problem.shift
    at = by_labels(large, start.labels, start.n_clusters, shift)
    end = walk(large, at, sample, steps_of(operator), max_iter)
    found, came = finished(lambda: _trajectory(large, start.labels, end))
    return replace(found, stop_reason="interrupted") if came else found


def walk(
    large: OutOfCoreProblem,
    at: Partition,
    sample: Sample,
    steps: Sequence[OutOfCoreStep],
    max_iter: int | None = None,
) -> WalkEnd:
    """Walk from a partition until no step helps."""
    costs, n_moved = [at.means.own_costs], list[int]()
    stop_reason: StopReason = "max_iter"
    large.largest_cost = at.largest
    try:
        while max_iter is None or len(n_moved) < max_iter:
            after = _next(large, at, sample, steps)
            if after is None:
                is_over = large.passes_left < FEWEST_TO_GO_ON
                stop_reason = "max_passes" if is_over else "no_operation"
                break
            columns = [at.labels, after.labels]
            n_moved.append(sum(large.blocks.executor.run(_n_different, columns)))
            at = after
            large.largest_cost = at.largest
            costs.append(at.means.own_costs)
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        stop_reason = "interrupted"
    return WalkEnd(at, costs, n_moved, stop_reason)


def _next(
    large: OutOfCoreProblem,
    at: Partition,
    sample: Sample,
    steps: Sequence[OutOfCoreStep],
) -> Partition | None:
    """Return the partition after the first step that helps, or None."""
    for step in steps:
        if large.passes_left >= step.least_passes:
            after = step.take(large, at, sample)
            if after is not None:
                return after
    return None


def _n_different(labels: NDArray[np.int32], others: NDArray[np.int32]) -> int:
    return int((labels != others).sum())


def _trajectory(
    large: OutOfCoreProblem, start: Column, end: WalkEnd
) -> LargeTrajectory:
    utilities = large.max_distance - np.array(end.costs)
    return LargeTrajectory(
        groups=large.group_names,
        utilities=utilities,
        overall=utilities @ (large.people / large.people.sum()),
        labels=large.join(end.at.labels),
        start_labels=large.join(start),
        cluster_centers=end.at.means.centers,
        n_moved=end.n_moved,
        stop_reason=end.stop_reason,
        n_passes=large.n_passes,
    )
