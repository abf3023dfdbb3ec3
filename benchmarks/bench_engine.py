"""Time the engine: ratios within one warm process, medians of repeats.

    .venv/bin/python benchmarks/bench_engine.py            # everything
    .venv/bin/python benchmarks/bench_engine.py r1 pairs   # two parts

Prints the tables of benchmarks/README.md.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))


def paired_seconds(first, second, repeats):
    """Time two functions in turns, so that both have the same noise."""
    first(), second()  # warm
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        first()
        between = time.perf_counter()
        second()
        seconds.append((between - started, time.perf_counter() - between))
    return np.array(seconds).T


def spread(seconds):
    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75]) * 1e3
    return f"{middle:.4g} ms (quartiles {low:.4g} to {high:.4g})"


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def golden_case():
    from support.golden import Golden

    return Golden()


def bench_r1():
    """R1 traversal against scikit-learn's KMeans on the same data."""
    from sklearn.cluster import KMeans

    from rawlsian import traverse

    golden = golden_case()
    ours, theirs = paired_seconds(
        lambda: traverse(golden.X, golden.labels, golden.sex, max_distance=8.0),
        lambda: KMeans(5, n_init=10, random_state=0).fit(golden.X),
        repeats=101,
    )
    row("R1 traversal of the golden case, 151 iterations", spread(ours))
    row("`KMeans(5, n_init=10).fit` on the same data", spread(theirs))
    row("ratio, median of pairs", f"{np.median(ours / theirs):.2f}")


def bench_reference():
    """One R1 iteration against the reference that recomputes everything."""
    from rawlsian import traverse
    from support.reference import Reference

    golden = golden_case()
    groups = (golden.sex == "Male").astype(int)
    reference = Reference(golden.X, groups, max_distance=8.0)

    def ours(steps):
        traverse(golden.X, golden.labels, golden.sex, max_distance=8.0, max_iter=steps)

    # 101 steps minus 1 step: the cost of an iteration without the preparation.
    many, one = paired_seconds(lambda: ours(101), lambda: ours(1), repeats=31)
    iteration = np.median(many - one) / 100
    started = time.perf_counter()
    reference.traverse(golden.labels, "R1", max_iter=1)
    slow = time.perf_counter() - started
    row("one R1 iteration", f"{iteration * 1e6:.3g} us")
    row("recomputed from scratch (`tests/support/reference.py`)", f"{slow:.3g} s")
    row("ratio", f"{slow / iteration:,.0f}")


def bench_pairs():
    """Exhaustive R2 over all 7,992,000 pairs, selection included."""
    from rawlsian import R2, R2Exhaustive, traverse
    from rawlsian._core.assignment import Assignment
    from rawlsian._core.problem import Problem
    from rawlsian.operators.proposals import select

    golden = golden_case()
    problem = Problem.from_arrays(golden.X, golden.sex, max_distance=8.0)
    assignment = Assignment(problem, golden.labels)

    def best(operator):
        select(operator.generate(assignment), assignment)

    bounded, every = paired_seconds(
        lambda: best(R2Exhaustive()), lambda: best(R2Exhaustive(keep_all=True)), 31
    )
    pruned, _ = paired_seconds(lambda: best(R2()), lambda: None, 31)
    row("every pair evaluated (`keep_all=True`)", spread(every))
    row("pairs per second", f"{7.992 / np.median(every):.0f} million")
    row("best pair, with most pairs excluded by bounds", spread(bounded))
    row("R2 as in the paper, one iteration", spread(pruned))
    started = time.perf_counter()
    trajectory = traverse(golden.X, golden.labels, golden.sex, operator="R2-exhaustive")
    seconds = time.perf_counter() - started
    row(f"traversal, {trajectory.n_iter} iterations", f"{seconds:.1f} s")


def golden_walk(utility, operator, steps=None):
    """Return a function that walks from the golden start."""
    from rawlsian import traverse

    golden = golden_case()
    return lambda: traverse(
        golden.X, golden.labels, golden.sex, operator=operator, utility=utility,
        max_iter=steps,
    )  # fmt: skip


def nearest_step(name, operator, steps, repeats):
    """Print the time of a step under both utilities, without the preparation."""
    walks = [
        paired_seconds(
            *(golden_walk(utility, operator, n) for utility in ("nearest", "assigned")),
            repeats,
        )
        for n in (steps + 1, 1)
    ]
    nearest, assigned = np.median(walks[0] - walks[1], axis=1) / steps
    row(
        f"one step of {name}, nearest and assigned",
        f"{nearest * 1e3:.3g} ms and {assigned * 1e3:.3g} ms, ratio "
        f"{nearest / assigned:.1f}",
    )


def nearest_traversal():
    """Print the time of the whole walk of R1 and of KMeans."""
    from sklearn.cluster import KMeans

    X = golden_case().X
    ours, theirs = paired_seconds(
        golden_walk("nearest", "R1"),
        lambda: KMeans(5, n_init=10, random_state=0).fit(X),
        repeats=51,
    )
    row("R1 traversal of the golden case, nearest, 511 steps", spread(ours))
    row("`KMeans(5, n_init=10).fit` on the same data", spread(theirs))
    row("ratio, median of pairs", f"{np.median(ours / theirs):.2f}")


def bench_nearest():
    """The paper's utility, the nearest mean, against the assigned mean."""
    from rawlsian import R2Exhaustive

    nearest_traversal()
    nearest_step("R1", "R1", steps=100, repeats=31)
    nearest_step("R2", "R2", steps=20, repeats=11)
    nearest_step("R2-exhaustive", "R2-exhaustive", steps=20, repeats=11)
    keep_all = R2Exhaustive(keep_all=True)
    nearest_step("R2-exhaustive, `keep_all=True`", keep_all, steps=2, repeats=3)


def bench_restarts():
    """Many k-means runs against a loop of scikit-learn's KMeans, per run."""
    from sklearn.cluster import KMeans

    from rawlsian import kmeans_restarts

    golden = golden_case()
    seeds = iter(range(10_000))

    def theirs():
        for _ in range(500):
            KMeans(5, n_init=1, init="random", random_state=next(seeds)).fit(golden.X)

    def ours():
        kmeans_restarts(
            golden.X, 5, n_runs=5000, sensitive_features=golden.sex, random_state=0
        )

    def ours_on_one_thread():
        os.environ["NUMBA_NUM_THREADS"] = "1"
        ours()
        del os.environ["NUMBA_NUM_THREADS"]

    for name, function in (("", ours), (", one thread", ours_on_one_thread)):
        many, loop = paired_seconds(function, theirs, repeats=9)
        row(f"`kmeans_restarts`, 5000 runs{name}, per run", spread(many / 5000))
        row('`KMeans(5, n_init=1, init="random").fit`', spread(loop / 500))
        ratios = np.quantile(loop / 500 / (many / 5000), [0.5, 0, 1])
        row("ratio, median of pairs", "{:.1f} ({:.1f} to {:.1f})".format(*ratios))
    for n_runs in (100, 2000):
        command = [sys.executable, "-c", RESTARTS, str(n_runs)]
        memory = float(subprocess.check_output(command))
        row(f"memory besides X, {n_runs} runs on 30,718 rows", f"{memory:.0f} MiB")


# Functions that measure the peak of memory since reset_peak.
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmHWM"].split()[0]) * 1024


def reset_peak():
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    return peak()

"""

RESTARTS = f"""
import sys
from rawlsian import kmeans_restarts, load_adult
{PEAK}
X = load_adult().data
kmeans_restarts(X[:1000], 5, n_runs=100)  # warm
before = reset_peak()
kmeans_restarts(X, 5, n_runs=int(sys.argv[1]))
print((peak() - before) / 2**20)
"""

LARGE = f"""
import sys, threading, time
import numpy as np
from rawlsian import load_adult, traverse
from rawlsian._support.threads import n_threads
{PEAK}

def copied_a_second():
    # Bytes that copies on all threads read and write, as STREAM counts them.
    arrays = [(np.zeros(2**23), np.ones(2**23)) for _ in range(n_threads())]
    seconds = []
    for _ in range(7):
        threads = [threading.Thread(target=np.copyto, args=pair) for pair in arrays]
        started = time.perf_counter()
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        seconds.append(time.perf_counter() - started)
    return len(arrays) * 2**27 / np.median(seconds)

n, utilities = int(sys.argv[1]), sys.argv[2:]
adult = load_adult()
rng = np.random.default_rng(0)
# Adult's rows drawn with replacement, numbers jittered, so that rows differ.
X = np.empty((n, 42))
groups = np.empty(n, dtype=bool)
for start in range(0, n, 100_000):
    rows = rng.integers(len(adult.data), size=min(100_000, n - start))
    X[start : start + len(rows)] = adult.data[rows]
    X[start : start + len(rows), :5] += rng.normal(scale=0.01, size=(len(rows), 5))
    groups[start : start + len(rows)] = adult.sensitive_features[rows] == "Male"
labels = (X[:, 0] * 20).astype(np.int32) % 5
if "nearest" in utilities:  # from k-means, as in use; else all rows are near all means
    from sklearn.cluster import KMeans

    labels = KMeans(5, n_init=1, random_state=0).fit(X[:1000]).predict(X)
few = X[:2000], labels[:2000], groups[:2000]
for utility in utilities:
    traverse(*few, utility=utility, max_iter=3)  # warm

    before = reset_peak()
    steps = []
    traverse(
        X, labels, groups, utility=utility, max_iter=22, max_distance=8.0,
        callback=lambda step: steps.append(time.perf_counter()),
    )
    print(np.median(np.diff(steps)), peak() - before)
print(copied_a_second())
"""


def large_walks(n, *utilities):
    """Return seconds of a step and memory for each utility, and bytes copied."""
    done = subprocess.run(
        [sys.executable, "-c", LARGE, str(n), *utilities],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    *walks, copied = done.stdout.splitlines()
    return [tuple(map(float, line.split())) for line in walks], float(copied)


def memory_cells(n, memory):
    """Format the growth of memory. Small n hide it: a process has some to spare."""
    if n < 300_000:
        return "", ""
    products = n * 2 * 5 * 8
    return f"{memory / 2**20:.0f} MiB", f"{memory / products:.2f}"


SIZES = (1_000, 10_000, 100_000, 300_000, 1_000_000)


def bench_large():
    """R1 for growing n: time per iteration, and memory besides X in units of P."""
    row("n", "one R1 iteration", "per row", "memory besides X", "in units of P")
    row(*["---"] * 5)
    for n in SIZES:
        [(seconds, memory)], _ = large_walks(n, "assigned")
        row(
            f"{n:,}",
            f"{seconds * 1e3:.3g} ms",
            f"{seconds / n * 1e9:.3g} ns",
            *memory_cells(n, memory),
        )


def bench_large_nearest():
    """R1 under the nearest mean for growing n, from k-means."""
    row(
        "n", "one R1 iteration", "per row", "assigned, per row",
        "a copy moves in that time, per row", "memory besides X", "in units of P",
    )  # fmt: skip
    row(*["---"] * 7)
    for n in SIZES:
        [(seconds, memory), (assigned, _)], copied = large_walks(
            n, "nearest", "assigned"
        )
        row(
            f"{n:,}",
            f"{seconds * 1e3:.3g} ms",
            f"{seconds / n * 1e9:.3g} ns",
            f"{assigned / n * 1e9:.3g} ns",
            f"{seconds / n * copied:,.0f} bytes",
            *memory_cells(n, memory),
        )


def bench_whole():
    """R1 on all of Adult, from scikit-learn's KMeans until it stops."""
    from sklearn.cluster import KMeans

    from rawlsian import load_adult, traverse

    adult = load_adult()
    labels = KMeans(5, random_state=0).fit(adult.data).labels_
    traverse(adult.data, labels, adult.sensitive_features, max_iter=3)  # warm
    started = time.perf_counter()
    trajectory = traverse(adult.data, labels, adult.sensitive_features, max_distance=8)
    seconds = time.perf_counter() - started
    row("rows", f"{len(adult.data):,}")
    row("steps", f"{trajectory.n_iter:,}")
    row("seconds", f"{seconds:.0f}")
    row(
        "lowest utility",
        " to ".join(f"{u.min():.4f}" for u in trajectory.utilities[[0, -1]]),
    )


def seconds_in_new_processes(before, timed, repeats=11, **environment):
    """Time a statement in new processes that ran another one before."""
    program = (
        f"import time; {before}; t = time.perf_counter(); {timed}; "
        "print(time.perf_counter() - t)"
    )
    inherited = {**os.environ, **environment}
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)  # slows imports down
    command = [sys.executable, "-c", program]
    return [
        float(subprocess.check_output(command, env=inherited)) for _ in range(repeats)
    ]


def bench_import():
    """Time of imports, and of the first call with and without a cache."""
    for before, timed in (
        ("pass", "import sklearn"),
        ("import sklearn", "import rawlsian"),
        ("import sklearn", "from rawlsian import RawlsianPostprocessor"),
    ):
        seconds = statistics.median(seconds_in_new_processes(before, timed))
        row(f"`{timed}` after `{before}`", f"{seconds:.3f} s")
    with tempfile.TemporaryDirectory() as folder:
        cold, *warm = seconds_in_new_processes(
            "from rawlsian import traverse",
            "traverse([[0.], [1.], [5.]], [0, 1, 0], ['a', 'b', 'a'], operator='R2')",
            repeats=6,
            NUMBA_CACHE_DIR=folder,
        )
    row("first R2 traversal, without a cache of compiled code", f"{cold:.1f} s")
    row(
        "first R2 traversal of a process, with the cache",
        f"{statistics.median(warm):.2f} s",
    )


BENCHMARKS = {
    "r1": bench_r1,
    "reference": bench_reference,
    "pairs": bench_pairs,
    "nearest": bench_nearest,
    "restarts": bench_restarts,
    "large": bench_large,
    "large-nearest": bench_large_nearest,
    "whole": bench_whole,
    "import": bench_import,
}


def main(names):
    from rawlsian._support.threads import n_threads

    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("numpy", "scikit-learn", "numba")
    )
    print(f"Python {platform.python_version()}, {versions}, {n_threads()} threads")
    for name in names or BENCHMARKS:
        print(f"\n{BENCHMARKS[name].__doc__}\n")
        if not name.startswith("large"):
            row("measurement", "result")
            row("---", "---")
        BENCHMARKS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
