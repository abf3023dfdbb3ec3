"""Composition of clusters: how far groups are separated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def separation(counts: NDArray[np.float64]) -> float:
    """Return how far clusters separate the groups: the multigroup dissimilarity index.

    D = sum_c sum_g n_c |p_cg - p_g| / (2 N sum_g p_g (1 - p_g)), where n_c is the size
    of cluster c, N that of all, p_cg the share of group g in cluster c, and p_g its
    share of everyone. For two groups this is Duncan's index of dissimilarity.

    Parameters
    ----------
    counts : ndarray of shape (n_clusters, n_groups)
        Members of each group in each cluster; a cluster may have nobody.

    Returns
    -------
    float
        0 if every cluster has the same mix of groups, 1 if every cluster has people of
        one group only. 0 if there is one group.

    References
    ----------
    Sakoda (1981), "A generalized index of dissimilarity"; Reardon and Firebaugh (2002),
    "Measures of multigroup segregation".
    """
    sizes, total = counts.sum(axis=1), counts.sum()
    shares = counts.sum(axis=0) / total
    most = 2 * total * (shares * (1 - shares)).sum()
    if not most > 0:
        return 0.0
    # n_c |p_cg - p_g| is the difference between a count and its expectation.
    apart = np.abs(counts - np.outer(sizes, shares)).sum()
    return float(min(apart / most, 1.0))
