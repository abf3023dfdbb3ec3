"""Bound: the result of group_bound and proved_bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core.parameters import check_n_clusters
from rawlsian._core.problem import MaxDistance, Problem


@dataclass(frozen=True, eq=False)
class Bound:
    """What no clustering, as far as is known or proved, can exceed.

    Attributes
    ----------
    utility : float
        Upper bound on the lowest group utility.
    cost : float
        The same as a lower bound on the largest mean squared distance of a group.
    is_proved : bool
        Whether it holds for every clustering, or is only the best known.
    kind : {"group", "spectral", "semidefinite"}
        Where it comes from.
    group_weights : ndarray of shape (n_groups,) or None
        Lambda, the weights of the groups that a proved bound was computed with.
    n_rows : int or None
        Rows that a proved bound was computed with, after merging; fewer make it looser.
    known_cost : float or None
        The largest mean squared distance of a group in the best clustering that was
        found on the way, if one was searched for.
    """

    utility: float
    cost: float
    is_proved: bool
    kind: Literal["group", "spectral", "semidefinite"]
    group_weights: NDArray[np.float64] | None = None
    n_rows: int | None = None
    known_cost: float | None = None

    @property
    def gap(self) -> float | None:
        """How far the bound is from what is known, as a share of the bound.

        With a proved bound, no clustering whatever has a largest mean cost that is
        lower than that of the best known one by more than this share. None where no
        clustering was searched for, or the bound is 0.
        """
        if self.known_cost is None or self.cost <= 0:
            return None
        return self.known_cost / self.cost - 1


def checked_problem(
    X: ArrayLike,
    sensitive_features: Any,
    n_clusters: int,
    sample_weight: ArrayLike | None,
    max_distance: MaxDistance,
) -> Problem:
    """Check the arguments that both bounds take, and return their problem."""
    problem = Problem.from_arrays(
        X, sensitive_features, sample_weight=sample_weight, max_distance=max_distance
    )
    check_n_clusters(n_clusters, problem)
    return problem
