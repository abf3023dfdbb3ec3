"""Fail if the version and the newest heading of the changelog differ."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
code = (root / "src/rawlsian/_version.py").read_text()
version = re.search(r'__version__ = "(.+?)"', code).group(1)
heading = re.search(r"^## \[?([^\]\s]+)", (root / "CHANGELOG.md").read_text(), re.M)
newest = heading.group(1)
if newest != version:
    sys.exit(f"CHANGELOG.md begins with {newest}, but the version is {version}")
