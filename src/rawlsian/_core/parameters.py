"""Checks of the parameters that several functions share."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rawlsian._core.problem import Problem


def random_state_of(seed: Any) -> np.random.RandomState:
    """A RandomState, also of NumPy's newer Generator."""
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**32))
    state: np.random.RandomState = check_random_state(seed)
    return state


def check_count(value: object, name: str, least: int = 1) -> None:
    """Refuse what is not a whole number that large."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(
            f"{name} must be a whole number, {least} or more, got {value!r}."
        )


def check_n_clusters(n_clusters: object, problem: Problem) -> None:
    """Refuse a number of clusters that the rows cannot fill."""
    check_count(n_clusters, "n_clusters")
    n_rows = int((problem.weights > 0).sum())
    if int(n_clusters) > n_rows:  # type: ignore[call-overload]
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n_rows} rows of X that have "
            f"weight (n_samples={problem.n_samples}); ask for fewer clusters."
        )
