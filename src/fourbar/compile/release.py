"""How a callable is freed: by machine code, for CPython does not let go of what an instance of such a type holds.

A method `__del__` could be called by anyone, and the callable be called afterwards, when its tables are gone.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..once import once
from .cache import loaded
from .ir import Code
from .machine import Loaded

_TYPE = 8  # offset of the type in an object
_DROP, _FREE = 0, 1  # words of the table


def _assembly(state: int, table: int) -> str:
    """@release(object): tp_dealloc of a type with `held` and the address of the table at these offsets."""
    c = Code()
    c.label("entry")
    kind, kept, known = (c.let(f"getelementptr i8, ptr %object, i64 {at}") for at in (_TYPE, state, table))
    kind, held, words = (c.let(f"load ptr, ptr {at}, align 8") for at in (kind, kept, known))
    c.do(f"br i1 {c.let(f'icmp eq ptr {words}, null')}, label %unfinished, label %made")
    c.label("made")
    drop = c.let(f"load ptr, ptr {words}, align 8")
    free = c.let(f"load ptr, ptr {c.let(f'getelementptr i64, ptr {words}, i64 {_FREE}')}, align 8")
    c.do(f"store ptr null, ptr {kept}, align 8")
    c.do(f"br i1 {c.let(f'icmp eq ptr {held}, null')}, label %empty, label %full")
    c.label("full")
    c.do(f"call void {drop}(ptr {held})")
    c.do("br label %empty")
    c.label("empty")
    c.do(f"call void {free}(ptr %object)")
    c.do(f"call void {drop}(ptr {kind})")
    c.do("ret void")
    c.label("unfinished")  # an instance that nobody filled: it stays
    c.do("ret void")
    return f"define void @release(ptr %object) nounwind {{\n{c.body()}\n}}\n"


class Release:
    """The function, and the table that instances refer to."""

    def __init__(self, state: int, table: int) -> None:
        self._code: Loaded = loaded(f"release {state} {table}", lambda: _assembly(state, table))
        self.address = self._code.address("release")
        self._table = np.zeros(2, np.int64)
        for word, function in ((_DROP, ctypes.pythonapi.Py_DecRef), (_FREE, ctypes.pythonapi.PyObject_Free)):
            self._table[word] = ctypes.cast(function, ctypes.c_void_p).value or 0
        self.table = self._table.ctypes.data


@once
def release(state: int, table: int) -> Release:
    """That of this process, for instances laid out like this."""
    return Release(state, table)
