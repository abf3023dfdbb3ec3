"""Small tables of a fit: the options, changes with intervals, and the trade-off."""

from __future__ import annotations

from collections.abc import Callable

from rawlsian._tables.outcome import Option, Outcome
from rawlsian._tables.text import TextTable

# Groups that have a column each when the trade-off is printed.
MOST_COLUMNS = 4


def options_table(outcome: Outcome) -> TextTable:
    """Mean squared distance of each group with each option."""
    options, keep = outcome.options, outcome.keep
    names = list(map(str, outcome.group_names))
    people = keep.effect.people
    rows: list[tuple[str, ...]] = [
        (
            _marked(outcome, g),
            f"{people[g]:,.0f}",
            *(f"{each.levels[g]:.1f}" for each in options),
        )
        for g in range(len(names))
    ]
    everyone = [f"{each.level_of(each.effect.overall):.1f}" for each in options]
    return TextTable(
        f"Mean squared distance to what serves a person; everyone with "
        f"{outcome.baseline} = 100, lower is better",
        ("group", "people", *heads(outcome)),
        [*rows, (), ("everyone", f"{people.sum():,.0f}", *everyone)],
    )


def heads(outcome: Outcome) -> list[str]:
    """Return short heads for the options."""
    short = {"keep": "keep", "recommended": "recommended", "most": "most"}
    return [short.get(each.key, each.title) for each in outcome.options]


def _marked(outcome: Outcome, g: int) -> str:
    name = str(outcome.group_names[g])
    return f"{name} (few)" if outcome.is_small[g] else name


def changes_table(outcome: Outcome) -> TextTable:
    """Change of each group with each option, who gains and loses, who moves."""
    options = outcome.options[1:]
    confidence = f"{outcome.keep.effect.confidence:.0%}"
    rows: list[tuple[str, ...]] = [
        (_marked(outcome, g), *(change_of(each, g) for each in options))
        for g in range(len(outcome.group_names))
    ]

    def row(name: str, text: Callable[[Option], str]) -> tuple[str, ...]:
        return (name, *(text(each) for each in options))

    return TextTable(
        f"Change of the mean squared distance of the people in the table ({confidence} "
        "interval, with the clusters as given), and who moves",
        ("group", *heads(outcome)[1:]),
        [
            *rows,
            row("everyone", _everyone),
            (),
            row("people closer", lambda each: f"{each.effect.sums.nearer.sum():,.0f}"),
            row(
                "people farther", lambda each: f"{each.effect.sums.farther.sum():,.0f}"
            ),
            row("in another cluster", lambda each: f"{each.n_moved:,}"),
            row("separation", lambda each: f"{each.separation:.2f}"),
            row("gain of new people", _of_new_people),
        ],
    )


def change_of(option: Option, g: int) -> str:
    """Return the change of a group in per cent, with its interval if it has one."""
    change = f"{option.effect.changes[g]:+.1f}%"
    if option.effect.is_small[g] or option.point == 0:
        return change
    low, high = option.effect.intervals[g]
    return f"{change} ({low:+.1f} to {high:+.1f})"


def _everyone(option: Option) -> str:
    change = f"{option.effect.overall_change:+.1f}%"
    if option.point == 0:
        return change
    low, high = option.effect.overall_interval
    return f"{change} ({low:+.1f} to {high:+.1f})"


def _of_new_people(option: Option) -> str:
    found = option.new_people
    if found is None:
        return ""
    low, high = found.gain_interval
    return f"{found.gain:+.1f}% ({low:+.1f} to {high:+.1f})"


def utilities_table(outcome: Outcome) -> TextTable:
    """Utilities of each group before and after, on the paper's scale."""
    before, after = outcome.utilities
    rows: list[tuple[str, ...]] = [
        (str(name), *_change(before[g], after[g]))
        for g, name in enumerate(outcome.group_names)
    ]
    return TextTable(
        f"Utilities on the paper's scale ({outcome.max_distance:g} is a perfect fit)",
        ("group", "before", "after", "change"),
        [*rows, (), ("everyone", *_change(*outcome.overall))],
    )


def _change(before: float, after: float) -> tuple[str, str, str]:
    return f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}"


def trade_off_table(outcome: Outcome) -> TextTable:
    """The points of the trade-off, and the bend; with many groups, not each of them."""
    advice, names = outcome.advice, list(map(str, outcome.group_names))
    shown = names if len(names) <= MOST_COLUMNS else []
    rows = []
    for place, each in enumerate(advice.points):
        gain, cost = advice.balance.gains[place], advice.balance.costs[place]
        star = " *" if place == advice.balance.bend and place else ""
        changes = [f"{each.effect.changes[g]:+.1f}%" for g in range(len(shown))]
        rows.append((
            f"{place}{star}", each.rule.name, *changes, f"{cost:+.2f}%", f"{gain:.2f}%",
            f"{gain - cost:+.2f}",
        ))  # fmt: skip
    return TextTable(
        "The trade-off (gain: fall of the worst-off group's distance; cost: rise of "
        "everyone's). A star marks the bend: the first point with 95% of the largest "
        "gain less cost",
        ("point", "found by", *shown, "cost", "gain", "gain - cost"),
        rows,
    )
