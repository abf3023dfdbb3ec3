"""The files that a fit, an audit or a prediction is asked to write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rawlsian._support.files import OutputError, check_folder, check_outputs
from rawlsian._tables.folder import check_is_folder
from rawlsian._tables.write import ENDINGS, check_ending
from rawlsian.report.write import require_altair


class Outputs(NamedTuple):
    """Paths of labels, model, trade-off and page, each None unless asked for.

    ``has_centers`` is True if the centers may be written beside the labels,
    ``appends`` if labels are appended to the table.
    """

    labels: str | None = None
    model: str | None = None
    frontier: str | None = None
    page: str | None = None
    has_centers: bool = False
    appends: bool = False

    @property
    def centers(self) -> str | None:
        """Path of the centers, beside that of the labels: labels.centers.csv."""
        if self.labels is None or not self.has_centers:
            return None
        path = Path(self.labels)
        ending = path.suffix if path.suffix.lower() in ENDINGS else ".csv"
        return str(path.with_name(f"{path.stem}.centers{ending}"))

    def check(self, inputs: Sequence[str], in_parts: bool, may_replace: bool) -> None:
        """Refuse, before any work is done, what could not be written."""
        if self.page is not None:
            check_ending(self.page, "--report", (".html", ".htm"))
            require_altair()
        if not in_parts:
            check_ending(self.labels, "--out")
        check_ending(self.frontier, "--frontier")
        check_ending(self.model, "--save", (".json",))
        files = [self.model, self.frontier, self.page, self.centers]
        if not in_parts:
            files.insert(0, self.labels)
        check_outputs(files, inputs=inputs, may_replace=may_replace)
        if in_parts and self.labels is not None:
            check_is_folder(self.labels)
            _refuse_twice(self.labels, files)
            check_folder(self.labels, inputs=inputs, may_replace=may_replace)


def _refuse_twice(folder: str, files: Sequence[str | None]) -> None:
    """Raise if a file is asked for where a folder is written."""
    if Path(folder).resolve() in {Path(each).resolve() for each in files if each}:
        raise OutputError(f"{folder!r} is asked for twice; name another.")
