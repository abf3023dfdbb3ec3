"""Fit a table in parts: options for its people, and the one that is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Utility
from rawlsian._engines.outofcore import BlockRows, OutOfCoreEngine
from rawlsian._estimators.kmeans import RawlsianKMeans
from rawlsian._outofcore.problem import OutOfCoreProblem, PassStep
from rawlsian._recommend.advice import Advice, Wishes
from rawlsian._recommend.choice import Candidate
from rawlsian._recommend.parts import PartsPopulation
from rawlsian._recommend.rules import Clusters
from rawlsian._rows.opening import as_blocks
from rawlsian._search.crossing import Callback
from rawlsian._support.interruption import call_partial
from rawlsian._tables.analysis import Progress, check_found
from rawlsian._tables.backends import EncodedRows
from rawlsian._tables.fitting import checked_advice
from rawlsian._tables.method_run import MethodRule
from rawlsian._tables.options import FitOptions
from rawlsian._tables.outcome import (
    Ended,
    Option,
    Outcome,
    baseline_name,
    chosen_option,
)
from rawlsian._tables.survey import Encoding
from rawlsian.metrics.audit import Audit, audit_by_centers, audit_of, renamed
from rawlsian.operators.compositions import get_operator


class FittedParts(NamedTuple):
    """A fit of out-of-core rows: figures, labels of all rows, passes."""

    outcome: Outcome
    labels: Any
    n_passes: int


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Encoded rows, and how they were encoded."""

    rows: EncodedRows
    encoding: Encoding

    @cached_property
    def problem(self) -> OutOfCoreProblem:
        """Rows and groups, checked in one pass."""
        blocks = as_blocks(self.rows.X)
        assert blocks is not None  # a backend keeps rows out of core
        return OutOfCoreProblem.of(
            blocks, self.rows.groups, sample_weight=self.rows.weights,
            max_distance=self.encoding.max_distance,
        )  # fmt: skip

    def engine(
        self, callback: Callback | None = None, utility: Utility = "assigned"
    ) -> OutOfCoreEngine:
        """Return an engine for the checked rows."""
        return OutOfCoreEngine(self.problem.again(callback), utility)

    def nearest(self, clusters: Clusters) -> Any:
        """Return the nearest center of each row."""
        return BlockRows(self.problem.blocks).nearest(clusters.centers)


def fit(
    table: EncodedTable, n_clusters: int, options: FitOptions, progress: Progress
) -> FittedParts:
    """Compare candidates, run a method if one is asked for, and choose."""
    large, seed = table.problem, options.seed
    population = PartsPopulation(
        large, options.min_group, n_clusters, seed, _shown_as("search", progress)
    )
    limits = options.limits.of(float(large.people.sum()))
    wishes = Wishes(
        n_clusters, "nearest", options.pooling, limits, options.choose, seed,
        options.for_new_people,
    )  # fmt: skip

    def audit(clusters: Clusters) -> Audit:
        engine = table.engine()
        found = _audit(engine, clusters, options)
        large.n_passes += engine.n_passes
        return renamed(found, np.array(table.encoding.group_names, object))

    advice = checked_advice(population, wishes, audit, progress)
    in_clusters = advice.points[0].effect.counts.sum(axis=1)
    check_found(n_clusters, int(np.count_nonzero(in_clusters)))
    result, ended = chosen_option(advice, options.choose, baseline_name(None)), None
    if options.method is not None:
        result, ended = _run(table, population, advice, options, progress)
    progress("comparing groups", 0, None)
    audits = (audit(advice.points[0].clusters), audit(result.candidate.clusters))
    names = np.array(table.encoding.group_names, object)
    outcome = Outcome(
        advice, result, audits, names, table.encoding.max_distance, None,
        tuple(map(str, range(n_clusters))), limits, ended,
    )  # fmt: skip
    return FittedParts(outcome, _labels(table, result), large.n_passes)


def _audit(engine: OutOfCoreEngine, clusters: Clusters, options: FitOptions) -> Audit:
    """Audit what serves the people: the centers, or the members by their labels."""
    if clusters.labels is None:
        return audit_by_centers(engine, clusters.centers, min_group=options.min_group)
    return audit_of(engine, clusters.labels, min_group=options.min_group)


def _labels(table: EncodedTable, option: Option) -> Any:
    """Return the cluster of each row, numbered so that few people seem to move."""
    clusters = option.candidate.clusters
    if clusters.labels is None:
        return table.nearest(Clusters(option.centers))
    blocks, numbers = table.problem.blocks, option.effect.numbers.astype(np.int32)
    column = blocks.columns_of(clusters.labels, "labels")
    renumbered = blocks.executor.keep(_renumbered, [column], numbers)
    return blocks.join(renumbered, np.int32)


def _renumbered(labels: Any, numbers: Any) -> Any:
    return numbers[labels]


def _shown_as(stage: str, progress: Progress) -> Callback:
    """Return a callback that shows runs of a search and passes over all rows."""

    def show(step: Any) -> None:
        if isinstance(step, PassStep):
            progress(f"{stage}: pass", step.n_passes, step.max_passes)
        else:
            progress(f"{stage}: runs", step.n_done, step.n_runs)

    return show


# --- Methods -----------------------------------------------------------------------


def _run(
    table: EncodedTable,
    population: PartsPopulation,
    advice: Advice,
    options: FitOptions,
    progress: Progress,
) -> tuple[Option, Ended]:
    """Run a method out of core, and measure its result."""
    method, large = str(options.method), population.large
    progress(method, 0, None)
    keep, callback = advice.points[0].clusters, _shown_as(method, progress)
    if method.startswith("kmeans-"):
        clusters, ended = call_partial(_searched, population, advice, options, callback)
    else:
        engine = OutOfCoreEngine(population.of_search.again(callback))
        engine.pool(advice.objective.pooling.strength)
        start = table.nearest(keep)
        walk = call_partial(engine.walk, start, get_operator(method), None)
        large.n_passes += 1 + walk.n_passes
        clusters = Clusters(walk.cluster_centers, walk.labels)
        is_interrupted = walk.stop_reason == "interrupted"
        ended = Ended(method, walk.n_iter, walk.stop_reason, is_interrupted)
    if clusters.labels is not None:
        means = _means(population, clusters.labels)
        clusters = clusters._replace(centers=means)
    effect = population.effects(keep, [clusters])[0]
    return Option(
        "method",
        method,
        None,
        Candidate(MethodRule(method, options.seed), clusters, effect),
        None,
    ), (ended)


def _means(population: PartsPopulation, labels: Any) -> NDArray[np.float64]:
    """Return the mean of all members of each cluster, in one pass."""
    large = population.large
    column = large.blocks.columns_of(labels, "labels")
    parts = large.blocks.run(
        _weighted_sums, [large.weights, column], population.n_clusters
    )
    total = np.sum(list(parts), axis=0)
    large.count_pass()
    means: NDArray[np.float64] = total[:, 1:] / total[:, :1]
    return means


def _weighted_sums(
    X: Any, weights: Any, labels: Any, n_clusters: int
) -> NDArray[np.float64]:
    """Return weight and weighted sum of the rows of each cluster."""
    own = np.broadcast_to(np.asarray(weights, np.float64), len(X))
    rows = np.column_stack([np.ones(len(X)), X]) * own[:, None]
    return np.stack([rows[labels == c].sum(axis=0) for c in range(n_clusters)])


def _searched(
    population: PartsPopulation,
    advice: Advice,
    options: FitOptions,
    callback: Callback,
) -> tuple[Clusters, Ended]:
    """Search apart from k-means, and finish on all rows."""
    method, large = str(options.method), population.of_search
    is_free = method == "kmeans-free"
    solver = RawlsianKMeans(
        population.n_clusters,
        centers="free" if is_free else "mean",
        pooling=advice.objective.pooling.strength,
        max_distance=large.max_distance,
        random_state=options.seed,
        callback=callback,
    )
    solver._fit_engine(OutOfCoreEngine(large.again(callback)))
    population.large.n_passes += solver.n_passes_
    clusters = Clusters(solver.cluster_centers_, None if is_free else solver.labels_)
    ended = Ended(method, None, None, solver.stop_reason_ == "interrupted")
    return clusters, ended
