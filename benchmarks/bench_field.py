"""Compare with results that other programs stored, and with packages that install.

    git clone https://github.com/VasilikiPapanikou/UniFair-A-unified-fair-clustering-\
approach-based-on-separation-and-compactness unifair
    git clone https://github.com/ClaireJieZhang/WC_code wc
    git clone https://github.com/antoniosudoso/sos-sdp sos
    .venv/bin/python benchmarks/bench_field.py unifair unifair/.git
    .venv/bin/python benchmarks/bench_field.py welfare wc/.git
    .venv/bin/python benchmarks/bench_field.py exact sos/.git
    .venv/bin/python benchmarks/bench_field.py packages   # those that are installed

Prints the tables of docs/field.md. Data and stored results are read from the newest
commit of the clones. No file that Python would unpickle is read.
"""

from __future__ import annotations

import io
import subprocess
import sys
import time
import zipfile

import numpy as np

from bench_engine import row

# Columns of UniFair's tables that are not attributes: groups, and results.
GROUPS = {"adult": "sex", "bank": "marital", "credit": "MARRIAGE", "student": "sex"}
NO_ATTRIBUTES = {"race", "sex", "marital", "MARRIAGE", "unfair_label", "fair_label"}
CLUSTERS = {"adult": 7, "bank": 5, "credit": 5, "student": 5}

# Data sets of sos-sdp, and numbers of clusters.
INSTANCES = {
    "ruspini": 4, "iris": 3, "wine": 3, "seeds": 3, "glass": 6, "ecoli": 3, "gr202": 6,
}  # fmt: skip


def stored(repository, path):
    """Return a file of the newest commit."""
    command = ["git", f"--git-dir={repository}", "show", f"HEAD:{path}"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def print_commit(repository):
    command = ["git", f"--git-dir={repository}", "rev-parse", "HEAD"]
    commit = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(f"commit {commit}")


def ours(X, groups, n_clusters):
    """Return the largest group cost that we find, and how far it is from the bound."""
    from rawlsian import RawlsianKMeans, proved_bound

    fitted = RawlsianKMeans(n_clusters, pooling=0, random_state=0)
    cost = fitted.fit(X, sensitive_features=groups).group_costs_.max()
    bound = proved_bound(
        X, groups, n_clusters=n_clusters, known_cost=cost, target_gap=0.005,
        time_limit=30, random_state=0,
    )  # fmt: skip
    return cost, cost / bound.cost - 1


def comparison(theirs, cost):
    """Return how much higher their cost is, in words if it is not."""
    return f"{theirs / cost - 1:+.2%}" + ("" if theirs > cost else " (not ahead)")


def bench_unifair(repository):
    """Largest group cost of Fair-Lloyd, as UniFair stored it, and ours on its data."""
    import pandas as pd
    from sklearn.preprocessing import StandardScaler

    print_commit(repository)
    row("data", "k", "theirs, best of 60 runs", "median", "ours", "best of theirs",
        "proved gap of ours")  # fmt: skip
    row(*["---"] * 7)
    for name, n_clusters in CLUSTERS.items():
        file = stored(repository, f"data/{name}_preprocessed.csv")
        table = pd.read_csv(io.BytesIO(file))
        columns = [c for c in table.columns if c not in NO_ATTRIBUTES]
        X = StandardScaler().fit_transform(table[columns])
        path = f"fair_lloyd_metrics/fair_lloyd_stats_{name}.npz"
        runs = np.load(io.BytesIO(stored(repository, path)), allow_pickle=False)
        theirs = runs["maxfair_fair"]
        cost, gap = ours(X, table[GROUPS[name]], n_clusters)
        row(name, n_clusters, f"{theirs.min():.4f}", f"{np.median(theirs):.4f}",
            f"{cost:.4f}", comparison(theirs.min(), cost), f"{gap:.2%}")  # fmt: skip


def bench_welfare(repository):
    """Largest group cost of three methods, as WC_code stored it, and ours."""
    import pandas as pd

    print_commit(repository)
    folder = "cache/adult_sex"
    X, groups = (
        np.load(io.BytesIO(stored(repository, f"{folder}/{name}.npy")))
        for name in ("data_matrix", "group_labels")
    )
    methods = {
        "samira_sf": "socially fair", "fcbc": "bounded cost",
        "welfare_clustering": "welfare",
    }  # fmt: skip
    found = {}
    for method in methods:
        path = f"{folder}/welfare_evaluation/{method}_all_k4_to_15_summary.csv"
        table = pd.read_csv(io.BytesIO(stored(repository, path)))
        largest = table[["group_0_distance_cost", "group_1_distance_cost"]].max(axis=1)
        found[method] = largest.groupby(table["k"]).min()
    row("k", *methods.values(), "ours", "best of theirs", "proved gap of ours")
    row(*["---"] * 7)
    for n_clusters in (4, 5, 6, 8, 10, 12, 15):
        theirs = [found[method].get(n_clusters, np.nan) for method in methods]
        cost, gap = ours(X, groups, n_clusters)
        row(n_clusters, *(f"{value:.4f}" for value in theirs), f"{cost:.4f}",
            comparison(np.nanmin(theirs), cost), f"{gap:.2%}")  # fmt: skip


def bench_exact(repository):
    """Sum of squares of k-means on data of sos-sdp, and the bound that we prove."""
    from rawlsian import proved_bound

    print_commit(repository)
    row("data", "rows", "k", "found", "bound", "nodes", "optimal",
        "seconds")  # fmt: skip
    row(*["---"] * 8)
    for name, n_clusters in INSTANCES.items():
        archive = zipfile.ZipFile(
            io.BytesIO(stored(repository, f"datasets/{name}.zip"))
        )
        X = np.loadtxt(io.BytesIO(archive.read(f"{name}.txt")), skiprows=1)
        options = {"n_clusters": n_clusters, "max_iter": 2000, "tol": 1e-6}
        began = time.perf_counter()
        bound = proved_bound(
            X, None, max_nodes=60, time_limit=600, random_state=0, **options,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        n = len(X)
        row(name, n, n_clusters, f"{n * bound.known_cost:.7g}",
            f"{n * bound.cost:.7g}", bound.n_nodes,
            "yes" if bound.is_optimal else f"gap {bound.gap:.1e}",
            f"{seconds:.0f}")  # fmt: skip


def holisticai_labels(X, groups, n_clusters):
    from holisticai.bias.mitigation import FairKMedianClustering

    model = FairKMedianClustering(n_clusters=n_clusters, max_iter=200, seed=0)
    model.fit(X, groups == groups[0], groups != groups[0])
    return np.asarray(model.labels_)


def fair_kmeans_labels(X, groups, n_clusters):
    from fair_kmeans import FairKMeans

    model = FairKMeans(n_clusters, random_state=0)
    colors = (groups == groups[0]).astype(np.int32)
    return np.asarray(model.fit(X, color=colors).labels_)


def largest_cost(X, groups, labels):
    """Return the largest mean cost of a group if its members have nearest means."""
    means = np.array([X[labels == c].mean(axis=0) for c in np.unique(labels)])
    distances = ((X[:, None] - means) ** 2).sum(axis=2).min(axis=1)
    return max(distances[groups == group].mean() for group in np.unique(groups))


def bench_packages():
    """Largest group cost of packages that pip installs, on five Adult samples."""
    from rawlsian import RawlsianKMeans, load_adult

    row("sample", "package", "seconds", "largest group cost", "ours", "theirs")
    row(*["---"] * 6)
    for seed in range(5):
        adult = load_adult(sample=100, random_state=seed)
        X, sex = adult.data, adult.sensitive_features
        # Their fairness is balance: as many of one group as of the other.
        n = min(np.unique(sex, return_counts=True)[1])
        kept = np.concatenate([np.flatnonzero(sex == g)[:n] for g in np.unique(sex)])
        X, sex = X[kept], sex[kept]
        fitted = RawlsianKMeans(5, pooling=0, random_state=0)
        cost = fitted.fit(X, sensitive_features=sex).group_costs_.max()
        for package, labels_of in (
            ("holisticai FairKMedianClustering", holisticai_labels),
            ("fair-kmeans FairKMeans", fair_kmeans_labels),
        ):
            began = time.perf_counter()
            try:
                labels = labels_of(X, sex, 5)
            except ImportError as error:
                row(seed, package, "", f"not run: {error}", "", "")
                continue
            seconds = time.perf_counter() - began
            theirs = largest_cost(X, sex, labels)
            row(seed, package, f"{seconds:.1f}", f"{theirs:.4f}", f"{cost:.4f}",
                comparison(theirs, cost))  # fmt: skip


def main(name, *arguments):
    bench = globals()[f"bench_{name}"]
    print(f"{bench.__doc__}\n")
    bench(*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
