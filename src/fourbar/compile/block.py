"""A block of a program as an LLVM function  void @name(ptr workspace, ptr table).

The workspace holds one vector of W doubles a slot. A block with one port whose base is slot 0 addresses it directly; a
block that is called with other bases finds them in the table, as byte offsets, followed by its constants.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..expr import Block
from ..expr.program import MEMORY
from .elementary import DECLARATIONS, Elementary
from .ir import Code, Lanes

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole"}
_INTRINSIC = {"sqrt": "sqrt", "min": "minimum", "max": "maximum"}


def _fusable(block: Block) -> dict[int, int]:
    """For each sum the product that is fused into it: one that nothing else uses, the later one if there are two."""
    uses = Counter(x for op, *operands in block.code if op not in MEMORY for x in operands if x.__class__ is int)
    uses.update(s.value for s in block.stores if isinstance(s.value, int))
    fused: dict[int, int] = {}
    for number, (op, *operands) in enumerate(block.code):
        if op in ("add", "sub"):
            for x in sorted((x for x in operands if x.__class__ is int), reverse=True):
                if block.code[x][0] == "mul" and uses[x] == 1:
                    fused[number] = x  # type: ignore[assignment]
                    break
    return fused


class _Body:
    def __init__(self, block: Block, lanes: Lanes, fixed: bool) -> None:
        self.block = block
        self.lanes = lanes
        self.code = Code()
        self.elementary = Elementary(self.code, lanes)
        self.fused = _fusable(block) if lanes.fma else {}
        self.absorbed = set(self.fused.values())
        self.values: list[str] = []
        self.conditions: dict[int, str] = {}  # comparisons: vectors of bits, turned into numbers where they are used so
        self.angles: dict[str, tuple[str, str]] = {}
        self.ports = {0: "%workspace"} if fixed else {}
        self.far: dict[int, str] = {}  # where slots point at

    def _port(self, port: int) -> str:
        """Where a port points at, read just before it is first used."""
        if port not in self.ports:
            self.ports[port] = self._pointer(port)
        return self.ports[port]

    def _pointer(self, port: int) -> str:
        where = self.code.let(f"getelementptr inbounds i8, ptr %table, i64 {8 * port}")
        offset = self.code.let(f"load i64, ptr {where}, align 8, !invariant.load !0")
        return self.code.let(f"getelementptr inbounds i8, ptr %workspace, i64 {offset}")

    def _address(self, port: int, offset: int) -> str:
        return self.code.let(f"getelementptr inbounds i8, ptr {self._port(port)}, i64 {offset * self.lanes.bytes}")

    def _operand(self, x: Any) -> str:
        """A number; a comparison that is used as one is 1 or 0."""
        if x.__class__ is not int:
            return self.lanes.constant(x)
        if x in self.conditions:
            return self.elementary.choose(self.conditions[x], self.lanes.constant(1.0), self.lanes.constant(0.0))
        return self.values[x]

    def _condition(self, x: int | float) -> str:
        """A comparison; a number that is used as one holds unless it is zero."""
        if x.__class__ is int and x in self.conditions:
            return self.conditions[x]  # type: ignore[index]
        return self.elementary.compare("une", self._operand(x), self.lanes.constant(0.0))

    def _load(self, port: int, offset: int) -> str:
        address = self._address(port, offset)
        return self.code.let(f"load {self.lanes.double}, ptr {address}, align {self.lanes.bytes}")

    def _far(self, slot: int, offset: int) -> str:
        """An entry of the vectors that a slot points at."""
        if slot not in self.far:
            self.far[slot] = self.code.let(f"load ptr, ptr {self._address(0, slot)}, align 8")
        where = self.code.let(f"getelementptr inbounds i8, ptr {self.far[slot]}, i64 {offset * self.lanes.bytes}")
        return self.code.let(f"load {self.lanes.double}, ptr {where}, align {self.lanes.bytes}, !invariant.load !0")

    def _constant(self, index: int) -> str:
        v, w = self.lanes.double, self.lanes.width
        where = self.code.let(f"getelementptr inbounds i8, ptr %table, i64 {8 * (self.block.ports + index)}")
        scalar = self.code.let(f"load double, ptr {where}, align 8, !invariant.load !0")
        if self.lanes.scalar:
            return scalar
        first = self.code.let(f"insertelement {v} poison, double {scalar}, i64 0")
        return self.code.let(f"shufflevector {v} {first}, {v} poison, <{w} x i32> zeroinitializer")

    def _angle(self, op: str, x: str) -> str:
        if x not in self.angles:
            self.angles[x] = self.elementary.sincos(x)
        return self.angles[x][op == "cos"]

    def _multiply_add(self, op: str, operands: list[int | float], product: int) -> str:
        """A sum with a product fused into it: ab + c, ab - c or c - ab."""
        a, b = (self._operand(x) for x in self.block.code[product][1:])  # type: ignore[arg-type]
        first = operands[0].__class__ is int and operands[0] == product  # a constant may equal its number
        c = self._operand(operands[1] if first else operands[0])
        if op == "sub" and first:
            c = self.elementary.negative(c)
        elif op == "sub":
            a = self.elementary.negative(a)
        return self.elementary.multiply_add(a, b, c)

    def instruction(self, number: int, op: str, operands: list[int | float]) -> str:
        if number in self.absorbed:
            return "absorbed"
        if number in self.fused:
            return self._multiply_add(op, operands, self.fused[number])
        if op == "load":
            return self._load(*operands)  # type: ignore[arg-type]
        if op == "far":
            return self._far(*operands)  # type: ignore[arg-type]
        if op == "table":
            return self._constant(*operands)  # type: ignore[arg-type]
        if op == "select":
            return self.elementary.choose(self._condition(operands[0]), *map(self._operand, operands[1:]))
        args = [self._operand(x) for x in operands]
        if op in _ARITHMETIC:
            return self.elementary.arithmetic(_ARITHMETIC[op], *args)
        if op == "neg":
            return self.elementary.negative(args[0])
        if op in ("sin", "cos"):
            return self._angle(op, args[0])
        if op in _COMPARE:
            self.conditions[number] = self.elementary.compare(_COMPARE[op], *args)
            return "condition"
        if op in _INTRINSIC:
            return self.elementary.intrinsic(_INTRINSIC[op], *args)
        if op == "atan2":
            return self.elementary.atan2(*args)
        raise ValueError(f"the LLVM backend has no code for operation {op!r}; add it to {__name__}")

    def store(self, port: int, offset: int, value: int | float) -> None:
        address = self._address(port, offset)
        self.code.do(f"store {self.lanes.double} {self._operand(value)}, ptr {address}, align {self.lanes.bytes}")


def emit_block(name: str, block: Block, lanes: Lanes, fixed: bool) -> str:
    """The function of one block. `fixed`: its only port always points at slot 0."""
    body = _Body(block, lanes, fixed)
    pending: dict[int, list[tuple[int, int]]] = {}
    for s in block.stores:
        if isinstance(s.value, int):
            pending.setdefault(s.value, []).append((s.port, s.offset))
    for number, (op, *operands) in enumerate(block.code):
        body.values.append(body.instruction(number, op, operands))  # type: ignore[arg-type]
        for port, offset in pending.get(number, ()):
            body.store(port, offset, number)
    for s in block.stores:
        if not isinstance(s.value, int):
            body.store(s.port, s.offset, s.value)
    head = f"define void @{name}(ptr noalias %workspace, ptr noalias readonly %table) #0 {{"
    return f"{head}\n{body.code.body()}\n  ret void\n}}\n"


def module(functions: list[str], lanes: Lanes) -> str:
    """A complete LLVM module from function texts."""
    declared = DECLARATIONS.format(v=lanes.double, suffix=lanes.suffix)
    return declared + "\n".join(functions) + lanes.attributes + "!0 = !{}\n"
