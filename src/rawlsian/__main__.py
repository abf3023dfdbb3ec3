"""``rawlsian`` and ``python -m rawlsian``: the command line, if it is installed."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import NoReturn

WRONG_USE, STOPPED = 2, 130

_sigterm_came = threading.Event()


def main() -> None:
    """Run the command line; Ctrl-C and SIGTERM end it with one line."""
    on_ctrl_c = signal.getsignal(signal.SIGINT)
    if on_ctrl_c is signal.SIG_IGN:  # a shell started this in the background
        signal.signal(signal.SIGINT, _only_for_sigterm)
    if on_ctrl_c in (signal.SIG_IGN, signal.default_int_handler):
        signal.signal(signal.SIGTERM, _as_ctrl_c)
    try:
        _run()
    except KeyboardInterrupt:
        _fail("stopped.", STOPPED)


def _as_ctrl_c(*_: object) -> None:
    """Let SIGTERM end a command as Ctrl-C does, where that waits, too."""
    _sigterm_came.set()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # while processes start
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def _only_for_sigterm(*_: object) -> None:
    """Ignore Ctrl-C, which is not meant for a command in the background."""
    if _sigterm_came.is_set():
        raise KeyboardInterrupt


def _run() -> None:
    """Run the command line, or print one line of error."""
    try:
        from rawlsian.cli import app
    except ModuleNotFoundError as error:
        missing = str(error.name).split(".")[0]
        if missing not in ("typer", "rich"):
            raise
        _fail(
            f"Error: the command line needs {missing}, which is not installed; "
            "pip install 'rawlsian[all]' brings it."
        )
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        # If a terminal cannot show a letter, print another one and not a traceback.
        getattr(sys, name).reconfigure(errors="replace")
    try:
        sys.exit(app(standalone_mode=False))
    except Exception as error:
        if type(error).__name__ == "Abort":  # typer's for Ctrl-C
            raise KeyboardInterrupt from error
        # typer's errors of usage, whose classes have moved from click to typer.
        if not hasattr(error, "format_message"):
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "rawlsian")
        message = error.format_message().rstrip(".")
        if "unexpected extra argument" in message and ".parquet" in message:
            _fail(
                "Error: one table is expected, but there are several; put a pattern in "
                f"quotes, as in {command} 'people/*.parquet', or name the folder."
            )
        _fail(f"Error: {message}; see {command} --help.")


def _fail(line: str, code: int = WRONG_USE) -> NoReturn:
    print(line, file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
