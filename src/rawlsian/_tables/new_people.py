"""Expected costs of people who are not in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from rawlsian._core.problem import Problem, Utility
from rawlsian._estimators.postprocessor import RawlsianPostprocessor
from rawlsian._tables.analysis import N_INIT, Clustering, sample_of
from rawlsian._tables.methods import METHODS
from rawlsian._tables.text import counted
from rawlsian.metrics.held_out import HeldOut, held_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Folds, and the largest number of rows, of the fits that people are left out of.
N_FOLDS, MOST_ROWS = 5, 4_000
# With fewer people the cost of a group is mostly chance, and the sentence names it.
SMALL_GROUP = 100
MOST_NAMED = 3
# With a hyphen at which no line is broken.
K_MEANS = "k\u2011means"


class NewPeople(NamedTuple):
    """Costs of people who were left out of a fit, beside those of k-means.

    Attributes
    ----------
    held_out : HeldOut
        Costs of people who were left out, and the gain over k-means.
    group_names, group_sizes : ndarray of shape (n_groups,)
        The groups of the table.
    before, after : ndarray of shape (n_groups,)
        Costs of the groups in the table, with k-means and with the result.
    n_rows : int
        Number of rows that were left out in turn.
    """

    held_out: HeldOut
    group_names: NDArray[Any]
    group_sizes: NDArray[np.float64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    n_rows: int

    @property
    def is_clear_gain(self) -> bool:
        """True if the whole interval of the gain is above 0."""
        return bool(self.held_out.gain_interval[0] > 0)

    def sentences(self) -> list[str]:
        """Return sentences on the gain for new people."""
        found = self.held_out
        low, high = found.gain_interval
        level = f"{found.confidence:.0%} interval"
        distance = "the worst-off group's mean squared distance"
        change = f"{abs(found.gain):.1f}% {'lower' if found.gain >= 0 else 'higher'}"
        new = "For people who are not in this table,"
        if self.is_clear_gain:
            return [
                f"{new} expect {distance} to be {change} than with k-means ({level} "
                f"{low:.1f} to {high:.1f})."
            ]
        if high < 0:
            return [
                f"{new} expect {distance} to be {change} than with k-means ({level} "
                f"{-high:.1f} to {-low:.1f}): do not use these clusters for them."
            ]
        return [
            f"{new} no gain over k-means can be promised: {distance} is expected to be "
            f"{change}, but the {level} of the gain, {low:.1f} to {high:.1f}%, "
            f"includes 0. {self._why()}"
        ]

    def _why(self) -> str:
        """Say why no gain can be promised."""
        sizes = self.group_sizes
        small = np.flatnonzero(sizes < SMALL_GROUP)
        if len(small) == 0:
            return (
                f"No group has fewer than {SMALL_GROUP} people; the gain is too small "
                "to tell from chance."
            )
        named = [
            f"{self.group_names[g]} ({sizes[g]:.0f})"
            for g in small[np.argsort(sizes[small], kind="stable")][:MOST_NAMED]
        ]
        others = len(small) - len(named)
        if others:
            named.append(counted(others, "other group"))
        return (
            f"Groups are small: {', '.join(named)}. The fewer people, the more their "
            "cost is chance."
        )

    def columns(self, method: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return heads and rows of a table of mean squared distances."""
        found = self.held_out
        heads = (
            "Group", "People", f"In the table: {K_MEANS}", f"In the table: {method}",
            f"New people: {K_MEANS}", f"New people: {method}",
        )  # fmt: skip
        costs = (self.before, self.after, found.kmeans_held_out, found.held_out)
        whole = self.group_sizes.sum()
        names = [*map(str, self.group_names), "everyone"]
        columns = [[*each, float(each @ self.group_sizes / whole)] for each in costs]
        sizes = [*self.group_sizes, whole]
        rows = [
            (name, f"{sizes[g]:,.0f}", *(f"{column[g]:.4f}" for column in columns))
            for g, name in enumerate(names)
        ]
        return heads, rows

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for ``--json``."""
        found = self.held_out
        by_group = zip(
            self.group_names, self.group_sizes, self.before, self.after,
            found.by_group(), strict=True,
        )  # fmt: skip
        return {
            "gain_percent": found.gain,
            "gain_interval": list(found.gain_interval),
            "confidence": found.confidence,
            "is_clear_gain": self.is_clear_gain,
            "rows": self.n_rows,
            "groups": [
                {
                    "group": str(name), "size": float(size),
                    "cost_in_table": {"before": float(before), "after": float(after)},
                    "cost_left_out": {
                        "before": row["kmeans_held_out"], "after": row["held_out"]
                    },
                    "low": row["low"], "high": row["high"],
                }
                for name, size, before, after, row in by_group
            ],
        }  # fmt: skip


def expect(
    problem: Problem,
    before: Clustering,
    after: Clustering,
    method: str,
    utility: Utility,
    pooling: float,
    seed: int,
) -> NewPeople | None:
    """Fit the method without some people at a time, and measure them.

    None if it gives no rule for new people, or there are too few rows to leave out.
    """
    n_clusters = len(after.centers)
    sample = sample_of(problem, MOST_ROWS, seed)
    n_rows = int((sample.weights > 0).sum())
    is_enough = n_rows >= N_FOLDS and n_rows - -(-n_rows // N_FOLDS) >= n_clusters
    # A smaller sample has smaller groups, so fewer people join them.
    share = float(sample.people.sum() / problem.people.sum())
    estimator = _estimator(n_clusters, method, utility, share * pooling)
    if estimator is None or not is_enough or problem.n_groups == 1:
        return None
    found = held_out(
        estimator, sample.X, sample.groups, cv=N_FOLDS, n_repeats=1,
        sample_weight=sample.weights, random_state=seed,
    )  # fmt: skip
    return NewPeople(
        found, problem.group_names, problem.people,
        problem.max_distance - before.utilities,
        problem.max_distance - after.utilities, n_rows,
    )  # fmt: skip


def _estimator(
    n_clusters: int, method: str, utility: Utility, pooling: float
) -> Any | None:
    """Return the estimator that does what the method does, None if there is none."""
    how = METHODS[method]
    if how.solver is not None:
        options = {"pooling": pooling} if how.takes_pooling else {}
        return how.solver(n_clusters, **options)
    if utility == "assigned":
        return None
    return RawlsianPostprocessor(
        KMeans(n_clusters, n_init=N_INIT), operator=method, utility=utility,
        pooling=pooling,
    )  # fmt: skip
