"""Fit, audit and predict tables, and write what is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rawlsian._support.files import write_text
from rawlsian._tables.analysis import Progress
from rawlsian._tables.audit_options import AuditOptions
from rawlsian._tables.audit_result import TableAudit
from rawlsian._tables.centers import save_centers
from rawlsian._tables.errors import WrongUseError, noting
from rawlsian._tables.facts import Reason
from rawlsian._tables.fit_page import fit_page
from rawlsian._tables.in_parts import PartsTable, open_in_parts
from rawlsian._tables.memory import FoundClusters, MemoryTable
from rawlsian._tables.model import Model, load_model
from rawlsian._tables.options import FitOptions
from rawlsian._tables.outputs import Outputs
from rawlsian._tables.predict import identifier_of, predict as predict_rows
from rawlsian._tables.request import (
    TableRequest,
    TableSource,
    check_choice,
    check_id,
)
from rawlsian._tables.results import TableFit, TablePrediction
from rawlsian._tables.write import MemoryLabels
from rawlsian.report import page_html


@contextmanager
def opened(
    request: TableRequest, outputs: Outputs, may_replace: bool, progress: Progress
) -> Iterator[MemoryTable | PartsTable]:
    """Check what is to be written, then read the table."""
    files = request.source.files(request.engine)
    outputs.check(files, request.is_in_parts, may_replace)
    progress("reading", 0, None)
    if request.is_in_parts:
        with open_in_parts(request, files, progress) as table:
            yield table
    else:
        yield MemoryTable.read(request, outputs.appends)


# --- fit -----------------------------------------------------------------------------


def fit(
    request: TableRequest,
    options: FitOptions,
    outputs: Outputs,
    may_replace: bool,
    progress: Progress,
) -> TableFit:
    """Cluster a table, and write what is asked for, the quickest first."""
    if request.is_in_parts:
        options.check_parts(request, outputs)
    if outputs.appends and outputs.labels is None:
        raise WrongUseError("--append goes with --out, which names the file.")
    written: list[str] = []
    with noting(written), opened(request, outputs, may_replace, progress) as table:
        found = table.fit(options, progress)
        for path in _write(found, outputs, may_replace, progress):
            written.append(path)
        labels = found.labels.readable(outputs.labels)
        return TableFit(
            table.facts, found.outcome, found.model, options.seed, found.choice,
            found.passes, tuple(written), outputs, labels, found.in_memory,
        )  # fmt: skip


def _write(
    found: FoundClusters, outputs: Outputs, may_replace: bool, progress: Progress
) -> Iterator[str]:
    """Write one file after the other; yield each path when it is there."""
    outcome, model = found.outcome, found.model
    if outputs.labels is not None:
        progress("writing labels", 0, None)
        found.labels.save(outputs.labels, may_replace)
        yield outputs.labels
        if outcome.result.served_by == "center":
            path = str(outputs.centers)
            save_centers(path, model.features, model.centers, outcome.cluster_names)
            yield path
    if outputs.model is not None:
        model.save(outputs.model)
        yield outputs.model
    fitted = found.in_memory
    if fitted is None or outcome.is_interrupted:
        return
    if outputs.frontier is not None:
        points = fitted.fitted.trade_off_labels
        columns = {f"point_{j}": labels for j, labels in enumerate(points)}
        found.labels.write(outputs.frontier, columns)
        yield outputs.frontier
    if outputs.page is not None:
        progress("k-means from many starts", 0, None)
        _ = fitted.fitted.cloud
        progress("writing the page", 0, None)
        write_text(outputs.page, page_html(fit_page(fitted)))
        yield outputs.page


# --- audit ---------------------------------------------------------------------------


def audit(
    request: TableRequest,
    options: AuditOptions,
    outputs: Outputs,
    may_replace: bool,
    progress: Progress,
) -> TableAudit:
    """Audit clusters or centers, and write a page if it is asked for."""
    if options.model is not None:
        request = request.encoded_by(options.model)
    if request.is_in_parts and outputs.page is not None:
        raise request.refuse("--report", "--json works")
    with opened(request, outputs, may_replace, progress) as table:
        found = table.audit(options, progress)
        result = TableAudit(
            table.facts, found.audit, found.clusters, found.served_by, (),
            found.in_memory,
        )  # fmt: skip
    if outputs.page is None:
        return result
    progress("writing the page", 0, None)
    write_text(outputs.page, result.page())
    return replace(result, written=(outputs.page,))


# --- predict -------------------------------------------------------------------------


class PredictOptions(NamedTuple):
    """Identifier, and how rows with missing values or unknown levels are treated."""

    identifier: str | None
    when_missing: str
    when_unknown: str

    def check(self) -> None:
        """Refuse what is not one of the choices."""
        check_id(self.identifier)
        check_choice(self.when_missing, "--missing", ("error", "drop"))
        check_choice(self.when_unknown, "--unknown", ("error", "drop", "ignore"))


def predict(
    model: str | Model,
    source: TableSource,
    options: PredictOptions,
    out: str | None,
    may_replace: bool,
    progress: Progress,
) -> TablePrediction:
    """Give each row of a table the nearest cluster of a model."""
    options.check()
    inputs = source.files("memory")
    if isinstance(model, str):
        if not Path(model).is_file():
            raise WrongUseError(
                f"cannot read the model {model!r}: there is no such file."
            )
        inputs = [model, *inputs]
    Outputs(labels=out).check(inputs, False, may_replace)
    loaded = load_model(model) if isinstance(model, str) else model
    progress("reading", 0, None)
    table = source.read()
    progress("predicting", 0, None)
    found = predict_rows(loaded, table, options.when_missing, options.when_unknown)
    named = identifier_of(loaded, table, options.identifier)
    labels = MemoryLabels(
        table.n_rows, named, found.rows, found.left_out, found.labels,
        loaded.cluster_names,
    )  # fmt: skip
    if out is not None:
        labels.save(out, may_replace)
    return TablePrediction(
        table.n_rows,
        len(found.rows),
        [Reason(*each) for each in found.left_out.by_reason()],
        found.utilities,
        found.ignored,
        () if out is None else (out,),
        labels,
    )
