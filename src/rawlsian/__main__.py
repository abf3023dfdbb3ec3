"""``rawlsian`` and ``python -m rawlsian``: the command line, if it is installed."""

from __future__ import annotations

import sys

WRONG_USE = 2


def main() -> None:
    """Run the command line, or print one line of error."""
    try:
        from rawlsian.cli import app
    except ModuleNotFoundError as error:
        missing = str(error.name).split(".")[0]
        if missing not in ("typer", "rich"):
            raise
        _fail(
            f"the command line needs {missing}, which is not installed; "
            "pip install 'rawlsian[all]' brings it."
        )
    for stream in (sys.stdout, sys.stderr):
        # If a terminal cannot show a letter, print another one and not a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        sys.exit(app(standalone_mode=False))
    except Exception as error:
        # typer's errors of usage, whose classes have moved from click to typer.
        if not hasattr(error, "format_message"):
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "rawlsian")
        message = error.format_message().rstrip(".")
        if "unexpected extra argument" in message and ".parquet" in message:
            _fail(
                "one table is expected, but there are several; put a pattern in "
                f"quotes, as in {command} 'people/*.parquet', or name the folder."
            )
        _fail(f"{message}; see {command} --help.")


def _fail(message: str) -> None:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(WRONG_USE)


if __name__ == "__main__":
    main()
