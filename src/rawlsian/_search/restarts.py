"""Thousands of k-means runs at once, with the utilities of each group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core import move_kernels
from rawlsian._core.checks import refuse_text
from rawlsian._core.parameters import check_count, check_n_clusters
from rawlsian._core.problem import MaxDistance, Problem
from rawlsian._rows.opening import refuse_blocks
from rawlsian._search import lloyd, sparse_rows
from rawlsian._search.entries import Entries, list_entries
from rawlsian._support.jobs import in_order, n_jobs
from rawlsian._support.threads import n_threads, run_in_chunks

MAX_ITER = 300  # as in scikit-learn

# Runs at a time: enough to fill vectors, fewer if centers outgrow the cache.
MOST_SLOTS = 32
LARGEST_CENTERS = 2**16

# Rows times runs: below the first number, a thread costs more than it saves; after the
# second, Python checks for Ctrl-C.
ROWS_A_THREAD = 2**14
ROWS_A_BLOCK = 2**22

# Jobs per worker: several, as some take longer than others.
JOBS_A_WORKER = 4


@dataclass(frozen=True, eq=False)
class Restarts:
    """Results of many runs of k-means.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Names of the groups, sorted; the columns of ``utilities``.
    inertia : ndarray of shape (n_runs,)
        Sum of squared distances of the examples to the means of their clusters.
    utilities : ndarray of shape (n_runs, n_groups)
        Mean utility of each group.
    overall : ndarray of shape (n_runs,)
        Mean utility of all examples.
    n_iter : ndarray of shape (n_runs,)
        Number of iterations, 300 at most.
    """

    groups: NDArray[Any]
    inertia: NDArray[np.float64]
    utilities: NDArray[np.float64]
    overall: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    _problem: Problem
    _entries: Entries
    _init: NDArray[Any]

    def __repr__(self) -> str:
        return (
            f"Restarts(n_runs={len(self.inertia)}, lowest inertia "
            f"{self.inertia.min():.6g}, highest lowest utility "
            f"{self.utilities.min(axis=1).max():.6g})"
        )

    @property
    def utilitarian(self) -> int:
        """Index of the run with the highest overall utility."""
        return int(np.argmax(self.overall))

    @property
    def rawlsian(self) -> int:
        """Index of the run in which the worst-off group has the highest utility."""
        return int(np.argmax(self.utilities.min(axis=1)))

    @property
    def least_advantaged(self) -> NDArray[Any]:
        """Name of the group with the lowest utility in each run, shape (n_runs,)."""
        worst: NDArray[Any] = self.groups[np.argmin(self.utilities, axis=1)]
        return worst

    def labels(self, run: int) -> NDArray[np.int32]:
        """Return the labels of one run, by repeating it on X as it was given.

        Parameters
        ----------
        run : int
            Index of the run, from 0.

        Returns
        -------
        ndarray of shape (n_samples,)
            The cluster of each example.

        Raises
        ------
        IndexError
            If there is no such run.
        """
        if not isinstance(run, Integral) or not 0 <= run < len(self.inertia):
            raise IndexError(
                f"run {run} is not among the {len(self.inertia)} runs, which count "
                "from 0."
            )
        return _run(self._problem, self._entries, self._init, run, run + 1).last_labels


def kmeans_restarts(
    X: ArrayLike,
    n_clusters: int,
    *,
    n_runs: int,
    sensitive_features: Any = None,
    init: Literal["random"] | ArrayLike = "random",
    max_distance: MaxDistance = "auto",
    random_state: int | np.random.Generator | None = None,
) -> Restarts:
    """Run k-means many times and report the utilities of each group in each run.

    Each run is Lloyd's algorithm from its own initial centroids until no example
    changes its cluster, as ``KMeans(init=centroids, n_init=1, tol=0)`` of
    scikit-learn. An empty cluster gets the example farthest from its centroid, as
    there. (Results can differ from scikit-learn's if an example is equally near to
    two centroids, as rounding decides in both, and if taking the farthest example
    empties another cluster.) Runs are distributed over threads or, within
    ``joblib.parallel_config(backend="dask")``, over the workers of the current Dask
    client. The result of a run depends neither on their number nor on ``n_runs``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The examples, as numbers. Sparse matrices stay sparse.
    n_clusters : int
        Number of clusters.
    n_runs : int
        Number of runs.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
            default=None
        The group of each example; several columns mean their intersections. ``None``
        means one group.
    init : "random" or array-like of shape (n_runs, n_clusters, n_features), \
            default="random"
        Initial centroids: distinct examples drawn at random, or an array of centroids.
    max_distance : "auto" or float, default="auto"
        Utility is ``max_distance`` less the squared distance to the cluster's mean.
        "auto" is the squared diagonal of the bounding box of X.
    random_state : int, numpy Generator or None, default=None
        Seed of the random centroids.

    Returns
    -------
    Restarts
        Inertia and utilities of every run; ``labels(run)`` returns labels. Memory does
        not grow with ``n_runs`` times ``n_samples``.

    Examples
    --------
    >>> from rawlsian import kmeans_restarts
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> restarts = kmeans_restarts(X, 2, n_runs=100, random_state=0)
    >>> float(restarts.inertia.min().round(3))
    2.5
    >>> restarts.labels(restarts.utilitarian)
    array([1, 1, 1, 0, 0], dtype=int32)
    """
    refuse_blocks(X, "kmeans_restarts")
    problem = Problem.from_arrays(X, sensitive_features, max_distance=max_distance)
    return restarts_of(
        problem, n_clusters, n_runs=n_runs, init=init, random_state=random_state
    )


def restarts_of(
    problem: Problem,
    n_clusters: int,
    *,
    n_runs: int,
    init: Literal["random"] | ArrayLike = "random",
    random_state: int | np.random.Generator | None = None,
) -> Restarts:
    """Run k-means many times on a problem, as ``kmeans_restarts`` does."""
    check_count(n_runs, "n_runs")
    check_n_clusters(n_clusters, problem)
    entries = list_entries(problem)
    starts = _check_init(init, problem, (n_runs, n_clusters), random_state)
    width = n_jobs()
    if width > 1:
        edges = np.linspace(0, n_runs, JOBS_A_WORKER * width + 1).astype(int)
        some = [starts[a:b] for a, b in pairwise(edges) if b > a]
        chunks = list(in_order(partial(_runs_from, problem, entries), some))
    else:
        chunks = _runs_on_threads(problem, entries, starts)
    costs = np.concatenate([chunk.costs for chunk in chunks])
    overall = move_kernels.overall_utilities(costs, problem.shares)
    return Restarts(
        groups=problem.group_names,
        inertia=problem.n_samples * overall,
        utilities=problem.max_distance - costs,
        overall=problem.max_distance - overall,
        n_iter=np.concatenate([chunk.n_iter for chunk in chunks]),
        _problem=problem,
        _entries=entries,
        _init=starts,
    )


def _runs_from(problem: Problem, entries: Entries, starts: NDArray[Any]) -> _Chunk:
    """Make the runs of one job; leave out the labels, which nobody needs."""
    chunk = _run(problem, entries, starts, 0, len(starts))
    return chunk._replace(last_labels=np.empty(0, np.int32))


def _runs_on_threads(
    problem: Problem, entries: Entries, starts: NDArray[Any]
) -> list[_Chunk]:
    """Make all runs, on all threads."""
    n_runs, chunks = len(starts), list[_Chunk]()
    runs_a_block = n_threads() * max(ROWS_A_BLOCK // problem.n_samples, 2)
    for first in range(0, n_runs, runs_a_block):

        def run(start: int, stop: int, first: int = first) -> _Chunk:
            return _run(problem, entries, starts, first + start, first + stop)

        chunks += run_in_chunks(
            run,
            min(runs_a_block, n_runs - first),
            smallest_chunk=max(ROWS_A_THREAD // problem.n_samples, 1),
        )
    return chunks


class _Chunk(NamedTuple):
    """Results of some runs.

    ``last_labels`` has shape (n_samples,) and belongs to the run that ended last;
    ``costs`` has shape (n_runs, n_groups): mean squared distances of the groups.
    """

    last_labels: NDArray[np.int32]
    costs: NDArray[np.float64]
    n_iter: NDArray[np.int64]


def slots_for(n_slots: int, problem: Problem, n_clusters: int) -> int:
    """Return n_slots, or as many as fit in the cache.

    A slot should get several runs, as it idles when none are left.
    """
    most = LARGEST_CENTERS // (n_clusters * int(problem.X.shape[1]))
    return max(min(n_slots, most, MOST_SLOTS), 1)


def _run(
    problem: Problem, entries: Entries, init: NDArray[Any], start: int, stop: int
) -> _Chunk:
    """Make the runs start to stop - 1."""
    init = init[start:stop]
    given = np.empty((0, 0, 0))
    if init.ndim == 3:
        given, init = init - problem.shift, np.empty(init.shape[:2], np.intp)
    else:
        init = entries.places[init]
    n_runs, n_clusters = init.shape
    n_features = problem.X.shape[1]
    n_slots = slots_for(n_runs // 8, problem, n_clusters)
    last, last_labels = np.empty((2, problem.n_samples), np.int32)
    costs, n_iter = np.empty((n_runs, problem.n_groups)), np.empty(n_runs, np.int64)
    lloyd.kmeans_runs(
        *entries[2:], n_features, init, given, n_slots, MAX_ITER, last, costs, n_iter
    )
    last_labels[entries.rows] = last
    return _Chunk(last_labels, costs, n_iter)


def _check_init(
    init: object,
    problem: Problem,
    shape: tuple[int, int],
    random_state: int | np.random.Generator | None,
) -> NDArray[Any]:
    """Return the given centroids of each run, or the row numbers of random ones."""
    n_samples, n_features = problem.X.shape
    if isinstance(init, str):
        if init != "random":
            raise ValueError(
                f"init must be 'random' or an array of centroids, got {init!r}."
            )
        # Draw run by run: more runs must not change the first ones.
        rng = _generator(random_state)
        draws = rng.integers(n_samples - np.arange(shape[1]), size=shape)
        rows = np.empty_like(draws)
        sparse_rows.distinct_rows(draws, rows)
        return rows
    try:
        given = np.array(init)
        refuse_text(given, "init")
        centroids = given.astype(np.float64, casting="same_kind")
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must be 'random' or numbers: {error}.") from error
    if centroids.shape != (*shape, n_features):
        raise ValueError(
            f"init has shape {centroids.shape}, expected {(*shape, n_features)}: "
            "n_clusters centroids for each of n_runs."
        )
    if not np.isfinite(centroids).all():
        raise ValueError("init holds NaN or infinity; give finite centroids.")
    return centroids


def _generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return NumPy's Generator of this seed, or raise ValueError."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be None, a whole number that is not negative or a numpy "
            f"Generator, got {random_state!r}."
        ) from error
