"""Base class of RawlsianKMeans and FairLloyd: everything but the search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning

from rawlsian._core.checks import warn_of_y
from rawlsian._core.parameters import (
    Seed,
    check_callback,
    check_count,
    random_state_of,
)
from rawlsian._core.problem import MaxDistance
from rawlsian._engines.engine import Clusters, Engine
from rawlsian._engines.opening import open_new
from rawlsian._estimators.progress import Progress, check_verbose
from rawlsian._rows.blocks import Blocks
from rawlsian._search.crossing import Callback
from rawlsian._support.callers import warn_caller
from rawlsian._support.interruption import call_partial


def nearest_centers_of(estimator: Any, X: Any) -> Any:
    """Return the nearest of a fitted estimator's centers for each example."""
    return open_new(estimator, X).nearest(estimator.cluster_centers_)


def score_of(
    estimator: Any, X: Any, sensitive_features: Any, sample_weight: ArrayLike | None
) -> float:
    """Return minus the largest mean squared distance of a group to its centers."""
    engine = open_new(estimator, X, least_rows=2).with_groups(
        sensitive_features, sample_weight=sample_weight
    )
    return -float(engine.nearest_costs(estimator.cluster_centers_).max())


class CentersEstimator(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator, ABC
):
    """Estimator with centers; its subclasses search for them."""

    n_clusters: int
    max_distance: MaxDistance
    max_iter: int
    random_state: Seed
    callback: Callback | None
    verbose: int

    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find centers that minimise the largest mean squared distance of a group.

        Parameters
        ----------
        X : array-like, sparse matrix or Blocks of shape (n_samples, n_features)
            The examples, as numbers. Sparse matrices stay sparse with free centers.
            ``RawlsianKMeans`` also takes data out of core (see ``open_blocks``), large
            ``numpy.memmap`` and Dask arrays and frames, and searches a sample of them.
        y : ignored
            Present by scikit-learn's convention.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
            The group of each example; several columns mean their intersections.
            ``None`` means one group, which is k-means.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight w counts as w people.

        Returns
        -------
        Self
            The fitted estimator itself.
        """
        self._check_parameters()
        warn_of_y(y, sensitive_features)
        engine = self._open(X, sensitive_features, sample_weight)
        call_partial(self._fit_engine, engine)
        if self.stop_reason_ == "interrupted":
            warn_caller(
                "Interrupted; the clusters are the best found so far.",
                ConvergenceWarning,
            )
        return self

    def _fit_engine(self, engine: Engine) -> Self:
        """Fit checked rows, in memory or out of core."""
        progress = Progress.of(self)
        progress.opened(engine)
        rng = random_state_of(self.random_state)
        found = self._search(engine, rng)
        self._set_fitted(engine, found)
        progress.stage(
            f"{self.stop_reason_}: largest cost {found.costs.max():.6g} of "
            f"{self.groups_.tolist()[int(found.costs.argmax())]}"
        )
        progress.bounded(self)
        return self

    def _set_fitted(self, engine: Engine, found: Clusters) -> None:
        """Set the fitted attributes."""
        self.groups_ = engine.known.group_names
        self.labels_, self.cluster_centers_ = found.labels, found.centers
        self.group_costs_, self.inertia_ = found.costs, found.inertia
        self.group_utilities_ = engine.known.max_distance - found.costs
        self.n_iter_, self.stop_reason_ = found.n_iter, found.stop_reason
        if found.group_weights is not None:
            self.group_weights_ = found.group_weights
        self.__dict__.pop("n_passes_", None)  # of an earlier fit
        if engine.n_passes is not None:
            self.n_passes_ = engine.n_passes

    @abstractmethod
    def _open(self, X: Any, sensitive_features: Any, sample_weight: Any) -> Engine:
        """Check X, groups and weights, and return their engine."""

    @abstractmethod
    def _search(self, engine: Engine, rng: np.random.RandomState) -> Clusters:
        """Run the search and return the best clusters."""

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "max_iter"):
            check_count(getattr(self, name), name)
        check_callback(self.callback)
        check_verbose(self.verbose)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _n_features_out(self) -> int:
        n_clusters: int = self.cluster_centers_.shape[0]
        return n_clusters

    @overload
    def predict(self, X: Blocks) -> Any: ...

    @overload
    def predict(self, X: ArrayLike) -> NDArray[np.int32]: ...

    def predict(self, X: Any) -> Any:
        """Return the nearest center of each example.

        Parameters
        ----------
        X : array-like, sparse matrix or Blocks of shape (n_samples, n_features)
            Examples, seen in ``fit`` or not.

        Returns
        -------
        ndarray or Dask array of shape (n_samples,)
            The cluster of each example.
        """
        return nearest_centers_of(self, X)

    @overload
    def transform(self, X: Blocks) -> Any: ...

    @overload
    def transform(self, X: ArrayLike) -> NDArray[np.float64]: ...

    def transform(self, X: Any) -> Any:
        """Return the distance of each example to every center.

        Parameters
        ----------
        X : array-like, sparse matrix or Blocks of shape (n_samples, n_features)
            Examples, seen in ``fit`` or not.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_clusters)
            Euclidean distances, not squared, as in ``KMeans``.
        """
        return open_new(self, X).distances(self.cluster_centers_)

    def score(
        self,
        X: Any,
        y: object = None,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return minus the largest mean squared distance of a group to its centers.

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
