"""Page of the study: the sample shown, with every trajectory and the frontier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import nearest
from rawlsian._core.problem import Problem
from rawlsian._search.frontier import Frontier
from rawlsian.operators.traversal import Trajectory
from rawlsian.report import (
    Page,
    Shown,
    frontier_labels,
    frontier_way,
    group_fits,
    trajectory_way,
)
from rawlsian.report.words import LIMITS, TRADE_OFF, utility_paragraph
from rawlsian.study.beyond import Ways
from rawlsian.study.claims import check_claims
from rawlsian.study.data import Adult
from rawlsian.study.stages import PAPER_READING, SampleRuns
from rawlsian.study.verdicts import fits

TITLES = {
    "rawls": "rawls: many people at a time, or a whole cluster",
    "R1": "R1: one person at a time, as in the paper",
    "R2": "R2: two people at a time, as in the paper",
    "batch": "batch: many people at a time",
}
WALKS = (
    "The traversals start from the paper's utilitarian point: the k-means run with the "
    "highest overall utility among those that serve Female worst, or among all runs if "
    "there is none. Every step raises the lowest group utility. R1 and R2 are the "
    "paper's operators; batch and rawls go beyond the paper."
)
READING = (
    "The mean that serves a person: the paper measures the distance to the nearest "
    "cluster centroid, and so does this page. A traversal moves labels, labels decide "
    "where the means are, and everyone is in the cluster of the nearest mean. The "
    "report of the study also has the traversals by the mean of the cluster that a "
    "person is labeled with."
)
FITS = (
    "The paper's numbers for its own sample, which is not published, and the quartiles "
    "of {n} samples here, by the nearest mean and by the mean of the assigned cluster: "
    "{numbers}"
)
ENDS = ("Utilitarian k-means", "After rawls")
LEVEL = (
    "Mean squared distance to the nearest mean; 100 is that of everyone at the "
    "utilitarian point. Lower is better."
)
BOUND = (
    "The proved bound: no clustering has a lowest group utility above it. It is "
    "computed after the rows of the sample are merged to {rows:,}."
)


def study_page(
    adult: Adult, shown: SampleRuns, ways: Ways, results: dict[str, Any]
) -> Page:
    """Return the page of the sample that the figures show."""
    sample, beyond = shown.sample, results["beyond"]
    problem = Problem.from_arrays(
        sample.X, sample.sex, max_distance=sample.max_distance, utility=PAPER_READING
    )
    n_clusters = int(ways.labels.max()) + 1
    bound = next(row for row in beyond["rows"] if row["seed"] == sample.seed)["proved"]
    walks = ways.walks[PAPER_READING]
    trajectories = [
        trajectory_way(walks[name], title, X=sample.X) for name, title in TITLES.items()
    ]
    labels = frontier_labels(ways.frontier, sample.X, ways.labels)
    before, after = _ends(problem, walks["rawls"])
    groups = tuple(map(str, problem.group_names))
    n_runs = len(shown.restarts.inertia)
    return Page(
        title="Rawlsian k-means on Adult: the sample shown in the study",
        verdict=_verdict(walks["rawls"], bound),
        summary=_summary(walks, ways.frontier),
        group_fits=group_fits(groups, problem.groups, before, after),
        level_text=LEVEL,
        before=before,
        after=after,
        facts=(
            ("People", f"{len(sample.X):,} of {len(adult.X):,}"),
            ("Seed of the sample", str(sample.seed)),
            ("Clusters", str(n_clusters)),
            ("Runs of k-means", f"{n_runs:,}"),
            ("Sample chosen by", results["existence"]["sample_chosen_by"]),
        ),
        groups=groups,
        group_codes=problem.groups,
        max_distance=problem.max_distance,
        cluster_names=tuple(map(str, range(n_clusters))),
        X=sample.X,
        attributes=adult.attributes,
        ways=(*trajectories, frontier_way(ways.frontier, labels)),
        cloud=shown.restarts.utilities,
        bound=("the proved bound", bound),
        row_header="line",
        row_names=tuple(map(str, sample.line_numbers)),
        methods=(
            utility_paragraph(problem.max_distance),
            READING,
            _fits(results),
            WALKS,
            TRADE_OFF,
            BOUND.format(rows=beyond["proved_rows"]),
        ),
        limits=LIMITS,
    )


def _fits(results: dict[str, Any]) -> str:
    n, numbers = len(results["samples"]["rows"]), fits(check_claims(results))
    return FITS.format(n=n, numbers=" ".join(numbers))


def _ends(problem: Problem, walk: Trajectory) -> Iterator[Shown]:
    """Yield the first and the last clustering of a walk, by the nearest mean."""
    start = Assignment(problem, walk.start_labels).centers
    for name, centers in zip(ENDS, (start, walk.cluster_centers), strict=True):
        labels, distances = nearest(problem.X, centers)
        yield Shown(name, labels, distances, np.nan)


def _verdict(walk: Trajectory, bound: float) -> str:
    start, end = walk.utilities[0].min(), walk.utilities[-1].min()
    return (
        f"Reassigning people raises the lowest group utility from {start:.4f} to "
        f"{end:.4f}; no clustering can be above {bound:.4f}."
    )


def _summary(walks: dict[str, Trajectory], frontier: Frontier) -> tuple[str, str]:
    ends = {name: walk.utilities[-1].min() for name, walk in walks.items()}
    return (
        f"From the utilitarian point R1 ends at {ends['R1']:.4f} and R2 at "
        f"{ends['R2']:.4f}; rawls reaches {ends['rawls']:.4f}.",
        f"The trade-off, with free centers, reaches "
        f"{frontier.utilities[-1].min():.4f}. The bound is proved.",
    )
