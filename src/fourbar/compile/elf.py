"""Object code as LLVM writes it for x86-64 under Linux: which of its bytes a process needs, and what they refer to.

This code refers only to itself: to its constants, which lie in separate sections, and to its functions, both relative
to its position. So it can be laid out once and runs wherever it is copied to.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

_HEAD = b"\x7fELF\x02\x01\x01"
_OBJECT_X86_64 = (1, 62)
_SECTION = np.dtype(
    {
        "names": ["type", "flags", "offset", "size", "link", "info", "align"],
        "formats": ["<u4", "<u8", "<u8", "<u8", "<u4", "<u4", "<u8"],
        "offsets": [4, 8, 24, 32, 40, 44, 48],
        "itemsize": 64,
    }
)
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("_", "<u8")]
)
_RELOCATION = np.dtype([("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_CONTENT, _SYMBOLS, _RELOCATIONS = 1, 2, 4  # types of sections
_WRITTEN, _PRESENT = 1, 2  # flags of sections
_RELATIVE = (2, 4)  # types of relocations: the distance to a constant or a function, in 32 bits
_GLOBAL_FUNCTION = 1 << 4 | 2
_UNDEFINED, _SPECIAL = 0, 0xFF00


class Image(NamedTuple):
    """Code with its constants behind it, as it will be in memory, and the offset of each function."""

    content: bytes
    functions: dict[str, int]


def image(code: bytes) -> Image | None:
    """The image to load into memory; None if the object is of another kind or has unknown parts."""
    if code[: len(_HEAD)] != _HEAD or struct.unpack_from("<2H", code, 16) != _OBJECT_X86_64:
        return None
    (start,), (count,) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<H", code, 60)
    sections = np.frombuffer(code, _SECTION, count, start)
    places, content = _lay_out(code, sections)
    symbols, names = _symbols(code, sections)
    if content is None or symbols is None:
        return None
    for section in sections[sections["type"] == _RELOCATIONS]:
        base, table = int(places[section["info"]]), _table(code, section, _RELOCATION)
        if base >= 0 and not _relocate(content, table, symbols, places, base):
            return None
    functions = symbols[(symbols["info"] == _GLOBAL_FUNCTION) & (symbols["section"] != _UNDEFINED)]
    found = {_name(names, int(f["name"])): int(places[f["section"]] + f["value"]) for f in functions}
    return Image(content.tobytes(), found)


def _table(code: bytes, section: np.void, kind: np.dtype) -> np.ndarray:
    return np.frombuffer(code, kind, int(section["size"]) // kind.itemsize, int(section["offset"]))


def _name(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode()


def _lay_out(code: bytes, sections: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Where each section is (-1: nowhere), and all of them; None where one is writable.

    Tables for unwinding the stack are of another type than content, and are left out: nothing is thrown here.
    """
    places, end = np.full(len(sections), -1, np.int64), 0
    present = (sections["flags"] & _PRESENT != 0) & (sections["size"] > 0)
    wanted = np.flatnonzero(present & (sections["type"] == _CONTENT))
    for k in wanted:
        align = max(1, int(sections["align"][k]))
        places[k] = -(-end // align) * align
        end = int(places[k] + sections["size"][k])
    if np.any(sections["flags"][wanted] & _WRITTEN):
        return places, None
    content = np.zeros(end, np.uint8)
    for k in wanted:
        first, size = int(sections["offset"][k]), int(sections["size"][k])
        content[places[k] : places[k] + size] = np.frombuffer(code, np.uint8, size, first)
    return places, content


def _symbols(code: bytes, sections: np.ndarray) -> tuple[np.ndarray | None, bytes]:
    """The table of symbols, and the text with their names."""
    tables = sections[sections["type"] == _SYMBOLS]
    if len(tables) != 1:
        return None, b""
    text = sections[tables[0]["link"]]
    return _table(code, tables[0], _SYMBOL), code[int(text["offset"]) : int(text["offset"] + text["size"])]


def _relocate(content: np.ndarray, relocations: np.ndarray, symbols: np.ndarray, places: np.ndarray, base: int) -> bool:
    """Write into a section at `base` the distance to what it refers to; False where that is unknown."""
    used = symbols[relocations["symbol"]]
    inside = (used["section"] != _UNDEFINED) & (used["section"] < _SPECIAL)
    if not np.all(np.isin(relocations["type"], _RELATIVE) & inside) or np.any(places[used["section"]] < 0):
        return False
    at = base + relocations["offset"].astype(np.int64)
    target = places[used["section"]] + used["value"].astype(np.int64) + relocations["addend"]
    distances = (target - at).astype("<i4").view(np.uint8).reshape(-1, 4)
    content[at[:, None] + np.arange(4)] = distances
    return True
