"""German credit data."""

from __future__ import annotations

import gzip
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from rawlsian.datasets.encoding import encode

# Columns of german.data in their order; levels by code, or None for numbers.
LEVELS: dict[str, dict[str, str] | None] = {
    "checking_account": {
        "A11": "below 0", "A12": "0 to 200", "A13": "200 or more", "A14": "none",
    },
    "months": None,
    "credit_history": {
        "A30": "no credits or all paid back", "A31": "all here paid back",
        "A32": "paid back so far", "A33": "delays", "A34": "critical or elsewhere",
    },
    "purpose": {
        "A40": "new car", "A41": "used car", "A42": "furniture", "A43": "television",
        "A44": "appliances", "A45": "repairs", "A46": "education", "A48": "retraining",
        "A49": "business", "A410": "other",
    },
    "amount": None,
    "savings": {
        "A61": "below 100", "A62": "100 to 500", "A63": "500 to 1000",
        "A64": "1000 or more", "A65": "unknown or none",
    },
    "years_employed": {
        "A71": "unemployed", "A72": "below 1", "A73": "1 to 4", "A74": "4 to 7",
        "A75": "7 or more",
    },
    "installment_percent": None,
    "sex_and_status": {
        "A91": "male, divorced or separated",
        "A92": "female, divorced, separated or married",
        "A93": "male, single", "A94": "male, married or widowed",
    },
    "debtors": {"A101": "alone", "A102": "co-applicant", "A103": "guarantor"},
    "years_at_residence": None,
    "property": {
        "A121": "real estate", "A122": "savings agreement or life insurance",
        "A123": "car or other", "A124": "unknown or none",
    },
    "age": None,
    "other_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
    "housing": {"A151": "rent", "A152": "own", "A153": "for free"},
    "credits_here": None,
    "job": {
        "A171": "unskilled, not resident", "A172": "unskilled, resident",
        "A173": "skilled", "A174": "management or self-employed",
    },
    "dependents": None,
    "telephone": {"A191": "no", "A192": "yes"},
    "foreign_worker": {"A201": "yes", "A202": "no"},
    "risk": {"1": "good", "2": "bad"},
}  # fmt: skip

# Columns that say who somebody is, or what became of the credit, are not encoded.
NOT_ENCODED = ["sex_and_status", "foreign_worker", "risk"]


def load_credit() -> Bunch:
    """Load the German credit data: 1000 people who were given a credit.

    Seven numbers are scaled to [0, 1], and eleven categorical attributes are encoded as
    columns of 0 or 1/sqrt(2), as ``UnitDistanceEncoder`` does. The squared distance
    between two rows is at most 18.

    The names of levels are those of the source, some of which are in doubt; see
    ``DESCR``.

    Returns
    -------
    Bunch
        data : ndarray of shape (1000, 55)
            Encoded attributes: all but sex and status, foreign worker and risk.
        sensitive_features : ndarray of shape (1000,)
            Sex, as the source describes its codes: "female" (310) or "male" (690).
            The description is in doubt.
        target : ndarray of shape (1000,)
            Risk: "good" (700) or "bad" (300).
        table : dict of str to ndarray
            All 21 columns of the file; ``pandas.DataFrame(table)`` works.
        feature_names : list of str
            Names of the columns of ``data``.
        max_distance : float
            18.0, the number of encoded attributes.
        DESCR : str
            Source, licence and caveats.

    Examples
    --------
    >>> from rawlsian import load_credit
    >>> load_credit().data.shape
    (1000, 55)
    """
    table = _read()
    kept = [name for name in LEVELS if name not in NOT_ENCODED]
    data, names, max_distance = encode(
        table,
        [name for name in kept if LEVELS[name] is None],
        [name for name in kept if LEVELS[name] is not None],
    )
    sexes = np.char.partition(table["sex_and_status"], ",")[:, 0]
    return Bunch(
        data=data, sensitive_features=sexes, target=table["risk"].copy(), table=table,
        feature_names=list(names), max_distance=max_distance,
        DESCR=resources.files("rawlsian.datasets").joinpath("CREDIT.md").read_text(),
    )  # fmt: skip


def _read() -> dict[str, NDArray[Any]]:
    """Return the columns of the file, with the names of levels instead of codes."""
    packed = resources.files("rawlsian.datasets").joinpath("german.data.gz")
    lines = gzip.decompress(packed.read_bytes()).decode("ascii").splitlines()
    columns = zip(*(line.split() for line in lines), strict=True)
    return {
        name: np.array(cells, dtype=float) if levels is None
        else np.array([levels[cell] for cell in cells])
        for (name, levels), cells in zip(LEVELS.items(), columns, strict=True)
    }  # fmt: skip
