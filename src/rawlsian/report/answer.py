"""First part of the page: verdict, tiles, chart of all groups, and options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import ceil, floor, isfinite, log10
from typing import Any

from rawlsian.report.contents import GroupFit, OptionCard, Page

EVERYONE = 100.0
# Levels that are equal at this many decimals are ties.
DECIMALS = 1
# Groups named in a sentence on a tie.
MOST_NAMED = 4


def answer_data(page: Page) -> dict[str, Any]:
    """Return the verdict, the tiles, the chart of all groups, and the options."""
    fits = fits_data(page.group_fits)
    rows = [] if fits is None else fits["rows"]
    order = {row["name"]: place for place, row in enumerate(rows)}
    return {
        "verdict": page.verdict,
        "tiles": [asdict(tile) for tile in page.tiles],
        "levelText": page.level_text,
        "fits": fits,
        "options": [_option(card, order) for card in page.options],
        "optionReach": _reach(page.options),
    }


def fits_data(fits: Sequence[GroupFit]) -> dict[str, Any] | None:
    """Return the rows of the chart, in order, its axis, and sentences on ties."""
    fits = [fit for fit in fits if isfinite(fit.before)]
    if not fits:
        return None
    ordered = sorted(fits, key=lambda fit: (fit.is_small, -rounded(fit.before)))
    has_after = any(fit.after is not None for fit in fits)
    low, high, step = _axis(ordered)
    ticks = [low + step * i for i in range(round((high - low) / step) + 1)]
    return {
        "rows": [_row(fit, ordered) for fit in ordered],
        "hasAfter": has_after,
        "low": low,
        "high": high,
        "ticks": [round(tick, 6) for tick in ticks],
        "ties": _tie_sentences(ordered, has_after),
    }


def rounded(level: float) -> float:
    """Return a level as it is shown."""
    return round(level, DECIMALS) + 0.0


def _row(fit: GroupFit, fits: Sequence[GroupFit]) -> dict[str, Any]:
    intervals = (fit.before_interval, fit.after_interval)
    before, after = (None if fit.is_small else each for each in intervals)
    return {
        "name": fit.name,
        "people": fit.people,
        "before": rounded(fit.before),
        "beforeInterval": before,
        "after": None if fit.after is None else rounded(fit.after),
        "afterInterval": after,
        "isSmall": fit.is_small,
        "isTieBefore": any(fit in tie for tie in _ties(fits, "before").values()),
        "isTieAfter": any(fit in tie for tie in _ties(fits, "after").values()),
    }


def _ties(fits: Sequence[GroupFit], when: str) -> dict[float, list[GroupFit]]:
    """Return the groups that have the same level; small groups tie with nobody."""
    levels: dict[float, list[GroupFit]] = {}
    for fit in fits:
        level = getattr(fit, when)
        if level is not None and not fit.is_small:
            levels.setdefault(rounded(level), []).append(fit)
    return {level: tied for level, tied in levels.items() if len(tied) > 1}


def _tie_sentences(fits: Sequence[GroupFit], has_after: bool) -> list[str]:
    sentences = []
    for when, start in (("before", "Before, "), ("after", "After, ")):
        for level, tied in _ties(fits, when).items():
            names = [fit.name for fit in tied]
            who = f"{len(names)} groups"
            if len(names) <= MOST_NAMED:
                who = f"{', '.join(names[:-1])} and {names[-1]}"
            words = f"{who} tie at {level:.{DECIMALS}f}."
            sentences.append(start + words if has_after else words)
    return sentences


def _axis(fits: Sequence[GroupFit]) -> tuple[float, float, float]:
    """Return the ends of the axis and the step of its ticks.

    Small groups do not stretch it: theirs may lie outside.
    """
    values = [EVERYONE]
    for fit in [fit for fit in fits if not fit.is_small] or fits:
        values += [fit.before, *(fit.before_interval or ())]
        if fit.after is not None:
            values += [fit.after, *(fit.after_interval or ())]
    values = [value for value in values if isfinite(value)]
    span = max(max(values) - min(values), 1.0)
    step = _nice(span / 5)
    low = floor((min(values) - 0.03 * span) / step) * step
    high = ceil((max(values) + 0.03 * span) / step) * step
    return low, high, step


def _nice(step: float) -> float:
    """Return the next of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(step))
    return float(next(n * power for n in (1, 2, 5, 10) if n * power >= step - 1e-9))


def _option(card: OptionCard, order: dict[str, int]) -> dict[str, Any]:
    """Return a card, with its groups in the order of the chart."""
    groups = sorted(
        card.groups, key=lambda group: (group.is_small, order.get(group.name, 0))
    )
    return {
        "key": card.key,
        "title": card.title,
        "text": card.text,
        "isChosen": card.is_chosen,
        "isRecommended": card.is_recommended,
        "groups": [
            {
                "name": group.name,
                "level": _finite(group.level),
                "change": _finite(group.change),
                "interval": group.interval,
                "isSmall": group.is_small,
            }
            for group in groups
        ],
        "everyone": _finite(card.everyone),
        "nPeople": card.n_people,
        "nGain": card.n_gain,
        "nLose": card.n_lose,
        "nMoved": card.n_moved,
        "separation": _finite(card.separation),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def _reach(cards: Sequence[OptionCard]) -> float:
    """Return the largest change of a group with enough people, in per cent."""
    changes = [
        abs(change)
        for card in cards
        for group in card.groups
        if not group.is_small
        for change in (group.change, *(group.interval or ()))
        if change is not None and isfinite(change)
    ]
    return float(max([*changes, 1.0]))
