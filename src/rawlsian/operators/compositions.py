"""Operators composed of others, and operators by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rawlsian._core.assignment import Assignment
from rawlsian.operators.batch import Batch
from rawlsian.operators.proposals import Operator, Proposals, best_in_block
from rawlsian.operators.r1_r2 import R1, R2, R2Exhaustive
from rawlsian.operators.relocate import MOST_SWEPT, Relocate

# With up to this many single moves, "rawls" searches all pairs of them.
MOST_MOVES = 20_000
# With more, the least gain of a batch or a sweep, relative to the mean cost of the
# worst-off group.
LEAST_GAIN = 1e-6
# Least gain of a batch where Relocate sweeps no rows, as each step takes long then.
LEAST_GAIN_OF_MANY = 3e-5


class _Composed:
    """An operator composed of others."""

    def __init__(self, *operators: str | Operator) -> None:
        name = type(self).__name__
        if not operators:
            raise ValueError(f"{name} needs at least one operator, as {name}('R1').")
        if isinstance(operators[0], (list, tuple)):
            raise ValueError(
                f"{name} takes operators one by one, as {name}('R1', 'R2'), not in a "
                f"{type(operators[0]).__name__}."
            )
        self.operators = tuple(map(get_operator, operators))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.operators))})"


class AnyOf(_Composed):
    """Propose the moves of several operators together; earlier operators win ties.

    Parameters
    ----------
    *operators : str or object with ``generate``
        Names or operators. ``AnyOf("R1", "R2")`` is the operator named "R1+R2".

    Attributes
    ----------
    operators : tuple of objects with ``generate``
        The operators, in order.
    """

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield the blocks of each operator in turn."""
        for operator in self.operators:
            yield from operator.generate(assignment)


class FirstOf(_Composed):
    """Propose the moves of the first operator that raises the lowest group utility.

    Parameters
    ----------
    *operators : str or object with ``generate``
        Names or operators, cheap ones first: one is used only if the operators before
        it propose nothing that raises the lowest group utility.

    Attributes
    ----------
    operators : tuple of objects with ``generate``
        The operators, in order.
    """

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield the blocks of each operator in turn, until one has an admitted move."""
        for operator in self.operators:
            is_found = False
            for block in operator.generate(assignment):
                yield block
                is_found = is_found or best_in_block(block, assignment)[0] >= 0
            if is_found:
                return


@dataclass(frozen=True)
class Rawls:
    """Move a batch, else a pair, else relocate a cluster: the first that helps.

    Cheap operators come first: a cluster is relocated only if nothing else raises the
    lowest utility. With at most 20,000 single moves, n (k - 1), all pairs of them are
    searched. With more, no pairs are searched, as R2 finds pairs only if R1 still finds
    moves; and a batch or a sweep must gain a millionth of the mean cost of the
    worst-off group, or there would be thousands of steps that change next to nothing.
    With more than 4 million numbers in X, a batch must gain 3e-5 of it.
    If everyone counts by the nearest mean, no pairs are searched either: hundreds of
    pairs bring next to nothing then, and each takes ten times as long to find.
    """

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield the proposals of the first operator that raises the lowest utility."""
        n_moves = assignment.problem.n_samples * (assignment.n_clusters - 1)
        if n_moves > MOST_MOVES:
            is_large = assignment.problem.X.size > MOST_SWEPT
            least_gain = LEAST_GAIN_OF_MANY if is_large else LEAST_GAIN
            composed = FirstOf(Batch(least_gain), Relocate(least_gain=LEAST_GAIN))
        elif assignment.problem.utility == "nearest":
            composed = FirstOf(Batch(), Relocate())
        else:
            composed = FirstOf(Batch(), R2Exhaustive(), Relocate())
        yield from composed.generate(assignment)


_BY_NAME: dict[str, Callable[[], Operator]] = {
    "R1": R1,
    "R2": R2,
    "R2-exhaustive": R2Exhaustive,
    "R1+R2": lambda: AnyOf("R1", "R2"),
    "batch": Batch,
    "relocate": Relocate,
    "rawls": Rawls,
}


def get_operator(operator: str | Operator) -> Operator:
    """Return the operator of that name, or the operator itself."""
    if isinstance(operator, str):
        if operator in _BY_NAME:
            return _BY_NAME[operator]()
    elif callable(getattr(operator, "generate", None)) and not isinstance(
        operator, type
    ):
        return operator
    hint = "; did you mean an instance of it?" if isinstance(operator, type) else "."
    raise ValueError(
        f"operator must be one of {', '.join(map(repr, _BY_NAME))} or an object with "
        f"a method generate(assignment), got {operator!r}{hint}"
    )
