"""Operators by name, and operators made of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rawlsian._core.assignment import Assignment
from rawlsian.operators.batch import Batch
from rawlsian.operators.proposals import Operator, Proposals, best_in_block
from rawlsian.operators.r1_r2 import R1, R2, R2Exhaustive
from rawlsian.operators.relocate import Relocate

# Up to this many single moves all pairs of them are looked at by "rawls".
MOST_MOVES = 20_000
# Beyond it, what a batch or a sweep must gain: a share of the worst-off group's mean
# cost.
LEAST_GAIN = 1e-6


class _Composed:
    """An operator made of others."""

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
    """The proposals of several operators together; earlier operators win ties.

    Parameters
    ----------
    *operators : str or object with ``generate``
        For example ``AnyOf("R1", "R2")``, which is what "R1+R2" means.
    """

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield the blocks of each operator in turn."""
        for operator in self.operators:
            yield from operator.generate(assignment)


class FirstOf(_Composed):
    """The proposals of the first operator that has one to carry out.

    Parameters
    ----------
    *operators : str or object with ``generate``
        Each is asked only where those before it propose nothing that raises the
        lowest group utility, so that the cheap ones come first.
    """

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield the blocks of one operator after the other, until some will do."""
        for operator in self.operators:
            is_found = False
            for block in operator.generate(assignment):
                yield block
                is_found = is_found or best_in_block(block, assignment)[0] >= 0
            if is_found:
                return


@dataclass(frozen=True)
class Rawls:
    """Whatever helps: a batch, a pair, or else relocating a cluster.

    Cheap operators come first: a cluster is relocated only where nothing else raises
    the lowest utility. Pairs are all pairs of moves where there are at most 20,000
    single moves; beyond that there are none, as those of R2 are found only where R1
    still moves, and a batch or a sweep must gain a millionth of the worst-off group's
    mean cost, or there would be thousands of steps that change next to nothing.
    """

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield what the first of them that helps proposes."""
        n_moves = assignment.problem.n_samples * (assignment.n_clusters - 1)
        if n_moves <= MOST_MOVES:
            composed = FirstOf(Batch(), R2Exhaustive(), Relocate())
        else:
            composed = FirstOf(Batch(LEAST_GAIN), Relocate(least_gain=LEAST_GAIN))
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
    """The operator of that name, or the operator itself."""
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
