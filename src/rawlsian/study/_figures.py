"""The five figures, drawn from results alone: what is in them is in results.json."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from rawlsian.plotting import (
    RAWLSIAN,
    UTILITARIAN,
    Points,
    plot_crosshairs,
    plot_gains,
    plot_iterations,
    plot_trajectory,
    plot_utility_space,
)
from rawlsian.study._claims import (
    PAPER_ITERATIONS,
    best_gain,
    gain,
    started,
    traversal,
)
from rawlsian.study._data import MINORITY
from rawlsian.study._stages import FILTERED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAG, MAG = MINORITY, "Male"

# After which stage each figure can be drawn.
FIGURES = {
    "figure1_existence": 2,
    "figure2_r1": 3,
    "figure3_r1_r2": 3,
    "figure4_iterations": 4,
    "figure5_gains": 4,
}


def draw(name: str, results: dict[str, Any]) -> dict[str, bytes]:
    """A figure as files, by the ending of their names. The same results, same bytes."""
    import matplotlib

    matplotlib.use("agg")
    files = {}
    with _style():
        figure = _DRAWINGS[name](results)
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            file = io.BytesIO()
            figure.savefig(file, format=ending, metadata=metadata)
            files[ending] = file.getvalue()
    return files


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib.pyplot as plt

    style: Any = {
        "savefig.dpi": 160,
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.formatter.useoffset": False,
        "svg.hashsalt": "rawlsian",
        "legend.fontsize": 9,
    }
    with plt.rc_context(style):
        yield
    plt.close("all")


def _points(columns: dict[str, list[float]]) -> Points:
    groups = [name for name in columns if name != "overall"]
    utilities = np.array([columns[name] for name in groups]).T
    return Points(groups, utilities, np.array(columns["overall"]))


def _subplots(*args: int, **options: Any) -> tuple[Figure, Any]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(*args, layout="constrained", **options)
    return figure, axes


def _crosshairs(ax: Axes, results: dict[str, Any]) -> None:
    for key, color, label, size in (
        # The larger first, so that both show where they are the same.
        ("rawlsian", RAWLSIAN, "approximate Rawlsian point", 15),
        ("utilitarian", UTILITARIAN, "utilitarian point", 11),
    ):
        plot_crosshairs(
            results["existence"][key], lag=LAG, mag=MAG, color=color, label=label,
            size=size, ax=ax,
        )  # fmt: skip
    is_filtered = results["samples"]["start"] == FILTERED
    ax.set_xlabel(f"utility of {MAG}" + is_filtered * " (MAG)")
    ax.set_ylabel(f"utility of {LAG}" + is_filtered * " (LAG)")


def _window(ax: Axes, x: list[float], y: list[float]) -> None:
    """Show these coordinates with a margin."""
    for values, set_limits in ((x, ax.set_xlim), (y, ax.set_ylim)):
        margin = 0.12 * max(np.ptp(values), 1e-4)
        set_limits(min(values) - margin, max(values) + margin)


def _existence(results: dict[str, Any]) -> Figure:
    """Figure 1: all points, and those around the two that matter."""
    existence = results["existence"]
    points = _points(existence["points"])
    shown = np.array(existence["shown_runs"])
    points = points._replace(
        utilities=points.utilities[shown], overall=points.overall[shown]
    )
    figure, axes = _subplots(1, 2, figsize=(11, 6))
    _zoom(axes[1], [existence["utilitarian"], existence["rawlsian"]])
    for ax, title in zip(axes, ("all points", "around the two points"), strict=True):
        plot_utility_space(points, lag=LAG, mag=MAG, with_histograms=True, ax=ax)
        _crosshairs(ax, results)
        # Above the histogram, which is above the axes.
        ax.text(0, 1.22, title, fontsize=11, transform=ax.transAxes)
    axes[0].legend(loc="lower right")
    return figure


def _zoom(ax: Axes, ends: list[dict[str, float]]) -> None:
    """Show a square around these points."""
    x, y = [end[MAG] for end in ends], [end[LAG] for end in ends]
    reach = 1.1 * max(np.ptp(x), np.ptp(y), 0.004)
    ax.set_xlim(np.mean(x) - reach, np.mean(x) + reach)
    ax.set_ylim(np.mean(y) - reach, np.mean(y) + reach)


def _trajectories(results: dict[str, Any], operators: tuple[str, ...]) -> Figure:
    figure, ax = _subplots(figsize=(7.5, 5.6))
    x, y = [], []
    for record in results["traversals"]:
        if record["operator"] in operators:
            points = _points(record["path"])
            label = f"{record['operator']}, {record['iterations']} iterations"
            plot_trajectory(points, lag=LAG, mag=MAG, label=label, ax=ax)
            x += record["path"][MAG]
            y += record["path"][LAG]
    _crosshairs(ax, results)
    rawlsian = results["existence"]["rawlsian"]
    _window(ax, [*x, rawlsian[MAG]], [*y, rawlsian[LAG]])
    ax.legend(loc="best")
    return figure


def _iterations(results: dict[str, Any]) -> Figure:
    rows = started(results)
    figure, ax = _subplots(figsize=(8, 5))
    operators = [t["operator"] for t in rows[0]["traversals"]]
    plot_iterations(
        {
            operator: [traversal(row, operator)["iterations"] for row in rows]
            for operator in operators
        },
        reported=PAPER_ITERATIONS,
        ax=ax,
    )
    ax.set_title(f"{len(rows)} samples with the paper's split, a dot each")
    return figure


def _gains(results: dict[str, Any]) -> Figure:
    rows = started(results)
    figure, ax = _subplots(figsize=(6.6, 6.2))
    operators = [t["operator"] for t in rows[0]["traversals"]]
    gains = {
        operator: [gain(traversal(row, operator)) for row in rows]
        for operator in operators
    }
    best = [best_gain(row["existence"]) for row in rows]
    plot_gains(gains, best, ax=ax)
    ax.set_xlabel("LAG utility: best restart above the utilitarian point")
    ax.set_ylabel("LAG utility: end of the traversal above the utilitarian point")
    ax.set_title(f"{len(rows)} samples, a point each for every operator")
    return figure


_DRAWINGS = {
    "figure1_existence": _existence,
    "figure2_r1": lambda results: _trajectories(results, ("R1",)),
    "figure3_r1_r2": lambda results: _trajectories(results, ("R1", "R2")),
    "figure4_iterations": _iterations,
    "figure5_gains": _gains,
}
