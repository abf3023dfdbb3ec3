"""Examples: each script runs, and the notebook is that of its script."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
import sklearn

from support.figures import no_windows  # noqa: F401

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOK = ROOT / "examples" / "audit_segments.ipynb"
CONVERTER = runpy.run_path(str(ROOT / "scripts" / "make_notebook.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints(path, capsys):
    with sklearn.config_context():  # an example may switch on metadata routing
        runpy.run_path(str(path), run_name="__main__")

    assert capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_cells(path):
    _, title, line, blank, *_ = path.read_text(encoding="utf-8").splitlines()

    assert line == "=" * len(title)
    assert blank == ""
    cells = CONVERTER["notebook_of"](path.read_text(encoding="utf-8"))["cells"]
    assert len(cells) >= 7
    assert all(cell["source"] for cell in cells)


def test_the_notebook_is_that_of_its_script():
    script = NOTEBOOK.with_suffix(".py").read_text(encoding="utf-8")

    notebook = CONVERTER["as_text"](CONVERTER["notebook_of"](script))

    # python scripts/make_notebook.py examples/audit_segments.py renews it
    assert NOTEBOOK.read_text(encoding="utf-8") == notebook


def test_the_cells_of_the_notebook_are_the_code_of_the_script():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = NOTEBOOK.with_suffix(".py").read_text(encoding="utf-8").splitlines()

    assert [line for cell in code for line in cell.splitlines() if line] == [
        line
        for line in lines[lines.index("# %%") :]
        if line and not line.startswith("#")
    ]
