"""Estimators with free centers: RawlsianKMeans, and FairLloyd to compare it with."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rawlsian._assignment import Assignment
from rawlsian._fair import (
    Callback,
    FairRuns,
    Solutions,
    enough_crossings,
    group_means,
    nearest,
    random_centers,
    search,
    thorough_search,
)
from rawlsian._gap import WhichBound, check_which_bound, tell_gap
from rawlsian._leximin import is_better, leximin_best
from rawlsian._means import best_partitions, improved
from rawlsian._problem import MaxDistance, Problem, clear_errors_of_x
from rawlsian._traverse import traverse

# Where centers are means: plain runs of k-means for each random start, and partitions
# that are improved.
RUNS_A_START = 4
N_IMPROVED = 32


class _FreeCenters(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator, ABC
):
    """What both estimators share: all but the search."""

    n_clusters: int
    max_distance: MaxDistance
    max_iter: int
    random_state: Any

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Find centers that make the largest mean cost of a group small.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The examples: dense and numeric.
        y : ignored
            Here for the sake of scikit-learn's conventions.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            The group of each example; several columns mean their intersections.
            ``None`` means one group: then it is k-means.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight w counts as w people.

        Returns
        -------
        object
            The fitted estimator itself.
        """
        with clear_errors_of_x(X):
            checked = validate_data(
                self, X, dtype=np.float64, order="C", ensure_min_samples=2
            )
        self._check_counts(len(checked))
        problem = Problem.from_arrays(
            checked, sensitive_features, sample_weight=sample_weight,
            max_distance=self.max_distance,
        )  # fmt: skip
        runs = FairRuns(problem, self.max_iter)
        rng = check_random_state(self.random_state)
        best, is_interrupted = self._search(runs, rng)
        if is_interrupted:
            warnings.warn(
                "Interrupted; cluster_centers_ are the best found so far.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._describe(runs, best, rng)
        return self

    @abstractmethod
    def _search(
        self, runs: FairRuns, rng: np.random.RandomState
    ) -> tuple[Solutions, bool]:
        """The best solutions, best first, and whether the search was interrupted."""

    def _check_counts(self, n_samples: int) -> None:
        for name in self._counts:
            value, least = getattr(self, name), int(name != "n_crossings")
            if value is None and name == "n_crossings":
                continue
            if not isinstance(value, Integral) or int(value) < least:
                raise ValueError(
                    f"{name} must be a whole number, {least} or more, got {value!r}."
                )
        if self.n_clusters > n_samples:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the {n_samples} rows of X "
                f"(n_samples={n_samples}); ask for fewer clusters."
            )

    _counts: tuple[str, ...] = ("n_clusters", "n_init", "max_iter")

    def _describe(
        self, runs: FairRuns, best: Solutions, rng: np.random.RandomState
    ) -> None:
        """What was found, all of it computed afresh from the centers."""
        problem = runs.problem
        self.cluster_centers_ = best.centers[0] + problem.shift
        self.labels_, distances = nearest(problem.X, self.cluster_centers_)
        self.groups_ = problem.group_names
        self.group_weights_ = best.group_weights[0]
        self.group_costs_ = group_means(problem, distances)
        self.group_utilities_ = problem.max_distance - self.group_costs_
        self.inertia_ = float(problem.weights @ distances)
        self.n_iter_ = int(best.n_iter[0])

    @property
    def _n_features_out(self) -> int:
        n_clusters: int = self.cluster_centers_.shape[0]
        return n_clusters

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Give each example its nearest center.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples, seen in ``fit`` or not.

        Returns
        -------
        ndarray of shape (n_samples,)
            The cluster of each.
        """
        return nearest(self._check_new(X), self.cluster_centers_)[0]

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Give the distance of each example to every center.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples, seen in ``fit`` or not.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Euclidean distances, not squared, as of ``KMeans``.
        """
        distances: NDArray[np.float64] = euclidean_distances(
            self._check_new(X), self.cluster_centers_
        )
        return distances

    def score(
        self,
        X: Any,
        y: object = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Minus the largest mean squared distance of a group to the nearest centers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Examples, seen in ``fit`` or not.
        y : ignored
            Here for the sake of scikit-learn's conventions.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            The group of each example; ``None`` means one group.
        sample_weight : array-like of shape (n_samples,), default=None
            How many people each example stands for.

        Returns
        -------
        float
            The score; higher is better.
        """
        checked = self._check_new(X)
        problem = Problem.from_arrays(
            checked, sensitive_features, sample_weight=sample_weight
        )
        distances = nearest(checked, self.cluster_centers_)[1]
        return -float(group_means(problem, distances).max())

    def _check_new(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        with clear_errors_of_x(X):
            checked: NDArray[np.float64] = validate_data(
                self, X, dtype=np.float64, order="C", reset=False
            )
        return checked


class FairLloyd(_FreeCenters):
    """Fair-Lloyd: socially fair k-means from independent random starts.

    Nearest centers and fair centers in turn, until no example changes its cluster
    [1]_. Fair centers make the largest mean squared distance of a group least for the
    partition: they are the means in which an example of group g counts lambda_g / N_g,
    with one lambda on the simplex for all clusters. The best run is the one with the
    lowest largest cost.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=10
        Number of runs, each from different random examples.
    max_distance : "auto" or float, default="auto"
        Utility is this less the mean squared distance; it changes nothing else.
    max_iter : int, default=300
        Limit on the iterations of a run.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers.
    labels_ : ndarray of shape (n_samples,)
        The nearest center of each example.
    groups_ : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    group_costs_, group_utilities_ : ndarray of shape (n_groups,)
        Mean squared distance of each group to its nearest centers, and ``max_distance``
        less that.
    group_weights_ : ndarray of shape (n_groups,)
        Lambda: how much each group weighs in the centers; it sums to 1.
    inertia_ : float
        Sum of squared distances to the nearest centers.
    n_iter_ : int
        Number of iterations of the best run.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had any.

    See Also
    --------
    RawlsianKMeans : Crosses such runs with each other, and finds better centers.

    References
    ----------
    .. [1] M. Ghadiri, S. Samadi, S. Vempala, "Socially Fair k-Means Clustering", 2021,
       arXiv:2006.10085.

    Examples
    --------
    >>> from rawlsian import FairLloyd
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> fair = FairLloyd(2, random_state=0)
    >>> fair.fit(X, sensitive_features=list("aabbb")).group_costs_.round(3)
    array([0.5, 0.5])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_distance: MaxDistance = "auto",
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_distance = max_distance
        self.max_iter = max_iter
        self.random_state = random_state

    def _search(
        self, runs: FairRuns, rng: np.random.RandomState
    ) -> tuple[Solutions, bool]:
        return search(runs, self.n_clusters, n_init=self.n_init, n_crossings=0, rng=rng)


class RawlsianKMeans(_FreeCenters):
    """K-means for the worst-off group.

    Searches the centers for which the largest mean squared distance of a group is
    least, and so the lowest group utility highest. Runs of Fair-Lloyd from random
    starts are crossed with each other: two of them give the centers from which the
    next run starts.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    centers : {"free", "mean"}, default="free"
        Whether centers may lie anywhere, examples being in the cluster of the nearest,
        or are the means of their clusters, as in the paper. With means, the best
        partitions that fair and plain runs end with are improved and walked on from by
        "rawls": the examples seen in ``fit`` need not be in the cluster of the nearest
        center, which ``predict`` gives. That takes longer, on many rows much longer.
    n_init : int, default=64
        Number of random starts.
    n_crossings : int, default=None
        Number of runs that start from centers of earlier ones; ``None`` means 100
        and 12 times the square of the number of clusters, at most 10,000.
    max_distance : "auto" or float, default="auto"
        Utility is this less the mean squared distance; it changes nothing else.
    bound : {"group", "proved"} or None, default=None
        With which bound the result is compared: that of ``group_bound``, best known, or
        that of ``proved_bound``. Either takes longer than the search itself.
    max_iter : int, default=300
        Limit on the iterations of a run.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same centers on any number of threads.
    callback : callable, default=None
        Called with a ``SearchStep`` now and then: ``n_done``, ``n_runs`` and
        ``largest_cost``.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers.
    labels_ : ndarray of shape (n_samples,)
        The nearest center of each example.
    groups_ : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    group_costs_, group_utilities_ : ndarray of shape (n_groups,)
        Mean squared distance of each group to the centers of its examples' clusters,
        and ``max_distance`` less that.
    group_weights_ : ndarray of shape (n_groups,)
        Lambda: how much each group weighs in free centers; it sums to 1. A group whose
        cost is below the largest weighs next to nothing.
    bound_ : Bound
        The bound that was asked for; ``bound_.is_proved`` tells which it is.
    gap_closed_ : float
        If a bound was asked for: which share of the way from the lowest group utility
        of the best plain k-means found to the bound is gone.
    proved_gap_ : float
        If the proved bound was asked for: no clustering has a largest mean cost that is
        lower by more than this share of the bound.
    inertia_ : float
        Sum of squared distances to the nearest centers.
    n_iter_ : int
        Number of iterations of the best run.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had any.

    See Also
    --------
    FairLloyd : Independent starts only, as published.
    RawlsianPostprocessor : Centers are means, and labels need not be nearest.

    Notes
    -----
    For the partition that it ends with, the centers are the best there are to a share
    of 1e-10. That no other partition is better is not guaranteed: the problem is hard.
    With more than two groups the order is leximin: among the solutions found that are
    level for the worst-off group (to a share of 1e-9), the second worst-off decides,
    and so on; and for the partition it ends with no centers are better in that order.
    Ctrl-C ends the search with the best so far.

    References
    ----------
    M. Ghadiri, S. Samadi, S. Vempala, "Socially Fair k-Means Clustering", 2021,
    arXiv:2006.10085. D. Gribel, T. Vidal, "HG-means: A scalable hybrid genetic
    algorithm for minimum sum-of-squares clustering", 2019, arXiv:1804.09813.

    Examples
    --------
    >>> from rawlsian import RawlsianKMeans, load_adult
    >>> adult = load_adult(sample=500, random_state=576)
    >>> fair = RawlsianKMeans(5, max_distance=adult.max_distance, random_state=0)
    >>> fair.fit(adult.data, sensitive_features=adult.sensitive_features).groups_
    array(['Female', 'Male'], dtype='<U6')
    >>> fair.group_utilities_.round(3)
    array([7.18, 7.18])
    """

    _counts = ("n_clusters", "n_init", "n_crossings", "max_iter")

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        centers: Literal["free", "mean"] = "free",
        n_init: int = 64,
        n_crossings: int | None = None,
        max_distance: MaxDistance = "auto",
        bound: WhichBound = None,
        max_iter: int = 300,
        random_state: Any = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.centers = centers
        self.n_init = n_init
        self.n_crossings = n_crossings
        self.max_distance = max_distance
        self.bound = bound
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback

    def _search(
        self, runs: FairRuns, rng: np.random.RandomState
    ) -> tuple[Solutions, bool]:
        n_crossings = self.n_crossings
        if n_crossings is None:
            n_crossings = enough_crossings(self.n_clusters)
        best, is_interrupted = search(
            runs, self.n_clusters, n_init=self.n_init, n_crossings=n_crossings,
            rng=rng, callback=self.callback,
        )  # fmt: skip
        if runs.problem.n_groups > 2:
            best = leximin_best(runs, best)
        return best, is_interrupted

    def _check_counts(self, n_samples: int) -> None:
        if self.centers not in ("free", "mean"):
            raise ValueError(f"centers must be 'free' or 'mean', got {self.centers!r}.")
        check_which_bound(self.bound)
        super()._check_counts(n_samples)

    def _describe(
        self, runs: FairRuns, best: Solutions, rng: np.random.RandomState
    ) -> None:
        super()._describe(runs, best, rng)
        problem = runs.problem
        if self.centers == "mean":
            labels = _best_with_means(runs, best, RUNS_A_START * self.n_init, rng)
            found = Assignment(problem, labels)
            self.labels_, self.cluster_centers_ = found.labels, found.centers
            self.group_utilities_ = found.utilities
            self.group_costs_ = problem.max_distance - self.group_utilities_
            self.inertia_ = float(found.costs.sum())
            del self.group_weights_
        if self.bound is not None:
            start = _utilitarian(runs, self.n_clusters, rng).lowest
            reached, lam = self.group_utilities_, best.group_weights[0]
            tell_gap(self, problem, reached, start, rng, group_weights=lam)


def _best_with_means(
    runs: FairRuns, free: Solutions, n_plain: int, rng: np.random.RandomState
) -> NDArray[np.int32]:
    """Labels for which means serve the worst-off group best, of all that are tried.

    The partitions of fair solutions and of plain runs of k-means are improved, and the
    best of them is walked on from. Ctrl-C ends it with the best so far.
    """
    problem, n_clusters = runs.problem, free.centers.shape[1]
    centers = free.centers + problem.shift
    best = best_partitions(problem, centers, 1)[0]
    try:
        everyone = Problem.from_arrays(problem.X, None, sample_weight=problem.weights)
        init = random_centers(problem, n_plain, n_clusters, rng) + problem.shift
        plain = FairRuns(everyone, runs.max_iter).run(init - everyone.shift)
        centers = np.concatenate([centers, plain.centers + everyone.shift])
        starts = best_partitions(problem, centers, N_IMPROVED)
        for labels in improved(runs, starts, n_clusters):
            if is_better(_costs(problem, labels), _costs(problem, best)):
                best = labels
        best = traverse(
            problem.X, best, problem.group_names[problem.groups], operator="rawls",
            sample_weight=problem.weights,
        ).labels  # fmt: skip
        # Without harm to the worst-off group, the others may be better off.
        best = improved(runs, [best], n_clusters, [0.0])[0]
    except KeyboardInterrupt:
        warnings.warn(
            "Interrupted; labels_ are the best found so far.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return best


def _costs(problem: Problem, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    return -Assignment(replace(problem, max_distance=0.0), labels).utilities


def _utilitarian(
    runs: FairRuns, n_clusters: int, rng: np.random.RandomState
) -> Assignment:
    """The best plain k-means that a thorough search finds."""
    problem = runs.problem
    everyone = Problem.from_arrays(problem.X, None, sample_weight=problem.weights)
    found = thorough_search(FairRuns(everyone, runs.max_iter), n_clusters, rng)
    centers = found.centers[:1] + everyone.shift
    return Assignment(problem, best_partitions(problem, centers, 1)[0])
