"""Map of the people: the two directions in which they differ most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian.preprocessing import Attribute
from rawlsian.report.contents import Page, Shown
from rawlsian.report.naming import term

MOST_PEOPLE = 1500
WIDTH, HEIGHT = 1000, 750  # of the map, in its own units
N_SHADES = 7  # of distances
# An end of an axis is named after an entry of at least this much of the largest.
LEAST_ENTRY = 1 / 3
HIGHEST_SHADE = 0.98  # quantile of the distances; beyond all have the last shade


class Projection(NamedTuple):
    """Two principal components.

    Attributes
    ----------
    directions : ndarray of shape (n_features, 2)
        Unit vectors; zero if there are fewer directions.
    shares : ndarray of shape (2,)
        Share of the variance along each.
    """

    directions: NDArray[np.float64]
    shares: NDArray[np.float64]


def map_data(page: Page, shown: Sequence[Shown]) -> dict[str, Any]:
    """Return places, clusters, groups and shades of the people drawn."""
    rows = sample_rows(page.group_codes, [each.labels for each in shown])
    center = page.X.mean(axis=0)
    projection = project(page.X, center)
    x, y = _places((page.X[rows] - center) @ projection.directions)
    return {
        "x": x,
        "y": y,
        "size": [WIDTH, HEIGHT],
        "groups": page.group_codes[rows].tolist(),
        "clusters": [each.labels[rows].tolist() for each in shown],
        "shades": _shades([each.distances for each in shown], rows),
        "nShades": N_SHADES,
        "axes": [
            _ends(page.attributes, direction) for direction in projection.directions.T
        ],
        "caption": _caption(len(rows), page, projection.shares),
    }


def project(X: NDArray[np.float64], center: NDArray[np.float64]) -> Projection:
    """Return the two principal components of the rows, with signs that never vary.

    The largest entry of each direction is positive.
    """
    covariance = X.T @ X / len(X) - np.outer(center, center)
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = np.maximum(values[::-1][:2], 0.0), vectors[:, ::-1][:, :2]
    total = float(np.trace(covariance))
    is_real = values > 1e-12 * max(total, 1e-300)
    # Rounding may decide which of two equal entries is larger: take the first.
    sizes = np.abs(vectors).round(9)
    largest = vectors[sizes.argmax(axis=0), np.arange(vectors.shape[1])]
    directions = np.zeros((X.shape[1], 2))
    shares = np.zeros(2)
    n_real = int(is_real.sum())
    directions[:, :n_real] = (vectors * np.where(largest < 0, -1.0, 1.0))[:, :n_real]
    if total > 0:
        shares[:n_real] = values[:n_real] / total
    return Projection(directions, shares)


def sample_rows(
    groups: NDArray[np.integer], labels: Sequence[NDArray[np.integer]]
) -> NDArray[np.intp]:
    """Return rows to draw: one of each group and cluster, and others by chance.

    The same rows come for the same groups and labels, in an order without meaning, so
    that no group is drawn above all others.
    """
    order = np.random.default_rng(0).permutation(len(groups))
    if len(order) <= MOST_PEOPLE:
        return order
    firsts = [
        np.unique(codes[order], return_index=True)[1] for codes in (groups, *labels)
    ]
    places = np.unique(np.concatenate([*firsts, np.arange(MOST_PEOPLE)]))
    is_first = np.isin(places, np.concatenate(firsts))
    n_others = max(MOST_PEOPLE - int(is_first.sum()), 0)
    kept = np.concatenate([places[is_first], places[~is_first][:n_others]])
    rows: NDArray[np.intp] = order[np.sort(kept)[:MOST_PEOPLE]]
    return rows


def _places(points: NDArray[np.float64]) -> tuple[list[int], list[int]]:
    """Return whole coordinates, with the same unit along both axes, y downwards."""
    low, high = points.min(axis=0), points.max(axis=0)
    unit = max((high[0] - low[0]) / WIDTH, (high[1] - low[1]) / HEIGHT) or 1.0
    middle = (low + high) / 2
    x = WIDTH / 2 + (points[:, 0] - middle[0]) / unit
    y = HEIGHT / 2 - (points[:, 1] - middle[1]) / unit
    return x.round().astype(int).tolist(), y.round().astype(int).tolist()


def _shades(
    distances: Sequence[NDArray[np.float64]], rows: NDArray[np.intp]
) -> list[list[int]]:
    """Return a shade for each distance, on one scale for all clusterings."""
    everyone = np.concatenate(distances)
    low, high = float(everyone.min()), float(np.quantile(everyone, HIGHEST_SHADE))
    step = (high - low) / N_SHADES or 1.0
    return [
        np.clip((each[rows] - low) // step, 0, N_SHADES - 1).astype(int).tolist()
        for each in distances
    ]


def _ends(
    attributes: Sequence[Attribute], direction: NDArray[np.float64]
) -> tuple[str, str]:
    """Say what lies at the low and at the high end of an axis."""
    return _end(attributes, -direction), _end(attributes, direction)


def _end(attributes: Sequence[Attribute], towards: NDArray[np.float64]) -> str:
    """Say what lies in a direction: a level, or high or low numbers."""
    is_number = np.array([attribute.level is None for attribute in attributes])
    towards = towards.round(9)
    sizes = np.where(is_number, np.abs(towards), towards)
    j = int(sizes.argmax())
    if sizes[j] <= np.abs(towards).max() * LEAST_ENTRY:
        return ""
    return term(attributes, j, 1.0, is_more=bool(towards[j] > 0))


def _caption(n_drawn: int, page: Page, shares: NDArray[np.float64]) -> str:
    n_rows, people = len(page.X), "people"
    whom = "Each dot is a person."
    if page.weights is not None:
        people = "rows"
        whom = "Each dot is a row of the table, whatever its weight."
    if n_drawn < n_rows:
        whom = (
            f"The dots are {n_drawn:,} of {n_rows:,} {people}, drawn by chance, with "
            "some of every group and cluster."
        )
    if not shares.any():
        return f"{whom} All {people} have the same values in all columns."
    return (
        f"{whom} They are placed along the two directions in which {people} differ "
        f"most (the first two principal components), which hold {shares.sum():.0%} of "
        "the variance: those near each other here may differ in the rest."
    )
