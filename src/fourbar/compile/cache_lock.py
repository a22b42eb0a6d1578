"""One process at a time makes what goes into the cache: others wait for it instead of making it again.

Many processes may begin together, such as the workers of a cluster on one machine, and all need the same code. Nobody
waits for ever: the lock of a process that ends is free at once, and after a time everybody goes on without it. What is
made is the same in any case; only work is saved.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: each process makes its own
    fcntl = None

_LONGEST = 60.0  # seconds that a process waits for another
_mine: set[Path] = set()  # what this process is making


@contextmanager
def make_once_across_processes(path: Path) -> Iterator[None]:
    """While a file of the cache is made. Look for it again inside: another process may have made it meanwhile."""
    if fcntl is None or path in _mine:  # another thread makes it, or a signal handler needs what it interrupted
        yield
        return
    lock = path.with_suffix(".lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError:  # a folder that is read only, or was removed
        yield
        return
    _mine.add(path)
    try:
        if _acquire(handle):
            try:
                yield
            finally:
                with suppress(OSError):
                    lock.unlink()
                fcntl.flock(handle, fcntl.LOCK_UN)  # a forked child has the handle too
        else:
            yield
    finally:
        _mine.discard(path)
        os.close(handle)


def _acquire(handle: int) -> bool:
    """Whether the lock is ours, once it is or after a time."""
    assert fcntl is not None
    end, pause = time.monotonic() + _LONGEST, 0.001
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
        except OSError:  # a file system without locks
            return False
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)
