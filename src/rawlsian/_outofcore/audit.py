"""Audit out of core: costs of groups in clusters, and sums for their variances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Utility
from rawlsian._outofcore import block_sums
from rawlsian._outofcore.labels import LabelColumn
from rawlsian._outofcore.means import by_labels
from rawlsian._outofcore.placing import Rule, add_up, label, rounded
from rawlsian._outofcore.problem import OutOfCoreProblem


class GroupFigures(NamedTuple):
    """Sizes and costs of groups in clusters.

    Attributes
    ----------
    counts, cluster_costs : ndarray of shape (n_clusters, n_groups)
        Weight and cost of the members of each group that each mean serves.
    sums : ndarray of shape (5, n_groups)
        Sums over each group of w, w d, w^2, w^2 d and w^2 d^2, where w is the weight
        of a row and d its squared distance.
    """

    counts: NDArray[np.float64]
    cluster_costs: NDArray[np.float64]
    sums: NDArray[np.float64]


def figures_of(
    large: OutOfCoreProblem, labels: LabelColumn, utility: Utility
) -> GroupFigures:
    """Add up the clusters, and then the distances to the means: two passes."""
    shift = large.middle
    means = by_labels(large, labels.labels, labels.n_clusters, shift).means
    if utility == "nearest":
        return figures_by_centers(large, means.centers)
    return _figures(
        large.add_up(_spread_of, [labels.labels], means.centers, large.n_groups), large
    )


def figures_by_centers(
    large: OutOfCoreProblem, centers: NDArray[np.float64]
) -> GroupFigures:
    """Add up the distances to the nearest centers: one pass."""
    spread = large.add_up(_spread_of_cells, [], centers, large.n_groups)
    return _figures(spread, large)


def _figures(spread: _Spread, large: OutOfCoreProblem) -> GroupFigures:
    measured = rounded(spread.sums)
    sums = measured.sum(axis=0).T
    sums[0] = large.people
    return GroupFigures(measured[:, :, 0], measured[:, :, 1], sums)


@dataclass(eq=False)
class _Spread:
    sums: NDArray[np.float64]

    def add(self, other: _Spread) -> None:
        add_up(self.sums, other.sums)


def _spread_of(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    labels: NDArray[np.int32],
    centers: NDArray[np.float64],
    n_groups: int,
) -> _Spread:
    spread = np.zeros((2, len(centers), n_groups, 5))
    block_sums.add_spread(X, groups, weights, labels, centers, spread)
    return _Spread(spread)


def _spread_of_cells(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    centers: NDArray[np.float64],
    n_groups: int,
) -> _Spread:
    """Add up the distances of a block's rows to their nearest means."""
    cells = label(X, groups, Rule.nearest(centers))
    return _spread_of(X, groups, weights, cells, centers, n_groups)
