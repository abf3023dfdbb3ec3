"""The paper's system in plain Python, which recomputes everything at each step.

It is slow on purpose and shares nothing with the package.
"""

from __future__ import annotations

import itertools
import math

import numpy as np


class Reference:
    """Algorithms 1 to 3 on rows X, groups 0..G-1 and weights."""

    def __init__(
        self,
        X,
        groups,
        weights=None,
        max_distance=0.0,
        tolerance=1e-12,
        utility="assigned",
        pooling=0.0,
    ):
        self.X = np.asarray(X, dtype=float)
        self.groups = np.asarray(groups)
        self.weights = np.ones(len(self.X)) if weights is None else np.asarray(weights)
        self.max_distance = max_distance
        self.tolerance = tolerance
        self.utility = utility
        self.group_sizes = np.bincount(self.groups, self.weights)
        self.pooling = pooling

    def utilities(self, labels):
        """U(g): mean of delta - d(x, c) with d the squared distance to a mean."""
        distances = np.empty((len(self.X), labels.max() + 1))
        for c in range(labels.max() + 1):
            members = labels == c
            weights = self.weights[members]
            center = weights @ self.X[members] / weights.sum()
            distances[:, c] = ((self.X - center) ** 2).sum(axis=1)
        if self.utility == "nearest":
            distance = distances.min(axis=1)
        else:
            distance = distances[np.arange(len(labels)), labels]
        cost = np.bincount(self.groups, self.weights * distance)
        return self.max_distance - cost / self.group_sizes

    def overall(self, utilities):
        """Return the mean utility of all examples."""
        return utilities @ self.group_sizes / self.group_sizes.sum()

    def pooled(self, utilities):
        """Mix each group's utility with everyone's; this is what decides."""
        if np.isinf(self.pooling):
            own = np.zeros(len(self.group_sizes))
        else:
            own = self.group_sizes / (self.group_sizes + self.pooling)
        return own * utilities + (1 - own) * self.overall(utilities)

    def after(self, labels, moves):
        """Return group utilities after the moves; None if a cluster is left empty."""
        new = labels.copy()
        for i, c in moves:
            new[i] = c
        heads = np.bincount(new[self.weights > 0], minlength=labels.max() + 1)
        return None if (heads == 0).any() else self.utilities(new)

    def admitted(self, labels, operations):
        """Return operations that raise the lowest utility, with utilities."""
        floor = self.pooled(self.utilities(labels)).min() + self.tolerance
        found = []
        for moves in operations:
            utilities = self.after(labels, moves)
            if utilities is not None and self.pooled(utilities).min() > floor:
                found.append((moves, utilities))
        return found

    # --- Algorithms 2 and 3: GenerateOperations ---

    def singles(self, labels):
        """Alg. 2, line 2: each tuple (x, C') with C' another cluster."""
        k = labels.max() + 1
        return [
            ((i, c),) for i in range(len(labels)) for c in range(k) if c != labels[i]
        ]

    def pairs(self, singles):
        """Alg. 3, line 6: pairs of tuples that move distinct examples."""
        return [
            (*first, *second)
            for first, second in itertools.combinations(singles, 2)
            if first[0][0] != second[0][0]
        ]

    def good_singles(self, labels, p, q):
        """Alg. 3, lines 1 to 4."""
        T = self.admitted(labels, self.singles(labels))
        by_lag = sorted(T, key=lambda t: -self.pooled(t[1]).min())
        by_overall = sorted(T, key=lambda t: -self.overall(t[1]))
        n_lag, n_overall = (max(math.ceil(round(s * len(T), 9)), 1) for s in (p, q))
        good = {moves for moves, _ in by_lag[:n_lag] + by_overall[:n_overall]}
        return sorted(good)

    def operations(self, operator, labels, p=0.05, q=0.05):
        """Return all admitted operations of an operator, with utilities after each."""
        if operator == "R1":
            return self.admitted(labels, self.singles(labels))
        if operator == "R2":
            return self.admitted(labels, self.pairs(self.good_singles(labels, p, q)))
        if operator == "R2-exhaustive":
            people = [s for s in self.singles(labels) if self.weights[s[0][0]] > 0]
            return self.admitted(labels, self.pairs(people))
        assert operator == "R1+R2"
        return self.operations("R1", labels) + self.operations("R2", labels, p, q)

    # --- Selecting (section "Selecting and applying the best ...") ---

    def rank(self, utilities, now):
        """(1) north-east first; then (2) highest overall utility."""
        loss = self.pooled(now) - self.pooled(utilities)
        harmless = bool((loss <= self.tolerance).all())
        return harmless, self.overall(utilities)

    def select(self, labels, operations):
        """Return the best operation, the earliest of equals; None if there is none."""
        now = self.utilities(labels)
        best = None
        for moves, utilities in operations:
            if best is None or self.rank(utilities, now) > self.rank(best[1], now):
                best = moves, utilities
        return best

    # --- Algorithm 1: Traverse ---

    def traverse(self, labels, operator, max_iter=None):
        """Return utilities at the start and after each step, and the final labels."""
        labels = np.array(labels)
        history = [self.utilities(labels)]
        while max_iter is None or len(history) <= max_iter:
            best = self.select(labels, self.operations(operator, labels))
            if best is None:
                break
            for i, c in best[0]:
                labels[i] = c
            history.append(self.utilities(labels))
        return np.array(history), labels


def all_assignments(n_samples, n_clusters):
    """Yield every labelling that leaves no cluster empty."""
    for labels in itertools.product(range(n_clusters), repeat=n_samples):
        if len(set(labels)) == n_clusters:
            yield np.array(labels)


def lloyd(X, centers, max_iter=300):
    """Run Lloyd's algorithm as scikit-learn; return labels and iterations."""
    labels = None
    for iteration in range(1, max_iter + 2):
        distances = ((X[:, None] - centers) ** 2).sum(axis=2)
        old, labels = labels, distances.argmin(axis=1)
        if iteration > max_iter or (labels == old).all():
            return labels, min(iteration, max_iter)
        sizes = np.bincount(labels, minlength=len(centers)).astype(float)
        sums = np.array([X[labels == c].sum(axis=0) for c in range(len(centers))])
        own = distances.min(axis=1)
        if own.max() > 0:
            farthest = np.argsort(-own, kind="stable")
            empty = np.flatnonzero(sizes == 0)
            for c, i in zip(empty, farthest[: len(empty)], strict=True):
                sums[labels[i]] -= X[i]
                sizes[labels[i]] -= 1
                sums[c] += X[i]
                sizes[c] += 1
        sums[sizes == 0] = sums[sizes.argmax()]
        sizes[sizes == 0] = sizes.max()
        centers = sums / sizes[:, None]
    raise AssertionError
