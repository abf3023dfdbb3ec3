"""Texts of a page, and the numbers of each point that its slider shows."""

from __future__ import annotations

from math import floor, isfinite, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rawlsian._version import __version__
from rawlsian.preprocessing import Attribute
from rawlsian.report.contents import Page, Way
from rawlsian.report.labels import explored

# Moves are a table for up to 15 clusters, and a list of the largest flows beyond.
LARGEST_TABLE = 15
N_FLOWS = 20
N_NOTES = 200
# Rows of X multiplied at a time.
CHUNK = 1 << 16


def page_data(page: Page) -> dict[str, Any]:
    """Return texts, names, and the numbers of each point of the ways."""
    everyone = mean_of(page)
    return {
        "title": page.title,
        "summary": page.summary,
        "facts": page.facts,
        "provenance": page.provenance,
        "separationText": page.separation_text,
        "version": __version__,
        "groups": page.groups,
        "groupSizes": group_sizes(page).tolist(),
        "clusters": [f"cluster {name}" for name in page.cluster_names],
        "clusterNames": page.cluster_names,
        "decimals": _decimals(page.max_distance),
        "attributes": [
            [attribute.name, attribute.level, in_units(attribute, mean)]
            for attribute, mean in zip(page.attributes, everyone, strict=True)
        ],
        "movesAsTable": len(page.cluster_names) <= LARGEST_TABLE,
        "ways": [_way_data(page, way) for way in explored(page)],
        "bound": _bound(page),
        "notes": [
            [heading, entries[:N_NOTES], max(len(entries) - N_NOTES, 0)]
            for heading, entries in page.notes
        ],
        "methods": page.methods,
        "limits": page.limits,
    }


def mean_of(page: Page) -> NDArray[np.float64]:
    """Return the mean of each column of X over everyone."""
    if page.weights is None:
        return np.asarray(page.X.mean(axis=0))
    return np.asarray(np.average(page.X, axis=0, weights=page.weights))


def group_sizes(page: Page) -> NDArray[np.number]:
    """Return the people of each group."""
    return _count(page.group_codes, len(page.groups), page.weights)


def in_units(attribute: Attribute, mean: float) -> float | None:
    """Convert the mean of an encoded column to the user's units or to percent."""
    if attribute.level is None:
        value = float(attribute.in_units(mean))
    else:
        share = mean / attribute.spread if attribute.spread else 0.0
        # Adding and subtracting rows leaves rounding errors: clip the share.
        value = 100 * round(min(max(share, 0.0), 1.0), 9)
    # Seven digits halve the size of the numbers in the page.
    return float(f"{value:.7g}") if isfinite(value) else None


def finite(values: NDArray[np.float64]) -> list[Any]:
    """Return nested lists of the values, with None for NaN and infinity."""
    if np.isfinite(values).all():
        return list(values.tolist())
    return [
        finite(value) if np.ndim(value) else (float(value) if isfinite(value) else None)
        for value in values
    ]


def _way_data(page: Page, way: Way) -> dict[str, Any]:
    n_clusters, n_groups = len(page.cluster_names), len(page.groups)
    counts, flows, moved = [], [], []
    for labels in way.labels:
        members = count_pairs(
            labels, page.group_codes, n_clusters, n_groups, page.weights
        )
        changes = count_pairs(
            way.labels[0], labels, n_clusters, n_clusters, page.weights
        )
        counts.append(members.tolist())
        moved.append(changes[~np.eye(n_clusters, dtype=bool)].sum().item())
        flows.append(_flows(changes))
    return {
        "title": way.title,
        "kind": way.kind,
        "steps": way.steps.tolist(),
        "opensAt": way.opens_at % len(way.steps),
        "utilities": finite(way.utilities),
        "overall": finite(way.overall),
        "counts": counts,  # by point, cluster and group
        "flows": flows,  # by point: from, to, how many
        "moved": moved,  # by point
    }


def _count(
    codes: NDArray[np.integer], n_codes: int, weights: NDArray[np.float64] | None
) -> NDArray[np.number]:
    """Return the people with each code; sums of weights without rounding errors."""
    counts = np.bincount(codes, weights, n_codes)
    return counts if weights is None else counts.round(6)


def _decimals(max_distance: float) -> int:
    """Return the decimals of a utility: four if utilities are between 1 and 10."""
    if not (isfinite(max_distance) and max_distance > 0):
        return 4
    return min(max(4 - floor(log10(max_distance)), 0), 12)


def standard_deviation(
    X: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the standard deviation of each column; infinite if it is constant.

    Works column by column, because ``X.std(axis=0)`` copies X.
    """
    deviation = np.array([_deviation(column, weights) for column in X.T])
    # Rounding can make the deviation of equal numbers nonzero.
    is_constant = X.min(axis=0) == X.max(axis=0)
    return np.where(is_constant | (deviation == 0), np.inf, deviation)


def _deviation(
    column: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> float:
    if weights is None:
        return float(column.std())
    mean = np.average(column, weights=weights)
    return float(np.sqrt(np.average((column - mean) ** 2, weights=weights)))


def cluster_sums(
    X: NDArray[np.float64],
    labels: NDArray[np.integer],
    n_clusters: int,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the weighted sums of each cluster's rows: (n_clusters, n_features)."""
    weights = np.ones(len(X)) if weights is None else weights
    sums = np.zeros((n_clusters, X.shape[1]))
    for start in range(0, len(X), CHUNK):
        some = slice(start, start + CHUNK)
        sums += _sums(X[some], labels[some], n_clusters, weights[some])
    return sums


def _sums(
    rows: NDArray[np.float64],
    labels: NDArray[np.integer],
    n_clusters: int,
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    n_rows = len(rows)
    is_member = csr_array(
        (weights, labels.astype(np.int32), np.arange(n_rows + 1)),
        shape=(n_rows, n_clusters),
    )
    sums: NDArray[np.float64] = is_member.T @ rows
    return sums


def count_pairs(
    codes: NDArray[np.integer],
    others: NDArray[np.integer],
    n_codes: int,
    n_others: int,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.number]:
    """Return the people with each pair of codes: (n_codes, n_others)."""
    pairs = codes.astype(np.intp) * n_others + others
    return _count(pairs, n_codes * n_others, weights).reshape(n_codes, n_others)


def _flows(changes: NDArray[np.number]) -> list[list[float]]:
    """Return (from, to, people): all flows, or the largest if clusters are many."""
    if len(changes) > LARGEST_TABLE:
        changes = changes * ~np.eye(len(changes), dtype=bool)
    sources, targets = np.nonzero(changes)
    people = changes[sources, targets]
    if len(changes) > LARGEST_TABLE:
        largest = np.argsort(-people, kind="stable")[:N_FLOWS]
        sources, targets, people = sources[largest], targets[largest], people[largest]
    flows = zip(sources.tolist(), targets.tolist(), people.tolist(), strict=True)
    return [list(flow) for flow in flows]


def _bound(page: Page) -> tuple[str, float] | None:
    return page.bound if page.bound and isfinite(page.bound[1]) else None
