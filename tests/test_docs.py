"""Output shown in the pages; ``python tests/test_docs.py`` renews it.

The commands of a page's ``console`` blocks run in one folder, and their output must be
the text below them. Commands in ``sh`` blocks must only parse. In the pages CHECKED,
figures with a decimal point outside blocks must be in such output, and equations hold.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from inspect import ismodule
from pathlib import Path

import pytest
from sklearn.datasets import load_diabetes
from typer.main import get_command
from typer.testing import CliRunner

import rawlsian
from rawlsian._tables import fit_parts, fitting
from rawlsian.cli import app
from support.memory import remembered

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    "README.md",
    *sorted(str(page.relative_to(ROOT)) for page in DOCS.glob("*.md")),
    *sorted(str(page.relative_to(ROOT)) for page in DOCS.glob("cases/*.md")),
]
CHECKED = ["docs/start.md", "docs/index.md", "docs/cases/credit.md",
           "docs/cases/patients.md"]  # fmt: skip
BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"\d+\.\d+")
NAMES = {"3.11", "4.0", "10.24432"}  # Python, a licence, a DOI
WIDTH = {"COLUMNS": "80"}


def parts_of(block):
    """Return each command of a console block and the output below it."""
    joined = block.replace("\\\n", "")
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
    return [part.partition("\n")[::2] for part in parts]


def printed(command):
    """Run a command; return its output in 80 columns, and errors if there are any.

    The output may be piped to ``sed``, to show a part of it.
    """
    command, _, shown = command.partition(" | ")
    arguments = shlex.split(command)[1:]
    done = CliRunner().invoke(app, arguments, env=WIDTH, prog_name="rawlsian")
    lines = (done.stdout + done.stderr.strip()).splitlines()
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    return piped(text, shown) if shown else text


def piped(text, command):
    name, *arguments = shlex.split(command)
    assert name == "sed"
    done = subprocess.run(
        ["sed", *arguments], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout


def put_tables(folder):
    """Write the tables that a reader of the pages, or of the README, has."""
    (Path(folder) / "docs").mkdir()
    for place in ("people.csv", "docs/people.csv"):
        shutil.copy(DOCS / "people.csv", Path(folder) / place)
    for table in (DOCS / "cases").glob("*.csv"):
        shutil.copy(table, folder)


def blocks(page, language):
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for kind, body in BLOCK.findall(text) if kind == language]


@pytest.fixture(scope="module", autouse=True)
def known_advice(known_searches):
    """Advise once on the same people: most pages show fits of the same table.

    Searches do not depend on limits and on what is chosen.
    """
    original = fitting.checked_advice
    assert fit_parts.checked_advice is original  # imported before it is replaced
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "checked_advice", remembered(original, people_of))
        yield


def people_of(population, wishes, *others):
    """Return the arguments of advice that decide it."""
    return population.problem, population.start, population.min_group, wishes


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


def test_the_first_rows_of_the_labels_are_those_of_the_file(tmp_path, monkeypatch):
    put_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    (shown,) = re.findall(r"^row,id,cluster.*?(?=^```)",
                          (DOCS / "start.md").read_text(), re.M | re.S)  # fmt: skip

    printed("rawlsian fit people.csv --sensitive sex --drop segment --clusters 5 "
            "--out labels.csv")  # fmt: skip

    assert (tmp_path / "labels.csv").read_text().startswith(shown)


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


@pytest.mark.parametrize("page", [*CHECKED, "docs/choosing.md"])
def test_figures_in_sentences_are_those_that_commands_print(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    if page == "docs/choosing.md":  # further down are figures of benchmarks
        text = text[: text.index("## Limits on the change")]
    shown = "".join(blocks(page, "console") + blocks("docs/start.md", "console"))
    sentences = re.sub(r"^```.*?^```$|`[^`]*`|\([^)]*\)", "", text, flags=re.M | re.S)

    figures = set(FIGURE.findall(sentences)) - NAMES

    assert figures <= set(FIGURE.findall(shown))


@pytest.mark.parametrize("page", ["docs/choosing.md", "docs/cases/credit.md"])
def test_equations_hold(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = "".join(blocks(page, "console"))
    equations = re.findall(r"`(\d[\d.]*) ([-x]) (\d[\d.]*) = (\d[\d.]*)`", text)

    assert equations
    for left, operator, right, result in equations:
        first, second = float(left), float(right)
        exact = first - second if operator == "-" else first * second
        assert abs(exact - float(result)) < 0.006, (left, right)
        assert {left, right} - {"0.95"} <= set(FIGURE.findall(shown))


def test_the_gallery_shows_every_example():
    shown = re.findall(r'^--8<-- "(.+)"$', (DOCS / "gallery.md").read_text(), re.M)
    examples = [path.name for path in (ROOT / "examples").glob("*.py")]
    assert sorted(shown) == sorted(examples)


def test_tables_of_the_cases_are_those_that_the_script_writes():
    place = ROOT / "scripts" / "make_cases.py"
    spec = importlib.util.spec_from_file_location("make_cases", place)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    patients, credit = (
        list(csv.reader((DOCS / "cases" / name).read_text().splitlines()))
        for name in ("patients.csv", "credit.csv")
    )

    found = load_diabetes(scaled=False)

    assert patients == [found.feature_names, *script.patient_rows(found.data)]
    header, rows = script.credit_table()
    assert credit == [header, *rows]


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
