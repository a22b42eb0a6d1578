"""Memory for machine code, under Linux: the code of all kernels is in a few large regions.

Linux allows a process some 65,000 mappings. Neighbouring pages with the same rights count as one, and a loader that
maps each piece of code separately uses several. Here a piece gets whole pages of a region. They are written before they
may be executed, never both. The pages of code that is no longer used give back their memory at once, but keep their
rights until they are reused: a hole in a region would be a mapping.
"""

from __future__ import annotations

import bisect
import ctypes
import errno
import mmap
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ..once import LAST, Turn, once

_REGION = 16 << 20  # bytes that are reserved at a time
_NONE, _READ, _WRITE, _EXECUTE = 0, 1, 2, 4
_PRIVATE, _ANONYMOUS, _NO_RESERVE = 0x02, 0x20, 0x4000
_DONT_NEED = 4
_FAILED = ctypes.c_void_p(-1).value
_MEANING = {
    errno.ENOMEM: "the system has no more memory for it, or the process has reached its limit of memory mappings "
    "(vm.max_map_count). Delete robots that are no longer used",
    errno.EACCES: (
        "the system does not allow programs to generate code at run time (a security policy such as SELinux)"
    ),
    errno.EPERM: "the system does not allow programs to generate code at run time (a security policy such as SELinux)",
}


def is_supported() -> bool:
    """Whether this file supports the system."""
    return sys.platform == "linux" and sys.maxsize > 1 << 32


@once
def _system() -> dict[str, Any]:
    """The functions of the system that reserve pages and change their rights."""
    c = ctypes.CDLL(None, use_errno=True)
    p, size, i = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    c.mmap.restype, c.mmap.argtypes = p, [p, size, i, i, i, ctypes.c_long]
    c.mprotect.restype, c.mprotect.argtypes = i, [p, size, i]
    c.madvise.restype, c.madvise.argtypes = i, [p, size, i]
    return {"mmap": c.mmap, "mprotect": c.mprotect, "madvise": c.madvise}


def _refusal(size: int) -> MemoryError:
    number = ctypes.get_errno()
    why = _MEANING.get(number, errno.errorcode.get(number, str(number)))
    return MemoryError(f"fourbar cannot load {size} bytes of machine code: {why}.")


def _allow(start: int, size: int, rights: int) -> None:
    if _system()["mprotect"](start, size, rights):
        raise _refusal(size)


class Piece:
    """Code in memory, from `start` on; its pages are reused once nobody holds it."""

    def __init__(self, start: int, size: int, give_back: Callable[[int, int], None]) -> None:
        self.start = start
        self._size = size
        self._give_back = give_back

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ending():  # otherwise the caller of this code may be torn down after it
            self._give_back(self.start, self._size)


class Arena:
    """The regions of a process. A forked child has copies of them, and may go on using these."""

    def __init__(self) -> None:
        self._turn = Turn(LAST)
        self._free: list[tuple[int, int]] = []  # start and size, ordered, never adjacent
        self._returned: deque[tuple[int, int]] = deque()  # not yet in that list
        self._page = mmap.PAGESIZE
        self._advise = _system()["madvise"]
        self._choosing = 0  # the thread that is searching for a place

    def put(self, content: bytes) -> Piece:
        """Load code into memory, ready to run. MemoryError where there is none."""
        size = -(-max(1, len(content)) // self._page) * self._page
        piece = Piece(self._place(size), size, self._give_back)
        _allow(piece.start, size, _READ | _WRITE)
        ctypes.memmove(piece.start, content, len(content))
        _allow(piece.start, size, _READ | _EXECUTE)
        return piece

    def _give_back(self, start: int, size: int) -> None:
        """Called at any time in any thread, when an object dies: takes no lock."""
        self._advise(start, size, _DONT_NEED)
        self._returned.append((start, size))

    def _place(self, size: int) -> int:
        """Free pages. A signal handler that asks during another search gets a new region."""
        with self._turn.taken():
            if self._choosing == threading.get_ident():
                return self._reserve(size)
            self._choosing = threading.get_ident()
            try:
                return self._find_room(size)
            finally:
                self._choosing = 0

    def _find_room(self, size: int) -> int:
        while self._returned:
            self._join(*self._returned.popleft())
        number = next((k for k, (_, room) in enumerate(self._free) if room >= size), None)
        if number is None:
            reserved = max(size, _REGION)
            self._join(self._reserve(reserved), reserved)
            return self._find_room(size)
        start, room = self._free[number]
        if room == size:
            del self._free[number]
        else:
            self._free[number] = (start + size, room - size)
        return start

    def _join(self, start: int, size: int) -> None:
        """Add free pages, merged with adjacent ones."""
        k = bisect.bisect(self._free, (start, size))
        if k < len(self._free) and self._free[k][0] == start + size:
            size += self._free.pop(k)[1]
        if k and sum(self._free[k - 1]) == start:
            k -= 1
            before = self._free.pop(k)
            start, size = before[0], before[1] + size
        self._free.insert(k, (start, size))

    def _reserve(self, size: int) -> int:
        start = _system()["mmap"](None, size, _NONE, _PRIVATE | _ANONYMOUS | _NO_RESERVE, -1, 0)
        if start in (None, _FAILED):
            raise _refusal(size)
        return start


@once
def arena() -> Arena:
    """The arena of this process."""
    return Arena()
