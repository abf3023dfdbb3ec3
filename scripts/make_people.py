"""Write docs/people.csv: a thousand people of Adult, with segments from k-means.

The documentation uses it as its example. Run: .venv/bin/python scripts/make_people.py
"""

import csv
import gzip
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from rawlsian._tables.columns import Roles
from rawlsian._tables.prepare import prepare
from rawlsian._tables.read import read_table

ROWS, SEED, SEGMENTS = 1000, 0, 5
KEPT = {
    "age": 0, "workclass": 1, "education_years": 4, "marital_status": 5,
    "occupation": 6, "relationship": 7, "race": 8, "sex": 9, "hours_per_week": 12,
}  # fmt: skip


def main() -> None:
    """Draw the people, cluster them and write the table."""
    data = files("rawlsian.datasets") / "adult.data.gz"
    lines = gzip.decompress(data.read_bytes()).decode().splitlines()
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if row]
    rows = [row for row in rows if "?" not in row]
    drawn = np.random.default_rng(SEED).choice(len(rows), ROWS, replace=False)
    people = [
        [f"P{place:05d}", *(rows[row][j] for j in KEPT.values())]
        for place, row in enumerate(sorted(drawn), start=1)
    ]
    target = Path(__file__).parent.parent / "docs" / "people.csv"
    _write(target, ["id", *KEPT], people)
    prepared = prepare(read_table(str(target)), Roles(("sex", "race")))
    segments = KMeans(SEGMENTS, n_init=10, random_state=SEED).fit(prepared.X).labels_
    people = [[*row, f"S{c + 1}"] for row, c in zip(people, segments, strict=True)]
    _write(target, ["id", *KEPT, "segment"], people)


def _write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    with path.open("w", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    main()
