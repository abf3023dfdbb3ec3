"""``rawlsian predict``: the nearest cluster of new rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rawlsian.cli.common import (
    WRONG_USE,
    DebugOption,
    DelimiterOption,
    EncodingOption,
    ForceOption,
    IdOption,
    NaOption,
    Printer,
    Reading,
    Screen,
    TableArgument,
    choose,
    fail,
    one_line_errors,
)

if TYPE_CHECKING:
    from rawlsian._tables.predict import Predicted


def predict(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="What rawlsian fit --save wrote.",
            show_default=False,
        ),
    ],
    table: TableArgument,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Where to write each row's cluster: .csv, .tsv or .parquet.",
            show_default=False,
        ),
    ],
    identifier: IdOption = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            metavar="error|drop",
            help="Rows with missing values: stop and say so, or leave them out. Those "
            "that the model has a level for are clustered.",
        ),
    ] = "error",
    unknown: Annotated[
        str,
        typer.Option(
            "--unknown",
            metavar="error|drop|ignore",
            help="Rows with categories that the model has not seen: stop and say so, "
            "leave them out, or take them as equally far from all others.",
        ),
    ] = "error",
    na: NaOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Give each row of a table the nearest cluster of a saved model.

    Rows of the table that the model was fitted on may get another cluster than in
    fit, where a method reassigns people to clusters that are not their nearest.

    Example: `rawlsian predict model.json new-people.csv --out labels.csv`
    """
    choose(missing, "--missing", ("error", "drop"))
    choose(unknown, "--unknown", ("error", "drop", "ignore"))
    if not Path(model).is_file():
        fail(f"cannot read the model {model!r}: there is no such file.", WRONG_USE)
    written: list[str] = []
    with one_line_errors(written, debug), Screen() as screen:
        screen.tell("loading")
        from rawlsian._support import files as _files
        from rawlsian._tables import (
            model as _model,
            predict as _predict,
            write as _write,
        )

        _write.check_ending(out, "--out")
        _files.check_outputs([out], inputs=[model, table], may_replace=force)
        loaded = _model.load_model(model)
        reading = Reading(table, delimiter, encoding, tuple(na or ()))
        content = reading.read(screen)
        screen.tell("predicting")
        found = _predict.predict(loaded, content, missing, unknown)
        _write.write_labels(
            out,
            content.n_rows,
            _predict.identifier(loaded, content, identifier),
            found.rows,
            {"cluster": found.labels},
            found.left_out,
        )
        written.append(out)
    with one_line_errors(written, debug):
        _print(Printer(), found, content.n_rows, written)


def _print(out: Printer, found: Predicted, n_rows: int, written: Sequence[str]) -> None:
    out.line(f"{len(found.rows):,} of {n_rows:,} rows have a cluster.")
    for reason, count, first in found.left_out.by_reason():
        out.line(f"Left out: {count:,} rows, the first is row {first} ({reason}).")
    if found.utilities is not None:
        out.table(
            "How well each group is served",
            ("group", "people", "utility"),
            [
                (name, f"{size:,}", f"{utility:.4f}")
                for name, size, utility in found.utilities
            ],
        )
    out.written(written)
