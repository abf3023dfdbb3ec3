"""Largest eigenvalues off a vector, and projections to a trace, from a warm start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

# Vectors beyond those in use, and the share of all rows above which the whole
# decomposition is cheaper than a block of vectors.
SPARE, LARGEST_SHARE = 12, 0.15


class LeadingPairs:
    """Projections of matrices that change slowly, from their largest eigenvalues.

    ``project`` returns the projection of P M P, P = I - r r^T, onto the symmetric
    matrices with eigenvalues in [0, 1] that sum to ``rank``. It needs only the
    eigenvalues that stay above 0, usually a few more than ``rank``. Their vectors are
    approximated by one step of a block Krylov method that starts from the last ones. So
    the projection is not exact, and no proof may depend on it.

    ``start``, of shape (n_rows, n_vectors), holds first vectors, not orthogonal to r.
    """

    def __init__(
        self, r: NDArray[np.float64], start: NDArray[np.float64], rank: int
    ) -> None:
        self.r, self.rank = r, rank
        vectors = start - np.outer(r, r @ start)
        self.vectors: NDArray[np.float64] = _orthonormal(vectors)

    def project(self, M: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the projection, approximately."""
        n, n_vectors = self.vectors.shape
        if n_vectors > LARGEST_SHARE * n:
            values, basis = self._whole(M)
        else:
            values, basis = self._warm(M)
        clipped = clip_to_sum(values, self.rank)
        n_kept = int((clipped > 0).sum())
        n_next = min(max(n_kept + SPARE, min(n_vectors, n_kept + 2 * SPARE)), n - 1)
        self.vectors = basis[:, :n_next]
        kept = basis[:, :n_kept]
        projected: NDArray[np.float64] = (kept * clipped[:n_kept]) @ kept.T
        return projected

    def _warm(
        self, M: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Ritz values, falling, and vectors in the span of V and P M V."""
        V = self.vectors
        image = self._off(M @ V)
        rest = image - V @ (V.T @ image)
        for _ in range(2):  # a second time against rounding
            rest -= V @ (V.T @ rest)
            rest = _orthonormal(self._off(rest))
        basis = np.concatenate([V, rest], axis=1)
        images = np.concatenate([image, self._off(M @ rest)], axis=1)
        small = basis.T @ images
        values, vectors = eigh(0.5 * (small + small.T), check_finite=False)
        return values[::-1], basis @ vectors[:, ::-1]

    def _whole(
        self, M: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return all eigenvalues of P M P but that of r, falling, and their vectors."""
        low = 1.0 + float(np.abs(M).sum(axis=1).max())  # puts r below all others
        off = off_vector(M, self.r) - 2 * low * np.outer(self.r, self.r)
        values, vectors = eigh(off, check_finite=False, driver="evd")
        return values[:0:-1], vectors[:, :0:-1]

    def _off(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Remove from each column its part along r, in place."""
        vectors -= np.outer(self.r, self.r @ vectors)
        return vectors


def off_vector(M: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P M P with P = I - r r^T."""
    Mr = M @ r
    half = np.outer(r, Mr - 0.5 * (r @ Mr) * r)
    off: NDArray[np.float64] = M - half - half.T
    return off


def clip_to_sum(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return values less a constant, clipped to [0, 1], that sum to total.

    The sum falls linearly between those constants at which a value reaches 0 or 1.
    """
    ends = np.concatenate([values, values - 1.0])
    order = np.argsort(-ends, kind="stable")
    ends = ends[order]
    n_between = np.cumsum(np.where(order < len(values), 1.0, -1.0))
    sums = np.append(0.0, np.cumsum(n_between[:-1] * -np.diff(ends)))
    after = int(np.searchsorted(sums, total))  # the first sum that is no smaller
    if after == len(sums):
        return np.ones_like(values)
    less = (sums[after] - total) / n_between[after - 1] if after else 0.0
    clipped: NDArray[np.float64] = np.clip(values - (ends[after] + less), 0.0, 1.0)
    return clipped


def _orthonormal(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an orthonormal basis of the columns."""
    basis: NDArray[np.float64] = qr(vectors, mode="economic", check_finite=False)[0]
    return basis
