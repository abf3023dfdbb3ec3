"""Stability: what a clustering of other people of the same kind would share with it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.parameters import check_count
from rawlsian._rows.opening import refuse_blocks
from rawlsian._support.jobs import in_order
from rawlsian.metrics.refits import People, Refit, one_thread


@dataclass(frozen=True, eq=False)
class Stability:
    """How much a clustering depends on who happens to be in the data.

    ``str(stability)`` is a table to read.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Names of the groups, sorted.
    n_people : ndarray of shape (n_groups,)
        Members of each group (sums of weights).
    worst_off : hashable
        Name of the group with the highest mean cost in the fit on all rows.
    worst_off_rates : ndarray of shape (n_groups,)
        Share of the refits in which each group has the highest mean cost; they sum to
        1.
    cluster_sizes : ndarray of shape (n_clusters,)
        Members of each cluster of the fit on all rows.
    clusters : ndarray of shape (n_clusters,)
        For each cluster of the fit on all rows: how often two of its members share a
        cluster again, from 0 to 1, as a mean over pairs and refits. NaN for a cluster
        of one person, or of nobody.
    n_bootstrap : int
        Number of refits.
    """

    groups: NDArray[Any]
    n_people: NDArray[np.float64]
    worst_off: Hashable
    worst_off_rates: NDArray[np.float64]
    cluster_sizes: NDArray[np.float64]
    clusters: NDArray[np.float64]
    n_bootstrap: int

    def __repr__(self) -> str:
        return (
            f"Stability(worst_off={self.worst_off!r}, "
            f"worst_off_rates={self.worst_off_rates.round(3).tolist()}, "
            f"clusters={self.clusters.round(3).tolist()})"
        )

    def __str__(self) -> str:
        names = [str(name) for name in self.groups.tolist()]
        width = max(len("cluster"), *map(len, names))
        lines = [f"{'group':<{width}}  {'people':>8}  worst off in"]
        for name, people, rate in zip(
            names, self.n_people, self.worst_off_rates, strict=True
        ):
            lines.append(f"{name:<{width}}  {people:>8g}  {rate:>12.0%}")
        lines.append(f"{'cluster':<{width}}  {'people':>8}  pairs kept")
        for c, (people, kept) in enumerate(
            zip(self.cluster_sizes, self.clusters, strict=True)
        ):
            share = "no pairs" if np.isnan(kept) else f"{kept:.0%}"
            lines.append(f"{c:<{width}}  {people:>8g}  {share:>10}")
        return "\n".join(lines)


def stability(
    estimator: Any,
    X: Any,
    sensitive_features: Any,
    *,
    n_bootstrap: int = 50,
    sample_weight: Any = None,
    random_state: int | np.random.Generator | None = None,
) -> Stability:
    """Report how much a clustering depends on who happens to be in the data.

    Fits copies of the estimator on bootstrap resamples: people drawn with replacement
    within each group, as many as there are.

    Parameters
    ----------
    estimator : clusterer or Pipeline
        As in ``held_out``.
    X, sensitive_features, sample_weight
        As in ``held_out``.
    n_bootstrap : int, default=50
        Number of resamples, and of refits.
    random_state : int, numpy Generator or None, default=None
        Seed of the resamples, and of the estimator where it has
        ``random_state=None``.

    Returns
    -------
    Stability
        How often each group is the worst-off one, and how often pairs of people in
        each cluster stay together.

    Notes
    -----
    The worst-off group of a refit is that of the people it was fitted on. Two people
    share a cluster again if the refit predicts the same cluster for both, in its
    resample or not. With few clusters many pairs do so by chance: compare clusters with
    each other, not with 1.

    The refits run in parallel within ``joblib.parallel_config``. Their number of
    threads does not change the result.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from rawlsian import stability
    >>> X = [[0.0], [1.0], [9.0], [10.0]] * 5
    >>> groups = ["a", "a", "a", "b"] * 5
    >>> found = stability(KMeans(2, n_init=1), X, groups, random_state=0)
    >>> found.clusters
    array([1., 1.])
    """
    check_count(n_bootstrap, "n_bootstrap")
    refuse_blocks(X, "stability")
    people = People.from_arrays(estimator, X, sensitive_features, sample_weight)
    rng = np.random.default_rng(random_state)
    present = people.present
    draws = [present] + [_resample(people, rng) for _ in range(n_bootstrap)]
    seeds = rng.integers(2**31, size=len(draws)).tolist()
    jobs = list(zip(draws, seeds, strict=True))
    first, *refits = in_order(partial(_clustered, estimator, people), jobs)
    weights, n_clusters = people.weights[present], first.n_clusters
    kept = [
        _kept_pairs(first.labels, refit.labels, weights, n_clusters)
        for refit in refits
    ]  # fmt: skip
    n_groups = len(people.group_names)
    worst = np.bincount([refit.worst_off for refit in refits], minlength=n_groups)
    return Stability(
        groups=people.group_names,
        n_people=people.group_sizes,
        worst_off=people.group_names.tolist()[first.worst_off],
        worst_off_rates=worst / n_bootstrap,
        cluster_sizes=np.bincount(first.labels, weights, n_clusters).astype(np.float64),
        clusters=np.mean(kept, axis=0),
        n_bootstrap=n_bootstrap,
    )


def _resample(people: People, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return rows drawn with replacement within each group."""
    drawn = []
    for g in range(len(people.group_names)):
        rows = np.flatnonzero((people.groups == g) & (people.weights > 0))
        drawn.append(np.sort(rng.choice(rows, size=len(rows))))
    return np.concatenate(drawn)


class _Clustered(NamedTuple):
    labels: NDArray[np.intp]  # of everyone with weight
    n_clusters: int
    worst_off: int  # among the rows that were fitted


def _clustered(
    estimator: Any, people: People, job: tuple[NDArray[np.intp], int]
) -> _Clustered:
    """Fit rows, label everyone, and find the worst-off group among the rows."""
    rows, seed = job
    with one_thread():
        refit = Refit(estimator, people, rows, seed)
        costs = people.group_means(refit.costs(rows), rows)
        labels = refit.predict(people.present)
    return _Clustered(labels, refit.n_clusters, int(np.nanargmax(costs)))


def _kept_pairs(
    labels: NDArray[np.intp],
    again: NDArray[np.intp],
    weights: NDArray[np.float64],
    n_clusters: int,
) -> NDArray[np.float64]:
    """Return the share of the pairs in each cluster that share a cluster again.

    A pair of different rows counts as the product of their weights.
    """
    width = int(again.max()) + 1
    cells = labels * width + again
    both, squared = (
        np.bincount(cells, each, n_clusters * width).reshape(n_clusters, width)
        for each in (weights, weights**2)
    )
    together = (both**2 - squared).sum(axis=1)
    pairs = both.sum(axis=1) ** 2 - squared.sum(axis=1)
    has_pairs = np.bincount(labels, minlength=n_clusters) > 1
    shares = np.full(n_clusters, np.nan)
    np.divide(together, pairs, out=shares, where=has_pairs)
    return shares
