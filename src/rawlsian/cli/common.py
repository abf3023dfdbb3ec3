"""Options, one-line errors, progress and printing, shared by the commands."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
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
    from rawlsian._tables.audit_result import TableAudit
    from rawlsian._tables.results import TableFit, TablePrediction
    from rawlsian._tables.text import TextTable

FAILED, WRONG_USE, STOPPED = 1, 2, 130

# A name or a cell can have thousands of characters.
LONG_WORD = re.compile(r"(\S{300})\S{700,}")

# --- Options -----------------------------------------------------------------------

TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet or Excel; text may be compressed; - reads standard "
        "input.",
        show_default=False,
    ),
]
PartsArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet or Excel; text may be compressed; - reads standard "
        "input; or Parquet files: a folder, or a pattern in quotes.",
        show_default=False,
    ),
]
SensitiveOption = Annotated[
    list[str],
    typer.Option(
        "--sensitive",
        metavar="COL[,COL]",
        help="Column that makes the groups; of several columns, their intersections "
        "do. A list with commas, or given several times, as in every option that "
        "takes columns.",
        show_default=False,
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="COL[,COL]",
        help="Use these columns and no others; all, if not given.",
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL[,COL]", help="Columns to leave out."),
]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COL[,COL]",
        help="Columns to take as categories, though they hold numbers or many texts.",
    ),
]
NumericOption = Annotated[
    list[str] | None,
    typer.Option(
        "--numeric",
        metavar="COL[,COL]",
        help="Columns to take as numbers, though they look like identifiers.",
    ),
]
OrdinalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ordinal",
        metavar="COL=LOW,MID,HIGH",
        help="Ordered categories, from the lowest; they count as equally spaced.",
    ),
]
BinsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        metavar="COL=25,35,50",
        help="Bounds that make groups of a sensitive column of numbers.",
    ),
]
FoldOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fold",
        metavar="COL[,COL]",
        help="Columns in which values that differ only in case, blanks or accents are "
        "merged.",
    ),
]
ScaleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--scale",
        metavar="[COL=]range|std|robust|log",
        help="What numbers are divided by: their range (default), two standard "
        "deviations, two robust ones (by quartiles), or the range of log(1 + x); for "
        "all columns, or for some.",
    ),
]
DecimalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--decimal",
        metavar="[COL=].|,",
        help="Decimal sign of numbers that are written as text; found by looking at "
        "each column if not given.",
    ),
]
WeightOption = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COL",
        help="Column that says how many people each row stands for.",
    ),
]
UseSensitiveOption = Annotated[
    bool,
    typer.Option("--use-sensitive", metavar="", help="Use the sensitive columns, too."),
]
IdOption = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="COL", help="Column that names the rows in what is written."
    ),
]
MissingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="[COL=]error|drop|category",
        help="Rows with missing values: stop and say so (default), leave them out, or "
        "treat 'missing' as a value of its own; for all columns, or for some.",
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
SheetOption = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="Sheet of an Excel workbook; the first that has cells if not given.",
    ),
]
HeaderRowOption = Annotated[
    int | None,
    typer.Option(
        "--header-row",
        metavar="N",
        help="Row of the file with the names of the columns, from 1; found below "
        "title rows if not given.",
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHAR",
        help="Separator of columns; guessed if not given.",
    ),
]
EncodingOption = Annotated[
    str, typer.Option("--encoding", help="Encoding of a text file, such as latin-1.")
]
MinGroupOption = Annotated[
    int,
    typer.Option(
        "--min-group",
        metavar="N",
        help="Groups of fewer people are reported, but not judged or optimised for.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of all random draws.")]
ReportOption = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE.html", help="Write a page to explore and hand over."
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", metavar="", help="Print JSON instead of tables.")
]
ForceOption = Annotated[
    bool,
    typer.Option("--force", metavar="", help="Replace files that are there already."),
]
DebugOption = Annotated[
    bool, typer.Option("--debug", metavar="", help="Show the traceback of an error.")
]


EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="auto|memory|blocks|dask",
        help="memory: all rows in memory. blocks: Parquet files, a part at a time, on "
        "this machine. dask: the same on Dask workers. auto: memory for one file, "
        "blocks for a folder or a pattern.",
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


# --- Errors ------------------------------------------------------------------------


def fail(message: str, code: int) -> NoReturn:
    """One line on standard error, and an exit code; long words are cut."""
    line = LONG_WORD.sub(r"\1…", _printable(" ".join(message.split())))
    typer.echo(line if code == STOPPED else f"Error: {line}", err=True)
    raise typer.Exit(code)


@contextmanager
def one_line_errors(debug: bool) -> Iterator[None]:
    """Turn an error into a line that names the files written, and an exit code."""
    from rawlsian._support.files import OutputError, WriteError
    from rawlsian._tables.errors import (
        TableError,
        WorkersError,
        WrongUseError,
        note_on_written,
    )

    try:
        yield
    except typer.Exit:
        raise
    except KeyboardInterrupt as stop:
        fail(f"stopped; {note_on_written(stop)}", STOPPED)
    except BrokenPipeError:  # as of "| head": who reads has read enough
        _forget_output()
        raise typer.Exit(FAILED) from None
    except Exception as error:
        if debug:
            raise
        if isinstance(error, (OutputError, WrongUseError, ImportError)):
            fail(str(error), WRONG_USE)
        if isinstance(error, (WriteError, WorkersError)):
            fail(f"{error}; {note_on_written(error)}", FAILED)
        if isinstance(error, TableError):
            fail(str(error), FAILED)
        if isinstance(error, OSError):
            _forget_output()
            reason = f"{error.strerror or error}; {note_on_written(error)}"
            fail(f"cannot write what was found: {reason}", FAILED)
        if isinstance(error, MemoryError):
            fail("not enough memory; give fewer rows, or --drop columns.", FAILED)
        fail(
            f"{type(error).__name__}: {error}; this should not happen: --debug shows "
            "where, please report it.",
            FAILED,
        )


def _forget_output() -> None:
    """Drop buffered output, which would fail again when Python ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- Progress and output -----------------------------------------------------------


class Screen:
    """Progress bar on standard error, gone when the work is finished."""

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

    def show(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Show the stage, and how much of it is done."""
        if stage != self.stage or self.task is None:
            if self.task is not None:
                self.bars.remove_task(self.task)
            self.task = self.bars.add_task(stage, total=total, count="")
            self.stage = stage
        count = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        self.bars.update(
            self.task, completed=done, total=total, count=count if done else ""
        )


def compile_first() -> None:
    """Compile the kernels of a fit if none has been; say so on standard error."""
    from rawlsian._tables.compiling import compile_fit, is_first_fit

    if is_first_fit():
        typer.echo(
            "Compiling the numerical code, once, in two processes: about half a "
            "minute. Later runs reuse it.",
            err=True,
        )
        compile_fit()


def number_table(columns: Sequence[str], title: str | None = None) -> Table:
    """A table of numbers with a first column of names."""
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(columns):
        justify: Any = "right" if place else "left"
        table.add_column(Text(_printable(name)), justify=justify, overflow="fold")
    return table


class Printer:
    """Standard output, which shows the user's text as it is."""

    def __init__(self) -> None:
        self.console = Console(markup=False, emoji=False, highlight=False)

    def line(self, text: str = "") -> None:
        """Print a line; what no terminal should get is replaced."""
        self.console.print(_printable(text))

    def table(self, small: TextTable) -> None:
        """Print a table under its title; a row of no cells draws a line."""
        table = number_table(small.columns)
        for row in small.rows:
            if row:
                table.add_row(*(Text(_printable(cell)) for cell in row))
            else:
                table.add_section()
        self.line(small.title)
        self.console.print(table)

    def summary(self, result: TableFit | TableAudit | TablePrediction) -> None:
        """Print the lines and tables of a result."""
        for each in result.summary():
            if isinstance(each, str):
                self.line(each)
            else:
                self.table(each)
        sys.stdout.flush()


def _printable(text: str) -> str:
    return "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )


def print_json(content: dict[str, Any]) -> None:
    """JSON on standard output."""
    print(json.dumps(content, indent=1, allow_nan=False), flush=True)


def print_result(
    result: TableFit | TableAudit | TablePrediction, as_json: bool, debug: bool
) -> None:
    """Print a result as JSON, or as lines and tables."""
    from rawlsian._tables.errors import noting

    with one_line_errors(debug), noting(result.written):
        if as_json:
            print_json(result.to_dict())
        else:
            Printer().summary(result)
