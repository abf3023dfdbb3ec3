"""Limits on a change, as people write them: 5%, or a number of people."""

from __future__ import annotations

import re
from fractions import Fraction
from operator import index
from typing import Any, NamedTuple

import numpy as np

from rawlsian._recommend.advice import Choose
from rawlsian._recommend.choice import Limits
from rawlsian._tables.errors import WrongUseError

PERCENT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")
WHOLE = re.compile(r"\s*([0-9]+)\s*")


class GivenLimits(NamedTuple):
    """Limits as they were given.

    Attributes
    ----------
    share_moved, n_moved : float
        Largest share, or number, of people in another cluster.
    max_loss : float
        Largest rise of a group's mean squared distance, in per cent.
    """

    share_moved: float = np.inf
    n_moved: float = np.inf
    max_loss: float = np.inf

    @classmethod
    def given(cls, max_moved: Any, max_loss: Any) -> GivenLimits:
        """Return the limits, or raise WrongUseError."""
        share, number, loss = np.inf, np.inf, np.inf
        if max_moved is not None:
            share, number = _moved(max_moved)
        if max_loss is not None:
            loss = _percent(max_loss, "--max-loss", "10%")
        return cls(share, number, loss)

    def of(self, n_people: float) -> Limits:
        """Return the limits for a table of that many people."""
        return Limits(min(self.share_moved, self.n_moved / n_people), self.max_loss)


def _moved(limit: Any) -> tuple[float, float]:
    """Return the largest share and the largest number of people who may move."""
    if not isinstance(limit, bool) and hasattr(limit, "__index__"):
        limit = str(index(limit))
    whole = WHOLE.fullmatch(str(limit))
    if whole is not None:
        return np.inf, float(whole[1])
    percent = PERCENT.fullmatch(str(limit))
    if percent is None or float(percent[1]) > 100:
        raise WrongUseError(
            "--max-moved must be a number of people such as 50, or a share of them "
            f"such as 5%, got {limit!r}."
        )
    # 2.9 / 100 is less than 29 / 1000; fractions are exact.
    return float(Fraction(percent[1]) / 100), np.inf


def _percent(limit: Any, option: str, example: str) -> float:
    """Return a percentage: a text with its sign, or a number."""
    is_number = isinstance(limit, (int, float))
    found = PERCENT.fullmatch(f"{limit}%" if is_number else str(limit))
    if found is None or isinstance(limit, bool):
        raise WrongUseError(
            f"{option} must be a percentage such as {example}, got {limit!r}."
        )
    return float(found[1])


def checked_choose(choose: Any, method: str | None) -> Choose:
    """Return the option that is chosen, or raise WrongUseError."""
    if method is not None and choose is not None:
        raise WrongUseError(
            f"--choose {choose} chooses among the options that fit finds itself; with "
            f"--method {method} leave it out."
        )
    if choose in (None, "recommended"):
        return "recommended"
    if choose in ("keep", "most"):
        return "keep" if choose == "keep" else "most"
    whole = WHOLE.fullmatch(str(choose))
    if whole is None or isinstance(choose, bool):
        raise WrongUseError(
            "--choose must be keep, recommended, most or the number of a point, got "
            f"{choose!r}."
        )
    return int(whole[1])
