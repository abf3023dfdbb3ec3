"""Adult data, prepared as in the paper."""

from __future__ import annotations

import csv
import gzip
import io
from functools import cache
from importlib import resources
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from rawlsian.datasets.encoding import encode

CONTINUOUS = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
CATEGORICAL = ["workclass", "education", "occupation"]
COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]


def load_adult(
    *, sample: int | None = None, random_state: int | np.random.Generator | None = None
) -> Bunch:
    """Load the Adult data, prepared as in the paper.

    The data are the 30,718 rows that have a workclass and an occupation. Five
    continuous attributes are scaled to [0, 1] over these rows. Three categorical
    attributes are encoded as 37 columns of 0 or 1/sqrt(2). The squared distance between
    two rows is at most 8.

    Parameters
    ----------
    sample : int, default=None
        Number of rows to draw from each of the two income classes; the paper drew
        500. ``None`` returns all rows.
    random_state : int, numpy Generator or None, default=None
        Seed of the sample.

    Returns
    -------
    Bunch
        data : ndarray of shape (n_samples, 42)
            Encoded attributes.
        sensitive_features : ndarray of shape (n_samples,)
            Sex: "Female" or "Male". It is not one of the encoded attributes.
        target : ndarray of shape (n_samples,)
            Income: "<=50K" or ">50K". Used for sampling only.
        table : dict of str to ndarray
            All 15 columns of the file; ``pandas.DataFrame(table)`` works.
        line_numbers : ndarray of shape (n_samples,)
            Line of each row in the original file, counted from 1.
        feature_names : list of str
            Names of the columns of ``data``.
        max_distance : float
            8.0, the paper's delta.
        DESCR : str
            Source, licence and caveats.

    Examples
    --------
    >>> from rawlsian import load_adult
    >>> load_adult().data.shape
    (30718, 42)
    >>> load_adult(sample=500, random_state=576).data.shape
    (1000, 42)
    """
    whole = _prepared()
    rows = draw_rows(whole.table["income"], sample, random_state)
    table = {name: column[rows] for name, column in whole.table.items()}  # copies
    return Bunch(
        data=whole.data[rows],
        sensitive_features=table["sex"].copy(),
        target=table["income"].copy(),
        table=table,
        line_numbers=whole.line_numbers[rows],
        feature_names=list(whole.feature_names),
        max_distance=whole.max_distance,
        DESCR=resources.files("rawlsian.datasets").joinpath("ADULT.md").read_text(),
    )


class _Prepared(NamedTuple):
    """Whole data; shared by all calls, so never returned itself."""

    table: dict[str, NDArray[Any]]
    line_numbers: NDArray[np.int64]
    data: NDArray[np.float64]
    feature_names: NDArray[np.object_]
    max_distance: float


@cache
def _prepared() -> _Prepared:
    """Read and encode the file once a process, because that takes most of a second."""
    table, line_numbers = _read()
    return _Prepared(table, line_numbers, *encode(table, CONTINUOUS, CATEGORICAL))


def _read() -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Read the rows that have workclass and occupation, and their line numbers."""
    packed = resources.files("rawlsian.datasets").joinpath("adult.data.gz").read_bytes()
    lines = io.StringIO(gzip.decompress(packed).decode("ascii"))
    workclass, occupation = COLUMNS.index("workclass"), COLUMNS.index("occupation")
    rows, line_numbers = [], []
    for number, row in enumerate(csv.reader(lines, skipinitialspace=True), start=1):
        if row and row[workclass] != "?" and row[occupation] != "?":
            rows.append(row)
            line_numbers.append(number)
    table = {
        name: np.array(values, dtype=float) if name in (*CONTINUOUS, "fnlwgt")
        else np.array(values)
        for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True)
    }  # fmt: skip
    return table, np.array(line_numbers)


def draw_rows(
    income: NDArray[Any],
    sample: int | None,
    random_state: int | np.random.Generator | None,
) -> NDArray[np.intp]:
    """Draw the sample; return row indices in the order of the file."""
    if sample is None:
        return np.arange(len(income))
    classes, sizes = np.unique(income, return_counts=True)
    if not isinstance(sample, Integral) or not 1 <= sample <= sizes.min():
        raise ValueError(
            f"sample must be from 1 to {sizes.min()}, the size of the smaller income "
            f"class, got {sample!r}."
        )
    rng = np.random.default_rng(random_state)
    drawn = [
        rng.choice(np.flatnonzero(income == name), sample, replace=False)
        for name in classes
    ]
    return np.sort(np.concatenate(drawn))
