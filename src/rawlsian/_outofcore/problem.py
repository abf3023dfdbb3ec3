"""Out-of-core problem: statistics of all rows, and passes that add up sums over them.

Solvers need only sums over the rows. A pass adds these up for a rule that puts each row
in a cluster; only the sums leave the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.checks import check_group_sizes, check_max_distance, refuse_overflow
from rawlsian._core.pooling import NO_POOLING, Pooling
from rawlsian._core.problem import MaxDistance
from rawlsian._outofcore.checking import (
    check_summaries,
    encode_groups_of,
    no_groups,
    summarise,
    weights_of,
)
from rawlsian._outofcore.placing import Rule, Sums, add_up, assign, label, rounded
from rawlsian._rows.blocks import Blocks
from rawlsian._rows.executors import Column
from rawlsian._rows.groups import EVERYONE
from rawlsian._search.crossing import Callback

# Default limit on the passes over all rows.
MAX_PASSES = 30


class Additive(Protocol):
    """Protocol of sums over a block, to which sums of other blocks can be added."""

    def add(self, other: Self, /) -> None:
        """Add the sums of another block."""


S = TypeVar("S", bound=Additive)


class PassStep(NamedTuple):
    """The argument of a callback, after a pass over out-of-core rows.

    Attributes
    ----------
    n_passes, max_passes : int
        Number of passes so far, and the limit on it.
    largest_cost : float
        The largest mean cost of a group in the best clustering of all rows so far; NaN
        before there is one.
    """

    n_passes: int
    max_passes: int
    largest_cost: float


@dataclass(eq=False)
class OutOfCoreProblem:
    """Out-of-core rows, checked once, with their groups and weights.

    Attributes
    ----------
    blocks : Blocks
        The rows.
    groups, weights : Column
        Group codes and weights; a single weight holds for a whole block.
    lengths : list of int
        Number of rows of each block.
    group_names : ndarray of shape (n_groups,)
        The groups, sorted.
    people : ndarray of shape (n_groups,)
        Sum of the weights of each group.
    members : ndarray of shape (n_blocks, n_groups)
        Number of rows with weight, by block and group.
    max_distance : float
        Utility is this less the squared distance.
    middle : ndarray of shape (n_features,)
        Halfway between the lowest and the highest number of each column.
    max_passes : int
        Limit on the number of passes over the rows.
    callback : callable or None
        Called with a ``PassStep`` after each pass.
    n_passes : int
        Number of passes so far.
    largest_cost : float
        The largest mean cost of a group in the best clustering so far.
    pooling : Pooling
        How much each person counts in their own group, and in every group.
    """

    blocks: Blocks
    groups: Column
    weights: Column
    lengths: list[int]
    members: NDArray[np.int64]
    group_names: NDArray[Any]
    people: NDArray[np.float64]
    max_distance: float
    middle: NDArray[np.float64]
    max_passes: int
    callback: Callback | None
    n_passes: int = 0
    largest_cost: float = np.nan
    pooling: Pooling = NO_POOLING

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_names)

    @property
    def starts(self) -> Column:
        """Index of the first row of each block."""
        return [0, *np.cumsum(self.lengths)[:-1].tolist()]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Group sizes as shares of the whole."""
        shares: NDArray[np.float64] = self.group_sizes / self.group_sizes.sum()
        return shares

    @property
    def group_sizes(self) -> NDArray[np.float64]:
        """Sum of the weights of all who count in each group; see ``Pooling``."""
        return self.pooling.mix(self.people)

    def pooled_means(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pooled means of the groups' own means."""
        return self.pooling.means(means, self.people)

    def pool(self, strength: float) -> None:
        """Pool the costs of the groups from now on."""
        self.pooling = Pooling.of(strength, self.people)

    @classmethod
    def of(
        cls,
        blocks: Blocks,
        sensitive_features: Any,
        *,
        sample_weight: Any = None,
        max_distance: MaxDistance = "auto",
        max_passes: int = MAX_PASSES,
        callback: Callback | None = None,
    ) -> OutOfCoreProblem:
        """Check the arguments in one pass, and return their problem."""
        weights, is_one = weights_of(blocks, sample_weight)
        names, groups = encode_groups_of(blocks, sensitive_features)
        summaries = list(blocks.run(summarise, [groups, weights], len(names), is_one))
        check_summaries(blocks, summaries)
        members = np.array([each.members for each in summaries])
        sizes = np.zeros((2, len(names)))
        for each in summaries:
            add_up(sizes, each.sizes)
        check_group_sizes(names, rounded(sizes))
        lowest = np.min([each.lowest for each in summaries], axis=0)
        highest = np.max([each.highest for each in summaries], axis=0)
        refuse_overflow(check_max_distance("auto", lowest, highest))
        large = cls(
            blocks=blocks,
            groups=groups,
            weights=weights,
            lengths=[each.n_rows for each in summaries],
            members=members.reshape(-1, len(names)),
            group_names=names,
            people=rounded(sizes),
            max_distance=check_max_distance(max_distance, lowest, highest),
            middle=(lowest + highest) / 2,
            max_passes=max_passes,
            callback=callback,
        )
        large.count_pass()
        return large

    def again(self, callback: Callback | None = None) -> OutOfCoreProblem:
        """Return the same checked rows, with no pass counted yet."""
        return replace(self, callback=callback, n_passes=0, largest_cost=np.nan)

    def as_one_group(self) -> OutOfCoreProblem:
        """Return the same checked rows, with everyone in one group."""
        return replace(
            self,
            group_names=np.array([EVERYONE]),
            groups=self.blocks.executor.keep(no_groups, [self.lengths]),
            members=self.members.sum(axis=1, keepdims=True),
            people=self.people.sum(keepdims=True),
            pooling=NO_POOLING,
        )

    def count_pass(self) -> None:
        """Count one more pass, and call the callback."""
        self.n_passes += 1
        if self.callback is not None:
            self.callback(PassStep(self.n_passes, self.max_passes, self.largest_cost))

    @property
    def passes_left(self) -> int:
        """Number of passes left."""
        return self.max_passes - self.n_passes

    def assign(self, rule: Rule, shift: NDArray[np.float64]) -> Sums:
        """Add up all rows in the clusters where the rule puts them: one pass."""
        return self.add_up(assign, [], rule, shift, self.n_groups)

    def add_up(
        self, function: Callable[..., S], columns: list[Column], *shared: Any
    ) -> S:
        """Add up the results of a function over all blocks in order: one pass."""
        columns = [self.groups, self.weights, *columns]
        total = _total(self.blocks.run(function, columns, *shared))
        self.count_pass()
        return total

    def place(
        self,
        function: Callable[..., tuple[object, S]],
        columns: list[Column],
        *shared: Any,
    ) -> tuple[Column, S]:
        """Return the column and the sum of a function that returns both: one pass."""
        columns = [self.groups, self.weights, *columns]
        both = self.blocks.keep(function, columns, *shared)
        parts: Iterator[S] = self.blocks.executor.run(itemgetter(1), [both])
        total = _total(parts)
        column = self.blocks.executor.keep(itemgetter(0), [both])
        self.count_pass()
        return column, total

    def labels(self, rule: Rule) -> Any:
        """Label all rows by a rule: one pass."""
        labels = self.blocks.keep(label, [self.groups], rule)
        # Errors must be raised here, and not when the labels are read.
        list(self.blocks.executor.run(len, [labels]))
        self.count_pass()
        return self.join(labels)

    def join(self, labels: Column) -> Any:
        """Return labels as one array: in memory, or a Dask array for Dask's rows."""
        return self.blocks.join(labels, np.int32, self.lengths)


def _total(parts: Iterator[S]) -> S:
    """Add up all parts, in order."""
    total = deepcopy(next(parts))  # the part may be kept elsewhere
    for part in parts:
        total.add(part)
    return total
