"""Measure how fits on some people serve the worst-off group of all others.

    .venv/bin/python benchmarks/bench_new_people.py adult
    .venv/bin/python benchmarks/bench_new_people.py compas compas-scores-two-years.csv
    .venv/bin/python benchmarks/bench_new_people.py time

The second data set is the file of that name in github.com/propublica/compas-analysis.
Each fit sees n people, drawn at random in each of 20 splits. The gain is the largest
mean cost of a group among all others with ``KMeans(n_init=10)``, fitted on the same
people, less that with the method, in per cent of the former. Prints the tables of
docs/new_people.md.
"""

from __future__ import annotations

import csv
import sys
import time

import numpy as np

from bench_engine import row

N_CLUSTERS, N_SPLITS = 5, 20
METHODS = {"pooling=0": 0.0, "pooling=1000": 1000.0, 'pooling="cv"': "cv",
           "infinity (k-means)": np.inf}  # fmt: skip


def joined(*columns):
    """Return the intersections of columns of text as one column."""
    return np.array([" ".join(values) for values in zip(*columns, strict=True)])


def adult():
    """Return the rows of Adult, and three choices of groups."""
    from rawlsian import load_adult

    data = load_adult()
    sex, race = (np.asarray(data.table[name]).astype(str) for name in ("sex", "race"))
    groups = {"sex": sex, "race": race, "sex and race": joined(sex, race)}
    return np.asarray(data.data, np.float64), groups


def compas(path):
    """Return the rows of the COMPAS table, and two choices of groups."""
    from rawlsian import UnitDistanceEncoder

    with open(path, newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))

    def column(name, kind=str):
        return np.array([kind(each[name]) for each in table])

    numbers = ("priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count",
               "decile_score", "v_decile_score")  # fmt: skip
    values = [column(name, float) for name in numbers]
    values += [column("c_charge_degree"), column("v_score_text")]
    rows = np.array(values, dtype=object).T
    X = UnitDistanceEncoder(categorical_features=[6, 7]).fit_transform(rows)
    sex, age = column("sex"), column("age_cat")
    return np.asarray(X, np.float64), {
        "race": column("race"), "sex and age": joined(sex, age)
    }  # fmt: skip


def largest_cost(X, codes, centers):
    """Return the largest mean cost of a group with its nearest centers."""
    from rawlsian._core.nearest import nearest

    costs = np.bincount(codes, nearest(X, centers)[1]) / np.bincount(codes)
    return costs.max()


def gains_of_split(X, groups, n, split):
    """Return the gain of each method for people not fitted."""
    from sklearn.cluster import KMeans

    from rawlsian import RawlsianKMeans

    rows = np.random.RandomState(split).permutation(len(X))
    fitted, others = rows[:n], rows[n:]
    # A group that was not fitted cannot be served on purpose.
    others = others[np.isin(groups[others], groups[fitted])]
    codes = np.unique(groups[others], return_inverse=True)[1]
    plain = KMeans(N_CLUSTERS, n_init=10, random_state=split).fit(X[fitted])
    base = largest_cost(X[others], codes, plain.cluster_centers_)
    gains = []
    for pooling in METHODS.values():
        model = RawlsianKMeans(N_CLUSTERS, pooling=pooling, random_state=split)
        model.fit(X[fitted], sensitive_features=groups[fitted])
        cost = largest_cost(X[others], codes, model.cluster_centers_)
        gains.append(100 * (1 - cost / base))
    return gains


def bench_gains(X, choices, sizes):
    """Print the mean gain of each method, its standard error and how often it gains."""
    row("groups", "people fitted", *METHODS)
    row(*["---"] * (2 + len(METHODS)))
    for n in sizes:
        for name, groups in choices.items():
            gains = np.array(
                [gains_of_split(X, groups, n, split) for split in range(N_SPLITS)]
            )
            error = gains.std(axis=0, ddof=1) / N_SPLITS**0.5
            cells = [
                f"{mean:+.2f} ± {spread:.2f} ({(of_method > 0).sum()})"
                for mean, spread, of_method in zip(
                    gains.mean(axis=0), error, gains.T, strict=True
                )
            ]
            n_groups = len(np.unique(groups))
            row(f"{name} ({n_groups})", f"{n:,}", *cells)


def bench_time(X, choices):
    """Print how many times as long pooling="cv" takes as one fit, n = 1000."""
    from rawlsian import RawlsianKMeans

    row("groups", "one fit", 'with "cv"', "ratio")
    row(*["---"] * 4)
    rows = np.random.RandomState(0).permutation(len(X))[:1000]
    for name, groups in choices.items():
        seconds = np.empty((2, 9))
        for run in range(9):
            for place, pooling in enumerate((0.0, "cv")):
                model = RawlsianKMeans(N_CLUSTERS, pooling=pooling, random_state=run)
                start = time.perf_counter()
                model.fit(X[rows], sensitive_features=groups[rows])
                seconds[place, run] = time.perf_counter() - start
        one, chosen = np.median(seconds, axis=1)
        row(name, f"{one:.3f} s", f"{chosen:.3f} s", f"{chosen / one:.1f}")


def main(arguments):
    """Run one of the benchmarks."""
    match arguments:
        case ["adult"]:
            bench_gains(*adult(), sizes=(1000, 5000))
        case ["compas", path]:
            bench_gains(*compas(path), sizes=(1000, 3000))
        case ["time"]:
            bench_time(*adult())
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
