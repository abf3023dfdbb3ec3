"""Fit a table in memory: options for its people, and the one that is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem
from rawlsian._engines.memory import InMemoryEngine
from rawlsian._recommend.advice import Advice, UnknownPointError, Wishes, advise
from rawlsian._recommend.choice import Candidate
from rawlsian._recommend.effects import Served
from rawlsian._recommend.new_people import Target, leave_out
from rawlsian._recommend.population import MemoryPopulation, Population
from rawlsian._recommend.rules import Clusters, Keep
from rawlsian._support.interruption import call_partial
from rawlsian._tables import analysis
from rawlsian._tables.analysis import Progress
from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.method_run import MethodRule, run_method
from rawlsian._tables.options import FitOptions
from rawlsian._tables.outcome import Option, Outcome, baseline_name, chosen_option
from rawlsian._tables.serving import UTILITY
from rawlsian.metrics.audit import Audit, audit_by_centers, audit_of
from rawlsian.operators.compositions import get_operator
from rawlsian.operators.traversal import Trajectory, traverse_of

# A walk is shown beside the trade-off if a table has no more people.
MOST_SHOWN = 2_000


@dataclass(frozen=True, eq=False)
class MemoryFit:
    """A fit of people in memory.

    Attributes
    ----------
    population : MemoryPopulation
        The people.
    outcome : Outcome
        Options and the one that was chosen.
    trajectory : Trajectory or None
        Steps of a walk that was asked for.
    options : FitOptions
        Options of the fit.
    """

    population: MemoryPopulation
    outcome: Outcome
    trajectory: Trajectory | None
    options: FitOptions

    @property
    def problem(self) -> Problem:
        """The people and their groups."""
        return self.population.problem

    @cached_property
    def before(self) -> Served:
        """Clusters and distances of the people if the clusters are kept."""
        return self.population.served(self.outcome.keep.candidate.clusters)

    @cached_property
    def after(self) -> Served:
        """Clusters and distances of the people with the result."""
        return self.served(self.outcome.result.candidate)

    def served(self, candidate: Candidate) -> Served:
        """Return clusters, numbered so that few people seem to move, and distances."""
        found = self.population.served(candidate.clusters)
        numbers = candidate.effect.numbers.astype(np.int32)
        return found._replace(labels=numbers[found.labels])

    @cached_property
    def trade_off_labels(self) -> list[NDArray[np.integer]]:
        """Clusters of the people at each point of the trade-off."""
        return [self.served(each).labels for each in self.outcome.advice.points]

    @cached_property
    def walk(self) -> Trajectory | None:
        """A walk to show: the one asked for, or one by "rawls" if people are few."""
        if self.trajectory is not None:
            return self.trajectory
        finder = self.outcome.advice.finder
        problem = replace(finder.rows, utility=finder.utility)
        if problem.n_samples > MOST_SHOWN or problem.n_groups == 1:
            return None
        start = finder.labels_of(finder.keep)
        return traverse_of(problem, start, operator=get_operator("rawls"))

    @cached_property
    def cloud(self) -> NDArray[np.float64]:
        """Group utilities of k-means from many random starts."""
        return analysis.cloud(self.problem, self.outcome.n_clusters, self.options.seed)


def fit(
    problem: Problem,
    options: FitOptions,
    start: NDArray[np.int32] | None,
    cluster_names: tuple[str, ...],
    progress: Progress,
) -> MemoryFit:
    """Compare candidates, run a method if one is asked for, and choose."""
    n_clusters, seed = len(cluster_names), options.seed
    population = MemoryPopulation(problem, options.min_group, start)
    auditor = Auditor(problem, options.min_group, seed)
    limits = options.limits.of(float(problem.people.sum()))
    wishes = Wishes(
        n_clusters, UTILITY[options.served_by], options.pooling, limits,
        options.choose, seed, options.for_new_people,
    )  # fmt: skip
    advice = checked_advice(population, wishes, auditor.audit, progress)
    in_clusters = advice.points[0].effect.counts.sum(axis=1)
    analysis.check_found(n_clusters, int(np.count_nonzero(in_clusters)))
    result = chosen_option(advice, options.choose, baseline_name(options.start))
    trajectory = ended = None
    if options.method is not None:
        run = call_partial(run_method, advice.finder, options.method, seed, progress)
        trajectory, ended = run.trajectory, run.ended
        result = _method_option(
            population, advice, run.clusters, options, run.ended.is_interrupted,
            progress,
        )  # fmt: skip
    progress("comparing groups", 0, None)
    audits = tuple(
        auditor.audit(each.clusters) for each in (advice.points[0], result.candidate)
    )
    outcome = Outcome(
        advice, result, (audits[0], audits[1]), problem.group_names,
        problem.max_distance, options.start, cluster_names, limits, ended,
    )  # fmt: skip
    return MemoryFit(population, outcome, trajectory, options)


def checked_advice(
    population: Population,
    wishes: Wishes,
    audit: Callable[[Clusters], Audit],
    progress: Progress,
) -> Advice:
    """Return the advice, or raise WrongUseError for a point that does not exist."""
    try:
        return advise(
            population, wishes, lambda clusters: audit(clusters).is_clear_gap, progress
        )
    except UnknownPointError as error:
        raise WrongUseError(str(error)) from None


@dataclass(frozen=True, eq=False)
class Auditor:
    """Audits clusterings of the same people, each once."""

    problem: Problem
    min_group: int
    seed: int

    @cached_property
    def _known(self) -> dict[int, tuple[Clusters, Audit]]:
        return {}

    def audit(self, clusters: Clusters) -> Audit:
        """Audit what serves the people: the centers, or the members by their labels."""
        known = self._known.get(id(clusters))
        if known is None:
            known = clusters, self._audit(clusters)
            self._known[id(clusters)] = known
        return known[1]

    def _audit(self, clusters: Clusters) -> Audit:
        engine = InMemoryEngine(self.problem)
        if clusters.labels is None:
            return audit_by_centers(
                engine,
                clusters.centers,
                min_group=self.min_group,
                random_state=self.seed,
            )
        return audit_of(
            engine, clusters.labels, min_group=self.min_group, random_state=self.seed
        )


def _method_option(
    population: MemoryPopulation,
    advice: Advice,
    clusters: Clusters,
    options: FitOptions,
    is_interrupted: bool,
    progress: Progress,
) -> Option:
    """Measure the result of a method, in the table and for people left out."""
    assert options.method is not None
    keep = advice.points[0].clusters
    effect = population.effects(keep, [clusters])[0]
    rule = MethodRule(options.method, options.seed)
    found = None
    if options.for_new_people and not is_interrupted:
        sample, start = population.sample(options.seed)
        found = leave_out(
            sample, advice.finder, start, Target(Keep(), keep.centers),
            [Target(rule, clusters.centers)], options.seed,
            lambda done, total: progress("people who are left out", done, total),
        )  # fmt: skip
    candidate = Candidate(rule, clusters, effect)
    return Option(
        "method", options.method, None, candidate, None if found is None else found[0]
    )
