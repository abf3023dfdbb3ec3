"""``rawlsian study``: the paper's study by one command."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group
from rich.table import Table

from rawlsian.cli.common import FAILED, STOPPED, WRONG_USE, fail, number_table

if TYPE_CHECKING:
    from rawlsian.study import Progress

GROUPS = ("Female", "Male", "overall")
TITLES = {
    "data": "1 data",
    "existence": "2 existence",
    "traversals": "3 traversals",
    "samples": "4 samples",
    "beyond": "5 beyond",
    "claims": "6 claims",
}


def study(
    out: Annotated[
        str,
        typer.Option(help="Folder for results.json, report.md, page.html and figures."),
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
        fail("--out is empty; name a folder.", WRONG_USE)
    console = Console()
    screen = _StudyScreen(console)
    began = time.perf_counter()
    try:
        with console.status("loading"):
            from rawlsian.plotting import require_matplotlib
            from rawlsian.study import OutputFolderError, StudyConfig, run_study
        require_matplotlib()
        try:
            config = StudyConfig(dataset, runs, samples, seed, clusters)
        except ValueError as error:
            fail(str(error), WRONG_USE)
        with screen:
            run_study(config, out, callback=screen.show)
    except (ImportError, OutputFolderError) as error:
        fail(str(error), WRONG_USE)
    except OSError as error:
        fail(f"{error}; {_finished(screen, out)}", FAILED)
    except KeyboardInterrupt:
        fail(f"stopped; {_finished(screen, out)}", STOPPED)
    seconds, folder = time.perf_counter() - began, Path(out)
    typer.echo(
        f"Done in {seconds:.0f} s. Read {folder / 'report.md'}, explore "
        f"{folder / 'page.html'}; figures are in {folder / 'figures'}, all numbers in "
        f"{folder / 'results.json'}."
    )


def _finished(screen: _StudyScreen, out: str) -> str:
    if screen.n_finished == 0:
        return "nothing was finished."
    return f"{screen.n_finished} of {len(TITLES)} stages are in {out}"


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
    return (
        f"Adult: {dataset['rows']:,} people, {dataset['columns']} columns; {groups}.\n"
        "Kernels are compiled now, if this is the first time."
    )


def _on_existence(results: dict[str, Any]) -> Table:
    existence = results["existence"]
    lag = existence["lag"]
    table = number_table(
        ["point", *GROUPS],
        f"Sample {existence['sample_seed']}: {existence['lag_runs']:,} of "
        f"{existence['runs']:,} runs have {lag} as the LAG",
    )
    parts = [("of all runs", existence["unfiltered"])]
    if existence["filter"] == "filtered":
        parts.insert(0, (f"with {lag} as LAG", existence))
    for kind, part in parts:
        for name, key in (("utilitarian", "utilitarian"), ("Rawlsian", "rawlsian")):
            numbers = (f"{part[key][name]:.4f}" for name in GROUPS)
            table.add_row(f"{name} {kind}", *numbers)
    return table


def _on_traversals(results: dict[str, Any]) -> Table:
    table = number_table(
        ["reading", "operator", "iterations", *GROUPS, "seconds"],
        "From the utilitarian point",
    )
    for reading, traversals in results["traversals"].items():
        for t in traversals:
            numbers = (f"{t['end'][name]:.4f}" for name in GROUPS)
            iterations, seconds = str(t["iterations"]), f"{t['seconds']:.2f}"
            table.add_row(reading, t["operator"], iterations, *numbers, seconds)
    return table


def _on_samples(results: dict[str, Any]) -> str:
    samples = results["samples"]
    return (
        f"{len(samples['rows'])} samples with the paper's split, out of "
        f"{samples['seeds_drawn']:,} drawn."
    )


def _on_beyond(results: dict[str, Any]) -> Table:
    from rawlsian.study.claims import percent

    beyond = results["beyond"]
    table = number_table(
        ["reading", "method", "gap closed", "proved gap", "seconds"],
        "Beyond the paper, medians",
    )
    for reading, methods in beyond["methods"].items():
        for method in methods:
            ends = [row["methods"][reading][method] for row in beyond["rows"]]
            closed, left, seconds = (
                median(end[key] for end in ends)
                for key in ("gap_closed", "proved_gap", "seconds")
            )
            numbers = percent(closed), percent(left), f"{seconds:.2f}"
            table.add_row(reading, method, *numbers)
    return table


def _on_claims(results: dict[str, Any]) -> Group:
    alike = [claim for claim in results["claims"] if "readings" not in claim]
    others = [claim for claim in results["claims"] if "readings" in claim]
    readings = list(others[0]["readings"])
    first = _claims_table("Claims", ["measured here", "verdict"])
    for claim in alike:
        first.add_row(claim["claim"], claim["paper"], claim["ours"], claim["verdict"])
    heads = [column for reading in readings for column in (reading, "verdict")]
    second = _claims_table("Claims under each reading of utility", heads)
    for claim in others:
        found = (claim["readings"][reading] for reading in readings)
        cells = [cell for one in found for cell in (one["ours"], one["verdict"])]
        second.add_row(claim["claim"], claim["paper"], *cells)
    return Group(first, second)


def _claims_table(title: str, heads: list[str]) -> Table:
    table = Table(title=title, show_lines=True)
    for name in ("claim of the paper", "paper", *heads):
        table.add_column(name)
    return table


_SUMMARIES: dict[str, Any] = {
    "data": _on_data,
    "existence": _on_existence,
    "traversals": _on_traversals,
    "samples": _on_samples,
    "beyond": _on_beyond,
    "claims": _on_claims,
}
