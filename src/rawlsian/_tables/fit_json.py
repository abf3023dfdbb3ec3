"""A fit as plain Python, for ``--json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np

from rawlsian._recommend.new_people import NewPeople
from rawlsian._tables.choosing_k import Choice
from rawlsian._tables.facts import Facts, Passes
from rawlsian._tables.outcome import Option, Outcome
from rawlsian._tables.sentences import lone_people, most_is_kept, pooling_sentence
from rawlsian._tables.verdict import domination, small_groups, verdict


def fit_dict(
    outcome: Outcome,
    facts: Facts,
    seed: int,
    choice: Choice | None,
    passes: Passes | None,
    written: Sequence[str],
) -> dict[str, Any]:
    """Return a fit as dictionaries, lists, texts and finite numbers."""
    ended, before_after = outcome.ended, ("before", "after")
    content: dict[str, Any] = {
        "verdict": verdict(outcome),
        "reason": outcome.advice.reason,
        "chosen": outcome.result.key,
        "method": None if ended is None else ended.method,
        "served_by": outcome.result.served_by,
        "baseline": outcome.baseline,
        "clusters": outcome.n_clusters,
        "cluster_names": list(outcome.cluster_names),
        "seed": seed,
        "pooling": outcome.pooling if isfinite(outcome.pooling) else "inf",
        "min_group": outcome.audits[0].min_group,
        "max_distance": outcome.max_distance,
        "groups": _groups(outcome),
        "overall": dict(zip(before_after, outcome.overall, strict=True)),
        "least_advantaged": {
            when: str(outcome.group_names[int(utilities.argmin())])
            for when, utilities in zip(before_after, outcome.utilities, strict=True)
        },
        "gap": {
            when: {
                "group": None if audit.worst_off is None else str(audit.worst_off),
                "points": finite(audit.gap),
                "interval": [finite(end) for end in audit.gap_interval],
            }
            for when, audit in zip(before_after, outcome.audits, strict=True)
        },
        "moved": outcome.result.n_moved,
        "options": [_option(outcome, each) for each in outcome.options],
        "trade_off": _trade_off(outcome),
        "steps": None if ended is None else ended.n_steps,
        "stop_reason": None if ended is None else ended.stop_reason,
        **({} if passes is None else passes.to_dict()),
        **facts.to_dict(),
        "written": list(written),
    }
    content["remarks"] += [
        *domination(outcome), *most_is_kept(outcome), *pooling_sentence(outcome),
        *small_groups(outcome), *lone_people(outcome),
    ]  # fmt: skip
    if choice is not None:
        content["chosen_by"] = choice.chosen_by
        content["choices"] = dict(choice.choices)
        content["tried"] = [asdict(each) for each in choice.candidates]
    return content


def finite(number: float) -> float | None:
    """Return a number, or None if it is not finite, which JSON does not have."""
    return float(number) if np.isfinite(number) else None


def _groups(outcome: Outcome) -> list[dict[str, Any]]:
    """Return utilities of each group before and after, on the paper's scale."""
    before, after = outcome.utilities
    return [
        {
            "group": str(name),
            "size": float(outcome.result.effect.people[g]),
            "is_small": bool(outcome.is_small[g]),
            "before": float(before[g]),
            "after": float(after[g]),
        }
        for g, name in enumerate(outcome.group_names)
    ]


def _option(outcome: Outcome, option: Option) -> dict[str, Any]:
    """Return an option: the effect on each group, on everyone, and on new people."""
    effect = option.effect
    return {
        "option": option.key,
        "title": option.title,
        "point": option.point,
        "served_by": option.served_by,
        "groups": [
            {
                "group": str(name),
                "level": float(option.levels[g]),
                "change_percent": finite(effect.changes[g]),
                "low": finite(effect.intervals[g, 0]),
                "high": finite(effect.intervals[g, 1]),
                "closer": float(effect.sums.nearer[g]),
                "farther": float(effect.sums.farther[g]),
                "moved": float(effect.moved[g]),
            }
            for g, name in enumerate(outcome.group_names)
        ],
        "everyone": {
            "level": float(option.level_of(effect.overall)),
            "change_percent": finite(effect.overall_change),
            "low": finite(effect.overall_interval[0]),
            "high": finite(effect.overall_interval[1]),
            "closer": float(effect.sums.nearer.sum()),
            "farther": float(effect.sums.farther.sum()),
            "moved": option.n_moved,
        },
        "separation": option.separation,
        "composition": effect.counts.tolist(),
        "new_people": None if option.new_people is None else _new(option.new_people),
    }


def _new(found: NewPeople) -> dict[str, Any]:
    """Return what people who were left out can expect."""
    return {
        "gain_percent": finite(found.gain),
        "gain_interval": [finite(end) for end in found.gain_interval],
        "confidence": found.confidence,
        "is_clear_gain": found.is_clear_gain,
        "rows": found.n_rows,
        "groups": [
            {"group": str(name), "kept": float(kept), "found": float(cost)}
            for name, kept, cost in zip(
                found.group_names, found.kept, found.found, strict=True
            )
        ],
    }


def _trade_off(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the points of the trade-off, with the figures that show the bend."""
    advice, names = outcome.advice, list(map(str, outcome.group_names))
    return [
        {
            "point": place,
            "found_by": each.rule.name,
            "overall": outcome.max_distance - each.effect.overall,
            "utilities": dict(
                zip(
                    names,
                    (outcome.max_distance - each.effect.costs).tolist(),
                    strict=True,
                )
            ),
            "gain_percent": float(advice.balance.gains[place]),
            "cost_percent": float(advice.balance.costs[place]),
            "is_recommended": place == advice.recommended,
        }
        for place, each in enumerate(advice.points)
    ]
