"""Choose the strength of pooling by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.balanced import balanced_part
from rawlsian._core.folds import deal_problem, part_of
from rawlsian._core.nearest import nearest
from rawlsian._core.problem import Problem
from rawlsian._search.crossing import TimeLimit, whole_search
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns, Solutions
from rawlsian._support.threads import n_threads, run_together

# Folds; more of them, up to the second number, if too few rows are left to the others.
N_FOLDS, MOST_FOLDS = 5, 20
# A cost up to this, relative to the largest squared norm of a row, is rounding.
ROUNDING = 1e-24

# Effort of the searches for the ends, the worst-off group and k-means, and of the one
# with the strength that is chosen, which starts from their solutions; relative to that
# of a search without a choice.
FAIR_EFFORT, PLAIN_EFFORT, FINAL_EFFORT = 0.3, 0.15, 0.6
# Number of best solutions of each end from which the runs of a fold start, and the gain
# below which these end, relative to the cost. Up to FEW_ROWS all solutions are carried:
# which of them is best for all people depends on the ones left out.
N_CARRIED, FEW_ROWS, LEAST_GAIN = 4, 2_000, 1e-4
# Products of rows and centers up to which each fold has a thread of its own.
FEW_PRODUCTS = 2**26

# Strengths tried between 0 and infinity: from the first number to the second times the
# number of people, each the third times the one before.
WEAKEST, STRONGEST, FACTOR = 10.0, 10.0, 10**0.5

# The mean held-out cost of a group is itself uncertain. It is shrunk towards everyone's
# as if it had been measured together with this many people of everyone.
PRIOR_PEOPLE = 100
N_DRAWS = 400

# With more rows, a part is cross-validated: all rows of small groups, and equally many
# of the others.
MOST_ROWS = 4_000


class Ends(NamedTuple):
    """Solutions of all rows without pooling, and those of k-means; best first.

    ``plain`` has shape (n_plain, n_clusters, n_features); as in the solutions, the
    problem's shift is subtracted.
    """

    fair: Solutions
    plain: NDArray[np.float64]

    def centers(self) -> NDArray[np.float64]:
        """Return centers of both."""
        return np.concatenate([self.fair.centers, self.plain])


@dataclass(frozen=True, eq=False)
class PoolingChoice:
    """Held-out costs with each strength of pooling that was tried.

    Attributes
    ----------
    strengths : ndarray of shape (n_tried,)
        Strengths of pooling, from 0 to infinity, which is k-means.
    group_costs : ndarray of shape (n_tried, n_groups)
        Mean cost of the people of each group in the folds that they were left out of.
    expected_largest : ndarray of shape (n_tried,)
        Expected cost of the worst-off group among new people. It allows for the
        uncertainty of the means of small groups.
    strength : float
        The strength with the lowest ``expected_largest``.
    """

    strengths: NDArray[np.float64]
    group_costs: NDArray[np.float64]
    expected_largest: NDArray[np.float64]

    @property
    def strength(self) -> float:
        """The strength with the lowest expected cost of the worst-off group."""
        return float(self.strengths[np.argmin(self.expected_largest)])

    def __repr__(self) -> str:
        return f"PoolingChoice(strength={self.strength:.6g})"


def choose_strength(
    estimator: Any,
    problem: Problem,
    n_clusters: int,
    rng: np.random.RandomState,
    ends: Ends | None = None,
) -> float:
    """Return the strength of pooling that is chosen, and set `pooling_cv_`."""
    choice = choose_pooling(problem, n_clusters, rng, ends)
    if choice is None:
        return 0.0
    estimator.pooling_cv_ = choice
    return choice.strength


def search_ends(
    runs: FairRuns,
    n_clusters: int,
    rng: np.random.RandomState,
    effort: float = 1.0,
    time_limit: TimeLimit | None = None,
    **options: Any,
) -> Ends:
    """Search the best centers of a problem without pooling, and those of k-means."""
    fair = whole_search(
        runs, n_clusters, rng, effort=FAIR_EFFORT * effort, time_limit=time_limit,
        **options,
    )  # fmt: skip
    plain = whole_search(
        runs.on(runs.problem.as_one_group()), n_clusters, rng,
        effort=PLAIN_EFFORT * effort, time_limit=time_limit, seeds=fair.centers,
    )  # fmt: skip
    return Ends(fair, plain.centers)


def choose_pooling(
    problem: Problem,
    n_clusters: int,
    rng: np.random.RandomState,
    ends: Ends | None = None,
) -> PoolingChoice | None:
    """Compare strengths of pooling by the cost of people left out of the fit.

    Both ends, 0 and infinity, are searched once. In each fold, Fair-Lloyd starts from
    their best solutions, up to FEW_ROWS from all of them, so that the people of the
    fold decide which is best; between the ends it starts from the centers found before.
    None with one group, or nearly as many clusters as rows: there is nothing to choose.
    """
    if not can_choose(problem, n_clusters):
        return None
    problem = problem.pooled(0)
    part = problem
    if problem.n_samples > MOST_ROWS:
        part = balanced_part(problem, MOST_ROWS, rng)
    if ends is None:
        problem = part
        ends = search_ends(FairRuns(part, MAX_ITER), n_clusters, rng)
    n_carried = None if part.n_samples <= FEW_ROWS else N_CARRIED
    fair, plain = (
        each[:n_carried] + problem.shift for each in (ends.fair.centers, ends.plain)
    )
    strengths, n_folds = _strengths(part), _n_folds(part, n_clusters)
    costs = np.zeros((len(strengths), part.n_samples))
    folds = deal_problem(part, n_folds, rng)

    def measure(fold: int) -> None:
        left_out = folds == fold
        others = part_of(part, (folds >= 0) & ~left_out)
        for j, centers in enumerate(_path(others, fair, plain, strengths)):
            costs[j, left_out] = nearest(part.X[left_out], centers)[1]

    products = part.n_samples * fair[0].size
    run_together(measure, n_folds, n_threads() if products <= FEW_PRODUCTS else 1)
    costs[costs <= ROUNDING * part.norms.max()] = 0.0
    means, deviations = _by_group(part, costs)
    expected = _expected_largest(part, means, deviations)
    return PoolingChoice(strengths, means, expected)


def can_choose(problem: Problem, n_clusters: int) -> bool:
    """Return True if there are groups to pool, and people to leave out."""
    return problem.n_groups > 1 and _n_folds(problem, n_clusters) <= MOST_FOLDS


def _strengths(problem: Problem) -> NDArray[np.float64]:
    """Return the strengths to try, from 0 to infinity.

    They are numbers of people: weights of any scale give equivalent strengths.
    """
    people, weights = float(problem.people.sum()), problem.weights
    n_rows = people**2 / float(weights @ weights)  # effective number (Kish)
    n_steps = np.log(STRONGEST * n_rows / WEAKEST) / np.log(FACTOR)
    n_between = max(int(n_steps + 1e-9) + 1, 1)
    between = people / n_rows * WEAKEST * FACTOR ** np.arange(n_between)
    return np.array([0.0, *between, np.inf])


def _n_folds(problem: Problem, n_clusters: int) -> int:
    """Return N_FOLDS, or as many as leave no fewer rows than clusters to the others."""
    n_rows = int((problem.weights > 0).sum())
    n_spare = n_rows - n_clusters
    if n_spare < 1 or n_rows < N_FOLDS:
        return MOST_FOLDS + 1
    return max(N_FOLDS, -(-n_rows // n_spare))


def _path(
    part: Problem,
    fair_starts: NDArray[np.float64],
    plain_starts: NDArray[np.float64],
    strengths: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """Return the best centers found with each strength, from 0 to infinity."""
    runs = FairRuns(part, MAX_ITER)

    def best(problem: Problem, *starts: NDArray[np.float64]) -> NDArray[np.float64]:
        init = np.concatenate(starts) - part.shift
        ends = runs.on(problem).run(init, least_gain=LEAST_GAIN)
        centers: NDArray[np.float64] = ends.centers[[np.argmin(ends.objectives)]]
        return centers + part.shift

    fair = best(part, fair_starts, plain_starts[:1])
    plain = best(part.as_one_group(), plain_starts, fair_starts[:1])
    found = [fair]
    for strength in strengths[1:-1]:
        found.append(best(part.pooled(strength), found[-1], plain))
    return [centers[0] for centers in [*found, plain]]


def _by_group(
    problem: Problem, costs: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means of costs by group, and the deviation of a person within groups."""
    means = np.array([_group_sums(problem, each) for each in costs]) / problem.people
    squared = (costs - means[:, problem.groups]) ** 2
    n_rows = int((problem.weights > 0).sum())
    spare = n_rows / max(n_rows - problem.n_groups, 1)
    return means, np.sqrt(spare * (squared @ problem.weights) / problem.people.sum())


def _group_sums(problem: Problem, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted sum of values, one per row, in each group."""
    sums = np.bincount(problem.groups, problem.weights * values, problem.n_groups)
    return np.asarray(sums, np.float64)


def _expected_largest(
    problem: Problem, means: NDArray[np.float64], deviations: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the expected largest group cost, given held-out means.

    The mean of a group among new people is normal: around the shrunk mean, and the
    wider the fewer people the mean was measured on. All strengths share their draws.
    """
    # Effective number of rows (Kish).
    n_rows = problem.people**2 / _group_sums(problem, problem.weights)
    trust = n_rows / (n_rows + PRIOR_PEOPLE)
    everyone = means @ (problem.people / problem.people.sum())
    shrunk = trust * means + np.outer(everyone, 1 - trust)
    spread = np.outer(deviations, np.sqrt(trust / n_rows))
    draws = np.random.RandomState(0).standard_normal((N_DRAWS, problem.n_groups))
    largest = [
        (center + width * draws).max(axis=1).mean()
        for center, width in zip(shrunk, spread, strict=True)
    ]
    return np.array(largest)
