"""Operator protocol, proposals, and selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core import move_kernels
from rawlsian._core.assignment import Assignment

Moves: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


class Proposals(NamedTuple):
    """A block of proposals: their moves, and the group utilities after each.

    Attributes
    ----------
    utilities : ndarray of shape (n_proposals, n_groups)
        Group utilities after each proposal; minus infinity if it must not be carried
        out. Earlier proposals win ties.
    moves : callable
        ``moves(j)`` returns the examples that proposal j moves and their targets, two
        arrays of shape (n_moved,). It is called only for the proposal that is chosen,
        so it may be slow.
    """

    utilities: NDArray[np.float64]
    moves: Callable[[int], Moves]


class Operator(Protocol):
    """Protocol of an operator, as ``traverse`` uses it."""

    def generate(self, assignment: Assignment) -> Iterable[Proposals]:
        """Yield blocks of proposals, without changing the assignment.

        Parameters
        ----------
        assignment : Assignment
            The clustering to start from.

        Returns
        -------
        iterable of Proposals
            Any number of blocks; the traversal ends if there are none.
        """


def select(blocks: Iterable[Proposals], assignment: Assignment) -> Moves | None:
    """Select the best proposal in the paper's order of preference.

    A proposal is admitted if it raises the lowest group utility.
    (1) Among admitted proposals after which no group is worse off than now, the one
    with the highest overall utility is selected; (2) otherwise, among all admitted, the
    one with the highest overall utility, which is always on the skyline; (3) otherwise
    none. Ties go to the earliest. Being the maximum of a total order, the result does
    not depend on the division into blocks.

    Parameters
    ----------
    blocks : iterable of Proposals
        Blocks that an operator's ``generate`` returned.
    assignment : Assignment
        The clustering that the proposals start from.

    Returns
    -------
    tuple of two ndarrays of shape (n_moved,), or None
        The examples to move and their targets; None if no proposal is admitted.

    Raises
    ------
    ValueError
        If ``blocks`` is not an iterable of ``Proposals`` with a column of utilities for
        each group.
    """
    if not isinstance(blocks, Iterable):
        raise ValueError(
            f"an operator's generate must yield Proposals, but it returned {blocks!r}."
        )
    best: tuple[Proposals, int] | None = None
    best_rank = (False, -np.inf)
    for block in blocks:
        j, rank = best_in_block(block, assignment)
        if j >= 0 and rank > best_rank:
            best, best_rank = (block, j), rank
    if best is None:
        return None
    block, j = best
    return block.moves(j)


def best_in_block(
    block: Proposals, assignment: Assignment
) -> tuple[int, tuple[bool, float]]:
    """Return the best proposal of a block, -1 if none is admitted, and its rank."""
    problem = assignment.problem
    if not isinstance(block, Proposals) or not callable(block.moves):
        raise ValueError(
            "an operator must yield Proposals(utilities, moves) with a function moves, "
            f"got {block!r:.60}."
        )
    j, is_harmless, overall = move_kernels.best_proposal(
        _check_proposed(block.utilities, problem.n_groups),
        assignment.utilities, problem.shares, problem.tolerance,
    )  # fmt: skip
    return j, (is_harmless, overall)


def _check_proposed(utilities: ArrayLike, n_groups: int) -> NDArray[np.float64]:
    """Return utilities as a float64 matrix with a column for each group, or raise."""
    proposed = np.ascontiguousarray(utilities, dtype=np.float64)
    if proposed.ndim != 2 or proposed.shape[1] != n_groups:
        raise ValueError(
            "an operator must yield Proposals whose utilities have one row per "
            f"proposal and one column for each of {n_groups} groups, found shape "
            f"{proposed.shape}."
        )
    return proposed


def check_least_gain(least_gain: float) -> None:
    """Raise ValueError unless 0 <= least_gain < 1."""
    if not 0 <= least_gain < 1:
        raise ValueError(
            f"least_gain must be a fraction from 0 to below 1, got {least_gain!r}."
        )
