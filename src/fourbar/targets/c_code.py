"""A program as C99: straight lines of arithmetic on a workspace of fixed size, no allocation, libm only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ..expr import Block, Program
from ..expr.program import Instruction
from .exported_functions import array_names, needed_instructions

SCALARS = {"double": "", "float": "f"}  # the type of all numbers, and the suffix of its constants and functions

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<="}
_LIBRARY = ("sin", "cos", "sqrt")
_CONDITIONS = ("lt", "le")
_LISTED = 2048  # entries beyond which a loop over a table copies them, so that compilers need not think about each


class Helper(NamedTuple):
    """A small function of the C file."""

    name: str
    text: str


# NaN is handed on, as NumPy's minimum and maximum do.
HELPERS = {
    "min": Helper("least", "static inline real least(real a, real b) { return (a < b || a != a) ? a : b; }"),
    "max": Helper("most", "static inline real most(real a, real b) { return (b < a || a != a) ? a : b; }"),
}


class CWriter:
    """Writes programs with one type of number."""

    def __init__(self, scalar: str) -> None:
        self.scalar, self.suffix = scalar, SCALARS[scalar]
        self._operations: dict[str, Callable[..., str]] = {
            **{op: lambda a, b, sign=sign: f"{a} {sign} {b}" for op, sign in _INFIX.items()},
            **{op: lambda a, name=op: f"{name}{self.suffix}({a})" for op in _LIBRARY},
            "neg": lambda a: f"-{a}",
            "atan2": lambda a, b: f"atan2{self.suffix}({a}, {b})",
            "min": lambda a, b: f"least({a}, {b})",
            "max": lambda a, b: f"most({a}, {b})",
            "select": lambda c, a, b: f"{c} ? {a} : {b}",
        }

    def number(self, x: float) -> str:
        """A constant: seventeen digits, so that a double is what it was."""
        if x != x:
            return "(real)NAN"
        if x in (float("inf"), float("-inf")):
            return "(real)INFINITY" if x > 0 else "(-(real)INFINITY)"
        text = repr(float(x))
        text = text if any(mark in text for mark in ".e") else text + ".0"
        return f"({text}{self.suffix})" if x < 0 else text + self.suffix

    def _operand(self, x: Any) -> str:
        return f"t{x}" if x.__class__ is int else self.number(x)

    def _store_value(self, block: Block, x: Any) -> str:
        """A value as a number: conditions are of type int, which does not become float by itself."""
        is_condition = x.__class__ is int and block.code[x][0] in _CONDITIONS
        return f"(real){self._operand(x)}" if is_condition else self._operand(x)

    def _line(self, k: int, instruction: Instruction, place: Callable[[int, int], str]) -> str:
        op, *operands = instruction
        if op == "load":
            return f"    const real t{k} = {place(*operands)};"
        if op == "table":
            return f"    const real t{k} = table[{operands[0]}];"
        kind = "int" if op in _CONDITIONS else "real"
        return f"    const {kind} t{k} = {self._operations[op](*map(self._operand, operands))};"

    def block(self, name: str, block: Block, fixed: bool) -> str:
        """A block as a function. `fixed`: all its ports are at slot 0, as in a program that is one straight line."""

        def place(port: int, offset: int) -> str:
            return f"w[{offset}]" if fixed else f"w[at[{port}] + {offset}]"

        needed = needed_instructions(block)
        kept = [self._line(k, instruction, place) for k, instruction in enumerate(block.code) if k in needed]
        kept += [f"    {place(s.port, s.offset)} = {self._store_value(block, s.value)};" for s in block.stores]
        if block.table and not any(block.code[k][0] == "table" for k in needed):
            kept.insert(0, "    (void)table;")
        given = "real *w" + ("" if fixed else ", const int *at") + (", const real *table" if block.table else "")
        return "\n".join([f"static void {name}({given}) {{", *kept, "}"])

    def function(self, name: str, program: Program) -> str:
        """A program as a function of its inputs and outputs, with the blocks and tables that it needs before it."""
        fixed = [all(c.bases == (0,) for c in program.calls if c.block == i) and b.ports == 1
                 for i, b in enumerate(program.blocks)]  # fmt: skip
        parts = [
            self.block(f"{name}_block{i}", b, f) for i, (b, f) in enumerate(zip(program.blocks, fixed, strict=True))
        ]
        parts += self._tables(name, program, fixed)
        lines = [f"void {name}({', '.join(self.arguments(program))}) {{", f"    real w[{max(1, program.slots)}];"]
        input_names, output_names = parameter_names(program)
        for name_of, x in zip(input_names, program.inputs, strict=True):
            lines.append(f"    memcpy(w + {x.first}, {name_of}, {x.size} * sizeof(real));")
        lines += self._presets(name, program)
        lines += self._calls(name, program, fixed)
        for name_of, y in zip(output_names, program.outputs, strict=True):
            if len(y.slots) > _LISTED:
                lines.append(f"    for (int k = 0; k < {len(y.slots)}; k++) {name_of}[k] = w[{name}_from_{y.name}[k]];")
            else:
                lines += [f"    {name_of}[{k}] = w[{slot}];" for k, slot in enumerate(y.slots)]
        return "\n\n".join([*parts, "\n".join([*lines, "}"])])

    def arguments(self, program: Program) -> list[str]:
        """The parameters of a function: inputs, then outputs."""
        given, found = parameter_names(program)
        return [*(f"const real *{name}" for name in given), *(f"real *{name}" for name in found)]

    def _tables(self, name: str, program: Program, fixed: Sequence[bool]) -> list[str]:
        """Where the ports of all calls point, their constants, and where long results are: one array each."""
        bases = [base for c in program.calls if not fixed[c.block] for base in c.bases]
        numbers = [x for c in program.calls for x in c.table]
        tables = [f"static const int {name}_at[] = {{{_comma_list(map(str, bases))}}};"] if bases else []
        for y in program.outputs:
            if len(y.slots) > _LISTED:
                tables.append(f"static const int {name}_from_{y.name}[] = {{{_comma_list(map(str, y.slots))}}};")
        if len(program.preset) > _LISTED:
            slots, values = zip(*program.preset, strict=True)
            tables.append(f"static const int {name}_preset_at[] = {{{_comma_list(map(str, slots))}}};")
            tables.append(f"static const real {name}_preset[] = {{{_comma_list(map(self.number, values))}}};")
        if numbers:
            tables.append(f"static const real {name}_table[] = {{{_comma_list(map(self.number, numbers))}}};")
        return tables

    def _presets(self, name: str, program: Program) -> list[str]:
        """Slots that hold constants from the start."""
        if len(program.preset) > _LISTED:
            n = len(program.preset)
            return [f"    for (int k = 0; k < {n}; k++) w[{name}_preset_at[k]] = {name}_preset[k];"]
        return [f"    w[{slot}] = {self.number(value)};" for slot, value in program.preset]

    def _calls(self, name: str, program: Program, fixed: Sequence[bool]) -> list[str]:
        widths = [0 if fixed[c.block] else len(c.bases) for c in program.calls]
        firsts = zip(accumulate(widths, initial=0), accumulate((len(c.table) for c in program.calls), initial=0),
                     strict=True)  # fmt: skip
        lines = []
        for k, (call, (base, number)) in enumerate(zip(program.calls, firsts, strict=False)):
            for r in program.repeats:
                if r.first == k:
                    lines.append(f"    for (int passes = 0; passes < {r.most} && w[{r.going}] > 0; passes++) {{")
            given = ["w"]
            given += [] if fixed[call.block] else [f"{name}_at + {base}"]
            given += [f"{name}_table + {number}"] if program.blocks[call.block].table else []
            lines.append(f"    {name}_block{call.block}({', '.join(given)});")
            lines += ["    }"] * sum(r.end == k + 1 for r in program.repeats)
        return lines


def parameter_names(program: Program) -> tuple[list[str], list[str]]:
    """Names of inputs and outputs as C parameters: an output that is called as an input is `..._out`."""
    inputs, outputs = array_names(program)
    return [_safe(name) for name in inputs], [_safe(name) for name in outputs]


_TAKEN = frozenset([
    "w", "at", "table", "real", "int", "float", "double", "const", "static", "void", "for", "if", "else", "do",
    "while", "return", "case", "default", "switch", "break", "continue", "goto", "sizeof", "struct", "union",
    "enum", "typedef", "volatile", "register", "restrict", "inline", "auto", "char", "short", "long", "signed",
    "unsigned", "extern",
])  # fmt: skip


def _safe(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _comma_list(words: Any, width: int = 110) -> str:
    """Words with commas, in lines."""
    lines, now = [], ""
    for word in words:
        if len(now) + len(word) > width:
            lines.append(now)
            now = ""
        now += f"{word}, "
    return "\n    ".join(["", *lines, now]).rstrip(", ")
