"""Plain k-means of rows in memory: checks, runs, a sample, and a cloud of restarts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import Problem
from rawlsian._search.restarts import restarts_of
from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.prepare import Prepared
from rawlsian._tables.text import counted

N_INIT = 10
# Rows times runs of k-means that are drawn as a cloud.
CLOUD_WORK, MOST_CLOUD_RUNS = 1_500_000, 500

# Called with a stage, how much of it is done, and how much there is (None: unknown).
Progress = Callable[[str, int, int | None], object]


@dataclass(frozen=True, eq=False)
class Clustering:
    """A clustering, and how well it serves each group."""

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    utilities: NDArray[np.float64]
    overall: float


def problem_of(prepared: Prepared) -> Problem:
    """Return the rows and groups of a prepared table, checked."""
    problem = Problem.from_arrays(
        prepared.X, prepared.groups, sample_weight=prepared.weights,
        max_distance=prepared.max_distance,
    )  # fmt: skip
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
        fitted = kmeans(n_clusters, seed).fit(problem.X, sample_weight=problem.weights)
    labels = fitted.labels_
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
