"""Compare the ways to choose a number of clusters.

    .venv/bin/python benchmarks/bench_choosing_k.py known    # clusters that are known
    .venv/bin/python benchmarks/bench_choosing_k.py adult    # samples of Adult

Prints the tables of docs/choosing.md, "How many clusters".
"""

from __future__ import annotations

import sys
from collections import Counter
from unittest import mock

import numpy as np

from rawlsian import load_adult
from rawlsian._core.problem import Problem
from rawlsian._tables import choosing_k
from rawlsian._tables.analysis import plain, sample_of

N_DRAWS = 10
# Number of clusters, columns, people, and the spread of centers in standard deviations.
CASES = ((3, 2, 300, 4.0), (5, 5, 300, 3.0), (8, 5, 500, 4.0), (4, 10, 200, 2.0),
         (4, 10, 200, 1.2), (1, 10, 300, 0.0))  # fmt: skip
NUMBERS = range(1, 13)
# Shares of the variance that a cluster more must gain; 0 is the standard error alone.
PRICES = (0.0, 0.01, choosing_k.LEAST_GAIN, 0.03)


def silent(stage, n_done, n_all):
    """Show no progress."""


def drawn(case, seed):
    """Draw normal clusters, and a small group that has nothing to do with them."""
    n_clusters, n_columns, n_people, spread = case
    rng = np.random.default_rng([*case[:3], seed])
    centers = spread * rng.normal(size=(n_clusters, n_columns))
    X = centers[rng.integers(n_clusters, size=n_people)]
    X = X + rng.normal(size=X.shape)
    return Problem.from_arrays(X, rng.random(n_people) < 0.15)


def numbers_taken(problem, numbers, seed):
    """Return the number that each criterion takes, and held-out cost at each price."""
    labels = [plain(problem, n_clusters, seed).labels for n_clusters in numbers]
    silhouettes = [choosing_k._silhouette(problem.X, each) for each in labels]
    distances = choosing_k.held_out_distances(problem, numbers, seed, silent)
    cost = choosing_k.cost_of_everyone(problem, distances)
    worst = choosing_k.cost_of_worst(problem, distances)
    taken = {
        "silhouette": choosing_k._highest(numbers, silhouettes),
        "held-out-worst": choosing_k.enough(numbers, worst, problem),
    }
    for price in PRICES:
        with mock.patch.object(choosing_k, "LEAST_GAIN", price):
            taken[price] = choosing_k.enough(numbers, cost, problem)
    return taken


def row(*cells):
    """Print a row of a table."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def head(*cells):
    """Print the head of a table."""
    row(*cells)
    row(*["---"] * len(cells))


NAMES = {
    "silhouette": "silhouette",
    **{price: f"held out, {price:.0%}" for price in PRICES},
    "held-out-worst": "held-out-worst",
}


def known():
    """Share of draws in which each way finds the number of clusters."""
    head("clusters", "columns", "people", "spread", *NAMES.values())
    for case in CASES:
        found = [numbers_taken(drawn(case, s), NUMBERS, s) for s in range(N_DRAWS)]
        shares = (
            f"{np.mean([each[name] == case[0] for each in found]):.0%}"
            f" ({np.median([each[name] for each in found]):g})"
            for name in NAMES
        )
        row(*case, *shares)


def adult():
    """Numbers that each way takes on samples of Adult, and how often."""
    data = load_adult()
    whole = Problem.from_arrays(data.data, data.sensitive_features, max_distance=8.0)
    head("people", *NAMES.values())
    for n_people in (1000, 5000):
        found = [
            numbers_taken(sample_of(whole, n_people, seed), range(2, 16), seed)
            for seed in range(5)
        ]
        counts = (Counter(each[name] for each in found) for name in NAMES)
        row(n_people, *(", ".join(map(str, sorted(c.elements()))) for c in counts))


if __name__ == "__main__":
    for task in sys.argv[1:] or ("known", "adult"):
        {"known": known, "adult": adult}[task]()
