"""What serves a person: the nearest center, or the mean of their cluster."""

from __future__ import annotations

from typing import Literal

from rawlsian._core.problem import Utility
from rawlsian._tables.request import check_choice

ServedBy = Literal["center", "members"]

# The utility by which ``audit`` and ``traverse`` measure each.
UTILITY: dict[ServedBy, Utility] = {"center": "nearest", "members": "assigned"}
SENTENCE: dict[ServedBy, str] = {
    "center": "Everyone is served by the nearest center.",
    "members": "Everyone is served by the mean of the members of their cluster.",
}


def checked_served_by(text: str) -> ServedBy:
    """Return what serves a person, or refuse what does not exist."""
    check_choice(text, "--served-by", ("center", "members"))
    return "center" if text == "center" else "members"
