"""What an operator gives, and which of it is best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core import move_kernels
from rawlsian._core.assignment import Assignment

Moves: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


class Proposals(NamedTuple):
    """A block of proposals: where each leads, and what it would move.

    Attributes
    ----------
    utilities : ndarray of shape (n_proposals, n_groups)
        Group utilities after each proposal; minus infinity for one that may not be
        carried out. Earlier proposals win ties.
    moves : callable
        ``moves(j)`` gives the examples that proposal j moves and their targets. It
        is called for the one proposal that is chosen, so it may take its time.
    """

    utilities: NDArray[np.float64]
    moves: Callable[[int], Moves]


class Operator(Protocol):
    """What ``traverse`` needs of an operator."""

    def generate(self, assignment: Assignment) -> Iterable[Proposals]:
        """Give blocks of proposals, without changing the assignment."""


def select(blocks: Iterable[Proposals], assignment: Assignment) -> Moves | None:
    """The best operation in the paper's order of preference, or None.

    Admitted are operations after which the lowest group utility is higher than now.
    (1) Among those after which no group is worse off than now, the one with the
    highest overall utility; (2) otherwise among all admitted, the one with the
    highest overall utility, which is always on the skyline; (3) otherwise none.
    Ties go to the earliest. Being the maximum of a total order, it folds over blocks.
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
    """The best proposal of a block, -1 if none is admitted, and its rank."""
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
    """Utilities as the kernel needs them, whatever an operator yielded."""
    proposed = np.ascontiguousarray(utilities, dtype=np.float64)
    if proposed.ndim != 2 or proposed.shape[1] != n_groups:
        raise ValueError(
            "an operator must yield Proposals whose utilities have a row a proposal "
            f"and a column for each of {n_groups} groups, found shape {proposed.shape}."
        )
    return proposed


def check_least_gain(least_gain: float) -> None:
    """Refuse what is not a share of the cost."""
    if not 0 <= least_gain < 1:
        raise ValueError(
            f"least_gain must be a share from 0 to below 1, got {least_gain!r}."
        )
