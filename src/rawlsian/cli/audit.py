"""``rawlsian audit``: how well clusters from anywhere serve each group."""

from __future__ import annotations

from typing import Annotated

import typer

from rawlsian.cli.common import (
    BinsOption,
    CategoricalOption,
    ColumnsOption,
    DebugOption,
    DecimalOption,
    DelimiterOption,
    DropOption,
    EncodingOption,
    EngineOption,
    FoldOption,
    ForceOption,
    HeaderRowOption,
    IdOption,
    JsonOption,
    MinGroupOption,
    MissingOption,
    NaOption,
    NumericOption,
    OrdinalOption,
    PartsArgument,
    ReportOption,
    ScaleOption,
    SchedulerOption,
    Screen,
    SeedOption,
    SensitiveOption,
    SheetOption,
    UseSensitiveOption,
    WeightOption,
    one_line_errors,
    print_result,
)


def audit(
    table: PartsArgument,
    sensitive: SensitiveOption,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="COL",
            help="Column with each row's cluster.",
            show_default=False,
        ),
    ] = None,
    centers: Annotated[
        str | None,
        typer.Option(
            "--centers",
            metavar="FILE",
            help="Instead of labels: centers, of which the nearest serves a person; a "
            "model of fit --save, or a table with a row for each cluster.",
            show_default=False,
        ),
    ] = None,
    served_by: Annotated[
        str | None,
        typer.Option(
            "--served-by",
            metavar="members|center",
            help="What serves a person: the mean of those in their cluster (default "
            "with --labels), or the nearest of the clusters' means.",
            show_default=False,
        ),
    ] = None,
    min_group: MinGroupOption = 30,
    columns: ColumnsOption = None,
    drop: DropOption = None,
    categorical: CategoricalOption = None,
    numeric: NumericOption = None,
    ordinal: OrdinalOption = None,
    bins: BinsOption = None,
    fold: FoldOption = None,
    scale: ScaleOption = None,
    decimal: DecimalOption = None,
    weight: WeightOption = None,
    use_sensitive: UseSensitiveOption = False,
    identifier: IdOption = None,
    missing: MissingOption = None,
    na: NaOption = None,
    sheet: SheetOption = None,
    header_row: HeaderRowOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    engine: EngineOption = "auto",
    scheduler: SchedulerOption = None,
    report: ReportOption = None,
    as_json: JsonOption = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Report how well clusters or centers, from wherever they came, serve each group.

    Each group is compared with everyone else. Numbers and categories are used;
    identifiers, dates and free text are named and left out.

    Example: `rawlsian audit people.csv --sensitive sex --labels segment`
    """
    with one_line_errors(debug), Screen() as screen:
        screen.show("loading")
        from rawlsian._tables.functions import audit_table

        result = audit_table(
            table, sensitive, labels=labels, centers=centers, served_by=served_by,
            min_group=min_group, columns=columns or (), drop=drop or (),
            categorical=categorical or (), numeric=numeric or (),
            ordinal=ordinal or (), bins=bins or (), fold=fold or (),
            scale=scale or (), decimal=decimal, weight=weight,
            use_sensitive=use_sensitive, id=identifier, missing=missing or (),
            na=na or (), sheet=sheet, header_row=header_row, delimiter=delimiter,
            encoding=encoding, engine=engine, scheduler=scheduler,
            report=report, seed=seed, force=force, progress=screen.show,
        )  # fmt: skip
    print_result(result, as_json, debug)
