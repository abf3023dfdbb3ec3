"""Compile what a fit needs, before its first run, in two processes.

Numba holds a lock while it compiles, so threads would not help. One process makes a
tiny search and restarts, the other a tiny walk; both take about as long. They write to
Numba's cache, where a fit finds all kernels that it needs.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Problem, Utility
from rawlsian._search.fair_lloyd import FairRuns
from rawlsian._search.lloyd import fair_runs
from rawlsian._search.partitions import improved
from rawlsian._search.restarts import kmeans_restarts
from rawlsian._support.compile import is_compiled
from rawlsian.operators.batch import Batch
from rawlsian.operators.traversal import traverse_of

COMMAND = "from rawlsian._tables.compiling import compile_walks; compile_walks()"

# A tiny table, from whose labels a walk makes several steps.
N_ROWS = 24
LABELS = (np.arange(N_ROWS) // 2 % 3).astype(np.int32)


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
    """Call the kernels that search for centers, and those of k-means restarts.

    They share functions. Kernels of dense rows are left to the fits that need them.
    """
    problem = _problem("assigned")
    # Equal centers leave clusters empty, which are filled.
    FairRuns(problem, 2).run(np.zeros((1, 3, problem.X.shape[1])))
    kmeans_restarts(_rows(), 2, n_runs=2, random_state=0)


def compile_walks() -> None:
    """Call the kernels of a walk under the nearest mean, and of better partitions."""
    problem = _problem("nearest")
    traverse_of(problem, LABELS, operator=Batch())
    improved(FairRuns(problem, 2), [LABELS], 3)


def _rows() -> NDArray[np.float64]:
    """Return random rows, one-hot."""
    return np.eye(6)[np.random.RandomState(0).randint(6, size=N_ROWS)]


def _problem(utility: Utility) -> Problem:
    return Problem.from_arrays(_rows(), np.arange(N_ROWS) % 2, utility=utility)
