"""Refits: an estimator and k-means, fitted on some rows and measured on any."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _num_samples, has_fit_parameter
from threadpoolctl import threadpool_limits

from rawlsian._core.checks import check_examples, check_weights
from rawlsian._core.parameters import seed_where_unset
from rawlsian._core.sparse import SparseRows
from rawlsian._rows.groups import encode_groups, keep_types

KMEANS_STARTS = 10


def one_thread() -> threadpool_limits:
    """Limit BLAS and OpenMP: on several threads their rounding may differ."""
    return threadpool_limits(1)


@dataclass(frozen=True, eq=False)
class People:
    """Rows as the user gave them, with their groups and weights.

    Attributes
    ----------
    X, sensitive_features
        The user's own arguments; an estimator is fitted on rows of them.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights, if the user gave any.
    group_names : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    groups : ndarray of shape (n_samples,)
        The group of each row, a position in ``group_names``.
    weights : ndarray of shape (n_samples,)
        How many people each row stands for.
    """

    X: Any
    sensitive_features: Any
    sample_weight: NDArray[np.float64] | None
    group_names: NDArray[Any]
    groups: NDArray[np.int32]
    weights: NDArray[np.float64]

    @classmethod
    def from_arrays(
        cls, estimator: Any, X: Any, sensitive_features: Any, sample_weight: Any
    ) -> People:
        """Check the arguments of a function that refits an estimator."""
        _check_estimator(estimator, sample_weight)
        if not isinstance(estimator, Pipeline):  # which may take text and NaN
            check_examples(X)
        n_samples = _num_samples(X)
        names, groups = encode_groups(sensitive_features, n_samples)
        weights = check_weights(sample_weight, n_samples)
        own_weights = None if sample_weight is None else weights
        return cls(
            X, keep_types(sensitive_features), own_weights, names, groups, weights
        )

    @property
    def present(self) -> NDArray[np.intp]:
        """Rows with weight."""
        return np.flatnonzero(self.weights > 0)

    @property
    def group_sizes(self) -> NDArray[np.float64]:
        """Sum of the weights of each group."""
        sizes = np.bincount(self.groups, self.weights, len(self.group_names))
        return sizes.astype(np.float64)

    def group_means(
        self, values: NDArray[np.float64], rows: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the weighted mean of values, one per row; NaN for a group of none."""
        groups, weights = self.groups[rows], self.weights[rows]
        n_groups = len(self.group_names)
        sizes = np.bincount(groups, weights, n_groups)
        means = np.full(n_groups, np.nan)
        sums = np.bincount(groups, weights * values, n_groups)
        np.divide(sums, sizes, out=means, where=sizes > 0)
        return means

    def rows(self, rows: NDArray[np.intp]) -> Any:
        """Return some rows of X, in the type that X has."""
        return _safe_indexing(self.X, rows)

    def fit_params(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Return groups and weights of some rows, if the user gave them."""
        given = {
            "sensitive_features": self.sensitive_features,
            "sample_weight": self.sample_weight,
        }
        return {
            name: _safe_indexing(values, rows)
            for name, values in given.items()
            if values is not None
        }


class Refit:
    """A copy of an estimator fitted on some rows, with the centers of its clusters.

    Parameters
    ----------
    estimator : clusterer or Pipeline
        It is cloned. If it has no ``cluster_centers_``, the centers are the means of
        the rows by predicted cluster. Those of a pipeline are among the rows that its
        last step sees.
    people : People
        All rows.
    rows : ndarray
        The rows to fit on; a row may occur several times.
    seed : int
        Seed of the estimator, wherever it has ``random_state=None``.
    """

    def __init__(
        self, estimator: Any, people: People, rows: NDArray[np.intp], seed: int
    ) -> None:
        self.people = people
        self.fitted = clone(estimator)
        seed_where_unset(self.fitted, seed)
        self.weights = people.weights[rows]
        params = _accepted(self.fitted, people.fit_params(rows))
        self.fitted.fit(people.rows(rows), **params)
        self._set_centers(rows)

    @property
    def n_clusters(self) -> int:
        """Number of centers."""
        return len(self.centers)

    def predict(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the cluster of each row: a position among the centers."""
        labels = np.asarray(self.fitted.predict(self.people.rows(rows)))
        _check_predicted(self.fitted, labels, len(rows))
        places = np.searchsorted(self.names, labels)
        places[places == len(self.names)] = 0
        if (self.names[places] != labels).any():
            wrong = labels[self.names[places] != labels][0]
            raise ValueError(
                f"{type(self.fitted).__name__} predicts cluster {wrong} for a person, "
                "but for none of the rows that it was fitted on, so that this cluster "
                "has no center; ask for fewer clusters."
            )
        return places

    def seen(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return rows as the clusterer sees them; a pipeline transforms them."""
        X = self.people.rows(rows)
        if isinstance(self.fitted, Pipeline) and len(self.fitted) > 1:
            X = self.fitted[:-1].transform(X)
        if issparse(X):
            rows_seen = SparseRows.of(csr_matrix(X, dtype=np.float64))
            return rows_seen.dense("measuring people who are left out")
        return np.asarray(X, dtype=np.float64)

    def costs(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the squared distance of each row to the center of its cluster."""
        return squared_distances(self.seen(rows), self.centers[self.predict(rows)])

    def kmeans(self, rows: NDArray[np.intp], seed: int) -> NDArray[np.float64]:
        """Return the centers of k-means, fitted on the same rows."""
        kmeans = KMeans(self.n_clusters, n_init=KMEANS_STARTS, random_state=seed)
        with warnings.catch_warnings():
            # There may be fewer distinct rows than clusters; that does no harm.
            warnings.simplefilter("ignore", ConvergenceWarning)
            kmeans.fit(self.seen(rows), sample_weight=self.weights)
        centers: NDArray[np.float64] = kmeans.cluster_centers_
        return centers

    def _set_centers(self, rows: NDArray[np.intp]) -> None:
        """Set the names of the clusters in ``predict``, sorted, and their centers."""
        last = self.fitted
        last = last[-1] if isinstance(last, Pipeline) else last
        centers = getattr(last, "cluster_centers_", None)
        if centers is not None:
            self.centers = np.asarray(centers, dtype=np.float64)
            self.names = np.arange(len(self.centers))
            return
        labels = np.asarray(self.fitted.predict(self.people.rows(rows)))
        _check_predicted(self.fitted, labels, len(rows))
        self.names, places = np.unique(labels, return_inverse=True)
        self.centers = _means(self.seen(rows), places, self.weights)


def squared_distances(
    X: NDArray[np.float64], centers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the squared distance of each row to the center beside it."""
    distances: NDArray[np.float64] = ((X - centers) ** 2).sum(axis=1)
    return distances


def _means(
    X: NDArray[np.float64], labels: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weighted mean of the rows of each cluster."""
    sums = np.zeros((int(labels.max()) + 1, X.shape[1]))
    np.add.at(sums, labels, X * weights[:, None])
    means: NDArray[np.float64] = sums / np.bincount(labels, weights)[:, None]
    return means


def _accepted(estimator: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the given fit parameters that an estimator accepts, by its names."""
    if not isinstance(estimator, Pipeline):
        return {k: v for k, v in given.items() if has_fit_parameter(estimator, k)}
    if get_config()["enable_metadata_routing"]:
        accepted = get_routing_for_object(estimator).consumes("fit", given)
        return {k: v for k, v in given.items() if k in accepted}
    name, last = estimator.steps[-1]
    return {f"{name}__{k}": v for k, v in given.items() if has_fit_parameter(last, k)}


def _check_estimator(estimator: Any, sample_weight: Any) -> None:
    """Raise ValueError unless an estimator can be cloned, fitted and can predict."""
    lacks = [
        name for name in ("get_params", "fit", "predict")
        if not hasattr(estimator, name)
    ]  # fmt: skip
    if isinstance(estimator, type) or lacks:
        raise ValueError(
            "estimator must be a clusterer with fit and predict, such as KMeans(5), "
            f"because new people must be given a cluster; got {estimator!r}."
        )
    if sample_weight is not None and not _accepted(
        estimator, {"sample_weight": sample_weight}
    ):
        raise ValueError(
            f"sample_weight was given, but {type(estimator).__name__} cannot use "
            "weights; leave them out, or use a clusterer whose fit takes them."
        )


def _check_predicted(estimator: Any, labels: NDArray[Any], n_rows: int) -> None:
    """Raise ValueError unless there is one cluster for each row, and no noise."""
    name = type(estimator).__name__
    if labels.shape != (n_rows,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{name}.predict must return one whole number for each row, found "
            f"{labels.dtype} of shape {labels.shape} for {n_rows} rows."
        )
    if labels.min() < 0:
        raise ValueError(
            f"{name} left {(labels < 0).sum()} of {n_rows} rows as noise; use a "
            "clusterer that gives every row a cluster."
        )
