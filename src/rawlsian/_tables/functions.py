"""Public functions on tables: fit, audit, predict, as the command line does.

Nothing here needs pyarrow until a function is called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rawlsian._tables.audit_result import TableAudit
from rawlsian._tables.results import TableFit, TablePrediction

if TYPE_CHECKING:
    from rawlsian._tables.model import Model

Names = str | Iterable[str]
ByColumn = str | Iterable[str] | Mapping[str, Any]
PathLike = str | os.PathLike[str]
Progress = Callable[[str, int, int | None], object]


def fit_table(
    table: Any,
    sensitive: Names,
    *,
    clusters: int | str | range | tuple[int, int] | None = None,
    choose_by: str | None = None,
    method: str | None = None,
    choose: str | int | None = None,
    served_by: str | None = None,
    start: str | None = None,
    max_moved: str | int | None = None,
    max_loss: str | float | None = None,
    min_group: int = 30,
    pooling: float | str | None = None,
    new_people: bool = True,
    out: PathLike | None = None,
    append: bool = False,
    report: PathLike | None = None,
    frontier: PathLike | None = None,
    save: PathLike | None = None,
    columns: Names = (),
    drop: Names = (),
    categorical: Names = (),
    numeric: Names = (),
    ordinal: ByColumn = (),
    bins: ByColumn = (),
    fold: Names = (),
    scale: ByColumn = (),
    decimal: ByColumn | None = None,
    weight: str | None = None,
    use_sensitive: bool = False,
    id: str | None = None,
    missing: ByColumn = "error",
    na: Names = (),
    sheet: str | None = None,
    header_row: int | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    engine: str = "auto",
    scheduler: str | None = None,
    seed: int = 0,
    force: bool = False,
    progress: Progress | None = None,
) -> TableFit:
    """Compare clusterings of a table, and recommend one that is fair and will hold.

    This is ``rawlsian fit``. Error messages use the names of the command's options:
    ``--drop`` is the argument ``drop``. Nothing is written unless a path is given.

    Parameters
    ----------
    table : path or pandas, polars or pyarrow table
        CSV, TSV, Parquet or Excel, compressed or not; "-" reads standard input. A
        folder or a pattern names Parquet files, whose rows are never all in memory.
    sensitive : str or list of str
        Columns that make the groups; several make their intersections.
    clusters : int, str, range or (int, int), default=None
        Number of clusters. Of a range, such as "2:12" or (2, 12), all are tried, and
        ``choose_by`` takes one. None takes the clusters of ``start``.
    choose_by : {"silhouette", "held-out", "held-out-worst"}, default=None
        How to choose from a range of clusters; None means "silhouette".
        "silhouette": the highest. "held-out": the smallest number that no larger one
        clearly beats in the mean squared distance of people whom k-means was not fitted
        on. "held-out-worst": the same for the worst-off group.
    method : str, default=None
        None compares the trade-off, the solver, walks and restarts of k-means, and
        recommends a point. A name runs one method and takes its result:
        "rawls", "R1", "R2", "R1+R2", "R2-exhaustive", "batch" and "relocate" reassign
        people; centers stay means. "kmeans-mean" (means) and "kmeans-free" and
        "fair-lloyd" (free centers) search independently of k-means.
    choose : {"recommended", "keep", "most"} or int, default=None
        The option to take: the recommended one (None), k-means or the clusters of
        ``start`` ("keep"), the best for the worst-off group ("most"), or a point of the
        trade-off by its number.
    served_by : {"center", "members"}, default=None
        What serves a person. "center": everyone is served by the nearest center, and
        the centers are published with the labels. "members": everyone is served by the
        mean of those who are in the cluster, and the labels carry the fairness. None
        means "center", or "members" with ``start``.
    start : str, default=None
        Column of clusters to begin from, and to compare with, instead of k-means.
    max_moved : str or int, default=None
        Most people who may be in another cluster: a number, or a share such as "5%".
    max_loss : str or float, default=None
        Most per cent by which a group's mean squared distance may rise, as "10%" or 10.
    min_group : int, default=30
        Groups with fewer people are reported, but not optimised for and not judged.
    pooling : float or "cv", default=None
        Mix each group's cost with everyone's, so that the noise of small groups decides
        less: a number of people, as in ``RawlsianKMeans``, or "cv" to choose it by
        people left out of fits. None means "cv" ("fair-lloyd" does not pool).
    new_people : bool, default=True
        Measure how people who are left out of fits are served. Without it the change
        in the table decides what is recommended.
    out, frontier : path, default=None
        Files for each row's cluster, of the result and at every point of the
        trade-off: .csv, .tsv or .parquet. For a folder or a pattern of Parquet files
        ``out`` is a folder. If centers serve people, ``out`` also writes them, beside
        "labels.csv" to "labels.centers.csv".
    append : bool, default=False
        True to write the whole table to ``out``, with the columns ``cluster_before``,
        ``cluster``, ``moved`` and ``not_clustered`` behind its own. Needs ``out``.
    report : path, default=None
        File for the page.
    save : path, default=None
        File for the model, JSON.
    columns, drop : str or list of str, default=()
        Columns to use, () for all, and columns to leave out. In this and every option
        that takes columns a text may be a list with commas, such as "age,pay"; a name
        that has a comma stands in double quotes there, or alone.
    categorical, numeric : str or list of str, default=()
        Columns to take as categories or numbers however they look.
    ordinal : dict, str or list of str, default=()
        Ordered categories, from the lowest: ``{"risk": ["low", "mid", "high"]}`` or
        "risk=low,mid,high".
    bins : dict, str or list of str, default=()
        Bounds that make groups of a sensitive column of numbers:
        ``{"age": [25, 35, 50]}`` or "age=25,35,50".
    fold : str or list of str, default=()
        Columns in which values that differ only in case, blanks or accents are merged.
    scale : {"range", "std", "robust", "log"}, dict or list of str, default=()
        What numbers are divided by: their range (the default), two standard
        deviations, two robust ones (from the quartiles), or the range of log(1 + x).
        ``{"pay": "log"}`` or "pay=log" is for some columns.
    decimal : {".", ","}, dict or list of str, default=None
        Decimal sign of numbers that are written as text; None looks at each column.
    weight : str, default=None
        Column that says how many people each row stands for.
    use_sensitive : bool, default=False
        True to use the sensitive columns, too.
    id : str, default=None
        Column that names the rows; None takes the first that looks like one.
    missing : {"error", "drop", "category"}, dict or list of str, default="error"
        Rows with missing values raise an error, or are left out, or "missing" is
        treated as a value of its own. ``{"pay": "drop"}`` or "pay=drop" is for some
        columns; a list such as ``["drop", "pay=category"]`` has both.
    na : str or list of str, default=()
        Texts that mean missing, besides NA and the like.
    sheet : str, default=None
        Sheet of an Excel workbook; None takes the first that has cells.
    header_row : int, default=None
        Row of the file with the names of the columns, from 1; None finds it, below
        titles if there are any.
    delimiter, encoding : str, default=None and "utf-8"
        Delimiter and encoding of a text file; None guesses the delimiter.
    engine : {"auto", "memory", "blocks", "dask"}, default="auto"
        "memory": all rows in memory. "blocks": Parquet files, a part at a time, on
        this machine. "dask": the same on Dask workers. "auto": memory for one file,
        blocks for a folder or a pattern.
        A script that starts workers must call this below
        ``if __name__ == "__main__":``, as each of them imports the script.
    scheduler : str, default=None
        Address of a Dask scheduler; None starts workers on this machine.
    seed : int, default=0
        Seed of all random draws.
    force : bool, default=False
        True to replace files that are there already.
    progress : callable, default=None
        Called with a stage, how much of it is done, and how much there is or None.

    Returns
    -------
    TableFit
        The recommendation, options with their effects, labels, centers, model and
        page.

    Raises
    ------
    ValueError
        Where the table or an argument cannot be used. Notes of this or any other error
        name the files that had been written.
    OSError
        Where a file cannot be written; before any work, if that can be known.
    RuntimeError
        Where the Dask workers cannot start, or are lost.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rawlsian import fit_table
    >>> people = pa.table({
    ...     "age": [21, 24, 25, 38, 60, 62, 65, 66],
    ...     "job": ["cook", "cook", "clerk", "cook", "clerk", "cook", "clerk", "clerk"],
    ...     "sex": ["f", "m", "m", "f", "m", "f", "m", "m"],
    ... })
    >>> fit = fit_table(people, "sex", clusters=2)
    >>> fit.labels
    array([0, 0, 1, 0, 1, 0, 1, 1], dtype=int32)
    >>> fit.to_dict()["least_advantaged"]
    {'before': 'f', 'after': 'f'}
    """
    _require_pyarrow()
    from rawlsian._tables import run
    from rawlsian._tables.options import FitOptions
    from rawlsian._tables.outputs import Outputs
    from rawlsian._tables.request import TableRequest, as_path

    options = FitOptions.given(
        clusters=clusters, choose_by=choose_by, method=method, choose=choose,
        served_by=served_by, pooling=pooling, start=start, max_moved=max_moved,
        max_loss=max_loss, min_group=min_group, new_people=new_people, seed=seed,
    )  # fmt: skip
    request = TableRequest.given(
        table, sensitive, labels=start, labels_option="--start", columns=columns,
        drop=drop, categorical=categorical, numeric=numeric, ordinal=ordinal,
        bins=bins, fold=fold, scale=scale, decimal=decimal, weight=weight,
        use_sensitive=use_sensitive, id=id, missing=missing, na=na, sheet=sheet,
        header_row=header_row, delimiter=delimiter, encoding=encoding, engine=engine,
        scheduler=scheduler,
    )  # fmt: skip
    outputs = Outputs(
        as_path(out), as_path(save), as_path(frontier), as_path(report),
        options.served_by == "center", append,
    )  # fmt: skip
    return run.fit(request, options, outputs, force, progress or _silent)


def audit_table(
    table: Any,
    sensitive: Names,
    *,
    labels: str | None = None,
    centers: TableFit | Model | PathLike | None = None,
    served_by: str | None = None,
    min_group: int = 30,
    columns: Names = (),
    drop: Names = (),
    categorical: Names = (),
    numeric: Names = (),
    ordinal: ByColumn = (),
    bins: ByColumn = (),
    fold: Names = (),
    scale: ByColumn = (),
    decimal: ByColumn | None = None,
    weight: str | None = None,
    use_sensitive: bool = False,
    id: str | None = None,
    missing: ByColumn = "error",
    na: Names = (),
    sheet: str | None = None,
    header_row: int | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    engine: str = "auto",
    scheduler: str | None = None,
    report: PathLike | None = None,
    seed: int = 0,
    force: bool = False,
    progress: Progress | None = None,
) -> TableAudit:
    """Report how well clusters, or published centers, serve each group of a table.

    This is ``rawlsian audit``. Error messages use the names of the command's options:
    ``--drop`` is the argument ``drop``. Nothing is written unless ``report`` is given.
    Give either ``labels`` or ``centers``.

    Parameters
    ----------
    table : path or pandas, polars or pyarrow table
        As in ``fit_table``.
    sensitive : str or list of str
        Columns that make the groups; several make their intersections.
    labels : str, default=None
        Column with each row's cluster.
    centers : path, TableFit or Model, default=None
        Centers, of which the nearest serves a person. A model, or the .json file of one
        that ``fit_table(..., save=...)`` wrote, has its own encoding, which applies. A
        .csv, .tsv or .parquet file has a row for each cluster in the units of the
        table: see "Published centers" in the documentation.
    served_by : {"members", "center"}, default=None
        What serves a person. "members", the default with labels: the mean of those in
        their cluster. "center": the nearest of the clusters' means, or of ``centers``.
    min_group : int, default=30
        Groups with fewer people get no interval and are not named as served worst.
    columns, drop, categorical, numeric, ordinal, bins, fold, scale, decimal, weight, \
use_sensitive, id, missing, na, sheet, header_row, delimiter, encoding, engine, \
scheduler
        How the table is read and where the work is done, as in ``fit_table``.
    report : path, default=None
        File for the page.
    seed : int, default=0
        Seed of all random draws.
    force : bool, default=False
        True to replace a file that is there already.
    progress : callable, default=None
        Called with a stage, how much of it is done, and how much there is or None.

    Returns
    -------
    TableAudit
        Distances and utilities of each group and cluster, and the page.

    Raises
    ------
    ValueError
        Where the table or an argument cannot be used.
    OSError
        Where the page cannot be written; before any work, if that can be known.
    RuntimeError
        Where the Dask workers cannot start, or are lost.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rawlsian import audit_table
    >>> people = pa.table({
    ...     "age": [21, 24, 25, 38, 60, 62, 65, 66],
    ...     "sex": ["f", "m", "m", "f", "m", "f", "m", "m"],
    ...     "segment": ["A", "A", "A", "A", "B", "B", "B", "B"],
    ... })
    >>> found = audit_table(people, "sex", labels="segment")
    >>> found.audit.least_advantaged
    'f'
    >>> print(found.audit.utilities.round(3))
    [0.974 0.997]
    """
    _require_pyarrow()
    from rawlsian._tables import run
    from rawlsian._tables.audit_options import AuditOptions
    from rawlsian._tables.outputs import Outputs
    from rawlsian._tables.request import TableRequest, as_path

    options = AuditOptions.given(labels, centers, served_by, min_group, seed)
    request = TableRequest.given(
        table, sensitive, labels=labels, columns=columns, drop=drop,
        categorical=categorical, numeric=numeric, ordinal=ordinal, bins=bins,
        fold=fold, scale=scale, decimal=decimal, weight=weight,
        use_sensitive=use_sensitive, id=id, missing=missing, na=na, sheet=sheet,
        header_row=header_row, delimiter=delimiter, encoding=encoding, engine=engine,
        scheduler=scheduler,
    )  # fmt: skip
    outputs = Outputs(page=as_path(report))
    return run.audit(request, options, outputs, force, progress or _silent)


def predict_table(
    model: TableFit | Model | PathLike,
    table: Any,
    *,
    out: PathLike | None = None,
    id: str | None = None,
    missing: str = "error",
    unknown: str = "error",
    na: Names = (),
    sheet: str | None = None,
    header_row: int | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    force: bool = False,
    progress: Progress | None = None,
) -> TablePrediction:
    """Give each row of a table the nearest cluster of a model.

    This is ``rawlsian predict``. Error messages use the names of the command's
    options: ``--na`` is the argument ``na``. How each column is read (how its numbers
    are written, scales, ordered levels, bounds) is that of the model.

    Rows of the table that the model was fitted on get the cluster of the fit, unless
    that was made with "kmeans-mean" or ``served_by="members"``, which put people in
    clusters that are not the nearest.

    Parameters
    ----------
    model : path, TableFit or Model
        File that ``fit_table(..., save=...)`` wrote, or what ``fit_table`` returned,
        or the ``model`` of that.
    table : path or pandas, polars or pyarrow table
        CSV, TSV, Parquet or Excel, compressed or not; "-" reads standard input.
    out : path, default=None
        File for each row's cluster: .csv, .tsv or .parquet.
    id : str, default=None
        Column that names the rows; None takes that of the fit, or one that looks so.
    missing : {"error", "drop"}, default="error"
        Rows with missing values raise an error, or are left out. If the model was
        fitted with missing values in that column, they are accepted.
    unknown : {"error", "drop", "ignore"}, default="error"
        Rows with categories that the model has not seen raise an error, are left out,
        or are taken as equally far from all others.
    na : str or list of str, default=()
        Texts that mean missing, besides NA and the like.
    sheet, header_row : str and int, default=None
        Sheet of a workbook, and row with the names of the columns, as in ``fit_table``.
    delimiter, encoding : str, default=None and "utf-8"
        Delimiter and encoding of a text file; None guesses the delimiter.
    force : bool, default=False
        True to replace a file that is there already.
    progress : callable, default=None
        Called with a stage, how much of it is done, and how much there is or None.

    Returns
    -------
    TablePrediction
        Labels, and utilities of each group if the table has the sensitive columns.

    Raises
    ------
    ValueError
        Where the table, the model or an argument cannot be used.
    OSError
        Where ``out`` cannot be written; before any work, if that can be known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rawlsian import fit_table, predict_table
    >>> people = pa.table({
    ...     "age": [21, 24, 25, 38, 60, 62, 65, 66],
    ...     "sex": ["f", "m", "m", "f", "m", "f", "m", "m"],
    ... })
    >>> fit = fit_table(people, "sex", clusters=2, method="kmeans-free")
    >>> predict_table(fit, pa.table({"age": [20, 70]})).labels
    array([0, 1], dtype=int32)
    """
    _require_pyarrow()
    from rawlsian._tables import run
    from rawlsian._tables.request import TableSource, as_model, as_path

    return run.predict(
        as_model(model.model if isinstance(model, TableFit) else model),
        TableSource.given(table, delimiter, encoding, na, sheet, header_row),
        run.PredictOptions(id, missing, unknown),
        as_path(out), force, progress or _silent,
    )  # fmt: skip


def _silent(stage: str, n_done: int, n_all: int | None) -> None:
    """Show no progress."""


def _require_pyarrow() -> None:
    """Raise in one sentence where pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError(
            "tables need pyarrow, which is not installed; pip install 'rawlsian[cli]' "
            "brings it."
        ) from error
