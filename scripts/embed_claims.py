"""Put the claims table of docs/study/results.json into docs/reproducing.md."""

import json
import os
import re
import sys
from pathlib import Path

from rawlsian.study._report import claims_table

docs = Path(__file__).resolve().parent.parent / "docs"
results = json.loads((docs / "study" / "results.json").read_text(encoding="utf-8"))
page = docs / "reproducing.md"
text, n_places = re.subn(
    "(<!-- claims -->).*(<!-- end of claims -->)",
    lambda found: f"{found[1]}\n\n{claims_table(results['claims'])}\n{found[2]}",
    page.read_text(encoding="utf-8"),
    flags=re.DOTALL,
)
if n_places != 1:
    sys.exit(f"{page} has the comments that enclose the claims {n_places} times")
unfinished = page.with_suffix(".unfinished")
unfinished.write_text(text, encoding="utf-8")
os.replace(unfinished, page)
