"""How near RawlsianKMeans comes to the best that can be done for the worst-off group.

    .venv/bin/python benchmarks/bench_rawls.py samples 5    # 30 Adult samples, k = 5
    .venv/bin/python benchmarks/bench_rawls.py proved 5     # the proved bound on them
    .venv/bin/python benchmarks/bench_rawls.py small        # against brute force
    .venv/bin/python benchmarks/bench_rawls.py whole        # all of Adult

Prints the tables of benchmarks/README.md.
"""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np

from bench_engine import paired_seconds, row

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

N_SAMPLES = 30


def samples():
    """The samples of the study."""
    from rawlsian.study import _data

    adult = _data.load()
    drawn = (s for s in _data.samples_with_the_split(adult, 0) if s is not None)
    return list(islice(drawn, N_SAMPLES))


def start_of(sample, n_clusters):
    """Lowest utility at the paper's start, or the plain utilitarian one; R1's end."""
    from rawlsian import traverse
    from rawlsian.study import _stages

    explored = _stages.explore(sample, n_clusters, 5000)
    start = explored.starts.get("filtered", explored.starts["unfiltered"])
    labels = explored.restarts.labels(start.utilitarian)
    walk = traverse(sample.X, labels, sample.sex, max_distance=8)
    return walk.utilities[0].min(), walk.utilities[-1].min()


def quartiles(values, form):
    low, first, median, third, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    shown = [form.format(v) for v in (median, first, third, low, high)]
    return "{} (quartiles {} to {}; {} to {})".format(*shown)


def bench_samples(n_clusters):
    """Gap closed on Adult samples with the paper's split."""
    from rawlsian import FairLloyd, RawlsianKMeans, group_bound

    closed = {"R1": [], "mean": [], "free": []}
    worse, ratios, seconds = [], [], {"mean": [], "free": []}
    for sample in samples():
        data = {"X": sample.X, "sensitive_features": sample.sex}
        start, r1 = start_of(sample, n_clusters)
        options = {"n_clusters": n_clusters, "max_distance": 8, "random_state": 0}
        bound = group_bound(**data, **options).utility
        reached = {"R1": r1}
        for centers in ("mean", "free"):
            began = time.perf_counter()
            fitted = RawlsianKMeans(centers=centers, **options).fit(**data)
            seconds[centers].append(time.perf_counter() - began)
            reached[centers] = fitted.group_utilities_.min()
        for name, utility in reached.items():
            closed[name].append((utility - start) / (bound - start))
        lloyd = FairLloyd(n_init=1000, **options)
        lloyd_seconds, ours = paired_seconds(
            lambda lloyd=lloyd, data=data: lloyd.fit(**data),
            lambda data=data, options=options: RawlsianKMeans(**options).fit(**data),
            repeats=3,
        )
        ratios.append(np.median(ours / lloyd_seconds))
        worse.append((8 - reached["free"]) / lloyd.group_costs_.max() - 1)
    row("gap closed by", "median (quartiles; range)", "seconds, median")
    row("---", "---", "---")
    row("R1", quartiles(closed["R1"], "{:.1%}"), "")
    for centers in ("mean", "free"):
        row(
            f'`RawlsianKMeans(centers="{centers}")`',
            quartiles(closed[centers], "{:.1%}"),
            f"{np.median(seconds[centers]):.2f}",
        )
    worse = np.array(worse)
    print()
    row("free centers against 1000 starts of FairLloyd", "measured")
    row("---", "---")
    row(
        "as good (a share of 1e-6) or better", f"{(worse < 1e-6).sum()} of {len(worse)}"
    )
    row("better", f"{(worse < -1e-6).sum()} of {len(worse)}")
    row("largest share by which the cost is worse", f"{max(worse.max(), 0):.2e}")
    row("time, as a share of theirs", quartiles(ratios, "{:.2f}"))


def bench_proved(n_clusters):
    """How far the cost found lies above the proved bound."""
    from rawlsian import RawlsianKMeans, proved_bound

    gaps, seconds = [], []
    for sample in samples():
        fitted = RawlsianKMeans(n_clusters, random_state=0)
        fitted.fit(sample.X, sensitive_features=sample.sex)
        began = time.perf_counter()
        bound = proved_bound(
            sample.X, sample.sex, n_clusters=n_clusters,
            group_weights=fitted.group_weights_,
        )  # fmt: skip
        seconds.append(time.perf_counter() - began)
        gaps.append(fitted.group_costs_.max() / bound.cost - 1)
    row("what", "measured")
    row("---", "---")
    row("cost found above the bound", quartiles(gaps, "{:.2%}"))
    row("seconds", quartiles(seconds, "{:.1f}"))


def bench_small():
    """How often the optimum is found on small random data, by brute force."""
    from cases import make_case
    from rawlsian import RawlsianKMeans
    from test_kmeans import least_cost_of_two_groups, partitions

    row("centers", "n", "k", "groups", "optimum found in")
    row(*["---"] * 5)
    for centers, k, n_groups in (
        ("free", 2, 2), ("free", 3, 2), ("mean", 2, 2), ("mean", 3, 2), ("mean", 2, 3),
        ("mean", 3, 3),
    ):  # fmt: skip
        n_found = 0
        for seed in range(200):
            case = make_case(seed, 7, k, n_groups)
            fitted = RawlsianKMeans(k, centers=centers, max_distance=10, random_state=0)
            lowest = fitted.fit(case.X, sensitive_features=case.groups)
            lowest = lowest.group_utilities_.min()
            if centers == "free":
                best = 10 - min(
                    least_cost_of_two_groups(case, p) for p in partitions(7, k)
                )
            else:
                best = max(case.reference.utilities(p).min() for p in partitions(7, k))
            n_found += lowest > best - 1e-6
        row(centers, 7, k, n_groups, f"{n_found} of 200")


def bench_whole():
    """RawlsianKMeans on all of Adult against KMeans."""
    from sklearn.cluster import KMeans

    from rawlsian import RawlsianKMeans, load_adult

    adult = load_adult()
    ours, theirs = paired_seconds(
        lambda: RawlsianKMeans(5, random_state=0).fit(
            adult.data, sensitive_features=adult.sensitive_features
        ),
        lambda: KMeans(5, n_init=10, random_state=0).fit(adult.data),
        repeats=3,
    )
    row("what", "measured")
    row("---", "---")
    row("`RawlsianKMeans(5)`, seconds", f"{np.median(ours):.1f}")
    row("`KMeans(5, n_init=10)`, seconds", f"{np.median(theirs):.1f}")
    row("ratio, median of pairs", f"{np.median(ours / theirs):.1f}")


def main(name, *arguments):
    bench = globals()[f"bench_{name}"]
    print(f"{bench.__doc__}\n")
    bench(*map(int, arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
