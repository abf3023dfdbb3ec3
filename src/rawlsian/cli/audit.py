"""``rawlsian audit``: how well clusters from anywhere serve each group."""

from __future__ import annotations

from typing import Annotated

import typer

from rawlsian.cli.common import (
    CategoricalOption,
    DebugOption,
    DelimiterOption,
    DropOption,
    EncodingOption,
    EngineOption,
    ForceOption,
    IdOption,
    JsonOption,
    MissingOption,
    NaOption,
    NumericOption,
    PartsArgument,
    ReportOption,
    SchedulerOption,
    Screen,
    SeedOption,
    SensitiveOption,
    UseSensitiveOption,
    one_line_errors,
    print_result,
)


def audit(
    table: PartsArgument,
    sensitive: SensitiveOption,
    labels: Annotated[
        str,
        typer.Option(
            "--labels",
            metavar="COL",
            help="Column with each row's cluster.",
            show_default=False,
        ),
    ],
    utility: Annotated[
        str,
        typer.Option(
            "--utility",
            metavar="assigned|nearest",
            help="Mean that serves a person: that of their cluster, or the nearest of "
            "the clusters' means.",
        ),
    ] = "assigned",
    drop: DropOption = None,
    categorical: CategoricalOption = None,
    numeric: NumericOption = None,
    use_sensitive: UseSensitiveOption = False,
    identifier: IdOption = None,
    missing: MissingOption = "error",
    na: NaOption = None,
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
    """Report how well clusters, from wherever they came, serve each group.

    Numbers and categories of the table are compared with the mean of each cluster;
    identifiers, dates and free text are named and left out.

    Example: `rawlsian audit people.csv --sensitive sex --labels segment`
    """
    with one_line_errors(debug), Screen() as screen:
        screen.show("loading")
        from rawlsian._tables.functions import audit_table

        result = audit_table(
            table, sensitive, labels=labels, utility=utility, drop=drop or (),
            categorical=categorical or (), numeric=numeric or (),
            use_sensitive=use_sensitive, id=identifier, missing=missing, na=na or (),
            delimiter=delimiter, encoding=encoding, engine=engine, scheduler=scheduler,
            report=report, seed=seed, force=force, progress=screen.show,
        )  # fmt: skip
    print_result(result, as_json, debug)
