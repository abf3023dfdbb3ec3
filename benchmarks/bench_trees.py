"""Compare the speed of two checkouts, side by side in one run.

    git worktree add ../before COMMIT
    .venv/bin/python benchmarks/bench_trees.py ../before .

Two processes, one per checkout, run each task in turn, so that both meet the same
noise. Prints the median seconds of each and the median ratio of second to first.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

REPEATS = 7


def adult(n=500):
    from rawlsian import load_adult

    return load_adult(sample=n, random_state=576)


def walk(operator, **options):
    from sklearn.cluster import KMeans

    from rawlsian import traverse

    data = adult()
    start = KMeans(5, n_init=10, random_state=0).fit(data.data).labels_
    groups = data.sensitive_features
    return lambda: traverse(data.data, start, groups, operator=operator, **options)


def restarts():
    from rawlsian import kmeans_restarts

    X = adult().data
    return lambda: kmeans_restarts(X, 5, n_runs=2000, random_state=0)


def fit(centers, n=500):
    from rawlsian import RawlsianKMeans

    data = adult(n)
    fair = RawlsianKMeans(5, centers=centers, random_state=0, pooling=0)
    return lambda: fair.fit(data.data, sensitive_features=data.sensitive_features)


def dense():
    from rawlsian import RawlsianKMeans

    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(2000, 20)), rng.integers(0, 4, 2000)
    fair = RawlsianKMeans(8, n_init=8, n_crossings=32, random_state=0, pooling=0)
    return lambda: fair.fit(X, sensitive_features=groups)


def out_of_core(centers):
    from rawlsian import RawlsianKMeans, open_blocks

    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300_000, 10)), rng.integers(0, 2, 300_000)
    X[:, 0] += 4 * groups
    fair = RawlsianKMeans(
        4, centers=centers, n_init=4, n_crossings=4, random_state=0, pooling=0
    )
    return lambda: fair.fit(open_blocks(X), sensitive_features=groups)


def measure():
    from rawlsian import audit

    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(20_000, 10)), rng.integers(0, 3, 20_000)
    return lambda: audit(X, groups, groups, random_state=0)


def bound():
    from rawlsian import proved_bound

    data = adult(150)
    given = {"n_clusters": 5, "max_iter": 20, "random_state": 0}
    return lambda: proved_bound(data.data, data.sensitive_features, **given)


def table(command, *options):
    from rawlsian.cli import app

    people = str(Path(__file__).parents[1] / "docs" / "people.csv")

    def run():
        with contextlib.redirect_stdout(io.StringIO()):
            app(
                [command, people, "--sensitive", "sex", *options], standalone_mode=False
            )

    return run


TASKS = {
    "R1 traversal": lambda: walk("R1"),
    "R2 traversal": lambda: walk("R2"),
    "R2-exhaustive, 20 steps": lambda: walk("R2-exhaustive", max_iter=20),
    "batch": lambda: walk("batch"),
    "rawls": lambda: walk("rawls"),
    "2000 k-means runs": restarts,
    "free centers": lambda: fit("free"),
    "mean centers": lambda: fit("mean"),
    "free centers, dense, k = 8": dense,
    "out of core, free": lambda: out_of_core("free"),
    "out of core, mean": lambda: out_of_core("mean"),
    "audit, 20,000 rows": measure,
    "proved bound": bound,
    "rawlsian audit": lambda: table("audit", "--labels", "segment"),
    "rawlsian fit": lambda: table("fit", "--clusters", "5", "--drop", "segment"),
}


def serve():
    """Run the tasks whose names come in, and print how long each took."""
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    ready = {}
    for line in sys.stdin:
        name = json.loads(line)
        if name not in ready:
            ready[name] = TASKS[name]()
            ready[name]()  # warm
        started = time.perf_counter()
        ready[name]()
        print(time.perf_counter() - started, file=out, flush=True)


def open_tree(tree):
    """Start a process that imports rawlsian from a checkout."""
    environment = os.environ | {"PYTHONPATH": str(Path(tree).resolve() / "src")}
    return subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        cwd=tempfile.gettempdir(),
    )  # fmt: skip


def seconds(process, name):
    process.stdin.write(json.dumps(name) + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main(first, second, *names):
    trees = [open_tree(first), open_tree(second)]
    print(
        "| task | first, s | second, s | ratio (quartiles) |\n| --- | --- | --- | --- |"
    )
    for name in names or TASKS:
        pairs = [[seconds(tree, name) for tree in trees] for _ in range(REPEATS)]
        before, after = zip(*pairs, strict=True)
        low, ratio, high = np.quantile(np.divide(after, before), [0.25, 0.5, 0.75])
        print(
            f"| {name} | {statistics.median(before):.4f} | "
            f"{statistics.median(after):.4f} | {ratio:.2f} ({low:.2f} to {high:.2f}) |",
            flush=True,
        )
    for tree in trees:
        tree.stdin.close()
        tree.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main(*sys.argv[1:])
