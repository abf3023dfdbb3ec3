"""Branch and bound: a pair of rows is in one cluster, or it is not."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian.bounds.relaxation import NO_PAIRS, Relaxation
from rawlsian.bounds.rows import WeightedRows, merged

# Pairs that are this close to being together or apart are not worth branching on.
DECIDED = 1e-4


class Node(NamedTuple):
    """Clusterings that keep some rows together and some pairs of rows apart.

    ``labels`` numbers the sets of rows kept together, and ``apart``, of shape
    (n_pairs, 2), holds the pairs of rows kept apart. ``pair`` is the next to branch on.
    """

    bound: float
    order: int  # breaks ties, so that arrays are never compared
    labels: NDArray[np.intp]
    apart: NDArray[np.int64]
    pair: tuple[int, int] | None


class Limits(NamedTuple):
    """Iterations of a node, their tolerance, when to end, and the bound wanted."""

    max_iter: int
    tol: float
    ends: float
    target: float


def branch(
    whole: WeightedRows,
    n_clusters: int,
    max_nodes: int,
    root: Relaxation,
    bound: float,
    limits: Limits,
) -> Iterator[tuple[int, float]]:
    """Yield the number of nodes solved and the bound, from a root that was solved.

    The bound is the least of all leaves. Ends when it reaches the target, at the limit
    of time or nodes, or when no pair is left to branch on in the leaf that is lowest.
    """
    together = np.arange(len(whole.rows))
    pair = undecided_pair(root, together)
    open_nodes = [Node(bound, 0, together, NO_PAIRS, pair)]
    n_nodes, closed = 1, np.inf
    while open_nodes and n_nodes < max_nodes and time.perf_counter() < limits.ends:
        node = heapq.heappop(open_nodes)
        if node.pair is None:
            heapq.heappush(open_nodes, node)
            return
        for labels, apart in children(node):
            solved = _solve(whole, n_clusters, node.bound, n_nodes, labels, apart,
                            limits)  # fmt: skip
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


def _solve(
    whole: WeightedRows,
    n_clusters: int,
    bound: float,
    order: int,
    labels: NDArray[np.intp],
    apart: NDArray[np.int64],
    limits: Limits,
) -> Node:
    """Return the node with its bound, which is at least that of its parent."""
    few = merged(whole, labels)
    spread = whole.weights @ ((whole.rows - few.rows[labels]) ** 2).sum(axis=1)
    within = float(spread) * (1 - 1e-12)  # rounded down
    relaxation = Relaxation(few.rows, few.weights, n_clusters, apart=labels[apart])
    for _, cost in relaxation.iterate(
        limits.max_iter, limits.tol, limits.ends, limits.target - within
    ):
        bound = max(bound, cost + within)
    return Node(bound, order, labels, apart, undecided_pair(relaxation, labels))


def undecided_pair(
    relaxation: Relaxation, labels: NDArray[np.intp]
) -> tuple[int, int] | None:
    """Return rows of the pair that the relaxation decides least, or None.

    A pair weighs more if its rows do, and if one of them is clearly in a cluster.
    """
    n, r = relaxation.n_rows, relaxation.r
    if relaxation.projection.shape != (n, n):
        return None
    Y = np.maximum(relaxation.projection + np.outer(r, r), 0.0)
    diagonal = Y.diagonal()
    share = np.clip(Y / np.sqrt(np.outer(diagonal, diagonal) + 1e-300), 0.0, 1.0)
    clear = (Y**2).sum(axis=1) / (diagonal + 1e-300)
    score = np.minimum(share, 1 - share)
    score[relaxation.apart[:, 0], relaxation.apart[:, 1]] = 0.0
    score[relaxation.apart[:, 1], relaxation.apart[:, 0]] = 0.0
    np.fill_diagonal(score, 0.0)
    if score.max() < DECIDED:
        return None
    score *= np.minimum.outer(r, r) * np.maximum.outer(clear, clear)
    a, b = np.unravel_index(int(score.argmax()), score.shape)
    return int((labels == a).argmax()), int((labels == b).argmax())
