"""Output shown in the pages; ``python tests/test_docs.py`` renews it.

The commands of a page's ``console`` blocks run in one folder, and their output must be
the text below them. Commands in ``sh`` blocks must only parse.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from inspect import ismodule
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import rawlsian
from rawlsian._tables import analysis, memory
from rawlsian.cli import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in DOCS.glob("*.md"))]
BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH = {"COLUMNS": "80"}


def parts_of(block):
    """Return each command of a console block and the output below it."""
    joined = block.replace("\\\n", "")
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
    return [part.partition("\n")[::2] for part in parts]


def printed(command):
    """Run a command; return its output in 80 columns, and errors if there are any."""
    arguments = shlex.split(command)[1:]
    done = CliRunner().invoke(app, arguments, env=WIDTH, prog_name="rawlsian")
    lines = (done.stdout + done.stderr.strip()).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def put_tables(folder):
    """Write the tables that a reader of the pages, or of the README, has."""
    (Path(folder) / "docs").mkdir()
    for place in ("people.csv", "docs/people.csv"):
        shutil.copy(DOCS / "people.csv", Path(folder) / place)


def blocks(page, language):
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for kind, body in BLOCK.findall(text) if kind == language]


@pytest.fixture(scope="module", autouse=True)
def known_walks():
    """Work once on the same rows: most pages show the same fit in another way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis, "_walked", remembered(analysis._walked))
        patch.setattr(memory, "choose_pooling", remembered(memory.choose_pooling))
        patch.setattr(memory, "expect", remembered(memory.expect))
        yield


def remembered(function):
    """Return the function, which gives the same result for the same problem again."""
    results = {}

    def known(problem, *arguments):
        parts = [problem.X, problem.groups]
        parts += [getattr(each, "labels", each) for each in arguments]
        key = tuple(
            each.tobytes() if isinstance(each, np.ndarray) else repr(each)
            for each in parts if not callable(each)
        )  # fmt: skip
        if key not in results:
            results[key] = function(problem, *arguments)
        return results[key]

    return known


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")])
def test_commands_print_what_the_page_shows(page, tmp_path, monkeypatch):
    put_tables(tmp_path)
    monkeypatch.chdir(tmp_path)

    for block in blocks(page, "console"):
        assert block.startswith("$ "), block
        for command, shown in parts_of(block):
            assert command.startswith("rawlsian ")
            found = printed(command)
            assert "should not happen" not in found
            if shown:
                assert found == shown, command


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")])
def test_commands_that_are_not_run_have_options_that_exist(page):
    commands = get_command(app).commands

    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", "").splitlines():
            line = line.rpartition(" | ")[2].partition(" > ")[0]
            if line.startswith("rawlsian "):
                name, *arguments = shlex.split(line, comments=True)[1:]
                context = commands[name].make_context(name, arguments)
                assert not context.args


@pytest.mark.parametrize("name", ["audit", "fit", "predict"])
def test_every_option_is_on_a_page(name):
    text = "".join((DOCS / page).read_text() for page in ("audit.md", "fit.md"))

    options = [option for each in get_command(app).commands[name].params
               for option in each.opts if option.startswith("--")]  # fmt: skip

    assert [each for each in options if f"`{each}" not in text] == []


def test_every_public_name_is_on_the_page_of_the_api():
    listed = re.findall(r"^::: rawlsian\.(\w+)$", (DOCS / "api.md").read_text(), re.M)
    public = {
        name
        for name in rawlsian.__all__
        if not name.startswith("_") and not ismodule(getattr(rawlsian, name))
    }

    assert sorted(listed) == sorted(public)


def test_figures_of_the_choice_are_those_that_the_start_shows():
    rows = re.findall(r"^\|.*\d\.\d{4}.*", (DOCS / "choosing.md").read_text(), re.M)
    shown = (DOCS / "start.md").read_text()

    assert len(rows) == 5
    assert "[6.9618, 6.9618]" in (DOCS / "choosing.md").read_text()  # without pooling
    for row in rows[:-1]:
        women, men, everyone = re.findall(r"\d\.\d{4}", row)
        assert re.search(f"{everyone}.*{women}.*{men}", shown) or (
            re.search(f"Female .*{women}", shown) and re.search(f"Male .*{men}", shown)
        )


def renew(page, folder):
    """Write the output of the commands into a page."""

    def run(match):
        if match[1] == "sh":
            return match[0]
        heads = re.findall(r"^\$ (?:.*\\\n)*.*\n", match[2], re.MULTILINE)
        body = ""
        for head, (command, shown) in zip(heads, parts_of(match[2]), strict=True):
            found = printed(command)
            body += head + (found if shown or len(heads) == 1 else "")
        return f"```console\n{body}```"

    os.chdir(folder)
    text = (ROOT / page).read_text(encoding="utf-8")
    (ROOT / page).write_text(BLOCK.sub(run, text), encoding="utf-8")


if __name__ == "__main__":
    for name in PAGES:
        if blocks(name, "console"):
            with tempfile.TemporaryDirectory() as folder:
                put_tables(folder)
                renew(name, folder)
