"""Compare methods with the best possible result for the worst-off group.

    .venv/bin/python benchmarks/bench_rawls.py samples 5    # 30 Adult samples, k = 5
    .venv/bin/python benchmarks/bench_rawls.py proved 5     # the proved bound on them
    .venv/bin/python benchmarks/bench_rawls.py proved 5 6   # on the first six of them
    .venv/bin/python benchmarks/bench_rawls.py optimal 200 3 20  # 20 samples of 200
    .venv/bin/python benchmarks/bench_rawls.py never_above 1000  # against brute force
    .venv/bin/python benchmarks/bench_rawls.py split        # parts of all of Adult
    .venv/bin/python benchmarks/bench_rawls.py split_dask 1 4  # 4 parts, 1 worker
    .venv/bin/python benchmarks/bench_rawls.py busy         # beside other work
    .venv/bin/python benchmarks/bench_rawls.py groups       # by race, and sex and race
    .venv/bin/python benchmarks/bench_rawls.py small        # against brute force
    .venv/bin/python benchmarks/bench_rawls.py whole        # all of Adult

Prints the tables of docs/beyond.md.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np

from bench_engine import paired_seconds, row

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

N_SAMPLES = 30


def samples():
    """Return the samples of the study."""
    from rawlsian.study import data as _data

    adult = _data.load()
    drawn = (s for s in _data.samples_with_the_split(adult, 0) if s is not None)
    return list(islice(drawn, N_SAMPLES))


def start_of(sample, n_clusters):
    """Return the labels of the paper's start, or of the best run if it has none."""
    from rawlsian.study import beyond as _beyond, stages as _stages

    explored = _stages.explore(sample, n_clusters, 5000)
    start = explored.starts[_beyond.start_of(explored)]
    return explored.restarts.labels(start.utilitarian)


def quartiles(values, form):
    low, first, median, third, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    shown = [form.format(v) for v in (median, first, third, low, high)]
    return "{} (quartiles {} to {}; {} to {})".format(*shown)


WALKS = ("R1", "batch", "rawls")
SOLVERS = {"mean": "mean centers", "free": "free centers"}


def bench_samples(n_clusters):
    """Gap closed on Adult samples with the paper's split."""
    from rawlsian import FairLloyd, RawlsianKMeans, group_bound, traverse

    methods = [*WALKS, *SOLVERS]
    lowest, seconds, steps = ({name: [] for name in methods} for _ in range(3))
    starts, bounds, ratios, others, longer, one_by_one = [], [], [], [], [], []
    options = {"n_clusters": n_clusters, "max_distance": 8, "random_state": 0}
    for sample in samples():
        data = {"X": sample.X, "sensitive_features": sample.sex}
        labels = start_of(sample, n_clusters)
        bounds.append(group_bound(**data, **options).utility)
        for name in methods:
            began = time.perf_counter()
            if name in WALKS:
                walk = traverse(labels=labels, operator=name, max_distance=8, **data)
                reached = walk.utilities[-1].min()
                steps[name].append(walk.n_iter)
            else:
                fitted = RawlsianKMeans(centers=name, **options, pooling=0).fit(**data)
                reached = fitted.group_utilities_.min()
            seconds[name].append(time.perf_counter() - began)
            lowest[name].append(reached)
        starts.append(walk.utilities[0].min())
        lloyd = FairLloyd(n_init=1000, **options)
        lloyd_seconds, ours = paired_seconds(
            lambda lloyd=lloyd, data=data: lloyd.fit(**data),
            lambda data=data: RawlsianKMeans(**options, pooling=0).fit(**data),
            repeats=3,
        )
        ratios.append(np.median(ours / lloyd_seconds))
        others.append(lloyd.group_utilities_.min())
        one_by_one.append(
            paired_seconds(
                lambda data=data: FairLloyd(n_init=1, **options).fit(**data),
                lambda data=data: RawlsianKMeans(**options, pooling=0).fit(**data),
                repeats=5,
            )
        )
        fitted = RawlsianKMeans(effort=4, **options, pooling=0)
        longer.append(fitted.fit(**data).group_utilities_.min())
    start, bound = np.array(starts), np.array(bounds)
    row(f"k = {n_clusters}", "gap closed", "steps", "seconds, median")
    row("---", "---", "---", "---")
    for name in methods:
        closed = (np.array(lowest[name]) - start) / (bound - start)
        row(
            SOLVERS.get(name, name),
            quartiles(closed, "{:.1%}"),
            f"{np.median(steps[name]):g}" if name in WALKS else "",
            f"{np.median(seconds[name]):.2f}",
        )
    print()
    row(f"k = {n_clusters}", "measured")
    row("---", "---")
    n_below = np.sum(np.array(lowest["rawls"]) < np.array(lowest["R1"]) - 1e-12)
    row("samples in which rawls ends below R1", f"{n_below} of {len(starts)}")
    higher = np.array(lowest["batch"]) - np.array(lowest["R1"])
    row("batch ends above R1 by, in thousandths", quartiles(1e3 * higher, "{:.3f}"))
    free = 8 - np.array(lowest["free"])
    worse = free / (8 - np.array(others)) - 1
    row(
        "free centers match 1000 Fair-Lloyd starts to a relative 1e-6",
        f"{(worse < 1e-6).sum()} of {len(worse)}",
    )
    row(
        "free centers are better by more than that",
        f"{(worse < -1e-6).sum()} of {len(worse)}",
    )
    row("largest relative excess of their cost", f"{max(worse.max(), 0):.2e}")
    row("time relative to 1000 Fair-Lloyd starts", quartiles(ratios, "{:.2f}"))
    shares = [np.median(ours / (1000 * theirs)) for theirs, ours in one_by_one]
    row("time relative to 1000 fits with one start each", quartiles(shares, "{:.3f}"))
    gain = free / (8 - np.array(longer)) - 1
    row(
        "a search four times as long is better by a relative 1e-6 in",
        f"{(gain > 1e-6).sum()} of {len(gain)}, by up to {max(gain.max(), 0):.2e}",
    )


def bench_proved(n_clusters, n_samples=N_SAMPLES):
    """Gap between the cost found and the proved bound; the time includes the search."""
    from rawlsian import check_certificate, group_bound, proved_bound, traverse

    gaps, seconds, possible, checks = [], [], [], []
    options = {"n_clusters": n_clusters, "max_distance": 8, "random_state": 0}
    limits = {"target_gap": 0.002, "max_iter": 2000, "time_limit": 5 * n_clusters}
    for sample in samples()[:n_samples]:
        began = time.perf_counter()
        bound = proved_bound(sample.X, sample.sex, **options, **limits)
        seconds.append(time.perf_counter() - began)
        gaps.append(bound.gap)
        began = time.perf_counter()
        check_certificate(bound.certificate, sample.X, sample.sex)
        checks.append(time.perf_counter() - began)
        labels = start_of(sample, n_clusters)
        walk = traverse(sample.X, labels, sample.sex, max_distance=8, max_iter=0)
        start = walk.utilities[0].min()
        best_known = group_bound(sample.X, sample.sex, **options).utility
        possible.append((bound.utility - start) / (best_known - start))
    row(f"k = {n_clusters}", "measured")
    row("---", "---")
    row("cost found above the bound", quartiles(gaps, "{:.2%}"))
    row("seconds", quartiles(seconds, "{:.1f}"))
    row("seconds of `check_certificate`", quartiles(checks, "{:.1f}"))
    row("gap closed, at most, by any clustering", quartiles(possible, "{:.1%}"))


def bench_optimal(n_rows, n_clusters, n_samples):
    """Samples of Adult in which the best clustering found is proved optimal."""
    from rawlsian import load_adult, proved_bound

    row(f"n = {n_rows}, k = {n_clusters}, seed", "gap", "nodes", "seconds")
    row("---", "---", "---", "---")
    n_optimal = 0
    for seed in range(n_samples):
        adult = load_adult(sample=n_rows // 2, random_state=seed)
        began = time.perf_counter()
        bound = proved_bound(
            adult.data, adult.sensitive_features, n_clusters=n_clusters, max_iter=600,
            tol=1e-6, max_nodes=10_000, time_limit=600, random_state=0,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        n_optimal += bound.is_optimal
        row(seed, f"{bound.gap:.1e}", bound.n_nodes, f"{seconds:.0f}")
    print(f"\nproved optimal: {n_optimal} of {n_samples}")


def group_costs(case, labels, centers):
    """Return the mean cost of each group if rows stay in their clusters."""
    distances = ((case.X - centers[labels]) ** 2).sum(axis=1)
    sizes = np.bincount(case.groups, case.weights)
    return np.bincount(case.groups, case.weights * distances) / sizes


def bench_never_above(n_cases):
    """Proved bounds above the optimum, with weights, many groups and pooled costs."""
    from rawlsian import proved_bound
    from rawlsian._search.leximin import leximin_centers
    from support.brute_force import partitions
    from support.cases import make_case

    n_above, closest = 0, np.inf
    kinds = ("continuous", "grid", "duplicates")
    for seed in range(n_cases):
        k, n_groups = 1 + seed % 3, 1 + seed % 4
        weights = ("ones", "floats")[seed // 2 % 2]
        pooling = (0.0, 1.0, 10.0)[seed % 3]
        case = make_case(seed, 7, k, n_groups, rows=kinds[seed % 3], weights=weights)
        problem = case.problem.pooled(pooling)
        none, best = np.zeros((k, case.X.shape[1])), np.inf
        for labels in partitions(7, k):
            centers = leximin_centers(problem, labels.astype(np.int32), none)
            costs = group_costs(case, labels, centers)
            best = min(best, problem.pooling.means(costs, problem.people).max())
        bound = proved_bound(
            case.X, case.groups, n_clusters=k, sample_weight=case.weights,
            pooling=pooling, max_iter=100, max_rows=(1000, 4)[seed % 2],
            split=seed % 4 == 1, max_nodes=1 + 4 * (seed % 5 == 0), random_state=0,
        )  # fmt: skip
        n_above += bound.cost > best * (1 + 1e-12) + 1e-12
        closest = min(closest, (best - bound.cost) / max(best, 1e-300))
    print(f"proved bound above the optimum: {n_above} of {n_cases}")
    print(f"smallest relative distance below it: {closest:.1e}")


def whole_in_parts(n_parts=None):
    """Bound all of Adult, or some parts of it, with rows split; return it."""
    from rawlsian import load_adult, proved_bound

    adult = load_adult()
    rows = slice(None) if n_parts is None else slice(0, 1600 * n_parts)
    return proved_bound(
        adult.data[rows], adult.sensitive_features[rows], n_clusters=5, split=True,
        max_iter=400, target_gap=0.003, random_state=0,
    )  # fmt: skip


def bench_split():
    """All of Adult, split into miniatures, on all cores."""
    began = time.perf_counter()
    bound = whole_in_parts()
    minutes = (time.perf_counter() - began) / 60
    row("all of Adult, k = 5, split", "measured")
    row("---", "---")
    row("parts", len(bound.certificate.multipliers))
    row("rows of the largest", bound.n_rows)
    row("proved gap", f"{bound.gap:.2%}")
    row("minutes", f"{minutes:.1f}")


def bench_split_dask(n_workers, n_parts):
    """Some parts of Adult on Dask workers with one thread each; compare 1 and 2."""
    import joblib
    from dask.distributed import Client

    with Client(n_workers=n_workers, threads_per_worker=1):
        began = time.perf_counter()
        with joblib.parallel_config(backend="dask"):
            bound = whole_in_parts(n_parts)
        seconds = time.perf_counter() - began
    n_found = len(bound.certificate.multipliers)
    print(f"{n_workers} workers, {n_found} parts: {seconds:.1f} s, bound {bound.cost}")


def bench_busy():
    """Seconds of proved_bound alone, and beside a process that keeps each core busy."""
    import subprocess

    from rawlsian import proved_bound

    sample = samples()[0]
    options = {"n_clusters": 5, "max_iter": 100, "random_state": 0}
    cores = len(os.sched_getaffinity(0))
    for n_others in (0, cores):
        others = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(n_others)
        ]
        began = time.perf_counter()
        proved_bound(sample.X, sample.sex, **options)
        seconds = time.perf_counter() - began
        for other in others:
            other.kill()
        print(f"{n_others} other processes: {seconds:.1f} s")


def bench_groups():
    """Lowest utility of more than two groups, compared with FairLloyd."""
    from rawlsian import FairLloyd, RawlsianKMeans, load_adult

    row(
        "groups", "k", "number", "lowest utility", "200 FairLloyd starts", "no lower in"
    )
    row(*["---"] * 6)
    for columns in (["race"], ["sex", "race"]):
        for n_clusters in (3, 5, 10):
            pairs, n_groups = [], set()
            for sample in samples():
                adult = load_adult(sample=500, random_state=sample.seed)
                groups = np.column_stack([adult.table[name] for name in columns])
                data = {"X": adult.data, "sensitive_features": groups}
                options = {
                    "n_clusters": n_clusters, "max_distance": 8, "random_state": 0,
                }  # fmt: skip
                ours = RawlsianKMeans(**options, pooling=0).fit(**data)
                theirs = FairLloyd(n_init=200, **options).fit(**data)
                pairs.append([f.group_utilities_.min() for f in (ours, theirs)])
                n_groups.add(len(ours.groups_))
            ours, theirs = np.array(pairs).T
            row(
                " and ".join(columns), n_clusters,
                " to ".join(map(str, sorted({min(n_groups), max(n_groups)}))),
                f"{np.median(ours):.4f}", f"{np.median(theirs):.4f}",
                f"{(ours >= theirs - 1e-6).sum()} of {len(ours)}",
            )  # fmt: skip


def bench_small():
    """Optima found on small random data, checked by brute force."""
    from rawlsian import RawlsianKMeans, proved_bound
    from rawlsian._search.leximin import leximin_centers
    from support.brute_force import partitions
    from support.cases import make_case

    def least(case, labels, centers):
        if centers == "mean":
            return 10 - case.reference.utilities(labels).min()
        none = np.zeros((labels.max() + 1, case.X.shape[1]))
        best = leximin_centers(case.problem, labels.astype(np.int32), none)
        return group_costs(case, labels, best).max()

    n = 8
    row("centers", "rows", "k", "groups", "optimum found in")
    row(*["---"] * 5)
    n_above = n_bounds = 0
    for centers in ("mean", "free"):
        for k, n_groups in ((2, 2), (3, 2), (2, 3), (3, 3)):
            n_found = 0
            for seed in range(200):
                case = make_case(seed, n, k, n_groups)
                best = min(least(case, labels, centers) for labels in partitions(n, k))
                fitted = RawlsianKMeans(k, centers=centers, random_state=0, pooling=0)
                fitted.fit(case.X, sensitive_features=case.groups)
                n_found += fitted.group_costs_.max() < best + 1e-6
                if centers == "free":
                    bound = proved_bound(
                        case.X, case.groups, n_clusters=k, random_state=0
                    )
                    n_bounds += 1
                    n_above += bound.cost > best * (1 + 1e-12) + 1e-12
            row(centers, n, k, n_groups, f"{n_found} of 200")
    print(f"\nproved bound above the optimum: {n_above} of {n_bounds}")


def bench_whole():
    """RawlsianKMeans on all of Adult against KMeans."""
    from sklearn.cluster import KMeans

    from rawlsian import RawlsianKMeans, load_adult, proved_bound, traverse

    adult = load_adult()
    ours, theirs = paired_seconds(
        lambda: RawlsianKMeans(5, random_state=0, pooling=0).fit(
            adult.data, sensitive_features=adult.sensitive_features
        ),
        lambda: KMeans(5, n_init=10, random_state=0).fit(adult.data),
        repeats=3,
    )
    began = time.perf_counter()
    bound = proved_bound(
        adult.data, adult.sensitive_features, n_clusters=5, random_state=0
    )
    bound_seconds = time.perf_counter() - began
    row("all of Adult, k = 5", "measured")
    row("---", "---")
    row("`RawlsianKMeans(5)`, seconds", f"{np.median(ours):.1f}")
    row("`KMeans(5, n_init=10)`, seconds", f"{np.median(theirs):.1f}")
    row("ratio, median of pairs", f"{np.median(ours / theirs):.1f}")
    row(f"proved gap, with rows merged to {bound.n_rows}", f"{bound.gap:.2%}")
    row("proved bound, seconds", f"{bound_seconds:.1f}")
    print()
    row("all of Adult, k = 5, from KMeans", "steps", "lowest utility", "seconds")
    row("---", "---", "---", "---")
    labels = KMeans(5, n_init=10, random_state=0).fit(adult.data).labels_
    for operator in ("R1", "batch", "rawls"):
        began = time.perf_counter()
        walk = traverse(
            adult.data, labels, adult.sensitive_features, operator=operator,
            max_distance=8,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        lowest = f"{walk.utilities[0].min():.4f} to {walk.utilities[-1].min():.4f}"
        row(operator, walk.n_iter, lowest, f"{seconds:.1f}")


def main(name, *arguments):
    bench = globals()[f"bench_{name}"]
    print(f"{bench.__doc__}\n")
    bench(*map(int, arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
