"""Checks of a user's examples, weights, labels and max_distance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array

from rawlsian._core.sparse import Matrix, as_matrix
from rawlsian._rows.groups import frame_columns, refuse_mask
from rawlsian._support.callers import warn_caller

# Removing a row this much heavier than the rest of a cluster cancels 8 of 16 digits.
LARGEST_WEIGHT_RATIO = 1e8


# Types in which rows are kept. Kernels read a float32 as a float64, so the results are
# those of X.astype(np.float64). Other numbers become float64.
ROW_TYPES = (np.float64, np.float32)


def check_examples(X: Any) -> Matrix:
    """Return X as a finite matrix of two or more rows of ROW_TYPES; may be a copy."""
    with clear_errors_of_x(X):
        checked = check_array(
            X, accept_sparse="csr", dtype=ROW_TYPES, order="C", input_name="X",
            ensure_min_samples=2,
        )  # fmt: skip
    return as_matrix(checked)


@contextmanager
def clear_errors_of_x(X: Any) -> Iterator[None]:
    """Raise ValueError if X holds text; make scikit-learn's errors one sentence."""
    refuse_text(X, "X")
    try:
        yield
    except (TypeError, ValueError) as error:
        reason = str(error).split("\n")[0].rstrip(".:")
        if "is expecting" in reason:  # another number of columns than in fit
            raise
        advice = " Fill or drop missing values." if "NaN" in reason else ""
        if "Expected 2D" in reason:
            advice = " Reshape your data to have one row per example."
        raise type(error)(
            f"X must be a matrix of finite numbers, one row per example: "
            f"{reason}.{advice}"
        ) from error


def refuse_text(values: Any, argument: str) -> None:
    """Raise ValueError if values hold text, even "12", or are masked."""
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
    """Return the columns of a frame, or anything else as one array."""
    if hasattr(values, "columns"):
        return frame_columns(values)
    return [] if issparse(values) else [np.asarray(values)]


def check_weights(
    sample_weight: ArrayLike | None, n_samples: int
) -> NDArray[np.float64]:
    """Return weights as float64, one per row: finite, none negative, not all zero."""
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
    check_weight_values(weights)
    lightest = np.min(weights, where=weights > 0, initial=np.inf)
    check_weight_range(float(lightest), float(weights.max()))
    return weights


def check_weight_values(weights: NDArray[np.float64]) -> None:
    """Raise ValueError if a weight is NaN, infinite or negative."""
    if not np.isfinite(weights).all():
        raise ValueError(
            f"sample_weight has {(~np.isfinite(weights)).sum()} value(s) that are NaN "
            "or infinite; give each row a finite weight."
        )
    if (weights < 0).any():
        raise ValueError(
            "sample_weight must not be negative; found values from "
            f"{weights.min()} to {weights.max()}."
        )


def check_weight_range(lightest: float, heaviest: float) -> None:
    """Raise ValueError if all weights are 0, or differ by more than rounding allows."""
    if heaviest == 0:
        raise ValueError("sample_weight must not be all zero; give some row weight.")
    if heaviest > LARGEST_WEIGHT_RATIO * lightest:
        raise ValueError(
            f"sample_weight spans from {lightest:g} to {heaviest:g}, a factor above "
            f"{LARGEST_WEIGHT_RATIO:g}, at which rounding hides the lightest rows; "
            "give them more weight, or 0 to leave them out."
        )


def check_group_sizes(
    group_names: NDArray[Any], group_sizes: NDArray[np.float64]
) -> None:
    """Raise ValueError if a group has no weight."""
    if not (group_sizes > 0).all():
        name = group_names.tolist()[int(np.argmin(group_sizes))]
        raise ValueError(
            f"sample_weight gives group {name!r} a total weight of 0, so its mean "
            "utility is undefined; drop its rows or give them weight."
        )


def check_labels(labels: ArrayLike, weights: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return labels as int32 from 0 to k - 1, one per row, each cluster with weight."""
    labels, n_samples = np.asarray(labels), len(weights)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"labels has shape {labels.shape}, but X has {n_samples} rows; "
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
    if n_clusters > n_samples or not np.bincount(labels).all():
        raise gap_in_labels(n_clusters - 1, len(np.unique(labels)))
    mass = np.bincount(labels, weights)
    if not mass.all():
        raise ValueError(
            f"sample_weight gives cluster {int(np.argmin(mass))} a total weight of 0, "
            "so its mean is undefined; drop its rows or give them weight."
        )
    return labels.astype(np.int32)


def gap_in_labels(highest: int, n_found: int, where: str = "") -> ValueError:
    """Return the error for labels that skip the number of a cluster."""
    return ValueError(
        f"labels has a gap: its highest value is {highest}, but only {n_found} "
        f"different values occur{where}; number the clusters 0 to {n_found - 1} "
        "(np.unique(labels, return_inverse=True)[1] does)."
    )


def check_max_distance(
    max_distance: object, lowest: NDArray[np.float64], highest: NDArray[np.float64]
) -> float:
    """Return delta as a number; "auto" is the squared diagonal of the bounding box."""
    if isinstance(max_distance, str) and max_distance == "auto":
        with np.errstate(over="ignore"):  # the caller raises for an overflow
            return float(((highest - lowest) ** 2).sum())
    if isinstance(max_distance, Real) and 0 <= float(max_distance) < np.inf:
        return float(max_distance)
    raise ValueError(
        f"max_distance must be 'auto' or a number that is not negative, got "
        f"{max_distance!r}; with UnitDistanceEncoder pass its max_distance_."
    )


def refuse_overflow(squared: float) -> None:
    """Raise ValueError if squared distances overflow."""
    if not np.isfinite(squared):
        raise ValueError(
            "X holds values so large that their squares overflow; rescale it."
        )


def warn_of_y(y: object, sensitive_features: object) -> None:
    """Warn if groups seem to have been given as y, which is ignored."""
    if y is not None and sensitive_features is None:
        warn_caller(
            "y is ignored, and without sensitive_features everyone is one group; give "
            "groups as fit(X, sensitive_features=groups).",
            UserWarning,
        )


def check_utility(utility: object) -> None:
    """Raise ValueError unless utility is "assigned" or "nearest"."""
    if not isinstance(utility, str) or utility not in ("assigned", "nearest"):
        raise ValueError(
            "utility must be 'assigned' (the mean of a person's own cluster counts) or "
            f"'nearest' (the nearest mean counts), got {utility!r}."
        )
