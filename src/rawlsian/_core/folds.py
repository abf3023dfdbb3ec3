"""Folds of a cross-validation: every group is spread over all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem


def deal(
    groups: NDArray[np.int32],
    rows: NDArray[np.intp],
    n_folds: int,
    rng: np.random.Generator | np.random.RandomState,
) -> NDArray[np.intp]:
    """Return the fold of each of the rows.

    The rows of a group are shuffled and dealt one by one. Dealing goes on with the next
    fold for the next group, so that folds differ by at most one row, in all and within
    each group. A group with fewer rows than folds is in some folds only.
    """
    shuffled = rng.permutation(len(rows))
    order = shuffled[np.argsort(groups[rows][shuffled], kind="stable")]
    folds = np.empty(len(rows), np.intp)
    folds[order] = np.arange(len(rows)) % n_folds
    return folds


def deal_problem(
    problem: Problem,
    n_folds: int,
    rng: np.random.Generator | np.random.RandomState,
) -> NDArray[np.intp]:
    """Return the fold of each row of a problem; -1 for rows without weight."""
    folds = np.full(problem.n_samples, -1, np.intp)
    rows = np.flatnonzero(problem.weights > 0)
    folds[rows] = deal(problem.groups, rows, n_folds, rng)
    return folds


def part_of(problem: Problem, rows: NDArray[np.bool_]) -> Problem:
    """Return the problem of some rows, without groups that have none of them."""
    kept, groups = np.unique(problem.groups[rows], return_inverse=True)
    return Problem.of_checked(
        problem.X[rows], problem.group_names[kept], groups.astype(np.int32),
        problem.weights[rows], problem.max_distance, problem.utility,
    )  # fmt: skip
