"""Options of a fit, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rawlsian._core.parameters import PoolingStrength
from rawlsian._recommend.advice import Choose
from rawlsian._tables.audit_options import checked_min_group
from rawlsian._tables.choosing_k import ChooseBy
from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.limits import GivenLimits, checked_choose
from rawlsian._tables.methods import METHODS, pooling_of, serving_of
from rawlsian._tables.outputs import Outputs
from rawlsian._tables.request import (
    TableRequest,
    check_choice,
    check_seed,
    checked_choose_by,
    checked_pooling,
    numbers_of_clusters,
)
from rawlsian._tables.serving import ServedBy, checked_served_by

# The methods that need no more than sums over the rows.
OUT_OF_CORE_METHODS = ("rawls", "batch", "kmeans-free", "kmeans-mean")


class FitOptions(NamedTuple):
    """How to fit.

    Attributes
    ----------
    numbers : range or None
        Numbers of clusters to try; None takes the clusters of ``start``.
    choose_by : str
        How one of several numbers is chosen.
    method : str or None
        A method to run; None compares candidates and recommends one.
    choose : str or int
        The option that is chosen.
    served_by : {"center", "members"}
        What serves a person.
    pooling : float or "cv"
        Strength of pooling.
    start : str or None
        Column of clusters to begin from.
    limits : GivenLimits
        Limits on the change.
    min_group : int
        Groups with fewer people are reported, but not optimised for.
    for_new_people : bool
        True to measure people who are left out.
    seed : int
        Seed of all random draws.
    """

    numbers: range | None
    choose_by: ChooseBy
    method: str | None
    choose: Choose
    served_by: ServedBy
    pooling: PoolingStrength
    start: str | None
    limits: GivenLimits
    min_group: int
    for_new_people: bool
    seed: int

    @classmethod
    def given(
        cls,
        *,
        clusters: Any,
        choose_by: str | None,
        method: str | None,
        choose: Any,
        served_by: str | None,
        pooling: float | str | None,
        start: str | None,
        max_moved: Any,
        max_loss: Any,
        min_group: Any,
        new_people: bool,
        seed: int,
    ) -> FitOptions:
        """Return the options, or raise WrongUseError."""
        numbers = _numbers(clusters, start)
        check_seed(seed)
        if method is not None:
            check_choice(method, "--method", list(METHODS))
        asked = None if served_by is None else checked_served_by(served_by)
        is_walk = method is None or METHODS[method].solver is None
        if start is not None and is_walk:
            if asked == "center":
                raise WrongUseError(
                    "--served-by center does not go with --start: existing clusters "
                    "are lists of people, who are served by the members; leave it out."
                )
            asked = "members"
        limits = GivenLimits.given(max_moved, max_loss)
        _check_limits(limits, method)
        return cls(
            numbers, checked_choose_by(choose_by, numbers or range(1)), method,
            checked_choose(choose, method), serving_of(method, asked),
            pooling_of(method, checked_pooling(pooling)), start, limits,
            checked_min_group(min_group), new_people, seed,
        )  # fmt: skip

    def check_parts(self, request: TableRequest, outputs: Outputs) -> None:
        """Refuse what needs all rows in memory."""
        if self.method is not None and self.method not in OUT_OF_CORE_METHODS:
            *others, last = OUT_OF_CORE_METHODS
            works = f"{', '.join(others)} and {last} work"
            raise request.refuse(f"--method {self.method}", works)
        if self.start is not None:
            raise request.refuse("--start", "leave it out")
        if self.numbers is not None and len(self.numbers) > 1:
            several = f"--clusters {self.numbers[0]}:{self.numbers[-1]}"
            raise request.refuse(several, "name one number, as --clusters 5")
        if outputs.appends:
            raise request.refuse("--append", "leave it out")
        works = "--out, --save and --json work"
        if outputs.page is not None:
            raise request.refuse("--report", works)
        if outputs.frontier is not None:
            raise request.refuse("--frontier", works)
        is_walk = self.method is not None and METHODS[self.method].solver is None
        if is_walk and self.served_by == "center":
            instead = "add --served-by members, or leave --method out"
            raise request.refuse(
                f"--method {self.method} with --served-by center", instead
            )
        if self.method is None and self.served_by == "members":
            instead = "add --method rawls or kmeans-mean"
            raise request.refuse("--served-by members without --method", instead)


def _numbers(clusters: Any, start: str | None) -> range | None:
    """Return the numbers of clusters to try, or None for those of the start."""
    if clusters is not None:
        if start is not None:
            raise WrongUseError(
                "--clusters does not go with --start, whose clusters count; leave one "
                "of them out."
            )
        return numbers_of_clusters(clusters)
    if start is None:
        raise WrongUseError(
            "--clusters is missing; give a number or a range such as 2:12, or begin "
            "from a column of clusters with --start."
        )
    return None


def _check_limits(limits: GivenLimits, method: str | None) -> None:
    """Refuse limits on the result of a method, which knows none."""
    if method is not None and limits != GivenLimits():
        raise WrongUseError(
            "--max-moved and --max-loss limit what fit recommends; with --method "
            f"{method} leave them out."
        )


def check_start(names: Sequence[str]) -> None:
    """Refuse a column of one cluster, from which nobody can move."""
    if len(names) < 2:
        raise WrongUseError(
            f"--start names a column with one cluster, {names[0]!r}; it needs two or "
            "more."
        )
