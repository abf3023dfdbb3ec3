"""Dask collections, on threads and on a cluster of worker processes."""

from __future__ import annotations

import os
import signal

import dask
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from distributed import Client, get_worker
from sklearn.cluster import KMeans

from rawlsian import (
    FairLloyd,
    PassStep,
    RawlsianKMeans,
    RawlsianPostprocessor,
    audit,
    kmeans_restarts,
    open_blocks,
    run_study,
    traverse,
)
from rawlsian._rows import dask as rawlsian_dask
from rawlsian.study import beyond
from support.clusters import worker_processes
from support.people import people
from support.study import SMALLEST, small_samples, without_seconds

# A connection that is closed while a worker is killed, and ports that are taken.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Port .* is already in use"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

N_ROWS = 900
FEW = {"pooling": 0, "n_init": 2, "n_crossings": 0, "random_state": 0}


@pytest.fixture(scope="module")
def cluster():
    with worker_processes() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    cluster.scale(2)
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def one_machine():
    """Fit the same rows out of core without Dask."""
    X, groups = people(N_ROWS)
    return {
        centers: RawlsianKMeans(3, centers=centers, **FEW).fit(
            open_blocks(X), sensitive_features=groups
        )
        for centers in ("free", "mean")
    }


def chunked(size=200, n_rows=N_ROWS):
    X, groups = people(n_rows)
    return da.from_array(X, chunks=(size, 4)), da.from_array(groups, chunks=size)


def same(fit, expected):
    assert (fit.cluster_centers_ == expected.cluster_centers_).all()
    assert (fit.labels_.compute() == expected.labels_).all()
    assert (fit.group_costs_ == expected.group_costs_).all()


# --- Collections, on this machine's threads ---


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_a_dask_array_gives_what_blocks_give_and_labels_of_its_kind(
    centers, one_machine
):
    X, groups = chunked()
    fit = RawlsianKMeans(3, centers=centers, **FEW).fit(X, sensitive_features=groups)
    same(fit, one_machine[centers])
    assert isinstance(fit.labels_, da.Array)
    assert fit.labels_.chunks[0] == X.chunks[0]


def test_chunks_that_differ_and_columns_in_several_chunks_are_the_same(one_machine):
    X, groups = people(N_ROWS)
    fit = RawlsianKMeans(3, **FEW).fit(
        da.from_array(X, chunks=(350, 2)),
        sensitive_features=da.from_array(groups, chunks=225),
    )
    same(fit, one_machine["free"])


def test_groups_may_be_in_memory(one_machine):
    X, _ = chunked()
    groups = people(N_ROWS)[1]
    for given in (groups, groups.tolist(), pd.Series(groups)):
        fit = RawlsianKMeans(3, **FEW).fit(X, sensitive_features=given)
        same(fit, one_machine["free"])


def test_a_dask_frame_and_its_columns_are_taken(one_machine):
    X, groups = people(N_ROWS)
    frame = pd.DataFrame(X, columns=list("wxyz"))
    frame["sex"], frame["weight"] = groups, 1.0
    people_ = dd.from_pandas(frame, npartitions=5)
    fit = RawlsianKMeans(3, **FEW).fit(
        people_[list("wxyz")],
        sensitive_features=people_["sex"],
        sample_weight=people_["weight"],
    )
    same(fit, one_machine["free"])
    assert fit.feature_names_in_.tolist() == list("wxyz")
    assert (fit.predict(people_[list("wxyz")]).compute() == fit.labels_.compute()).all()
    both = RawlsianKMeans(2, **FEW).fit(
        people_[list("wx")], sensitive_features=people_[["sex", "weight"]]
    )
    assert both.groups_.tolist() == [("a", 1.0), ("b", 1.0)]


def test_columns_of_parquet_that_dask_reads_go_together(tmp_path, one_machine):
    X, groups = people(N_ROWS)
    for part, rows in enumerate(np.array_split(np.arange(N_ROWS), 6)):
        frame = pd.DataFrame(X[rows], columns=list("wxyz"))
        frame["sex"] = groups[rows]
        for j in range(20):  # many columns that are not read
            frame[f"other_{j}"] = 0.0
        frame.to_parquet(tmp_path / f"{part}.parquet")
    frame = dd.read_parquet(tmp_path / "*.parquet")
    fit = RawlsianKMeans(3, **FEW)
    fit.fit(frame[list("wxyz")], sensitive_features=frame["sex"])
    same(fit, one_machine["free"])


def test_predict_and_transform_are_worked_out_when_asked_for(one_machine):
    X, groups = chunked()
    fit = one_machine["free"]
    labels = fit.predict(X)
    assert isinstance(labels, da.Array)
    assert (labels.compute() == fit.labels_).all()
    distances = fit.transform(X)
    assert distances.shape == (N_ROWS, 3)
    np.testing.assert_allclose(distances.compute(), fit.transform(people(N_ROWS)[0]))
    assert fit.score(X, sensitive_features=groups) == -fit.group_costs_.max()


def test_chunks_without_rows_change_nothing(one_machine):
    X, groups = people(N_ROWS)
    chunks = (0, 700, 0, N_ROWS - 700, 0)
    rows = da.from_array(X, chunks=(chunks, 4))
    fit = RawlsianKMeans(3, **FEW).fit(
        rows, sensitive_features=groups, sample_weight=np.ones(N_ROWS)
    )
    same(fit, one_machine["free"])
    kmeans = KMeans(3, n_init=1, random_state=0)
    fair = RawlsianPostprocessor(kmeans, utility="assigned")
    fair.fit(rows, sensitive_features=groups)
    assert fair.labels_.shape == (N_ROWS,)
    with pytest.raises(ValueError, match="minimum of 2"):
        RawlsianKMeans(2, pooling=0).fit(
            da.ones((0, 2), chunks=(0, 2)), sensitive_features=da.ones(0)
        )


def test_groups_in_a_list_keep_their_types():
    X = da.from_array(people(6)[0], chunks=(3, 4))
    fit = RawlsianKMeans(1, pooling=0).fit(X, sensitive_features=[1, "b", 1, "b", 1, 1])
    assert fit.groups_.tolist() == [1, "b"]
    with pytest.raises(ValueError, match="missing"):
        RawlsianKMeans(1, pooling=0).fit(X, sensitive_features=["a", None] * 3)


def test_what_needs_rows_in_memory_does_not_fetch_them():
    X, _ = chunked()
    with pytest.raises(ValueError, match="takes rows in memory, but X"):
        kmeans_restarts(X, 2, n_runs=1)
    with pytest.raises(ValueError, match="takes rows in memory, but X"):
        FairLloyd(2).fit(X)


def test_walking_and_auditing_take_dask_arrays():
    X, groups = chunked(100, 300)
    rows, names = people(300)
    start = KMeans(4, n_init=1, random_state=0).fit_predict(rows)
    ours = traverse(X, da.from_array(start, chunks=100), groups, operator="rawls")
    theirs = traverse(open_blocks(rows), start, names, operator="rawls")
    assert (ours.labels.compute() == theirs.labels).all()
    assert (ours.utilities == theirs.utilities).all()
    result = audit(X, ours.labels, groups)
    assert result.utilities.min() == pytest.approx(ours.utilities[-1].min())
    kmeans = KMeans(4, n_init=1, random_state=0)
    fair = RawlsianPostprocessor(kmeans, utility="assigned")
    fair.fit(X, sensitive_features=groups)
    assert isinstance(fair.labels_, da.Array)


def test_a_postprocessor_fitted_in_memory_predicts_dask_arrays():
    X, _ = chunked()
    rows, names = people(N_ROWS)
    kmeans = KMeans(4, n_init=1, random_state=0)
    fair = RawlsianPostprocessor(kmeans)
    found = fair.fit(rows, sensitive_features=names).predict(X)
    assert isinstance(found, da.Array)
    assert (found.compute() == fair.labels_).all()


def test_an_audit_by_the_nearest_mean_takes_dask_arrays():
    X, groups = chunked()
    rows, names = people(N_ROWS)
    labels = np.arange(N_ROWS) % 4
    options = {"utility": "nearest", "n_bootstrap": 0}
    ours = audit(X, da.from_array(labels, chunks=200), groups, **options)
    theirs = audit(rows, labels, names, **options)
    assert (ours.cluster_sizes == theirs.cluster_sizes).all()
    np.testing.assert_allclose(ours.utilities, theirs.utilities)


@pytest.mark.parametrize(
    ("X", "groups", "message"),
    [
        (da.ones(5), None, "two dimensions"),
        (da.ones((5, 2)).astype(str), None, "of numbers"),
        (da.ones((5, 2), chunks=(2, 2)), da.ones(4), "has 4 rows, but X has 5"),
        (da.ones((5, 2), chunks=(2, 2)), ["a"] * 4, "has 4 rows, but X has 5"),
        (da.ones((5, 2), chunks=(2, 2)), "sex", "give the column itself"),
        (
            dd.from_pandas(pd.DataFrame({"x": ["a", "b"]}), npartitions=1),
            None,
            "column 'x' of X is not numeric",
        ),
        (
            dd.from_pandas(pd.DataFrame({"x": [1.0, 2.0, 3.0]}), npartitions=3),
            dd.from_pandas(pd.Series(["a", "b", "a"]), npartitions=1),
            "has 1 partitions, but X has 3",
        ),
        (
            da.from_array(np.array([[1.0], [np.nan], [2.0]]), chunks=(2, 1)),
            None,
            "row 1 of partition 0 is NaN",
        ),
    ],
)
def test_what_does_not_go_together_is_told(X, groups, message):
    with pytest.raises(ValueError, match=message) as error:
        RawlsianKMeans(2, pooling=0).fit(X, sensitive_features=groups)
    assert "\n" not in str(error.value)


# --- A cluster ---


@pytest.mark.parametrize("centers", ["free", "mean"])
def test_worker_processes_give_what_one_machine_gives(client, centers, one_machine):
    X, groups = chunked()
    fit = RawlsianKMeans(3, centers=centers, **FEW)
    fit.fit(X.persist(), sensitive_features=groups)
    same(fit, one_machine[centers])
    where = client.who_has(client.futures_of(fit.labels_))
    assert where
    assert all(where.values())  # the labels are with the workers


@pytest.mark.parametrize("n_workers", [1, 3])
def test_the_number_of_workers_changes_nothing(cluster, n_workers, one_machine):
    cluster.scale(n_workers)
    with Client(cluster) as client:
        client.wait_for_workers(n_workers, timeout=60)
        X, groups = chunked(250)
        fit = RawlsianKMeans(3, **FEW).fit(X, sensitive_features=groups)
        same(fit, one_machine["free"])


@pytest.fixture
def doomed():
    """Yield a client of two worker processes, which a test may kill."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        worker_processes() as cluster,
        Client(cluster) as client,
    ):
        yield client


def kill_a_worker(client):
    """Kill one of the worker processes, as if a machine failed."""
    (pid, *_) = client.run(os.getpid).values()
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(("centers", "at_pass"), [("free", 2), ("mean", 4)])
def test_a_fit_goes_on_where_a_worker_is_killed(doomed, centers, at_pass, one_machine):
    X, groups = chunked()
    X, groups = X.persist(), groups.persist()
    killed = []

    def kill(step):
        if isinstance(step, PassStep) and step.n_passes == at_pass:
            killed.append(at_pass)
            kill_a_worker(doomed)

    fit = RawlsianKMeans(3, centers=centers, callback=kill, **FEW)
    fit.fit(X, sensitive_features=groups)
    assert killed
    same(fit, one_machine[centers])


def test_a_fit_whose_workers_are_all_gone_says_so():
    X, groups = people(N_ROWS)
    with (
        dask.config.set({"rawlsian.no-workers-timeout": 1}),
        worker_processes(1) as cluster,
        Client(cluster) as client,
    ):

        def leave(step):
            if isinstance(step, PassStep) and step.n_passes == 3:
                cluster.scale(0)
                client.retire_workers()

        fit = RawlsianKMeans(3, callback=leave, **FEW)
        with pytest.raises(
            rawlsian_dask.ClusterError, match="no Dask worker is left"
        ) as error:
            fit.fit(da.from_array(X, chunks=(200, 4)), sensitive_features=groups)
        assert "\n" not in str(error.value)
        assert not hasattr(fit, "labels_")


def test_a_fit_whose_scheduler_is_gone_says_so():
    X, groups = people(N_ROWS)
    with worker_processes(1) as cluster, Client(cluster):

        def leave(step):
            if isinstance(step, PassStep) and step.n_passes == 3:
                cluster.close()

        fit = RawlsianKMeans(3, callback=leave, **FEW)
        with pytest.raises(rawlsian_dask.ClusterError, match="cluster is gone"):
            fit.fit(da.from_array(X, chunks=(200, 4)), sensitive_features=groups)


def test_a_fit_inside_of_a_worker_is_refused(client):
    def fit(n):
        return RawlsianKMeans(2, pooling=0).fit(da.ones((n, 2), chunks=(5, 2)))

    with pytest.raises(rawlsian_dask.ClusterError, match="inside of a Dask worker"):
        client.submit(fit, 20).result()


def test_a_scheduler_that_is_configured_is_used_instead_of_the_client(
    client, one_machine
):
    X, groups = chunked()
    with dask.config.set(scheduler="threads"):
        fit = RawlsianKMeans(3, **FEW).fit(X, sensitive_features=groups)
        same(fit, one_machine["free"])
    assert not client.futures_of(fit.labels_)


def test_a_block_that_ends_every_worker_is_told(doomed):
    X, groups = people(N_ROWS)

    def end(block):
        get_worker()
        os.kill(os.getpid(), signal.SIGKILL)
        return block

    rows = da.from_array(X, chunks=(N_ROWS, 4)).map_blocks(end, dtype=float)
    with pytest.raises(rawlsian_dask.ClusterError, match="again and again"):
        RawlsianKMeans(3, **FEW).fit(rows, sensitive_features=groups)


# --- Independent pieces of work ---


def test_restarts_run_on_the_workers_of_a_client(client):
    X, groups = people(200)
    options = {"n_runs": 37, "sensitive_features": groups, "random_state": 0}
    here = kmeans_restarts(X, 3, **options)
    with joblib.parallel_config(backend="dask"):
        there = kmeans_restarts(X, 3, **options)
    assert (there.utilities == here.utilities).all()
    assert (there.n_iter == here.n_iter).all()
    assert (there.labels(5) == here.labels(5)).all()


def test_samples_of_a_study_run_on_the_workers_of_a_client(client):
    with small_samples():
        here = run_study(SMALLEST)
        client.run(setattr, beyond, "PROVED_ROWS", beyond.PROVED_ROWS)  # small here
        with joblib.parallel_config(backend="dask"):
            there = run_study(SMALLEST)
    assert without_seconds(there) == without_seconds(here)
