"""The section of a page on the number of clusters."""

from __future__ import annotations

from rawlsian._tables.choosing_k import LEAST_GAIN, N_FOLDS, PRIOR_PEOPLE, Choice
from rawlsian._tables.sentences import CRITERION, choice_sentence, end_of_range
from rawlsian.report import Curve, Curves

CURVES = (
    "Silhouette: how well the clusters are separated. The highest is taken.",
    f"Held-out cost: people are dealt into {N_FOLDS} parts with the same mix of "
    "groups. K-means is fitted without one part at a time, and the cost is the mean "
    "squared distance of the people of that part to the nearest center. It falls with "
    "nearly every added cluster, so the smallest number is taken that no larger one "
    "beats by more than a standard error and by more than "
    f"{LEAST_GAIN:.0%} of the total variance for each added cluster.",
    "Worst-off group: the largest held-out cost of a group, taken in the same way. "
    f"The cost of a group of n people counts n / (n + {PRIOR_PEOPLE}), and that of "
    "everyone the rest, because a maximum over small groups would mostly show their "
    "noise.",
)
HELD_OUT_OF = "Held-out costs are means over {rows:,} people."


def chosen_from(choice: Choice | None) -> tuple[tuple[str, str], ...]:
    """The fact on the range of numbers of clusters, if there was one."""
    if choice is None:
        return ()
    first, last = (choice.candidates[at].n_clusters for at in (0, -1))
    return (("Chosen from", f"{first} to {last}, by {CRITERION[choice.chosen_by]}"),)


def curves_of(choice: Choice | None) -> Curves | None:
    """The section on the number of clusters, if it was chosen from a range."""
    if choice is None:
        return None
    tried, taken = choice.candidates, choice.choices
    silhouettes, costs, worst_costs = (
        tuple(getattr(each, name) for each in tried)
        for name in ("silhouette", "held_out_cost", "held_out_worst_cost")
    )
    return Curves(
        tuple(each.n_clusters for each in tried),
        choice.n_clusters,
        (
            Curve("Silhouette", "higher", silhouettes, taken["silhouette"]),
            Curve("Held-out cost, everyone", "lower", costs, taken["held-out"]),
            Curve(
                "Held-out cost, worst-off group",
                "lower",
                worst_costs,
                taken["held-out-worst"],
            ),
        ),
        ("Worst-off group", tuple(each.held_out_worst_group or "" for each in tried)),
        (
            f"{choice_sentence(choice)}.",
            *end_of_range(choice),
            *CURVES,
            HELD_OUT_OF.format(rows=choice.n_held_out),
        ),
    )
