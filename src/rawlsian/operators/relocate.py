"""Relocate: dissolve a cluster and place it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.assignment import Assignment
from rawlsian._core.balanced import SAMPLED_A_PLACE, balanced_part
from rawlsian._core.nearest import group_means, nearest
from rawlsian._core.parameters import check_count
from rawlsian._core.relabeling import renumbering
from rawlsian._search.crossing import GIVE_UP_ABOVE, PATIENCE
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns, Solutions
from rawlsian._search.partitions import Labels, best_partitions, improved
from rawlsian.operators.proposals import Proposals, check_least_gain

# Trials for each cluster, and the number of their results that are improved.
TRIALS_A_CLUSTER, N_IMPROVED = 16, 6

# If small gains do not count, a run ends when an iteration gains less than the first
# number, relative to the largest cost, and so many runs are compared as partitions.
LEAST_GAIN_OF_RUN, N_COMPARED = 1e-4, 16
# With more numbers in dense rows, sweeps over the examples would take minutes: trials
# run on one row in N_PARTS, equally many of each group, the best of them on all rows,
# and no rows are swept.
MOST_SWEPT, N_PARTS = 2**22, 4


@dataclass(frozen=True)
class Relocate:
    """Dissolve one cluster and place it elsewhere.

    A trial puts the center of a cluster on an example drawn at random and assigns all
    examples anew: by a run of Fair-Lloyd from there, and then one at a time, with means
    for centers. The best results of many trials are proposed. This escapes from local
    optima that moves of a few examples cannot leave.

    Parameters
    ----------
    n_trials : int, default=None
        Number of trials at each step; ``None`` means 16 for each cluster.
    random_state : int, default=0
        Seed of the examples that centers are put on. They are the same at each step,
        so the same assignment leads to the same proposals.
    least_gain : float, default=0.0
        Assigning one at a time ends when a sweep over all examples gains less than
        this, relative to the mean cost of the worst-off group; from 0 to below 1. Above
        0 there are also fewer sweeps before that, runs of Fair-Lloyd end at a gain of
        1e-4; and with dense rows of more than 4 million numbers, trials run on a
        quarter of them, equally many of each group, the best of these on all, and no
        example is moved by itself.
    """

    n_trials: int | None = None
    random_state: int = 0
    least_gain: float = 0.0

    def __post_init__(self) -> None:
        if self.n_trials is not None:
            check_count(self.n_trials, "n_trials")
        check_least_gain(self.least_gain)

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield the best clusterings found by relocating a cluster.

        Parameters
        ----------
        assignment : Assignment
            The clustering to start from; it is not changed.

        Yields
        ------
        Proposals
            One block; none if there is only one cluster.
        """
        problem, n_clusters = assignment.problem, assignment.n_clusters
        if n_clusters == 1:
            return
        runs = FairRuns(problem, MAX_ITER)
        cost = problem.max_distance - assignment.lowest
        init = self._relocated(assignment)
        sweeps = (
            self.least_gain == 0 or problem.X.size <= MOST_SWEPT or not runs.is_dense
        )
        if sweeps:
            centers = self._found(runs, init, cost)
        else:
            centers = self._found_on_part(runs, init, assignment.centers)
        partitions = best_partitions(problem, centers + problem.shift, N_IMPROVED)
        found = []
        if sweeps:
            least_gain = self.least_gain * cost
            partitions = improved(runs, partitions, n_clusters, least_gain=least_gain)
        for labels in partitions:
            labels = _numbered_alike(labels, assignment)
            examples = np.flatnonzero(labels != assignment.labels)
            found.append((examples, labels[examples].astype(np.int64)))
        if found:
            utilities = [assignment.utilities_after(*moves) for moves in found]
            yield Proposals(np.array(utilities), lambda j: found[j])

    def _found(
        self, runs: FairRuns, init: NDArray[np.float64], cost: float
    ) -> NDArray[np.float64]:
        """Return the centers of all trials; of the best ones if least_gain > 0."""
        counts_all = self.least_gain == 0
        ends = runs.run(
            init, patience=PATIENCE, ceiling=GIVE_UP_ABOVE * cost,
            least_gain=0.0 if counts_all else LEAST_GAIN_OF_RUN,
        )  # fmt: skip
        return ends.centers if counts_all else ends.centers[_best(ends)]

    def _found_on_part(
        self,
        runs: FairRuns,
        init: NDArray[np.float64],
        centers: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the centers of the best trials on a part of the rows, run on all.

        ``init`` is shifted, ``centers``, those of the clustering now, are not.
        """
        problem, rng = runs.problem, np.random.RandomState(self.random_state)
        n_places = max(len(centers), problem.n_groups)
        n_rows = max(problem.n_samples // N_PARTS, SAMPLED_A_PLACE * n_places)
        part = balanced_part(problem, n_rows, rng)
        part = part.pooled(problem.pooling.strength)
        cost = group_means(part, nearest(part.X, centers)[1]).max()
        moved = problem.shift - part.shift
        best = self._found(FairRuns(part, MAX_ITER), init + moved, cost)
        return runs.run(best - moved, least_gain=LEAST_GAIN_OF_RUN).centers

    def _relocated(self, assignment: Assignment) -> NDArray[np.float64]:
        """Return the centers of each trial: the means, one put on a random example."""
        problem, n_clusters = assignment.problem, assignment.n_clusters
        n_trials = self.n_trials or TRIALS_A_CLUSTER * n_clusters
        rng = np.random.RandomState(self.random_state)
        rows = rng.choice(np.flatnonzero(problem.weights > 0), n_trials)
        trials = np.arange(n_trials)
        centers = np.repeat(assignment.centers[None], n_trials, axis=0)
        centers[trials, trials % n_clusters] = problem.X[rows]
        relocated: NDArray[np.float64] = centers - problem.shift
        return relocated


def _best(ends: Solutions) -> NDArray[np.intp]:
    """Return the runs with the lowest costs of the worst-off group, best first."""
    return np.argsort(ends.objectives, kind="stable")[:N_COMPARED]


def _numbered_alike(labels: Labels, assignment: Assignment) -> Labels:
    """Renumber labels to move few rows; rows without weight keep their label."""
    has_weight = assignment.problem.weights > 0
    numbers = renumbering(labels, assignment.labels, assignment.n_clusters, has_weight)
    return np.where(has_weight, numbers[labels], assignment.labels).astype(np.int32)
