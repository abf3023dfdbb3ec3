"""Figures of the utility space on matplotlib axes.

Each function takes an axes and returns it. It draws any object with ``groups``,
``utilities`` (one row per point, one column per group) and ``overall``:
``Restarts``, ``Trajectory``, or ``Points`` of your own numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap

    from rawlsian.bounds import Bound

__all__ = [
    "Points",
    "plot_bound",
    "plot_crosshairs",
    "plot_gains",
    "plot_iterations",
    "plot_trajectory",
    "plot_utility_space",
]

# Colours of Okabe and Ito, which suit people with a colour vision deficiency; markers
# and dashes differ, too. The two points and the line of equality have the paper's
# colours and differ in shape.
COLORS = {
    "R1": "#E69F00",
    "R2": "#009E73",
    "R1+R2": "#CC79A7",
    "R2-exhaustive": "#0072B2",
    "batch": "#56B4E9",
    "relocate": "#999999",
    "rawls": "#D55E00",
}
MARKERS = {
    "R1": "o",
    "R2": "s",
    "R1+R2": "^",
    "R2-exhaustive": "D",
    "batch": "v",
    "relocate": "X",
    "rawls": "*",
}
DASHES = {"R1": "-", "R2": "--", "R1+R2": ":", "R2-exhaustive": "-."}
UTILITARIAN, RAWLSIAN, EQUAL = "#1F4FD8", "#7A7A00", "#D1001C"

# Groups on the horizontal and vertical axis of each axes in use.
_DRAWN: WeakKeyDictionary[Axes, tuple[Hashable, Hashable]] = WeakKeyDictionary()


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
    """Protocol of drawable objects: Restarts, Trajectory, Points."""

    @property
    def groups(self) -> Sequence[Hashable] | NDArray[Any]:
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
    """Draw clusterings as points, by the utilities of two groups.

    Darker points have a higher overall utility; a colour bar has the scale. On the
    dashed line both groups have the same utility. Below it, the group on the vertical
    axis is worse off.

    Parameters
    ----------
    points : Restarts, Trajectory or Points
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
    ax = _axes(ax)
    worst = np.argmin(points.utilities, axis=1)
    x, y = _coordinates(ax, points, lag, mag, int(np.bincount(worst).argmax()))
    overall = np.asarray(points.overall)
    order = np.argsort(overall, kind="stable")  # the best on top
    dots = ax.scatter(
        x[order], y[order], c=overall[order], cmap=_dark_is_high(), s=14,
        linewidths=0, rasterized=len(x) > 500,
    )  # fmt: skip
    _draw_equality(ax)
    in_view = _in_view(ax, x, y)
    if len(set(overall[in_view].tolist())) > 1:
        dots.set_clim(overall[in_view].min(), overall[in_view].max())
    ax.figure.colorbar(
        dots, ax=ax, location="bottom", label="overall utility", shrink=0.8, aspect=40
    )
    if with_histograms:
        _add_histograms(ax, x[in_view], y[in_view])
    return ax


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
    ax = _axes(ax)
    values = np.array([list(utilities.values())], dtype=float)
    point = Points(list(utilities), values, np.empty(1))
    x, y = _coordinates(ax, point, lag, mag, int(np.argmin(values)))
    plus = ax.plot(
        x, y, marker="P", markersize=size, color=color, markeredgecolor="white",
        linestyle="none", label=label, zorder=6,
    )  # fmt: skip
    for draw_line, at in ((ax.axvline, x[0]), (ax.axhline, y[0])):
        draw_line(at, color=plus[0].get_color(), linestyle=":", zorder=3)
    return ax


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
    ax = _axes(ax)
    worst = int(np.argmin(trajectory.utilities[0]))
    x, y = _coordinates(ax, trajectory, lag, mag, worst)
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
    return ax


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
    ax = _axes(ax)
    utility = bound if isinstance(bound, (int, float)) else bound.utility
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
    return ax


def plot_iterations(
    iterations: Mapping[str, ArrayLike],
    *,
    reported: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the number of iterations of each operator, one dot per sample.

    Parameters
    ----------
    iterations : dict of str to array-like
        For each operator, the number of iterations in each sample.
    reported : dict of str to float, default=None
        Number reported elsewhere for each operator, drawn as a dashed red bar.
    ax : matplotlib Axes, default=None
        Axes to draw on; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    ax = _axes(ax)
    names = []
    for place, (operator, counts) in enumerate(iterations.items()):
        values = np.sort(np.asarray(counts, dtype=float))
        if len(values) == 0:
            raise ValueError(f"iterations has no number for {operator!r}.")
        # Spread dots by rank: equal numbers lie side by side.
        across = place + 0.28 * np.sin(2.4 * np.arange(len(values)))
        ax.scatter(
            across, values, s=22, color=COLORS.get(operator, f"C{place}"), alpha=0.85,
            marker=MARKERS.get(operator, "o"), linewidths=0,
        )  # fmt: skip
        median = float(np.median(values))
        ax.hlines(median, place - 0.38, place + 0.38, color="black", linewidth=1.5)
        names.append(f"{operator}\nmedian {median:g}")
        if reported and operator in reported:
            value = reported[operator]
            ax.hlines(value, place - 0.38, place + 0.38, color=EQUAL, linestyle="--")
            ax.annotate(
                f"reported: {value:g}", (place + 0.4, value), va="center", fontsize=9,
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
    """Draw the gains of operators for the worst-off group against the best known.

    Parameters
    ----------
    gains : dict of str to array-like of shape (n_samples,)
        For each operator, the rise of the lowest group utility in each sample.
    best : array-like of shape (n_samples,)
        Rise of the lowest group utility at the best known clustering.
    ax : matplotlib Axes, default=None
        Axes to draw on; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on. Points above the dashed line beat the best known.
    """
    known = np.asarray(best, dtype=float)
    reached = {name: np.asarray(gain, dtype=float) for name, gain in gains.items()}
    for name, gain in reached.items():
        if gain.shape != known.shape or gain.size == 0:
            raise ValueError(
                f"gains[{name!r}] has shape {gain.shape} and best {known.shape}; give "
                "one number per sample in both."
            )
    ax = _axes(ax)
    every = np.concatenate([known, *reached.values()])
    low, high = min(every.min(), 0.0), max(every.max(), 1e-12)
    ax.plot(
        [low, high], [low, high], color=EQUAL, linestyle="--",
        label="as good as the best known",
    )  # fmt: skip
    for place, (operator, gain) in enumerate(reached.items()):
        ax.scatter(
            known, gain, s=34, edgecolors=COLORS.get(operator, f"C{place}"),
            facecolors="none",  # overlapping markers stay visible
            linewidths=1.4, marker=MARKERS.get(operator, "o"), label=operator,
        )  # fmt: skip
    margin = 0.04 * (high - low)
    ax.set_xlim(low - margin, high + margin)
    ax.set_ylim(low - margin, high + margin)
    ax.set_xlabel("lowest group utility: best known above the start")
    ax.set_ylabel("lowest group utility: end above the start")
    ax.legend()
    return ax


def require_matplotlib() -> None:
    """Raise an ImportError that names the extra if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib, which is not installed; "
            "pip install 'rawlsian[plot]' brings it."
        ) from error


def _axes(ax: Axes | None) -> Axes:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _coordinates(
    ax: Axes, points: HasPoints, lag: Hashable | None, mag: Hashable | None, worst: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the utilities of mag and lag; label the axes and remember the groups."""
    groups: list[Hashable] = np.asarray(points.groups, dtype=object).tolist()
    groups = [getattr(name, "item", lambda name=name: name)() for name in groups]
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
    utilities = np.asarray(points.utilities)
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
