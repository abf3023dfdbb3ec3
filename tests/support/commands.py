"""Run the command line in this process."""

from __future__ import annotations

from functools import cache

from typer import testing
from typer._click import utils
from typer._click._compat import get_text_stderr, get_text_stdout
from typer.testing import CliRunner

from rawlsian.cli import app

# Typer would read the signatures of all commands each time that one is run.
testing._get_command = cache(testing._get_command)
# Typer would keep the output of every command, and its memory would grow without end.
utils._default_text_stdout = get_text_stdout
utils._default_text_stderr = get_text_stderr

# A fit that neither cross-validates its pooling nor measures people left out.
QUICK = ("--pooling", "0", "--no-new-people")


def rawlsian(*arguments, **options):
    """Run a command; a fit is quick unless it names a pooling."""
    texts = [str(each) for each in arguments]
    if texts[:1] == ["fit"] and "--pooling" not in texts and "--help" not in texts:
        texts += QUICK
    return CliRunner().invoke(app, texts, **options)
