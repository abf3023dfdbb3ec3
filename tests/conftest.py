from __future__ import annotations

import fcntl
import gc
import os

import numpy as np
import pytest
from hypothesis import settings

# Compiling the kernels takes seconds, which is not the examples' fault. Derandomised:
# a red run can be repeated. So each run has the same examples, and few will do;
# pytest --hypothesis-profile=random looks further.
settings.register_profile("rawlsian", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("random", deadline=None, max_examples=500)
settings.load_profile("rawlsian")

# Modules without tests, which a search for doctests would import: support.warm, for
# one, compiles kernels.
collect_ignore = ["support"]

# Files that take longest, to be started first: what is left then is short, so that no
# process of two waits for the other at the end. run.py has the doctest of run_study.
LONGEST = (
    "test_dask.py", "test_study.py", "test_tables_cli.py", "test_docs.py",
    "test_parts_cli.py", "test_interruption.py", "test_browser.py",
    "test_recommended_tables.py", "test_traverse.py", "test_operators.py",
    "test_pooling.py", "test_bounds.py", "test_fuzzing.py", "test_page.py",
    "test_table_api.py", "test_kmeans.py", "test_large.py", "run.py",
    "test_recommend.py", "test_postprocessor.py", "test_package.py",
    "test_held_out.py", "test_many_moves.py", "test_nearest.py", "test_blocks.py",
    "test_determinism.py", "test_dense.py", "test_sparse.py", "test_assignment.py",
    "python.md", "operator.md", "test_messy_tables.py", "test_column_options.py",
    "test_centers.py", "test_block_sums.py", "test_restarts.py", "test_leximin.py",
    "test_gap.py", "test_plotting.py", "test_sentences.py", "test_choosing_k.py",
)  # fmt: skip

# All test modules and what they import are some hundred thousand objects, which last:
# looking through them for garbage took a twentieth of the time.
gc.set_threshold(50_000, 20, 100)


def pytest_configure(config):
    """Limit threads, and let one process at a time compile a kernel.

    The process that only hands out files to others is spared the imports.
    """
    is_worker = hasattr(config, "workerinput")
    if getattr(config.option, "dist", "no") != "no" and not is_worker:
        return
    import sklearn.cluster  # noqa: F401  (its libraries are to be limited)
    from threadpoolctl import threadpool_limits

    import support.compile_once  # noqa: F401

    # For some hundred rows BLAS and OpenMP are no faster on many threads, and where the
    # machine has other things to do, several times slower. The variables are for
    # processes that tests start.
    threadpool_limits(1)
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if is_worker:  # the other processes have the other cores
        os.environ["NUMBA_NUM_THREADS"] = "1"


def pytest_collection_finish():
    """Leave what is imported out of the search for garbage."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Put the longest files first; the order is otherwise that of the folders."""
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(LONGEST)))


@pytest.fixture(autouse=True)
def unseeded_is_seeded(monkeypatch):
    """Seed what a test leaves without a seed, so that a red run can be repeated."""
    make = np.random.default_rng
    monkeypatch.setattr(
        np.random, "default_rng", lambda seed=None: make(0 if seed is None else seed)
    )
    np.random.seed(0)  # noqa: NPY002  (scikit-learn's own generator)


@pytest.fixture(scope="module")
def short_search():
    """Search a sixth as long, for modules whose tests are not about the best clusters.

    How good the clusters of a whole search are is for the tests of the search, and for
    the pages: their commands and examples run as they stand.
    """
    from rawlsian._recommend import rules
    from rawlsian._search import crossing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossing, "N_INIT", crossing.N_INIT // 6)
        patch.setattr(crossing, "STALE_A_CLUSTER", crossing.STALE_A_CLUSTER // 6)
        patch.setattr(rules, "N_CARRIED", rules.N_CARRIED // 4)
        yield


@pytest.fixture(scope="module")
def known_searches():
    """Search and walk once with the same arguments, for modules that fit one table.

    The value is a function that makes them forgotten, for tests that compute the same
    again to compare.
    """
    from rawlsian._recommend import advice, rules
    from rawlsian._tables import fitting, method_run
    from support.memory import remembered

    users = {
        "choose_pooling": [advice],
        "search_ends": [rules],
        "search_with_shares": [rules],
        "run_with_shares": [rules],
        "traverse_of": [rules, fitting, method_run],
    }
    known = {name: remembered(getattr(each[0], name)) for name, each in users.items()}

    def forget():
        for each in known.values():
            each.forget()

    with pytest.MonkeyPatch.context() as patch:
        for name, modules in users.items():
            for module in modules:
                patch.setattr(module, name, known[name])
        yield forget


@pytest.fixture(scope="session")
def golden():
    from support.golden import Golden

    return Golden()


@pytest.fixture(scope="session", autouse=True)
def bundle_made_once(tmp_path_factory):
    """Let one of the processes of pytest-xdist make the bundle that is in all pages.

    Each would work two seconds for the same text.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    import vl_convert

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
