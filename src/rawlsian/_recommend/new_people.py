"""Costs of people who are not in the data, with clusterings found without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.folds import deal_problem, part_of
from rawlsian._core.nearest import nearest
from rawlsian._core.problem import Problem
from rawlsian._recommend.rules import Finder, Rule
from rawlsian.metrics.audit import CONFIDENCE
from rawlsian.metrics.gain import intervals_of
from rawlsian.metrics.refits import People

N_FOLDS, N_BOOTSTRAP = 5, 1000
# A cost up to this, relative to the largest squared norm of a row, is rounding.
ROUNDING = 1e-24


@dataclass(frozen=True, eq=False)
class NewPeople:
    """Costs of people who were left out, with a rule and with the clusters kept.

    Attributes
    ----------
    group_names : ndarray of shape (n_groups,)
        The groups.
    kept, found : ndarray of shape (n_groups,)
        Mean cost of each group among people who were left out.
    gain : float
        By how many per cent the largest mean cost of a group is lower.
    gain_interval : tuple of float
        Interval of the gain.
    n_rows : int
        Number of rows that were left out in turn.
    confidence : float
        Confidence of the interval.
    """

    group_names: NDArray[Any]
    kept: NDArray[np.float64]
    found: NDArray[np.float64]
    gain: float
    gain_interval: tuple[float, float]
    n_rows: int
    confidence: float = CONFIDENCE

    @property
    def is_clear_gain(self) -> bool:
        """True if the whole interval of the gain is above 0."""
        return bool(self.gain_interval[0] > 0)


class Target(NamedTuple):
    """A clustering of all people: the rule that found it, and its centers."""

    rule: Rule
    centers: NDArray[np.float64]


def leave_out(
    problem: Problem,
    finder: Finder,
    start: NDArray[np.int32] | None,
    keep: Target,
    targets: Sequence[Target],
    seed: int,
    progress: Callable[[int, int], object],
) -> list[NewPeople] | None:
    """Find clusterings again without a fifth of the people at a time; measure these.

    Parameters
    ----------
    problem : Problem
        People to leave out in turn, a sample of all.
    finder : Finder
        The finder of all people.
    start : ndarray of shape (n_samples,) or None
        Clusters of the sample to begin from.
    keep, targets : Target and sequence of Target
        The clustering that is kept, and those that may replace it.
    seed : int
        Seed of the folds.
    progress : callable
        Called with the number of folds done, and of all.

    Returns
    -------
    list of NewPeople or None
        One for each target; None if too few people would be left.
    """
    rng = np.random.RandomState(seed)
    folds = deal_problem(problem, min(N_FOLDS, problem.n_samples), rng)
    if not _leave_enough(folds, finder.n_clusters, start):
        return None
    costs = np.empty((1 + len(targets), N_FOLDS, problem.n_samples))
    for fold in range(N_FOLDS):
        progress(fold, N_FOLDS)
        rows = (folds >= 0) & (folds != fold)
        own = _finder_of(problem, rows, start, finder, keep, rng)
        found = [own.keep, *(t.rule.find_near(own, t.centers) for t in targets)]
        for j, clusters in enumerate(found):
            costs[j, fold] = nearest(problem.X, clusters.centers)[1]
    costs[costs <= ROUNDING * problem.norms.max()] = 0.0
    return [
        _compared(problem, folds, costs[[j, 0]], seed) for j in range(1, len(costs))
    ]


def _finder_of(
    problem: Problem,
    rows: NDArray[np.bool_],
    start: NDArray[np.int32] | None,
    finder: Finder,
    keep: Target,
    rng: np.random.RandomState,
) -> Finder:
    """Return a finder for some of the people, with the clustering that they keep."""
    part = part_of(problem, rows)
    # Fewer people have smaller groups, so fewer join them.
    share = float(part.people.sum() / problem.people.sum())
    part = part.pooled(share * finder.rows.pooling.strength)
    own = Finder(
        part, part, finder.n_clusters, finder.utility,
        None if start is None else start[rows], rng,
        fair_shares=finder.ends.shares, origin=keep.centers,
    )  # fmt: skip
    return replace(own, kept=keep.rule.find_near(own, keep.centers))


def _leave_enough(
    folds: NDArray[np.intp], n_clusters: int, start: NDArray[np.int32] | None
) -> bool:
    """Return True if every part without a fold has rows in every cluster."""
    sizes = np.bincount(folds[folds >= 0])
    if len(sizes) < N_FOLDS or sizes.sum() - sizes.max() < 2 * n_clusters:
        return False
    if start is None:
        return True
    return all(
        len(np.unique(start[(folds >= 0) & (folds != fold)])) == n_clusters
        for fold in range(N_FOLDS)
    )


def _compared(
    problem: Problem, folds: NDArray[np.intp], costs: NDArray[np.float64], seed: int
) -> NewPeople:
    """Return the costs of people left out; ``costs`` has the rule's, then those kept.

    Their shape is (2, n_folds, n_rows).
    """
    people = People(
        problem.X, None, None, problem.group_names, problem.groups, problem.weights
    )
    rows = people.present
    left_out = np.take_along_axis(costs[:, :, rows], folds[None, None, rows], axis=1)
    by_row = left_out[:, 0]
    by_fold = np.array([
        [people.group_means(each[rows], rows) for each in of] for of in costs
    ])  # fmt: skip
    rng = np.random.default_rng(seed)
    new = intervals_of(people, by_row, by_fold, N_BOOTSTRAP, CONFIDENCE, rng)
    found, kept = (people.group_means(each, rows) for each in by_row)
    return NewPeople(
        problem.group_names, kept, found, new.gain, new.gain_interval, len(rows)
    )
