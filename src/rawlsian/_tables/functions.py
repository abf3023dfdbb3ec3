"""Public functions on tables: fit, audit, predict, as the command line does.

Nothing here needs pyarrow until a function is called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rawlsian._tables.results import TableAudit, TableFit, TablePrediction

if TYPE_CHECKING:
    from rawlsian._tables.model import Model

Names = str | Iterable[str]
PathLike = str | os.PathLike[str]
Progress = Callable[[str, int, int | None], object]


def fit_table(
    table: Any,
    sensitive: Names,
    *,
    clusters: int | str | range | tuple[int, int],
    choose_by: str | None = None,
    method: str = "rawls",
    utility: str | None = None,
    pooling: float | str | None = None,
    new_people: bool = True,
    out: PathLike | None = None,
    report: PathLike | None = None,
    frontier: PathLike | None = None,
    save: PathLike | None = None,
    drop: Names = (),
    categorical: Names = (),
    numeric: Names = (),
    use_sensitive: bool = False,
    id: str | None = None,
    missing: str = "error",
    na: Names = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
    engine: str = "auto",
    scheduler: str | None = None,
    seed: int = 0,
    force: bool = False,
    progress: Progress | None = None,
) -> TableFit:
    """Cluster a table with k-means, then serve its worst-off group better.

    This is ``rawlsian fit``. Error messages use the names of the command's options:
    ``--drop`` is the argument ``drop``. Nothing is written unless a path is given.

    Parameters
    ----------
    table : path or pandas, polars or pyarrow table
        CSV, TSV or Parquet, compressed or not; "-" reads standard input. A folder or a
        pattern names Parquet files, whose rows are never all in memory.
    sensitive : str or list of str
        Columns that make the groups; several make their intersections.
    clusters : int, str, range or (int, int)
        Number of clusters. Of a range, such as "2:12" or (2, 12), all are tried, and
        ``choose_by`` takes one.
    choose_by : {"silhouette", "held-out", "held-out-worst"}, default=None
        How to choose from a range of clusters; None means "silhouette".
        "silhouette": the highest. "held-out": the smallest number that no larger one
        clearly beats in the mean squared distance of people whom k-means was not fitted
        on. "held-out-worst": the same for the worst-off group.
    method : str, default="rawls"
        "rawls", "R1", "R2", "R1+R2", "R2-exhaustive", "batch" and "relocate" reassign
        people, starting from k-means; centers stay means. "kmeans-mean" (means) and
        "kmeans-free" and "fair-lloyd" (free centers) search independently of it.
        "kmeans-free" is often the best.
    utility : {"nearest", "assigned"}, default=None
        The mean that serves a person, for methods that reassign; None means "nearest".
        "nearest": reassigning moves the means, and everyone is in the cluster of the
        nearest, as ``predict_table`` finds it. "assigned": people stay in the clusters
        that the method put them in, nearest or not; a table in parts needs this.
    pooling : float or "cv", default=None
        Mix each group's cost with everyone's, so that the noise of small groups decides
        less: a number of people, as in ``RawlsianKMeans``, or "cv" to choose it by
        people left out of fits. None means "cv" ("fair-lloyd" does not pool).
    new_people : bool, default=True
        Measure how people who are left out of fits are served, beside k-means. It takes
        six more fits; for a table in parts it is not measured.
    out, frontier : path, default=None
        Files for each row's cluster, of the result and at every point of the
        trade-off: .csv, .tsv or .parquet. For a folder or a pattern of Parquet files
        ``out`` is a folder.
    report : path, default=None
        File for the page.
    save : path, default=None
        File for the model, JSON.
    drop, categorical, numeric : str or list of str, default=()
        Columns to leave out, and to take as categories or numbers however they look.
    use_sensitive : bool, default=False
        True to use the sensitive columns, too.
    id : str, default=None
        Column that names the rows; None takes the first that looks like one.
    missing : {"error", "drop", "category"}, default="error"
        Rows with missing values raise an error, or are left out, or "missing" is
        treated as a value of its own.
    na : str or list of str, default=()
        Texts that mean missing, besides NA and the like.
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
        Utilities before and after, labels, model and page.

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
    array([1, 1, 0, 1, 0, 1, 0, 0], dtype=int32)
    >>> fit.to_dict()["least_advantaged"]
    {'before': 'f', 'after': 'f'}
    """
    _require_pyarrow()
    from rawlsian._tables import run
    from rawlsian._tables.options import FitOptions
    from rawlsian._tables.outputs import Outputs
    from rawlsian._tables.request import TableRequest, as_path

    options = FitOptions.given(
        clusters, choose_by, method, utility, pooling, new_people, seed
    )
    request = TableRequest.given(
        table, sensitive, drop=drop, categorical=categorical, numeric=numeric,
        use_sensitive=use_sensitive, id=id, missing=missing, na=na,
        delimiter=delimiter, encoding=encoding, engine=engine, scheduler=scheduler,
    )  # fmt: skip
    outputs = Outputs(as_path(out), as_path(save), as_path(frontier), as_path(report))
    return run.fit(request, options, outputs, force, progress or _silent)


def audit_table(
    table: Any,
    sensitive: Names,
    *,
    labels: str,
    utility: str = "assigned",
    drop: Names = (),
    categorical: Names = (),
    numeric: Names = (),
    use_sensitive: bool = False,
    id: str | None = None,
    missing: str = "error",
    na: Names = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
    engine: str = "auto",
    scheduler: str | None = None,
    report: PathLike | None = None,
    seed: int = 0,
    force: bool = False,
    progress: Progress | None = None,
) -> TableAudit:
    """Report how well the clusters of a table serve each group.

    This is ``rawlsian audit``. Error messages use the names of the command's options:
    ``--drop`` is the argument ``drop``. Nothing is written unless ``report`` is given.

    Parameters
    ----------
    table : path or pandas, polars or pyarrow table
        As in ``fit_table``.
    sensitive : str or list of str
        Columns that make the groups; several make their intersections.
    labels : str
        Column with each row's cluster.
    utility : {"assigned", "nearest"}, default="assigned"
        "assigned": the mean of a person's own cluster counts. "nearest": labels give
        the means, and every person counts by the nearest mean.
    drop, categorical, numeric : str or list of str, default=()
        Columns to leave out, and to take as categories or numbers however they look.
    use_sensitive : bool, default=False
        True to use the sensitive columns, too.
    id : str, default=None
        Column that names the rows; None takes the first that looks like one.
    missing : {"error", "drop", "category"}, default="error"
        Rows with missing values raise an error, or are left out, or "missing" is
        treated as a value of its own.
    na : str or list of str, default=()
        Texts that mean missing, besides NA and the like.
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
        Utilities of each group and cluster, and the page.

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
    from rawlsian._tables.outputs import Outputs
    from rawlsian._tables.request import (
        TableRequest,
        as_path,
        check_labels,
        check_seed,
        checked_utility,
    )

    check_labels(labels)
    check_seed(seed)
    chosen = checked_utility(utility)
    request = TableRequest.given(
        table, sensitive, labels=labels, drop=drop, categorical=categorical,
        numeric=numeric, use_sensitive=use_sensitive, id=id, missing=missing, na=na,
        delimiter=delimiter, encoding=encoding, engine=engine, scheduler=scheduler,
    )  # fmt: skip
    outputs = Outputs(page=as_path(report))
    return run.audit(request, chosen, seed, outputs, force, progress or _silent)


def predict_table(
    model: TableFit | Model | PathLike,
    table: Any,
    *,
    out: PathLike | None = None,
    id: str | None = None,
    missing: str = "error",
    unknown: str = "error",
    na: Names = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
    force: bool = False,
    progress: Progress | None = None,
) -> TablePrediction:
    """Give each row of a table the nearest cluster of a model.

    This is ``rawlsian predict``. Error messages use the names of the command's
    options: ``--na`` is the argument ``na``. Rows of the table that the model was
    fitted on get the cluster of the fit, unless that was made with "kmeans-mean" or
    ``utility="assigned"``, which put people in clusters that are not the nearest.

    Parameters
    ----------
    model : path, TableFit or Model
        File that ``fit_table(..., save=...)`` wrote, or what ``fit_table`` returned,
        or the ``model`` of that.
    table : path or pandas, polars or pyarrow table
        CSV, TSV or Parquet, compressed or not; "-" reads standard input.
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
    array([1, 0], dtype=int32)
    """
    _require_pyarrow()
    from rawlsian._tables import run
    from rawlsian._tables.request import TableSource, as_model, as_path

    return run.predict(
        as_model(model.model if isinstance(model, TableFit) else model),
        TableSource.given(table, delimiter, encoding, na),
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
