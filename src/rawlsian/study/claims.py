"""Checkable claims of the paper, compared with the measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rawlsian._core.problem import Utility
from rawlsian.study.data import MINORITY, MINORITY_IN_SAMPLE
from rawlsian.study.stages import PAPER_READING, READINGS, SAME, possible_pairs

# Numbers that the paper reports.
PAPER_ITERATIONS = {"R1": 261, "R2": 152}
PAPER_LOWER = 0.62

# Utilities that differ by less than this, out of 8, count as equal.
ON_THE_LINE = 0.001
# Trajectories that differ by less than this, relative to their length, count as nearly
# identical.
NEARLY_IDENTICAL = 0.05

Claim = dict[str, Any]


def check_claims(results: dict[str, Any]) -> list[Claim]:
    """Compare every claim of the paper with the measurements.

    Returns
    -------
    list of dict
        Each has "claim", "paper" (the paper's value) and "where" (a figure, a table or
        a part of results.json). A claim that does not depend on the reading of utility
        has "ours" and "verdict". A claim that does has "readings": for "nearest" and
        "assigned" a dict with "ours" and "verdict". "values" beside these two has the
        numbers behind "ours".
    """
    dataset, samples = results["dataset"], results["samples"]
    n_pairs = possible_pairs(dataset["sample"]["rows"], results["config"]["clusters"])
    return [
        *_claims_on_data(dataset, samples),
        *_claims_on_existence(started(results, PAPER_READING), samples["rows"]),
        *_claims_on_search(results, n_pairs),
        *_by_reading(results, _claims_on_traversals),
        *_by_reading(results, partial(_claims_on_pairs, n_pairs)),
    ]


def started(results: dict[str, Any], reading: Utility) -> list[dict[str, Any]]:
    """Return the results of each sample from the main start, under a reading."""
    start = results["samples"]["start"]
    return walked(results, start, reading)


def walked(
    results: dict[str, Any], start: str, reading: Utility
) -> list[dict[str, Any]]:
    """Return the results of each sample that has a start, under a reading."""
    return [
        {"existence": row[start]["existence"], **row[start]["readings"][reading]}
        for row in results["samples"]["rows"]
        if row[start]
    ]


def _by_reading(
    results: dict[str, Any], claims_of: Callable[[list[dict[str, Any]]], list[Claim]]
) -> list[Claim]:
    """Join the same claims, judged under each reading."""
    judged = [claims_of(started(results, reading)) for reading in READINGS]
    joined = []
    for same in zip(*judged, strict=True):
        head = {key: same[0][key] for key in ("claim", "paper", "where")}
        found = [
            {key: one[key] for key in ("ours", "verdict", "values") if key in one}
            for one in same
        ]
        joined.append({**head, "readings": dict(zip(READINGS, found, strict=True))})
    return joined


def judgement(claim: Claim, reading: Utility) -> dict[str, Any]:
    """Return "ours" and "verdict" of a claim under a reading."""
    found: dict[str, Any] = claim["readings"][reading] if "readings" in claim else claim
    return found


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return median, quartiles and range."""
    low, first, median, third, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    return {
        "median": float(median), "quartile_1": float(first), "quartile_3": float(third),
        "lowest": float(low), "highest": float(high), "samples": len(values),
    }  # fmt: skip


def _claim(
    claim: str, paper: str, ours: str, verdict: str, where: str, **values: Any
) -> Claim:
    return {
        "claim": claim, "paper": paper, "ours": ours, "verdict": verdict,
        "where": where, **values,
    }  # fmt: skip


def _exactly(claim: str, paper: int, ours: float, where: str) -> Claim:
    verdict = "holds" if ours == paper else "differs"
    return _claim(claim, f"{paper:,}", f"{ours:,}".removesuffix(".0"), verdict, where)


def _in_samples(
    claim: str, paper: str, is_so: Sequence[bool], where: str, unit: str
) -> Claim:
    """Judge a claim: holds if true in all samples, differs if in none."""
    n_so, n = sum(is_so), len(is_so)
    verdict = "holds" if n_so == n else "differs" if n_so == 0 else "depends"
    if n == 0:
        return _claim(claim, paper, "no sample to look at", "depends", where)
    return _claim(claim, paper, f"in {n_so} of {n} {unit}", verdict, where)


def _within(
    claim: str,
    paper: float,
    values: Sequence[float],
    where: str,
    show: Callable[[float], str],
) -> Claim:
    """Judge a number: holds between our quartiles, differs outside our range."""
    if not values:
        return _claim(claim, show(paper), "no sample to look at", "depends", where)
    ours = spread(values)
    is_inside = ours["quartile_1"] <= paper <= ours["quartile_3"]
    is_in_range = ours["lowest"] <= paper <= ours["highest"]
    verdict = "holds" if is_inside else "depends" if is_in_range else "differs"
    text = (
        f"median {show(ours['median'])} ({show(ours['lowest'])} to "
        f"{show(ours['highest'])}, half of the samples {show(ours['quartile_1'])} to "
        f"{show(ours['quartile_3'])})"
    )
    return _claim(claim, show(paper), text, verdict, where, values=ours)


def percent(share: float) -> str:
    """Format a share with one decimal, or with two digits if it is tiny."""
    per_cent = 100 * share
    return f"{per_cent:.2g} %" if 0 < per_cent < 0.1 else f"{per_cent:.1f} %"


def _plain(value: float) -> str:
    return f"{value:.4g}"


def traversal(row: dict[str, Any], operator: str) -> dict[str, Any]:
    """Return the record of one operator in one sample."""
    return next(t for t in row["traversals"] if t["operator"] == operator)


def n_stopped(rows: list[dict[str, Any]], operator: str) -> int:
    """Count the samples in which an operator was stopped before it ended."""
    return sum(traversal(row, operator)["stop_reason"] == "max_iter" for row in rows)


def lowest(named: dict[str, float]) -> float:
    """Return the lowest group utility of a point."""
    return min(value for name, value in named.items() if name != "overall")


def gain(walk: dict[str, Any]) -> float:
    """Return the rise of the lowest group utility in a traversal."""
    return lowest(walk["end"]) - lowest(walk["start"])


def best_gain(existence: dict[str, Any]) -> float:
    """Return how far the Rawlsian point lies above the utilitarian one."""
    return lowest(existence["rawlsian"]) - lowest(existence["utilitarian"])


def is_better(existence: dict[str, Any]) -> bool:
    """Return True if the Rawlsian point is above, so not, the utilitarian one."""
    return best_gain(existence) > SAME


def gap(named: dict[str, float]) -> float:
    """Return the gap between the highest and the lowest group utility."""
    groups = [value for name, value in named.items() if name != "overall"]
    return max(groups) - min(groups)


def _claims_on_data(dataset: dict[str, Any], samples: dict[str, Any]) -> list[Claim]:
    n_found, n_drawn = len(samples["rows"]), samples["seeds_drawn"]
    attributes = dataset["attributes"]
    return [
        _exactly(
            "Adult has this many examples without missing values", 30_718,
            dataset["rows"], "Table 1",
        ),
        _exactly(
            "attributes in the data", 15, attributes["in the file"], "Table 1"
        ),
        _exactly(
            "non-sensitive attributes that are used", 8,
            len(attributes["continuous"]) + len(attributes["categorical"]), "Table 1",
        ),
        _exactly(
            "non-sensitive attributes after encoding", 42, dataset["columns"], "Table 1"
        ),
        _exactly(
            "largest possible (squared) distance", 8, dataset["max_distance"],
            "Table 1",
        ),
        _claim(
            f"a sample of {dataset['sample']['rows']:,} has this many {MINORITY}",
            f"{MINORITY_IN_SAMPLE}",
            f"{n_found} of {n_drawn} seeds drawn ({percent(n_found / n_drawn)}); only "
            "these are used",
            "holds" if n_found == n_drawn else "depends", "Table 2",
        ),
    ]  # fmt: skip


def _claims_on_existence(
    rows: list[dict[str, Any]], all_rows: list[dict[str, Any]]
) -> list[Claim]:
    shares = spread([row["lag_runs"] / row["runs"] for row in all_rows])
    # One run alone has nothing to compare with.
    some = [row["existence"] for row in rows if row["existence"]["runs_considered"] > 1]
    better = [existence for existence in some if is_better(existence)]
    of_some = "samples with two such runs or more"
    of_better = "samples where it is another point"
    mostly = "; mostly the majority is worse off" if shares["median"] < 0.5 else ""
    return [
        _claim(
            f"{MINORITY} is the less advantaged group", "only such runs are shown",
            f"in {percent(shares['median'])} of the runs (median; "
            f"{percent(shares['lowest'])} to {percent(shares['highest'])}){mostly}",
            "depends" if shares["highest"] > 0 else "differs", "`existence`",
            values=shares,
        ),
        _in_samples(
            "a k-means clustering with a higher LAG utility than the utilitarian one "
            "exists", "yes", [is_better(e) for e in some], "Figure 1", of_some,
        ),
        _in_samples(
            "the utilitarian point has the highest MAG utility, too", "yes",
            [e["utilitarian_has_highest_mag_utility"] for e in some], "Figure 1",
            of_some,
        ),
        _in_samples(
            "the approximate Rawlsian point has a low overall utility (lower than half "
            "of the runs)", "yes",
            [e["share_of_runs_below_rawlsian_in_overall"] < 0.5 for e in better],
            "Figure 1", of_better,
        ),
        _in_samples(
            "most runs are nearer to the utilitarian point than to the approximate "
            "Rawlsian point", "yes",
            [e["share_of_runs_nearer_to_utilitarian"] > 0.5 for e in better],
            "Figure 1", of_better,
        ),
    ]  # fmt: skip


def apart(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out samples whose groups start equal: traversals have nowhere to go."""
    return [row for row in rows if gap(row["existence"]["utilitarian"]) >= ON_THE_LINE]


def _claims_on_traversals(rows: list[dict[str, Any]]) -> list[Claim]:
    rows = apart(rows)
    r1 = [traversal(row, "R1") for row in rows]
    r2 = [traversal(row, "R2") for row in rows]
    of_apart = "samples that do not begin level"
    return [
        _within("R1 iterations", PAPER_ITERATIONS["R1"],
                [t["iterations"] for t in r1], "Figures 2 and 4", _plain),
        _within("R2 iterations", PAPER_ITERATIONS["R2"],
                [t["iterations"] for t in r2], "Figures 3 and 4", _plain),
        _within("R2 iterations / R1 iterations",
                PAPER_ITERATIONS["R2"] / PAPER_ITERATIONS["R1"],
                [b["iterations"] / a["iterations"] for a, b in zip(r1, r2, strict=True)
                 if a["iterations"] > 0],
                "Figure 4", "{:.2f}".format),
        *(
            _in_samples(
                f"{name} ends where LAG and MAG utility are equal (less than "
                f"{ON_THE_LINE:g} apart)", "yes",
                [gap(t["end"]) < ON_THE_LINE for t in traversals], "Figures 2 and 3",
                of_apart,
            )
            for name, traversals in (("R1", r1), ("R2", r2))
        ),
        _in_samples(
            "R2 needs fewer iterations than R1", "yes",
            [b["iterations"] < a["iterations"] for a, b in zip(r1, r2, strict=True)],
            "Figure 4", of_apart,
        ),
        *(
            _in_samples(
                f"{name} moves north-west: most of its steps lower the MAG utility",
                "yes",
                [t["steps_that_lower_a_group"] > t["iterations"] / 2 for t in walks],
                "Figures 2 and 3", of_apart,
            )
            for name, walks in (("R1", r1), ("R2", r2))
        ),
        _in_samples(
            f"R2 follows nearly the same trajectory as R1 (they lie apart by less than "
            f"{percent(NEARLY_IDENTICAL)} of the way)", "yes",
            [row["r2_strays_from_r1"] < NEARLY_IDENTICAL for row in rows
             if row["r2_strays_from_r1"] is not None],
            "Figure 3", of_apart,
        ),
        _in_samples(
            "the approximate Rawlsian point has a higher LAG utility than any point of "
            "R1", "yes",
            [best_gain(row["existence"]) > gain(t)
             for row, t in zip(rows, r1, strict=True) if is_better(row["existence"])],
            "Figures 2 and 5", f"{of_apart} and have such a point",
        ),
        *(
            _in_samples(
                f"an operation of {name} once applied is never undone", "yes",
                [t["moves_taken_back"] == 0 for t in walks], "`samples`", of_apart,
            )
            for name, walks in (("R1", r1), ("R2", r2))
        ),
    ]  # fmt: skip


def _claims_on_search(results: dict[str, Any], n_pairs: int) -> list[Claim]:
    counts = [
        row["pairs"]["pairs"]
        for reading in READINGS
        for row in started(results, reading)
    ]
    is_complete = bool(counts) and all(count == n_pairs for count in counts)
    return [
        _claim("possible R2 operations", "nearly 8 million", f"{n_pairs:,}",
               "holds" if 7.5e6 < n_pairs < 8e6 else "differs", "`samples`"),
        _claim("it is impractical to calculate the utilities of all of them", "yes",
               "every one was evaluated, in every sample" if is_complete
               else "not done",
               "differs" if is_complete else "depends", "`samples`"),
    ]  # fmt: skip


def _claims_on_pairs(n_pairs: int, rows: list[dict[str, Any]]) -> list[Claim]:
    counts = [row["pairs"] for row in apart(rows)]
    useless = [
        count["pairs_that_raise_with_a_useless_move"] / count["pairs_that_raise"]
        for count in counts
        if count["pairs_that_raise"] > 0
    ]
    n_higher = sum(
        gain(traversal(row, "R2-exhaustive")) > gain(traversal(row, "R2")) + SAME
        for row in apart(rows)
    )
    # A traversal that was stopped might have risen further.
    at_least = "at least " if n_stopped(apart(rows), "R2-exhaustive") else ""
    return [
        _within("R2 operations that lower the LAG utility", PAPER_LOWER,
                [row["pairs"]["pairs_that_lower_the_lag"] / n_pairs for row in rows],
                "`samples`", percent),
        _claim(
            "a move that does not raise the LAG utility alone does not in a pair "
            "(the pruning assumption)", "assumed",
            f"{percent(np.median(useless))} of the pairs that raise it have such a "
            f"move (median; {percent(min(useless))} to {percent(max(useless))}); "
            f"looking at all pairs, which lifts the cut at 5 %, too, R2 ends higher in "
            f"{at_least}{n_higher} of {len(counts)} samples"
            if useless else "no sample to look at",
            "depends" if not useless else "differs" if max(useless) > 0 else "holds",
            "Figure 5",
        ),
    ]  # fmt: skip
