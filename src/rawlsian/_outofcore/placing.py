"""Rules that place rows, and sums over the rows of a block.

``OutOfCoreProblem`` runs these functions on each block, here or on a worker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from rawlsian._outofcore import block_sums
from rawlsian._rows.blocks import Blocks


class Rule(NamedTuple):
    """Put each row in the cluster with the lowest |x - center|^2 + offset.

    There is one set of centers and offsets, or one per group.
    """

    centers: NDArray[np.float64]
    offsets: NDArray[np.float64]

    @classmethod
    def nearest(cls, centers: NDArray[np.float64]) -> Rule:
        """Return the rule that puts each row with its nearest center."""
        return cls(centers[None], np.zeros((1, len(centers))))


@dataclass(eq=False)
class Sums:
    """Sums over rows, by cluster and group, each float sum with its rounding error.

    Attributes
    ----------
    members : ndarray of shape (n_clusters, n_groups)
        Number of rows with weight.
    counts, squares : ndarray of shape (2, n_clusters, n_groups)
        Sums of w and of w |x|^2, where x is X[i] - shift.
    sums : ndarray of shape (2, n_clusters, n_groups, n_features)
        Sums of w x.
    costs : ndarray of shape (2, n_groups)
        Sums of w |X[i] - center|^2.
    """

    members: NDArray[np.int64]
    counts: NDArray[np.float64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    costs: NDArray[np.float64]

    @classmethod
    def zeros(cls, n_clusters: int, n_groups: int, n_features: int) -> Sums:
        """Return sums over no rows."""
        return cls(
            np.zeros((n_clusters, n_groups), np.int64),
            np.zeros((2, n_clusters, n_groups)),
            np.zeros((2, n_clusters, n_groups, n_features)),
            np.zeros((2, n_clusters, n_groups)),
            np.zeros((2, n_groups)),
        )

    def add(self, other: Sums) -> None:
        """Add the sums of other rows."""
        self.members += other.members
        for ours, theirs in (
            (self.counts, other.counts), (self.sums, other.sums),
            (self.squares, other.squares), (self.costs, other.costs),
        ):  # fmt: skip
            add_up(ours, theirs)

    def plus(self, other: Sums) -> Sums:
        """Return the sums over these and other rows."""
        total = Sums(*(part.copy() for part in vars(self).values()))
        total.add(other)
        return total

    @property
    def mean_costs(self) -> NDArray[np.float64]:
        """Mean cost of each group."""
        sizes = rounded(self.counts).sum(axis=0)
        means: NDArray[np.float64] = rounded(self.costs) / sizes
        return means


def add_up(total: NDArray[np.float64], part: NDArray[np.float64]) -> None:
    """Add part to total, both with their rounding errors.  OUT: total."""
    after = total[0] + part[0]
    grown = after - total[0]
    total[1] += (total[0] - (after - grown)) + (part[0] - grown) + part[1]
    total[0] = after


def rounded(pair: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a sum and its rounding error as one number."""
    total: NDArray[np.float64] = pair[0] + pair[1]
    return total


def assign(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    rule: Rule,
    shift: NDArray[np.float64],
    n_groups: int,
) -> Sums:
    sums = Sums.zeros(rule.centers.shape[1], n_groups, X.shape[1])
    block_sums.assign_rows(
        X, groups, weights, rule.centers, rule.offsets, shift,
        sums.members, sums.counts, sums.sums, sums.squares, sums.costs,
    )  # fmt: skip
    return sums


def label(X: NDArray[Any], groups: NDArray[np.int32], rule: Rule) -> NDArray[np.int32]:
    labels = np.empty(len(X), np.int32)
    block_sums.label_rows(X, groups, rule.centers, rule.offsets, labels)
    return labels


def assigned(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    rule: Rule,
    shift: NDArray[np.float64],
    n_groups: int,
) -> tuple[NDArray[np.int32], Sums]:
    """Return the labels of a block by a rule, and their sums."""
    labels = label(X, groups, rule)
    n_clusters = rule.centers.shape[1]
    return labels, sums_of(X, groups, weights, labels, n_clusters, shift, n_groups)


def sums_of(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    labels: NDArray[np.int32],
    n_clusters: int,
    shift: NDArray[np.float64],
    n_groups: int,
) -> Sums:
    """Add up a block whose labels are known."""
    sums = Sums.zeros(n_clusters, n_groups, X.shape[1])
    block_sums.add_rows(
        X, groups, weights, labels, shift,
        sums.members, sums.counts, sums.sums, sums.squares,
    )  # fmt: skip
    return sums


def nearest_of_blocks(blocks: Blocks, centers: NDArray[np.float64]) -> Any:
    """Return the nearest center of each row."""
    return blocks.join(blocks.later(_nearest, [], centers), np.int32)


def _nearest(X: NDArray[Any], centers: NDArray[np.float64]) -> NDArray[np.int32]:
    _refuse_missing(X)
    return label(X, np.zeros(1, np.int32), Rule.nearest(centers))


def distances_of_blocks(blocks: Blocks, centers: NDArray[np.float64]) -> Any:
    """Return the distance of each row to every center."""
    column = blocks.later(_distances, [], centers)
    return blocks.join(column, np.float64, width=len(centers))


def _distances(X: NDArray[Any], centers: NDArray[np.float64]) -> NDArray[np.float64]:
    _refuse_missing(X)
    distances: NDArray[np.float64] = euclidean_distances(
        X.astype(np.float64, copy=False), centers
    )
    return distances


def _refuse_missing(X: NDArray[Any]) -> None:
    room = np.zeros(X.shape[1])
    row, column = block_sums.look_at(X, room, room.copy())
    if row >= 0:
        raise ValueError(
            "X must be finite numbers, but holds NaN or infinity, first in column "
            f"{column} of row {row:,} of a block; fill in or drop missing values."
        )
