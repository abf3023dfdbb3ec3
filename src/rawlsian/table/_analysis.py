"""Cluster a prepared table and make it fair; what a report tells is worked out here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score

from rawlsian._assignment import Assignment
from rawlsian._fair import group_means, nearest
from rawlsian._frontier import Frontier, frontier
from rawlsian._kmeans import FairLloyd, RawlsianKMeans
from rawlsian._many_moves import renumbering
from rawlsian._problem import Problem
from rawlsian._restarts import kmeans_restarts
from rawlsian._traverse import Trajectory, traverse
from rawlsian.table._prepare import Prepared
from rawlsian.table._read import WrongUseError

OPERATORS = ("rawls", "R1", "R2", "R1+R2", "R2-exhaustive", "batch", "relocate")
SOLVERS: dict[str, Callable[..., Any]] = {
    "kmeans-free": RawlsianKMeans,
    "kmeans-mean": lambda k, **kw: RawlsianKMeans(k, centers="mean", **kw),
    "fair-lloyd": FairLloyd,
}
METHODS = (*OPERATORS, *SOLVERS)

N_INIT = 10
# A silhouette compares all pairs of rows.
SILHOUETTE_ROWS = 5_000
# Rows times runs of k-means that are drawn as a cloud.
CLOUD_WORK, MOST_CLOUD_RUNS = 5_000_000, 500
# The trade-off is searched on at most so many rows, and told for all.
FRONTIER_ROWS = 50_000

# What is being done, how much of it is done, and how much there is (None: unknown).
Tell = Callable[[str, int, int | None], object]


@dataclass(frozen=True, eq=False)
class Clustering:
    """A clustering, and how well it serves each group."""

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    utilities: NDArray[np.float64]
    overall: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """What came of a fit.

    Attributes
    ----------
    problem : Problem
        The rows, their groups and the utility of a perfect fit.
    method : str
        One of METHODS.
    before, after : Clustering
        K-means, and what was made of it.
    trajectory : Trajectory or None
        The way from one to the other, where there is one.
    is_interrupted : bool
        Whether the user stopped it on the way.
    """

    problem: Problem
    method: str
    before: Clustering
    after: Clustering
    trajectory: Trajectory | None
    is_interrupted: bool

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.after.centers)

    @property
    def n_moved(self) -> int:
        """How many rows are in another cluster than before."""
        return int((self.before.labels != self.after.labels).sum())


@dataclass(frozen=True)
class Tried:
    """K-means with a number of clusters, one of a range."""

    n_clusters: int
    silhouette: float
    overall: float
    lowest: float
    least_advantaged: int
    gap: float


def problem_of(prepared: Prepared) -> Problem:
    """The rows and groups of a prepared table."""
    groups = prepared.groups
    return Problem.from_arrays(
        prepared.X,
        groups[:, 0] if groups.shape[1] == 1 else groups,
        max_distance=prepared.max_distance,
    )


def check_clusters(n_clusters: int, problem: Problem) -> None:
    """Refuse more clusters than there are different rows."""
    if n_clusters > problem.n_samples:
        raise WrongUseError(
            f"--clusters {n_clusters} is more than the {problem.n_samples:,} rows; ask "
            "for fewer."
        )
    n_different = len(np.unique(problem.X[: 50 * n_clusters + 1000], axis=0))
    if n_different < n_clusters:
        n_different = len(np.unique(problem.X, axis=0))
    if n_different < n_clusters:
        raise WrongUseError(
            f"--clusters {n_clusters} is more than the {n_different:,} different rows; "
            f"ask for at most {n_different}."
        )


def plain(problem: Problem, n_clusters: int, seed: int) -> Clustering:
    """The best of ten runs of k-means++."""
    kmeans = KMeans(n_clusters, n_init=N_INIT, random_state=seed).fit(problem.X)
    return with_means(problem, kmeans.labels_)


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


def try_range(
    problem: Problem, numbers: Sequence[int], seed: int, tell: Tell
) -> tuple[list[Tried], int]:
    """K-means with each number of clusters, and the one with the best silhouette."""
    rng = np.random.RandomState(seed)
    rows = rng.permutation(problem.n_samples)[:SILHOUETTE_ROWS]
    tried = []
    for done, n_clusters in enumerate(numbers):
        tell("k-means", done, len(numbers))
        found = plain(problem, n_clusters, seed)
        labels = found.labels[rows]
        n_seen = len(np.unique(labels))
        tried.append(
            Tried(
                n_clusters,
                float(silhouette_score(problem.X[rows], labels))
                if 1 < n_seen < len(rows)
                else float("nan"),
                found.overall,
                float(found.utilities.min()),
                int(found.utilities.argmin()),
                float(np.ptp(found.utilities)),
            )
        )
    tell("k-means", len(numbers), len(numbers))
    silhouettes = np.nan_to_num([one.silhouette for one in tried], nan=-np.inf)
    return tried, numbers[int(np.argmax(silhouettes))]


def fit(
    problem: Problem, n_clusters: int, method: str, seed: int, tell: Tell
) -> Fitted:
    """K-means, and the method from there or beside it."""
    tell("k-means", 0, None)
    before = plain(problem, n_clusters, seed)
    tell("k-means", 1, 1)
    if method in OPERATORS:
        return _walked(problem, before, method, tell)
    solver = SOLVERS[method](
        n_clusters,
        max_distance=problem.max_distance,
        random_state=seed,
        callback=lambda step: tell(method, step.n_done, step.n_runs),
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        solver.fit(problem.X, sensitive_features=problem.groups)
    is_interrupted = any("Interrupted" in str(each.message) for each in told)
    tell(method, 1, 1)
    if method == "kmeans-mean":
        after = with_means(problem, solver.labels_)
    else:
        after = with_centers(problem, solver.cluster_centers_)
    after = _numbered_like(after, before)
    return Fitted(problem, method, before, after, None, is_interrupted)


def _walked(problem: Problem, before: Clustering, method: str, tell: Tell) -> Fitted:
    trajectory = traverse(
        problem.X,
        before.labels,
        problem.groups,
        operator=method,
        max_distance=problem.max_distance,
        callback=lambda step: tell(method, step.n_iter, None),
    )
    tell(method, max(trajectory.n_iter, 1), max(trajectory.n_iter, 1))
    after = with_means(problem, trajectory.labels)
    is_interrupted = trajectory.stop_reason == "interrupted"
    return Fitted(problem, method, before, after, trajectory, is_interrupted)


def _numbered_like(after: Clustering, before: Clustering) -> Clustering:
    """Clusters numbered so that few rows seem to have moved."""
    order = renumbering(after.labels, before.labels, len(after.centers))
    return Clustering(
        order[after.labels].astype(np.int32),
        after.centers[np.argsort(order)],
        after.utilities,
        after.overall,
    )


def trade_off(problem: Problem, n_clusters: int, seed: int) -> tuple[Frontier, int]:
    """The frontier, and on how many rows its centers were searched."""
    rows = _some_rows(problem, seed)
    found = frontier(
        problem.X[rows],
        problem.groups[rows],
        n_clusters=n_clusters,
        max_distance=problem.max_distance,
        random_state=seed,
    )
    utilities = np.array(
        [with_centers(problem, centers).utilities for centers in found.cluster_centers]
    )
    found = Frontier(
        problem.group_names,
        utilities,
        utilities @ problem.shares,
        found.cluster_centers,
    )
    return found, len(rows)


def _some_rows(problem: Problem, seed: int) -> NDArray[np.int64]:
    """At most FRONTIER_ROWS of the rows, with their share of each group."""
    if problem.n_samples <= FRONTIER_ROWS:
        return np.arange(problem.n_samples)
    rng = np.random.default_rng(seed)
    share = FRONTIER_ROWS / problem.n_samples
    chosen = []
    for g in range(problem.n_groups):
        members = np.flatnonzero(problem.groups == g)
        n_drawn = min(len(members), max(round(share * len(members)), 1))
        chosen.append(rng.choice(members, n_drawn, replace=False))
    return np.sort(np.concatenate(chosen))


def cloud(problem: Problem, n_clusters: int, seed: int) -> NDArray[np.float64]:
    """Group utilities of k-means from many random starts."""
    n_runs = min(max(CLOUD_WORK // problem.n_samples, 5), MOST_CLOUD_RUNS)
    return kmeans_restarts(
        problem.X,
        n_clusters,
        n_runs=n_runs,
        sensitive_features=problem.groups,
        max_distance=problem.max_distance,
        random_state=seed,
    ).utilities
