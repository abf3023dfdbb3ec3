from __future__ import annotations

import fcntl
import gc
import os

import pytest
import sklearn.cluster  # noqa: F401  (so that its libraries are among those limited)
import vl_convert
from hypothesis import settings
from threadpoolctl import threadpool_limits

import support.compile_once  # noqa: F401
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

# Modules without tests, which a search for doctests would import: support.warm, for
# one, compiles kernels.
collect_ignore = ["support"]

# Files that take longest, to be started first: what is left then is short, so that no
# process of two waits for the other at the end. run.py has the doctest of run_study.
LONGEST = (
    "test_dask.py", "test_study.py", "test_tables_cli.py", "test_parts_cli.py",
    "test_docs.py", "test_pooling.py", "test_kmeans.py", "test_traverse.py",
    "test_nearest.py", "test_browser.py", "test_large.py", "test_held_out.py",
    "test_page.py", "test_bounds.py", "test_operators.py", "test_package.py",
    "test_blocks.py", "test_assignment.py", "test_many_moves.py", "run.py",
    "test_gap.py", "test_table_api.py", "test_choosing_k.py", "test_postprocessor.py",
)  # fmt: skip

# All test modules and what they import are some hundred thousand objects, which last:
# looking through them for garbage took a twentieth of the time.
gc.set_threshold(50_000, 20, 100)


def pytest_collection_finish():
    """Leave what is imported out of the search for garbage."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Put the longest files first; the order is otherwise that of the folders."""
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(LONGEST)))


@pytest.fixture(scope="session")
def golden():
    return Golden()


@pytest.fixture(scope="session", autouse=True)
def bundle_made_once(tmp_path_factory):
    """Let one of the processes of pytest-xdist make the bundle that is in all pages.

    Each would work two seconds for the same text.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    place = tmp_path_factory.getbasetemp().parent  # which all of them have in common
    make, file = vl_convert.javascript_bundle, place / "bundle.js"

    def once(*arguments):
        with open(place / "bundle.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                file.write_text(make(*arguments), encoding="utf-8")
        return file.read_text(encoding="utf-8")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "javascript_bundle", once)
        yield
