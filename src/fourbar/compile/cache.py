"""Object code, in this process and on disk, keyed by the program it was made from, the CPU and the compiler."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from weakref import WeakValueDictionary

from ..sources import sources
from .cache_folder import cache_folder, make_once_across_processes, read, write
from .llvm import Loaded, identity, to_object

_loaded: WeakValueDictionary[str, Loaded] = WeakValueDictionary()


def load_module(key: str, assembly: Callable[[], str]) -> Loaded:
    """An LLVM module in memory, shared while any caller holds a reference. `key` identifies its source."""
    found = _loaded.get(key)
    return _loaded.setdefault(key, Loaded(cached_object(key, assembly))) if found is None else found


def cached_object(key: str, assembly: Callable[[], str]) -> bytes:
    """Object code of an LLVM module, from the cache if present.

    `key` is what the module is made from; the CPU, the compiler and the sources that write the module belong to it too.
    """
    folder = cache_folder()
    if folder is None:
        return to_object(assembly())
    whole = "\n".join([identity(), _writers() or assembly(), key])
    path = folder / (hashlib.sha256(whole.encode()).hexdigest() + ".o")
    return read(path) or _compile_object(path, assembly)


def _compile_object(path: Path, assembly: Callable[[], str]) -> bytes:
    """Object code that is not in the cache yet, unless another process is making it."""
    with make_once_across_processes(path):
        code = read(path)
        if code is None:
            code = to_object(assembly())
            write(path, code)
        return code


@cache
def _writers() -> str:
    """A fingerprint of the sources that write LLVM assembly (this folder); empty if they differ from what runs."""
    digest = hashlib.sha256()
    files = sources(str(Path(__file__).parent))
    try:
        for path, _ in files:
            digest.update(Path(path).read_bytes())
    except OSError:
        return ""
    return digest.hexdigest() if files else ""
