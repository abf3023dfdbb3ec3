"""Recommendation: keep the clusters, or replace them by a point of the trade-off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from rawlsian._core.parameters import PoolingStrength
from rawlsian._core.pooling import Pooling
from rawlsian._core.problem import Utility
from rawlsian._estimators.pooling_cv import choose_pooling
from rawlsian._recommend.choice import (
    Balance,
    Candidate,
    Limits,
    Objective,
    balance_of,
    improves,
    lowest_limits,
    trade_off,
)
from rawlsian._recommend.new_people import NewPeople, Target, leave_out
from rawlsian._recommend.population import Population
from rawlsian._recommend.rules import (
    BestRestart,
    Clusters,
    Finder,
    Keep,
    KMeansRule,
    PartOfTheWay,
    Rule,
    Solver,
    TradeOff,
    Walk,
)
from rawlsian._search.fair_lloyd import SAME

# Points tried between the ends of the trade-off.
N_BETWEEN = 19
# Parts of the way to another clustering that are tried if there are limits.
PARTS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

# If every group has so many people, chance decides too little for pooling to help.
MANY_PEOPLE = 3_000

# Why a point is recommended. All but the last recommend to keep the clusters.
Reason = Literal[
    "one group", "gap", "nothing better", "limits", "price", "gain", "bend"
]
# The option that is chosen: by its name, or a point of the trade-off by its number.
Choose = Literal["keep", "recommended", "most"] | int

Progress = Callable[[str, int, int | None], object]


class Wishes(NamedTuple):
    """How to search and choose.

    Attributes
    ----------
    n_clusters : int
        Number of clusters.
    utility : {"nearest", "assigned"}
        "nearest" if centers serve people, "assigned" if members do.
    pooling : float or "cv"
        Strength of pooling.
    limits : Limits
        Limits on the change.
    choose : str or int
        The option that is chosen.
    seed : int
        Seed of all random draws.
    measure_new : bool
        True to measure people who are left out; without it the interval of the change
        in the table decides.
    """

    n_clusters: int
    utility: Utility
    pooling: PoolingStrength
    limits: Limits
    choose: Choose
    seed: int
    measure_new: bool


@dataclass(frozen=True, eq=False)
class Advice:
    """Options for a table, and which of them is recommended.

    Attributes
    ----------
    points : list of Candidate
        The trade-off: the clusters that are kept first, then by the cost of everyone,
        the best for the worst-off group last.
    balance : Balance
        Gain of the worst-off group and cost to everyone at each point.
    recommended, chosen : int
        Points.
    reason : str
        Why that point is recommended.
    new_people : dict of int to NewPeople
        What points bring to people who are not in the table, if it was measured.
    objective : Objective
        The cost of the worst-off group, as the search sees it.
    needed : list of Limits
        The lowest limits that admit a better clustering, if the limits admit none.
    n_candidates : int
        Number of clusterings that were compared.
    kmeans : Candidate
        The best k-means, whether it is kept or not.
    finder : Finder
        The finder for all people.
    """

    points: list[Candidate]
    balance: Balance
    recommended: int
    chosen: int
    reason: Reason
    new_people: dict[int, NewPeople]
    objective: Objective
    needed: list[Limits]
    n_candidates: int
    kmeans: Candidate
    finder: Finder

    @property
    def most(self) -> int:
        """The point that serves the worst-off group best."""
        return len(self.points) - 1


class UnknownPointError(ValueError):
    """The trade-off has no such point."""


def advise(
    population: Population,
    wishes: Wishes,
    is_clear_gap: Callable[[Clusters], bool],
    progress: Progress,
) -> Advice:
    """Search candidates, measure them, and recommend one.

    ``is_clear_gap`` tells whether a group is served worse than everyone else with these
    clusters, beyond chance.
    """
    strength = _strength(population, wishes, progress)
    finder = population.finder(wishes.n_clusters, wishes.utility, strength, wishes.seed)
    objective = Objective(population.judged, Pooling.of(strength, finder.rows.people))
    rules = _rules(finder, wishes)
    finder, candidates = _candidates(population, finder, rules, progress)
    points = trade_off(candidates, objective, wishes.limits)
    balance = balance_of(points, objective)
    bend = balance.bend
    chosen = _chosen(wishes.choose, len(points), bend)
    places = {bend, len(points) - 1, chosen}
    measured = _measure_new(population, points, places, finder, wishes, progress)
    if wishes.measure_new:
        is_clear_gain = bend in measured and measured[bend].is_clear_gain
    else:
        is_clear_gain = objective.is_clear_gain(points[bend].effect)
    reason = _reason(points, bend, candidates, objective, is_clear_gap, is_clear_gain)
    recommended = bend if reason == "bend" else 0
    needed = []
    if reason == "limits":
        needed = lowest_limits(candidates, objective, wishes.limits)
    return Advice(
        points, balance, recommended,
        recommended if wishes.choose == "recommended" else chosen, reason, measured,
        objective, needed, len(candidates), _kmeans(candidates), finder,
    )  # fmt: skip


def _strength(population: Population, wishes: Wishes, progress: Progress) -> float:
    """Return the strength of pooling, chosen on a sample if it is "cv"."""
    if wishes.pooling != "cv":
        return float(wishes.pooling)
    sample, _ = population.sample(wishes.seed)
    if sample.people.min() >= MANY_PEOPLE:
        return 0.0
    progress("choosing the pooling", 0, None)
    rng = np.random.RandomState(wishes.seed)
    choice = choose_pooling(sample, wishes.n_clusters, rng)
    return 0.0 if choice is None else choice.strength


# --- Candidates --------------------------------------------------------------------


def _candidates(
    population: Population, finder: Finder, rules: Sequence[Rule], progress: Progress
) -> tuple[Finder, list[Candidate]]:
    """Find clusterings by all rules and measure them; the one to keep comes first.

    If one of them is better for everyone together than the k-means to keep, k-means was
    not the best, and is run again from there.
    """
    found = []
    for done, rule in enumerate(rules):
        progress("searching candidates", done, len(rules))
        found.append(rule.find(finder))
    progress("measuring candidates", 0, None)
    effects = population.effects(found[0], found)
    overall = [each.overall for each in effects]
    best = int(np.argmin(overall))
    if finder.start is None and overall[best] < overall[0] * (1 - SAME):
        found[0] = _better_kmeans(population, finder, found[best])
        finder = replace(finder, kept=found[0], found_ends=finder.ends)
        effects = population.effects(found[0], found)
    candidates = zip(rules, found, effects, strict=True)
    return finder, [Candidate(*each) for each in candidates]


def _kmeans(candidates: Sequence[Candidate]) -> Candidate:
    """Return the best k-means: the candidate of its rule, or the one that is kept."""
    found = (each for each in candidates if type(each.rule) is KMeansRule)
    return next(found, candidates[0])


def _better_kmeans(
    population: Population, finder: Finder, clusters: Clusters
) -> Clusters:
    """Return the k-means that these clusters lead to, or them if it is no better.

    It runs on the rows of the finder, which may be a sample of the people.
    """
    again = finder.as_kmeans(clusters)
    effect = population.effects(clusters, [again])[0]
    return again if effect.overall < effect.overall_before else clusters


def _rules(finder: Finder, wishes: Wishes) -> list[Rule]:
    """Return the rules to try; with one group, only to keep the clusters."""
    if finder.rows.n_groups == 1:
        return [Keep()]
    steps = np.arange(1, N_BETWEEN + 1) / (N_BETWEEN + 1)
    between: list[Rule] = [TradeOff(float(step)) for step in steps]
    rules: list[Rule] = [Keep(), *between, Solver(), BestRestart(), Walk("rawls")]
    if finder.start is not None:
        rules.insert(1, KMeansRule())
    if wishes.limits.are_given:
        ways: list[Rule] = [Solver(), between[N_BETWEEN // 2]]
        rules += [PartOfTheWay(rule, share) for rule in ways for share in PARTS]
    if np.isfinite(wishes.limits.max_moved):
        rules += [Walk("batch", wishes.limits.max_moved)]
    return rules


# --- Choice ------------------------------------------------------------------------


def _reason(
    points: Sequence[Candidate],
    bend: int,
    candidates: Sequence[Candidate],
    objective: Objective,
    is_clear_gap: Callable[[Clusters], bool],
    is_clear_gain: bool,
) -> Reason:
    """Return why to keep the clusters, or "bend".

    A gain that too few people were left to measure is not clear.
    """
    if len(objective.judged) == 1:
        return "one group"
    if not is_clear_gap(points[0].clusters):
        return "gap"
    if len(points) == 1:
        is_better = (improves(each, points[0], objective) for each in candidates)
        return "limits" if any(is_better) else "nothing better"
    if bend == 0:
        return "price"
    if not is_clear_gain:
        return "gain"
    return "bend"


def _chosen(choose: Choose, n_points: int, bend: int) -> int:
    """Return the point that was asked for."""
    if isinstance(choose, str):
        return {"keep": 0, "recommended": bend, "most": n_points - 1}[choose]
    if choose >= n_points:
        raise UnknownPointError(
            f"--choose {choose} is not a point of the trade-off, whose points are 0 to "
            f"{n_points - 1}; take one of these, or keep, recommended or most."
        )
    return choose


def _measure_new(
    population: Population,
    points: Sequence[Candidate],
    places: set[int],
    finder: Finder,
    wishes: Wishes,
    progress: Progress,
) -> dict[int, NewPeople]:
    """Measure people who are left out, at some points that are not the first."""
    wanted = sorted(places - {0})
    if not wanted or not wishes.measure_new:
        return {}
    sample, start = population.sample(wishes.seed)
    keep, *targets = (
        Target(points[place].rule, points[place].clusters.centers)
        for place in (0, *wanted)
    )
    found = leave_out(
        sample, finder, start, keep, targets, wishes.seed,
        lambda done, total: progress("people who are left out", done, total),
    )  # fmt: skip
    return {} if found is None else dict(zip(wanted, found, strict=True))
