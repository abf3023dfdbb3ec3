"""Clusterings shown: names of the clusters, portraits, and composition."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian.preprocessing import Attribute
from rawlsian.report.contents import GroupFit, Page, Shown
from rawlsian.report.data import (
    cluster_sums,
    count_pairs,
    in_units,
    mean_of,
    standard_deviation,
)
from rawlsian.report.naming import cluster_names

# Attributes in the portrait of a cluster.
N_BARS = 5
# In standard deviations; a smaller difference from everyone is rounding error.
LEAST_DISTINCTIVE = 1e-6
# Clusters with a portrait and a bar; the table has all.
MOST_PORTRAITS = 30
# Ends of the bar of a number, in standard deviations from everyone.
REACH = 2.0


def clusterings_of(page: Page) -> tuple[Shown, ...]:
    """Return the clusterings to show: before and after, or the only one."""
    if page.before is not None and page.after is not None:
        return page.before, page.after
    only = page.before or page.after
    if only is not None:
        return (only,)
    way = page.ways[0]
    if len(way.labels) == 1:
        return (_with_means(page, way.title, way.labels[0]),)
    return tuple(
        _with_means(page, name, labels)
        for name, labels in zip(("Before", "After"), way.labels[[0, -1]], strict=True)
    )


def _with_means(page: Page, name: str, labels: NDArray[np.integer]) -> Shown:
    """Return a clustering in which the mean of the cluster serves each row."""
    n_clusters = len(page.cluster_names)
    sums = cluster_sums(page.X, labels, n_clusters, page.weights)
    sizes = np.bincount(labels, page.weights, n_clusters)
    centers = sums / np.where(sizes, sizes, 1)[:, None]
    distances = squared_distances(page.X, centers, labels)
    return Shown(name, labels, distances, np.nan)


def squared_distances(
    X: NDArray[np.float64],
    centers: NDArray[np.float64],
    labels: NDArray[np.integer],
) -> NDArray[np.float64]:
    """Return the squared distance of each row to the center of its cluster."""
    distances = np.empty(len(X))
    for k, center in enumerate(centers):
        rows = np.flatnonzero(labels == k)
        distances[rows] = ((X[rows] - center) ** 2).sum(axis=1)
    return distances


def group_fits(
    groups: Sequence[str],
    codes: NDArray[np.integer],
    before: Shown,
    after: Shown | None = None,
) -> tuple[GroupFit, ...]:
    """Return the mean squared distances of the groups, without intervals."""
    sizes = np.bincount(codes, minlength=len(groups))
    everyone = float(before.distances.mean()) or 1.0

    def levels(shown: Shown | None) -> list[float | None]:
        if shown is None:
            return [None] * len(groups)
        sums = np.bincount(codes, shown.distances, len(groups))
        return list(100 * sums / np.maximum(sizes, 1) / everyone)

    return tuple(
        GroupFit(str(name), int(size), start, None, end)
        for name, size, start, end in zip(
            groups, sizes, levels(before), levels(after), strict=True
        )
        if size and start is not None
    )


def shown_data(page: Page, shown: Sequence[Shown]) -> list[dict[str, Any]]:
    """Return names, sizes, portraits and composition of each clustering."""
    everyone, deviation = mean_of(page), standard_deviation(page.X, page.weights)
    return [_clustering(page, each, everyone, deviation) for each in shown]


def _clustering(
    page: Page,
    shown: Shown,
    everyone: NDArray[np.float64],
    deviation: NDArray[np.float64],
) -> dict[str, Any]:
    n_clusters = len(page.cluster_names)
    counts = count_pairs(
        shown.labels, page.group_codes, n_clusters, len(page.groups), page.weights
    )
    sizes = counts.sum(axis=1)
    sums = cluster_sums(page.X, shown.labels, n_clusters, page.weights)
    with np.errstate(invalid="ignore"):
        means = sums / np.where(sizes, sizes, np.nan)[:, None]
    names = cluster_names(
        means, everyone, deviation, page.attributes, page.cluster_names
    )
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MOST_PORTRAITS])
    return {
        "name": shown.name,
        "separation": shown.separation if isfinite(shown.separation) else None,
        "names": names,
        "counts": counts.tolist(),
        "drawn": largest.tolist(),
        "portraits": {
            int(k): _portrait(page.attributes, means[k], everyone, deviation)
            for k in largest
            if sizes[k]
        },
    }


def _portrait(
    attributes: Sequence[Attribute],
    mean: NDArray[np.float64],
    everyone: NDArray[np.float64],
    deviation: NDArray[np.float64],
) -> list[list[Any]]:
    """Return the attributes that differ most: index, value, and ends of the bar.

    The bar runs from everyone to the cluster, in per cent of its track: from 0 to 100 %
    of people for a level, within two standard deviations of everyone for a number.
    """
    difference = (mean - everyone) / deviation
    bars = []
    for j in distinctive(attributes, difference):
        value = in_units(attributes[j], mean[j])
        if attributes[j].level is None:
            start, end = 50.0, 50.0 + 50.0 * float(difference[j]) / REACH
        else:
            start, end = in_units(attributes[j], everyone[j]) or 0.0, value or 0.0
        bars.append([j, value, round(start, 1), round(min(max(end, 0.0), 100.0), 1)])
    return bars


def distinctive(
    attributes: Sequence[Attribute], difference: NDArray[np.float64]
) -> list[int]:
    """Return columns that differ most from everyone, at most two of an attribute.

    The second level of a pair says nothing new, and is left out.
    """
    n_levels: dict[str, int] = {}
    for attribute in attributes:
        n_levels[attribute.name] = n_levels.get(attribute.name, 0) + 1
    taken: dict[str, int] = {}
    columns: list[int] = []
    for j in np.argsort(-np.abs(difference), kind="stable"):
        name = attributes[j].name
        most = 1 if n_levels[name] <= 2 else 2
        if abs(difference[j]) <= LEAST_DISTINCTIVE or len(columns) == N_BARS:
            break
        if taken.get(name, 0) < most:
            taken[name] = taken.get(name, 0) + 1
            columns.append(int(j))
    return columns
