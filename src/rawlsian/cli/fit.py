"""``rawlsian fit``: cluster a table and serve its worst-off group."""

from __future__ import annotations

from typing import Annotated

import typer

from rawlsian.cli.common import (
    STOPPED,
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
    compile_first,
    fail,
    one_line_errors,
    print_result,
)


def fit(
    table: PartsArgument,
    sensitive: SensitiveOption,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            metavar="K|LOW:HIGH",
            help="Number of clusters; a range is tried, and --choose-by takes one.",
            show_default=False,
        ),
    ] = None,
    choose: Annotated[
        str | None,
        typer.Option(
            "--choose",
            metavar="recommended|keep|most|N",
            help="Option to take: the recommended one (default), keep k-means or the "
            "clusters of --start, the most for the worst-off group, or point N of the "
            "trade-off.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--start",
            metavar="COL",
            help="Column of clusters to begin from, and to compare with, instead of "
            "k-means.",
        ),
    ] = None,
    max_moved: Annotated[
        str | None,
        typer.Option(
            "--max-moved",
            metavar="N|P%",
            help="Most people who may be in another cluster: a number or a share.",
        ),
    ] = None,
    max_loss: Annotated[
        str | None,
        typer.Option(
            "--max-loss",
            metavar="P%",
            help="Most by which the mean squared distance of a group may rise.",
        ),
    ] = None,
    min_group: MinGroupOption = 30,
    served_by: Annotated[
        str | None,
        typer.Option(
            "--served-by",
            metavar="center|members",
            help="What serves a person. center, the default: the nearest center; the "
            "centers are written beside the labels. members: the mean of those who "
            "are in the cluster; with --start it is always the members.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Run one method and take its result, recommended or not. rawls, R1, "
            "R2, R1+R2, R2-exhaustive, batch, relocate: reassign people. kmeans-mean: "
            "searches for clusters with means. kmeans-free, fair-lloyd: search for "
            "free centers.",
        ),
    ] = None,
    choose_by: Annotated[
        str | None,
        typer.Option(
            "--choose-by",
            metavar="silhouette|held-out|held-out-worst",
            help="How to choose from a range. silhouette, the default: the best "
            "separated clusters. held-out: as few clusters as describe people who were "
            "not used to make them about as well as more would. held-out-worst: the "
            "same for the worst-off group.",
        ),
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            "--pooling",
            metavar="cv|NUMBER|inf",
            help="Mix each group's cost with everyone's, so that the noise of small "
            "groups decides less: as if that many people, drawn from everyone, had "
            "joined each group. cv, the default, chooses the number by people left out "
            "of fits; 0 does not mix; with inf everyone counts alike.",
        ),
    ] = None,
    new_people: Annotated[
        bool,
        typer.Option(
            "--new-people/--no-new-people",
            help="Measure how people who are left out of fits are served. Without it "
            "the change in the table decides what is recommended.",
        ),
    ] = True,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write each row's cluster: .csv, .tsv or .parquet; for a folder or a "
            "pattern of Parquet files, a folder. Centers that serve people are written "
            "beside it, as labels.centers.csv.",
        ),
    ] = None,
    append: Annotated[
        bool,
        typer.Option(
            "--append",
            metavar="",
            help="Write the whole table to --out, with the columns cluster_before, "
            "cluster, moved and not_clustered behind its own.",
        ),
    ] = False,
    report: ReportOption = None,
    trade_off: Annotated[
        str | None,
        typer.Option(
            "--frontier",
            metavar="FILE",
            help="Write each row's cluster at every point of the trade-off.",
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(
            "--save", metavar="MODEL", help="Write a model for rawlsian predict (JSON)."
        ),
    ] = None,
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
    as_json: JsonOption = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Compare clusterings of a table, and recommend one that is fair and will hold.

    Keep k-means if no group is served worse than chance explains, or if nothing is
    gained for people outside the table; otherwise replace it. Three options are shown
    with their effect on every group.

    Numbers are scaled and categories encoded so that each column counts the same;
    identifiers, dates and free text are named and left out, and so are the sensitive
    columns unless you ask for them.

    Example: `rawlsian fit people.csv --sensitive sex --clusters 5 --drop segment
    --out labels.csv --report page.html`
    """
    with one_line_errors(debug), Screen() as screen:
        screen.show("loading")
        from rawlsian._tables.functions import fit_table

        compile_first()
        result = fit_table(
            table, sensitive, clusters=clusters, choose_by=choose_by, method=method,
            choose=choose, served_by=served_by, start=start, max_moved=max_moved,
            max_loss=max_loss, min_group=min_group, pooling=pooling,
            new_people=new_people, out=out, report=report, frontier=trade_off,
            save=save, append=append,
            columns=columns or (), drop=drop or (), categorical=categorical or (),
            numeric=numeric or (), ordinal=ordinal or (), bins=bins or (),
            fold=fold or (), scale=scale or (), decimal=decimal, weight=weight,
            use_sensitive=use_sensitive, id=identifier, missing=missing or (),
            na=na or (), sheet=sheet, header_row=header_row, delimiter=delimiter,
            encoding=encoding, engine=engine, scheduler=scheduler,
            seed=seed, force=force, progress=screen.show,
        )  # fmt: skip
    print_result(result, as_json, debug)
    if result.is_interrupted:
        nor = "; no page was made" if report is not None else ""
        fail(
            "stopped on the way: the clusters are those reached so far"
            f"{nor if result.passes is None else ''}.",
            STOPPED,
        )
