"""Public names, time and caches of ``import rawlsian``."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rawlsian
from rawlsian._support.compile import njit

SOURCES = Path(rawlsian.__file__).parent
KERNELS = [
    ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts)
    for path in sorted(SOURCES.rglob("*.py"))
    if "@njit" in path.read_text(encoding="utf-8")
]
OPTIONAL = ["altair", "dask", "distributed", "matplotlib", "pyarrow", "vl_convert"]
COMPILED = (
    "import importlib\n"
    f"modules = [importlib.import_module(name) for name in {KERNELS}]\n"
    "functions = [f for m in modules for f in vars(m).values()]\n"
    "compiled = [f for f in functions if hasattr(f, 'signatures')]\n"
)


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


def test_every_public_name_is_there_and_nothing_else_shows():
    stub = (SOURCES / "__init__.pyi").read_text(encoding="utf-8")
    assert dir(rawlsian) == sorted(re.findall(r"^    \w+ as (\w+),$", stub, re.M))
    for name in rawlsian.__all__:
        assert getattr(rawlsian, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = rawlsian.nothing


def test_importing_loads_neither_numba_nor_anything_optional():
    loaded = run("import sys, rawlsian; print(*sys.modules)").split()

    heavy = ["numba", "sklearn", "matplotlib", "altair", "pandas", "dask", "typer"]
    assert not set(heavy) & set(loaded)


def test_importing_everything_compiles_nothing_and_needs_nothing_optional():
    program = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({OPTIONAL}))\n"
        "import rawlsian.cli\n"
        "from rawlsian import *\n"
        f"{COMPILED}"
        "print(len(compiled) > 50, sum(len(f.signatures) for f in compiled))"
    )

    assert run(program) == "True 0"


def test_no_compiled_function_calls_one_of_another_file():
    # Numba's cache would not notice a change of the other file.
    modules = [importlib.import_module(name) for name in KERNELS]
    assert modules

    for module in modules:
        compiled = [f for f in vars(module).values() if hasattr(f, "py_func")]
        assert compiled
        assert module.njit is njit
        assert {f.py_func.__module__ for f in compiled} == {module.__name__}
        assert not [other for other in modules if other in vars(module).values()]


def test_a_second_process_reuses_the_compiled_kernels(tmp_path):
    # Two that compile fast; the test above shows that all have the same decorator. Both
    # processes are forked from one that has imported numba, which takes a second.
    program = (
        "import os\n"
        "import numpy as np\n"
        "from rawlsian._core.cluster_sums import nearest_centers, squared_norms\n"
        "X = np.zeros((2, 1))\n"
        "for _ in range(2):\n"
        "    if os.fork() == 0:\n"
        "        squared_norms(X, np.zeros(1), np.zeros(2), 0, 2)\n"
        "        nearest_centers(X, X, np.zeros(2, np.int32), np.zeros(2), 0, 2)\n"
        "        for each in (squared_norms, nearest_centers):\n"
        "            counts = each.stats.cache_misses, each.stats.cache_hits\n"
        "            print(*(count.total() for count in counts), flush=True)\n"
        "        os._exit(0)\n"
        "    assert os.wait()[1] == 0"
    )

    printed = run(program, NUMBA_CACHE_DIR=str(tmp_path)).splitlines()

    assert printed[:2] == ["1 0", "1 0"]
    assert printed[2:] == ["0 1", "0 1"]


def test_without_a_writable_cache_it_compiles_each_time():
    # numba raises at decoration if it finds no folder for its cache.
    program = (
        "import numba.core.dispatcher as dispatcher\n"
        "def refuse(py_func): raise RuntimeError('no locator available')\n"
        "dispatcher.FunctionCache = refuse\n"
        "from rawlsian._support.compile import njit\n"
        "double = njit(lambda x: 2 * x)\n"
        "print(double(2), len(double.signatures))"
    )

    assert run(program) == "4 1"


def test_no_test_module_imports_another():
    folder = Path(__file__).parent
    imports = re.compile(r"^\s*(?:from|import) (?:tests\.)?(test_\w+|conftest)", re.M)

    assert [p.name for p in folder.glob("*.py") if imports.search(p.read_text())] == []
