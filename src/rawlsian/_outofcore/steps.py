"""Steps of the operators that work out of core."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from rawlsian._core.assignment import Assignment
from rawlsian._outofcore.batch import next_batch
from rawlsian._outofcore.fit import LEAST_GAIN
from rawlsian._outofcore.means import Partition, by_rule, rule_of_sample
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._outofcore.sample import Sample
from rawlsian.operators.batch import Batch
from rawlsian.operators.compositions import Rawls
from rawlsian.operators.proposals import select
from rawlsian.operators.relocate import Relocate


class OutOfCoreStep(NamedTuple):
    """Step of a walk to a better partition.

    Attributes
    ----------
    take : callable
        Returns the next partition, or None if it finds none that is better.
    least_passes : int
        Number of passes that ``take`` needs.
    """

    take: Callable[[OutOfCoreProblem, Partition, Sample], Partition | None]
    least_passes: int


@singledispatch
def steps_of(operator: object) -> list[OutOfCoreStep]:
    """Return the steps of an operator out of core, in the order to try them."""
    raise ValueError(
        f"operator must be 'batch' or 'rawls' for data out of core, got {operator!r}; "
        "the others need all rows in memory."
    )


@steps_of.register
def _(operator: Batch) -> list[OutOfCoreStep]:
    least_gain = max(operator.least_gain, LEAST_GAIN)

    def take(
        large: OutOfCoreProblem, at: Partition, sample: Sample
    ) -> Partition | None:
        return next_batch(large, at, sample.problem, least_gain)

    return [OutOfCoreStep(take, least_passes=2)]


@steps_of.register
def _(operator: Rawls) -> list[OutOfCoreStep]:
    return [*steps_of(Batch()), OutOfCoreStep(relocated, least_passes=1)]


def relocated(
    large: OutOfCoreProblem, at: Partition, sample: Sample
) -> Partition | None:
    """Relocate a cluster of the sample, and place all rows by a rule that follows it.

    Return None if the result is no better.
    """
    labels = sample.labels(large, at.labels)
    if len(np.unique(labels)) < len(at.means.mass):
        return None  # a cluster too small to be in the sample
    assignment = Assignment(sample.problem, labels)
    moves = select(Relocate(least_gain=LEAST_GAIN).generate(assignment), assignment)
    if moves is None:
        return None
    labels[moves[0]] = moves[1]
    after = by_rule(large, rule_of_sample(sample.problem, labels), sample.problem.shift)
    is_gain = at.largest - after.largest > LEAST_GAIN * at.largest
    return after if after.means.is_whole and is_gain else None
