"""RawlsianPostprocessor: scikit-learn's contract, routing, fitted attributes."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, BisectingKMeans, KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rawlsian import (
    R1,
    RawlsianPostprocessor,
    audit,
    group_utilities,
    open_blocks,
    traverse,
)

UTILITIES = ("assigned", "nearest")


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) + rng.integers(0, 3, size=(120, 1)) * 2
    sex = np.where(rng.random(120) < 0.3, "f", "m")
    return X, sex


def expected_to_fail(estimator):
    if estimator.utility == "assigned":
        return {}
    reason = "as for KMeans, and a row moves with its whole weight"
    checks = "check_sample_weight_equivalence_on_{}_data"
    return {checks.format(kind): reason for kind in ("dense", "sparse")}


# The default KMeans has 8 clusters, and some checks have 4 different rows.
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
# scikit-learn's checks pass a y, which causes a warning.
@pytest.mark.filterwarnings("ignore:y is ignored")
@parametrize_with_checks(
    [
        RawlsianPostprocessor(),
        RawlsianPostprocessor(KMeans(3, n_init=2), operator="R1"),
        RawlsianPostprocessor(BisectingKMeans(3), operator="R1+R2"),
        RawlsianPostprocessor(KMeans(3, n_init=2), utility="assigned"),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("utility", UTILITIES)
def test_what_it_stores_belongs_together(blobs, utility):
    X, sex = blobs
    options = {"utility": utility, "max_distance": 50.0}

    fair = RawlsianPostprocessor(KMeans(4, random_state=0), **options)
    fair.fit(X, sensitive_features=sex)

    end = fair.trajectory_.labels
    assert fair.n_iter_ == fair.trajectory_.n_iter + 1 > 1  # the last found nothing
    assert fair.groups_.tolist() == ["f", "m"]
    assert np.array_equal(fair.utilitarian_labels_, fair.estimator_.labels_)
    assert np.array_equal(fair.utilitarian_labels_, fair.trajectory_.labels_at(0))
    assert fair.group_utilities_ == pytest.approx(
        group_utilities(X, end, sex, **options)
    )
    for c in range(4):
        assert fair.cluster_centers_[c] == pytest.approx(X[end == c].mean(0))
    assert fair.group_utilities_.min() > fair.trajectory_.utilities[0].min()


# --- Utility ---


def test_by_default_nobody_is_held_in_a_cluster_that_is_not_the_nearest(blobs):
    X, sex = blobs

    fair = RawlsianPostprocessor(KMeans(4, random_state=0))
    fair.fit(X, sensitive_features=sex)

    squared = ((X[:, None] - fair.cluster_centers_) ** 2).sum(axis=2)
    assert fair.trajectory_.utility == "nearest"
    assert np.array_equal(fair.labels_, squared.argmin(axis=1))
    assert not np.array_equal(fair.labels_, fair.trajectory_.labels)


def test_assigned_labels_are_those_that_define_the_means(blobs):
    X, sex = blobs

    fair = RawlsianPostprocessor(KMeans(4, random_state=0), utility="assigned")
    fair.fit(X, sensitive_features=sex)

    assert np.array_equal(fair.labels_, fair.trajectory_.labels)


@pytest.mark.parametrize("n_rows", [120, 7, 1])
def test_predict_gives_rows_seen_in_fit_their_labels(blobs, n_rows):
    X, sex = blobs
    fair = RawlsianPostprocessor(KMeans(4, random_state=0))

    fair.fit(X, sensitive_features=sex)

    assert np.array_equal(fair.predict(X[:n_rows]), fair.labels_[:n_rows])


def test_predict_reads_rows_out_of_core(blobs):
    X, sex = blobs
    fair = RawlsianPostprocessor(KMeans(4, random_state=0))

    found = fair.fit(X, sensitive_features=sex).predict(open_blocks(X, block_size=50))

    assert np.array_equal(found, fair.labels_)


def test_predict_refuses_rows_with_other_features(blobs):
    fair = RawlsianPostprocessor(KMeans(4, random_state=0)).fit(blobs[0])

    with pytest.raises(ValueError, match="X has 2 features, but"):
        fair.predict(blobs[0][:, :2])


def test_score_is_minus_the_cost_of_the_worst_off_group(blobs):
    X, sex = blobs
    fair = RawlsianPostprocessor(KMeans(4, random_state=0), max_distance=50.0)
    fair.fit(X, sensitive_features=sex)

    assert fair.score(X, sensitive_features=sex) == pytest.approx(
        fair.group_utilities_.min() - 50.0
    )
    assert fair.score(X) == pytest.approx(fair.trajectory_.overall[-1] - 50.0)


def test_with_assigned_clusters_there_is_no_predict(blobs):
    fair = RawlsianPostprocessor(KMeans(4, random_state=0), utility="assigned")

    fair.fit(blobs[0])

    assert not hasattr(fair, "predict")
    assert not hasattr(fair, "score")
    with pytest.raises(AttributeError) as raised:
        fair.predict(blobs[0])
    assert "labels do not follow from distances" in str(raised.value.__cause__)


def test_an_unknown_utility_is_an_error(blobs):
    with pytest.raises(ValueError, match="utility must be 'assigned'"):
        RawlsianPostprocessor(utility="closest").fit(blobs[0])


def test_an_audit_of_the_labels_that_define_the_means_has_the_same_figures(blobs):
    X, sex = blobs
    fair = RawlsianPostprocessor(KMeans(4, random_state=0), max_distance=50.0)
    fair.fit(X, sensitive_features=sex)

    report = audit(
        X, fair.trajectory_.labels, sex, utility="nearest", max_distance=50.0
    )

    assert report.utilities == pytest.approx(fair.group_utilities_)
    assert (
        report.cluster_sizes.sum(axis=1).tolist() == np.bincount(fair.labels_).tolist()
    )


@pytest.mark.parametrize("bound", ["group", "proved"])
@pytest.mark.parametrize("utility", UTILITIES)
def test_the_bound_holds_with_either_utility(blobs, utility, bound):
    X, sex = blobs
    options = {"utility": utility, "bound": bound, "random_state": 0}

    fair = RawlsianPostprocessor(KMeans(3), **options).fit(X, sensitive_features=sex)

    assert fair.group_utilities_.min() <= fair.bound_.utility + 1e-9
    assert 0 < fair.gap_closed_ <= 1 + 1e-9


# --- Clusterers ---


def test_fit_predict_gives_the_labels(blobs):
    X, sex = blobs
    fair = RawlsianPostprocessor(KMeans(4, random_state=0))

    labels = fair.fit_predict(X, sensitive_features=sex)

    assert np.array_equal(labels, fair.labels_)


def test_by_default_it_is_kmeans_with_eight_clusters(blobs):
    X, sex = blobs

    fair = RawlsianPostprocessor(random_state=3).fit(X, sensitive_features=sex)

    expected = KMeans(random_state=3).fit(X).labels_
    assert np.array_equal(fair.utilitarian_labels_, expected)


def test_without_groups_everyone_is_one_group(blobs):
    fair = RawlsianPostprocessor(KMeans(4, random_state=0)).fit(blobs[0])

    assert fair.groups_.tolist() == ["all"]


def test_the_estimator_that_was_passed_in_is_left_unfitted(blobs):
    kmeans = KMeans(4, random_state=0)

    RawlsianPostprocessor(kmeans).fit(blobs[0])

    assert not hasattr(kmeans, "labels_")


def test_a_prefit_clusterer_is_used_as_it_is(blobs):
    X, sex = blobs
    kmeans = KMeans(4, random_state=0).fit(X[:60])

    fair = RawlsianPostprocessor(kmeans, prefit=True).fit(X, sensitive_features=sex)

    assert fair.estimator_ is kmeans
    assert np.array_equal(fair.utilitarian_labels_, kmeans.predict(X))


def test_a_prefit_clusterer_that_cannot_predict_brings_its_labels(blobs):
    X, sex = blobs
    tree = AgglomerativeClustering(4).fit(X)

    fair = RawlsianPostprocessor(tree, prefit=True).fit(X, sensitive_features=sex)

    assert np.array_equal(fair.utilitarian_labels_, tree.labels_)
    with pytest.raises(ValueError, match="has labels for 120 rows and cannot predict"):
        RawlsianPostprocessor(tree, prefit=True).fit(X[:50])


def test_prefit_without_an_estimator_is_an_error(blobs):
    with pytest.raises(ValueError, match="prefit=True needs a fitted estimator"):
        RawlsianPostprocessor(prefit=True).fit(blobs[0])


def test_prefit_with_an_unfitted_estimator_is_an_error(blobs):
    with pytest.raises(sklearn.exceptions.NotFittedError):
        RawlsianPostprocessor(KMeans(), prefit=True).fit(blobs[0])


def test_the_clusterer_may_be_the_end_of_a_pipeline(blobs):
    X, sex = blobs
    inner = make_pipeline(StandardScaler(), KMeans(4, random_state=0))

    fair = RawlsianPostprocessor(inner).fit(X, sensitive_features=sex)

    assert np.array_equal(fair.utilitarian_labels_, inner.fit(X).predict(X))


def test_a_frozen_estimator_stays_fitted_in_a_grid_search(blobs):
    X, sex = blobs
    frozen = FrozenEstimator(KMeans(4, random_state=0).fit(X))

    fair = clone(RawlsianPostprocessor(frozen)).fit(X, sensitive_features=sex)

    assert np.array_equal(fair.utilitarian_labels_, frozen.predict(X))


def test_a_clusterer_fitted_to_a_frame_sees_its_names_again(blobs):
    frame = pd.DataFrame(blobs[0], columns=["a", "b", "c"])
    kmeans = KMeans(4, random_state=0).fit(frame)

    fair = RawlsianPostprocessor(kmeans, prefit=True).fit(frame)  # no warning

    assert np.array_equal(fair.utilitarian_labels_, kmeans.labels_)


@pytest.mark.parametrize("estimator", [5, KMeans, "kmeans"])
def test_what_is_no_clusterer_is_an_error(blobs, estimator):
    with pytest.raises(ValueError, match="estimator must be a clusterer such as"):
        RawlsianPostprocessor(estimator).fit(blobs[0])


def test_an_estimator_without_clusters_is_an_error(blobs):
    with pytest.raises(ValueError, match="StandardScaler has neither labels_ nor"):
        RawlsianPostprocessor(StandardScaler()).fit(blobs[0])


def test_ctrl_c_keeps_what_was_reached_and_warns(blobs):
    class Interrupted:
        def generate(self, assignment):
            raise KeyboardInterrupt

    fair = RawlsianPostprocessor(KMeans(4, random_state=0), operator=Interrupted())

    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="Interrupted after"):
        fair.fit(blobs[0])

    assert np.array_equal(fair.labels_, fair.utilitarian_labels_)


def test_noise_is_an_error_that_says_how_much(blobs):
    with pytest.raises(ValueError, match="DBSCAN left 120 of 120 rows as noise"):
        RawlsianPostprocessor(DBSCAN(eps=1e-6)).fit(blobs[0])


def test_a_cluster_that_the_clusterer_left_empty_is_not_counted():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)

    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="distinct clusters"):
        fair = RawlsianPostprocessor(KMeans(4, random_state=0)).fit(X)

    assert set(fair.labels_) == {0, 1}
    assert fair.cluster_centers_.shape == (2, 1)


def test_the_seed_reaches_clusterers_that_have_none(blobs):
    X, _ = blobs

    seeded = RawlsianPostprocessor(KMeans(6, n_init=1), random_state=5).fit(X)
    own = RawlsianPostprocessor(KMeans(6, n_init=1, random_state=5), random_state=7)

    expected = KMeans(6, n_init=1, random_state=5).fit(X).labels_
    assert np.array_equal(seeded.utilitarian_labels_, expected)
    assert np.array_equal(own.fit(X).utilitarian_labels_, expected)


def test_an_unknown_operator_is_an_error(blobs):
    with pytest.raises(ValueError, match="operator must be one of"):
        RawlsianPostprocessor(operator="R9").fit(blobs[0])


def test_it_can_be_cloned_and_pickled(blobs):
    X, sex = blobs
    fair = RawlsianPostprocessor(KMeans(4, random_state=0), operator=R1())

    fitted = pickle.loads(pickle.dumps(fair.fit(X, sensitive_features=sex)))
    again = clone(fair).fit(X, sensitive_features=sex)

    assert np.array_equal(fitted.labels_, again.labels_)
    assert fitted.trajectory_.n_iter == again.trajectory_.n_iter


def test_parameters_of_the_clusterer_can_be_set_through_it():
    fair = RawlsianPostprocessor(KMeans(4)).set_params(estimator__n_clusters=6)

    assert fair.estimator.n_clusters == 6


# --- Weights ---


def test_weights_reach_the_clusterer_and_the_traversal(blobs):
    X, sex = blobs
    weights = np.random.default_rng(1).uniform(0.5, 2, size=120)

    fair = RawlsianPostprocessor(KMeans(4, random_state=0), operator="R1")
    fair.fit(X, sensitive_features=sex, sample_weight=weights)

    kmeans = KMeans(4, random_state=0).fit(X, sample_weight=weights)
    expected = traverse(
        X, kmeans.labels_, sex, sample_weight=weights, utility="nearest"
    )
    assert np.array_equal(fair.trajectory_.labels, expected.labels)


@pytest.mark.parametrize("is_routing", [False, True])
def test_weights_for_a_clusterer_without_weights_are_an_error(blobs, is_routing):
    fair = RawlsianPostprocessor(AgglomerativeClustering(3))

    with (
        sklearn.config_context(enable_metadata_routing=is_routing),
        pytest.raises(ValueError, match="AgglomerativeClustering cannot use weights"),
    ):
        fair.fit(blobs[0], sample_weight=np.ones(120))


# --- Metadata routing ---


@pytest.mark.usefixtures("routing")
def test_a_pipeline_routes_the_groups(blobs):
    X, sex = blobs
    fair = RawlsianPostprocessor(KMeans(4, random_state=0)).set_fit_request(
        sensitive_features=True
    )

    pipeline = make_pipeline(StandardScaler(), fair).fit(X, sensitive_features=sex)

    scaled = StandardScaler().fit_transform(X)
    expected = clone(fair).fit(scaled, sensitive_features=sex)
    assert np.array_equal(pipeline[-1].labels_, expected.labels_)
    assert pipeline[-1].groups_.tolist() == ["f", "m"]


@pytest.mark.usefixtures("routing")
def test_a_pipeline_routes_the_weights_on_to_the_clusterer(blobs):
    X, sex = blobs
    weights = np.random.default_rng(1).uniform(0.5, 2, size=120)
    kmeans = KMeans(4, random_state=0).set_fit_request(sample_weight=True)
    fair = RawlsianPostprocessor(kmeans).set_fit_request(
        sensitive_features=True, sample_weight=True
    )

    pipeline = make_pipeline(fair)
    pipeline.fit(X, sensitive_features=sex, sample_weight=weights)

    start = KMeans(4, random_state=0).fit(X, sample_weight=weights).labels_
    assert np.array_equal(pipeline[-1].utilitarian_labels_, start)


@pytest.mark.usefixtures("routing")
def test_groups_reach_an_inner_estimator_that_asks_for_them(blobs):
    X, sex = blobs
    inner = RawlsianPostprocessor(KMeans(4, random_state=0), operator="R1")
    inner.set_fit_request(sensitive_features=True)

    fair = RawlsianPostprocessor(inner).fit(X, sensitive_features=sex)

    assert fair.estimator_.groups_.tolist() == ["f", "m"]


@pytest.mark.usefixtures("routing")
def test_the_default_clusterer_takes_weights_with_routing_on(blobs):
    weights = np.random.default_rng(1).uniform(0.5, 2, size=120)

    fair = RawlsianPostprocessor(random_state=0).fit(blobs[0], sample_weight=weights)

    expected = KMeans(random_state=0).fit(blobs[0], sample_weight=weights).labels_
    assert np.array_equal(fair.utilitarian_labels_, expected)


@pytest.mark.usefixtures("routing")
def test_a_grid_search_routes_the_groups(blobs):
    X, sex = blobs
    fair = RawlsianPostprocessor(KMeans(random_state=0), max_distance=100.0)
    fair.set_fit_request(sensitive_features=True)
    everyone = np.arange(120)

    search = GridSearchCV(
        fair,
        {"estimator__n_clusters": [2, 3, 5], "operator": ["R1", "R2"]},
        scoring=lambda fitted, X, y=None: fitted.group_utilities_.min(),
        cv=[(everyone, everyone)],
    ).fit(X, sensitive_features=sex)

    assert search.best_params_["estimator__n_clusters"] == 5  # more clusters fit closer
    assert search.best_estimator_.groups_.tolist() == ["f", "m"]


@pytest.mark.usefixtures("routing")
def test_a_grid_search_can_use_the_score_of_people_left_out(blobs):
    X, sex = blobs
    fair = RawlsianPostprocessor(KMeans(random_state=0), operator="R1")
    fair.set_fit_request(sensitive_features=True)
    fair.set_score_request(sensitive_features=True)

    search = GridSearchCV(fair, {"estimator__n_clusters": [1, 4]}, cv=3)
    search.fit(X, sensitive_features=sex)

    assert search.best_params_ == {"estimator__n_clusters": 4}
    assert search.best_score_ < 0


def test_frames_keep_their_feature_names(blobs):
    X, sex = blobs
    frame = pd.DataFrame(X, columns=["a", "b", "c"])

    fair = RawlsianPostprocessor(KMeans(4, random_state=0)).fit(
        frame, sensitive_features=pd.Series(sex)
    )

    assert fair.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_callback_is_told_of_each_step(blobs):
    X, groups = blobs
    steps = []

    fair = RawlsianPostprocessor(
        KMeans(3, n_init=1, random_state=0), operator="R1", callback=steps.append
    )
    fair.fit(X, sensitive_features=groups)

    assert [step.n_iter for step in steps] == list(
        range(1, fair.trajectory_.n_iter + 1)
    )


def test_ctrl_c_while_the_bound_is_searched_leaves_the_labels(blobs, monkeypatch):
    X, groups = blobs

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("rawlsian._estimators.postprocessor.set_gap", stop)
    fair = RawlsianPostprocessor(KMeans(3, random_state=0), bound="group")
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="are final"):
        fair.fit(X, sensitive_features=groups)

    assert len(fair.labels_) == len(X)
    assert not hasattr(fair, "bound_")
