"""The page: one HTML file to explore clusterings with and to hand over.

The file needs a browser and no network. A ``Page`` holds the contents; ``page_html``
returns the text of the file.
"""

from __future__ import annotations

from rawlsian.preprocessing import Attribute
from rawlsian.report.contents import (
    Curve,
    Curves,
    GroupFit,
    OptionCard,
    OptionGroup,
    Page,
    Shown,
    TextColumns,
    Tile,
    Way,
)
from rawlsian.report.shown import group_fits, squared_distances
from rawlsian.report.ways import frontier_labels, frontier_way, trajectory_way
from rawlsian.report.write import page_html

__all__ = [
    "Attribute",
    "Curve",
    "Curves",
    "GroupFit",
    "OptionCard",
    "OptionGroup",
    "Page",
    "Shown",
    "TextColumns",
    "Tile",
    "Way",
    "frontier_labels",
    "frontier_way",
    "group_fits",
    "page_html",
    "squared_distances",
    "trajectory_way",
]
