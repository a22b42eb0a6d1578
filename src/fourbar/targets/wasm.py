"""Functions of a robot as a WebAssembly module, for browsers and for anything else that runs one.

A function becomes `name(q, ..., result)` of addresses in the module's memory: one state, arrays of doubles row by row.
A JavaScript module that has it inside hides the memory: its functions take and return arrays.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..hints import hinted
from .exported_functions import Exported, explained, identifier, read, vectors
from .wasm_code import Module

_TOLERANCE = 1e-12


@hinted
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
    code = Module(exported).written()
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
    first, _ = explained(f)
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
