"""Fit a table in parts: k-means on its encoded rows, then the method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rawlsian._core.parameters import PoolingStrength
from rawlsian._core.problem import Utility
from rawlsian._engines.outofcore import OutOfCoreEngine
from rawlsian._estimators.kmeans import RawlsianKMeans
from rawlsian._estimators.pooling_cv import choose_pooling
from rawlsian._outofcore.problem import OutOfCoreProblem, PassStep
from rawlsian._rows.opening import as_blocks
from rawlsian._search.crossing import Callback
from rawlsian._tables.analysis import Figures, Outcome, Progress, check_found
from rawlsian._tables.backends import EncodedRows
from rawlsian._tables.survey import Encoding
from rawlsian.metrics.audit import audit_of
from rawlsian.operators.compositions import get_operator


class FittedParts(NamedTuple):
    """A fit of out-of-core rows: figures, labels of all rows, centers, passes."""

    outcome: Outcome
    labels: Any
    centers: NDArray[np.float64]
    n_passes: int


class _After(NamedTuple):
    labels: Any
    centers: NDArray[np.float64]
    before: Figures
    after: Figures
    n_passes: int
    n_steps: int | None
    stop_reason: str | None
    is_interrupted: bool
    pooling: float


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Encoded rows, and how they were encoded."""

    rows: EncodedRows
    encoding: Encoding

    @cached_property
    def problem(self) -> OutOfCoreProblem:
        """Rows and groups, checked in one pass."""
        blocks = as_blocks(self.rows.X)
        assert blocks is not None  # a backend keeps rows out of core
        return OutOfCoreProblem.of(
            blocks, self.rows.groups, max_distance=self.encoding.max_distance
        )

    def engine(
        self, callback: Callback | None = None, utility: Utility = "assigned"
    ) -> OutOfCoreEngine:
        """Return an engine for the checked rows."""
        return OutOfCoreEngine(self.problem.again(callback), utility)


def fit(
    table: EncodedTable,
    n_clusters: int,
    method: str,
    pooling: PoolingStrength,
    seed: int,
    progress: Progress,
) -> FittedParts:
    """Run k-means, then the method, from k-means or independently of it."""
    progress("k-means", 0, None)
    kmeans = _kmeans(table, n_clusters, 0.0, seed, "k-means", progress)
    kmeans._fit_engine(
        OutOfCoreEngine(table.problem.as_one_group().again(kmeans.callback))
    )
    if kmeans.stop_reason_ == "interrupted":
        raise KeyboardInterrupt  # nothing has been reached yet
    members = _in_common(table, kmeans.labels_, kmeans.labels_, n_clusters).sum(axis=0)
    check_found(n_clusters, int(np.count_nonzero(members)))
    progress(method, 0, None)
    if method.startswith("kmeans-"):
        found = _searched(
            table, kmeans.labels_, n_clusters, method, pooling, seed, progress
        )
    else:
        found = _walked(
            table, kmeans.labels_, n_clusters, method, pooling, seed, progress
        )
    common = _in_common(table, kmeans.labels_, found.labels, n_clusters)
    encoding = table.encoding
    outcome = Outcome(
        method,
        n_clusters,
        np.array(encoding.group_names, object),
        encoding.group_sizes,
        encoding.max_distance,
        found.before,
        found.after,
        int(common.sum() - np.trace(common)),
        found.n_steps,
        found.stop_reason,
        found.is_interrupted,
        "nearest" if method == "kmeans-free" else "assigned",
        found.pooling,
        common.sum(axis=0).astype(np.float64),
    )
    n_passes = table.problem.n_passes + kmeans.n_passes_ + found.n_passes
    return FittedParts(outcome, found.labels, found.centers, n_passes)


def _kmeans(
    table: EncodedTable,
    n_clusters: int,
    pooling: PoolingStrength,
    seed: int,
    stage: str,
    progress: Progress,
    centers: Any = "free",
) -> RawlsianKMeans:
    return RawlsianKMeans(
        n_clusters,
        centers=centers,
        pooling=pooling,
        max_distance=table.encoding.max_distance,
        random_state=seed,
        callback=_shown_as(stage, progress),
    )


def _shown_as(stage: str, progress: Progress) -> Callback:
    """Return a callback that shows runs of a search and passes over all rows."""

    def show(step: Any) -> None:
        if isinstance(step, PassStep):
            progress(f"{stage}: pass", step.n_passes, step.max_passes)
        else:
            progress(f"{stage}: search", step.n_done, step.n_runs)

    return show


def _searched(
    table: EncodedTable,
    start: Any,
    n_clusters: int,
    method: str,
    pooling: PoolingStrength,
    seed: int,
    progress: Progress,
) -> _After:
    """Search apart from k-means; number clusters so that few rows seem to move."""
    centers = method.removeprefix("kmeans-")
    fair = _kmeans(table, n_clusters, pooling, seed, method, progress, centers)
    fair._fit_engine(table.engine(fair.callback))
    common = _in_common(table, fair.labels_, start, n_clusters)
    _, numbers = linear_sum_assignment(-common)
    blocks = table.problem.blocks
    column = blocks.columns_of(fair.labels_, "labels")
    renumbered = blocks.executor.keep(_renumbered, [column], numbers.astype(np.int32))
    engine = table.engine()
    kmeans = audit_of(engine, start, n_bootstrap=0)
    sizes = table.encoding.group_sizes
    utilities = fair.group_utilities_
    return _After(
        labels=blocks.join(renumbered, np.int32),
        centers=fair.cluster_centers_[np.argsort(numbers)],
        before=Figures(kmeans.utilities, kmeans.overall),
        after=Figures(utilities, float(utilities @ sizes / sizes.sum())),
        n_passes=fair.n_passes_ + engine.n_passes,
        n_steps=None,
        stop_reason=None,
        is_interrupted=fair.stop_reason_ == "interrupted",
        pooling=fair.pooling_,
    )


def _walked(
    table: EncodedTable,
    start: Any,
    n_clusters: int,
    method: str,
    pooling: PoolingStrength,
    seed: int,
    progress: Progress,
) -> _After:
    engine = table.engine(_shown_as(method, progress))
    if pooling == "cv":
        rng = np.random.RandomState(seed)
        choice = choose_pooling(engine.to_search(n_clusters, rng), n_clusters, rng)
        pooling = 0.0 if choice is None else choice.strength
    engine.pool(float(pooling))
    found = engine.walk(start, get_operator(method), None)
    first, last = (
        Figures(found.utilities[at], float(found.overall[at])) for at in (0, -1)
    )
    return _After(
        labels=found.labels,
        centers=found.cluster_centers,
        before=first,
        after=last,
        n_passes=found.n_passes,
        n_steps=found.n_iter,
        stop_reason=found.stop_reason,
        is_interrupted=found.stop_reason == "interrupted",
        pooling=float(pooling),
    )


def _in_common(
    table: EncodedTable, labels: Any, others: Any, n_clusters: int
) -> NDArray[np.int64]:
    """Count the rows that each cluster has in common with each of the others."""
    blocks = table.problem.blocks
    columns = [blocks.columns_of(each, "labels") for each in (labels, others)]
    parts = blocks.executor.run(_count_pairs, columns, n_clusters)
    common: NDArray[np.int64] = np.sum(list(parts), axis=0)
    return common


def _count_pairs(labels: Any, others: Any, n_clusters: int) -> NDArray[np.int64]:
    pairs = labels.astype(np.int64) * n_clusters + others
    counts = np.bincount(pairs, minlength=n_clusters**2)
    return counts.reshape(n_clusters, n_clusters)


def _renumbered(labels: Any, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    renumbered: NDArray[np.int32] = numbers[labels]
    return renumbered
