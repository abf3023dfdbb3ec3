"""What is on a page, before it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Attribute(NamedTuple):
    """What one column of X stands for, so that a mean of it can be told to people.

    Attributes
    ----------
    name : str
        The column of the user's table.
    level : str or None
        For categories the level: a mean of ``X`` over ``spread`` is then the share of
        people who have it. None for numbers.
    lowest, spread : float
        For numbers ``lowest + spread * mean`` is the mean in the user's units.
    """

    name: str
    level: str | None
    lowest: float
    spread: float


@dataclass(frozen=True, eq=False)
class Way:
    """Clusterings in an order: steps of a traversal, or points of a trade-off.

    Attributes
    ----------
    title : str
        Such as "From k-means, step by step (rawls)".
    kind : {"trajectory", "frontier", "one"}
        What its points are; "one" is a single clustering, as of an audit.
    steps : ndarray of shape (n_points,)
        How many steps lead to each point; not every step need be a point here.
    utilities : ndarray of shape (n_points, n_groups)
        Mean utility of each group.
    overall : ndarray of shape (n_points,)
        Mean utility of everyone.
    labels : ndarray of shape (n_points, n_rows)
        The cluster of each row, as small unsigned integers.
    """

    title: str
    kind: Literal["trajectory", "frontier", "one"]
    steps: NDArray[np.int64]
    utilities: NDArray[np.float64]
    overall: NDArray[np.float64]
    labels: NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Page:
    """Everything that a page shows.

    Attributes
    ----------
    title : str
        Its heading.
    summary : tuple of str
        What changed (or what was found), in two sentences with numbers.
    groups : tuple of str
        Names of the groups.
    group_codes : ndarray of shape (n_rows,)
        The position of each row's group among them.
    max_distance : float
        The utility of a perfect fit.
    cluster_names : tuple of str
        One for each label from 0, such as "0"; the page says "cluster 0".
    X : ndarray of shape (n_rows, n_features)
        The encoded rows, of which the clusters' most distinctive attributes are told.
    attributes : tuple of Attribute
        What each column of X stands for.
    ways : tuple of Way
        What the slider walks; the first is shown at first, at its last point.
    facts : tuple of (str, str)
        A short table: rows, clusters, method, seed, what was left out.
    cloud : ndarray of shape (n_runs, n_groups) or None
        Group utilities of k-means restarts.
    bound : (str, float) or None
        What is known to limit the lowest group utility, and where it lies.
    row_header : str
        What the rows' names are called in a download.
    row_names : sequence of str or None
        The identifier of each row, if there is one besides its number.
    row_numbers : ndarray of shape (n_rows,) or None
        The number of each row in the user's table; None counts from 1.
    notes : tuple of (str, tuple of str)
        Lists to show at the end, each with a heading: columns not used, rows not
        clustered.
    methods, limits : tuple of str
        Paragraphs: what was computed, and what it does not show.
    """

    title: str
    summary: tuple[str, ...]
    groups: tuple[str, ...]
    group_codes: NDArray[np.integer]
    max_distance: float
    cluster_names: tuple[str, ...]
    X: NDArray[np.float64]
    attributes: tuple[Attribute, ...]
    ways: tuple[Way, ...]
    facts: tuple[tuple[str, str], ...] = ()
    cloud: NDArray[np.float64] | None = None
    bound: tuple[str, float] | None = None
    row_header: str = "id"
    row_names: Sequence[str] | None = None
    row_numbers: NDArray[np.int64] | None = None
    notes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    methods: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
