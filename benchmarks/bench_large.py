"""Time out-of-core fits: one pass, a fit, accuracy, growth with rows, and Dask.

python benchmarks/bench_large.py pass [ROWS]      one pass, compared with scikit-learn
python benchmarks/bench_large.py fit [ROWS]       time and memory of a fit
python benchmarks/bench_large.py close [ROWS]     out of core against in memory
python benchmarks/bench_large.py slope            growth of time from 1e5 to 1e7 rows
python benchmarks/bench_large.py dask [ROWS]      one and two workers against threads
python benchmarks/bench_large.py cost             estimate for 1e8 and 1e9 rows

Rows are 40 columns of float32, mapped from a file in a temporary folder; k is 10.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min

from rawlsian import PassStep, RawlsianKMeans, open_blocks
from rawlsian._outofcore.placing import Rule, Sums
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._rows.opening import BLOCK_SIZE, as_blocks

N_COLUMNS, N_CLUSTERS, N_GROUPS = 40, 10, 2
CHUNK = 500_000


def make_rows(path: Path, n_rows: int, n_columns: int = N_COLUMNS) -> np.ndarray:
    """Write twelve overlapping clouds, wider for the second group; return groups."""
    rng = np.random.default_rng(0)
    centers = 1.5 * rng.standard_normal((12, n_columns), dtype=np.float32)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, n_columns))
    groups = np.empty(n_rows, np.int32)
    for start in range(0, n_rows, CHUNK):
        stop = min(start + CHUNK, n_rows)
        cloud = rng.integers(0, 12, stop - start)
        groups[start:stop] = rng.random(stop - start) < np.where(cloud < 4, 0.7, 0.1)
        wide = (1 + 0.5 * groups[start:stop, None]).astype(np.float32)
        noise = rng.standard_normal((stop - start, n_columns), dtype=np.float32)
        X[start:stop] = centers[cloud] + wide * noise
    X.flush()
    return groups


@contextmanager
def rows_on_disk(n_rows: int, n_columns: int = N_COLUMNS):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        yield path, make_rows(path, n_rows, n_columns)


def seconds_of(function, repeats: int = 3) -> float:
    """Return the shortest time, as other work can only slow a run down."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def some_centers(path: Path) -> np.ndarray:
    return np.load(path, mmap_mode="r")[:: 100_003 // N_CLUSTERS][:N_CLUSTERS].astype(
        float
    )


def bench_pass(n_rows: int) -> None:
    with rows_on_disk(n_rows) as (path, groups):
        blocks, X = open_blocks(path), np.load(path, mmap_mode="r")
        large = OutOfCoreProblem.of(blocks, groups)
        centers = some_centers(path)
        rule, shift = Rule.nearest(centers), np.zeros(N_COLUMNS)
        narrow = centers.astype(np.float32)

        def assign_alone():
            for start in range(0, n_rows, BLOCK_SIZE):
                pairwise_distances_argmin_min(X[start : start + BLOCK_SIZE], narrow)

        ours = seconds_of(lambda: large.assign(rule, shift))
        theirs = seconds_of(assign_alone)
        print(
            f"one pass, {n_rows:,} x {N_COLUMNS} float32, k = {N_CLUSTERS}: labels and "
            f"sums {ours:.2f} s, scikit-learn's labels {theirs:.2f} s, ratio "
            f"{ours / theirs:.2f}"
        )


class Memory:
    """Peak of this process's anonymous memory (not backed by a file)."""

    def __enter__(self):
        self.most, self.is_over = 0, threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self):
        while not self.is_over.wait(0.05):
            self.most = max(self.most, anonymous_bytes())

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


def anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return 1024 * int(line.split()[1])
    raise OSError("/proc/self/status has no RssAnon on this machine")


def fit(X, groups, **options):
    """Fit; return the model, the seconds, and those of the passes at the end."""
    passes = []

    def record(step):
        if isinstance(step, PassStep):
            passes.append(time.perf_counter())

    model = RawlsianKMeans(
        N_CLUSTERS, random_state=0, callback=record, **options, pooling=0
    )
    started = time.perf_counter()
    model.fit(X, sensitive_features=groups)
    # The second pass draws the sample; the passes after the search finish the fit.
    finish = passes[-1] - passes[2] if len(passes) > 2 else 0.0
    return model, time.perf_counter() - started, finish


def bench_fit(n_rows: int) -> None:
    with rows_on_disk(n_rows) as (path, groups):
        for centers in ("free", "mean"):
            with Memory() as memory:
                model, seconds, finish = fit(open_blocks(path), groups, centers=centers)
            print(
                f"fit, {n_rows:,} x {N_COLUMNS}, k = {N_CLUSTERS}, {centers} centers: "
                f"{seconds:.1f} s, {model.n_passes_} passes, the last "
                f"{model.n_passes_ - 3} in {finish:.1f} s; most memory besides the "
                f"file {memory.most / 2**30:.2f} GiB"
            )


def bench_close(n_rows: int) -> None:
    """Compare with fits in memory, on fewer columns and clusters, which take long."""
    for centers, n in (("free", n_rows), ("mean", n_rows // 10)):
        with rows_on_disk(n, 10) as (path, groups):
            X = np.load(path).astype(float)
            for seed in range(2):
                largest, seconds = [], []
                for rows in (open_blocks(path), X):
                    model = RawlsianKMeans(
                        5, centers=centers, random_state=seed, pooling=0
                    )
                    started = time.perf_counter()
                    model.fit(rows, sensitive_features=groups)
                    seconds.append(time.perf_counter() - started)
                    largest.append(float(model.group_costs_.max()))
                print(
                    f"{n:,} x 10, k = 5, {centers} centers, seed {seed}: largest mean "
                    f"cost {largest[0]:.6f} out of core ({seconds[0]:.0f} s), "
                    f"{largest[1]:.6f} in memory ({seconds[1]:.0f} s), "
                    f"{largest[0] / largest[1] - 1:+.5%}",
                    flush=True,
                )


def bench_slope() -> None:
    sizes, whole, passing = (100_000, 1_000_000, 10_000_000), [], []
    for n_rows in sizes:
        with rows_on_disk(n_rows) as (path, groups):
            _, seconds, _ = fit(open_blocks(path), groups)
            large = OutOfCoreProblem.of(open_blocks(path), groups)
            rule, shift = Rule.nearest(some_centers(path)), np.zeros(N_COLUMNS)
            one = seconds_of(partial(large.assign, rule, shift))
        whole.append(seconds)
        passing.append(one)
        print(
            f"{n_rows:>12,} rows: whole fit {seconds:7.1f} s, one pass {one:8.4f} s, "
            f"{1e9 * one / n_rows:6.1f} ns a row",
            flush=True,
        )
    slope = np.polyfit(np.log10(sizes), np.log10(passing), 1)[0]
    a_row = (whole[-1] - whole[-2]) / (sizes[-1] - sizes[-2])
    print(
        f"the time of a pass grows with the power {slope:.2f} of the rows; a fit takes "
        f"{whole[-2]:.0f} s for the search and {1e6 * a_row:.2f} s more for each "
        "million rows beyond a million"
    )


def bench_dask(n_rows: int) -> None:
    import dask.array as da
    from distributed import Client, LocalCluster

    with rows_on_disk(n_rows) as (path, groups):
        centers = some_centers(path)
        rule, shift = Rule.nearest(centers), np.zeros(N_COLUMNS)
        size = 250_000
        own = OutOfCoreProblem.of(open_blocks(path, block_size=BLOCK_SIZE), groups)
        threads = seconds_of(lambda: own.assign(rule, shift), 5)
        print(f"{n_rows:,} x {N_COLUMNS}: two threads {threads:.2f} s per pass")
        times = {}
        for n_workers in (1, 2):
            with (
                LocalCluster(
                    n_workers=n_workers, threads_per_worker=1, dashboard_address=None
                ) as cluster,
                Client(cluster),
            ):
                X = da.map_blocks(
                    read_chunk, str(path), dtype=np.float32,
                    chunks=((size,) * (n_rows // size), (N_COLUMNS,)),
                    meta=np.empty((0, 0), np.float32),
                ).persist()  # fmt: skip
                large = OutOfCoreProblem.of(
                    as_blocks(X), da.from_array(groups, chunks=size)
                )
                one_pass = partial(large.assign, rule, shift)
                times[n_workers] = seconds_of(one_pass, 5)
                print(f"{n_workers} Dask worker(s): {times[n_workers]:.2f} s per pass")
        print(
            f"two workers against one: {times[1] / times[2]:.2f} times as fast; "
            f"against two threads: {times[2] / threads:.2f} times as long"
        )


def read_chunk(path: str, block_info=None):
    (start, stop), _ = block_info[None]["array-location"]
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def seconds_a_task(n_tasks: int = 500) -> float:
    """Return Dask's overhead per block, measured with blocks of one row."""
    import dask.array as da
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        X = da.ones((n_tasks, N_COLUMNS), chunks=(1, N_COLUMNS)).persist()
        large = OutOfCoreProblem.of(as_blocks(X), None)
        rule = Rule.nearest(np.zeros((N_CLUSTERS, N_COLUMNS)))
        return seconds_of(lambda: large.assign(rule, np.zeros(N_COLUMNS))) / n_tasks


def bench_cost(n_rows: int = 2_000_000) -> None:
    """Measure a pass on one core; estimate the time of many workers."""
    block_rows, passes = 1_000_000, 10
    with rows_on_disk(n_rows) as (path, groups):
        one = open_blocks(path, block_size=n_rows)  # one block: one thread
        large = OutOfCoreProblem.of(one, groups)
        rule, shift = Rule.nearest(some_centers(path)), np.zeros(N_COLUMNS)
        a_row = seconds_of(lambda: large.assign(rule, shift)) / n_rows
    a_task = seconds_a_task()
    sums = Sums.zeros(N_CLUSTERS, N_GROUPS, N_COLUMNS)
    a_block = sum(part.nbytes for part in vars(sums).values())
    print(
        f"measured: {1e9 * a_row:.0f} ns per row and pass on one core, "
        f"{1e3 * a_task:.1f} ms of Dask overhead per block; a block sends {a_block:,} "
        f"bytes\nassumed: blocks of {block_rows:,} rows in the workers' "
        f"memory, one core per worker, {passes} passes"
    )
    print(
        "         rows  workers  s a pass  all passes  network a pass  memory a worker"
    )
    for n in (10**8, 10**9):
        for workers in (16, 32, 64):
            n_blocks = n // block_rows
            rounds = -(-n_blocks // workers)  # some workers may idle in the last
            seconds = rounds * block_rows * a_row + n_blocks * a_task
            gigabytes = 4 * n * N_COLUMNS / workers / 1e9
            print(
                f"{n:>13,}  {workers:>7}  {seconds:8.1f}  {passes * seconds:8.0f} s  "
                f"{n_blocks * a_block / 1e6:11.1f} MB  {gigabytes:12.1f} GB"
            )


def main() -> None:
    benches = {
        "pass": (bench_pass, 10_000_000),
        "fit": (bench_fit, 10_000_000),
        "close": (bench_close, 1_000_000),
        "slope": (bench_slope, None),
        "dask": (bench_dask, 5_000_000),
        "cost": (bench_cost, None),
    }
    if len(sys.argv) < 2 or sys.argv[1] not in benches:
        sys.exit(__doc__)
    bench, n_rows = benches[sys.argv[1]]
    if n_rows is None:
        bench()
    else:
        bench(int(float(sys.argv[2])) if len(sys.argv) > 2 else n_rows)


if __name__ == "__main__":
    main()
