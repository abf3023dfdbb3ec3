"""Run one method on people in memory: a walk from the clusters kept, or a search."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._engines.memory import InMemoryEngine
from rawlsian._recommend.rules import Clusters, Finder
from rawlsian._tables.analysis import Progress
from rawlsian._tables.methods import METHODS
from rawlsian._tables.outcome import Ended
from rawlsian.operators.compositions import get_operator
from rawlsian.operators.traversal import Trajectory, traverse_of


class MethodRun(NamedTuple):
    """Clusters that a method found, the steps of a walk, and how it ended."""

    clusters: Clusters
    trajectory: Trajectory | None
    ended: Ended


def run_method(finder: Finder, method: str, seed: int, progress: Progress) -> MethodRun:
    """Run a method on all rows of a finder, with its pooling and utility."""
    progress(method, 0, None)
    if METHODS[method].solver is None:
        return _walk(finder, method, progress)
    return _search(finder, method, seed, progress)


def _walk(finder: Finder, method: str, progress: Progress) -> MethodRun:
    """Reassign people, starting from the clusters that are kept."""
    problem = replace(finder.rows, utility=finder.utility)
    walk = traverse_of(
        problem,
        finder.labels_of(finder.keep),
        operator=get_operator(method),
        callback=lambda step: progress(method, step.n_iter, None),
    )
    clusters = Clusters(walk.cluster_centers)
    if finder.utility == "assigned":
        clusters = finder.of_members(walk.labels)
    is_interrupted = walk.stop_reason == "interrupted"
    ended = Ended(method, walk.n_iter, walk.stop_reason, is_interrupted)
    return MethodRun(clusters, walk, ended)


def _search(finder: Finder, method: str, seed: int, progress: Progress) -> MethodRun:
    """Search apart from the clusters that are kept."""
    how, problem = METHODS[method], finder.rows
    assert how.solver is not None
    strength = problem.pooling.strength
    solver = how.solver(
        finder.n_clusters,
        max_distance=problem.max_distance,
        random_state=seed,
        callback=lambda step: progress(method, step.n_done, step.n_runs),
        **({"pooling": strength} if how.takes_pooling else {}),
    )
    solver._fit_engine(InMemoryEngine(problem.pooled(0)))
    clusters = Clusters(solver.cluster_centers_)
    if not how.has_free_centers:
        clusters = finder.of_members(solver.labels_)
    is_interrupted = solver.stop_reason_ == "interrupted"
    return MethodRun(
        clusters,
        None,
        Ended(method, None, None, is_interrupted),
    )


@dataclass(frozen=True)
class MethodRule:
    """The method as a rule, to apply it without some people."""

    method: str
    seed: int
    name: str = field(default="method", compare=False)

    def find(self, finder: Finder) -> Clusters:
        """Run the method."""
        return run_method(finder, self.method, self.seed, _silent).clusters

    def find_near(self, finder: Finder, centers: NDArray[np.float64]) -> Clusters:
        """Run the method again."""
        return self.find(finder)


def _silent(stage: str, n_done: int, n_all: int | None) -> None:
    """Show no progress."""
