"""Data of the study: the whole table, and samples with the paper's split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian.datasets import load_adult
from rawlsian.datasets.adult import CATEGORICAL, COLUMNS, CONTINUOUS, draw_rows
from rawlsian.preprocessing.features import HOT
from rawlsian.report import Attribute

EXAMPLES_A_CLASS = 500
MINORITY, MAJORITY = "Female", "Male"
MINORITY_IN_SAMPLE = 267

# Sample seeds of --seed 0 start at 0, those of --seed 1 at a million.
SEEDS_A_STUDY = 1_000_000


class Adult(NamedTuple):
    """Whole Adult table, encoded."""

    X: NDArray[np.float64]
    sex: NDArray[np.str_]
    income: NDArray[np.str_]
    max_distance: float
    line_numbers: NDArray[np.int64]
    attributes: tuple[Attribute, ...]


class Sample(NamedTuple):
    """Sample of ``load_adult(sample=500, random_state=seed)``."""

    seed: int
    X: NDArray[np.float64]
    sex: NDArray[np.str_]
    max_distance: float
    line_numbers: NDArray[np.int64]


def load() -> Adult:
    """Load all of Adult, prepared as in the paper."""
    adult = load_adult()
    attributes = [
        *(_number(name, adult.table[name]) for name in CONTINUOUS),
        *(
            Attribute(name, str(level), 0.0, HOT)
            for name in CATEGORICAL
            for level in np.unique(adult.table[name])
        ),
    ]
    return Adult(
        adult.data, adult.sensitive_features, adult.target, adult.max_distance,
        adult.line_numbers, tuple(attributes),
    )  # fmt: skip


def _number(name: str, column: NDArray[np.float64]) -> Attribute:
    return Attribute(name, None, float(column.min()), float(np.ptp(column)))


def describe(adult: Adult) -> dict[str, Any]:
    """Return the numbers of tables 1 and 2, for the whole table and a sample."""
    n_sampled = 2 * EXAMPLES_A_CLASS
    in_sample = {
        MINORITY: MINORITY_IN_SAMPLE,
        MAJORITY: n_sampled - MINORITY_IN_SAMPLE,
    }
    return {
        "name": "adult",
        "rows": len(adult.X),
        "columns": adult.X.shape[1],
        "max_distance": adult.max_distance,
        "attributes": {
            "in the file": len(COLUMNS),
            "sensitive": ["sex"],
            "continuous": CONTINUOUS,
            "categorical": CATEGORICAL,
            "predictor": ["income"],
        },
        "groups": _shares(dict(zip(*np.unique(adult.sex, return_counts=True),
                                   strict=True))),
        "classes": _shares(dict(zip(*np.unique(adult.income, return_counts=True),
                                    strict=True))),
        "sample": {"rows": n_sampled, "groups": _shares(in_sample)},
    }  # fmt: skip


def samples_with_the_split(adult: Adult, seed: int) -> Iterator[Sample | None]:
    """Yield the sample of each seed, or None if it has another split."""
    is_minority = adult.sex == MINORITY
    first = seed * SEEDS_A_STUDY
    for sample_seed in range(first, first + SEEDS_A_STUDY):
        rows = draw_rows(adult.income, EXAMPLES_A_CLASS, sample_seed)
        if is_minority[rows].sum() == MINORITY_IN_SAMPLE:
            yield Sample(
                sample_seed, adult.X[rows], adult.sex[rows], adult.max_distance,
                adult.line_numbers[rows],
            )  # fmt: skip
        else:
            yield None


def _shares(counts: Mapping[str, int]) -> dict[str, dict[str, float]]:
    total = sum(counts.values())
    return {
        str(name): {"examples": int(count), "share": float(count / total)}
        for name, count in counts.items()
    }
