"""Rows in memory, and their engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches

from rawlsian._core.assignment import Assignment
from rawlsian._core.balanced import SAMPLED_A_PLACE, balanced_part
from rawlsian._core.checks import check_weights
from rawlsian._core.nearest import group_means, nearest, served_by_means
from rawlsian._core.parameters import Seed, check_n_clusters
from rawlsian._core.problem import MaxDistance, Problem, Utility
from rawlsian._core.sparse import Matrix, SparseRows, as_given, refuse_large
from rawlsian._engines.engine import (
    AuditFigures,
    Callback,
    Clusters,
    Engine,
    IntervalSettings,
    Rows,
    TrainingRows,
)
from rawlsian._engines.finishing import free_centers, refined, walked_means
from rawlsian._engines.intervals import (
    ROWS_A_BLOCK,
    Comparisons,
    bootstrap_reaches,
    squared_distances,
    tables_of_terms,
)
from rawlsian._outofcore.problem import MAX_PASSES
from rawlsian._rows.groups import encode_groups
from rawlsian._search.entries import share_of_entries
from rawlsian._search.fair_lloyd import DENSE_ABOVE, FairRuns, Solutions
from rawlsian.operators.proposals import Operator
from rawlsian.operators.traversal import Trajectory, traverse_of

# Rows to search with an effort of 1: the first number, or the second times the
# clusters. Solutions are then refined on all rows. Beyond FEW_COLUMNS runs on dense
# rows take long, and the first number falls with the square root of the columns, to a
# half at least.
LEAST_SEARCHED, SEARCHED_A_CLUSTER, FEW_COLUMNS = 10_000, 200, 200


class ArrayRows(Rows):
    """Rows in memory: as given, and as a dense or sparse matrix of floats."""

    def __init__(self, given: Any, X: Matrix) -> None:
        self.given = given
        self.X = X

    def with_groups(
        self,
        sensitive_features: Any,
        *,
        sample_weight: Any = None,
        max_distance: MaxDistance = "auto",
        utility: Utility = "assigned",
        max_passes: int = MAX_PASSES,
        callback: Callback | None = None,
    ) -> InMemoryEngine:
        """Check groups and weights, and build the problem."""
        names, groups = encode_groups(sensitive_features, len(self.X))
        weights = check_weights(sample_weight, len(self.X))
        problem = Problem.of_checked(
            self.X, names, groups, weights, max_distance, utility
        )
        own_weights = None if sample_weight is None else weights
        given = TrainingRows(self.given, None, sensitive_features, own_weights)
        return InMemoryEngine(problem, given, callback)

    def check_bound(self, bound: object) -> None:
        """Raise ValueError if X is sparse and too large for a bound."""
        if bound is not None:
            refuse_large(self.X, f"bound={bound!r}")

    def check_walk(
        self, operator: Operator, utility: Utility, max_passes: object, least: int
    ) -> None:
        """Raise ValueError if X is sparse and too large for a walk."""
        refuse_large(self.X, "reassigning examples")

    def check_means(self) -> None:
        """Raise ValueError if X is sparse and too large for means as centers."""
        refuse_large(self.X, "centers='mean'")

    def check_clusterer(self, estimator: Any) -> None:
        """Accept any clusterer."""

    def nearest(self, centers: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the nearest center of each row."""
        return nearest(self.X, centers)[0]

    def distances(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance of each row to every center."""
        distances, X = np.empty((len(self.X), len(centers))), as_given(self.X)
        for rows in gen_batches(len(distances), ROWS_A_BLOCK):
            distances[rows] = euclidean_distances(X[rows], centers)
        return distances


class InMemoryEngine(Engine):
    """Engine for a problem in memory.

    Parameters
    ----------
    problem : Problem
        The rows.
    given : TrainingRows, default=None
        The user's own arguments, to fit clusterers on; None gives X alone.
    callback : callable, default=None
        Called with a ``Step`` after each step of a walk.
    """

    def __init__(
        self,
        problem: Problem,
        given: TrainingRows | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._problem = problem
        self.given = given or TrainingRows(as_given(problem.X), None, None, None)
        self.callback = callback

    @property
    def known(self) -> Problem:
        """The problem."""
        return self._problem

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self._problem

    @property
    def sampled(self) -> Problem:
        """The problem."""
        return self._problem

    @property
    def utility(self) -> Utility:
        """The utility of the problem."""
        return self._problem.utility

    @property
    def n_passes(self) -> None:
        """None: rows in memory are not read in passes."""
        return None

    def pool(self, strength: float) -> None:
        """Pool the costs of the groups."""
        self._problem = self._problem.pooled(strength)

    @property
    def _without_delta(self) -> Problem:
        """The problem without max_distance: its rounding must not decide."""
        return replace(self.problem, max_distance=0.0)

    def to_search(
        self, n_clusters: int, rng: np.random.RandomState, effort: float = np.inf
    ) -> Problem:
        """Return the problem, or a weighted part with equally many rows of a group."""
        check_n_clusters(n_clusters, self.problem)
        n_places = max(n_clusters, self.problem.n_groups)
        least = _least_searched(self.problem)
        n_rows = effort * max(least, SEARCHED_A_CLUSTER * n_clusters)
        n_rows = max(n_rows, SAMPLED_A_PLACE * n_places)
        if self.problem.n_samples <= n_rows:
            return self._without_delta
        return balanced_part(self._without_delta, int(n_rows), rng)

    def finish_free(
        self, runs: FairRuns, found: Solutions, is_interrupted: bool
    ) -> Clusters:
        """Refine the solutions on all rows, and return the first."""
        whole = self._without_delta
        found = refined(runs.problem, whole, found, is_interrupted)
        return free_centers(whole, found, is_interrupted)

    def finish_means(
        self, runs: FairRuns, found: Solutions, is_interrupted: bool
    ) -> Clusters:
        """Improve the partitions of the solutions, and walk on from the best."""
        whole = self._without_delta
        found = refined(runs.problem, whole, found, is_interrupted)
        if whole.n_samples > runs.problem.n_samples:
            runs = FairRuns(whole, runs.max_iter)
        runs = runs.on(runs.problem.dense("centers='mean'"))
        return walked_means(runs, found, is_interrupted)

    def nearest_costs(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean cost of each group with its nearest centers."""
        own = self.problem.pooled(0)
        return group_means(own, nearest(own.X, centers)[1])

    def training_rows(
        self, y: Any, n_clusters: int, random_state: Seed, takes_weights: bool
    ) -> TrainingRows:
        """Return X as given, with the names of its columns."""
        return self.given._replace(y=y)

    def walk(self, labels: Any, operator: Operator, max_iter: int | None) -> Trajectory:
        """Walk from a user's labels."""
        return traverse_of(
            self.problem.dense("reassigning examples"), labels, operator=operator,
            max_iter=max_iter, callback=self.callback,
        )  # fmt: skip

    def walk_from(
        self, estimator: Any, is_prefit: bool, operator: Operator, max_iter: int | None
    ) -> Trajectory:
        """Walk from the labels of a clusterer, numbered without gaps."""
        labels = _labels_by(estimator, is_prefit, self.given.X, self.problem.n_samples)
        return self.walk(labels, operator, max_iter)

    def audit(self, labels: Any, settings: IntervalSettings) -> AuditFigures:
        """Return figures with bootstrap intervals."""
        if isinstance(self.problem.X, SparseRows):
            served = served_by_means(self.problem, labels)
            return self._figures(*served, int(np.max(labels)) + 1, settings)
        assignment = Assignment(self.problem, labels)
        comparisons, reaches = self._compare(squared_distances(assignment), settings)
        return AuditFigures(
            assignment.utilities, assignment.counts, assignment.costs, comparisons,
            reaches,
        )  # fmt: skip

    def audit_centers(
        self, centers: NDArray[np.float64], settings: IntervalSettings
    ) -> AuditFigures:
        """Return figures with bootstrap intervals."""
        served = nearest(self.problem.X, centers)
        return self._figures(*served, len(centers), settings)

    def _figures(
        self,
        labels: NDArray[np.int32],
        distances: NDArray[np.float64],
        n_clusters: int,
        settings: IntervalSettings,
    ) -> AuditFigures:
        """Return figures of rows that clusters serve at these squared distances."""
        problem, shape = self.problem, (n_clusters, self.problem.n_groups)
        cells = labels * problem.n_groups + problem.groups
        counts, costs = (
            np.bincount(cells, weights, shape[0] * shape[1])
            .reshape(shape)
            .astype(np.float64)
            for weights in (problem.weights, problem.weights * distances)
        )
        utilities = problem.max_distance - group_means(problem, distances)
        return AuditFigures(
            utilities, counts, costs, *self._compare(distances, settings)
        )

    def _compare(
        self, distances: NDArray[np.float64], settings: IntervalSettings
    ) -> tuple[Comparisons, NDArray[np.float64]]:
        """Compare each group with everyone else."""
        n_bootstrap, confidence, min_group, random_state = settings
        tables = tables_of_terms(self.problem, distances)
        sums = np.column_stack([table.sum(axis=1) for table in tables])
        found = Comparisons.of_sums(sums, min_group)
        if n_bootstrap == 0:
            return found, np.full(len(tables), np.nan)
        return found, bootstrap_reaches(
            tables, found, n_bootstrap, confidence, random_state
        )


def _least_searched(problem: Problem) -> int:
    """Return the least number of rows to search: fewer if they are wide and dense."""
    share = FEW_COLUMNS / int(problem.X.shape[1])
    if share >= 1 or share_of_entries(problem) <= DENSE_ABOVE:
        return LEAST_SEARCHED
    return round(LEAST_SEARCHED * max(float(np.sqrt(share)), 0.5))


def _labels_by(
    estimator: Any, is_prefit: bool, X: Any, n_samples: int
) -> NDArray[np.int32]:
    """Return a clusterer's labels of X: one per row, no noise, without gaps."""
    name = type(estimator).__name__
    has_labels, can_predict = (
        hasattr(estimator, attribute) for attribute in ("labels_", "predict")
    )
    if not has_labels and not can_predict:
        raise ValueError(
            f"{name} has neither labels_ nor predict, so it gives no clusters; use "
            "a clusterer such as KMeans."
        )
    if can_predict and (is_prefit or not has_labels):
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
