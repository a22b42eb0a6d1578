"""The folder of the cache and its files.

Files are written to a temporary name and moved into place, so that many processes may share the folder; each begins
with a checksum of its name and its content, and one that does not agree with it is made again, never trusted. The
folder and its files belong to the user alone (`trust.py`), and it stays within bounds (`prune.py`). FOURBAR_CACHE names
another folder, or switches the cache off with "off".
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

from .prune import note_use, prune_sometimes
from .trust import read_own, untrusted_folder

_MAGIC = b"fourbar cached 1\n"


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
        folder = folder.resolve()  # links are followed once: what they lead to later is not what was looked at
        problem = untrusted_folder(folder)
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


def read(path: Path) -> bytes | None:
    """The content of a cache file; None if there is none, it is damaged, or somebody else's."""
    try:
        content = read_own(path)
    except OSError:
        return None
    if content is None:
        return None
    start = len(_MAGIC) + 32
    kept = content[start:]
    if content[:start] != _head(path, kept):
        return None
    note_use(path)
    return kept


def _head(path: Path, content: bytes) -> bytes:
    """What a cache file begins with. The name is part of the checksum: content under a wrong name is damaged too."""
    return _MAGIC + hashlib.sha256(path.name.encode() + content).digest()


def write(path: Path, content: bytes) -> None:
    """Put a file into the cache; a warning if that fails."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix="writing-", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(_head(path, content) + content)
        os.replace(temporary, path)
        prune_sometimes(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        warnings.warn(f"fourbar could not write {path}: {error}", RuntimeWarning, stacklevel=3)
