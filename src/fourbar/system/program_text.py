"""The stages between an algorithm and the machine, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..compile.kernel import units
from ..compile.llvm import batch_lanes, to_assembly
from ..expr import Program, to_text

# Operations of sin and cos of one angle together, as the backend writes them (compile/elementary.py).
_SINCOS = {"add": 21, "mul": 20}


def _llvm(program: Program) -> str:
    return "\n".join(unit.assembly(batch_lanes()) for unit in units(program)[0])


def _asm(program: Program) -> str:
    return "\n".join(to_assembly(unit.assembly(batch_lanes())) for unit in units(program)[0])


STAGES: dict[str, Callable[[Program], str]] = {"program": to_text, "llvm": _llvm, "asm": _asm}


def count(program: Program) -> Counter[str]:
    """Operations of one sample by kind; a negation is free, sin and cos are counted as what they expand to."""
    total: Counter[str] = Counter()
    for call in program.calls:
        angles = set()
        for op, *operands in program.blocks[call.block].code:
            if op in ("sin", "cos"):
                angles.add(operands[0])
            elif op not in ("load", "table", "neg"):
                total["add" if op == "sub" else op] += 1
        for kind, n in _SINCOS.items():
            total[kind] += n * len(angles)
    return total
