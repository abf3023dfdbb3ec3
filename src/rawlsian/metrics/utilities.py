"""Utilities of groups, and comparisons of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import MaxDistance, Problem, Utility
from rawlsian._rows.opening import refuse_blocks

USE_AUDIT = "use audit, which reports the utilities of all groups"


def group_utilities(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    *,
    utility: Utility = "assigned",
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
) -> NDArray[np.float64]:
    """Return the mean utility of each group, in the sorted order of the groups.

    U(g) is the mean over the members of g of ``max_distance`` less the squared
    distance to the mean of the cluster that they are assigned to, or to the nearest
    mean.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The examples, as numbers.
    labels : array-like of shape (n_samples,)
        The cluster of each example: integers from 0 to k - 1, each in use.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        The group of each example; several columns mean their intersections.
    utility : {"assigned", "nearest"}, default="assigned"
        "assigned": the mean of an example's own cluster counts. "nearest": labels give
        the means, and every person counts by the nearest mean.
    sample_weight : array-like of shape (n_samples,), default=None
        A row of weight w counts as w people.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit; "auto" is the squared diagonal of the bounding
        box of X.

    Returns
    -------
    ndarray of shape (n_groups,)
        Higher is better.

    Examples
    --------
    >>> from rawlsian import group_utilities
    >>> X = [[0.0], [2.0], [4.0], [4.0]]
    >>> group_utilities(X, [0, 0, 1, 1], ["a", "a", "b", "b"], max_distance=16)
    array([15., 16.])
    """
    refuse_blocks(X, "group_utilities", USE_AUDIT)
    return _assignment(
        X, labels, sensitive_features, utility, sample_weight, max_distance
    ).utilities


def least_advantaged(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    *,
    utility: Utility = "assigned",
    sample_weight: ArrayLike | None = None,
) -> Hashable:
    """Return the name of the group with the lowest utility; ties go to the first name.

    Parameters are those of ``group_utilities``.

    Examples
    --------
    >>> from rawlsian import least_advantaged
    >>> least_advantaged([[0], [2], [4], [4]], [0, 0, 1, 1], ["a", "a", "b", "b"])
    'a'
    """
    refuse_blocks(X, "least_advantaged", USE_AUDIT)
    assignment = _assignment(
        X, labels, sensitive_features, utility, sample_weight, "auto"
    )
    return name_of(assignment.problem.group_names, assignment.utilities)


def utility_gap(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    *,
    utility: Utility = "assigned",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the highest less the lowest group utility.

    It is 0 if all groups are served alike, and does not depend on ``max_distance``.
    Parameters are those of ``group_utilities``.

    Examples
    --------
    >>> from rawlsian import utility_gap
    >>> utility_gap([[0], [2], [4], [4]], [0, 0, 1, 1], ["a", "a", "b", "b"])
    1.0
    """
    refuse_blocks(X, "utility_gap", USE_AUDIT)
    utilities = group_utilities(
        X, labels, sensitive_features, utility=utility, sample_weight=sample_weight,
        max_distance=0.0,
    )  # fmt: skip
    return float(np.ptp(utilities))


def utility_ratio(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    *,
    utility: Utility = "assigned",
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
) -> float:
    """Return the lowest group utility divided by the highest; 1 if all are equal.

    The ratio depends on ``max_distance``, which is a convention: a large one brings any
    clustering close to 1. So it is no test that a clustering passes or fails; to
    compare groups, use ``audit``.

    Parameters are those of ``group_utilities``.

    Examples
    --------
    >>> from rawlsian import utility_ratio
    >>> X = [[0], [2], [4], [4]]
    >>> utility_ratio(X, [0, 0, 1, 1], ["a", "a", "b", "b"], max_distance=4)
    0.75
    """
    refuse_blocks(X, "utility_ratio", USE_AUDIT)
    utilities = group_utilities(
        X,
        labels,
        sensitive_features,
        utility=utility,
        sample_weight=sample_weight,
        max_distance=max_distance,
    )
    if utilities.min() < 0:
        raise ValueError(
            "utility_ratio needs utilities that are not negative, found "
            f"{utilities.min():.6g}; give a larger max_distance."
        )
    if utilities.max() == utilities.min():
        return 1.0
    return float(utilities.min() / utilities.max())


def _assignment(
    X: ArrayLike,
    labels: ArrayLike,
    sensitive_features: Any,
    utility: Utility,
    sample_weight: ArrayLike | None,
    max_distance: MaxDistance,
) -> Assignment:
    """Check the arguments and return their assignment."""
    problem = Problem.from_arrays(
        X, sensitive_features, sample_weight=sample_weight, max_distance=max_distance,
        utility=utility,
    )  # fmt: skip
    return Assignment(problem, labels)


def name_of(group_names: NDArray[Any], utilities: NDArray[np.float64]) -> Hashable:
    """Return the name of the group with the lowest utility, as a Python value."""
    name: Hashable = group_names.tolist()[int(np.argmin(utilities))]
    return name
