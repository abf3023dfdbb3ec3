"""The report: a short paper in Markdown, made of results alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rawlsian.study.claims import (
    PAPER_ITERATIONS,
    apart,
    best_gain,
    gain,
    is_better,
    lowest,
    percent,
    started,
    traversal,
)
from rawlsian.study.data import MAJORITY, MINORITY
from rawlsian.study.stages import FILTERED, OPERATORS, SAME, UNFILTERED


def write_report(results: dict[str, Any]) -> str:
    """The report as far as the stages that were finished go."""
    sections = [_beginning]
    for stage, section in (
        ("data", _on_data),
        ("existence", _on_existence),
        ("traversals", _on_traversals),
        ("samples", _on_samples),
        ("beyond", _on_beyond),
        ("claims", _on_claims),
    ):
        if stage in results["stages_finished"]:
            sections.append(section)
    if "claims" not in results["stages_finished"]:
        sections.append(_unfinished)
    else:
        sections.append(_ending)
    return "\n".join(section(results) for section in sections)


def claims_table(claims: list[dict[str, Any]]) -> str:
    """Every claim, what the paper says, what we measured, and the verdict."""
    return table(
        ["claim of the paper", "paper", "measured here", "verdict", "see"],
        [
            [c["claim"], c["paper"], c["ours"], f"**{c['verdict']}**", c["where"]]
            for c in claims
        ],
    )


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _beginning(results: dict[str, Any]) -> str:
    config = results["config"]
    command = " ".join(
        f"--{name} {config[name]}" for name in ("runs", "samples", "seed", "clusters")
    )
    return f"""# Does a Rawlsian clustering exist, and can we walk there?

A reproduction of *Exploring Rawlsian Fairness for K-Means Clustering* (Simoes, Deepak P and MacCarthaigh, 2022,
[arXiv 2205.02052](https://arxiv.org/abs/2205.02052)), made by `rawlsian study --dataset {config["dataset"]} {command}`
(rawlsian {results["rawlsian"]}). Every number and figure comes from `results.json` beside this page.
{_in_short(results)}
## What was asked

k-means makes people's average distance to their cluster's centre small. It may do so at the cost of one group. The paper asks
two questions. Is there a clustering that serves the group which is served worse, the *less advantaged group* (LAG), better than
the best k-means clustering does? And can one walk to it from there, by giving one example (operator R1) or two (R2) at a time
to another cluster? The *utility* of a person is the largest possible squared distance less the squared distance to the mean of
their cluster; the utility of a group is the mean over its members; MAG is the more advantaged group. The paper looks only at
runs of k-means in which {MINORITY}, the minority, is the LAG. Among these, the *utilitarian point* is the one with the highest
overall utility, the *approximate Rawlsian point* the one with the highest LAG utility.
"""


def _in_short(results: dict[str, Any]) -> str:
    """The answers, once they are there."""
    if "claims" not in results["stages_finished"]:
        return ""
    rows = started(results)
    some = [row for row in rows if row["existence"]["runs_considered"] > 1]
    n_better = sum(is_better(row["existence"]) for row in some)
    walks = [row for row in apart(rows) if is_better(row["existence"])]
    n_below = sum(
        gain(traversal(row, "R1")) < best_gain(row["existence"]) for row in walks
    )
    return f"""
**In short.** A k-means clustering that serves the less advantaged group better than the utilitarian one exists in {n_better} of
{len(some)} samples. R1 and R2 walk to where both groups are level. Where such a clustering exists and there is a way to go, R1 ends
below it in {n_below} of {len(walks)} samples. {_best_of_all(results)}
"""


def _best_of_all(results: dict[str, Any]) -> str:
    """What the best run of all, whoever is the LAG there, says of the filter."""
    rows = [row for row in results["samples"]["rows"] if row[FILTERED]]
    if not rows:
        return ""
    pairs = [
        (row[UNFILTERED]["existence"]["utilitarian"],
         row[FILTERED]["existence"]["rawlsian"])
        for row in rows
    ]  # fmt: skip
    n_both = sum(
        all(best[name] > fairest[name] for name in (MINORITY, MAJORITY))
        for best, fairest in pairs
    )
    return (
        f"But in {n_both} of {len(rows)} samples the best run of all, whoever is the "
        "LAG there, serves both groups better than the approximate Rawlsian point, "
        f"which is the best of the runs in which {MINORITY} is the LAG."
    )


def _on_data(results: dict[str, Any]) -> str:
    dataset = results["dataset"]
    attributes = dataset["attributes"]
    table_1 = table(
        ["use", "type", "attributes"],
        [
            ["sensitive", "categorical", ", ".join(attributes["sensitive"])],
            ["clustering", "continuous", ", ".join(attributes["continuous"])],
            ["clustering", "categorical", ", ".join(attributes["categorical"])],
            ["sampling only", "categorical", ", ".join(attributes["predictor"])],
        ],
    )
    groups = table(
        ["sex", "whole data", "", "each sample", ""],
        [
            [
                name,
                f"{whole['examples']:,}",
                percent(whole["share"]),
                f"{part['examples']:,}",
                percent(part["share"]),
            ]
            for name, whole in dataset["groups"].items()
            for part in [dataset["sample"]["groups"][name]]
        ],
    )
    return f"""## The data

Adult (Becker and Kohavi, 1996; CC BY 4.0): the {dataset["rows"]:,} rows with workclass and occupation. Continuous attributes are
scaled to [0, 1], categorical ones become columns of 0 or 1/sqrt(2), {dataset["columns"]} columns in all, so that two people are at
most {dataset["max_distance"]:g} apart. A sample has {dataset["sample"]["rows"] // 2} people of each income class.

Table 1. Attributes.

{table_1}
Table 2. Groups.

{groups}"""


def _on_existence(results: dict[str, Any]) -> str:
    existence, samples = results["existence"], results["samples"]
    share = existence["lag_runs"] / existence["runs"]
    shares = [row["lag_runs"] / row["runs"] for row in samples["rows"]]
    rows = [
        _point_row(f"{name}, {kind}", part[key])
        for kind, part in (("with the filter", existence), ("without",
                                                            existence["unfiltered"]))
        for name, key in (("utilitarian", "utilitarian"), ("Rawlsian", "rawlsian"))
        if kind == "without" or existence["filter"] == FILTERED
    ]  # fmt: skip
    no_run = (
        ""
        if existence["filter"] == FILTERED
        else f"""
**No run of any sample had {MINORITY} as the LAG, so that the paper's filter lets nothing through. Everything that follows is
without it.**
"""
    )
    return f"""## Does a better point exist?

The paper's sample is not known, only that it had {_split(results)}. {len(samples["rows"])} of {samples["seeds_drawn"]:,} samples
that we drew have that split. On each, k-means ran {existence["runs"]:,} times from random initial centroids. The sample
shown in figures 1 to 3 has the seed {existence["sample_seed"]}. It is not a typical one: it was chosen for
{existence["sample_chosen_by"]}.

The paper shows only runs in which {MINORITY} is the LAG. In the sample shown these are {existence["lag_runs"]:,} of
{existence["runs"]:,} runs ({percent(share)}); over all samples the share is {percent(float(np.median(shares)))} (median;
{percent(min(shares))} to {percent(max(shares))}). In the other runs {MAJORITY} is the LAG.
{no_run}
{table(["point", MINORITY, MAJORITY, "overall"], rows)}
{_best_of_all(results)}

![Existence](figures/figure1_existence.png)

*Figure 1. Each point is a k-means clustering{_filter_text(results)}; darker is a higher overall utility (each panel has
a scale of its own), and histograms show how many points there are. On the dashed red line both groups have the same utility.
The smaller, blue plus is the utilitarian point, the larger, olive one the approximate Rawlsian point.*
"""


def _on_traversals(results: dict[str, Any]) -> str:
    rows = [
        [
            t["operator"],
            str(t["iterations"]),
            f"{t['start'][MINORITY]:.4f} to {t['end'][MINORITY]:.4f}",
            f"{t['start'][MAJORITY]:.4f} to {t['end'][MAJORITY]:.4f}",
            f"{t['start']['overall']:.4f} to {t['end']['overall']:.4f}",
            str(t["examples_elsewhere"]),
            f"{t['seconds']:.2f}",
        ]
        for t in results["traversals"]
    ]
    head = ["operator", "iterations", "Female", MAJORITY, "overall", "moved", "seconds"]
    return f"""## Can we walk there?

From the utilitarian point of figure 1, until no operation raises the lowest utility. R1+R2 takes whichever of the two is better
at each step; R2-exhaustive finds the best of all pairs instead of the best of the paper's pruned set. "Moved" is the number of people who end in
another cluster.

{table(head, rows)}
The approximate Rawlsian point has a LAG utility of {lowest(results["existence"]["rawlsian"]):.4f}.

![R1](figures/figure2_r1.png)

*Figure 2. The way of R1 from the utilitarian point to the line on which both groups are level.*

![R1 and R2](figures/figure3_r1_r2.png)

*Figure 3. The ways of R1 (thick) and R2.*
"""


def _on_samples(results: dict[str, Any]) -> str:
    rows = started(results)
    best = np.array([best_gain(row["existence"]) for row in rows])
    lines = []
    for operator in OPERATORS:
        walks = [traversal(row, operator) for row in rows]
        gains = np.array([gain(t) for t in walks])
        lines.append(
            [
                operator,
                _spread([t["iterations"] for t in walks], "{:g}"),
                str(PAPER_ITERATIONS.get(operator, "")),
                _spread(1e3 * gains, "{:.2f}"),
                f"{(gains > best + SAME).sum()} of {len(rows)}",
                _spread([t["seconds"] for t in walks], "{:.2f}"),
            ]
        )
    head = ["operator", "iterations", "paper", "LAG utility gained, thousandths",
            "ends above the best restart", "seconds"]  # fmt: skip
    return f"""## The same over many samples

{_how_many(results)} Median, and in brackets the lowest and the highest; the best restart gains
{_spread(1e3 * best, "{:.2f}")} thousandths. Evaluating all pairs at the start took
{_spread([row["pairs"]["seconds"] for row in rows], "{:.2f}")} seconds.

{table(head, lines)}
{_without_filter(results)}
![Iterations](figures/figure4_iterations.png)

*Figure 4. Iterations in each sample; the black bar is the median, the dashed red one what the paper reports for its sample.*

![Gains](figures/figure5_gains.png)

*Figure 5. How much each operator raises the LAG utility, against how much higher it is at the best restart. Below the dashed
line a traversal ends lower than the best restart. Where the utilitarian point is itself the best restart, points lie on the
left edge.*
"""


def _on_beyond(results: dict[str, Any]) -> str:
    beyond = results["beyond"]
    left_out = sum(row["start"] != FILTERED for row in beyond["rows"])
    plain = (
        f" In {left_out} of them no run has {MINORITY} as the LAG; there it is from "
        "the utilitarian point of all runs."
    )
    return f"""## Beyond the paper

The paper ends with the need for an operator that reassigns more examples. *batch* moves as many at once as hold up together;
*rawls* also takes a cluster apart and founds it elsewhere, where nothing else helps. `RawlsianKMeans` searches the Rawlsian point
itself, with means for centers as in the paper, or with centers anywhere. *Gap closed* is the share of the way from the
LAG utility at the start to the best that centers for the worst-off group alone would give, which is the best known bound and may be
out of reach. *Proved gap*: no clustering whatever has a mean cost of the worst-off group that is lower by more than this share
(a semidefinite bound, with rows merged to {beyond["proved_rows"]}). Over {len(beyond["rows"])}
sample{"s" * (len(beyond["rows"]) > 1)}, median and range.{plain * (left_out > 0)}

{beyond_table(results)}
The proved bound took {_spread([row["seconds"]["proved"] for row in beyond["rows"]], "{:.1f}")} seconds.

![Beyond](figures/figure6_beyond.png)

*Figure 6. The sample of figures 1 to 3: the ways of four operators, the two solutions of RawlsianKMeans, and the clusterings
between the best on the whole and the best for the LAG (centers anywhere). In the shaded corner both groups would be better off than any clustering can make both;
that is proved.*
"""


def beyond_table(results: dict[str, Any]) -> str:
    """Every method over the samples: how far it comes, and what it takes."""
    beyond = results["beyond"]
    lines = []
    for method in beyond["methods"]:
        ends = [row["methods"][method] for row in beyond["rows"]]
        lines.append(
            [
                method,
                _spread([100 * end["gap_closed"] for end in ends], "{:.1f}"),
                _spread([100 * end["proved_gap"] for end in ends], "{:.2f}"),
                _spread([end["iterations"] for end in ends], "{:g}")
                if "iterations" in ends[0]
                else "",
                _spread([end["seconds"] for end in ends], "{:.2f}"),
            ]
        )
    head = ["method", "gap closed, %", "proved gap, %", "steps", "seconds"]
    return table(head, lines)


def _how_many(results: dict[str, Any]) -> str:
    n, n_started = len(results["samples"]["rows"]), len(started(results))
    left_out = n - n_started
    without = f" In {left_out} more samples no run has {MINORITY} as the LAG."
    return (
        f"From the utilitarian point{_filter_text(results)} of {n_started} "
        f"sample{'s' * (n_started > 1)}.{without * (left_out > 0)}"
    )


def _without_filter(results: dict[str, Any]) -> str:
    """The same from where k-means itself would be taken."""
    rows = [row[UNFILTERED] for row in results["samples"]["rows"]]
    lines = []
    for operator in OPERATORS:
        walks = [traversal(row, operator) for row in rows]
        iterations = _spread([t["iterations"] for t in walks], "{:g}")
        gains = _spread([1e3 * gain(t) for t in walks], "{:.2f}")
        lines.append([operator, iterations, gains])
    starts = [row["existence"]["utilitarian"] for row in rows]
    n_male = sum(start[MAJORITY] < start[MINORITY] for start in starts)
    head = ["operator", "iterations", "LAG utility gained, thousandths"]
    return f"""Without the filter the start is the best of all runs, which is what a user of k-means would take.
There {MAJORITY} is the LAG in {n_male} of {len(rows)} samples.

{table(head, lines)}"""


def _on_claims(results: dict[str, Any]) -> str:
    return f"""## Claim by claim

*Holds*: equal, or so in every sample, or the paper's number lies between our quartiles. *Depends*: so in some samples, or
the number lies in our range. *Differs*: in no sample, or out of range. Samples whose groups are level at the start, so that there
is nowhere to walk to, are left out where walks are judged.
{_caution(results)}
{claims_table(results["claims"])}"""


def _caution(results: dict[str, Any]) -> str:
    """What makes the verdicts say little."""
    config = results["config"]
    cautions = []
    if config["clusters"] != 5:
        cautions.append(f"the paper has 5 clusters and this study {config['clusters']}")
    if config["samples"] < 10:
        cautions.append(f"there are only {config['samples']} samples")
    if config["runs"] < 1000:
        cautions.append(f"there are only {config['runs']} runs a sample")
    return f"\n**Mind that {', and '.join(cautions)}.**\n" if cautions else ""


def _ending(results: dict[str, Any]) -> str:
    by_verdict = {
        verdict: sum(c["verdict"] == verdict for c in results["claims"])
        for verdict in ("holds", "depends", "differs")
    }
    differing = "\n".join(
        f"- {c['claim']}: the paper says {c['paper']}; here {c['ours']}."
        for c in results["claims"]
        if c["verdict"] == "differs"
    )
    total = sum(results["seconds"].values())
    return f"""## Where it differs from the original

Of {len(results["claims"])} claims {by_verdict["holds"]} hold, {by_verdict["depends"]} depend on the sample, and
{by_verdict["differs"]} differ:

{differing or "- none"}

How the paper was read where it leaves things open: distances are squared (it scales *squared* distances to at most 1); the
distance is that to the mean of the cluster that an example is assigned to; a traversal goes on until nothing changes; a
move that would leave a cluster empty is not made; ties go to the lowest index; R2 keeps the best 5 % by either ranking. The
paper's own sample and seeds are not known, so that its numbers for one sample can only be set beside a distribution.

All of it took {total:.0f} seconds.
"""


def _unfinished(results: dict[str, Any]) -> str:
    return f"""---

*This study is not finished: {len(results["stages_finished"])} of 6 stages are here.*
"""


def _filter_text(results: dict[str, Any]) -> str:
    is_filtered = results["samples"]["start"] == FILTERED
    return f" in which {MINORITY} is the LAG" if is_filtered else ""


def _split(results: dict[str, Any]) -> str:
    groups = results["dataset"]["sample"]["groups"]
    return " and ".join(f"{part['examples']} {name}" for name, part in groups.items())


def _point_row(name: str, point: dict[str, float]) -> list[str]:
    return [name, *(f"{point[key]:.4f}" for key in (MINORITY, MAJORITY, "overall"))]


def _spread(values: ArrayLike, form: str) -> str:
    quantiles = np.quantile(np.asarray(values, dtype=float), [0, 0.5, 1])
    low, median, high = map(form.format, quantiles)
    return f"{median} ({low} to {high})"
