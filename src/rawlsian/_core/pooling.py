"""Pooling: mix each group's cost with everyone's, against the noise of small groups."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Pooling(NamedTuple):
    """How much a person counts in their own group, and in every group.

    With pooling, the cost of a group of n people is the mean over these n and m people
    drawn from everyone: ``n / (n + m)`` of it is the group's own mean cost, the rest is
    everyone's. With N people in G groups, that is the same as to let each person count
    ``N / (N + G m)`` in their own group and ``m / (N + G m)`` in every group. So sums
    over groups are mixed, and no row is copied.

    Attributes
    ----------
    strength : float
        The number m. 0 is no pooling; with infinity every group has everyone's cost,
        which is k-means.
    own : float
        Share of a person in their own group.
    everyone : float
        Share of a person in every group, including their own.
    """

    strength: float = 0.0
    own: float = 1.0
    everyone: float = 0.0

    @classmethod
    def of(cls, strength: float, people: NDArray[np.float64]) -> Pooling:
        """Return the pooling of this strength for groups of that many people."""
        n_groups, total = len(people), float(people.sum())
        if strength == 0 or n_groups == 1:
            return cls()
        whole = total + n_groups * float(strength)
        if math.isinf(whole):
            return cls(math.inf, 0.0, 1 / n_groups)
        return cls(float(strength), total / whole, strength / whole)

    def mix(self, sums: NDArray[np.float64], axis: int = 0) -> NDArray[np.float64]:
        """Mix sums by group; the groups lie along ``axis``."""
        if self.everyone == 0:
            return sums
        mixed: NDArray[np.float64] = self.everyone * sums.sum(axis, keepdims=True)
        return self.own * sums + mixed

    def means(
        self, means: NDArray[np.float64], people: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Pool the means of groups of that many people."""
        if self.everyone == 0:
            return means
        pooled: NDArray[np.float64] = self.mix(people * means) / self.mix(people)
        return pooled


NO_POOLING = Pooling()
