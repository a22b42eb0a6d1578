"""Names that a package imports when they are first asked for: importing fourbar loads what every robot needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, parts: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package. `parts`: its modules, and the names it takes from each."""
    home = {name: part for part, names in parts.items() for name in names.split()}
    own = vars(sys.modules[package])

    def find(name: str) -> Any:
        if name not in home and name not in parts:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        part = import_module(f"{package}.{home.get(name, name)}")
        own[name] = getattr(part, name) if name in home else part
        return own[name]

    return find, lambda: sorted({*own, *home, *(part for part in parts if "." not in part)})
