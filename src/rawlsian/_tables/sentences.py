"""Sentences on pooling, the number of clusters, and clusters of one person."""

from __future__ import annotations

import numpy as np

from rawlsian._tables.choosing_k import Choice, ChooseBy
from rawlsian._tables.outcome import Outcome

# Clusters of one person that are named.
MOST_NAMED = 5
# Larger numbers of people are shown with an exponent.
MOST_DIGITS = 1e12
# Criteria that choose a number of clusters.
CRITERION: dict[ChooseBy, str] = {
    "silhouette": "silhouette",
    "held-out": "held-out cost",
    "held-out-worst": "held-out cost of the worst-off group",
}


def pooling_sentence(outcome: Outcome) -> list[str]:
    """Say how much the groups were pooled, if they were."""
    strength = outcome.pooling
    if strength == 0:
        return []
    if np.isinf(strength):
        return [
            "Groups are pooled without limit in the search: everyone counts the same, "
            "and nothing but k-means is searched for."
        ]
    people = f"{strength:,.0f}" if strength < MOST_DIGITS else f"{strength:.3g}"
    return [
        "Groups are pooled in the search, so that chance decides less: each counts as "
        f"if {people} people, drawn from everyone, had joined it."
    ]


def most_is_kept(outcome: Outcome) -> list[str]:
    """Say that nothing found does more for the worst-off group, if that is so."""
    if outcome.advice.most > 0:
        return []
    return [
        f"Most for the worst-off group is {outcome.baseline}: the search found nothing "
        "better for that group."
    ]


def choice_sentence(choice: Choice) -> str:
    """Return which number of clusters is taken, and by what criterion."""
    used, criterion = choice.n_clusters, CRITERION[choice.chosen_by]
    if choice.choices[choice.chosen_by] is None:
        return f"No number of clusters has a {criterion}; {used} is the first"
    is_best = choice.chosen_by == "silhouette"
    why = f"has the best {criterion}" if is_best else f"is enough by the {criterion}"
    return f"K-means with several numbers of clusters; {used} {why}"


def choice_notes(choice: Choice) -> list[str]:
    """Return how to read the figures, and whether a wider range may be better."""
    return [
        "held-out is the mean squared distance to the nearest center of people who "
        "were left out when the centers were found, held-out-worst that of the "
        "worst-off group; lower is better. A star marks the number that a column "
        "takes; --choose-by says which column decides.",
        *end_of_range(choice),
    ]


def end_of_range(choice: Choice) -> list[str]:
    """Return a remark if the cost still falls at the end of the range."""
    used, last = choice.n_clusters, choice.candidates[-1].n_clusters
    if used != last or choice.chosen_by == "silhouette":
        return []
    return [
        f"{used} is the end of the range, and the cost still falls there; a wider "
        "range may take more."
    ]


def lone_people(outcome: Outcome) -> list[str]:
    """Return a remark on the clusters that are one person, if there are any."""
    sizes = outcome.result.effect.counts.sum(axis=1)
    is_one = (sizes > 0) & (sizes <= 1)
    alone = [outcome.cluster_names[c] for c in np.flatnonzero(is_one)]
    if not alone:
        return []
    if len(alone) == 1:
        return [
            f"Cluster {alone[0]} is one person: its center describes nobody else, and "
            "may identify them. Fewer clusters may avoid this."
        ]
    which = f"Clusters {', '.join(alone[:-1])} and {alone[-1]}"
    if len(alone) > MOST_NAMED:
        which = f"{len(alone):,} clusters"
    return [
        f"{which} are one person each: their centers describe nobody else, and may "
        "identify them. Fewer clusters may avoid this."
    ]
