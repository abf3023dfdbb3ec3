"""Put the claims table of docs/study/results.json into docs/reproducing.md."""

import json
import re
from pathlib import Path

from rawlsian.study._report import claims_table

docs = Path(__file__).resolve().parent.parent / "docs"
results = json.loads((docs / "study" / "results.json").read_text())
page = docs / "reproducing.md"
table = f"<!-- claims -->\n\n{claims_table(results['claims'])}\n<!-- end of claims -->"
page.write_text(
    re.sub(
        "<!-- claims -->.*<!-- end of claims -->",
        lambda _: table,
        page.read_text(),
        flags=re.DOTALL,
    )
)
