"""Metrics on a case small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rawlsian import (
    audit,
    group_utilities,
    least_advantaged,
    skyline,
    utility_gap,
    utility_ratio,
)

# Means are 1 and 6. Squared distances: 1, 1, 0 (cluster 0: 0, 2, 1) and 4, 4 (4, 8).
# Group a has 1, 0 and 4, mean 5/3; group b has 1 and 4, mean 5/2.
X = np.array([[0.0], [2.0], [1.0], [4.0], [8.0]])
LABELS = [0, 0, 0, 1, 1]
GROUPS = ["a", "b", "a", "a", "b"]


def test_group_utilities_are_max_distance_less_the_mean_squared_distance():
    found = group_utilities(X, LABELS, GROUPS, max_distance=10)

    assert found == pytest.approx([10 - 5 / 3, 10 - 5 / 2])


def test_max_distance_is_by_default_the_squared_diagonal():
    found = group_utilities(X, LABELS, GROUPS)

    assert found == pytest.approx([64 - 5 / 3, 64 - 5 / 2])


def test_weights_count_people():
    # Row 3 counts twice: cluster 1 has mean 16/3, distances 16/9 and 64/9.
    found = group_utilities(
        X, LABELS, GROUPS, sample_weight=[1, 1, 1, 2, 1], max_distance=10
    )

    assert found == pytest.approx([10 - (1 + 32 / 9) / 4, 10 - (1 + 64 / 9) / 2])


def test_gap_ratio_and_least_advantaged():
    assert utility_gap(X, LABELS, GROUPS) == pytest.approx(5 / 6)
    assert least_advantaged(X, LABELS, GROUPS) == "b"
    assert utility_ratio(X, LABELS, GROUPS, max_distance=10) == pytest.approx(
        (10 - 5 / 2) / (10 - 5 / 3)
    )


def test_among_equals_the_first_by_name_is_least_advantaged():
    assert least_advantaged([[0.0], [2.0]], [0, 0], ["b", "a"]) == "a"


def test_a_ratio_of_negative_utilities_is_an_error():
    with pytest.raises(ValueError, match="give a larger max_distance"):
        utility_ratio(X, LABELS, GROUPS, max_distance=1)


def test_a_perfect_fit_of_everyone_has_ratio_1():
    same = np.ones((4, 1))

    assert utility_ratio(same, [0, 0, 1, 1], ["a", "b", "a", "b"]) == 1.0


# --- The nearest mean ---

# Means are 1 and 13/3. Row 2, at 1, has label 1, but mean 0 is nearest.
# Squared distances to the nearest mean: 1, 1, 0 and 1/9, 121/9.
HELD_BACK = [0, 0, 1, 1, 1]


def test_by_the_nearest_mean_labels_only_give_the_means():
    found = group_utilities(X, HELD_BACK, GROUPS, utility="nearest", max_distance=20)

    assert found == pytest.approx([20 - 10 / 27, 20 - 65 / 9])


def test_gap_ratio_and_least_advantaged_by_the_nearest_mean():
    nearest = {"utility": "nearest"}

    assert utility_gap(X, HELD_BACK, GROUPS, **nearest) == pytest.approx(
        65 / 9 - 10 / 27
    )
    assert least_advantaged(X, HELD_BACK, GROUPS, **nearest) == "b"
    assert utility_ratio(
        X, HELD_BACK, GROUPS, max_distance=20, **nearest
    ) == pytest.approx((20 - 65 / 9) / (20 - 10 / 27))


def test_both_utilities_are_equal_if_everyone_is_with_the_nearest_mean():
    assigned, nearest = (
        group_utilities(X, LABELS, GROUPS, utility=utility)
        for utility in ("assigned", "nearest")
    )

    assert nearest == pytest.approx(assigned)


def test_an_audit_by_the_nearest_mean_counts_people_in_its_cluster():
    report = audit(
        X, HELD_BACK, GROUPS, utility="nearest", max_distance=20, n_bootstrap=0
    )

    assert report.utility == "nearest"
    assert report.utilities == pytest.approx([20 - 10 / 27, 20 - 65 / 9])
    assert report.cluster_sizes.tolist() == [[2, 1], [1, 1]]
    assert report.cluster_utilities == pytest.approx(
        20 - np.array([[1 / 2, 1], [1 / 9, 121 / 9]])
    )


def test_an_audit_says_so_if_the_nearest_mean_counts():
    assigned, nearest = (
        str(audit(X, HELD_BACK, GROUPS, utility=utility, n_bootstrap=0))
        for utility in ("assigned", "nearest")
    )

    assert nearest.endswith("every person counts by the nearest center")
    assert "nearest" not in assigned


def test_a_mean_that_is_nearest_to_nobody_has_an_empty_cluster():
    # Means 5 and 5: ties go to the first cluster.
    report = audit([[0.0], [10.0], [0.0], [10.0]], [0, 0, 1, 1], list("abab"),
                   utility="nearest", min_group=2, random_state=0)  # fmt: skip

    assert report.cluster_sizes.tolist() == [[2, 2], [0, 0]]
    assert np.isnan(report.cluster_utilities[1]).all()
    assert report.shortfalls().tolist() == [0, 0]


# --- Skyline ---


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 30),
    n_groups=st.integers(1, 4),
    is_grid=st.booleans(),
)
def test_skyline_is_what_the_paper_defines(seed, n, n_groups, is_grid):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, n_groups))
    if is_grid:
        points = points.round()

    expected = [
        not any((points[q] < points[s]).all() for s in range(n)) for q in range(n)
    ]

    assert skyline(points).tolist() == expected


def test_skyline_needs_a_table_of_numbers():
    for bad in ([1.0, 2.0], [[1.0, np.nan]]):
        with pytest.raises(ValueError, match="points must be a table of numbers"):
            skyline(bad)
