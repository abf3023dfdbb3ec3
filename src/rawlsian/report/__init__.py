"""The page: one HTML file to explore clusterings with and to hand over.

It needs no network and nothing installed but a browser. What is on it is described by
a ``Page``; ``page_html`` makes the file's text of that.
"""

from __future__ import annotations

from rawlsian.report.contents import Attribute, Page, Way
from rawlsian.report.ways import frontier_labels, frontier_way, trajectory_way
from rawlsian.report.write import page_html

__all__ = [
    "Attribute",
    "Page",
    "Way",
    "frontier_labels",
    "frontier_way",
    "page_html",
    "trajectory_way",
]
