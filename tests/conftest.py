from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (so that its BLAS is among those limited)
from hypothesis import settings
from threadpoolctl import threadpool_limits

from rawlsian import load_adult

# For matrices of some hundred rows BLAS is no faster on many threads, and where the
# machine has other things to do, several times slower.
threadpool_limits(1, user_api="blas")

# Compiling the kernels takes seconds, which is not the examples' fault. Derandomised:
# a red run can be repeated.
settings.register_profile("rawlsian", deadline=None, derandomize=True)
# pytest --hypothesis-profile=random looks further.
settings.register_profile("random", deadline=None, max_examples=500)
settings.load_profile("rawlsian")


class Golden:
    """The case that an independent program worked out."""

    def __init__(self):
        folder = Path(__file__).parent / "golden"
        self.expected = json.loads((folder / "adult_576.json").read_text())
        with (folder / "adult_576.csv").open() as lines:
            rows = list(csv.DictReader(lines))
        adult = load_adult()
        wanted = [int(row["adult_data_line"]) for row in rows]
        at = np.searchsorted(adult.line_numbers, wanted)
        self.line_numbers = adult.line_numbers[at]
        self.X = adult.data[at]
        self.sex = adult.sensitive_features[at]
        self.labels = np.array([int(row["label"]) for row in rows])
        self.max_distance = self.expected["max_distance"]


@pytest.fixture(scope="session")
def golden():
    return Golden()
