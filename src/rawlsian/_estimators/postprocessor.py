"""RawlsianPostprocessor: the paper's system as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from rawlsian._core.checks import check_utility, warn_of_y
from rawlsian._core.parameters import (
    PoolingStrength,
    Seed,
    check_callback,
    check_max_iter,
    check_pooling,
    random_state_of,
    seed_where_unset,
)
from rawlsian._core.problem import MaxDistance, Problem, Utility
from rawlsian._core.sparse import as_given
from rawlsian._engines.engine import Engine
from rawlsian._engines.opening import open_to_fit
from rawlsian._estimators.centers import nearest_centers_of, score_of
from rawlsian._estimators.gap import (
    WhichBound,
    check_which_bound,
    forget_gap,
    optional_bound,
    set_gap,
)
from rawlsian._estimators.pooling_cv import choose_strength
from rawlsian._estimators.progress import Progress, check_verbose
from rawlsian._outofcore.problem import MAX_PASSES
from rawlsian._outofcore.walk import LEAST_PASSES, LargeTrajectory
from rawlsian._rows.blocks import Blocks
from rawlsian._support.callers import warn_caller
from rawlsian._support.interruption import call_partial, call_whole
from rawlsian.operators.compositions import get_operator
from rawlsian.operators.proposals import Operator
from rawlsian.operators.traversal import Trajectory


def _is_served_by_nearest(estimator: Any) -> bool:
    """Return True if new examples can be placed, else say why not."""
    if estimator.utility == "nearest":
        return True
    raise AttributeError(
        "with utility='assigned' labels do not follow from distances, so there is "
        "neither predict nor score; use utility='nearest'."
    )


class RawlsianPostprocessor(ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    """Cluster, then reassign examples for the sake of the worst-off group.

    Any clusterer finds the starting labels. An operator then reassigns examples step by
    step. Each step raises the lowest (pooled) group utility; when none does, it ends
    (Algorithm 1 of the paper). Utility is ``max_distance`` less the squared distance to
    the nearest mean, or to the mean of the cluster that an example is assigned to.

    Parameters
    ----------
    estimator : clusterer, default=None
        A scikit-learn clusterer, or a pipeline that ends in one; ``None`` means
        ``KMeans()`` with its default of 8 clusters. A copy is fitted.
    operator : str or object with ``generate``, default="rawls"
        "rawls" reaches furthest; "R1" and "R2" are the paper's; "R1+R2",
        "R2-exhaustive", "batch" and "relocate", or an operator of your own.
    utility : {"nearest", "assigned"}, default="nearest"
        The mean that serves an example. "nearest", the paper's wording: the operator's
        labels decide where the means are, and everyone is in the cluster of the nearest
        mean, so nobody is held in a cluster that serves them worse. ``predict`` places
        new examples by the same rule. "assigned": examples stay in the clusters that
        the operator put them in, nearest or not; there is no ``predict`` or ``score``.
        Data out of core needs "assigned".
    pooling : float or "cv", default=0.0
        Decide by pooled utilities, as in ``RawlsianKMeans``: the noise of small groups
        decides less. "cv" chooses the strength by the cost of people left out of fits
        with free centers, as ``fit_table`` does; 0, the default, is the paper's system.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit. "auto" is the squared diagonal of the bounding
        box of X; with ``UnitDistanceEncoder`` pass its ``max_distance_``. It shifts
        all utilities alike and changes no label.
    bound : "group", "proved" or None, default=None
        Bound to compare the result with: ``group_bound`` (best known) or
        ``proved_bound``. Either may take longer than the reassigning.
    max_iter : int, default=None
        Limit on the number of steps.
    max_passes : int, default=30
        Limit on the number of passes over out-of-core data.
    prefit : bool, default=False
        If True, ``estimator`` is fitted already. It labels X with ``predict`` if it has
        that, else with its ``labels_``, which must then belong to the same rows.
        ``clone``, as in a grid search, unfits it unless it is in a ``FrozenEstimator``.
    random_state : int, RandomState instance or None, default=None
        Seed for the copy of the estimator, wherever it has ``random_state=None``; it
        keeps a seed of its own. Also the seed of the search for the bound, of the folds
        of ``pooling="cv"``, and of the sample of out-of-core data. Reassigning is
        deterministic.
    callback : callable, default=None
        Called with a ``Step`` after each reassignment; out of core, with a ``PassStep``
        after each pass.
    verbose : int, default=0
        1 prints a line per stage, 2 also one per reassignment or pass.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each example after reassigning. If ``utility`` is "nearest",
        that of the nearest of ``cluster_centers_``, as in ``predict``.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters of ``trajectory_.labels``. These are ``labels_`` if
        ``utility`` is "assigned".
    groups_ : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    group_utilities_ : ndarray of shape (n_groups,)
        Mean utility of each group, in the order of ``groups_``, whatever the pooling.
    pooling_ : float
        The strength of pooling.
    pooling_cv_ : PoolingChoice
        With ``pooling="cv"`` and several groups: the held-out costs with every
        strength tried.
    utilitarian_labels_ : ndarray of shape (n_samples,)
        The labels that the estimator found, from which the traversal started. They are
        renumbered if the estimator left a cluster empty.
    trajectory_ : Trajectory or LargeTrajectory
        Every step from ``utilitarian_labels_`` on, and why it ended.
        ``trajectory_.labels``, the labels at its end, define the means.
    bound_ : Bound
        With a bound: the bound; ``bound_.is_proved`` is True if it is proved. With
        pooling, it bounds the largest pooled cost, and so do the next two.
    gap_closed_ : float
        With a bound: the gain in the lowest group utility over the start,
        ``utilitarian_labels_``, relative to the gain at the bound.
    proved_gap_ : float
        With the proved bound: no clustering has a largest mean cost that is lower by
        more than this, relative to the bound.
    proved_optimal_ : bool
        With the proved bound: True if ``proved_gap_`` is at most 1e-6.
    n_iter_ : int
        Number of searches for an operation. It is one more than
        ``trajectory_.n_iter``, the number of steps, if the last search found none.
    stop_reason_ : {"no_operation", "max_iter", "max_passes", "interrupted"}
        Why the reassigning ended, as in ``trajectory_.stop_reason``: no proposal of the
        operator raises the lowest utility; it reached the limit on steps or, out of
        core, on passes; or the user pressed Ctrl-C.
    estimator_ : clusterer
        The fitted estimator.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.

    See Also
    --------
    rawlsian.traverse : Starts from labels instead of a clusterer.

    Notes
    -----
    ``group_utilities_`` belong to ``cluster_centers_``. If ``utility`` is "nearest",
    the mean of the examples in a cluster of ``labels_`` need not be its center, so
    ``audit(X, labels_, ...)``, which recomputes the means, gives other figures;
    ``audit(X, trajectory_.labels, ..., utility="nearest")`` gives these.

    The bound holds with either utility: no centers, means or not, serve the worst-off
    group better.

    References
    ----------
    S. Simoes, Deepak P, M. MacCarthaigh, "Exploring Rawlsian Fairness for K-Means
    Clustering", 2022, arXiv:2205.02052.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from rawlsian import RawlsianPostprocessor, load_adult
    >>> adult = load_adult(sample=500, random_state=576)
    >>> kmeans = KMeans(5, random_state=0)
    >>> fair = RawlsianPostprocessor(kmeans, operator="R1", max_distance=8)
    >>> fair.fit(adult.data, sensitive_features=adult.sensitive_features).groups_
    array(['Female', 'Male'], dtype='<U6')
    >>> bool((fair.predict(adult.data) == fair.labels_).all())
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        operator: str | Operator = "rawls",
        utility: Utility = "nearest",
        pooling: PoolingStrength = 0.0,
        max_distance: MaxDistance = "auto",
        bound: WhichBound = None,
        max_iter: int | None = None,
        max_passes: int = MAX_PASSES,
        prefit: bool = False,
        random_state: Seed = None,
        callback: Callable[[Any], object] | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.operator = operator
        self.utility = utility
        self.pooling = pooling
        self.max_distance = max_distance
        self.bound = bound
        self.max_iter = max_iter
        self.max_passes = max_passes
        self.prefit = prefit
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find a clustering and make it better for the worst-off group.

        Parameters
        ----------
        X : array-like, sparse matrix or Blocks of shape (n_samples, n_features)
            The examples, as numbers. A sparse matrix is made dense to be reassigned,
            and refused if it has more than 2**26 numbers. With data out of core (see
            ``open_blocks``), Dask arrays and frames, the clusterer is fitted on a
            weighted sample and predicts the labels of all rows, and ``utility`` must
            be "assigned".
        y : ignored
            Present by scikit-learn's convention.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            The group of each example; several columns mean their intersections.
            ``None`` means one group: then the overall utility rises.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight w counts as w people who move together.

        Returns
        -------
        Self
            The fitted estimator itself.
        """
        operator, progress = self._check_parameters(), Progress.of(self)
        warn_of_y(y, sensitive_features)
        forget_gap(self)
        rows = open_to_fit(self, X)
        rows.check_bound(self.bound)
        least = LEAST_PASSES + 1  # one to predict
        rows.check_walk(operator, self.utility, self.max_passes, least)
        if not self.prefit:
            rows.check_clusterer(self._unfitted_estimator())
        engine = rows.with_groups(
            sensitive_features, sample_weight=sample_weight,
            max_distance=self.max_distance, utility=self.utility,
            max_passes=self.max_passes, callback=progress.watch(self.callback),
        )  # fmt: skip
        progress.opened(engine)
        self.estimator_ = call_whole(self._fitted_estimator, engine, y)
        progress.stage(f"clusters of {type(self.estimator_).__name__}")
        self.pooling_ = self._strength(engine.sampled)
        progress.pooled(self.pooling, self.pooling_)
        engine.pool(self.pooling_)
        call_partial(self._walk, engine, operator, progress)
        return self

    def _walk(self, engine: Engine, operator: Operator, progress: Progress) -> None:
        """Walk, and compare the end with a bound; Ctrl-C keeps what was reached."""
        self._set_fitted(
            engine.walk_from(self.estimator_, self.prefit, operator, self.max_iter)
        )
        progress.walked(self.trajectory_)
        if self.bound is not None and self.stop_reason_ != "interrupted":
            self._set_gap(engine.problem)
            progress.bounded(self)

    def _check_parameters(self) -> Operator:
        """Check the parameters, and return the operator."""
        check_utility(self.utility)
        check_pooling(self.pooling, allows_cv=True)
        check_which_bound(self.bound)
        check_max_iter(self.max_iter)
        check_callback(self.callback)
        check_verbose(self.verbose)
        self._check_estimator()
        return get_operator(self.operator)

    def _strength(self, problem: Problem) -> float:
        """Return the strength of pooling, chosen for as many clusters if it is "cv"."""
        if self.pooling != "cv":
            return float(self.pooling)
        labels = getattr(self.estimator_, "labels_", None)
        if labels is None:
            labels = self.estimator_.predict(as_given(problem.X))
        # Reassigning is deterministic, so the folds are, too, unless there is a seed.
        rng = random_state_of(0 if self.random_state is None else self.random_state)
        return choose_strength(self, problem, len(np.unique(labels)), rng)

    def _set_fitted(self, trajectory: Trajectory | LargeTrajectory) -> None:
        """Set the attributes that follow from the trajectory."""
        self.trajectory_ = trajectory
        self.utilitarian_labels_ = trajectory.start_labels
        self.labels_ = trajectory.labels
        if isinstance(trajectory, Trajectory):
            self.labels_ = trajectory.served_labels
        self.cluster_centers_ = trajectory.cluster_centers
        self.groups_ = trajectory.groups
        self.group_utilities_ = trajectory.utilities[-1]
        self.stop_reason_ = trajectory.stop_reason
        self.n_iter_ = trajectory.n_iter + (trajectory.stop_reason == "no_operation")
        if trajectory.stop_reason == "interrupted":
            warn_caller(
                f"Interrupted after {trajectory.n_iter} steps; labels_ are the best "
                "so far.",
                ConvergenceWarning,
            )

    @overload
    def predict(self, X: Blocks) -> Any: ...

    @overload
    def predict(self, X: ArrayLike) -> NDArray[np.int32]: ...

    @available_if(_is_served_by_nearest)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Return the nearest mean of each example; only if utility is "nearest".

        Parameters
        ----------
        X : array-like, sparse matrix or Blocks of shape (n_samples, n_features)
            Examples, seen in ``fit`` or not.

        Returns
        -------
        ndarray or Dask array of shape (n_samples,)
            The cluster of each example; of those seen in ``fit``, ``labels_``.
        """
        return nearest_centers_of(self, X)

    @available_if(_is_served_by_nearest)  # type: ignore[untyped-decorator]
    def score(
        self,
        X: Any,
        y: object = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return minus the largest mean squared distance of a group to its means.

        Only if utility is "nearest": the nearest mean counts.

        Parameters
        ----------
        X : array-like, sparse matrix or Blocks of shape (n_samples, n_features)
            Examples, seen in ``fit`` or not.
        y : ignored
            Present by scikit-learn's convention.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            The group of each example; ``None`` means one group.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of people that each example stands for.

        Returns
        -------
        float
            The score; higher is better.
        """
        return score_of(self, X, sensitive_features, sample_weight)

    def _set_gap(self, problem: Problem) -> None:
        """Set `bound_`, `gap_closed_` and `proved_gap_`, unless interrupted."""
        costs = problem.max_distance - self.trajectory_.utilities
        start, cost = (
            float(problem.pooled_means(costs[step]).max()) for step in (0, -1)
        )
        rng = random_state_of(self.random_state)
        with optional_bound():
            set_gap(self, problem, self.cluster_centers_, cost, start, rng)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that this estimator asks for and passes on."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.prefit:
            return router
        return router.add(
            estimator=self._unfitted_estimator(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        clusterer = get_tags(self._unfitted_estimator())
        tags.input_tags.sparse = clusterer.input_tags.sparse
        return tags

    def _unfitted_estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        kmeans = KMeans()
        if get_config()["enable_metadata_routing"]:
            kmeans.set_fit_request(sample_weight=True)
        return kmeans

    def _check_estimator(self) -> None:
        """Raise an error if the estimator is no clusterer, or not fitted if prefit."""
        if self.prefit:
            if self.estimator is None:
                raise ValueError(
                    "prefit=True needs a fitted estimator, but estimator is None; pass "
                    "the clusterer that you fitted."
                )
            check_is_fitted(self.estimator)
        elif not hasattr(self._unfitted_estimator(), "fit") or isinstance(
            self.estimator, type
        ):
            raise ValueError(
                f"estimator must be a clusterer such as KMeans(5), got "
                f"{self.estimator!r}."
            )

    def _fitted_estimator(self, engine: Engine, y: object) -> Any:
        """Return the prefit estimator, or a copy of the estimator fitted to X."""
        unfitted = self._unfitted_estimator()
        # A sample has weights of our own, which a user's metadata routing lacks.
        is_routed = get_config()["enable_metadata_routing"]
        takes_weights = self.prefit or (
            not is_routed and has_fit_parameter(unfitted, "sample_weight")
        )
        n_clusters = getattr(unfitted, "n_clusters", None) or 8
        rows = engine.training_rows(y, n_clusters, self.random_state, takes_weights)
        if self.prefit:
            return self.estimator
        estimator = clone(unfitted)
        if self.random_state is not None:
            seed_where_unset(estimator, self.random_state)
        params = self._fit_params(
            estimator, rows.sensitive_features, rows.sample_weight
        )
        return estimator.fit(rows.X, rows.y, **params)

    def _fit_params(
        self, estimator: Any, sensitive_features: Any, sample_weight: Any
    ) -> dict[str, Any]:
        """Return the clusterer's fit parameters: weights, or routed metadata."""
        given = {
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
        }
        given = {name: value for name, value in given.items() if value is not None}
        takes_weights = has_fit_parameter(estimator, "sample_weight")
        if get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, "fit", **given).estimator.fit)
        elif takes_weights and sample_weight is not None:
            params = {"sample_weight": sample_weight}
        else:
            params = {}
        if sample_weight is not None and not (
            takes_weights or "sample_weight" in params
        ):
            raise ValueError(
                f"sample_weight was given, but {type(estimator).__name__} cannot use "
                "weights; fit it yourself and pass it with prefit=True."
            )
        return params
