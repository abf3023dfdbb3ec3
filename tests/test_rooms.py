"""Rooms of the package: imports go one way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rawlsian

SOURCE = Path(rawlsian.__file__).parent
# A room imports only from itself and from rooms before it in this list.
ROOMS = [
    "_version", "_support", "_rows", "_core", "preprocessing", "_search", "operators",
    "bounds", "_outofcore", "_engines", "metrics", "_estimators", "_recommend",
    "plotting",
    "datasets", "report", "_tables", "study", "cli", "__main__",
]  # fmt: skip
LONGEST = 500
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE) + [
    SOURCE / f"{room}.py" for room in ROOMS if (SOURCE / f"{room}.py").exists()
]
NAMES = [str(path.relative_to(SOURCE)) for path in MODULES]


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path):
    """Return every module of the package that a file imports, also lazily."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            assert "rawlsian" not in names, f"{path} imports the whole package"
            yield from names
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def needed(path, graph):
    """Modules of the graph that a file takes names from, or imports as they are."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                name = inside if inside in graph else node.module
                if name in graph:
                    yield name


def test_every_folder_and_module_is_in_the_list_of_rooms():
    inside = {room_of(path) for path in SOURCE.rglob("*.py")} - {"__init__"}

    assert inside == set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_a_room_imports_only_from_rooms_before_it(path):
    place = ROOMS.index(room_of(path))
    names = [name.split(".")[1] for name in imported(path) if "rawlsian." in name]

    wrong = [each for each in names if each in ROOMS and ROOMS.index(each) > place]

    assert wrong == []
    # Public names come from the package's stub; inside, modules name each other.
    assert {each for each in names if each not in ROOMS} == set()


def test_no_module_imports_itself_by_way_of_others():
    graph = {
        ".".join(("rawlsian", *path.relative_to(SOURCE).with_suffix("").parts))
        .removesuffix(".__init__"): path
        for path in MODULES
    }  # fmt: skip
    left = {name: set(needed(path, graph)) - {name} for name, path in graph.items()}

    while left:
        leaves = {name for name, needs in left.items() if not needs}
        assert leaves, f"a cycle among {sorted(left)}"
        left = {
            name: needs - leaves for name, needs in left.items() if name not in leaves
        }


@pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: str(path.relative_to(SOURCE))
)
def test_a_module_has_at_most_500_lines_unless_numba_keeps_it_together(path):
    text = path.read_text()

    if len(text.splitlines()) > LONGEST:
        assert "@njit" in text
        assert "longer than 500 lines" in " ".join(
            ast.get_docstring(ast.parse(text)).split()
        )
