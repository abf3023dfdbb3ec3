"""Semidefinite relaxation of weighted k-means, solved by alternating projections."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh

from rawlsian._support.threads import run_in_chunks
from rawlsian.bounds import triangle_cuts

# Alternating projections: step relative to the total variance, over-relaxation factor,
# and iterations between evaluations of the bound.
STEP, OVERSHOOT, EVALUATE_EVERY = 0.1, 1.8, 10

# Triangle inequalities: first iteration that adds them, largest number added per row at
# a time, and least violation (Z is about the number of clusters).
FIRST_CUTS, CUTS_A_ROW, LEAST_VIOLATION = 10, 20, 1e-3
ROWS_A_THREAD = 16

# Margin for rounding in eigenvalues, relative to the total variance.
ROUNDING = 1e-9


class Relaxation:
    """Peng and Wei's relaxation of weighted k-means, with a bound from each iterate.

    A clustering is a projection Y of rank k with Y r = r, r = sqrt(w), and no negative
    entry. Its cost is sum_i w_i |x_i|^2 - <K, Y> with K = A A^T, where the rows of A
    are r_i x_i. For any symmetric N >= 0 we have <N, Y> >= 0, so no clustering costs
    less than sum_i w_i |x_i|^2 - r^T (K + N) r less the k - 1 largest eigenvalues of
    K + N on the complement of r.

    If rows were merged, this holds for the original rows: let D have the columns
    r_i / r_J for the rows i merged to J, and N be D M D^T with M >= 0. With
    A = D A_J + Q T, A_J of the merged rows and T^T T the scatter within them, Q is
    orthogonal to D, so K + N has the eigenvalues of
    [A_J; T] [A_J; T]^T + [M 0; 0 0]: as if the rows of T were further rows without
    weight. Only some freedom in N is lost.

    If no rows were merged, triangle inequalities are added: N may include any sum of
    matrices T with <T, Y> >= 0 for every clustering. (Merged rows may be in several
    clusters, and then the inequalities do not hold. Equal rows may be merged: some
    optimal clustering keeps them together.)

    The parameters are the rows, of shape (n_rows, n_features); their weights, which sum
    to 1; the scatter within merged rows, of shape (n_features, n_features); and k.
    """

    def __init__(
        self,
        rows: NDArray[np.float64],
        weights: NDArray[np.float64],
        within: NDArray[np.float64],
        n_clusters: int,
    ) -> None:
        self.r, scaled = np.sqrt(weights), scaled_rows(rows, weights)
        self.unit = rounding_unit(rows)
        self.n_rows, self.rank = len(rows), min(n_clusters, len(rows)) - 1
        if within.any():
            scatter, axes = eigh(within)
            spread = np.sqrt(np.maximum(scatter, 0.0))[:, None] * axes.T
            scaled = np.concatenate([scaled, spread])
            self.r = np.concatenate([self.r, np.zeros(len(spread))])
            self.rank = n_clusters - 1
        self.K = scaled @ scaled.T
        self.n_kept = len(self.r)  # eigenvalues above 0 in the last projection
        self.total = float((scaled**2).sum())

    def iterate(
        self, max_iter: int, tol: float, ends: float
    ) -> Iterator[tuple[int, float]]:
        """Yield the number of iterations and the best bound, every EVALUATE_EVERY.

        Ends after max_iter iterations, at the time ``ends``, or when the bound rises
        by less than tol, relative to itself.
        """
        if self.rank == 0 or self.rank + 1 >= len(self.r) or self.total == 0:
            yield 0, self.bound(np.zeros_like(self.K))
            return
        step = STEP * self.total
        whole = np.outer(self.r, self.r)
        positive, multiplier = whole, np.zeros_like(self.K)
        best, m = 0.0, self.n_rows
        cuts = _Cuts(self.r, 1 / (self.rank + 1)) if m == len(self.r) else None
        K = self.K
        for n_iter in range(1, max_iter + 1):
            projection = self._project(positive - multiplier + K / step) + whole
            overshot = OVERSHOOT * projection + (1 - OVERSHOOT) * positive + multiplier
            positive = overshot.copy()
            np.maximum(overshot[:m, :m], 0.0, out=positive[:m, :m])
            multiplier = overshot - positive  # never above 0
            if cuts is not None and n_iter >= FIRST_CUTS:
                if (n_iter - FIRST_CUTS) % EVALUATE_EVERY == 0:
                    cuts.find(projection)
                K = self.K + cuts.weigh(projection, step)
            is_late = time.perf_counter() > ends
            if n_iter % EVALUATE_EVERY == 0 or n_iter == max_iter or is_late:
                bound, before = self.bound(K - self.K - step * multiplier), best
                best = max(best, bound)
                yield n_iter, best
                if is_late or 0 <= bound - before < tol * best:
                    return
                if bound < before and cuts is not None:
                    cuts.pace *= 0.5  # their weights overshot and oscillate

    def bound(self, N: NDArray[np.float64]) -> float:
        """Return the bound of a valid symmetric N, less a margin for rounding."""
        both = self.K + N
        left = self.total - float(self.r @ both @ self.r)
        if self.rank > 0:
            n = len(self.r)
            first = max(n - self.rank, 0)
            largest = eigvalsh(self._off(both), subset_by_index=[first, n - 1])
            left -= float(np.maximum(largest, 0.0).sum())
        size = self.total + float(np.abs(N).sum(axis=1).max())
        return left - ROUNDING * size - self.unit

    def _off(self, M: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P M P with P = I - r r^T."""
        Mr = M @ self.r
        away: NDArray[np.float64] = M - np.outer(self.r, Mr) - np.outer(Mr, self.r)
        away += (self.r @ Mr) * np.outer(self.r, self.r)
        return away

    def _project(self, M: NDArray[np.float64]) -> NDArray[np.float64]:
        """Project M to eigenvalues in [0, 1] that sum to the rank, off r."""
        # r gets an eigenvalue below all others.
        low = 1.0 + float(np.abs(M).sum(axis=1).max())
        off = self._off(M) - 2 * low * np.outer(self.r, self.r)
        values, vectors = self._largest(off)
        values = clip_to_sum(values, self.rank)
        kept = values > 0
        self.n_kept = int(kept.sum())
        vectors = vectors[:, kept]
        projected: NDArray[np.float64] = (vectors * values[kept]) @ vectors.T
        return projected

    def _largest(
        self, M: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return all eigenvalues, with vectors, that stay above 0 when clipped."""
        n = len(M)
        n_wanted = min(2 * self.n_kept + 8, n - 1)
        if n_wanted < n // 4:
            values, vectors = eigh(
                M, subset_by_index=[n - n_wanted, n - 1], check_finite=False,
                driver="evr",
            )  # fmt: skip
            # If the smallest of these is clipped to 0, so are all below it.
            if clip_to_sum(values, self.rank)[0] == 0.0:
                return values, vectors
        values, vectors = eigh(M, check_finite=False, driver="evd")
        return values[1:], vectors[:, 1:]


def clip_to_sum(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return values less a constant, clipped to [0, 1], that sum to total."""
    low, high = float(values.min()) - 1.0, float(values.max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        if np.clip(values - middle, 0.0, 1.0).sum() > total:
            low = middle
        else:
            high = middle
    return np.clip(values - high, 0.0, 1.0)


class _Cuts:
    """Triangle inequalities and their weights in N."""

    def __init__(self, r: NDArray[np.float64], pace: float) -> None:
        self.inverse = 1 / r
        self.cuts = np.empty((0, 3), np.int64)
        self.weights = np.empty(0)
        self.pace = pace  # rate at which weights rise with violations

    def find(self, Y: NDArray[np.float64]) -> None:
        """Add the cuts that Y violates most, for each row; drop cuts without weight."""
        Z = self._rescaled(Y)
        shape = len(Z), CUTS_A_ROW
        violations, seconds, thirds = (
            np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        )  # fmt: skip
        run_in_chunks(
            lambda start, stop: triangle_cuts.find_cuts(
                Z, LEAST_VIOLATION, start, stop, violations, seconds, thirds
            ),
            len(Z),
            smallest_chunk=ROWS_A_THREAD,
        )
        rows, places = np.nonzero(violations)
        new = np.column_stack([rows, seconds[rows, places], thirds[rows, places]])
        old = self.weights > 0
        self.cuts, first = np.unique(
            np.concatenate([self.cuts[old], new]), axis=0, return_index=True
        )
        weights = np.concatenate([self.weights[old], np.zeros(len(new))])
        self.weights = weights[first]  # a cut that was there keeps its weight

    def weigh(self, Y: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Raise weights of violated cuts, lower the others; return their part of N."""
        violations, norms = np.empty(len(self.cuts)), np.empty(len(self.cuts))
        Z = self._rescaled(Y)
        triangle_cuts.measure_cuts(Z, self.inverse, self.cuts, violations, norms)
        self.weights = np.maximum(self.weights + self.pace * step * violations, 0.0)
        matrix = np.empty_like(Z)
        triangle_cuts.add_up_cuts(self.inverse, self.cuts, self.weights / norms, matrix)
        return matrix

    def _rescaled(self, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Z_ij = Y_ij / (r_i r_j)."""
        rescaled: NDArray[np.float64] = Y * self.inverse[:, None] * self.inverse
        return rescaled


def scaled_rows(
    rows: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return r_i x_i for centered x_i, made orthogonal to r against rounding."""
    r = np.sqrt(weights)
    scaled: NDArray[np.float64] = r[:, None] * (rows - weights @ rows)
    scaled -= np.outer(r, r @ scaled) / weights.sum()
    return scaled


def rounding_unit(rows: NDArray[np.float64]) -> float:
    """Return a squared distance that rounding alone can produce."""
    return float((8 * np.finfo(float).eps * np.abs(rows).max()) ** 2 * rows.shape[1])
