"""``rawlsian fit``: cluster a table and serve its worst-off group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rawlsian.cli.common import (
    STOPPED,
    WRONG_USE,
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
    fail,
    one_line_errors,
    print_json,
)
from rawlsian.cli.large import (
    InParts,
    LargeOutputs,
    Passes,
    chosen_engine,
    fit_parts,
    needs_memory,
)

if TYPE_CHECKING:
    from rawlsian._search.frontier import Frontier
    from rawlsian._tables.analysis import Fitted, Outcome, TradeOff, Tried
    from rawlsian._tables.columns import Roles
    from rawlsian._tables.pages import Facts, Source

# Groups that have a column each when the trade-off is printed.
MOST_COLUMNS = 6


def fit(
    table: PartsArgument,
    sensitive: SensitiveOption,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters",
            metavar="K|LOW:HIGH",
            help="Number of clusters; a range is tried and the best silhouette taken.",
            show_default=False,
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="rawls walks on from k-means, with means for centers; so do the "
            "operators R1, R2, R1+R2, R2-exhaustive, batch and relocate; kmeans-free, "
            "often the best, kmeans-mean and fair-lloyd search beside k-means.",
        ),
    ] = "rawls",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write each row's cluster: .csv, .tsv or .parquet; of a table in "
            "parts, a folder.",
        ),
    ] = None,
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
    as_json: JsonOption = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Cluster a table with k-means, then serve its worst-off group better.

    Numbers are scaled and categories encoded so that each column counts alike;
    identifiers, dates and free text are named and left out, and so are the sensitive
    columns unless you ask for them.

    Example: `rawlsian fit people.csv --sensitive sex --clusters 5 --drop segment
    --out labels.csv --report page.html`
    """
    numbers = _range(clusters)
    choose(missing, "--missing", ("error", "drop", "category"))
    check_seed(seed)
    reading = Reading(table, delimiter, encoding, tuple(na or ()))
    outputs = _Outputs(out, save, trade_off, report)
    written: list[str] = []
    with one_line_errors(written, debug), Screen() as screen:
        screen.tell("loading")
        from rawlsian._tables.columns import Roles
        from rawlsian._tables.methods import METHODS

        choose(method, "--method", list(METHODS))
        engine = chosen_engine(engine, table, scheduler)
        roles = Roles.given(
            sensitive, drop, categorical, numeric,
            identifier=identifier, use_sensitive=use_sensitive,
        )  # fmt: skip
        if engine == "memory":
            outputs.check(table, force)
            done = _fit(reading, roles, missing, numbers, method, seed, screen)
            told = _told(done, outputs.write(done, screen, written))
        else:
            n_clusters = outputs.check_parts(engine, method, numbers)
            told = _Told(
                *fit_parts(
                    InParts(reading, roles, missing, engine, scheduler),
                    n_clusters, method, seed, LargeOutputs(out, save, force),
                    screen, written,
                ),
                seed,
            )  # fmt: skip
    with one_line_errors(written, debug):
        if as_json:
            print_json(_as_json(told, written))
        else:
            printer = Printer()
            _print(printer, told)
            if told.found is not None and trade_off is not None:
                _print_frontier(printer, told.found.frontier)
            printer.written(written)
    if told.outcome.is_interrupted:
        nor = "; no trade-off was searched, and no page made"
        fail(
            "stopped on the way: the clusters are those reached so far"
            f"{nor if engine == 'memory' else ''}.",
            STOPPED,
        )


class _Told(NamedTuple):
    """What is printed: ``passes`` of a table in parts, the rest of one in memory."""

    facts: Facts
    outcome: Outcome
    passes: Passes | None
    seed: int
    tried: Sequence[Tried] = ()
    found: TradeOff | None = None
    better: str | None = None


class _Done(NamedTuple):
    source: Source
    roles: Roles
    fitted: Fitted
    tried: list[Tried]
    seed: int


def _fit(
    reading: Reading,
    roles: Roles,
    missing: str,
    numbers: range,
    method: str,
    seed: int,
    screen: Screen,
) -> _Done:
    from rawlsian._tables import analysis as _analysis
    from rawlsian._tables.pages import Source
    from rawlsian._tables.prepare import prepare

    table = reading.read(screen)
    prepared = prepare(table, roles, missing)
    problem = _analysis.problem_of(prepared)
    _analysis.check_clusters(numbers[-1], problem)
    tried: list[Tried] = []
    if len(numbers) > 1:
        tried, before = _analysis.try_range(problem, numbers, seed, screen.tell)
    else:
        screen.tell("k-means")
        before = _analysis.plain(problem, numbers[0], seed)
    fitted = _analysis.fit(problem, before, method, seed, screen.tell)
    source = Source.of(reading.name, table, prepared, roles)
    return _Done(source, roles, fitted, tried, seed)


def _told(done: _Done, found: TradeOff | None) -> _Told:
    from rawlsian._tables.pages import better_point

    fitted = done.fitted
    better = None if found is None else better_point(fitted, found.frontier)
    return _Told(
        done.source.facts, fitted.outcome, None, done.seed, done.tried, found, better
    )


class _Outputs(NamedTuple):
    """The files that are asked for."""

    labels: str | None
    model: str | None
    frontier: str | None
    page: str | None

    def check(self, table: str, may_replace: bool) -> None:
        """Refuse, before any work is done, what could not be written."""
        from rawlsian._support.files import check_outputs
        from rawlsian._tables.write import check_ending

        check_page(self.page)
        check_ending(self.labels, "--out")
        check_ending(self.frontier, "--frontier")
        check_ending(self.model, "--save", (".json",))
        check_outputs(self, inputs=[table], may_replace=may_replace)

    def check_parts(self, engine: str, method: str, numbers: range) -> int:
        """Refuse what needs all rows in memory; give the number of clusters."""
        from rawlsian._tables.large import METHODS

        if method not in METHODS:
            works = f"{', '.join(METHODS[:-1])} and {METHODS[-1]} work"
            raise needs_memory(f"--method {method}", engine, works)
        if len(numbers) > 1:
            several = f"--clusters {numbers[0]}:{numbers[-1]}"
            raise needs_memory(several, engine, "name one number, as --clusters 5")
        works = "--out, --save and --json work"
        for option, path in (("--report", self.page), ("--frontier", self.frontier)):
            if path is not None:
                raise needs_memory(option, engine, works)
        return numbers[0]

    def write(self, done: _Done, screen: Screen, written: list[str]) -> TradeOff | None:
        """Write them, the quickest first; give the trade-off if it was searched."""
        from rawlsian._tables import analysis as _analysis

        fitted = done.fitted
        if self.labels is not None:
            screen.tell("writing labels")
            _write_labels(self.labels, done.source, {"cluster": fitted.after.labels})
            written.append(self.labels)
        if self.model is not None:
            _save(self.model, done)
            written.append(self.model)
        if fitted.is_interrupted or (self.frontier is None and self.page is None):
            return None
        screen.tell("searching the trade-off")
        found = _analysis.trade_off(fitted.problem, fitted.before, done.seed)
        if self.frontier is not None:
            columns = {f"point_{j}": labels for j, labels in enumerate(found.labels)}
            _write_labels(self.frontier, done.source, columns)
            written.append(self.frontier)
        if self.page is not None:
            screen.tell("k-means from many starts")
            cloud = _analysis.cloud(fitted.problem, fitted.n_clusters, done.seed)
            screen.tell("writing the page")
            _put_page(self.page, done, found, cloud)
            written.append(self.page)
        return found


def _write_labels(path: str, source: Source, columns: dict[str, Any]) -> None:
    from rawlsian._tables.write import write_labels

    write_labels(
        path,
        source.n_rows,
        source.identifier,
        source.prepared.rows,
        columns,
        source.prepared.left_out,
    )


def _save(path: str, done: _Done) -> None:
    from rawlsian._tables.model import Model

    Model(
        done.source.prepared.features,
        done.fitted.after.centers,
        done.roles.sensitive,
        done.fitted.problem.max_distance,
        done.fitted.method,
        None if done.source.identifier is None else done.source.identifier.name,
    ).save(path)


def _put_page(path: str, done: _Done, found: TradeOff, cloud: Any) -> None:
    from rawlsian._support.files import write_text
    from rawlsian._tables.pages import fit_page
    from rawlsian.report import page_html

    page = fit_page(done.source, done.fitted, done.seed, found, cloud)
    write_text(path, page_html(page))


def _range(text: str) -> range:
    """One number of clusters, or those from low to high."""
    if re.fullmatch("[0-9]{1,9}(:[0-9]{1,9})?", text):
        low, _, high = text.partition(":")
        numbers = range(int(low), int(high or low) + 1)
        if numbers and numbers[0] > 0:
            return numbers
    fail(
        f"--clusters must be a number such as 5 or a range such as 2:12, got {text!r}.",
        WRONG_USE,
    )


# --- What is printed ---------------------------------------------------------------


def _print(out: Printer, told: _Told) -> None:
    from rawlsian._tables.pages import fit_summary

    outcome = told.outcome
    out.columns(told.facts, "Clustered on")
    if told.tried:
        _print_tried(out, told.tried, outcome.n_clusters)
    before, after = outcome.before, outcome.after
    rows = [
        (name, f"{size:,.0f}", *_change(*utilities))
        for name, size, *utilities in zip(
            outcome.group_names,
            outcome.group_sizes,
            before.utilities,
            after.utilities,
            strict=True,
        )
    ]
    n_rows = f"{outcome.group_sizes.sum():,.0f}"
    out.table(
        f"Utilities with {outcome.n_clusters} "
        f"cluster{'s' if outcome.n_clusters > 1 else ''}, higher is better",
        ("group", "people", "k-means", outcome.method, "change"),
        [*rows, (), ("everyone", n_rows, *_change(before.overall, after.overall))],
    )
    for sentence in fit_summary(outcome):
        out.line(sentence)
    if told.passes is not None:
        out.line(told.passes.sentence)
    if told.better is not None:
        out.line(told.better)


def _change(before: float, after: float) -> tuple[str, str, str]:
    return f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}"


def _print_tried(out: Printer, tried: Sequence[Tried], chosen: int) -> None:
    out.table(
        f"K-means with several numbers of clusters; {chosen} has the best silhouette"
        if any(one.silhouette is not None for one in tried)
        else f"No number of clusters has a silhouette; {chosen} is the first",
        ("clusters", "silhouette", "everyone", "lowest", "worst off", "gap"),
        [
            (
                f"{one.n_clusters}{' *' if one.n_clusters == chosen else ''}",
                "none" if one.silhouette is None else f"{one.silhouette:.4f}",
                f"{one.overall:.4f}",
                f"{one.lowest:.4f}",
                one.least_advantaged,
                f"{one.gap:.4f}",
            )
            for one in tried
        ],
    )


def _print_frontier(out: Printer, frontier: Frontier) -> None:
    """The trade-off; with many groups, everyone and the worst-off one only."""
    names, utilities = list(map(str, frontier.groups)), frontier.utilities
    if len(names) > MOST_COLUMNS:
        names, utilities = ["lowest"], utilities.min(axis=1, keepdims=True)
    out.table(
        "The trade-off: utilities at each point",
        ("point", "everyone", *names),
        [
            (str(j), f"{frontier.overall[j]:.4f}", *(f"{u:.4f}" for u in row))
            for j, row in enumerate(utilities)
        ],
    )


def _as_json(told: _Told, written: list[str]) -> dict[str, Any]:
    outcome = told.outcome
    names = [str(name) for name in outcome.group_names]
    before, after = outcome.before, outcome.after
    content: dict[str, Any] = {
        "method": outcome.method,
        "clusters": outcome.n_clusters,
        "seed": told.seed,
        "max_distance": outcome.max_distance,
        "groups": [
            {
                "group": name,
                "size": float(outcome.group_sizes[g]),
                "before": float(before.utilities[g]),
                "after": float(after.utilities[g]),
            }
            for g, name in enumerate(names)
        ],
        "overall": {"before": before.overall, "after": after.overall},
        "least_advantaged": {
            "before": names[int(before.utilities.argmin())],
            "after": names[int(after.utilities.argmin())],
        },
        "moved": outcome.n_moved,
        "steps": outcome.n_steps,
        "stop_reason": outcome.stop_reason,
        **({} if told.passes is None else told.passes.as_json()),
        **columns_json(told.facts),
        "written": written,
    }
    if told.tried:
        content["tried"] = [asdict(one) for one in told.tried]
    if told.found is not None:
        content["frontier"] = _frontier_json(told.found.frontier, names)
        content["remarks"] += [told.better] if told.better else []
    return content


def _frontier_json(frontier: Frontier, names: list[str]) -> list[dict[str, Any]]:
    return [
        {"overall": float(overall), "utilities": dict(zip(names, row, strict=True))}
        for overall, row in zip(
            frontier.overall, frontier.utilities.tolist(), strict=True
        )
    ]
