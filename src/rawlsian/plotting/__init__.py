"""Figures on matplotlib axes. Each function takes an axes and returns it."""

from rawlsian.plotting.audits import plot_audit
from rawlsian.plotting.axes import (
    RAWLSIAN as RAWLSIAN,
    UTILITARIAN as UTILITARIAN,
    Points,
    require_matplotlib as require_matplotlib,
)
from rawlsian.plotting.frontiers import plot_frontier
from rawlsian.plotting.operators import plot_gains, plot_iterations
from rawlsian.plotting.utility_space import (
    plot_bound,
    plot_crosshairs,
    plot_trajectory,
    plot_utility_space,
)

__all__ = [
    "Points",
    "plot_audit",
    "plot_bound",
    "plot_crosshairs",
    "plot_frontier",
    "plot_gains",
    "plot_iterations",
    "plot_trajectory",
    "plot_utility_space",
]
