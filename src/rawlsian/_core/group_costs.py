"""The interface of the costs of groups under labels, whichever utility is in force."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import move_kernels
from rawlsian._core.problem import ROWS_A_THREAD, Problem
from rawlsian._support.threads import run_in_chunks

T = TypeVar("T")

# Numbers of moves or pairs, and the group utilities after each.
Block: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]

# Rows, the clusters that they left and those that they entered.
Moved: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class SingleSteps(NamedTuple):
    """Steps of one move each: the moves, and the group utilities after each.

    The last one did not raise the lowest utility if ``is_raised`` is False.
    """

    moved: Moved
    utilities: NDArray[np.float64]
    is_raised: bool


# Each move rounds the sums a little; after this many they are recomputed.
MOVES_BEFORE_RECOMPUTE = 4096

# Pairs are searched block by block, which bounds memory; a block is large enough to
# hide the cost of calls and threads.
PAIRS_A_BLOCK = 2_097_152
PAIRS_A_THREAD = 32_768

# Single moves that one call searches, in several steps: Ctrl-C waits so long.
SINGLES_A_CALL = 1_048_576


class GroupCosts(ABC):
    """Costs of the groups under labels, kept up to date move by move.

    Parameters
    ----------
    problem : Problem
        The examples, groups and weights.
    labels : ndarray of shape (n_samples,)
        The cluster of each example, changed in place by ``move``.
    n_clusters : int
        Number of clusters.

    Attributes
    ----------
    members : ndarray of shape (n_clusters,)
        Number of examples with positive weight that are labeled with each cluster.
    counts, costs : ndarray of shape (n_clusters, n_groups)
        Total weight and cost of the members of each group that each mean serves.
    utilities : ndarray of shape (n_groups,)
        Mean utility of each group.
    """

    counts: NDArray[np.float64]
    costs: NDArray[np.float64]
    utilities: NDArray[np.float64]

    # Time to evaluate a pair of moves, in that of the assigned mean.
    work_of_pair = 1

    def __init__(
        self, problem: Problem, labels: NDArray[np.int32], n_clusters: int
    ) -> None:
        self.problem = problem
        self.labels = labels
        self.n_clusters = n_clusters
        self.members = np.zeros(n_clusters, dtype=np.int64)
        self._moves_since_recompute = 0
        self._move_costs: NDArray[np.float64]
        self._has_move_costs = False

    @property
    @abstractmethod
    def centers(self) -> NDArray[np.float64]:
        """Means of the clusters, of shape (n_clusters, n_features)."""

    @property
    def move_costs(self) -> NDArray[np.float64]:
        """Change in each group's cost with single moves; see ``Assignment``."""
        self._ensure_move_costs()
        return self._move_costs

    @abstractmethod
    def recompute(self) -> None:
        """Recompute everything from the labels."""

    @abstractmethod
    def move(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Make these valid moves and return the clusters that the examples left."""

    def walk_singles(self, n_steps: int) -> SingleSteps:
        """Make up to so many of the best single moves, one by one, in one call.

        Utilities are not pooled. There may be fewer steps for other reasons than that
        no move is admitted: the sums are to be recomputed, or Ctrl-C would wait.
        """
        n_singles = self.problem.n_samples * (self.n_clusters - 1)
        n_steps = min(
            n_steps, SINGLES_A_CALL // n_singles,
            MOVES_BEFORE_RECOMPUTE - 1 - self._moves_since_recompute,
        )  # fmt: skip
        self._ensure_move_costs()
        moved = tuple(np.empty((3, max(n_steps, 0)), np.int64))
        after = np.empty((max(n_steps, 0), self.problem.n_groups))
        n_made, is_raised = self._walk_singles(moved, after)
        examples, sources, targets = (each[:n_made] for each in moved)
        return SingleSteps((examples, sources, targets), after[:n_made], is_raised)

    @abstractmethod
    def utilities_after(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Compute the group utilities after these valid moves, without making them."""

    def pairs(
        self,
        examples: NDArray[np.int64],
        targets: NDArray[np.int64],
        utilities: NDArray[np.float64],
    ) -> Iterator[Block]:
        """Yield the pairs of these single moves that raise the lowest of ``utilities``.

        Moves are sorted by example. Pair a < b has the number a n_moves + b; pairs
        come in order.
        """
        search = self._pair_search(examples, targets, utilities)
        return in_triangle(len(examples), search, self.work_of_pair)

    @abstractmethod
    def promising_pairs(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64], limit: float
    ) -> Iterator[Block]:
        """Yield pairs that raise the lowest utility and may cost less than ``limit``.

        ``limit`` is on the change in total cost. The best such pair is among them, and
        pairs come in order.
        """

    @abstractmethod
    def _pair_search(
        self,
        examples: NDArray[np.int64],
        targets: NDArray[np.int64],
        utilities: NDArray[np.float64],
    ) -> Callable[[int, int], Block]:
        """Return the search of ``pairs`` for first moves start to stop - 1."""

    @abstractmethod
    def _walk_singles(
        self, moved: tuple[NDArray[np.int64], ...], after: NDArray[np.float64]
    ) -> tuple[int, bool]:
        """Make steps of ``walk_singles``; return their number and is_raised.

        OUT: moved and after, of each step; they have room for so many steps.
        """

    @abstractmethod
    def _make_move_costs(self) -> None:
        """Allocate and fill ``_move_costs``, and all that is needed to update it."""

    def _ensure_move_costs(self) -> None:
        """Make the move costs at their first use."""
        if not self._has_move_costs:
            self._make_move_costs()
            self._has_move_costs = True

    def _fill_products(
        self, sums: NDArray[np.float64], products: NDArray[np.float64]
    ) -> None:
        """Compute all products of rows with these sums."""
        X, shift = self.problem.X, self.problem.shift
        self._for_rows(move_kernels.fill_products, X, shift, sums, products)

    def _update_products(
        self,
        groups: NDArray[np.int32],
        moved: Moved,
        sums: NDArray[np.float64],
        products: NDArray[np.float64],
    ) -> None:
        """Update products after these moves; recompute them if that is cheaper."""
        problem = self.problem
        if len(moved[0]) > products.shape[0] * products.shape[1]:
            self._fill_products(sums, products)
            return
        self._for_rows(
            move_kernels.update_products, problem.X, problem.columns, problem.shift,
            problem.weights, groups, *moved, products,
        )  # fmt: skip

    def _for_rows(self, kernel: Callable[..., T], *arguments: Any) -> list[T]:
        """Call ``kernel(*arguments, start, stop)`` for chunks of rows, on threads."""
        if self.problem.n_samples < ROWS_A_THREAD:  # saves a microsecond
            return [kernel(*arguments, 0, self.problem.n_samples)]
        return run_in_chunks(
            lambda start, stop: kernel(*arguments, start, stop),
            self.problem.n_samples,
            smallest_chunk=ROWS_A_THREAD,
        )


def in_triangle(
    n: int, search: Callable[[int, int], Block], work_of_pair: int
) -> Iterator[Block]:
    """Yield ``search(start, stop)`` for ranges of the first of two items, on threads.

    The second item comes after the first. Ranges have equal numbers of pairs of items,
    as early items begin more; a larger ``work_of_pair`` makes them shorter.
    """
    # starts[a]: number of pairs whose first item is before a. An item belongs to the
    # range of its first pair.
    starts = np.concatenate([[0], np.cumsum(np.arange(n - 1, -1, -1))])
    block = max(PAIRS_A_BLOCK // work_of_pair, 1)
    for first in range(0, int(starts[-1]), block):

        def find(start: int, stop: int, first: int = first) -> Block:
            start, stop = np.searchsorted(starts, (first + start, first + stop))
            return search(start, stop)

        n_pairs = min(block, int(starts[-1]) - first)
        smallest = max(PAIRS_A_THREAD // work_of_pair, 1)
        yield from run_in_chunks(find, n_pairs, smallest_chunk=smallest)


def in_order_of_pairs(blocks: list[Block]) -> Block:
    """Return blocks of pairs as one, sorted by the numbers of the pairs."""
    pairs, utilities = map(np.concatenate, zip(*blocks, strict=True))
    earliest_first = np.argsort(pairs, kind="stable")
    return pairs[earliest_first], utilities[earliest_first]
