"""Triangle and 2-partition inequalities in use, with weights in the multiplier."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian.bounds import kernels

# Largest number of cuts added per row at a time, and least violation, relative to the
# smallest possible Z_ii, which is 1. Pairs that miss by less than SLACK are extended.
CUTS_A_ROW, LEAST_VIOLATION, SLACK = 40, 1e-3, 0.1

# Largest number of rows in T. With five the bound was no tighter in the same time.
MOST_OTHERS = 3

# Rate at which weights rise with violations: times the step, divided by the number of
# clusters and by the largest number of cuts that a row is the first of.
RATE, FEWEST_CUTS = 60.0, 10


class Cuts:
    """Cuts (i, T) and the weights of their matrices.

    ``indices`` has shape (n_cuts, 1 + MOST_OTHERS), with i, the rows of T, and -1 where
    T has fewer; ``pace`` scales the change of weights.
    """

    def __init__(self, r: NDArray[np.float64], n_clusters: int) -> None:
        self.inverse = 1 / r
        self.indices = np.empty((0, 1 + MOST_OTHERS), np.int32)
        self.weights, self._rates = np.empty(0), np.empty(0)
        self.pace = RATE / n_clusters

    def find(self, projection: NDArray[np.float64]) -> None:
        """Add cuts that are violated, for each row; drop those of weight 0."""
        Z = projection * self.inverse[:, None] * self.inverse + 1.0
        np.maximum(Z, 0.0, out=Z)
        shape = len(Z), CUTS_A_ROW
        violations = np.empty(shape)
        others = np.empty((*shape, MOST_OTHERS), np.int32)
        kernels.find_cuts(Z, LEAST_VIOLATION, SLACK, violations, others)
        rows, places = np.nonzero(violations)
        new = np.column_stack([rows, others[rows, places]])
        old = self.weights > 0
        both = np.concatenate([self.indices[old], new.astype(np.int32)])
        weights = np.concatenate([self.weights[old], np.zeros(len(new))])
        _, first = np.unique(both, axis=0, return_index=True)
        # A cut that was there comes first, and keeps its weight.
        self.indices, self.weights = both[first], weights[first]
        n_cuts = np.maximum(np.bincount(self.indices[:, 0], minlength=len(Z)),
                            FEWEST_CUTS)  # fmt: skip
        norms = kernels.squared_norms(self.inverse, self.indices)
        n_rivals = np.append(n_cuts, 0)[self.indices].max(axis=1)
        self._rates = 1 / (norms * n_rivals)

    def weigh(self, projection: NDArray[np.float64], step: float) -> None:
        """Raise the weights of violated cuts, lower the others."""
        rates = self.pace * step * self._rates
        kernels.weigh_cuts(projection, self.inverse, self.indices, rates, self.weights)
