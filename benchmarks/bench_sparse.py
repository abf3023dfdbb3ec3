"""Memory and time of fits of sparse rows.

    .venv/bin/python benchmarks/bench_sparse.py
    .venv/bin/python benchmarks/bench_sparse.py --rows 1000000 --columns 20000

Draws one-hot rows: each attribute has many levels, a few of them common. Prints the
size of the CSR matrix, and for each method the peak memory of this process during the
call, less the memory before the matrix was made: so it includes the matrix. Kernels are
compiled and libraries are loaded before. Linux only.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from rawlsian import FairLloyd, RawlsianKMeans, audit, kmeans_restarts


def one_hot(n_rows, n_columns, n_attributes, seed=0):
    """Return one-hot rows as a CSR matrix, and the group of each row."""
    rng = np.random.default_rng(seed)
    n_levels = n_columns // n_attributes
    levels = np.empty((n_rows, n_attributes), np.int32)
    for a in range(n_attributes):
        drawn = n_levels * rng.random(n_rows) ** 3  # the first levels are common
        levels[:, a] = a * n_levels + drawn.astype(np.int32)
    ends = n_attributes * np.arange(n_rows + 1, dtype=np.int32)
    values = np.full(levels.size, 0.5**0.5)
    X = sparse.csr_matrix((values, levels.ravel(), ends), (n_rows, n_columns))
    return X, rng.integers(0, 2, n_rows, dtype=np.int8)


def status(name):
    """Return a line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {name}.")


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


def methods(n_clusters, few, n_crossings=None):
    fit = {"n_init": 4, "n_crossings": 4} if few else {"n_crossings": n_crossings}
    starts = 4 if few else 32
    return {
        "RawlsianKMeans": lambda X, g: RawlsianKMeans(
            n_clusters, random_state=0, **fit
        ).fit(X, sensitive_features=g),
        "RawlsianKMeans, pooling=0": lambda X, g: RawlsianKMeans(
            n_clusters, pooling=0, random_state=0, **fit
        ).fit(X, sensitive_features=g),
        "FairLloyd": lambda X, g: FairLloyd(n_clusters, random_state=0).fit(
            X, sensitive_features=g
        ),
        "kmeans_restarts": lambda X, g: kmeans_restarts(
            X, n_clusters, n_runs=starts, sensitive_features=g, random_state=0
        ),
        "audit": lambda X, g: audit(X, np.arange(X.shape[0]) % n_clusters, g),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=5_000)
    parser.add_argument("--entries", type=int, default=20)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--crossings", type=int, help="default: that of the estimator")
    parser.add_argument("--only", default="", help="the name of one method")
    options = parser.parse_args()
    small = one_hot(2_000, 100, 5)
    for call in methods(options.clusters, few=True).values():
        call(*small)
    before = status("VmRSS")
    X, groups = one_hot(options.rows, options.columns, options.entries)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print(f"matrix: {options.rows:,} x {options.columns:,}, {size / 1e6:.0f} MB")
    calls = methods(options.clusters, few=False, n_crossings=options.crossings)
    for name, call in calls.items():
        if options.only and options.only != name:
            continue
        forget_peak()
        start = time.perf_counter()
        call(X, groups)
        seconds, peak = time.perf_counter() - start, status("VmHWM") - before
        print(
            f"{name:26} {seconds:7.1f} s  peak {peak / 1e6:5.0f} MB  "
            f"{peak / size:.2f} times the matrix",
            flush=True,
        )


if __name__ == "__main__":
    main()
