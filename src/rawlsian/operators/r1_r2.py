"""The paper's operators: R1 moves one example, R2 a pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import move_kernels
from rawlsian._core.assignment import Assignment
from rawlsian._support.threads import run_in_chunks
from rawlsian.operators.proposals import Moves, Proposals

# Numbers of moves or pairs, and the group utilities after each.
Block: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]
PairSearch: TypeAlias = Callable[
    [Assignment, NDArray[np.int64], NDArray[np.int64]], Iterator[Block]
]

# Proposals are computed block by block, which bounds memory; a block is large enough to
# hide the cost of calls and threads.
MOVES_A_BLOCK = 131_072
MOVES_A_THREAD = 32_768
PAIRS_A_BLOCK = 2_097_152
PAIRS_A_THREAD = 32_768
FIRSTS_A_BLOCK = 256
FIRSTS_A_THREAD = 16

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
        yield from _pairs(assignment, self._good_moves(assignment), _search_pairs)

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
        search = _search_pairs if self.keep_all else _search_promising_pairs
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
    for pairs, _ in _search_pairs(assignment, examples, targets, utilities):
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
    for pairs, utilities in search(assignment, examples, targets):

        def moves(j: int, pairs: NDArray[np.int64] = pairs) -> Moves:
            both = np.array(divmod(pairs[j], n_moves))
            return examples[both], targets[both]

        yield Proposals(utilities, moves)


def _search_promising_pairs(
    assignment: Assignment, examples: NDArray[np.int64], targets: NDArray[np.int64]
) -> Iterator[Block]:
    """Yield pairs of the given moves that raise the lowest utility and may be best."""
    problem, n_moves = assignment.problem, len(examples)
    state = (
        problem.norms, problem.weights, assignment.labels, assignment.mass,
        assignment.mean_norms, assignment.products, assignment.move_costs,
    )  # fmt: skip
    costs, saved = np.empty(n_moves), np.empty(n_moves)
    move_kernels.pairing_costs(*state, examples, targets, costs, saved)
    if np.isinf(saved).mean() > 0.5:
        # A row heavier than most clusters makes the bound useless for nearly all.
        yield from _search_pairs(assignment, examples, targets)
        return
    limit = _most_to_pay(assignment)
    order = np.argsort(costs, kind="stable")

    def find(start: int, stop: int) -> Block:
        pairs, utilities = move_kernels.promising_pairs(
            problem.X, problem.shift, problem.norms, problem.weights, problem.groups,
            assignment.labels, assignment.members, assignment.counts, assignment.mass,
            assignment.mean_norms, assignment.mean_dots, assignment.products,
            assignment.move_costs, assignment.utilities, problem.group_sizes,
            problem.tolerance, examples, targets, costs, saved, order, limit,
            places[start:stop],
        )  # fmt: skip
        return pairs, utilities

    # The cheaper move of a pair that costs less than limit costs less than half of it.
    # NaN (infinity less infinity) stays in.
    with np.errstate(invalid="ignore"):
        is_too_dear = 2 * costs - saved >= limit
    places = np.flatnonzero(~is_too_dear[order])
    blocks = []
    for first in range(0, max(len(places), 1), FIRSTS_A_BLOCK):

        def find_block(start: int, stop: int, first: int = first) -> Block:
            return find(first + start, first + stop)

        n_places = min(len(places) - first, FIRSTS_A_BLOCK)
        blocks += run_in_chunks(find_block, n_places, smallest_chunk=FIRSTS_A_THREAD)
    pairs, utilities = map(np.concatenate, zip(*blocks, strict=True))
    earliest_first = np.argsort(pairs, kind="stable")
    yield pairs[earliest_first], utilities[earliest_first]


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


def _search_pairs(
    assignment: Assignment,
    examples: NDArray[np.int64],
    targets: NDArray[np.int64],
    utilities: NDArray[np.float64] | None = None,
) -> Iterator[Block]:
    """Yield all pairs of the given moves that raise the lowest utility, in order.

    Pair a < b has the number a n_moves + b. Pairs are judged against ``utilities``, by
    default the utilities of the assignment.
    """
    problem = assignment.problem
    now = assignment.utilities if utilities is None else utilities
    distinct, rows = np.unique(examples, return_inverse=True)
    state = (
        problem.norms[distinct], problem.weights[distinct], problem.groups[distinct],
        assignment.labels[distinct], assignment.members, assignment.counts,
        assignment.mass, assignment.mean_norms, assignment.mean_dots,
        # np.take, unlike indexing, returns the memory order that the kernel reads.
        np.take(assignment.products, distinct, axis=2),
        np.take(assignment.move_costs, distinct, axis=2),
    )  # fmt: skip
    # starts[a]: number of pairs whose first move is before a. Chunks have equal numbers
    # of pairs, as early moves begin more; a belongs to the chunk of its first pair.
    n_moves = len(examples)
    starts = np.concatenate([[0], np.cumsum(np.arange(n_moves - 1, -1, -1))])

    for first in range(0, int(starts[-1]), PAIRS_A_BLOCK):

        def find(start: int, stop: int, first: int = first) -> Block:
            start, stop = np.searchsorted(starts, (first + start, first + stop))
            pairs, utilities = move_kernels.pair_moves(
                problem.X, problem.shift, distinct, *state, now, problem.group_sizes,
                problem.tolerance, rows, targets, start, stop,
            )  # fmt: skip
            return pairs, utilities

        n_pairs = min(PAIRS_A_BLOCK, int(starts[-1]) - first)
        yield from run_in_chunks(find, n_pairs, smallest_chunk=PAIRS_A_THREAD)
