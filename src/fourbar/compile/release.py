"""How a callable is freed: by machine code, for CPython does not release what an instance of such a type holds.

Anyone could call a method `__del__`, and then the callable, when its tables are gone. The code reads nothing but the
instance: at interpreter exit, instances may outlive all modules and what those hold.
"""

from __future__ import annotations

import ctypes

from ..once import once
from .cache import loaded
from .ir import Code
from .llvm import Loaded

_TYPE = 8  # offset of the type in an object


def _assembly(state: int, drop: int, free: int) -> str:
    """@release(object): tp_dealloc of a type that has `held`, and what CPython frees objects with, at these offsets."""
    c = Code()
    c.label("entry")
    kind, kept, drop_at, free_at = (
        c.let(f"getelementptr i8, ptr %object, i64 {at}") for at in (_TYPE, state, drop, free)
    )
    kind, held, dropped, freed = (c.let(f"load ptr, ptr {at}, align 8") for at in (kind, kept, drop_at, free_at))
    c.do(f"br i1 {c.let(f'icmp eq ptr {dropped}, null')}, label %unfinished, label %made")
    c.label("made")
    c.do(f"store ptr null, ptr {kept}, align 8")
    c.do(f"br i1 {c.let(f'icmp eq ptr {held}, null')}, label %empty, label %full")
    c.label("full")
    c.do(f"call void {dropped}(ptr {held})")
    c.do("br label %empty")
    c.label("empty")
    c.do(f"call void {freed}(ptr %object)")
    c.do(f"call void {dropped}(ptr {kind})")
    c.do("ret void")
    c.label("unfinished")  # an instance that was never filled: it stays
    c.do("ret void")
    return f"define void @release(ptr %object) nounwind {{\n{c.body()}\n}}\n"


class Release:
    """The function for instances of this layout, and what they must hold for it: `fields`, by offset."""

    def __init__(self, state: int, drop: int, free: int) -> None:
        self._code: Loaded = loaded(f"release {state} {drop} {free}", lambda: _assembly(state, drop, free))
        self.address = self._code.address("release")
        functions = {free: ctypes.pythonapi.PyObject_Free, drop: ctypes.pythonapi.Py_DecRef}
        self.fields = {at: ctypes.cast(one, ctypes.c_void_p).value or 0 for at, one in functions.items()}


@once
def release(state: int, drop: int, free: int) -> Release:
    """That of this process."""
    return Release(state, drop, free)
