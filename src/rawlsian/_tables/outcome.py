"""Outcome of a fit: the options, their effects, and what was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._recommend.advice import Advice
from rawlsian._recommend.choice import Candidate, Limits
from rawlsian._recommend.effects import Effect
from rawlsian._recommend.new_people import NewPeople
from rawlsian._tables.serving import ServedBy
from rawlsian.metrics.audit import Audit
from rawlsian.metrics.composition import separation

Key = Literal["keep", "recommended", "most", "point", "method"]


class Option(NamedTuple):
    """A clustering that a person may choose.

    Attributes
    ----------
    key : str
        "keep", "recommended" or "most"; "point" for another point of the trade-off,
        "method" for the result of a method that was asked for.
    title : str
        Its name on the screen and on the page.
    point : int or None
        Its number on the trade-off; None for the result of a method.
    candidate : Candidate
        The clustering and its effect.
    new_people : NewPeople or None
        What it brings to people who are not in the table, if that was measured.
    """

    key: Key
    title: str
    point: int | None
    candidate: Candidate
    new_people: NewPeople | None

    @property
    def effect(self) -> Effect:
        """Effect on the people in the table."""
        return self.candidate.effect

    @property
    def served_by(self) -> ServedBy:
        """What serves a person."""
        return "center" if self.candidate.clusters.labels is None else "members"

    @property
    def centers(self) -> NDArray[np.float64]:
        """Encoded centers, numbered so that few people seem to have moved."""
        order = np.argsort(self.effect.numbers)
        centers: NDArray[np.float64] = self.candidate.clusters.centers[order]
        return centers

    @property
    def levels(self) -> NDArray[np.float64]:
        """Mean squared distance of each group; everyone before is 100."""
        return np.asarray(self.level_of(self.effect.costs))

    def level_of(self, costs: Any) -> Any:
        """Return costs on the scale on which everyone before is 100."""
        everyone = self.effect.overall_before
        return 100 * costs / everyone if everyone > 0 else 0 * costs + 100

    @property
    def n_moved(self) -> int:
        """People in another cluster than before."""
        return round(float(self.effect.moved.sum()))

    @property
    def separation(self) -> float:
        """Index of separation of the groups by the clusters."""
        return separation(self.effect.counts)


class Ended(NamedTuple):
    """How a method that was asked for ended.

    Attributes
    ----------
    method : str
        One of METHODS.
    n_steps, stop_reason : int and str, or None
        Steps of a walk, and why it ended.
    is_interrupted : bool
        True if the user stopped it on the way.
    """

    method: str
    n_steps: int | None
    stop_reason: str | None
    is_interrupted: bool


@dataclass(frozen=True, eq=False)
class Outcome:
    """Options for a table, and the one that was chosen.

    Attributes
    ----------
    advice : Advice
        The trade-off, and the recommendation.
    result : Option
        The option that was chosen.
    audits : (Audit, Audit)
        Audits of the clusters that may be kept, and of the result.
    group_names : ndarray of shape (n_groups,)
        The groups, sorted.
    max_distance : float
        The utility of a perfect fit.
    start : str or None
        Column of the clusters that may be kept; None for k-means.
    cluster_names : tuple of str
        Names of the clusters.
    limits : Limits
        Limits on the change.
    ended : Ended or None
        How a method that was asked for ended.
    """

    advice: Advice
    result: Option
    audits: tuple[Audit, Audit]
    group_names: NDArray[Any]
    max_distance: float
    start: str | None
    cluster_names: tuple[str, ...]
    limits: Limits
    ended: Ended | None = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.cluster_names)

    @property
    def is_interrupted(self) -> bool:
        """True if the user stopped a method on the way."""
        return self.ended is not None and self.ended.is_interrupted

    @property
    def pooling(self) -> float:
        """Strength of pooling."""
        return self.advice.objective.pooling.strength

    @property
    def baseline(self) -> str:
        """Name of the clusters that may be kept."""
        return baseline_name(self.start)

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """Keep, recommended, most; and the result, if it is none of these."""
        advice = self.advice
        three = (
            option_at(advice, 0, "keep", f"Keep {self.baseline}"),
            option_at(advice, advice.recommended, "recommended", "Recommended"),
            option_at(advice, advice.most, "most", "Most for the worst-off group"),
        )
        is_other = self.result.key in ("point", "method")
        return (*three, self.result) if is_other else three

    @property
    def keep(self) -> Option:
        """The option to keep the clusters."""
        return self.options[0]

    @property
    def recommended(self) -> Option:
        """The option that is recommended."""
        return self.options[1]

    @property
    def is_small(self) -> NDArray[np.bool_]:
        """True for groups with too few people for a statement."""
        return self.result.effect.is_small

    @property
    def utilities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Utilities of the groups before and after, on the paper's scale."""
        effect = self.result.effect
        return (
            self.max_distance - effect.costs_before,
            self.max_distance - effect.costs,
        )

    @property
    def overall(self) -> tuple[float, float]:
        """Mean utility of everyone before and after."""
        effect = self.result.effect
        return (
            self.max_distance - effect.overall_before,
            self.max_distance - effect.overall,
        )

    def dominating(self) -> Option | None:
        """Return a point at least as good for every group and better for one, if any.

        Only the result of a method can be dominated. Small groups are not judged.
        """
        if self.result.key != "method":
            return None
        judged = self.advice.objective.judged
        ours = self.result.effect.costs[judged]
        least = 1e-6 * self.result.effect.overall_before
        for place in reversed(range(len(self.advice.points))):
            theirs = self.advice.points[place].effect.costs[judged]
            if (theirs <= ours + least).all() and (theirs < ours - least).any():
                return option_at(self.advice, place, "point", f"Point {place}")
        return None


def baseline_name(start: str | None) -> str:
    """Return the name of the clusters that may be kept."""
    return "k-means" if start is None else f"the clusters of {start!r}"


def option_at(advice: Advice, point: int, key: Key, title: str) -> Option:
    """Return the option of a point of the trade-off."""
    found = advice.new_people.get(point)
    return Option(key, title, point, advice.points[point], found)


def chosen_option(advice: Advice, choose: str | int, baseline: str) -> Option:
    """Return the option that was chosen among the points of the trade-off."""
    titles: dict[str | int, tuple[Key, str]] = {
        "keep": ("keep", f"Keep {baseline}"),
        "recommended": ("recommended", "Recommended"),
        "most": ("most", "Most for the worst-off group"),
    }
    named = {0: "keep", advice.most: "most", advice.recommended: "recommended"}
    if choose not in titles:
        choose = named.get(advice.chosen, choose)
    key, title = titles.get(choose, ("point", f"Point {advice.chosen}"))
    return option_at(advice, advice.chosen, key, title)
