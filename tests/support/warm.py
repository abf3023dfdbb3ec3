"""Import of this module loads the kernels that a Dask worker calls.

A process that imports it forks workers that have them; loading takes a worker about a
second.
"""

from __future__ import annotations

import support.compile_once  # noqa: F401
from rawlsian import RawlsianKMeans, open_blocks
from support.people import FEW, people

X, groups = people(300)
for centers in ("free", "mean"):
    RawlsianKMeans(3, centers=centers, **FEW).fit(
        open_blocks(X), sensitive_features=groups
    )
