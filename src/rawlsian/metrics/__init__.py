"""Measures of how well a clustering serves each group."""

from rawlsian.metrics.audit import Audit, audit
from rawlsian.metrics.held_out import HeldOut, held_out
from rawlsian.metrics.skyline import skyline
from rawlsian.metrics.stability import Stability, stability
from rawlsian.metrics.utilities import (
    group_utilities,
    least_advantaged,
    utility_gap,
    utility_ratio,
)

__all__ = [
    "Audit",
    "HeldOut",
    "Stability",
    "audit",
    "group_utilities",
    "held_out",
    "least_advantaged",
    "skyline",
    "stability",
    "utility_gap",
    "utility_ratio",
]
