"""FairLloyd, the published baseline."""

from __future__ import annotations

from typing import Any

import numpy as np

from rawlsian._core.parameters import Seed, check_count
from rawlsian._core.problem import MaxDistance
from rawlsian._engines.engine import Clusters, Engine
from rawlsian._engines.opening import open_to_fit
from rawlsian._estimators.centers import CentersEstimator
from rawlsian._estimators.progress import Progress
from rawlsian._rows.opening import refuse_blocks
from rawlsian._search.crossing import Callback, search
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns


class FairLloyd(CentersEstimator):
    """Fair-Lloyd: socially fair k-means from independent random starts.

    Each run alternates nearest centers and fair centers until no example changes its
    cluster [1]_. Fair centers minimise the largest mean squared distance of a group for
    the partition: they are the means in which an example of group g counts
    lambda_g / N_g, with one lambda on the simplex for all clusters. The best run is the
    one with the lowest largest cost.

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
    verbose : int, default=0
        1 prints a line per stage, 2 also one per batch of runs.

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
    stop_reason_ : {"completed", "interrupted"}
        Why the search ended: all runs were done, or the user pressed Ctrl-C.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.

    See Also
    --------
    RawlsianKMeans : Crosses these runs with each other, and finds better centers.

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
        random_state: Seed = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_distance = max_distance
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _open(self, X: Any, sensitive_features: Any, sample_weight: Any) -> Engine:
        refuse_blocks(
            X, "FairLloyd", "use RawlsianKMeans, or give a sample as an array"
        )
        return open_to_fit(self, X).with_groups(
            sensitive_features, sample_weight=sample_weight,
            max_distance=self.max_distance,
        )  # fmt: skip

    def _search(self, engine: Engine, rng: np.random.RandomState) -> Clusters:
        runs = FairRuns(engine.to_search(self.n_clusters, rng), self.max_iter)
        progress = Progress.of(self)
        progress.stage(f"search: {self.n_init} runs")
        best, is_interrupted = search(
            runs, self.n_clusters, n_init=self.n_init, n_crossings=0, rng=rng,
            callback=progress.watch(self.callback),
        )  # fmt: skip
        return engine.finish_free(runs, best, is_interrupted)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count(self.n_init, "n_init")
