"""How much is left: bounds on the lowest group utility of every clustering.

``group_bound`` is the best known, not proved. ``proved_bound`` holds for every
clustering with that many clusters, with means or free centers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh, eigvalsh
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state

from rawlsian._fair import MAX_ITER, FairRuns, thorough_search
from rawlsian._problem import MaxDistance, Problem
from rawlsian._restarts import check_count

__all__ = ["Bound", "BoundStep", "group_bound", "proved_bound"]

# Of the alternating projections: the step in units of the total variance, how far each
# projection overshoots, and how often the bound is evaluated.
STEP, OVERSHOOT, EVALUATE_EVERY = 0.1, 1.8, 10

# A share of the total variance that is given away for rounding in eigenvalues.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Bound:
    """What no clustering, as far as is known or proved, can exceed.

    Attributes
    ----------
    utility : float
        Upper bound on the lowest group utility.
    cost : float
        The same as a lower bound on the largest mean squared distance of a group.
    is_proved : bool
        Whether it holds for every clustering, or is only the best known.
    kind : {"group", "spectral", "semidefinite", "merged"}
        Where it comes from.
    group_weights : ndarray of shape (n_groups,) or None
        Lambda, the weights of the groups that a proved bound was computed with.
    """

    utility: float
    cost: float
    is_proved: bool
    kind: str
    group_weights: NDArray[np.float64] | None = None


class BoundStep(NamedTuple):
    """What a callback is told: iterations so far, and the largest cost proved."""

    n_iter: int
    cost: float


def group_bound(
    X: ArrayLike,
    sensitive_features: Any,
    *,
    n_clusters: int,
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
    random_state: Any = None,
) -> Bound:
    """Bound the lowest group utility by the best clustering of each group alone.

    No group can be served better than by centers that are there for it alone. The
    best such centers are searched for, so that this is the best known bound and not
    proved: a result above it tells to search again, with another ``random_state``.

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
    random_state : int, RandomState instance or None, default=None
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
    problem = _checked(X, sensitive_features, n_clusters, sample_weight, max_distance)
    rng = check_random_state(random_state)
    shared = thorough_search(FairRuns(problem, MAX_ITER), n_clusters, rng)
    costs = []
    for g in range(problem.n_groups):
        rows = (problem.groups == g) & (problem.weights > 0)
        if rows.sum() <= n_clusters:
            costs.append(0.0)
            continue
        alone = Problem.from_arrays(
            problem.X[rows], None, sample_weight=problem.weights[rows]
        )
        runs = FairRuns(alone, MAX_ITER)
        best = thorough_search(runs, n_clusters, rng, times=2)
        # What is best for all groups may show a better way for one.
        known = runs.run(shared.centers + problem.shift - alone.shift)
        costs.append(float(min(best.objectives[0], known.objectives.min())))
    cost = max(costs)
    return Bound(problem.max_distance - cost, cost, is_proved=False, kind="group")


def proved_bound(
    X: ArrayLike,
    sensitive_features: Any,
    *,
    n_clusters: int,
    group_weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
    max_rows: int = 1500,
    max_iter: int = 50,
    tol: float = 1e-4,
    time_limit: float = 20.0,
    random_state: Any = None,
    callback: Callable[[BoundStep], object] | None = None,
) -> Bound:
    """Bound the lowest group utility of every clustering, provably.

    For any weights lambda of the groups, the largest mean cost of a group is at least
    the least cost of k-means in which a row of group g weighs lambda_g / N_g. That is
    bounded by the spectrum of the data, and better by Peng and Wei's semidefinite
    relaxation, which is approached by alternating projections. Every value on the way
    is a bound, so that it can be stopped at any time, also by Ctrl-C.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The examples, as numbers.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        The group of each example; ``None`` means one group.
    n_clusters : int
        Number of clusters.
    group_weights : array-like of shape (n_groups,), default=None
        Lambda, of which any choice gives a valid bound. ``None`` takes that of
        ``RawlsianKMeans``, which makes it tight.
    sample_weight : array-like of shape (n_samples,), default=None
        How many people each example stands for.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit, as in ``group_utilities``.
    max_rows : int, default=1500
        Where there are more different rows, they are merged to this many, which makes
        the bound looser by what the merging costs. Time grows with its cube.
    max_iter : int, default=50
        Limit on the iterations.
    tol : float, default=1e-4
        Stop when ten iterations raise the bound on the cost by less than this share.
    time_limit : float, default=20.0
        Seconds after which no further iteration is begun.
    random_state : int, RandomState instance or None, default=None
        Seed of the search for lambda and of the merging.
    callback : callable, default=None
        Called with a ``BoundStep`` now and then.

    Returns
    -------
    Bound
        The bound; ``is_proved`` is True.

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
    problem = _checked(X, sensitive_features, n_clusters, sample_weight, max_distance)
    rng = check_random_state(random_state)
    lam = _check_group_weights(group_weights, problem, n_clusters, rng)
    weights = (lam / problem.group_sizes)[problem.groups] * problem.weights
    rows, masses = _distinct(problem.X[weights > 0], weights[weights > 0])
    cost, kind, merged = _spectral(rows, masses, n_clusters), "spectral", 0.0
    if len(rows) > max_rows:
        rows, masses, merged = _merge(rows, masses, max_rows, rng)
    relaxation = _Relaxation(rows, masses, n_clusters)
    began = time.perf_counter()
    try:
        for n_iter, bound in relaxation.iterate(max_iter, tol):
            # Centers are as far from a row as from what it was merged to, or nearer by
            # how far it is from that.
            whole = max(math.sqrt(max(bound, 0.0)) - math.sqrt(merged), 0.0) ** 2
            if whole > cost:
                cost, kind = whole, "merged" if merged else "semidefinite"
            if callback is not None:
                callback(BoundStep(n_iter, cost))
            if time.perf_counter() - began > time_limit:
                break
    except KeyboardInterrupt:
        pass
    return Bound(problem.max_distance - cost, cost, True, kind, lam)


def _checked(
    X: ArrayLike,
    sensitive_features: Any,
    n_clusters: int,
    sample_weight: ArrayLike | None,
    max_distance: MaxDistance,
) -> Problem:
    problem = Problem.from_arrays(
        X, sensitive_features, sample_weight=sample_weight, max_distance=max_distance
    )
    check_count(n_clusters, "n_clusters")
    return problem


def _check_group_weights(
    group_weights: ArrayLike | None,
    problem: Problem,
    n_clusters: int,
    rng: np.random.RandomState,
) -> NDArray[np.float64]:
    if group_weights is None:
        runs = FairRuns(problem, MAX_ITER)
        best = thorough_search(runs, n_clusters, rng)
        found: NDArray[np.float64] = best.group_weights[0]
        return found
    lam = np.asarray(group_weights, dtype=np.float64)
    if lam.shape != (problem.n_groups,) or not (lam >= 0).all() or not lam.sum() > 0:
        raise ValueError(
            f"group_weights must be {problem.n_groups} numbers that are not negative, "
            f"one for each group, got {group_weights!r}."
        )
    shares: NDArray[np.float64] = lam / lam.sum()
    return shares


def _distinct(
    rows: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Different rows, and their weights, which sum to 1."""
    rows, inverse = np.unique(rows, axis=0, return_inverse=True)
    masses = np.bincount(inverse.ravel(), weights / weights.sum())
    return rows, np.asarray(masses, dtype=np.float64)


def _spectral(
    rows: NDArray[np.float64], weights: NDArray[np.float64], n_clusters: int
) -> float:
    """What is left of the variance without its n_clusters - 1 largest directions."""
    scaled = np.sqrt(weights)[:, None] * (rows - weights @ rows)
    variances = eigvalsh(scaled.T @ scaled)[::-1]
    total = float(variances.sum())
    left = total - float(variances[: n_clusters - 1].sum())
    return max(left - ROUNDING * total, 0.0)


def _merge(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_rows: int,
    rng: np.random.RandomState,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Rows merged to their clusters' means, their weights, and what merging costs."""
    clusterer = MiniBatchKMeans(n_rows, n_init=1, batch_size=4096, random_state=rng)
    labels = clusterer.fit(rows, sample_weight=weights).labels_
    _, labels = np.unique(labels, return_inverse=True)
    mass = np.asarray(np.bincount(labels, weights), dtype=np.float64)
    means = np.empty((len(mass), rows.shape[1]))
    for j in range(rows.shape[1]):
        means[:, j] = np.bincount(labels, weights * rows[:, j]) / mass
    cost = float(weights @ ((rows - means[labels]) ** 2).sum(axis=1))
    return means, mass, cost


class _Relaxation:
    """Peng and Wei's relaxation of weighted k-means, and bounds on the way to it.

    A clustering is a projection Y of rank k with Y r = r, r = sqrt(w), and no negative
    entry; it costs sum_i w_i |x_i|^2 - <K, Y> with K = (r r^T) * (X X^T). For any
    symmetric N >= 0, as <N, Y> >= 0, no clustering costs less than sum_i w_i |x_i|^2
    - r^T (K + N) r less the k - 1 largest eigenvalues of (K + N) off r.
    """

    def __init__(
        self, rows: NDArray[np.float64], weights: NDArray[np.float64], n_clusters: int
    ) -> None:
        self.r = np.sqrt(weights)
        scaled = self.r[:, None] * (rows - weights @ rows)
        self.K = scaled @ scaled.T
        self.total = float((scaled**2).sum())
        self.rank = min(n_clusters, len(rows)) - 1

    def iterate(self, max_iter: int, tol: float) -> Any:
        """Yield the number of iterations and a bound, every few of them."""
        if self.rank == 0 or self.rank + 1 >= len(self.r) or self.total == 0:
            yield 0, self.bound(np.zeros_like(self.K))
            return
        step = STEP * self.total
        whole = np.outer(self.r, self.r)
        positive, multiplier = whole, np.zeros_like(self.K)
        best = 0.0
        for n_iter in range(1, max_iter + 1):
            projection = self._project(positive - multiplier + self.K / step) + whole
            overshot = OVERSHOOT * projection + (1 - OVERSHOOT) * positive + multiplier
            positive = np.maximum(overshot, 0.0)
            multiplier = overshot - positive  # never above 0
            if n_iter % EVALUATE_EVERY == 0 or n_iter == max_iter:
                before, best = best, max(best, self.bound(-step * multiplier))
                yield n_iter, best
                if best - before < tol * best:
                    return

    def bound(self, N: NDArray[np.float64]) -> float:
        """The bound that a symmetric N >= 0 gives, less what rounding may do."""
        both = self.K + N
        left = self.total - float(self.r @ both @ self.r)
        if self.rank > 0:
            n = len(self.r)
            first = max(n - self.rank, 0)
            largest = eigvalsh(self._off(both), subset_by_index=[first, n - 1])
            left -= float(np.maximum(largest, 0.0).sum())
        size = self.total + float(np.abs(N).sum(axis=1).max())
        return left - ROUNDING * size

    def _off(self, M: NDArray[np.float64]) -> NDArray[np.float64]:
        """P M P with P = I - r r^T."""
        Mr = M @ self.r
        away: NDArray[np.float64] = M - np.outer(self.r, Mr) - np.outer(Mr, self.r)
        away += (self.r @ Mr) * np.outer(self.r, self.r)
        return away

    def _project(self, M: NDArray[np.float64]) -> NDArray[np.float64]:
        """The nearest matrix with eigenvalues in [0, 1] that sum to the rank, off r."""
        # r itself is put out of the way, below all eigenvalues.
        low = 1.0 + float(np.abs(M).sum(axis=1).max())
        off = self._off(M) - 2 * low * np.outer(self.r, self.r)
        values, vectors = eigh(off, overwrite_a=True, check_finite=False, driver="evd")
        values = _clip_to_sum(values[1:], self.rank)
        kept = values > 0
        vectors = vectors[:, 1:][:, kept]
        projected: NDArray[np.float64] = (vectors * values[kept]) @ vectors.T
        return projected


def _clip_to_sum(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Values less a constant, clipped to [0, 1], so that they sum to total."""
    low, high = float(values.min()) - 1.0, float(values.max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        if np.clip(values - middle, 0.0, 1.0).sum() > total:
            low = middle
        else:
            high = middle
    return np.clip(values - high, 0.0, 1.0)
