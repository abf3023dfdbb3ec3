"""Dask clusters of worker processes that start fast."""

from __future__ import annotations

import multiprocessing
import os
import sys
from contextlib import contextmanager
from multiprocessing import forkserver

import dask
import pytest
from distributed import LocalCluster
from distributed.utils import get_mp_context

FORKED = {"distributed.worker.multiprocessing-method": "forkserver"}
NEEDED = ["distributed.nanny", "dask.array", "dask.dataframe", "joblib", "pandas"]
NEEDED += ["rawlsian._rows.dask", "rawlsian._estimators.kmeans", "sklearn.cluster"]
NEEDED += ["support.warm"]


@contextmanager
def forked_workers():
    """Fork worker processes from one that has imported the package and its kernels.

    A process that imports them takes seconds to start.
    """
    with dask.config.set(FORKED):
        get_mp_context()  # sets a list of Dask's own the first time
        multiprocessing.set_forkserver_preload(NEEDED)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # it has support
            forkserver.ensure_running()
        yield


@contextmanager
def worker_processes(n_workers=2):
    """Return a cluster of processes on this machine, in place of many machines."""
    with (
        forked_workers(),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
    ):
        yield cluster
