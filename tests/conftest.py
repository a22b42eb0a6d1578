"""One temporary cache for a run, shared by all its processes: tests never read or write the user's own."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

from slow_cases import is_slow

_FOLDER = pytest.StashKey[str]()


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
    """Mark the cases that take long."""
    for item in items:
        if is_slow(item.nodeid):
            item.add_marker(pytest.mark.slow)
