"""Costs of groups if the nearest mean serves each example."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core import (
    cluster_sums,
    move_kernels,
    nearest_kernels,
    nearest_moves,
    nearest_pairs,
)
from rawlsian._core.group_costs import (
    MOVES_BEFORE_RECOMPUTE,
    Block,
    GroupCosts,
    Moved,
    in_order_of_pairs,
    in_triangle,
)
from rawlsian._core.problem import Problem

# Products of rows near a boundary with all rows are kept: for so many rows as long as
# the table has no more than so many numbers (32 MB), and for fewer rows in any case.
MOST_ROWS_HELD = 256
FEWEST_ROWS_HELD = 32
LARGEST_TABLE = 2**22

# First rows of pairs whose products with all rows are computed at a time.
FIRSTS_A_TIME = 64

# A row that half its margin does not keep in its cell is within this many times the
# reach of whole margins.
REACH_OF_HALF = 5.0

# Distances are rounded: rows this close to the boundary, relative to the largest
# distance, are visited in any case.
SLACK = 1e-7

NO_ROWS = np.empty(0, np.int64)
NO_MOVES: Moved = NO_ROWS, NO_ROWS, NO_ROWS


class Boundary(NamedTuple):
    """Rows near a boundary of cells, whose cells a move may change.

    ``rows`` and ``margins`` are lists, one for each cluster, that begin at ``starts``.
    The margin of a row for cluster c is how much further c is than the mean of its cell
    or, if c is its cell, how much further the next mean is. Lists are sorted by it.
    """

    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    margins: NDArray[np.float64]


class NearestCosts(GroupCosts):
    """Costs as squared distances to the nearest mean. Labels only give the means.

    ``counts`` and ``costs`` are those of cells: the cell of a cluster has the examples
    to which its mean is nearest.
    """

    work_of_pair = 10

    def __init__(
        self, problem: Problem, labels: NDArray[np.int32], n_clusters: int
    ) -> None:
        super().__init__(problem, labels, n_clusters)
        n_samples, n_groups = problem.n_samples, problem.n_groups
        n_features = problem.X.shape[1]
        # Sums of labels have one group; means follow from them.
        self._one_group = np.zeros(n_samples, dtype=np.int32)
        self._label_counts = np.zeros((n_clusters, 1))
        self._label_sums = np.zeros((n_clusters, 1, n_features))
        self._label_squares = np.zeros((n_clusters, 1))
        self._mass, self._mean_norms = np.zeros(n_clusters), np.zeros(n_clusters)
        self._label_products = np.empty((n_clusters, 1, n_samples))
        self._squared = np.empty((n_clusters, n_samples))
        self._gaps = np.empty(n_samples)
        # Of single moves: factors t, changes u of norms, largest |D|^2 by label.
        self._factors, self._norm_changes = np.empty((2, 0, 0))
        self._largest = np.zeros((n_clusters, n_clusters))
        # Sums of cells.
        self._cells = np.zeros(n_samples, dtype=np.int32)
        self._cell_members = np.zeros(n_clusters, dtype=np.int64)
        self.counts = np.zeros((n_clusters, n_groups))
        self.costs = np.zeros((n_clusters, n_groups))
        self.utilities = np.zeros(n_groups)
        self._sums = np.zeros((n_clusters, n_groups, n_features))
        self._squares = np.zeros((n_clusters, n_groups))
        self._mean_dots = np.zeros((n_clusters, n_groups))
        self._furthest = 2 * float(np.sqrt(problem.norms.max()))
        self._slack = SLACK * self._furthest
        self._is_moved = np.ones(n_clusters, dtype=np.bool_)
        self._is_changed = np.ones(n_clusters, dtype=np.bool_)
        self.recompute()

    @property
    def centers(self) -> NDArray[np.float64]:
        """Means of the labels."""
        centers: NDArray[np.float64] = self._label_sums[:, 0] / self._mass[:, None]
        return centers + self.problem.shift

    def recompute(self) -> None:
        """Recompute all sums from the labels, which removes accumulated rounding."""
        problem = self.problem
        cluster_sums.accumulate(
            problem.X, problem.shift, problem.norms, problem.weights, self._one_group,
            self.labels, self.members, self._label_counts, self._label_sums,
            self._label_squares,
        )  # fmt: skip
        self._moves_since_recompute = 0
        self._is_moved[:] = True
        self._summarise_means()
        self._fill_products(self._label_sums, self._label_products)
        self._cells[:] = 0
        rows, cells = self._measure(NO_ROWS)
        self._cells[rows] = cells
        cluster_sums.accumulate(
            problem.X, problem.shift, problem.norms, problem.weights, problem.groups,
            self._cells, self._cell_members, self.counts, self._sums, self._squares,
        )  # fmt: skip
        self._is_changed[:] = True
        self._summarise_cells()
        if self._has_move_costs:
            self._fill_products(self._sums, self._cell_products)
            self._refresh_move_costs(NO_MOVES)

    def move(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Make the moves and update the sums of labels and cells."""
        problem, sources = self.problem, np.empty_like(targets)
        move_kernels.reassign(
            problem.X, problem.shift, problem.norms, problem.weights, self._one_group,
            examples, targets, self.labels, self.members, self._label_counts,
            self._label_sums, self._label_squares, self._is_moved, sources,
        )  # fmt: skip
        self._moves_since_recompute += len(examples)
        if self._moves_since_recompute >= MOVES_BEFORE_RECOMPUTE:
            self.recompute()
            return sources
        self._summarise_means()
        self._update_products(
            self._one_group, (examples, sources, targets), self._label_sums,
            self._label_products,
        )  # fmt: skip
        self._update_cells(*self._measure(examples))
        return sources

    def utilities_after(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Compute the group utilities on a copy of the sums, row by row."""
        problem = self.problem
        counts, sums, squares, mass, mean_norms = (
            array.copy()
            for array in (
                self._label_counts, self._label_sums, self._label_squares, self._mass,
                self._mean_norms,
            )
        )  # fmt: skip
        is_moved, utilities = self._is_moved.copy(), np.empty_like(self.utilities)
        move_kernels.reassign(
            problem.X, problem.shift, problem.norms, problem.weights, self._one_group,
            examples, targets, self.labels.copy(), self.members.copy(), counts, sums,
            squares, is_moved, np.empty_like(targets),
        )  # fmt: skip
        nearest_kernels.summarise_means(counts, sums, is_moved, mass, mean_norms)
        nearest_kernels.nearest_utilities(
            problem.X, problem.shift, problem.norms, problem.weights, problem.groups,
            sums, mass, mean_norms, is_moved, self._squared, problem.people,
            problem.max_distance, utilities,
        )  # fmt: skip
        return utilities

    def _pair_search(
        self,
        examples: NDArray[np.int64],
        targets: NDArray[np.int64],
        utilities: NDArray[np.float64],
    ) -> Callable[[int, int], Block]:
        """Return the search of ``pairs``."""
        problem = self.problem
        state = self._state_of_pairs(self._boundary_of_pairs())

        def search(start: int, stop: int) -> Block:
            pairs, after = nearest_pairs.pair_moves(
                *state, *problem.pooling[1:], utilities, problem.group_sizes,
                problem.tolerance, examples, targets, start, stop,
            )  # fmt: skip
            return pairs, after

        return search

    def promising_pairs(
        self, examples: NDArray[np.int64], targets: NDArray[np.int64], limit: float
    ) -> Iterator[Block]:
        """Yield the pairs that raise the lowest utility and may be the best.

        A scan by plain costs lists the pairs that may be, and these are evaluated.
        """
        problem = self.problem
        utilities = problem.pooled_means(self.utilities)
        lag = int(np.argmin(utilities))
        near = self._boundary_of_pairs()
        state = self._state_of_pairs(near)
        order, *scanned = self._state_of_scan(near, examples, lag)
        numbers = np.full((problem.n_samples, self.n_clusters), -1)
        numbers[examples, targets] = np.arange(len(examples))

        def search(start: int, stop: int) -> Block:
            lowered, blocks = limit, []
            for first in range(start, max(stop, start + 1), FIRSTS_A_TIME):
                dots = self._products_of(
                    order[first : min(first + FIRSTS_A_TIME, stop)]
                )
                pairs = nearest_pairs.promising_pairs(
                    self.members, self._mass, self._mean_norms, self.counts, lag,
                    *problem.pooling[1:], order, *scanned, numbers, lowered, dots,
                    first,
                )  # fmt: skip
                pairs, after, lowered = nearest_pairs.listed_pairs(
                    *state, *problem.pooling[1:], utilities, problem.group_sizes,
                    problem.tolerance, examples, targets, pairs, lowered,
                )  # fmt: skip
                blocks.append((pairs, after))
            return in_order_of_pairs(blocks)

        blocks = in_triangle(len(order), search, (self.n_clusters - 1) ** 2)
        yield in_order_of_pairs(list(blocks))

    def _state_of_scan(
        self, near: Boundary, examples: NDArray[np.int64], lag: int
    ) -> tuple[NDArray[Any], ...]:
        """Return the arguments of the scan by plain costs: the rows by label first."""
        less, has_room = nearest_pairs.difference_together(
            self._mass, np.sqrt(self._largest.max(axis=1)), self._squared, near.starts,
            near.rows, self.problem.weights.max(),
        )  # fmt: skip
        distinct = np.unique(examples)
        order = distinct[np.argsort(self.labels[distinct], kind="stable")]
        in_order = nearest_pairs.sort_by_label(
            order, self.problem.weights, self.labels, self._mass, self._mean_norms,
            self._mean_products(), self._squared, self.counts, self._mean_dots,
            self._cell_products, self._plain_costs(), self._savings_by_half(less), lag,
            *self.problem.pooling[1:],
        )  # fmt: skip
        return order, *in_order, has_room

    def _products_of(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the products of these rows with all rows."""
        problem = self.problem
        products = np.empty((len(rows), problem.n_samples))
        move_kernels.fill_row_products(
            problem.X, problem.columns, problem.shift, rows, np.arange(len(rows)),
            products, 0, problem.n_samples,
        )  # fmt: skip
        return products

    def _savings_by_half(self, less: float) -> NDArray[np.float64]:
        """Return minus the savings of single moves with half of the margins.

        A row that two moves together bring into another cell saves no more than by each
        of them with half its margin, reduced by ``less``.
        """
        problem, slack = self.problem, self._slack + np.sqrt(less)
        once, is_near = self._near_moves(REACH_OF_HALF, slack)
        halved = np.zeros_like(self._move_costs)
        self._for_rows(
            nearest_moves.correct_rows, problem.X, problem.shift, problem.weights,
            problem.groups, self.labels, self._mass, self._label_products,
            self._squared, self._cells, self._factors, self._norm_changes, once,
            is_near, self._slots, self._products, 0.5, less,
            np.empty_like(self._is_corrected), halved,
        )  # fmt: skip
        return halved

    def _mean_products(self) -> NDArray[np.float64]:
        """Return the products of rows and means."""
        products: NDArray[np.float64] = self._label_products[:, 0]
        return 1 / self._mass[:, None] * products

    def _plain_costs(self) -> NDArray[np.float64]:
        """Return the costs of single moves if no row changed its cell."""
        t, u = self._factors[:, None], self._norm_changes[:, None]
        plain = np.empty_like(self._move_costs)
        plain[:, :-1] = self.counts[:, :, None] * u
        plain[:, :-1] -= 2 * t * (self._cell_products - self._mean_dots[:, :, None])
        plain[:, -1] = plain[:, :-1].sum(axis=1)
        return plain

    def _state_of_pairs(self, near: Boundary) -> tuple[object, ...]:
        """Return the arguments that the searches of pairs share, rows first."""
        problem = self.problem
        mean_products, squared, cell_products, plain, shifts = (
            np.ascontiguousarray(np.moveaxis(array, -1, 0))
            for array in (
                self._mean_products(), self._squared, self._cell_products,
                self._plain_costs(), np.abs(self._factors) * np.sqrt(self._squared),
            )
        )  # fmt: skip
        return (
            problem.X, problem.shift, problem.weights, problem.groups, self.labels,
            self.members, self._mass, self._mean_norms, mean_products, squared,
            self.counts, self._mean_dots, cell_products, plain, shifts, self._cells,
            near.starts, near.rows, near.margins, self._slots, self._products,
            self._slack,
        )  # fmt: skip

    def _walk_singles(
        self, moved: tuple[NDArray[np.int64], ...], after: NDArray[np.float64]
    ) -> tuple[int, bool]:
        """Make the steps one by one; of each, Python calls only the kernels."""
        problem = self.problem
        for step in range(len(after)):
            # Rows that change their cells count as moves too.
            if self._moves_since_recompute >= MOVES_BEFORE_RECOMPUTE - 1:
                return step, True
            lowest = min(self.utilities.tolist())
            if not move_kernels.make_best_single(
                problem.X, problem.columns, problem.shift, problem.norms,
                problem.weights, self._one_group, self.labels, self.members,
                self._label_counts, self._label_sums, self._label_squares,
                self._is_moved, self._label_products, self.utilities,
                problem.group_sizes, problem.shares, problem.tolerance,
                self._move_costs, *moved, step,
            ):  # fmt: skip
                return step, True
            self._moves_since_recompute += 1
            self._summarise_means()
            self._update_cells(*self._measure(moved[0][step : step + 1]))
            after[step] = self.utilities
            if not min(self.utilities.tolist()) > lowest:
                return step + 1, False
        return len(after), True

    def _summarise_means(self) -> None:
        """Update the means of clusters whose members changed."""
        nearest_kernels.summarise_means(
            self._label_counts, self._label_sums, self._is_moved, self._mass,
            self._mean_norms,
        )  # fmt: skip

    def _measure(
        self, examples: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Compute the distances to means that moved; return rows to other cells.

        The means moved as ``examples`` did, if not all have moved.
        """
        problem = self.problem
        found = self._for_rows(
            nearest_kernels.measure, problem.norms, problem.weights, self.labels,
            self.members, self._label_products, self._mass, self._mean_norms, examples,
            self._is_moved, self._cells, self._squared, self._gaps, self._factors,
            self._norm_changes, self._largest,
        )  # fmt: skip
        if len(found) == 1:
            rows, cells, self._largest = found[0]
        else:
            rows, cells = (np.hstack([each[j] for each in found]) for j in range(2))
            self._largest = np.max([each[2] for each in found], axis=0)
        return rows, cells

    def _update_cells(self, rows: NDArray[np.int64], cells: NDArray[np.int64]) -> None:
        """Move rows to the cells of their nearest means, and update the costs."""
        self._moves_since_recompute += len(rows)
        moved = NO_MOVES
        if len(rows) > 0:
            moved = rows, self._reassign_cells(rows, cells), cells
            self._is_changed |= self._is_moved
        else:
            self._is_changed[:] = self._is_moved
        self._summarise_cells()
        if self._has_move_costs:
            if len(rows) > self.counts.size:
                self._fill_products(self._sums, self._cell_products)
                moved = NO_MOVES
            self._refresh_move_costs(moved)

    def _reassign_cells(
        self, rows: NDArray[np.int64], cells: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Update the sums of cells; return the cells that the rows left."""
        problem, sources = self.problem, np.empty_like(cells)
        move_kernels.reassign(
            problem.X, problem.shift, problem.norms, problem.weights, problem.groups,
            rows, cells, self._cells, self._cell_members, self.counts, self._sums,
            self._squares, self._is_changed, sources,
        )  # fmt: skip
        return sources

    def _summarise_cells(self) -> None:
        """Update the costs of cells after sums or means changed."""
        nearest_kernels.summarise_cells(
            self._label_sums, self._mass, self._mean_norms, self.counts, self._sums,
            self._squares, self.problem.people, self.problem.max_distance,
            self._is_changed, self._mean_dots, self.costs, self.utilities,
        )  # fmt: skip

    def _make_move_costs(self) -> None:
        """Allocate and fill products and move costs, and an empty table."""
        n_groups, n_samples = self.problem.n_groups, self.problem.n_samples
        self._cell_products = np.empty((self.n_clusters, n_groups, n_samples))
        self._factors = np.empty((self.n_clusters, n_samples))
        self._norm_changes = np.empty((self.n_clusters, n_samples))
        self._move_costs = np.empty((self.n_clusters, n_groups + 1, n_samples))
        self._is_corrected = np.zeros(self.n_clusters, dtype=np.bool_)
        n_held = min(MOST_ROWS_HELD, max(LARGEST_TABLE // n_samples, FEWEST_ROWS_HELD))
        self._products = np.empty((n_held, n_samples))
        self._slots = np.full(n_samples, -1, dtype=np.int32)
        self._held, self._hand = np.full(n_held, -1), np.zeros(1, dtype=np.int64)
        self._fill_products(self._sums, self._cell_products)
        self._is_moved[:] = self._is_changed[:] = True
        self._measure(NO_ROWS)
        self._refresh_move_costs(NO_MOVES)

    def _refresh_move_costs(self, moved: Moved) -> None:
        """Update move costs after these rows went from cells to cells."""
        problem = self.problem
        once, is_near = self._near_moves(1.0, self._slack)
        corrected = self._for_rows(
            nearest_moves.fill_move_costs, problem.X, problem.shift, problem.weights,
            problem.groups, self.labels, self.members, self._mass,
            self._label_products, self._squared, self._cells, *moved, self.counts,
            self._mean_dots, self._cell_products, self._factors, self._norm_changes,
            once, is_near, self._slots, self._products, self._is_changed,
            self._is_corrected, self._move_costs,
        )  # fmt: skip
        self._is_corrected = (
            corrected[0] if len(corrected) == 1 else np.any(corrected, axis=0)
        )

    def _near_moves(
        self, times: float, slack: float
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the rows whose cells can change by moves ``times`` as long as single.

        And which means can win or lose them. The products of as many rows as possible
        with all rows are held.
        """
        near, is_near, places = nearest_kernels.near_moves(
            self._gaps, self._squared, self._cells, self._largest, times, slack,
            self._furthest, self._slots, self._held, self._hand,
        )  # fmt: skip
        self._fill_places(places)
        return near, is_near

    def _fill_places(self, places: NDArray[np.int64]) -> None:
        """Fill places of the table with the products of the rows that got them."""
        problem = self.problem
        if len(places) > 0:
            self._for_rows(
                move_kernels.fill_row_products, problem.X, problem.columns,
                problem.shift, self._held[places], places, self._products,
            )  # fmt: skip

    def _boundary_of_pairs(self) -> Boundary:
        """List the rows whose cells a pair of moves can change."""
        self._ensure_move_costs()
        w = 2 * self.problem.weights.max()
        room, r = self._mass - w, np.sqrt(self._squared.max(axis=1))
        # Two rows of weight w shift a mean by at most 2 w r / (N - 2 w).
        shifts = np.full(self.n_clusters, np.inf)
        np.divide(w * r, room, out=shifts, where=room > 0)
        reach = shifts[:, None] + shifts
        near, is_near, places = nearest_kernels.near_rows(
            self._gaps, self._squared, self._cells, reach, self._slack, self._furthest,
            self._slots, self._held, self._hand,
        )  # fmt: skip
        self._fill_places(places)
        return self._boundary(near, is_near.T)

    def _boundary(
        self, near: NDArray[np.int64], is_near: NDArray[np.bool_]
    ) -> Boundary:
        """List these rows for each cluster c that is near them: is_near[c, place]."""
        own = self._cells[near], np.arange(len(near))
        distances = np.sqrt(self._squared[:, near])
        margins = np.where(is_near, distances - distances[own], np.inf)
        margins[own] = np.inf
        margins[own] = margins.min(axis=0)
        clusters, places = np.nonzero(is_near)
        by_margin = np.lexsort((margins[clusters, places], clusters))
        clusters, places = clusters[by_margin], places[by_margin]
        starts = np.searchsorted(clusters, np.arange(self.n_clusters + 1))
        return Boundary(starts, near[places], margins[clusters, places])
