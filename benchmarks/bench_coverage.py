"""Measure how often 95 % intervals hold, by simulation.

    .venv/bin/python benchmarks/bench_coverage.py            # both tables
    .venv/bin/python benchmarks/bench_coverage.py audit      # one of them
    .venv/bin/python benchmarks/bench_coverage.py --quick    # a tenth of the samples

``audit``: the intervals of how far each group is behind everyone else. All groups have
the same expected cost, so the true differences are 0. All hold: each interval of a
sample includes 0. No false alarm: no interval is above 0, so that no group is called
clearly behind. ``held_out``: the gain over k-means, and each group's mean cost, of new
people with the centers fitted on all rows; the truth is measured on fresh people of the
same population. Every sample has a population of its own.
"""

from __future__ import annotations

import sys

import numpy as np
from joblib import Parallel, delayed

N_AUDITS, N_HELD_OUT, CHUNK = 500, 80, 20
N_FRESH = 8000  # people of each group
LEAST = 10  # people in a group that has an interval; by default it is 30
SIZES = {
    "10 each": lambda n: [10] * n,
    "30 each": lambda n: [30] * n,
    "300 each": lambda n: [300] * n,
    "10, others 300": lambda n: [10] + [300] * (n - 1),
    "30, others 300": lambda n: [30] + [300] * (n - 1),
}
N_GROUPS = (2, 5, 10)
COSTS = {
    "symmetric": lambda rng, n: np.abs(5 + rng.normal(size=n)),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
}


def audits(costs, sizes, seed):
    """Return whether all intervals held, and whether none was above 0.

    Each in memory and out of core, for some samples.
    """
    from rawlsian import audit, open_blocks

    rng, held = np.random.default_rng(seed), []
    groups = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.zeros(len(groups), int)
    for sample in range(CHUNK):
        # The mean is near 0, and shifts the expected cost of all groups alike.
        signs = rng.choice([-1.0, 1.0], size=len(groups))
        X = (signs * np.sqrt(COSTS[costs](rng, len(groups))))[:, None]
        found = [
            audit(each, labels, groups, max_distance=1, min_group=LEAST,
                  random_state=sample)
            for each in (X, open_blocks(X))
        ]  # fmt: skip
        low, high = np.array([each.intervals.T for each in found]).swapaxes(0, 1)
        no_alarm = (low <= 0).all(axis=1)
        held.append([*(no_alarm & (high >= 0).all(axis=1)), *no_alarm])
    return held


def population(rng, n_groups, is_skewed):
    """Return a function that draws people: four clusters, groups that differ a bit."""
    centers = 1.2 * rng.normal(size=(4, 4))
    shares = rng.dirichlet([2.0] * 4, size=n_groups)
    shifts = 0.4 * rng.normal(size=(n_groups, 4))
    spreads = np.exp(0.1 * rng.normal(size=n_groups))

    def draw(sizes):
        groups = np.repeat(np.arange(n_groups), sizes)
        noise = rng.normal(size=(len(groups), 4))
        if is_skewed:
            noise = np.exp(0.8 * noise) - np.exp(0.32)
        clusters = [rng.choice(4, n, p=p) for n, p in zip(sizes, shares, strict=True)]
        X = centers[np.concatenate(clusters)] + shifts[groups]
        return X + spreads[groups, None] * noise, groups

    return draw


def held_outs(costs, sizes, seed):
    """Return whether the gain and each group's cost lay in their intervals."""
    from sklearn.cluster import KMeans

    from rawlsian import RawlsianKMeans, held_out

    rng, held = np.random.default_rng(seed), []
    for sample in range(CHUNK):
        draw = population(rng, len(sizes), costs == "skewed")
        X, groups = draw(sizes)
        fair = RawlsianKMeans(
            3, pooling=0, n_init=4, n_crossings=8, random_state=sample
        )
        found = held_out(fair, X, groups, random_state=sample)
        fair.fit(X, sensitive_features=groups)
        kmeans = KMeans(3, n_init=10, random_state=sample).fit(X)
        new, of = draw([N_FRESH] * len(sizes))
        true, by_kmeans = (
            np.bincount(of, (each.transform(new) ** 2).min(axis=1)) / N_FRESH
            for each in (fair, kmeans)
        )
        gain = 100 * (1 - true.max() / by_kmeans.max())
        low, high = found.gain_interval
        has = np.isfinite(found.intervals).all(axis=1)
        inside = (found.intervals[:, 0] <= true) & (true <= found.intervals[:, 1])
        small = int(np.argmin(sizes))
        plain = 100 * (1 - found.held_out.max() / found.kmeans_held_out.max())
        held.append(
            [low <= gain <= high, inside[has].mean(), inside[small], gain,
             found.gain, plain, found.gain_in_sample, high - low]
        )  # fmt: skip
    return held


def simulate(function, kinds, n_samples):
    """Yield each case and the figures of all of its samples."""
    cases = [(k, name, n) for k in kinds for name in SIZES for n in N_GROUPS]
    with Parallel(n_jobs=-1, return_as="generator") as parallel:
        for case in cases:
            kind, name, n_groups = case
            chunks = parallel(
                delayed(function)(kind, SIZES[name](n_groups), [n_groups, seed])
                for seed in range(max(n_samples // CHUNK, 1))
            )
            yield case, np.concatenate([np.array(each, float) for each in chunks])


def table(head, rows):
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


def audit_table(n_samples):
    print(f"`audit`: 95 % intervals of all groups at once ({n_samples} samples)\n")
    head = [
        "costs", "people in a group", "groups", "all hold, %", "out of core, %",
        "no false alarm, %", "out of core, %",
    ]  # fmt: skip
    table(head, (
        [kind, name, str(n), *(f"{100 * share:.1f}" for share in held.mean(axis=0))]
        for (kind, name, n), held in simulate(audits, COSTS, n_samples)
    ))  # fmt: skip


def held_out_table(n_samples):
    print(f"`held_out`: how often 95 % intervals hold ({n_samples} samples)\n")
    head = [
        "costs", "people in a group", "groups", "gain, %", "costs of groups, %",
        "cost of the smallest, %", "true gain", "`gain`", "of the maxima",
        "in the sample", "width",
    ]  # fmt: skip
    every = []

    def rows():
        for (kind, name, n), held in simulate(
            held_outs, ("symmetric", "skewed"), n_samples
        ):
            every.append(held.mean(axis=0))
            yield [kind, name, str(n), *figures(every[-1])]
        yield ["all", "", "", *figures(np.mean(every, axis=0))]

    table(head, rows())


def figures(means):
    shares = [f"{100 * each:.1f}" for each in means[:3]]
    return [*shares, *(f"{each:.1f}" for each in means[3:])]


if __name__ == "__main__":
    arguments = sys.argv[1:]
    share = 10 if "--quick" in arguments else 1
    chosen = [each for each in arguments if each != "--quick"] or ["audit", "held_out"]
    if "audit" in chosen:
        audit_table(N_AUDITS // share)
    if "held_out" in chosen:
        held_out_table(max(N_HELD_OUT // share, CHUNK))
