"""RawlsianKMeans: k-means for the worst-off group."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.parameters import PoolingStrength, Seed, check_count, check_pooling
from rawlsian._core.problem import MaxDistance, Problem
from rawlsian._engines.engine import Clusters, Engine
from rawlsian._engines.opening import open_to_fit
from rawlsian._estimators.centers import CentersEstimator
from rawlsian._estimators.gap import (
    WhichBound,
    check_which_bound,
    forget_gap,
    optional_bound,
    set_gap,
    utilitarian_cost,
)
from rawlsian._estimators.pooling_cv import (
    FINAL_EFFORT,
    Ends,
    can_choose,
    choose_strength,
    search_ends,
)
from rawlsian._estimators.progress import Progress
from rawlsian._outofcore.problem import MAX_PASSES
from rawlsian._search.crossing import Callback, TimeLimit, search
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns, Solutions
from rawlsian._search.leximin import leximin_best

# Passes that a fit out of core needs: to check the rows, to draw the sample, to add up
# the clusters that were found, and to label all rows.
LEAST_PASSES = 4


class RawlsianKMeans(CentersEstimator):
    """K-means for the worst-off group.

    Searches for centers that minimise the largest mean squared distance of a group.
    This maximises the lowest group utility. Runs of Fair-Lloyd from random starts are
    crossed with each other: the centers of two runs are combined into the start of the
    next.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    centers : {"free", "mean"}, default="free"
        "free": centers may lie anywhere, and each example is in the cluster of the
        nearest. "mean": centers are the means of their clusters, as in the paper; an
        example need not be in the cluster of the nearest center, but ``predict``
        returns the nearest. Means take longer, much longer with many rows.
    effort : float, default=1.0
        How long to search. Twice the effort means twice as many random starts, twice
        the patience with crossings that do not help, and twice as many rows in the
        sample that is searched.
    n_init : int or None, default=None
        Number of random starts; ``None`` means 64 times the effort, and fewer with more
        than 10 clusters: 640 / k, at least 16. If X has at most 2,000 rows, and at most
        35 % of its entries are not zero, as in one-hot rows, runs are cheap, and the
        effort is multiplied by 2 here and below.
    n_crossings : int or None, default=None
        Number of runs that start from centers of earlier ones. ``None`` means that the
        search ends when they no longer help: after 24 crossings per cluster, times the
        effort and fewer with more than 10 clusters, that together lowered the largest
        cost by less than a relative 1e-4.
    pooling : float or "cv", default="cv"
        Mix each group's cost with everyone's: the cost of a group of n people becomes
        ``n / (n + pooling)`` of its own mean cost and for the rest everyone's. A group
        of few people has a cost that is mostly noise, and centers fitted to noise serve
        new people worse. 0 is no pooling; infinity is k-means. "cv" chooses the
        strength with which the worst-off group is expected to be served best among
        people who are left out of the fit; that takes about twice as long.
    max_distance : "auto" or float, default="auto"
        Utility is this less the mean squared distance; it changes nothing else.
    bound : "group", "proved" or None, default=None
        Bound to compare the result with: ``group_bound`` (best known) or
        ``proved_bound``. Either takes longer than the search itself.
    max_iter : int, default=300
        Limit on the iterations of a run.
    max_time : float or None, default=None
        Limit on the seconds of the search. It ends after the batch of runs in which the
        time is up; choosing the pooling and finishing on all rows come on top. How far
        a search gets in a time depends on the machine, and so does its result.
    max_passes : int, default=30
        Limit on the number of passes over out-of-core data.
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same seed gives the same centers on any number of threads.
    callback : callable, default=None
        Called with a ``SearchStep`` now and then: ``n_done``, ``n_runs`` and
        ``largest_cost``; out of core also with a ``PassStep`` after each pass.
    verbose : int, default=0
        1 prints a line per stage, 2 also one per batch of runs or pass.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each example; with free centers, the nearest. A Dask array if X
        is one.
    groups_ : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    group_costs_, group_utilities_ : ndarray of shape (n_groups,)
        Mean squared distance of each group to the centers of its examples' clusters,
        and ``max_distance`` less that, whatever the pooling.
    pooled_costs_ : ndarray of shape (n_groups,)
        ``group_costs_``, pooled: the largest of these is what the search minimises.
    pooling_ : float
        The strength of pooling.
    pooling_cv_ : PoolingChoice
        With ``pooling="cv"`` and several groups: the held-out costs with every
        strength tried.
    group_weights_ : ndarray of shape (n_groups,)
        With free centers only. Lambda: how much each group weighs in the centers; it
        sums to 1. A group whose cost is below the largest has next to no weight.
    bound_ : Bound
        With a bound: the bound; ``bound_.is_proved`` is True if it is proved. With
        pooling, it bounds the largest of ``pooled_costs_``, and so do the next two.
    gap_closed_ : float
        With a bound: the gain in the lowest group utility over the start, relative to
        the gain at the bound. The start is the best plain k-means found; after a very
        short search the result can be worse, and this negative.
    proved_gap_ : float
        With the proved bound: no clustering has a largest mean cost that is lower by
        more than this, relative to the bound.
    proved_optimal_ : bool
        With the proved bound: True if ``proved_gap_`` is at most 1e-6.
    inertia_ : float
        Sum of squared distances to the centers of the examples' clusters.
    n_iter_ : int
        Number of iterations of the best run with free centers.
    stop_reason_ : {"completed", "max_time", "max_passes", "interrupted"}
        Why the search ended: it was complete; it reached ``max_time`` or, out of core,
        ``max_passes``; or the user pressed Ctrl-C.
    n_passes_ : int
        Out of core only: number of passes over all rows.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.

    See Also
    --------
    FairLloyd : Independent starts only, as published.
    RawlsianPostprocessor : Centers are means, and labels need not be nearest.

    Notes
    -----
    Free centers are optimal for the final partition, to a relative 1e-8. The problem is
    hard: there is no guarantee that no other partition is better.

    With more than two groups the order is leximin: among solutions that are equal for
    the worst-off group (to a relative 1e-9), the second worst-off decides, and so on.
    No other centers of the final partition are better in that order.
    ``group_weights_`` belong to the centers that are best for the worst-off groups.
    With means, the best partitions of fair and plain runs are improved, and the
    operator "rawls" walks on from the best of them; no move of a single example makes
    the result better in that order.

    Ctrl-C ends the search with the best solution so far; while the pooling is chosen,
    it stops the fit.

    With more than 10,000 rows in memory (and more than 200 per cluster, both times the
    effort) the search runs on a sample of so many, weighted, with equally many rows of
    each group. With more than 200 dense columns the first number falls, to 5,000 from
    800 on. The eight best solutions then run on all rows, and the best of them until an
    iteration lowers the largest cost by less than a relative 1e-7. So the time of the
    search does not grow with the number of rows.

    Rows with more than a third of their entries not zero are compared with centers by
    matrix products, other rows by their entries.

    Out of core, the search runs on a weighted sample with equally many rows of each
    group, and all rows of small groups. The best solutions are then finished on all
    rows: free centers by fair and nearest centers in turn, means by the batch operator,
    until a pass lowers the largest cost by less than a millionth. Block size and number
    of workers do not change the result.

    References
    ----------
    M. Ghadiri, S. Samadi, S. Vempala, "Socially Fair k-Means Clustering", 2021,
    arXiv:2006.10085. D. Gribel, T. Vidal, "HG-means: A scalable hybrid genetic
    algorithm for minimum sum-of-squares clustering", 2019, arXiv:1804.09813.

    Examples
    --------
    >>> from rawlsian import RawlsianKMeans, load_adult
    >>> adult = load_adult(sample=500, random_state=576)
    >>> fair = RawlsianKMeans(5, pooling=0, random_state=0)
    >>> fair = fair.set_params(max_distance=adult.max_distance)
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
        effort: float = 1.0,
        n_init: int | None = None,
        n_crossings: int | None = None,
        pooling: PoolingStrength = "cv",
        max_distance: MaxDistance = "auto",
        bound: WhichBound = None,
        max_iter: int = MAX_ITER,
        max_time: float | None = None,
        max_passes: int = MAX_PASSES,
        random_state: Seed = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.centers = centers
        self.effort = effort
        self.n_init = n_init
        self.n_crossings = n_crossings
        self.pooling = pooling
        self.max_distance = max_distance
        self.bound = bound
        self.max_iter = max_iter
        self.max_time = max_time
        self.max_passes = max_passes
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _open(self, X: Any, sensitive_features: Any, sample_weight: Any) -> Engine:
        rows = open_to_fit(self, X, takes_mapped=self.bound is None)
        rows.check_bound(self.bound)
        if self.centers == "mean":
            rows.check_means()
        return rows.with_groups(
            sensitive_features, sample_weight=sample_weight,
            max_distance=self.max_distance, max_passes=self.max_passes,
            callback=Progress.of(self).watch(self.callback),
        )  # fmt: skip

    def _set_fitted(self, engine: Engine, found: Clusters) -> None:
        super()._set_fitted(engine, found)
        self.pooled_costs_ = engine.known.pooled_means(found.costs)

    def _search(self, engine: Engine, rng: np.random.RandomState) -> Clusters:
        searched = engine.to_search(self.n_clusters, rng, self.effort)
        forget_gap(self)
        time_limit = TimeLimit.after(self.max_time)
        ends = self._pool(engine, searched, rng, time_limit)
        runs = FairRuns(searched.pooled(self.pooling_), self.max_iter)
        best, is_interrupted = self._solutions(runs, ends, rng, time_limit)
        finish = engine.finish_free if self.centers == "free" else engine.finish_means
        found = finish(runs, best, is_interrupted)
        if found.stop_reason == "completed" and time_limit.ended_a_search:
            found = found._replace(stop_reason="max_time")
        if self.bound is not None and found.stop_reason != "interrupted":
            with optional_bound():
                self._set_gap(engine, found, best.group_weights[0], rng)
        return found

    def _pool(
        self,
        engine: Engine,
        searched: Problem,
        rng: np.random.RandomState,
        time_limit: TimeLimit,
    ) -> Ends | None:
        """Set `pooling_`; if it is chosen, return the ends that were searched."""
        ends = None
        if self.pooling != "cv":
            self.pooling_ = float(self.pooling)
        else:
            if can_choose(searched, self.n_clusters):
                ends = search_ends(
                    FairRuns(searched, self.max_iter), self.n_clusters, rng,
                    self.effort, time_limit, n_init=self.n_init,
                    n_crossings=self.n_crossings,
                    callback=Progress.of(self).watch(self.callback),
                )  # fmt: skip
            self.pooling_ = choose_strength(self, searched, self.n_clusters, rng, ends)
        Progress.of(self).pooled(self.pooling, self.pooling_)
        engine.pool(self.pooling_)
        return ends

    def _solutions(
        self,
        runs: FairRuns,
        ends: Ends | None,
        rng: np.random.RandomState,
        time_limit: TimeLimit,
    ) -> tuple[Solutions, bool]:
        """Search; return the solutions, best first, and is_interrupted."""
        progress = Progress.of(self)
        n_init, seeds, effort = self.n_init, None, self.effort
        if ends is not None:
            n_init, seeds, effort = 0, ends.centers(), FINAL_EFFORT * effort
        best, is_interrupted = search(
            runs, self.n_clusters, rng=rng, n_init=n_init,
            n_crossings=self.n_crossings, effort=effort, seeds=seeds,
            time_limit=time_limit, callback=progress.watch(self.callback),
        )  # fmt: skip
        progress.stage(f"search: largest cost {best.objectives[0]:.6g}")
        if runs.problem.n_groups > 2 and not is_interrupted:
            best = leximin_best(runs, best)
        return best, is_interrupted

    def _set_gap(
        self, engine: Engine, found: Clusters, lam: NDArray[np.float64],
        rng: np.random.RandomState,
    ) -> None:  # fmt: skip
        """Set `bound_`, `gap_closed_` and `proved_gap_`."""
        whole = replace(engine.problem, max_distance=0.0)
        start = utilitarian_cost(whole, self.max_iter, self.n_clusters, rng)
        cost = float(engine.problem.pooled_means(found.costs).max())
        set_gap(
            self, engine.problem, found.centers, cost, start, rng, group_weights=lam
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_init is not None:
            check_count(self.n_init, "n_init")
        if self.n_crossings is not None:
            check_count(self.n_crossings, "n_crossings", least=0)
        check_effort(self.effort)
        check_max_time(self.max_time)
        if self.centers not in ("free", "mean"):
            raise ValueError(f"centers must be 'free' or 'mean', got {self.centers!r}.")
        check_count(self.max_passes, "max_passes", least=LEAST_PASSES)
        check_pooling(self.pooling, allows_cv=True)
        check_which_bound(self.bound)


def check_effort(effort: object) -> None:
    """Raise ValueError unless effort is a finite number above 0."""
    if not isinstance(effort, Real) or not 0 < float(effort) < np.inf:
        raise ValueError(
            f"effort must be a number above 0, got {effort!r}; 1 is the default, and a "
            "search with 4 is four times as long."
        )


def check_max_time(max_time: object) -> None:
    """Raise ValueError unless max_time is None or a number above 0."""
    if max_time is None:
        return
    is_number = isinstance(max_time, Real) and not isinstance(max_time, bool)
    if not is_number or not float(max_time) > 0:  # type: ignore[arg-type]
        raise ValueError(
            f"max_time must be a number of seconds above 0 or None, got {max_time!r}."
        )
