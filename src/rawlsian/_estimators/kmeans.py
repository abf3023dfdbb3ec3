"""RawlsianKMeans, and FairLloyd to compare it with."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Literal, NamedTuple

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
from sklearn.utils.validation import check_is_fitted, validate_data

from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import group_means, nearest
from rawlsian._core.parameters import check_count, check_n_clusters, random_state_of
from rawlsian._core.problem import MaxDistance, Problem, clear_errors_of_x, warn_of_y
from rawlsian._estimators.gap import WhichBound, check_which_bound, forget_gap, tell_gap
from rawlsian._estimators.traverse import traverse
from rawlsian._outofcore.fit import (
    by_rule,
    finish_free,
    refined,
    rule_of_sample,
    walk,
)
from rawlsian._outofcore.placing import Rule, distances_of_blocks, nearest_of_blocks
from rawlsian._outofcore.problem import MAX_PASSES, LargeProblem, Sample
from rawlsian._rows.blocks import Blocks
from rawlsian._rows.features import check_features, set_features
from rawlsian._rows.opening import as_blocks
from rawlsian._search.crossing import (
    N_INIT,
    Callback,
    enough_crossings,
    search,
    thorough_search,
)
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns, Solutions
from rawlsian._search.leximin import is_better, leximin_best
from rawlsian._search.partitions import best_partitions, improved

# Where centers are means, partitions that are improved.
N_IMPROVED = 32

# Passes over rows in blocks that cannot be spared: to look at them, to draw the sample,
# to add up what was found, and to label them.
LEAST_PASSES = 4


class _Found(NamedTuple):
    """A clustering, and how it was found; group_weights only with free centers."""

    labels: Any
    centers: NDArray[np.float64]
    costs: NDArray[np.float64]
    inertia: float
    n_iter: int
    group_weights: NDArray[np.float64] | None
    is_interrupted: bool


class _CentersEstimator(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator, ABC
):
    """What both estimators share: all but the search."""

    n_clusters: int
    max_distance: MaxDistance
    max_iter: int
    random_state: Any
    callback: Callback | None

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
        X : array-like or Blocks of shape (n_samples, n_features)
            The examples: dense and numeric. ``RawlsianKMeans`` also takes rows in
            blocks (see ``open_blocks``), large ``numpy.memmap`` and Dask arrays and
            frames, of which it searches a sample.
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
        blocks = self._blocks_of(X)
        if blocks is not None:
            self._check_parameters(y, sensitive_features)
            return self._fit_blocks(blocks, sensitive_features, sample_weight)
        self.__dict__.pop("n_passes_", None)  # of an earlier fit
        with clear_errors_of_x(X):
            checked = validate_data(
                self, X, dtype=np.float64, order="C", ensure_min_samples=2
            )
        self._check_parameters(y, sensitive_features)
        problem = Problem.from_arrays(
            checked, sensitive_features, sample_weight=sample_weight,
            max_distance=self.max_distance,
        )  # fmt: skip
        check_n_clusters(self.n_clusters, problem)
        forget_gap(self)
        # Costs decide, so that max_distance cannot matter by rounding.
        runs = FairRuns(replace(problem, max_distance=0.0), self.max_iter)
        rng = random_state_of(self.random_state)
        found = self._search(runs, rng, problem.max_distance)
        self._tell(problem, found)
        return self

    def _tell(self, problem: Problem | LargeProblem, found: _Found) -> None:
        """Set what a fitted estimator tells."""
        if found.is_interrupted:
            warnings.warn(
                "Interrupted; the clusters are the best found so far.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.groups_ = problem.group_names
        self.labels_, self.cluster_centers_ = found.labels, found.centers
        self.group_costs_, self.inertia_ = found.costs, found.inertia
        self.group_utilities_ = problem.max_distance - found.costs
        self.n_iter_ = found.n_iter
        if found.group_weights is not None:
            self.group_weights_ = found.group_weights

    def _blocks_of(self, X: Any) -> Blocks | None:
        """Blocks, where X is to be gone over block by block."""
        return as_blocks(X)

    def _fit_blocks(
        self, blocks: Blocks, sensitive_features: Any, sample_weight: Any
    ) -> Any:
        """The same of rows that are not in memory."""
        raise ValueError(
            f"{type(self).__name__} takes rows in memory, but X is in blocks; "
            "RawlsianKMeans takes them so, or give some of the rows as an array."
        )

    @abstractmethod
    def _search(
        self, runs: FairRuns, rng: np.random.RandomState, max_distance: float
    ) -> _Found:
        """The clustering to be told of."""

    def _check_parameters(self, y: object, sensitive_features: Any) -> None:
        warn_of_y(y, sensitive_features)
        for name in ("n_clusters", "n_init", "max_iter"):
            check_count(getattr(self, name), name)
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function, got {self.callback!r}.")

    @property
    def _n_features_out(self) -> int:
        n_clusters: int = self.cluster_centers_.shape[0]
        return n_clusters

    def predict(self, X: Any) -> Any:
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
        blocks = self._new_blocks(X)
        if blocks is not None:
            return nearest_of_blocks(blocks, self.cluster_centers_)
        return nearest(self._check_new(X), self.cluster_centers_)[0]

    def transform(self, X: Any) -> Any:
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
        blocks = self._new_blocks(X)
        if blocks is not None:
            return distances_of_blocks(blocks, self.cluster_centers_)
        return euclidean_distances(self._check_new(X), self.cluster_centers_)

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
        blocks = self._new_blocks(X)
        if blocks is not None:
            large = LargeProblem.of(
                blocks, sensitive_features, sample_weight=sample_weight
            )
            rule = Rule.nearest(self.cluster_centers_)
            sums = large.assign(rule, np.zeros(blocks.n_features))
            return -float(sums.mean_costs.max())
        checked = self._check_new(X)
        problem = Problem.from_arrays(
            checked, sensitive_features, sample_weight=sample_weight
        )
        distances = nearest(checked, self.cluster_centers_)[1]
        return -float(group_means(problem, distances).max())

    def _new_blocks(self, X: Any) -> Blocks | None:
        """Blocks, where X is in such, with the columns that ``fit`` saw."""
        check_is_fitted(self)
        blocks = as_blocks(X, is_mapped_too=True)
        if blocks is not None:
            check_features(self, blocks)
        return blocks

    def _check_new(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        with clear_errors_of_x(X):
            checked: NDArray[np.float64] = validate_data(
                self, X, dtype=np.float64, order="C", reset=False
            )
        return checked


class FairLloyd(_CentersEstimator):
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
    random_state : int, RandomState, Generator or None, default=None
        Seed.
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
        max_iter: int = MAX_ITER,
        random_state: Any = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_distance = max_distance
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback

    def _search(
        self, runs: FairRuns, rng: np.random.RandomState, max_distance: float
    ) -> _Found:
        best, is_interrupted = search(
            runs, self.n_clusters, n_init=self.n_init, n_crossings=0, rng=rng,
            callback=self.callback,
        )  # fmt: skip
        return _with_free_centers(runs, best, is_interrupted)


class RawlsianKMeans(_CentersEstimator):
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
    bound : "group", "proved" or None, default=None
        With which bound the result is compared: that of ``group_bound``, best known, or
        that of ``proved_bound``. Either takes longer than the search itself.
    max_iter : int, default=300
        Limit on the iterations of a run.
    max_passes : int, default=30
        How many times rows in blocks are gone over at most.
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same seed gives the same centers on any number of threads.
    callback : callable, default=None
        Called with a ``SearchStep`` now and then: ``n_done``, ``n_runs`` and
        ``largest_cost``; for rows in blocks also with a ``PassStep`` after each pass.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each example, with free centers that of the nearest one. A Dask
        array where X is Dask's.
    groups_ : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    group_costs_, group_utilities_ : ndarray of shape (n_groups,)
        Mean squared distance of each group to the centers of its examples' clusters,
        and ``max_distance`` less that.
    group_weights_ : ndarray of shape (n_groups,)
        With free centers only. Lambda: how much each group weighs in the centers; it
        sums to 1. A group whose cost is below the largest weighs next to nothing.
    bound_ : Bound
        The bound that was asked for; ``bound_.is_proved`` tells which it is.
    gap_closed_ : float
        If a bound was asked for: which share of the way from the lowest group utility
        of the best plain k-means found to the bound is gone. Below 0 where so short a
        search was asked for that it ends below that.
    proved_gap_ : float
        If the proved bound was asked for: no clustering has a largest mean cost that is
        lower by more than this share of the bound.
    inertia_ : float
        Sum of squared distances to the centers of the examples' clusters.
    n_iter_ : int
        Number of iterations of the best run with free centers.
    n_passes_ : int
        Of rows in blocks: how many times all of them were gone over.
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
    For the partition that it ends with, free centers are the best there are to a share
    of 1e-8. That no other partition is better is not guaranteed: the problem is hard.
    With more than two groups the order is leximin: among the solutions found that are
    level for the worst-off group (to a share of 1e-9), the second worst-off decides,
    and so on; and for the partition it ends with no centers are better in that order.
    ``group_weights_`` are those of the worst-off groups' centers. With means, no single
    example can be moved so that the result is better in that order.
    Ctrl-C ends the search with the best so far.
    Rows in blocks: the search runs on a weighted sample with as many rows of each
    group as of the others, small groups whole; the best of it are then finished on all
    rows, with free centers by taking fair and nearest centers in turn, with means by
    the batch operator. It ends where a pass lowers the largest cost by less than a
    millionth. Block size and number of workers change nothing.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        centers: Literal["free", "mean"] = "free",
        n_init: int = N_INIT,
        n_crossings: int | None = None,
        max_distance: MaxDistance = "auto",
        bound: WhichBound = None,
        max_iter: int = MAX_ITER,
        max_passes: int = MAX_PASSES,
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
        self.max_passes = max_passes
        self.random_state = random_state
        self.callback = callback

    def _search(
        self, runs: FairRuns, rng: np.random.RandomState, max_distance: float
    ) -> _Found:
        best, is_interrupted = self._solutions(runs, rng)
        if self.centers == "free":
            found = _with_free_centers(runs, best, is_interrupted)
        else:
            found = _with_means(runs, best, is_interrupted)
        if self.bound is not None and not found.is_interrupted:
            is_told = self._tell_gap(
                runs, found, best.group_weights[0], rng, max_distance
            )
            found = found._replace(is_interrupted=not is_told)
        return found

    def _solutions(
        self, runs: FairRuns, rng: np.random.RandomState
    ) -> tuple[Solutions, bool]:
        """The best that the search finds, best first, and whether it was stopped."""
        n_crossings = self.n_crossings
        if n_crossings is None:
            n_crossings = enough_crossings(self.n_clusters)
        best, is_interrupted = search(
            runs, self.n_clusters, n_init=self.n_init, n_crossings=n_crossings,
            rng=rng, callback=self.callback,
        )  # fmt: skip
        if runs.problem.n_groups > 2 and not is_interrupted:
            best = leximin_best(runs, best)
        return best, is_interrupted

    def _tell_gap(
        self, runs: FairRuns, found: _Found, lam: NDArray[np.float64],
        rng: np.random.RandomState, max_distance: float,
    ) -> bool:  # fmt: skip
        """Tell how much of what could be gained was gained, unless interrupted."""
        problem = replace(runs.problem, max_distance=max_distance)
        try:
            start = _utilitarian(runs, self.n_clusters, rng)
            cost = float(found.costs.max())
            tell_gap(self, problem, found.centers, cost, start, rng, group_weights=lam)
        except KeyboardInterrupt:
            return False
        return True

    def _check_parameters(self, y: object, sensitive_features: Any) -> None:
        super()._check_parameters(y, sensitive_features)
        if self.n_crossings is not None:
            check_count(self.n_crossings, "n_crossings", least=0)
        if self.centers not in ("free", "mean"):
            raise ValueError(f"centers must be 'free' or 'mean', got {self.centers!r}.")
        check_count(self.max_passes, "max_passes", least=LEAST_PASSES)
        check_which_bound(self.bound)

    def _blocks_of(self, X: Any) -> Blocks | None:
        return as_blocks(X, is_mapped_too=self.bound is None)

    def _fit_blocks(
        self, blocks: Blocks, sensitive_features: Any, sample_weight: Any
    ) -> Any:
        """Search a sample, and finish what is found there on all rows."""
        if self.bound is not None:
            raise ValueError(
                f"bound={self.bound!r} takes rows in memory, but X is in blocks; give "
                "bound=None, and ask group_bound for that of some of the rows."
            )
        large = LargeProblem.of(
            blocks, sensitive_features, sample_weight=sample_weight,
            max_distance=self.max_distance, max_passes=self.max_passes,
            callback=self.callback,
        )  # fmt: skip
        forget_gap(self)
        rng = random_state_of(self.random_state)
        sample = large.sample(self.n_clusters, rng)
        check_n_clusters(self.n_clusters, sample.problem)
        runs = FairRuns(sample.to_search(self.n_clusters, rng), self.max_iter)
        best, is_interrupted = self._solutions(runs, rng)
        finish = self._finish_free if self.centers == "free" else self._finish_means
        found = finish(large, sample, runs, best, is_interrupted)
        set_features(self, blocks)
        self._tell(large, found)
        self.n_passes_ = large.n_passes
        return self

    def _finish_free(
        self, large: LargeProblem, sample: Sample, runs: FairRuns, best: Solutions,
        is_interrupted: bool,
    ) -> _Found:  # fmt: skip
        """Centers of the sample, made fair for all rows."""
        best = refined(runs.problem, sample.problem, best, is_interrupted)
        end = finish_free(large, sample.problem, best, is_interrupted)
        return _Found(
            large.labels(Rule.nearest(end.centers)), end.centers, end.costs,
            inertia=end.inertia, n_iter=int(best.n_iter[0]),
            group_weights=end.group_weights,
            is_interrupted=end.is_interrupted,
        )  # fmt: skip

    def _finish_means(
        self, large: LargeProblem, sample: Sample, runs: FairRuns, best: Solutions,
        is_interrupted: bool,
    ) -> _Found:  # fmt: skip
        """All rows in clusters that are like the sample's, and batches from there."""
        searched = _with_means(runs, best, is_interrupted, walks=False)
        rule = rule_of_sample(runs.problem, searched.labels)
        start = by_rule(large, rule, sample.problem.shift)
        if not start.means.is_whole:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than can be told apart in these "
                "rows; ask for fewer clusters."
            )
        max_iter = 0 if searched.is_interrupted else None
        end = walk(large, start, sample, relocates=False, max_iter=max_iter)
        means = end.at.means
        return _Found(
            large.join(end.at.labels), means.centers, means.costs,
            inertia=float(means.cluster_costs.sum()), n_iter=int(best.n_iter[0]),
            group_weights=None,
            is_interrupted=searched.is_interrupted or end.stop_reason == "interrupted",
        )  # fmt: skip


def _with_free_centers(runs: FairRuns, best: Solutions, is_interrupted: bool) -> _Found:
    """The first of the solutions, everything computed afresh from its centers."""
    problem = runs.problem
    centers = best.centers[0] + problem.shift
    labels, distances = nearest(problem.X, centers)
    return _Found(
        labels, centers, group_means(problem, distances),
        inertia=float(problem.weights @ distances), n_iter=int(best.n_iter[0]),
        group_weights=best.group_weights[0], is_interrupted=is_interrupted,
    )  # fmt: skip


def _with_means(
    runs: FairRuns, best: Solutions, is_interrupted: bool, *, walks: bool = True
) -> _Found:
    """The clustering with means that partitions of fair solutions lead to.

    The best of them are improved, and the best of these is walked on from, unless
    others will do that. Ctrl-C ends it with the best so far.
    """
    problem, n_clusters = runs.problem, best.centers.shape[1]
    starts = best_partitions(problem, best.centers + problem.shift, N_IMPROVED)
    labels = starts[0]
    try:
        if not is_interrupted:
            for candidate in improved(runs, starts, n_clusters):
                if is_better(_costs(problem, candidate), _costs(problem, labels)):
                    labels = candidate
        if walks and not is_interrupted:
            way = traverse(
                problem.X, labels, problem.group_names[problem.groups],
                operator="rawls", sample_weight=problem.weights,
            )  # fmt: skip
            labels, is_interrupted = way.labels, way.stop_reason == "interrupted"
        if walks and not is_interrupted:
            # Without harm to the worst-off group, the others may be better off.
            labels = improved(runs, [labels], n_clusters, [0.0])[0]
    except KeyboardInterrupt:
        is_interrupted = True
    found = Assignment(problem, labels)
    return _Found(
        labels, found.centers, -found.utilities, inertia=float(found.costs.sum()),
        n_iter=int(best.n_iter[0]), group_weights=None, is_interrupted=is_interrupted,
    )  # fmt: skip


def _costs(problem: Problem, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    return -Assignment(problem, labels).utilities


def _utilitarian(runs: FairRuns, n_clusters: int, rng: np.random.RandomState) -> float:
    """Largest mean cost of a group in the best plain k-means that a search finds."""
    problem = runs.problem
    everyone = problem.as_one_group()
    found = thorough_search(FairRuns(everyone, runs.max_iter), n_clusters, rng)
    centers = found.centers[:1] + everyone.shift
    return float(_costs(problem, best_partitions(problem, centers, 1)[0]).max())
