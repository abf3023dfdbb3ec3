"""``rawlsian predict``: the nearest cluster of new rows."""

from __future__ import annotations

from typing import Annotated

import typer

from rawlsian.cli.common import (
    DebugOption,
    DelimiterOption,
    EncodingOption,
    ForceOption,
    HeaderRowOption,
    IdOption,
    NaOption,
    Screen,
    SheetOption,
    TableArgument,
    one_line_errors,
    print_result,
)


def predict(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Model that rawlsian fit --save wrote.",
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
            help="Rows with missing values: stop and say so, or leave them out. If the "
            "model was fitted with missing values in that column, they are accepted.",
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
    sheet: SheetOption = None,
    header_row: HeaderRowOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Give each row of a table the nearest cluster of a saved model.

    Rows of the table that the model was fitted on get the cluster of the fit, unless
    that was made with kmeans-mean or --served-by members, which put people in clusters
    that are not the nearest.

    Example: `rawlsian predict model.json new-people.csv --out labels.csv`
    """
    with one_line_errors(debug), Screen() as screen:
        screen.show("loading")
        from rawlsian._tables.functions import predict_table

        result = predict_table(
            model, table, out=out, id=identifier, missing=missing, unknown=unknown,
            na=na or (), sheet=sheet, header_row=header_row, delimiter=delimiter,
            encoding=encoding, force=force, progress=screen.show,
        )  # fmt: skip
    print_result(result, False, debug)
