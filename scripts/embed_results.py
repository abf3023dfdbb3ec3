"""Write tables of docs/study/results.json into the pages that embed them."""

import json
import os
import re
import sys
from pathlib import Path

from rawlsian.study.tables import beyond_table, claims_table

docs = Path(__file__).resolve().parent.parent / "docs"
results = json.loads((docs / "study" / "results.json").read_text(encoding="utf-8"))

for page, name, table in (
    (docs / "reproducing.md", "claims", claims_table(results["claims"])),
    (docs / "beyond.md", "study", beyond_table(results)),
):
    text, n_places = re.subn(
        f"(<!-- {name} -->).*(<!-- end of {name} -->)",
        lambda found, table=table: f"{found[1]}\n\n{table}\n{found[2]}",
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    if n_places != 1:
        sys.exit(f"{page} has the comments that enclose '{name}' {n_places} times")
    unfinished = page.with_suffix(".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, page)
