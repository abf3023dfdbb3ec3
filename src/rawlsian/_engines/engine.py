"""Interface of rows to estimators, ``traverse`` and ``audit``.

``Rows`` are the checked X; with groups and weights they make an ``Engine``. Each has
one class in memory and one out of core.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.parameters import Seed
from rawlsian._core.problem import MaxDistance, Problem, Utility
from rawlsian._engines.intervals import Comparisons
from rawlsian._outofcore.problem import MAX_PASSES, OutOfCoreProblem
from rawlsian._outofcore.walk import LargeTrajectory
from rawlsian._search.crossing import SearchEnd
from rawlsian._search.fair_lloyd import FairRuns, Solutions
from rawlsian.operators.proposals import Operator
from rawlsian.operators.traversal import Trajectory

Callback = Callable[[Any], object]


class Clusters(NamedTuple):
    """Clusters of all rows; ``group_weights`` is None if centers are means.

    ``costs`` are the mean costs of the groups' own people, whatever the pooling.
    """

    labels: Any
    centers: NDArray[np.float64]
    costs: NDArray[np.float64]
    inertia: float
    n_iter: int
    group_weights: NDArray[np.float64] | None
    stop_reason: SearchEnd


class TrainingRows(NamedTuple):
    """The arguments of a clusterer's ``fit``."""

    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any


class IntervalSettings(NamedTuple):
    """How an audit compares groups.

    Attributes
    ----------
    n_bootstrap : int
        Number of resamples; 0 for no intervals.
    confidence : float
        Confidence of the intervals.
    min_group : int
        Groups with fewer people are not compared.
    random_state : int, numpy Generator or None
        Seed of the resamples.
    """

    n_bootstrap: int
    confidence: float
    min_group: int
    random_state: int | np.random.Generator | None


class AuditFigures(NamedTuple):
    """Utilities of groups, sizes and costs in clusters, and comparisons.

    Attributes
    ----------
    utilities : ndarray of shape (n_groups,)
        Mean utility of each group.
    counts, costs : ndarray of shape (n_clusters, n_groups)
        Weight and cost of the members of each group that each center serves.
    comparisons : Comparisons
        Mean costs of each group and of everyone else.
    reaches : ndarray of shape (n_groups,)
        Half the width of the interval of a group's mean cost less that of everyone
        else; NaN if it has none.
    """

    utilities: NDArray[np.float64]
    counts: NDArray[np.float64]
    costs: NDArray[np.float64]
    comparisons: Comparisons
    reaches: NDArray[np.float64]


class Rows(ABC):
    """The checked X."""

    @abstractmethod
    def with_groups(
        self,
        sensitive_features: Any,
        *,
        sample_weight: Any = None,
        max_distance: MaxDistance = "auto",
        utility: Utility = "assigned",
        max_passes: int = MAX_PASSES,
        callback: Callback | None = None,
    ) -> Engine:
        """Check groups and weights, and return the engine."""

    @abstractmethod
    def check_bound(self, bound: object) -> None:
        """Raise ValueError if the bound cannot be computed for these rows."""

    @abstractmethod
    def check_walk(
        self, operator: Operator, utility: Utility, max_passes: object, least: int
    ) -> None:
        """Raise ValueError if the walk cannot be made, or passes are too few."""

    @abstractmethod
    def check_means(self) -> None:
        """Raise ValueError if centers cannot be means."""

    @abstractmethod
    def check_clusterer(self, estimator: Any) -> None:
        """Raise ValueError if a clusterer cannot label these rows."""

    @abstractmethod
    def nearest(self, centers: NDArray[np.float64]) -> Any:
        """Return the nearest center of each row."""

    @abstractmethod
    def distances(self, centers: NDArray[np.float64]) -> Any:
        """Return the distance of each row to every center."""


class Engine(ABC):
    """Rows with groups and weights: searches, walks and audits."""

    @property
    @abstractmethod
    def known(self) -> Problem | OutOfCoreProblem:
        """Problem, with groups, weights and the scale of utility."""

    @property
    @abstractmethod
    def problem(self) -> Problem:
        """Problem with all rows; raises ValueError out of core."""

    @property
    @abstractmethod
    def sampled(self) -> Problem:
        """Problem with all rows in memory, else with the sample that was drawn."""

    @property
    @abstractmethod
    def utility(self) -> Utility:
        """The mean that serves an example: that of its cluster, or the nearest."""

    @property
    @abstractmethod
    def n_passes(self) -> int | None:
        """Number of passes so far; None in memory."""

    @abstractmethod
    def pool(self, strength: float) -> None:
        """Pool the costs of the groups from now on; see ``Pooling``."""

    @abstractmethod
    def to_search(
        self, n_clusters: int, rng: np.random.RandomState, effort: float = np.inf
    ) -> Problem:
        """Return the problem to search: a sample of many rows.

        In memory the sample is the larger the more effort; infinity means all rows.
        """

    @abstractmethod
    def finish_free(
        self, runs: FairRuns, found: Solutions, is_interrupted: bool
    ) -> Clusters:
        """Return clusters of all rows with free centers, from a search's solutions."""

    @abstractmethod
    def finish_means(
        self, runs: FairRuns, found: Solutions, is_interrupted: bool
    ) -> Clusters:
        """Return clusters of all rows with means, from a search's solutions."""

    @abstractmethod
    def nearest_costs(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean cost of each group with its nearest centers."""

    @abstractmethod
    def training_rows(
        self, y: Any, n_clusters: int, random_state: Seed, takes_weights: bool
    ) -> TrainingRows:
        """Return the rows to fit a clusterer on."""

    @abstractmethod
    def walk(
        self, labels: Any, operator: Operator, max_iter: int | None
    ) -> Trajectory | LargeTrajectory:
        """Walk from a user's labels."""

    @abstractmethod
    def walk_from(
        self, estimator: Any, is_prefit: bool, operator: Operator, max_iter: int | None
    ) -> Trajectory | LargeTrajectory:
        """Walk from the labels of a clusterer fitted on ``training_rows``."""

    @abstractmethod
    def audit(self, labels: Any, settings: IntervalSettings) -> AuditFigures:
        """Return the figures of an audit of a user's labels."""

    @abstractmethod
    def audit_centers(
        self, centers: NDArray[np.float64], settings: IntervalSettings
    ) -> AuditFigures:
        """Return the figures of an audit of centers, of which the nearest serves."""
