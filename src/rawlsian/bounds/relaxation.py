"""Semidefinite relaxation of weighted k-means, solved by alternating projections."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh, svd

from rawlsian.bounds import kernels
from rawlsian.bounds.cuts import MOST_OTHERS, Cuts
from rawlsian.bounds.leading import LeadingPairs, off_vector

# Alternating projections: step relative to the total variance, over-relaxation factor,
# and iterations between evaluations of the bound.
STEP, OVERSHOOT, EVALUATE_EVERY = 0.2, 1.8, 20

# First iteration that adds cuts, evaluations that may fail to raise the bound before
# the solver gives up, and factors of the pace of the weights of cuts.
FIRST_CUTS, PATIENCE = 10, 6
SLOWER, FASTER = 0.5, 1.1

# Vectors to start with, beyond the rank.
SPARE_VECTORS = 24

# Margin for rounding in eigenvalues, relative to the size of the matrix. LAPACK's
# errors are below 10 n eps, which is less for any matrix that fits into memory; the
# margin is twice that of check_certificate, which computes the same sums otherwise.
ROUNDING = 2e-9

NO_PAIRS = np.empty((0, 2), np.int64)


class Multiplier(NamedTuple):
    """Multiplier N in compact form, relative to the total variance.

    ``entries`` holds the upper triangle, row by row, of a matrix that is not negative.
    ``cuts``, of shape (n_cuts, 4), and ``weights`` add w C for each inequality (i, T):
    row i, then the two or three rows of T, then -1 if they are two. C has 1 / r_i^2 at
    (i, i), and at both places of a pair half of -1 / (r_i r_t) for t in T, or half of
    1 / (r_s r_t) for s and t in T.
    """

    entries: NDArray[np.float32]
    cuts: NDArray[np.int32]
    weights: NDArray[np.float32]


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

    If no rows were merged, triangle inequalities and others of their kind are added
    (see ``kernels``): N may include any sum of matrices C with <C, Y> >= 0 for every
    clustering. (Merged rows may be in several clusters, and then the inequalities do
    not hold. Equal rows may be merged: some optimal clustering keeps them together.)

    For clusterings that keep certain pairs of rows apart, Y is 0 at these pairs, and N
    may have any entry there.

    The parameters are the rows, of shape (n_rows, n_features); their weights, which sum
    to 1; k; the scatter within merged rows, of shape (n_features, n_features), if any
    were merged; and the pairs kept apart, of shape (n_pairs, 2).
    """

    def __init__(
        self,
        rows: NDArray[np.float64],
        weights: NDArray[np.float64],
        n_clusters: int,
        within: NDArray[np.float64] | None = None,
        apart: NDArray[np.int64] = NO_PAIRS,
    ) -> None:
        self.r, self.scaled = np.sqrt(weights), scaled_rows(rows, weights)
        self.unit, self.apart = rounding_unit(rows), apart
        self.n_rows, self.rank = len(rows), min(n_clusters, len(rows)) - 1
        if within is not None:
            scatter, axes = eigh(within)
            spread = np.sqrt(np.maximum(scatter, 0.0))[:, None] * axes.T
            self.scaled = np.concatenate([self.scaled, spread])
            self.r = np.concatenate([self.r, np.zeros(len(spread))])
            self.rank = n_clusters - 1
        self.K = self.scaled @ self.scaled.T
        self.total = float((self.scaled**2).sum())
        self.multiplier = self._no_multiplier()
        self.projection = np.zeros((0, 0))  # of the last iterate, without r r^T
        self._upper = np.triu_indices(self.n_rows)

    def iterate(
        self,
        max_iter: int,
        tol: float,
        ends: float = np.inf,
        target: float = np.inf,
        share: float = 0.0,
    ) -> Iterator[tuple[int, float]]:
        """Yield the number of iterations and the best bound, every EVALUATE_EVERY.

        Ends after max_iter iterations, at the time ``ends``, when the bound reaches
        ``target``, or when PATIENCE evaluations in a row raise it by less than tol,
        relative to itself, or by less than ``share`` of what is missing to the target.
        A share needs a finite target. ``multiplier`` is that of the best bound.
        """
        best, n_failures = self.spectral_bound(), 0
        if self.rank == 0 or self.rank + 1 >= len(self.r) or self.total == 0:
            yield 0, best
            return
        for n_iter, found, cuts in self._iterates(max_iter, ends):
            bound, before = self.bound(found), best
            if bound > best:
                best, self.multiplier = bound, found
            yield n_iter, best
            if cuts is not None:
                # If the bound falls, the weights overshot and oscillate.
                cuts.pace *= SLOWER if bound < before else FASTER
            missing = target - before if share > 0 else 0.0
            least = max(tol * best, share * missing)
            n_failures = n_failures + 1 if best - before < least else 0
            if best >= target or n_failures == PATIENCE:
                return

    def _iterates(
        self, max_iter: int, ends: float
    ) -> Iterator[tuple[int, Multiplier, Cuts | None]]:
        """Yield the number of iterations and the multiplier, every EVALUATE_EVERY."""
        step = STEP * self.total
        S = np.outer(self.r, self.r)
        M = S + self.K / step
        pairs = LeadingPairs(self.r, self._first_vectors(), self.rank)
        is_merged = len(self.r) > self.n_rows
        cuts = None if is_merged else Cuts(self.r, self.rank + 1)
        for n_iter in range(1, max_iter + 1):
            self.projection = pairs.project(M)
            kernels.advance(
                self.projection, self.r, self.K, step, OVERSHOOT, self.n_rows,
                self.apart, S, M,
            )  # fmt: skip
            if cuts is not None and n_iter >= FIRST_CUTS:
                if (n_iter - FIRST_CUTS) % EVALUATE_EVERY == 0:
                    cuts.find(self.projection)
                cuts.weigh(self.projection, step)
                kernels.add_cuts(cuts.inverse, cuts.indices, cuts.weights / step, M)
            is_late = time.perf_counter() > ends
            if n_iter % EVALUATE_EVERY == 0 or n_iter == max_iter or is_late:
                yield n_iter, self._compact(S, step, cuts), cuts
                if is_late:
                    return

    def spectral_bound(self) -> float:
        """Return the bound of N = 0, the variance outside the principal components."""
        variances = eigvalsh(self.scaled.T @ self.scaled)[::-1]
        left = self.total - float(np.maximum(variances[: self.rank], 0.0).sum())
        return max(left - ROUNDING * self.total - self.unit, 0.0)

    def bound(self, multiplier: Multiplier) -> float:
        """Return the bound of a valid multiplier, less a margin for rounding.

        It is below 0 if the multiplier overshot.
        """
        N = self._dense(multiplier)
        size = self.total + float(np.abs(N).sum(axis=1).max())
        both = np.add(self.K, N, out=N)
        left = self.total - float(self.r @ both @ self.r)
        if self.rank > 0:
            n = len(self.r)
            first = max(n - self.rank, 0)
            largest = eigvalsh(
                off_vector(both, self.r), subset_by_index=[first, n - 1],
                overwrite_a=True, check_finite=False,
            )  # fmt: skip
            left -= float(np.maximum(largest, 0.0).sum())
        return left - ROUNDING * size - self.unit

    def _first_vectors(self) -> NDArray[np.float64]:
        """Return the largest principal components, and random vectors if too few."""
        n = len(self.r)
        n_vectors = min(self.rank + SPARE_VECTORS, n - 1)
        components = svd(self.scaled, full_matrices=False, check_finite=False)[0]
        n_more = max(n_vectors - components.shape[1], 0)
        random = np.random.default_rng(0).normal(size=(n, n_more))
        vectors = np.concatenate([components[:, :n_vectors], random], axis=1)
        return vectors

    def _no_multiplier(self) -> Multiplier:
        """Return N = 0, which gives the spectral bound."""
        entries = np.zeros(self.n_rows * (self.n_rows + 1) // 2, np.float32)
        cuts = np.empty((0, 1 + MOST_OTHERS), np.int32)
        return Multiplier(entries, cuts, np.empty(0, np.float32))

    def _compact(
        self, S: NDArray[np.float64], step: float, cuts: Cuts | None
    ) -> Multiplier:
        """Return the multiplier that S and the cuts stand for."""
        negative = np.minimum(S[: self.n_rows, : self.n_rows], 0.0)
        for i, j in self.apart:
            negative[i, j] = negative[j, i] = S[i, j]
        entries = (negative[self._upper] * (-step / self.total)).astype(np.float32)
        if cuts is None:
            return self._no_multiplier()._replace(entries=entries)
        used = cuts.weights > 0
        weights = (cuts.weights[used] / self.total).astype(np.float32)
        return Multiplier(entries, cuts.indices[used], weights)

    def _dense(self, multiplier: Multiplier) -> NDArray[np.float64]:
        """Return N."""
        N = np.zeros_like(self.K)
        N[self._upper] = multiplier.entries
        N[self._upper[::-1]] = multiplier.entries
        if len(multiplier.cuts):
            weights = multiplier.weights.astype(np.float64)
            kernels.add_cuts(1 / self.r, multiplier.cuts, weights, N)
        N *= self.total
        return N


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
