"""Checks of parameters that several functions share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from rawlsian._core.problem import Problem

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None

# Strength of pooling: a number of people, or chosen by cross-validation.
PoolingStrength: TypeAlias = float | Literal["cv"]


def random_state_of(seed: Seed) -> np.random.RandomState:
    """Return a RandomState, from a seed, a Generator, a RandomState or None."""
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**32))
    state: np.random.RandomState = check_random_state(seed)
    return state


def seed_where_unset(estimator: Any, seed: Seed) -> None:
    """Seed an estimator and its nested estimators, if they have no seed."""
    unset = {
        name: seed
        for name, value in estimator.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    estimator.set_params(**unset)


def check_count(value: object, name: str, least: int = 1) -> None:
    """Raise ValueError unless value is an integer of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(
            f"{name} must be a whole number, {least} or more, got {value!r}."
        )


def check_pooling(pooling: object, *, allows_cv: bool = False) -> None:
    """Raise ValueError unless pooling is a number of people, or "cv" if allowed."""
    is_cv = allows_cv and isinstance(pooling, str) and pooling == "cv"
    is_number = isinstance(pooling, Real) and not isinstance(pooling, bool)
    if not is_cv and not (is_number and float(pooling) >= 0):  # type: ignore[arg-type]
        also = " or 'cv'" if allows_cv else ""
        raise ValueError(
            f"pooling must be a number of people{also}, and 0 or more, got {pooling!r}."
        )


def check_callback(callback: object) -> None:
    """Raise ValueError if callback is neither None nor callable."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function, got {callback!r}.")


def check_max_iter(max_iter: object) -> None:
    """Raise ValueError unless max_iter is None or a number of steps."""
    if max_iter is None or (isinstance(max_iter, Integral) and int(max_iter) >= 0):
        return
    raise ValueError(
        f"max_iter must be None (no limit) or a number of steps, got {max_iter!r}."
    )


def check_n_clusters(n_clusters: object, problem: Problem) -> None:
    """Raise ValueError unless 1 <= n_clusters <= number of rows with weight."""
    check_count(n_clusters, "n_clusters")
    n_rows = int((problem.weights > 0).sum())
    if int(n_clusters) > n_rows:  # type: ignore[call-overload]
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n_rows} rows of X that have "
            f"weight (n_samples={problem.n_samples}); ask for fewer clusters."
        )
