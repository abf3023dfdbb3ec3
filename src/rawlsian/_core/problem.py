"""The data of one problem, checked once: what comes after can trust it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array

from rawlsian._core import cluster_sums
from rawlsian._rows.groups import encode_groups, frame_columns, refuse_mask
from rawlsian._rows.opening import as_blocks
from rawlsian._support.threads import run_in_chunks

MaxDistance = float | Literal["auto"]

# A utility has risen when it rose by more than this times the total variance of X. On
# the paper's scale that variance is about one.
RELATIVE_TOLERANCE = 1e-12

# Taking a heavy row from a cluster of light ones cancels this many digits.
LARGEST_WEIGHT_RATIO = 1e8

ROWS_A_THREAD = 16_384

# Up to this many numbers (half a megabyte) a transposed copy of X is kept beside it.
LARGEST_TRANSPOSED = 2**16


@dataclass(frozen=True, eq=False)
class Problem:
    """Examples, their groups and weights, and the scale of utility. Immutable.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The examples; the caller's own array where it is float64 and C-ordered.
    groups : ndarray of shape (n_samples,)
        The group of each example, a position in ``group_names``.
    group_names : ndarray of shape (n_groups,)
        The groups, sorted.
    weights : ndarray of shape (n_samples,)
        How many people each example stands for.
    group_sizes : ndarray of shape (n_groups,)
        Sum of the weights of each group.
    shares : ndarray of shape (n_groups,)
        ``group_sizes`` as shares of the whole.
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
    """

    X: NDArray[np.float64]
    groups: NDArray[np.int32]
    group_names: NDArray[Any]
    weights: NDArray[np.float64]
    group_sizes: NDArray[np.float64]
    shares: NDArray[np.float64]
    max_distance: float
    shift: NDArray[np.float64]
    norms: NDArray[np.float64]
    columns: NDArray[np.float64]
    variance: float
    tolerance: float

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        sensitive_features: Any,
        *,
        sample_weight: ArrayLike | None = None,
        max_distance: MaxDistance = "auto",
    ) -> Problem:
        """Check everything that a caller gave and work out what follows from it."""
        X = check_examples(X)
        group_names, groups = encode_groups(sensitive_features, len(X))
        weights = check_weights(sample_weight, len(X))
        return cls.of_checked(X, group_names, groups, weights, max_distance)

    def as_one_group(
        self,
        weights: NDArray[np.float64] | None = None,
        rows: NDArray[np.bool_] | None = None,
    ) -> Problem:
        """Everyone in one group: with other weights, or only some rows.

        X is not checked again, nor are weights, which must be such as
        ``check_weights`` gives.
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
        X: NDArray[np.float64],
        group_names: NDArray[Any],
        groups: NDArray[np.int32],
        weights: NDArray[np.float64],
        max_distance: MaxDistance,
    ) -> Problem:
        """Work out what follows from arrays each of which was checked."""
        group_sizes = np.bincount(groups, weights).astype(np.float64)
        if not (group_sizes > 0).all():
            name = group_names.tolist()[int(np.argmin(group_sizes))]
            raise ValueError(
                f"sample_weight gives group {name!r} a total weight of 0, so that its "
                "mean utility is undefined; drop its rows or give them weight."
            )
        mean, variance = cluster_sums.column_moments(X, weights)
        delta = check_max_distance(max_distance, X.min(axis=0), X.max(axis=0))
        refuse_overflow(float(variance.sum()) + delta)
        # Columns near the origin stay as they are: their zeros save work.
        shift = np.where(mean**2 > 4 * variance, mean, 0.0)
        norms = np.empty(len(X))
        run_in_chunks(
            lambda start, stop: cluster_sums.squared_norms(
                X, shift, norms, start, stop
            ),
            len(X),
            smallest_chunk=ROWS_A_THREAD,
        )
        return cls(
            X=X,
            groups=groups,
            group_names=group_names,
            weights=weights,
            group_sizes=group_sizes,
            shares=group_sizes / group_sizes.sum(),
            max_distance=delta,
            shift=shift,
            norms=norms,
            columns=_transposed(X, shift),
            variance=float(variance.sum()),
            tolerance=RELATIVE_TOLERANCE * float(variance.sum()),
        )

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return len(self.X)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_names)


@contextmanager
def clear_errors_of_x(X: Any) -> Iterator[None]:
    """Refuse text in X, and turn what scikit-learn says of X into one sentence."""
    if as_blocks(X) is not None:
        raise ValueError(
            f"this takes rows in memory, but X ({type(X).__name__}) is not; give some "
            "of the rows as an array."
        )
    refuse_text(X, "X")
    try:
        yield
    except (TypeError, ValueError) as error:
        reason = str(error).split("\n")[0].rstrip(".:")
        if "is expecting" in reason:  # another number of columns than in fit
            raise
        advice = " Fill or drop missing values." if "NaN" in reason else ""
        if "Expected 2D" in reason:
            advice = " Reshape your data to have a row for each example."
        raise type(error)(
            f"X must be a dense matrix of finite numbers, a row an example: "
            f"{reason}.{advice}"
        ) from error


def warn_of_y(y: object, sensitive_features: object) -> None:
    """Warn where groups seem to have been given as y, which nothing looks at."""
    if y is not None and sensitive_features is None:
        warnings.warn(
            "y is ignored, and without sensitive_features everyone is one group; give "
            "groups as fit(X, sensitive_features=groups).",
            UserWarning,
            stacklevel=4,
        )


def check_examples(X: Any) -> NDArray[np.float64]:
    """X as a finite float64 matrix of at least two rows, copied only if it must be."""
    with clear_errors_of_x(X):
        checked: NDArray[np.float64] = check_array(
            X, dtype=np.float64, order="C", input_name="X", ensure_min_samples=2
        )
    return checked


def refuse_text(values: Any, argument: str) -> None:
    """Raise where NumPy would read text such as "12" as a number, or lose a mask."""
    refuse_mask(values, argument)
    kinds = {column.dtype.kind for column in _as_columns(values)}
    has_text = kinds & {"U", "S"} or any(
        isinstance(value, (str, bytes))
        for column in _as_columns(values)
        if column.dtype.kind == "O"
        for value in column.flat
    )
    if has_text:
        raise ValueError(
            f"{argument} must be numbers, but holds text; encode text and categories "
            "first (UnitDistanceEncoder does)."
        )


def _as_columns(values: Any) -> list[NDArray[Any]]:
    """A frame's columns, or anything else as one array."""
    if hasattr(values, "columns"):
        return frame_columns(values)
    return [] if issparse(values) else [np.asarray(values)]


def check_weights(
    sample_weight: ArrayLike | None, n_samples: int
) -> NDArray[np.float64]:
    """Weights as float64, one a row: finite, none negative, not all zero."""
    if sample_weight is None:
        return np.ones(n_samples)
    refuse_text(sample_weight, "sample_weight")
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must be numbers, one for each row of X: {error}."
        ) from error
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_samples,)}: give "
            "one weight for each row of X."
        )
    if not np.isfinite(weights).all():
        raise ValueError(
            f"sample_weight has {(~np.isfinite(weights)).sum()} value(s) that are NaN "
            "or infinite; give each row a finite weight."
        )
    if (weights < 0).any() or not weights.any():
        raise ValueError(
            "sample_weight must not be negative and not all zero; found values from "
            f"{weights.min()} to {weights.max()}."
        )
    lightest, heaviest = weights[weights > 0].min(), weights.max()
    if heaviest > LARGEST_WEIGHT_RATIO * lightest:
        raise ValueError(
            f"sample_weight spans from {lightest:g} to {heaviest:g}, more than the "
            f"factor of {LARGEST_WEIGHT_RATIO:g} that can be told from rounding; give "
            "the lightest rows more weight, or 0 to leave them out."
        )
    return weights


def check_labels(labels: ArrayLike, problem: Problem) -> NDArray[np.int32]:
    """Labels as int32 from 0 to k - 1, one a row, every cluster with some weight."""
    labels = np.asarray(labels)
    if labels.shape != (problem.n_samples,):
        raise ValueError(
            f"labels has shape {labels.shape}, but X has {problem.n_samples} rows; "
            "give one cluster label for each row."
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be integers from 0 to k - 1, found {labels.dtype}; "
            "np.unique(labels, return_inverse=True)[1] turns any labels into such."
        )
    if labels.min() < 0:
        raise ValueError(
            f"labels must be integers from 0 to k - 1, found {labels.min()} for "
            f"{(labels < 0).sum()} rows; rows that no cluster took (noise) must be "
            "given to one or dropped first."
        )
    n_clusters = int(labels.max()) + 1
    if n_clusters > problem.n_samples or not np.bincount(labels).all():
        n_found = len(np.unique(labels))
        raise ValueError(
            f"labels has a gap: its highest value is {n_clusters - 1}, but only "
            f"{n_found} different values occur; number the clusters 0 to "
            f"{n_found - 1} (np.unique(labels, return_inverse=True)[1] does)."
        )
    mass = np.bincount(labels, problem.weights)
    if not mass.all():
        raise ValueError(
            f"sample_weight gives cluster {int(np.argmin(mass))} a total weight of 0, "
            "so that its mean is undefined; drop its rows or give them weight."
        )
    return labels.astype(np.int32)


def refuse_overflow(squared: float) -> None:
    """Raise where squared distances are no numbers."""
    if not np.isfinite(squared):
        raise ValueError(
            "X holds values so large that their squares overflow; rescale it."
        )


def check_max_distance(
    max_distance: object, lowest: NDArray[np.float64], highest: NDArray[np.float64]
) -> float:
    """Delta as a number; "auto" is the squared diagonal of the bounding box."""
    if isinstance(max_distance, str) and max_distance == "auto":
        with np.errstate(over="ignore"):  # an overflow is told of by the caller
            return float(((highest - lowest) ** 2).sum())
    if isinstance(max_distance, Real) and 0 <= float(max_distance) < np.inf:
        return float(max_distance)
    raise ValueError(
        f"max_distance must be 'auto' or a number that is not negative, got "
        f"{max_distance!r}; with UnitDistanceEncoder pass its max_distance_."
    )


def _transposed(
    X: NDArray[np.float64], shift: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The shifted rows as columns, or nothing where that would take much memory."""
    if X.size > LARGEST_TRANSPOSED:
        return np.empty((0, 0))
    return np.ascontiguousarray((X - shift).T)
