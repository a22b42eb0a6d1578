"""Helper threads that wait for work in machine code.

Handing a batch to a thread pool takes as long as many a batch itself: the helper must be woken and must get the
interpreter lock. A helper here spins for a moment after each task without that lock, and starts on the next one within
a microsecond; only then does it sleep. A helper that wakes too late finds its task withdrawn and costs nothing.

A task travels in a mailbox of eight words: its state (0 none, 1 posted, 2 running), then a function and its arguments.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from functools import cache
from typing import Any

from .cache import cached_object
from .machine import Loaded

_EMPTY, _POSTED, _RUNNING = range(3)
_SPINS = 4000  # pauses before a helper sleeps or a waiting caller yields: some 50 to 200 µs

_X86 = ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()")
_PAUSE = {"x86_64": _X86, "AMD64": _X86}


def _assembly() -> str:
    """@serve(mailbox): runs every task that is posted, returns when none has come for a while.
    @settle(mailbox): withdraws a task that nobody began or waits for its end; 0 if that takes long.
    """
    declared, pause = _PAUSE.get(os.uname().machine if hasattr(os, "uname") else "AMD64", ("", ""))
    fields = [f"  %p{k} = getelementptr i64, ptr %box, i64 {k}" for k in range(1, 8)]
    loads = [f"  %x{k} = load {'i64' if k == 7 else 'ptr'}, ptr %p{k}, align 8" for k in range(1, 8)]
    return "\n".join(
        [
            declared,
            "define void @serve(ptr %box) {",
            "entry:",
            *fields,
            "  br label %spin",
            "spin:",
            "  %n = phi i64 [0, %entry], [%more, %idle], [0, %posted]",
            "  %seen = load atomic i64, ptr %box monotonic, align 8",
            f"  %there = icmp eq i64 %seen, {_POSTED}",
            "  br i1 %there, label %take, label %idle",
            "take:",
            f"  %got = cmpxchg ptr %box, i64 {_POSTED}, i64 {_RUNNING} seq_cst seq_cst",
            "  %mine = extractvalue {i64, i1} %got, 1",
            "  br i1 %mine, label %posted, label %idle",
            "posted:",
            *loads,
            "  call void %x1(ptr %x2, ptr %x3, ptr %x4, ptr %x5, ptr %x6, i64 %x7)",
            f"  store atomic i64 {_EMPTY}, ptr %box seq_cst, align 8",
            "  br label %spin",
            "idle:",
            f"  {pause}",
            "  %more = add i64 %n, 1",
            f"  %tired = icmp ugt i64 %more, {_SPINS}",
            "  br i1 %tired, label %done, label %spin",
            "done:",
            "  ret void",
            "}",
            "define i64 @settle(ptr %box) {",
            "entry:",
            f"  %got = cmpxchg ptr %box, i64 {_POSTED}, i64 {_EMPTY} seq_cst seq_cst",
            "  br label %spin",
            "spin:",
            "  %n = phi i64 [0, %entry], [%more, %wait]",
            "  %state = load atomic i64, ptr %box seq_cst, align 8",
            f"  %empty = icmp eq i64 %state, {_EMPTY}",
            "  br i1 %empty, label %settled, label %wait",
            "wait:",
            f"  {pause}",
            "  %more = add i64 %n, 1",
            f"  %tired = icmp ugt i64 %more, {_SPINS}",
            "  br i1 %tired, label %late, label %spin",
            "late:",
            "  ret i64 0",
            "settled:",
            "  ret i64 1",
            "}",
        ]
    )


class _Code:
    """The two functions; ctypes calls them without the interpreter lock."""

    def __init__(self) -> None:
        self._loaded = Loaded([cached_object("crew", _assembly)])
        self.serve = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._loaded.address("serve"))
        self.settle = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self._loaded.address("settle"))


@cache
def _code() -> _Code:
    return _Code()


class Helper:
    """One thread and its mailbox."""

    def __init__(self, name: str) -> None:
        self._code = _code()
        self._room = (ctypes.c_int64 * 16)()
        self._address = ctypes.addressof(self._room) + -ctypes.addressof(self._room) % 64
        self._box = (ctypes.c_int64 * 8).from_address(self._address)  # on one cache line
        self._held: Any = None
        self._awake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._closing:
            self._code.serve(self._address)
            self._awake.clear()
            if self._box[0] == _EMPTY and not self._closing:  # a task posted before the line above would wake nobody
                self._awake.wait()

    def post(self, task: tuple[int, ...], held: Any) -> None:
        """Offer a task: function and six arguments. `held` is what must stay alive until it is settled."""
        self._held = held
        self._box[1:8] = task
        self._box[0] = _POSTED
        if not self._awake.is_set():
            self._awake.set()

    def settle(self) -> None:
        """Come back when the task has ended, or will never begin."""
        while not self._code.settle(self._address):
            time.sleep(0)
        self._held = None

    def close(self) -> None:
        """End the thread; its machine code must not run when the process unloads it."""
        self._closing = True
        self._awake.set()
        self._thread.join()


class Crew:
    """The helpers of this process. One batch at a time has them; another that comes meanwhile works alone."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._helpers: list[Helper] = []

    def helpers(self, count: int) -> list[Helper]:
        """So many helpers, or as many as the system lets us start."""
        try:
            while len(self._helpers) < count:
                self._helpers.append(Helper(f"fourbar-{len(self._helpers)}"))
        except RuntimeError:  # no more threads to be had, or the interpreter is shutting down
            pass
        return self._helpers[:count]

    def close(self) -> None:
        """End all threads."""
        while self._helpers:
            self._helpers.pop().close()


_crew = Crew()


def crew() -> Crew:
    """The crew of this process."""
    return _crew


def _after_fork() -> None:
    """The threads stayed in the parent: a child makes its own."""
    global _crew
    _crew = Crew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(lambda: _crew.close())
