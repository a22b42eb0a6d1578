"""One temporary cache for a run, shared by all its processes: tests never read or write the user's own.

And what is left out of the default run, for time: tests marked `slow`, cases named by `slow_cases` or not named by
`default_cases`, and mechanisms that repeat what others show. Of random mechanisms the first two stand in the default
run; those that take long to compile, and outside of tests/loops some with loops, stand there in tests marked
`every_mechanism` only. `-m slow` runs what is left out.

What collection leaves in memory (modules, thousands of tests) stays to the end: the garbage collector does not look at
it again and again. Nor does it look at what earlier tests have left where a test asks for a collection (`only_new`).
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator

import pytest

_FOLDER = pytest.StashKey[str]()
_HEAVY = {
    "tripod", "stewart_platform", "moored", "spatial_crank", "chained", "nested", "explicit", "written", "everything",
    "repeated",
}  # fmt: skip
_RANDOM = re.compile(r"tree([2-9]|1\d)")  # beyond the first two
_LOOPED = {"differential", "guided"}  # in tests of loops only


def pytest_configure(config: pytest.Config) -> None:
    """Point FOURBAR_CACHE at a new folder, or at the one that FOURBAR_TEST_CACHE keeps between runs; and let NumPy's
    linear algebra use one thread: the processes of a run share the cores, and threads that wait would spin."""
    gc.disable()  # until all tests are collected
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so it is in the background, and tests of Ctrl-C never end
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        return  # a worker of pytest-xdist inherits the variables
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    kept = os.environ.get("FOURBAR_TEST_CACHE")
    if not kept:
        config.stash[_FOLDER] = tempfile.mkdtemp(prefix="fourbar-tests-")
    os.environ["FOURBAR_CACHE"] = kept or config.stash[_FOLDER]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder."""
    if folder := config.stash.get(_FOLDER, None):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what there is so far, and look at the rest less often than by default."""
    gc.freeze()
    gc.set_threshold(50_000, 20)
    gc.enable()


@pytest.fixture
def only_new() -> None:
    """Let the garbage collector pass over what there is before a test: robots and programs by the million."""
    gc.freeze()


@pytest.fixture
def no_warnings() -> Iterator[None]:
    """Make errors of warnings: a motion that is not solved, or diverges, fails its test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def interpreted_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpret programs: where the mathematics is the point, no machine code is needed."""
    monkeypatch.setenv("FOURBAR_BACKEND", "numpy")


@pytest.fixture
def double_precision() -> Iterator[None]:
    """JAX in float64; then as it was before."""
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow, and not as quick, the cases that are left out for time; let `drawn_in_line` draw linkages so."""
    for item in items:
        if item.get_closest_marker("drawn_in_line") is not None:
            item.add_marker(pytest.mark.filterwarnings("ignore:loops? .* singular (where|in)"), append=False)
        callspec = getattr(item, "callspec", None)
        if callspec is not None and _is_left_out(item, callspec.id, callspec.params):
            item.add_marker(pytest.mark.slow)
            item.own_markers = [marker for marker in item.own_markers if marker.name != "quick"]


def _is_left_out(item: pytest.Item, case: str, params: dict[str, object]) -> bool:
    """Whether a case, by its id, is slow: by markers of its test, or as a mechanism that repeats what others show."""
    if any(case in marker.args for marker in item.iter_markers("slow_cases")):
        return True
    named = item.get_closest_marker("default_cases")
    if named is not None:
        return not any(f"-{name}-" in f"-{case}-" for name in named.args)
    if item.get_closest_marker("every_mechanism") is not None:
        return False
    words = set(re.split(r"[-, ]", case))
    if "/loops/" in item.nodeid:
        return not _HEAVY.isdisjoint(words)
    words |= {f"tree{params[x]}" for x in ("number", "name") if x in params}
    return not words.isdisjoint(_HEAVY | _LOOPED) or any(_RANDOM.fullmatch(word) for word in words)
