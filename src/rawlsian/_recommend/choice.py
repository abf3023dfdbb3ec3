"""Choice among candidates: limits, the trade-off, and its bend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.pooling import NO_POOLING, Pooling
from rawlsian._recommend.effects import Effect
from rawlsian._recommend.rules import Clusters, Rule

# A cost is lower if it falls by at least this, relative to the cost before: what
# changes less, nobody would call a gain.
LEAST_GAIN = 1e-4
# The bend is the first point with this share of the largest gain less cost.
ENOUGH = 0.95


class Candidate(NamedTuple):
    """A clustering that could be used, and its effect on people."""

    rule: Rule
    clusters: Clusters
    effect: Effect


# A limit is kept if it is exceeded by no more than this, relative to it, which is
# rounding: 0.7 / 100 is less than 7 / 1000.
ROUNDING = 1e-9


class Limits(NamedTuple):
    """Limits on a change.

    Attributes
    ----------
    max_moved : float
        Largest share of people who may be in another cluster.
    max_loss : float
        Largest rise of a group's mean squared distance, in per cent; groups that are
        small for a statement are not held to it.
    """

    max_moved: float = np.inf
    max_loss: float = np.inf

    @property
    def are_given(self) -> bool:
        """True if there is a limit."""
        return bool(np.isfinite(self).any())

    def admit(self, effect: Effect) -> bool:
        """Return True if an effect is within the limits."""
        return self.cover(needed_by(effect))

    def cover(self, needed: Limits) -> bool:
        """Return True if limits that are needed are within these."""
        return all(
            each <= limit * (1 + ROUNDING)
            for each, limit in zip(needed, self, strict=True)
        )


def needed_by(effect: Effect) -> Limits:
    """Return the lowest limits that admit an effect."""
    moved = float(effect.moved.sum() / effect.people.sum())
    losses = effect.changes[~effect.is_small]
    return Limits(moved, max(float(losses.max(initial=0.0)), 0.0))


@dataclass(frozen=True, eq=False)
class Objective:
    """The cost of the worst-off group, as the search sees it.

    Attributes
    ----------
    judged : ndarray of int
        The groups of the search: those that are not small.
    pooling : Pooling
        Pooling of the groups of the search.
    """

    judged: NDArray[np.intp]
    pooling: Pooling = NO_POOLING

    def worst_cost(self, effect: Effect) -> float:
        """Return the largest (pooled) mean cost of a group after."""
        return self._largest(effect, effect.costs)

    def worst_cost_before(self, effect: Effect) -> float:
        """Return the largest (pooled) mean cost of a group before."""
        return self._largest(effect, effect.costs_before)

    def is_clear_gain(self, effect: Effect) -> bool:
        """Return True if the group that was worst off before clearly comes closer."""
        return bool(effect.intervals[self.worst_off(effect), 1] < 0)

    def worst_off(self, effect: Effect) -> int:
        """Return the judged group with the largest mean cost before."""
        return int(self.judged[np.argmax(effect.costs_before[self.judged])])

    def _largest(self, effect: Effect, costs: NDArray[np.float64]) -> float:
        people = effect.people[self.judged]
        return float(self.pooling.means(costs[self.judged], people).max())


def improves(candidate: Candidate, keep: Candidate, objective: Objective) -> bool:
    """Return True if a candidate serves the worst-off group better than keep."""
    before = objective.worst_cost(keep.effect)
    return objective.worst_cost(candidate.effect) < before * (1 - LEAST_GAIN)


def lowest_limits(
    candidates: Sequence[Candidate], objective: Objective, limits: Limits
) -> list[Limits]:
    """Return the lowest limits that admit a better candidate, if one is raised.

    If raising one is not enough, both are raised: as few people move as possible.
    """
    keep, *others = candidates
    better = [
        needed_by(each.effect) for each in others if improves(each, keep, objective)
    ]
    found = []
    for place in range(len(limits)):
        raised = limits._replace(**{Limits._fields[place]: np.inf})
        fits = [each for each in better if raised.cover(each)]
        if fits:
            found.append(min(fits, key=lambda each: each[place]))
    return found or [min(better)]


def trade_off(
    candidates: Sequence[Candidate], objective: Objective, limits: Limits
) -> list[Candidate]:
    """Return the first candidate, which is kept, and those that may replace it.

    Each of the others is within the limits, and lowers the cost of the worst-off group;
    none has another beside it that is as good for everyone together and better for the
    worst-off group. They are ordered by the cost of everyone.
    """
    keep, *others = candidates
    before = objective.worst_cost(keep.effect)
    better = [
        (each.effect.overall, objective.worst_cost(each.effect), place)
        for place, each in enumerate(others)
        if limits.admit(each.effect)
    ]
    points, lowest = [keep], before * (1 - LEAST_GAIN)
    for _, cost, place in sorted(better):
        if cost < lowest:
            points.append(others[place])
            lowest = cost * (1 - LEAST_GAIN)
    return points


class Balance(NamedTuple):
    """Gain of the worst-off group and cost to everyone at each point, in per cent.

    Attributes
    ----------
    gains : ndarray of shape (n_points,)
        Fall of the mean squared distance of the worst-off group. Not pooled: pooling
        decides where to search, but would make every gain look small.
    costs : ndarray of shape (n_points,)
        Rise of the mean squared distance of everyone.
    """

    gains: NDArray[np.float64]
    costs: NDArray[np.float64]

    @property
    def bend(self) -> int:
        """The first point with nearly the largest gain less cost: ENOUGH of it.

        Where it is largest, one more per cent for the worst-off group begins to cost
        everyone more than one per cent; the last bit of it is not worth a change.
        """
        net = self.gains - self.costs
        return int(np.argmax(net >= ENOUGH * net.max()))


def balance_of(points: Sequence[Candidate], objective: Objective) -> Balance:
    """Return the gain and the cost of each point, beside the first."""
    own = replace(objective, pooling=NO_POOLING)
    worst = np.array([own.worst_cost(each.effect) for each in points])
    overall = np.array([each.effect.overall for each in points])
    if worst[0] == 0 or overall[0] == 0:
        return Balance(np.zeros(len(points)), np.zeros(len(points)))
    return Balance(100 * (1 - worst / worst[0]), 100 * (overall / overall[0] - 1))
