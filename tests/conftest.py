from __future__ import annotations

import os

import pytest
import sklearn.cluster  # noqa: F401  (so that its libraries are among those limited)
from hypothesis import settings
from threadpoolctl import threadpool_limits

from support.golden import Golden

# For some hundred rows BLAS and OpenMP are no faster on many threads, and where the
# machine has other things to do, several times slower. The variables are for processes
# that tests start.
threadpool_limits(1)
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

# Compiling the kernels takes seconds, which is not the examples' fault. Derandomised:
# a red run can be repeated.
settings.register_profile("rawlsian", deadline=None, derandomize=True)
# pytest --hypothesis-profile=random looks further.
settings.register_profile("random", deadline=None, max_examples=500)
settings.load_profile("rawlsian")

# Files that take longest, to be started first: what is left then is short, so that no
# process of two waits for the other at the end.
LONGEST = ("study", "dask", "browser", "tables_cli", "docs", "parts_cli", "package")


def pytest_collection_modifyitems(items):
    """Put the longest files first; the order is otherwise that of the folders."""
    rank = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(LONGEST)))


@pytest.fixture(scope="session")
def golden():
    return Golden()
