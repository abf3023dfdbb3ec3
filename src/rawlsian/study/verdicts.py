"""Sentences on the verdicts: which reading fits which number, and what differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rawlsian._core.problem import Utility
from rawlsian.study.claims import Claim, judgement, percent
from rawlsian.study.stages import READINGS

# Numbers of the paper that depend on the reading: the claim, and how to print it.
NUMBERS: dict[str, Callable[[float], str]] = {
    "R1 iterations": "{:.4g}".format,
    "R2 iterations": "{:.4g}".format,
    "R2 iterations / R1 iterations": "{:.2f}".format,
    "R2 operations that lower the LAG utility": percent,
}


def fits(claims: list[Claim]) -> list[str]:
    """Return a sentence for each number of the paper: which reading fits it.

    A reading fits if the number lies between the quartiles of the samples.
    """
    return [
        f"{claim['claim']}: {claim['paper']} in the paper; "
        + "; ".join(_fit(claim, reading) for reading in READINGS)
        + "."
        for claim in claims
        if claim["claim"] in NUMBERS
    ]


def _fit(claim: Claim, reading: Utility) -> str:
    found = judgement(claim, reading)
    if "values" not in found:
        return f"{reading}: {found['ours']}"
    show = NUMBERS[claim["claim"]]
    low, high = (show(found["values"][f"quartile_{q}"]) for q in (1, 3))
    fitting = "fits" if found["verdict"] == "holds" else "does not fit"
    return f"{reading} {fitting} ({low} to {high})"


def count_verdicts(claims: list[Claim]) -> str:
    """Count the claims by verdict, under each reading."""
    sentences = []
    for reading in READINGS:
        found = [judgement(claim, reading)["verdict"] for claim in claims]
        sentences.append(
            f"Under *{reading}*, {found.count('holds')} of {len(claims)} claims hold, "
            f"{found.count('depends')} depend on the sample, and "
            f"{found.count('differs')} differ."
        )
    return " ".join(sentences)


def differences(claims: list[Claim]) -> list[str]:
    """Return a sentence for each claim that differs under a reading."""
    return [
        f"{claim['claim']}. Paper: {claim['paper']}. Here: {_measured(claim)}."
        for claim in claims
        if any(judgement(claim, r)["verdict"] == "differs" for r in READINGS)
    ]


def _measured(claim: Claim) -> Any:
    """Return the measurement of a claim, by reading if it depends on it."""
    if "readings" not in claim:
        return claim["ours"]
    return "; ".join(
        f"{reading}: {found['ours']} (*{found['verdict']}*)"
        for reading, found in claim["readings"].items()
    )
