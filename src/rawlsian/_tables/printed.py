"""Small tables that results print."""

from __future__ import annotations

from rawlsian._tables.choosing_k import CRITERIA, Candidate, Choice, ChooseBy
from rawlsian._tables.sentences import choice_notes, choice_sentence
from rawlsian._tables.text import TextTable


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
