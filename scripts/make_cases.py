"""Write the tables of the worked cases: docs/cases/credit.csv and patients.csv.

Run: .venv/bin/python scripts/make_cases.py german.data

``german.data`` is the raw file of Statlog (German Credit Data), from
https://doi.org/10.24432/C5NC77. The patients come with scikit-learn. The pages are
docs/cases/*.md; ``python tests/test_docs.py`` writes the output of their commands.
"""

import csv
import hashlib
import sys
from pathlib import Path
from typing import Any

from sklearn.datasets import load_diabetes

FOLDER = Path(__file__).parent.parent / "docs" / "cases"
CREDIT_SHA256 = "e2bc10785808eeb5e30462f0805edb73a672f295bc671dec0bca6e2fb5c8e1ca"

# Columns of german.data in their order; levels by code, or None for numbers. The last
# two, foreign worker and credit risk, are not written.
CREDIT: dict[str, dict[str, str] | None] = {
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
}  # fmt: skip
NOT_WRITTEN = 2


def main() -> None:
    """Write both tables."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    raw = Path(sys.argv[1]).read_bytes()
    if hashlib.sha256(raw).hexdigest() != CREDIT_SHA256:
        sys.exit(f"{sys.argv[1]} is not german.data: its SHA-256 differs.")
    _write("credit.csv", list(CREDIT), credit_rows(raw.decode()))
    patients = load_diabetes(scaled=False)
    _write("patients.csv", patients.feature_names, patient_rows(patients.data))


def credit_rows(text: str) -> list[list[str]]:
    """Return the rows of german.data with readable levels."""
    rows = []
    for line in text.splitlines():
        cells = line.split()[:-NOT_WRITTEN]
        rows.append([
            cell if levels is None else levels[cell]
            for cell, levels in zip(cells, CREDIT.values(), strict=True)
        ])  # fmt: skip
    return rows


def patient_rows(data: Any) -> list[list[str]]:
    """Return the rows of load_diabetes(scaled=False), whole numbers without a point."""
    return [[f"{number:.10g}" for number in row] for row in data]


def _write(name: str, header: list[str], rows: list[list[str]]) -> None:
    with (FOLDER / name).open("w", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    main()
