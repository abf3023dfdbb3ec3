"""Draw docs/images/page.png: the top of the page that docs/start.md makes.

Needs Chromium (apt-get install chromium, or RAWLSIAN_CHROMIUM names one) and what
``scripts/test`` installs. Run: .venv/bin/python scripts/docs_images.py
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent.parent / "docs"
WIDTH, HEIGHT = 1200, 1400
NAMES = ("chromium", "chromium-browser", "google-chrome")
FIT = "fit people.csv --sensitive sex --drop segment --clusters 5 --report page.html"


def main() -> None:
    """Fit the example, open its page and save a screenshot."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(DOCS / "people.csv", folder)
        command = [sys.executable, "-m", "rawlsian", *FIT.split()]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        _picture(Path(folder, "page.html"), DOCS / "images" / "page.png")


def _picture(page: Path, target: Path) -> None:
    named = os.environ.get("RAWLSIAN_CHROMIUM")
    chromium = named or next(filter(None, map(shutil.which, NAMES)), None)
    target.parent.mkdir(exist_ok=True)
    with sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light"
        )
        tab.goto(page.as_uri())
        tab.wait_for_selector("body:not([aria-busy])")
        tab.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    main()
