"""The cache stays within bounds: what was not used for longest goes first. Files of others are left alone."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

_MOST = 1 << 30  # bytes
_KEPT = 0.75  # of these, once they were exceeded
_DAY = 86400.0
_OURS = re.compile(r"[0-9a-f]{64}\.(o|program)|writing-.*\.part")


def note_use(path: Path) -> None:
    """Remember, to the day, that a file was used."""
    with suppress(OSError):  # another process may have removed it since, or may not let go of it
        if path.stat().st_mtime < time.time() - _DAY:
            os.utime(path)


def prune_sometimes(written: Path) -> None:
    """Prune the folder of a new file: for one in 256 of them, chosen by name, for it takes a look at all the others."""
    if written.name.startswith("00"):
        prune(written.parent)


def prune(folder: Path) -> None:
    """Remove the files that were not used for longest if all together are too large."""
    found = _files(folder)
    total = sum(size for _, size, _ in found)
    if total <= _MOST:
        return
    for _, size, path in sorted(found):
        with suppress(OSError):  # another process may not let go of it
            Path(path).unlink(missing_ok=True)
            total -= size
        if total <= _KEPT * _MOST:
            return


def _files(folder: Path) -> list[tuple[float, int, str]]:
    """(time of last use, size, path) of each file of the cache."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # another process prunes too
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, status.st_size, entry.path))
    return found
