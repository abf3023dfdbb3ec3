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

from rawlsian.datasets.credit import LEVELS

FOLDER = Path(__file__).parent.parent / "docs" / "cases"
CREDIT_SHA256 = "e2bc10785808eeb5e30462f0805edb73a672f295bc671dec0bca6e2fb5c8e1ca"

# The last two columns, foreign worker and credit risk, are not written.
NOT_WRITTEN = 2
CREDIT = dict(list(LEVELS.items())[:-NOT_WRITTEN])


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
