"""Names that a package imports on first use: importing fourbar loads only what every robot needs."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import CodeType, SimpleNamespace
from typing import Any

from .hints import MissingAttribute, hint_at_keywords


class Import:
    """The import `from part import name`: a name of a part, or, where the part is only dots, a module."""

    def __init__(self, part: str, name: str) -> None:
        self.part, self.name = part, name

    def make(self, package: str) -> Any:
        """The imported object, in a package."""
        if self.part.strip("."):
            return getattr(import_module(self.part, package), self.name)
        return import_module(self.part + self.name, package)


def lazy(optional: Sequence[str] = ()) -> None:
    """Import what the calling module imports for type checkers, each name on first use, and make its `__all__`.

    A module lists its public names once, where type checkers and editors find them: as imports, which are made at once,
    or under TYPE_CHECKING, which are made on first use. They read `from .gears import Gear as Gear`, since a typed
    package offers only what it imports under a name that it gives itself. `__all__` and `dir` have all of these and
    what the module defines, except names with an underscore. Public classes suggest keywords in place of wrong ones.
    `optional`: modules for other libraries, which may be missing; they are there when named and say what is missing,
    but `dir` does not list them.
    """
    frame = sys._getframe(1)
    known, package = frame.f_globals, frame.f_globals["__package__"]
    public = names_for_type_checkers(frame.f_code, known)
    imports = {name: x for name, x in public.items() if isinstance(x, Import) and name not in known}
    is_package = known["__name__"] == package
    parts = {x.part[1:] for x in imports.values() if is_package and x.part.count(".") == 1} | {*optional}

    def find(name: str) -> Any:
        if name not in imports and name not in parts:
            raise MissingAttribute(f"module {known['__name__']!r}", name, list_names, known["__name__"])
        known[name] = imports[name].make(package) if name in imports else import_module(f".{name}", package)
        hint_at_keywords(known[name])
        return known[name]

    def list_names() -> list[str]:
        return sorted({*(name for name in known if name.startswith("__")), *public})

    for name in public.keys() & known.keys():
        hint_at_keywords(known[name])
    known.update(__getattr__=find, __dir__=list_names, __all__=sorted(public))


def names_for_type_checkers(code: CodeType, known: Mapping[str, Any]) -> dict[str, Any]:
    """The public names of a module as type checkers see them, and for each the `Import` that it stands for, if any.

    The code is run again with TYPE_CHECKING true, and imports are noted instead of made. Names from other libraries and
    `lazy` itself are not public.
    """
    private = set()

    def note(name: str, _: Any = None, __: Any = None, names: Sequence[str] | None = None, level: int = 0) -> Any:
        is_lazy = name.rpartition(".")[2] == "lazy"
        if level and not is_lazy:
            return SimpleNamespace(**{x: Import("." * level + name, x) for x in names or ()})
        private.update(names or (name.partition(".")[0],))
        other = SimpleNamespace(lazy=lambda **_: None) if is_lazy else sys.modules.get(name)
        return SimpleNamespace(**{x: x == "TYPE_CHECKING" or getattr(other, x, None) for x in names or ()})

    module = {name: known[name] for name in ("__name__", "__package__", "__file__") if name in known}
    module["__builtins__"] = {**vars(builtins), "__import__": note}
    exec(code, module)
    return {name: x for name, x in module.items() if not name.startswith("_") and name not in private}
