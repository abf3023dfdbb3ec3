"""Trajectories and frontiers as what a slider walks, and words that go with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._fair import nearest
from rawlsian._frontier import Frontier
from rawlsian._many_moves import renumbering
from rawlsian._problem import Problem
from rawlsian._traverse import Trajectory
from rawlsian.report._contents import Way

# Points of a trajectory that the slider stops at.
MOST_POINTS = 60

UTILITY = (
    "Utility: each person's squared distance to the center of their cluster is taken "
    "from {limit:g}, the largest squared distance that two people in this table can "
    "have, and the mean is taken over a group. Higher is better; {limit:g} would be a "
    "perfect fit. Every number column is scaled to the range from 0 to 1, and two "
    "different categories are 1 apart, so that each column counts alike."
)
TRADE_OFF = (
    "The trade-off: clusterings between the best k-means found, which has the highest "
    "overall utility, and the one that serves the worst-off group best. Of those "
    "found, none is better than another on both counts. Centers may lie anywhere here, "
    "and everyone is in the cluster of the nearest one."
)
LIMITS = (
    "These figures compare how closely clusters describe groups on average. They do "
    "not tell whether what is done with the clusters is fair, whether the columns "
    "measure what they should, or whether any one person is served well.",
    "A group's mean hides differences within it, such as between young and old women. "
    "Name several sensitive columns to look at their intersections, and mind how few "
    "people are then in each.",
    "Utility depends on which columns are in the table and how they are scaled, and "
    "the ratio of two utilities on what a perfect fit counts. Compare figures of the "
    "same table only.",
    "A higher lowest utility usually costs others something; who pays is shown above. "
    "Whether that is right is for the people concerned to decide, not for this page.",
)


def small(labels: NDArray[Any], n_clusters: int) -> NDArray[Any]:
    """Labels in as few bytes as hold them."""
    return labels.astype(np.min_scalar_type(n_clusters - 1))


def trajectory_way(trajectory: Trajectory, title: str, n_clusters: int) -> Way:
    """Some of its points: both ends, and what lies evenly between them."""
    last = trajectory.n_iter
    evenly = np.linspace(0, last, min(MOST_POINTS, last + 1))
    steps = np.unique(evenly.round().astype(np.int64))
    now = small(trajectory.start_labels, n_clusters)
    labels = np.empty((len(steps), len(now)), now.dtype)
    done = 0
    for point, step in enumerate(steps):
        for operation in trajectory.operations[done:step]:
            now[operation.examples] = operation.targets
        labels[point], done = now, int(step)
    return Way(
        title,
        "trajectory",
        steps,
        trajectory.utilities[steps],
        trajectory.overall[steps],
        labels,
    )


def frontier_labels(
    frontier: Frontier, problem: Problem, start: NDArray[Any]
) -> NDArray[Any]:
    """Labels of each point, numbered so that few rows seem to have moved."""
    n_clusters = frontier.cluster_centers.shape[1]
    labels = np.empty(
        (len(frontier.overall), problem.n_samples), np.min_scalar_type(n_clusters - 1)
    )
    for point, centers in enumerate(frontier.cluster_centers):
        found = nearest(problem.X, centers)[0]
        start = renumbering(found, start, n_clusters)[found]
        labels[point] = start
    return labels


def frontier_way(frontier: Frontier, problem: Problem, start: NDArray[Any]) -> Way:
    """Every point of the trade-off."""
    return Way(
        "The trade-off, from the highest overall to the highest lowest utility",
        "frontier",
        np.arange(len(frontier.overall)),
        frontier.utilities,
        frontier.overall,
        frontier_labels(frontier, problem, start),
    )
