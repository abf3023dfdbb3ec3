"""Audits: each group against everyone else, with intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rawlsian import audit, open_blocks
from rawlsian._engines import intervals
from rawlsian._engines.opening import open_rows
from rawlsian.metrics.audit import audit_by_centers

# Means are 1 and 6. Squared distances: 1, 1, 0 (cluster 0: 0, 2, 1) and 4, 4 (4, 8).
# Group a has 1, 0 and 4, mean 5/3; group b has 1 and 4, mean 5/2; everyone 2.
X = np.array([[0.0], [2.0], [1.0], [4.0], [8.0]])
LABELS = [0, 0, 0, 1, 1]
GROUPS = ["a", "b", "a", "a", "b"]
FEW = {"min_group": 2}


def spread_out(sizes, spreads, seed=0):
    """One cluster; the squared distances of group g have the mean spreads[g] ** 2."""
    rng, groups = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    values = rng.normal(size=(len(groups), 1)) * np.array(spreads)[groups, None]
    return values, np.zeros(len(groups), int), groups


# --- Figures ---


def test_audit_has_every_figure_by_group_and_cluster():
    report = audit(X, LABELS, GROUPS, max_distance=10, random_state=0, **FEW)

    assert report.groups.tolist() == ["a", "b"]
    assert report.sizes.tolist() == [3, 2]
    assert report.utilities == pytest.approx([10 - 5 / 3, 10 - 5 / 2])
    assert report.costs == pytest.approx([5 / 3, 5 / 2])
    assert report.levels == pytest.approx([100 * 5 / 6, 125])
    assert report.behind == pytest.approx([-100 * 5 / 12, 100 * 5 / 12])
    assert report.overall == pytest.approx(8.0)  # squared distances sum to 10
    assert report.gap == pytest.approx(100 * 5 / 12)
    assert report.worst_off == "b"
    assert report.least_advantaged == "b"
    assert report.cluster_sizes.tolist() == [[2, 1], [1, 1]]
    assert report.cluster_utilities == pytest.approx(np.array([[9.5, 9.0], [6.0, 6.0]]))
    assert report.by_cluster()[1] == {
        "cluster": 0,
        "group": "b",
        "size": 1.0,
        "utility": pytest.approx(9.0),
    }


def test_rows_of_groups_have_the_figures_of_the_audit():
    report = audit(X, LABELS, GROUPS, max_distance=10, random_state=0, **FEW)

    row = report.by_group()[1]

    low, high = report.intervals[1]
    assert row == {
        "group": "b", "size": 2.0, "utility": pytest.approx(7.5),
        "cost": pytest.approx(2.5), "level": pytest.approx(125),
        "behind": pytest.approx(100 * 5 / 12), "low": low, "high": high,
        "is_small": False,
    }  # fmt: skip


def test_each_group_is_compared_with_all_people_outside_it():
    values, labels, groups = spread_out([40, 50, 60], [1, 2, 3])
    costs = ((values - values.mean()) ** 2).ravel()

    report = audit(values, labels, groups, random_state=0)

    for g in range(3):
        others = costs[groups != g].mean()
        expected = 100 * (costs[groups == g].mean() - others) / costs.mean()
        assert report.behind[g] == pytest.approx(expected)


def test_levels_do_not_depend_on_max_distance_nor_on_the_unit_of_x():
    values, labels, groups = spread_out([40, 50, 60], [1, 2, 3])
    one, other = (
        audit(values * factor, labels, groups, max_distance=delta, random_state=0)
        for factor, delta in ((1, 4), (1000, 1e9))
    )

    assert other.levels == pytest.approx(one.levels)
    assert other.intervals == pytest.approx(one.intervals)


def test_a_perfect_fit_of_everyone_has_level_100_for_all():
    report = audit([[0.1], [0.2], [0.3], [0.7]], [0, 1, 2, 3], list("abab"), **FEW)

    assert report.levels.tolist() == [100, 100]
    assert report.behind.tolist() == [0, 0]
    assert report.shortfalls().tolist() == [0, 0, 0, 0]
    assert not report.is_clear.any()


def test_audit_rows_can_be_written_as_json():
    for groups in (["a", "a", "a", "b", "b"], None):
        report = audit(X, LABELS, groups, random_state=0)

        rows = report.by_group() + report.by_cluster()

        assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_a_group_missing_from_a_cluster_has_no_utility_there():
    report = audit(X, LABELS, ["a", "a", "a", "b", "b"], random_state=0)

    assert np.isnan(report.cluster_utilities[0, 1])
    assert report.cluster_sizes[0, 1] == 0


def test_shortfalls_add_up_to_the_gap():
    report = audit(X, LABELS, GROUPS, max_distance=10, **FEW)

    # Points are 100 / 2 per unit. b has 1 in cluster 0 and 4 in cluster 1; a 5/3.
    assert report.shortfalls() == pytest.approx(
        [50 * (1 - 5 / 3) / 2, 50 * (4 - 5 / 3) / 2]
    )
    assert report.shortfalls().sum() == pytest.approx(report.gap)


# --- Small groups ---


def test_a_best_off_group_of_three_people_does_not_drown_a_real_gap():
    values, labels, groups = spread_out([200, 200, 3], [1, 1.5, 0.01])

    report = audit(values, labels, groups, random_state=0)

    assert report.levels.argmin() == 2
    assert report.worst_off == 1
    assert report.is_clear_gap
    assert report.is_clear.tolist() == [False, True, False]


def test_a_small_group_has_figures_but_no_interval_and_is_no_headline():
    values, labels, groups = spread_out([200, 200, 5], [1, 1.2, 9])

    report = audit(values, labels, groups, random_state=0)

    row = report.by_group()[2]
    assert (row["low"], row["high"], row["is_small"]) == (None, None, True)
    assert row["behind"] > report.gap
    assert report.least_advantaged == 2
    assert report.worst_off == 1
    assert "too few people" in str(report)


def test_min_group_says_how_many_people_are_few():
    values, labels, groups = spread_out([200, 200, 20], [1, 1.2, 9])

    report = audit(values, labels, groups, min_group=20, random_state=0)

    assert report.worst_off == 2
    assert not report.is_small.any()


def test_people_outside_the_group_must_be_as_many():
    values, labels, groups = spread_out([200, 5], [1, 9])

    report = audit(values, labels, groups, random_state=0)

    assert report.is_small.tolist() == [False, True]
    assert np.isnan(report.intervals).all()
    assert report.worst_off is None
    assert np.isnan(report.gap)
    assert "no group has 30 people inside and outside" in str(report)


@pytest.mark.parametrize("weight", [0.1, 1.0, 7.0])
def test_equal_weights_leave_the_number_of_people_in_a_group_as_it_is(weight):
    values, labels, groups = spread_out([30, 29, 100], [1, 1, 1])
    weights = np.full(len(values), weight)

    report = audit(values, labels, groups, sample_weight=weights, n_bootstrap=0)

    assert report.is_small.tolist() == [False, True, False]


def test_rows_of_unequal_weight_count_for_fewer_people():
    values, labels, groups = spread_out([40, 100], [1, 1])
    weights = np.ones(len(values))
    weights[0] = 1000

    report = audit(values, labels, groups, sample_weight=weights, n_bootstrap=0)

    assert report.is_small.tolist() == [True, False]


@pytest.mark.parametrize("min_group", [1, 0, 2.5, "30"])
def test_a_least_number_of_people_is_2_or_more(min_group):
    with pytest.raises(ValueError, match="min_group must be a number of people, 2"):
        audit(X, LABELS, GROUPS, min_group=min_group)


def test_with_one_group_there_is_nobody_to_compare_with():
    report = audit(X, LABELS, None, random_state=0)

    assert np.isnan(report.gap)
    assert report.worst_off is None
    assert report.by_group()[0]["behind"] is None
    assert np.isnan(report.shortfalls()).all()
    assert "nobody to compare with" in str(report)


# --- Intervals ---


def test_the_interval_covers_the_gap_and_is_the_same_for_the_same_seed():
    values, labels, groups = spread_out([200, 100], [1, 2])

    report = audit(values, labels, groups, random_state=1)
    again = audit(values, labels, groups, random_state=1)

    low, high = report.gap_interval
    assert low < report.gap < high
    assert low > 0  # one group is spread twice as wide: the gap is no accident
    assert report.gap_interval == again.gap_interval


def test_of_two_groups_each_interval_is_the_mirror_of_the_other():
    values, labels, groups = spread_out([40, 90], [1, 1.3])

    for rows in (values, open_blocks(values)):
        report = audit(rows, labels, groups, random_state=0)

        assert report.intervals[0] == pytest.approx(-report.intervals[1][::-1])


def test_more_confidence_means_a_wider_interval():
    values, labels, groups = spread_out([50, 50], [1, 1])
    narrow, wide = (
        audit(values, labels, groups, confidence=confidence, random_state=0)
        for confidence in (0.5, 0.99)
    )

    assert wide.gap_interval[0] < narrow.gap_interval[0]
    assert wide.gap_interval[1] > narrow.gap_interval[1]


def test_heavy_rows_count_for_more_in_the_interval():
    # Group 1 is spread wide, but its rows far out have next to no weight.
    values, labels, groups = spread_out([200, 200], [1, 3])
    weights = np.where((groups == 1) & (np.abs(values[:, 0]) > 0.5), 0.001, 1.0)

    report = audit(
        values, labels, groups, sample_weight=weights, min_group=10, random_state=0
    )

    low, high = report.gap_interval
    assert report.worst_off == 0
    assert 0 < low < report.gap < high


def test_the_bootstrap_spreads_as_the_standard_error_says():
    values, labels, groups = spread_out([900, 900], [1, 1])

    low, high = audit(values, labels, groups, random_state=0).gap_interval

    # Squared distances to the mean are about chi-squared: mean 1, variance 2.
    error = 100 * np.sqrt(2 / 900 * 2)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)


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
    found = audit(values, labels, groups, n_bootstrap=4000, random_state=0, **FEW)

    low, high = np.array(found.gap_interval) * distances.mean() / 100
    assert low == pytest.approx(abs(gap) - reach, abs=0.1 * reach)
    assert high == pytest.approx(abs(gap) + reach, abs=0.1 * reach)


def test_intervals_hold_for_all_groups_at_once():
    values, labels, groups = spread_out([40, 40, 40, 40], [1, 1, 1, 1])
    merged = np.minimum(groups, 1)

    two, four = (
        audit(values, labels, each, random_state=0) for each in (merged, groups)
    )

    # Group 0 and everyone else are the same people in both.
    assert four.behind[0] == pytest.approx(two.behind[0])
    assert np.ptp(four.intervals[0]) > 1.1 * np.ptp(two.intervals[0])


def test_small_groups_do_not_widen_the_intervals_of_the_others():
    values, labels, groups = spread_out([50, 50, 60], [1, 1, 1])
    tiny = groups.copy()
    tiny[100:] = 2 + np.arange(60) // 3  # twenty groups of three people

    few, many = (
        audit(values, labels, each, min_group=50, random_state=0)
        for each in (groups, tiny)
    )

    # Three comparisons, then two.
    assert np.ptp(many.intervals[0]) < np.ptp(few.intervals[0])
    assert np.isfinite(many.intervals[:2]).all()


def test_twenty_equal_groups_rarely_give_a_false_alarm():
    n_samples, alarms = 200, 0
    for seed in range(n_samples):
        values, labels, groups = spread_out([40] * 20, [1] * 20, seed)
        alarms += audit(open_blocks(values), labels, groups).is_clear_gap

    # At 5 % for both sides together, at most 5 % are above 0; exact to about 2 points.
    assert alarms / n_samples <= 0.07


def test_a_real_difference_among_twenty_groups_is_found():
    values, labels, groups = spread_out([100] * 20, [1.6] + [1] * 19)

    report = audit(values, labels, groups, n_bootstrap=200, random_state=0)

    assert report.worst_off == 0
    assert report.is_clear.tolist() == [True] + [False] * 19


def test_large_groups_are_not_resampled(monkeypatch):
    values, labels, groups = spread_out([200, 600], [1, 1])
    resampled = audit(values, labels, groups, random_state=0).gap_interval

    monkeypatch.setattr(intervals, "MOST_RESAMPLED", 100)
    normal = audit(values, labels, groups, random_state=0).gap_interval

    assert normal != resampled
    assert np.ptp(normal) == pytest.approx(np.ptp(resampled), rel=0.1)


def test_groups_that_happen_to_be_level_have_an_interval_too():
    level = audit(
        [[0.0], [2.0], [5.0]] * 2, [0] * 6, list("aaabbb"), random_state=0, **FEW
    )

    assert level.gap == pytest.approx(0)
    assert level.gap_interval[0] < 0 < level.gap_interval[1]


def test_costs_without_any_spread_leave_no_doubt():
    # a: 1 and 1; b: 0 and 0.
    report = audit([[0.0], [2.0], [4.0], [4.0]], [0, 0, 1, 1], list("aabb"), **FEW)

    assert report.gap_interval == (200.0, 200.0)


def test_intervals_resample_distances_to_the_nearest_mean():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 2))
    groups, labels = np.arange(200) % 2, rng.integers(3, size=200)
    means = np.array([values[labels == c].mean(axis=0) for c in range(3)])
    cells = ((values[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)

    report = audit(values, labels, groups, utility="nearest", random_state=0)

    distances = ((values - means[cells]) ** 2).sum(axis=1)
    error = np.sqrt(sum(distances[groups == g].var() / 100 for g in (0, 1)))
    width = 100 * 2 * 1.96 * error / distances.mean()
    assert np.ptp(report.gap_interval) == pytest.approx(width, rel=0.1)


def test_without_resamples_there_is_no_interval_but_a_headline():
    report = audit(X, LABELS, GROUPS, n_bootstrap=0, **FEW)

    assert report.by_group()[0]["low"] is None
    assert np.isnan(report.gap_interval).all()
    assert not report.is_clear_gap
    assert report.worst_off == "b"
    assert "interval" not in str(report)


@pytest.mark.parametrize("n_bootstrap", [-5, 1.5])
def test_a_bootstrap_needs_a_number_of_resamples(n_bootstrap):
    with pytest.raises(ValueError, match="n_bootstrap must be a number of resamples"):
        audit(X, LABELS, GROUPS, n_bootstrap=n_bootstrap)


def test_people_of_no_weight_are_not_resampled():
    values, labels, groups = spread_out([10, 10], [1, 2])
    weights = np.ones(20)
    weights[[3, 12]] = 0
    kept = weights > 0

    weighted = audit(
        values, labels, groups, sample_weight=weights, random_state=0, **FEW
    )
    without = audit(values[kept], labels[kept], groups[kept], random_state=0, **FEW)

    assert weighted.gap_interval == pytest.approx(without.gap_interval)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        audit(X, LABELS, GROUPS, confidence=confidence)


# --- Centers ---


@pytest.mark.parametrize("rows", [np.asarray, open_blocks])
def test_by_centers_everyone_counts_by_the_nearest(rows):
    values, _, groups = spread_out([80, 90, 100], [1, 2, 3])
    weights = np.random.default_rng(1).integers(0, 4, size=len(values))
    centers = np.array([[-1.0], [0.5], [99.0]])
    squared = (values - centers.T) ** 2
    nearest, distances = squared.argmin(axis=1), squared.min(axis=1)
    engine = open_rows(rows(values)).with_groups(groups, sample_weight=weights)

    report = audit_by_centers(engine, centers, random_state=0)

    for g in range(3):
        inside = groups == g
        expected = np.average(distances[inside], weights=weights[inside])
        assert report.costs[g] == pytest.approx(expected)
        for c in range(3):
            members = weights[inside & (nearest == c)].sum()
            assert report.cluster_sizes[c, g] == pytest.approx(members)
    assert report.utility == "nearest"
    assert np.isnan(report.cluster_utilities[2]).all()  # nearest to nobody
    assert np.isfinite(report.intervals).all()


def test_the_means_of_clusters_are_centers_like_others():
    values, _, groups = spread_out([40, 60], [1, 2])
    labels = np.arange(100) % 3
    means = np.array([values[labels == c].mean(axis=0) for c in range(3)])

    by_labels = audit(values, labels, groups, utility="nearest", random_state=0)
    by_means = audit_by_centers(
        open_rows(values).with_groups(groups), means, random_state=0
    )

    assert by_means.levels == pytest.approx(by_labels.levels)
    assert by_means.intervals == pytest.approx(by_labels.intervals)
    assert by_means.shortfalls() == pytest.approx(by_labels.shortfalls())


def test_an_audit_by_centers_out_of_core_makes_two_passes():
    values, _, groups = spread_out([40, 60], [1, 2])
    engine = open_rows(open_blocks(values)).with_groups(groups)

    audit_by_centers(engine, values[:2])

    assert engine.n_passes == 2
