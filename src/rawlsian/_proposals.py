"""What an operator gives, and what is asked of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rawlsian._assignment import Assignment

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
