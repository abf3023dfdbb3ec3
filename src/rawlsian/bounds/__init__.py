"""Bounds on the lowest group utility of every clustering.

``group_bound`` is the best known bound, not proved. ``proved_bound`` holds for every
clustering with that number of clusters, with means or free centers.
"""

from rawlsian.bounds.bound import Bound
from rawlsian.bounds.group import group_bound
from rawlsian.bounds.proved import BoundStep, proved_bound

__all__ = ["Bound", "BoundStep", "group_bound", "proved_bound"]
