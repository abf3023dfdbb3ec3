"""Out-of-core fits compared with fits in memory."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings, strategies as st
from sklearn.cluster import DBSCAN, KMeans
from sklearn.mixture import GaussianMixture

from rawlsian import (
    PassStep,
    RawlsianKMeans,
    RawlsianPostprocessor,
    SearchStep,
    audit,
    group_utilities,
    open_blocks,
    traverse,
)
from rawlsian._engines.engine import IntervalSettings
from rawlsian._engines.opening import open_rows
from rawlsian._outofcore.problem import OutOfCoreProblem
from rawlsian._outofcore.sample import draw_sample
from support.cases import cases
from support.people import FEW, people


def three_groups(n, seed=0):
    X, groups = people(n, seed=seed)
    groups = groups.astype(object)
    groups[:5] = "few"
    return X, groups


# --- Solvers ---


@pytest.mark.parametrize("groups_of", [people, three_groups])
def test_where_the_sample_is_everything_the_result_is_that_of_memory(groups_of):
    X, groups = groups_of(3000)
    options = {"random_state": 0, "n_init": 16, "n_crossings": 64}
    memory = RawlsianKMeans(3, **options, pooling=0).fit(X, sensitive_features=groups)
    blocks = RawlsianKMeans(3, **options, pooling=0).fit(
        open_blocks(X, block_size=700), sensitive_features=groups
    )
    ours, theirs = blocks.group_costs_.max(), memory.group_costs_.max()
    assert ours == pytest.approx(theirs, rel=1e-6)


def test_what_is_found_on_a_sample_is_finished_on_all_rows():
    X, groups = people(200_000, 3)
    fit = RawlsianKMeans(2, n_init=4, n_crossings=0, random_state=1, pooling=0)
    fit.fit(open_blocks(X), sensitive_features=groups)
    memory = RawlsianKMeans(2, n_init=4, n_crossings=0, random_state=1, pooling=0)
    memory.fit(X, sensitive_features=groups)
    ours, theirs = fit.group_costs_.max(), memory.group_costs_.max()
    assert ours == pytest.approx(theirs, rel=1e-4)
    assert fit.n_passes_ <= 30


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_a_fit_tells_what_its_labels_and_centers_mean(centers):
    X, groups = three_groups(1500)
    fit = RawlsianKMeans(4, centers=centers, max_distance=50.0, **FEW)
    fit.fit(open_blocks(X, block_size=499), sensitive_features=groups)
    own = ((X - fit.cluster_centers_[fit.labels_]) ** 2).sum(axis=1)
    costs = [own[groups == name].mean() for name in fit.groups_]
    np.testing.assert_allclose(fit.group_costs_, costs, rtol=1e-10)
    np.testing.assert_allclose(fit.group_utilities_, 50 - np.array(costs))
    assert fit.inertia_ == pytest.approx(own.sum())
    if centers == "free":
        assert (fit.predict(X) == fit.labels_).all()
        assert fit.group_weights_.sum() == pytest.approx(1.0)
    else:
        means = [X[fit.labels_ == c].mean(axis=0) for c in range(4)]
        np.testing.assert_allclose(fit.cluster_centers_, means, atol=1e-10)


def test_means_in_blocks_serve_the_worst_off_nearly_as_well_as_in_memory():
    X, groups = people(600)
    options = {"centers": "mean", "n_init": 8, "n_crossings": 16, "random_state": 0}
    memory = RawlsianKMeans(3, **options, pooling=0).fit(X, sensitive_features=groups)
    blocks = RawlsianKMeans(3, **options, pooling=0)
    blocks.fit(open_blocks(X), sensitive_features=groups)
    plain = KMeans(3, random_state=0, n_init=10).fit_predict(X)
    start = -group_utilities(X, plain, groups, max_distance=0.0).min()
    ours, theirs = blocks.group_costs_.max(), memory.group_costs_.max()
    assert start - ours > 0.7 * (start - theirs) > 0


def test_weights_count_as_people():
    X, groups = people(2000)
    weights = np.random.default_rng(0).integers(1, 4, 2000)
    twice = np.repeat(np.arange(2000), weights)
    options = {"random_state": 0, "n_init": 16, "n_crossings": 64}
    weighted = RawlsianKMeans(3, **options, pooling=0).fit(
        open_blocks(X), sensitive_features=groups, sample_weight=weights
    )
    repeated = RawlsianKMeans(3, **options, pooling=0).fit(
        open_blocks(X[twice]), sensitive_features=groups[twice]
    )
    np.testing.assert_allclose(weighted.group_costs_, repeated.group_costs_, rtol=1e-6)


def test_nothing_but_data_in_the_same_order_matters_for_the_result():
    X, groups = people()
    once, again = (
        RawlsianKMeans(3, **FEW).fit(
            open_blocks(X, block_size=size), sensitive_features=groups
        )
        for size in (512, 2048)
    )
    assert (once.labels_ == again.labels_).all()
    whole = RawlsianKMeans(3, **FEW).fit(open_blocks(X))
    assert whole.groups_.tolist() == ["all"]


def test_passes_are_counted_told_and_limited():
    X, groups = people()
    steps = []
    fit = RawlsianKMeans(3, max_passes=6, callback=steps.append, **FEW)
    fit.fit(open_blocks(X), sensitive_features=groups)
    passes = [step for step in steps if isinstance(step, PassStep)]
    assert [step.n_passes for step in passes] == list(range(1, fit.n_passes_ + 1))
    assert all(step.max_passes == 6 for step in passes)
    assert any(isinstance(step, SearchStep) for step in steps)
    assert fit.n_passes_ <= 6
    with pytest.raises(ValueError, match="max_passes"):
        RawlsianKMeans(3, max_passes=3, pooling=0).fit(open_blocks(X))


def test_ctrl_c_in_the_search_leaves_only_what_must_be_done():
    X, groups = people()

    def stop(step):
        if isinstance(step, SearchStep):
            raise KeyboardInterrupt

    fit = RawlsianKMeans(3, callback=stop, **FEW)
    with pytest.warns(UserWarning, match="Interrupted"):
        fit.fit(open_blocks(X), sensitive_features=groups)
    assert fit.n_passes_ == 4  # check, sample, add up, label
    fit.set_params(callback=None).fit(X, sensitive_features=groups)
    assert not hasattr(fit, "n_passes_")


@pytest.mark.parametrize("max_passes", [4, 5, 6, 7])
def test_no_limit_on_passes_is_exceeded(max_passes):
    X, groups = people(400)
    blocks, options = open_blocks(X), {"max_passes": max_passes}
    for centers in ("free", "mean"):
        fit = RawlsianKMeans(3, centers=centers, **options, **FEW)
        assert fit.fit(blocks, sensitive_features=groups).n_passes_ <= max_passes
    for operator in ("batch", "rawls"):
        start = KMeans(6, n_init=1, init="random", max_iter=1, random_state=0)
        fair = RawlsianPostprocessor(
            start, operator=operator, utility="assigned", **options
        )
        fair.fit(blocks, sensitive_features=groups)
        assert fair.trajectory_.n_passes <= max_passes


@pytest.mark.parametrize("at_pass", [4, 5])
def test_ctrl_c_ends_with_the_best_so_far(at_pass):
    X, groups = people()

    def stop(step):
        if isinstance(step, PassStep) and step.n_passes == at_pass:
            raise KeyboardInterrupt

    fit = RawlsianKMeans(8, callback=stop, **FEW)
    with pytest.warns(UserWarning, match="Interrupted"):
        fit.fit(open_blocks(X), sensitive_features=groups)
    assert len(fit.labels_) == 3000


def test_transform_and_score_are_those_of_rows_in_memory():
    X, groups = people()
    fit = RawlsianKMeans(3, **FEW).fit(X, sensitive_features=groups)
    blocks = open_blocks(X, block_size=700)
    np.testing.assert_allclose(fit.transform(blocks), fit.transform(X))
    assert fit.score(blocks, sensitive_features=groups) == pytest.approx(
        fit.score(X, sensitive_features=groups)
    )


# --- The sample ---


def test_small_groups_are_in_the_sample_whole_and_weights_stand_for_all():
    X, groups = three_groups(200_000)
    large = OutOfCoreProblem.of(open_blocks(X), groups)
    sample = draw_sample(large, 2, np.random.RandomState(0))
    few = large.group_names.tolist().index("few")
    counts = np.bincount(sample.problem.groups)
    assert counts[few] == 5
    assert sample.problem.n_samples < 200_000
    assert counts[0] == pytest.approx(counts[1], rel=0.5)
    np.testing.assert_allclose(sample.problem.group_sizes, large.group_sizes)
    searched = sample.to_search(2, np.random.RandomState(0))
    assert searched.n_samples < sample.problem.n_samples
    np.testing.assert_allclose(searched.group_sizes, large.group_sizes)


def test_many_clusters_get_a_sample_that_can_fill_them():
    X = np.random.default_rng(0).normal(size=(60_000, 1))
    large = OutOfCoreProblem.of(open_blocks(X), None)
    sample = draw_sample(large, 2500, np.random.RandomState(0))
    searched = sample.to_search(2500, np.random.RandomState(0))
    assert searched.n_samples == 50_000


def test_the_sample_does_not_depend_on_blocks_and_has_rows_with_weight_only():
    X, groups = people(5000)
    weights = np.where(np.arange(5000) % 3, 1.0, 0.0)
    X[weights == 0] = 1e6
    drawn = [
        draw_sample(
            OutOfCoreProblem.of(
                open_blocks(X, block_size=size), groups, sample_weight=weights
            ),
            2,
            np.random.RandomState(0),
        )
        for size in (7, 4096)
    ]
    assert (drawn[0].problem.X == drawn[1].problem.X).all()
    assert drawn[0].problem.X.max() < 1e6


# --- Walking ---


@pytest.mark.parametrize("operator", ["batch", "rawls"])
def test_walking_raises_the_lowest_utility_at_every_step(operator):
    X, groups = three_groups(4000)
    labels = KMeans(4, n_init=1, random_state=0).fit_predict(X)
    way = traverse(
        open_blocks(X, block_size=1000), labels, groups, operator=operator,
        max_distance=90.0,
    )  # fmt: skip
    lowest = way.utilities.min(axis=1)
    assert (np.diff(lowest) > 0).all()
    assert way.n_iter == len(way.n_moved) > 0
    assert way.n_passes <= 30
    expected = group_utilities(X, way.labels, groups, max_distance=90.0)
    np.testing.assert_allclose(way.utilities[-1], expected, rtol=1e-10)
    assert (way.start_labels == labels).all()
    one = traverse(
        open_blocks(X), labels, groups, operator=operator, max_iter=1, max_distance=90.0
    )
    assert one.n_moved == [(one.labels != labels).sum()] == way.n_moved[:1]


def test_walking_in_blocks_goes_about_as_far_as_in_memory():
    X, groups = people(6000)
    labels = KMeans(5, n_init=1, random_state=0).fit_predict(X)
    memory = traverse(X, labels, groups, operator="batch", max_distance=0.0)
    blocks = traverse(
        open_blocks(X), labels, groups, operator="batch", max_distance=0.0,
        max_passes=200,
    )  # fmt: skip
    start, ours, theirs = (
        way[step].min()
        for way, step in (
            (blocks.utilities, 0),
            (blocks.utilities, -1),
            (memory.utilities, -1),
        )
    )
    assert (ours - start) > 0.8 * (theirs - start) > 0


@settings(max_examples=60)
@given(cases(), st.sampled_from(["batch", "rawls"]))
def test_walking_never_makes_things_worse_nor_empties_a_cluster(case, operator):
    way = traverse(
        open_blocks(case.X, block_size=2), case.labels, case.groups,
        operator=operator, sample_weight=case.weights, max_distance=10.0,
    )  # fmt: skip
    heads = np.bincount(way.labels[case.weights > 0], minlength=case.labels.max() + 1)
    assert heads.all()
    after = case.reference.utilities(way.labels).min()
    assert after >= case.reference.utilities(case.labels).min() - 1e-9
    assert after == pytest.approx(way.utilities[-1].min(), abs=1e-9)


def test_steps_and_passes_of_a_walk_are_limited():
    X, groups = people(4000)
    labels = np.arange(4000) % 4
    one = traverse(open_blocks(X), labels, groups, operator="batch", max_iter=1)
    assert (one.n_iter, one.stop_reason) == (1, "max_iter")
    few = traverse(open_blocks(X), labels, groups, operator="batch", max_passes=5)
    assert few.stop_reason == "max_passes"
    assert few.n_passes <= 5


def test_a_postprocessor_walks_on_from_the_clusters_of_any_clusterer():
    X, groups = people(4000)
    blocks = open_blocks(X, block_size=1500)
    options = {"utility": "assigned", "random_state": 0}
    fair = RawlsianPostprocessor(KMeans(4, n_init=1), max_distance=90.0, **options)
    fair.fit(blocks, sensitive_features=groups)
    start, end = (
        group_utilities(X, labels, groups, max_distance=90.0)
        for labels in (fair.utilitarian_labels_, fair.labels_)
    )
    assert end.min() > start.min()
    np.testing.assert_allclose(fair.group_utilities_, end)
    assert fair.n_features_in_ == 4
    fitted = KMeans(4, n_init=1, random_state=0).fit(X)
    prefit = RawlsianPostprocessor(fitted, prefit=True, utility="assigned")
    prefit.fit(blocks, sensitive_features=groups)
    assert (prefit.utilitarian_labels_ == fitted.labels_).all()
    mixture = RawlsianPostprocessor(GaussianMixture(3), **options)
    mixture.fit(blocks, sensitive_features=groups)  # which takes no weights
    assert set(mixture.utilitarian_labels_) == {0, 1, 2}
    with sklearn.config_context(enable_metadata_routing=True):
        routed = RawlsianPostprocessor(KMeans(4, n_init=1), **options)
        routed.set_fit_request(sensitive_features=True)
        routed.fit(blocks, sensitive_features=groups)
    with pytest.raises(ValueError, match="DBSCAN has no predict"):
        RawlsianPostprocessor(DBSCAN(), **options).fit(blocks)


# --- Auditing ---


@given(cases())
def test_an_audit_of_blocks_is_that_of_memory(case):
    options = {"sample_weight": case.weights, "max_distance": 10.0}
    memory = audit(case.X, case.labels, case.groups, **options, n_bootstrap=0)
    blocks = open_blocks(case.X, block_size=3)
    ours = audit(blocks, case.labels, case.groups, **options, n_bootstrap=0)
    assert (ours.groups == memory.groups).all()
    np.testing.assert_allclose(ours.utilities, memory.utilities, atol=1e-8)
    np.testing.assert_allclose(ours.cluster_sizes, memory.cluster_sizes)
    np.testing.assert_allclose(
        ours.cluster_utilities, memory.cluster_utilities, atol=1e-8
    )
    assert ours.overall == pytest.approx(memory.overall, abs=1e-8)
    assert np.isnan(ours.gap_interval).all()


@given(cases())
def test_an_audit_of_blocks_by_the_nearest_mean_is_that_of_memory(case):
    options = {"sample_weight": case.weights, "max_distance": 10.0, "n_bootstrap": 0}
    memory, ours = (
        audit(rows, case.labels, case.groups, utility="nearest", **options)
        for rows in (case.X, open_blocks(case.X, block_size=3))
    )
    assert ours.utility == "nearest"
    np.testing.assert_allclose(ours.utilities, memory.utilities, atol=1e-8)
    assert ours.overall == pytest.approx(memory.overall, abs=1e-8)


def test_cells_and_intervals_of_blocks_are_those_of_memory():
    X, groups = people(4000)
    labels = np.random.default_rng(0).integers(4, size=4000)
    memory = audit(X, labels, groups, utility="nearest", random_state=0)
    ours = audit(open_blocks(X, block_size=700), labels, groups, utility="nearest")
    assert (ours.cluster_sizes == memory.cluster_sizes).all()
    np.testing.assert_allclose(ours.cluster_utilities, memory.cluster_utilities)
    width = np.ptp(memory.intervals, axis=1).max()
    np.testing.assert_allclose(ours.intervals, memory.intervals, atol=0.1 * width)


@pytest.mark.parametrize("utility", ["assigned", "nearest"])
def test_an_audit_out_of_core_makes_three_passes(utility):
    X, groups = people(300)
    engine = open_rows(open_blocks(X)).with_groups(groups, utility=utility)
    engine.audit(np.arange(300) % 3, IntervalSettings(0, 0.95, 30, None))
    assert engine.n_passes == 3


def test_an_audit_measures_clusters_however_far_apart_they_are():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    X[0] = 1e9
    labels, groups = np.r_[0, 1 + np.arange(999) % 3], np.arange(1000) % 2
    result = audit(open_blocks(X), labels, groups, max_distance=0.0)
    centers = np.array([X[labels == c].mean(axis=0) for c in range(4)])
    own = ((X - centers[labels]) ** 2).sum(axis=1)
    rows = (labels == 1) & (groups == 0)
    assert result.cluster_utilities[1, 0] == pytest.approx(-own[rows].mean())


@pytest.mark.parametrize("groups_of", [people, three_groups])
def test_intervals_of_blocks_are_close_to_those_of_resampling(groups_of):
    X, groups = groups_of(4000)
    if groups_of is three_groups:
        groups[:400] = "few"
    weights = 0.5 + (X[:, 1:] ** 2).sum(axis=1)  # more weight far out
    labels = KMeans(3, n_init=1, random_state=0).fit_predict(X)
    memory = audit(X, labels, groups, sample_weight=weights, random_state=0)
    ours = audit(open_blocks(X), labels, groups, sample_weight=weights)
    width = np.ptp(memory.intervals, axis=1).max()
    np.testing.assert_allclose(ours.intervals, memory.intervals, atol=0.1 * width)
