"""Bounds on the lowest group utility of every clustering.

``group_bound`` is the best known bound, not proved. ``proved_bound`` holds for every
clustering with that number of clusters, with means or free centers, and
``check_certificate`` checks its proof.
"""

from rawlsian.bounds.bound import Bound
from rawlsian.bounds.certificate import Certificate, check_certificate
from rawlsian.bounds.group import group_bound
from rawlsian.bounds.proved import BoundStep, proved_bound

__all__ = [
    "Bound",
    "BoundStep",
    "Certificate",
    "check_certificate",
    "group_bound",
    "proved_bound",
]
