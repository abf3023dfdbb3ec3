"""Contents of a page: clusterings, groups, attributes and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rawlsian.preprocessing import Attribute


@dataclass(frozen=True, eq=False)
class Way:
    """Sequence of clusterings: steps of a traversal, or points of a trade-off.

    Attributes
    ----------
    title : str
        Name on the page, such as "From k-means, step by step (rawls)".
    kind : {"trajectory", "frontier", "one"}
        Kind of sequence; "one" is a single clustering, as in an audit.
    steps : ndarray of shape (n_points,)
        Number of steps before each point. Steps may be skipped.
    utilities : ndarray of shape (n_points, n_groups)
        Mean utility of each group.
    overall : ndarray of shape (n_points,)
        Mean utility of everyone.
    labels : ndarray of shape (n_points, n_rows)
        Cluster of each row at each point, as small unsigned integers.
    opens_at : int, default=-1
        Point that the slider shows first; a negative one counts from the end.
    """

    title: str
    kind: Literal["trajectory", "frontier", "one"]
    steps: NDArray[np.int64]
    utilities: NDArray[np.float64]
    overall: NDArray[np.float64]
    labels: NDArray[np.integer]
    opens_at: int = -1


@dataclass(frozen=True)
class Curve:
    """A figure of k-means with each number of clusters.

    Attributes
    ----------
    title : str
        Name of the figure.
    better : {"higher", "lower"}
        Which values are better.
    values : tuple of float or None
        The figure with each number of clusters; None if it has none.
    taken : int or None
        Number of clusters that this figure takes.
    """

    title: str
    better: Literal["higher", "lower"]
    values: tuple[float | None, ...]
    taken: int | None


@dataclass(frozen=True)
class Curves:
    """How the number of clusters was chosen.

    Attributes
    ----------
    numbers : tuple of int
        Numbers of clusters that were tried, at least two.
    used : int
        Number of clusters of the page.
    curves : tuple of Curve
        Figures to choose by.
    names : (str, tuple of str)
        Heading and values of one more column of the table.
    texts : tuple of str
        Paragraphs on the figures.
    """

    numbers: tuple[int, ...]
    used: int
    curves: tuple[Curve, ...]
    names: tuple[str, tuple[str, ...]]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class TextColumns:
    """A section of a page with paragraphs and a table of texts.

    Attributes
    ----------
    heads : tuple of str
        Heads of the columns.
    rows : tuple of tuple of str
        Rows of the table.
    texts : tuple of str
        Paragraphs beside it.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Tile:
    """One of the tiles under the verdict.

    Attributes
    ----------
    heading : str
        What the tile is about, such as "Gap".
    figure : str
        The figure in large type, such as "24.9 → 9.8". "->" is shown as an arrow.
    text : str
        A sentence on the figure.
    """

    heading: str
    figure: str
    text: str


@dataclass(frozen=True)
class GroupFit:
    """Mean squared distance of a group; everyone before is 100, and lower is better.

    Attributes
    ----------
    name : str
        Name of the group.
    people : int
        Number of its members.
    before : float
        Its mean squared distance before; in an audit the only one.
    before_interval : (float, float) or None
        Interval of ``before``.
    after : float or None
        Its mean squared distance after; None in an audit.
    after_interval : (float, float) or None
        Interval of ``after``.
    is_small : bool
        Whether it has too few people for a statement. Such a group is listed last,
        faint and without intervals.
    """

    name: str
    people: int
    before: float
    before_interval: tuple[float, float] | None
    after: float | None = None
    after_interval: tuple[float, float] | None = None
    is_small: bool = False


@dataclass(frozen=True)
class OptionGroup:
    """Change of a group under an option.

    Attributes
    ----------
    name : str
        Name of the group.
    level : float
        Its mean squared distance; everyone before is 100.
    change : float or None
        Change of the distance in per cent; negative is closer, which is better. None
        if the option changes nothing.
    interval : (float, float) or None
        Interval of ``change``.
    is_small : bool
        Whether it has too few people for a statement.
    """

    name: str
    level: float
    change: float | None
    interval: tuple[float, float] | None
    is_small: bool


@dataclass(frozen=True)
class OptionCard:
    """An option that the reader can choose.

    Attributes
    ----------
    key : str
        "keep", "recommended", "most", "point" or "method".
    title, text : str
        Name of the option, and a sentence on it.
    is_chosen, is_recommended : bool
        Whether this page shows it, and whether it is recommended.
    groups : tuple of OptionGroup
        Changes of all groups.
    everyone : float or None
        Change for everyone in per cent; None if the option changes nothing.
    n_people, n_gain, n_lose, n_moved : int
        Number of people, and of those who come closer, who end farther away, and who
        change their cluster.
    separation : float
        Index of separation, from 0 to 1.
    """

    key: str
    title: str
    text: str
    is_chosen: bool
    is_recommended: bool
    groups: tuple[OptionGroup, ...]
    everyone: float | None
    n_people: int
    n_gain: int
    n_lose: int
    n_moved: int
    separation: float


@dataclass(frozen=True, eq=False)
class Shown:
    """A clustering that the map, the clusters and the composition show.

    Attributes
    ----------
    name : str
        Name of the clustering, such as "K-means" or "Recommended".
    labels : ndarray of shape (n_rows,)
        Cluster of each row.
    distances : ndarray of shape (n_rows,)
        Squared distance of each row to the center that serves it.
    separation : float
        Index of separation, from 0 to 1; NaN is not shown.
    """

    name: str
    labels: NDArray[np.integer]
    distances: NDArray[np.float64]
    separation: float


@dataclass(frozen=True, eq=False)
class Page:
    """Contents of a page.

    Attributes
    ----------
    title : str
        Heading of the page.
    summary : tuple of str
        Paragraphs below the verdict.
    groups : tuple of str
        Names of the groups.
    group_codes : ndarray of shape (n_rows,)
        Index into ``groups`` for each row.
    max_distance : float
        Utility of a perfect fit.
    cluster_names : tuple of str
        Name of each label from 0 on. The page shows "0" as "cluster 0".
    X : ndarray of shape (n_rows, n_features)
        Encoded rows, from which the page derives what is distinctive of a cluster.
    attributes : tuple of Attribute
        Meaning of each column of X.
    ways : tuple of Way
        Sequences for the slider. The page opens at the last point of the first.
    facts : tuple of (str, str)
        Short table of names and values: rows, clusters, method, seed.
    cloud : ndarray of shape (n_runs, n_groups) or None
        Group utilities of k-means restarts.
    bound : (str, float) or None
        Name and value of an upper bound on the lowest group utility.
    row_header : str
        Column name of the row identifiers in a download.
    row_names : sequence of str or None
        Identifier of each row, if it has one besides its number.
    row_numbers : ndarray of shape (n_rows,) or None
        Number of each row in the user's table; None counts from 1.
    weights : ndarray of shape (n_rows,) or None
        How many people each row stands for; None for one each. Counts and means of
        people are weighted; the dots of the map are rows.
    notes : tuple of (str, tuple of str)
        Headed lists at the end of the page: columns not used, rows not clustered.
    methods, limits : tuple of str
        Paragraphs on the computation and on its limits.
    curves : Curves or None
        How the number of clusters was chosen, if it was.
    new_people : TextColumns or None
        How people who are not in the table are served, if that was measured.
    verdict : str
        The result in one sentence.
    tiles : tuple of Tile
        Tiles under the verdict.
    group_fits : tuple of GroupFit
        The chart of all groups, in any order.
    level_text : str
        One sentence on the unit of that chart.
    options : tuple of OptionCard
        Options to choose from. With options the slider is in a closed fold.
    before, after : Shown or None
        Clusterings of the map, the clusters and the composition. In an audit ``after``
        is None. If both are None, the page takes the ends of the first way.
    separation_text : str
        Formula of the index of separation, in a sentence.
    provenance : tuple of (str, str)
        Last section: columns, method, seed, version, command and date.
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
    weights: NDArray[np.float64] | None = None
    notes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    methods: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    curves: Curves | None = None
    new_people: TextColumns | None = None
    verdict: str = ""
    tiles: tuple[Tile, ...] = ()
    group_fits: tuple[GroupFit, ...] = ()
    level_text: str = ""
    options: tuple[OptionCard, ...] = ()
    before: Shown | None = None
    after: Shown | None = None
    separation_text: str = ""
    provenance: tuple[tuple[str, str], ...] = ()
