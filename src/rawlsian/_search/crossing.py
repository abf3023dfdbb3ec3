"""Search for free centers: runs of Fair-Lloyd, crossed with each other.

A crossing combines the centers of two solutions into the start of the next run, as
HG-means does for k-means (Gribel and Vidal, 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rawlsian._core.problem import Problem
from rawlsian._search.fair_lloyd import SAME, FairRuns, Solutions
from rawlsian._support.interruption import call_whole, keeps_partial

# Crossings per batch; probability that one center moves to a random example; a crossed
# run ends if after PATIENCE iterations its largest mean cost is above GIVE_UP_ABOVE
# times the largest mean cost of the worst solution kept.
CROSSINGS_A_BATCH = 32
SHARE_MUTATED = 0.5
PATIENCE = 2
GIVE_UP_ABOVE = 1.02

# Random starts per batch; a search can be interrupted between batches.
STARTS_A_BATCH = 64

# Default number of random starts.
N_INIT = 64

# Called with a SearchStep; out of core also with a PassStep, defined in a later room.
Callback: TypeAlias = Callable[[Any], object]

# Why a search ended; "max_passes" occurs out of core only.
SearchEnd = Literal["completed", "max_passes", "interrupted"]


def population_size(n_clusters: int) -> int:
    """Return the number of solutions kept: more clusters allow more differences."""
    return 4 * n_clusters + 4


def enough_crossings(n_clusters: int) -> int:
    """Return a number of crossings beyond which more did not help on Adult samples."""
    return min(100 + 12 * n_clusters**2, 10_000)


class SearchStep(NamedTuple):
    """Progress of a search, as passed to a callback.

    Attributes
    ----------
    n_done : int
        Number of runs done.
    n_runs : int
        Number of runs in all.
    largest_cost : float
        The largest mean cost of a group in the best solution so far.
    """

    n_done: int
    n_runs: int
    largest_cost: float


def random_rows(
    problem: Problem, n_runs: int, n_clusters: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Draw rows of each run as centers: distinct ones with weight, if enough exist."""
    rows = np.flatnonzero(problem.weights > 0)
    replace = len(rows) < n_clusters
    drawn = [rng.choice(rows, n_clusters, replace=replace) for _ in range(n_runs)]
    return np.array(drawn)


def random_centers(
    problem: Problem, n_runs: int, n_clusters: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Draw initial centers of each run, shifted, as ``random_rows`` draws rows."""
    return problem.shifted_rows(random_rows(problem, n_runs, n_clusters, rng))


def search(
    runs: FairRuns,
    n_clusters: int,
    *,
    n_init: int,
    n_crossings: int,
    rng: np.random.RandomState,
    callback: Callable[[SearchStep], object] | None = None,
) -> tuple[Solutions, bool]:
    """Return the best solutions found, best first, and is_interrupted.

    Independent runs come first. Then the best solutions are crossed with each other,
    and their offspring in turn. After the first batch Ctrl-C ends the search with the
    solutions found so far, if the user's own call keeps partial results.
    """
    n_runs, size = n_init + n_crossings, population_size(n_clusters)
    # Centers can be large: they are made for one batch, and let go before the next.
    starts = random_rows(runs.problem, n_init, n_clusters, rng)
    centers_of = runs.problem.shifted_rows
    best = _fittest([runs.run(centers_of(starts[:STARTS_A_BATCH]))], size)
    n_done = min(STARTS_A_BATCH, n_init)
    try:
        while True:
            if callback is not None:
                callback(SearchStep(n_done, n_runs, float(best.objectives[0])))
            if n_done == n_runs:
                return best, False
            if n_done < n_init:
                born = runs.run(centers_of(starts[n_done : n_done + STARTS_A_BATCH]))
            else:
                n_children = min(CROSSINGS_A_BATCH, n_runs - n_done)
                children = _children(best, runs.problem, n_children, rng)
                ceiling = GIVE_UP_ABOVE * float(best.objectives[-1])
                born = runs.run(children, patience=PATIENCE, ceiling=ceiling)
                del children
            n_done += len(born.n_iter)
            best = _fittest([best, born], size)
            del born
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        return best, True


def thorough_search(
    runs: FairRuns, n_clusters: int, rng: np.random.RandomState, *, times: int = 1
) -> Solutions:
    """Search as RawlsianKMeans does by default, ``times`` as long; best first."""
    n_crossings = times * enough_crossings(n_clusters)
    return whole_search(runs, n_clusters, rng, times * N_INIT, n_crossings)


def whole_search(
    runs: FairRuns,
    n_clusters: int,
    rng: np.random.RandomState,
    n_init: int,
    n_crossings: int,
) -> Solutions:
    """Search as ``search`` does, but raise KeyboardInterrupt upon Ctrl-C."""
    return call_whole(
        search, runs, n_clusters, n_init=n_init, n_crossings=n_crossings, rng=rng
    )[0]


def _fittest(found: list[Solutions], size: int) -> Solutions:
    """Return the best solutions, best first, without duplicates in group costs."""
    ranked = np.sort(np.concatenate([each.costs for each in found]), axis=1)[:, ::-1]
    kept: list[int] = []
    for run in np.argsort(ranked[:, 0], kind="stable").tolist():
        if kept:
            apart = np.abs(ranked[run] - ranked[kept[-1]])
            if (apart <= SAME * ranked[kept[-1]]).all():
                continue
        kept.append(run)
        if len(kept) == size:
            break
    # One by one: all centers together can be large.
    rows = [row for each in found for row in zip(*each, strict=True)]
    return Solutions(*map(np.array, zip(*(rows[run] for run in kept), strict=True)))


def _children(
    parents: Solutions, problem: Problem, n_children: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Cross pairs of parents: match their centers by distance, keep one of each match.

    A parent is the better of two drawn at random. With probability SHARE_MUTATED one
    center moves to a random example.
    """
    n_parents, n_clusters = parents.centers.shape[:2]
    rows = np.flatnonzero(problem.weights > 0)
    children = np.empty((n_children, *parents.centers.shape[1:]))
    for child in children:
        mother, father = rng.randint(n_parents, size=(2, 2)).min(axis=1)
        ours, theirs = parents.centers[mother], parents.centers[father]
        apart = ((ours[:, None] - theirs) ** 2).sum(axis=2)
        left, right = linear_sum_assignment(apart)
        is_ours = rng.random_sample((n_clusters, 1)) < 0.5
        child[:] = np.where(is_ours, ours[left], theirs[right])
        if rng.random_sample() < SHARE_MUTATED:
            row = rows[rng.randint(len(rows))]
            child[rng.randint(n_clusters)] = problem.shifted_rows(row)
    return children
