"""One temporary cache for a run, shared by all its processes: tests never read or write the user's own.

And what is left out of the default run, for time: tests marked `slow`, cases named by `slow_cases`, and mechanisms that
repeat what others show. Of random mechanisms the first three stand in the default run; those that take long to compile
stand there in tests marked `every_mechanism` only. `-m slow` runs what is left out.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile

import pytest

_FOLDER = pytest.StashKey[str]()
_HEAVY = {
    "tripod", "stewart_platform", "moored", "spatial_crank", "chained", "nested", "explicit", "written", "everything",
    "repeated",
}  # fmt: skip
_RANDOM = re.compile(r"tree([3-9]|1\d)|([3-9]|1\d)")  # beyond the first three; numbers alone where nothing else varies


def pytest_configure(config: pytest.Config) -> None:
    """Point FOURBAR_CACHE at a new folder, or at the one that FOURBAR_TEST_CACHE keeps between runs."""
    if hasattr(config, "workerinput"):
        return  # a worker of pytest-xdist inherits the variable
    kept = os.environ.get("FOURBAR_TEST_CACHE")
    if not kept:
        config.stash[_FOLDER] = tempfile.mkdtemp(prefix="fourbar-tests-")
    os.environ["FOURBAR_CACHE"] = kept or config.stash[_FOLDER]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder."""
    if folder := config.stash.get(_FOLDER, None):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow the cases that are left out for time."""
    for item in items:
        case = item.callspec.id if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ""
        if any(case in marker.args for marker in item.iter_markers("slow_cases")) or (
            item.get_closest_marker("every_mechanism") is None and _repeats(case)
        ):
            item.add_marker(pytest.mark.slow)


def _repeats(case: str) -> bool:
    """Whether a case is that of a mechanism that repeats what others show."""
    words = re.split(r"[-, ]", case)
    random = [_RANDOM.fullmatch(word) for word in words]
    return bool(_HEAVY & set(words)) or any(found and (found[1] or len(words) == 1) for found in random)
