"""Reassignment operators: what could be done next, and where it would lead.

An operator is anything with a method ``generate(assignment)`` that yields blocks of
:class:`Proposals`. ``R1`` and ``R2`` are the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rawlsian._assignment import Assignment
from rawlsian._proposals import Operator, Proposals
from rawlsian._r1_r2 import R1, R2, R2Exhaustive

__all__ = ["R1", "R2", "AnyOf", "Operator", "Proposals", "R2Exhaustive"]


class AnyOf:
    """The proposals of several operators together; earlier operators win ties.

    Parameters
    ----------
    *operators : str or object with ``generate``
        For example ``AnyOf("R1", "R2")``, which is what "R1+R2" means.
    """

    def __init__(self, *operators: str | Operator) -> None:
        if not operators:
            raise ValueError("AnyOf needs at least one operator, such as AnyOf('R1').")
        self.operators = tuple(map(get_operator, operators))

    def __repr__(self) -> str:
        return f"AnyOf({', '.join(map(repr, self.operators))})"

    def generate(self, assignment: Assignment) -> Iterator[Proposals]:
        """Yield the blocks of each operator in turn."""
        for operator in self.operators:
            yield from operator.generate(assignment)


_BY_NAME: dict[str, Callable[[], Operator]] = {
    "R1": R1,
    "R2": R2,
    "R2-exhaustive": R2Exhaustive,
    "R1+R2": lambda: AnyOf("R1", "R2"),
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
