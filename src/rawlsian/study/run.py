"""Run the study: configuration, progress and the six stages in order."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from rawlsian._support.interruption import call_whole
from rawlsian._support.jobs import Map, in_processes
from rawlsian._version import __version__
from rawlsian.report import page_html
from rawlsian.study import beyond as _beyond, data as _data, stages as _stages
from rawlsian.study.claims import PAPER_ITERATIONS, check_claims, is_better
from rawlsian.study.folder import OutputFolder
from rawlsian.study.page import study_page
from rawlsian.study.stages import (
    FILTERED,
    MAIN_OPERATORS,
    PAPER_READING,
    READINGS,
    UNFILTERED,
    SampleRuns,
)

DATASETS = ("adult",)

# Traversals of the sample shown.
N_SHOWN = len(READINGS) * len(MAIN_OPERATORS)


@dataclass(frozen=True)
class StudyConfig:
    """Configuration of a study.

    Parameters
    ----------
    dataset : {"adult"}, default="adult"
        Name of the data set.
    runs : int, default=5000
        Number of k-means runs on each sample.
    samples : int, default=30
        Number of samples, each with the paper's 267 women and 733 men.
    seed : int, default=0
        Seed of the study; samples use the seeds from ``seed * 1_000_000`` on.
    clusters : int, default=5
        Number of clusters, from 2 to 20.
    """

    dataset: str = "adult"
    runs: int = 5000
    samples: int = 30
    seed: int = 0
    clusters: int = 5

    def __post_init__(self) -> None:
        if self.dataset not in DATASETS:
            raise ValueError(
                f"dataset must be one of {', '.join(map(repr, DATASETS))}, got "
                f"{self.dataset!r}; for data of your own use kmeans_restarts and "
                "traverse."
            )
        for name, low, high in (
            ("runs", 1, 1_000_000),
            ("samples", 1, 1_000),
            ("seed", 0, 1_000_000_000),
            ("clusters", 2, 20),
        ):
            value = getattr(self, name)
            is_whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not is_whole or not low <= int(value) <= high:
                raise ValueError(
                    f"{name} must be a whole number from {low:,} to {high:,}, got "
                    f"{value!r}."
                )
            object.__setattr__(self, name, int(value))  # NumPy integers, too


class Progress(NamedTuple):
    """Progress of a stage, passed to the callback.

    Attributes
    ----------
    stage : str
        "data", "existence", "traversals", "samples", "beyond" or "claims".
    done, total : int
        Finished and all parts of the stage; equal once the stage is finished.
    results : dict
        Results so far: the dict that ``run_study`` fills.
    """

    stage: str
    done: int
    total: int
    results: dict[str, Any]


def run_study(
    config: StudyConfig | None = None,
    out: str | Path | None = None,
    *,
    callback: Callable[[Progress], object] | None = None,
) -> dict[str, Any]:
    """Reproduce the paper's study, under both readings of utility.

    Processes on all cores of the machine share the samples, or as many as
    ``NUMBA_NUM_THREADS`` says. Within ``joblib.parallel_config(backend="dask")``, the
    workers of the current Dask client share them.

    Parameters
    ----------
    config : StudyConfig, default=None
        Configuration; ``None`` runs the default study, which takes minutes.
    out : str or path, default=None
        Folder for ``results.json``, ``report.md``, ``page.html`` and ``figures/``,
        written whole after each stage. ``None`` writes nothing and needs neither
        matplotlib nor altair.
    callback : callable, default=None
        Function called with a ``Progress`` after each part of a stage.

    Returns
    -------
    dict
        Contents of ``results.json``. It depends on the configuration only, except for
        the values of "seconds", which are those of computations side by side.
        Traversals and pairs are by reading of utility: "nearest", the paper's words,
        and "assigned".

    Examples
    --------
    >>> from rawlsian import StudyConfig, run_study
    >>> results = run_study(StudyConfig(runs=50, samples=1, clusters=2))
    >>> results["dataset"]["rows"]
    30718
    """
    config = config or StudyConfig()
    folder = None if out is None else OutputFolder(Path(out))
    results: dict[str, Any] = {
        "rawlsian": __version__,
        "config": asdict(config),
        "stages_finished": [],
        "seconds": {},
    }
    log = _StageLog(results, folder, callback)
    call_whole(_run_stages, config, folder, results, log)
    return results


def _run_stages(
    config: StudyConfig,
    folder: OutputFolder | None,
    results: dict[str, Any],
    log: _StageLog,
) -> None:
    """Run the six stages in order."""
    adult = _data.load()
    results["dataset"] = _data.describe(adult)
    log.update("data", 1, 1)
    _stages.warm_up()
    explored = _explore_samples(adult, config, results, log)
    place, chosen_by = _choose(explored, results)
    shown = explored[place]
    results["existence"] = _existence(shown, chosen_by, results)
    log.update("existence", config.samples, config.samples)
    walks = _walk_shown(shown, place, results, log)
    log.update("traversals", N_SHOWN, N_SHOWN)
    with in_processes(config.samples) as run:
        _walk_everywhere(explored, results, log, run)
        log.update("samples", config.samples, config.samples)
        ways = _go_beyond(explored, place, walks, results, log, run)
    if folder is not None:
        folder.page = page_html(study_page(adult, shown, ways, results))
    log.update("beyond", config.samples, config.samples)
    results["claims"] = check_claims(results)
    log.update("claims", 1, 1)


class _StageLog:
    """Progress of a study: time finished stages, save them, call the callback."""

    def __init__(
        self,
        results: dict[str, Any],
        folder: OutputFolder | None,
        callback: Callable[[Progress], object] | None,
    ) -> None:
        self._results, self._folder, self._callback = results, folder, callback
        self._began = time.perf_counter()

    def update(self, stage: str, done: int, total: int) -> None:
        """Report that `done` of `total` parts of a stage are finished."""
        if done == total:
            self._results["stages_finished"].append(stage)
            self._results["seconds"][stage] = time.perf_counter() - self._began
            self._began = time.perf_counter()
            if self._folder is not None:
                self._folder.save(self._results)
        if self._callback is not None:
            self._callback(Progress(stage, done, total, self._results))


def _explore_samples(
    adult: _data.Adult, config: StudyConfig, results: dict[str, Any], log: _StageLog
) -> list[SampleRuns]:
    """Draw the samples and run k-means on each."""
    explored: list[SampleRuns] = []
    n_drawn = 0
    for sample in _data.samples_with_the_split(adult, config.seed):
        n_drawn += 1
        if sample is None:
            continue
        explored.append(_stages.explore(sample, config.clusters, config.runs))
        if len(explored) == config.samples:
            break
        log.update("existence", len(explored), config.samples)
    is_filtered = any(FILTERED in this.starts for this in explored)
    results["samples"] = {
        "seeds_drawn": n_drawn,
        "start": FILTERED if is_filtered else UNFILTERED,
        "rows": [_row(this) for this in explored],
    }
    return explored


def _row(explored: SampleRuns) -> dict[str, Any]:
    """Return the results of a sample before any traversal."""
    starts = {
        start: {"existence": _stages.existence(explored, start), "readings": {}}
        if start in explored.starts
        else None
        for start in (FILTERED, UNFILTERED)
    }
    return {
        "seed": explored.sample.seed,
        "runs": len(explored.restarts.inertia),
        "lag_runs": _stages.lag_runs(explored),
        "seconds": explored.seconds,
        **starts,
    }


def _choose(explored: list[SampleRuns], results: dict[str, Any]) -> tuple[int, str]:
    """Choose the sample to show; return its place and how it was chosen.

    Its R1 iterations are nearest to the paper's, among the samples that have two points
    to show, as the paper's has, if there are any.
    """
    start, rows = results["samples"]["start"], results["samples"]["rows"]
    places = [place for place, row in enumerate(rows) if row[start]]
    two_points = [p for p in places if is_better(rows[p][start]["existence"])]

    def distance(place: int) -> int:
        origin = _stages.origin_of(explored[place], start)
        n_iter = _stages.walk_from(origin, "R1", PAPER_READING).n_iter
        return abs(n_iter - PAPER_ITERATIONS["R1"])

    among = (
        ", among the samples whose approximate Rawlsian point is not the utilitarian "
        "point"
    )
    return min(two_points or places, key=distance), (
        f"the number of R1 iterations nearest to the paper's {PAPER_ITERATIONS['R1']}, "
        f"with utility by the {PAPER_READING} mean, as the paper words it"
        f"{among * bool(two_points)}"
    )


def _existence(
    shown: SampleRuns, chosen_by: str, results: dict[str, Any]
) -> dict[str, Any]:
    """Return stage 2 for the sample shown."""
    start = results["samples"]["start"]
    restarts = shown.restarts
    points = dict(
        zip(map(str, restarts.groups), restarts.utilities.T.tolist(), strict=True)
    )
    return {
        "sample_seed": shown.sample.seed,
        "sample_chosen_by": chosen_by,
        "lag": _data.MINORITY,
        "filter": start,
        "runs": len(restarts.inertia),
        "lag_runs": _stages.lag_runs(shown),
        **_stages.existence(shown, start),
        "unfiltered": _stages.existence(shown, UNFILTERED),
        "shown_runs": shown.starts[start].runs.tolist(),
        "points": {**points, "overall": restarts.overall.tolist()},
    }


def _walk_shown(
    shown: SampleRuns, place: int, results: dict[str, Any], log: _StageLog
) -> _beyond.Walks:
    """Run stage 3: every operator on the sample shown, with all points."""
    start = results["samples"]["start"]
    readings = results["samples"]["rows"][place][start]["readings"]
    origin = _stages.origin_of(shown, start)
    n_done = 0
    results["traversals"] = {}
    trajectories: _beyond.Walks = {}
    for reading in READINGS:
        walks = []
        for operator in MAIN_OPERATORS:
            walks.append(_stages.walk(origin, operator, reading))
            n_done += 1
            if n_done < N_SHOWN:
                log.update("traversals", n_done, N_SHOWN)
        readings[reading] = _stages.summary(origin, reading, walks, is_main=True)
        results["traversals"][reading] = [
            {**record, "path": _stages.path(trajectory)} for trajectory, record in walks
        ]
        trajectories[reading] = {
            record["operator"]: trajectory for trajectory, record in walks
        }
    return trajectories


def _walk_everywhere(
    explored: list[SampleRuns], results: dict[str, Any], log: _StageLog, run: Map
) -> None:
    """Run stage 4: walk from every start that was not walked from before."""
    main_start, rows = results["samples"]["start"], results["samples"]["rows"]
    origins = [
        {
            start: _stages.origin_of(this, start)
            for start in this.starts
            if not row[start]["readings"]
        }
        for this, row in zip(explored, rows, strict=True)
    ]
    walk = partial(_stages.walk_starts, main_start)
    for place, starts in enumerate(run(walk, origins)):
        for start, readings in starts.items():
            rows[place][start]["readings"] = readings
        if place + 1 < len(rows):
            log.update("samples", place + 1, len(rows))


def _go_beyond(
    explored: list[SampleRuns],
    place: int,
    walks: _beyond.Walks,
    results: dict[str, Any],
    log: _StageLog,
    run: Map,
) -> _beyond.Ways:
    """Run stage 5: compare methods with the bounds on every sample."""
    begun = [
        _beyond.begin(this, row)
        for this, row in zip(explored, results["samples"]["rows"], strict=True)
    ]
    rows: list[dict[str, Any]] = []
    ours: list[_beyond.Walks] = []
    compare = partial(_beyond.compare, _beyond.PROVED_ROWS)
    for row, more in run(compare, begun):
        if rows:
            log.update("beyond", len(rows), len(begun))
        rows.append(row)
        ours.append(more)
    ways = _beyond.ways_of(begun[place].origin, walks, ours[place])
    results["beyond"] = {
        "methods": _beyond.METHODS,
        "proved_rows": _beyond.PROVED_ROWS,
        "shown": _beyond.show(ways),
        "rows": rows,
    }
    return ways
