"""Metrics on a case small enough to work out by hand."""

from __future__ import annotations

import json

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
from rawlsian._engines import intervals

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

    assert nearest.endswith("every person counts by the nearest mean")
    assert "nearest" not in assigned


def test_intervals_resample_distances_to_the_nearest_mean():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 2))
    groups, labels = np.arange(200) % 2, rng.integers(3, size=200)
    means = np.array([values[labels == c].mean(axis=0) for c in range(3)])
    cells = ((values[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)

    report = audit(values, labels, groups, utility="nearest", random_state=0)

    distances = ((values - means[cells]) ** 2).sum(axis=1)
    error = np.sqrt(sum(distances[groups == g].var() / 100 for g in (0, 1)))
    low, high = report.gap_interval
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_a_mean_that_is_nearest_to_nobody_has_an_empty_cluster():
    # Means 5 and 5: ties go to the first cluster.
    report = audit([[0.0], [10.0], [0.0], [10.0]], [0, 0, 1, 1], list("abab"),
                   utility="nearest", random_state=0)  # fmt: skip

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


# --- Audit ---


def test_audit_has_every_figure_by_group_and_cluster():
    report = audit(X, LABELS, GROUPS, max_distance=10, random_state=0)

    assert report.groups.tolist() == ["a", "b"]
    assert report.sizes.tolist() == [3, 2]
    assert report.utilities == pytest.approx([10 - 5 / 3, 10 - 5 / 2])
    assert report.overall == pytest.approx(8.0)  # squared distances sum to 10
    assert report.gap == pytest.approx(5 / 6)
    assert report.least_advantaged == "b"
    assert report.cluster_sizes.tolist() == [[2, 1], [1, 1]]
    assert report.cluster_utilities == pytest.approx(np.array([[9.5, 9.0], [6.0, 6.0]]))
    assert report.passes_four_fifths
    assert report.by_group()[1]["behind"] == pytest.approx(5 / 6)
    assert report.by_cluster()[1] == {
        "cluster": 0,
        "group": "b",
        "size": 1.0,
        "utility": pytest.approx(9.0),
    }


def test_audit_rows_can_be_written_as_json():
    report = audit(X, LABELS, ["a", "a", "a", "b", "b"], random_state=0)

    rows = report.by_group() + report.by_cluster()

    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_a_group_missing_from_a_cluster_has_no_utility_there():
    report = audit(X, LABELS, ["a", "a", "a", "b", "b"], random_state=0)

    assert np.isnan(report.cluster_utilities[0, 1])
    assert report.cluster_sizes[0, 1] == 0


def test_audit_fails_four_fifths_below_it():
    report = audit(X, LABELS, GROUPS, max_distance=4, random_state=0)

    assert report.ratio == pytest.approx((4 - 5 / 2) / (4 - 5 / 3))
    assert not report.passes_four_fifths
    assert "below four fifths" in str(report)


def test_the_interval_covers_the_gap_and_is_the_same_for_the_same_seed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * np.where(np.arange(300) % 3, 1, 2)[:, None]
    labels, groups = (X[:, 0] > 0).astype(int), np.arange(300) % 3 == 0

    report = audit(X, labels, groups, random_state=1)
    again = audit(X, labels, groups, random_state=1)

    low, high = report.gap_interval
    assert low < report.gap < high
    assert low > 0  # one group is spread twice as wide: the gap is no accident
    assert report.gap_interval == again.gap_interval


def test_more_confidence_means_a_wider_interval():
    X = np.random.default_rng(0).normal(size=(100, 1))
    labels, groups = np.zeros(100, int), np.arange(100) % 2
    narrow, wide = (
        audit(X, labels, groups, confidence=confidence, random_state=0).gap_interval
        for confidence in (0.5, 0.99)
    )

    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_heavy_rows_count_for_more_in_the_interval():
    # Group b is spread wide, but its rows far out have next to no weight.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    groups = np.arange(400) % 2
    X[groups == 1] *= 3
    weights = np.where((groups == 1) & (np.abs(X[:, 0]) > 0.5), 0.001, 1.0)

    report = audit(X, np.zeros(400, int), groups, sample_weight=weights, random_state=0)

    low, high = report.gap_interval
    assert report.least_advantaged == 0
    assert 0 < low < report.gap < high


def test_the_bootstrap_spreads_as_the_standard_error_says():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    groups = np.arange(4000) % 2

    low, high = audit(X, np.zeros(4000, int), groups, random_state=0).gap_interval

    # Squared distances to the mean are about chi-squared: variance 2.
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(2 / 2000 * 2), rel=0.1)


def test_the_interval_is_that_of_the_t_statistic_of_resamples():
    rng = np.random.default_rng(3)
    values = rng.exponential(size=(32, 1))
    groups, labels = np.arange(32) >= 12, np.zeros(32, int)
    distances = ((values - values.mean()) ** 2).ravel()
    parts = [distances[groups == g] for g in (False, True)]

    def gap_and_error(two):
        means = [part.mean() for part in two]
        return means[0] - means[1], np.sqrt(sum(p.var(ddof=1) / len(p) for p in two))

    gap, error = gap_and_error(parts)
    drawn = (
        gap_and_error([rng.choice(part, len(part)) for part in parts])
        for _ in range(4000)
    )
    reach = error * np.quantile([abs(each - gap) / e for each, e in drawn], 0.95)
    found = audit(values, labels, groups, n_bootstrap=4000, random_state=0)

    low, high = found.gap_interval
    assert low == pytest.approx(abs(gap) - reach, abs=0.1 * reach)
    assert high == pytest.approx(abs(gap) + reach, abs=0.1 * reach)


def test_with_more_groups_the_quantile_of_the_bootstrap_grows_as_student_s_does():
    values = np.random.default_rng(3).exponential(size=(36, 1))
    two, three = np.arange(36) // 12 % 2, np.arange(36) // 12
    widths = []
    for groups in (three, np.where(three == 2, 1, three), two):
        found = audit(values, np.zeros(36, int), groups, random_state=0)
        widths.append(np.ptp(found.gap_interval))

    assert widths[0] > max(widths[1:])


def test_a_group_of_one_person_says_nothing_about_its_spread():
    found = audit(X, LABELS, ["a", "a", "a", "a", "b"], random_state=0)

    assert found.gap_interval == (-np.inf, np.inf)
    assert found.by_group()[1]["low"] is None
    assert "(too few people for an interval)" in str(found)


def test_large_groups_are_not_resampled(monkeypatch):
    values = np.random.default_rng(0).normal(size=(800, 1))
    groups, labels = np.arange(800) % 4 == 0, np.zeros(800, int)
    resampled = audit(values, labels, groups, random_state=0).gap_interval

    monkeypatch.setattr(intervals, "MOST_RESAMPLED", 100)
    normal = audit(values, labels, groups, random_state=0).gap_interval

    assert normal != resampled
    assert np.ptp(normal) == pytest.approx(np.ptp(resampled), rel=0.1)


def test_groups_that_happen_to_be_level_have_an_interval_too():
    level = audit([[0.0], [2.0], [5.0]] * 2, [0] * 6, list("aaabbb"), random_state=0)

    assert level.gap == 0
    assert level.gap_interval[0] < 0 < level.gap_interval[1]


def test_with_one_group_there_is_no_gap():
    report = audit(X, LABELS, None, random_state=0)

    assert report.gap == 0
    assert report.gap_interval == (0.0, 0.0)


def test_every_group_has_an_interval_of_how_far_it_is_behind():
    groups = np.array(list("abc") * 100)
    values = np.random.default_rng(0).normal(size=(300, 1))
    values[groups == "b"] *= 2
    values[groups == "c"] *= 3

    report = audit(values, np.zeros(300, int), groups, random_state=0)

    rows = report.by_group()
    assert [(row["low"], row["high"]) for row in rows[:1]] == [(0.0, 0.0)]
    assert all(row["low"] < row["behind"] < row["high"] for row in rows[1:])
    assert (rows[2]["low"], rows[2]["high"]) == report.gap_interval


def test_shortfalls_add_up_to_how_far_the_worst_off_group_is_behind_everyone():
    report = audit(X, LABELS, GROUPS, max_distance=10)

    # The mean distance of all is 2, of b 1 in cluster 0 and 4 in cluster 1.
    assert report.shortfalls() == pytest.approx([(1 - 2) / 2, (4 - 2) / 2])
    assert report.shortfalls().sum() == pytest.approx(
        report.overall - report.utilities.min()
    )


def test_without_resamples_there_is_no_interval():
    report = audit(X, LABELS, GROUPS, n_bootstrap=0)

    assert report.by_group()[0]["low"] is None
    assert np.isnan(report.gap_interval).all()
    assert "interval" not in str(report)


@pytest.mark.parametrize("n_bootstrap", [-5, 1.5])
def test_a_bootstrap_needs_a_number_of_resamples(n_bootstrap):
    with pytest.raises(ValueError, match="n_bootstrap must be a number of resamples"):
        audit(X, LABELS, GROUPS, n_bootstrap=n_bootstrap)


def test_people_of_no_weight_are_not_resampled():
    weights = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    kept = weights > 0

    weighted = audit(X, LABELS, GROUPS, sample_weight=weights, random_state=0)
    without = audit(
        X[kept], np.array(LABELS)[kept], np.array(GROUPS)[kept], random_state=0
    )

    assert weighted.gap_interval == pytest.approx(without.gap_interval)


def test_an_audit_has_no_ratio_where_a_utility_is_negative():
    report = audit(X, LABELS, GROUPS, max_distance=1, random_state=0)

    assert np.isnan(report.ratio)
    assert not report.passes_four_fifths
    assert "ratio: undefined, as a utility is negative" in str(report)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        audit(X, LABELS, GROUPS, confidence=confidence)
