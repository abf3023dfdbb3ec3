"""Bad input gets one sentence: which argument, what was found, what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from rawlsian import (
    RawlsianPostprocessor,
    audit,
    group_utilities,
    least_advantaged,
    traverse,
    utility_gap,
    utility_ratio,
)

X = np.array([[0.0, 1.0], [1.0, 0.0], [4.0, 4.0], [5.0, 4.0]])
LABELS = [0, 0, 1, 1]
SEX = ["f", "m", "f", "m"]


def with_value(value):
    changed = X.copy()
    changed[1, 1] = value
    return changed


BAD_X = [
    (with_value(np.nan), r"X must be .* finite numbers.* contains NaN\. Fill or drop"),
    (with_value(np.inf), r"X must be .* finite numbers.*: Input X contains infinity"),
    (with_value(1e300), "squares overflow; rescale"),
    (X[:1], r"Found array with 1 sample.* a minimum of 2 is required"),
    (X[:0], "Found array with 0 sample"),
    (X[:, 0], "Expected 2D array"),
    (np.ma.masked_greater(X, 4), "X has 1 masked value.*fill them in or drop"),
    ([[0.0], [1.4e154], [0.0], [1e154]], "squares overflow; rescale"),
    ([["a", "b"]] * 4, "X must be numbers, but holds text.*UnitDistanceEncoder"),
    ([["1", "2"]] * 4, "X must be numbers, but holds text"),
    (pd.DataFrame({"a": [1.0] * 4, "b": ["x"] * 4}), "X must be numbers"),
    ([[1, "2"]] * 4, "X must be numbers, but holds text"),
    (X.astype(complex), "Complex data not supported"),
]
BAD_LABELS = [
    ([0, 0, 1], r"labels has shape \(3,\), but X has 4 rows"),
    ([[0], [0], [1], [1]], r"labels has shape \(4, 1\)"),
    ([0, 0, 2, 2], "labels has a gap: its highest value is 2, but only 2 different"),
    ([1, 1, 2, 2], "labels has a gap.*number the clusters 0 to 1"),
    ([0, 0, 9, 9], "labels has a gap"),
    ([0, 0, 10**9, 1], "labels has a gap"),
    ([-1, 0, 1, 1], "found -1 for 1 rows; rows that no cluster took"),
    ([0.0, 0.0, 1.0, 1.0], "labels must be integers from 0 to k - 1, found float64"),
    (["a", "a", "b", "b"], "labels must be integers.*np.unique"),
]
BAD_GROUPS = [
    (["f", "m", None, "m"], "1 missing value.* in column 0, the first at row 2"),
    (["f", "m", np.nan, "m"], "missing value.*'unknown'"),
    (pd.Series(["f", pd.NA, "f", "m"]), "first at row 1"),
    (pl.Series(["f", None, None, "m"]), "2 missing value"),
    (np.array([1.0, 2.0, np.nan, 1.0]), "missing value"),
    (pd.Series(pd.to_datetime(["2020", None, "2021", "2021"])), "missing value"),
    (pd.DataFrame({"a": SEX, "b": [1, None, 1, 1]}), "in column 1, the first at row 1"),
    (["f", "m", "f"], "sensitive_features has 3 rows, but X has 4"),
    (np.zeros((4, 1, 1)), r"one column or a table.*found shape \(4, 1, 1\)"),
    (pd.DataFrame(index=range(4)), "has no column"),
    ([{}, {}, {}, {}], "cannot name a group"),
    ("f", "give the column itself"),
    (np.ma.masked_equal([0, 1, 1, 0], 1), "sensitive_features has 2 masked value"),
]
BAD_WEIGHTS = [
    ([1, 1, 1], r"sample_weight.shape == \(3,\), expected \(4,\)"),
    ([1, 1, 1, -1], r"sample_weight must not be negative.*from -1.0 to 1.0"),
    ([1, 1, 1, np.nan], "sample_weight has 1 value.* NaN or infinite"),
    ([0, 0, 0, 0], "sample_weight must not be all zero"),
    (["1", "1", "1", "1"], "sample_weight must be numbers, but holds text"),
    ([object(), 1, 1, 1], "sample_weight must be numbers, one for each row"),
    ([1e-6, 1e6, 0, 1], "sample_weight spans from 1e-06 to 1e.06, a factor above"),
    ([0, 1, 0, 1], "group 'f' a total weight of 0"),
    ([0, 0, 1, 1], "cluster 0 a total weight of 0"),
]
BAD_DISTANCES = [-1, np.nan, np.inf, "big", None, [8]]


@pytest.mark.parametrize("function", [traverse, group_utilities, audit])
@pytest.mark.parametrize(("bad", "message"), BAD_X)
def test_examples_that_cannot_be_used(function, bad, message):
    with pytest.raises(ValueError, match=message):
        function(bad, LABELS[: len(bad)], SEX[: len(bad)])


@pytest.mark.parametrize(("value", "message"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_entries_of_a_sparse_matrix_must_be_finite(value, message):
    with pytest.raises(ValueError, match=rf"X must be .* finite numbers.*{message}"):
        traverse(sparse.csr_matrix(with_value(value)), LABELS, SEX)


@pytest.mark.parametrize("function", [traverse, group_utilities, audit])
@pytest.mark.parametrize(("bad", "message"), BAD_LABELS)
def test_labels_that_cannot_be_used(function, bad, message):
    with pytest.raises(ValueError, match=message):
        function(X, bad, SEX)


@pytest.mark.parametrize("function", [traverse, group_utilities, audit])
@pytest.mark.parametrize(("bad", "message"), BAD_GROUPS)
def test_groups_that_cannot_be_used(function, bad, message):
    with pytest.raises(ValueError, match=message):
        function(X, LABELS, bad)


@pytest.mark.parametrize("function", [traverse, group_utilities, audit])
@pytest.mark.parametrize(("bad", "message"), BAD_WEIGHTS)
def test_weights_that_cannot_be_used(function, bad, message):
    with pytest.raises(ValueError, match=message):
        function(X, LABELS, SEX, sample_weight=bad)


@pytest.mark.parametrize("bad", BAD_DISTANCES)
def test_distances_that_cannot_be_used(bad):
    with pytest.raises(ValueError, match="max_distance must be 'auto' or a number"):
        traverse(X, LABELS, SEX, max_distance=bad)


@pytest.mark.parametrize("bad", [-1, 1.5, "ten"])
def test_limits_that_cannot_be_used(bad):
    with pytest.raises(ValueError, match="max_iter must be None"):
        traverse(X, LABELS, SEX, max_iter=bad)


@pytest.mark.parametrize("bad", ["closest", "Nearest", None, 1, ["nearest"]])
@pytest.mark.parametrize(
    "function",
    [traverse, group_utilities, least_advantaged, utility_gap, utility_ratio, audit],
)
def test_utilities_that_cannot_be_used(function, bad):
    with pytest.raises(ValueError, match=r"utility must be 'assigned'.*or 'nearest'"):
        function(X, LABELS, SEX, utility=bad)


# KMeans itself warns of squares that overflow.
@pytest.mark.parametrize(
    ("bad", "message"), [bad for bad in BAD_X if "overflow" not in bad[1]]
)
def test_the_estimator_says_the_same_of_examples(bad, message):
    with pytest.raises(ValueError, match=message) as raised:
        RawlsianPostprocessor(KMeans(2)).fit(bad)

    assert "\n" not in str(raised.value)


def test_more_clusters_than_rows():
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=8"):
        RawlsianPostprocessor().fit(X)


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        (SEX, ["f", "m"]),
        ([1, 0, 1, 0], [0, 1]),
        ([True, False, True, False], [False, True]),
        (np.array(SEX), ["f", "m"]),
        (pd.Series(SEX, dtype="category"), ["f", "m"]),
        (pd.Series([2, 1, 2, 1], dtype="Int64"), [1, 2]),
        (pl.Series(SEX), ["f", "m"]),
        (pl.Series(SEX, dtype=pl.Categorical), ["f", "m"]),
        ([1, "a", 1, "a"], [1, "a"]),  # no order of their own: by type, then text
        (pd.DataFrame({"s": SEX, "t": [1, 1, 2, 1]}), [("f", 1), ("f", 2), ("m", 1)]),
        (pl.DataFrame({"s": SEX, "t": [1, 1, 2, 1]}), [("f", 1), ("f", 2), ("m", 1)]),
        ([["f", 1], ["m", 1], ["f", 2], ["m", 1]], [("f", 1), ("f", 2), ("m", 1)]),
        (pd.DataFrame([["f", "x"]] * 4, columns=["a", "a"]), [("f", "x")]),
        (pd.DataFrame({"s": SEX}), ["f", "m"]),
        (None, ["all"]),
    ],
)
def test_groups_may_be_named_by_anything_hashable(groups, names):
    assert traverse(X, LABELS, groups).groups.tolist() == names


def test_a_group_for_nearly_everyone_is_an_error():
    X = np.random.default_rng(0).normal(size=(300, 2))

    with pytest.raises(ValueError, match="makes 300 groups of 300 rows"):
        group_utilities(X, np.arange(300) % 3, X[:, 0])
