"""Write the tables of the worked cases: docs/cases/credit.csv and patients.csv.

Run: .venv/bin/python scripts/make_cases.py

The credits come with this package, the patients with scikit-learn. The pages are
docs/cases/*.md; ``python tests/test_docs.py`` writes the output of their commands.
"""

import csv
from pathlib import Path
from typing import Any

from sklearn.datasets import load_diabetes

from rawlsian import load_credit

FOLDER = Path(__file__).parent.parent / "docs" / "cases"


def main() -> None:
    """Write both tables."""
    _write("credit.csv", *credit_table())
    patients = load_diabetes(scaled=False)
    _write("patients.csv", patients.feature_names, patient_rows(patients.data))


def credit_table() -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the credits, without foreign worker and risk."""
    table = load_credit().table
    header = list(table)[:-2]
    columns = (
        [f"{value:.10g}" for value in table[name]]
        if table[name].dtype.kind == "f"
        else table[name].tolist()
        for name in header
    )
    return header, [list(row) for row in zip(*columns, strict=True)]


def patient_rows(data: Any) -> list[list[str]]:
    """Return the rows of load_diabetes(scaled=False), whole numbers without a point."""
    return [[f"{number:.10g}" for number in row] for row in data]


def _write(name: str, header: list[str], rows: list[list[str]]) -> None:
    with (FOLDER / name).open("w", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    main()
