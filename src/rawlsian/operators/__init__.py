"""Reassignment operators: they propose moves and the group utilities after each.

An operator is any object with a method ``generate(assignment)`` that yields blocks of
``Proposals``. ``R1`` and ``R2`` are the paper's.
"""

from rawlsian.operators.batch import Batch
from rawlsian.operators.compositions import AnyOf, FirstOf, Rawls
from rawlsian.operators.proposals import Operator, Proposals
from rawlsian.operators.r1_r2 import R1, R2, R2Exhaustive
from rawlsian.operators.relocate import Relocate

__all__ = [
    "R1",
    "R2",
    "AnyOf",
    "Batch",
    "FirstOf",
    "Operator",
    "Proposals",
    "R2Exhaustive",
    "Rawls",
    "Relocate",
]
