"""Operators over many samples: iterations, and gains against the best known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rawlsian.plotting.axes import (
    COLORS,
    EQUAL,
    MARKERS,
    axes_of,
    by_name,
    finite,
    plain_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    iterations = by_name(iterations, "iterations")
    ax = axes_of(ax)
    names = []
    for place, (operator, counts) in enumerate(iterations.items()):
        values = np.sort(finite(counts, f"iterations[{operator!r}]"))
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
    return plain_numbers(ax)


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
    known = finite(best, "best")
    reached = {
        name: finite(gain, f"gains[{name!r}]")
        for name, gain in by_name(gains, "gains").items()
    }
    for name, gain in reached.items():
        if gain.shape != known.shape or gain.size == 0:
            raise ValueError(
                f"gains[{name!r}] has shape {gain.shape} and best {known.shape}; give "
                "one number per sample in both."
            )
    ax = axes_of(ax)
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
    return plain_numbers(ax)
