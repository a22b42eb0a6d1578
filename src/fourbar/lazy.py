"""Names that a package imports on first use: importing fourbar loads only what every robot needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from .hints import MissingAttribute


def lazy(module: str, parts: Mapping[str, str], within: str | None = None, optional: Sequence[str] = ()) -> None:
    """Give a module names that are imported on first use, and a `dir` that lists what it offers (`__all__`) and these.

    `parts`: modules of the package `within` (without it, of the package itself), and the names taken from each; one
    without names is available by its own name. `optional`: modules for other libraries, which may be missing; they are
    there when named and say what is missing, but `dir` does not list them. Type checkers see the other names through
    imports under TYPE_CHECKING: a `__getattr__` that they see would let them accept every name.
    """
    home = {name: part for part, names in parts.items() for name in names.split()}
    whole = [part for part, names in parts.items() if not names] if within else [p for p in parts if "." not in p]
    whole += optional
    known = vars(sys.modules[module])

    def find(name: str) -> Any:
        if name not in home and name not in whole:
            raise MissingAttribute(f"module {module!r}", name, listed, module)
        part = import_module(f"{within or module}.{home.get(name, name)}")
        known[name] = getattr(part, name) if name in home else part
        return known[name]

    def listed() -> list[str]:
        own = {name for name in known if name.startswith("__") or name in known.get("__all__", known)}
        own.update(known.get("__all__", ()))
        return sorted({*own, *home, *(part for part, names in parts.items() if not names)})

    known.update(__getattr__=find, __dir__=listed)
