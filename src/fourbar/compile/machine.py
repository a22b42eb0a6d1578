"""LLVM: assembly text to object code, and object code into the process."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from .ir import Lanes

_CODEGEN_LEVEL = 1  # level 0 runs 1.5-2.5 times slower; 2 and 3 compile longer and run no faster


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def _cpu() -> tuple[str, str]:
    llvm = _llvm()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def identity() -> str:
    """What object code depends on besides its source: CPU, its features, the compiler."""
    import llvmlite

    name, features = _cpu()
    return f"{name}\n{features}\nllvmlite {llvmlite.__version__}\ncodegen {_CODEGEN_LEVEL}\n"


@cache
def _has_fma() -> bool:
    triple = _llvm().get_default_triple()
    return "+fma" in _cpu()[1].split(",") or triple.startswith(("aarch64", "arm64"))


@cache
def batch_lanes() -> Lanes:
    """As many samples at a time as the CPU's vectors hold; FOURBAR_LANES overrides."""
    has = set(_cpu()[1].split(","))
    width = 8 if "+avx512f" in has and "+avx512dq" in has else 4 if "+avx" in has else 2
    asked = os.environ.get("FOURBAR_LANES")
    if asked is not None:
        if asked not in ("1", "2", "4", "8"):
            raise ValueError(f"FOURBAR_LANES={asked!r}: expected 1, 2, 4 or 8 samples a vector")
        width = int(asked)
    return Lanes(width, _has_fma())


def single_lane() -> Lanes:
    """One sample: what a single call runs on. It gives the same bits as any other width, sooner."""
    return Lanes(1, _has_fma())


def _target_machine() -> Any:
    llvm = _llvm()
    name, features = _cpu()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=name, features=features, opt=_CODEGEN_LEVEL, reloc="pic", codemodel="small", jit=True
    )


def _parsed(assembly: str, machine: Any) -> Any:
    module = _llvm().parse_assembly(assembly)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def to_object(assembly: str) -> bytes:
    """Object code of an LLVM module. No optimisation passes: the tracer has left nothing for them."""
    machine = _target_machine()
    return machine.emit_object(_parsed(assembly, machine))


def to_assembly(assembly: str) -> str:
    """What the CPU will run, as text."""
    machine = _target_machine()
    return machine.emit_assembly(_parsed(assembly, machine))


class Loaded:
    """Object files in memory; they stay as long as this object lives."""

    def __init__(self, objects: list[bytes]) -> None:
        llvm = _llvm()
        # llvmlite's own memory manager keeps code and constants together. LLVM's puts them into any free gaps and
        # aborts the process where these are more than 2 GB apart.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(), use_lmm=True)
        for code in objects:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function lies."""
        found = self._engine.get_function_address(name)
        if not found:
            raise RuntimeError(f"function {name!r} is missing in the loaded code")
        return found
