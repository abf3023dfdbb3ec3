"""Beyond the paper: more operators, solvers and bounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rawlsian._estimators.kmeans import RawlsianKMeans
from rawlsian._estimators.traverse import traverse
from rawlsian._search.frontier import Frontier, frontier
from rawlsian.bounds import group_bound, proved_bound
from rawlsian.operators.traversal import Trajectory
from rawlsian.study.data import Sample
from rawlsian.study.stages import FILTERED, SAME, UNFILTERED, SampleRuns, path

Centers = Literal["mean", "free"]

# Methods compared: operators, which start from the utilitarian point, and the solver
# with both kinds of centers, which needs no start.
WALKS = ("R1", "R2", "batch", "rawls")
SOLVERS: dict[str, Centers] = {"mean centers": "mean", "free centers": "free"}
METHODS = (*WALKS, *SOLVERS)

# Rows for the proved bound: more rows give a tighter bound and take longer.
PROVED_ROWS = 300

Result = TypeVar("Result")


def start_of(explored: SampleRuns) -> str:
    """Return the start of traversals: the paper's, or the best run if it has none."""
    return FILTERED if FILTERED in explored.starts else UNFILTERED


def compare(explored: SampleRuns) -> dict[str, Any]:
    """Run every method on one sample and compare it with the bounds."""
    sample, start = explored.sample, start_of(explored)
    labels = explored.restarts.labels(explored.starts[start].utilitarian)
    walks = {name: _walk(sample, labels, name) for name in WALKS}
    ends = {name: end for name, (_, end) in walks.items()}
    n_clusters = int(labels.max()) + 1
    for name, centers in SOLVERS.items():
        ends[name] = _solve(sample, n_clusters, centers)
    began = float(walks["R1"][0].utilities[0].min())
    bounds, seconds = _bounds(sample, n_clusters)
    possible = bounds["group"] - began
    for end in ends.values():
        gained = end["lowest"] - began
        end["gap_closed"] = gained / possible if possible > SAME else 1.0
        cost = sample.max_distance - end["lowest"]
        end["proved_gap"] = cost / (sample.max_distance - bounds["proved"]) - 1
    return {
        "seed": sample.seed, "start": start, "start_lowest": began, **bounds,
        "seconds": seconds, "methods": ends,
    }  # fmt: skip


class Ways(NamedTuple):
    """Start labels, trajectories by operator, and the frontier of one sample."""

    labels: NDArray[np.int32]
    walks: dict[str, Trajectory]
    frontier: Frontier


def ways_of(explored: SampleRuns) -> Ways:
    """Compute the trajectories and the frontier of the sample shown."""
    sample, start = explored.sample, start_of(explored)
    labels = explored.restarts.labels(explored.starts[start].utilitarian)
    points = frontier(
        sample.X, sample.sex, n_clusters=int(labels.max()) + 1,
        max_distance=sample.max_distance, random_state=sample.seed,
    )  # fmt: skip
    walks = {name: _walk(sample, labels, name)[0] for name in WALKS}
    return Ways(labels, walks, points)


def show(sample: Sample, ways: Ways) -> dict[str, Any]:
    """Return the points to draw: trajectories, solutions and the frontier."""
    points, n_clusters = ways.frontier, int(ways.labels.max()) + 1
    columns = zip(map(str, points.groups), points.utilities.T.tolist(), strict=True)
    return {
        "paths": {name: path(walk) for name, walk in ways.walks.items()},
        "solutions": {
            name: _solve(sample, n_clusters, centers)["point"]
            for name, centers in SOLVERS.items()
        },
        "frontier": {**dict(columns), "overall": points.overall.tolist()},
    }


def _walk(
    sample: Sample, labels: NDArray[np.int32], operator: str
) -> tuple[Trajectory, dict[str, Any]]:
    walk, seconds = _timed(
        lambda: traverse(
            sample.X, labels, sample.sex, operator=operator,
            max_distance=sample.max_distance,
        )
    )  # fmt: skip
    return walk, {
        "lowest": float(walk.utilities[-1].min()), "overall": float(walk.overall[-1]),
        "iterations": walk.n_iter, "seconds": seconds,
    }  # fmt: skip


def _solve(sample: Sample, n_clusters: int, centers: Centers) -> dict[str, Any]:
    estimator = RawlsianKMeans(
        n_clusters, centers=centers, max_distance=sample.max_distance,
        random_state=sample.seed,
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
    sample: Sample, n_clusters: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return upper bounds on the lowest utility, and their seconds."""
    options: dict[str, Any] = {
        "n_clusters": n_clusters, "max_distance": sample.max_distance,
        "random_state": sample.seed,
    }  # fmt: skip
    group, group_seconds = _timed(lambda: group_bound(sample.X, sample.sex, **options))
    proved, proved_seconds = _timed(
        lambda: proved_bound(sample.X, sample.sex, max_rows=PROVED_ROWS, **options)
    )
    # Round up: the last digits of eigenvalues differ between machines.
    bounds = {"group": group.utility, "proved": math.ceil(1e6 * proved.utility) / 1e6}
    return bounds, {"group": group_seconds, "proved": proved_seconds}


def _timed(do: Callable[[], Result]) -> tuple[Result, float]:
    began = time.perf_counter()
    return do(), time.perf_counter() - began
