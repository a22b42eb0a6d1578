"""Programs on disk: what one process has traced, others read."""

from __future__ import annotations

import gc
import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from ..expr import Program
from ..expr.packed import pack, unpack
from .folder import cache_folder, read, write

_WORTH_A_FILE = 1000  # instructions; fewer are traced in the time it takes to look for the file


def cached_program(key: Callable[[], bytes | None], make: Callable[[], Program]) -> Program:
    """The program that `make` writes, from the cache if it is there.

    `key` gives all that the program depends on, or None if nobody knows: then it is always made.
    """
    with _garbage_kept():
        return _found_or_made(key, make)


@contextmanager
def _garbage_kept() -> Iterator[None]:
    """Without a search for cyclic garbage: it would find none in a program, and take a third of the time."""
    looked_for = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked_for:
            gc.enable()


def _found_or_made(key: Callable[[], bytes | None], make: Callable[[], Program]) -> Program:
    folder = cache_folder()
    known = None if folder is None else key()
    if folder is None or known is None:
        return make()
    path = folder / (hashlib.sha256(_reader() + known).hexdigest() + ".program")
    found = read(path)
    if found is not None:
        return unpack(found)
    program = make()
    if sum(len(block.code) for block in program.blocks) >= _WORTH_A_FILE:
        write(path, pack(program))
    return program


def _reader() -> bytes:
    """Python reads only what the same version wrote; the constants in a program are computed by NumPy."""
    return f"{sys.implementation.cache_tag} {sys.version}\n{np.__version__}\n".encode()
