"""RawlsianKMeans: k-means for the worst-off group."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.parameters import Seed, check_count
from rawlsian._core.problem import MaxDistance
from rawlsian._engines.engine import Clusters, Engine
from rawlsian._engines.opening import open_to_fit
from rawlsian._estimators.centers import CentersEstimator
from rawlsian._estimators.gap import (
    WhichBound,
    check_which_bound,
    optional_bound,
    set_gap,
    utilitarian_cost,
)
from rawlsian._outofcore.problem import MAX_PASSES
from rawlsian._search.crossing import N_INIT, Callback, enough_crossings, search
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns, Solutions
from rawlsian._search.leximin import leximin_best

# Passes that a fit out of core needs: to check the rows, to draw the sample, to add up
# the clusters that were found, and to label all rows.
LEAST_PASSES = 4


class RawlsianKMeans(CentersEstimator):
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
        Limit on the number of passes over out-of-core data.
    random_state : int, RandomState, Generator or None, default=None
        Seed. The same seed gives the same centers on any number of threads.
    callback : callable, default=None
        Called with a ``SearchStep`` now and then: ``n_done``, ``n_runs`` and
        ``largest_cost``; out of core also with a ``PassStep`` after each pass.

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
        The bound that was asked for; ``bound_.is_proved`` says which it is.
    gap_closed_ : float
        If a bound was asked for: how much of the way from the lowest group utility of
        the best plain k-means found to the bound was gained. Below 0 where so short a
        search was asked for that it ends below that.
    proved_gap_ : float
        If the proved bound was asked for: no clustering has a largest mean cost that is
        lower by more than this, relative to the bound.
    inertia_ : float
        Sum of squared distances to the centers of the examples' clusters.
    n_iter_ : int
        Number of iterations of the best run with free centers.
    stop_reason_ : {"completed", "max_passes", "interrupted"}
        Why the search ended: there was no more to do; out of core, ``max_passes``
        passes were made; or the user pressed Ctrl-C.
    n_passes_ : int
        Out of core only: number of passes over all rows.
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
    For the partition that it ends with, free centers are the best to a relative 1e-8.
    That no other partition is better is not guaranteed: the problem is hard.
    With more than two groups the order is leximin: among the solutions found that are
    level for the worst-off group (to a relative 1e-9), the second worst-off decides,
    and so on; and for the partition it ends with no centers are better in that order.
    ``group_weights_`` are those of the worst-off groups' centers. With means, no single
    example can be moved so that the result is better in that order.
    Ctrl-C ends the search with the best so far.
    Out of core, the search runs on a weighted sample with as many rows of each
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
        random_state: Seed = None,
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

    def _open(self, X: Any, sensitive_features: Any, sample_weight: Any) -> Engine:
        rows = open_to_fit(self, X, takes_mapped=self.bound is None)
        rows.check_bound(self.bound)
        return rows.with_groups(
            sensitive_features, sample_weight=sample_weight,
            max_distance=self.max_distance, max_passes=self.max_passes,
            callback=self.callback,
        )  # fmt: skip

    def _search(
        self, engine: Engine, runs: FairRuns, rng: np.random.RandomState
    ) -> Clusters:
        best, is_interrupted = self._solutions(runs, rng)
        finish = engine.finish_free if self.centers == "free" else engine.finish_means
        found = finish(runs, best, is_interrupted)
        if self.bound is not None and found.stop_reason != "interrupted":
            with optional_bound():
                self._set_gap(engine, runs, found, best.group_weights[0], rng)
        return found

    def _solutions(
        self, runs: FairRuns, rng: np.random.RandomState
    ) -> tuple[Solutions, bool]:
        """Search, and return solutions, best first; True if it was interrupted."""
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

    def _set_gap(
        self, engine: Engine, runs: FairRuns, found: Clusters,
        lam: NDArray[np.float64], rng: np.random.RandomState,
    ) -> None:  # fmt: skip
        """Set `bound_`, `gap_closed_` and `proved_gap_`."""
        start = utilitarian_cost(runs, self.n_clusters, rng)
        cost = float(found.costs.max())
        set_gap(
            self, engine.problem, found.centers, cost, start, rng, group_weights=lam
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_crossings is not None:
            check_count(self.n_crossings, "n_crossings", least=0)
        if self.centers not in ("free", "mean"):
            raise ValueError(f"centers must be 'free' or 'mean', got {self.centers!r}.")
        check_count(self.max_passes, "max_passes", least=LEAST_PASSES)
        check_which_bound(self.bound)
