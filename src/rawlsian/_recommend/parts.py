"""All people of a table in parts: candidates are searched on a sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.balanced import balanced_part
from rawlsian._core.problem import Problem, Utility
from rawlsian._engines.outofcore import OutOfCoreEngine
from rawlsian._estimators.kmeans import RawlsianKMeans
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._recommend.effects import Effect, Sums, served_by, sum_up
from rawlsian._recommend.population import MOST_LEFT_OUT, Population
from rawlsian._recommend.rules import Clusters, Finder
from rawlsian._search.crossing import Callback
from rawlsian._search.frontier import Ends


@dataclass(frozen=True, eq=False)
class PartsPopulation(Population):
    """People whose rows are never all in memory.

    Attributes
    ----------
    large : OutOfCoreProblem
        All rows, in their own groups, not pooled.
    min_group : int
        Groups with fewer people are reported, but not optimised for.
    n_clusters : int
        Number of clusters.
    seed : int
        Seed of all random draws.
    callback : callable or None
        Called with the steps of searches and passes.
    """

    large: OutOfCoreProblem
    min_group: int
    n_clusters: int
    seed: int
    callback: Callback | None = None

    @property
    def people(self) -> NDArray[np.float64]:
        """People of each group."""
        return self.large.people

    @cached_property
    def of_search(self) -> OutOfCoreProblem:
        """The rows in the groups of the search; other rows have no weight."""
        large, judged = self.large, self.judged
        if len(judged) == large.n_groups:
            return large
        if len(judged) == 1:  # nobody to compare with: everyone counts
            one = large.as_one_group()
            return replace(one, group_names=large.group_names[judged])
        places = np.full(large.n_groups, -1, np.int32)
        places[judged] = np.arange(len(judged))
        keep = large.blocks.executor.keep
        return replace(
            large, groups=keep(_judged_groups, [large.groups], places),
            weights=keep(_judged_weights, [large.groups, large.weights], places),
            group_names=large.group_names[judged], people=large.people[judged],
            members=large.members[:, judged],
        )  # fmt: skip

    def engine(self) -> OutOfCoreEngine:
        """Return an engine for the rows in the groups of the search."""
        return OutOfCoreEngine(self.of_search.again(self.callback))

    @cached_property
    def _sample(self) -> Problem:
        """A weighted sample of the rows to search, in the groups of the search."""
        engine = self.engine()
        rng = np.random.RandomState(self.seed)
        found = engine.to_search(self.n_clusters, rng)
        self.large.n_passes += engine.n_passes
        return replace(found, max_distance=self.large.max_distance)

    def sample(self, seed: int) -> tuple[Problem, NDArray[np.int32] | None]:
        """Return at most MOST_LEFT_OUT rows with weights."""
        rng = np.random.RandomState(seed)
        part = balanced_part(self._sample, MOST_LEFT_OUT, rng)
        return replace(part, group_names=self.of_search.group_names), None

    def finder(
        self, n_clusters: int, utility: Utility, pooling: float, seed: int
    ) -> Finder:
        """Return a finder whose ends are those of all rows."""
        problem = self._sample.pooled(pooling)
        finder = Finder(
            problem, problem, n_clusters, utility, None, np.random.RandomState(seed)
        )
        plain = self._search(self.large.as_one_group(), 0.0)
        if problem.n_groups == 1:
            return replace(finder, found_ends=Ends(plain, plain, problem.shares))
        fair = self._search(self.of_search, pooling)
        own = finder.ends  # of the sample
        ends = Ends(
            np.concatenate([plain, own.plain]), np.concatenate([fair, own.fair]),
            own.shares,
        )  # fmt: skip
        return replace(finder, found_ends=ends)

    def _search(self, large: OutOfCoreProblem, pooling: float) -> NDArray[np.float64]:
        """Return the best centers, searched on a sample and finished on all rows."""
        solver = RawlsianKMeans(
            self.n_clusters,
            pooling=pooling,
            max_distance=large.max_distance,
            random_state=self.seed,
            callback=self.callback,
        )
        solver._fit_engine(OutOfCoreEngine(large.again(self.callback)))
        self.large.n_passes += solver.n_passes_
        centers: NDArray[np.float64] = solver.cluster_centers_[None]
        return centers

    def effects(self, keep: Clusters, others: Sequence[Clusters]) -> list[Effect]:
        """Measure clusterings beside the one that is kept, in one pass."""
        large, columns = self.large, []
        for each in others:
            if each.labels is not None:
                columns.append(large.blocks.columns_of(each.labels, "labels"))
        has_labels = [each.labels is not None for each in others]
        centers = [each.centers for each in others]
        parts = large.blocks.run(
            _block_sums, [large.groups, large.weights, *columns], keep.centers,
            centers, has_labels, large.n_groups, large.max_distance,
        )  # fmt: skip
        total: list[Sums] | None = None
        for part in parts:
            if total is None:
                total = part
            else:
                total = [ours.plus(own) for ours, own in zip(total, part, strict=True)]
        large.count_pass()
        assert total is not None
        return [Effect(each, self.is_small) for each in total]


def _judged_groups(groups: Any, places: NDArray[np.int32]) -> NDArray[np.int32]:
    judged: NDArray[np.int32] = np.maximum(places[groups], 0)
    return judged


def _judged_weights(
    groups: Any, weights: Any, places: NDArray[np.int32]
) -> NDArray[np.float64]:
    own: NDArray[np.float64] = np.broadcast_to(weights, groups.shape)
    return np.where(places[groups] >= 0, own, 0.0)


def _block_sums(X: NDArray[Any], groups: Any, weights: Any, *others: Any) -> list[Sums]:
    """Return the sums of a block for each clustering.

    ``others`` are columns of labels, then what all blocks share.
    """
    *columns, keep, centers, has_labels, n_groups, max_distance = others
    rows = np.ascontiguousarray(X, np.float64)
    own_weights = np.broadcast_to(np.asarray(weights, np.float64), groups.shape)
    before, labels = served_by(rows, keep, None, max_distance), iter(columns)
    found = []
    for these, is_labelled in zip(centers, has_labels, strict=True):
        own = np.asarray(next(labels), np.int32) if is_labelled else None
        after = served_by(rows, these, own, max_distance)
        sums = sum_up(
            groups, own_weights, n_groups, len(keep), before, after, max_distance,
            is_block=True,
        )  # fmt: skip
        found.append(sums)
    return found
