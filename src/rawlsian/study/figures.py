"""Figures of the study, drawn from results.json alone."""

from __future__ import annotations

import io
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.problem import Utility
from rawlsian.plotting import (
    RAWLSIAN,
    UTILITARIAN,
    Points,
    plot_bound,
    plot_crosshairs,
    plot_gains,
    plot_iterations,
    plot_trajectory,
    plot_utility_space,
)
from rawlsian.study.claims import (
    PAPER_ITERATIONS,
    best_gain,
    gain,
    is_better,
    n_stopped,
    started,
    traversal,
)
from rawlsian.study.data import MAJORITY, MINORITY
from rawlsian.study.stages import FILTERED, MAIN_OPERATORS, READINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAG, MAG = MINORITY, MAJORITY

STYLE: dict[str, Any] = {
    "savefig.dpi": 160,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "rawlsian",
    "legend.fontsize": 9,
}

PANEL_TITLES: dict[Utility, str] = {
    "nearest": "utility by the nearest mean (the paper's words)",
    "assigned": "utility by the mean of the assigned cluster",
}

# Stage after which each figure can be drawn.
FIGURES = {
    "figure1_existence": 2,
    "figure2_r1": 3,
    "figure3_r1_r2": 3,
    "figure4_iterations": 4,
    "figure5_gains": 4,
    "figure6_beyond": 5,
}


def draw(name: str, results: dict[str, Any]) -> dict[str, bytes]:
    """Draw a figure; return the bytes of its PNG and SVG files by extension.

    Equal results give equal bytes. The caller's matplotlib settings have no effect and
    do not change.
    """
    from matplotlib import style

    files = {}
    with style.context(["default", STYLE]):
        figure = _DRAWINGS[name](results)
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            file = io.BytesIO()
            figure.savefig(file, format=ending, metadata=metadata)
            figure.set_layout_engine("none")  # keep the layout of the first file
            files[ending] = file.getvalue()
    return files


def _points(columns: dict[str, list[float]]) -> Points:
    groups = [name for name in columns if name != "overall"]
    utilities = np.array([columns[name] for name in groups]).T
    return Points(groups, utilities, np.array(columns["overall"]))


def _subplots(
    *args: int, figsize: tuple[float, float], **options: Any
) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", figsize=figsize)
    return figure, figure.subplots(*args, **options)


def _crosshairs(ax: Axes, results: dict[str, Any]) -> None:
    existence = results["existence"]
    best = _by_group(existence["utilitarian"])
    if is_better(existence):
        plot_crosshairs(
            _by_group(existence["rawlsian"]), color=RAWLSIAN, size=15,
            label="approximate Rawlsian point", ax=ax,
        )  # fmt: skip
        plot_crosshairs(best, color=UTILITARIAN, label="utilitarian point", ax=ax)
    else:
        label = "utilitarian and approximate Rawlsian point"
        plot_crosshairs(best, color=UTILITARIAN, label=label, ax=ax)
    is_filtered = results["samples"]["start"] == FILTERED
    ax.set_xlabel(f"utility of {MAG}" + is_filtered * " (MAG)")
    ax.set_ylabel(f"utility of {LAG}" + is_filtered * " (LAG)")


def _by_group(point: dict[str, float]) -> dict[Hashable, float]:
    return {name: value for name, value in point.items() if name != "overall"}


def _legend(
    ax: Axes, place: Literal["best", "lower right", "upper center"], **options: Any
) -> None:
    """Draw a legend with the line of equality last."""
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] == "equal utility")
    ax.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc=place, **options
    )


def _window(
    ax: Axes, x: NDArray[np.float64], y: NDArray[np.float64], *, reach: float = 0.56
) -> None:
    """Show a square around these coordinates; its half side is ``reach`` of theirs."""
    reach *= max(np.ptp(x), np.ptp(y), 1e-4)
    middle_x, middle_y = (np.min(x) + np.max(x)) / 2, (np.min(y) + np.max(y)) / 2
    ax.set_xlim(middle_x - reach, middle_x + reach)
    ax.set_ylim(middle_y - reach, middle_y + reach)


def _existence(results: dict[str, Any]) -> Figure:
    """Draw figure 1: all points, and those around the two points."""
    existence = results["existence"]
    points = _points(existence["points"])
    shown = np.array(existence["shown_runs"])
    points = points._replace(
        utilities=points.utilities[shown], overall=points.overall[shown]
    )
    x, y = (points.utilities[:, points.groups.index(name)] for name in (MAG, LAG))
    figure, axes = _subplots(1, 2, figsize=(11, 6))
    _window(axes[0], x, y)
    _window(axes[1], *_around(existence, x, y))
    for ax, title in zip(axes, ("all points", "around the two points"), strict=True):
        plot_utility_space(points, lag=LAG, mag=MAG, with_histograms=True, ax=ax)
        _crosshairs(ax, results)
        # Place the title above the histogram, which is above the axes.
        ax.text(0, 1.22, title, fontsize=11, transform=ax.transAxes)
    _legend(axes[0], "lower right")
    return figure


def _around(
    existence: dict[str, Any], x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return limits that show the two points and the runs nearest to them."""
    ends = np.array(
        [[existence[key][name] for name in (MAG, LAG)]
         for key in ("utilitarian", "rawlsian")]
    )  # fmt: skip
    middle, apart = ends.mean(axis=0), np.ptp(ends, axis=0).max()
    distance = np.maximum(abs(x - middle[0]), abs(y - middle[1]))
    nearest = np.sort(distance)[min(20, len(x) - 1)]
    reach = max(apart, nearest)
    return middle[0] + [-reach, reach], middle[1] + [-reach, reach]


def _panels(
    figsize: tuple[float, float], **options: Any
) -> tuple[Figure, dict[Utility, Axes]]:
    """Return a figure with a panel for each reading of utility."""
    figure, axes = _subplots(1, len(READINGS), figsize=figsize, **options)
    for ax, reading in zip(axes, READINGS, strict=True):
        ax.set_title(PANEL_TITLES[reading], fontsize=11, loc="left")
    return figure, dict(zip(READINGS, axes, strict=True))


def _trajectories(results: dict[str, Any], operators: tuple[str, ...]) -> Figure:
    figure, panels = _panels((11, 5.6))
    for reading, ax in panels.items():
        for record in results["traversals"][reading]:
            operator = record["operator"]
            if operator in operators:
                plot_trajectory(
                    _points(record["path"]), operator=operator, lag=LAG, mag=MAG,
                    label=f"{operator}, {record['iterations']} iterations", ax=ax,
                )  # fmt: skip
        _crosshairs(ax, results)
        ax.margins(0.1)
    _window_alike(panels)
    for ax in panels.values():
        ax.set_aspect("equal")
        _legend(ax, "best")
    return figure


def _window_alike(panels: dict[Utility, Axes]) -> None:
    """Give all panels the same window, which shows what any of them shows."""
    x = np.array([ax.get_xlim() for ax in panels.values()])
    y = np.array([ax.get_ylim() for ax in panels.values()])
    for ax in panels.values():
        _window(ax, x, y, reach=0.5)


def _iterations(results: dict[str, Any]) -> Figure:
    figure, panels = _panels((11, 5), sharey=True)
    for reading, ax in panels.items():
        rows = started(results, reading)
        plot_iterations(
            {
                operator: [traversal(row, operator)["iterations"] for row in rows]
                for operator in _ended(rows)
            },
            reported=PAPER_ITERATIONS,
            ax=ax,
        )
        ax.tick_params(axis="x", labelsize=9)
        ax.label_outer()
    figure.suptitle(f"{len(rows)} samples, a dot each; red: reported by the paper")
    return figure


def _ended(rows: list[dict[str, Any]]) -> list[str]:
    """Return the operators that were stopped in no sample."""
    return [operator for operator in MAIN_OPERATORS if not n_stopped(rows, operator)]


def _gains(results: dict[str, Any]) -> Figure:
    figure, panels = _panels((11, 5.9))
    for reading, ax in panels.items():
        rows = started(results, reading)
        gains = {
            operator: [gain(traversal(row, operator)) for row in rows]
            for operator in _ended(rows)
        }
        plot_gains(gains, [best_gain(row["existence"]) for row in rows], ax=ax)
        ax.set_xlabel("LAG utility: best restart above the utilitarian point")
        ax.set_ylabel("LAG utility: end of the traversal above the start")
    _window_alike(panels)
    figure.suptitle(f"{len(rows)} samples, a point each for every operator")
    return figure


def _beyond(results: dict[str, Any]) -> Figure:
    """Draw figure 6: trajectories, solutions, frontier and the proved bound."""
    beyond = results["beyond"]
    seed = results["existence"]["sample_seed"]
    row = next(row for row in beyond["rows"] if row["seed"] == seed)
    figure, panels = _panels((11, 7.2))
    for reading, ax in panels.items():
        _paths(ax, beyond["shown"]["paths"][reading])
        _solution(ax, row["methods"][reading])
        if reading == "nearest":
            _frontier(ax, beyond["shown"]["frontier"])
        _crosshairs(ax, results)
        ax.margins(0.08)
    _window_alike(panels)
    for ax in panels.values():
        plot_bound(row["proved"], label="proved: no clustering beyond", ax=ax)
        _legend(ax, "upper center", bbox_to_anchor=(0.5, -0.11), ncols=2)
    return figure


def _paths(ax: Axes, paths: dict[str, dict[str, list[float]]]) -> None:
    for operator, path in paths.items():
        points = _points(path)
        n_steps = len(points.overall) - 1
        plot_trajectory(
            points, operator=operator, lag=LAG, mag=MAG,
            label=f"{operator}, {n_steps} step{'s' * (n_steps != 1)}", ax=ax,
        )  # fmt: skip


def _solution(ax: Axes, methods: dict[str, dict[str, Any]]) -> None:
    """Draw the solution of RawlsianKMeans: the only method without a trajectory."""
    for name, end in methods.items():
        if "point" in end:
            ax.plot(
                end["point"][MAG], end["point"][LAG], marker="h", markersize=12,
                linestyle="none", color=RAWLSIAN, markeredgecolor="black",
                label=f"RawlsianKMeans, {name}", zorder=5,
            )  # fmt: skip


def _frontier(ax: Axes, columns: dict[str, list[float]]) -> None:
    points = _points(columns)
    ax.plot(
        *(points.utilities[:, points.groups.index(name)] for name in (MAG, LAG)),
        color="#666666", marker=".", linewidth=1, label="frontier, free centers",
    )  # fmt: skip


_DRAWINGS = {
    "figure1_existence": _existence,
    "figure2_r1": lambda results: _trajectories(results, ("R1",)),
    "figure3_r1_r2": lambda results: _trajectories(results, ("R1", "R2")),
    "figure4_iterations": _iterations,
    "figure5_gains": _gains,
    "figure6_beyond": _beyond,
}
