"""Convert trajectories and frontiers to ways, which a slider moves along."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.nearest import nearest
from rawlsian._core.relabeling import renumbering
from rawlsian._search.frontier import Frontier
from rawlsian.operators.traversal import Trajectory
from rawlsian.report.contents import Way
from rawlsian.report.labels import label_type

# Most points of a trajectory on the slider.
MOST_POINTS = 60


def trajectory_way(
    trajectory: Trajectory,
    title: str,
    X: NDArray[np.float64] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> Way:
    """Convert a trajectory to a way.

    Parameters
    ----------
    trajectory : Trajectory
        Steps of a traversal.
    title : str
        Name on the page.
    X : ndarray of shape (n_samples, n_features), default=None
        Rows of the traversal. They are needed if its utility is "nearest": the way
        then has the cluster of the nearest mean for each row.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the traversal, which change the means.

    Returns
    -------
    Way
        At most 60 points, evenly spaced and including both ends.

    Raises
    ------
    ValueError
        If utility is "nearest" and X is not given.
    """
    if trajectory.utility == "nearest" and X is None:
        raise ValueError(
            "this trajectory counts everyone by the nearest mean, which takes the "
            "rows; give X."
        )
    last = trajectory.n_iter
    evenly = np.linspace(0, last, min(MOST_POINTS, last + 1))
    steps = np.unique(evenly.round().astype(np.int64))
    dtype = label_type(len(trajectory.cluster_centers))
    now = trajectory.start_labels.astype(dtype)
    labels = np.empty((len(steps), len(now)), dtype)
    done = 0
    for point, step in enumerate(steps):
        for operation in trajectory.operations[done:step]:
            now[operation.examples] = operation.targets
        labels[point], done = now, int(step)
    if trajectory.utility == "nearest" and X is not None:
        for own in labels:
            own[:] = nearest(X, _means(X, own, sample_weight))[0]
    return Way(
        title,
        "trajectory",
        steps,
        trajectory.utilities[steps],
        trajectory.overall[steps],
        labels,
    )


def _means(
    X: NDArray[np.float64],
    labels: NDArray[np.unsignedinteger],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the mean of each cluster."""
    mass = np.bincount(labels, weights)
    weighted = X if weights is None else X * weights[:, None]
    sums = [np.bincount(labels, column) for column in weighted.T]
    means: NDArray[np.float64] = np.stack(sums, axis=1) / mass[:, None]
    return means


def frontier_labels(
    frontier: Frontier, X: NDArray[np.float64], start: NDArray[np.integer]
) -> NDArray[np.unsignedinteger]:
    """Return labels of each point, numbered to agree with the start.

    Clusters are matched to those of the start so that few rows change their label.

    Parameters
    ----------
    frontier : Frontier
        Points of the trade-off.
    X : ndarray of shape (n_samples, n_features)
        Encoded rows.
    start : ndarray of shape (n_samples,)
        Labels to agree with.

    Returns
    -------
    ndarray of shape (n_points, n_samples)
        Nearest center of each row at each point, as small unsigned integers.
    """
    n_clusters = frontier.cluster_centers.shape[1]
    labels = np.empty((len(frontier.overall), len(X)), label_type(n_clusters))
    for point, centers in enumerate(frontier.cluster_centers):
        found = nearest(X, centers)[0]
        labels[point] = renumbering(found, start, n_clusters)[found]
    return labels


def frontier_way(frontier: Frontier, labels: NDArray[np.integer]) -> Way:
    """Convert a frontier to a way.

    Parameters
    ----------
    frontier : Frontier
        Points of the trade-off.
    labels : ndarray of shape (n_points, n_samples)
        Labels from ``frontier_labels``.

    Returns
    -------
    Way
        All points, from the highest overall utility to the highest lowest utility.
    """
    return Way(
        "The trade-off, from best for everyone to best for the worst-off group",
        "frontier",
        np.arange(len(frontier.overall)),
        frontier.utilities,
        frontier.overall,
        labels,
    )
