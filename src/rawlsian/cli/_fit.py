"""``rawlsian fit``: cluster a table and serve its worst-off group."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console

from rawlsian.cli._common import (
    STOPPED,
    WRONG_USE,
    CategoricalOption,
    DebugOption,
    DelimiterOption,
    DropOption,
    EncodingOption,
    ForceOption,
    IdOption,
    JsonOption,
    MissingOption,
    NaOption,
    Reading,
    ReportOption,
    Screen,
    SeedOption,
    SensitiveOption,
    TableArgument,
    UseSensitiveOption,
    check_page,
    check_seed,
    choose,
    columns_json,
    fail,
    one_line_errors,
    plain_text,
    print_columns,
    print_json,
    print_table,
    print_written,
)

if TYPE_CHECKING:
    from rawlsian._frontier import Frontier
    from rawlsian.table._analysis import Fitted, Tried
    from rawlsian.table._columns import Roles
    from rawlsian.table._pages import Source

MOST_CLUSTERS = 1000
# Groups that have a column each when the trade-off is printed.
MOST_COLUMNS = 6


def fit(
    table: TableArgument,
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
            help="rawls goes furthest from k-means; R1, R2, R1+R2, R2-exhaustive, "
            "batch and relocate are single operators; kmeans-free, kmeans-mean and "
            "fair-lloyd search beside k-means.",
        ),
    ] = "rawls",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write each row's cluster: .csv, .tsv or .parquet.",
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
    use_sensitive: UseSensitiveOption = False,
    identifier: IdOption = None,
    missing: MissingOption = "error",
    na: NaOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    as_json: JsonOption = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Cluster a table with k-means, then serve its worst-off group better.

    Numbers are scaled and categories encoded so that each column counts alike;
    identifiers, dates and free text are named and left out, and so are the sensitive
    columns unless you ask for them.

    Example: `rawlsian fit people.csv --sensitive sex --clusters 5 --out labels.csv
    --report page.html`
    """
    numbers = _range(clusters)
    choose(missing, "--missing", ("error", "drop", "category"))
    check_seed(seed)
    reading = Reading(table, delimiter, encoding, tuple(na or ()))
    outputs = _Outputs(out, save, trade_off, report)
    written: list[str] = []
    with one_line_errors(written, debug), Screen() as screen:
        screen.tell("loading")
        from rawlsian.table._analysis import METHODS
        from rawlsian.table._columns import Roles

        choose(method, "--method", METHODS)
        outputs.check(force)
        roles = Roles(
            tuple(dict.fromkeys(sensitive)),
            None,
            identifier,
            tuple(drop or ()),
            tuple(categorical or ()),
            use_sensitive,
        )
        done = _fit(reading, roles, missing, numbers, method, seed, screen)
        frontier = outputs.write(done, screen, written)
    if as_json:
        print_json(_as_json(done, frontier, written))
    else:
        console = Console()
        _print(console, done, frontier)
        if frontier is not None and trade_off is not None:
            _print_frontier(console, done.fitted, frontier)
        print_written(console, written)
    if done.fitted.is_interrupted:
        fail("stopped on the way: the clusters are those reached so far.", STOPPED)


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
    from rawlsian.table import _analysis
    from rawlsian.table._pages import Source
    from rawlsian.table._prepare import prepare

    table = reading.read(screen)
    prepared = prepare(table, roles, missing)
    problem = _analysis.problem_of(prepared)
    _analysis.check_clusters(numbers[-1], problem)
    tried: list[Tried] = []
    n_clusters = numbers[0]
    if len(numbers) > 1:
        tried, n_clusters = _analysis.try_range(problem, numbers, seed, screen.tell)
    fitted = _analysis.fit(problem, n_clusters, method, seed, screen.tell)
    source = Source.of(reading.name, table, prepared, roles)
    return _Done(source, roles, fitted, tried, seed)


class _Outputs(NamedTuple):
    """The files that are asked for."""

    labels: str | None
    model: str | None
    frontier: str | None
    page: str | None

    def check(self, may_replace: bool) -> None:
        """Refuse, before any work is done, what could not be written."""
        from rawlsian._files import check_outputs
        from rawlsian.table._write import check_ending

        check_page(self.page)
        check_ending(self.labels, "--out")
        check_ending(self.frontier, "--frontier")
        check_ending(self.model, "--save", (".json",))
        check_outputs(self, may_replace=may_replace)

    def write(self, done: _Done, screen: Screen, written: list[str]) -> Frontier | None:
        """Write them, the quickest first; give the trade-off if it was searched."""
        from rawlsian.report._ways import frontier_labels
        from rawlsian.table import _analysis

        fitted = done.fitted
        problem, n_clusters = fitted.problem, fitted.n_clusters
        if self.labels is not None:
            screen.tell("writing labels")
            _write_labels(self.labels, done.source, {"cluster": fitted.after.labels})
            written.append(self.labels)
        if self.model is not None:
            _save(self.model, done)
            written.append(self.model)
        if self.frontier is None and self.page is None:
            return None
        screen.tell("searching the trade-off")
        found, n_searched = _analysis.trade_off(problem, n_clusters, done.seed)
        if self.frontier is not None:
            points = frontier_labels(found, problem, fitted.before.labels)
            columns = {f"point_{j}": labels for j, labels in enumerate(points)}
            _write_labels(self.frontier, done.source, columns)
            written.append(self.frontier)
        if self.page is not None:
            screen.tell("k-means from many starts")
            cloud = _analysis.cloud(problem, n_clusters, done.seed)
            screen.tell("writing the page")
            _write_page(self.page, done, found, n_searched, cloud)
            written.append(self.page)
        return found


def _write_labels(path: str, source: Source, columns: dict[str, Any]) -> None:
    from rawlsian.table._write import write_labels

    write_labels(
        path,
        source.table.n_rows,
        source.identifier,
        source.prepared.rows,
        columns,
        source.prepared.left_out,
    )


def _save(path: str, done: _Done) -> None:
    from rawlsian.table._model import Model

    Model(
        done.source.prepared.features,
        done.fitted.after.centers,
        done.roles.sensitive,
        done.fitted.problem.max_distance,
        done.fitted.method,
    ).save(path)


def _write_page(
    path: str, done: _Done, found: Frontier, n_searched: int, cloud: Any
) -> None:
    from rawlsian._files import write_text
    from rawlsian.report import write_page
    from rawlsian.table._pages import fit_page

    page = fit_page(done.source, done.fitted, done.seed, found, n_searched, cloud)
    write_text(path, write_page(page))


def _range(text: str) -> range:
    """One number of clusters, or those from low to high."""
    low, _, high = text.partition(":")
    try:
        numbers = range(int(low), int(high or low) + 1)
    except ValueError:
        numbers = range(0)
    if not numbers or numbers[0] < 1 or numbers[-1] > MOST_CLUSTERS:
        fail(
            f"--clusters must be a number from 1 to {MOST_CLUSTERS} or a range such as "
            f"2:12, got {text!r}.",
            WRONG_USE,
        )
    return numbers


# --- What is printed ---------------------------------------------------------------


def _print(console: Console, done: _Done, frontier: Frontier | None) -> None:
    from rawlsian.table._pages import better_point, fit_summary
    from rawlsian.table._prepare import group_texts

    source, _, fitted, tried, _ = done
    print_columns(console, source, "Clustered on")
    names = [plain_text(name) for name in group_texts(fitted.problem.group_names)]
    if tried:
        _print_tried(console, tried, fitted.n_clusters, names)
    problem, before, after = fitted.problem, fitted.before, fitted.after
    rows = [
        (name, f"{size:,.0f}", *_change(*utilities))
        for name, size, *utilities in zip(
            names, problem.group_sizes, before.utilities, after.utilities, strict=True
        )
    ]
    everyone = f"{problem.n_samples:,}", *_change(before.overall, after.overall)
    print_table(
        console,
        f"Utilities with {fitted.n_clusters} clusters, higher is better",
        ("group", "people", "k-means", fitted.method, "change"),
        [*rows, (), ("everyone", *everyone)],
    )
    better = None if frontier is None else better_point(fitted, frontier)
    for sentence in (*fit_summary(fitted), *([better] if better else [])):
        console.print(plain_text(sentence))


def _change(before: float, after: float) -> tuple[str, str, str]:
    return f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}"


def _print_tried(
    console: Console, tried: list[Tried], chosen: int, names: list[str]
) -> None:
    print_table(
        console,
        f"K-means with several numbers of clusters; {chosen} has the best silhouette",
        ("clusters", "silhouette", "everyone", "lowest", "worst off", "gap"),
        [
            (
                f"{one.n_clusters}{' *' if one.n_clusters == chosen else ''}",
                f"{one.silhouette:.4f}" if isfinite(one.silhouette) else "none",
                f"{one.overall:.4f}",
                f"{one.lowest:.4f}",
                names[one.least_advantaged],
                f"{one.gap:.4f}",
            )
            for one in tried
        ],
    )


def _print_frontier(console: Console, fitted: Fitted, frontier: Frontier) -> None:
    """The trade-off; with many groups, everyone and the worst-off one only."""
    from rawlsian.table._prepare import group_texts

    names = [plain_text(name) for name in group_texts(fitted.problem.group_names)]
    shown = names if len(names) <= MOST_COLUMNS else ["lowest"]
    lowest = frontier.utilities.min(axis=1, keepdims=True)
    utilities = frontier.utilities if len(names) <= MOST_COLUMNS else lowest
    print_table(
        console,
        "The trade-off: utilities at each point",
        ("point", "everyone", *shown),
        [
            (str(j), f"{frontier.overall[j]:.4f}", *(f"{u:.4f}" for u in row))
            for j, row in enumerate(utilities)
        ],
    )


def _as_json(
    done: _Done, frontier: Frontier | None, written: list[str]
) -> dict[str, Any]:
    from rawlsian.table._prepare import group_texts

    source, _, fitted, tried, seed = done
    names = group_texts(fitted.problem.group_names)
    trajectory = fitted.trajectory
    content = {
        "method": fitted.method,
        "clusters": fitted.n_clusters,
        "seed": seed,
        "max_distance": fitted.problem.max_distance,
        "groups": [
            {
                "group": name,
                "size": float(fitted.problem.group_sizes[g]),
                "before": float(fitted.before.utilities[g]),
                "after": float(fitted.after.utilities[g]),
            }
            for g, name in enumerate(names)
        ],
        "overall": {"before": fitted.before.overall, "after": fitted.after.overall},
        "least_advantaged": {
            "before": names[int(fitted.before.utilities.argmin())],
            "after": names[int(fitted.after.utilities.argmin())],
        },
        "moved": fitted.n_moved,
        "steps": None if trajectory is None else trajectory.n_iter,
        "stop_reason": None if trajectory is None else trajectory.stop_reason,
        **columns_json(source.prepared),
        "written": written,
    }
    if tried:
        content["tried"] = [asdict(one) | {
            "silhouette": one.silhouette if isfinite(one.silhouette) else None,
            "least_advantaged": names[one.least_advantaged],
        } for one in tried]  # fmt: skip
    if frontier is not None:
        content["frontier"] = [
            {"overall": float(overall), "utilities": dict(zip(names, row, strict=True))}
            for overall, row in zip(
                frontier.overall, frontier.utilities.tolist(), strict=True
            )
        ]
    return content
