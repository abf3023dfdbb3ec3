"""Clusterings in the utility space of two groups.

Each function draws any object with ``groups``, ``utilities`` (one row per point, one
column per group) and ``overall``: ``Restarts``, ``Trajectory``, ``Frontier``, or
``Points`` of your own numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rawlsian.plotting.axes import (
    COLORS,
    DASHES,
    EQUAL,
    MARKERS,
    HasPoints,
    Points,
    axes_of,
    by_name,
    finite,
    plain_numbers,
    points_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap

    from rawlsian.bounds import Bound

# Groups on the horizontal and vertical axis of each axes in use.
_DRAWN: WeakKeyDictionary[Axes, tuple[Hashable, Hashable]] = WeakKeyDictionary()


def plot_utility_space(
    points: HasPoints,
    *,
    lag: Hashable | None = None,
    mag: Hashable | None = None,
    with_histograms: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw clusterings as points, by the utilities of two groups.

    Darker points have a higher overall utility; a colour bar has the scale. On the
    dashed line both groups have the same utility. Below it, the group on the vertical
    axis is worse off.

    Parameters
    ----------
    points : Restarts, Trajectory, Frontier or Points
        Clusterings to draw.
    lag, mag : str or other group name, default=None
        Groups on the vertical and on the horizontal axis. By default, those that the
        axes has already; else, if there are two groups, ``lag`` is the group that is
        worse off more often.
    with_histograms : bool, default=False
        Add histograms of the points in view, above and to the right.
    ax : matplotlib Axes, default=None
        Axes to draw on; ``None`` makes a new figure. Limits already set stay.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.

    Examples
    --------
    >>> from rawlsian import kmeans_restarts, load_adult, plot_utility_space
    >>> adult = load_adult(sample=500, random_state=0)
    >>> restarts = kmeans_restarts(
    ...     adult.data, 5, n_runs=100, sensitive_features=adult.sensitive_features,
    ...     max_distance=adult.max_distance, random_state=0,
    ... )
    >>> ax = plot_utility_space(restarts)
    >>> ax.get_ylabel()
    'utility of Male'
    """
    drawn = points_of(points, "plot_utility_space")
    ax = axes_of(ax)
    worst = np.argmin(drawn.utilities, axis=1)
    x, y = _coordinates(ax, drawn, lag, mag, int(np.bincount(worst).argmax()))
    overall = drawn.overall
    order = np.argsort(overall, kind="stable")  # the best on top
    dots = ax.scatter(
        x[order], y[order], c=overall[order], cmap=_dark_is_high(), s=14,
        linewidths=0, rasterized=len(x) > 500,
    )  # fmt: skip
    _draw_equality(ax)
    in_view = _in_view(ax, x, y)
    if len(set(overall[in_view].tolist())) > 1:
        dots.set_clim(overall[in_view].min(), overall[in_view].max())
    bar = ax.figure.colorbar(
        dots, ax=ax, location="bottom", label="overall utility", shrink=0.8, aspect=40
    )
    plain_numbers(bar.ax)
    if with_histograms:
        _add_histograms(ax, x[in_view], y[in_view])
    return plain_numbers(ax)


def plot_crosshairs(
    utilities: Mapping[Hashable, float],
    *,
    lag: Hashable | None = None,
    mag: Hashable | None = None,
    color: str | None = None,
    label: str | None = None,
    size: float = 11,
    ax: Axes | None = None,
) -> Axes:
    """Mark one clustering with a plus and dotted lines through it.

    Parameters
    ----------
    utilities : dict of group name to float
        Utility of each group.
    lag, mag : str or other group name, default=None
        Groups on the vertical and on the horizontal axis. By default, those that the
        axes has already; else, if there are two groups, ``lag`` is the group that is
        worse off.
    color, label : str, default=None
        Colour of the plus, and its label in the legend.
    size : float, default=11
        Size of the plus.
    ax : matplotlib Axes, default=None
        Axes to draw on; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    utilities = by_name(utilities, "utilities")
    values = finite([list(utilities.values())], "utilities")
    point = Points(list(utilities), values, np.empty(1))
    ax = axes_of(ax)
    x, y = _coordinates(ax, point, lag, mag, int(np.argmin(values)))
    plus = ax.plot(
        x, y, marker="P", markersize=size, color=color, markeredgecolor="white",
        linestyle="none", label=label, zorder=6,
    )  # fmt: skip
    for draw_line, at in ((ax.axvline, x[0]), (ax.axhline, y[0])):
        draw_line(at, color=plus[0].get_color(), linestyle=":", zorder=3)
    return plain_numbers(ax)


def plot_trajectory(
    trajectory: HasPoints,
    *,
    operator: str | None = None,
    lag: Hashable | None = None,
    mag: Hashable | None = None,
    label: str | None = None,
    color: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a trajectory in the utility space of two groups.

    Parameters
    ----------
    trajectory : Trajectory or Points
        Points to draw, in order.
    operator : str, default=None
        Name of the operator. Operators of the package have their own colour, dashes
        and marker. The name is the default label.
    lag, mag : str or other group name, default=None
        Groups on the vertical and on the horizontal axis. By default, those that the
        axes has already; else, if there are two groups, ``lag`` is the group that is
        worse off at the start.
    label : str, default=None
        Label in the legend.
    color : str, default=None
        Any matplotlib colour.
    ax : matplotlib Axes, default=None
        Axes to draw on; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    points = points_of(trajectory, "plot_trajectory")
    ax = axes_of(ax)
    worst = int(np.argmin(points.utilities[0]))
    x, y = _coordinates(ax, points, lag, mag, worst)
    name = str(operator)
    marker = MARKERS.get(name, "o")
    line = ax.plot(
        x, y, color=color or COLORS.get(name), linestyle=DASHES.get(name, "-"),
        linewidth=3 if name == "R1" else 1.5, marker=marker, markersize=4,
        markevery=max(len(x) // 25, 1), label=label or operator, zorder=4,
    )  # fmt: skip
    ax.plot(
        x[-1], y[-1], marker=marker, markersize=9, color=line[0].get_color(),
        markeredgecolor="black", linestyle="none", zorder=5,
    )  # fmt: skip
    _draw_equality(ax)
    return plain_numbers(ax)


def plot_bound(
    bound: Bound | float, *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the line that no clustering crosses, and shade the area beyond it.

    In the shaded area, both groups would have a utility above the bound.

    Parameters
    ----------
    bound : Bound or float
        Upper bound on the lowest group utility, as from ``proved_bound``.
    label : str, default=None
        Label in the legend.
    ax : matplotlib Axes, default=None
        Axes to draw on, best after everything else: the limits grow to show the
        corner of the line. ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    utility = _utility_of(bound)
    ax = axes_of(ax)
    for low, high, set_limits in (
        (*ax.get_xlim(), ax.set_xlim), (*ax.get_ylim(), ax.set_ylim)
    ):  # fmt: skip
        margin = 0.1 * (high - low)
        set_limits(min(low, utility - margin), max(high, utility + margin))
    right, top = ax.get_xlim()[1], ax.get_ylim()[1]
    ax.fill_between(
        [utility, right], utility, top, color="black", alpha=0.12, linewidth=0, zorder=1
    )
    ax.plot(
        [utility, utility, right], [top, utility, utility], color="black",
        linewidth=1.5, label=label, zorder=3,
    )  # fmt: skip
    return plain_numbers(ax)


def _utility_of(bound: Bound | float) -> float:
    """Return the utility of a bound, or raise ValueError."""
    utility = bound if isinstance(bound, Real) else getattr(bound, "utility", None)
    if not isinstance(utility, Real) or not np.isfinite(float(utility)):
        raise ValueError(f"plot_bound draws a Bound or a finite number, got {bound!r}.")
    return float(utility)


def _coordinates(
    ax: Axes, points: Points, lag: Hashable | None, mag: Hashable | None, worst: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the utilities of mag and lag; label the axes and remember the groups."""
    groups = list(points.groups)
    if len(groups) == 1:
        raise ValueError(
            f"the utility space has a group on each axis, but there is one group, "
            f"{groups[0]!r}; give sensitive_features with two groups or more."
        )
    listed = ", ".join(map(repr, groups))
    for argument, group in (("lag", lag), ("mag", mag)):
        if group is not None and group not in groups:
            raise ValueError(
                f"{argument} must be one of the groups {listed}, got {group!r}."
            )
    if ax in _DRAWN:
        drawn_mag, drawn_lag = _DRAWN[ax]
        if lag not in (None, drawn_lag) or mag not in (None, drawn_mag):
            raise ValueError(
                f"the axes has {drawn_lag!r} on its vertical and {drawn_mag!r} on its "
                f"horizontal axis already; leave out lag= and mag=."
            )
        lag, mag = drawn_lag, drawn_mag
    elif len(groups) == 2:
        if lag is None:
            lag = groups[worst] if mag is None else _other(groups, mag)
        mag = _other(groups, lag) if mag is None else mag
    if lag not in groups or mag not in groups or lag == mag:
        raise ValueError(
            f"name two different groups to draw, lag= and mag=, out of {listed}."
        )
    _DRAWN[ax] = mag, lag
    ax.set_xlabel(f"utility of {mag}")
    ax.set_ylabel(f"utility of {lag}")
    utilities = points.utilities
    return utilities[:, groups.index(mag)], utilities[:, groups.index(lag)]


def _other(groups: Sequence[Hashable], name: Hashable) -> Hashable:
    return groups[1] if name == groups[0] else groups[0]


def _draw_equality(ax: Axes) -> None:
    """Draw the line of equal utility once, without changing the limits."""
    if any(line.get_gid() == "equality" for line in ax.lines):
        return
    limits = ax.dataLim.frozen()
    ax.axline(
        (limits.x0, limits.x0), slope=1, color=EQUAL, linestyle="--", linewidth=1.6,
        label="equal utility", gid="equality", zorder=2,
    )  # fmt: skip
    ax.dataLim.set(limits)
    ax.autoscale_view()


def _dark_is_high() -> ListedColormap:
    """Return a colour map from light to dark without tones too pale on white."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["magma_r"](np.linspace(0.15, 0.95, 256)))


def _in_view(
    ax: Axes, x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return a mask of the points within the limits of the axes."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    is_inside: NDArray[np.bool_] = (left <= x) & (x <= right)
    return is_inside & (bottom <= y) & (y <= top)


def _add_histograms(ax: Axes, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Draw histograms of the points above and to the right of the axes."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    divider = make_axes_locatable(ax)
    above = divider.append_axes("top", size="16%", pad=0.06, sharex=ax)
    right = divider.append_axes("right", size="16%", pad=0.06, sharey=ax)
    above.hist(x, bins=60, range=ax.get_xlim(), color="0.45")
    right.hist(y, bins=60, range=ax.get_ylim(), color="0.45", orientation="horizontal")
    for side in (above, right):
        side.tick_params(labelbottom=False, labelleft=False, left=False, bottom=False)
        side.spines[:].set_visible(False)
