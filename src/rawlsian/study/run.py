"""Run the study: configuration, progress and the six stages in order."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from rawlsian._support.jobs import in_order
from rawlsian._version import __version__
from rawlsian.report import page_html
from rawlsian.study import beyond as _beyond, data as _data, stages as _stages
from rawlsian.study.claims import PAPER_ITERATIONS, check_claims
from rawlsian.study.folder import OutputFolder
from rawlsian.study.page import study_page
from rawlsian.study.stages import FILTERED, OPERATORS, UNFILTERED, SampleRuns

DATASETS = ("adult",)


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
    """Reproduce the paper's study.

    Within ``joblib.parallel_config(backend="dask")``, the workers of the current Dask
    client share the samples; only the values of "seconds" change.

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
        the values of "seconds".

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
    adult = _data.load()
    results["dataset"] = _data.describe(adult)
    log.update("data", 1, 1)
    _stages.warm_up()
    explored = _explore_samples(adult, config, results, log)
    shown = _choose(explored, results)
    results["existence"] = _existence(shown, results)
    log.update("existence", config.samples, config.samples)
    results["traversals"] = _traversals(shown, results, log)
    log.update("traversals", len(OPERATORS), len(OPERATORS))
    _walk_everywhere(explored, results, log)
    log.update("samples", config.samples, config.samples)
    ways = _beyond.ways_of(shown)
    results["beyond"] = _beyond_the_paper(explored, shown.sample, ways, log)
    if folder is not None:
        folder.page = page_html(study_page(adult, shown, ways, results["beyond"]))
    log.update("beyond", config.samples, config.samples)
    results["claims"] = check_claims(results)
    log.update("claims", 1, 1)
    return results


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
    """Draw the samples, run k-means on each and traverse with R1, which is fast."""
    explored: list[SampleRuns] = []
    rows = []
    n_drawn = 0
    for sample in _data.samples_with_the_split(adult, config.seed):
        n_drawn += 1
        if sample is None:
            continue
        this = _stages.explore(sample, config.clusters, config.runs)
        row: dict[str, Any] = {
            "seed": sample.seed,
            "runs": config.runs,
            "lag_runs": _stages.lag_runs(this),
            "seconds": this.seconds,
        }
        for start in (FILTERED, UNFILTERED):
            row[start] = None
            if start in this.starts:
                _, record = _stages.walk(this, start, "R1")
                existence = _stages.existence(this, start)
                row[start] = {"existence": existence, "traversals": [record]}
        explored.append(this)
        rows.append(row)
        if len(rows) == config.samples:
            break
        log.update("existence", len(rows), config.samples)
    is_filtered = any(row[FILTERED] for row in rows)
    results["samples"] = {
        "seeds_drawn": n_drawn,
        "start": FILTERED if is_filtered else UNFILTERED,
        "rows": rows,
    }
    return explored


def _choose(explored: list[SampleRuns], results: dict[str, Any]) -> SampleRuns:
    """Choose the sample to show: its R1 iterations are nearest to the paper's."""
    start = results["samples"]["start"]
    candidates = [
        (abs(row[start]["traversals"][0]["iterations"] - PAPER_ITERATIONS["R1"]), place)
        for place, row in enumerate(results["samples"]["rows"])
        if row[start]
    ]
    return explored[min(candidates)[1]]


def _existence(shown: SampleRuns, results: dict[str, Any]) -> dict[str, Any]:
    """Return stage 2 for the sample shown."""
    start = results["samples"]["start"]
    restarts = shown.restarts
    points = dict(
        zip(map(str, restarts.groups), restarts.utilities.T.tolist(), strict=True)
    )
    return {
        "sample_seed": shown.sample.seed,
        "sample_chosen_by": "the number of R1 iterations nearest to the paper's "
        f"{PAPER_ITERATIONS['R1']}",
        "lag": _data.MINORITY,
        "filter": start,
        "runs": len(restarts.inertia),
        "lag_runs": _stages.lag_runs(shown),
        **_stages.existence(shown, start),
        "unfiltered": _stages.existence(shown, UNFILTERED),
        "shown_runs": shown.starts[start].runs.tolist(),
        "points": {**points, "overall": restarts.overall.tolist()},
    }


def _traversals(
    shown: SampleRuns, results: dict[str, Any], log: _StageLog
) -> list[dict[str, Any]]:
    """Run stage 3 and record every point of each trajectory."""
    records: list[dict[str, Any]] = []
    for operator in OPERATORS:
        if records:
            log.update("traversals", len(records), len(OPERATORS))
        trajectory, record = _stages.walk(shown, results["samples"]["start"], operator)
        records.append({**record, "path": _stages.path(trajectory)})
    return records


def _walk_everywhere(
    explored: list[SampleRuns], results: dict[str, Any], log: _StageLog
) -> None:
    """Run stage 4: every operator from both starts; count pairs at the main one."""
    main_start, rows = results["samples"]["start"], results["samples"]["rows"]
    walked = in_order(partial(_walk_from, main_start), zip(explored, rows, strict=True))
    for place, row in enumerate(walked):
        rows[place] = row
        if place + 1 < len(rows):
            log.update("samples", place + 1, len(rows))


def _walk_from(
    main_start: str, one: tuple[SampleRuns, dict[str, Any]]
) -> dict[str, Any]:
    """Add the traversals of every operator to the row of a sample."""
    this, row = one
    for start in (FILTERED, UNFILTERED):
        if row[start] is None:
            continue
        walks = [_stages.walk(this, start, operator) for operator in OPERATORS]
        row[start]["traversals"] = [record for _, record in walks]
        row[start]["r2_strays_from_r1"] = _stages.deviation(walks[0][0], walks[1][0])
        if start == main_start:
            row[start]["pairs"] = _stages.count_pairs(this, start)
    return row


def _beyond_the_paper(
    explored: list[SampleRuns], shown: _data.Sample, ways: _beyond.Ways, log: _StageLog
) -> dict[str, Any]:
    """Run stage 5: compare methods with the bounds on every sample."""
    rows: list[dict[str, Any]] = []
    for row in in_order(_beyond.compare, explored):
        if rows:
            log.update("beyond", len(rows), len(explored))
        rows.append(row)
    return {
        "methods": list(_beyond.METHODS),
        "proved_rows": _beyond.PROVED_ROWS,
        "shown": _beyond.show(shown, ways),
        "rows": rows,
    }
