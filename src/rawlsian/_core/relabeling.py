"""Renumber clusters to compare two clusterings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment


def renumbering(
    labels: NDArray[np.integer[Any]],
    others: NDArray[np.integer[Any]],
    n_clusters: int,
    has_weight: NDArray[np.bool_] | None = None,
) -> NDArray[np.intp]:
    """Return new cluster numbers that make labels agree with others in most rows.

    Only rows in ``has_weight`` count, if it is given.
    """
    pairs = labels.astype(np.int64) * n_clusters + others
    common = np.bincount(pairs, has_weight, n_clusters**2)
    _, numbers = linear_sum_assignment(-common.reshape(n_clusters, n_clusters))
    return np.asarray(numbers)
