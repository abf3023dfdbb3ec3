"""Measures of how well a clustering serves each group."""

from rawlsian.metrics.audit import Audit, audit
from rawlsian.metrics.skyline import skyline
from rawlsian.metrics.utilities import (
    group_utilities,
    least_advantaged,
    utility_gap,
    utility_ratio,
)

__all__ = [
    "Audit",
    "audit",
    "group_utilities",
    "least_advantaged",
    "skyline",
    "utility_gap",
    "utility_ratio",
]
