"""Markdown tables of the study, which the report and the documentation share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rawlsian._core.problem import Utility
from rawlsian.study.claims import Claim
from rawlsian.study.stages import READINGS

HEADS: dict[Utility, str] = {"nearest": "nearest mean", "assigned": "assigned mean"}


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def spread_text(values: ArrayLike, form: str) -> str:
    """Return the median, and the range in brackets."""
    quantiles = np.quantile(np.asarray(values, dtype=float), [0, 0.5, 1])
    low, median, high = map(form.format, quantiles)
    return f"{median} ({low} to {high})"


def claims_table(claims: list[Claim]) -> str:
    """Return two tables: claims on which both readings agree, and those by reading."""
    alike = [claim for claim in claims if "readings" not in claim]
    by_reading = [claim for claim in claims if "readings" in claim]
    return f"""Claims that do not depend on the reading of utility:

{_alike_table(alike)}
Claims under each reading. The paper's words are the nearest mean:

{_readings_table(by_reading)}"""


def _alike_table(claims: list[Claim]) -> str:
    return table(
        ["claim of the paper", "paper", "measured here", "verdict", "see"],
        [
            [c["claim"], c["paper"], c["ours"], f"**{c['verdict']}**", c["where"]]
            for c in claims
        ],
    )


def _readings_table(claims: list[Claim]) -> str:
    heads = [column for name in HEADS.values() for column in (name, "verdict")]
    return table(
        ["claim of the paper", "paper", *heads, "see"],
        [
            [c["claim"], c["paper"], *_judgements(c), c["where"]]
            for c in claims
        ],
    )  # fmt: skip


def _judgements(claim: Claim) -> list[str]:
    cells = []
    for reading in READINGS:
        found = claim["readings"][reading]
        cells += [found["ours"], f"**{found['verdict']}**"]
    return cells


def beyond_table(results: dict[str, Any]) -> str:
    """Return a table of every method: gap closed, proved gap, steps and seconds."""
    beyond = results["beyond"]
    lines = [
        [
            HEADS[reading],
            method,
            *_method_cells([row["methods"][reading][method] for row in beyond["rows"]]),
        ]
        for reading in READINGS
        for method in beyond["methods"][reading]
    ]
    head = ["utility by", "method", "gap closed, %", "proved gap, %", "steps",
            "seconds"]  # fmt: skip
    return table(head, lines)


def _method_cells(ends: list[dict[str, Any]]) -> list[str]:
    has_steps = "iterations" in ends[0]
    return [
        spread_text([100 * end["gap_closed"] for end in ends], "{:.1f}"),
        spread_text([100 * end["proved_gap"] for end in ends], "{:.2f}"),
        spread_text([end["iterations"] for end in ends], "{:g}") if has_steps else "",
        spread_text([end["seconds"] for end in ends], "{:.2f}"),
    ]
