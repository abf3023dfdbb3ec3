"""Interrupt each public call, estimator and the study at hundreds of moments.

    scripts/interruptions          # the first 200 moments, and 200 spread over all

Every outcome must be one of three: KeyboardInterrupt is raised, the result is marked as
interrupted, or it equals the undisturbed one. Prints a table; fails if one is not. It
takes some minutes, most of them in the study.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from support.interruptions import (
    estimators,
    functions,
    is_same,
    n_moments,
    outcome,
    study,
    tables,
)  # fmt: skip
from support.study import small_samples

N_FIRST, N_SPREAD = 200, 200


def outcomes(call: Callable[[], Any]) -> tuple[int, Counter[str]]:
    """Return the number of moments of a call, and how many ended in which way."""
    undisturbed = call()
    n_all = n_moments(call)
    spread = np.linspace(1, n_all, N_SPREAD).astype(int).tolist()
    moments = sorted({*range(1, min(N_FIRST, n_all) + 1), *spread})
    ways: Counter[str] = Counter()
    for moment in moments:
        way, found = outcome(call, moment)
        if way == "returned":
            way = "equal" if is_same(found, undisturbed) else "false"
        ways[way] += 1
    return n_all, ways


def main() -> int:
    """Print how each call ended; return 1 if a result was false."""
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None  # Ctrl-C where Python deletes an object
    n_false = 0
    print("| call | moments | interrupted at | raised | marked | equal | false |")
    print("|---|---|---|---|---|---|---|")
    with small_samples():
        for name, call in {
            **functions(),
            **estimators(),
            **tables(),
            **study(),
        }.items():
            n_all, ways = outcomes(call)
            counts = [ways[way] for way in ("raised", "marked", "equal", "false")]
            cells = " | ".join(map(str, [n_all, sum(counts), *counts]))
            print(f"| {name} | {cells} |", flush=True)
            n_false += ways["false"]
    return int(n_false > 0)


if __name__ == "__main__":
    sys.exit(main())
