"""Fail if the version differs from the changelog's newest or the citation's."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
code = (root / "src/rawlsian/_version.py").read_text()
version = re.search(r'__version__ = "(.+?)"', code).group(1)
heading = re.search(r"^## \[?([^\]\s]+)", (root / "CHANGELOG.md").read_text(), re.M)
cited = re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text(), re.M)
for name, found in (("CHANGELOG.md", heading), ("CITATION.cff", cited)):
    if found.group(1) != version:
        sys.exit(f"{name} has version {found.group(1)}, but it is {version}")
