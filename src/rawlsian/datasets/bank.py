"""Bank marketing data, from the user's own copy."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from rawlsian.datasets.encoding import encode

NUMBERS = ["age", "balance", "day", "campaign", "pdays", "previous"]
CATEGORIES = [
    "job", "education", "default", "housing", "loan", "contact", "month", "poutcome",
]  # fmt: skip
COLUMNS = [
    "age", "job", "marital", "education", "default", "balance", "housing", "loan",
    "contact", "day", "month", "duration", "campaign", "pdays", "previous", "poutcome",
    "y",
]  # fmt: skip

# Rows of bank.csv and of bank-full.csv, and how many of these people subscribed.
SIZES = [(4521, 521), (45211, 5289)]

DESCR = """Bank marketing

Moro, S., Rita, P. and Cortez, P. (2012). Bank Marketing. UCI Machine Learning
Repository. https://doi.org/10.24432/C5K306

Licence: Creative Commons Attribution 4.0 International (CC BY 4.0),
https://creativecommons.org/licenses/by/4.0/

People whom a Portuguese bank called from 2008 to 2010 to sell them a deposit. They did
not ask to be called; the rows hold age, marital status and money. Education has four
levels and marital status three; widowed people count as divorced. Use it to study
methods, not people.
"""


def load_bank(path: str | Path) -> Bunch:
    """Load the bank marketing data from your own copy of UCI's file.

    The package does not contain this file. Download it from
    https://doi.org/10.24432/C5K306 and give the path of ``bank.csv``, with 4,521 rows,
    or of ``bank-full.csv``, with 45,211.

    Six numbers are scaled to [0, 1], and eight categorical attributes are encoded as
    columns of 0 or 1/sqrt(2), as ``UnitDistanceEncoder`` does. The squared distance
    between two rows is at most 14.

    Parameters
    ----------
    path : str or Path
        The file: semicolons between columns, and a header.

    Returns
    -------
    Bunch
        data : ndarray of shape (n_samples, n_features)
            Encoded attributes: all but marital status, the duration of the call, which
            nobody knows before it, and the target.
        sensitive_features : ndarray of shape (n_samples,)
            Marital status: "divorced" (or widowed), "married" or "single".
        target : ndarray of shape (n_samples,)
            "yes" for people who subscribed a deposit, else "no".
        table : dict of str to ndarray
            All 17 columns of the file; ``pandas.DataFrame(table)`` works.
        feature_names : list of str
            Names of the columns of ``data``.
        max_distance : float
            14.0, the number of encoded attributes.
        DESCR : str
            Source, licence and caveats.

    Raises
    ------
    ValueError
        If the file is not one of the two.
    """
    table = _read(Path(path))
    data, names, max_distance = encode(table, NUMBERS, CATEGORIES)
    return Bunch(
        data=data, sensitive_features=table["marital"].copy(),
        target=table["y"].copy(), table=table, feature_names=list(names),
        max_distance=max_distance, DESCR=DESCR,
    )  # fmt: skip


def _read(path: Path) -> dict[str, NDArray[Any]]:
    """Return the columns of the file, after a check that it is UCI's."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            header, *rows = list(filter(None, csv.reader(lines, delimiter=";"))) or [[]]
    except (csv.Error, UnicodeDecodeError):
        header, rows = [], []
    if header != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise ValueError(
            f"{path} does not have the {len(COLUMNS)} columns of UCI's bank.csv, with "
            "semicolons between them; download it from https://doi.org/10.24432/C5K306."
        )
    n_yes = sum(row[-1] == "yes" for row in rows)
    if (len(rows), n_yes) not in SIZES:
        known = " or ".join(f"{n} and {yes}" for n, yes in SIZES)
        raise ValueError(
            f"{path} has {len(rows)} rows, {n_yes} of them with yes; UCI's files have "
            f"{known}: give one of them, whole."
        )
    columns = dict(zip(COLUMNS, map(np.array, zip(*rows, strict=True)), strict=True))
    for name in (*NUMBERS, "duration"):
        try:
            columns[name] = columns[name].astype(float)
        except ValueError as error:
            raise ValueError(
                f"{path} has values in {name!r} that are not numbers; download it from "
                "https://doi.org/10.24432/C5K306 again."
            ) from error
    return columns
