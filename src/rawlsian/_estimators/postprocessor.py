"""The paper's system as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from rawlsian._core.parameters import random_state_of
from rawlsian._core.problem import (
    MaxDistance,
    Problem,
    check_weights,
    clear_errors_of_x,
    warn_of_y,
)
from rawlsian._estimators.gap import WhichBound, check_which_bound, forget_gap, tell_gap
from rawlsian._estimators.traverse import traverse
from rawlsian._outofcore.problem import MAX_PASSES, LargeProblem, check_no_gap
from rawlsian._outofcore.walk import LEAST_PASSES, check_walk, walk_on
from rawlsian._rows.blocks import Blocks
from rawlsian._rows.executors import Column
from rawlsian._rows.features import set_features
from rawlsian._rows.opening import as_blocks
from rawlsian.operators.compositions import get_operator
from rawlsian.operators.proposals import Operator


class RawlsianPostprocessor(ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    """Cluster, then reassign examples for the sake of the worst-off group.

    Any clusterer finds the starting labels. An operator then reassigns examples, step
    by step, each step raising the lowest group utility, until none does (Algorithm 1
    of the paper). Utility is ``max_distance`` less the squared distance to the mean of
    the cluster that an example is assigned to, which need not be the nearest.

    Parameters
    ----------
    estimator : clusterer, default=None
        A scikit-learn clusterer, or a pipeline that ends in one; ``None`` means
        ``KMeans()`` with its default of 8 clusters. A copy is fitted.
    operator : str or object with ``generate``, default="rawls"
        "rawls" reaches furthest; "R1" and "R2" are the paper's; "R1+R2",
        "R2-exhaustive", "batch" and "relocate", or an operator of your own.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit. "auto" is the squared diagonal of the bounding
        box of X; with ``UnitDistanceEncoder`` pass its ``max_distance_``. It shifts
        all utilities alike and changes no label.
    bound : "group", "proved" or None, default=None
        With which bound the result is compared: that of ``group_bound``, best known, or
        that of ``proved_bound``. Either may take longer than the reassigning.
    max_iter : int, default=None
        Limit on the number of steps.
    max_passes : int, default=30
        How many times rows in blocks are gone over at most.
    prefit : bool, default=False
        Take ``estimator`` as already fitted. It labels X with ``predict`` if it has
        that, else with its ``labels_``, which must then belong to the same rows.
        ``clone`` unfits it, as in a grid search, unless it is in a ``FrozenEstimator``.
    random_state : int, RandomState instance or None, default=None
        Seed for the copy of the estimator, wherever it has ``random_state=None``; a
        seed of its own is kept. Also the seed of the search for the bound, and of the
        sample of rows in blocks. Reassigning is deterministic.
    callback : callable, default=None
        Called with a ``Step`` after each reassignment; for rows in blocks, with a
        ``PassStep`` after each pass.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each example after reassigning.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    groups_ : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    group_utilities_ : ndarray of shape (n_groups,)
        Mean utility of each group, in that order.
    utilitarian_labels_ : ndarray of shape (n_samples,)
        The labels that the estimator found, where the traversal started. They are
        renumbered if the estimator left a cluster empty.
    trajectory_ : Trajectory or LargeTrajectory
        Every step from there to ``labels_``, and why it ended.
    bound_ : Bound
        The bound that was asked for; ``bound_.is_proved`` tells which it is.
    gap_closed_ : float
        If a bound was asked for: which share of the way from the lowest group utility
        at the start, with ``utilitarian_labels_``, to the bound is gone.
    proved_gap_ : float
        If the proved bound was asked for: no clustering has a largest mean cost that is
        lower by more than this share of the bound.
    n_iter_ : int
        Number of times that operations were searched. It is one more than
        ``trajectory_.n_iter``, the number of steps, if the last search found none.
    estimator_ : clusterer
        The fitted estimator.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had any.

    See Also
    --------
    rawlsian.traverse : The same for labels that are there already.

    Notes
    -----
    There is no ``predict``: the labels of the examples seen in ``fit`` are not a
    function of their distances alone, so that they say nothing about new ones.

    References
    ----------
    S. Simoes, Deepak P, M. MacCarthaigh, "Exploring Rawlsian Fairness for K-Means
    Clustering", 2022, arXiv:2205.02052.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from rawlsian import RawlsianPostprocessor, load_adult
    >>> adult = load_adult(sample=500, random_state=576)
    >>> fair = RawlsianPostprocessor(KMeans(5, random_state=0), max_distance=8)
    >>> fair.fit(adult.data, sensitive_features=adult.sensitive_features).groups_
    array(['Female', 'Male'], dtype='<U6')
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        operator: str | Operator = "rawls",
        max_distance: MaxDistance = "auto",
        bound: WhichBound = None,
        max_iter: int | None = None,
        max_passes: int = MAX_PASSES,
        prefit: bool = False,
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
    ) -> None:
        self.estimator = estimator
        self.operator = operator
        self.max_distance = max_distance
        self.bound = bound
        self.max_iter = max_iter
        self.max_passes = max_passes
        self.prefit = prefit
        self.random_state = random_state
        self.callback = callback

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> RawlsianPostprocessor:
        """Find a clustering and make it better for the worst-off group.

        Parameters
        ----------
        X : array-like or Blocks of shape (n_samples, n_features)
            The examples: dense and numeric. Of rows in blocks (see ``open_blocks``),
            Dask arrays and frames, the clusterer sees a weighted sample, and all rows
            in its ``predict``.
        y : ignored
            Here for the sake of scikit-learn's conventions.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            The group of each example; several columns mean their intersections.
            ``None`` means one group: then everyone is worst off, and the overall
            utility is what rises.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight w counts as w people who move together.

        Returns
        -------
        RawlsianPostprocessor
            The fitted estimator itself.
        """
        check_which_bound(self.bound)
        forget_gap(self)
        warn_of_y(y, sensitive_features)
        blocks = as_blocks(X)
        if blocks is not None:
            return self._fit_blocks(blocks, sensitive_features, sample_weight)
        with clear_errors_of_x(X):
            checked = validate_data(
                self, X, dtype=np.float64, order="C", ensure_min_samples=2
            )
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(checked))
        # The clusterer gets X as it came, so that it sees the names of its columns.
        self.estimator_ = self._fitted_estimator(
            X, y, sensitive_features, sample_weight
        )
        self.utilitarian_labels_ = self._starting_labels(X, len(checked))
        self.trajectory_ = traverse(
            checked,
            self.utilitarian_labels_,
            sensitive_features,
            operator=self.operator,
            sample_weight=sample_weight,
            max_distance=self.max_distance,
            max_iter=self.max_iter,
            callback=self.callback,
        )
        self._tell()
        if self.bound is not None and self.trajectory_.stop_reason != "interrupted":
            self._tell_gap(checked, sensitive_features, sample_weight)
        return self

    def _tell(self) -> None:
        """Set what follows from the trajectory."""
        trajectory = self.trajectory_
        self.labels_ = trajectory.labels
        self.cluster_centers_ = trajectory.cluster_centers
        self.groups_ = trajectory.groups
        self.group_utilities_ = trajectory.utilities[-1]
        self.n_iter_ = trajectory.n_iter + (trajectory.stop_reason == "no_operation")
        if trajectory.stop_reason == "interrupted":
            warnings.warn(
                f"Interrupted after {trajectory.n_iter} steps; labels_ are those "
                "reached so far.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fit_blocks(
        self, blocks: Blocks, sensitive_features: Any, sample_weight: Any
    ) -> RawlsianPostprocessor:
        """Cluster a sample, label all rows, and walk from there."""
        if self.bound is not None:
            raise ValueError(
                f"bound={self.bound!r} takes rows in memory, but X is in blocks; give "
                "bound=None, and ask group_bound for that of some of the rows."
            )
        if not self.prefit and not hasattr(self._unfitted_estimator(), "predict"):
            raise ValueError(
                f"{type(self.estimator).__name__} has no predict, so that it cannot "
                "label rows in blocks that it was not fitted on; use a clusterer such "
                "as KMeans."
            )
        operator = get_operator(self.operator)
        check_walk(operator, self.max_passes, LEAST_PASSES + 1)  # one to predict
        large = LargeProblem.of(
            blocks, sensitive_features, sample_weight=sample_weight,
            max_distance=self.max_distance, max_passes=self.max_passes,
            callback=self.callback,
        )  # fmt: skip
        # Without a seed always the same sample, as walking is deterministic.
        rng = random_state_of(0 if self.random_state is None else self.random_state)
        n_clusters = getattr(self._unfitted_estimator(), "n_clusters", None) or 8
        sample = large.sample(n_clusters, rng)
        self.estimator_ = self._fitted_to_sample(sample.problem, large.group_names, rng)
        labels, members = self._labels_of_blocks(large)
        check_no_gap(members)
        self.trajectory_ = walk_on(
            large, sample, labels, len(members), operator, self.max_iter
        )
        self.utilitarian_labels_ = self.trajectory_.start_labels
        set_features(self, blocks)
        self._tell()
        return self

    def _fitted_to_sample(
        self, sample: Problem, names: NDArray[Any], rng: np.random.RandomState
    ) -> Any:
        """The estimator, fitted to weighted rows, or to rows drawn by their weights."""
        X, groups = sample.X, names[sample.groups]
        estimator = self._unfitted_estimator()
        # The weights are ours, which a user who routes metadata did not ask for.
        is_routed = get_config()["enable_metadata_routing"]
        takes_weights = has_fit_parameter(estimator, "sample_weight")
        if self.prefit or (takes_weights and not is_routed):
            return self._fitted_estimator(X, None, groups, sample.weights)
        share = sample.weights / sample.weights.sum()
        rows = rng.choice(len(X), len(X), p=share)
        return self._fitted_estimator(X[rows], None, groups[rows], None)

    def _labels_of_blocks(
        self, large: LargeProblem
    ) -> tuple[Column, NDArray[np.int64]]:
        """Labels of all rows by the estimator, and how many rows each cluster has."""
        estimator = self.estimator_
        if hasattr(estimator, "predict"):
            return large.predicted_labels(estimator)
        return large.given_labels(estimator.labels_)

    def _tell_gap(self, X: Any, sensitive_features: Any, sample_weight: Any) -> None:
        """Tell how much of what could be gained was gained, unless interrupted."""
        problem = Problem.from_arrays(
            X, sensitive_features, sample_weight=sample_weight,
            max_distance=self.max_distance,
        )  # fmt: skip
        start, cost = (
            problem.max_distance - float(self.trajectory_.utilities[step].min())
            for step in (0, -1)
        )
        rng = random_state_of(self.random_state)
        try:
            tell_gap(self, problem, self.cluster_centers_, cost, start, rng)
        except KeyboardInterrupt:
            warnings.warn(
                "Interrupted; there is no bound_, but labels_ are final.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def get_metadata_routing(self) -> MetadataRouter:
        """What this estimator asks for itself, and passes on to the clusterer."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.prefit:
            return router
        return router.add(
            estimator=self._unfitted_estimator(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def _unfitted_estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        kmeans = KMeans()
        if get_config()["enable_metadata_routing"]:
            kmeans.set_fit_request(sample_weight=True)
        return kmeans

    def _fitted_estimator(
        self, X: Any, y: object, sensitive_features: Any, sample_weight: Any
    ) -> Any:
        """The prefit estimator, or a copy of the estimator fitted to X."""
        if self.prefit:
            if self.estimator is None:
                raise ValueError(
                    "prefit=True needs a fitted estimator, but estimator is None; pass "
                    "the clusterer that you fitted."
                )
            check_is_fitted(self.estimator)
            return self.estimator
        if not hasattr(self._unfitted_estimator(), "fit") or isinstance(
            self.estimator, type
        ):
            raise ValueError(
                f"estimator must be a clusterer such as KMeans(5), got "
                f"{self.estimator!r}."
            )
        estimator = clone(self._unfitted_estimator())
        if self.random_state is not None:
            _seed(estimator, self.random_state)
        params = self._fit_params(estimator, sensitive_features, sample_weight)
        return estimator.fit(X, y, **params)

    def _fit_params(
        self, estimator: Any, sensitive_features: Any, sample_weight: Any
    ) -> dict[str, Any]:
        """What the clusterer gets besides X: weights, or what routing says."""
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

    def _starting_labels(self, X: Any, n_samples: int) -> NDArray[np.int32]:
        """Labels of X by the estimator: one a row, no noise, numbered without gaps."""
        estimator, name = self.estimator_, type(self.estimator_).__name__
        has_labels, can_predict = (
            hasattr(estimator, attribute) for attribute in ("labels_", "predict")
        )
        if not has_labels and not can_predict:
            raise ValueError(
                f"{name} has neither labels_ nor predict, so it gives no clusters; use "
                "a clusterer such as KMeans."
            )
        if can_predict and (self.prefit or not has_labels):
            labels = np.asarray(estimator.predict(X))
        else:
            labels = np.asarray(estimator.labels_)
        if len(labels) != n_samples:
            raise ValueError(
                f"the {name} has labels for {len(labels)} rows and cannot predict, but "
                f"X has {n_samples} rows; pass the rows it was fitted on."
            )
        if labels.min() < 0:
            raise ValueError(
                f"{name} left {(labels < 0).sum()} of {n_samples} rows as noise; use a "
                "clusterer that gives every row a cluster, or drop these rows."
            )
        return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _seed(estimator: Any, random_state: Any) -> None:
    """Seed the estimator and what it holds, where they have no seed of their own."""
    unset = {
        name: random_state
        for name, value in estimator.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    estimator.set_params(**unset)
