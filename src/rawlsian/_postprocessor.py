"""The paper's system as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.cluster import KMeans
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from rawlsian._problem import MaxDistance, check_weights
from rawlsian._traverse import traverse
from rawlsian.operators import Operator


class RawlsianPostprocessor(ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    """Cluster, then reassign examples for the sake of the worst-off group.

    Any clusterer finds the starting labels. An operator then reassigns examples, step
    by step, each step raising the lowest group utility, until none does (Algorithm 1
    of the paper). Utility is ``max_distance`` less the squared distance to the mean of
    the cluster that an example is assigned to, which need not be the nearest.

    Parameters
    ----------
    estimator : clusterer, default=None
        A scikit-learn clusterer; ``None`` means ``KMeans()`` with its default of 8
        clusters. A copy is fitted.
    operator : str or object with ``generate``, default="R2"
        "R1", "R2", "R1+R2", "R2-exhaustive", or an operator of your own.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit. "auto" is the squared diagonal of the bounding
        box of X; with ``UnitDistanceEncoder`` pass its ``max_distance_``. It shifts
        all utilities alike and changes no label.
    max_iter : int, default=None
        Limit on the number of steps.
    prefit : bool, default=False
        Take ``estimator`` as already fitted. It labels X with ``predict`` if it has
        that, else with its ``labels_``, which must then belong to the same rows.
    random_state : int, RandomState instance or None, default=None
        Seed for the copy of the estimator, wherever it has ``random_state=None``; a
        seed of its own is kept. Reassigning is deterministic.

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
    trajectory_ : Trajectory
        Every step from there to ``labels_``, and why it ended.
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
        operator: str | Operator = "R2",
        max_distance: MaxDistance = "auto",
        max_iter: int | None = None,
        prefit: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.operator = operator
        self.max_distance = max_distance
        self.max_iter = max_iter
        self.prefit = prefit
        self.random_state = random_state

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
        X : array-like of shape (n_samples, n_features)
            The examples: dense and numeric.
        y : ignored
            Here for the sake of scikit-learn's conventions.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            The group of each example; several columns mean their intersections.
            ``None`` means one group, so that the worst-off group is everyone.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight w counts as w people who move together.

        Returns
        -------
        RawlsianPostprocessor
            The fitted estimator itself.
        """
        X = validate_data(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(X))
        self.estimator_ = self._fitted_estimator(X, sample_weight)
        self.utilitarian_labels_ = self._starting_labels(X)
        self.trajectory_ = traverse(
            X,
            self.utilitarian_labels_,
            sensitive_features,
            operator=self.operator,
            sample_weight=sample_weight,
            max_distance=self.max_distance,
            max_iter=self.max_iter,
        )
        self.labels_ = self.trajectory_.labels
        self.cluster_centers_ = self.trajectory_.cluster_centers
        self.groups_ = self.trajectory_.groups
        self.group_utilities_ = self.trajectory_.utilities[-1]
        self.n_iter_ = self.trajectory_.n_iter + (
            self.trajectory_.stop_reason == "no_operation"
        )
        return self

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
        self, X: NDArray[np.float64], sample_weight: NDArray[np.float64] | None
    ) -> Any:
        if self.prefit:
            if self.estimator is None:
                raise ValueError(
                    "prefit=True needs a fitted estimator, but estimator is None; pass "
                    "the clusterer that you fitted."
                )
            check_is_fitted(self.estimator)
            return self.estimator
        estimator = clone(self._unfitted_estimator())
        if self.random_state is not None:
            _seed(estimator, self.random_state)
        return estimator.fit(X, **self._fit_params(estimator, sample_weight))

    def _fit_params(
        self, estimator: Any, sample_weight: NDArray[np.float64] | None
    ) -> dict[str, Any]:
        """Weights for the clusterer, by metadata routing where that is on."""
        if sample_weight is None:
            return {}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight)
            return dict(routed.estimator.fit)
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"sample_weight was given, but {type(estimator).__name__} cannot use "
                "weights; fit it yourself and pass it with prefit=True."
            )
        return {"sample_weight": sample_weight}

    def _starting_labels(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Labels of X by the estimator: one a row, no noise, numbered without gaps."""
        estimator, name = self.estimator_, type(self.estimator_).__name__
        if self.prefit and hasattr(estimator, "predict"):
            labels = np.asarray(estimator.predict(X))
        else:
            labels = np.asarray(estimator.labels_)
        if len(labels) != len(X):
            raise ValueError(
                f"the prefit {name} has labels for {len(labels)} rows and cannot "
                f"predict, but X has {len(X)} rows; pass the rows it was fitted on."
            )
        if labels.min() < 0:
            raise ValueError(
                f"{name} left {(labels < 0).sum()} of {len(X)} rows as noise; use a "
                "clusterer that gives every row a cluster, or drop these rows."
            )
        return np.unique(labels, return_inverse=True)[1]


def _seed(estimator: Any, random_state: Any) -> None:
    """Seed the estimator and what it holds, where they have no seed of their own."""
    unset = {
        name: random_state
        for name, value in estimator.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    estimator.set_params(**unset)
