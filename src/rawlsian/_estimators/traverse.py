"""The public function ``traverse``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from numpy.typing import ArrayLike

from rawlsian._core.checks import check_utility
from rawlsian._core.parameters import check_callback, check_max_iter, check_pooling
from rawlsian._core.problem import MaxDistance, Utility
from rawlsian._engines.opening import open_rows
from rawlsian._estimators.progress import Progress, check_verbose
from rawlsian._outofcore.problem import MAX_PASSES
from rawlsian._outofcore.walk import LEAST_PASSES, LargeTrajectory
from rawlsian._rows.blocks import Blocks
from rawlsian._support.interruption import call_partial
from rawlsian.operators.compositions import get_operator
from rawlsian.operators.proposals import Operator
from rawlsian.operators.traversal import Trajectory


@overload
def traverse(
    X: Blocks,
    labels: Any,
    sensitive_features: Any,
    *,
    operator: str | Operator = ...,
    utility: Utility = ...,
    pooling: float = ...,
    sample_weight: Any = ...,
    max_distance: MaxDistance = ...,
    max_iter: int | None = ...,
    max_passes: int = ...,
    callback: Callable[[Any], object] | None = ...,
    verbose: int = ...,
) -> LargeTrajectory: ...


@overload
def traverse(
    X: ArrayLike,
    labels: Any,
    sensitive_features: Any,
    *,
    operator: str | Operator = ...,
    utility: Utility = ...,
    pooling: float = ...,
    sample_weight: Any = ...,
    max_distance: MaxDistance = ...,
    max_iter: int | None = ...,
    max_passes: int = ...,
    callback: Callable[[Any], object] | None = ...,
    verbose: int = ...,
) -> Trajectory: ...


def traverse(
    X: Any,
    labels: Any,
    sensitive_features: Any,
    *,
    operator: str | Operator = "R1",
    utility: Utility = "assigned",
    pooling: float = 0.0,
    sample_weight: Any = None,
    max_distance: MaxDistance = "auto",
    max_iter: int | None = None,
    max_passes: int = MAX_PASSES,
    callback: Callable[[Any], object] | None = None,
    verbose: int = 0,
) -> Trajectory | LargeTrajectory:
    """Raise the utility of the worst-off group, one operation at a time.

    At every step the operator proposes operations. Operations that raise the lowest
    group utility are admitted; among them one that harms no group is preferred, then
    the one with the highest overall utility, then the earliest. The traversal ends when
    no operation is admitted.

    Parameters
    ----------
    X : array-like, sparse matrix or Blocks of shape (n_samples, n_features)
        The examples, as numbers. A sparse matrix is made dense, and refused if it has
        more than 2**26 numbers. With data out of core (see ``open_blocks``), Dask
        arrays and frames, the operator must be "batch" or "rawls".
    labels : array-like of shape (n_samples,)
        The clustering to start from: integers from 0 to k - 1, each in use.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        The group of each example: text, numbers, booleans; several columns mean
        their intersections. ``None`` means one group.
    operator : str or object with ``generate``, default="R1"
        "R1", the paper's first, moves one example, "R2" a pair of good single moves,
        "R1+R2" whichever is better, "R2-exhaustive" any pair, "batch" many examples at
        once, "relocate" one cluster to another place; "rawls" combines these and
        reaches furthest.
    utility : {"assigned", "nearest"}, default="assigned"
        The mean that serves an example. "assigned": that of the cluster it is labeled
        with. "nearest", the paper's wording: labels decide where the means are, and
        everyone counts by the nearest mean, so nobody is held in a cluster that serves
        them worse. It gains more, and the result to use is ``served_labels``, or the
        nearest of ``cluster_centers``. It needs X in memory.
    pooling : float, default=0.0
        Decide by pooled utilities: that of a group of n people is ``n / (n + pooling)``
        of its own and for the rest everyone's. So the noise of small groups decides
        less. The utilities that the trajectory reports are the groups' own.
    sample_weight : array-like of shape (n_samples,), default=None
        A row of weight w counts as w people who move together.
    max_distance : "auto" or float, default="auto"
        Utility is this less the squared distance to the mean. "auto" is
        the squared diagonal of the bounding box of X. It changes no decision.
    max_iter : int, default=None
        Limit on the number of operations.
    max_passes : int, default=30
        Limit on the number of passes over out-of-core data; each operation takes two
        or more. It does not apply in memory.
    callback : callable, default=None
        Called with a ``Step`` after each operation; out of core, with a ``PassStep``
        after each pass.
    verbose : int, default=0
        1 prints a line per stage, 2 also one per operation or pass.

    Returns
    -------
    Trajectory or LargeTrajectory
        Labels at the end and at every step, utilities, and why it ended; out of core,
        labels at the start and the end only. Ctrl-C ends it early and returns the
        steps so far.

    Examples
    --------
    >>> from rawlsian import traverse
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> trajectory = traverse(X, [0, 0, 0, 1, 1], ["a", "b", "a", "b", "b"])
    >>> trajectory.stop_reason
    'no_operation'
    """
    operator = get_operator(operator)
    check_utility(utility)
    check_pooling(pooling)
    check_max_iter(max_iter)
    check_callback(callback)
    check_verbose(verbose)
    progress = Progress("traverse", verbose)
    rows = open_rows(X)
    rows.check_walk(operator, utility, max_passes, LEAST_PASSES)
    engine = rows.with_groups(
        sensitive_features, sample_weight=sample_weight, max_distance=max_distance,
        utility=utility, max_passes=max_passes, callback=progress.watch(callback),
    )  # fmt: skip
    engine.pool(float(pooling))
    progress.opened(engine)
    trajectory = call_partial(engine.walk, labels, operator, max_iter)
    progress.walked(trajectory)
    return trajectory
