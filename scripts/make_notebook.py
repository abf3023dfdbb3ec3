"""Write a notebook from an example: each ``# %%`` starts a cell.

    python scripts/make_notebook.py examples/audit_segments.py

Comments at the beginning of a cell become text. The notebook is written beside the
example, without output.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path


def notebook_of(source):
    """Return the notebook of an example's source, as a dict."""
    title, _, rest = ast.get_docstring(ast.parse(source)).partition("\n")
    text = rest.lstrip("=\n").strip()
    cells = [_cell("markdown", f"# {title}\n\n{_as_markdown(text)}")]
    for part in source.split("\n# %%\n")[1:]:
        lines = part.splitlines()
        n_comments = next(
            (place for place, line in enumerate(lines) if not line.startswith("#")),
            len(lines),
        )
        comment = "\n".join(line[2:] for line in lines[:n_comments])
        code = "\n".join(lines[n_comments:]).strip()
        cells.append(_cell("markdown", _as_markdown(comment)))
        cells.append(_cell("code", code))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }


def as_text(notebook):
    """Return a notebook as the text of its file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _as_markdown(text):
    return text.replace("``", "`")


def _cell(kind, text):
    cell = {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
    if kind == "code":
        cell.update(execution_count=None, outputs=[])
    return cell


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        notebook = notebook_of(path.read_text(encoding="utf-8"))
        path.with_suffix(".ipynb").write_text(as_text(notebook), encoding="utf-8")
