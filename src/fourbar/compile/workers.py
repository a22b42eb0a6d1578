"""Worker threads that wait for tasks in machine code.

Handing a batch to a thread pool takes about as long as many a batch itself: the thread must be woken and must get the
interpreter lock. A worker here spins for a moment after each task, and starts on the next one within a microsecond;
only then does it sleep. A worker that wakes too late finds its task withdrawn and costs nothing. Workers sleep and are
woken in machine code too, on a lock of Python's that any thread may release: one that had to ask for the interpreter
lock would take it from the caller in the middle of a batch, which then waits for it.

The core of a worker that slept has neither the code nor the data of a task at hand, and the caller would wait for it
longer than it takes to do a short task alone. So a short task is given to workers that are awake; others are woken at
its end, in case more follow at once, as in a loop.

Callers and workers meet in the job table, an array of words: whether a caller has the workers, how many there are, the
functions that yield the CPU and that release a lock, and on a cache line for each worker its slot: the state (empty,
posted, running), a function and its six arguments. Behind the slots it says which workers are awake, and then on which
locks they sleep.
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
from .cache import load_module
from .kernel import Kernel

_EMPTY, _POSTED, _RUNNING = range(3)
_SPINS = 4000  # pauses before a worker sleeps or a waiting caller yields: some 50 to 200 µs
MOST_WORKERS = 255
BUSY, COUNT, YIELD, _RELEASE, SLOTS, SLOT_WORDS = 0, 1, 2, 3, 8, 8
AWAKE = SLOTS + SLOT_WORDS * MOST_WORKERS
_LOCKS = AWAKE + MOST_WORKERS
_TABLE_WORDS = _LOCKS + MOST_WORKERS

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


def _work() -> str:
    """@work(slot, awake, lock, acquire, closing): serve, and sleep on the lock between tasks, until it is closing.

    Who wakes a worker says that it is awake, and releases the lock if it was not: once for each sleep. A worker that
    finds a task, having said that it sleeps, says that it is awake itself, unless another thread just did.
    """
    return "\n".join(
        [
            "define void @work(ptr %slot, ptr %awake, ptr %lock, ptr %acquire, ptr %closing) {",
            "entry:",
            "  br label %loop",
            "loop:",
            "  call void @serve(ptr %slot)",
            "  store atomic i64 0, ptr %awake seq_cst, align 8",
            "  %state = load atomic i64, ptr %slot seq_cst, align 8",
            f"  %posted = icmp eq i64 %state, {_POSTED}",
            "  %end = load atomic i64, ptr %closing seq_cst, align 8",
            "  %ends = icmp ne i64 %end, 0",
            "  %stays = or i1 %posted, %ends",
            "  br i1 %stays, label %back, label %sleep",
            "back:",
            "  %was = atomicrmw xchg ptr %awake, i64 1 seq_cst, align 8",
            "  %woken = icmp ne i64 %was, 0",
            "  br i1 %woken, label %sleep, label %next",
            "sleep:",
            "  %ignored = call i32 %acquire(ptr %lock, i32 1)",
            "  br label %next",
            "next:",
            "  %now = load atomic i64, ptr %closing seq_cst, align 8",
            "  %closed = icmp ne i64 %now, 0",
            "  br i1 %closed, label %done, label %loop",
            "done:",
            "  ret void",
            "}",
        ]
    )


def _wake() -> str:
    """@wake(table, number, asked): wake a worker, if this is asked for and it is asleep."""
    return "\n".join(
        [
            "define void @wake(ptr %table, i64 %number, i1 %asked) {",
            "entry:",
            "  br i1 %asked, label %look, label %done",
            "look:",
            f"  %awake_at = add i64 %number, {AWAKE}",
            "  %awake = getelementptr i64, ptr %table, i64 %awake_at",
            "  %was = atomicrmw xchg ptr %awake, i64 1 seq_cst, align 8",
            "  %slept = icmp eq i64 %was, 0",
            "  br i1 %slept, label %release, label %done",
            "release:",
            f"  %lock_at = add i64 %number, {_LOCKS}",
            "  %lock_word = getelementptr i64, ptr %table, i64 %lock_at",
            "  %lock = load ptr, ptr %lock_word, align 8",
            f"  %release_at = getelementptr i64, ptr %table, i64 {_RELEASE}",
            "  %free = load ptr, ptr %release_at, align 8",
            "  call void %free(ptr %lock)",
            "  br label %done",
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


_SETTLE = ["  call void @settle(ptr %wait_slot, ptr %table)", "  call void @wake(ptr %table, i64 %wait_h, i1 true)"]


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


def _post() -> list[str]:
    """Give a task to a worker that is awake, or to any if it is long."""
    post = []
    for k, name in enumerate(_TASK, 1):
        post.append(f"  %to{k} = getelementptr i64, ptr %post_slot, i64 {k}")
        post.append(f"  store {'i64' if name == 'chunk' else 'ptr'} %{name}, ptr %to{k}, align 8")
    return [
        *post,
        f"  %awake_at = add i64 %post_h, {AWAKE}",
        "  %awake_word = getelementptr i64, ptr %table, i64 %awake_at",
        "  %awake = load atomic i64, ptr %awake_word seq_cst, align 8",
        "  %either = or i64 %awake, %long",
        "  %taken = icmp ne i64 %either, 0",
        f"  %posted = select i1 %taken, i64 {_POSTED}, i64 {_EMPTY}",
        "  store atomic i64 %posted, ptr %post_slot seq_cst, align 8",
        "  call void @wake(ptr %table, i64 %post_h, i1 %taken)",
    ]


def _together() -> str:
    """@together(table, share, args, dims, steps, data, chunk, wanted, long): call `share` here and on as many workers
    as are wanted, unless another caller has them; comes back when all are done. `long`: not zero if workers that sleep
    should be woken for it.
    """
    task = "ptr %share, ptr %args, ptr %dims, ptr %steps, ptr %data, i64 %chunk"
    return "\n".join(
        [
            f"define void @together(ptr %table, {task}, i64 %wanted, i64 %long) {{",
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
            *_each_worker("post", "share_out", "work", _post()),
            "work:",
            _WORK,
            "  br label %wait",
            *_each_worker("wait", "work", "finished", _SETTLE),
            "finished:",
            "  store atomic i64 0, ptr %table seq_cst, align 8",
            "  ret void",
            "}",
        ]
    )


class _Code:
    """The functions; ctypes calls them without the interpreter lock."""

    def __init__(self) -> None:
        text = "\n".join([_pause()[0], _serve(), _work(), _wake(), _settle(), _together()])
        self._loaded = load_module("workers", lambda: text)
        self.work = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(self._loaded.address("work"))
        wake = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_bool)
        self.wake = wake(self._loaded.address("wake"))
        self.together_address = self._loaded.address("together")
        kinds = [*[ctypes.c_void_p] * 6, *[ctypes.c_int64] * 3]
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


class _Lock:
    """A lock of Python's threads, held from the start: it needs no interpreter lock, and any thread may release it."""

    def __init__(self) -> None:
        api = ctypes.pythonapi
        allocate = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThread_allocate_lock", api))
        acquire = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(("PyThread_acquire_lock", api))
        lock = allocate()
        if lock is None:
            raise RuntimeError("there is no memory for a lock")
        self.address: int = lock
        acquire(lock, 0)

    def free(self) -> None:
        """Give its memory back, when nobody uses it any more."""
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyThread_free_lock", ctypes.pythonapi))(self.address)


def _address_of(function: Any) -> int:
    """Where a function of a library is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class Worker:
    """One thread and its slot, the one with this number, of a job table."""

    def __init__(self, table: np.ndarray, number: int) -> None:
        self._code, self._lock = code(), _Lock()
        self._table, self._number = table, number
        self._slot = table[SLOTS + SLOT_WORDS * number :][:SLOT_WORDS]
        self._awake = table[AWAKE + number :][:1]
        self._closing = np.zeros(1, np.int64)
        self._awake[0] = 1
        table[_LOCKS + number] = self._lock.address
        self._thread = threading.Thread(target=self._work, name=f"fourbar-{number}", daemon=True)

    def start(self) -> None:
        """Begin to wait for tasks."""
        self._thread.start()

    def _work(self) -> None:
        places = (x.ctypes.data for x in (self._slot, self._awake))
        acquire = _address_of(ctypes.pythonapi.PyThread_acquire_lock)
        self._code.work(*places, self._lock.address, acquire, self._closing.ctypes.data)

    def close(self) -> None:
        """End the thread; its machine code must not run when the process unloads it."""
        self._closing[0] = 1
        self._code.wake(address(self._table), self._number, True)
        if self._thread.ident is not None:  # else its start was interrupted
            self._thread.join()
            self._lock.free()


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
        self.table[YIELD] = _address_of(self._yield)
        self.table[_RELEASE] = _address_of(ctypes.pythonapi.PyThread_release_lock)

    def start(self, count: int) -> None:
        """Have `count` workers, or as many as the system lets us start; a task wakes those that sleep.

        A signal handler that asks for workers while its own thread is starting some takes those that are there.
        """
        with self._starting:
            if not self._is_starting:
                self._is_starting = True
                try:
                    self._start(count)
                finally:
                    self._is_starting = False

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
WORTH_WAKING = 4  # times the size from which on a batch is shared: from there on, workers that sleep should take part
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


def run_shared(kernel: Kernel, arrays: list[np.ndarray], n: int, threads: int, long: bool = True) -> None:
    """Run a kernel on n samples. Every array, outputs last, is (n, *core) or (*core): the same for all samples.

    `long`: whether it takes so long that workers that sleep should take part.
    """
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
    call_shared(kernel.share, (first, dims, steps), kernel.data, chunk, threads, long)


def call_shared(
    share: int, arguments: tuple[int, int, int], data: int, chunk: int, threads: int, long: bool = True
) -> None:
    """Call a driver's function `share` here and on other threads, `threads` in all; see `batch_loop.py`."""
    ours = workers()
    ours.start(threads - 1)
    code().together(address(ours.table), share, *arguments, data, chunk, threads - 1, long)
