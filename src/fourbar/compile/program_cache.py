"""Programs that were traced before: by this process, or, on disk, by others."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np

from ..expr import Program
from ..expr.text import pack, unpack
from ..once import no_collection
from .cache import cache_folder, make_once_across_processes, read, write
from .compilation_progress import note_writing

_WORTH_A_FILE = 1000  # instructions; fewer are traced in the time it takes to look for the file


def cached_program(key: Callable[[], bytes | None], make: Callable[[], Program]) -> Program:
    """The program that `make` writes, from the cache if present.

    `key` gives all that the program depends on, or None if that is unknown: then it is always made.
    """
    with no_collection():
        return _find_or_make(key, make)


_programs: WeakValueDictionary[str, Program] = WeakValueDictionary()


def _find_or_make(key: Callable[[], bytes | None], make: Callable[[], Program]) -> Program:
    """The program of this process, of the folder, or a new one. Equal robots hold the same program."""
    known = key()
    if known is None:
        return _write_program(make)
    name = hashlib.sha256(_reader() + known).hexdigest()
    found = _programs.get(name)
    return _programs.setdefault(name, _read_or_make(name, make)) if found is None else found


def _read_or_make(name: str, make: Callable[[], Program]) -> Program:
    folder = cache_folder()
    if folder is None:
        return _write_program(make)
    path = folder / f"{name}.program"
    found = read(path)
    return _make(path, make) if found is None else unpack(found)


def _make(path: Path, make: Callable[[], Program]) -> Program:
    """A program that is not in the cache yet, unless another process is making it."""
    with make_once_across_processes(path):
        found = read(path)
        if found is not None:
            return unpack(found)
        program = _write_program(make)
        if sum(len(block.code) for block in program.blocks) >= _WORTH_A_FILE:
            write(path, pack(program))
        return program


def _write_program(make: Callable[[], Program]) -> Program:
    """A new program; the time that it takes belongs to the compilation that follows."""
    began = time.monotonic()
    program = make()
    note_writing(began)
    return program


def _reader() -> bytes:
    """Python reads only what the same version wrote; the constants in a program are computed by NumPy."""
    return f"{sys.implementation.cache_tag} {sys.version}\n{np.__version__}\n".encode()
