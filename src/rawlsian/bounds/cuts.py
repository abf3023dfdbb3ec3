"""Triangle inequalities in use, with their weights in the multiplier."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian.bounds import kernels

# Largest number of cuts added per row at a time, and least violation, relative to the
# smallest possible Z_ii, which is 1.
CUTS_A_ROW, LEAST_VIOLATION = 40, 1e-3

# Rate at which weights rise with violations: times the step, divided by the number of
# clusters and by the largest number of cuts that a row is the first of.
RATE, FEWEST_CUTS = 60.0, 10


class Cuts:
    """Cuts (i, j, l) and the weights of their matrices.

    ``indices`` has shape (n_cuts, 3); ``pace`` scales the change of weights.
    """

    def __init__(self, r: NDArray[np.float64], n_clusters: int) -> None:
        self.inverse = 1 / r
        self.indices = np.empty((0, 3), np.int32)
        self.weights, self._rates = np.empty(0), np.empty(0)
        self.pace = RATE / n_clusters

    def find(self, projection: NDArray[np.float64]) -> None:
        """Add the cuts that are violated most, for each row; drop those of weight 0."""
        Z = projection * self.inverse[:, None] * self.inverse + 1.0
        np.maximum(Z, 0.0, out=Z)
        shape = len(Z), CUTS_A_ROW
        violations, seconds, thirds = (
            np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        )  # fmt: skip
        kernels.find_cuts(Z, LEAST_VIOLATION, violations, seconds, thirds)
        rows, places = np.nonzero(violations)
        new = np.column_stack([rows, seconds[rows, places], thirds[rows, places]])
        old = self.weights > 0
        both = np.concatenate([self.indices[old], new.astype(np.int32)])
        weights = np.concatenate([self.weights[old], np.zeros(len(new))])
        code = (both[:, 0] * np.int64(len(Z)) + both[:, 1]) * len(Z) + both[:, 2]
        _, first = np.unique(code, return_index=True)
        # A cut that was there comes first, and keeps its weight.
        self.indices, self.weights = both[first], weights[first]
        n_cuts = np.maximum(np.bincount(self.indices[:, 0], minlength=len(Z)),
                            FEWEST_CUTS)  # fmt: skip
        norms = kernels.squared_norms(self.inverse, self.indices)
        self._rates = 1 / (norms * n_cuts[self.indices].max(axis=1))

    def weigh(self, projection: NDArray[np.float64], step: float) -> None:
        """Raise the weights of violated cuts, lower the others."""
        rates = self.pace * step * self._rates
        kernels.weigh_cuts(projection, self.inverse, self.indices, rates, self.weights)
