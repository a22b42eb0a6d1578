"""Signals during a long batch: machine code lets Python's handlers run, and stops where one of them raises an error.

Handlers run in the main thread only. A kernel that runs there calls them after so many samples (`BETWEEN`); if one
raises, as Ctrl-C does, the error is stored in a table of this process, the kernel returns early, and its caller raises
the error. All is done by functions of CPython whose addresses are in the table.
"""

from __future__ import annotations

import ctypes
import os
import threading

import numpy as np

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


def _filled() -> np.ndarray:
    made = np.zeros(ERROR + _ERROR_WORDS, np.int64)
    for word, name in _FUNCTIONS:
        made[word] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    made[MAIN] = threading.main_thread().ident or 0
    return made


table = _filled()


def raise_error() -> None:
    """In the main thread: raise the error that stopped the kernel that just returned, if one did."""
    if not table[ERROR] or table[MAIN] != threading.get_ident():
        return
    error = [ctypes.c_void_p(int(x)) for x in table[ERROR:]]
    table[ERROR:] = 0
    ctypes.pythonapi.PyErr_Restore(*error)  # after which ctypes sees it and raises it


def _forked() -> None:
    """In a child the thread that forked is the main thread."""
    table[MAIN] = threading.get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
