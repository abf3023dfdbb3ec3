"""All people of a table in memory: where candidates are searched and measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.balanced import balanced_part, balanced_rows, weighted_part
from rawlsian._core.problem import Problem, Utility
from rawlsian._recommend.effects import Effect, Served, served_by, sum_up
from rawlsian._recommend.rules import Clusters, Finder

# Centers are searched on at most this many rows, and finished on all.
MOST_SEARCHED = 10_000
# Pooling is chosen, and people are left out, on at most this many rows.
MOST_LEFT_OUT = 4_000


class Population(ABC):
    """People among whom candidates are searched, and on whom they are measured.

    People of groups that are too small for a statement count in k-means and in all
    figures, but have no weight while fairer clusterings are searched: nothing is
    optimised for them.
    """

    min_group: int

    @property
    @abstractmethod
    def people(self) -> NDArray[np.float64]:
        """People of each group."""

    @cached_property
    def _groups(self) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        return searched_groups(self.people, self.min_group)

    @property
    def is_small(self) -> NDArray[np.bool_]:
        """True for groups with too few people for a statement."""
        return self._groups[0]

    @property
    def judged(self) -> NDArray[np.intp]:
        """The groups of the search, which are not small."""
        return self._groups[1]

    @abstractmethod
    def finder(
        self, n_clusters: int, utility: Utility, pooling: float, seed: int
    ) -> Finder:
        """Return a finder for all people."""

    @abstractmethod
    def sample(self, seed: int) -> tuple[Problem, NDArray[np.int32] | None]:
        """Return a few thousand people, in groups of the search, and their start."""

    @abstractmethod
    def effects(self, keep: Clusters, others: Sequence[Clusters]) -> list[Effect]:
        """Measure clusterings beside the one that is kept."""


def searched_groups(
    people: NDArray[np.float64], min_group: int
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return which groups are small, and the groups of the search.

    If all are small, the largest is searched for, so that there is one.
    """
    is_small = people < min_group
    is_searched = ~is_small | (np.arange(len(people)) == np.argmax(people))
    return is_small, np.flatnonzero(is_searched)


@dataclass(frozen=True, eq=False)
class MemoryPopulation(Population):
    """People in memory.

    Attributes
    ----------
    problem : Problem
        All rows, in their own groups, not pooled.
    min_group : int
        Groups with fewer people are reported, but not optimised for.
    start : ndarray of shape (n_samples,) or None
        Clusters to begin from.
    """

    problem: Problem
    min_group: int
    start: NDArray[np.int32] | None = None

    @property
    def people(self) -> NDArray[np.float64]:
        """People of each group."""
        return self.problem.people

    @cached_property
    def of_search(self) -> Problem:
        """The rows in the groups of the search; other rows have no weight."""
        problem, judged = self.problem, self.judged
        if len(judged) == problem.n_groups:
            return problem
        if len(judged) == 1:  # nobody to compare with: everyone counts
            one = problem.as_one_group()
            return replace(one, group_names=problem.group_names[judged])
        places = np.searchsorted(judged, problem.groups)
        places[places == len(judged)] = 0
        is_judged = judged[places] == problem.groups
        return Problem.of_checked(
            problem.X, problem.group_names[judged],
            np.where(is_judged, places, 0).astype(np.int32),
            np.where(is_judged, problem.weights, 0.0), problem.max_distance,
        )  # fmt: skip

    def finder(
        self, n_clusters: int, utility: Utility, pooling: float, seed: int
    ) -> Finder:
        """Return a finder for all rows, which searches on a part of many."""
        rng = np.random.RandomState(seed)
        problem, searched = self.of_search, self.of_search
        rows, everyone = problem.pooled(pooling), self.problem
        n_searched = max(MOST_SEARCHED, 20 * n_clusters)
        if problem.n_samples > n_searched:
            chosen = balanced_rows(problem, n_searched, rng)
            searched = weighted_part(problem, chosen).pooled(pooling)
            everyone = balanced_part(self.problem, n_searched, rng)
        else:
            searched = rows
        return Finder(
            rows, searched, n_clusters, utility, self.start, rng,
            all_rows=self.problem.as_one_group(), all_searched=everyone.as_one_group(),
        )  # fmt: skip

    def sample(self, seed: int) -> tuple[Problem, NDArray[np.int32] | None]:
        """Return at most MOST_LEFT_OUT rows with weights, and their start."""
        problem, start = self.of_search, self.start
        if problem.n_samples <= MOST_LEFT_OUT:
            return problem, start
        rows = balanced_rows(problem, MOST_LEFT_OUT, np.random.RandomState(seed))
        part = replace(weighted_part(problem, rows), group_names=problem.group_names)
        return part, None if start is None else start[rows]

    def effects(self, keep: Clusters, others: Sequence[Clusters]) -> list[Effect]:
        """Measure clusterings beside the one that is kept."""
        problem, before = self.problem, self.served(keep)
        effects = []
        for each in others:
            after = before if each is keep else self.served(each)
            sums = sum_up(
                problem.groups, problem.weights, problem.n_groups, len(keep.centers),
                before, after, problem.max_distance,
            )  # fmt: skip
            effects.append(Effect(sums, self.is_small))
        return effects

    def served(self, clusters: Clusters) -> Served:
        """Return each row's cluster and squared distance to what serves it."""
        problem = self.problem
        return served_by(
            problem.X, clusters.centers, clusters.labels, problem.max_distance
        )
