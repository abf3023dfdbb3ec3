"""Small tables that results print."""

from __future__ import annotations

from rawlsian._search.frontier import Frontier
from rawlsian._tables.analysis import Outcome
from rawlsian._tables.choosing_k import CRITERIA, Candidate, Choice, ChooseBy
from rawlsian._tables.sentences import choice_notes, choice_sentence, interval_of
from rawlsian._tables.text import TextTable, counted
from rawlsian.metrics import Audit

# Groups that have a column each when the trade-off is printed.
MOST_COLUMNS = 6


def utilities_table(outcome: Outcome) -> TextTable:
    """Utilities of each group before and after."""
    before, after, sizes = outcome.before, outcome.after, outcome.group_sizes
    figures = zip(
        outcome.group_names, sizes, before.utilities, after.utilities, strict=True
    )
    rows: list[tuple[str, ...]] = [
        (name, f"{size:,.0f}", *_change(*utilities))
        for name, size, *utilities in figures
    ]
    change = _change(before.overall, after.overall)
    return TextTable(
        f"Utilities with {counted(outcome.n_clusters, 'cluster')}, higher is better",
        ("group", "people", "k-means", outcome.method, "change"),
        [*rows, (), ("everyone", f"{sizes.sum():,.0f}", *change)],
    )


def _change(before: float, after: float) -> tuple[str, str, str]:
    return f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}"


def choice_lines(choice: Choice) -> list[str | TextTable]:
    """K-means with each number of clusters, and how to read that."""
    return [_choice_table(choice), *choice_notes(choice), ""]


def _choice_table(choice: Choice) -> TextTable:
    """Figures to choose by; stars mark the number that each column takes."""
    choices, used = choice.choices, choice.n_clusters

    def cell(each: Candidate, criterion: ChooseBy, figure: float | None) -> str:
        star = "* " if choices[criterion] == each.n_clusters else ""
        return "none" if figure is None else f"{star}{figure:.4f}"

    return TextTable(
        choice_sentence(choice),
        ("clusters", *CRITERIA, "worst off"),
        [
            (
                f"{each.n_clusters}{' *' if each.n_clusters == used else ''}",
                cell(each, "silhouette", each.silhouette),
                cell(each, "held-out", each.held_out_cost),
                cell(each, "held-out-worst", each.held_out_worst_cost),
                each.held_out_worst_group or "none",
            )
            for each in choice.candidates
        ],
    )


def frontier_table(frontier: Frontier) -> TextTable:
    """The trade-off; with many groups, everyone and the worst-off one only."""
    names, utilities = list(map(str, frontier.groups)), frontier.utilities
    if len(names) > MOST_COLUMNS:
        names, utilities = ["lowest"], utilities.min(axis=1, keepdims=True)
    return TextTable(
        "The trade-off: utilities at each point",
        ("point", "everyone", *names),
        [
            (str(j), f"{frontier.overall[j]:.4f}", *(f"{u:.4f}" for u in row))
            for j, row in enumerate(utilities)
        ],
    )


def groups_table(audit: Audit) -> TextTable:
    """Utilities of each group, and how far it is behind the best served."""
    rows: list[tuple[str, ...]] = [
        (
            row["group"],
            f"{row['size']:,.0f}",
            f"{row['utility']:.4f}",
            f"{row['behind']:.4f}",
            interval_of(audit, g) if row["behind"] else "",
        )
        for g, row in enumerate(audit.by_group())
    ]
    everyone = ("everyone", f"{audit.sizes.sum():,.0f}", f"{audit.overall:.4f}")
    return TextTable(
        "How well each group is served",
        ("group", "people", "utility", "behind", f"{audit.confidence:.0%} interval"),
        [*rows, (), everyone],
    )
