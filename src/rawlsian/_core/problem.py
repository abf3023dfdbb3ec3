"""Problem: examples, groups, weights and the scale of utility, checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core import cluster_sums
from rawlsian._core.checks import (
    check_examples,
    check_group_sizes,
    check_max_distance,
    check_utility,
    check_weights,
    refuse_overflow,
)
from rawlsian._core.pooling import NO_POOLING, Pooling
from rawlsian._core.sparse import ColumnFigures, Matrix, SparseRows
from rawlsian._rows.groups import encode_groups
from rawlsian._support.threads import run_in_chunks

MaxDistance = float | Literal["auto"]
Utility = Literal["assigned", "nearest"]

# A utility has risen when it rose by more than this times the total variance of X. On
# the paper's scale that variance is about one.
RELATIVE_TOLERANCE = 1e-12


ROWS_A_THREAD = 16_384

# If X has up to this many numbers (half a megabyte), a transposed copy of it is kept.
LARGEST_TRANSPOSED = 2**16


@dataclass(frozen=True, eq=False)
class Problem:
    """Examples, their groups and weights, and the scale of utility. Immutable.

    Attributes
    ----------
    X : ndarray or SparseRows of shape (n_samples, n_features)
        The examples; the caller's own array if it is C-ordered, and of float64 or
        float32.
    groups : ndarray of shape (n_samples,)
        The group of each example, a position in ``group_names``.
    group_names : ndarray of shape (n_groups,)
        The groups, sorted.
    weights : ndarray of shape (n_samples,)
        How many people each example stands for.
    group_sizes : ndarray of shape (n_groups,)
        Sum of the weights of each group; with pooling, of all who count in it.
    shares : ndarray of shape (n_groups,)
        ``group_sizes`` as shares of the whole.
    people : ndarray of shape (n_groups,)
        Sum of the weights of each group, whatever the pooling.
    max_distance : float
        The paper's delta: utility is ``max_distance`` less the squared distance.
    shift : ndarray of shape (n_features,)
        Rows are read as ``X[i] - shift``, which keeps rounding small for data far
        from the origin without a copy of X.
    norms : ndarray of shape (n_samples,)
        Squared norms of the shifted rows.
    columns : ndarray of shape (n_features, n_samples) or (0, 0)
        The shifted rows transposed, which makes moves faster; empty for large X.
    variance : float
        Total variance: the mean squared distance to the mean of all examples.
    tolerance : float
        A utility has risen or fallen when it changes by more than this.
    utility : {"assigned", "nearest"}
        The mean that serves an example: that of its cluster, or the nearest.
    pooling : Pooling
        How much each person counts in their own group, and in every group.
    """

    X: Any  # a Matrix; tables and walks know that theirs is an array
    groups: NDArray[np.int32]
    group_names: NDArray[Any]
    weights: NDArray[np.float64]
    group_sizes: NDArray[np.float64]
    shares: NDArray[np.float64]
    people: NDArray[np.float64]
    max_distance: float
    shift: NDArray[np.float64]
    norms: NDArray[np.float64]
    columns: NDArray[np.float64]
    variance: float
    tolerance: float
    utility: Utility = "assigned"
    pooling: Pooling = NO_POOLING

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        sensitive_features: Any,
        *,
        sample_weight: ArrayLike | None = None,
        max_distance: MaxDistance = "auto",
        utility: Utility = "assigned",
    ) -> Problem:
        """Check the arguments and return their problem."""
        check_utility(utility)
        X = check_examples(X)
        group_names, groups = encode_groups(sensitive_features, len(X))
        weights = check_weights(sample_weight, len(X))
        return cls.of_checked(X, group_names, groups, weights, max_distance, utility)

    def as_one_group(
        self,
        weights: NDArray[np.float64] | None = None,
        rows: NDArray[np.bool_] | None = None,
    ) -> Problem:
        """Return the problem with one group.

        It may have other weights or fewer rows. Weights must come from
        ``check_weights``; nothing is checked again.
        """
        weights = self.weights if weights is None else weights
        X = self.X
        if rows is not None:
            X, weights = X[rows], weights[rows]
        names, groups = encode_groups(None, len(X))
        return self.of_checked(X, names, groups, weights, self.max_distance)

    @classmethod
    def of_checked(
        cls,
        X: Matrix,
        group_names: NDArray[Any],
        groups: NDArray[np.int32],
        weights: NDArray[np.float64],
        max_distance: MaxDistance,
        utility: Utility = "assigned",
    ) -> Problem:
        """Return the problem of checked arrays; only group sizes are checked here."""
        group_sizes = np.bincount(groups, weights).astype(np.float64)
        check_group_sizes(group_names, group_sizes)
        mean, variance, lowest, highest = _figures(X, weights)
        delta = check_max_distance(max_distance, lowest, highest)
        refuse_overflow(float(variance.sum()) + delta)
        # Columns near the origin are not shifted: their zeros save work.
        shift = np.where(mean**2 > 4 * variance, mean, 0.0)
        return cls(
            X=X,
            groups=groups,
            group_names=group_names,
            weights=weights,
            group_sizes=group_sizes,
            shares=group_sizes / group_sizes.sum(),
            people=group_sizes,
            max_distance=delta,
            shift=shift,
            norms=_norms(X, shift),
            columns=_transposed(X, shift),
            variance=float(variance.sum()),
            tolerance=RELATIVE_TOLERANCE * float(variance.sum()),
            utility=utility,
        )

    def pooled(self, strength: float) -> Problem:
        """Return the problem with pooling of this strength; 0 takes pooling away."""
        pooling = Pooling.of(strength, self.people)
        group_sizes = pooling.mix(self.people)
        return replace(
            self, pooling=pooling, group_sizes=group_sizes,
            shares=group_sizes / group_sizes.sum(),
        )  # fmt: skip

    def pooled_means(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pooled means of the groups' own means."""
        return self.pooling.means(means, self.people)

    def pull(self, group_weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much a person of each group weighs if the groups weigh this."""
        return self.pooling.mix(group_weights / self.group_sizes)

    def dense(self, what: str) -> Problem:
        """Return the problem with dense rows of float64, which ``what`` needs.

        Raises ValueError if X is sparse, and too large for that.
        """
        if not isinstance(self.X, SparseRows):
            if self.X.dtype == np.float64:
                return self
            return replace(self, X=self.X.astype(np.float64))
        return self.of_checked(
            self.X.dense(what), self.group_names, self.groups, self.weights,
            self.max_distance, self.utility,
        ).pooled(self.pooling.strength)  # fmt: skip

    def shifted_rows(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return dense rows less ``shift``, of shape (*rows.shape, n_features)."""
        if not isinstance(self.X, SparseRows):
            shifted: NDArray[np.float64] = self.X[rows] - self.shift
            return shifted
        taken = self.X[np.ravel(rows)].csr.toarray()
        taken -= self.shift
        return np.reshape(taken, (*np.shape(rows), self.X.n_features))

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return len(self.X)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_names)


def _figures(X: Matrix, weights: NDArray[np.float64]) -> ColumnFigures:
    """Return mean, variance, lowest and highest value of each column."""
    if isinstance(X, SparseRows):
        return X.figures(weights)
    mean, variance = cluster_sums.column_moments(X, weights)
    lowest, highest = (
        limit.astype(np.float64) for limit in (X.min(axis=0), X.max(axis=0))
    )
    return ColumnFigures(mean, variance, lowest, highest)


def _norms(X: Matrix, shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared norms of the shifted rows."""
    if isinstance(X, SparseRows):
        return X.minus(shift).norms()
    norms = np.empty(len(X))
    run_in_chunks(
        lambda start, stop: cluster_sums.squared_norms(X, shift, norms, start, stop),
        len(X),
        smallest_chunk=ROWS_A_THREAD,
    )
    return norms


def _transposed(X: Matrix, shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shifted rows transposed, or an empty array if X is large or sparse."""
    if isinstance(X, SparseRows) or X.size > LARGEST_TRANSPOSED:
        return np.empty((0, 0))
    return np.ascontiguousarray((X - shift).T)
