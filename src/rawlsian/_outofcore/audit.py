"""How well clusters of rows in blocks serve each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._outofcore import block_sums
from rawlsian._outofcore.fit import Means
from rawlsian._outofcore.placing import add_up, rounded, sums_of
from rawlsian._outofcore.problem import LargeProblem, check_no_gap
from rawlsian._rows.blocks import Blocks


class Served(NamedTuple):
    """What an audit needs to know of rows in blocks.

    Attributes
    ----------
    large : LargeProblem
        The rows and their groups.
    counts, cluster_costs : ndarray of shape (n_clusters, n_groups)
        Weight of the members of each group in each cluster, and what they cost.
    costs : ndarray of shape (n_groups,)
        Mean cost of each group.
    variances : ndarray of shape (n_groups,)
        How far that would vary if the members of the group were drawn again.
    """

    large: LargeProblem
    counts: NDArray[np.float64]
    cluster_costs: NDArray[np.float64]
    costs: NDArray[np.float64]
    variances: NDArray[np.float64]


def served(
    blocks: Blocks,
    labels: Any,
    sensitive_features: Any,
    *,
    sample_weight: Any,
    max_distance: Any,
) -> Served:
    """Look at the rows, add up their clusters, and then how far they are from these."""
    large = LargeProblem.of(
        blocks, sensitive_features, sample_weight=sample_weight,
        max_distance=max_distance,
    )  # fmt: skip
    column, members = large.given_labels(labels)
    check_no_gap(members)
    shift = large.middle
    sums = large.add_up(sums_of, [column], len(members), shift, large.n_groups)
    means = Means(sums, shift)
    spread = large.add_up(_spread_of, [column], means.centers, large.n_groups)
    measured = rounded(spread.sums)
    cost, squared, first, second = measured.sum(axis=0).T
    sizes = large.group_sizes
    mean = cost / sizes
    # Of a weighted mean whose rows are drawn with replacement.
    variances = np.maximum(second - 2 * mean * first + mean**2 * squared, 0) / sizes**2
    return Served(large, means.counts, measured[:, :, 0], mean, variances)


@dataclass(eq=False)
class _Spread:
    sums: NDArray[np.float64]

    def add(self, other: _Spread) -> None:
        add_up(self.sums, other.sums)


def _spread_of(
    X: Any, groups: Any, weights: Any, labels: Any, centers: Any, n_groups: int
) -> _Spread:
    spread = np.zeros((2, len(centers), n_groups, 4))
    block_sums.add_spread(X, groups, weights, labels, centers, spread)
    return _Spread(spread)
