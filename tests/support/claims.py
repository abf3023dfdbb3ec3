"""The claims of the paper, judged anew from results.json in plain Python."""

from __future__ import annotations

from statistics import median, quantiles

READINGS = ("nearest", "assigned")


def judged_again(results):
    """Return the beginning of "ours" and the verdict of each claim, by reading.

    The keys are the first words of a claim with a reading, or with None if the claim
    does not depend on it.
    """
    judged = {
        (words, None): found
        for words, found in {**_data(results), **_existence(results)}.items()
    }
    for reading in READINGS:
        for words, found in _traversals(results, reading).items():
            judged[words, reading] = found
    return judged


def _data(results):
    dataset, samples = results["dataset"], results["samples"]
    n_rows = dataset["sample"]["rows"]
    n_pairs = n_rows * (n_rows - 1) // 2 * (results["config"]["clusters"] - 1) ** 2
    n_found, n_drawn = len(samples["rows"]), samples["seeds_drawn"]
    used = [*dataset["attributes"]["continuous"], *dataset["attributes"]["categorical"]]
    n_attributes = dataset["attributes"]["in the file"]
    return {
        "Adult has this many": _equal(dataset["rows"], 30_718),
        "attributes in the data": _equal(n_attributes, 15),
        "non-sensitive attributes that": _equal(len(used), 8),
        "non-sensitive attributes after": _equal(dataset["columns"], 42),
        "largest possible": _equal(int(dataset["max_distance"]), 8),
        "a sample of": (
            f"{n_found} of {n_drawn} seeds",
            "holds" if n_found == n_drawn else "depends",
        ),
        "possible R2": (
            f"{n_pairs:,}",
            "holds" if 7_500_000 < n_pairs < 8_000_000 else "differs",
        ),
        "it is impractical": ("every one was evaluated", "differs"),
    }


def _existence(results):
    shares = [row["lag_runs"] / row["runs"] for row in results["samples"]["rows"]]
    some = [row["existence"] for row in _started(results) if _n_runs(row) > 1]
    other = [
        e for e in some if _lowest(e["rawlsian"]) - _lowest(e["utilitarian"]) > 1e-9
    ]
    return {
        "Female is the": (
            f"in {100 * median(shares):.1f} % of",
            "depends" if max(shares) > 0 else "differs",
        ),
        "a k-means clustering": _in_all(e in other for e in some),
        "the utilitarian point": _in_all(
            e["utilitarian_has_highest_mag_utility"] for e in some
        ),
        "the approximate Rawlsian point has a low": _in_all(
            e["share_of_runs_below_rawlsian_in_overall"] < 0.5 for e in other
        ),
        "most runs are nearer": _in_all(
            e["share_of_runs_nearer_to_utilitarian"] > 0.5 for e in other
        ),
    }


def _traversals(results, reading):
    rows = _started(results)
    n_pairs = rows[0]["readings"][reading]["pairs"]["pairs"]
    lowering = [
        row["readings"][reading]["pairs"]["pairs_that_lower_the_lag"] / n_pairs
        for row in rows
    ]
    rows = [row for row in rows if _gap(row["existence"]["utilitarian"]) >= 0.001]
    found = [row["readings"][reading] for row in rows]
    walks = {
        t["operator"]: [f["traversals"][place] for f in found]
        for place, t in enumerate(found[0]["traversals"])
    }
    r1, r2 = walks["R1"], walks["R2"]
    counts = {name: [t["iterations"] for t in walks[name]] for name in ("R1", "R2")}
    both = list(zip(counts["R1"], counts["R2"], strict=True))
    judged = {
        "R1 iterations": _number(counts["R1"], 261, "{:.4g}"),
        "R2 iterations": _number(counts["R2"], 152, "{:.4g}"),
        "R2 iterations /": _number([b / a for a, b in both if a], 152 / 261, "{:.2f}"),
        "R2 needs fewer": _in_all(b < a for a, b in both),
        "R2 follows nearly": _in_all(
            f["r2_strays_from_r1"] < 0.05
            for f in found
            if f["r2_strays_from_r1"] is not None
        ),
        "the approximate Rawlsian point has a higher": _in_all(
            _lowest(row["existence"]["rawlsian"]) > _lowest(t["end"])
            for row, t in zip(rows, r1, strict=True)
            if _lowest(row["existence"]["rawlsian"])
            > _lowest(row["existence"]["utilitarian"]) + 1e-9
        ),
        "R2 operations that lower": _number(
            [100 * share for share in lowering], 62, "{:.1f} %"
        ),
        "a move that does not": _pruning(found, walks),
    }
    for name, some in (("R1", r1), ("R2", r2)):
        judged[f"{name} ends where"] = _in_all(_gap(t["end"]) < 0.001 for t in some)
        judged[f"{name} moves north-west"] = _in_all(
            2 * t["steps_that_lower_a_group"] > t["iterations"] for t in some
        )
        judged[f"an operation of {name}"] = _in_all(
            t["moves_taken_back"] == 0 for t in some
        )
    return judged


def _pruning(found, walks):
    shares = [
        100 * f["pairs"]["pairs_that_raise_with_a_useless_move"]
        / f["pairs"]["pairs_that_raise"]
        for f in found
    ]  # fmt: skip
    ends = zip(walks["R2"], walks["R2-exhaustive"], strict=True)
    n_higher = sum(_lowest(b["end"]) > _lowest(a["end"]) + 1e-9 for a, b in ends)
    is_cut = any(t["stop_reason"] == "max_iter" for t in walks["R2-exhaustive"])
    return (
        f"{median(shares):.1f} % of the pairs that raise it have such a move (median; "
        f"{min(shares):.1f} % to {max(shares):.1f} %); looking at all pairs, which "
        f"lifts the cut at 5 %, too, R2 ends higher in "
        f"{'at least ' * is_cut}{n_higher} of {len(found)} ",
        "differs" if max(shares) > 0 else "holds",
    )


def _started(results):
    start = results["samples"]["start"]
    return [row[start] for row in results["samples"]["rows"] if row[start]]


def _n_runs(row):
    return row["existence"]["runs_considered"]


def _lowest(point):
    return min(point["Female"], point["Male"])


def _gap(point):
    return abs(point["Female"] - point["Male"])


def _equal(ours, paper):
    return f"{ours:,}", "holds" if ours == paper else "differs"


def _in_all(answers):
    answers = list(answers)
    n = sum(answers)
    verdict = {0: "differs", len(answers): "holds"}.get(n, "depends")
    return (f"in {n} of {len(answers)} ", verdict) if answers else ("no", "depends")


def _number(values, paper, form):
    first, _, third = quantiles(values, n=4, method="inclusive")
    is_inside, is_in_range = (
        first <= paper <= third,
        min(values) <= paper <= max(values),
    )
    verdict = "holds" if is_inside else "depends" if is_in_range else "differs"
    shown = [form.format(v) for v in (median(values), min(values), max(values))]
    return "median {} ({} to {}, ".format(*shown), verdict
