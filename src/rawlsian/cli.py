"""The command line: parse, call, print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from rawlsian._version import __version__

if TYPE_CHECKING:
    from rawlsian.study import Progress

app = typer.Typer(
    help="Clustering that serves the worst-off group as well as it can be served.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

FAILED, WRONG_USE, STOPPED = 1, 2, 130

TITLES = {
    "data": "1 data",
    "existence": "2 existence",
    "traversals": "3 traversals",
    "samples": "4 samples",
    "claims": "5 claims",
}


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"rawlsian {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Clustering that serves the worst-off group as well as it can be served."""


@app.command()
def study(
    out: Annotated[
        str, typer.Option(help="Folder for results.json, report.md and figures.")
    ] = "rawlsian-study",
    runs: Annotated[
        int, typer.Option(help="k-means runs on each sample, 1 or more.")
    ] = 5000,
    samples: Annotated[
        int, typer.Option(help="Samples of 267 women and 733 men, 1 or more.")
    ] = 30,
    seed: Annotated[
        int, typer.Option(help="Another number, 0 or more, draws other samples.")
    ] = 0,
    clusters: Annotated[
        int, typer.Option(help="Number of clusters, 2 to 20; the paper has 5.")
    ] = 5,
    dataset: Annotated[str, typer.Option(help="Data to study; there is 'adult'.")] = (
        "adult"
    ),
) -> None:
    """Reproduce the paper's study: tables, figures, and each claim beside what we find.

    The default takes some minutes. Results are written after each stage, so that
    Ctrl-C leaves what is finished; those of an earlier study in the same folder are
    written over.

    Example: `rawlsian study --runs 300 --samples 3 --out quick`
    """
    if not out:
        _fail("--out is empty; name a folder.", WRONG_USE)
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        _fail(
            "the study draws figures with matplotlib, which is not installed; "
            "pip install 'rawlsian[all]' brings it.",
            WRONG_USE,
        )
    console = Console()
    screen = _StudyScreen(console)
    try:
        with console.status("loading; the first time, compiling takes half a minute"):
            from rawlsian.study import StudyConfig, run_study

        config = StudyConfig(dataset, runs, samples, seed, clusters)
        with screen:
            results = run_study(config, out, callback=screen.show)
    except (ValueError, NotADirectoryError, PermissionError) as error:
        _fail(str(error), WRONG_USE)
    except OSError as error:
        _fail(f"stopped: {error}", FAILED)
    except KeyboardInterrupt:
        _fail(f"stopped; {screen.n_finished} of 5 stages are in {out}", STOPPED)
    seconds = sum(results["seconds"].values())
    folder = Path(out)
    console.print(
        f"Done in {seconds:.0f} s. Read {folder / 'report.md'}; figures are in "
        f"{folder / 'figures'}, all numbers in {folder / 'results.json'}.",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def _fail(message: str, code: int) -> NoReturn:
    """One line on standard error, and an exit code."""
    typer.echo(message if code == STOPPED else f"Error: {message}", err=True)
    raise typer.Exit(code)


class _StudyScreen:
    """A bar for each stage, and a line or table when it is finished."""

    def __init__(self, console: Console) -> None:
        from rich import progress

        self.console = console
        self.bars = progress.Progress(
            progress.TextColumn("{task.description:<13}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
            console=console,
        )
        self.tasks: dict[str, Any] = {}
        self.n_finished = 0

    def __enter__(self) -> _StudyScreen:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.tasks:
            self.bars.stop()

    def show(self, now: Progress) -> None:
        if not self.tasks:  # not before: an error should come alone
            self.bars.start()
            self._begin("data")
        self.bars.update(self.tasks[now.stage], completed=now.done, total=now.total)
        if now.done < now.total:
            return
        self.n_finished += 1
        self.bars.print(_SUMMARIES[now.stage](now.results))
        following = list(TITLES)[list(TITLES).index(now.stage) + 1 :]
        if following:
            self._begin(following[0])

    def _begin(self, stage: str) -> None:
        self.tasks[stage] = self.bars.add_task(TITLES[stage], total=None)


def _on_data(results: dict[str, Any]) -> str:
    dataset = results["dataset"]
    groups = ", ".join(
        f"{part['examples']:,} {name}" for name, part in dataset["groups"].items()
    )
    return f"Adult: {dataset['rows']:,} people, {dataset['columns']} columns; {groups}."


def _on_existence(results: dict[str, Any]) -> Table:
    existence = results["existence"]
    table = Table(
        title=f"Sample {existence['sample_seed']}: {existence['lag_runs']:,} of "
        f"{existence['runs']:,} runs have {existence['lag']} as the LAG"
    )
    for name in ("point", "Female", "Male", "overall"):
        justify: Any = "left" if name == "point" else "right"
        table.add_column(name, justify=justify, overflow="fold")
    for kind, part in (("", existence), (" of all runs", existence["unfiltered"])):
        for key in ("utilitarian", "rawlsian"):
            numbers = (
                f"{part[key][name]:.4f}" for name in ("Female", "Male", "overall")
            )
            table.add_row(key.replace("raw", "Raw") + kind, *numbers)
    return table


def _on_traversals(results: dict[str, Any]) -> Table:
    table = Table(title="From the utilitarian point")
    for name in ("operator", "iterations", "Female", "Male", "overall", "seconds"):
        justify: Any = "left" if name == "operator" else "right"
        table.add_column(name, justify=justify, overflow="fold")
    for t in results["traversals"]:
        numbers = (f"{t['end'][name]:.4f}" for name in ("Female", "Male", "overall"))
        table.add_row(
            t["operator"], str(t["iterations"]), *numbers, f"{t['seconds']:.2f}"
        )
    return table


def _on_samples(results: dict[str, Any]) -> str:
    samples = results["samples"]
    return (
        f"{len(samples['rows'])} samples with the paper's split, out of "
        f"{samples['seeds_drawn']:,} drawn."
    )


def _on_claims(results: dict[str, Any]) -> Table:
    table = Table(title="Claims", show_lines=True)
    for name in ("claim of the paper", "paper", "measured here", "verdict"):
        table.add_column(name)
    for claim in results["claims"]:
        table.add_row(claim["claim"], claim["paper"], claim["ours"], claim["verdict"])
    return table


_SUMMARIES: dict[str, Any] = {
    "data": _on_data,
    "existence": _on_existence,
    "traversals": _on_traversals,
    "samples": _on_samples,
    "claims": _on_claims,
}
