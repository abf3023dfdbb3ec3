"""Sources of out-of-core rows, and errors in them."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from rawlsian import (
    FairLloyd,
    RawlsianKMeans,
    RawlsianPostprocessor,
    audit,
    group_utilities,
    kmeans_restarts,
    open_blocks,
    proved_bound,
    traverse,
    utility_gap,
)
from support.people import FEW, people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write nine Parquet files, each with 300 people."""
    place = tmp_path_factory.mktemp("people")
    X, groups = people(2700)
    for part in range(9):
        rows = slice(300 * part, 300 * part + 300)
        frame = pd.DataFrame(X[rows], columns=list("wxyz"))
        frame["sex"] = groups[rows]
        frame["weight"] = 1.0
        frame.to_parquet(place / f"part-{part}.parquet")
    return place


def rewrite(folder, tmp_path, part, change):
    """Copy the folder with one part changed; return the pattern of its files."""
    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path)
        if path.name == f"part-{part}.parquet":
            table = change(table)
        pq.write_table(table, tmp_path / path.name)
    return str(tmp_path / "*.parquet")


# --- Sources ---


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("centers", ["free", "mean"])
def test_block_size_changes_nothing(kind, centers):
    X, groups = people(250)
    X = X.astype(kind)
    fits = [
        RawlsianKMeans(4, centers=centers, **FEW).fit(
            open_blocks(X, block_size=size), sensitive_features=groups
        )
        for size in (7, 150, 65_536)
    ]
    for fit in fits[1:]:
        assert (fit.cluster_centers_ == fits[0].cluster_centers_).all()
        assert (fit.labels_ == fits[0].labels_).all()
        assert (fit.group_costs_ == fits[0].group_costs_).all()
        assert fit.n_passes_ == fits[0].n_passes_ <= 30


def test_a_npy_file_a_memmap_and_an_array_are_the_same(tmp_path):
    X, groups = people()
    np.save(tmp_path / "people.npy", X)
    mapped = np.load(tmp_path / "people.npy", mmap_mode="r")
    fits = [
        RawlsianKMeans(3, **FEW).fit(open_blocks(source), sensitive_features=groups)
        for source in (tmp_path / "people.npy", str(tmp_path / "people.npy"), mapped, X)
    ]
    assert all((fit.labels_ == fits[0].labels_).all() for fit in fits)


def test_a_large_memmap_is_taken_as_blocks_and_a_small_one_as_an_array(tmp_path):
    X, groups = people(40_000, 2)
    np.save(tmp_path / "people.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "people.npy", mmap_mode="r")
    large = RawlsianKMeans(2, **FEW).fit(mapped, sensitive_features=groups)
    small = RawlsianKMeans(2, **FEW).fit(mapped[:500], sensitive_features=groups[:500])
    assert large.n_passes_ > 0
    assert not hasattr(small, "n_passes_")
    assert (large.predict(mapped) == large.labels_).all()


def test_what_joblib_maps_is_taken_as_the_array_that_it_was():
    X, groups = people(40_000, 2)
    here = RawlsianKMeans(2, **FEW).fit(X, sensitive_features=groups)
    jobs = joblib.Parallel(n_jobs=2, max_nbytes=1)
    (there,) = jobs(
        joblib.delayed(RawlsianKMeans(2, **FEW).fit)(X, sensitive_features=groups)
        for _ in range(1)
    )
    assert (there.labels_ == here.labels_).all()


def test_one_weight_for_all_rows_changes_nothing():
    X, groups = people()
    fits = [
        RawlsianKMeans(2, **FEW).fit(
            open_blocks(X), sensitive_features=groups, sample_weight=weight
        )
        for weight in (None, 2.0)
    ]
    assert (fits[0].labels_ == fits[1].labels_).all()


def test_parquet_files_are_one_table_in_the_order_of_their_names(folder):
    X, groups = people(2700)
    options = {"columns": list("wxyz"), "block_size": 250}
    expected = RawlsianKMeans(3, **FEW).fit(open_blocks(X), sensitive_features=groups)
    paths = sorted(map(str, folder.glob("*.parquet")))
    for source in (str(folder / "*.parquet"), folder, paths):
        blocks = open_blocks(source, **options)
        fit = RawlsianKMeans(3, **FEW).fit(blocks, sensitive_features="sex")
        assert (fit.labels_ == expected.labels_).all()
        assert fit.groups_.tolist() == ["a", "b"]
        assert fit.feature_names_in_.tolist() == list("wxyz")
    weighted = RawlsianKMeans(3, **FEW).fit(
        blocks, sensitive_features=["sex"], sample_weight="weight"
    )
    assert (weighted.labels_ == expected.labels_).all()


def test_columns_are_found_by_name_whatever_their_order(folder, tmp_path):
    pattern = rewrite(
        folder, tmp_path, 3, lambda table: table.select(table.column_names[::-1])
    )
    fits = [
        RawlsianKMeans(3, **FEW).fit(
            open_blocks(source, columns=list("wxyz")), sensitive_features="sex"
        )
        for source in (folder, pattern)
    ]
    assert (fits[0].labels_ == fits[1].labels_).all()


def test_a_part_without_rows_changes_nothing(folder, tmp_path):
    pattern = rewrite(folder, tmp_path, 4, lambda table: table.slice(0, 0))
    blocks = open_blocks(pattern, columns=list("wxyz"))
    fit = RawlsianKMeans(3, **FEW).fit(blocks, sensitive_features="sex")
    assert len(fit.labels_) == 2400


def test_a_group_that_is_in_one_part_only_is_a_group(folder, tmp_path):
    def change(table):
        rows = pa.array(["c"] * 20 + table.column("sex").to_pylist()[20:])
        place = table.column_names.index("sex")
        return table.set_column(place, "sex", rows)

    pattern = rewrite(folder, tmp_path, 5, change)
    blocks = open_blocks(pattern, columns=list("wxyz"))
    fit = RawlsianKMeans(3, **FEW).fit(blocks, sensitive_features="sex")
    assert fit.groups_.tolist() == ["a", "b", "c"]
    assert len(fit.group_costs_) == 3


def test_several_sensitive_columns_make_intersections(folder):
    blocks = open_blocks(folder, columns=list("wx"))
    fit = RawlsianKMeans(2, **FEW).fit(blocks, sensitive_features=["sex", "weight"])
    assert fit.groups_.tolist() == [("a", 1.0), ("b", 1.0)]


def test_integers_and_columns_of_fortran_are_read_as_floats():
    X, groups = people()
    whole = np.asfortranarray((10 * X).astype(np.int64))
    fits = [
        RawlsianKMeans(2, **FEW).fit(open_blocks(source), sensitive_features=groups)
        for source in (whole, whole.astype(float))
    ]
    assert (fits[0].labels_ == fits[1].labels_).all()


# --- What is wrong ---


def one_sentence(error):
    text = str(error.value)
    assert "\n" not in text
    return text


def test_a_missing_column_is_told_with_its_file(folder, tmp_path):
    pattern = rewrite(folder, tmp_path, 6, lambda table: table.drop_columns(["y"]))
    with pytest.raises(ValueError, match=r"part-6.parquet' has no column 'y'") as error:
        open_blocks(pattern, columns=list("wxyz"))
    one_sentence(error)


def test_a_nan_is_told_with_its_file_column_and_row(folder, tmp_path):
    def change(table):
        values = table.column("x").to_pylist()
        values[17] = float("nan")
        place = table.column_names.index("x")
        return table.set_column(place, "x", pa.array(values))

    pattern = rewrite(folder, tmp_path, 7, change)
    blocks = open_blocks(pattern, columns=list("wxyz"))
    with pytest.raises(ValueError, match=r"column 'x' of row 17 of .*part-7") as error:
        RawlsianKMeans(3, pooling=0).fit(blocks, sensitive_features="sex")
    one_sentence(error)


def test_a_null_group_is_told_with_its_file(folder, tmp_path):
    def change(table):
        values = [None, *table.column("sex").to_pylist()[1:]]
        return table.set_column(
            table.column_names.index("sex"), "sex", pa.array(values)
        )

    blocks = open_blocks(rewrite(folder, tmp_path, 2, change), columns=["w"])
    with pytest.raises(ValueError, match=r"missing value.*row 0 of .*part-2"):
        RawlsianKMeans(3, pooling=0).fit(blocks, sensitive_features="sex")


def test_a_sensitive_column_that_a_part_lacks_is_told_with_its_file(folder, tmp_path):
    pattern = rewrite(folder, tmp_path, 8, lambda table: table.drop_columns(["sex"]))
    blocks = open_blocks(pattern, columns=["w"])
    with pytest.raises(ValueError, match=r"'sex', which .*part-8"):
        RawlsianKMeans(3, pooling=0).fit(blocks, sensitive_features="sex")


def test_text_among_the_columns_is_told(folder):
    with pytest.raises(ValueError, match=r"column 'sex' of .* is not numeric"):
        open_blocks(folder, columns=["w", "sex"])


def test_columns_of_parquet_must_be_named(folder):
    with pytest.raises(ValueError, match="columns must list the columns"):
        open_blocks(folder)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nothing/*.parquet", "no file matches"),
        ("nothing.npy", "cannot be mapped"),
        ("nothing.parquet", "is no Parquet file"),
        (np.arange(3.0), "two dimensions"),
        (np.array([["a"]]), "two dimensions"),
        ([[1.0, 2.0]], "two dimensions"),
    ],
)
def test_what_cannot_be_opened_is_told(source, message):
    with pytest.raises(ValueError, match=message) as error:
        open_blocks(source, columns=["x"] if "parquet" in str(source) else None)
    one_sentence(error)


def test_masked_and_sparse_rows_are_told():
    masked = np.ma.masked_less(people(30)[0], 0)
    with pytest.raises(ValueError, match="masked value"):
        open_blocks(masked)
    with pytest.raises(ValueError, match="sparse"):
        open_blocks(csr_array(people(30)[0]))


@pytest.mark.parametrize("size", [0, -1, 2.5, "many", True])
def test_block_sizes_that_are_none_are_told(size):
    with pytest.raises(ValueError, match="block_size"):
        open_blocks(np.ones((3, 2)), block_size=size)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensitive_features": ["a"] * 7}, "has 7 rows, but X has 3,000"),
        ({"sensitive_features": "sex"}, "an array, which has no named columns"),
        ({"sample_weight": [-1.0] * 3000}, "must not be negative.*from -1.0 to -1.0"),
        ({"sample_weight": [0.0] * 3000}, "all zero"),
        ({"sample_weight": [1.0] + [1e-9] * 2999}, "spans from"),
        ({"sample_weight": ["1"] * 3000}, "must be numbers"),
        ({"sample_weight": [1.0]}, "has 1 rows, but X has 3,000"),
        ({"sample_weight": np.ones((3000, 1))}, "has shape"),
        ({"sensitive_features": 5}, "is 5; give one value for each row"),
    ],
)
def test_columns_that_do_not_go_with_the_rows_are_told(change, message):
    X, groups = people()
    given = {"sensitive_features": groups, **change}
    with pytest.raises(ValueError, match=message) as error:
        RawlsianKMeans(2, pooling=0).fit(open_blocks(X, block_size=1000), **given)
    one_sentence(error)


def test_rows_that_make_no_clusters_are_told():
    with pytest.raises(ValueError, match="n_clusters=5 is more than the 3 rows"):
        RawlsianKMeans(5, pooling=0).fit(open_blocks(np.ones((3, 1))))
    with pytest.raises(ValueError, match="more than can be told apart"):
        RawlsianKMeans(2, centers="mean", pooling=0).fit(open_blocks(np.ones((9, 1))))
    with pytest.raises(ValueError, match="X has 0 rows"):
        open_blocks(np.ones((0, 1)))
    with pytest.raises(ValueError, match="squares overflow"):
        RawlsianKMeans(1, pooling=0).fit(open_blocks(np.array([[1e200], [-1e200]])))
    with pytest.raises(ValueError, match="minimum of 2"):
        RawlsianKMeans(1, pooling=0).fit(open_blocks(np.ones((1, 1))))


def test_what_takes_rows_in_memory_only_says_so():
    X, groups = people()
    blocks, labels = open_blocks(X), np.arange(3000) % 3
    with pytest.raises(ValueError, match="FairLloyd takes rows in memory"):
        FairLloyd(2).fit(blocks)
    with pytest.raises(ValueError, match="takes rows in memory"):
        RawlsianKMeans(2, bound="group", pooling=0).fit(blocks)
    with pytest.raises(ValueError, match="takes rows in memory"):
        RawlsianPostprocessor(bound="group").fit(blocks)
    with pytest.raises(ValueError, match="'batch' or 'rawls' for data out of core"):
        traverse(blocks, labels, groups, operator="R1")
    with pytest.raises(ValueError, match="kmeans_restarts takes rows in memory, but X"):
        kmeans_restarts(blocks, 2, n_runs=1)
    with pytest.raises(ValueError, match="proved_bound takes rows in memory, but X"):
        proved_bound(blocks, groups, n_clusters=2)
    with pytest.raises(ValueError, match="group_utilities takes rows in memory, but X"):
        group_utilities(blocks, labels, groups)
    with pytest.raises(ValueError, match="utility_gap takes rows in memory, but X"):
        utility_gap(blocks, labels, groups)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(3000, -1), "below 0"),
        (np.full(3000, 0.5), "integers"),
        (np.full(3000, 2), "gap.*only 1 different values occur in rows with weight"),
        (np.zeros(5, int), "has 5 rows"),
    ],
)
def test_labels_that_are_none_are_told(labels, message):
    X, groups = people()
    with pytest.raises(ValueError, match=message):
        audit(open_blocks(X), labels, groups)


def test_columns_other_than_those_of_fit_are_told(folder):
    blocks = open_blocks(folder, columns=["w", "x"])
    fit = RawlsianKMeans(2, **FEW).fit(blocks, sensitive_features="sex")
    with pytest.raises(ValueError, match="fitted on w, x, in this order"):
        fit.predict(open_blocks(folder, columns=["x", "w"]))
    with pytest.raises(ValueError, match="expecting 2 features"):
        fit.predict(open_blocks(folder, columns=["x"]))


def test_a_nan_among_new_rows_is_told():
    X, groups = people()
    fit = RawlsianKMeans(2, **FEW).fit(open_blocks(X), sensitive_features=groups)
    X[7, 1] = np.inf
    with pytest.raises(ValueError, match="NaN or infinity, first in column 1 of row 7"):
        fit.predict(open_blocks(X))


@pytest.mark.parametrize("options", [{"columns": ["a"]}, {"block_size": 3}])
def test_options_that_open_blocks_cannot_have_are_refused(options):
    with pytest.raises(ValueError, match="no effect on Blocks, which are open"):
        open_blocks(open_blocks(np.zeros((4, 2))), **options)
