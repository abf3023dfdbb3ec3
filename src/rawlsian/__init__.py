"""Clustering that serves the worst-off group as well as it can be served.

Names are loaded when they are first used, so that ``import rawlsian`` costs next to
nothing: numba and scikit-learn's clusterers take a second between them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rawlsian._version import __version__

if TYPE_CHECKING:
    from rawlsian import (
        bounds,
        datasets,
        metrics,
        operators,
        plotting,
        preprocessing,
        report,
        study,
    )
    from rawlsian._core.assignment import Assignment
    from rawlsian._estimators.kmeans import FairLloyd, RawlsianKMeans
    from rawlsian._estimators.postprocessor import RawlsianPostprocessor
    from rawlsian._estimators.traverse import Operation, Step, Trajectory, traverse
    from rawlsian._outofcore.walk import LargeTrajectory
    from rawlsian._rows.blocks import Blocks, open_blocks
    from rawlsian._search.fair import PassStep, SearchStep
    from rawlsian._search.frontier import Frontier, frontier
    from rawlsian._search.restarts import Restarts, kmeans_restarts
    from rawlsian.bounds import Bound, BoundStep, group_bound, proved_bound
    from rawlsian.datasets import load_adult
    from rawlsian.metrics import (
        Audit,
        audit,
        group_utilities,
        least_advantaged,
        skyline,
        utility_gap,
        utility_ratio,
    )
    from rawlsian.operators import AnyOf, FirstOf, Rawls
    from rawlsian.operators.many_moves import Batch, Relocate
    from rawlsian.operators.proposals import Operator, Proposals, select
    from rawlsian.operators.r1_r2 import R1, R2, R2Exhaustive
    from rawlsian.plotting import (
        plot_bound,
        plot_crosshairs,
        plot_gains,
        plot_iterations,
        plot_trajectory,
        plot_utility_space,
    )
    from rawlsian.preprocessing import UnitDistanceEncoder
    from rawlsian.study import StudyConfig, run_study

__all__ = [
    "R1",
    "R2",
    "AnyOf",
    "Assignment",
    "Audit",
    "Batch",
    "Blocks",
    "Bound",
    "BoundStep",
    "FairLloyd",
    "FirstOf",
    "Frontier",
    "LargeTrajectory",
    "Operation",
    "Operator",
    "PassStep",
    "Proposals",
    "R2Exhaustive",
    "Rawls",
    "RawlsianKMeans",
    "RawlsianPostprocessor",
    "Relocate",
    "Restarts",
    "SearchStep",
    "Step",
    "StudyConfig",
    "Trajectory",
    "UnitDistanceEncoder",
    "__version__",
    "audit",
    "bounds",
    "datasets",
    "frontier",
    "group_bound",
    "group_utilities",
    "kmeans_restarts",
    "least_advantaged",
    "load_adult",
    "metrics",
    "open_blocks",
    "operators",
    "plot_bound",
    "plot_crosshairs",
    "plot_gains",
    "plot_iterations",
    "plot_trajectory",
    "plot_utility_space",
    "plotting",
    "preprocessing",
    "proved_bound",
    "report",
    "run_study",
    "select",
    "skyline",
    "study",
    "traverse",
    "utility_gap",
    "utility_ratio",
]

_HOMES = {
    "_core.assignment": ["Assignment"],
    "_rows.blocks": ["Blocks", "open_blocks"],
    "_search.fair": ["PassStep", "SearchStep"],
    "_search.frontier": ["Frontier", "frontier"],
    "_estimators.kmeans": ["FairLloyd", "RawlsianKMeans"],
    "_outofcore.walk": ["LargeTrajectory"],
    "_estimators.postprocessor": ["RawlsianPostprocessor"],
    "operators.proposals": ["select"],
    "_search.restarts": ["Restarts", "kmeans_restarts"],
    "_estimators.traverse": ["Operation", "Step", "Trajectory", "traverse"],
    "bounds": ["Bound", "BoundStep", "group_bound", "proved_bound"],
    "datasets": ["load_adult"],
    "metrics": [
        "Audit",
        "audit",
        "group_utilities",
        "least_advantaged",
        "skyline",
        "utility_gap",
        "utility_ratio",
    ],
    "operators": [
        "R1",
        "R2",
        "AnyOf",
        "Batch",
        "FirstOf",
        "Operator",
        "Proposals",
        "R2Exhaustive",
        "Rawls",
        "Relocate",
    ],
    "plotting": [
        "plot_bound",
        "plot_crosshairs",
        "plot_gains",
        "plot_iterations",
        "plot_trajectory",
        "plot_utility_space",
    ],
    "preprocessing": ["UnitDistanceEncoder"],
    "report": [],
    "study": ["StudyConfig", "run_study"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOMES and name.isidentifier() and not name.startswith("_"):
        return import_module(f"rawlsian.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'rawlsian' has no attribute {name!r}")
    return getattr(import_module(f"rawlsian.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
