"""``rawlsian audit``: how well clusters from anywhere serve each group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
    Printer,
    Reading,
    ReportOption,
    SchedulerOption,
    Screen,
    SeedOption,
    SensitiveOption,
    UseSensitiveOption,
    check_page,
    check_seed,
    choose,
    columns_json,
    one_line_errors,
    print_json,
)
from rawlsian.cli.large import InParts, audit_parts, chosen_engine, needs_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rawlsian._core.problem import Problem
    from rawlsian._tables.columns import Roles
    from rawlsian._tables.pages import Facts, Source
    from rawlsian.metrics import Audit


def audit(
    table: PartsArgument,
    sensitive: SensitiveOption,
    labels: Annotated[
        str,
        typer.Option(
            "--labels",
            metavar="COL",
            help="Column that tells each row's cluster.",
            show_default=False,
        ),
    ],
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
    """Tell how well clusters, from wherever they came, serve each group.

    Numbers and categories of the table are compared with the mean of each cluster;
    identifiers, dates and free text are named and left out.

    Example: `rawlsian audit people.csv --sensitive sex --labels segment`
    """
    choose(missing, "--missing", ("error", "drop", "category"))
    check_seed(seed)
    reading = Reading(table, delimiter, encoding, tuple(na or ()))
    written: list[str] = []
    with one_line_errors(written, debug), Screen() as screen:
        screen.tell("loading")
        from rawlsian._support import files as _files
        from rawlsian._tables.columns import Roles

        engine = chosen_engine(engine, table, scheduler)
        roles = Roles.given(
            sensitive, drop, categorical, numeric,
            labels=labels, identifier=identifier, use_sensitive=use_sensitive,
        )  # fmt: skip
        if engine == "memory":
            check_page(report)
            _files.check_outputs([report], inputs=[table], may_replace=force)
            audited = _audit(reading, roles, labels, missing, seed, screen)
            told = _Told(audited.source.facts, audited.result, audited.clusters)
            if report is not None:
                screen.tell("writing the page")
                _files.write_text(report, _page(audited))
                written.append(report)
        else:
            if report is not None:
                raise needs_memory("--report", engine, "--json works")
            asked = InParts(reading, roles, missing, engine, scheduler)
            told = _Told(*audit_parts(asked, screen))
    with one_line_errors(written, debug):
        if as_json:
            print_json(_as_json(told, written))
        else:
            out = Printer()
            out.columns(told.facts, "Compared on")
            _print(out, told.result, told.clusters)
            out.written(written)


class _Told(NamedTuple):
    facts: Facts
    result: Audit
    clusters: list[str]


class _Audited(NamedTuple):
    source: Source
    problem: Problem
    result: Audit
    clusters: list[str]
    labels: NDArray[np.int32]


def _audit(
    reading: Reading, roles: Roles, labels: str, missing: str, seed: int, screen: Screen
) -> _Audited:
    from rawlsian import metrics
    from rawlsian._tables import (
        analysis as _analysis,
        columns as _columns,
        pages as _pages,
        prepare as _prepare,
    )

    table = reading.read(screen)
    clusters = _columns.as_category(_columns.find(table, labels, "--labels"))
    prepared = _prepare.prepare(table, roles, missing, clusters)
    problem = _analysis.problem_of(prepared)
    names, codes = _prepare.clusters_of(clusters, prepared.rows)
    screen.tell("auditing")
    result = metrics.audit(
        problem.X,
        codes,
        problem.groups,
        max_distance=problem.max_distance,
        random_state=seed,
    )
    source = _pages.Source.of(reading.name, table, prepared, roles)
    result = replace(result, groups=problem.group_names)
    return _Audited(source, problem, result, names, codes)


def _page(audited: _Audited) -> str:
    from rawlsian._tables.pages import audit_page
    from rawlsian.report import page_html

    source, problem, result, clusters, labels = audited
    return page_html(audit_page(source, problem, result, labels, clusters))


def _print(out: Printer, result: Audit, clusters: list[str]) -> None:
    from rawlsian._tables.pages import audit_summary, hurtful, interval_of

    rows = [
        (
            row["group"],
            f"{row['size']:,.0f}",
            f"{row['utility']:.4f}",
            f"{row['behind']:.4f}",
            interval_of(result, g) if row["behind"] else "",
        )
        for g, row in enumerate(result.by_group())
    ]
    everyone = ("everyone", f"{result.sizes.sum():,.0f}", f"{result.overall:.4f}")
    out.table(
        "How well each group is served",
        ("group", "people", "utility", "behind", f"{result.confidence:.0%} interval"),
        [*rows, (), everyone],
    )
    for sentence in audit_summary(result):
        out.line(sentence)
    behind = result.overall - result.utilities.min()
    lines = hurtful(result, clusters)
    if lines:
        out.line(
            f"{result.least_advantaged} is {behind:.4f} behind everyone. What adds "
            "most to that:"
        )
        for line in lines:
            out.line(f"  {line}")


def _as_json(told: _Told, written: list[str]) -> dict[str, Any]:
    import numpy as np

    from rawlsian._tables.pages import has_interval

    facts, result, clusters = told
    none = {"low": None, "high": None}
    worst = int(result.utilities.argmin())
    return {
        "groups": [
            row if has_interval(result, g) else row | none
            for g, row in enumerate(result.by_group())
        ],
        "overall": result.overall,
        "least_advantaged": result.least_advantaged,
        "gap": result.gap,
        "gap_interval": list(result.gap_interval)
        if has_interval(result, worst)
        else None,
        "confidence": result.confidence,
        "ratio": None if np.isnan(result.ratio) else result.ratio,
        "passes_four_fifths": result.passes_four_fifths,
        "max_distance": result.max_distance,
        "clusters": [
            {**row, "cluster": clusters[row["cluster"]]} for row in result.by_cluster()
        ],
        "shortfalls": dict(zip(clusters, result.shortfalls().tolist(), strict=True)),
        **columns_json(facts),
        "written": written,
    }
