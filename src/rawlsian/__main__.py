"""``rawlsian`` and ``python -m rawlsian``: the command line, if it is installed."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say how to get it."""
    try:
        from rawlsian.cli import app
    except ModuleNotFoundError as error:
        missing = str(error.name).split(".")[0]
        if missing not in ("typer", "rich"):
            raise
        sys.exit(
            f"the command line needs {missing}, which is not installed; "
            "pip install 'rawlsian[all]' brings it."
        )
    app()


if __name__ == "__main__":
    main()
