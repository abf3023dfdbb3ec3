"""Finish free centers on all rows: fair centers and nearest centers in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem
from rawlsian._outofcore.placing import Rule, Sums, rounded
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._search.crossing import SearchEnd
from rawlsian._search.fair_lloyd import FairRuns, Solutions
from rawlsian._search.leximin import (
    fair_weights_of_sums,
    is_better,
    leximin_best,
    leximin_of_sums,
)
from rawlsian._support.interruption import finished, keeps_partial

# Passes end when one lowers the largest mean cost by less, relative to it.
LEAST_GAIN = 1e-6

# Number of solutions refined on the whole sample, and of these compared on all rows.
N_REFINED, N_COMPARED = 8, 2
MAX_REFINING = 30


@dataclass(frozen=True, eq=False)
class FreeEnd:
    """Centers for all rows, mean costs of groups (not pooled), inertia and lambda."""

    centers: NDArray[np.float64]
    costs: NDArray[np.float64]
    inertia: float
    group_weights: NDArray[np.float64]
    stop_reason: SearchEnd


def refined(
    searched: Problem, sample: Problem, found: Solutions, is_interrupted: bool
) -> Solutions:
    """Run Fair-Lloyd on the whole sample from solutions of a part of it; best first."""
    some = found.take(list(range(min(N_REFINED, len(found.centers)))))
    if searched.n_samples == sample.n_samples:
        return some
    if is_interrupted:  # skip the refinement
        shift = searched.shift - sample.shift
        return some._replace(centers=some.centers + shift)
    runs = FairRuns(sample, MAX_REFINING)
    ends = runs.run(some.centers + searched.shift - sample.shift)
    ends = ends.take(np.argsort(ends.objectives, kind="stable").tolist())
    return leximin_best(runs, ends) if sample.n_groups > 2 else ends


def finish_free(
    large: OutOfCoreProblem, sample: Problem, found: Solutions, is_interrupted: bool
) -> FreeEnd:
    """Alternate fair centers and nearest centers, from the sample's best solutions.

    One pass is left for the labels.
    """
    shift = sample.shift
    centers, lam = found.centers[0] + shift, found.group_weights[0]
    sums, came = finished(lambda: large.assign(Rule.nearest(centers), shift))
    is_interrupted |= came
    costs = large.pooled_means(sums.mean_costs)
    stop_reason: SearchEnd = "interrupted" if is_interrupted else "max_passes"
    n_compared = 1 if is_interrupted else min(N_COMPARED, len(found.centers))
    try:
        for place in range(1, n_compared):
            if large.passes_left < 2:
                break
            others = found.centers[place] + shift
            theirs = large.assign(Rule.nearest(others), shift)
            after = large.pooled_means(theirs.mean_costs)
            if is_better(after, costs):
                centers, lam = others, found.group_weights[place]
                sums, costs = theirs, after
        large.largest_cost = float(costs.max())
        while large.passes_left >= 2 and not is_interrupted:
            moved, weights = _fair_centers(large, sums, centers - shift)
            theirs = large.assign(Rule.nearest(moved + shift), shift)
            after = large.pooled_means(theirs.mean_costs)
            gain = large.largest_cost - float(after.max())
            if is_better(after, costs):
                centers, lam, sums, costs = moved + shift, weights, theirs, after
            if gain < LEAST_GAIN * large.largest_cost:
                stop_reason = "completed"
                break
            large.largest_cost -= gain
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        stop_reason = "interrupted"
    inertia = float(rounded(sums.costs).sum())
    return FreeEnd(centers, sums.mean_costs, inertia, lam, stop_reason)


def _fair_centers(
    large: OutOfCoreProblem, sums: Sums, centers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return leximin-best centers for the partition of these sums, and lambda."""
    mix, sizes = large.pooling.mix, large.group_sizes
    counts = mix(rounded(sums.counts).T)
    totals = mix(rounded(sums.sums).transpose(1, 0, 2))
    squares = mix(rounded(sums.squares).T)
    moved = leximin_of_sums(sizes, counts, totals, squares, centers)
    lam = fair_weights_of_sums(sizes, counts, totals, squares.sum(axis=1))
    return moved, lam
