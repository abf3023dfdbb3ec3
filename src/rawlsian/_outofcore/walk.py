"""Algorithm 1 for rows in blocks: batches of moves, and relocating clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.parameters import check_count
from rawlsian._outofcore.fit import LEAST_GAIN, Partition, StopReason, WalkEnd, walk
from rawlsian._outofcore.placing import sums_of
from rawlsian._outofcore.problem import LargeProblem, Sample, check_no_gap
from rawlsian._rows.blocks import Blocks
from rawlsian._rows.executors import Column
from rawlsian.operators.batch import Batch
from rawlsian.operators.compositions import Rawls
from rawlsian.operators.proposals import Operator

# To look at the rows, to draw the sample and to add up the clusters they are in.
LEAST_PASSES = 3


@dataclass(frozen=True, eq=False)
class LargeTrajectory:
    """The way from the first clusters of rows in blocks to the last.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Names of the groups, sorted; the columns of ``utilities``.
    utilities : ndarray of shape (n_iter + 1, n_groups)
        Mean utility of each group at the start and after each step.
    overall : ndarray of shape (n_iter + 1,)
        Mean utility of all examples at the start and after each step.
    labels, start_labels : ndarray or Dask array of shape (n_samples,)
        Labels at the end, and at the start.
    cluster_centers : ndarray of shape (n_clusters, n_features)
        Means of the clusters at the end.
    n_moved : list of int
        How many examples each step moved.
    stop_reason : {"no_operation", "max_iter", "max_passes", "interrupted"}
        Why it ended.
    n_passes : int
        How many times all rows were gone over.
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


def traverse_blocks(
    blocks: Blocks,
    labels: Any,
    sensitive_features: Any,
    *,
    operator: Operator,
    sample_weight: Any,
    max_distance: Any,
    max_iter: int | None,
    max_passes: int,
    callback: Callable[[Any], object] | None,
) -> LargeTrajectory:
    """As ``traverse``, for rows in blocks."""
    check_walk(operator, max_passes)
    large = LargeProblem.of(
        blocks, sensitive_features, sample_weight=sample_weight,
        max_distance=max_distance, max_passes=max_passes, callback=callback,
    )  # fmt: skip
    column, members = large.given_labels(labels)
    check_no_gap(members)
    # Always the same sample, as walking is deterministic.
    sample = large.sample(len(members), np.random.RandomState(0))
    return walk_on(large, sample, column, len(members), operator, max_iter)


def check_walk(
    operator: Operator, max_passes: object, least: int = LEAST_PASSES
) -> None:
    """Refuse operators that look at single rows, and too few passes."""
    if not isinstance(operator, (Batch, Rawls)):
        raise ValueError(
            "operator must be 'batch' or 'rawls' for rows in blocks, got "
            f"{operator!r}; others look at each row by itself, and need all rows in "
            "memory."
        )
    check_count(max_passes, "max_passes", least=least)


def walk_on(
    large: LargeProblem,
    sample: Sample,
    labels: Column,
    n_clusters: int,
    operator: Operator,
    max_iter: int | None,
) -> LargeTrajectory:
    """Walk from labels that were checked."""
    shift = sample.problem.shift
    sums = large.add_up(sums_of, [labels], n_clusters, shift, large.n_groups)
    relocates = isinstance(operator, Rawls)
    least_gain = max(getattr(operator, "least_gain", 0.0), LEAST_GAIN)
    end = walk(
        large, Partition(labels, sums, shift), sample, relocates=relocates,
        max_iter=max_iter, least_gain=least_gain,
    )  # fmt: skip
    return _trajectory(large, labels, end)


def _trajectory(large: LargeProblem, start: Column, end: WalkEnd) -> LargeTrajectory:
    utilities = large.max_distance - np.array(end.costs)
    return LargeTrajectory(
        groups=large.group_names,
        utilities=utilities,
        overall=utilities @ large.shares,
        labels=large.join(end.at.labels),
        start_labels=large.join(start),
        cluster_centers=end.at.means.centers,
        n_moved=end.n_moved,
        stop_reason=end.stop_reason,
        n_passes=large.n_passes,
    )
