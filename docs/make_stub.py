"""Writes src/fourbar/system/robot_methods.pyi, the types of a robot's methods:  python docs/make_stub.py

Installing fourbar does so too (`wheel_hook.py`). From the registry and the docstrings: every method is an object that
is called with its arrays and options, and has derivatives; type checkers see a missing or misspelt argument, and
editors show the text.
"""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from collections.abc import Iterator
from inspect import Parameter
from pathlib import Path
from typing import NamedTuple

from registered import actuated_methods, constrained_methods, methods, options_of

from fourbar.functions.arguments import F_EXT, entries
from fourbar.functions.registry import Method

TARGET = Path(__file__).parents[1] / "src" / "fourbar" / "system" / "robot_methods.pyi"
_WIDTH = 120
_HEAD = '''\
"""The types of a robot's methods. Made from the registry by `python docs/make_stub.py`: do not edit."""
# ruff: noqa: E501

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Arrays = ArrayLike | tuple[ArrayLike | None, ...] | Mapping[str, ArrayLike | None]
Names = str | Sequence[str]
Wrenches = ArrayLike | Mapping[str, ArrayLike]
Result = TypeVar("Result", covariant=True)

class Function(Protocol):
    """What every function of a robot has besides the call and its derivatives."""

    __name__: str
    def program(self, *optional: str) -> Any:
        """The program that is compiled, with the named optional arguments."""
    @property
    def signature(self) -> str:
        """The core shapes of arguments and results, as of a generalised ufunc."""

class Derivative(Protocol):
    """A derivative is a function like any other, with derivatives of its own."""

    @property
    def jvp(self) -> Any: ...
    @property
    def vjp(self) -> Any: ...
    @property
    def jacobian(self) -> Any: ...

class Jvp(Derivative, Protocol[Result]):
    """Rates of the results when the arguments move with tangents."""

    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        out: Any = None,
        threads: int | None = None,
    ) -> Result:
        """Rates of the results at `args` when these move with `tangents`, each a tuple in the order of the arguments or
        a mapping by name; the tangent of a configuration has nv entries. `parameters`: rates of numbers of a robot."""

class Vjp(Derivative, Protocol[Result]):
    """Gradients of a weighted sum of the results."""

    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        out: Any = None,
        threads: int | None = None,
    ) -> Result:
        """Gradients of Σ cotangent · result by each argument; by a configuration it has nv entries. `parameters`: names
        of numbers of the robot, by which gradients are wanted too."""

class Parts(Protocol):
    """Derivatives by each argument that was given, by name and by number."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __getitem__(self, number: int, /) -> Array: ...
    @property
    def parameters(self) -> Mapping[str, Array]:
        """Derivatives by the numbers of the robot that were asked for, by name."""
'''


def tables() -> dict[str, dict[str, Method]]:
    """The functions of each class of robots, by the prefix that the names of their types get."""
    return {"": methods(), "Constrained": constrained_methods(), "Actuated": actuated_methods()}


class Typed(NamedTuple):
    """A parameter as the stub declares it."""

    name: str
    type: str
    default: str = ""  # none if it is needed

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default else "")


def _one(kind: str) -> str:
    if kind.startswith("{"):
        return f"Literal[{kind[1:-1]}]".replace("'", '"')
    known = {"str": "str", "bool": "bool", "int": "int", "float": "float", "sequence of str": "Sequence[str]"}
    return known.get(kind) or "ArrayLike"


def taken_type(name: str) -> str:
    """The type of an array argument; wrenches may be given by the names of bodies."""
    return "Wrenches" if name == F_EXT.name else "ArrayLike"


def python_type(text: str) -> str:
    """A type as docstrings write it, in Python: 'str or sequence of str, default ()' is str | Sequence[str]."""
    plain = re.sub(r", (?:shape \(.*?\)|optional|default .*)", "", text)
    return " | ".join(dict.fromkeys(map(_one, re.split(r" or (?![^{]*\})", plain))))


def result_type(method: Method) -> str:
    """What a call returns: a number for one sample, or an array for a batch, if it has no core axes; `Any` is both."""
    kinds = ["Any" if r.type.startswith("float") else "Array" for r in entries(method.doc, "Returns")]
    if len(kinds) != len(method.results):
        raise ValueError(f"the section Returns has {len(kinds)} entries for the results {method.results}")
    return kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"


def class_name(name: str) -> str:
    """forward_dynamics as ForwardDynamics."""
    return "".join(part.capitalize() for part in name.split("_"))


def _arrays(method: Method) -> list[Typed]:
    return [Typed(name, taken_type(name), "" if x is None else str(x)) for name, x in method.defaults.items()]


def _optional(method: Method) -> list[Typed]:
    return [Typed(name, f"{taken_type(name)} | None", "None") for name in method.optional]


def _options(method: Method) -> list[Typed]:
    types = {p.name: p.type for p in entries(method.doc, "Parameters")}
    return [
        Typed(p.name, python_type(types[p.name]) + (" | None" if p.default is None else ""), _default(p))
        for p in options_of(method)
    ]


def _default(p: Parameter) -> str:
    return "" if p.default is p.empty else repr(p.default).replace("'", '"')


def _extra(method: Method) -> list[Typed]:
    several = len(method.results) > 1
    return [
        Typed("out", "tuple[Array, ...] | None" if several else "Array | None", "None"),
        Typed("threads", "int | None", "None"),
    ]


def _def(name: str, plain: list[Typed], named: list[Typed], returns: str, doc: str, indent: str = "    ") -> str:
    """A method of a class; `named` go by keyword only."""
    listed = ["self", *map(str, plain), *(["*", *map(str, named)] if named else [])]
    line = f"{indent}def {name}({', '.join(listed)}) -> {returns}:"
    if len(line) > _WIDTH - (0 if doc else 4):
        line = f"{indent}def {name}(\n" + "".join(f"{indent}    {x},\n" for x in listed) + f"{indent}) -> {returns}:"
    return f"{line}\n{_text(doc, indent + '    ')}" if doc else f"{line} ...\n"


def _text(doc: str, indent: str) -> str:
    doc = inspect.cleandoc(doc)
    lines = f'"""{doc}\n"""' if "\n" in doc else f'"""{doc}"""'
    return textwrap.indent(lines, indent) + "\n"


def _property(name: str, type: str, doc: str) -> str:
    return f"    @property\n{_def(name, [], [], type, doc)}"


def by_arguments(method: Method) -> str:
    """The class of derivatives by the arguments of a method."""
    return "By" + "".join(class_name(name) for name in (*method.arguments, *method.optional))


def parts() -> Iterator[str]:
    """A class for each choice of arguments."""
    every = [m for table in tables().values() for m in table.values()]
    found = {by_arguments(m): (*m.arguments, *m.optional) for m in every}
    for name, arguments in sorted(found.items()):
        fields = "".join(f"    @property\n    def {x}(self) -> Array: ...\n" for x in arguments)
        yield f"class {name}(Parts, Protocol):\n{fields}"


def _jacobian_type(name: str, method: Method) -> str:
    return by_arguments(method) if len(method.results) == 1 else f"BlocksOf{class_name(name)}"


def blocks(name: str, method: Method) -> Iterator[str]:
    """The Jacobian of a method with several results: by result, then by argument."""
    if len(method.results) > 1:
        fields = "".join(f"    @property\n    def {x}(self) -> {by_arguments(method)}: ...\n" for x in method.results)
        yield f"class BlocksOf{class_name(name)}(Protocol):\n{fields}"


def derivatives(name: str, method: Method) -> Iterator[str]:
    """The classes of the derivatives of a method whose calls differ from those of others."""
    options, own, extra = _options(method), class_name(name), _extra(method)
    any_out = [Typed("out", "Any", "None"), extra[1]]
    asked = Typed("parameters", "Names | None", "None")
    for kind, chosen in (("Jacobian", options), ("SpecialisedJacobian", [])):
        if kind == "Jacobian" or options:
            positional = [*_arrays(method), *_optional(method)]
            text = "All first derivatives, by argument; columns for a configuration are along its nv velocities."
            call = _def("__call__", positional, [*chosen, asked, *any_out], _jacobian_type(name, method), text)
            yield f"class {kind}Of{own}(Derivative, Protocol):\n{call}"
    if options:
        rates = Typed("parameters", "Mapping[str, ArrayLike | None] | None", "None")
        along = [Typed("args", "Arrays"), Typed("tangents", "Arrays", "()"), rates]
        back = [Typed("args", "Arrays"), Typed("cotangent", "Arrays"), asked]
        for kind, given, result, text in (
            ("Jvp", along, result_type(method), "Rates of the results when the arguments move with tangents."),
            ("Vjp", back, by_arguments(method), "Gradients of a weighted sum of the results."),
        ):
            call = _def("__call__", given, [*options, *any_out], result, text)
            yield f"class {kind}Of{own}(Derivative, Protocol):\n{call}"


def _attributes(jvp: str, vjp: str, jacobian: str) -> str:
    return "".join(
        (
            _property("jvp", jvp, "Rates of the results along tangents of the arguments."),
            _property("vjp", vjp, "Gradients of a weighted sum of the results."),
            _property("jacobian", jacobian, "All first derivatives."),
        )
    )


def function(name: str, method: Method) -> Iterator[str]:
    """The class of a method, and that of what `specialise` returns if it has options."""
    options, own, result = _options(method), class_name(name), result_type(method)
    plain = f"Jvp[{result}]", f"Vjp[{by_arguments(method)}]"
    arrays, optional, extra = _arrays(method), _optional(method), _extra(method)
    if not options:
        call = _def("__call__", [*arrays, *optional], extra, result, method.doc)
        yield f"class {own}(Function, Protocol):\n{call}{_attributes(*plain, f'JacobianOf{own}')}"
        return
    summary = inspect.cleandoc(method.doc).partition("\n")[0]
    call = _def("__call__", [*arrays, *optional], extra, result, summary)
    yield f"class Specialised{own}(Function, Protocol):\n{call}{_attributes(*plain, f'SpecialisedJacobianOf{own}')}"
    call = _def("__call__", [*arrays, *options], [*optional, *extra], result, method.doc)
    specialise = _def(
        "specialise", options, [], f"Specialised{own}",
        "The function for one choice of options: it takes arrays only, and is called faster.",
    )  # fmt: skip
    listed = _property("options", "tuple[str, ...]", "The names of the options.")
    derived = _attributes(f"JvpOf{own}", f"VjpOf{own}", f"JacobianOf{own}")
    yield f"class {own}(Protocol):\n    __name__: str\n{call}{specialise}{listed}{derived}"


def robot() -> str:
    """The class that declares all methods of a robot."""
    head = 'class RobotMethods:\n    """The algorithms, as attributes of a robot."""\n\n'
    return head + "".join(_property(name, class_name(name), m.doc) for name, m in methods().items())


def make() -> str:
    """The whole file."""
    classes = [*parts()]
    for prefix, table in tables().items():
        for name, method in table.items():
            full = f"{prefix}_{name}"
            classes += [*blocks(full, method), *derivatives(full, method), *function(full, method)]
    return "\n".join([_HEAD, *classes, robot()])


def write() -> None:
    """Write the file, unless it is as it should be."""
    text = make()
    if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        written = TARGET.with_suffix(f".{os.getpid()}")  # others may be reading it
        written.write_text(text, encoding="utf-8")
        os.replace(written, TARGET)


if __name__ == "__main__":
    write()
