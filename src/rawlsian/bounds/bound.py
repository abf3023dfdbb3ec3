"""Bound: the result of group_bound and proved_bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core.parameters import check_n_clusters, check_pooling
from rawlsian._core.problem import MaxDistance, Problem
from rawlsian._support.frames import frame_of, html_of
from rawlsian.bounds.certificate import Certificate

# A gap up to this is closed: what is left is rounding and the margin for it.
CLOSED = 1e-6

StopReason = Literal["completed", "interrupted"]


@dataclass(frozen=True, eq=False)
class Bound:
    """An upper bound on the lowest group utility of every clustering.

    Attributes
    ----------
    utility : float
        Upper bound on the lowest group utility.
    cost : float
        Lower bound on the largest mean squared distance of a group: ``max_distance``
        less ``utility``.
    is_proved : bool
        True if the bound holds for every clustering, False if it is the best known.
    kind : {"group", "semidefinite"}
        The method that found the bound.
    group_weights : ndarray of shape (n_groups,) or None
        Lambda, the weights of the groups that a proved bound was computed with.
    n_rows : int or None
        Number of rows in the semidefinite relaxation, after merging, or in its largest
        part; with fewer rows the bound is looser.
    pooling : float
        The pooling of the costs: ``cost`` bounds the largest pooled cost of a group.
        As no pooled cost is above the largest plain cost, it bounds that one, too.
    known_cost : float or None
        The largest mean squared distance of a group in the best clustering known; None
        if none was searched for.
    stop_reason : {"completed", "interrupted"}
        "interrupted" if Ctrl-C ended the computation: the bound holds, but is looser.
    certificate : Certificate or None
        What ``check_certificate`` needs to compute a proved bound again; None if rows
        were merged, or if the bound came from several subproblems.
    n_nodes : int
        Number of subproblems that were solved.
    """

    utility: float
    cost: float
    is_proved: bool
    kind: Literal["group", "semidefinite"]
    group_weights: NDArray[np.float64] | None = None
    n_rows: int | None = None
    known_cost: float | None = None
    pooling: float = 0.0
    stop_reason: StopReason = "completed"
    certificate: Certificate | None = None
    n_nodes: int = 1

    @property
    def is_optimal(self) -> bool:
        """True if the best clustering known is proved optimal, to a relative 1e-6."""
        return self.is_proved and self.gap is not None and self.gap <= CLOSED

    @property
    def gap(self) -> float | None:
        """Relative gap ``known_cost / cost - 1`` between bound and best clustering.

        With a proved bound, the largest mean cost of the best clustering known is at
        most this much, relative to the bound, above that of any clustering. None if no
        clustering was searched for, or the bound is 0.
        """
        if self.known_cost is None or self.cost <= 0:
            return None
        return self.known_cost / self.cost - 1

    def to_frame(self) -> Any:
        """Return the bound as a pandas DataFrame of one row.

        Returns
        -------
        pandas.DataFrame
            Columns "kind", "is_proved", "utility", "cost", "known_cost", "gap",
            "n_rows", "pooling" and "stop_reason".
        """
        return frame_of(self._columns())

    def _repr_html_(self) -> str:
        proved = "proved" if self.is_proved else "best known"
        return html_of(
            f"Upper bound on the lowest group utility ({proved})", self._columns()
        )

    def _columns(self) -> dict[str, Any]:
        names = ("kind", "is_proved", "utility", "cost", "known_cost", "gap", "n_rows",
                 "pooling", "stop_reason")  # fmt: skip
        return {name: [getattr(self, name)] for name in names}


def checked_problem(
    X: ArrayLike,
    sensitive_features: Any,
    n_clusters: int,
    sample_weight: ArrayLike | None,
    max_distance: MaxDistance,
    pooling: float,
) -> Problem:
    """Check the arguments that both bounds take, and return their problem."""
    check_pooling(pooling)
    problem = Problem.from_arrays(
        X, sensitive_features, sample_weight=sample_weight, max_distance=max_distance
    )
    check_n_clusters(n_clusters, problem)
    return problem.pooled(pooling)
