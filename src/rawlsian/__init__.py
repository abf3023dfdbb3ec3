"""Fair k-means: clusters that serve the worst-off group as well as possible.

Names are loaded at their first use, so ``import rawlsian`` costs next to nothing: numba
and scikit-learn's clusterers together take a second. The stub ``__init__.pyi`` lists
the names, for type checkers and for this module.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rawlsian._version import __version__ as __version__

_HOMES: dict[str, str] = {}
with open(f"{__file__}i", encoding="utf-8") as _stub:
    for _line in _stub:
        if _line.startswith("from "):
            _home = _line.split()[1]
        elif " as " in _line and _line.startswith(" "):
            _HOMES[_line.split()[0]] = _home

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rawlsian' has no attribute {name!r}")
    if _HOMES[name] == "rawlsian":
        return import_module(f"rawlsian.{name}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
