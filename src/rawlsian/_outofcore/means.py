"""Partitions of out-of-core rows with means for centers, and rules to place rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.pooling import Pooling
from rawlsian._core.problem import Problem
from rawlsian._outofcore import block_sums
from rawlsian._outofcore.placing import Rule, Sums, assigned, rounded, sums_of
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._rows.executors import Column
from rawlsian._search.leximin import is_better

# Weights of the worst-off group in the rules to try on a sample, and how often each is
# recomputed from the partition that it makes.
WORST_WEIGHTS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
RENEWALS = 4


class Means:
    """Means, costs and counts of a partition, computed from its sums.

    Counts and costs by group are pooled, ``own_costs`` are not.
    """

    def __init__(
        self, sums: Sums, shift: NDArray[np.float64], pooling: Pooling
    ) -> None:
        self.pooling = pooling
        self.members = sums.members.sum(axis=1)
        counts, totals = rounded(sums.counts), rounded(sums.sums)
        self.mass = counts.sum(axis=1)
        with np.errstate(invalid="ignore"):  # an empty cluster has no mean
            means = totals.sum(axis=1) / self.mass[:, None]
        self.centers = means + shift
        excess = totals - counts[:, :, None] * means[:, None]
        dots = np.einsum("cj,cgj->cg", means, totals)
        norms = (means**2).sum(axis=1)[:, None]
        costs = rounded(sums.squares) - 2 * dots + counts * norms
        costs = np.maximum(costs, 0.0)  # rounding can leave -1e-17
        self.own_costs = costs.sum(axis=0) / counts.sum(axis=0)
        self.counts, self.excess, self.cluster_costs = (
            pooling.mix(each, axis=1) for each in (counts, excess, costs)
        )
        self.group_sizes = self.counts.sum(axis=0)

    @property
    def costs(self) -> NDArray[np.float64]:
        """Mean cost of each group, pooled."""
        costs: NDArray[np.float64] = self.cluster_costs.sum(axis=0) / self.group_sizes
        return costs

    @property
    def is_whole(self) -> bool:
        """True if every cluster has a member."""
        return bool(self.members.all())

    def rule(self, group_weights: NDArray[np.float64]) -> Rule:
        """Return the rule that puts a row where it adds least to the weighted cost.

        With a = lambda / N, a row x of group g adds a_g |x - m|^2 in a cluster. It
        moves the mean by (x - m) / N_c, which changes the cost of the others by
        -2 (x - m).q, where q = sum_g a_g (S_g - n_g m) / N_c. The sum of both is
        a_g |x - m - q / a_g|^2 - |q|^2 / a_g: a squared distance and an offset.
        With pooling, a_g is the sum over all groups in which the row counts.
        """
        a = group_weights / self.group_sizes
        q = np.einsum("g,cgj->cj", a, self.excess) / self.mass[:, None]
        a = self.pooling.mix(a)
        centers = self.centers + q / a[:, None, None]
        return Rule(centers, -(q**2).sum(axis=1) / a[:, None] ** 2)


class Partition:
    """Labels of all rows, their sums and means."""

    def __init__(
        self,
        labels: Column,
        sums: Sums,
        shift: NDArray[np.float64],
        pooling: Pooling,
    ) -> None:
        self.labels = labels
        self.sums = sums
        self.means = Means(sums, shift, pooling)

    @property
    def largest(self) -> float:
        """The largest mean cost of a group, pooled."""
        return float(self.means.costs.max())


def by_rule(
    large: OutOfCoreProblem, rule: Rule, shift: NDArray[np.float64]
) -> Partition:
    """Place all rows by a rule: one pass."""
    labels, sums = large.place(assigned, [], rule, shift, large.n_groups)
    return Partition(labels, sums, shift, large.pooling)


def by_labels(
    large: OutOfCoreProblem, labels: Column, n_clusters: int, shift: NDArray[np.float64]
) -> Partition:
    """Add up the clusters of checked labels: one pass."""
    sums = large.add_up(sums_of, [labels], n_clusters, shift, large.n_groups)
    return Partition(labels, sums, shift, large.pooling)


def rule_of_sample(sample: Problem, labels: NDArray[np.int32]) -> Rule:
    """Return the rule for all rows that is leximin-best on the sample.

    Rules start from the means of the labels. In a fair partition some rows are not in
    the cluster of the nearest mean, for the sake of others; a rule places rows of
    the same kind in the same way.
    """
    n_clusters, n_groups = int(labels.max()) + 1, sample.n_groups
    at = _means_of_sample(sample, labels, n_clusters)
    worst, best = int(np.argmax(at.costs)), None
    for weight in WORST_WEIGHTS if n_groups > 1 else (1.0,):
        group_weights = np.full(n_groups, (1 - weight) / max(n_groups - 1, 1))
        group_weights[worst] = weight
        means = at
        for _ in range(RENEWALS):
            rule = means.rule(group_weights)
            labels = np.empty(sample.n_samples, np.int32)
            block_sums.label_rows(
                sample.X, sample.groups, rule.centers, rule.offsets, labels
            )
            means = _means_of_sample(sample, labels, n_clusters)
            if not means.is_whole:
                break
            if best is None or is_better(means.costs, best[0]):
                best = means.costs, rule
    return Rule.nearest(at.centers) if best is None else best[1]


def _means_of_sample(
    sample: Problem, labels: NDArray[np.int32], n_clusters: int
) -> Means:
    sums = sums_of(
        sample.X, sample.groups, sample.weights, labels, n_clusters, sample.shift,
        sample.n_groups,
    )  # fmt: skip
    return Means(sums, sample.shift, sample.pooling)
