"""What `rawlsian fit` recommends, with groups of no effect and with a built-in gap.

    python benchmarks/bench_recommendation.py          # 100 tables of each kind
    python benchmarks/bench_recommendation.py 20
    python benchmarks/bench_recommendation.py honest   # 20 tables of each kind
    python benchmarks/bench_recommendation.py honest 100

Random groups: 500 people of the Adult data (another sample for each seed), whose group
is a coin (2 groups) or a die (6 groups). Keeping k-means is right.

Built-in gap: 600 people in eight number columns, each with standard deviation 1 around
the center of a kind, and five clusters for six kinds. Group a (85 %) has four kinds:
two pairs, 3 apart within a pair. Group b (15 %) has one pair, 4.5 apart. Pairs are 12
apart. One pair must share a center. If it is b's, that costs 0.15 (4.5 / 2)^2 = 0.76
for everyone; a pair of a's costs 0.425 (3 / 2)^2 = 0.96. So k-means merges b's kinds,
whose people are then 5.1 / 8.8 = 58 points (everyone = 100) farther from their center.

"honest" asks whether what is said of new people holds. 1,000 people of Adult, or 600
with the built-in gap, are the table; all other people of Adult, or 20,000 fresh ones,
are the truth. It prints, for the point at the bend and the one that serves the
worst-off group best, the gain of the worst-off group in the table, the gain that is
expected for new people, their true gain, the mean width of its interval, in how many
tables the interval holds, and in how many it is above 0. Last: in how many tables the
intervals of the changes of groups, which take the clusters as given, hold for new
people, all at once.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rawlsian import fit_table, load_adult
from rawlsian._core.nearest import nearest
from rawlsian._core.problem import Problem
from rawlsian._recommend.advice import Advice, Wishes, advise
from rawlsian._recommend.choice import Limits
from rawlsian._recommend.population import MemoryPopulation

N_PEOPLE, N_FRESH, N_ADULT = 600, 20_000, 1_000
COLUMNS = 8
N_CLUSTERS, MIN_GROUP = 5, 30

People = tuple[NDArray[np.float64], NDArray[np.str_]]


def random_groups(seed: int, n_groups: int) -> pa.Table:
    adult = load_adult(sample=250, random_state=seed)
    rng = np.random.default_rng(seed)
    columns = {
        name: adult.table[name]
        for name in ("age", "workclass", "education", "occupation", "hours-per-week")
    }
    drawn = rng.integers(n_groups, size=len(adult.data)).astype(str)
    return pa.table({**columns, "group": np.char.add("g", drawn)})


def people_with_gap(seed: int, n: int) -> People:
    rng = np.random.default_rng(seed)
    is_b = rng.random(n) < 0.15
    pairs = np.where(is_b, 2, rng.integers(2, size=n))
    side = rng.choice([-0.5, 0.5], size=n)
    X = rng.standard_normal((n, COLUMNS))
    X[np.arange(n), pairs] += 12 / 2**0.5
    X[:, 3] += side * np.where(is_b, 4.5, 3.0)
    return X, np.where(is_b, "b", "a")


def built_in_gap(seed: int) -> pa.Table:
    X, groups = people_with_gap(seed, N_PEOPLE)
    columns = {f"x{j}": X[:, j] for j in range(COLUMNS)}
    return pa.table({**columns, "group": groups})


def keep_or_replace(n_tables: int) -> None:
    began = time.perf_counter()
    for name, n_groups in (("coin", 2), ("die", 6)):
        found: Counter[str] = Counter()
        for seed in range(n_tables):
            fit = fit_table(random_groups(seed, n_groups), "group", clusters=5)
            found[fit.outcome.advice.reason] += 1
        kept = n_tables - found["bend"]
        print(f"{name}: keep k-means in {kept} of {n_tables}; reasons {dict(found)}")
    found, behind = Counter(), []
    for seed in range(n_tables):
        fit = fit_table(built_in_gap(seed), "group", clusters=5)
        found[fit.outcome.advice.reason] += 1
        behind.append(float(fit.outcome.audits[0].behind[1]))
    print(
        f"built-in gap ({np.mean(behind):.0f} points on average, {min(behind):.0f} to "
        f"{max(behind):.0f}): replace k-means in {found['bend']} of {n_tables}; "
        f"reasons {dict(found)}"
    )
    print(f"{time.perf_counter() - began:.0f} s")


# --- People who are not in the table -----------------------------------------------


def adult_people(seed: int, column: str) -> tuple[People, People]:
    """Return people of Adult, and all others whose groups are among theirs."""
    adult = load_adult()
    X, groups = np.asarray(adult.data), np.asarray(adult.table[column]).astype(str)
    rows = np.random.RandomState(seed).permutation(len(X))
    fitted, others = rows[:N_ADULT], rows[N_ADULT:]
    others = others[np.isin(groups[others], groups[fitted])]
    return (X[fitted], groups[fitted]), (X[others], groups[others])


def fresh_people(seed: int, _: str) -> tuple[People, People]:
    """Return people with the built-in gap, and fresh ones."""
    return people_with_gap(seed, N_PEOPLE), people_with_gap(10_000 + seed, N_FRESH)


def group_costs(people: People, centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean cost of each group, by name."""
    codes = np.unique(people[1], return_inverse=True)[1]
    sums = np.bincount(codes, nearest(people[0], centers)[1])
    return np.asarray(sums / np.bincount(codes))


def compared(
    advice: Advice, population: MemoryPopulation, others: People, point: int
) -> list[float]:
    """Return gains, width, whether intervals hold, and whether a gain is clear."""
    judged, expected = population.judged, advice.new_people[point]
    before, after = (advice.points[each].clusters.centers for each in (0, point))
    worst = [group_costs(others, each)[judged].max() for each in (before, after)]
    gain = 100 * (1 - worst[1] / worst[0])
    low, high = expected.gain_interval
    changes = group_costs(others, after) / group_costs(others, before)
    ends = advice.points[point].effect.intervals[~population.is_small]
    change = 100 * (changes - 1)[~population.is_small]
    hold = ((ends[:, 0] <= change) & (change <= ends[:, 1])).all()
    return [advice.balance.gains[point], expected.gain, gain, high - low,
            low <= gain <= high, low > 0, hold]  # fmt: skip


def measured(
    table: People, others: People, pooling: float | str, seed: int
) -> dict[str, list[float]]:
    """Return what is measured at the bend, and at the point that is most."""
    problem = Problem.from_arrays(*table)
    population = MemoryPopulation(problem, MIN_GROUP)
    wishes = Wishes(N_CLUSTERS, "nearest", pooling, Limits(), "recommended", seed, True)
    found = advise(population, wishes, lambda _: True, lambda *_: None)
    points = {"bend": found.balance.bend, "most": found.most}
    return {
        name: compared(found, population, others, point)
        for name, point in points.items()
        if point in found.new_people
    }


def honest(n_tables: int) -> None:
    heads = ("people", "pooling", "point", "tables", "gain in the table",
             "expected for new people", "true", "width", "interval holds", "clear",
             "changes hold")  # fmt: skip
    print(f"| {' | '.join(heads)} |")
    print(f"| {' | '.join(['---'] * len(heads))} |")
    kinds = [("Adult, sex", adult_people, "sex"), ("Adult, race", adult_people, "race"),
             ("built-in gap", fresh_people, "")]  # fmt: skip
    for name, people_of, column in kinds:
        for pooling in ("cv", 0.0):
            found = [
                measured(*people_of(seed, column), pooling, seed)
                for seed in range(n_tables)
            ]
            for point in ("bend", "most"):
                rows = np.array([each[point] for each in found if point in each])
                print_row(name, pooling, point, rows)


def print_row(
    name: str, pooling: float | str, point: str, rows: NDArray[np.float64]
) -> None:
    """Print means of gains and width, and counts; nothing if there is no table."""
    if len(rows) == 0:
        return
    means = [f"{each:.2f}" for each in rows[:, :4].mean(axis=0)]
    counts = [f"{each:.0f}" for each in rows[:, 4:].sum(axis=0)]
    cells = [name, str(pooling), point, str(len(rows)), *means, *counts]
    print(f"| {' | '.join(cells)} |", flush=True)


def main(arguments: list[str]) -> None:
    match arguments:
        case ["honest", *rest]:
            honest(int(rest[0]) if rest else 20)
        case rest:
            keep_or_replace(int(rest[0]) if rest else 100)


if __name__ == "__main__":
    main(sys.argv[1:])
