"""The case that an independent program worked out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from rawlsian import load_adult


class Golden:
    """The case that an independent program worked out."""

    def __init__(self):
        folder = Path(__file__).parents[1] / "golden"
        self.expected = {
            utility: json.loads((folder / file).read_text())
            for utility, file in (
                ("assigned", "adult_576.json"),
                ("nearest", "adult_576_nearest.json"),
            )
        }
        with (folder / "adult_576.csv").open() as lines:
            rows = list(csv.DictReader(lines))
        adult = load_adult()
        wanted = [int(row["adult_data_line"]) for row in rows]
        at = np.searchsorted(adult.line_numbers, wanted)
        self.line_numbers = adult.line_numbers[at]
        self.X = adult.data[at]
        self.sex = adult.sensitive_features[at]
        self.labels = np.array([int(row["label"]) for row in rows])
        self.max_distance = self.expected["assigned"]["max_distance"]
