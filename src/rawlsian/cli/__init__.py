"""The command line: parse, call, print."""

from __future__ import annotations

from typing import Annotated

import typer

from rawlsian._version import __version__
from rawlsian.cli import audit, fit, predict, study

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"rawlsian {__version__}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            metavar="",
            help="Show the version.",
        ),
    ] = False,
) -> None:
    """Fair k-means: clusters that serve the worst-off group as well as possible.

    Audit clusters that you have: `rawlsian audit people.csv --sensitive sex --labels
    segment`

    Make fairer ones: `rawlsian fit people.csv --sensitive sex --clusters 5 --drop
    segment --out labels.csv --report page.html`
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (audit.audit, fit.fit, predict.predict, study.study):
    app.command()(command)
