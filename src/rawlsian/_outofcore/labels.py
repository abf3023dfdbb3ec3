"""Labels of out-of-core rows: a user's own, or predicted by a clusterer."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.checks import gap_in_labels
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._rows.executors import Column

# Labels beyond this cannot be numbers of clusters.
MOST_CLUSTERS = 100_000

# Held while a foreign clusterer predicts.
_ONE_AT_A_TIME = threading.Lock()


class LabelColumn(NamedTuple):
    """Checked labels of all rows.

    Attributes
    ----------
    labels : Column
        Labels of each block.
    n_clusters : int
        Number of clusters; each has a row with weight.
    """

    labels: Column
    n_clusters: int


def given_labels(large: OutOfCoreProblem, labels: Any) -> LabelColumn:
    """Check a user's labels and return them as a column."""
    column, members = _checked(large, large.blocks.columns_of(labels, "labels"))
    if not members.all():
        found = int(np.count_nonzero(members))
        raise gap_in_labels(len(members) - 1, found, " in rows with weight")
    return LabelColumn(column, len(members))


def predicted_labels(large: OutOfCoreProblem, estimator: Any) -> LabelColumn:
    """Label all rows with a fitted clusterer, numbered without gaps: one pass."""
    labels, members = _checked(large, large.blocks.keep(_predict, [], estimator))
    large.count_pass()
    if not members.all():
        numbers = np.maximum(np.cumsum(members > 0) - 1, 0).astype(np.int32)
        labels = large.blocks.executor.keep(_renumber, [labels], numbers)
    return LabelColumn(labels, int(np.count_nonzero(members)))


def _checked(
    large: OutOfCoreProblem, given: Column
) -> tuple[Column, NDArray[np.int64]]:
    """Return labels as int32, and the number of rows with weight in each cluster."""
    executor = large.blocks.executor
    columns = [given, large.groups, large.weights]
    summaries = list(executor.run(_summarise, columns))
    for b, summary in enumerate(summaries):
        if summary.fault:
            raise ValueError(
                f"{summary.fault}, from {large.blocks.name_row(b, 0)} on; give one "
                "cluster for each row, numbered from 0 to k - 1."
            )
    members = np.zeros(max(len(summary.members) for summary in summaries), np.int64)
    for summary in summaries:
        members[: len(summary.members)] += summary.members
    return executor.keep(_as_labels, [given]), members


class _LabelSummary(NamedTuple):
    """Rows with weight in each cluster of a block, or the fault in its labels."""

    members: NDArray[np.int64]
    fault: str = ""


def _summarise(
    labels: Any, groups: NDArray[np.int32], weights: NDArray[np.float64]
) -> _LabelSummary:
    """Count the rows with weight in each cluster, or name the fault."""
    labels, none = np.asarray(labels), np.zeros(1, np.int64)
    if labels.shape != groups.shape:
        n_rows = len(groups)
        fault = f"labels has shape {labels.shape} but X has {n_rows:,} rows"
        return _LabelSummary(none, fault)
    if not len(labels):
        return _LabelSummary(none)
    if labels.dtype.kind not in "iu":
        return _LabelSummary(none, f"labels must be integers, found {labels.dtype}")
    if labels.min() < 0 or labels.max() >= MOST_CLUSTERS:
        found = f"{labels.min()} to {labels.max()}"
        fault = f"labels must not be below 0 or huge, found values from {found}"
        return _LabelSummary(none, fault)
    has_weight = np.broadcast_to(weights > 0, labels.shape)
    return _LabelSummary(np.bincount(labels, has_weight).astype(np.int64))


def _predict(X: NDArray[Any], estimator: Any) -> NDArray[Any]:
    if not len(X):
        return np.empty(0, np.int32)
    # It was fitted on float64. One at a time: a clusterer need not be thread-safe, and
    # KMeans leaves BLAS with one thread when several call it.
    with _ONE_AT_A_TIME:
        return np.asarray(estimator.predict(X.astype(np.float64, copy=False)))


def _renumber(
    labels: NDArray[np.int32], numbers: NDArray[np.int32]
) -> NDArray[np.int32]:
    renumbered: NDArray[np.int32] = numbers[labels]
    return renumbered


def _as_labels(labels: Any) -> NDArray[np.int32]:
    return np.asarray(labels).astype(np.int32)
