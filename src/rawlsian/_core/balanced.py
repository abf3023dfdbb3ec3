"""Weighted parts of a problem, with equally many rows of each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem
from rawlsian._core.sparse import Matrix

# A part to search has at least this times the clusters, and this times the groups.
SAMPLED_A_PLACE = 20


def balanced_part(problem: Problem, n_rows: int, rng: np.random.RandomState) -> Problem:
    """Return a weighted part with equally many rows of each group, or all it has."""
    rows = balanced_rows(problem, n_rows, rng)
    return problem if len(rows) == problem.n_samples else weighted_part(problem, rows)


def balanced_rows(
    problem: Problem, n_rows: int, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw equally many rows of each group, or all it has; ascending."""
    has_weight = problem.weights > 0
    members = np.bincount(problem.groups[has_weight], minlength=problem.n_groups)
    ranks = draw_ranks(members, n_rows, rng)
    return rows_of_ranks(problem.groups, problem.weights, ranks)


def weighted_part(problem: Problem, rows: NDArray[np.int64]) -> Problem:
    """Return some rows, weighted so that each group stands for all of its people."""
    return weighted_problem(
        problem.X[rows], problem.groups[rows], problem.weights[rows], problem.people
    )


def draw_ranks(
    members: NDArray[np.int64], n_rows: int, rng: np.random.RandomState
) -> list[NDArray[np.int64]]:
    """Draw n_rows ranks within the groups: equally many per group, or all it has."""
    left, drawn = n_rows, np.zeros_like(members)
    for place, g in enumerate(np.argsort(members, kind="stable")):
        drawn[g] = min(members[g], left // (len(members) - place))
        left -= int(drawn[g])
    # A Generator, unlike a RandomState, draws without shuffling all ranks.
    generator = np.random.default_rng(rng.randint(2**32, size=4, dtype=np.uint32))
    return [
        np.sort(generator.choice(int(n), int(m), replace=False, shuffle=False))
        for n, m in zip(members, drawn, strict=True)
    ]


def weighted_problem(
    X: Matrix,
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    people: NDArray[np.float64],
) -> Problem:
    """Return a problem whose groups have the same total weight as among all rows."""
    scale = people / np.bincount(groups, weights)
    names = np.arange(len(people))
    return Problem.of_checked(X, names, groups, weights * scale[groups], 0.0)


def rows_of_ranks(
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    wanted: list[NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Return the row indices of the requested ranks among rows with weight."""
    has_weight = np.broadcast_to(weights > 0, groups.shape)
    rows = [
        np.flatnonzero((groups == g) & has_weight)[ranks]
        for g, ranks in enumerate(wanted)
        if len(ranks)
    ]
    return np.sort(np.concatenate(rows)) if rows else np.empty(0, np.int64)
