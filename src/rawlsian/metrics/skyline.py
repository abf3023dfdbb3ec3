"""Skyline: the points that no other point beats."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def skyline(points: ArrayLike) -> NDArray[np.bool_]:
    """Find the points that no other point beats for every group at once.

    Point q is beaten by s if s is strictly higher in every column, as in the paper's
    definition; points that tie with a better one in one column stay.

    Parameters
    ----------
    points : array-like of shape (n_points, n_groups)
        Group utilities, one row per point.

    Returns
    -------
    ndarray of shape (n_points,)
        True for the points of the skyline.

    Examples
    --------
    >>> from rawlsian import skyline
    >>> skyline([[1, 3], [2, 2], [1, 1], [3, 0]])
    array([ True,  True, False,  True])
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or np.isnan(points).any():
        raise ValueError(
            "points must be a table of numbers without NaN, one row per point and one "
            f"column per group; found shape {points.shape}."
        )
    is_on_skyline = np.ones(len(points), dtype=np.bool_)
    # A point can be beaten only by one with a higher sum: from the highest sum down,
    # each point of the skyline removes the points that it beats.
    for j in np.argsort(-points.sum(axis=1), kind="stable"):
        if is_on_skyline[j]:
            is_on_skyline &= ~(points < points[j]).all(axis=1)
    return is_on_skyline
