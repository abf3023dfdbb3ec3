"""Cluster rows in memory and make that fair; search the trade-off and the cloud."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import group_means, nearest
from rawlsian._core.problem import Problem, Utility
from rawlsian._core.relabeling import renumbering
from rawlsian._engines.memory import InMemoryEngine
from rawlsian._search.frontier import Frontier, frontier_of, not_dominated
from rawlsian._search.restarts import restarts_of
from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.methods import METHODS
from rawlsian._tables.prepare import Prepared
from rawlsian._tables.text import counted
from rawlsian.operators.compositions import get_operator
from rawlsian.operators.traversal import Trajectory, traverse_of
from rawlsian.report import frontier_labels

N_INIT = 10
# Rows times runs of k-means that are drawn as a cloud.
CLOUD_WORK, MOST_CLOUD_RUNS = 5_000_000, 500
# The trade-off is searched on about so many rows, and reported for all.
FRONTIER_ROWS = 50_000

# Called with a stage, how much of it is done, and how much there is (None: unknown).
Progress = Callable[[str, int, int | None], object]


@dataclass(frozen=True, eq=False)
class Clustering:
    """A clustering, and how well it serves each group."""

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    utilities: NDArray[np.float64]
    overall: float


class Figures(NamedTuple):
    """How well a clustering serves each group, and everyone."""

    utilities: NDArray[np.float64]
    overall: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """Figures of a fit, wherever its rows are.

    Attributes
    ----------
    method : str
        One of METHODS.
    n_clusters : int
        Number of clusters.
    group_names, group_sizes : ndarray of shape (n_groups,)
        The groups, sorted.
    max_distance : float
        The utility of a perfect fit.
    before, after : Figures
        Of k-means, and of the method.
    n_moved : int
        Number of rows in another cluster than before.
    n_steps, stop_reason : int and str, or None
        Of a walk: its steps, and why it ended.
    is_interrupted : bool
        True if the user stopped it on the way.
    utility : {"assigned", "nearest"}
        The center that serves a person: that of their cluster, or the nearest.
    pooling : float
        The strength of pooling.
    cluster_sizes : ndarray of shape (n_clusters,)
        Number of people in each cluster of the result.
    """

    method: str
    n_clusters: int
    group_names: NDArray[Any]
    group_sizes: NDArray[np.float64]
    max_distance: float
    before: Figures
    after: Figures
    n_moved: int
    n_steps: int | None
    stop_reason: str | None
    is_interrupted: bool
    utility: Utility
    pooling: float
    cluster_sizes: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit of rows in memory.

    Attributes
    ----------
    problem : Problem
        The rows, their groups and the utility of a perfect fit.
    method : str
        One of METHODS.
    before, after : Clustering
        K-means, and the result of the method.
    trajectory : Trajectory or None
        The steps from one to the other, if the method is an operator.
    is_interrupted : bool
        True if the user stopped it on the way.
    utility : {"assigned", "nearest"}
        The center that serves a person: that of their cluster, or the nearest.
    pooling : float
        The strength of pooling.
    """

    problem: Problem
    method: str
    before: Clustering
    after: Clustering
    trajectory: Trajectory | None
    is_interrupted: bool
    utility: Utility
    pooling: float

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.after.centers)

    @property
    def cluster_sizes(self) -> NDArray[np.float64]:
        """Number of people in each cluster: the sum of their weights."""
        labels, weights = self.after.labels, self.problem.weights
        sizes: NDArray[Any] = np.bincount(labels, weights, self.n_clusters)
        return sizes.astype(np.float64)

    @property
    def outcome(self) -> Outcome:
        """Figures of the fit."""
        problem, trajectory = self.problem, self.trajectory
        return Outcome(
            self.method,
            self.n_clusters,
            problem.group_names,
            problem.group_sizes,
            problem.max_distance,
            Figures(self.before.utilities, self.before.overall),
            Figures(self.after.utilities, self.after.overall),
            int((self.before.labels != self.after.labels).sum()),
            None if trajectory is None else trajectory.n_iter,
            None if trajectory is None else trajectory.stop_reason,
            self.is_interrupted,
            self.utility,
            self.pooling,
            self.cluster_sizes,
        )


def problem_of(prepared: Prepared) -> Problem:
    """Return the rows and groups of a prepared table, checked."""
    problem = Problem.from_arrays(
        prepared.X, prepared.groups, max_distance=prepared.max_distance
    )
    return replace(problem, group_names=np.array(prepared.group_names, object))


def check_rows(n_clusters: int, n_rows: int) -> None:
    """Raise WrongUseError if there are more clusters than rows."""
    if n_clusters > n_rows:
        raise WrongUseError(
            f"--clusters {n_clusters} is more than the {counted(n_rows, 'row')}; ask "
            "for fewer."
        )


def check_found(n_clusters: int, n_found: int) -> None:
    """Raise WrongUseError if k-means found fewer clusters."""
    if n_found < n_clusters:
        raise WrongUseError(
            f"--clusters {n_clusters} is more than k-means can tell apart in these "
            f"rows; ask for at most {n_found}."
        )


def check_clusters(n_clusters: int, problem: Problem) -> None:
    """Raise WrongUseError if there are more clusters than different rows."""
    check_rows(n_clusters, problem.n_samples)
    n_different = len(np.unique(problem.X[: 50 * n_clusters + 1000], axis=0))
    if n_different < n_clusters:
        n_different = len(np.unique(problem.X, axis=0))
    if n_different < n_clusters:
        raise WrongUseError(
            f"--clusters {n_clusters} is more than the "
            f"{counted(n_different, 'different row')}; ask for at most {n_different}."
        )


def kmeans(n_clusters: int, seed: int) -> KMeans:
    """Return k-means as every fit of a table runs it."""
    return KMeans(n_clusters, n_init=N_INIT, random_state=seed)


def plain(problem: Problem, n_clusters: int, seed: int) -> Clustering:
    """Return the best of ten runs of k-means++."""
    with warnings.catch_warnings():
        # Reported below, in our words.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = kmeans(n_clusters, seed).fit(problem.X).labels_
    check_found(n_clusters, len(np.unique(labels)))
    return with_means(problem, labels)


def with_means(problem: Problem, labels: Any) -> Clustering:
    """Labels, with the means of their clusters as centers."""
    assignment = Assignment(problem, labels)
    return Clustering(
        assignment.labels,
        assignment.centers,
        assignment.utilities,
        assignment.overall,
    )


def with_centers(problem: Problem, centers: NDArray[np.float64]) -> Clustering:
    """Every row with its nearest center."""
    labels, distances = nearest(problem.X, centers)
    utilities = problem.max_distance - group_means(problem, distances)
    overall = float(utilities @ problem.shares)
    return Clustering(labels, centers, utilities, overall)


def fit(
    problem: Problem,
    before: Clustering,
    method: str,
    utility: Utility,
    pooling: float,
    seed: int,
    progress: Progress,
) -> Fitted:
    """Run the method, from k-means or independently of it."""
    progress(method, 0, None)
    how = METHODS[method]
    if how.solver is None:
        return _walked(problem, before, method, utility, pooling, progress)
    solver = how.solver(
        len(before.centers),
        max_distance=problem.max_distance,
        random_state=seed,
        callback=lambda step: progress(method, step.n_done, step.n_runs),
        **({"pooling": pooling} if how.takes_pooling else {}),
    )
    solver._fit_engine(InMemoryEngine(problem))
    is_interrupted = solver.stop_reason_ == "interrupted"
    if how.has_free_centers:
        after = with_centers(problem, solver.cluster_centers_)
    else:
        after = with_means(problem, solver.labels_)
    after = _numbered_like(after, before)
    return Fitted(
        problem, method, before, after, None, is_interrupted, utility, pooling
    )


def _walked(
    problem: Problem,
    before: Clustering,
    method: str,
    utility: Utility,
    pooling: float,
    progress: Progress,
) -> Fitted:
    """Reassign people, starting from k-means; both ends have the same utility."""
    trajectory = traverse_of(
        replace(problem, utility=utility).pooled(pooling),
        before.labels,
        operator=get_operator(method),
        callback=lambda step: progress(method, step.n_iter, None),
    )
    utilities, overall = trajectory.utilities, trajectory.overall.tolist()
    before = replace(before, utilities=utilities[0], overall=overall[0])
    after = Clustering(
        trajectory.served_labels, trajectory.cluster_centers, utilities[-1], overall[-1]
    )
    is_interrupted = trajectory.stop_reason == "interrupted"
    return Fitted(
        problem, method, before, after, trajectory, is_interrupted, utility, pooling
    )


def _numbered_like(after: Clustering, before: Clustering) -> Clustering:
    """Clusters numbered so that few rows seem to have moved."""
    order = renumbering(after.labels, before.labels, len(after.centers))
    return Clustering(
        order[after.labels].astype(np.int32),
        after.centers[np.argsort(order)],
        after.utilities,
        after.overall,
    )


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The frontier, labels at each of its points, and on how many rows it was searched.

    Clusters are numbered so that few rows seem to have moved since k-means.
    """

    frontier: Frontier
    labels: NDArray[Any]
    n_searched: int


def trade_off(
    problem: Problem, start: Clustering, pooling: float, seed: int
) -> TradeOff:
    """The points between the best k-means and the best for the worst-off group."""
    sample = sample_of(problem, FRONTIER_ROWS, seed)
    # A smaller sample has smaller groups, so fewer people join them.
    share = float(sample.people.sum() / problem.people.sum())
    found = frontier_of(
        sample.pooled(share * pooling), n_clusters=len(start.centers), random_state=seed
    )
    if sample is not problem:
        # The best of a sample need not be the best of all rows: k-means may be better.
        centers = np.array([*found.cluster_centers, start.centers])
        found = not_dominated(problem.pooled(pooling), centers)
    labels = frontier_labels(found, problem.X, start.labels)
    return TradeOff(found, labels, sample.n_samples)


def sample_of(problem: Problem, n_rows: int, seed: int) -> Problem:
    """Draw about n_rows of the rows, each group in proportion; or return all."""
    if problem.n_samples <= n_rows:
        return problem
    rng = np.random.default_rng(seed)
    share = n_rows / problem.n_samples
    chosen = []
    for g in range(problem.n_groups):
        members = np.flatnonzero(problem.groups == g)
        n_drawn = min(len(members), max(round(share * len(members)), 1))
        chosen.append(rng.choice(members, n_drawn, replace=False))
    rows = np.sort(np.concatenate(chosen))
    return Problem.of_checked(
        problem.X[rows], problem.group_names, problem.groups[rows],
        problem.weights[rows], problem.max_distance,
    )  # fmt: skip


def cloud(problem: Problem, n_clusters: int, seed: int) -> NDArray[np.float64]:
    """Group utilities of k-means from many random starts."""
    n_runs = min(max(CLOUD_WORK // problem.n_samples, 5), MOST_CLOUD_RUNS)
    runs = restarts_of(problem, n_clusters, n_runs=n_runs, random_state=seed)
    return runs.utilities
