"""Beyond the paper: more operators, solvers and bounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Utility
from rawlsian._estimators.kmeans import RawlsianKMeans
from rawlsian._search.frontier import Frontier, frontier
from rawlsian.bounds import group_bound, proved_bound
from rawlsian.operators.traversal import Trajectory
from rawlsian.study.data import Sample
from rawlsian.study.stages import (
    FILTERED,
    READINGS,
    SAME,
    UNFILTERED,
    Origin,
    SampleRuns,
    origin_of,
    path,
    walk,
)

Centers = Literal["mean", "free"]

# Methods compared, under both readings of utility: the paper's operators, ours, and the
# solver, which needs no start. Free centers serve everyone by the nearest center; mean
# centers are the means of the clusters that people are assigned to.
PAPER_WALKS = ("R1", "R2")
WALKS = ("batch", "rawls")
SOLVERS: dict[Utility, tuple[str, Centers]] = {
    "nearest": ("free centers", "free"),
    "assigned": ("mean centers", "mean"),
}
METHODS = {reading: [*PAPER_WALKS, *WALKS, SOLVERS[reading][0]] for reading in READINGS}

# Rows for the proved bound: more rows give a tighter bound and take longer.
PROVED_ROWS = 300

Result = TypeVar("Result")
Walks = dict[str, dict[str, Trajectory]]


def start_of(explored: SampleRuns) -> str:
    """Return the start of traversals: the paper's, or the best run if it has none."""
    return FILTERED if FILTERED in explored.starts else UNFILTERED


class Begun(NamedTuple):
    """Start of a sample, and the results of the paper's operators by reading."""

    start: str
    origin: Origin
    readings: dict[str, dict[str, Any]]


def begin(explored: SampleRuns, row: dict[str, Any]) -> Begun:
    """Return the start of a sample from its results."""
    start = start_of(explored)
    return Begun(start, origin_of(explored, start), row[start]["readings"])


def compare(proved_rows: int, begun: Begun) -> tuple[dict[str, Any], Walks]:
    """Compare every method with the bounds on one sample; return our walks, too."""
    sample = begun.origin.sample
    n_clusters = int(begun.origin.labels.max()) + 1
    methods: dict[str, dict[str, Any]] = {}
    walks: Walks = {}
    for reading in READINGS:
        records = begun.readings[reading]["traversals"]
        ends = {t["operator"]: _end(t) for t in records if t["operator"] in PAPER_WALKS}
        walks[reading] = {}
        for name in WALKS:
            walks[reading][name], record = walk(begun.origin, name, reading)
            ends[name] = _end(record)
        name, centers = SOLVERS[reading]
        ends[name] = _solve(sample, n_clusters, centers)
        methods[reading] = ends
    began = _lowest(begun.readings[READINGS[0]]["traversals"][0]["start"])
    bounds, seconds = _bounds(sample, n_clusters, proved_rows)
    for ends in methods.values():
        for end in ends.values():
            end.update(_gaps(end["lowest"], began, bounds, sample.max_distance))
    return {
        "seed": sample.seed, "start": begun.start, "start_lowest": began, **bounds,
        "seconds": seconds, "methods": methods,
    }, walks  # fmt: skip


def _gaps(
    lowest: float, began: float, bounds: dict[str, float], max_distance: float
) -> dict[str, float]:
    """Return the gap closed towards one bound, and left to the other."""
    possible = bounds["group"] - began
    return {
        "gap_closed": (lowest - began) / possible if possible > SAME else 1.0,
        "proved_gap": (max_distance - lowest) / (max_distance - bounds["proved"]) - 1,
    }


def _end(record: dict[str, Any]) -> dict[str, Any]:
    """Return the end of a traversal from its record."""
    return {
        "lowest": _lowest(record["end"]), "overall": record["overall"],
        "iterations": record["iterations"], "seconds": record["seconds"],
    }  # fmt: skip


def _lowest(named: dict[str, float]) -> float:
    return min(value for name, value in named.items() if name != "overall")


class Ways(NamedTuple):
    """Start labels, trajectories by reading and operator, and the frontier."""

    labels: NDArray[np.int32]
    walks: Walks
    frontier: Frontier


def ways_of(origin: Origin, paper_walks: Walks, our_walks: Walks) -> Ways:
    """Return all trajectories of the sample shown, and compute its frontier."""
    sample = origin.sample
    points = frontier(
        sample.X, sample.sex, n_clusters=int(origin.labels.max()) + 1,
        max_distance=sample.max_distance, random_state=sample.seed,
    )  # fmt: skip
    walks: Walks = {
        reading: {
            **{name: paper_walks[reading][name] for name in PAPER_WALKS},
            **our_walks[reading],
        }
        for reading in READINGS
    }
    return Ways(origin.labels, walks, points)


def show(ways: Ways) -> dict[str, Any]:
    """Return the points to draw: trajectories by reading, and the frontier."""
    points = ways.frontier
    columns = zip(map(str, points.groups), points.utilities.T.tolist(), strict=True)
    return {
        "paths": {
            reading: {name: path(walk) for name, walk in walks.items()}
            for reading, walks in ways.walks.items()
        },
        "frontier": {**dict(columns), "overall": points.overall.tolist()},
    }


def _solve(sample: Sample, n_clusters: int, centers: Centers) -> dict[str, Any]:
    estimator = RawlsianKMeans(
        n_clusters, centers=centers, max_distance=sample.max_distance,
        random_state=sample.seed,
        pooling=0,
    )  # fmt: skip
    fitted, seconds = _timed(
        lambda: estimator.fit(sample.X, sensitive_features=sample.sex)
    )
    names = map(str, fitted.groups_)
    return {
        "lowest": float(fitted.group_utilities_.min()),
        "overall": sample.max_distance - fitted.inertia_ / len(sample.X),
        "point": dict(zip(names, fitted.group_utilities_.tolist(), strict=True)),
        "seconds": seconds,
    }


def _bounds(
    sample: Sample, n_clusters: int, proved_rows: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return upper bounds on the lowest utility, and their seconds."""
    options: dict[str, Any] = {
        "n_clusters": n_clusters, "max_distance": sample.max_distance,
        "random_state": sample.seed,
    }  # fmt: skip
    group, group_seconds = _timed(lambda: group_bound(sample.X, sample.sex, **options))
    proved, proved_seconds = _timed(
        lambda: proved_bound(sample.X, sample.sex, max_rows=proved_rows, **options)
    )
    # Round up: the last digits of eigenvalues differ between machines.
    bounds = {"group": group.utility, "proved": math.ceil(1e6 * proved.utility) / 1e6}
    return bounds, {"group": group_seconds, "proved": proved_seconds}


def _timed(do: Callable[[], Result]) -> tuple[Result, float]:
    began = time.perf_counter()
    return do(), time.perf_counter() - began
