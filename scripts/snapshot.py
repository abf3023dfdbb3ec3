"""Record the package's results, to show that a refactoring changes none.

    scripts/snapshot write before.json      # at one commit
    scripts/snapshot write after.json       # at another
    scripts/snapshot compare before.json after.json

Arrays and files are recorded as SHA-256 of their bytes. Sentences of ``--json``, and
public names with their signatures, are recorded as text: a change of these is shown but
does not fail. Only public names are used. Takes about two minutes on two cores.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import tempfile
import warnings
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

SEEDS = (0, 1, 2)
OPERATORS = ("R1", "R2", "R1+R2", "R2-exhaustive", "batch", "relocate", "rawls")
LARGE_OPERATORS = ("batch", "rawls")
# Keys of --json whose values are sentences, or say how much work it was.
WORDS = ("remarks", "reason", "not_clustered_on", "passes", "pooling", "new_people",
         "tried", "chosen_by", "choices")  # fmt: skip

PUBLIC_MODULES = ("bounds", "datasets", "metrics", "operators", "plotting",
                  "preprocessing", "report", "study")  # fmt: skip

numbers: dict[str, str] = {}
words: dict[str, Any] = {}
names: dict[str, str] = {}


def main() -> int:
    """Write a snapshot, or compare two."""
    match sys.argv[1:]:
        case ["write", path]:
            record()
            content = {"numbers": numbers, "words": words, "names": names}
            Path(path).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
            print(f"{len(numbers)} results in {path}")
            return 0
        case ["compare", first, second]:
            return compare(*(json.loads(Path(p).read_text()) for p in (first, second)))
    print(__doc__)
    return 2


def compare(first: dict[str, Any], second: dict[str, Any]) -> int:
    """Print what differs; 1 if a number does."""
    for kind in ("words", "names", "numbers"):
        ours, theirs = first[kind], second[kind]
        every = sorted(ours.keys() | theirs.keys())
        differing = [name for name in every if ours.get(name) != theirs.get(name)]
        for name in differing:
            shown = (
                f": {ours.get(name)} -> {theirs.get(name)}" if kind == "names" else ""
            )
            print(f"{kind} differ: {name}{shown}")
        print(f"{kind}: {len(every) - len(differing)} equal, {len(differing)} differ")
    return int(first["numbers"] != second["numbers"])


def keep(name: str, *values: Any) -> None:
    """Record the bytes of arrays, numbers and texts."""
    digest = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            digest.update(repr(array.tolist()).encode())
        else:
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    assert name not in numbers, name
    numbers[name] = digest.hexdigest()


def record() -> None:
    """Run everything in a new folder."""
    warnings.simplefilter("ignore")
    public_names()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for seed in SEEDS:
            in_memory(seed)
            out_of_core(seed)
        sampled()
        measures()
        study()
        tables()


def public_names() -> None:
    """Record the signature of each public function, class, method and attribute."""
    for module in ("rawlsian", *(f"rawlsian.{each}" for each in PUBLIC_MODULES)):
        found = import_module(module)
        for name in found.__all__:
            each = getattr(found, name)
            names[f"{module}.{name}"] = signature(each)
            if inspect.isclass(each):
                for member in {*dir(each), *getattr(each, "__annotations__", {})}:
                    if is_ours(each, member):
                        value = inspect.getattr_static(each, member, None)
                        names[f"{module}.{name}.{member}"] = signature(value)


def is_ours(found: type, member: str) -> bool:
    """Return True for public members that this package defines."""
    owners = [
        each for each in found.__mro__
        if member in vars(each) or member in getattr(each, "__annotations__", {})
    ]  # fmt: skip
    is_inside = bool(owners) and owners[0].__module__.split(".")[0] == "rawlsian"
    return is_inside and not member.startswith("_")


def signature(value: Any) -> str:
    """Return names, kinds and defaults of the parameters, or the kind of object."""
    if not callable(value):
        return "property" if isinstance(value, property) else "attribute"
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "callable"
    empty = inspect.Parameter.empty
    bare = [each.replace(annotation=empty) for each in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=empty))


def people(seed: int, n: int, d: int, n_groups: int) -> tuple[Any, Any, Any]:
    """Return rows in clumps, groups and weights."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n)
    groups[:n_groups] = np.arange(n_groups)
    lumps = rng.normal(scale=2.0, size=(6, d))[rng.integers(0, 6, n)]
    X = lumps + rng.normal(size=(n, d)) * (1 + 0.5 * groups[:, None])
    return X, np.array(list("abcdefgh"))[groups], rng.uniform(0.5, 2.0, n)


def problems(seed: int) -> dict[str, tuple[Any, Any, Any, int]]:
    """Return rows, groups, weights and numbers of clusters of several problems."""
    from rawlsian import load_adult

    adult = load_adult(sample=150, random_state=seed)
    dense = people(seed, 240, 5, 4)
    grid = np.random.default_rng(seed).integers(0, 3, size=(90, 2)).astype(float)
    return {
        "adult": (adult.data, adult.sensitive_features, None, 5),
        "dense": (*dense, 4),
        "one group": (dense[0][:80], None, None, 3),
        "ties": (grid, np.array(list("xyz"))[np.arange(90) % 3], None, 3),
    }


def fitted(name: str, estimator: Any) -> None:
    """Record an estimator's fitted attributes."""
    found = [np.asarray(estimator.labels_), estimator.cluster_centers_]
    optional = ("group_costs_", "group_utilities_", "group_weights_", "inertia_",
                "gap_closed_", "proved_gap_", "n_iter_", "n_passes_")  # fmt: skip
    found += [getattr(estimator, each) for each in optional if hasattr(estimator, each)]
    keep(name, *found, estimator.groups_)


def walked(name: str, way: Any) -> None:
    """Record a trajectory."""
    keep(name, np.asarray(way.labels), np.asarray(way.start_labels), way.utilities,
         way.overall, way.cluster_centers, way.n_iter, way.stop_reason)  # fmt: skip


def in_memory(seed: int) -> None:
    """Record every estimator, operator and bound on rows in memory."""
    from sklearn.cluster import KMeans

    from rawlsian import (
        FairLloyd,
        RawlsianKMeans,
        RawlsianPostprocessor,
        frontier,
        group_bound,
        proved_bound,
        traverse,
    )

    for data, (X, groups, weights, k) in problems(seed).items():
        given = {"sensitive_features": groups, "sample_weight": weights}
        for centers in ("free", "mean"):
            fair = RawlsianKMeans(k, centers=centers, n_init=8, n_crossings=40,
                                  random_state=seed, **unpooled())  # fmt: skip
            fair.fit(X, **given)
            fitted(f"memory {data} {seed} {centers}", fair)
            keep(f"memory {data} {seed} {centers} new", fair.predict(X),
                 fair.transform(X), fair.score(X, **given))  # fmt: skip
        fitted(f"memory {data} {seed} fair-lloyd",
               FairLloyd(k, random_state=seed).fit(X, **given))  # fmt: skip
        start = KMeans(k, n_init=2, random_state=seed).fit(X).labels_
        for operator in OPERATORS:
            way = traverse(X, start, groups, operator=operator, sample_weight=weights,
                           max_iter=40)  # fmt: skip
            walked(f"memory {data} {seed} {operator}", way)
        for utility in ("assigned", "nearest"):
            fair = RawlsianPostprocessor(KMeans(k, n_init=2), utility=utility,
                                         bound="group", random_state=seed)  # fmt: skip
            fitted(f"memory {data} {seed} postprocessor {utility}",
                   fair.fit(X, **given))  # fmt: skip
        some = {"n_clusters": k, "sample_weight": weights, "random_state": seed}
        points = frontier(X, groups, n_points=5, **some)
        keep(f"memory {data} {seed} frontier", points.utilities, points.overall,
             points.cluster_centers)  # fmt: skip
        if data in ("adult", "dense"):
            keep(f"memory {data} {seed} group bound",
                 group_bound(X, groups, **some).cost)  # fmt: skip
            bound = proved_bound(X, groups, max_rows=60, max_iter=20, **some)
            keep(f"memory {data} {seed} proved bound", bound.cost, bound.group_weights)


def sources(X: Any, groups: Any, weights: Any, folder: str) -> dict[str, Any]:
    """Return the same rows in every kind of source, with groups and weights."""
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from rawlsian import open_blocks

    Path(folder).mkdir()
    np.save(f"{folder}/rows.npy", X)
    names = [f"x{j}" for j in range(X.shape[1])]
    table = {**dict(zip(names, X.T, strict=True)), "group": groups, "weight": weights}
    half = len(X) // 2
    for part, rows in enumerate((slice(half), slice(half, None))):
        piece = pa.table({name: column[rows] for name, column in table.items()})
        pq.write_table(piece, f"{folder}/{part}.parquet", row_group_size=70)
    frame = dd.from_pandas(pd.DataFrame(table), npartitions=3, sort=False)
    parquet = open_blocks(f"{folder}/*.parquet", columns=names, block_size=100)
    return {
        "npy": (open_blocks(f"{folder}/rows.npy", block_size=97), groups, weights),
        "parquet": (parquet, "group", "weight"),
        "dask array": (da.from_array(X, chunks=(83, 2)), groups, weights),
        "dask frame": (frame[names], frame["group"], frame["weight"]),
    }


def out_of_core(seed: int) -> None:
    """Record every solver and operator that takes rows out of core."""
    from sklearn.cluster import KMeans

    from rawlsian import RawlsianKMeans, RawlsianPostprocessor, audit, traverse

    X, groups, weights = people(seed, 400, 3, 3)
    start = KMeans(3, n_init=2, random_state=seed).fit(X).labels_
    rows = sources(X, groups, weights, f"rows-{seed}")
    for place, (there, who, weight) in rows.items():
        name = f"{place} {seed}"
        given = {"sensitive_features": who, "sample_weight": weight}
        for centers in ("free", "mean"):
            fair = RawlsianKMeans(3, centers=centers, n_init=8, n_crossings=20,
                                  random_state=seed, **unpooled())  # fmt: skip
            fair.fit(there, **given)
            fitted(f"{name} {centers}", fair)
            keep(
                f"{name} {centers} new",
                np.asarray(fair.predict(there)),
                np.asarray(fair.transform(there)),
                fair.score(there, **given),
            )
        for operator in LARGE_OPERATORS:
            way = traverse(there, start, who, operator=operator, sample_weight=weight)
            walked(f"{name} {operator}", way)
        fitted(f"{name} postprocessor",
               RawlsianPostprocessor(KMeans(3, n_init=2), utility="assigned",
                                     random_state=seed)
               .fit(there, **given))  # fmt: skip
        for utility in ("assigned", "nearest"):
            report = audit(there, start, who, utility=utility, sample_weight=weight)
            audited(f"{name} audit {utility}", report)


def sampled() -> None:
    """Record fits with more rows than the sample has."""
    import dask.array as da

    from rawlsian import RawlsianKMeans, open_blocks

    X, groups, _ = people(5, 90_000, 3, 2)
    places = {
        "blocks": open_blocks(X, block_size=20_000),
        "dask": da.from_array(X, chunks=(30_000, 3)),
    }
    for place, there in places.items():
        for centers in ("free", "mean"):
            fair = RawlsianKMeans(3, centers=centers, n_init=4, n_crossings=8,
                                  random_state=0, **unpooled())  # fmt: skip
            fitted(f"sampled {place} {centers}",
                   fair.fit(there, sensitive_features=groups))  # fmt: skip


def audited(name: str, found: Any) -> None:
    """Record an audit."""
    keep(name, found.sizes, found.utilities, found.overall, found.gap, found.intervals,
         found.cluster_sizes, found.cluster_utilities, found.shortfalls())  # fmt: skip


def measures() -> None:
    """Record metrics, restarts and the encoder."""
    from rawlsian import (
        UnitDistanceEncoder,
        audit,
        group_utilities,
        kmeans_restarts,
        least_advantaged,
        load_adult,
        utility_gap,
        utility_ratio,
    )

    for seed in SEEDS:
        X, groups, weights = people(seed, 200, 4, 3)
        labels = np.arange(200) % 4
        audited(f"audit {seed}", audit(X, labels, groups, sample_weight=weights,
                                       random_state=seed))  # fmt: skip
        keep(f"measures {seed}", group_utilities(X, labels, groups),
             least_advantaged(X, labels, groups), utility_gap(X, labels, groups),
             utility_ratio(X, labels, groups))  # fmt: skip
        runs = kmeans_restarts(X, 4, n_runs=50, sensitive_features=groups,
                               random_state=seed)  # fmt: skip
        keep(f"restarts {seed}", runs.inertia, runs.utilities, runs.n_iter,
             runs.labels(runs.rawlsian))  # fmt: skip
    adult = load_adult()
    keep("adult", adult.data, adult.sensitive_features, adult.line_numbers)
    rows = [[20, "a", True], [30, "b", False], [25, "a", True]]
    encoder = UnitDistanceEncoder(handle_unknown="ignore").fit(rows)
    keep("encoder", encoder.transform([*rows, [90, "z", True]]), encoder.max_distance_,
         encoder.get_feature_names_out())  # fmt: skip


def study() -> None:
    """Record results.json of a small study, without seconds."""
    run(["study", "--runs", "200", "--samples", "2", "--out", "study"])
    results = json.loads(Path("study/results.json").read_text())
    keep("study", json.dumps(without_seconds(results), sort_keys=True))


def without_seconds(value: Any) -> Any:
    """Return the JSON without values that depend on the clock or the machine."""
    if isinstance(value, dict):
        return {
            name: without_seconds(each)
            for name, each in value.items()
            if "seconds" not in name and name not in ("versions", "environment")
        }
    return (
        [without_seconds(each) for each in value] if isinstance(value, list) else value
    )


# --- Tables ---


def tables() -> None:
    """Record ``--json`` and the files of fit, audit and predict on ten tables."""
    for place in range(10):
        path, options, sensitive = make_table(place)
        columns = [part for name in sensitive for part in ("--sensitive", name)]
        method = ("rawls", "kmeans-free", "R1", "kmeans-mean", "batch", "fair-lloyd",
                  "R2", "rawls", "R1+R2", "relocate")[place]  # fmt: skip
        clusters = "2:4" if place == 7 else "3"
        extra = ["--frontier", f"{place}-points.csv"] if place in (0, 3) else []
        command(f"table {place} fit", "fit", path, *columns, *options, "--clusters",
                clusters, "--method", method, "--out", f"{place}-labels.csv",
                "--save", f"{place}-model.json", *extra)  # fmt: skip
        command(f"table {place} audit", "audit", path, *columns, *options,
                "--labels", "segment")  # fmt: skip
        texts = ["--na", "?"] if "--na" in options else []
        run(["predict", f"{place}-model.json", path, "--missing", "drop", *texts,
             "--out", f"{place}-new.csv"])  # fmt: skip
        keep_file(f"{place}-new.csv")
        for written in ("labels.csv", "points.csv"):
            if Path(f"{place}-{written}").exists():
                keep_file(f"{place}-{written}")
        model = json.loads(Path(f"{place}-model.json").read_text())
        keep(f"{place}-model.json", model["centers"], json.dumps(model["features"]))
    parts()


def make_table(place: int) -> tuple[str, list[str], list[str]]:
    """Write one of the tables; return its name, options and sensitive columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(place)
    n = 60 + 12 * place
    table: dict[str, list[Any]] = {
        "id": [f"p{i:04}" for i in range(n)],
        "sex": rng.choice(["F", "M"], n).tolist(),
        "region": rng.choice(["north", "south", "west, far"], n).tolist(),
        "age": rng.integers(18, 80, n).tolist(),
        "income": rng.lognormal(10, 1, n).round(2).tolist(),
        "job": rng.choice(["cook", "nurse", "judge", "clerk"], n).tolist(),
        "since": [f"2020-01-{1 + i % 28:02}" for i in range(n)],
        "segment": rng.choice(["S1", "S2", "S3"], n).tolist(),
    }
    options: list[str] = []
    if place in (2, 5):
        for column in ("age", "job", "sex"):
            for i in rng.choice(n, 4, replace=False):
                table[column][i] = "?" if column != "age" else ""
        options += ["--na", "?", "--missing", "drop" if place == 2 else "category"]
    if place == 4:
        options += ["--use-sensitive", "--id", "id", "--categorical", "age"]
    sensitive = ["sex", "region"] if place in (3, 8) else ["sex"]
    if place == 6:
        pq.write_table(pa.table(table), "6.parquet")
        return "6.parquet", options, sensitive
    path, mark = (f"{place}.tsv", "\t") if place == 9 else (f"{place}.csv", ",")
    lines = [mark.join(table)]
    for row in zip(*table.values(), strict=True):
        cells = (f'"{cell}"' if mark in str(cell) else str(cell) for cell in row)
        lines.append(mark.join(cells))
    Path(path).write_text("\n".join(lines) + "\n")
    return path, options, sensitive


def parts() -> None:
    """Record a table in parts, on threads and with Dask."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    Path("parts").mkdir()
    rng = np.random.default_rng(11)
    for part in range(3):
        n = 150 + part
        columns = {
            "sex": rng.choice(["F", "M"], n),
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["cook", "nurse", "judge"], n),
            "segment": rng.choice(["S1", "S2"], n),
        }
        pq.write_table(pa.table(columns), f"parts/{part}.parquet")
    for engine, methods in (
        ("blocks", ("rawls", "batch", "kmeans-free", "kmeans-mean")),
        ("dask", ("rawls", "kmeans-free")),
    ):
        for method in methods:
            out = f"out-{engine}-{method}"
            served = () if method.startswith("kmeans") else ("--served-by", "members")
            command(f"parts {engine} {method}", "fit", "parts", "--sensitive", "sex",
                    "--clusters", "3", "--method", method, "--engine", engine,
                    "--out", out, *served)  # fmt: skip
            for path in sorted(Path(out).glob("*.parquet")):
                read = pq.read_table(path)
                keep(str(path), *(read[name].to_pylist() for name in read.column_names))
        command(f"parts {engine} audit", "audit", "parts", "--sensitive", "sex",
                "--labels", "segment", "--engine", engine)  # fmt: skip


def unpooled() -> dict[str, float]:
    """Return the argument that asks for no pooling, if there is pooling."""
    from rawlsian import RawlsianKMeans

    known = inspect.signature(RawlsianKMeans).parameters
    return {"pooling": 0.0} if "pooling" in known else {}


def command(name: str, *arguments: str) -> None:
    """Record --json: numbers as a digest, sentences as text."""
    content = json.loads(run([*arguments, "--json"]))
    words[name] = {key: content.pop(key) for key in WORDS if key in content}
    for each in content.get("rows_not_clustered", []):
        words[name].setdefault("reasons", []).append(each.pop("reason"))
    keep(name, json.dumps(content, sort_keys=True))


def run(arguments: list[str]) -> str:
    """Run a command in this process; return its output. A fit does not pool."""
    from typer.testing import CliRunner

    from rawlsian import fit_table
    from rawlsian.cli import app

    if arguments[0] == "fit" and "pooling" in inspect.signature(fit_table).parameters:
        arguments = [*arguments, "--no-new-people"]
        if "fair-lloyd" not in arguments:
            arguments += ["--pooling", "0"]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    if done.exit_code:
        raise SystemExit(f"rawlsian {' '.join(arguments)}: {done.output}")
    return done.stdout


def keep_file(path: str) -> None:
    """Record the bytes of a file."""
    keep(path, Path(path).read_text())


if __name__ == "__main__":
    sys.exit(main())
