"""Trade-off between the utility of the worst-off group and overall utility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core.checks import check_examples
from rawlsian._core.nearest import group_means, nearest
from rawlsian._core.parameters import (
    Seed,
    check_count,
    check_n_clusters,
    check_pooling,
    random_state_of,
)
from rawlsian._core.points import columns_of_points
from rawlsian._core.problem import MaxDistance, Problem
from rawlsian._rows.opening import refuse_blocks
from rawlsian._search.crossing import thorough_search, whole_search
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns
from rawlsian._support.frames import frame_of, html_of

# Rows with a smaller weight, relative to the largest, would be lost to rounding.
LEAST_PULL = 1e-7

# Where between the ends there are more searches, and their effort.
BETWEEN, QUICK = (1 / 3, 2 / 3), 0.5


@dataclass(frozen=True, eq=False)
class Frontier:
    """Clusterings that trade overall utility for the utility of the worst-off group.

    No clustering here is better than another in both.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Names of the groups, sorted; the columns of ``utilities``.
    utilities : ndarray of shape (n_points, n_groups)
        Mean utility of each group. The first point is the utilitarian clustering, the
        last the Rawlsian.
    overall : ndarray of shape (n_points,)
        Mean utility of all examples, decreasing.
    cluster_centers : ndarray of shape (n_points, n_clusters, n_features)
        The centers of each point.
    """

    groups: NDArray[Any]
    utilities: NDArray[np.float64]
    overall: NDArray[np.float64]
    cluster_centers: NDArray[np.float64]

    def __repr__(self) -> str:
        lowest = self.utilities.min(axis=1)
        return (
            f"Frontier(n_points={len(self.overall)}, lowest utility {lowest[0]:.6g} -> "
            f"{lowest[-1]:.6g}, overall {self.overall[0]:.6g} -> "
            f"{self.overall[-1]:.6g})"
        )

    def to_frame(self) -> Any:
        """Return one row per point as a pandas DataFrame, the utilitarian one first.

        Returns
        -------
        pandas.DataFrame
            Columns "point", "lowest" and "overall" utility, and "utility of" each
            group.
        """
        return frame_of(
            columns_of_points("point", self.groups, self.utilities, self.overall)
        )

    def _repr_html_(self) -> str:
        columns = columns_of_points("point", self.groups, self.utilities, self.overall)
        return html_of(repr(self), columns)

    def labels(self, point: int, X: ArrayLike) -> NDArray[np.int32]:
        """Assign each row of X to its nearest center at one of the points.

        Parameters
        ----------
        point : int
            Index of the point, from 0.
        X : array-like of shape (n_samples, n_features)
            The examples, with the same columns as in ``frontier``.

        Returns
        -------
        ndarray of shape (n_samples,)
            The cluster of each row.
        """
        refuse_blocks(X, "Frontier.labels")
        checked, centers = check_examples(X), self.cluster_centers[point]
        if checked.shape[1] != centers.shape[1]:
            raise ValueError(
                f"X has {checked.shape[1]} columns, but the points were found with "
                f"{centers.shape[1]}; give rows with the same columns."
            )
        return nearest(checked, centers)[0]


def frontier(
    X: ArrayLike,
    sensitive_features: Any,
    *,
    n_clusters: int,
    n_points: int = 21,
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
    pooling: float = 0.0,
    random_state: Seed = None,
) -> Frontier:
    """Find clusterings between the utilitarian and the Rawlsian one.

    The weights of the groups go from their shares of the people, which is k-means, to
    the weights that ``RawlsianKMeans`` finds. At each step, k-means with these weights
    starts from the centers found before. A clustering is left out if another one has
    both a higher overall utility and a higher utility of the worst-off group. Centers
    are free.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The examples, as numbers. Sparse matrices stay sparse.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        The group of each example; ``None`` means one group.
    n_clusters : int
        Number of clusters.
    n_points : int, default=21
        Largest number of points, including both ends; 2 or more. Points that another
        clustering dominates are left out, so there may be fewer, with gaps.
    sample_weight : array-like of shape (n_samples,), default=None
        How many people each example stands for.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit, as in ``group_utilities``.
    pooling : float, default=0.0
        The end is the clustering that ``RawlsianKMeans`` finds with this pooling, and
        the lowest pooled utility decides which points are left out. The utilities of
        the points are those of the groups' own people.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the search for the two ends.

    Returns
    -------
    Frontier
        The points, from the utilitarian to the Rawlsian clustering.

    Examples
    --------
    >>> from rawlsian import frontier
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> points = frontier(X, list("aabbb"), n_clusters=1, random_state=0)
    >>> bool(points.overall[0] > points.overall[-1])
    True
    """
    refuse_blocks(X, "frontier")
    check_pooling(pooling)
    problem = Problem.from_arrays(
        X, sensitive_features, sample_weight=sample_weight, max_distance=max_distance
    )
    return frontier_of(
        problem.pooled(pooling),
        n_clusters=n_clusters,
        n_points=n_points,
        random_state=random_state,
    )


def frontier_of(
    problem: Problem, *, n_clusters: int, n_points: int = 21, random_state: Seed = None
) -> Frontier:
    """Find the frontier of a problem, as ``frontier`` does."""
    check_n_clusters(n_clusters, problem)
    check_count(n_points, "n_points", least=2)
    rng = random_state_of(random_state)
    ends = search_ends(problem, n_clusters, rng)
    between = [
        search_with_shares(
            problem, (1 - step) * problem.shares + step * ends.shares, n_clusters, rng
        )
        for step in BETWEEN
    ]
    ends = ends._replace(plain=np.concatenate([ends.plain, *between]))
    return not_dominated(problem, path_between(problem, ends, n_points))


class Ends(NamedTuple):
    """The best clusterings found for everyone together and for the worst-off group.

    Attributes
    ----------
    plain : ndarray of shape (n_plain, n_clusters, n_features)
        Centers of runs of k-means, best first.
    fair : ndarray of shape (n_fair, n_clusters, n_features)
        Centers of runs of Fair-Lloyd, best first.
    shares : ndarray of shape (n_groups,)
        Weights of the groups at the best fair centers, which sum to 1.
    """

    plain: NDArray[np.float64]
    fair: NDArray[np.float64]
    shares: NDArray[np.float64]


def search_ends(
    problem: Problem,
    n_clusters: int,
    rng: np.random.RandomState,
    everyone: Problem | None = None,
) -> Ends:
    """Search for both ends as ``RawlsianKMeans`` does.

    ``everyone`` is the problem of k-means, if some rows have no weight in the other.
    """
    if everyone is None:
        everyone = weighted_as_one(problem, problem.shares)
    fair, plain = (
        thorough_search(FairRuns(each, MAX_ITER), n_clusters, rng)
        for each in (problem, everyone)
    )
    return Ends(
        plain.centers + everyone.shift,
        fair.centers + problem.shift,
        fair.group_weights[0],
    )


def search_with_shares(
    problem: Problem,
    shares: NDArray[np.float64],
    n_clusters: int,
    rng: np.random.RandomState,
) -> NDArray[np.float64]:
    """Return centers of a quick search in which groups have these total weights."""
    between = weighted_as_one(problem, shares)
    runs = FairRuns(between, MAX_ITER)
    return whole_search(runs, n_clusters, rng, effort=QUICK).centers + between.shift


def path_between(problem: Problem, ends: Ends, n_points: int) -> NDArray[np.float64]:
    """Return centers of the plain end, of the fair end, and of points in between.

    The weights of the groups lie between those of the ends.
    """
    found = [ends.plain[0], ends.fair[0]]
    for step in np.linspace(0, 1, n_points)[1:-1]:
        shares = (1 - step) * problem.shares + step * ends.shares
        starts = np.array([*ends.plain, *ends.fair, *found])
        found.append(run_with_shares(problem, shares, starts))
    return np.array(found)


def run_with_shares(
    problem: Problem, shares: NDArray[np.float64], starts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the best centers of k-means whose groups have these total weights."""
    between = weighted_as_one(problem, shares)
    runs = FairRuns(between, MAX_ITER).run(starts - between.shift)
    best: NDArray[np.float64] = runs.centers[np.argmin(runs.objectives)]
    return best + between.shift


def weighted_as_one(problem: Problem, shares: NDArray[np.float64]) -> Problem:
    """Return a problem of one group, with weights that sum to each group's share."""
    weights = problem.weights * problem.pull(shares)[problem.groups]
    least = np.where(problem.weights > 0, LEAST_PULL * weights.max(), 0.0)
    return problem.as_one_group(np.maximum(weights, least))


def not_dominated(problem: Problem, centers: NDArray[np.float64]) -> Frontier:
    """Return the centers that no others dominate, by decreasing overall utility."""
    own = problem.pooled(0)
    costs, pooled = np.empty((2, len(centers), problem.n_groups))
    for point, these in enumerate(centers):
        costs[point] = group_means(own, nearest(problem.X, these)[1])
        pooled[point] = problem.pooled_means(costs[point])
    utilities = problem.max_distance - costs
    overall = utilities @ own.shares
    lowest = (problem.max_distance - pooled).min(axis=1)
    kept: list[int] = []
    for point in np.lexsort((-lowest, -overall)):
        if not kept or lowest[point] > lowest[kept[-1]]:
            kept.append(int(point))
    return Frontier(problem.group_names, utilities[kept], overall[kept], centers[kept])
