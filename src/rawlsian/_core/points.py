"""Points of the utility space as the columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def columns_of_points(
    name: str,
    groups: NDArray[Any],
    utilities: NDArray[np.float64],
    overall: NDArray[np.float64],
) -> dict[str, NDArray[Any]]:
    """Return the number, lowest, overall and group utilities of each point."""
    columns = {
        name: np.arange(len(overall)),
        "lowest": utilities.min(axis=1),
        "overall": overall,
    }
    for g, group in enumerate(groups.tolist()):
        columns[f"utility of {group}"] = utilities[:, g]
    return columns
