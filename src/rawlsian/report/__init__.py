"""The page: one HTML file to explore clusterings with and to hand over.

It needs no network and nothing installed but a browser. What is on it is described by
a ``Page``; ``write_page`` makes the file's text of that.
"""

from __future__ import annotations

from rawlsian.report._contents import Attribute, Page, Way
from rawlsian.report._write import require_altair, write_page

__all__ = ["Attribute", "Page", "Way", "require_altair", "write_page"]
