"""Bound by the best clustering of each group alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core.parameters import Seed, random_state_of
from rawlsian._core.problem import MaxDistance, Problem
from rawlsian._rows.opening import refuse_blocks
from rawlsian._search.crossing import thorough_search
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns
from rawlsian.bounds.bound import Bound, checked_problem


def group_bound(
    X: ArrayLike,
    sensitive_features: Any,
    *,
    n_clusters: int,
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
    pooling: float = 0.0,
    random_state: Seed = None,
) -> Bound:
    """Bound the lowest group utility by the best clustering of each group alone.

    No group can be served better than by centers for it alone. These are found by a
    search, so the bound is the best known and not proved: if a clustering is above it,
    search again with another ``random_state``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The examples, as numbers.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        The group of each example; ``None`` means one group.
    n_clusters : int
        Number of clusters.
    sample_weight : array-like of shape (n_samples,), default=None
        How many people each example stands for.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit, as in ``group_utilities``.
    pooling : float, default=0.0
        Bound the pooled cost of the worst-off group, as in ``RawlsianKMeans``; the
        bound then also holds for the plain cost, which is never lower.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the search.

    Returns
    -------
    Bound
        The bound; ``is_proved`` is False.

    Examples
    --------
    >>> from rawlsian import group_bound
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> round(group_bound(X, list("aabbb"), n_clusters=1, random_state=0).cost, 3)
    4.667
    """
    refuse_blocks(X, "group_bound")
    problem = checked_problem(
        X, sensitive_features, n_clusters, sample_weight, max_distance, pooling
    )
    return group_bound_of(problem, n_clusters, random_state_of(random_state))


def group_bound_of(
    problem: Problem,
    n_clusters: int,
    rng: np.random.RandomState,
    known: NDArray[np.float64] | None = None,
) -> Bound:
    """Return the group bound; runs for each group also start from known centers."""
    shared = thorough_search(FairRuns(problem, MAX_ITER), n_clusters, rng)
    centers = shared.centers + problem.shift
    if known is not None:
        centers = np.concatenate([centers, known[None]])
    costs = []
    for share in problem.pooling.mix(np.eye(problem.n_groups)):
        weights = problem.weights * share[problem.groups]
        rows = weights > 0
        if rows.sum() <= n_clusters:
            costs.append(0.0)
            continue
        alone = problem.as_one_group(weights, rows)
        runs = FairRuns(alone, MAX_ITER)
        best = thorough_search(runs, n_clusters, rng, times=2)
        # Centers that are good for all groups may be a better start for one group.
        others = runs.run(centers - alone.shift)
        costs.append(float(min(best.objectives[0], others.objectives.min())))
    cost = max(costs)
    return Bound(
        problem.max_distance - cost, cost, is_proved=False, kind="group",
        pooling=problem.pooling.strength,
    )  # fmt: skip
