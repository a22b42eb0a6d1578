"""What the program of a recipe depends on, as bytes: two recipes with the same bytes write the same program."""

from __future__ import annotations

import io
import os
import pickle
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

_OWN = __name__.partition(".")[0]
_KNOWN = {_OWN, "numpy", "builtins", "copyreg", "collections", "functools", "operator", "pathlib"}


class _Unknown(Exception):
    """Something whose meaning its name does not tell: a function or a class of the user's, which may change."""


class _Identity(pickle.Pickler):
    """Writes data by value, classes and functions by name: if fourbar or a library has them, it says what they are."""

    def reducer_override(self, obj: Any) -> Any:
        kind = obj if isinstance(obj, type) else type(obj)
        for owner in (kind, obj):  # a function in a wrapper of some library tells where it is from itself
            if (getattr(owner, "__module__", None) or _OWN).partition(".")[0] not in _KNOWN:
                raise _Unknown(obj)
        return _function(obj) if isinstance(obj, FunctionType) else NotImplemented


def _function(f: FunctionType) -> tuple[Any, ...]:
    """A function of a known module: where it stands in the source, and what it holds."""
    held = [cell.cell_contents for cell in f.__closure__ or ()]
    return list, ((f.__module__, f.__qualname__, f.__code__.co_firstlineno, f.__defaults__, f.__kwdefaults__, held),)


def identity(parts: Any) -> bytes | None:
    """What these are and the sources of fourbar are, as bytes; None if that cannot be said."""
    sources, written = _sources(), io.BytesIO()
    if not sources:
        return None
    pickler = _Identity(written, 5)
    pickler.fast = True  # what is shared is written in full wherever it occurs, so that sharing makes no difference
    try:
        pickler.dump(parts)
    except (_Unknown, pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
        return None
    return sources + written.getvalue()


@cache
def _sources() -> bytes:
    """Name, size and time of each source file, as Python itself knows whether one has changed; empty without files."""
    found: list[tuple[str, int, int]] = []
    try:
        _collect(str(Path(__file__).parent.parent), found)
    except OSError:
        return b""
    return repr(sorted(found)).encode() if found else b""


def _collect(folder: str, found: list[tuple[str, int, int]]) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                found.append((entry.path, status.st_size, status.st_mtime_ns))
            elif entry.is_dir() and entry.name != "__pycache__":
                _collect(entry.path, found)
