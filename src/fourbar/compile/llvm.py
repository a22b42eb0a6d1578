"""LLVM: assembly text to object code, and object code into the process."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ..once import LAST, Standstill, Turn, forking, imported
from .arena import arena
from .arena import is_supported as has_arena
from .elf import image
from .ir import Lanes

_CODEGEN_LEVEL = 1  # level 0 runs 1.5-2.5 times slower; 2 and 3 compile longer and run no faster


_turn = Turn(LAST)  # all use of LLVM, including what it frees, happens in this turn


@cache
def _loaded_llvm() -> Any:
    llvm: Any = imported("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@contextmanager
def _llvm() -> Iterator[Any]:
    """LLVM, for one thread at a time."""
    with _turn.taken():
        yield _loaded_llvm()


@cache
def _cpu() -> tuple[str, str]:
    with _llvm() as llvm:
        return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def identity() -> str:
    """All that object code depends on besides its source: CPU, its features, the compiler."""
    name, features = _cpu()
    llvmlite: Any = imported("llvmlite")
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
    """Code that LLVM itself loads: on systems that `arena.py` or `elf.py` does not support."""

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
