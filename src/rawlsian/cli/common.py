"""What the commands share: options, errors in one line, progress."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rawlsian._tables import read as tables
    from rawlsian._tables.pages import Facts

FAILED, WRONG_USE, STOPPED = 1, 2, 130

# --- Options -----------------------------------------------------------------------

TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV or Parquet, compressed or not; - reads standard input.",
        show_default=False,
    ),
]
PartsArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV or Parquet, compressed or not; - reads standard input; a folder "
        "or a pattern in quotes, Parquet in parts.",
        show_default=False,
    ),
]
SensitiveOption = Annotated[
    list[str],
    typer.Option(
        "--sensitive",
        metavar="COL",
        help="Column that makes the groups; repeated, their intersections.",
        show_default=False,
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL", help="Column to leave out; may be repeated."),
]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COL",
        help="Column to take as categories, though it holds numbers or many texts; "
        "may be repeated.",
    ),
]
NumericOption = Annotated[
    list[str] | None,
    typer.Option(
        "--numeric",
        metavar="COL",
        help="Column to take as numbers, though it looks like an identifier; may be "
        "repeated.",
    ),
]
UseSensitiveOption = Annotated[
    bool,
    typer.Option("--use-sensitive", help="Cluster on the sensitive columns, too."),
]
IdOption = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="COL", help="Column that names the rows in what is written."
    ),
]
MissingOption = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="error|drop|category",
        help="Rows with missing values: stop and say so, leave them out, or give "
        "missing values a level of their own.",
    ),
]
NaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT",
        help="A text that means missing, such as '?', besides NA and the like; may be "
        "repeated.",
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHAR",
        help="What separates columns; guessed if not given.",
    ),
]
EncodingOption = Annotated[
    str, typer.Option("--encoding", help="Encoding of a text file, such as latin-1.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of all random draws.")]
ReportOption = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE.html", help="Write a page to explore and hand over."
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of tables.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace files that are there already.")
]
DebugOption = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error.")
]


EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="auto|memory|blocks|dask",
        help="All rows in memory, or Parquet in parts that never are: on this "
        "machine's threads, or on Dask workers. auto: memory for one file, blocks for "
        "a folder or a pattern.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler to work with, such as tcp://10.0.0.1:8786, instead of "
        "workers on this machine.",
    ),
]


def choose(value: str, option: str, choices: Sequence[str]) -> None:
    """Refuse what is not one of the choices."""
    if value not in choices:
        fail(f"{option} must be one of {', '.join(choices)}, got {value!r}.", WRONG_USE)


def check_seed(seed: int) -> None:
    """Refuse seeds that NumPy does not take."""
    if not 0 <= seed < 2**32:
        fail(f"--seed must be a number from 0 to {2**32 - 1:,}, got {seed}.", WRONG_USE)


def check_page(report: str | None) -> None:
    """Refuse a page early if its name is not one's, or what draws it is missing."""
    if report is None:
        return
    from rawlsian._tables.write import check_ending
    from rawlsian.report.write import require_altair

    check_ending(report, "--report", (".html", ".htm"))
    require_altair()


# --- Errors ------------------------------------------------------------------------


def fail(message: str, code: int) -> NoReturn:
    """One line on standard error, and an exit code."""
    line = " ".join(message.split())
    typer.echo(line if code == STOPPED else f"Error: {line}", err=True)
    raise typer.Exit(code)


@contextmanager
def one_line_errors(written: Sequence[str], debug: bool) -> Iterator[None]:
    """Turn what goes wrong into a line and an exit code; ``written`` files are told."""
    from rawlsian._support.files import OutputError, WriteError
    from rawlsian._tables.errors import TableError, WorkersError, WrongUseError

    try:
        yield
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        fail(f"stopped; {_told(written)}", STOPPED)
    except BrokenPipeError:  # as of "| head": who reads has read enough
        _forget_output()
        raise typer.Exit(FAILED) from None
    except Exception as error:
        if debug:
            raise
        if isinstance(error, ModuleNotFoundError) and error.name == "pyarrow":
            fail(
                "tables need pyarrow, which is not installed; pip install "
                "'rawlsian[cli]' brings it.",
                WRONG_USE,
            )
        if isinstance(error, (OutputError, WrongUseError, ImportError)):
            fail(str(error), WRONG_USE)
        if isinstance(error, (WriteError, WorkersError)):
            fail(f"{error}; {_told(written)}", FAILED)
        if isinstance(error, TableError):
            fail(str(error), FAILED)
        if isinstance(error, OSError):
            _forget_output()
            reason = error.strerror or error
            fail(f"cannot write what was found: {reason}; {_told(written)}", FAILED)
        if isinstance(error, MemoryError):
            fail("not enough memory; give fewer rows, or --drop columns.", FAILED)
        fail(
            f"{type(error).__name__}: {error}; this should not happen: --debug shows "
            "where, please report it.",
            FAILED,
        )


def _forget_output() -> None:
    """What is left of the output would fail again, when Python ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _told(written: Sequence[str]) -> str:
    if not written:
        return "nothing was written."
    return f"written so far: {', '.join(written)}"


# --- Progress and output -----------------------------------------------------------


class Screen:
    """A bar for what is being done, on standard error, gone when it is finished."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self.bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,  # a file would get empty lines
        )
        self.task: TaskID | None = None
        self.stage = ""

    def __enter__(self) -> Screen:
        self.bars.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bars.stop()

    def tell(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Say what is being done, and how much of it is done."""
        if stage != self.stage or self.task is None:
            if self.task is not None:
                self.bars.remove_task(self.task)
            self.task = self.bars.add_task(stage, total=total, count="")
            self.stage = stage
        count = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        self.bars.update(
            self.task, completed=done, total=total, count=count if done else ""
        )


def number_table(columns: Sequence[str], title: str | None = None) -> Table:
    """A table of numbers with a first column of names."""
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(columns):
        justify: Any = "right" if place else "left"
        table.add_column(Text(_printable(name)), justify=justify, overflow="fold")
    return table


class Printer:
    """Standard output, where text of the user's is shown as it is."""

    def __init__(self) -> None:
        self.console = Console(markup=False, emoji=False, highlight=False)

    def line(self, text: str = "") -> None:
        """Print a line; what no terminal should get is replaced."""
        self.console.print(_printable(text))

    def table(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> None:
        """Print a table under its title; a row of no cells draws a line."""
        table = number_table(columns)
        for row in rows:
            if row:
                table.add_row(*(Text(_printable(cell)) for cell in row))
            else:
                table.add_section()
        self.line(title)
        self.console.print(table)

    def written(self, paths: Sequence[str]) -> None:
        """Say which files there are now."""
        for path in paths:
            self.line(f"Wrote {path}.")
        sys.stdout.flush()

    def columns(self, facts: Facts, what: str) -> None:
        """Print what the table is, which columns are used, which not, and why."""
        self.line(
            f"{facts.name}: {facts.n_rows:,} rows, {facts.n_columns} columns "
            f"({facts.how})."
        )
        used = ", ".join(
            f"{feature.name} ({'number' if feature.levels is None else 'category'})"
            for feature in facts.features
        )
        self.line(f"{what} {len(facts.features)}: {used}.")
        for column in facts.unused:
            self.line(f"Left out: {column.name} ({column.reason}).")
        for each in facts.left_out:
            self.line(
                f"Not clustered: {each.n_rows:,} rows, the first is {each.first} "
                f"({each.reason})."
            )
        for remark in facts.remarks:
            self.line(remark)
        self.line()


def _printable(text: str) -> str:
    return "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )


def print_json(content: dict[str, Any]) -> None:
    """JSON on standard output."""
    print(json.dumps(content, indent=1, allow_nan=False), flush=True)


def columns_json(facts: Facts) -> dict[str, Any]:
    """The same for machines."""
    return {
        "clustered_on": [feature.name for feature in facts.features],
        "not_clustered_on": {c.name: c.reason for c in facts.unused},
        "rows_not_clustered": [
            {"reason": each.reason, "rows": each.n_rows, "first_row": each.first_row}
            | ({} if each.file is None else {"first_file": each.file})
            for each in facts.left_out
        ],
        "remarks": list(facts.remarks),
    }


@dataclass(frozen=True)
class Reading:
    """How a table is to be read."""

    table: str
    delimiter: str | None
    encoding: str
    na: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the table is called on a page."""
        return "standard input" if self.table == "-" else Path(self.table).name

    def read(self, screen: Screen) -> tables.Table:
        """Read it."""
        from rawlsian._tables.read import read_table

        screen.tell("reading")
        return read_table(
            self.table,
            delimiter="\t" if self.delimiter in ("\\t", "tab") else self.delimiter,
            encoding=self.encoding,
            missing_texts=self.na,
        )
