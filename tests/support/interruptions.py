"""Calls of the package, and Ctrl-C at any of their moments.

A moment is the entry or the end of a function of the package: a profile function counts
them and raises KeyboardInterrupt at the one that is asked for.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
import pyarrow as pa
from sklearn.cluster import KMeans

import rawlsian
from rawlsian import (
    FairLloyd,
    RawlsianKMeans,
    RawlsianPostprocessor,
    audit_table,
    fit_table,
    frontier,
    group_bound,
    held_out,
    kmeans_restarts,
    open_blocks,
    predict_table,
    proved_bound,
    run_study,
    stability,
    traverse,
)
from support.people import FEW, people
from support.study import SMALLEST, without_seconds

# A call returns its stop reasons, and what it found.
Calls: TypeAlias = dict[str, Callable[[], Any]]

SOURCE = str(Path(rawlsian.__file__).parent)


class CtrlC:
    """Profile function that counts moments, and interrupts at one of them."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.n_moments = 0

    def __call__(self, frame: Any, event: str, argument: object) -> None:
        """Count the entry or the end of a function of the package."""
        if event not in ("call", "return"):
            return
        if not frame.f_code.co_filename.startswith(SOURCE):
            return
        self.n_moments += 1
        if self.n_moments == self.at:
            sys.setprofile(None)
            raise KeyboardInterrupt

    def __enter__(self) -> CtrlC:
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


def outcome(call: Callable[[], Any], at: int) -> tuple[str, Any]:
    """Return how a call ended that is interrupted: raised, marked or returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an interruption
        try:
            with CtrlC(at):
                found = call()
        except KeyboardInterrupt:
            return "raised", None
    is_marked = "interrupted" in found[0]
    return ("marked" if is_marked else "returned"), found


def n_moments(call: Callable[[], Any]) -> int:
    """Return the number of moments of an undisturbed call."""
    with CtrlC() as count:
        call()
    return count.n_moments


def is_same(found: Any, undisturbed: Any) -> bool:
    """Return True if two results are equal, number by number."""
    if isinstance(found, tuple | list):
        return len(found) == len(undisturbed) and all(
            is_same(ours, theirs)
            for ours, theirs in zip(found, undisturbed, strict=True)
        )
    if isinstance(found, dict):
        return found.keys() == undisturbed.keys() and all(
            is_same(found[key], undisturbed[key]) for key in found
        )
    return bool(np.array_equal(found, undisturbed))


# --- Calls -----------------------------------------------------------------------


def _fitted(make: Callable[[], Any], X: Any, groups: Any) -> Callable[[], Any]:
    def call() -> Any:
        fair = make().fit(X, sensitive_features=groups)
        bound = getattr(fair, "bound_", None)
        reasons = [fair.stop_reason_]
        if getattr(fair, "bound", None) is not None and bound is None:
            reasons.append("interrupted")  # there is no bound_, and a warning says so
        elif bound is not None:
            reasons.append(bound.stop_reason)
        return reasons, np.asarray(fair.labels_), fair.cluster_centers_

    return call


def estimators() -> Calls:
    """Return fits of estimators, in memory, out of core and with Dask."""
    X, groups = people(60, 3)
    three = np.array(list("abc"))[np.arange(60) % 3]
    kmeans = KMeans(3, n_init=1, random_state=0)
    fair = RawlsianKMeans(3, **FEW)
    assigned = {"utility": "assigned", "operator": "batch"}
    cases: dict[str, tuple[Callable[[], Any], Any, Any]] = {
        "FairLloyd": (lambda: FairLloyd(3, n_init=70, random_state=0), X, groups),
        "RawlsianKMeans": (lambda: RawlsianKMeans(3, **FEW), X, three),
        "RawlsianKMeans, means": (
            lambda: RawlsianKMeans(3, centers="mean", **FEW), X, groups,
        ),
        "RawlsianKMeans, pooling by cv": (
            lambda: RawlsianKMeans(2, **{**FEW, "pooling": "cv"}), X[:30], groups[:30],
        ),
        "RawlsianKMeans, proved bound": (
            lambda: RawlsianKMeans(2, bound="proved", **FEW), X[:30], groups[:30],
        ),
        "RawlsianKMeans, blocks": (
            lambda: RawlsianKMeans(3, **FEW), open_blocks(X, block_size=25), groups,
        ),
        "RawlsianKMeans, means, blocks": (
            lambda: RawlsianKMeans(3, centers="mean", **FEW),
            open_blocks(X, block_size=25), groups,
        ),
        "RawlsianKMeans, Dask": (
            lambda: RawlsianKMeans(3, **FEW), da.from_array(X, chunks=(30, 3)), groups,
        ),
        "RawlsianPostprocessor": (
            lambda: RawlsianPostprocessor(kmeans, bound="group"), X[:30], groups[:30],
        ),
        "RawlsianPostprocessor of RawlsianKMeans": (
            lambda: RawlsianPostprocessor(fair, **assigned), X, groups,
        ),
        "RawlsianPostprocessor, blocks": (
            lambda: RawlsianPostprocessor(kmeans, **assigned),
            open_blocks(X, block_size=25), groups,
        ),
    }  # fmt: skip
    return {
        name: _fitted(make, rows, labels)
        for name, (make, rows, labels) in cases.items()
    }


def _walk(X: Any, labels: Any, groups: Any, operator: str) -> Any:
    found = traverse(X, labels, groups, operator=operator)
    return [found.stop_reason], np.asarray(found.labels), found.utilities


def _proved(X: Any, groups: Any) -> Any:
    found = proved_bound(X, groups, n_clusters=2, random_state=0)
    return [found.stop_reason], found.cost


def functions() -> Calls:
    """Return calls of public functions, by name."""
    X, groups = people(40, 3)
    labels = np.arange(40) % 3
    blocks = open_blocks(X, block_size=15)
    fair = RawlsianKMeans(2, **FEW)
    few, own = X[:30], groups[:30]
    whole = {
        "frontier": lambda: (
            frontier(few, own, n_clusters=2, n_points=4, random_state=0).utilities
        ),
        "group_bound": lambda: group_bound(few, own, n_clusters=2, random_state=0).cost,
        "kmeans_restarts": lambda: (
            kmeans_restarts(few, 2, n_runs=20, sensitive_features=own).utilities
        ),
        "held_out": lambda: (
            held_out(
                fair, few, own, cv=2, n_repeats=1, n_bootstrap=9, random_state=0
            ).held_out
        ),
        "stability": lambda: (
            stability(fair, few, own, n_bootstrap=3, random_state=0).clusters
        ),
    }
    return {
        "traverse": lambda: _walk(X, labels, groups, "R1"),
        "traverse, blocks": lambda: _walk(blocks, labels, groups, "rawls"),
        "proved_bound": lambda: _proved(few, own),
        **{name: lambda call=call: ([], call()) for name, call in whole.items()},
    }


def tables() -> Calls:
    """Return calls with tables, and of the command line."""
    X, groups = people(40, 2)
    table = pa.table({
        "a": X[:, 0], "b": X[:, 1], "sex": groups, "segment": np.arange(40) % 2,
    })  # fmt: skip
    options = {"clusters": 2, "pooling": 0, "new_people": False, "drop": "segment"}

    def fit(method: str | None) -> Any:
        found = fit_table(table, "sex", method=method, **options)
        return ["interrupted"] * found.is_interrupted, found.labels, found.to_dict()

    saved = fit_table(table, "sex", **options).model
    return {
        "fit_table": lambda: fit(None),
        "fit_table, R1": lambda: fit("R1"),
        "fit_table, kmeans-mean": lambda: fit("kmeans-mean"),
        "audit_table": lambda: (
            [], audit_table(table, "sex", labels="segment").to_dict(),
        ),
        "predict_table": lambda: ([], predict_table(saved, table).labels),
    }  # fmt: skip


def _study() -> Any:
    return [], without_seconds(run_study(SMALLEST))


def study() -> Calls:
    """Return the smallest study, which takes seconds."""
    return {"run_study": _study}
