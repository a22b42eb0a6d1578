"""Signals during a long batch: machine code lets Python's handlers run, and stops where one of them raises an error.

Handlers run in the main thread only. A kernel that runs there calls them after every `BETWEEN` samples; if one
raises, as Ctrl-C does, the error is stored in a table of this process, the kernel returns early, and its caller raises
the error. All is done by functions of CPython whose addresses are in the table.
"""

from __future__ import annotations

import ctypes
import os
import threading

import numpy as np

from .ir import Code, word

# Words of the table: functions; the main thread; an error that was raised (its type, 0 if there is none; and the rest).
THREAD, ENSURE, RELEASE, CHECK, FETCH, RAISE, MAIN, ERROR = range(8)
_ERROR_WORDS = 3
BETWEEN = 200_000_000  # operations between checks for signals: some 10 to 100 ms
_FUNCTIONS = (
    (THREAD, "PyThread_get_thread_ident"),
    (ENSURE, "PyGILState_Ensure"),
    (RELEASE, "PyGILState_Release"),
    (CHECK, "PyErr_CheckSignals"),
    (FETCH, "PyErr_Fetch"),
    (RAISE, "PyErr_Restore"),
)


def _fill_table() -> np.ndarray:
    words = np.zeros(ERROR + _ERROR_WORDS, np.int64)
    for row, name in _FUNCTIONS:
        words[row] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    words[MAIN] = threading.main_thread().ident or 0
    return words


table = _fill_table()


def raise_error() -> None:
    """In the main thread: raise the error that stopped the kernel that just returned, if one did."""
    if not table[ERROR] or table[MAIN] != threading.get_ident():
        return
    error = [ctypes.c_void_p(int(x)) for x in table[ERROR:]]
    table[ERROR:] = 0
    ctypes.pythonapi.PyErr_Restore(*error)  # after which ctypes sees it and raises it


def _set_main_thread() -> None:
    """In a child the thread that forked is the main thread."""
    table[MAIN] = threading.get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_set_main_thread)


def interrupt_check(table_word: int) -> str:
    """LLVM text of @interrupted(data) -> i1: run the signal handlers if this is the main thread; whether one raised.

    `table_word` is the word of `data` that holds the address of the table.
    """
    c = Code()
    c.label("entry")
    table = word(c, "%data", table_word, "ptr")
    here = c.let(f"call i64 {word(c, table, THREAD, 'ptr')}()")
    c.do(f"br i1 {c.let(f'icmp eq i64 {here}, {word(c, table, MAIN)}')}, label %main, label %no")
    c.label("main")
    state = c.let(f"call i32 {word(c, table, ENSURE, 'ptr')}()")
    raised = c.let(f"call i32 {word(c, table, CHECK, 'ptr')}()")
    c.do(f"br i1 {c.let(f'icmp eq i32 {raised}, 0')}, label %calm, label %stop")
    c.label("calm")
    c.do(f"call void {word(c, table, RELEASE, 'ptr')}(i32 {state})")
    c.do("br label %no")
    c.label("stop")
    parts = [c.let(f"getelementptr i64, ptr {table}, i64 {ERROR + k}") for k in range(3)]
    c.do(f"call void {word(c, table, FETCH, 'ptr')}(ptr {parts[0]}, ptr {parts[1]}, ptr {parts[2]})")
    c.do(f"call void {word(c, table, RELEASE, 'ptr')}(i32 {state})")
    c.do("ret i1 true")
    c.label("no")
    c.do("ret i1 false")
    return f"define internal i1 @interrupted(ptr %data) #0 {{\n{c.body()}\n}}\n"
