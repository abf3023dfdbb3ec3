"""Data sets; numbers come from the paper, METHOD.md, and what UCI documents."""

from __future__ import annotations

import gzip
import hashlib
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from rawlsian import load_adult, load_bank, load_credit
from rawlsian.datasets.bank import COLUMNS


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


@pytest.fixture(scope="module")
def credit():
    return load_credit()


def test_the_credit_file_is_the_one_that_was_checked():
    packed = resources.files("rawlsian.datasets").joinpath("german.data.gz")

    assert hashlib.sha256(gzip.decompress(packed.read_bytes())).hexdigest() == (
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"
    )


def test_credit_has_the_sizes_that_its_source_documents(credit):
    table = pd.DataFrame(credit.table)

    assert table.shape == (1000, 21)
    assert credit.data.shape == (1000, 55)
    assert len(credit.feature_names) == 55
    assert (credit.target == "bad").sum() == 300
    assert (credit.sensitive_features == "female").sum() == 310
    assert (credit.sensitive_features == "male").sum() == 690
    assert "CC BY 4.0" in credit.DESCR


def test_credit_does_not_encode_who_somebody_is(credit):
    encoded = {name.split("_")[0] for name in credit.feature_names}

    assert not encoded & {"sex", "foreign", "risk"}
    assert credit.max_distance == 18.0
    squares = (credit.data[:, 7:] ** 2).sum(axis=1)
    assert squares == pytest.approx(np.full(1000, 5.5))  # eleven levels a row


def test_credit_is_the_table_of_the_worked_case(credit, pytestconfig):
    case = pd.read_csv(pytestconfig.rootpath / "docs" / "cases" / "credit.csv")

    for name in case:
        assert list(case[name]) == list(credit.table[name])


def test_changing_credit_changes_nothing_that_is_loaded_later(credit):
    changed = load_credit()
    changed.data[:] = -1
    changed.table["risk"][:] = ""

    assert np.array_equal(load_credit().data, credit.data)
    assert np.array_equal(load_credit().target, credit.target)


def write_bank(path, n_rows=4521, n_yes=521, columns=COLUMNS):
    """Write a file of the form and size of UCI's bank.csv, with invented people."""
    marital = ("married", "single", "divorced")
    lines = [";".join(f'"{c}"' for c in columns)]
    for i in range(n_rows):
        cells = {name: i % 7 for name in ("age", "balance", "day", "campaign", "pdays")}
        cells |= {"duration": i, "previous": i % 2, "marital": f'"{marital[i % 3]}"'}
        cells |= {"y": '"yes"' if i < n_yes else '"no"'}
        lines.append(";".join(str(cells.get(c, f'"{c}{i % 4}"')) for c in columns))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_bank_is_read_from_the_users_copy(tmp_path):
    bank = load_bank(write_bank(tmp_path / "bank.csv"))

    assert bank.data.shape == (4521, 6 + 8 * 4)
    assert bank.max_distance == 14.0
    assert set(bank.sensitive_features) == {"married", "single", "divorced"}
    assert (bank.target == "yes").sum() == 521
    assert pd.DataFrame(bank.table).shape == (4521, 17)
    assert bank.table["duration"].dtype == float
    encoded = {name.split("_")[0] for name in bank.feature_names}
    assert not encoded & {"marital", "duration", "y"}
    assert "CC BY 4.0" in bank.DESCR


def test_a_file_that_is_not_the_bank_data_is_refused(tmp_path):
    path = tmp_path / "bank.csv"
    with pytest.raises(ValueError, match="does not have the 17 columns"):
        load_bank(write_bank(path, columns=COLUMNS[:-1]))
    with pytest.raises(ValueError, match="has 30 rows, 4 of them with yes; UCI"):
        load_bank(write_bank(path, n_rows=30, n_yes=4))
    broken = write_bank(path).read_text().replace("\n", "\nx", 1)
    path.write_text(broken)
    with pytest.raises(ValueError, match="has values in 'age' that are not numbers"):
        load_bank(path)
    for content in (b"", b"y" * 200_000, '"age";"job"\n1;\xe9\n'.encode("latin-1")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="does not have the 17 columns"):
            load_bank(path)
