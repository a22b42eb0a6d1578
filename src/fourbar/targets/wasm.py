"""Functions of a robot as a WebAssembly module, for browsers and for anything else that runs one.

A function becomes `name(q, ..., result)` of addresses in the module's memory: one state, arrays of doubles row by row.
A JavaScript module that has it inside hides the memory: its functions take and return arrays.

Programs as a WebAssembly module: a function for each block and each program, memory for slots, nothing allocated.

Programs are straight lines of arithmetic, which WebAssembly has instructions for, so they are written down as such: no
compiler or linker is needed. sin, cos and atan2 are imported from the host.
"""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..expr import Block, Program
from ..expr.program import MEMORY
from ..hints import with_keyword_hints
from .exported_functions import Exported, documentation, identifier, needed_instructions, read, vectors

_I32, _F64, _FUNCTION, _NOTHING = 0x7F, 0x7C, 0x60, 0x40
_GET, _SET, _CALL, _SELECT, _END, _BRANCH, _BRANCH_IF, _BLOCK, _LOOP = 0x20, 0x21, 0x10, 0x1B, 0x0B, 0x0C, 0x0D, 2, 3
_LOAD_I32, _LOAD, _STORE, _NUMBER_I32, _NUMBER = 0x28, 0x2B, 0x39, 0x41, 0x44
_ADD_I32, _AT_LEAST_I32, _NOT_I32, _ABOVE, _CONVERTED = 0x6A, 0x4E, 0x45, 0x64, 0xB7
_COPY_MEMORY = b"\xfc\x0a\x00\x00"
_WHOLE, _SHIFT = b"\xfc\x03", 0x74  # a number without its fraction: 0 of negative ones and NaN
_PLAIN = {
    "add": 0xA0, "sub": 0xA1, "mul": 0xA2, "div": 0xA3, "min": 0xA4, "max": 0xA5, "neg": 0x9A, "sqrt": 0x9F,
    "lt": 0x63, "le": 0x65, "floor": 0x9C,
}  # fmt: skip
_IMPORTED = {"sin": 1, "cos": 1, "atan2": 2}  # with how many arguments
_CONDITIONS = ("lt", "le")
_PAGE, _FIRST = 65536, 16  # bytes; nothing lies at address 0, the value of a forgotten pointer
_DEEPEST = 40  # operations that are nested before a value is kept


def leb128(n: int) -> bytes:
    """A number in as few bytes as it needs (LEB128)."""
    encoded = bytearray()
    while True:
        n, low = n >> 7, n & 0x7F
        encoded.append(low | (0x80 if n else 0))
        if not n:
            return bytes(encoded)


def signed_leb128(n: int) -> bytes:
    """A number with a sign in as few bytes as it needs."""
    encoded = bytearray()
    while True:
        n, low = n >> 7, n & 0x7F
        done = (n == 0 and not low & 0x40) or (n == -1 and bool(low & 0x40))
        encoded.append(low | (0 if done else 0x80))
        if done:
            return bytes(encoded)


def _vector(parts: Sequence[bytes]) -> bytes:
    return leb128(len(parts)) + b"".join(parts)


def _text(name: str) -> bytes:
    return leb128(len(name.encode())) + name.encode()


def _with_address(op: int, offset: int) -> bytes:
    """A load or store at the address on the stack, plus an offset."""
    return bytes([op, 2 if op == _LOAD_I32 else 3]) + leb128(offset)


def _address(at: int) -> bytes:
    return bytes([_NUMBER_I32]) + signed_leb128(at)


def _number(x: float) -> bytes:
    return bytes([_NUMBER]) + struct.pack("<d", x)


class _FunctionCode(NamedTuple):
    """A function: how many addresses it takes, its other variables (addresses and conditions, numbers), its body."""

    taken: int
    integers: int
    numbers: int
    body: bytes

    def to_bytes(self) -> bytes:
        """The function as bytes of the module."""
        groups = [leb128(n) + bytes([kind]) for n, kind in ((self.integers, _I32), (self.numbers, _F64)) if n]
        whole = _vector(groups) + self.body + bytes([_END])
        return leb128(len(whole)) + whole


class _BlockCode:
    """A block as a function. `fixed`: all its ports are at slot 0; else it is given where its ports and table are."""

    def __init__(
        self, block: Block, fixed: bool, workspace: int, imported: dict[str, int], lookups: Mapping[bytes, int]
    ) -> None:
        self._block, self._fixed, self._workspace, self._imported = block, fixed, workspace, imported
        self._lookups = lookups  # the addresses of tables
        self._ports = 0 if fixed else block.ports
        self._needed = needed_instructions(block)
        self._kept = self._kept_values()
        self._place = self._places()

    def _kept_values(self) -> list[int]:
        """The instructions whose values are kept in variables; others are computed where they are used.

        Loaded values are kept, since stores may come between, and so are stored ones.
        """
        code, uses, depth = self._block.code, dict.fromkeys(self._needed, 0), dict.fromkeys(self._needed, 0)
        for k in self._needed:
            op, *operands = code[k]
            for x in operands if op not in MEMORY else ():
                if x.__class__ is int:
                    uses[x] += 1
        stored = {s.value for s in self._block.stores if s.value.__class__ is int}
        variables = []
        for k in sorted(self._needed):
            op, *operands = code[k]
            if op not in MEMORY:
                depth[k] = 1 + max((depth[x] for x in operands if x.__class__ is int), default=0)
            if op in MEMORY or k in stored or uses[k] > 1 or depth[k] > _DEEPEST:
                variables.append(k)
                depth[k] = 0
        return variables

    def _is_condition(self, k: int) -> bool:
        return self._block.code[k][0] in _CONDITIONS

    @property
    def _addresses(self) -> int:
        """The addresses that it is given: of its ports' addresses, and of its table."""
        return 0 if self._fixed else 2

    def _places(self) -> dict[int, int]:
        """The variables of kept values: first come arguments, then addresses and conditions, then numbers."""
        conditions = [k for k in self._kept if self._is_condition(k)]
        numbers = [k for k in self._kept if not self._is_condition(k)]
        first = self._addresses + self._ports
        return {k: first + i for i, k in enumerate([*conditions, *numbers])}

    def _base(self, port: int) -> bytes:
        """The address of a port."""
        return _address(0) if self._fixed else bytes([_GET]) + leb128(self._addresses + port)

    def _offset(self, offset: int) -> int:
        return 8 * offset + (self._workspace if self._fixed else 0)

    def _operand(self, x: Any) -> bytes:
        """A number on the stack."""
        if x.__class__ is not int:
            return _number(x)
        return self._value(x) + (bytes([_CONVERTED]) if self._is_condition(x) else b"")

    def _condition(self, x: Any) -> bytes:
        """A condition on the stack."""
        if x.__class__ is int and self._is_condition(x):
            return self._value(x)
        return self._operand(x) + _number(0.0) + b"\x62"  # not equal

    def _value(self, k: int) -> bytes:
        return bytes([_GET]) + leb128(self._place[k]) if k in self._place else self._compute(k)

    def _compute(self, k: int) -> bytes:
        op, *operands = self._block.code[k]
        if op == "load":
            port, offset = operands
            return self._base(port) + _with_address(_LOAD, self._offset(offset))
        if op == "table":
            return bytes([_GET, 1]) + _with_address(_LOAD, 8 * operands[0])
        if op == "select":
            condition, yes, no = operands
            return self._operand(yes) + self._operand(no) + self._condition(condition) + bytes([_SELECT])
        if op == "lookup":
            table, index = operands
            nearest = self._operand(index) + _number(len(table) // 8 - 1.0) + bytes([_PLAIN["min"]]) + _WHOLE
            return nearest + _address(3) + bytes([_SHIFT]) + _with_address(_LOAD, self._lookups[table])
        given = b"".join(map(self._operand, operands))
        if op in self._imported:
            return given + bytes([_CALL]) + leb128(self._imported[op])
        return given + bytes([_PLAIN[op]])

    def function(self) -> _FunctionCode:
        """The function."""
        parts = []
        for port in range(self._ports):
            parts.append(bytes([_GET, 0]) + _with_address(_LOAD_I32, 4 * port) + bytes([_SET]) + leb128(2 + port))
        parts += [self._compute(k) + bytes([_SET]) + leb128(self._place[k]) for k in self._kept]
        for s in self._block.stores:
            parts.append(self._base(s.port) + self._operand(s.value) + _with_address(_STORE, self._offset(s.offset)))
        conditions = sum(map(self._is_condition, self._kept))
        return _FunctionCode(self._addresses, self._ports + conditions, len(self._kept) - conditions, b"".join(parts))


class Module:
    """Functions as a module. Each takes the addresses of its arguments, then of its results: arrays of doubles."""

    def __init__(self, functions: Sequence[Exported]) -> None:
        self._exports = functions
        programs = [f.program for f in functions]
        used = {op for p in programs for b in p.blocks for k in needed_instructions(b) for op in [b.code[k][0]]}
        self.imports = [name for name in _IMPORTED if name in used]
        self._imported = {name: i for i, name in enumerate(self.imports)}
        tables = dict.fromkeys(table for p in programs for table in p.lookups)
        self._data = bytearray(b"".join(np.frombuffer(table, float).astype("<f8").tobytes() for table in tables))
        self._workspace = _FIRST + sum(map(self._data_size, programs)) + len(self._data)
        slots = max((p.slots for p in programs), default=0)
        self.heap = self._workspace + 8 * max(1, slots)  # where memory is free
        self._codes: list[_FunctionCode] = []
        places = accumulate(map(len, tables), initial=_FIRST)
        self._lookups = dict(zip(tables, places, strict=False))
        self._entries = {f.name: self._program(f.program) for f in functions}
        if _FIRST + len(self._data) != self._workspace:
            raise AssertionError("constants take another size than was counted")

    @staticmethod
    def _data_size(program: Program) -> int:
        """Bytes of the constants of a program: where ports are (padded to eight), and tables."""
        bases = sum(len(c.bases) for c in program.calls)
        return 8 * ((bases + 1) // 2) + 8 * sum(len(c.table) for c in program.calls)

    def _program(self, program: Program) -> int:
        """Write a program; the number of its function."""
        fixed = [all(c.bases == (0,) for c in program.calls if c.block == i) and b.ports == 1 and not b.table
                 for i, b in enumerate(program.blocks)]  # fmt: skip
        first = len(self._imported) + len(self._codes)
        for block, is_fixed in zip(program.blocks, fixed, strict=True):
            self._codes.append(_BlockCode(block, is_fixed, self._workspace, self._imported, self._lookups).function())
        start = _FIRST + len(self._data)
        bases = [self._workspace + 8 * base for c in program.calls for base in c.bases]
        bases += [0] * (len(bases) % 2)
        tables = [x for c in program.calls for x in c.table]
        self._data += struct.pack(f"<{len(bases)}i", *bases) + struct.pack(f"<{len(tables)}d", *tables)
        body = self._read(program) + self._calls(program, fixed, first, start, start + 4 * len(bases))
        taken = len(program.inputs) + len(program.outputs)
        self._codes.append(_FunctionCode(taken, len(program.repeats), 0, body + self._write(program)))
        return len(self._imported) + len(self._codes) - 1

    def _slot(self, slot: int) -> int:
        return self._workspace + 8 * slot

    def _read(self, program: Program) -> bytes:
        """Arguments and constants into their slots."""
        parts = []
        for i, x in enumerate(program.inputs):
            given = bytes([_GET]) + leb128(i)
            parts.append(_address(self._slot(x.first)) + given + _address(8 * x.size) + _COPY_MEMORY)
        for slot, value in program.preset:
            parts.append(_address(0) + _number(value) + _with_address(_STORE, self._slot(slot)))
        return b"".join(parts)

    def _write(self, program: Program) -> bytes:
        """Results from their slots."""
        parts = []
        for i, y in enumerate(program.outputs, len(program.inputs)):
            for k, slot in enumerate(y.slots):
                loaded = _address(0) + _with_address(_LOAD, self._slot(slot))
                parts.append(bytes([_GET]) + leb128(i) + loaded + _with_address(_STORE, 8 * k))
        return b"".join(parts)

    def _calls(self, program: Program, fixed: Sequence[bool], first: int, bases: int, tables: int) -> bytes:
        """The blocks one after the other, in loops where they repeat."""
        counter = len(program.inputs) + len(program.outputs)
        ports = accumulate((4 * len(c.bases) for c in program.calls), initial=bases)
        numbers = accumulate((8 * len(c.table) for c in program.calls), initial=tables)
        parts = []
        for k, (call, base, table) in enumerate(zip(program.calls, ports, numbers, strict=False)):
            for number, r in enumerate(program.repeats):
                if r.first == k:
                    parts.append(self._loop_begins(counter + number, r.most, r.going))
            parts.append(b"" if fixed[call.block] else _address(base) + _address(table))
            parts.append(bytes([_CALL]) + leb128(first + call.block))
            for number, r in reversed(list(enumerate(program.repeats))):
                if r.end == k + 1:
                    parts.append(self._loop_ends(counter + number))
        return b"".join(parts)

    def _loop_begins(self, counter: int, most: int, going: int) -> bytes:
        """Passes from none up to the most, as long as a slot is above zero."""
        own = leb128(counter)
        enough = bytes([_GET]) + own + _address(most) + bytes([_AT_LEAST_I32, _BRANCH_IF, 1])
        above = _address(0) + _with_address(_LOAD, self._slot(going)) + _number(0.0) + bytes([_ABOVE])
        start = _address(0) + bytes([_SET]) + own
        return start + bytes([_BLOCK, _NOTHING, _LOOP, _NOTHING]) + enough + above + bytes([_NOT_I32, _BRANCH_IF, 1])

    @staticmethod
    def _loop_ends(counter: int) -> bytes:
        own = leb128(counter)
        more = bytes([_GET]) + own + _address(1) + bytes([_ADD_I32, _SET]) + own
        return more + bytes([_BRANCH, 0, _END, _END])

    def to_bytes(self) -> bytes:
        """The module: `memory`, `heap` (the first free address) and the functions are exported."""
        kinds = sorted({code.taken for code in self._codes})
        types = [bytes([_FUNCTION]) + _vector([bytes([_F64])] * _IMPORTED[x]) + b"\x01\x7c" for x in self.imports]
        types += [bytes([_FUNCTION]) + _vector([bytes([_I32])] * n) + b"\x00" for n in kinds]
        kind = {n: leb128(len(self.imports) + i) for i, n in enumerate(kinds)}
        imports = [_text("math") + _text(x) + b"\x00" + leb128(i) for i, x in enumerate(self.imports)]
        exports = [_text("memory") + b"\x02\x00", _text("heap") + b"\x03\x00"]
        exports += [_text(name) + b"\x00" + leb128(number) for name, number in self._entries.items()]
        pages = (self.heap + self._arguments() + _PAGE - 1) // _PAGE
        data = [b"\x00" + _address(_FIRST) + bytes([_END]) + leb128(len(self._data)) + bytes(self._data)]
        sections = {
            1: _vector(types),
            2: _vector(imports),
            3: _vector([kind[code.taken] for code in self._codes]),
            5: b"\x01\x00" + leb128(pages),
            6: b"\x01" + bytes([_I32, 0]) + _address(self.heap) + bytes([_END]),
            7: _vector(exports),
            10: _vector([code.to_bytes() for code in self._codes]),
            11: _vector(data),
        }
        whole = b"".join(bytes([number]) + leb128(len(part)) + part for number, part in sections.items())
        return b"\x00asm\x01\x00\x00\x00" + whole

    def _arguments(self) -> int:
        """Bytes of the arguments and results of the function that has most."""
        sizes = [sum(x.size for x in f.program.inputs) + sum(len(y.slots) for y in f.program.outputs)
                 for f in self._exports]  # fmt: skip
        return 8 * max(sizes, default=0)


_TOLERANCE = 1e-12


@with_keyword_hints
def export_wasm(folder: str | Path, functions: Sequence[Any], *, name: str = "robot") -> list[Path]:
    """Write functions of robots as a WebAssembly module, and as a JavaScript module around it.

    Parameters
    ----------
    folder : path
        Where the files go; it is made if it does not exist.
    functions : sequence of functions
        Such as ``robot.inverse_dynamics`` or ``robot.pose.specialise(frame="hand")``; derivatives too. Optional
        arguments (``f_ext``) are left out, so they are zero, but for the tangents of a ``jvp``.
    name : str
        Of the files.

    Returns
    -------
    list of Path
        The files: the module, a JavaScript module that has it inside, a test with vectors (``node robot_test.js``), and
        ``package.json``, by which Node knows that these are modules.

    Notes
    -----
    In JavaScript, ``import { load } from "./robot.js"; const robot = await load();`` has the functions by name:
    ``robot.inverse_dynamics(q, v, a)`` takes arrays (flat or nested) and returns a ``Float64Array``, row by row; a
    number where the result is one; an object of these where there are several. All is computed in double precision. A
    result that does not exist is NaN. `sin`, `cos` and `atan2` are those of JavaScript.

    Other hosts call the module itself: it imports `sin`, `cos` and `atan2` from `math` as far as it needs them, exports
    `memory`, the address `heap` from which on memory is free, and the functions, which take the addresses of their
    arguments and then of their results.

    Examples
    --------
    >>> import fourbar as fb, tempfile
    >>> robot = fb.robots.double_pendulum()
    >>> files = fb.export_wasm(tempfile.mkdtemp(), [robot.inverse_dynamics], name="pendulum")
    >>> [file.name for file in files]
    ['pendulum.wasm', 'pendulum.js', 'pendulum_test.js', 'package.json']
    """
    prefix = identifier(name)
    exported = read("export_wasm", functions, "")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    code = Module(exported).to_bytes()
    package = {"name": prefix.lower(), "version": "1.0.0", "type": "module", "main": f"./{prefix}.js"}
    files = {
        f"{prefix}.wasm": code,
        f"{prefix}.js": loader(exported, code).encode(),
        f"{prefix}_test.js": _test(prefix, exported).encode(),
        "package.json": (json.dumps(package, indent=2) + "\n").encode(),
    }
    for file, content in files.items():
        (target / file).write_bytes(content)
    return [target / file for file in files]


def loader(functions: Sequence[Exported], code: bytes) -> str:
    """The JavaScript module around a WebAssembly module."""
    listed = ",\n".join(f"  {json.dumps(f.name)}: {json.dumps(_shapes(f))}" for f in functions)
    return "\n".join(
        [
            "// Written by fourbar. SI units, radians. Matrices are stored row by row. Quaternions are (w, x, y, z).",
            "// A free joint has q = (position, quaternion) and v = (angular, linear) in the frame of its body.",
            "// Spatial vectors are (angular, linear).",
            "",
            *(_comment(f) for f in functions),
            f"export const functions = {{\n{listed},\n}};",
            _LOADER,
            f'const code = "{b64encode(code).decode()}";',
            "",
        ]
    )


def _shapes(f: Exported) -> dict[str, list[Any]]:
    return {
        "inputs": [{"name": x.name, "shape": list(x.shape)} for x in f.program.inputs],
        "outputs": [{"name": y.name, "shape": list(y.shape)} for y in f.program.outputs],
    }


def _comment(f: Exported) -> str:
    """A comment on what a function takes and returns."""
    taken = ", ".join(f"{x.name} {list(x.shape)}" for x in f.program.inputs)
    found = ", ".join(f"{y.name} {list(y.shape)}" for y in f.program.outputs)
    first, _ = documentation(f)
    return f"// {f.name}({taken}) -> {found}" + (f": {first}" if first else "")


_LOADER = """
/** The functions by name. `source`: the module as bytes or compiled, if not the one that is in this file. */
export async function load(source) {
  const bytes = source ?? Uint8Array.from(atob(code), (character) => character.charCodeAt(0));
  const module = bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(bytes);
  const { exports } = await WebAssembly.instantiate(module, { math: Math });
  return Object.fromEntries(Object.entries(functions).map(([name, own]) => [name, callable(exports, name, own)]));
}

const size = (shape) => shape.reduce((product, n) => product * n, 1);

function callable(exports, name, { inputs, outputs }) {
  const memory = new Float64Array(exports.memory.buffer); // which never grows
  let next = exports.heap.value;
  const places = [...inputs, ...outputs].map(({ shape }) => {
    const place = next;
    next += 8 * size(shape);
    return place;
  });
  const results = outputs.map(({ shape }, k) => [places[inputs.length + k] / 8, size(shape), shape.length]);
  const run = exports[name];
  return (...given) => {
    if (given.length !== inputs.length) {
      const wanted = inputs.map((x) => x.name).join(", ");
      throw new TypeError(`${name}(${wanted}) takes ${inputs.length} arrays, ${given.length} were given`);
    }
    given.forEach((x, k) => memory.set(numbers(name, inputs[k], x), places[k] / 8));
    run(...places);
    const found = results.map(([at, n, axes]) => (axes ? memory.slice(at, at + n) : memory[at]));
    return found.length === 1 ? found[0] : Object.fromEntries(found.map((y, k) => [outputs[k].name, y]));
  };
}

function numbers(name, input, x) {
  const flat = ArrayBuffer.isView(x) ? x : [x].flat(Infinity);
  const wrong = ArrayBuffer.isView(x) ? undefined : flat.find((entry) => typeof entry !== "number");
  if (flat.length !== size(input.shape) || wrong !== undefined) {
    const what = wrong === undefined ? `${flat.length}` : `${String(wrong)} among them`;
    throw new TypeError(`${name}: ${input.name} must be ${size(input.shape)} numbers [${input.shape}], got ${what}`);
  }
  return flat;
}
"""


def _test(prefix: str, functions: Sequence[Exported]) -> str:
    """A program that compares results with those of fourbar, and says by how much they differ."""
    cases = [
        f"  [{json.dumps(f.name)}, {_entries(given)}, {_entries(found)}],"
        for f in functions
        for given, found in vectors(f)
    ]
    return "\n".join(
        [
            f'import {{ functions, load }} from "./{prefix}.js";',
            "",
            "const cases = [",
            *cases,
            "];",
            "const robot = await load();",
            "let worst = 0;",
            "for (const [name, given, expected] of cases) {",
            "  const { outputs } = functions[name];",
            "  const found = robot[name](...given);",
            "  const results = outputs.length === 1 ? [found] : outputs.map((y) => found[y.name]);",
            "  results.forEach((result, i) => {",
            "    const entries = outputs[i].shape.length ? result : [result];",
            "    const size = expected[i].reduce((most, x) => Math.max(most, Math.abs(x)), 1);",
            "    expected[i].forEach((x, k) => {",
            "      const off = Math.abs(entries[k] - x) / size;",
            "      if (!(off <= worst)) worst = Number.isNaN(off) ? Infinity : off; // NaN stays wrong",
            "    });",
            "  });",
            "}",
            "console.log(`largest difference ${worst}`);",
            f"if (!(worst <= {_TOLERANCE!r})) throw new Error(`differs by ${{worst}}`);",
            "",
        ]
    )


def _entries(arrays: Sequence[np.ndarray]) -> str:
    """Arrays as JavaScript has them, flat; JSON has no NaN, but JavaScript does."""
    return json.dumps([x.ravel().tolist() for x in arrays])
