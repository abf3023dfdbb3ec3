"""Page of the study: the sample shown, with every trajectory and the frontier."""

from __future__ import annotations

from typing import Any

from rawlsian._core.problem import Problem
from rawlsian._search.frontier import Frontier
from rawlsian.operators.traversal import Trajectory
from rawlsian.report import Page, frontier_labels, frontier_way, trajectory_way
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
    n_runs = len(shown.restarts.inertia)
    return Page(
        title="Rawlsian k-means on Adult: the sample shown in the study",
        summary=_summary(walks, ways.frontier, bound),
        facts=(
            ("People", f"{len(sample.X):,} of {len(adult.X):,}"),
            ("Seed of the sample", str(sample.seed)),
            ("Clusters", str(n_clusters)),
            ("Runs of k-means", f"{n_runs:,}"),
            ("Sample chosen by", results["existence"]["sample_chosen_by"]),
        ),
        groups=tuple(map(str, problem.group_names)),
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


def _summary(
    walks: dict[str, Trajectory], frontier: Frontier, bound: float
) -> tuple[str, str]:
    start = walks["rawls"].utilities[0].min()
    ends = {name: walk.utilities[-1].min() for name, walk in walks.items()}
    return (
        f"From the utilitarian point, where the lowest group utility is {start:.4f}, "
        f"R1 ends at {ends['R1']:.4f} and R2 at {ends['R2']:.4f}; rawls reaches "
        f"{ends['rawls']:.4f}.",
        f"The trade-off, with free centers, reaches "
        f"{frontier.utilities[-1].min():.4f}. No clustering can be above "
        f"{bound:.4f}; that is proved.",
    )
