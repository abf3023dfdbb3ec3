"""Folds of a cross-validation, stratified by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem


def deal_to_folds(
    problem: Problem, n_folds: int, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Deal the rows of each group to the folds in turn, in random order.

    Every fold gets as many rows of a group as the others, or one more. So a group may
    have fewer rows than there are folds. Rows without weight are in no fold: -1.
    """
    folds, dealt = np.full(problem.n_samples, -1, np.int64), 0
    for g in range(problem.n_groups):
        rows = np.flatnonzero((problem.groups == g) & (problem.weights > 0))
        folds[rng.permutation(rows)] = (dealt + np.arange(len(rows))) % n_folds
        dealt += len(rows)
    return folds


def part_of(problem: Problem, rows: NDArray[np.bool_]) -> Problem:
    """Return the problem of some rows, without groups that have none of them."""
    kept, groups = np.unique(problem.groups[rows], return_inverse=True)
    return Problem.of_checked(
        problem.X[rows], problem.group_names[kept], groups.astype(np.int32),
        problem.weights[rows], problem.max_distance, problem.utility,
    )  # fmt: skip
