"""Output folder of the study: results, report, page and figures."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from rawlsian._support.files import write_whole
from rawlsian.plotting import require_matplotlib
from rawlsian.report.write import require_altair
from rawlsian.study.report import write_report


class OutputFolderError(OSError):
    """The output folder cannot be used."""


class OutputFolder:
    """Output folder; writes each file whole or not at all."""

    def __init__(self, path: Path) -> None:
        require_matplotlib()
        require_altair()
        self.path = path
        self.page: str | None = None
        if path.exists() and not path.is_dir():
            raise OutputFolderError(
                f"the output folder {str(path)!r} is a file; name another folder."
            )
        try:
            (path / "figures").mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as error:
            raise OutputFolderError(
                f"the output folder {str(path)!r} cannot be written to "
                f"({error.strerror}); name another folder."
            ) from error

    def save(self, results: dict[str, Any]) -> None:
        """Write the results so far; delete files of an earlier study."""
        from rawlsian.study.figures import FIGURES, draw

        stage = len(results["stages_finished"])
        for name, first_stage in FIGURES.items():
            for ending in ("png", "svg"):
                if first_stage > stage:
                    (self.path / "figures" / f"{name}.{ending}").unlink(missing_ok=True)
            if first_stage == stage:
                for ending, content in draw(name, results).items():
                    self._write(f"figures/{name}.{ending}", content)
        if self.page is None:
            (self.path / "page.html").unlink(missing_ok=True)
        else:
            self._write("page.html", self.page.encode())
        self._write("report.md", write_report(results).encode())
        self._write("results.json", _as_json(results).encode())

    def _write(self, name: str, content: bytes) -> None:
        write_whole(self.path / name, lambda to: to.write_bytes(content))


def _as_json(results: dict[str, Any]) -> str:
    """Return indented JSON with each list of numbers on one line."""
    # Strings escape line breaks, so a bracket before a line break is never in a string.
    text = json.dumps(results, indent=1, allow_nan=False)
    numbers = r"\[\s+((?:-?[\d.e+-]+,\s+)*-?[\d.e+-]+)\s+\]"
    return re.sub(numbers, lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"
