"""What the commands share: options, errors in one line, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

if TYPE_CHECKING:
    from rawlsian.table import _read as tables
    from rawlsian.table._pages import Source
    from rawlsian.table._prepare import Prepared

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
SensitiveOption = Annotated[
    list[str],
    typer.Option(
        "--sensitive",
        metavar="COL",
        help="Column that makes the groups; several make their intersections.",
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
        help="Column to take as categories, though it holds numbers or many texts.",
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
        help="A text that means missing, such as '?', besides NA and the like.",
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="CHAR", help="What separates columns; else it is found."
    ),
]
EncodingOption = Annotated[
    str, typer.Option("--encoding", help="Encoding of a text file, such as latin-1.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", help="Another number, 0 or more, draws differently.")
]
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
    from rawlsian.report import require_altair
    from rawlsian.table._write import check_ending

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
    from rawlsian._files import OutputError, WriteError
    from rawlsian.table._read import TableError, WrongUseError

    try:
        yield
    except (typer.Exit, SystemExit):
        raise
    except KeyboardInterrupt:
        fail(f"stopped; {_told(written)}", STOPPED)
    except Exception as error:
        if debug:
            raise
        if isinstance(error, (OutputError, WrongUseError, ImportError)):
            fail(str(error), WRONG_USE)
        if isinstance(error, WriteError):
            fail(f"{error}; {_told(written)}", FAILED)
        if isinstance(error, (TableError, ValueError)):
            fail(str(error), FAILED)
        if isinstance(error, MemoryError):
            fail("not enough memory; give fewer rows, or --drop columns.", FAILED)
        fail(
            f"{type(error).__name__}: {error}; this should not happen: --debug shows "
            "where, please report it.",
            FAILED,
        )


def _told(written: Sequence[str]) -> str:
    return f"{', '.join(written)} was written" if written else "nothing was written."


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


def number_table(title: str, first: str, *numbers: str) -> Table:
    """A table of numbers with a first column of names."""
    table = Table(title=title, title_justify="left")
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", overflow="fold")
    return table


def print_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """A table of numbers under its title; a row of no cells draws a line."""
    table = number_table("", *columns)
    table.title = None  # one of the table's own would be broken at its width
    for row in rows:
        if row:
            table.add_row(*row)
        else:
            table.add_section()
    console.print(title)
    console.print(table)


def plain_text(text: object) -> str:
    """Text of the user's, of which rich must take nothing as markup."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}"
                          for c in str(text)))  # fmt: skip


def print_json(content: dict[str, Any]) -> None:
    """JSON on standard output."""
    json.dump(content, sys.stdout, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def print_columns(console: Console, source: Source, what: str) -> None:
    """What the table is, which columns are used for what, which are not, and why."""
    prepared, table = source.prepared, source.table
    console.print(
        plain_text(
            f"{source.name}: {table.n_rows:,} rows, {len(table.columns)} columns "
            f"({table.how})."
        )
    )
    used = ", ".join(
        f"{feature.name} ({'number' if feature.levels is None else 'category'})"
        for feature in prepared.features
    )
    console.print(plain_text(f"{what} {len(prepared.features)}: {used}."))
    for column in prepared.unused:
        console.print(plain_text(f"Left out: {column.name} ({column.reason})."))
    if prepared.left_out:
        row, reason = prepared.left_out[0]
        console.print(
            f"{len(prepared.left_out):,} rows are not clustered, the first is row "
            f"{row + 1} ({plain_text(reason)})."
        )
    for remark in prepared.remarks:
        console.print(plain_text(remark))
    console.print()


def print_written(console: Console, written: Sequence[str]) -> None:
    """Which files there are now."""
    for path in written:
        console.print(plain_text(f"Wrote {path}."))


def columns_json(prepared: Prepared) -> dict[str, Any]:
    """The same for machines."""
    return {
        "clustered_on": [feature.name for feature in prepared.features],
        "not_clustered_on": {c.name: c.reason for c in prepared.unused},
        "rows_not_clustered": [
            {"row": row + 1, "reason": reason} for row, reason in prepared.left_out
        ],
        "remarks": prepared.remarks,
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
        from rawlsian.table._read import read_table

        screen.tell("reading")
        return read_table(
            self.table,
            delimiter="\t" if self.delimiter in ("\\t", "tab") else self.delimiter,
            encoding=self.encoding,
            missing_texts=self.na,
        )
