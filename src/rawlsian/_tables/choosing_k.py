"""Choose the number of clusters: by silhouette, or by held-out cost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score
from threadpoolctl import ThreadpoolController

from rawlsian._core.folds import deal_problem
from rawlsian._core.nearest import group_means, nearest
from rawlsian._core.problem import Problem
from rawlsian._support.threads import n_threads
from rawlsian._tables.analysis import Clustering, Progress, kmeans, plain, sample_of

ChooseBy = Literal["silhouette", "held-out", "held-out-worst"]
CRITERIA: tuple[ChooseBy, ...] = ("silhouette", "held-out", "held-out-worst")

# A silhouette compares all pairs of rows.
SILHOUETTE_ROWS = 5_000
# K-means is fitted so many times for each number of clusters, on about so many rows.
N_FOLDS, HELD_OUT_ROWS = 5, 20_000
# A group of so many people counts half by its own cost and half by everyone's.
PRIOR_PEOPLE = 50
# A cluster more must lower the held-out cost by this share of the total variance.
LEAST_GAIN = 0.02


@dataclass(frozen=True)
class Candidate:
    """K-means with a number of clusters, one of a range.

    Attributes
    ----------
    n_clusters : int
        Number of clusters.
    silhouette : float or None
        None with one cluster, or one for each row.
    held_out_cost, held_out_worst_cost : float or None
        Mean squared distance to the nearest center of people whom k-means was not
        fitted on: of everyone, and of the worst-off group, mixed with everyone's. None
        with nearly as many clusters as people.
    held_out_worst_group : str or None
        The worst-off group among them.
    overall, lowest, gap : float
        Utilities of the people whom k-means was fitted on: of everyone, of the
        worst-off group, and how far it is behind the best-off.
    least_advantaged : str
        Name of that worst-off group.
    """

    n_clusters: int
    silhouette: float | None
    held_out_cost: float | None
    held_out_worst_cost: float | None
    held_out_worst_group: str | None
    overall: float
    lowest: float
    least_advantaged: str
    gap: float


@dataclass(frozen=True)
class Choice:
    """Numbers of clusters that were tried, and which of them was taken.

    Attributes
    ----------
    candidates : tuple of Candidate
        K-means with each number of clusters.
    chosen_by : {"silhouette", "held-out", "held-out-worst"}
        The criterion that decided.
    choices : dict
        Number that each criterion takes; None where no number has that figure.
    n_held_out : int
        Number of rows that the held-out costs are means of.
    """

    candidates: tuple[Candidate, ...]
    chosen_by: ChooseBy
    choices: dict[ChooseBy, int | None]
    n_held_out: int

    @property
    def n_clusters(self) -> int:
        """Number of clusters that was taken; the first where none is better."""
        chosen = self.choices[self.chosen_by]
        return self.candidates[0].n_clusters if chosen is None else chosen


class HeldOutCosts(NamedTuple):
    """Held-out cost with each number of clusters.

    Attributes
    ----------
    costs : ndarray of shape (n_numbers,)
        NaN where a number has none.
    influences : ndarray of shape (n_numbers, n_rows)
        How much one more person like this one would raise the cost.
    groups : ndarray of shape (n_numbers,)
        Index of the worst-off group.
    """

    costs: NDArray[np.float64]
    influences: NDArray[np.float64]
    groups: NDArray[np.intp]


def try_range(
    problem: Problem,
    numbers: range,
    choose_by: ChooseBy,
    seed: int,
    progress: Progress,
) -> tuple[Choice, Clustering]:
    """K-means with each number of clusters, and the one that the criterion takes."""
    rows = np.random.RandomState(seed).permutation(problem.n_samples)[:SILHOUETTE_ROWS]
    found: list[Clustering] = []
    silhouettes: list[float | None] = []
    for done, n_clusters in enumerate(numbers):
        progress("k-means", done, len(numbers))
        found.append(plain(problem, n_clusters, seed))
        silhouettes.append(_silhouette(problem.X[rows], found[-1].labels[rows]))
    sample = sample_of(problem, HELD_OUT_ROWS, seed)
    distances = held_out_distances(sample, numbers, seed, progress)
    everyone, worst = (
        cost_of_everyone(sample, distances),
        cost_of_worst(sample, distances),
    )
    choices: dict[ChooseBy, int | None] = {
        "silhouette": _highest(numbers, silhouettes),
        "held-out": enough(numbers, everyone, sample),
        "held-out-worst": enough(numbers, worst, sample),
    }
    candidates = tuple(
        _candidate(problem, found[j], silhouettes[j], everyone.costs[j],
                   worst.costs[j], worst.groups[j])
        for j in range(len(numbers))
    )  # fmt: skip
    choice = Choice(candidates, choose_by, choices, sample.n_samples)
    return choice, found[numbers.index(choice.n_clusters)]


def _candidate(
    problem: Problem,
    found: Clustering,
    silhouette: float | None,
    everyone: float,
    worst: float,
    group: int,
) -> Candidate:
    has_cost = bool(np.isfinite(everyone))
    return Candidate(
        len(found.centers),
        silhouette,
        float(everyone) if has_cost else None,
        float(worst) if has_cost else None,
        str(problem.group_names[group]) if has_cost else None,
        found.overall,
        float(found.utilities.min()),
        str(problem.group_names[found.utilities.argmin()]),
        float(np.ptp(found.utilities)),
    )


# --- Silhouette ----------------------------------------------------------------------


def _silhouette(X: NDArray[np.float64], labels: NDArray[np.int32]) -> float | None:
    """None where there is none: with one cluster, or one for each row."""
    if not 1 < len(np.unique(labels)) < len(labels):
        return None
    return float(silhouette_score(X, labels))


def _highest(numbers: Sequence[int], silhouettes: Sequence[float | None]) -> int | None:
    """Return the number with the highest silhouette, the lower of two."""
    scores = [-np.inf if each is None else each for each in silhouettes]
    best = int(np.argmax(scores))
    return None if silhouettes[best] is None else numbers[best]


# --- Held-out cost -------------------------------------------------------------------


def held_out_distances(
    problem: Problem, numbers: Sequence[int], seed: int, progress: Progress
) -> NDArray[np.float64]:
    """Squared distance of each row to the nearest center of k-means without its fold.

    The fits run side by side, each on one thread, so that the number of threads does
    not change how sums are rounded.

    Returns
    -------
    ndarray of shape (n_numbers, n_samples)
        NaN where k-means without a fold has fewer rows than clusters.
    """
    n_folds = min(N_FOLDS, problem.n_samples)
    folds = deal_problem(problem, n_folds, np.random.default_rng(seed))
    most_clusters = problem.n_samples - int(np.bincount(folds[folds >= 0]).max())
    distances = np.full((len(numbers), problem.n_samples), np.nan)
    controller = ThreadpoolController()

    def hold_out(job: tuple[int, int]) -> None:
        place, fold = job
        is_out = folds == fold
        X, weights = problem.X[~is_out], problem.weights[~is_out]
        with controller.limit(limits=1, user_api="openmp"):  # of this thread
            fitted = kmeans(numbers[place], seed).fit(X, sample_weight=weights)
        distances[place, is_out] = nearest(problem.X[is_out], fitted.cluster_centers_)[
            1
        ]

    jobs = [
        (place, fold)
        for place, n_clusters in enumerate(numbers)
        for fold in range(n_folds)
        if n_clusters <= most_clusters
    ]
    with (
        warnings.catch_warnings(),
        controller.limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(n_threads()) as pool,
    ):
        # Of rows that are alike there may be fewer than clusters, which does no harm.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for done, _ in enumerate(pool.map(hold_out, jobs)):
            progress("held-out k-means", done + 1, len(jobs))
    return distances


def cost_of_everyone(problem: Problem, distances: NDArray[np.float64]) -> HeldOutCosts:
    """Mean held-out distance of all people."""
    n_people = problem.group_sizes.sum()
    costs = distances @ problem.weights / n_people
    influences = (distances - costs[:, None]) / n_people
    return HeldOutCosts(costs, influences, np.zeros(len(costs), np.intp))


def cost_of_worst(problem: Problem, distances: NDArray[np.float64]) -> HeldOutCosts:
    """Largest held-out cost of a group, each mixed with that of everyone.

    The cost of a group of n people counts n / (n + PRIOR_PEOPLE), and everyone's the
    rest: a maximum over small groups would mostly show their noise.
    """
    everyone = cost_of_everyone(problem, distances)
    own = np.array([group_means(problem, row) for row in distances])
    share = problem.group_sizes / (problem.group_sizes + PRIOR_PEOPLE)
    mixed = share * own + (1 - share) * everyone.costs[:, None]
    places, worst = np.arange(len(distances)), mixed.argmax(axis=1)
    is_member = problem.groups == worst[:, None]
    of_group = (distances - own[places, worst][:, None]) * is_member
    own_share = share[worst][:, None]
    influences = own_share * of_group / problem.group_sizes[worst][:, None]
    influences += (1 - own_share) * everyone.influences
    return HeldOutCosts(mixed[places, worst], influences, worst)


def enough(
    numbers: Sequence[int], held_out: HeldOutCosts, problem: Problem
) -> int | None:
    """Return the smallest number of clusters that no larger one clearly beats.

    A larger number clearly beats it if it lowers the cost by more than one standard
    error of the difference, and by more than LEAST_GAIN of the total variance for each
    cluster more. None if no number has a cost.
    """
    costs, price = held_out.costs, LEAST_GAIN * problem.variance
    for j in np.flatnonzero(np.isfinite(costs)).tolist():
        changes = held_out.influences[j] - held_out.influences[j + 1 :]
        errors = np.sqrt(changes**2 @ problem.weights)
        prices = price * (np.array(numbers[j + 1 :]) - numbers[j])
        if not (costs[j] - costs[j + 1 :] > np.maximum(errors, prices)).any():
            return numbers[j]
    return None
