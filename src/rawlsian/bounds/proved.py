"""Proved bound: lambda from a search, then a semidefinite relaxation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rawlsian._core.parameters import Seed, check_count, random_state_of
from rawlsian._core.problem import MaxDistance, Problem
from rawlsian._rows.opening import refuse_blocks
from rawlsian._search.crossing import thorough_search
from rawlsian._search.fair_lloyd import MAX_ITER, FairRuns
from rawlsian._support.interruption import call_partial, keeps_partial
from rawlsian._support.jobs import in_processes
from rawlsian._support.threads import one_blas_thread
from rawlsian.bounds.ascent import without_traces
from rawlsian.bounds.bound import CLOSED, Bound, StopReason, checked_problem
from rawlsian.bounds.branching import Limits, Subproblem, branch
from rawlsian.bounds.certificate import Certificate
from rawlsian.bounds.relaxation import Multiplier, Relaxation
from rawlsian.bounds.rows import (
    GroupedRows,
    WeightedRows,
    grouped_rows,
    merge,
    miniatures,
    weighted_rows,
)

# Length of the search for the best clustering known, relative to RawlsianKMeans: the
# gap is to that clustering, and the relaxation takes much longer in any case.
SEARCHES = 4


class BoundStep(NamedTuple):
    """Progress of a proved bound, as passed to a callback.

    Attributes
    ----------
    n_iter : int
        Number of iterations done; of parts done, if the rows are split. It does not
        count iterations of further subproblems.
    cost : float
        The bound so far: no clustering has a lower largest mean cost of a group.
    """

    n_iter: int
    cost: float


Callback = Callable[[BoundStep], object] | None


class Effort(NamedTuple):
    """Options of ``proved_bound`` that limit its effort."""

    max_rows: int = 1000
    split: bool = False
    max_iter: int = 300
    tol: float = 1e-5
    target_gap: float = 0.0
    time_limit: float | None = None
    max_nodes: int = 1

    def ends(self) -> float:
        """Return the time at which to stop, counted from now."""
        limit = np.inf if self.time_limit is None else self.time_limit
        return time.perf_counter() + limit

    def check(self) -> None:
        """Raise ValueError if an option is out of range."""
        check_count(self.max_rows, "max_rows", least=2)
        check_count(self.max_iter, "max_iter")
        check_count(self.max_nodes, "max_nodes")
        for name in ("tol", "target_gap", "time_limit"):
            value = getattr(self, name)
            is_number = isinstance(value, Real) and float(value) >= 0
            if not is_number and (name, value) != ("time_limit", None):
                raise ValueError(f"{name} must be a number, 0 or more, got {value!r}.")


def proved_bound(
    X: ArrayLike,
    sensitive_features: Any,
    *,
    n_clusters: int,
    group_weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_distance: MaxDistance = "auto",
    pooling: float = 0.0,
    known_cost: float | None = None,
    max_rows: int = 1000,
    split: bool = False,
    max_iter: int = 300,
    tol: float = 1e-5,
    target_gap: float = 0.0,
    time_limit: float | None = None,
    max_nodes: int = 1,
    random_state: Seed = None,
    callback: Callback = None,
) -> Bound:
    """Bound the lowest group utility of every clustering, provably.

    For any weights lambda of the groups, the largest mean cost of a group is at least
    the minimum cost of k-means in which a row of group g weighs lambda_g / N_g. That
    minimum is bounded by the spectrum of the data, and more tightly by Peng and Wei's
    semidefinite relaxation with triangle and 2-partition inequalities, solved by
    alternating projections. Every iterate gives a valid bound, so it can be stopped at
    any time. ``check_certificate`` computes the bound again from its ``certificate``.

    A relaxation runs on one core, and BLAS has one thread: on a busy machine, threads
    that wait for each other take many times as long. The parts of split rows run side
    by side, in processes, or on the workers of a Dask client with
    ``joblib.parallel_config(backend="dask")``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The examples, as numbers.
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        The group of each example; ``None`` means one group.
    n_clusters : int
        Number of clusters.
    group_weights : array-like of shape (n_groups,), default=None
        Lambda; any choice gives a valid bound. ``None`` takes the lambda that
        ``RawlsianKMeans`` finds, which makes the bound tight.
    sample_weight : array-like of shape (n_samples,), default=None
        How many people each example stands for.
    max_distance : "auto" or float, default="auto"
        The utility of a perfect fit, as in ``group_utilities``.
    pooling : float, default=0.0
        Bound the pooled cost of the worst-off group, as in ``RawlsianKMeans``; the
        bound then also holds for the plain cost, which is never lower.
    known_cost : float, default=None
        Largest mean cost of a group in a clustering that you know; ``gap`` is then to
        that clustering, or to a better one that the search for lambda finds.
    max_rows : int, default=1000
        If there are more distinct rows, they are merged to this many, or split into
        parts of this many. The bound stays valid and becomes looser. The time of an
        iteration grows with the square of ``max_rows``.
    split : bool, default=False
        Split rows that are too many into parts, each a miniature of the whole, and add
        up their bounds. This is tighter than merging, but takes long. Merging is
        looser, as these inequalities are then left out: a merged row may be in two
        clusters.
    max_iter : int, default=300
        Largest number of iterations; of each part, if rows are split.
    tol : float, default=1e-5
        Stop when the bound on the cost rises by less than this, relative to the bound,
        six times in a row, in 20 iterations each.
    target_gap : float, default=0.0
        Stop when the relative gap to the best clustering known is at most this.
    time_limit : float, default=None
        No iteration begins later than this many seconds after the search for lambda,
        which is not cut short; one iteration is always made. If rows are split, each
        part may take so long. With ``None`` the result does not depend on the speed of
        the machine.
    max_nodes : int, default=1
        Largest number of subproblems. With more than 1, branch on pairs of rows that
        are in one cluster or not, until the best clustering known is proved optimal
        (``is_optimal``) or the gap is at most ``target_gap``. Each subproblem has the
        lambda that is best for it; ``group_weights`` is the first, and is kept if no
        cost is known. Rows that are too many for one relaxation, those of groups
        without weight included, are not branched on.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the search for lambda and of the merging.
    callback : callable, default=None
        Called with a ``BoundStep`` every 20 iterations and after the last one, or
        after each part if rows are split.

    Returns
    -------
    Bound
        The bound; ``is_proved`` is True.

    References
    ----------
    J. Peng, Y. Wei, "Approximating K-means-type Clustering via Semidefinite
    Programming", 2007.

    Examples
    --------
    >>> from rawlsian import proved_bound
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0]]
    >>> bound = proved_bound(X, list("aabbb"), n_clusters=2, random_state=0)
    >>> bound.is_proved, 0.4 < bound.cost <= 0.5  # 0.5 can be reached
    (True, True)
    """
    refuse_blocks(X, "proved_bound")
    problem = checked_problem(
        X, sensitive_features, n_clusters, sample_weight, max_distance, pooling
    )
    effort = Effort(max_rows, split, max_iter, tol, target_gap, time_limit, max_nodes)
    effort.check()
    if known_cost is not None and not (
        isinstance(known_cost, Real) and float(known_cost) >= 0
    ):
        raise ValueError(
            f"known_cost must be None or a number, 0 or more, got {known_cost!r}."
        )
    return call_partial(
        proved_bound_of, problem, n_clusters, random_state_of(random_state), effort,
        lam=_check_group_weights(group_weights, problem.n_groups),
        known_cost=known_cost, callback=callback,
    )  # fmt: skip


def proved_bound_of(
    problem: Problem,
    n_clusters: int,
    rng: np.random.RandomState,
    effort: Effort = Effort(),  # noqa: B008, immutable
    *,
    lam: NDArray[np.float64] | None = None,
    known_cost: float | None = None,
    callback: Callback = None,
) -> Bound:
    """Return the proved bound for the given lambda, or for one that is searched for."""
    if lam is None:
        runs = FairRuns(problem, MAX_ITER)
        best = thorough_search(runs, n_clusters, rng, times=SEARCHES)
        found = max(float(best.objectives[0]), 0.0)
        known_cost = found if known_cost is None else min(found, known_cost)
        lam = best.group_weights[0]
    lam = without_traces(lam)
    whole = weighted_rows(problem, lam)
    # Branching changes lambda, so rows that have no weight now count as well.
    branched = grouped_rows(problem) if effort.max_nodes > 1 else None
    with one_blas_thread:
        if effort.split and len(whole.rows) > effort.max_rows:
            steps = _by_parts(whole, n_clusters, effort, rng)
        elif branched is not None and len(branched.rows) <= effort.max_rows:
            steps = _by_nodes(branched, lam, n_clusters, effort, known_cost)
        else:
            steps = _at_once(whole, n_clusters, effort, known_cost, rng)
        step, stop_reason = _last(steps, callback)
    pooling, parts = problem.pooling.strength, step.parts
    return Bound(
        problem.max_distance - step.cost, step.cost, is_proved=True,
        kind="semidefinite", group_weights=lam, n_rows=step.n_rows,
        known_cost=known_cost, pooling=pooling, stop_reason=stop_reason,
        n_nodes=step.n_nodes,
        certificate=None if parts is None else Certificate(
            step.cost, n_clusters, lam, pooling, parts, tuple(step.multipliers)
        ),
    )  # fmt: skip


class _Step(NamedTuple):
    """Bound so far; parts are None if it has no certificate."""

    n_iter: int
    cost: float
    n_rows: int
    parts: NDArray[np.int32] | None
    multipliers: list[Multiplier]
    n_nodes: int = 1


def _last(steps: Iterator[_Step], callback: Callback) -> tuple[_Step, StopReason]:
    """Return the last bound; after Ctrl-C, the last so far if the call keeps that."""
    last = next(steps)
    try:
        if callback is not None:
            callback(BoundStep(last.n_iter, last.cost))
        for last in steps:
            if callback is not None:
                callback(BoundStep(last.n_iter, last.cost))
    except KeyboardInterrupt:
        if not keeps_partial():
            raise
        return last, "interrupted"
    return last, "completed"


def _at_once(
    whole: WeightedRows,
    n_clusters: int,
    effort: Effort,
    known_cost: float | None,
    rng: np.random.RandomState,
) -> Iterator[_Step]:
    """Yield bounds from one relaxation, of merged rows if there are too many."""
    ends, target = effort.ends(), _target(known_cost, effort.target_gap)
    few, within = merge(whole, effort.max_rows, rng)
    relaxation = Relaxation(few.rows, few.weights, n_clusters, within)
    parts = np.zeros(len(few.rows), np.int32) if within is None else None
    for n_iter, cost in relaxation.iterate(effort.max_iter, effort.tol, ends, target):
        yield _Step(n_iter, cost, len(few.rows), parts, [relaxation.multiplier])


def _by_nodes(
    whole: GroupedRows,
    lam: NDArray[np.float64],
    n_clusters: int,
    effort: Effort,
    known_cost: float | None,
) -> Iterator[_Step]:
    """Yield bounds from one relaxation, and then from a tree of subproblems."""
    target = _target(known_cost, effort.target_gap)
    limits = Limits(effort.max_iter, effort.tol, effort.ends(), target)
    root = Subproblem(whole, n_clusters, lam, np.arange(len(whole.rows)))
    n_rows = len(root.inside)
    parts = np.zeros(n_rows, np.int32)
    for n_iter, cost in root.iterate(limits):
        yield _Step(n_iter, cost, n_rows, parts, [root.relaxation.multiplier])
    if cost >= target:
        return
    for n_nodes, cost in branch(whole, n_clusters, effort.max_nodes, limits, root):
        yield _Step(n_iter, cost, n_rows, None, [], n_nodes)


def _by_parts(
    whole: WeightedRows, n_clusters: int, effort: Effort, rng: np.random.RandomState
) -> Iterator[_Step]:
    """Yield the sum of the bounds of the parts done; the others may cost nothing."""
    parts, distances = miniatures(whole, effort.max_rows, n_clusters, rng)
    jobs = []
    for part in range(parts.max() + 1):
        inside = parts == part
        mass = whole.weights[inside]
        known_cost = float(mass @ distances[inside] / mass.sum())
        jobs.append((whole.rows[inside], mass, known_cost))
    cost, multipliers = 0.0, []
    largest = int(np.bincount(parts).max())
    with in_processes(len(jobs)) as run:
        bound_part = partial(_bound_of_part, n_clusters, effort)
        for n_done, found in enumerate(run(bound_part, jobs), start=1):
            cost += found[0]
            multipliers.append(found[1])
            yield _Step(n_done, cost, largest, parts, multipliers)


def _bound_of_part(
    n_clusters: int,
    effort: Effort,
    job: tuple[NDArray[np.float64], NDArray[np.float64], float],
) -> tuple[float, Multiplier]:
    """Return the bound of some rows by their weights, and its multiplier."""
    rows, mass, known_cost = job
    relaxation = Relaxation(rows, mass / mass.sum(), n_clusters)
    target, cost = _target(known_cost, effort.target_gap), 0.0
    for _, cost in relaxation.iterate(  # noqa: B007, the last one counts
        effort.max_iter, effort.tol, effort.ends(), target
    ):
        pass
    return float(mass.sum()) * cost, relaxation.multiplier


def _target(known_cost: float | None, target_gap: float) -> float:
    """Return the bound at which the gap is small enough."""
    if known_cost is None:
        return np.inf
    return known_cost / (1 + max(target_gap, 0.5 * CLOSED))


def _check_group_weights(
    group_weights: ArrayLike | None, n_groups: int
) -> NDArray[np.float64] | None:
    """Return lambda on the simplex, or None if none was given."""
    if group_weights is None:
        return None
    lam = np.asarray(group_weights, dtype=np.float64)
    is_valid = lam.shape == (n_groups,) and (lam >= 0).all() and 0 < lam.sum() < np.inf
    if not is_valid:
        raise ValueError(
            f"group_weights must be {n_groups} numbers that are not negative, one for "
            f"each group, got {group_weights!r}."
        )
    shares: NDArray[np.float64] = lam / lam.sum()
    return shares
