"""The same input and seed give the same result, whoever computes it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest
from sklearn.cluster import KMeans

from rawlsian import (
    FairLloyd,
    RawlsianKMeans,
    RawlsianPostprocessor,
    audit,
    open_blocks,
)
from support.people import FEW, people

ESTIMATORS = {
    "FairLloyd": lambda seed: FairLloyd(3, n_init=4, random_state=seed),
    "free": lambda seed: RawlsianKMeans(3, **{**FEW, "random_state": seed}),
    "mean": lambda seed: RawlsianKMeans(
        3, centers="mean", **{**FEW, "random_state": seed}
    ),
    "postprocessor": lambda seed: RawlsianPostprocessor(
        KMeans(3, n_init=1, random_state=seed)
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_eight_python_threads_at_once_fit_what_one_fits(name):
    X, groups = people(80)

    def labels(seed):
        return ESTIMATORS[name](seed).fit_predict(X, sensitive_features=groups)

    alone = [labels(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(labels, range(8)))

    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_two_and_four_threads_give_the_same_labels(name, monkeypatch):
    X, groups = people(200)
    for room in ("_core.group_costs", "_core.problem", "_search.restarts"):
        monkeypatch.setattr(f"rawlsian.{room}.ROWS_A_THREAD", 16)
    found = []
    for n_threads in ("1", "2", "4"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", n_threads)
        found.append(ESTIMATORS[name](0).fit_predict(X, sensitive_features=groups))

    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_memory_blocks_and_dask_give_the_same_predictions_and_audit():
    X, groups = people(200)
    fair = RawlsianKMeans(3, **FEW).fit(X, sensitive_features=groups)
    kinds = (X, open_blocks(X, block_size=70), da.from_array(X, chunks=(90, 4)))

    labels = [np.asarray(fair.predict(kind)) for kind in kinds]
    audits = [audit(kind, labels[0], groups) for kind in kinds]

    assert all(np.array_equal(each, fair.labels_) for each in labels)
    for each in audits[1:]:
        np.testing.assert_allclose(each.utilities, audits[0].utilities, rtol=1e-12)


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_blocks_and_dask_fit_the_same_clusters(centers):
    X, groups = people(200)

    by_blocks, by_dask = (
        RawlsianKMeans(3, centers=centers, **FEW).fit(kind, sensitive_features=groups)
        for kind in (open_blocks(X, block_size=70), da.from_array(X, chunks=(90, 4)))
    )

    assert np.array_equal(by_blocks.labels_, np.asarray(by_dask.labels_))
    assert np.array_equal(by_blocks.cluster_centers_, by_dask.cluster_centers_)


def test_intervals_of_an_audit_hold_in_95_of_100_samples():
    def audited(n_people, seed):
        rng = np.random.default_rng(seed)
        groups = np.repeat([0, 1], n_people)
        X = rng.normal(size=(2 * n_people, 3)) * np.array([1.0, 1.3])[groups, None]
        labels = np.zeros(2 * n_people, int)
        return audit(X, labels, groups, n_bootstrap=99, random_state=seed)

    truth = audited(100_000, 0).behind[1]
    n_held = 0
    for seed in range(1, 201):
        low, high = audited(60, seed).intervals[1]
        n_held += bool(low <= truth <= high)

    assert 0.90 <= n_held / 200 <= 0.99
