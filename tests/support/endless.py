"""Jobs for processes, which import this module."""

from __future__ import annotations

import threading


def endless_after_the_first(item):
    """Return the place of the first item, and never that of another."""
    place, _ = item
    if place > 0:
        threading.Event().wait()
    return place
