"""Costs of people who were not in the fit, and stability of refits."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.cluster import DBSCAN, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from rawlsian import (
    FairLloyd,
    RawlsianKMeans,
    RawlsianPostprocessor,
    UnitDistanceEncoder,
    held_out,
    open_blocks,
    stability,
)
from rawlsian._core.folds import deal

pytestmark = pytest.mark.usefixtures("short_search")

FIGURES = ("in_sample", "kmeans_in_sample", "held_out", "kmeans_held_out", "intervals")


def people(sizes, seed=0):
    """Three clusters in the plane; the first group is spread widest."""
    rng = np.random.default_rng(seed)
    groups = np.repeat([f"g{g}" for g in range(len(sizes))], sizes)
    X = (
        rng.normal(size=(len(groups), 2))
        + 4 * rng.integers(3, size=len(groups))[:, None]
    )
    X[groups == "g0"] *= 1.5
    return X, groups


def fair(n_clusters=3):
    return RawlsianKMeans(n_clusters, pooling=0, n_init=2, n_crossings=2)


def same(first, second):
    return all(
        np.array_equal(getattr(first, each), getattr(second, each), equal_nan=True)
        for each in (*FIGURES, "gain", "gain_interval", "fold_costs")
    )


class Halves(BaseEstimator):
    """Clusters by the sign of the first column, without centers."""

    def fit(self, X, y=None):
        self.seen_ = len(X)
        return self

    def predict(self, X):
        return 5 * (np.asarray(X)[:, 0] > 6).astype(int) + 2


# --- Folds ---


@pytest.mark.parametrize("sizes", [[1, 3, 50], [7, 7, 7], [1] * 9, [20]])
def test_every_fold_has_as_many_people_of_a_group_as_any_other_or_one_more(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)

    folds = deal(groups, np.arange(len(groups)), 5, np.random.default_rng(0))

    assert np.ptp(np.bincount(folds, minlength=5)) <= 1
    for g in range(len(sizes)):
        assert np.ptp(np.bincount(folds[groups == g], minlength=5)) <= 1


# --- Figures ---


def twin(X, groups, weights, cv, n_repeats, seed):
    """Held-out costs of k-means and of the whole sample, person by person."""
    names, codes = np.unique(groups, return_inverse=True)
    rng, rows = np.random.default_rng(seed), np.arange(len(X))
    folds = [deal(codes.astype(np.int32), rows, cv, rng) for _ in range(n_repeats)]
    costs = np.zeros(len(X))
    for each in folds:
        for fold in range(cv):
            train = each != fold
            fitted = Halves().predict(X)
            for i in np.flatnonzero(~train):
                mine = train & (fitted == fitted[i])
                center = np.average(X[mine], axis=0, weights=weights[mine])
                costs[i] += ((X[i] - center) ** 2).sum() / n_repeats
    return [
        sum(weights[i] * costs[i] for i in rows if groups[i] == name)
        / sum(weights[i] for i in rows if groups[i] == name)
        for name in names
    ]


def test_held_out_costs_are_those_of_a_slow_and_obvious_program():
    X, groups = people([9, 20, 1])

    found = held_out(Halves(), X, groups, cv=4, n_repeats=3, random_state=5)

    assert found.held_out == pytest.approx(
        twin(X, groups, np.ones(30), cv=4, n_repeats=3, seed=5)
    )


def test_costs_in_the_sample_are_those_of_a_fit_on_all_rows():
    X, groups = people([30, 40])
    model = KMeans(3, n_init=10, random_state=3)

    found = held_out(model, X, groups, random_state=0)

    distances = model.fit(X).transform(X).min(axis=1) ** 2
    expected = [distances[groups == name].mean() for name in ("g0", "g1")]
    assert found.in_sample == pytest.approx(expected)
    assert found.overall["in_sample"] == pytest.approx(distances.mean())
    assert found.n_people.tolist() == [30, 40]


def test_against_itself_k_means_gains_next_to_nothing():
    X, groups = people([60, 60])

    found = held_out(KMeans(3, n_init=10), X, groups, random_state=0)

    low, high = found.gain_interval
    assert found.gain_in_sample == pytest.approx(0, abs=1e-9)
    assert low <= found.gain <= high
    assert abs(found.gain) < 1


def test_costs_that_are_only_rounding_are_no_gain():
    X = np.repeat([[0.1, 0.7, 3.0], [1.3, 2.2, 0.4]], 20, axis=0)

    found = held_out(fair(2), X, np.arange(40) % 3, random_state=0)

    assert found.gain == 0
    assert found.gain_interval == (0, 0)


def test_the_worst_off_group_gains_in_the_sample_and_less_among_new_people():
    X, groups = people([60, 60])

    found = held_out(fair(), X, groups, random_state=0)

    assert found.gain_in_sample > found.gain
    assert found.gain_in_sample == pytest.approx(
        100 * (1 - found.in_sample.max() / found.kmeans_in_sample.max())
    )
    assert found.worst_off["held_out"] == f"g{np.argmax(found.held_out)}"
    assert (found.intervals[:, 0] < found.held_out).all()
    assert (found.intervals[:, 1] > found.held_out).all()


def test_there_is_no_gain_to_speak_of_where_k_means_is_perfect():
    X, groups = np.repeat([[0.0], [9.0]], 10, axis=0), np.arange(20) % 2

    class Shifted(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            super().fit(X, y, sample_weight)
            self.cluster_centers_ = self.cluster_centers_ + 1
            return self

    perfect, shifted = (
        held_out(model(2, n_init=1), X, groups, random_state=0)
        for model in (KMeans, Shifted)
    )

    assert (perfect.gain_in_sample, perfect.gain) == (0, 0)
    assert shifted.held_out.tolist() == [1, 1]
    assert np.isnan(
        [shifted.gain_in_sample, shifted.gain, *shifted.gain_interval]
    ).all()


def test_costs_of_folds_average_to_those_of_groups():
    X, groups = people([20, 30])

    found = held_out(fair(), X, groups, cv=5, random_state=0)

    assert found.fold_costs.shape == (2, 5, 2)
    assert found.fold_costs.mean(axis=(0, 1)) == pytest.approx(found.held_out)


def test_more_confidence_means_wider_intervals():
    X, groups = people([30, 30])
    narrow, wide = (
        held_out(fair(), X, groups, confidence=confidence, random_state=0)
        for confidence in (0.5, 0.99)
    )

    assert wide.gain_interval[0] < narrow.gain_interval[0]
    assert narrow.gain_interval[1] < wide.gain_interval[1]
    assert (wide.intervals[:, 0] < narrow.intervals[:, 0]).all()


def test_equal_weights_change_nothing():
    X, groups = people([20, 30])
    plain, weighted = (
        held_out(KMeans(3, n_init=2), X, groups, sample_weight=weights, random_state=0)
        for weights in (None, np.full(50, 2.0))
    )

    assert weighted.held_out == pytest.approx(plain.held_out)
    assert weighted.gain_interval == pytest.approx(plain.gain_interval)
    assert weighted.n_people.tolist() == [40, 60]


def test_people_of_no_weight_are_not_there():
    X, groups = people([20, 30, 5])
    weights = np.where(np.arange(55) % 4, 1.0, 0.0)
    kept = weights > 0
    some, all_rows = (
        held_out(
            fair(), X[rows], groups[rows], sample_weight=weights[rows], random_state=0
        )
        for rows in (kept, slice(None))
    )

    assert same(some, all_rows)


def test_weights_count_people_in_costs():
    X, groups = people([12, 15])
    weights = np.random.default_rng(1).uniform(0.5, 2, size=27)

    class Weighted(Halves):
        def fit(self, X, y=None, sample_weight=None):
            return self

    found = held_out(Weighted(), X, groups, sample_weight=weights, cv=3, random_state=5)

    assert found.held_out == pytest.approx(
        twin(X, groups, weights, cv=3, n_repeats=2, seed=5)
    )


# --- Small groups ---


def test_a_group_of_one_person_is_held_out_too_and_has_no_interval():
    X, groups = people([1, 30, 30])

    found = held_out(fair(), X, groups, random_state=0)

    assert np.isfinite(found.held_out).all()
    assert np.isfinite(found.gain_interval).all()
    assert np.isnan(found.intervals[0]).all()
    assert found.by_group()[0]["low"] is None


def test_a_group_that_is_in_some_folds_only_has_no_cost_in_the_others():
    X, groups = people([3, 30])

    found = held_out(fair(), X, groups, cv=5, random_state=0)

    missing = np.isnan(found.fold_costs[:, :, 0])
    assert missing.sum(axis=1).tolist() == [2, 2]
    assert not np.isnan(found.fold_costs[:, :, 1]).any()


def test_there_may_be_more_groups_than_folds():
    X, groups = people([4] * 8)

    found = held_out(fair(), X, groups, cv=2, random_state=0)

    assert np.isfinite(found.held_out).all()
    assert len(found.by_group()) == 8


def test_as_many_folds_as_people_leave_out_one_at_a_time():
    X, groups = people([4, 6])

    found = held_out(Halves(), X, groups, cv=10, n_repeats=1, random_state=0)

    assert (np.isnan(found.fold_costs).sum(axis=2) == 1).all()


def test_without_groups_everyone_is_one():
    X, _ = people([30])

    found = held_out(fair(), X, None, random_state=0)

    assert found.groups.tolist() == ["all"]
    assert found.held_out[0] == pytest.approx(found.overall["held_out"])


# --- Estimators ---


@pytest.mark.parametrize(
    "estimator",
    [
        RawlsianPostprocessor(KMeans(3, n_init=1)),
        FairLloyd(3, n_init=2),
        GaussianMixture(3),
        make_pipeline(
            StandardScaler(), RawlsianKMeans(3, pooling=0, n_init=2, n_crossings=2)
        ),
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), KMeans(3, n_init=1)),
        make_pipeline(KMeans(3, n_init=1)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_clusterer_that_can_predict_will_do(estimator):
    X, groups = people([20, 30])

    found = held_out(estimator, X.round(), groups, cv=2, random_state=0)

    assert (found.held_out > 0).all()
    assert np.isfinite(found.gain)


def test_an_estimator_stays_as_it_is():
    X, groups = people([20, 30])
    model = fair()

    held_out(model, X, groups, cv=2, random_state=0)
    stability(model, X, groups, n_bootstrap=2, random_state=0)

    assert not hasattr(model, "labels_")
    assert model.random_state is None


def test_a_seed_of_the_estimator_is_kept():
    X, groups = people([20, 30])

    class Seeded(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seeds.add(self.random_state)
            return super().fit(X, y, sample_weight)

    seeds = set()
    held_out(Seeded(3, random_state=7), X, groups, cv=2, random_state=0)

    assert seeds == {7}


def test_costs_of_a_pipeline_are_between_the_rows_that_its_last_step_sees():
    X, groups = people([20, 30])
    inner = fair().set_params(random_state=0)

    found = held_out(make_pipeline(StandardScaler(), inner), X, groups, random_state=0)
    direct = held_out(inner, StandardScaler().fit_transform(X), groups, random_state=0)

    assert found.in_sample == pytest.approx(direct.in_sample)
    assert found.kmeans_in_sample == pytest.approx(direct.kmeans_in_sample)


def test_a_pipeline_sees_the_names_of_columns():
    X, groups = people([20, 30])
    table = pd.DataFrame(
        {"age": X[:, 0], "job": np.where(X[:, 1] > 4, "cook", "judge")}
    )

    found = held_out(
        make_pipeline(UnitDistanceEncoder(), fair()), table, pd.Series(groups),
        random_state=0,
    )  # fmt: skip

    class Named(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            columns.append(list(X.columns))
            return super().fit(X, y, sample_weight)

    columns = []
    held_out(Named(2, n_init=1), table[["age"]], groups, cv=2, random_state=0)
    assert (found.held_out > 0).all()
    assert columns == [["age"]] * 5


def test_routed_groups_reach_the_last_step_of_a_pipeline():
    X, groups = people([20, 30])
    scaler = StandardScaler()
    plain = held_out(make_pipeline(scaler, fair()), X, groups, random_state=0)

    with sklearn.config_context(enable_metadata_routing=True):
        routed = fair().set_fit_request(sensitive_features=True)
        found = held_out(make_pipeline(scaler, routed), X, groups, random_state=0)

    assert same(found, plain)
    assert found.in_sample[0] == pytest.approx(found.in_sample[1], rel=0.01)


# --- The same result again ---


def test_the_seed_decides():
    X, groups = people([15, 20])
    first, again, other = (
        held_out(fair(), X, groups, cv=2, random_state=seed) for seed in (0, 0, 1)
    )

    assert same(first, again)
    assert not same(first, other)


def test_threads_and_parallel_jobs_change_nothing(monkeypatch):
    X, groups = people([300, 400])
    plain = held_out(fair(), X, groups, cv=2, random_state=0)

    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    with threadpool_limits(2), joblib.parallel_config("threading", n_jobs=2):
        threaded = held_out(fair(), X, groups, cv=2, random_state=0)

    assert same(plain, threaded)


# --- Texts ---


def test_a_result_prints_a_table_and_the_gain():
    X, groups = people([4, 30])

    found = held_out(fair(), X, groups, random_state=0)

    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["group", "g0", "g1", "everyone"]
    assert " to " in lines[2]
    assert " to " not in lines[1]
    assert lines[-1].startswith("gain over k-means for new people: ")
    assert repr(found).startswith("HeldOut(gain=")


# --- Input ---


@pytest.mark.parametrize(
    ("estimator", "options", "sentence"),
    [
        (StandardScaler(), {}, "must be a clusterer with fit and predict"),
        (DBSCAN(), {}, "must be a clusterer with fit and predict"),
        (KMeans, {}, "must be a clusterer with fit and predict"),
        (fair(), {"cv": 1}, "cv must be a whole number, 2 or more, got 1"),
        (fair(), {"cv": 51}, "cv=51 is more than the 50 rows of X that have weight"),
        (fair(), {"n_repeats": 0}, "n_repeats must be a whole number, 1 or more"),
        (fair(), {"n_bootstrap": 1}, "n_bootstrap must be a whole number, 2 or more"),
        (fair(), {"confidence": 95}, "confidence must lie between 0 and 1"),
        (fair(), {"sample_weight": [1.0]}, "give one weight for each row of X"),
        (Halves(), {"sample_weight": np.ones(50)}, "Halves cannot use weights"),
    ],
)
def test_bad_arguments_are_named(estimator, options, sentence):
    X, groups = people([20, 30])

    with pytest.raises(ValueError, match=sentence):
        held_out(estimator, X, groups, **options)


def test_missing_values_are_an_error_unless_a_pipeline_fills_them():
    X, groups = people([20, 30])
    X[3, 1] = np.nan

    with pytest.raises(ValueError, match="Fill or drop missing values"):
        held_out(fair(), X, groups)


def test_rows_out_of_core_are_an_error():
    X, groups = people([20, 30])

    for function in (held_out, stability):
        with pytest.raises(ValueError, match=f"{function.__name__} takes rows in"):
            function(fair(), open_blocks(X), groups)


def test_missing_groups_are_an_error():
    X, groups = people([20, 30])

    with pytest.raises(ValueError, match="1 missing value"):
        held_out(fair(), X, [None, *groups[1:]])


def test_rows_that_are_left_as_noise_are_an_error():
    class Noisy(Halves):
        def predict(self, X):
            return super().predict(X) - 3

    X, groups = people([20, 30])

    with pytest.raises(ValueError, match="rows as noise"):
        held_out(Noisy(), X, groups, random_state=0)


def test_labels_must_be_one_whole_number_for_each_row():
    class Text(Halves):
        def predict(self, X):
            return super().predict(X).astype(str)

    X, groups = people([20, 30])

    with pytest.raises(ValueError, match="one whole number for each row"):
        held_out(Text(), X, groups, random_state=0)


def test_a_cluster_that_the_fit_did_not_know_is_an_error():
    class Growing(Halves):
        def predict(self, X):
            return np.arange(len(X))

    X, groups = people([3, 30])

    with pytest.raises(ValueError, match="predicts cluster 16 for a person"):
        held_out(Growing(), X, groups, cv=2, random_state=0)


# --- Stability ---


def test_pairs_are_counted_as_a_slow_and_obvious_program_does():
    X, groups = people([10, 15])
    found = stability(KMeans(3, n_init=1), X, groups, n_bootstrap=4, random_state=2)

    rng, rows = np.random.default_rng(2), np.arange(25)
    draws = [rows]
    for _ in range(4):
        parts = (rng.choice(rows[groups == name], size=(groups == name).sum())
                 for name in ("g0", "g1"))  # fmt: skip
        draws.append(np.concatenate([np.sort(part) for part in parts]))
    seeds = rng.integers(2**31, size=5).tolist()
    with threadpool_limits(1):
        first, *others = (
            KMeans(3, n_init=1, random_state=seed).fit(X[draw]).predict(X)
            for draw, seed in zip(draws, seeds, strict=True)
        )
    for c in range(3):
        pairs = [(i, j) for i in rows for j in rows[:i] if first[i] == first[j] == c]
        kept = [labels[i] == labels[j] for labels in others for i, j in pairs]
        assert found.clusters[c] == pytest.approx(np.mean(kept))
        assert found.cluster_sizes[c] == (first == c).sum()


def test_clusters_far_apart_stay_together_and_the_widest_group_stays_worst_off():
    rng = np.random.default_rng(0)
    groups = np.arange(60) % 2
    X = rng.normal(size=(60, 1)) * np.where(groups, 3, 1)[:, None]
    X[:30] += 100

    found = stability(KMeans(2, n_init=1), X, groups, n_bootstrap=10, random_state=0)

    assert found.clusters.tolist() == [1, 1]
    assert found.worst_off == 1
    assert found.worst_off_rates.tolist() == [0, 1]
    assert repr(found).startswith("Stability(worst_off=1, worst_off_rates=[0.0, 1.0]")


def test_a_cluster_of_one_person_has_no_pairs():
    X = np.array([[0.0], [0.1], [0.2], [50.0]])

    found = stability(KMeans(2, n_init=1), X, list("aaab"), n_bootstrap=3,
                      random_state=0)  # fmt: skip

    alone = int(np.argmin(found.cluster_sizes))
    assert np.isnan(found.clusters[alone])
    assert found.clusters[1 - alone] == 1
    assert "no pairs" in str(found)


def test_the_seed_decides_the_resamples_on_any_number_of_threads():
    X, groups = people([15, 20])
    first = stability(fair(), X, groups, n_bootstrap=4, random_state=0)
    with joblib.parallel_config("threading", n_jobs=2):
        again = stability(fair(), X, groups, n_bootstrap=4, random_state=0)

    assert first.clusters.tolist() == again.clusters.tolist()
    assert first.worst_off_rates.tolist() == again.worst_off_rates.tolist()
    assert first.worst_off_rates.sum() == pytest.approx(1)


def test_pairs_of_heavy_people_count_for_more():
    X, groups = people([15, 20])
    plain, doubled = (
        stability(KMeans(3, n_init=1), X, groups, n_bootstrap=3, random_state=0,
                  sample_weight=weights)
        for weights in (None, np.full(35, 0.5))
    )  # fmt: skip

    assert doubled.clusters == pytest.approx(plain.clusters)
    assert doubled.n_people.tolist() == [7.5, 10]


def test_stability_needs_a_number_of_resamples():
    X, groups = people([5, 5])

    with pytest.raises(ValueError, match="n_bootstrap must be a whole number"):
        stability(fair(), X, groups, n_bootstrap=0)
