"""The paper's operators: R1 moves one example, R2 a pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import move_kernels
from rawlsian._core.assignment import Assignment
from rawlsian._core.group_costs import Block
from rawlsian._support.threads import run_in_chunks
from rawlsian.operators.proposals import Moves, Proposals

PairSearch: TypeAlias = Callable[
    [NDArray[np.int64], NDArray[np.int64]], Iterator[Block]
]

# Proposals are computed block by block, which bounds memory; a block is large enough to
# hide the cost of calls and threads.
MOVES_A_BLOCK = 131_072
MOVES_A_THREAD = 32_768

# Bounds and the costs that they bound are computed in different ways, so rounding may
# make them differ by more than the tolerance. This multiple of it is a generous margin,
# which costs next to nothing.
ROUNDING = 1000


@dataclass(frozen=True)
class R1:
    """Move one example to another cluster (Algorithm 2).

    There are n (k - 1) such moves. All are searched; only moves that raise the lowest
    group utility are proposed.

    Parameters
    ----------
    keep_all : bool, default=False
        Propose all moves that raise the lowest group utility, for example to draw them.
        By default only moves that may be the best are proposed, which is faster and
        does not change the selection.

    Examples
    --------
    >>> from rawlsian import traverse
    >>> traverse([[0], [1], [5], [6]], [0, 0, 1, 1], list("abab"), operator=R1()).n_iter
    0
    """

    keep_all: bool = False

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield moves that raise the lowest utility, by example, then target.

        Parameters
        ----------
        assignment : Assignment
            The clustering to start from; it is not changed.

        Yields
        ------
        Proposals
            Moves of one example each.
        """
        for singles, utilities in _search_singles(assignment, keep_all=self.keep_all):

            def moves(j: int, singles: NDArray[np.int64] = singles) -> Moves:
                example, target = divmod(int(singles[j]), assignment.n_clusters - 1)
                target += target >= assignment.labels[example]
                return np.array([example]), np.array([target])

            yield Proposals(utilities, moves)


@dataclass(frozen=True)
class R2:
    """Move two examples, by pairs of the best single moves (Algorithm 3).

    Single moves that raise the lowest group utility are ranked twice: by the lowest
    utility and by the overall utility after the move. The best of both rankings are
    paired.

    Parameters
    ----------
    p : float in (0, 1], default=0.05
        Fraction of the single moves to keep by lowest utility. The paper used 0.01 to
        0.05.
    q : float in (0, 1], default=0.05
        Fraction of the single moves to keep by overall utility.
    """

    p: float = 0.05
    q: float = 0.05

    def __post_init__(self) -> None:
        for name, share in (("p", self.p), ("q", self.q)):
            if not 0 < share <= 1:
                raise ValueError(
                    f"{name} must be above 0 and at most 1, got {share!r}; it is the "
                    "fraction of single moves from which R2 forms pairs."
                )

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield the pairs of good moves that raise the lowest utility, in order.

        Parameters
        ----------
        assignment : Assignment
            The clustering to start from; it is not changed.

        Yields
        ------
        Proposals
            Moves of two examples each.
        """
        yield from _pairs(assignment, self._good_moves(assignment), assignment.pairs)

    def _good_moves(self, assignment: Assignment) -> NDArray[np.int64]:
        """Return the union of T_LAG and T_overall, sorted (Alg. 3, lines 1 to 4)."""
        blocks = list(_search_singles(assignment, keep_all=True))
        if not blocks:
            return np.empty(0, np.int64)
        singles, utilities = map(np.concatenate, zip(*blocks, strict=True))
        overall = move_kernels.overall_utilities(utilities, assignment.problem.shares)
        good = np.union1d(_top(utilities.min(axis=1), self.p), _top(overall, self.q))
        return singles[good]


@dataclass(frozen=True)
class R2Exhaustive:
    """Move two examples: search every pair, without the paper's pruning.

    There are n (n - 1) / 2 (k - 1)^2 pairs, so this is for a few thousand examples.
    Only pairs that raise the lowest group utility are proposed, and the best of all
    pairs is among them: a move is skipped only if a bound shows that no second move
    makes up for its cost.

    Parameters
    ----------
    keep_all : bool, default=False
        Propose all pairs that raise the lowest group utility, which takes much time and
        memory. By default only pairs that may be the best are proposed.
    """

    keep_all: bool = False

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield pairs that raise the lowest utility, by first and then second move.

        Parameters
        ----------
        assignment : Assignment
            The clustering to start from; it is not changed.

        Yields
        ------
        Proposals
            Moves of two examples each.
        """
        targets_a_row = assignment.n_clusters - 1
        singles = np.arange(assignment.problem.n_samples * targets_a_row)
        # Skip rows without weight: a pair with one would be a single move.
        has_weight = np.repeat(assignment.problem.weights > 0, targets_a_row)
        search = assignment.pairs
        if not self.keep_all and targets_a_row > 0:
            search = partial(assignment.promising_pairs, limit=_most_to_pay(assignment))
        yield from _pairs(assignment, singles[has_weight], search)


def admitted_singles(assignment: Assignment) -> NDArray[np.int64]:
    """Return the numbers of the single moves that raise the lowest utility."""
    blocks = _search_singles(assignment, keep_all=True)
    return np.concatenate([np.empty(0, np.int64), *(singles for singles, _ in blocks)])


def admitted_pairs(
    assignment: Assignment, *, lag_only: bool = False
) -> Iterator[Moves]:
    """Yield pairs that raise the lowest utility, as the numbers of their two moves.

    With ``lag_only``, yield the pairs that raise the utility of the group that is
    lowest now, whatever they do to the others.
    """
    n_moves = assignment.problem.n_samples * (assignment.n_clusters - 1)
    examples, targets = decode_singles(assignment, np.arange(n_moves))
    utilities = assignment.utilities.copy()
    if lag_only:  # lift the others far above the lowest
        others = np.arange(len(utilities)) != np.argmin(utilities)
        utilities[others] += 1e6 * (1 + assignment.problem.variance)
    for pairs, _ in assignment.pairs(examples, targets, utilities):
        yield np.divmod(pairs, n_moves)


def decode_singles(assignment: Assignment, index: NDArray[np.int64]) -> Moves:
    """Return examples and targets of single moves, numbered as in ``single_moves``."""
    examples, target = np.divmod(index, assignment.n_clusters - 1)
    target += target >= assignment.labels[examples]  # skip the cluster it is in
    return examples, target


def _search_singles(assignment: Assignment, *, keep_all: bool) -> Iterator[Block]:
    """Yield blocks of single moves that raise the lowest utility, in order.

    With ``keep_all`` yield all such moves, else only moves that may be the best.
    """
    targets_a_row = assignment.n_clusters - 1
    if targets_a_row == 0:
        return
    problem, move_costs = assignment.problem, assignment.move_costs
    n_samples = problem.n_samples
    rows_a_block = max(MOVES_A_BLOCK // targets_a_row, 1)
    for first in range(0, n_samples, rows_a_block):

        def find(start: int, stop: int, first: int = first) -> Block:
            singles, utilities = move_kernels.single_moves(
                assignment.labels, assignment.utilities, problem.group_sizes,
                problem.tolerance, move_costs, keep_all, first + start, first + stop,
            )  # fmt: skip
            return singles, utilities

        n_rows = min(rows_a_block, n_samples - first)
        yield from run_in_chunks(
            find, n_rows, smallest_chunk=max(MOVES_A_THREAD // targets_a_row, 1)
        )


def _top(values: NDArray[np.float64], share: float) -> NDArray[np.intp]:
    """Return the positions of the highest ceil(share * n) values; ties by position."""
    # Rounded first: 0.07 * 100 is 7.000000000000001, and its ceiling should be 7.
    n_kept = max(math.ceil(round(share * len(values), 9)), 1)
    return np.argsort(-values, kind="stable")[:n_kept]


def _pairs(
    assignment: Assignment, singles: NDArray[np.int64], search: PairSearch
) -> Iterator[Proposals]:
    """Yield proposals of pairs of the given single moves."""
    if len(singles) < 2:
        return
    n_moves = len(singles)
    examples, targets = decode_singles(assignment, singles)
    for pairs, utilities in search(examples, targets):

        def moves(j: int, pairs: NDArray[np.int64] = pairs) -> Moves:
            both = np.array(divmod(pairs[j], n_moves))
            return examples[both], targets[both]

        yield Proposals(utilities, moves)


def _most_to_pay(assignment: Assignment) -> float:
    """Return the largest total cost at which a pair can match the best pair of R2."""
    problem, utilities = assignment.problem, assignment.utilities
    slack = problem.tolerance * problem.group_sizes.sum()
    # An admitted pair leaves each group above the lowest utility before it.
    limit = problem.group_sizes @ (utilities - utilities.min())
    for block in R2().generate(assignment):
        j, is_harmless, overall = move_kernels.best_proposal(
            block.utilities, utilities, problem.shares, problem.tolerance
        )
        cost = (assignment.overall - overall) * problem.group_sizes.sum()
        limit = move_kernels.next_limit(limit, slack, j < 0, cost, is_harmless)
    return float(limit + ROUNDING * slack)
