"""Names that a package imports on first use: importing fourbar loads only what every robot needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    module: str, parts: Mapping[str, str], within: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module. `parts`: modules of the package `within`, and the names taken from each.

    Without `within`, the modules are those of the package itself. A module in `parts` without names is available by its
    own name.
    """
    home = {name: part for part, names in parts.items() for name in names.split()}
    whole = [part for part, names in parts.items() if not names] if within else [p for p in parts if "." not in p]
    known = vars(sys.modules[module])

    def find(name: str) -> Any:
        if name not in home and name not in whole:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        part = import_module(f"{within or module}.{home.get(name, name)}")
        known[name] = getattr(part, name) if name in home else part
        return known[name]

    return find, lambda: sorted({*known, *home, *whole})
