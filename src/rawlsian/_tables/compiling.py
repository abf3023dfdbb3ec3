"""Compile what a fit needs, before its first run, in two processes.

Numba holds a lock while it compiles, so threads would not help. Each process makes a
tiny walk: one calls the kernels of the search, the other those of walks and restarts.
Both write to Numba's cache, where a fit finds all of them.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem, Utility
from rawlsian._search.fair_lloyd import FairRuns
from rawlsian._search.lloyd import fair_runs
from rawlsian._search.restarts import kmeans_restarts
from rawlsian._support.compile import is_compiled
from rawlsian.operators.batch import Batch
from rawlsian.operators.proposals import Operator
from rawlsian.operators.relocate import Relocate
from rawlsian.operators.traversal import traverse_of

COMMAND = "from rawlsian._tables.compiling import compile_walks; compile_walks()"

# Of a tiny table: the walks from its labels make several steps.
N_ROWS = 24


def is_first_fit() -> bool:
    """Return True if no fit has compiled the kernels of the search."""
    return not is_compiled(fair_runs)


def compile_fit() -> None:
    """Compile in this process and another one; return when both are done.

    Without a folder for Numba's cache each process compiles for itself, as it goes.
    """
    if fair_runs.stats.cache_path is None:  # type: ignore[attr-defined]
        return
    other = subprocess.Popen(
        [sys.executable, "-c", COMMAND],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        compile_search()
        other.wait()
    finally:
        other.kill()


def compile_search() -> None:
    """Call the kernels that search for centers and improve partitions.

    Those of sparse rows come first: a fit is the first one until they are compiled.
    """
    for is_sparse in (True, False):
        problem = _walk("assigned", Relocate(n_trials=4), is_sparse)
        # Equal centers leave clusters empty, which are filled.
        FairRuns(problem, 2).run(np.zeros((1, 3, problem.X.shape[1])))


def compile_walks() -> None:
    """Call the kernels of a walk under the nearest mean, and of k-means restarts."""
    _walk("nearest", Batch())
    kmeans_restarts(_rows(), 2, n_runs=2, random_state=0)


def _rows(is_sparse: bool = False) -> NDArray[np.float64]:
    """Return random rows; sparse ones are one-hot."""
    if is_sparse:
        return np.eye(6)[np.random.RandomState(0).randint(6, size=N_ROWS)]
    return np.random.RandomState(0).normal(size=(N_ROWS, 2))


def _walk(utility: Utility, operator: Operator, is_sparse: bool = False) -> Problem:
    groups, labels = np.arange(N_ROWS) % 2, np.arange(N_ROWS) // 2 % 3
    problem = Problem.from_arrays(_rows(is_sparse), groups, utility=utility)
    traverse_of(problem, labels, operator=operator)
    return problem
