"""Out-of-core rows, and their engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.parameters import (
    Seed,
    check_count,
    check_n_clusters,
    random_state_of,
)
from rawlsian._core.problem import MaxDistance, Problem, Utility
from rawlsian._engines.engine import (
    AuditFigures,
    Callback,
    Clusters,
    Engine,
    IntervalSettings,
    Rows,
    TrainingRows,
)
from rawlsian._engines.finishing import improved_partition
from rawlsian._engines.intervals import Comparisons, student_reaches
from rawlsian._outofcore.audit import GroupFigures, figures_by_centers, figures_of
from rawlsian._outofcore.fit import finish_free, refined
from rawlsian._outofcore.labels import given_labels, predicted_labels
from rawlsian._outofcore.means import by_rule, rule_of_sample
from rawlsian._outofcore.placing import Rule, distances_of_blocks, nearest_of_blocks
from rawlsian._outofcore.problem import MAX_PASSES, OutOfCoreProblem
from rawlsian._outofcore.sample import Sample, draw_sample
from rawlsian._outofcore.steps import steps_of
from rawlsian._outofcore.walk import (
    LargeTrajectory,
    WalkEnd,
    traverse_out_of_core,
    walk,
)
from rawlsian._rows.blocks import Blocks
from rawlsian._rows.opening import needs_memory
from rawlsian._search.crossing import SearchEnd
from rawlsian._search.fair_lloyd import FairRuns, Solutions
from rawlsian._support.interruption import finished
from rawlsian.operators.batch import Batch
from rawlsian.operators.proposals import Operator

USE_ASSIGNED = "use utility='assigned', or RawlsianKMeans, whose centers are free"
NO_BOUND = "use bound=None, or group_bound on a sample of the rows"


class BlockRows(Rows):
    """Rows out of core, read block by block.

    ``accept`` is called once rows, groups and weights have passed all checks.
    """

    def __init__(
        self, blocks: Blocks, accept: Callable[[], None] | None = None
    ) -> None:
        self.blocks = blocks
        self.accept = accept

    def with_groups(
        self,
        sensitive_features: Any,
        *,
        sample_weight: Any = None,
        max_distance: MaxDistance = "auto",
        utility: Utility = "assigned",
        max_passes: int = MAX_PASSES,
        callback: Callback | None = None,
    ) -> OutOfCoreEngine:
        """Check rows, groups and weights in one pass."""
        large = OutOfCoreProblem.of(
            self.blocks, sensitive_features, sample_weight=sample_weight,
            max_distance=max_distance, max_passes=max_passes, callback=callback,
        )  # fmt: skip
        if self.accept is not None:
            self.accept()
        return OutOfCoreEngine(large, utility)

    def check_bound(self, bound: object) -> None:
        """Raise ValueError unless bound is None."""
        if bound is not None:
            raise needs_memory(self.blocks, f"bound={bound!r}", NO_BOUND)

    def check_walk(
        self, operator: Operator, utility: Utility, max_passes: object, least: int
    ) -> None:
        """Raise ValueError if the walk needs memory, or passes are too few."""
        if utility == "nearest":
            raise needs_memory(self.blocks, "utility='nearest'", USE_ASSIGNED)
        steps_of(operator)
        check_count(max_passes, "max_passes", least=least)

    def check_means(self) -> None:
        """Accept means."""

    def check_clusterer(self, estimator: Any) -> None:
        """Raise ValueError if a clusterer has no ``predict``."""
        if not hasattr(estimator, "predict"):
            raise ValueError(
                f"{type(estimator).__name__} has no predict, which data out of core "
                "needs; use a clusterer such as KMeans."
            )

    def nearest(self, centers: NDArray[np.float64]) -> Any:
        """Return the nearest center of each row."""
        return nearest_of_blocks(self.blocks, centers)

    def distances(self, centers: NDArray[np.float64]) -> Any:
        """Return the distance of each row to every center."""
        return distances_of_blocks(self.blocks, centers)


class OutOfCoreEngine(Engine):
    """Engine for out-of-core rows: search a weighted sample, finish on all rows.

    Walks count the mean of an example's cluster; ``utility`` is that of an audit.
    """

    def __init__(self, large: OutOfCoreProblem, utility: Utility = "assigned") -> None:
        self.large = large
        self._utility = utility
        self._sample: Sample | None = None

    @property
    def known(self) -> OutOfCoreProblem:
        """The out-of-core problem."""
        return self.large

    @property
    def problem(self) -> NoReturn:
        """Raise ValueError: not all rows are in memory."""
        raise needs_memory(self.large.blocks, "a bound", NO_BOUND)

    @property
    def sampled(self) -> Problem:
        """The problem of the sample that was drawn."""
        return self.sample.problem

    @property
    def utility(self) -> Utility:
        """The utility of an audit."""
        return self._utility

    @property
    def n_passes(self) -> int:
        """Number of passes so far."""
        return self.large.n_passes

    @property
    def sample(self) -> Sample:
        """The sample that was drawn."""
        assert self._sample is not None, "no sample was drawn yet"
        return self._sample

    def pool(self, strength: float) -> None:
        """Pool the costs of the groups, also in a sample that was drawn."""
        self.large.pool(strength)
        if self._sample is not None:
            self._sample = self._sample.pooled(strength)

    def _draw(self, n_clusters: int, rng: np.random.RandomState) -> None:
        """Draw a sample, pooled as all rows are."""
        sample = draw_sample(self.large, n_clusters, rng)
        self._sample = sample.pooled(self.large.pooling.strength)

    def to_search(
        self, n_clusters: int, rng: np.random.RandomState, effort: float = np.inf
    ) -> Problem:
        """Draw a sample, and return the part of it to search."""
        self._draw(n_clusters, rng)
        check_n_clusters(n_clusters, self.sample.problem)
        return self.sample.to_search(n_clusters, rng)

    def finish_free(
        self, runs: FairRuns, found: Solutions, is_interrupted: bool
    ) -> Clusters:
        """Refine the solutions on the sample, and finish them on all rows."""
        large, sample = self.large, self.sample.problem
        found = refined(runs.problem, sample, found, is_interrupted)
        end = finish_free(large, sample, found, is_interrupted)
        labels, came = finished(lambda: large.labels(Rule.nearest(end.centers)))
        return Clusters(
            labels, end.centers, end.costs,
            inertia=end.inertia, n_iter=int(found.n_iter[0]),
            group_weights=end.group_weights,
            stop_reason="interrupted" if came else end.stop_reason,
        )  # fmt: skip

    def finish_means(
        self, runs: FairRuns, found: Solutions, is_interrupted: bool
    ) -> Clusters:
        """Extend the best partition of the sample to all rows, and walk by batches."""
        large, sample = self.large, self.sample
        labels, is_interrupted = improved_partition(runs, found, is_interrupted)
        rule = rule_of_sample(runs.problem, labels)
        start, came = finished(lambda: by_rule(large, rule, sample.problem.shift))
        is_interrupted |= came
        if not start.means.is_whole:
            raise ValueError(
                f"n_clusters={found.centers.shape[1]} is more than can be told apart "
                "in these rows; ask for fewer clusters."
            )
        max_iter = 0 if is_interrupted else None
        end = walk(large, start, sample, steps_of(Batch()), max_iter)
        means = end.at.means
        joined, came = finished(lambda: large.join(end.at.labels))
        return Clusters(
            joined, means.centers, means.own_costs,
            inertia=float(means.cluster_costs.sum()), n_iter=int(found.n_iter[0]),
            group_weights=None, stop_reason=_end_of_walk(end, is_interrupted or came),
        )  # fmt: skip

    def nearest_costs(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean cost of each group with its nearest centers: one pass."""
        origin = np.zeros(self.large.blocks.n_features)
        return self.large.assign(Rule.nearest(centers), origin).mean_costs

    def training_rows(
        self, y: Any, n_clusters: int, random_state: Seed, takes_weights: bool
    ) -> TrainingRows:
        """Draw a sample: weighted rows, or rows drawn by their weights."""
        # Walks are deterministic, so the sample is, too, unless there is a seed.
        rng = random_state_of(0 if random_state is None else random_state)
        self._draw(n_clusters, rng)
        sample = self.sample.problem
        X, groups = sample.X, self.large.group_names[sample.groups]
        if takes_weights:
            return TrainingRows(X, None, groups, sample.weights)
        share = sample.weights / sample.weights.sum()
        rows = rng.choice(len(X), len(X), p=share)
        return TrainingRows(X[rows], None, groups[rows], None)

    def walk(
        self, labels: Any, operator: Operator, max_iter: int | None
    ) -> LargeTrajectory:
        """Walk from a user's labels."""
        start = given_labels(self.large, labels)
        # Walks are deterministic, so the sample is, too.
        rng = np.random.RandomState(0)
        self._draw(start.n_clusters, rng)
        return traverse_out_of_core(self.large, self.sample, start, operator, max_iter)

    def walk_from(
        self, estimator: Any, is_prefit: bool, operator: Operator, max_iter: int | None
    ) -> LargeTrajectory:
        """Walk from a clusterer's predictions, or else its ``labels_``."""
        if hasattr(estimator, "predict"):
            start = predicted_labels(self.large, estimator)
        else:
            start = given_labels(self.large, estimator.labels_)
        return traverse_out_of_core(self.large, self.sample, start, operator, max_iter)

    def audit(self, labels: Any, settings: IntervalSettings) -> AuditFigures:
        """Return figures with Student intervals: two passes."""
        column = given_labels(self.large, labels)
        return self._compare(figures_of(self.large, column, self.utility), settings)

    def audit_centers(
        self, centers: NDArray[np.float64], settings: IntervalSettings
    ) -> AuditFigures:
        """Return figures with Student intervals: one pass."""
        return self._compare(figures_by_centers(self.large, centers), settings)

    def _compare(self, found: GroupFigures, settings: IntervalSettings) -> AuditFigures:
        """Compare each group with everyone else."""
        comparisons = Comparisons.of_sums(found.sums, settings.min_group)
        reaches = np.full(self.large.n_groups, np.nan)
        if settings.n_bootstrap > 0:
            reaches = student_reaches(comparisons, settings.confidence)
        utilities = self.large.max_distance - comparisons.groups.means
        return AuditFigures(
            utilities, found.counts, found.cluster_costs, comparisons, reaches
        )


def _end_of_walk(end: WalkEnd, is_interrupted: bool) -> SearchEnd:
    """Return why a search that ends in a walk ended."""
    if is_interrupted or end.stop_reason == "interrupted":
        return "interrupted"
    return "max_passes" if end.stop_reason == "max_passes" else "completed"
