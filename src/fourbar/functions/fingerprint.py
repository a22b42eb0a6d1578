"""All that the program of a recording depends on, as bytes: equal bytes mean equal programs."""

from __future__ import annotations

import io
import pickle
import sys
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from ..sources import sources

_OWN = __name__.partition(".")[0]
_KNOWN = {_OWN, "numpy", "builtins", "copyreg", "collections", "functools", "operator", "pathlib"}


class _Unknown(Exception):
    """Something whose name does not determine its meaning: a function or a class of the user's, which may change."""


class _Identity(pickle.Pickler):
    """Writes data by value, classes and functions by name: if fourbar or a library has them, it says what they are."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType):
            return _function(obj)
        kind = obj if isinstance(obj, type) else type(obj)
        inner = getattr(obj, "__module__", None) or _OWN  # a wrapper of some library: where its content is from
        for home in (kind.__module__ or "", inner):
            if home.partition(".")[0] not in _KNOWN:
                raise _Unknown(obj)
        return NotImplemented


def _function(f: FunctionType) -> tuple[Any, ...]:
    """A function of a known module: what it does, and what it holds."""
    home = f.__globals__.get("__name__") or ""  # it may call itself whatever it likes: its code is from there
    if home.partition(".")[0] not in _KNOWN or vars(sys.modules.get(home, _Unknown)) is not f.__globals__:
        raise _Unknown(f)
    held = [cell.cell_contents for cell in f.__closure__ or ()]
    return list, ((home, f.__qualname__, _code(f.__code__), f.__defaults__, f.__kwdefaults__, held),)


def _code(code: CodeType) -> tuple[Any, ...]:
    """The meaning of a piece of code, apart from the functions that it calls, which are in the sources."""
    constants = [_code(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return code.co_name, code.co_firstlineno, code.co_code, code.co_names, constants


def fingerprint(parts: Any) -> bytes | None:
    """The fingerprint of `parts` and of the sources of fourbar; None if there is none."""
    files, written = _sources(), io.BytesIO()
    if not files:
        return None
    pickler = _Identity(written, 5)
    pickler.fast = True  # what is shared is written in full wherever it occurs, so that sharing makes no difference
    try:
        pickler.dump(parts)
    except (_Unknown, pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
        return None
    return files + written.getvalue()


@cache
def _sources() -> bytes:
    """Name, size and times of each source file; empty if they are not what runs."""
    found = [(path, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in sources()]
    return repr(found).encode() if found else b""
