"""What to expect for people who are not in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from rawlsian._core.problem import Problem, Utility
from rawlsian._estimators.postprocessor import RawlsianPostprocessor
from rawlsian._tables.analysis import N_INIT, sample_of
from rawlsian._tables.methods import METHODS
from rawlsian._tables.text import counted
from rawlsian.metrics.held_out import HeldOut, held_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

# People are left out of fits on about so many rows.
MOST_ROWS = 4_000
# With fewer people the cost of a group is mostly chance, and the sentence names it.
SMALL_GROUP = 100
MOST_NAMED = 3
# Costs in the order of a table's columns.
COLUMNS = ("kmeans_in_sample", "in_sample", "kmeans_held_out", "held_out")


class NewPeople(NamedTuple):
    """Costs of people who were left out of a fit, beside those of k-means.

    Attributes
    ----------
    held_out : HeldOut
        Costs of each group in the sample and left out, and the gain over k-means.
    group_names : ndarray of shape (n_groups,)
        Names of the groups.
    n_rows : int
        Number of rows that were left out in turn.
    """

    held_out: HeldOut
    group_names: NDArray[Any]
    n_rows: int

    @property
    def is_gain(self) -> bool:
        """True if the whole interval of the gain is above 0."""
        return bool(self.held_out.gain_interval[0] > 0)

    def sentences(self) -> list[str]:
        """Return what new people can expect."""
        found = self.held_out
        low, high = found.gain_interval
        level = f"{found.confidence:.0%} interval"
        distance = "the worst-off group's mean squared distance"
        change = f"{abs(found.gain):.1f} % {'lower' if found.gain >= 0 else 'higher'}"
        new = "For people who are not in this table,"
        if self.is_gain:
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
            f"{new} no gain can be expected: {distance} is {change} than with k-means, "
            f"and the {level} of the gain, {low:.1f} to {high:.1f} %, includes 0. "
            f"{self._why()}"
        ]

    def _why(self) -> str:
        """Say why no gain can be expected."""
        sizes = self.held_out.n_people
        small = np.flatnonzero(sizes < SMALL_GROUP)
        if len(small) == 0:
            return "No group is small, but the gain varies from fit to fit."
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
        found, names = self.held_out, map(str, self.group_names)
        heads = (
            "Group", "People", "In the table: k-means", method, "New people: k-means",
            method,
        )  # fmt: skip
        everyone = found.overall
        rows = [
            (
                name, f"{row['n_people']:,.0f}",
                *(f"{row[each]:.4f}" for each in COLUMNS),
            )
            for name, row in zip(names, found.by_group(), strict=True)
        ]  # fmt: skip
        whole = f"{found.n_people.sum():,.0f}"
        last = ("everyone", whole, *(f"{everyone[each]:.4f}" for each in COLUMNS))
        return heads, [*rows, last]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for ``--json``."""
        found = self.held_out
        rows = [
            {**row, "group": str(name)}
            for row, name in zip(found.by_group(), self.group_names, strict=True)
        ]
        return {
            "gain_percent": found.gain,
            "gain_interval": list(found.gain_interval),
            "gain_percent_in_table": found.gain_in_sample,
            "confidence": found.confidence,
            "is_gain": self.is_gain,
            "rows": self.n_rows,
            "groups": rows,
        }


def expect(
    problem: Problem,
    n_clusters: int,
    method: str,
    utility: Utility,
    strength: float,
    seed: int,
) -> NewPeople | None:
    """Fit the method without some people at a time, and measure them.

    None if it gives no rule for new people, or there are too few rows to leave out.
    """
    estimator = _estimator(n_clusters, method, utility, strength)
    sample = sample_of(problem, MOST_ROWS, seed)
    if estimator is None or sample.n_samples - -(-sample.n_samples // 5) < n_clusters:
        return None
    found = held_out(
        estimator, sample.X, sample.groups, n_repeats=1, sample_weight=sample.weights,
        random_state=seed,
    )  # fmt: skip
    return NewPeople(found, problem.group_names, sample.n_samples)


def _estimator(
    n_clusters: int, method: str, utility: Utility, strength: float
) -> Any | None:
    """Return the estimator that does what the method does, None if there is none."""
    how = METHODS[method]
    if how.solver is not None:
        options = {"pooling": strength} if how.takes_pooling else {}
        return how.solver(n_clusters, **options)
    if utility == "assigned":
        return None
    return RawlsianPostprocessor(
        KMeans(n_clusters, n_init=N_INIT), operator=method, utility=utility,
        pooling=strength,
    )  # fmt: skip
