"""Proved bound: spectral, then by a semidefinite relaxation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigvalsh
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin

from rawlsian._core.parameters import Seed, check_count, random_state_of
from rawlsian._core.problem import MaxDistance, Problem
from rawlsian._rows.opening import refuse_blocks
from rawlsian._search.crossing import thorough_search
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns
from rawlsian._support.interruption import call_partial, keeps_partial
from rawlsian.bounds.bound import Bound, checked_problem
from rawlsian.bounds.relaxation import ROUNDING, Relaxation, rounding_unit, scaled_rows

# Defaults of proved_bound.
MAX_ROWS, MAX_ITERATIONS, TOL = 1000, 60, 1e-4

# Smaller weights of groups are set to 0 in a proved bound.
TRACE = 1e-6

# Iterations of the k-means that merges rows (it need not converge), and the least
# weight of a row in it, relative to the largest.
MERGING_ITERATIONS, LEAST_PULL = 10, 1e-6


class BoundStep(NamedTuple):
    """Progress of a proved bound, as passed to a callback.

    Attributes
    ----------
    n_iter : int
        Number of iterations done.
    cost : float
        The bound so far: no clustering has a lower largest mean cost of a group.
    """

    n_iter: int
    cost: float


def proved_bound(
    X: ArrayLike,
    sensitive_features: Any,
    *,
    n_clusters: int,
    group_weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
    pooling: float = 0.0,
    max_rows: int = MAX_ROWS,
    max_iter: int = MAX_ITERATIONS,
    tol: float = TOL,
    time_limit: float | None = None,
    random_state: Seed = None,
    callback: Callable[[BoundStep], object] | None = None,
) -> Bound:
    """Bound the lowest group utility of every clustering, provably.

    For any weights lambda of the groups, the largest mean cost of a group is at least
    the minimum cost of k-means in which a row of group g weighs lambda_g / N_g. That
    minimum is bounded by the spectrum of the data, and more tightly by Peng and Wei's
    semidefinite relaxation with triangle inequalities, solved by alternating
    projections. Every iterate gives a valid bound, so it can be stopped at any time,
    also by Ctrl-C.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The examples, as numbers.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        The group of each example; ``None`` means one group.
    n_clusters : int
        Number of clusters.
    group_weights : array-like of shape (n_groups,), default=None
        Lambda; any choice gives a valid bound. ``None`` takes the lambda that
        ``RawlsianKMeans`` finds, which makes the bound tight.
    sample_weight : array-like of shape (n_samples,), default=None
        How many people each example stands for.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit, as in ``group_utilities``.
    pooling : float, default=0.0
        Bound the pooled cost of the worst-off group, as in ``RawlsianKMeans``; the
        bound then also holds for the plain cost, which is never lower.
    max_rows : int, default=1000
        If there are more distinct rows, they are merged to this many. The bound stays
        valid and becomes looser; triangle inequalities are then left out, as a merged
        row may be in two clusters. Time grows with the cube of ``max_rows``.
    max_iter : int, default=60
        Largest number of iterations.
    tol : float, default=1e-4
        Stop when ten iterations raise the bound on the cost by less than this,
        relative to the bound.
    time_limit : float, default=None
        No iteration begins later than this many seconds after the call. The search
        for lambda is not cut short, and one iteration is always made. With ``None``
        the result does not depend on the speed of the machine.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the search for lambda and of the merging.
    callback : callable, default=None
        Called with a ``BoundStep`` every ten iterations and after the last one.

    Returns
    -------
    Bound
        The bound; ``is_proved`` is True. Ctrl-C returns the best bound so far, which
        holds, too; its ``stop_reason`` is "interrupted".

    References
    ----------
    J. Peng, Y. Wei, "Approximating K-means-type Clustering via Semidefinite
    Programming", 2007.

    Examples
    --------
    >>> from rawlsian import proved_bound
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> bound = proved_bound(X, list("aabbb"), n_clusters=2, random_state=0)
    >>> bound.is_proved, 0.4 < bound.cost <= 0.5  # 0.5 can be reached
    (True, True)
    """
    refuse_blocks(X, "proved_bound")
    problem = checked_problem(
        X, sensitive_features, n_clusters, sample_weight, max_distance, pooling
    )
    check_count(max_rows, "max_rows", least=2)
    check_count(max_iter, "max_iter")
    for name, value in (("tol", tol), ("time_limit", time_limit)):
        if value is not None and not (isinstance(value, Real) and float(value) >= 0):
            raise ValueError(f"{name} must be a number, 0 or more, got {value!r}.")
    lam = _check_group_weights(group_weights, problem.n_groups)
    return call_partial(
        proved_bound_of, problem, n_clusters, random_state_of(random_state), lam=lam,
        max_rows=max_rows, max_iter=max_iter, tol=tol, time_limit=time_limit,
        callback=callback,
    )  # fmt: skip


def proved_bound_of(
    problem: Problem,
    n_clusters: int,
    rng: np.random.RandomState,
    *,
    lam: NDArray[np.float64] | None = None,
    max_rows: int = MAX_ROWS,
    max_iter: int = MAX_ITERATIONS,
    tol: float = TOL,
    time_limit: float | None = None,
    callback: Callable[[BoundStep], object] | None = None,
) -> Bound:
    """Return the proved bound for the given lambda, or for one that is searched for.

    The spectral bound at the groups' shares comes first, so there is a bound to return
    after Ctrl-C.
    """
    ends = time.perf_counter() + (np.inf if time_limit is None else time_limit)
    lam = None if lam is None else _without_traces(lam)
    first = problem.shares if lam is None else lam
    rows, masses = _weighted_rows(problem, first)
    bound = _proved(problem, _spectral(rows, masses, n_clusters), "spectral", first)
    try:
        if lam is None:
            best = thorough_search(FairRuns(problem, MAX_ITER), n_clusters, rng)
            known_cost = max(float(best.objectives[0]), 0.0)
            lam = _without_traces(best.group_weights[0])
            rows, masses = _weighted_rows(problem, lam)
            cost = _spectral(rows, masses, n_clusters)
            found = _proved(problem, cost, "spectral", lam)
            bound = replace(max(bound, found, key=_cost), known_cost=known_cost)
        rows, masses, within = _merge(rows, masses, max_rows, rng)
        relaxation = Relaxation(rows, masses, within, n_clusters)
        for n_iter, cost in relaxation.iterate(max_iter, tol, ends):
            if cost > bound.cost:
                bound = replace(
                    _proved(problem, cost, "semidefinite", lam),
                    n_rows=len(rows), known_cost=bound.known_cost,
                )  # fmt: skip
            if callback is not None:
                callback(BoundStep(n_iter, bound.cost))
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        return replace(bound, stop_reason="interrupted")
    return bound


def _proved(
    problem: Problem,
    cost: float,
    kind: Literal["spectral", "semidefinite"],
    lam: NDArray[np.float64],
) -> Bound:
    """Return a proved bound on the cost as a Bound."""
    utility = problem.max_distance - cost
    return Bound(
        utility, cost, is_proved=True, kind=kind, group_weights=lam,
        pooling=problem.pooling.strength,
    )  # fmt: skip


def _without_traces(lam: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set to 0 the tiny weights that only give every cluster some mass."""
    kept = np.where(lam < TRACE, 0.0, lam)
    shares: NDArray[np.float64] = kept / kept.sum()
    return shares


def _cost(bound: Bound) -> float:
    """Return the cost, as a sort key."""
    return bound.cost


def _weighted_rows(
    problem: Problem, lam: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distinct rows and the weights that lambda gives them, which sum to 1."""
    weights = problem.pull(lam)[problem.groups] * problem.weights
    # Shift first: far from the origin, sums would lose digits.
    dense = problem.dense("a proved bound")
    rows = dense.shifted_rows(weights > 0)
    return _distinct(rows, weights[weights > 0])


def _check_group_weights(
    group_weights: ArrayLike | None, n_groups: int
) -> NDArray[np.float64] | None:
    """Return lambda on the simplex, or None if none was given."""
    if group_weights is None:
        return None
    lam = np.asarray(group_weights, dtype=np.float64)
    is_valid = lam.shape == (n_groups,) and (lam >= 0).all() and 0 < lam.sum() < np.inf
    if not is_valid:
        raise ValueError(
            f"group_weights must be {n_groups} numbers that are not negative, one for "
            f"each group, got {group_weights!r}."
        )
    shares: NDArray[np.float64] = lam / lam.sum()
    return shares


def _distinct(
    rows: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distinct rows and their weights, which sum to 1."""
    rows, inverse = np.unique(rows, axis=0, return_inverse=True)
    masses = np.bincount(inverse.ravel(), weights / weights.sum())
    return rows, np.asarray(masses, dtype=np.float64)


def _spectral(
    rows: NDArray[np.float64], weights: NDArray[np.float64], n_clusters: int
) -> float:
    """Return the variance outside the n_clusters - 1 largest principal components."""
    scaled = scaled_rows(rows, weights)
    variances = eigvalsh(scaled.T @ scaled)[::-1]
    total = float(variances.sum())
    left = total - float(variances[: n_clusters - 1].sum())
    return max(left - ROUNDING * total - rounding_unit(rows), 0.0)


def _merge(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    max_rows: int,
    rng: np.random.RandomState,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Merge rows to at most max_rows; return means, weights, scatter within them."""
    n_features = rows.shape[1]
    if len(rows) <= max_rows:
        return rows, weights, np.zeros((n_features, n_features))
    # Any merging is valid; rows of tiny weight must not be lost to rounding.
    pull = np.maximum(weights, LEAST_PULL * weights.max())
    whole = Problem.from_arrays(rows, None, sample_weight=pull)
    init, _ = kmeans_plusplus(
        rows, max_rows, sample_weight=pull, random_state=rng, n_local_trials=1
    )
    found = FairRuns(whole, MERGING_ITERATIONS).run(init[None] - whole.shift)
    centers = found.centers[0] + whole.shift
    labels = pairwise_distances_argmin(rows, centers)
    _, labels = np.unique(labels, return_inverse=True)
    mass = np.asarray(np.bincount(labels, weights), dtype=np.float64)
    means = np.empty((len(mass), n_features))
    for j in range(n_features):
        means[:, j] = np.bincount(labels, weights * rows[:, j]) / mass
    scaled = np.sqrt(weights)[:, None] * (rows - means[labels])
    return means, mass, scaled.T @ scaled
