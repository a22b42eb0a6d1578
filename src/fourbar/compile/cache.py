"""Object code on disk, keyed by the program it was made from, the CPU and the compiler.

Files are written to a temporary name and moved into place, so that many processes may share the folder; each begins
with a checksum of its name and its code, and one that does not agree with it is compiled again, never trusted. The
folder belongs to the user alone. FOURBAR_CACHE names another folder, or switches the cache off with "off".
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

from .machine import identity, to_object

_MAGIC = b"fourbar object 1\n"


def cached_object(key: str, assembly: Callable[[], str]) -> bytes:
    """Object code of an LLVM module, from the cache if it is there.

    `key` is what the module is made from; the CPU, the compiler and the sources that write the module belong to it too.
    """
    folder = cache_folder()
    if folder is None:
        return to_object(assembly())
    whole = "\n".join([identity(), _writers() or assembly(), key])
    path = folder / (hashlib.sha256(whole.encode()).hexdigest() + ".o")
    code = _read(path)
    if code is None:
        code = to_object(assembly())
        _write(path, code)
    return code


@cache
def _writers() -> str:
    """A fingerprint of the sources that write LLVM assembly, all of this folder; empty where there are no files."""
    found = hashlib.sha256()
    try:
        sources = sorted(Path(__file__).parent.glob("*.py"))
        for source in sources:
            found.update(source.read_bytes())
    except OSError:
        return ""
    return found.hexdigest() if sources else ""


def cache_folder() -> Path | None:
    """The folder of the cache, made if need be; None where there is none to be had."""
    asked = os.environ.get("FOURBAR_CACHE")
    return None if asked == "off" else _prepared(asked or _default_folder())


def _default_folder() -> str:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "fourbar")


@cache
def _prepared(name: str) -> Path | None:
    folder = Path(name).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = _untrusted(folder)
    except OSError as error:
        problem = str(error)
    if problem is None:
        return folder
    warnings.warn(
        f"fourbar cannot keep compiled code in {name} ({problem}): every process will compile again. "
        "Set FOURBAR_CACHE to a folder of your own, or to 'off'.",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def _untrusted(folder: Path) -> str | None:
    """Why code found in this folder could be somebody else's."""
    if not hasattr(os, "getuid"):
        return None
    status = folder.stat()
    if status.st_uid != os.getuid():
        return "it belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users may write to it"
    if not os.access(folder, os.W_OK | os.X_OK):
        return "it is not writable"
    return None


def _read(path: Path) -> bytes | None:
    """The object in a cache file; None if there is none or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + 32
    code = content[start:]
    return code if content[:start] == _head(path, code) else None


def _head(path: Path, code: bytes) -> bytes:
    """What a cache file begins with. The name is part of the checksum: code under a wrong name is damaged too."""
    return _MAGIC + hashlib.sha256(path.name.encode() + code).digest()


def _write(path: Path, code: bytes) -> None:
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(_head(path, code) + code)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        warnings.warn(f"fourbar could not write {path}: {error}", RuntimeWarning, stacklevel=3)
