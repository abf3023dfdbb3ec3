"""Report of the study: a short paper in Markdown, written from the results alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from rawlsian._core.problem import Utility
from rawlsian.study.claims import (
    PAPER_ITERATIONS,
    apart,
    best_gain,
    gain,
    is_better,
    lowest,
    n_stopped,
    percent,
    started,
    traversal,
    walked,
)
from rawlsian.study.data import MAJORITY, MINORITY
from rawlsian.study.stages import (
    FILTERED,
    MAIN_OPERATORS,
    MOST_STEPS,
    OPERATORS,
    PAPER_READING,
    READINGS,
    SAME,
    UNFILTERED,
)
from rawlsian.study.tables import (
    HEADS,
    beyond_table,
    claims_table,
    spread_text,
    table,
)
from rawlsian.study.verdicts import count_verdicts, differences, fits

SECONDS = "Samples may run side by side, one on each core; seconds are measured so."


def write_report(results: dict[str, Any]) -> str:
    """Return the report of the stages finished so far."""
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


def _beginning(results: dict[str, Any]) -> str:
    config = results["config"]
    command = " ".join(
        f"--{name} {config[name]}" for name in ("runs", "samples", "seed", "clusters")
    )
    return f"""# Does a Rawlsian clustering exist, and can a traversal reach it?

This report reproduces *Exploring Rawlsian Fairness for K-Means Clustering* (Simoes, Deepak P and MacCarthaigh, 2022,
[arXiv 2205.02052](https://arxiv.org/abs/2205.02052)). The command `rawlsian study --dataset {config["dataset"]} {command}`
wrote it (rawlsian {results["rawlsian"]}). Every number and figure comes from `results.json` in the same folder.
{_in_short(results)}
## Questions

k-means minimises the mean squared distance of people to the center of their cluster, possibly at the cost of one group. The
group with the lower utility is the *less advantaged group* (LAG), the other the *more advantaged group* (MAG). The paper asks
two questions. Is there a clustering that serves the LAG better than the best k-means clustering does? And can a traversal from
the best k-means clustering reach it, if it moves one example (operator R1) or two (R2) at a time to another cluster?

The *utility* of a person is the largest possible squared distance minus the squared distance to a mean. The utility of a group is
the mean over its members. The paper considers only runs of k-means in which {MINORITY}, the minority, is the LAG. Among these runs,
the *utilitarian point* has the highest overall utility, and the *approximate Rawlsian point* has the highest LAG utility.

There are two readings of which mean serves a person, and this study has both:

- *nearest*: "the distance of example x from the nearest cluster centroid", in the words of the paper. Labels decide where the means
  are, and everyone counts by the nearest one.
- *assigned*: the mean of the cluster that a person is assigned to. A traversal can then hold people in a cluster that is not nearest
  to them.

In the output of k-means everyone is in the cluster of the nearest mean, so both readings agree there: k-means runs, starts and
bounds are the same for both. They differ once a traversal has moved somebody.
"""


def _in_short(results: dict[str, Any]) -> str:
    """Return the summary, or nothing before the study is finished."""
    if "claims" not in results["stages_finished"]:
        return ""
    rows = started(results, PAPER_READING)
    some = [row for row in rows if row["existence"]["runs_considered"] > 1]
    n_better = sum(is_better(row["existence"]) for row in some)
    walks = _with_better_point(rows)
    below = " and ".join(
        f"in {_n_below(started(results, reading))} under *{reading}*"
        for reading in READINGS
    )
    return f"""
**Summary.** In {n_better} of {len(some)} samples, a k-means clustering exists that serves the less advantaged group better than the
utilitarian one does. R1 and R2 end where both groups have the same utility. Such a clustering exists and the groups differ at the
start in {len(walks)} sample{"s" * (len(walks) != 1)}; R1 ends below it {below}. {_best_of_all(results)}

{_fits(results)}
"""


def _with_better_point(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in apart(rows) if is_better(row["existence"])]


def _n_below(rows: list[dict[str, Any]]) -> int:
    """Count the samples in which R1 ends below the approximate Rawlsian point."""
    return sum(
        gain(traversal(row, "R1")) < best_gain(row["existence"])
        for row in _with_better_point(rows)
    )


def _fits(results: dict[str, Any]) -> str:
    listed = "\n".join(f"- {sentence}" for sentence in fits(results["claims"]))
    return f"""The paper words utility by the *nearest* mean. Which reading fits which of its numbers? A reading fits if the number lies between
the quartiles of our samples, which are in brackets:

{listed}"""


def _best_of_all(results: dict[str, Any]) -> str:
    """Compare the best of all runs with the best run that passes the filter."""
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
        f"But in {n_both} of {len(rows)} samples, the best of all runs serves both "
        "groups better than the approximate Rawlsian point, which is the best only "
        f"among the runs in which {MINORITY} is the LAG."
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
    return f"""## Data

The data are the {dataset["rows"]:,} rows of Adult (Becker and Kohavi, 1996; CC BY 4.0) that have a workclass and an occupation. Continuous
attributes are scaled to [0, 1]. Categorical attributes are encoded as columns of 0 or 1/sqrt(2). This makes {dataset["columns"]} columns, and
the squared distance between two people is at most {dataset["max_distance"]:g}. A sample has {dataset["sample"]["rows"] // 2} people of each income class.

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
**{MINORITY} is the LAG in no run of any sample, so the paper's filter lets nothing through. All results below are without the
filter.**
"""
    )
    return f"""## Does a better point exist?

The paper does not publish its sample; it reports that the sample has {_split(results)}. We drew {samples["seeds_drawn"]:,} samples, of
which {len(samples["rows"])} have that split, and ran k-means {existence["runs"]:,} times on each of these, from random initial centroids.
Figures 1 to 3 show the sample with seed {existence["sample_seed"]}. It is not typical: we chose it for
{existence["sample_chosen_by"]}.

The paper shows only runs in which {MINORITY} is the LAG. In the sample shown, these are {existence["lag_runs"]:,} of
{existence["runs"]:,} runs ({percent(share)}). Over all samples, the median share is {percent(float(np.median(shares)))} (range
{percent(min(shares))} to {percent(max(shares))}). In the other runs, {MAJORITY} is the LAG.
{no_run}
{table(["point", MINORITY, MAJORITY, "overall"], rows)}
{_best_of_all(results)}

![Existence](figures/figure1_existence.png)

*Figure 1. Each point is a k-means clustering{_filter_text(results)}. Darker points have a higher overall utility (each panel
has its own scale), and histograms count the points. On the dashed red line, both groups have the same utility. The small blue
plus is the utilitarian point, the large olive plus the approximate Rawlsian point.*
"""


def _on_traversals(results: dict[str, Any]) -> str:
    rows = [
        [
            HEADS[reading],
            t["operator"],
            f"{t['iterations']}{', stopped' * (t['stop_reason'] == 'max_iter')}",
            f"{t['start'][MINORITY]:.4f} to {t['end'][MINORITY]:.4f}",
            f"{t['start'][MAJORITY]:.4f} to {t['end'][MAJORITY]:.4f}",
            f"{t['start']['overall']:.4f} to {t['end']['overall']:.4f}",
            str(t["examples_elsewhere"]),
            f"{t['seconds']:.2f}",
        ]
        for reading in READINGS
        for t in results["traversals"][reading]
    ]
    head = ["utility by", "operator", "iterations", MINORITY, MAJORITY, "overall",
            "moved", "seconds"]  # fmt: skip
    return f"""## Can a traversal reach it?

Each traversal starts from the utilitarian point of figure 1 and stops when no operation raises the lowest utility. R1+R2 applies
the better of the two at each step. R2-exhaustive, which is not in the paper, searches all pairs, not only the paper's pruned set. By
the nearest mean it takes many small steps, and we stop it after {MOST_STEPS["R2-exhaustive", "nearest"]} to keep the study short.
"Moved" is the number of people who end in another cluster; by the nearest mean, that is the cluster whose mean is nearest to them
at the end.

{table(head, rows)}
The approximate Rawlsian point has a LAG utility of {lowest(results["existence"]["rawlsian"]):.4f}.

![R1](figures/figure2_r1.png)

*Figure 2. The trajectory of R1, from the utilitarian point to the line of equal utility, under both readings.*

![R1 and R2](figures/figure3_r1_r2.png)

*Figure 3. The trajectories of R1 (thick) and R2, under both readings.*
"""


def _on_samples(results: dict[str, Any]) -> str:
    rows = started(results, PAPER_READING)
    best = [1e3 * best_gain(row["existence"]) for row in rows]
    lines = [
        _operator_row(results, reading, operator)
        for reading in READINGS
        for operator in MAIN_OPERATORS
    ]
    head = ["utility by", "operator", "iterations", "paper",
            "LAG utility gained, thousandths", "ends above the best restart",
            "seconds"]  # fmt: skip
    return f"""## All samples

{_how_many(results)} The table has the median, and the range in brackets. The best restart gains
{spread_text(best, "{:.2f}")} thousandths. To evaluate all pairs at the start took {_pair_seconds(results)}. {SECONDS}

{table(head, lines)}
{_without_filter(results)}
![Iterations](figures/figure4_iterations.png)

*Figure 4. Iterations in each sample, under both readings. The black bar is the median; the dashed red bar is the paper's number for
its sample. Figures 4 and 5 leave out an operator that we stopped early in a sample.*

![Gains](figures/figure5_gains.png)

*Figure 5. The gain in LAG utility of each operator against that of the best restart, under both readings. Below the dashed line, a
traversal ends lower than the best restart. Points on the left edge are samples in which the utilitarian point is the best restart.*
"""


def _operator_row(
    results: dict[str, Any], reading: Utility, operator: str
) -> list[str]:
    """Return the line of an operator: what it reaches from the main start."""
    rows = started(results, reading)
    walks = [traversal(row, operator) for row in rows]
    n_above = sum(
        gain(t) > best_gain(row["existence"]) + SAME
        for t, row in zip(walks, rows, strict=True)
    )
    n = n_stopped(rows, operator)
    stopped = f", stopped in {n}" if n else ""
    return [
        HEADS[reading],
        operator,
        spread_text([t["iterations"] for t in walks], "{:g}") + stopped,
        str(PAPER_ITERATIONS.get(operator, "")),
        spread_text([1e3 * gain(t) for t in walks], "{:.2f}"),
        f"{n_above} of {len(rows)}",
        spread_text([t["seconds"] for t in walks], "{:.2f}"),
    ]


def _pair_seconds(results: dict[str, Any]) -> str:
    seconds = {
        reading: [row["pairs"]["seconds"] for row in started(results, reading)]
        for reading in READINGS
    }
    return " and ".join(
        f"{spread_text(values, '{:.2f}')} seconds ({reading})"
        for reading, values in seconds.items()
    )


def _on_beyond(results: dict[str, Any]) -> str:
    beyond = results["beyond"]
    left_out = sum(row["start"] != FILTERED for row in beyond["rows"])
    plain = (
        f" In {left_out} of them, no run has {MINORITY} as the LAG; these start from "
        "the utilitarian point of all runs."
    )
    return f"""## Beyond the paper

The paper concludes that an operator is needed which reassigns more examples. *batch* moves as many examples at once as still
help together. When nothing else helps, *rawls* also dissolves a cluster and founds a new one elsewhere. `RawlsianKMeans`
searches for the Rawlsian point directly. Its free centers may lie anywhere and serve everyone by the nearest one, so they belong
to the nearest reading; its mean centers are the means of the clusters that people are assigned to, so they belong to the other.

*Gap closed* is the gain in LAG utility, relative to the gain that centers chosen for the worst-off group alone would bring. That
is the best known bound, and it may be out of reach. *Proved gap* is how far the mean cost of the worst-off group lies above a
proved lower bound, relative to that bound (a semidefinite bound, with rows merged to {beyond["proved_rows"]}). No clustering has a cost below
the bound. The table has the median and the range over {len(beyond["rows"])} sample{"s" * (len(beyond["rows"]) > 1)}.{plain * (left_out > 0)}

{beyond_table(results)}
It took {spread_text([row["seconds"]["proved"] for row in beyond["rows"]], "{:.1f}")} seconds to compute the proved bound. {SECONDS}

![Beyond](figures/figure6_beyond.png)

*Figure 6. The sample of figures 1 to 3, under both readings: the trajectories of four operators and the solution of RawlsianKMeans
that belongs to the reading. Left also the frontier from the best overall utility to the best LAG utility (free centers). No
clustering lies in the shaded corner; that is proved, for both readings.*
"""


def _how_many(results: dict[str, Any]) -> str:
    n = len(results["samples"]["rows"])
    n_started = len(started(results, PAPER_READING))
    left_out = n - n_started
    without = f" In {left_out} more samples, no run has {MINORITY} as the LAG."
    return (
        f"Traversals start from the utilitarian point of the runs"
        f"{_filter_text(results)}, in {n_started} sample{'s' * (n_started > 1)}."
        f"{without * (left_out > 0)}"
    )


def _without_filter(results: dict[str, Any]) -> str:
    """Return the table of traversals from the best of all runs."""
    lines = []
    for reading in READINGS:
        rows = walked(results, UNFILTERED, reading)
        for operator in OPERATORS:
            walks = [traversal(row, operator) for row in rows]
            iterations = spread_text([t["iterations"] for t in walks], "{:g}")
            gains = spread_text([1e3 * gain(t) for t in walks], "{:.2f}")
            lines.append([HEADS[reading], operator, iterations, gains])
    starts = [row["existence"]["utilitarian"] for row in rows]
    n_male = sum(start[MAJORITY] < start[MINORITY] for start in starts)
    head = ["utility by", "operator", "iterations", "LAG utility gained, thousandths"]
    return f"""Without the filter, the start is the best of all runs, which a user of k-means would choose. At that start,
{MAJORITY} is the LAG in {n_male} of {len(rows)} samples.

{table(head, lines)}"""


def _on_claims(results: dict[str, Any]) -> str:
    return f"""## Claim by claim

A claim *holds* if the numbers are equal, if it is true in every sample, or if the paper's number lies between our quartiles. It
*depends* if it is true in some samples, or if the number lies in our range. It *differs* if it is true in no sample, or if the number
lies outside our range. Claims about traversals leave out samples whose groups start with equal utility, because a traversal has
nowhere to go there.
{_caution(results)}
{claims_table(results["claims"])}"""


def _caution(results: dict[str, Any]) -> str:
    """Return a warning if the configuration makes the verdicts weak."""
    config = results["config"]
    cautions = []
    if config["clusters"] != 5:
        cautions.append(f"the paper has 5 clusters, this study {config['clusters']}")
    if config["samples"] < 10:
        n = config["samples"]
        cautions.append(f"the study has only {n} sample{'s' * (n > 1)}")
    if config["runs"] < 1000:
        n = config["runs"]
        cautions.append(f"k-means ran only {n} time{'s' * (n > 1)} per sample")
    return f"\n**Caution: {', and '.join(cautions)}.**\n" if cautions else ""


def _ending(results: dict[str, Any]) -> str:
    claims = results["claims"]
    differing = "\n".join(f"- {sentence}" for sentence in differences(claims))
    total = sum(results["seconds"].values())
    return f"""## Differences from the paper

{count_verdicts(claims)} These differ under at least one reading:

{differing or "- none"}

Where the paper leaves a choice open, we chose as follows:

- distances are squared (the paper scales *squared* distances to at most 1);
- the distance of an example is to the nearest mean, as the paper words it, and beside that to the mean of its assigned cluster;
- a traversal continues until nothing changes;
- no move empties a cluster;
- ties go to the lowest index;
- R2 keeps the best 5 % by either ranking.

The paper does not publish its sample and seeds, so its numbers for one sample can only be compared with a distribution.

The study took {total:.0f} seconds.
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
