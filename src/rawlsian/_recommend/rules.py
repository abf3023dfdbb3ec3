"""Rules that find a clustering: k-means, the trade-off, the solver, the walks.

A rule finds the same kind of clustering for any people. So what it brings to people who
are not in the data can be measured: the rule is applied without some of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.assignment import Assignment
from rawlsian._core.balanced import balanced_part
from rawlsian._core.nearest import group_means, nearest
from rawlsian._core.problem import Problem, Utility
from rawlsian._core.relabeling import renumbering
from rawlsian._search.crossing import random_centers
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns, Solutions
from rawlsian._search.frontier import (
    BETWEEN,
    Ends,
    run_with_shares,
    search_ends,
    search_with_shares,
    weighted_as_one,
)
from rawlsian.operators.compositions import get_operator
from rawlsian.operators.traversal import Trajectory, traverse_of

# Solutions of each search between the ends from which runs in between start.
N_CARRIED = 8
# Solutions of a sample that are finished on all rows, and runs from random rows beside
# them: least, most, and rows that they have together. A run from random rows ends if it
# is above this times the best after so many iterations.
POLISHED, FRESH = (2, 6, 300_000), (3, 24, 600_000)
GIVE_UP_ABOVE, GIVE_UP_AFTER = 1.02, 8
# Rows of a walk whose centers serve people; the time of a walk grows faster than rows.
MOST_WALKED = 500
# Points of a walk that are tried to find the last within a limit on moves.
MOST_TRIED = 30


class Clusters(NamedTuple):
    """Centers, and labels if people are served by the members of their cluster.

    ``labels`` is None if everyone is served by the nearest center.
    """

    centers: NDArray[np.float64]
    labels: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class Finder:
    """Some people, among whom rules find clusterings.

    Attributes
    ----------
    rows : Problem
        All of these people, pooled.
    searched : Problem
        Rows on which centers are searched: the same, or fewer with weights.
    n_clusters : int
        Number of clusters.
    utility : {"nearest", "assigned"}
        "nearest" if centers serve people, "assigned" if members do.
    start : ndarray of shape (n_samples,) or None
        Clusters of the rows to begin from; None to begin from k-means.
    rng : RandomState
        Random numbers.
    kept : Clusters or None
        The clustering to begin from, if it is known.
    found_ends : Ends or None
        The ends of the trade-off, if they are known.
    all_rows, all_searched : Problem or None
        ``rows`` and ``searched`` as one group with everyone in it, if some of these
        people have no weight; k-means is for everyone.
    fair_shares : ndarray of shape (n_groups,) or None
        Weights of the groups at the fair end of all people, if these are some of them.
    origin : ndarray of shape (n_clusters, n_features) or None
        Centers that are kept for all people, if these are some of them.
    """

    rows: Problem
    searched: Problem
    n_clusters: int
    utility: Utility
    start: NDArray[np.int32] | None
    rng: np.random.RandomState
    kept: Clusters | None = None
    found_ends: Ends | None = None
    all_rows: Problem | None = None
    all_searched: Problem | None = None
    fair_shares: NDArray[np.float64] | None = None
    origin: NDArray[np.float64] | None = None

    @cached_property
    def ends(self) -> Ends:
        """The best k-means clusterings and the best for the worst-off group."""
        if self.found_ends is not None:
            return self.found_ends
        everyone = self.everyone(self.searched)
        found = search_ends(self.searched, self.n_clusters, self.rng, everyone)
        if self.searched is self.rows:
            return found
        return polished(self.rows, self.everyone(self.rows), found, self.rng)

    def everyone(self, problem: Problem) -> Problem:
        """Return ``rows`` or ``searched`` as one group, in which everyone counts."""
        whole = self.all_rows if problem is self.rows else self.all_searched
        return weighted_as_one(problem, problem.shares) if whole is None else whole

    @cached_property
    def between(self) -> NDArray[np.float64]:
        """Good clusterings for group weights between those of the ends."""
        found = [
            search_with_shares(
                self.searched, self.shares_at(step), self.n_clusters, self.rng
            )[:N_CARRIED]
            for step in BETWEEN
        ]
        return np.concatenate(found)

    def shares_at(self, step: float) -> NDArray[np.float64]:
        """Return the weights of the groups part of the way to the fair end."""
        shares, fair = self.searched.shares, self.fair_shares
        if fair is None:
            fair = self.ends.shares
        if len(fair) != len(shares):  # a group is missing among these people
            fair = shares
        mixed: NDArray[np.float64] = (1 - step) * shares + step * fair
        return mixed

    @cached_property
    def keep(self) -> Clusters:
        """The clustering to begin from: the start, or the best k-means."""
        if self.kept is not None:
            return self.kept
        if self.start is not None:
            return self.of_members(self.start)
        centers = self.ends.plain[0]
        found = self._served(centers)
        if found is None:  # fewer different rows than clusters
            return Clusters(centers, nearest(self.rows.X, centers)[0])
        return found

    def served(self, centers: NDArray[np.float64]) -> Clusters:
        """Return clusters of these centers, or of the people nearest to each.

        Where people are nearest to some of the centers only, members cannot serve them;
        then the clusters are kept.
        """
        found = self._served(centers)
        return self.keep if found is None else found

    def _served(self, centers: NDArray[np.float64]) -> Clusters | None:
        if self.utility == "nearest":
            return Clusters(centers)
        labels = nearest(self.rows.X, centers)[0]
        if not is_complete(self.everyone(self.rows), labels, self.n_clusters):
            return None
        return self.of_members(labels)

    def of_members(self, labels: NDArray[np.int32]) -> Clusters:
        """Return clusters of these labels, with the means of all of their people."""
        return Clusters(Assignment(self.everyone(self.rows), labels).centers, labels)

    def labels_of(self, clusters: Clusters) -> NDArray[np.int32]:
        """Return the cluster of each row."""
        if clusters.labels is not None:
            return clusters.labels
        return nearest(self.rows.X, clusters.centers)[0]

    def to_walk(self) -> tuple[Problem, NDArray[np.int32]]:
        """Return the rows of a walk, and the clusters where it begins."""
        if self.utility == "assigned":
            return self.rows, self.labels_of(self.keep)
        part = balanced_part(self.searched.pooled(0), MOST_WALKED, self.rng)
        problem = replace(part, utility="nearest").pooled(self.rows.pooling.strength)
        return problem, nearest(problem.X, self.keep.centers)[0]

    def as_kmeans(self, clusters: Clusters) -> Clusters:
        """Return the k-means that centers lead to; clusters of members as they are."""
        if self.utility == "assigned":
            return clusters
        return Clusters(_lloyd(self.everyone(self.rows), clusters.centers))

    def largest_cost(self, centers: NDArray[np.float64]) -> float:
        """Return the largest pooled mean cost of a group."""
        return float(
            group_means(self.searched, nearest(self.searched.X, centers)[1]).max()
        )


def is_complete(problem: Problem, labels: NDArray[np.int32], n_clusters: int) -> bool:
    """Return True if every cluster has people; rows without weight are none."""
    return len(np.unique(labels[problem.weights > 0])) == n_clusters


def polished(
    problem: Problem, everyone: Problem, found: Ends, rng: np.random.RandomState
) -> Ends:
    """Run the best clusterings of a sample, and fresh starts, on all rows.

    The best of a sample need not be near the best of all rows.
    """
    plain = _finished(everyone, found.plain, rng)
    fair = _finished(problem, found.fair, rng)
    return Ends(
        np.concatenate([plain.centers + everyone.shift, found.plain[1:]]),
        np.concatenate([fair.centers + problem.shift, found.fair[1:]]),
        fair.group_weights[0],
    )


def _finished(
    problem: Problem, centers: NDArray[np.float64], rng: np.random.RandomState
) -> Solutions:
    """Return the best run on all rows: from these centers, or from random rows.

    A run from random rows is given up if it is far behind after some iterations.
    """
    n_rows, n_clusters = problem.n_samples, centers.shape[1]
    n_polished, n_fresh = (
        int(np.clip(most_rows // n_rows, least, most))
        for least, most, most_rows in (POLISHED, FRESH)
    )
    runs = FairRuns(problem, MAX_ITER)
    done = runs.run(centers[:n_polished] - problem.shift)
    ceiling = GIVE_UP_ABOVE * float(done.objectives.min())
    starts = random_centers(problem, n_fresh, n_clusters, rng)
    done = done.join(runs.run(starts, patience=GIVE_UP_AFTER, ceiling=ceiling))
    return done.take([int(np.argmin(done.objectives))])


# --- Rules -------------------------------------------------------------------------


class Rule(Protocol):
    """A way to find a clustering of some people."""

    @property
    def name(self) -> str:
        """Short name."""

    def find(self, finder: Finder) -> Clusters:
        """Return the clustering."""

    def find_near(self, finder: Finder, centers: NDArray[np.float64]) -> Clusters:
        """Return the clustering of the same kind as that of other people.

        ``centers`` are theirs. A search among fewer people may find another kind, which
        would tell nothing about this one.
        """


@dataclass(frozen=True)
class Keep:
    """The clusters to begin from: the start, or the best k-means."""

    name: str = "keep"

    def find(self, finder: Finder) -> Clusters:
        """Return the start or the best k-means."""
        return finder.keep

    def find_near(self, finder: Finder, centers: NDArray[np.float64]) -> Clusters:
        """Return the start, or run k-means from the centers."""
        if finder.start is not None:
            return finder.keep
        return _kmeans_from(finder, centers)


@dataclass(frozen=True)
class KMeansRule:
    """The best k-means, for people who begin from clusters of their own."""

    name: str = "k-means"

    def find(self, finder: Finder) -> Clusters:
        """Return the best k-means."""
        return finder.served(finder.ends.plain[0])

    def find_near(self, finder: Finder, centers: NDArray[np.float64]) -> Clusters:
        """Run k-means from the centers."""
        return _kmeans_from(finder, centers)


@dataclass(frozen=True)
class BestRestart(KMeansRule):
    """The run of k-means that is best for the worst-off group."""

    name: str = "k-means run"

    def find(self, finder: Finder) -> Clusters:
        """Return the best of the runs that the search kept."""
        plain = finder.ends.plain
        costs = [finder.largest_cost(each) for each in plain]
        return finder.served(plain[int(np.argmin(costs))])


@dataclass(frozen=True)
class TradeOff:
    """K-means with weights of groups that are part of the way to the Rawlsian ones.

    ``step`` is 0 for the weights of k-means, 1 for those of the solver.
    """

    step: float
    name: str = "trade-off"

    def find(self, finder: Finder) -> Clusters:
        """Run k-means with these weights from the best clusterings found so far."""
        ends = finder.ends
        starts = np.concatenate([
            ends.plain[:N_CARRIED], finder.between, ends.fair[:N_CARRIED]
        ])  # fmt: skip
        shares = finder.shares_at(self.step)
        return finder.served(run_with_shares(finder.searched, shares, starts))

    def find_near(self, finder: Finder, centers: NDArray[np.float64]) -> Clusters:
        """Run k-means with these weights from the centers."""
        return _run_from(finder, finder.shares_at(self.step), centers)


@dataclass(frozen=True)
class Solver:
    """The clustering that serves the worst-off group best."""

    name: str = "solver"

    def find(self, finder: Finder) -> Clusters:
        """Return the best of the search."""
        return finder.served(finder.ends.fair[0])

    def find_near(self, finder: Finder, centers: NDArray[np.float64]) -> Clusters:
        """Run Fair-Lloyd from the centers."""
        problem = finder.searched
        runs = FairRuns(problem, MAX_ITER).run(centers[None] - problem.shift)
        return finder.served(runs.centers[0] + problem.shift)


def _kmeans_from(finder: Finder, centers: NDArray[np.float64]) -> Clusters:
    """Run k-means of everyone from some centers."""
    return finder.served(_lloyd(finder.everyone(finder.searched), centers))


def _lloyd(everyone: Problem, centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Run k-means from some centers until nothing changes."""
    runs = FairRuns(everyone, MAX_ITER).run(centers[None] - everyone.shift)
    found: NDArray[np.float64] = runs.centers[0] + everyone.shift
    return found


def _run_from(
    finder: Finder, shares: NDArray[np.float64], centers: NDArray[np.float64]
) -> Clusters:
    """Run k-means whose groups have these total weights from some centers."""
    return finder.served(run_with_shares(finder.searched, shares, centers[None]))


@dataclass(frozen=True)
class Walk:
    """A walk from the clusters to begin with, moving people to other clusters.

    ``most_moved`` is the largest share of people who may be in another cluster.
    """

    operator: str
    most_moved: float = 1.0

    @property
    def name(self) -> str:
        """Name of the operator."""
        return f"walk ({self.operator})"

    def find(self, finder: Finder) -> Clusters:
        """Return the end of the walk, or its last point within the limit."""
        problem, start = finder.to_walk()
        if not is_complete(problem, start, finder.n_clusters):
            return finder.keep
        walk = traverse_of(problem, start, operator=get_operator(self.operator))
        for step in _back_to_start(walk):
            labels = walk.labels_at(step)
            centers = Assignment(problem, labels).centers
            if problem.utility == "nearest":
                labels = nearest(problem.X, centers)[0]
            if np.average(labels != start, weights=problem.weights) <= self.most_moved:
                is_center = problem.utility == "nearest"
                return Clusters(centers, None if is_center else labels)
        return finder.keep

    def find_near(self, finder: Finder, centers: NDArray[np.float64]) -> Clusters:
        """Walk again: a walk begins near the clusters that are kept anyway."""
        return self.find(finder)


def _back_to_start(walk: Trajectory) -> NDArray[np.intp]:
    """Return at most MOST_TRIED steps of a walk, evenly spaced, the last first."""
    steps = np.linspace(walk.n_iter, 0, min(MOST_TRIED, walk.n_iter + 1))
    return np.unique(steps.round().astype(np.intp))[::-1]


@dataclass(frozen=True)
class PartOfTheWay:
    """Centers on the straight line from the clusters kept to those of another rule.

    Few people change their cluster if ``share``, the part of the way, is small.
    """

    rule: Rule
    share: float

    @property
    def name(self) -> str:
        """Name of the other rule, and the part of the way."""
        return f"{self.share:.0%} of the way to the {self.rule.name}"

    def find(self, finder: Finder) -> Clusters:
        """Match the centers by their people, and go part of the way."""
        keep, other = finder.keep, self.rule.find(finder)
        labels = finder.labels_of(other)
        numbers = renumbering(labels, finder.labels_of(keep), finder.n_clusters)
        matched = other.centers[np.argsort(numbers)]
        return finder.served(keep.centers + self.share * (matched - keep.centers))

    def find_near(self, finder: Finder, centers: NDArray[np.float64]) -> Clusters:
        """Go part of the way to the clustering of the other rule near its centers."""
        keep, origin = finder.keep.centers, finder.origin
        assert origin is not None
        end = self.rule.find_near(finder, origin + (centers - origin) / self.share)
        return finder.served(keep + self.share * (end.centers - keep))
