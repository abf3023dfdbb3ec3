"""Axes, colours and checks that all figures share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours of Okabe and Ito, which suit people with a colour vision deficiency; markers
# and dashes differ, too. The two points and the line of equality have the paper's
# colours and differ in shape.
COLORS = {
    "R1": "#E69F00",
    "R2": "#009E73",
    "R1+R2": "#CC79A7",
    "R2-exhaustive": "#0072B2",
    "batch": "#56B4E9",
    "relocate": "#999999",
    "rawls": "#D55E00",
}
MARKERS = {
    "R1": "o",
    "R2": "s",
    "R1+R2": "^",
    "R2-exhaustive": "D",
    "batch": "v",
    "relocate": "X",
    "rawls": "*",
}
DASHES = {"R1": "-", "R2": "--", "R1+R2": ":", "R2-exhaustive": "-."}
UTILITARIAN, RAWLSIAN, EQUAL = "#1F4FD8", "#7A7A00", "#D1001C"
# A group that is clearly behind everyone else, and all other groups.
BEHIND, LEVEL = "#D55E00", "#555555"


class Points(NamedTuple):
    """Points of the utility space.

    Attributes
    ----------
    groups : sequence of shape (n_groups,)
        Names of the groups.
    utilities : ndarray of shape (n_points, n_groups)
        Utility of each group at each point.
    overall : ndarray of shape (n_points,)
        Overall utility at each point.
    """

    groups: Sequence[Hashable]
    utilities: NDArray[np.float64]
    overall: NDArray[np.float64]


class HasPoints(Protocol):
    """Protocol of drawable objects: Restarts, Trajectory, Points."""

    @property
    def groups(self) -> Sequence[Hashable] | NDArray[Any]:
        """Names of the groups."""

    @property
    def utilities(self) -> NDArray[np.float64]:
        """Utility of each group at each point."""

    @property
    def overall(self) -> NDArray[np.float64]:
        """Overall utility at each point."""


def require_matplotlib() -> None:
    """Raise an ImportError that names the extra if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib, which is not installed; "
            "pip install 'rawlsian[plot]' brings it."
        ) from error


def axes_of(ax: Axes | None) -> Axes:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def plain_numbers(ax: Axes) -> Axes:
    """Write the numbers of the axes in full, without an offset; return the axes."""
    for axis in (ax.xaxis, ax.yaxis):
        formatter = axis.get_major_formatter()
        if hasattr(formatter, "set_useOffset"):
            formatter.set_useOffset(False)
    return ax


def points_of(points: Any, function: str) -> Points:
    """Return the groups, utilities and overall utilities of an object.

    Raises ValueError if it has none, or none that can be drawn.
    """
    missing = [name for name in Points._fields if not hasattr(points, name)]
    if missing:
        raise ValueError(
            f"{function} draws Restarts, a Trajectory, a Frontier or Points, but "
            f"{type(points).__name__} has no {missing[0]}."
        )
    groups: list[Hashable] = np.asarray(points.groups, dtype=object).tolist()
    groups = [getattr(name, "item", lambda name=name: name)() for name in groups]
    utilities, overall = (
        finite(getattr(points, name), f"the {name} in {function}")
        for name in ("utilities", "overall")
    )
    if utilities.shape != (len(overall), len(groups)) or len(overall) == 0:
        raise ValueError(
            f"{function} draws one utility for each point and group, found utilities "
            f"of shape {utilities.shape} for {len(overall)} points and {len(groups)} "
            "groups."
        )
    return Points(groups, utilities, overall)


def finite(values: Any, what: str) -> NDArray[np.float64]:
    """Return values as floats, or raise ValueError if they are not finite numbers."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers: {error}.") from error
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} must be finite numbers, found NaN or infinity.")
    return numbers


def by_name(values: Any, argument: str) -> Mapping[Any, Any]:
    """Return a dict that is not empty, or raise ValueError."""
    if not isinstance(values, Mapping) or not values:
        raise ValueError(
            f"{argument} must be a dict with a name for each entry, got {values!r}."
        )
    return values
