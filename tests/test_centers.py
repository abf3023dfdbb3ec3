"""Files of centers: written, read back, and refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from rawlsian._tables.centers import centers_table, read_centers, save_centers
from rawlsian._tables.errors import TableError
from rawlsian.preprocessing.features import HOT, MISSING, Feature

pytestmark = pytest.mark.usefixtures("short_search")

NUMBER = Feature("age", None, 20.0, 40.0)
FILLED = Feature("pay", None, -5.0, 10.0, 1.0)
CONSTANT = Feature("year", None, 2020.0, 0.0)
JOB = Feature("job", ("clerk", "cook"))
# Encoded as 0.5 -> 40 years; shares 1/4 and 3/4.
CENTERS = np.array([[0.5, 0.25 * HOT, 0.75 * HOT], [1.0, HOT, 0.0]])

# Names that other columns have, that a spreadsheet would run, or that are cut at "=".
NAMES = ("age", "job", "cluster", "a=b", "a", "=x", "'=x", "+1", "-y", "x is missing",
         "x", "Größe, cm", 'say "hi"')  # fmt: skip
LEVELS = ("b", "cook", "=1+1", "yes", "no", MISSING, "1", "@x", "a=b")


@st.composite
def features_and_centers(draw):
    features = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        lowest, spread = draw(st.floats(-1e3, 1e3)), draw(st.floats(0.1, 1e3))
        chosen = st.sets(st.sampled_from(LEVELS), min_size=1)
        features.append(
            draw(
                st.sampled_from([
                    Feature(name, None, lowest, spread),
                    Feature(name, None, lowest, spread, lowest),
                    Feature(name, None, lowest, 0.0),
                    Feature(name, tuple(sorted(draw(chosen)))),
                ])
            )
        )  # fmt: skip
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    width, n_clusters = sum(each.width for each in features), draw(st.integers(1, 4))
    scale = np.concatenate([
        [0.0 if a.level is None and a.spread == 0 else HOT if a.level else 1.0
         for a in each.attributes]
        for each in features
    ])  # fmt: skip
    return features, rng.uniform(size=(n_clusters, width)) * scale


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
@settings(max_examples=30)
@given(case=features_and_centers())
def test_a_file_of_centers_is_read_back(case, ending, tmp_path_factory):
    features, centers = case
    path = str(tmp_path_factory.mktemp("centers") / f"c.{ending}")

    save_centers(path, features, centers)
    found = read_centers(path, features)

    np.testing.assert_allclose(found.centers, centers, rtol=0, atol=1e-12)
    assert found.names == list(map(str, range(len(centers))))


def test_shares_with_rounding_errors_are_from_0_to_1():
    errors = np.array([[0.0, -1e-17, 1e-15], [0.0, 1e-15, -1e-17]])

    found = centers_table([NUMBER, JOB], CENTERS[[1, 1]] + errors)

    assert found["job=clerk"].to_pylist() == [1.0, 1.0]
    assert found["job=cook"].to_pylist() == [pytest.approx(0.0), 0.0]


def test_centers_are_in_the_units_of_the_user():
    found = centers_table([NUMBER, JOB], CENTERS)

    assert found.column_names == ["cluster", "age", "job=clerk", "job=cook"]
    assert found["cluster"].to_pylist() == [0, 1]
    assert found["age"].to_pylist() == [40.0, 60.0]
    assert found["job=clerk"].to_pylist() == pytest.approx([0.25, 1.0])


def test_a_number_that_may_be_missing_has_a_share_of_missing_values():
    centers = np.array([[0.5, 0.9 * HOT, 0.1 * HOT]])

    found = centers_table([FILLED], centers)

    assert found.to_pylist() == [
        {"cluster": 0, "pay": 0.0, "pay is missing=no": pytest.approx(0.9),
         "pay is missing=yes": pytest.approx(0.1)}
    ]  # fmt: skip


def test_a_number_that_does_not_vary_has_its_value_and_is_read_as_0():
    found = centers_table([CONSTANT, NUMBER], np.array([[0.0, 0.5]]))

    assert found["year"].to_pylist() == [2020.0]


def test_columns_of_one_name_are_told_apart():
    features = [Feature("a", ("b", "c")), Feature("a=b", None, 0.0, 1.0),
                Feature("cluster", None, 0.0, 1.0)]  # fmt: skip

    found = centers_table(features, np.zeros((1, 4)))

    assert found.column_names == ["cluster", "a=b", "a=c", "a=b (2)", "cluster (2)"]


def test_no_name_of_a_column_can_run_in_a_spreadsheet(tmp_path):
    path = tmp_path / "c.csv"

    save_centers(str(path), [Feature("=cmd()", None, 0.0, 1.0)], np.zeros((1, 1)))

    assert path.read_text().splitlines()[0] == "cluster,'=cmd()"


def test_clusters_have_the_names_and_the_order_of_the_file(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("job=cook,age,cluster,job=clerk\n0,60,gold,1\n0.75,40,7,0.25\n")

    found = read_centers(str(path), [NUMBER, JOB])

    assert found.names == ["gold", "7"]
    np.testing.assert_allclose(found.centers, CENTERS[::-1])


HEAD = "cluster,age,job=clerk,job=cook\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("cluster,age\n0,40\n", "lacks the column 'job=clerk'"),
        ("age,job=clerk,job=cook\n40,0,1\n", "lacks the column 'cluster'"),
        (HEAD.strip() + ",sex=f\n0,40,0,1,1\n", "has a column 'sex=f' that the table"),
        (HEAD + "0,,0,1\n", "has no value in column 'age', row 1; give a number"),
        (HEAD + "0,old,0,1\n", "'old' in row 1"),
        (HEAD + "0,40,25,75\n", "has 25 in column 'job=clerk', which must be a share"),
        (HEAD + "0,1e300,0,1\n", "too far from those of the table"),
        (HEAD + "0,40,0,1\n0,50,0,1\n", "must name each cluster once"),
        (HEAD + ",40,0,1\n", "must name each cluster once"),
    ],
)
def test_what_is_wrong_with_a_file_of_centers_is_one_sentence(tmp_path, text, fault):
    path = tmp_path / "c.csv"
    path.write_text(text)

    with pytest.raises(TableError) as raised:
        read_centers(str(path), [NUMBER, JOB])

    message = str(raised.value)
    assert fault in message
    assert repr(str(path)) in message
    assert "\n" not in message


def test_a_table_of_centers_is_an_arrow_table():
    assert isinstance(centers_table([NUMBER, JOB], CENTERS), pa.Table)
