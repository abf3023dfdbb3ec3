"""Brute force over all partitions of a few rows."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar


@cache
def partitions(n, k):
    """Return every partition of n rows into k clusters, none empty."""
    return [
        np.array(labels)
        for labels in itertools.product(range(k), repeat=n)
        if list(dict.fromkeys(labels)) == list(range(k))
    ]


def least_cost_of_any_partition(case, k):
    """Return the least largest cost of two groups with free centers."""
    best = np.inf
    for labels in partitions(len(case.X), k):
        best = min(best, least_cost_of_two_groups(case, labels, best))
    return best


def least_cost_of_two_groups(case, labels, known):
    """Maximise sum_g lambda_g cost_g, concave in lambda, unless it exceeds known.

    In a cluster with shares a and b of the two groups, whose means are D apart
    (squared), the best center costs l a (1 - l) b D / (l a + (1 - l) b) in addition to
    the costs of the groups at their own means.
    """
    base, terms = np.zeros(2), []
    for c in range(labels.max() + 1):
        shares, means = [], []
        for g in range(2):
            rows = case.X[(labels == c) & (case.groups == g)]
            shares.append(len(rows) / (case.groups == g).sum())
            means.append(rows.mean(axis=0) if len(rows) else np.zeros(case.X.shape[1]))
            base[g] += ((rows - means[g]) ** 2).sum() / (case.groups == g).sum()
        terms.append((*shares, ((means[0] - means[1]) ** 2).sum()))
    a, b, apart = np.array(terms).T

    def dual(share):
        mass = np.maximum(share * a + (1 - share) * b, 1e-300)
        between = share * a * (1 - share) * b * apart / mass
        return share * base[0] + (1 - share) * base[1] + between.sum()

    if dual(0.5) >= known:  # and the largest is no lower
        return known
    solved = minimize_scalar(
        lambda share: -dual(share), bounds=(1e-9, 1 - 1e-9), method="bounded",
        options={"xatol": 1e-12},
    )  # fmt: skip
    return max(-solved.fun, dual(0), dual(1))  # the ends are left out by it


def least_pooled_cost(case, k):
    """Return the least largest pooled cost of two groups with free centers.

    For every partition at once, the weight of the first group maximises the least
    cost of rows that weigh as the pooled groups say; that cost is concave in it.
    """
    sizes = np.bincount(case.groups, case.weights)
    own = sizes / (sizes + case.pooling)
    some = np.eye(k)[np.array(partitions(len(case.X), k))]
    members = np.tile(some, (2, 1, 1))  # to look at two weights of each at once
    X = case.X - case.X.mean(axis=0)
    squares = (X**2).sum(axis=1)

    def dual(share):
        lam = np.stack([share, 1 - share])
        everyone = ((1 - own) @ lam) / sizes.sum()
        pull = (own / sizes)[:, None] * lam + everyone
        w = (pull[case.groups] * case.weights[:, None]).T
        clusters = (w[:, :, None] * members[: len(w)]).swapaxes(1, 2)
        sums, mass = clusters @ X, np.maximum(clusters.sum(axis=2), 1e-300)
        return w @ squares - ((sums**2).sum(axis=2) / mass).sum(axis=1)

    low, high = np.zeros(len(some)), np.ones(len(some))
    for _ in range(40):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        at_left, at_right = np.split(dual(np.append(left, right)), 2)
        is_left = at_left > at_right
        high, low = np.where(is_left, right, high), np.where(is_left, low, left)
    return dual((low + high) / 2).min()
