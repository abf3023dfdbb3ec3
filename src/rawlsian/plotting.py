"""Figures of the utility space: each takes an axes of matplotlib and returns it.

What is drawn is anything with ``groups``, ``utilities`` (a row a point, a column a
group) and ``overall``: :class:`~rawlsian.Restarts`, :class:`~rawlsian.Trajectory`, or
:class:`Points` made of numbers of your own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Points",
    "plot_crosshairs",
    "plot_gains",
    "plot_iterations",
    "plot_trajectory",
    "plot_utility_space",
]

# Colours that most people with a colour vision deficiency can tell apart (Okabe and
# Ito); the paper's own for R1, R2 and the two points.
COLORS = {
    "R1": "#E69F00",
    "R2": "#009E73",
    "R1+R2": "#CC79A7",
    "R2-exhaustive": "#0072B2",
}
MARKERS = {"R1": "o", "R2": "s", "R1+R2": "^", "R2-exhaustive": "D"}
DASHES = {"R1": "-", "R2": "--", "R1+R2": ":", "R2-exhaustive": "-."}
UTILITARIAN, RAWLSIAN, EQUAL = "#1F4FD8", "#7A7A00", "#D1001C"


class Points(NamedTuple):
    """Points of the utility space.

    Attributes
    ----------
    groups : sequence of shape (n_groups,)
        Names of the groups.
    utilities : ndarray of shape (n_points, n_groups)
        Utility of each group at each point.
    overall : ndarray of shape (n_points,)
        Overall utility at each point.
    """

    groups: Sequence[Hashable]
    utilities: NDArray[np.float64]
    overall: NDArray[np.float64]


class HasPoints(Protocol):
    """What can be drawn: Restarts, Trajectory, Points."""

    @property
    def groups(self) -> Any:
        """Names of the groups."""

    @property
    def utilities(self) -> NDArray[np.float64]:
        """Utility of each group at each point."""

    @property
    def overall(self) -> NDArray[np.float64]:
        """Overall utility at each point."""


def plot_utility_space(
    points: HasPoints,
    *,
    lag: Hashable | None = None,
    mag: Hashable | None = None,
    with_histograms: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw clusterings as points, by what they mean for two groups.

    Darker points have a higher overall utility, told by a colour bar. On the dashed
    line both groups have the same utility; below it the group on the vertical axis is
    worse off.

    Parameters
    ----------
    points : Restarts, Trajectory or Points
        What to draw.
    lag, mag : str or other group name, default=None
        The groups on the vertical and on the horizontal axis. Where there are two
        groups, the default for ``lag`` is the one that is worse off more often.
    with_histograms : bool, default=False
        Add how the points in view spread along either axis, above and to the right.
    ax : matplotlib Axes, default=None
        Where to draw; ``None`` makes a new figure. Limits that were set stay.

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
    x, y, names = _coordinates(points, lag, mag)
    ax = _axes(ax)
    overall = np.asarray(points.overall)
    order = np.argsort(overall, kind="stable")  # the best on top
    dots = ax.scatter(
        x[order], y[order], c=overall[order], cmap=_dark_is_high(), s=14,
        linewidths=0, rasterized=len(x) > 500,
    )  # fmt: skip
    _name_axes(ax, names)
    _draw_equality(ax)
    in_view = _in_view(ax, x, y)
    if in_view.any():
        dots.set_clim(overall[in_view].min(), overall[in_view].max())
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.colorbar(
        dots, ax=ax, location="bottom", label="overall utility", shrink=0.8, aspect=40
    )
    if with_histograms:
        _add_histograms(ax, x[in_view], y[in_view])
    return ax


def plot_crosshairs(
    utilities: Mapping[Hashable, float],
    *,
    lag: Hashable,
    mag: Hashable,
    color: str,
    label: str,
    size: float = 11,
    ax: Axes | None = None,
) -> Axes:
    """Mark one clustering by a plus and dashed lines through it, as the paper does.

    Parameters
    ----------
    utilities : dict of group name to float
        Utility of each group; others than the two are not used.
    lag, mag : str or other group name
        The groups on the vertical and on the horizontal axis.
    color, label : str
        How it is drawn, and called in the legend.
    size : float, default=11
        Size of the plus.
    ax : matplotlib Axes, default=None
        Where to draw; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    ax = _axes(ax)
    x, y = utilities[mag], utilities[lag]
    ax.axvline(x, color=color, linestyle="--", linewidth=0.9, zorder=3)
    ax.axhline(y, color=color, linestyle="--", linewidth=0.9, zorder=3)
    ax.plot(
        x, y, marker="P", markersize=size, color=color, markeredgecolor="white",
        linestyle="none", label=label, zorder=6,
    )  # fmt: skip
    return ax


def plot_trajectory(
    trajectory: HasPoints,
    *,
    lag: Hashable | None = None,
    mag: Hashable | None = None,
    label: str | None = None,
    color: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the way of a traversal through the utility space of two groups.

    Parameters
    ----------
    trajectory : Trajectory or Points
        What to draw, in order.
    lag, mag : str or other group name, default=None
        The groups on the vertical and on the horizontal axis. Where there are two
        groups, the default for ``lag`` is the one that is worse off at the start.
    label : str, default=None
        What it is called in the legend. The name of an operator sets the colour,
        too, unless that is given.
    color : str, default=None
        Any colour of matplotlib.
    ax : matplotlib Axes, default=None
        Where to draw; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    if lag is None and len(trajectory.groups) == 2:
        lag = list(trajectory.groups)[int(np.argmin(trajectory.utilities[0]))]
    x, y, names = _coordinates(trajectory, lag, mag)
    ax = _axes(ax)
    operator = str(label).split(" ")[0].rstrip(",:")
    color = color or COLORS.get(operator, "C0")
    ax.plot(
        x, y, color=color, linestyle=DASHES.get(operator, "-"), linewidth=1.8,
        marker=MARKERS.get(operator, "o"), markersize=4, markevery=max(len(x) // 25, 1),
        label=label, zorder=4,
    )  # fmt: skip
    ax.plot(
        x[-1], y[-1], marker=MARKERS.get(operator, "o"), markersize=9, color=color,
        markeredgecolor="black", linestyle="none", zorder=5,
    )  # fmt: skip
    _name_axes(ax, names)
    _draw_equality(ax)
    return ax


def plot_iterations(
    iterations: Mapping[str, ArrayLike],
    *,
    reported: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how many iterations each operator took, a dot a sample.

    Parameters
    ----------
    iterations : dict of str to array-like
        For each operator, the number of iterations in each sample.
    reported : dict of str to float, default=None
        A number reported elsewhere, drawn as a red bar beside its operator.
    ax : matplotlib Axes, default=None
        Where to draw; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    ax = _axes(ax)
    names = []
    for place, (operator, counts) in enumerate(iterations.items()):
        values = np.sort(np.asarray(counts, dtype=float))
        # Spread by rank, so that equal numbers of iterations lie side by side.
        across = place + 0.28 * np.sin(2.4 * np.arange(len(values)))
        ax.scatter(
            across, values, s=22, color=COLORS.get(operator, "C0"), alpha=0.85,
            marker=MARKERS.get(operator, "o"), linewidths=0,
        )  # fmt: skip
        median = float(np.median(values))
        ax.hlines(median, place - 0.38, place + 0.38, color="black", linewidth=1.5)
        names.append(f"{operator}\nmedian {median:g}")
        if reported and operator in reported:
            value = reported[operator]
            ax.hlines(value, place - 0.38, place + 0.38, color=EQUAL, linestyle="--")
            ax.annotate(
                f"paper: {value:g}", (place + 0.4, value), va="center", fontsize=9,
                color=EQUAL,
            )  # fmt: skip
    ax.set_xticks(range(len(iterations)), names)
    ax.set_xlim(-0.6, len(iterations) - 0.1)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("iterations until no operation helps")
    return ax


def plot_gains(
    gains: Mapping[str, ArrayLike], best: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw what operators gain for the worst-off group against what could be gained.

    Parameters
    ----------
    gains : dict of str to array-like of shape (n_samples,)
        For each operator, how much the lowest group utility rises in each sample.
    best : array-like of shape (n_samples,)
        How much higher it is at the best clustering known.
    ax : matplotlib Axes, default=None
        Where to draw; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on; points above the dashed line beat the best known.
    """
    ax = _axes(ax)
    best = np.asarray(best, dtype=float)
    highest = max([best.max(), *(np.max(gain) for gain in gains.values())], default=1)
    limits = np.array([0.0, 1.05 * max(highest, 1e-12)])
    ax.plot(limits, limits, color=EQUAL, linestyle="--", label="as good as the best")
    for operator, gain in gains.items():
        ax.scatter(
            best, gain, s=28, color=COLORS.get(operator, "C0"), alpha=0.85,
            marker=MARKERS.get(operator, "o"), linewidths=0, label=operator,
        )  # fmt: skip
    ax.set_xlim(-0.03 * limits[1], limits[1])
    ax.set_ylim(-0.03 * limits[1], limits[1])
    ax.set_xlabel("lowest group utility: best known above the start")
    ax.set_ylabel("lowest group utility: end above the start")
    ax.legend()
    return ax


def _axes(ax: Axes | None) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plotting needs matplotlib, which is not installed; "
            "pip install 'rawlsian[plot]' brings it."
        ) from error
    return plt.subplots(layout="constrained")[1]


def _coordinates(
    points: HasPoints, lag: Hashable | None, mag: Hashable | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[Hashable, Hashable]]:
    """Utilities of mag and lag, and their names."""
    groups, utilities = list(points.groups), np.asarray(points.utilities)
    for name, group in (("lag", lag), ("mag", mag)):
        if group is not None and group not in groups:
            raise ValueError(
                f"{name} must be one of the groups {', '.join(map(repr, groups))}, "
                f"got {group!r}."
            )
    if len(groups) == 2:
        worst = np.bincount(np.argmin(utilities, axis=1), minlength=2).argmax()
        if lag is None:
            lag = groups[int(worst)] if mag is None else _other(groups, mag)
        if mag is None:
            mag = _other(groups, lag)
    if lag is None or mag is None or lag == mag:
        raise ValueError(
            f"name two different groups to draw, lag= and mag=, out of "
            f"{', '.join(map(repr, groups))}."
        )
    x, y = utilities[:, groups.index(mag)], utilities[:, groups.index(lag)]
    return x, y, (mag, lag)


def _other(groups: Sequence[Hashable], name: Hashable) -> Hashable:
    return groups[1] if name == groups[0] else groups[0]


def _name_axes(ax: Axes, names: tuple[Hashable, Hashable]) -> None:
    ax.set_xlabel(f"utility of {names[0]}")
    ax.set_ylabel(f"utility of {names[1]}")


def _draw_equality(ax: Axes) -> None:
    """The line of equal utilities, once."""
    if not any(line.get_gid() == "equality" for line in ax.lines):
        low = max(ax.get_xlim()[0], ax.get_ylim()[0])
        ax.axline(
            (low, low), slope=1, color=EQUAL, linestyle="--", linewidth=1.2,
            label="equal utility", gid="equality", zorder=2,
        )  # fmt: skip


def _dark_is_high() -> Any:
    """A colour map from light to dark that leaves out what is hard to see on white."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["magma_r"](np.linspace(0.15, 0.95, 256)))


def _in_view(
    ax: Axes, x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which points lie within the limits of the axes."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    is_inside: NDArray[np.bool_] = (left <= x) & (x <= right)
    return is_inside & (bottom <= y) & (y <= top)


def _add_histograms(ax: Axes, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """How the points spread, above and to the right, on the axes' own scales."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    divider = make_axes_locatable(ax)
    above = divider.append_axes("top", size="16%", pad=0.06, sharex=ax)
    right = divider.append_axes("right", size="16%", pad=0.06, sharey=ax)
    above.hist(x, bins=60, range=ax.get_xlim(), color="0.45")
    right.hist(y, bins=60, range=ax.get_ylim(), color="0.45", orientation="horizontal")
    for side in (above, right):
        side.tick_params(labelbottom=False, labelleft=False, left=False, bottom=False)
        side.spines[:].set_visible(False)
