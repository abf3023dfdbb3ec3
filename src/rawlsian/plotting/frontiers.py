"""Frontiers: overall utility against the utility of the worst-off group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rawlsian.plotting.axes import (
    LEVEL,
    RAWLSIAN,
    UTILITARIAN,
    HasPoints,
    axes_of,
    plain_numbers,
    points_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_frontier(
    frontier: HasPoints, *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the trade-off between everyone and the worst-off group.

    Parameters
    ----------
    frontier : Frontier
        Points to draw, from the best for everyone to the best for the worst-off group.
        A ``Trajectory`` or ``Points`` can be drawn, too, in their order.
    label : str, default=None
        Label of the line in the legend.
    ax : matplotlib Axes, default=None
        Axes to draw on; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on: overall utility across, lowest group utility upwards.

    Examples
    --------
    >>> from rawlsian import frontier, plot_frontier
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> points = frontier(X, list("aabbb"), n_clusters=1, random_state=0)
    >>> plot_frontier(points).get_ylabel()
    'utility of the worst-off group'
    """
    points = points_of(frontier, "plot_frontier")
    ax = axes_of(ax)
    x, y = points.overall, points.utilities.min(axis=1)
    ax.plot(x, y, color=LEVEL, marker="o", markersize=4, label=label, zorder=3)
    for end, color, marker, name in (
        (0, UTILITARIAN, "s", "best for everyone"),
        (-1, RAWLSIAN, "D", "best for the worst-off group"),
    ):
        ax.plot(
            x[end], y[end], color=color, marker=marker, markersize=9, label=name,
            linestyle="none", markeredgecolor="black", zorder=4,
        )  # fmt: skip
    ax.set_xlabel("overall utility")
    ax.set_ylabel("utility of the worst-off group")
    ax.legend()
    return plain_numbers(ax)
