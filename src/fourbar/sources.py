"""The source files of fourbar, and whether they are still those that this process runs."""

from __future__ import annotations

import os
import time
from pathlib import Path

_BEGUN = time.time_ns()  # this module is imported before all others
_ALL = str(Path(__file__).parent)


def sources(folder: str = _ALL) -> list[tuple[str, os.stat_result]]:
    """Path and status of each source file in a folder of fourbar and below.

    Empty where there are no files, and after one of them has changed (an upgrade, an edit) under the running process:
    what that computes is not what they say.
    """
    found: list[tuple[str, os.stat_result]] = []
    try:
        _collect(folder, found)
    except OSError:
        return []
    changed = any(max(status.st_mtime_ns, status.st_ctime_ns) > _BEGUN for _, status in found)
    return [] if changed else sorted(found)


def _collect(folder: str, found: list[tuple[str, os.stat_result]]) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                found.append((entry.path, entry.stat()))
            elif entry.is_dir() and entry.name != "__pycache__":
                _collect(entry.path, found)
