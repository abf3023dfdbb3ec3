"""Measure RawlsianKMeans against KMeans(n_init=10): time and quality together.

    .venv/bin/python benchmarks/bench_grid.py                  # all cells, an hour
    .venv/bin/python benchmarks/bench_grid.py adult2 dense1    # some of them
    .venv/bin/python benchmarks/bench_grid.py --effort 4 wide1 # another effort
    .venv/bin/python benchmarks/bench_grid.py --reference dense1 --src OTHER/src
    .venv/bin/python benchmarks/bench_grid.py growth           # docs/images/growth.svg

Each cell runs in processes of its own with one thread and with two. Times are the
least of REPEATS, fewer if one takes long; "cv" is the default, "0" is pooling=0. The
excess is the largest group cost with pooling=0 above that of a reference: the search
before it had an effort (in grid_reference.json; ``--reference`` prints costs and times,
with the package of ``--src``), or else 50 FairLloyd starts on all rows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bench_engine import row

# Rows, columns, clusters, groups.
CELLS = {
    "adult2": (1_000, 42, 5, 2),
    "adult8": (1_000, 42, 5, 8),
    "dense1": (10_000, 20, 5, 2),
    "dense2": (5_000, 10, 20, 2),
    "dense3": (20_000, 100, 10, 2),
    "long1": (100_000, 20, 8, 2),
    "many1": (5_000, 10, 50, 2),
    "wide1": (20_000, 784, 10, 2),
    "wide2": (20_000, 784, 50, 12),
    "long2": (1_000_000, 20, 10, 2),
    "many2": (100_000, 50, 100, 2),
    "long3": (300_000, 20, 8, 2),
}
REPEATS, LONG = 3, 10.0  # a measurement of more seconds than LONG is made once
N_STARTS = 50
IMAGE = Path(__file__).resolve().parent.parent / "docs" / "images" / "growth.svg"
# Growth: the middle cell, and the values of each number around it.
MIDDLE = {"rows": 20_000, "columns": 20, "clusters": 8, "groups": 2}
AROUND = {
    "rows": (1_000, 4_000, 20_000, 100_000, 400_000),
    "columns": (5, 20, 80, 320),
    "clusters": (2, 4, 8, 16, 32, 64),
    "groups": (2, 4, 8, 16),
}


def rows_of(name: str):
    """Return rows and groups of a cell: Adult, or a mixture whose parts overlap."""
    n, d, k, n_groups = CELLS[name]
    if name.startswith("adult"):
        return adult_rows(n_groups)
    return mixture(n, d, k, n_groups)


def adult_rows(n_groups: int):
    """Return a sample of Adult; 2 groups by sex, 8 by sex and marital status."""
    from rawlsian import load_adult

    adult = load_adult(sample=500, random_state=0)
    sex = np.asarray(adult.table["sex"]).astype(str)
    if n_groups == 2:
        return adult.data, sex
    age = np.asarray(adult.table["age"]).astype(float)
    quarter = np.searchsorted(np.quantile(age, [0.25, 0.5, 0.75]), age).astype(str)
    return adult.data, np.char.add(sex, quarter)


def mixture(n: int, d: int, k: int, n_groups: int):
    """Return rows of 3 k overlapping normals, which the groups have in unequal shares.

    Group g has a share in proportion to n_groups - g of the rows, and more noise.
    """
    rng = np.random.RandomState(0)
    shares = np.arange(n_groups, 0, -1.0)
    groups = rng.choice(n_groups, n, p=shares / shares.sum())
    means = rng.normal(size=(3 * k, d)) * 4 / np.sqrt(d)
    parts = np.empty(n, int)
    for g, mix in enumerate(rng.dirichlet(np.ones(3 * k), size=n_groups)):
        own = groups == g
        parts[own] = rng.choice(3 * k, own.sum(), p=mix)
    noise = (2 + 0.6 * groups / n_groups) / np.sqrt(d)
    X = rng.normal(size=(n, d))
    X *= noise[:, None]
    X += means[parts]
    return X, groups


def least_seconds(fit):
    """Return what fit returns, and the least seconds of some calls."""
    seconds = []
    while len(seconds) < REPEATS and (not seconds or seconds[-1] < LONG):
        start = time.perf_counter()
        result = fit()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def largest_cost(X, groups, centers):
    """Return the largest mean cost of a group with its nearest centers."""
    from rawlsian._core.nearest import nearest

    codes = np.unique(groups, return_inverse=True)[1]
    costs = np.bincount(codes, nearest(X, centers)[1]) / np.bincount(codes)
    return float(costs.max())


def fitted(X, groups, k, **options):
    """Fit a RawlsianKMeans with seed 0."""
    from rawlsian import RawlsianKMeans

    return RawlsianKMeans(k, random_state=0, **options).fit(
        X, sensitive_features=groups
    )


def peak():
    """Return the peak of resident memory, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, what: str, effort: float):
    """Measure one method on one cell; print a line of JSON."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    from rawlsian import FairLloyd

    X, groups = rows_of(name)
    k = CELLS[name][2]
    n_threads = int(os.environ["NUMBA_NUM_THREADS"])
    few = slice(0, 20 * k)
    effort = {} if effort == 1 else {"effort": effort}
    fits = {
        "kmeans": lambda X, groups: KMeans(k, n_init=10, random_state=0).fit(X),
        "cv": lambda X, groups: fitted(X, groups, k, **effort),
        "0": lambda X, groups: fitted(X, groups, k, pooling=0, **effort),
        "starts": lambda X, groups: FairLloyd(
            k, n_init=N_STARTS, random_state=0
        ).fit(X, sensitive_features=groups),
    }  # fmt: skip
    with threadpool_limits(n_threads):
        fits[what](X[few], groups[few])  # loads compiled code
        before = peak()
        found, seconds = least_seconds(lambda: fits[what](X, groups))
    grown = peak() - before
    cost = largest_cost(X, groups, found.cluster_centers_)
    print(json.dumps({"seconds": seconds, "cost": cost, "memory": grown}))


def run(name: str, what: str, n_threads: int, options) -> dict[str, float]:
    """Measure in a process of its own."""
    environment = os.environ | {
        name: str(n_threads)
        for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    }
    if options.src is not None:
        environment["PYTHONPATH"] = options.src
    done = subprocess.run(
        [sys.executable, __file__, "--measure", what, "--effort", str(options.effort),
         name],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def reference_of(name: str, options) -> tuple[str, float]:
    """Return the name and the cost of the reference: stored, or of N_STARTS."""
    stored = json.loads(Path(__file__).with_name("grid_reference.json").read_text())
    if name in stored:
        return "before", stored[name]
    return f"{N_STARTS} starts", run(name, "starts", 2, options)["cost"]


def bench_cells(names: list[str], options) -> None:
    """Print the table: ratios to KMeans with one thread and two, and the excess."""
    row("rows x columns, k, groups", "threads", "KMeans", "cv", "ratio", "pooling=0",
        "ratio", "reference", "excess", "cost of KMeans", "memory")  # fmt: skip
    row(*["---"] * 11)
    for name in names:
        n, d, k, n_groups = CELLS[name]
        against, cost = reference_of(name, options)
        for n_threads in (1, 2):
            plain, chosen, fair = (
                run(name, what, n_threads, options) for what in ("kmeans", "cv", "0")
            )
            row(
                f"{n:,} x {d}, {k}, {n_groups}", n_threads, f"{plain['seconds']:.3f} s",
                f"{chosen['seconds']:.3f} s",
                f"{chosen['seconds'] / plain['seconds']:.1f}",
                f"{fair['seconds']:.3f} s", f"{fair['seconds'] / plain['seconds']:.1f}",
                against, f"{100 * (fair['cost'] / cost - 1):+.3f} %",
                f"{100 * (plain['cost'] / cost - 1):+.1f} %",
                f"{chosen['memory']:.0f} MiB ({plain['memory']:.0f})",
            )  # fmt: skip
            sys.stdout.flush()


def bench_reference(names: list[str], options) -> None:
    """Print the costs of benchmarks/grid_reference.json, and seconds on one thread."""
    for name in names:
        fair = run(name, "0", 1, options)
        print(f'"{name}": {fair["cost"]}  # {fair["seconds"]:.1f} s', flush=True)


def seconds_of(rows: int, columns: int, clusters: int, groups: int):
    """Return CPU seconds of a fit with pooling=0, and those of them in the search."""
    from rawlsian._estimators import kmeans

    X, codes = mixture(rows, columns, clusters, groups)
    spent, own = [], kmeans.search

    def timed(*arguments, **options):
        start = time.process_time()
        found = own(*arguments, **options)
        spent.append(time.process_time() - start)
        return found

    kmeans.search = timed
    try:
        start = time.process_time()
        fitted(X, codes, clusters, pooling=0)
        return time.process_time() - start, sum(spent)
    finally:
        kmeans.search = own


def bench_growth() -> None:
    """Print and draw the growth of time with rows, columns, clusters and groups."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"
    import matplotlib.pyplot as plt

    fitted(*mixture(500, 5, 2, 2), 2)  # loads compiled code
    figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), sharey=True)
    row("CPU time against", "slope", "seconds", "share of the search")
    row(*["---"] * 4)
    for ax, (name, values) in zip(axes, AROUND.items(), strict=True):
        found = np.array([seconds_of(**MIDDLE | {name: value}) for value in values])
        seconds, shares = found[:, 0], found[:, 1] / found[:, 0]
        slope = np.polyfit(np.log(values), np.log(seconds), 1)[0]
        row(
            name, f"{slope:.2f}",
            ", ".join(f"{s:.2f} ({v:,})" for v, s in zip(values, seconds, strict=True)),
            ", ".join(f"{share:.0%}" for share in shares),
        )  # fmt: skip
        sys.stdout.flush()
        ax.loglog(values, seconds, "o-", label="fit")
        ax.loglog(values, found[:, 1], "s--", label="search in it")
        ax.set(xlabel=name, title=f"slope {slope:.2f}")
        names = [f"{v // 1000}k" if v >= 1000 else str(v) for v in values]
        ax.set_xticks(values, names)
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("CPU seconds")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(IMAGE, metadata={"Date": None})


def main() -> None:
    """Run the cells that were named, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cells", nargs="*", choices=[*CELLS, "growth", []])
    parser.add_argument("--effort", type=float, default=1)
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--src", help="folder of another version of the package")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.cells or list(CELLS)
    if options.measure:
        measure(names[0], options.measure, options.effort)
    elif names == ["growth"]:
        bench_growth()
    elif options.reference:
        bench_reference(names, options)
    else:
        bench_cells(names, options)


if __name__ == "__main__":
    main()
