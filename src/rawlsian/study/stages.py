"""Computations of the study for one sample, as named numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import Problem, Utility
from rawlsian._estimators.traverse import traverse
from rawlsian._search.restarts import Restarts, kmeans_restarts
from rawlsian.operators.r1_r2 import admitted_singles, decode_singles
from rawlsian.operators.traversal import Trajectory
from rawlsian.study.data import MINORITY, Sample

# Utility is the largest distance less the distance to a mean. There are two readings of
# which mean that is; the paper's words are "the nearest cluster centroid". For what
# k-means returns both agree; after a reassignment they differ.
READINGS: tuple[Utility, ...] = ("nearest", "assigned")
PAPER_READING: Utility = "nearest"

# Operators of all starts, and of the main one: to evaluate all pairs takes longest, and
# it is not in the paper.
OPERATORS = ("R1", "R2", "R1+R2")
MAIN_OPERATORS = (*OPERATORS, "R2-exhaustive")

# By the nearest mean, R2-exhaustive takes several times as many steps as R1, each of
# tens of milliseconds. It is stopped after this many, to keep the study short.
MOST_STEPS: dict[tuple[str, Utility], int] = {("R2-exhaustive", "nearest"): 200}

# Utilities closer than this count as equal: runs that end in the same clustering differ
# by rounding.
SAME = 1e-9

# With the paper's filter (runs in which the minority is the less advantaged group) and
# without.
FILTERED, UNFILTERED = "filtered", "unfiltered"


class Start(NamedTuple):
    """Runs that pass a filter, and the utilitarian and Rawlsian ones of them."""

    runs: NDArray[np.intp]
    utilitarian: int
    rawlsian: int


class SampleRuns(NamedTuple):
    """Sample, k-means runs on it, and possible starts of traversals."""

    sample: Sample
    restarts: Restarts
    starts: dict[str, Start]
    seconds: float


class Origin(NamedTuple):
    """Sample and the labels of its utilitarian point, where traversals start."""

    sample: Sample
    labels: NDArray[np.int32]


def warm_up() -> None:
    """Compile all kernels, so that measured times exclude compilation."""
    rows, groups = np.eye(6), ["a", "b"] * 3
    labels = kmeans_restarts(
        rows, 2, n_runs=1, sensitive_features=groups, random_state=0
    ).labels(0)
    for reading in READINGS:
        for operator in (*MAIN_OPERATORS, "rawls"):
            traverse(rows, labels, groups, operator=operator, utility=reading)


def explore(sample: Sample, n_clusters: int, n_runs: int) -> SampleRuns:
    """Run k-means many times on a sample; possibly no run passes the filter."""
    started = time.perf_counter()
    restarts = kmeans_restarts(
        sample.X, n_clusters, n_runs=n_runs, sensitive_features=sample.sex,
        max_distance=sample.max_distance, random_state=sample.seed,
    )  # fmt: skip
    starts = {UNFILTERED: _best_of(restarts, np.arange(n_runs))}
    filtered = np.flatnonzero(restarts.least_advantaged == MINORITY)
    if len(filtered) > 0:
        starts[FILTERED] = _best_of(restarts, filtered)
    return SampleRuns(sample, restarts, starts, time.perf_counter() - started)


def origin_of(explored: SampleRuns, start: str) -> Origin:
    """Return the point where traversals from a start begin."""
    run = explored.starts[start].utilitarian
    return Origin(explored.sample, explored.restarts.labels(run))


def lag_runs(explored: SampleRuns) -> int:
    """Count the runs with the minority as the less advantaged group."""
    start = explored.starts.get(FILTERED)
    return 0 if start is None else len(start.runs)


def _best_of(restarts: Restarts, runs: NDArray[np.intp]) -> Start:
    lowest = restarts.utilities[runs].min(axis=1)
    return Start(
        runs=runs,
        utilitarian=int(runs[np.argmax(restarts.overall[runs])]),
        rawlsian=int(runs[np.argmax(lowest)]),
    )


def point(restarts: Restarts, run: int) -> dict[str, float]:
    """Return the utilities of a run by group name."""
    return _named(restarts.groups, restarts.utilities[run], restarts.overall[run])


def _named(
    groups: NDArray[Any], utilities: NDArray[np.float64], overall: float
) -> dict[str, float]:
    names = [str(name) for name in groups]
    return {
        **dict(zip(names, map(float, utilities), strict=True)),
        "overall": float(overall),
    }


def existence(explored: SampleRuns, name: str) -> dict[str, Any]:
    """Compare the utilitarian and Rawlsian points with the runs of a filter."""
    restarts, start = explored.restarts, explored.starts[name]
    utilities, overall = restarts.utilities[start.runs], restarts.overall[start.runs]
    best = restarts.utilities[start.utilitarian]
    fairest = restarts.utilities[start.rawlsian]
    mag = int(np.argmax(best))
    to_best = ((utilities - best) ** 2).sum(axis=1)
    to_fairest = ((utilities - fairest) ** 2).sum(axis=1)
    return {
        "runs_considered": len(start.runs),
        "utilitarian": point(restarts, start.utilitarian),
        "rawlsian": point(restarts, start.rawlsian),
        "utilitarian_has_highest_mag_utility": bool(
            best[mag] >= utilities[:, mag].max() - SAME
        ),
        "share_of_runs_below_rawlsian_in_overall": float(
            np.mean(overall < restarts.overall[start.rawlsian] - SAME)
        ),
        "share_of_runs_nearer_to_utilitarian": float(np.mean(to_best < to_fairest)),
    }


def walk_from(origin: Origin, operator: str, reading: Utility) -> Trajectory:
    """Traverse from the utilitarian point of a sample."""
    sample = origin.sample
    return traverse(
        sample.X, origin.labels, sample.sex, operator=operator, utility=reading,
        max_distance=sample.max_distance, max_iter=MOST_STEPS.get((operator, reading)),
    )  # fmt: skip


def walk(
    origin: Origin, operator: str, reading: Utility
) -> tuple[Trajectory, dict[str, Any]]:
    """Traverse from the utilitarian point; return the trajectory and its record."""
    started = time.perf_counter()
    trajectory = walk_from(origin, operator, reading)
    seconds = time.perf_counter() - started
    groups, utilities = trajectory.groups, trajectory.utilities
    is_moved = trajectory.served_labels != trajectory.start_labels
    return trajectory, {
        "operator": operator,
        "iterations": trajectory.n_iter,
        "start": _named(groups, utilities[0], trajectory.overall[0]),
        "end": _named(groups, utilities[-1], trajectory.overall[-1]),
        "overall": float(trajectory.overall[-1]),
        "stop_reason": trajectory.stop_reason,
        "examples_elsewhere": int(is_moved.sum()),
        "moves_taken_back": _moves_taken_back(trajectory),
        "steps_that_lower_a_group": int(
            (np.diff(utilities, axis=0) < 0).any(axis=1).sum()
        ),
        "seconds": seconds,
    }


def walk_starts(
    main_start: str, origins: dict[str, Origin]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the results of every start of a sample, by reading."""
    return {
        start: {
            reading: _walk_all(origin, reading, is_main=start == main_start)
            for reading in READINGS
        }
        for start, origin in origins.items()
    }


def _walk_all(origin: Origin, reading: Utility, *, is_main: bool) -> dict[str, Any]:
    operators = MAIN_OPERATORS if is_main else OPERATORS
    walks = [walk(origin, operator, reading) for operator in operators]
    return summary(origin, reading, walks, is_main=is_main)


def summary(
    origin: Origin,
    reading: Utility,
    walks: list[tuple[Trajectory, dict[str, Any]]],
    *,
    is_main: bool,
) -> dict[str, Any]:
    """Return the results of a start under a reading; of the main one, pairs, too."""
    pairs = {"pairs": count_pairs(origin, reading)} if is_main else {}
    return {
        "traversals": [record for _, record in walks],
        "r2_strays_from_r1": deviation(walks[0][0], walks[1][0]),
        **pairs,
    }


def _moves_taken_back(trajectory: Trajectory) -> int:
    """Count the returns of examples to clusters that they had left."""
    been_in: dict[int, set[int]] = {}
    n_returns = 0
    for operation in trajectory.operations:
        for i, source, target in zip(
            operation.examples, operation.sources, operation.targets, strict=True
        ):
            left = been_in.setdefault(int(i), set())
            n_returns += int(target) in left
            left.add(int(source))
    return n_returns


def path(trajectory: Trajectory) -> dict[str, list[float]]:
    """Return the points of a trajectory by group name."""
    columns = dict(
        zip(map(str, trajectory.groups), trajectory.utilities.T.tolist(), strict=True)
    )
    return {**columns, "overall": trajectory.overall.tolist()}


def deviation(one: Trajectory, other: Trajectory) -> float | None:
    """Return the distance between two trajectories, relative to the length of one.

    The distance is the largest one, in the utility space, of a point of either
    trajectory from the polyline of the other. The length is from start to end.
    """
    length = float(np.linalg.norm(one.utilities[-1] - one.utilities[0]))
    if length == 0:
        return None
    apart = max(_farthest(one, other), _farthest(other, one))
    return apart / length


def _farthest(points: Trajectory, line: Trajectory) -> float:
    """Return the largest distance of points from the polyline of the other."""
    a, b = line.utilities, np.roll(line.utilities, -1, axis=0)
    b[-1] = a[-1]  # the last segment has length 0
    along = np.maximum(((b - a) ** 2).sum(axis=1), np.finfo(float).tiny)
    farthest = 0.0
    for p in points.utilities:
        share = np.clip(((p - a) * (b - a)).sum(axis=1) / along, 0, 1)
        nearest = a + share[:, None] * (b - a)
        farthest = max(farthest, float(((p - nearest) ** 2).sum(axis=1).min()))
    return float(np.sqrt(farthest))


def count_pairs(origin: Origin, reading: Utility) -> dict[str, Any]:
    """Count the pairs of moves at the start that raise the lowest utility.

    A pair can raise the utility of the LAG and still lower the lowest utility, if the
    other group falls below it. The counts test the assumption of the paper's pruning:
    a move that does not raise the lowest utility alone does not raise it in a pair.
    """
    sample = origin.sample
    started = time.perf_counter()
    problem = Problem.from_arrays(
        sample.X, sample.sex, max_distance=sample.max_distance, utility=reading
    )
    assignment = Assignment(problem, origin.labels)
    n_moves = problem.n_samples * (assignment.n_clusters - 1)
    is_useful = np.zeros(n_moves, bool)
    is_useful[admitted_singles(assignment)] = True
    n_raising_lag = n_raising = n_with_useless = n_of_useless = 0
    for pairs, does_raise in _pairs_that_raise_the_lag(assignment, n_moves):
        first, second = np.divmod(pairs[does_raise], n_moves)
        n_useful = is_useful[first].astype(int) + is_useful[second]
        n_raising_lag += len(pairs)
        n_raising += len(first)
        n_with_useless += int((n_useful < 2).sum())
        n_of_useless += int((n_useful == 0).sum())
    n_pairs = possible_pairs(problem.n_samples, assignment.n_clusters)
    return {
        "single_moves": n_moves,
        "single_moves_that_raise": int(is_useful.sum()),
        "pairs": n_pairs,
        "pairs_that_lower_the_lag": n_pairs - n_raising_lag,
        "pairs_that_raise": n_raising,
        "pairs_that_raise_with_a_useless_move": n_with_useless,
        "pairs_that_raise_of_useless_moves": n_of_useless,
        "seconds": time.perf_counter() - started,
    }


def _pairs_that_raise_the_lag(
    assignment: Assignment, n_moves: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield all such pairs, and whether they raise the lowest utility, too."""
    problem, now = assignment.problem, assignment.utilities
    # Lift the other groups so far that no pair puts them below the LAG.
    lift = np.where(np.arange(len(now)) == np.argmin(now), 0, 2 * problem.max_distance)
    examples, targets = decode_singles(assignment, np.arange(n_moves))
    for pairs, lifted in assignment.pairs(examples, targets, now + lift):
        lowest = (lifted - lift).min(axis=1)
        yield pairs, lowest > assignment.lowest + problem.tolerance


def possible_pairs(n_samples: int, n_clusters: int) -> int:
    """Count pairs of examples, each with every other cluster as its target."""
    return n_samples * (n_samples - 1) // 2 * (n_clusters - 1) ** 2
