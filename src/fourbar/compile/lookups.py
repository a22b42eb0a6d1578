"""Tables of doubles that blocks look numbers up in: what machine code does with them, and where it finds them.

The table of a call has two words for each, behind its constants: the address of the first entry, and the number of the
last one. So code does not depend on what is in a table, nor on how long it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..expr import Program
from .elementary import Elementary

WORDS = 2


def own_entries(elementary: Elementary, entries: str, last: str, index: str) -> str:
    """Each lane's own entry, by its index as it is: below zero or NaN the first, beyond the last that."""
    code, lanes, choose = elementary.code, elementary.lanes, elementary.choose
    zero = lanes.constant(0.0)
    index = choose(elementary.compare("oge", index, zero), index, zero)
    index = choose(elementary.compare("olt", index, last), index, last)
    if lanes.scalar:
        at = code.let(f"fptosi double {index} to i64")
        return _load(elementary, entries, f"i64 {at}")
    places = f"<{lanes.width} x i32>"
    whole = code.let(f"fptosi {lanes.double} {index} to {places}")
    vector = "poison"
    for lane in range(lanes.width):
        at = code.let(f"extractelement {places} {whole}, i64 {lane}")
        entry = _load(elementary, entries, f"i32 {at}")
        vector = code.let(f"insertelement {lanes.double} {vector}, double {entry}, i64 {lane}")
    return vector


def _load(elementary: Elementary, entries: str, at: str) -> str:
    where = elementary.code.let(f"getelementptr double, ptr {entries}, {at}")
    return elementary.code.let(f"load double, ptr {where}, align 8, !invariant.load !0")


def lookup_words(program: Program, keep_alive: Callable[[np.ndarray], int]) -> list[list[int]]:
    """The words of the tables of each block, in order; `keep_alive` says where an array lies."""
    words_of = {}
    for table in program.lookups:
        entries = np.frombuffer(table, float)
        last = np.array([len(entries) - 1.0])
        words_of[table] = [keep_alive(entries), int(last.view(np.int64)[0])]
    return [[word for table in block.lookups for word in words_of[table]] for block in program.blocks]
