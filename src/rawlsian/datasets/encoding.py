"""Tables as numbers, in the same way for each data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian.preprocessing import UnitDistanceEncoder


class Encoded(NamedTuple):
    """Rows as numbers, the names of their columns, and the largest distance."""

    data: NDArray[np.float64]
    feature_names: NDArray[np.object_]
    max_distance: float


def encode(
    table: Mapping[str, NDArray[Any]], numbers: Sequence[str], categories: Sequence[str]
) -> Encoded:
    """Encode these columns so that each adds at most 1 to a squared distance."""
    names = [*numbers, *categories]
    attributes = np.empty((len(table[names[0]]), len(names)), dtype=object)
    for j, name in enumerate(names):
        attributes[:, j] = table[name]
    encoder = UnitDistanceEncoder().fit(attributes)
    data = encoder.transform(attributes)
    return Encoded(data, encoder.get_feature_names_out(names), encoder.max_distance_)
