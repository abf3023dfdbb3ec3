"""Adult as the paper prepared it; numbers come from the paper and METHOD.md."""

from __future__ import annotations

import gzip
import hashlib
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from rawlsian import load_adult


@pytest.fixture(scope="module")
def adult():
    return load_adult()


def test_the_shipped_file_is_the_original():
    packed = resources.files("rawlsian.datasets").joinpath("adult.data.gz").read_bytes()

    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == (
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
    )


def test_rows_and_columns_are_those_of_the_paper(adult):
    assert adult.data.shape == (30718, 42)
    assert adult.max_distance == 8.0
    assert len(adult.feature_names) == 42
    assert adult.feature_names[:2] == ["age", "education-num"]
    assert adult.feature_names[-1].startswith("occupation_")


def test_groups_and_classes_have_their_known_sizes(adult):
    assert (adult.sensitive_features == "Female").sum() == 9930
    assert (adult.sensitive_features == "Male").sum() == 20788
    assert (adult.target == ">50K").sum() == 7650


def test_every_attribute_spans_a_unit_of_squared_distance(adult):
    numbers, levels = adult.data[:, :5], adult.data[:, 5:]

    assert (numbers.min(axis=0) == 0).all()
    assert (numbers.max(axis=0) == 1).all()
    assert set(np.unique(levels)) == {0.0, 1 / np.sqrt(2)}
    assert ((levels > 0).sum(axis=1) == 3).all()


def test_the_table_has_all_columns_as_in_the_file(adult):
    table = pd.DataFrame(adult.table)

    assert table.shape == (30718, 15)
    assert table["race"].nunique() == 5
    assert table["age"].between(17, 90).all()
    assert "CC BY 4.0" in adult.DESCR


def test_a_sample_has_as_many_of_each_class_and_depends_on_the_seed_only():
    sample, again = (load_adult(sample=500, random_state=1) for _ in range(2))
    other = load_adult(sample=500, random_state=2)

    assert [(sample.target == name).sum() for name in ("<=50K", ">50K")] == [500, 500]
    assert np.array_equal(sample.line_numbers, again.line_numbers)
    assert not np.array_equal(sample.line_numbers, other.line_numbers)


def test_seed_576_draws_the_golden_sample(golden):
    sample = load_adult(sample=500, random_state=576)

    assert np.array_equal(sample.line_numbers, golden.line_numbers)
    assert (sample.sensitive_features == "Female").sum() == 267


@pytest.mark.parametrize("sample", [None, 500])
def test_changing_what_was_loaded_changes_nothing_that_is_loaded_later(sample):
    def arrays(adult):
        parts = (adult.data, adult.sensitive_features, adult.target, adult.line_numbers)
        return [*parts, *adult.table.values()]

    first = load_adult(sample=sample, random_state=0)
    expected = [array.copy() for array in arrays(first)]
    for array in arrays(first):
        array[:] = array[::-1].copy()
    first.feature_names.clear()

    again = load_adult(sample=sample, random_state=0)

    assert len(again.feature_names) == 42
    for array, before in zip(arrays(again), expected, strict=True):
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("sample", [0, -1, 7651, "500", 2.5])
def test_a_sample_cannot_be_larger_than_a_class(sample):
    with pytest.raises(ValueError, match="sample must be from 1 to 7650"):
        load_adult(sample=sample)
