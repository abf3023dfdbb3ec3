"""Options of a fit, checked."""

from __future__ import annotations

from typing import NamedTuple

from rawlsian._core.parameters import PoolingStrength
from rawlsian._core.problem import Utility
from rawlsian._tables.choosing_k import ChooseBy
from rawlsian._tables.methods import METHODS, pooling_of, utility_of
from rawlsian._tables.outputs import Outputs
from rawlsian._tables.request import (
    TableRequest,
    check_choice,
    check_seed,
    checked_choose_by,
    checked_pooling,
    checked_utility,
    numbers_of_clusters,
)

# The methods that need no more than sums over the rows.
OUT_OF_CORE_METHODS = ("rawls", "batch", "kmeans-free", "kmeans-mean")


class FitOptions(NamedTuple):
    """How to fit: clusters and how they are chosen, method, pooling, seed.

    ``for_new_people`` is True to measure how people are served who are left out.
    """

    numbers: range
    choose_by: ChooseBy
    method: str
    utility: Utility
    pooling: PoolingStrength
    for_new_people: bool
    seed: int

    @classmethod
    def given(
        cls,
        clusters: int | str | range | tuple[int, int],
        choose_by: str | None,
        method: str,
        utility: str | None,
        pooling: float | str | None,
        for_new_people: bool,
        seed: int,
    ) -> FitOptions:
        """Return the options, or raise WrongUseError."""
        numbers = numbers_of_clusters(clusters)
        check_seed(seed)
        check_choice(method, "--method", list(METHODS))
        chosen = None if utility is None else checked_utility(utility)
        criterion = checked_choose_by(choose_by, numbers)
        return cls(
            numbers, criterion, method, utility_of(method, chosen),
            pooling_of(method, checked_pooling(pooling)), for_new_people, seed,
        )  # fmt: skip

    def check_parts(self, request: TableRequest, outputs: Outputs) -> None:
        """Refuse what needs all rows in memory."""
        if self.method not in OUT_OF_CORE_METHODS:
            *others, last = OUT_OF_CORE_METHODS
            works = f"{', '.join(others)} and {last} work"
            raise request.refuse(f"--method {self.method}", works)
        if len(self.numbers) > 1:
            several = f"--clusters {self.numbers[0]}:{self.numbers[-1]}"
            raise request.refuse(several, "name one number, as --clusters 5")
        works = "--out, --save and --json work"
        if outputs.page is not None:
            raise request.refuse("--report", works)
        if outputs.frontier is not None:
            raise request.refuse("--frontier", works)
        if METHODS[self.method].solver is None and self.utility == "nearest":
            instead = "add --utility assigned, or take --method kmeans-free"
            raise request.refuse("--utility nearest, the default,", instead)
