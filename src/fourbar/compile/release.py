"""Freeing a callable, by machine code: CPython does not release what an instance of such a type holds.

Anyone could call a method `__del__`, and then the callable, when its tables are gone. The code reads nothing but the
instance: at interpreter exit, instances may outlive all modules and what those hold.
"""

from __future__ import annotations

import ctypes

from ..once import once
from .cache import load_module
from .ir import Code
from .llvm import Loaded

_TYPE = 8  # offset of the type in an object


def _assembly(state: int, drop: int, free: int, clear: int, weak: int) -> str:
    """@release(object): tp_dealloc of a type that has `held`, what CPython frees objects and clears weak references
    with, and these, at such offsets.
    """
    c = Code()
    c.label("entry")
    offsets = _TYPE, state, drop, free, clear, weak
    places = [c.let(f"getelementptr i8, ptr %object, i64 {at}") for at in offsets]
    kept = places[1]
    kind, held, dropped, freed, cleared, references = (c.let(f"load ptr, ptr {at}, align 8") for at in places)
    c.do(f"br i1 {c.let(f'icmp eq ptr {dropped}, null')}, label %unfinished, label %made")
    c.label("made")
    c.do(f"br i1 {c.let(f'icmp eq ptr {references}, null')}, label %unknown, label %known")
    c.label("known")
    c.do(f"call void {cleared}(ptr %object)")
    c.do("br label %unknown")
    c.label("unknown")
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

    def __init__(self, *at: int) -> None:
        self._code: Loaded = load_module(f"release {at}", lambda: _assembly(*at))
        self.address = self._code.address("release")
        api, (_, drop, free, clear, _) = ctypes.pythonapi, at
        functions = {free: api.PyObject_Free, drop: api.Py_DecRef, clear: api.PyObject_ClearWeakRefs}
        self.fields = {at: ctypes.cast(one, ctypes.c_void_p).value or 0 for at, one in functions.items()}


@once
def release(state: int, drop: int, free: int, clear: int, weak: int) -> Release:
    """The function that frees instances with these offsets, in this process."""
    return Release(state, drop, free, clear, weak)
