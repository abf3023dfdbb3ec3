"""Branch and bound: a pair of rows is in one cluster, or it is not."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from rawlsian.bounds.ascent import Plane, ascend
from rawlsian.bounds.relaxation import NO_PAIRS, Relaxation, rounding_unit
from rawlsian.bounds.rows import GroupedRows, WeightedRows, merged

# Pairs that are this close to being together or apart are not worth branching on.
DECIDED = 1e-4

# A relaxation ends when PATIENCE evaluations in a row each gain less than this share of
# what is missing: branching is worth more. The root goes on, as its bound stands if
# there is no time to branch.
LEAST_SHARE_GAINED = 0.1


class Node(NamedTuple):
    """Clusterings that keep some rows together and some pairs of rows apart.

    ``group_weights`` is lambda for the bound. ``labels`` numbers the sets of rows kept
    together, and ``apart``, of shape (n_pairs, 2), holds the pairs of rows kept apart.
    ``pair`` is the next to branch on.
    """

    bound: float
    order: int  # breaks ties, so that arrays are never compared
    group_weights: NDArray[np.float64]
    labels: NDArray[np.intp]
    apart: NDArray[np.int64]
    pair: tuple[int, int] | None


class Limits(NamedTuple):
    """Iterations of a relaxation, their tolerance, when to end, the bound wanted."""

    max_iter: int
    tol: float
    ends: float
    target: float


def branch(
    whole: GroupedRows,
    n_clusters: int,
    max_nodes: int,
    limits: Limits,
    root: Subproblem,
) -> Iterator[tuple[int, float]]:
    """Yield the number of nodes solved and the bound, from a root that was solved.

    Each node has a lambda of its own. The bound is the least of all leaves. Ends when
    it reaches the target, at the limit of time or nodes, or when no pair is left to
    branch on in the leaf that is lowest.
    """
    top = _solve(root, -np.inf, 0, limits)
    open_nodes, n_nodes, closed = [top], 1, np.inf
    if top.bound > root.bound:  # by a better lambda
        yield n_nodes, top.bound
    if top.bound >= limits.target:
        return
    # A node has two children.
    while open_nodes and n_nodes + 2 <= max_nodes and time.perf_counter() < limits.ends:
        node = heapq.heappop(open_nodes)
        if node.pair is None:
            heapq.heappush(open_nodes, node)
            return
        for labels, apart in children(node):
            part = Subproblem(whole, n_clusters, node.group_weights, labels, apart)
            solved = _solve(part, node.bound, n_nodes, limits)
            n_nodes += 1
            if solved.bound >= limits.target:
                closed = min(closed, solved.bound)
            else:
                heapq.heappush(open_nodes, solved)
        lowest = open_nodes[0].bound if open_nodes else np.inf
        yield n_nodes, min(lowest, closed)


def children(
    node: Node,
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int64]]]:
    """Yield labels and pairs apart, with the pair apart and with it together."""
    assert node.pair is not None
    yield node.labels, np.concatenate([node.apart, [node.pair]])
    i, j = node.pair
    joined = np.where(node.labels == node.labels[j], node.labels[i], node.labels)
    labels = np.unique(joined, return_inverse=True)[1]
    ends = labels[node.apart]
    if (ends[:, 0] != ends[:, 1]).all():  # else there is no such clustering
        yield labels, node.apart


def _solve(first: Subproblem, least: float, order: int, limits: Limits) -> Node:
    """Return the node of a subproblem, with the lambda that is best for it.

    Its bound is at least that of its parent.
    """
    solved: list[Subproblem] = []

    def plane_of(lam: NDArray[np.float64]) -> Plane:
        part = first.at(lam) if solved else first
        if part.bound == -np.inf:  # not solved yet, unlike the root
            share = LEAST_SHARE_GAINED if np.isfinite(limits.target) else 0.0
            for _ in part.iterate(limits, share):
                pass
        solved.append(part)
        return Plane(part.bound, lam, part.group_costs())

    bound = ascend(plane_of, first.group_weights, limits.target, limits.ends).bound
    best = max(solved, key=lambda part: part.bound)
    alike = [p for p in solved if np.array_equal(p.inside, best.inside)]
    # If no pair is undecided for the best lambda, take the mean of all that were tried.
    pair = best.undecided_pair(best.shares()) or best.undecided_pair(
        np.mean([part.shares() for part in alike], axis=0)
    )
    return Node(
        max(bound, least), order, best.group_weights, best.labels, best.apart, pair
    )


class Subproblem:
    """Relaxation of the clusterings of a node, for some lambda.

    Rows kept together are merged; rows that lambda gives no weight are left out, with
    what the node says of them, which weakens the bound only.
    """

    def __init__(
        self,
        whole: GroupedRows,
        n_clusters: int,
        group_weights: NDArray[np.float64],
        labels: NDArray[np.intp],
        apart: NDArray[np.int64] = NO_PAIRS,
    ) -> None:
        self.whole, self.n_clusters = whole, n_clusters
        self.group_weights = group_weights
        self.labels, self.apart, self.bound = labels, apart, -np.inf
        weights = whole.shares @ group_weights
        self.inside = np.flatnonzero(weights > 0)
        rows = WeightedRows(whole.rows[self.inside], weights[self.inside])
        kept, self.sets = np.unique(labels[self.inside], return_inverse=True)
        self.few = merged(rows, self.sets)
        spread = ((rows.rows - self.few.rows[self.sets]) ** 2).sum(axis=1)
        rounded_down = float(rows.weights @ spread) * (1 - 1e-12)
        self.within = max(rounded_down - rounding_unit(rows.rows), 0.0)
        place = np.full(labels.max() + 1, -1)
        place[kept] = np.arange(len(kept))
        pairs = place[labels[apart]]
        self.relaxation = Relaxation(
            self.few.rows, self.few.weights, n_clusters,
            apart=pairs[(pairs >= 0).all(axis=1)],
        )  # fmt: skip

    def iterate(
        self, limits: Limits, share: float = 0.0
    ) -> Iterator[tuple[int, float]]:
        """Yield the number of iterations and the bound.

        Ends earlier if PATIENCE evaluations in a row each gain less than ``share`` of
        what is missing to the target.
        """
        for n_iter, cost in self.relaxation.iterate(
            limits.max_iter,
            limits.tol,
            limits.ends,
            limits.target - self.within,
            share,
        ):
            self.bound = cost + self.within
            yield n_iter, self.bound

    def at(self, group_weights: NDArray[np.float64]) -> Subproblem:
        """Return the subproblem for another lambda."""
        return Subproblem(
            self.whole, self.n_clusters, group_weights, self.labels, self.apart
        )

    def group_costs(self) -> NDArray[np.float64]:
        """Return the cost of each group at the centers of the relaxed clustering.

        A row is served by the mean of all rows, weighted by how much they are with it;
        a row left out, by the nearest of these means.
        """
        rows, r = self.whole.rows, self.relaxation.r
        share = self._positive() * r
        means = (share @ self.few.rows) / share.sum(axis=1)[:, None]
        distances = pairwise_distances(rows, means, metric="sqeuclidean").min(axis=1)
        own = means[self.sets]
        distances[self.inside] = ((rows[self.inside] - own) ** 2).sum(axis=1)
        costs: NDArray[np.float64] = self.whole.shares.T @ distances
        return costs

    def _positive(self) -> NDArray[np.float64]:
        """Return the relaxed Y without its negative entries; r r^T before any."""
        r = self.relaxation.r
        Y = np.outer(r, r)
        if self.relaxation.projection.shape == Y.shape:
            Y += self.relaxation.projection
        positive: NDArray[np.float64] = np.maximum(Y, 0.0)
        return positive

    def shares(self) -> NDArray[np.float64]:
        """Return how much each two rows are together, from 0 to 1."""
        Y = self._positive()
        scale = np.sqrt(Y.diagonal()) + 1e-150
        shares: NDArray[np.float64] = np.clip(Y / scale / scale[:, None], 0.0, 1.0)
        return shares

    def undecided_pair(self, shares: NDArray[np.float64]) -> tuple[int, int] | None:
        """Return rows of the pair that the shares decide least, or None.

        A pair weighs more if its rows do, and if one of them is clearly in a cluster.
        """
        r, apart = self.relaxation.r, self.relaxation.apart
        Y = self._positive()
        clear = (Y**2).sum(axis=1) / (Y.diagonal() + 1e-300)
        score = np.minimum(shares, 1 - shares)
        score[apart[:, 0], apart[:, 1]] = score[apart[:, 1], apart[:, 0]] = 0.0
        np.fill_diagonal(score, 0.0)
        if score.max() < DECIDED:
            return None
        score *= np.minimum.outer(r, r) * np.maximum.outer(clear, clear)
        a, b = np.unravel_index(int(score.argmax()), score.shape)
        first, second = ((self.sets == name).argmax() for name in (a, b))
        return int(self.inside[first]), int(self.inside[second])
