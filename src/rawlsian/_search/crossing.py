"""Search for free centers: runs of Fair-Lloyd, crossed with each other.

A crossing combines the centers of two solutions into the start of the next run, as
HG-means does for k-means (Gribel and Vidal, 2019).

Local repairs were tried for half of the offspring: a center whose rows lose least moves
to a row that costs much. Searches then ended higher with 20, 50 and 100 clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rawlsian._core.problem import Problem
from rawlsian._search.fair_lloyd import FairRuns, Solutions
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

# With an effort of 1: number of random starts; the search ends after so many crossings
# a cluster, one after another, that did not lower the largest cost by a relative
# LEAST_PROGRESS. Beyond FEW_CLUSTERS runs take long, and both numbers fall with
# 1 / n_clusters, to LEAST_SHARE of what they were.
N_INIT, STALE_A_CLUSTER, LEAST_PROGRESS = 64, 24, 1e-4
FEW_CLUSTERS, LEAST_SHARE = 10, 0.25
# Crossings per batch and solutions kept fall with the square root of that: the sooner
# good solutions are crossed again, the fewer crossings it takes.
# A run on dense rows ends when an iteration lowers its largest cost by less than this,
# relative to it, the more with smaller batches; the best runs converge in the end. Runs
# on sparse rows are cheap: they all converge, and up to FEW_ROWS the effort is
# multiplied.
LEAST_GAIN, SPARSE_EFFORT, FEW_ROWS = 3e-4, 2.0, 2_000

# Solutions kept at most; solutions with costs that differ by less, relative to them,
# are the same but for an iteration; number of solutions to run until they converge.
MOST_KEPT, ALIKE, N_CONVERGED = 48, 1e-6, 8

# Called with a SearchStep; out of core also with a PassStep, defined in a later room.
Callback: TypeAlias = Callable[[Any], object]

# Why a search ended; "max_passes" occurs out of core only.
SearchEnd = Literal["completed", "max_time", "max_passes", "interrupted"]


def population_size(n_clusters: int) -> int:
    """Return the number of solutions kept.

    It rises with the differences that more clusters allow, to 46 at 11 clusters, and
    then falls to 24 as runs take longer.
    """
    return min(4 * n_clusters + 4, round(MOST_KEPT * _batch_share(n_clusters)))


def most_crossings(n_clusters: int, effort: float = 1.0) -> int:
    """Return the number of crossings after which a search ends in any case."""
    return int(effort * min(100 + 12 * n_clusters**2, 10_000))


def starts_for(n_clusters: int, effort: float = 1.0) -> int:
    """Return the number of random starts."""
    return max(round(N_INIT * _share(n_clusters) * effort), 1)


def patience_for(n_clusters: int, effort: float = 1.0) -> int:
    """Return the number of crossings in vain after which a search ends."""
    few = min(n_clusters, FEW_CLUSTERS)
    return max(round(STALE_A_CLUSTER * few * _share(n_clusters) * effort), 1)


def _share(n_clusters: int) -> float:
    return max(min(FEW_CLUSTERS / n_clusters, 1.0), LEAST_SHARE)


def _batch_share(n_clusters: int) -> float:
    """Return the factor of crossings per batch and of solutions kept."""
    return float(np.sqrt(_share(n_clusters)))


@dataclass
class TimeLimit:
    """End of the time for one or more searches.

    ``ended_a_search`` is True once a search has stopped for it.
    """

    end: float
    ended_a_search: bool = False

    @classmethod
    def after(cls, seconds: float | None) -> TimeLimit:
        """Return the limit so many seconds from now; None means never."""
        return cls(np.inf if seconds is None else monotonic() + seconds)

    def is_over(self) -> bool:
        """Return True if the time is up, for a search that stops then."""
        is_over = monotonic() >= self.end
        self.ended_a_search |= is_over
        return is_over


class SearchStep(NamedTuple):
    """Progress of a search, as passed to a callback.

    Attributes
    ----------
    n_done : int
        Number of runs done.
    n_runs : int
        Number of runs at most; in the last step, the number of runs done.
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
    drawn = np.empty((n_runs, n_clusters), np.intp)
    for run in range(n_runs):
        drawn[run] = rng.choice(rows, n_clusters, replace=replace)
    return drawn


def random_centers(
    problem: Problem, n_runs: int, n_clusters: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Draw initial centers of each run, shifted, as ``random_rows`` draws rows."""
    return problem.shifted_rows(random_rows(problem, n_runs, n_clusters, rng))


class Starts(NamedTuple):
    """Initial centers of the independent runs: seeds first, then rows.

    Centers can be large, so they are made for one batch at a time. ``seeds``, shifted,
    has shape (n_seeds, n_clusters, n_features), ``rows`` (n_runs, n_clusters).
    """

    problem: Problem
    seeds: NDArray[np.float64] | None
    rows: NDArray[np.intp]

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.rows) + (0 if self.seeds is None else len(self.seeds))

    def batch(self, start: int) -> NDArray[np.float64]:
        """Return the centers of the next STARTS_A_BATCH runs, shifted."""
        stop = start + STARTS_A_BATCH
        if self.seeds is None:
            return self.problem.shifted_rows(self.rows[start:stop])
        n_seeds = len(self.seeds)
        rows = self.rows[max(start - n_seeds, 0) : max(stop - n_seeds, 0)]
        return np.concatenate([self.seeds[start:stop], self.problem.shifted_rows(rows)])


def search(
    runs: FairRuns,
    n_clusters: int,
    *,
    rng: np.random.RandomState,
    n_init: int | None = None,
    n_crossings: int | None = None,
    effort: float = 1.0,
    seeds: NDArray[np.float64] | None = None,
    time_limit: TimeLimit | None = None,
    callback: Callable[[SearchStep], object] | None = None,
) -> tuple[Solutions, bool]:
    """Return the best solutions found, best first, and is_interrupted.

    Independent runs come first, from ``seeds`` (centers, shifted) and from random rows.
    Then the best solutions are crossed with each other, and their offspring in turn:
    ``n_crossings`` times, or until they no longer help. Runs end early and the
    best then converge; without crossings all do. The search also ends after the batch
    in which the time is up. After the first batch Ctrl-C ends the search with the
    solutions found so far, if the user's call keeps partial results.
    """
    time_limit = time_limit or TimeLimit.after(None)
    least_gain = LEAST_GAIN / (effort * _batch_share(n_clusters))
    crossings_a_batch = round(CROSSINGS_A_BATCH * _batch_share(n_clusters))
    if not runs.is_dense:
        least_gain = 0.0
        effort *= SPARSE_EFFORT if runs.problem.n_samples <= FEW_ROWS else 1.0
    if n_init is None:
        n_init = starts_for(n_clusters, effort)
    starts = Starts(
        runs.problem, seeds, random_rows(runs.problem, n_init, n_clusters, rng)
    )
    n_stale, patience = 0, np.inf
    if n_crossings is None:
        n_crossings = most_crossings(n_clusters, effort)
        patience = patience_for(n_clusters, effort)
    n_runs, size = starts.n_runs + n_crossings, population_size(n_clusters)
    if n_crossings == 0:
        least_gain = 0.0
    born = runs.run(starts.batch(0), least_gain=least_gain)
    best = _fittest([born], size)
    del born
    n_done = min(STARTS_A_BATCH, starts.n_runs)
    try:
        while True:
            is_done = n_done == n_runs or n_stale >= patience or time_limit.is_over()
            if is_done:
                n_runs = n_done
                if least_gain > 0:
                    best = _fittest([_converged(runs, best)], size)
            if callback is not None:
                callback(SearchStep(n_done, n_runs, float(best.objectives[0])))
            if is_done:
                return best, False
            if n_done < starts.n_runs:
                born = runs.run(starts.batch(n_done), least_gain=least_gain)
            else:
                n_children = min(crossings_a_batch, n_runs - n_done)
                born = runs.run(
                    _children(best, runs.problem, n_children, rng),
                    patience=PATIENCE, ceiling=GIVE_UP_ABOVE * best.objectives[-1],
                    least_gain=least_gain,
                )  # fmt: skip
                aim = (1 - LEAST_PROGRESS) * best.objectives[0]
                n_stale = 0 if born.objectives.min() < aim else n_stale + n_children
            n_done += len(born.n_iter)
            best = _fittest([best, born], size)
            del born
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        return best, True


def _converged(runs: FairRuns, solutions: Solutions) -> Solutions:
    """Run the first solutions until they converge."""
    others = list(range(N_CONVERGED, len(solutions.n_iter)))
    return runs.run(solutions.centers[:N_CONVERGED]).join(solutions.take(others))


def thorough_search(
    runs: FairRuns, n_clusters: int, rng: np.random.RandomState, *, times: int = 1
) -> Solutions:
    """Search as RawlsianKMeans does by default, with ``times`` the effort."""
    return whole_search(runs, n_clusters, rng, effort=float(times))


def whole_search(
    runs: FairRuns, n_clusters: int, rng: np.random.RandomState, **options: Any
) -> Solutions:
    """Search as ``search`` does, but raise KeyboardInterrupt upon Ctrl-C."""
    return call_whole(search, runs, n_clusters, rng=rng, **options)[0]


def _fittest(found: list[Solutions], size: int) -> Solutions:
    """Return the best solutions, best first, without duplicates in group costs."""
    costs = np.concatenate([each.costs for each in found])
    order = np.argsort(costs.max(axis=1), kind="stable")
    ranked = np.sort(costs[order], axis=1)
    is_new = np.ones(len(order), np.bool_)
    apart = np.abs(np.diff(ranked, axis=0))
    is_new[1:] = (apart > ALIKE * ranked[1:]).any(axis=1)
    # One by one: all centers together can be large.
    rows = [row for each in found for row in zip(*each, strict=True)]
    kept = [rows[run] for run in order[is_new][:size]]
    return Solutions(*map(np.array, zip(*kept, strict=True)))


def _children(
    parents: Solutions, problem: Problem, n_children: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Cross pairs of parents: match their centers by distance, keep one of each match.

    A parent is the better of two drawn at random. With probability SHARE_MUTATED one
    center moves to a random example.
    """
    n_parents, n_clusters = parents.centers.shape[:2]
    drawn = rng.randint(n_parents, size=(2, n_children, 2)).min(axis=2)
    ours, theirs = parents.centers[drawn]
    norms = (parents.centers**2).sum(axis=2)[drawn]
    apart = norms[0, :, :, None] - 2 * ours @ theirs.transpose(0, 2, 1)
    apart += norms[1, :, None, :]
    match = [linear_sum_assignment(each)[1] for each in apart]  # of each of ours
    is_ours = rng.random_sample((n_children, n_clusters, 1)) < 0.5
    matched = np.take_along_axis(theirs, np.array(match)[:, :, None], axis=1)
    children: NDArray[np.float64] = np.where(is_ours, ours, matched)
    mutated = np.flatnonzero(rng.random_sample(n_children) < SHARE_MUTATED)
    rows = np.flatnonzero(problem.weights > 0)
    rows = rows[rng.randint(len(rows), size=len(mutated))]
    moved = rng.randint(n_clusters, size=len(mutated))
    children[mutated, moved] = problem.shifted_rows(rows)
    return children
