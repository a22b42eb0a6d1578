"""Worker threads that wait for tasks in machine code.

Handing a batch to a thread pool takes about as long as many a batch itself: the thread must be woken and must get the
interpreter lock. A worker here spins for a moment after each task without that lock, and starts on the next one within
a microsecond; only then does it sleep. A worker that wakes too late finds its task withdrawn and costs nothing.

Callers and workers meet in the job table, an array of words: whether a caller has the workers, how many there are, the
function that yields the CPU, and on a cache line for each worker its slot: the state (empty, posted, running), a
function and its six arguments. Behind the slots it says which workers are awake.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import platform
import sys
import threading
from typing import Any

import numpy as np

from ..once import once
from .cache import loaded
from .kernel import Kernel

_EMPTY, _POSTED, _RUNNING = range(3)
_SPINS = 4000  # pauses before a worker sleeps or a waiting caller yields: some 50 to 200 µs
MOST_WORKERS = 255
BUSY, COUNT, YIELD, SLOTS, SLOT_WORDS = 0, 1, 2, 8, 8
AWAKE = SLOTS + SLOT_WORDS * MOST_WORKERS
_TABLE_WORDS = AWAKE + MOST_WORKERS

_X86 = ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()")
_ARM = ("declare void @llvm.aarch64.isb(i32)", "call void @llvm.aarch64.isb(i32 15)")  # its own `yield` does not wait
_PAUSE = {"x86_64": _X86, "AMD64": _X86, "aarch64": _ARM, "arm64": _ARM, "ARM64": _ARM}


def _pause() -> tuple[str, str]:
    """The instruction that marks a waiting loop for the CPU: its declaration and its call."""
    return _PAUSE.get(platform.machine(), ("", ""))


def _serve() -> str:
    """@serve(slot): runs every task that is posted, returns when none has come for a while."""
    fields = [f"  %p{k} = getelementptr i64, ptr %slot, i64 {k}" for k in range(1, 8)]
    loads = [f"  %x{k} = load {'i64' if k == 7 else 'ptr'}, ptr %p{k}, align 8" for k in range(1, 8)]
    return "\n".join(
        [
            "define void @serve(ptr %slot) {",
            "entry:",
            *fields,
            "  br label %spin",
            "spin:",
            "  %n = phi i64 [0, %entry], [%more, %idle], [0, %posted]",
            "  %seen = load atomic i64, ptr %slot monotonic, align 8",
            f"  %there = icmp eq i64 %seen, {_POSTED}",
            "  br i1 %there, label %take, label %idle",
            "take:",
            f"  %got = cmpxchg ptr %slot, i64 {_POSTED}, i64 {_RUNNING} seq_cst seq_cst",
            "  %mine = extractvalue {i64, i1} %got, 1",
            "  br i1 %mine, label %posted, label %idle",
            "posted:",
            *loads,
            "  call void %x1(ptr %x2, ptr %x3, ptr %x4, ptr %x5, ptr %x6, i64 %x7)",
            f"  store atomic i64 {_EMPTY}, ptr %slot seq_cst, align 8",
            "  br label %spin",
            "idle:",
            f"  {_pause()[1]}",
            "  %more = add i64 %n, 1",
            f"  %tired = icmp ugt i64 %more, {_SPINS}",
            "  br i1 %tired, label %done, label %spin",
            "done:",
            "  ret void",
            "}",
        ]
    )


def _settle() -> str:
    """@settle(slot, table): withdraws a task that nobody began, or comes back when it has ended."""
    return "\n".join(
        [
            "define void @settle(ptr %slot, ptr %table) {",
            "entry:",
            f"  %yield_at = getelementptr i64, ptr %table, i64 {YIELD}",
            "  %yield = load ptr, ptr %yield_at, align 8",
            f"  %got = cmpxchg ptr %slot, i64 {_POSTED}, i64 {_EMPTY} seq_cst seq_cst",
            "  br label %spin",
            "spin:",
            "  %n = phi i64 [0, %entry], [%more, %wait], [0, %late]",
            "  %state = load atomic i64, ptr %slot seq_cst, align 8",
            f"  %empty = icmp eq i64 %state, {_EMPTY}",
            "  br i1 %empty, label %settled, label %wait",
            "wait:",
            f"  {_pause()[1]}",
            "  %more = add i64 %n, 1",
            f"  %tired = icmp ugt i64 %more, {_SPINS}",
            "  br i1 %tired, label %late, label %spin",
            "late:",
            "  %ignored = call i32 %yield()",
            "  br label %spin",
            "settled:",
            "  ret void",
            "}",
        ]
    )


_TASK = ("share", "args", "dims", "steps", "data", "counter", "chunk")
_WORK = "  call void %share(ptr %args, ptr %dims, ptr %steps, ptr %data, ptr %counter, i64 %chunk)"


def _slot(name: str, number: str) -> list[str]:
    """%name_box: the slot of a worker."""
    return [
        f"  %{name}_words = mul i64 {number}, {SLOT_WORDS}",
        f"  %{name}_at = add i64 %{name}_words, {SLOTS}",
        f"  %{name}_slot = getelementptr i64, ptr %table, i64 %{name}_at",
    ]


def _each_worker(name: str, before: str, after: str, body: list[str]) -> list[str]:
    """A loop `name` over the workers that take part."""
    return [
        f"{name}:",
        f"  %{name}_h = phi i64 [0, %{before}], [%{name}_next, %{name}_body]",
        f"  %{name}_more = icmp slt i64 %{name}_h, %count",
        f"  br i1 %{name}_more, label %{name}_body, label %{after}",
        f"{name}_body:",
        *_slot(name, f"%{name}_h"),
        *body,
        f"  %{name}_next = add i64 %{name}_h, 1",
        f"  br label %{name}",
    ]


def _together() -> str:
    """@together(table, share, args, dims, steps, data, chunk, wanted): call `share` here and on as many workers as are
    wanted, unless another caller has them; comes back when all are done.
    """
    post = []
    for k, name in enumerate(_TASK, 1):
        post.append(f"  %to{k} = getelementptr i64, ptr %post_slot, i64 {k}")
        post.append(f"  store {'i64' if name == 'chunk' else 'ptr'} %{name}, ptr %to{k}, align 8")
    post.append(f"  store atomic i64 {_POSTED}, ptr %post_slot seq_cst, align 8")
    task = "ptr %share, ptr %args, ptr %dims, ptr %steps, ptr %data, i64 %chunk"
    return "\n".join(
        [
            f"define void @together(ptr %table, {task}, i64 %wanted) {{",
            "entry:",
            "  %counter = alloca [8 x i64], align 64",
            "  store atomic i64 0, ptr %counter seq_cst, align 8",
            "  %grab = cmpxchg ptr %table, i64 0, i64 1 seq_cst seq_cst",
            "  %ours = extractvalue {i64, i1} %grab, 1",
            "  br i1 %ours, label %share_out, label %alone",
            "alone:",
            _WORK,
            "  ret void",
            "share_out:",
            f"  %count_at = getelementptr i64, ptr %table, i64 {COUNT}",
            "  %there = load atomic i64, ptr %count_at seq_cst, align 8",
            "  %enough = icmp slt i64 %wanted, %there",
            "  %count = select i1 %enough, i64 %wanted, i64 %there",
            "  br label %post",
            *_each_worker("post", "share_out", "work", post),
            "work:",
            _WORK,
            "  br label %wait",
            *_each_worker("wait", "work", "finished", ["  call void @settle(ptr %wait_slot, ptr %table)"]),
            "finished:",
            "  store atomic i64 0, ptr %table seq_cst, align 8",
            "  ret void",
            "}",
        ]
    )


class _Code:
    """The functions; ctypes calls them without the interpreter lock."""

    def __init__(self) -> None:
        text = "\n".join([_pause()[0], _serve(), _settle(), _together()])
        self._loaded = loaded("workers", lambda: text)
        self.serve = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._loaded.address("serve"))
        self.together_address = self._loaded.address("together")
        kinds = [*[ctypes.c_void_p] * 6, ctypes.c_int64, ctypes.c_int64]
        self.together = ctypes.CFUNCTYPE(None, *kinds)(self.together_address)


@once
def code() -> _Code:
    """The machine code of this file."""
    return _Code()


def _yielding() -> Any:
    """The system's function that lets other threads run."""
    if sys.platform == "win32":
        return ctypes.windll.kernel32.SwitchToThread
    return ctypes.CDLL(None).sched_yield


class Worker:
    """One thread and its slot, the one with this number, of a job table."""

    def __init__(self, table: np.ndarray, number: int) -> None:
        self._code = code()
        self._slot = table[SLOTS + SLOT_WORDS * number :][:SLOT_WORDS]
        self._awake = table[AWAKE + number :][:1]
        self._alarm = threading.Event()
        self._closing = False
        self._awake[0] = 1
        self._thread = threading.Thread(target=self._work, name=f"fourbar-{number}", daemon=True)

    def start(self) -> None:
        """Begin to wait for tasks."""
        self._thread.start()

    def _work(self) -> None:
        slot = self._slot.ctypes.data
        while not self._closing:
            self._code.serve(slot)
            self._alarm.clear()
            self._awake[0] = 0
            if self._slot[0] == _EMPTY and not self._closing:  # what is posted now finds it asleep, and wakes it
                self._alarm.wait()
            self._awake[0] = 1

    def wake(self) -> None:
        """See to it that a task in the slot is found."""
        if not self._awake[0]:
            self._alarm.set()

    def close(self) -> None:
        """End the thread; its machine code must not run when the process unloads it."""
        self._closing = True
        self._alarm.set()
        if self._thread.ident is not None:  # else its start was interrupted
            self._thread.join()


class Workers:
    """The workers of this process. One batch at a time has them; another that comes meanwhile works alone."""

    def __init__(self) -> None:
        room = np.zeros(_TABLE_WORDS + 8, np.int64)
        self.table = room[-(room.ctypes.data // 8) % 8 :][:_TABLE_WORDS]  # slots on cache lines of their own
        self._yield = _yielding()
        self._starting = threading.RLock()
        self._is_starting = False
        self._workers: list[Worker] = []
        self.clear()

    def clear(self) -> None:
        """As if no worker had ever been started: so it is in a forked child, where their threads do not exist."""
        self._starting = threading.RLock()
        self._is_starting = False
        self._workers = []
        self._closed = False
        self.table[:] = 0
        self.table[YIELD] = ctypes.cast(self._yield, ctypes.c_void_p).value or 0

    def start(self, count: int) -> None:
        """Have so many workers awake, or as many as the system lets us start.

        A signal handler that asks for workers while its own thread is starting some takes those that are there.
        """
        with self._starting:
            if not self._is_starting:
                self._is_starting = True
                try:
                    self._start(count)
                finally:
                    self._is_starting = False
        for worker in self._workers[:count]:
            worker.wake()

    def _start(self, count: int) -> None:
        while len(self._workers) < min(count, MOST_WORKERS) and not self._closed:
            self._workers.append(Worker(self.table, len(self._workers)))
            try:
                self._workers[-1].start()  # if this is interrupted, `close` knows the worker all the same
            except RuntimeError:  # no more threads to be had, or the interpreter is shutting down
                self._workers.pop()
                break
        self.table[COUNT] = 0 if self._closed else len(self._workers)

    def close(self) -> None:
        """End all threads, and start no more: nobody would end those before their machine code is unloaded."""
        with self._starting:
            self._closed = True
        self.table[COUNT] = 0
        while self._workers:
            self._workers.pop().close()


_workers = Workers()


def workers() -> Workers:
    """The worker threads of this process."""
    return _workers


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.clear)
atexit.register(_workers.close)


_LEAST_LIMIT = 8  # threads that are started if they are asked for, however few CPUs there are
CHUNKS_PER_THREAD = 16  # with 4, two threads had 5 and 3 where one core was a little slower: 1.6 times as fast, not 1.9


def default_threads() -> int:
    """FOURBAR_THREADS, or the number of CPUs this process may use; a function asks when it computes its first batch."""
    asked = os.environ.get("FOURBAR_THREADS")
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    digits = asked.lstrip("0")
    if not (digits and asked.isascii() and asked.isdigit()):
        raise ValueError(f"FOURBAR_THREADS={asked!r}: expected a whole number of threads, at least 1")
    return min(int(digits[:9]), MOST_WORKERS + 1)  # nine digits are more than enough, of however many


def most_threads() -> int:
    """On how many threads a batch is computed at most: more than the machine has CPUs only take turns on them.

    Small machines still start a few more, so that what is computed by several threads is so everywhere.
    """
    return min(max(_LEAST_LIMIT, default_threads(), os.cpu_count() or 1), MOST_WORKERS + 1)


def chunk_size(n: int, threads: int, width: int, most: int) -> int:
    """The number of samples that a thread takes at a time: `most`, a multiple of the width, or less."""
    return min(max(1, n // (threads * CHUNKS_PER_THREAD * width)) * width, most)


def address(array: np.ndarray) -> int:
    """Where an array's data lie; `array.ctypes.data` takes three times as long to say so."""
    return array.__array_interface__["data"][0]


def run_shared(kernel: Kernel, arrays: list[np.ndarray], n: int, threads: int) -> None:
    """Run a kernel on n samples. Every array, outputs last, is (n, *core) or (*core): the same for all samples."""
    addresses, outer, core = [], [], []
    for array, dimensions in zip(arrays, kernel.cores, strict=True):
        strides = array.strides
        batched = len(strides) > dimensions
        addresses.append(address(array))
        outer.append(strides[0] if batched else 0)
        core += strides[batched:]
    layout = np.array([n, *addresses, *outer, *core], np.int64)
    dims = address(layout)
    first = dims + 8
    steps = first + 8 * len(arrays)
    threads = min(threads, most_threads())
    chunk = chunk_size(n, threads, kernel.lanes.width, kernel.piece)
    call_shared(kernel.share, first, dims, steps, kernel.data, chunk, threads)


def call_shared(share: int, args: int, dims: int, steps: int, data: int, chunk: int, threads: int) -> None:
    """Call a driver's function `share` here and on other threads, so many in all; see `batch_loop.py`."""
    ours = workers()
    ours.start(threads - 1)
    code().together(address(ours.table), share, args, dims, steps, data, chunk, threads - 1)
