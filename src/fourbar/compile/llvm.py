"""LLVM: assembly text to object code, and object code into the process.

Object code as LLVM writes it for x86-64 under Linux: which of its bytes a process needs, and what they refer to.

This code refers only to itself: to its constants, which lie in separate sections, and to its functions, both relative
to its position. So it can be laid out once and runs wherever it is copied to.

Memory for machine code, under Linux: the code of all kernels is in a few large regions.

Linux allows a process some 65,000 mappings. Neighbouring pages with the same rights count as one, and a loader that
maps each piece of code separately uses several. Here a piece gets whole pages of a region. They are written before they
may be executed, never both. The pages of code that is no longer used give back their memory at once, but keep their
rights until they are reused: a hole in a region would be a mapping.
"""

from __future__ import annotations

import atexit
import bisect
import ctypes
import errno
import mmap
import os
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..once import LAST, Standstill, Turn, forking, import_late, once
from .ir import Lanes

_REGION = 16 << 20  # bytes that are reserved at a time
_NONE, _READ, _WRITE, _EXECUTE = 0, 1, 2, 4
_PRIVATE, _ANONYMOUS, _NO_RESERVE = 0x02, 0x20, 0x4000
_DONT_NEED = 4
_FAILED = ctypes.c_void_p(-1).value
_MEANING = {
    errno.ENOMEM: "the system has no more memory for it, or the process has reached its limit of memory mappings "
    "(vm.max_map_count). Delete robots that are no longer used",
    errno.EACCES: (
        "the system does not allow programs to generate code at run time (a security policy such as SELinux)"
    ),
    errno.EPERM: "the system does not allow programs to generate code at run time (a security policy such as SELinux)",
}


def has_arena() -> bool:
    """Whether code is put into an arena: under Linux with 64 bits."""
    return sys.platform == "linux" and sys.maxsize > 1 << 32


@once
def _system() -> dict[str, Any]:
    """The functions of the system that reserve pages and change their rights."""
    c = ctypes.CDLL(None, use_errno=True)
    p, size, i = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    c.mmap.restype, c.mmap.argtypes = p, [p, size, i, i, i, ctypes.c_long]
    c.mprotect.restype, c.mprotect.argtypes = i, [p, size, i]
    c.madvise.restype, c.madvise.argtypes = i, [p, size, i]
    return {"mmap": c.mmap, "mprotect": c.mprotect, "madvise": c.madvise}


def _refusal(size: int) -> MemoryError:
    number = ctypes.get_errno()
    why = _MEANING.get(number, errno.errorcode.get(number, str(number)))
    return MemoryError(f"fourbar cannot load {size} bytes of machine code: {why}.")


def _allow(start: int, size: int, rights: int) -> None:
    if _system()["mprotect"](start, size, rights):
        raise _refusal(size)


class Piece:
    """Code in memory, from `start` on; its pages are reused once nobody holds it."""

    def __init__(self, start: int, size: int, give_back: Callable[[int, int], None]) -> None:
        self.start = start
        self._size = size
        self._give_back = give_back

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ending():  # otherwise the caller of this code may be torn down after it
            self._give_back(self.start, self._size)


class Arena:
    """The regions of a process. A forked child has copies of them, and may go on using these."""

    def __init__(self) -> None:
        self._turn = Turn(LAST)
        self._free: list[tuple[int, int]] = []  # start and size, ordered, never adjacent
        self._returned: deque[tuple[int, int]] = deque()  # not yet in that list
        self._page = mmap.PAGESIZE
        self._advise = _system()["madvise"]
        self._choosing = 0  # the thread that is searching for a place

    def put(self, content: bytes) -> Piece:
        """Load code into memory, ready to run. MemoryError where there is none."""
        size = -(-max(1, len(content)) // self._page) * self._page
        piece = Piece(self._place(size), size, self._give_back)
        _allow(piece.start, size, _READ | _WRITE)
        ctypes.memmove(piece.start, content, len(content))
        _allow(piece.start, size, _READ | _EXECUTE)
        return piece

    def _give_back(self, start: int, size: int) -> None:
        """Called at any time in any thread, when an object dies: takes no lock."""
        self._advise(start, size, _DONT_NEED)
        self._returned.append((start, size))

    def _place(self, size: int) -> int:
        """Free pages. A signal handler that asks during another search gets a new region."""
        with self._turn.take():
            if self._choosing == threading.get_ident():
                return self._reserve(size)
            self._choosing = threading.get_ident()
            try:
                return self._find_room(size)
            finally:
                self._choosing = 0

    def _find_room(self, size: int) -> int:
        while self._returned:
            self._join(*self._returned.popleft())
        number = next((k for k, (_, room) in enumerate(self._free) if room >= size), None)
        if number is None:
            reserved = max(size, _REGION)
            self._join(self._reserve(reserved), reserved)
            return self._find_room(size)
        start, room = self._free[number]
        if room == size:
            del self._free[number]
        else:
            self._free[number] = (start + size, room - size)
        return start

    def _join(self, start: int, size: int) -> None:
        """Add free pages, merged with adjacent ones."""
        k = bisect.bisect(self._free, (start, size))
        if k < len(self._free) and self._free[k][0] == start + size:
            size += self._free.pop(k)[1]
        if k and sum(self._free[k - 1]) == start:
            k -= 1
            before = self._free.pop(k)
            start, size = before[0], before[1] + size
        self._free.insert(k, (start, size))

    def _reserve(self, size: int) -> int:
        start = _system()["mmap"](None, size, _NONE, _PRIVATE | _ANONYMOUS | _NO_RESERVE, -1, 0)
        if start in (None, _FAILED):
            raise _refusal(size)
        return start


@once
def arena() -> Arena:
    """The arena of this process."""
    return Arena()


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
    """Write into a section at `base` the distances to the symbols that it refers to; False if one is unknown."""
    used = symbols[relocations["symbol"]]
    inside = (used["section"] != _UNDEFINED) & (used["section"] < _SPECIAL)
    if not np.all(np.isin(relocations["type"], _RELATIVE) & inside) or np.any(places[used["section"]] < 0):
        return False
    at = base + relocations["offset"].astype(np.int64)
    target = places[used["section"]] + used["value"].astype(np.int64) + relocations["addend"]
    distances = (target - at).astype("<i4").view(np.uint8).reshape(-1, 4)
    content[at[:, None] + np.arange(4)] = distances
    return True


_CODEGEN_LEVEL = 1  # level 0 runs 1.5-2.5 times slower; 2 and 3 compile longer and run no faster


_turn = Turn(LAST)  # all use of LLVM, including what it frees, happens in this turn


@cache
def _loaded_llvm() -> Any:
    llvm: Any = import_late("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@contextmanager
def _llvm() -> Iterator[Any]:
    """LLVM, for one thread at a time."""
    with _turn.take():
        yield _loaded_llvm()


@cache
def _cpu() -> tuple[str, str]:
    with _llvm() as llvm:
        return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def identity() -> str:
    """All that object code depends on besides its source: CPU, its features, the compiler."""
    name, features = _cpu()
    llvmlite: Any = import_late("llvmlite")
    return f"{name}\n{features}\nllvmlite {llvmlite.__version__}\ncodegen {_CODEGEN_LEVEL}\n"


@cache
def _has_fma() -> bool:
    with _llvm() as llvm:
        triple = llvm.get_default_triple()
    return "+fma" in _cpu()[1].split(",") or triple.startswith(("aarch64", "arm64"))


@cache
def batch_lanes() -> Lanes:
    """As many samples at a time as the CPU's vectors hold; FOURBAR_LANES overrides."""
    has = set(_cpu()[1].split(","))
    width = 8 if "+avx512f" in has and "+avx512dq" in has else 4 if "+avx" in has else 2
    asked = os.environ.get("FOURBAR_LANES")
    if asked is not None:
        if asked not in ("1", "2", "4", "8"):
            raise ValueError(f"FOURBAR_LANES={asked!r}: expected 1, 2, 4 or 8 samples per vector")
        width = int(asked)
    return Lanes(width, _has_fma())


def single_lane() -> Lanes:
    """One sample: for single calls. It gives the same bits as any other width, faster."""
    return Lanes(1, _has_fma())


def _target_machine(llvm: Any) -> Any:
    name, features = _cpu()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=name, features=features, opt=_CODEGEN_LEVEL, reloc="pic", codemodel="small", jit=True
    )


def _parse(llvm: Any, assembly: str, machine: Any) -> Any:
    module = llvm.parse_assembly(assembly)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def to_object(assembly: str) -> bytes:
    """Object code of an LLVM module. No optimisation passes: the tracer has left nothing for them."""
    with _llvm() as llvm:
        return _emit(llvm, "emit_object", assembly)


def to_assembly(assembly: str) -> str:
    """The machine code of the CPU, as text."""
    with _llvm() as llvm:
        return _emit(llvm, "emit_assembly", assembly)


def _emit(llvm: Any, what: str, assembly: str) -> Any:
    machine = _target_machine(llvm)
    return getattr(machine, what)(_parse(llvm, assembly, machine))


class Loaded:
    """Object code in memory; it stays as long as this object lives."""

    def __init__(self, code: bytes) -> None:
        laid_out = image(code) if has_arena() else None
        if laid_out is None:
            self._code: Any = _Engine(code)
            return
        self._code = arena().put(laid_out.content)
        self._functions = {name: self._code.start + at for name, at in laid_out.functions.items()}

    def address(self, name: str) -> int:
        """The address of a function."""
        known = isinstance(self._code, _Engine)
        found = self._code.address(name) if known else self._functions.get(name)
        if not found:
            raise RuntimeError(f"function {name!r} is missing in the loaded code")
        return found


class _Engine:
    """Code that LLVM itself loads: on systems where code is put into no arena, or is no ELF file."""

    def __init__(self, code: bytes) -> None:
        with _llvm() as llvm:
            self._load(llvm, code)

    def _load(self, llvm: Any, code: bytes) -> None:
        # llvmlite's own memory manager keeps code and constants together. LLVM's puts them into any free gaps and
        # aborts the process where these are more than 2 GB apart.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(llvm), use_lmm=True)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of a function; 0 if there is none of that name."""
        with _llvm():
            return self._engine.get_function_address(name)

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ending() and hasattr(self, "_engine"):  # at the end of the process this module is empty
            with _llvm():
                self._engine.close()


forking.add(_turn)
_ending = Standstill()
_ending.add(_turn)
# At interpreter exit LLVM is torn down: no thread may then be inside it, or enter it afterwards.
atexit.register(_ending.begin)
