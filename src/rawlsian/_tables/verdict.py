"""The verdict on a fit, in sentences: what is recommended, why, who gains, who pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rawlsian._core.pooling import NO_POOLING
from rawlsian._recommend.advice import Advice
from rawlsian._recommend.choice import Limits
from rawlsian._recommend.rules import KMeansRule
from rawlsian._tables.outcome import Option, Outcome
from rawlsian._tables.serving import SENTENCE
from rawlsian._tables.text import counted, listed
from rawlsian.metrics.audit import Audit, signed

MOST_NAMED = 3
# A share of people in per cent, which is a ratio of counts, is exact to this.
ROUNDING = 1e-9
CENTERS = " The fairness is in the centers: publish them with the labels."
MEMBERS = " The labels carry the fairness."

NOT_MEASURED = "What this brings to people who are not in the table was not measured."


def verdict(outcome: Outcome) -> str:
    """Return the recommendation, and why, in one sentence."""
    advice, baseline = outcome.advice, outcome.baseline
    if advice.reason == "bend":
        only = ""
        if outcome.recommended.n_moved == 0:
            only = ". Nobody changes cluster; only the centers move"
        return f"Replace {baseline} by {_point(outcome)}: {effect_on(outcome)}{only}."
    return f"Keep {baseline}: {_why_keep(outcome)}."


def _point(outcome: Outcome) -> str:
    option = outcome.recommended
    if type(option.candidate.rule) is KMeansRule:
        return "plain k-means, which knows no groups"
    return f"point {option.point} of the trade-off"


def effect_on(outcome: Outcome) -> str:
    """Return who comes closer and who pays at the recommended point."""
    option, names = outcome.recommended, list(map(str, outcome.group_names))
    worst = outcome.advice.objective.worst_off(option.effect)
    among = ""
    if outcome.is_small.any():
        among = f" of the groups with {outcome.audits[0].min_group} people or more"
    gain = f"{names[worst]}, served worst{among}, {_moves(option, worst)}"
    payers = [g for g in paying(option) if g != worst]
    if not payers:
        return f"{gain}, and no group is clearly farther away"
    most = sorted(payers, key=lambda g: -option.effect.changes[g])
    texts = [f"{names[g]} {_moves(option, g)}" for g in most[:MOST_NAMED]]
    others = len(most) - len(texts)
    pays = "pays" if others == 1 else "pay"
    texts += [f"{counted(others, 'other group')} also {pays}"] if others else []
    return f"{gain}; {listed(texts)}"


def _moves(option: Option, g: int) -> str:
    """Return by how many per cent a group comes closer or goes farther away."""
    change, ends = float(option.effect.changes[g]), option.effect.intervals[g]
    how = ("comes", "closer") if change < 0 else ("goes", "farther away")
    text = f"{how[0]} {abs(change):.1f}% {how[1]}"
    return text if ends[0] * ends[1] > 0 else f"{text} (which may be chance)"


def gaining(option: Option) -> list[int]:
    """Return the groups that clearly come closer."""
    return [int(g) for g in np.flatnonzero(option.effect.intervals[:, 1] < 0)]


def paying(option: Option) -> list[int]:
    """Return the groups that clearly move away."""
    return [int(g) for g in np.flatnonzero(option.effect.intervals[:, 0] > 0)]


def _why_keep(outcome: Outcome) -> str:
    """Return why the clusters should be kept."""
    advice, audit = outcome.advice, outcome.audits[0]
    match advice.reason:
        case "one group":
            if outcome.is_small.all():
                return f"no group has {audit.min_group} people or more to compare"
            return (
                f"only one group has {audit.min_group} people or more, so there is no "
                "other to compare it with"
            )
        case "gap":
            return _gap_may_be_chance(outcome)
        case "limits":
            return _nothing_fits(outcome)
        case "price":
            return (
                "every clustering found that serves the worst-off group better costs "
                "everyone more per cent than it brings that group"
            )
        case "gain":
            return _gain_may_be_chance(advice)
        case _:
            return (
                f"none of the {advice.n_candidates} clusterings that were compared "
                "serves the worst-off group better"
            )


def _gap_may_be_chance(outcome: Outcome) -> str:
    audit = outcome.audits[0]
    if audit.worst_off is None:
        return "no group has enough people for a comparison"
    low, high = audit.gap_interval
    return (
        "no group is served worse than everyone else beyond what chance explains "
        f"({audit.worst_off}: {audit.gap:+.1f} points, 95% interval {low:+.1f} to "
        f"{high:+.1f})"
    )


def _gain_may_be_chance(advice: Advice) -> str:
    bend = advice.balance.bend
    found = advice.new_people.get(bend)
    if found is None and not advice.objective.is_clear_gain(advice.points[bend].effect):
        return (
            "what the worst-off group would gain in the table may be chance, and "
            "people who are not in it were not measured"
        )
    if found is None:
        return (
            "the table has too few people to tell whether people who are not in it "
            "would gain"
        )
    low, high = found.gain_interval
    return (
        "for people who are not in this table, a gain of the worst-off group at point "
        f"{bend} of the trade-off is not certain (expected {found.gain:+.1f}%, 95% "
        f"interval {low:+.1f} to {high:+.1f})"
    )


def _nothing_fits(outcome: Outcome) -> str:
    """Return that no better clustering is within the limits, and which limits do."""
    given = listed(_named(outcome.limits, outcome.limits, "{:.6g}".format))
    ways = [
        " with ".join(_named(needed, outcome.limits, _up))
        for needed in outcome.advice.needed
    ]
    return (
        f"of the clusterings compared, none that serves the worst-off group better is "
        f"within {given}; "
        f"{' or '.join(ways)} would admit one"
    )


def _named(limits: Limits, given: Limits, text: Callable[[float], str]) -> list[str]:
    """Return the limits as options, those only that were given."""
    texts = (
        f"--max-moved {text(max(100 * limits.max_moved - ROUNDING, 0.0))}%",
        f"--max-loss {text(limits.max_loss)}%",
    )
    return [
        text for text, limit in zip(texts, given, strict=True) if np.isfinite(limit)
    ]


def _up(percent: float) -> str:
    """Return a percentage, rounded up to one digit after the point."""
    return f"{np.ceil(10 * percent) / 10:.12g}" if np.isfinite(percent) else "inf"


# --- More sentences ----------------------------------------------------------------


def chosen_sentence(outcome: Outcome) -> list[str]:
    """Say which option the files hold, if it is not the recommended one."""
    result = outcome.result
    if result.key == "recommended" or result.point == outcome.recommended.point:
        return []
    if result.point == 0:
        return [f"Chosen instead: {result.title}."]
    return [f"Chosen instead: {result.title} ({_effect_in_short(outcome, result)})."]


def _effect_in_short(outcome: Outcome, option: Option) -> str:
    effect, names = option.effect, outcome.group_names
    changes = [
        f"{name} {change:+.1f}%"
        for name, change, small in zip(
            names, effect.changes, effect.is_small, strict=True
        )
        if not small
    ]
    if len(changes) > 2 * MOST_NAMED:
        changes = [f"worst-off group {_worst_change(outcome, option):+.1f}%"]
    everyone = f"everyone {effect.overall_change:+.1f}%"
    return f"mean squared distance: {', '.join([*changes, everyone])}"


def _worst_change(outcome: Outcome, option: Option) -> float:
    objective = replace(outcome.advice.objective, pooling=NO_POOLING)
    effect = option.effect
    before = objective.worst_cost_before(effect)
    return 100 * (objective.worst_cost(effect) / before - 1) if before > 0 else 0.0


def domination(outcome: Outcome) -> list[str]:
    """Say that the result of a method is dominated, if it is."""
    better = outcome.dominating()
    if better is None:
        return []
    assert outcome.ended is not None
    which = better.title.replace("Point", "point")
    if better.point == 0 and outcome.start is None:
        which = "k-means"
    return [
        f"{outcome.ended.method} was taken because --method asked for it, but {which} "
        "is at least as good for every group, and better for one "
        f"({_effect_in_short(outcome, better)})."
    ]


def serving(option: Option) -> str:
    """Say what serves a person and, unless nothing changes, what is fair about it."""
    if option.point == 0 or type(option.candidate.rule) is KMeansRule:
        return SENTENCE[option.served_by]
    fair = CENTERS if option.served_by == "center" else MEMBERS
    return SENTENCE[option.served_by] + fair


def gap_sentence(outcome: Outcome) -> list[str]:
    """Say how far the worst-off group is behind everyone else, before and after."""
    before, after = outcome.audits
    if before.worst_off is None:
        return []
    text = f"Gap with {outcome.baseline}: {_gap(before)}"
    if outcome.result.point != 0:
        text += f"; after: {_gap(after)}"
    return [
        f"{text}. (Points against everyone else; 100 is everyone's distance with the "
        "same clusters.)"
    ]


def _gap(audit: Audit) -> str:
    low, high = audit.gap_interval
    return (
        f"{audit.worst_off} {signed(audit.gap)} points ({audit.confidence:.0%} "
        f"interval {signed(low)} to {signed(high)})"
    )


def kmeans_sentence(outcome: Outcome) -> list[str]:
    """Say what k-means alone would change, if other clusters are kept."""
    if outcome.start is None or outcome.advice.kmeans is outcome.advice.points[0]:
        return []
    kmeans = Option("point", "k-means", None, outcome.advice.kmeans, None)
    return [
        "For comparison, k-means, which knows no groups: "
        f"{_effect_in_short(outcome, kmeans)}. Only what goes beyond that is due to "
        "fairness."
    ]


def separation_sentence(outcome: Outcome) -> str:
    """Say how far clusters separate the groups, before and after."""
    keep, result = outcome.keep, outcome.result
    text = (
        f"Separation of the groups by the clusters: {keep.separation:.2f}"
        f"{'' if result.point == 0 else f' before, {result.separation:.2f} after'} "
        "(0: the same mix in every cluster, 1: one group in each)."
    )
    counts = result.effect.counts
    pure = int(((counts > 0).sum(axis=1) == 1).sum())
    if pure and result.point != 0:
        holds = "holds" if pure == 1 else "hold"
        text += f" {pure} of {len(counts)} clusters {holds} one group only."
    return text


def new_people_sentence(option: Option) -> list[str]:
    """Say what the option brings to people who are not in the table."""
    found = option.new_people
    if found is None:
        return [] if option.point == 0 else [NOT_MEASURED]
    low, high = found.gain_interval
    word = "lower" if found.gain >= 0 else "higher"
    text = (
        "For people who are not in this table, expect the worst-off group's mean "
        f"squared distance to be {abs(found.gain):.1f}% {word} ({found.confidence:.0%} "
        f"interval of the gain {low:.1f} to {high:.1f})"
    )
    if found.is_clear_gain:
        return [f"{text}."]
    if high < 0:
        return [f"{text}: do not use these clusters for them."]
    return [f"{text}: no gain can be promised."]


def small_groups(outcome: Outcome) -> list[str]:
    """Name the groups that are too small for a statement, and what changes for them."""
    small = np.flatnonzero(outcome.is_small)
    if len(small) == 0:
        return []
    effect, named = outcome.result.effect, []
    for g in small[:10]:
        change = "" if outcome.result.point == 0 else f", {effect.changes[g]:+.1f}%"
        named.append(f"{outcome.group_names[g]} ({effect.people[g]:.0f}{change})")
    others = len(small) - len(named)
    named += [counted(others, "other group")] if others else []
    least = outcome.audits[0].min_group
    return [
        f"Too few people for a statement (below {least}), and not optimised for: "
        f"{', '.join(named)}."
    ]


def moved_sentence(outcome: Outcome) -> list[str]:
    """Say how many people of each group are in another cluster."""
    effect, names = outcome.result.effect, outcome.group_names
    total = outcome.result.n_moved
    if total == 0:
        return []
    most = np.argsort(-effect.moved / effect.people, kind="stable")[:10]
    parts = [
        f"{names[g]} {effect.moved[g]:,.0f} of {effect.people[g]:,.0f}"
        for g in (sorted(most) if len(names) <= 10 else most)
    ]
    others = len(names) - len(parts)
    parts += [counted(others, "other group")] if others else []
    people = float(effect.people.sum())
    return [
        f"{counted(total, 'person', 'people')} ({total / people:.1%}) in another "
        f"cluster than with {outcome.baseline}: {'; '.join(parts)}."
    ]
