"""The source files of fourbar, and whether they are still those that this process runs."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

_BEGUN = time.time_ns()  # this module is imported before all others
_ALL = str(Path(__file__).parent)


def sources(folder: str = _ALL) -> list[tuple[str, os.stat_result]]:
    """Path and status of each source file in a folder of fourbar and below.

    Empty where there are no files, and after one of them has changed (an upgrade, an edit) under the running process,
    which then no longer runs what the files say.
    """
    files: list[tuple[str, os.stat_result]] = []
    try:
        _collect(folder, files)
    except OSError:
        return []
    now = time.time_ns()
    changed = any(_BEGUN < _time_of_change(status) <= now for _, status in files)
    return [] if changed else sorted(files)


def _time_of_change(status: os.stat_result) -> int:
    """When a file was last changed. POSIX: the time that the system noted, not one set by tools, possibly in the
    future.

    Windows has only the latter. A time in the future does not indicate a change under this process.
    """
    return status.st_mtime_ns if sys.platform == "win32" else status.st_ctime_ns


def _collect(folder: str, found: list[tuple[str, os.stat_result]]) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                found.append((entry.path, entry.stat()))
            elif entry.is_dir() and entry.name != "__pycache__":
                _collect(entry.path, found)
