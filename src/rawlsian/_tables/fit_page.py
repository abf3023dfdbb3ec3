"""The page of a fit: verdict, options, people, and, folded, the trade-off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rawlsian._recommend.new_people import N_FOLDS
from rawlsian._recommend.population import MOST_SEARCHED
from rawlsian._search.crossing import starts_for
from rawlsian._tables import verdict as say
from rawlsian._tables.fitting import MemoryFit
from rawlsian._tables.memory import FitInMemory
from rawlsian._tables.methods import describe
from rawlsian._tables.outcome import Option, Outcome
from rawlsian._tables.page_curves import chosen_from, curves_of
from rawlsian._tables.page_parts import group_fits, provenance, rows_of, utility_text
from rawlsian._tables.sentences import lone_people, most_is_kept, pooling_sentence
from rawlsian._tables.text import listed
from rawlsian.metrics.audit import signed
from rawlsian.report import (
    OptionCard,
    OptionGroup,
    Page,
    Shown,
    TextColumns,
    Tile,
    Way,
    trajectory_way,
)
from rawlsian.report.words import LIMITS, TRADE_OFF

MOST_NAMED = 3
LEVEL = (
    "Mean squared distance to what serves a person; everyone with {baseline} is 100, "
    "and lower is better. Bars are 95% intervals of each group's mean."
)
NEW_PEOPLE = (
    "Mean squared distances of {rows:,} people who were dealt into {folds} parts with "
    "the same mix of groups, and measured with centers that were found without them. "
    "The strength of pooling, and the kind of clustering, were chosen with all people, "
    "which makes the gain a little too high."
)
BASELINE = (
    "K-means: the best of {starts} random starts and many more that combine the best "
    "of them, until these bring nothing; the best run until nothing changes{sampled}. "
    "The solver searches in the same way."
)
RULE = (
    "The recommendation: keep the clusters if no group is served worse than everyone "
    "else beyond chance, or if the gain of the worst-off group {gain} may be chance. "
    "Otherwise subtract, at each point of the trade-off, the cost to everyone from the "
    "gain of the worst-off group, both in per cent of mean "
    "squared distance, and take the first point that reaches 95% of the largest "
    "difference. Beyond the largest, one more per cent for the worst-off group costs "
    "everyone more than one per cent."
)
CHANGES = (
    "The interval of a change compares the same people before and after (Student's "
    "distribution; with several groups, wide enough for all of them). It holds the "
    "clusters fixed; the gain of new people does not."
)


def fit_page(found: FitInMemory) -> Page:
    """Return the page of a fit."""
    fitted, table = found.fitted, found.table
    outcome = fitted.outcome
    contents: dict[str, Any] = {**rows_of(table)}
    return Page(
        title=f"Clusters of {table.name}",
        verdict=" ".join(say.chosen_sentence(outcome)) or say.verdict(outcome),
        summary=_summary(outcome),
        tiles=_tiles(outcome),
        group_fits=group_fits(table, fitted.before, _after(fitted), outcome.is_small),
        level_text=LEVEL.format(baseline=outcome.baseline),
        options=tuple(_card(outcome, each) for each in outcome.options),
        before=_shown(_capital(outcome.baseline), fitted.before, outcome.keep),
        after=_after_shown(fitted),
        provenance=provenance(
            table, "Clustered on", (*chosen_from(found.choice), *_options_of(fitted))
        ),
        cluster_names=outcome.cluster_names,
        ways=_ways(fitted),
        cloud=fitted.cloud,
        methods=_methods(found),
        limits=LIMITS,
        curves=curves_of(found.choice),
        new_people=_new_people(outcome),
        **contents,
    )


def _summary(outcome: Outcome) -> tuple[str, ...]:
    """Return the paragraphs below the verdict."""
    recommended = f"Recommended: {say.verdict(outcome)}"
    return (
        *([recommended] if say.chosen_sentence(outcome) else []),
        *say.domination(outcome),
        *say.kmeans_sentence(outcome), say.serving(outcome.result),
        *say.small_groups(outcome), *lone_people(outcome),
    )  # fmt: skip


def _after(fitted: MemoryFit) -> Any:
    return None if fitted.outcome.result.point == 0 else fitted.after


def _after_shown(fitted: MemoryFit) -> Shown | None:
    result = fitted.outcome.result
    if result.point == 0:
        return None
    return _shown(result.title, fitted.after, result)


def _shown(name: str, served: Any, option: Option) -> Shown:
    return Shown(name, served.labels, served.distances, option.separation)


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


# --- Tiles and options -------------------------------------------------------------


def _tiles(outcome: Outcome) -> tuple[Tile, ...]:
    """Return the gap, who gains, who pays, who moves."""
    result, effect = outcome.result, outcome.result.effect
    moved = result.n_moved / float(effect.people.sum())
    return (
        _gap_tile(outcome),
        _who(outcome, "Who gains", say.gaining(result), effect.sums.nearer, "closer"),
        _who(outcome, "Who pays", say.paying(result), effect.sums.farther, "farther"),
        Tile(
            "Who moves",
            f"{moved:.1%}",
            " ".join(say.moved_sentence(outcome)) or "Nobody is in another cluster.",
        ),
    )


def _gap_tile(outcome: Outcome) -> Tile:
    before, after = outcome.audits
    if before.worst_off is None:
        return Tile("Gap", "none", "No two groups have enough people to be compared.")
    texts = []
    for when, audit in zip(("before", "after"), outcome.audits, strict=True):
        low, high = map(signed, audit.gap_interval)
        texts.append(f"{audit.worst_off} {when}: 95% interval {low} to {high}")
    is_kept = outcome.result.point == 0
    figure = signed(before.gap) + ("" if is_kept else f" → {signed(after.gap)}")
    return Tile(
        "Gap",
        figure,
        "Points against everyone else; 100 is everyone's distance with the same "
        "clusters. "
        f"{'; '.join(texts[:1] if is_kept else texts)}.",
    )


def _who(
    outcome: Outcome, heading: str, groups: list[int], people: Any, word: str
) -> Tile:
    """Return a tile on the groups that gain, or pay."""
    effect, names = outcome.result.effect, outcome.group_names
    n_people = f"{people.sum():,.0f} of {effect.people.sum():,.0f} people are {word}."
    if not groups:
        text = f"No group is clearly {word}. {n_people}"
        return Tile(heading, "nobody clearly", text)
    order = sorted(groups, key=lambda g: -abs(effect.changes[g]))
    texts = [
        f"{names[g]} {effect.changes[g]:+.1f}% ({effect.intervals[g, 0]:+.1f} to "
        f"{effect.intervals[g, 1]:+.1f})"
        for g in order[:MOST_NAMED]
    ]
    others = len(order) - len(texts)
    texts += [f"{others} more"] if others else []
    return Tile(heading, _figure(outcome, order), f"{listed(texts)}. {n_people}")


def _figure(outcome: Outcome, groups: list[int]) -> str:
    """Return the group that changes most, or how many groups there are."""
    if len(groups) > 1:
        return f"{len(groups)} groups"
    g = groups[0]
    return f"{outcome.group_names[g]} {outcome.result.effect.changes[g]:+.1f}%"


def _card(outcome: Outcome, option: Option) -> OptionCard:
    effect = option.effect
    is_kept = option.point == 0
    return OptionCard(
        key=option.key,
        title=option.title,
        text=_card_text(outcome, option),
        is_chosen=option.key == outcome.result.key,
        is_recommended=option.key == "recommended",
        groups=tuple(
            OptionGroup(
                str(name),
                float(option.levels[g]),
                None if is_kept else float(effect.changes[g]),
                None
                if is_kept or effect.is_small[g]
                else (float(effect.intervals[g, 0]), float(effect.intervals[g, 1])),
                bool(effect.is_small[g]),
            )
            for g, name in enumerate(outcome.group_names)
        ),
        everyone=None if is_kept else effect.overall_change,
        n_people=round(float(effect.people.sum())),
        n_gain=round(float(effect.sums.nearer.sum())),
        n_lose=round(float(effect.sums.farther.sum())),
        n_moved=option.n_moved,
        separation=option.separation,
    )


def _card_text(outcome: Outcome, option: Option) -> str:
    """Return a sentence on an option."""
    if option.key == "recommended":
        return say.verdict(outcome)
    if option.key == "most" and option.point == 0:
        return " ".join([*most_is_kept(outcome), *pooling_sentence(outcome)])
    if option.point == 0:
        return "Nobody changes cluster, and nothing changes for any group."
    new = " ".join(say.new_people_sentence(option))
    where = "" if option.point is None else f"Point {option.point} of the trade-off. "
    pooled = pooling_sentence(outcome) if option.key == "most" else []
    return " ".join([f"{where}{new}", *pooled])


# --- Folded ------------------------------------------------------------------------


def _ways(fitted: MemoryFit) -> tuple[Way, ...]:
    """Return the trade-off, and a walk if there is one to show."""
    outcome = fitted.outcome
    points = outcome.advice.points
    utilities = np.array([outcome.max_distance - each.effect.costs for each in points])
    overall = np.array([outcome.max_distance - each.effect.overall for each in points])
    trade_off = Way(
        "The trade-off, from the clusters kept to the best for the worst-off group",
        "frontier" if len(points) > 1 else "one",
        np.arange(len(points)),
        utilities,
        overall,
        np.array(fitted.trade_off_labels),
        opens_at=-1 if outcome.result.point is None else outcome.result.point,
    )
    walk = fitted.walk
    if walk is None or walk.n_iter == 0 or len(walk.groups) != utilities.shape[1]:
        return (trade_off,)
    operator = "rawls" if outcome.ended is None else outcome.ended.method
    title = f"From {outcome.baseline}, by {operator}"
    way = trajectory_way(walk, title, fitted.problem.X, fitted.problem.weights)
    n_points = walk.n_iter + 1
    if len(way.steps) < n_points:
        way = replace(
            way, title=f"{title}: {len(way.steps)} of its {n_points:,} points"
        )
    return (trade_off, way)


def _options_of(fitted: MemoryFit) -> tuple[tuple[str, str], ...]:
    """Return the options of a fit, as they were used."""
    outcome, options = fitted.outcome, fitted.options
    return (
        ("Clusters", str(outcome.n_clusters)),
        ("Begun from", outcome.baseline),
        ("Method", options.method or "recommendation"),
        ("Chosen", outcome.result.title),
        ("Served by", outcome.result.served_by),
        *(("Limits", each) for each in _limits(outcome)),
        ("Smallest group judged", f"{options.min_group} people"),
        *(("Pooling", each) for each in pooling_sentence(outcome)),
        ("Seed", str(options.seed)),
    )


def _limits(outcome: Outcome) -> list[str]:
    limits = outcome.limits
    texts = []
    if np.isfinite(limits.max_moved):
        texts.append(f"at most {100 * limits.max_moved:g}% of people move")
    if np.isfinite(limits.max_loss):
        texts.append(f"no group loses more than {limits.max_loss:g}%")
    return texts


def _methods(found: FitInMemory) -> tuple[str, ...]:
    """Return paragraphs on how the page was computed."""
    fitted, prepared = found.fitted, found.table.prepared
    outcome, n_clusters = fitted.outcome, fitted.outcome.n_clusters
    sampled = ""
    if fitted.problem.n_samples > MOST_SEARCHED:
        sampled = (
            f", on {fitted.outcome.advice.finder.searched.n_samples:,} rows with as "
            "many of each group; the best of these, and some more random starts, then "
            "run on all rows"
        )
    utility = utility_text(prepared, outcome.max_distance)
    baseline = BASELINE.format(starts=starts_for(n_clusters), sampled=sampled)
    ended = outcome.ended
    method = [] if ended is None else [describe(ended.method, outcome.result.served_by)]
    cloud = f"The cloud: {len(fitted.cloud):,} runs of k-means, each from random rows."
    is_measured = fitted.options.for_new_people
    rule = RULE.format(
        gain="among people who were left out" if is_measured else "in the table"
    )
    return (rule, baseline, *method, CHANGES, TRADE_OFF, cloud, utility)


def _new_people(outcome: Outcome) -> TextColumns | None:
    """Return the section on people who are left out, if they were measured."""
    option = outcome.result
    if option.new_people is None:
        option = next((o for o in outcome.options if o.new_people is not None), option)
    found = option.new_people
    if found is None:
        return None
    rows = tuple(
        (str(name), f"{kept:.4f}", f"{cost:.4f}", f"{100 * (cost / kept - 1):+.1f}%")
        if kept > 0
        else (str(name), f"{kept:.4f}", f"{cost:.4f}", "")
        for name, kept, cost in zip(
            found.group_names, found.kept, found.found, strict=True
        )
    )
    texts = (
        *say.new_people_sentence(option),
        NEW_PEOPLE.format(rows=found.n_rows, folds=N_FOLDS),
    )
    heads = ("Group", _capital(outcome.baseline), option.title, "Change")
    return TextColumns(heads, rows, texts)
