"""UnitDistanceEncoder: the paper's preparation, for any table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy import sparse
from sklearn.compose import make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from rawlsian import UnitDistanceEncoder

TABLE = {
    "age": [20, 30, 40],
    "job": ["cook", "judge", "cook"],
    "member": [True, False, False],
}
HOT = np.sqrt(0.5)
ENCODED = np.array(
    [[0.0, HOT, 0, 0, HOT], [0.5, 0, HOT, HOT, 0], [1.0, HOT, 0, HOT, 0]]
)
NAMES = ["age", "job_cook", "job_judge", "member_False", "member_True"]


@parametrize_with_checks([UnitDistanceEncoder()])
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).astype({"job": "category", "age": "Int64"}),
        pl.DataFrame(TABLE),
        pl.DataFrame(TABLE, schema_overrides={"job": pl.Categorical}),
    ],
    ids=["pandas", "pandas extension types", "polars", "polars categorical"],
)
def test_frames_are_encoded_by_the_types_of_their_columns(frame):
    encoder = UnitDistanceEncoder()

    assert encoder.fit_transform(frame) == pytest.approx(ENCODED)
    assert encoder.get_feature_names_out().tolist() == NAMES
    assert encoder.max_distance_ == 3.0


def test_lists_of_rows_are_encoded_by_the_types_of_their_values():
    rows = [list(row) for row in zip(*TABLE.values(), strict=True)]
    encoder = UnitDistanceEncoder()

    assert encoder.fit_transform(rows) == pytest.approx(ENCODED)
    assert encoder.get_feature_names_out()[:2].tolist() == ["x0", "x1_cook"]
    assert encoder.get_feature_names_out(["a", "b", "c"])[0] == "a"


@given(
    numbers=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_two_rows_are_further_apart_than_max_distance(numbers, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": numbers, "c": rng.choice(list("abc"), len(numbers))})
    encoder = UnitDistanceEncoder()

    X = encoder.fit_transform(frame)

    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    assert squared.max() <= encoder.max_distance_ + 1e-12


def test_constant_columns_stay_and_count_for_no_distance():
    frame = pd.DataFrame({"x": [1.0, 2.0], "same": [7, 7], "one": ["a", "a"]})
    encoder = UnitDistanceEncoder()

    assert encoder.fit_transform(frame) == pytest.approx(
        np.array([[0, 0, HOT], [1, 0, HOT]])
    )
    assert encoder.max_distance_ == 1.0
    later = encoder.transform(frame.assign(same=[8, 9]))
    assert later[:, 1].tolist() == [0, 0]


def test_codes_are_categories_when_named_so():
    frame = pd.DataFrame({"area": [10, 20, 10], "x": [0.0, 1.0, 2.0]})

    by_name = UnitDistanceEncoder(categorical_features=["area"]).fit_transform(frame)
    by_position = UnitDistanceEncoder(categorical_features=[0]).fit_transform(frame)

    assert by_name == pytest.approx(np.array([[HOT, 0, 0], [0, HOT, 0.5], [HOT, 0, 1]]))
    assert np.array_equal(by_name, by_position)


def test_a_named_category_that_is_not_a_column_is_an_error():
    with pytest.raises(ValueError, match=r"names 'shoe'.*age, job"):
        UnitDistanceEncoder(categorical_features=["shoe"]).fit(pd.DataFrame(TABLE))


@pytest.mark.parametrize("bad", [[True, False, False], [0.5], [7], [None]])
def test_a_category_is_named_by_name_or_position_only(bad):
    with pytest.raises(ValueError, match="which is not a column"):
        UnitDistanceEncoder(categorical_features=bad).fit(pd.DataFrame(TABLE))


@pytest.mark.parametrize("bad", ["job", None, 1])
def test_categories_are_named_in_a_list(bad):
    with pytest.raises(ValueError, match="must be 'auto' or a list"):
        UnitDistanceEncoder(categorical_features=bad).fit(pd.DataFrame(TABLE))


def test_booleans_beside_numbers_are_categories_too():
    assert UnitDistanceEncoder().fit_transform([[1, True], [2, False]]) == (
        pytest.approx(np.array([[0, 0, HOT], [1, HOT, 0]]))
    )


def test_text_outside_the_named_categories_is_an_error():
    with pytest.raises(ValueError, match="column 'job' is not numeric; name it"):
        UnitDistanceEncoder(categorical_features=["age"]).fit(pd.DataFrame(TABLE))


def test_an_unseen_level_is_an_error_that_names_it():
    encoder = UnitDistanceEncoder().fit(pd.DataFrame(TABLE))

    with pytest.raises(ValueError, match=r"column 'job' has a level .*'thief'"):
        encoder.transform(pd.DataFrame({**TABLE, "job": ["cook", "thief", "cook"]}))


def test_an_ignored_unseen_level_is_half_a_unit_from_every_level():
    encoder = UnitDistanceEncoder(handle_unknown="ignore").fit([["a"], ["b"]])

    new, a, b = encoder.transform([["new"], ["a"], ["b"]])

    assert ((new - a) ** 2).sum() == pytest.approx(0.5)
    assert ((new - b) ** 2).sum() == pytest.approx(0.5)


def test_numbers_beyond_the_range_of_fit_are_not_clipped():
    encoder = UnitDistanceEncoder().fit([[0.0], [10.0]])

    assert encoder.transform([[20.0], [-5.0]]).tolist() == [[2.0], [-0.5]]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1.0, None, 2.0]}), "column 'a' has 1 missing .* row 1"),
        (pd.DataFrame({"a": ["x", None, None]}), "column 'a' has 2 missing .* row 1"),
        (pl.DataFrame({"a": [1, None, 2]}), "column 'a' has 1 missing"),
        (pd.DataFrame({"a": [1.0, np.inf]}), "column 'a' holds infinity"),
        (pd.DataFrame({"a": pd.to_datetime(["2020", "2021"])}), "'a' holds dates"),
        (pd.DataFrame({"a": ["x", 1]}), "column 'a' mixes numbers and text"),
        (pd.DataFrame({"a": []}), "0 sample"),
        (pd.DataFrame(index=[0, 1]), "columns"),
    ],
)
def test_what_cannot_be_encoded_is_named(frame, message):
    with pytest.raises(ValueError, match=message):
        UnitDistanceEncoder().fit(frame)


def test_missing_values_at_transform_are_named_too():
    encoder = UnitDistanceEncoder().fit(pd.DataFrame(TABLE))

    with pytest.raises(ValueError, match="column 'age' has 1 missing"):
        encoder.transform(pd.DataFrame({**TABLE, "age": [20, None, 40]}))
    with pytest.raises(ValueError, match="column 'age' must hold numbers"):
        encoder.transform(pd.DataFrame({**TABLE, "age": ["1", "2", "3"]}))
    dates = pd.to_datetime(["2020", "2021", "2022"])
    with pytest.raises(ValueError, match="column 'age' holds dates"):
        encoder.transform(pd.DataFrame({**TABLE, "age": dates}))


def test_handle_unknown_is_one_of_two_words():
    with pytest.raises(ValueError, match="handle_unknown must be 'error' or 'ignore'"):
        UnitDistanceEncoder(handle_unknown="drop").fit([[1.0], [2.0]])


def test_sparse_input_is_an_error():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        UnitDistanceEncoder().fit(sparse.eye(3).tocsr())


def test_output_can_be_a_frame():
    encoder = UnitDistanceEncoder().set_output(transform="pandas")

    out = encoder.fit_transform(pd.DataFrame(TABLE))

    assert out.columns.tolist() == NAMES
    assert make_column_selector(dtype_include=float)(out) == NAMES


def test_numbers_too_far_apart_to_be_scaled_are_told():
    with pytest.raises(ValueError, match="column 'x0' lie too far apart"):
        UnitDistanceEncoder().fit([[-1.7e308], [1.7e308]])


def test_a_fit_that_fails_leaves_what_an_earlier_one_learnt():
    people = pd.DataFrame({"age": [1.0, 2.0, 3.0], "job": list("xyz")})
    encoder = UnitDistanceEncoder().fit(people)
    expected = encoder.transform(people)

    with pytest.raises(ValueError, match="missing value"):
        encoder.fit(people.assign(job=None))

    np.testing.assert_array_equal(encoder.transform(people), expected)


def test_an_encoder_whose_only_fit_failed_is_not_fitted():
    people = pd.DataFrame({"age": [1.0, 2.0], "job": [None, None]})
    encoder = UnitDistanceEncoder()
    with pytest.raises(ValueError, match="missing value"):
        encoder.fit(people)

    with pytest.raises(NotFittedError):
        encoder.transform(people)
