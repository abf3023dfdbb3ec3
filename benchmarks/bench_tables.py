"""Time `rawlsian fit` from a CSV to labels and a page, with memory and page size.

    python benchmarks/bench_tables.py 30000 15
    python benchmarks/bench_tables.py 1000000 20

The people are synthetic: six kinds, which differ by sex and at random. Every table has
an identifier, a date, the sex, and alternating numbers and categories.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

KINDS = 6


def make_table(n_rows: int, n_columns: int, path: Path) -> None:
    rng = np.random.default_rng(0)
    is_woman = rng.random(n_rows) < 0.35
    kind = np.where(
        is_woman, rng.integers(2, KINDS, n_rows), rng.integers(0, KINDS - 1, n_rows)
    )
    days = np.datetime64("2020-01-01") + rng.integers(0, 1500, n_rows)
    columns = {
        "id": np.char.add("P", np.arange(n_rows).astype(str)),
        "joined": days.astype(str),
        "sex": np.where(is_woman, "woman", "man"),
    }
    for j in range(n_columns - len(columns)):
        spread = np.where(is_woman, 1.5, 1.0)
        if j % 2 == 0:
            means = rng.normal(0, 2, KINDS)
            values = means[kind] + spread * rng.standard_normal(n_rows)
            columns[f"number_{j}"] = values.round(3).astype(str)
        else:
            n_levels = 3 + j
            shift = rng.integers(0, n_levels, KINDS)
            noise = (spread * rng.standard_exponential(n_rows)).astype(int)
            levels = np.array([f"level {c}" for c in range(n_levels)])
            columns[f"category_{j}"] = levels[(shift[kind] + noise) % n_levels]
    pyarrow.csv.write_csv(pa.table(columns), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("columns", type=int)
    parser.add_argument("--method", help="run one method instead of recommending")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, out, page = (
            Path(folder) / name for name in ("people.csv", "labels.csv", "page.html")
        )
        make_table(given.rows, given.columns, table)
        command = [
            sys.executable, "-m", "rawlsian", "fit", table, "--sensitive", "sex",
            "--clusters", "5", "--out", out, "--report", page, "--json",
            *(["--method", given.method] if given.method else []),
        ]  # fmt: skip
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - began
        result = json.loads(done.stdout)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        what = given.method or "recommendation"
        print(f"{given.rows:,} rows, {given.columns} columns, {what}")
        print(f"  CSV of {table.stat().st_size / 1e6:.1f} MB to labels and page")
        print(f"  seconds  {seconds:.1f}")
        print(f"  memory   {memory:.2f} GB")
        print(f"  page     {page.stat().st_size / 1e6:.2f} MB")
        for group in result["groups"]:
            print(
                f"  {group['group']:<8} {group['before']:.4f} -> {group['after']:.4f}"
            )


if __name__ == "__main__":
    main()
