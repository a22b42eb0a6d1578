"""Writes docs/api.md from the docstrings:  python docs/make_api.py"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import fourbar as fb
from fourbar import baselines, constraints, convert, errors, lagrange, loops
from fourbar.bridges import drake, mujoco, pinocchio
from fourbar.functions.attributes import OptionedMethod
from fourbar.functions.registry import METHODS, Method
from fourbar.identification import BaseParameters, Excitation, Fourier
from fourbar.joints import JOINT_TYPES, Joint
from fourbar.system.constrained.actuated import Actuated
from fourbar.system.constrained.robot import Constrained
from fourbar.system.equations import Equations
from fourbar.system.system import Names
from fourbar.tree.assembly import ClusterInfo

TARGET = Path(__file__).with_name("api.md")
_FUNCTIONS = ("sin", "cos", "tan", "sqrt", "asin", "acos", "atan2", "minimum", "maximum", "select")
_INNER = ("model", "mechanism")  # of a System and a Builder: for those who extend the library
_HEAD = """\
# API reference

Made from the docstrings by `python docs/make_api.py`. In shapes, `...` stands for leading axes, which broadcast.
"""
_ALGORITHMS = """\
Methods of a robot, each compiled at its first call. `out` is an array for the result (a tuple of them where there are
several), `threads` the most threads to use. A method with options, such as `frame`, also has `specialise`.
"""


def _doc(thing: Any) -> str:
    """A docstring; sessions (>>> lines) become code."""
    session = re.compile(r"(?:^>>> .*\n?)+", re.MULTILINE)
    text = inspect.cleandoc(thing.__doc__ or "")
    return session.sub(lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", text).rstrip()


def _summary(thing: Any) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join(_doc(thing).partition("\n\n")[0].split())


def _arguments(of: Callable[..., Any]) -> list[inspect.Parameter]:
    """Parameters without annotations, without `self` and what is private."""
    parameters = inspect.signature(of).parameters.values()
    return [p.replace(annotation=p.empty) for p in parameters if p.name != "self" and not p.name.startswith("_")]


def _signature(of: Callable[..., Any], name: str) -> str:
    return name + str(inspect.Signature(_arguments(of)))


def _entry(title: str, text: str) -> str:
    return f"### `{title}`\n{text}\n"


def _listed(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"- `{title}`: {text}\n" for title, text in rows)


def _members(kind: type, named: Iterable[str]) -> Iterator[str]:
    """Methods and properties of a class."""
    for name in named:
        member = inspect.getattr_static(kind, name)
        value = getattr(member, "fget", None) or getattr(member, "func", None)
        title = f"{kind.__name__}.{name}"
        yield _entry(title if value else _signature(member, title), _doc(value or member))


def _public(kind: type) -> list[str]:
    """Members of a class and of its bases in this library, those of the bases first."""
    own = [c for c in reversed(kind.__mro__) if c.__module__.startswith("fourbar")]
    names = dict.fromkeys(name for c in own for name in vars(c))
    return [n for n in names if not n.startswith("_") and n not in METHODS and n not in _INNER]


def _described(kind: type) -> list[str]:
    """Public members that are more than plumbing."""
    return [n for n in vars(kind) if not n.startswith("_") and n not in ("compiled", "resolved")]


def _system() -> Iterator[str]:
    yield f"{_doc(fb.System)}\n"
    plain = [n for n in _public(fb.System) if not _doc_of(n)]
    yield f"Attributes that need no words: {', '.join(f'`{name}`' for name in plain)}.\n"
    yield f"`names` has {_fields(Names)}.\n\nEach of `clusters` has {_fields(ClusterInfo)}.\n"
    yield from _members(fb.System, [n for n in _public(fb.System) if n not in plain])


def _doc_of(name: str) -> str:
    member = inspect.getattr_static(fb.System, name)
    return _doc(getattr(member, "fget", None) or getattr(member, "func", None) or member)


def _fields(kind: Any) -> str:
    return ", ".join(f"`{name}`" for name in getattr(kind, "_fields", None) or kind.__dataclass_fields__)


def _method(name: str, method: Method) -> str:
    """A method of a robot: arrays, then options, then what every function takes."""
    options = [x.name if x.required else f"{x.name}={x.default!r}" for x in method.options]
    arguments = [*method.arguments, *options, *(f"{x}=None" for x in method.optional), "out=None", "threads=None"]
    return _entry(f"System.{name}({', '.join(arguments)})", inspect.cleandoc(method.doc))


def _algorithms() -> Iterator[str]:
    yield _ALGORITHMS
    yield _entry(_signature(OptionedMethod.specialise, "specialise"), _doc(OptionedMethod.specialise))
    for name in vars(fb.System):
        if name in METHODS:
            yield _method(name, METHODS[name])


def _identification() -> Iterator[str]:
    for f in (fb.base_parameters, fb.identify, fb.exciting_trajectory):
        yield _entry(_signature(f, f.__name__), _doc(f))
    for kind in (BaseParameters, fb.Identification, Excitation, Fourier):
        yield _entry(kind.__name__, f"{_doc(kind)}\n\nFields: {_fields(kind)}.")
        yield from _members(kind, [n for n in _public(kind) if n not in kind.__dataclass_fields__])


def _classes(prefix: str, base: type, kinds: Iterable[type]) -> Iterator[str]:
    yield f"{_doc(base)}\n"
    for kind in kinds:
        yield _entry(_signature(kind, f"{prefix}.{kind.__name__}"), _doc(kind))


def _sections() -> Iterator[tuple[str, Iterable[str]]]:
    closing = [getattr(loops, name) for name in loops.__all__ if name != "Loop"]
    raised = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    yield (
        "Building",
        [_entry(_signature(fb.Builder, "Builder"), _doc(fb.Builder)), *_members(fb.Builder, _public(fb.Builder))],
    )
    yield "Robots", _system()
    yield "Algorithms", _algorithms()
    yield "Joints", _classes("joints", Joint, JOINT_TYPES)
    yield "Loops", _classes("loops", loops.Loop, closing)
    held = [getattr(constraints, name) for name in constraints.__all__ if name != "Condition"]
    yield "Constraints", _classes("constraints", constraints.Condition, held)
    for kind in (Constrained, Actuated):
        yield f"Robots: `{kind.__name__}`", [f"{_doc(kind)}\n", *_members(kind, _described(kind))]
    yield "Simulation", [_entry(_signature(f, f.__name__), _doc(f)) for f in (fb.simulate, fb.Trajectory)]
    yield "Identification", _identification()
    yield (
        "Robots of the library",
        [_listed((_signature(f, f"robots.{n}"), _summary(f)) for n, f in fb.robots.ROBOTS.items())],
    )
    found = [getattr(fb, name) for name in _FUNCTIONS]
    yield "Functions of any scalar", [_listed((_signature(f, f.__name__), _summary(f)) for f in found)]
    yield (
        "Errors",
        [_listed((f"{k.__name__}({', '.join(b.__name__ for b in k.__bases__)})", _summary(k)) for k in raised)],
    )
    yield (
        "Formulas: what `System.equations` returns",
        [f"{_doc(Equations)}\n\nIt has {_fields(Equations)}.\n", *_members(Equations, ("latex", "python"))],
    )
    yield (
        "Energies differentiated: `fourbar.lagrange`",
        [
            f"{_doc(lagrange)}\n",
            _entry(_signature(lagrange.Lagrangian, "Lagrangian"), _doc(lagrange.Lagrangian)),
            *_members(lagrange.Lagrangian, [n for n in vars(lagrange.Lagrangian) if not n.startswith("_")]),
        ],
    )
    compared = [getattr(baselines, name) for name in baselines.__all__]
    yield (
        "Other treatments of loops: `fourbar.baselines`",
        [f"{_doc(baselines)}\n", _listed((_signature(f, f.__name__), _summary(f)) for f in compared)],
    )
    converting = [getattr(convert, name) for name in convert.__all__]
    yield (
        "Conversions: `fourbar.convert`",
        [
            f"{_doc(convert)}\n",
            _listed((_signature(f, f.__name__), _summary(f)) for f in converting if callable(f)),
            *_members(convert.StateMap, _public(convert.StateMap)),
        ],
    )
    for title, bridge in (("Pinocchio", pinocchio), ("MuJoCo", mujoco), ("Drake", drake)):
        yield f"{title}: `{bridge.__name__}`", _bridge(bridge)


def _bridge(bridge: Any) -> Iterator[str]:
    """A peer: the function that makes a robot of ours, and what its states have beyond those of a StateMap."""
    make = next(f for name, f in vars(bridge).items() if name.startswith("from_"))
    yield f"{_doc(bridge)}\n"
    yield from (_entry(_signature(f, f.__name__), _doc(f)) for f in (make, bridge.Peer))
    yield from _members(bridge.Peer, [name for name in vars(bridge.Peer) if not name.startswith("_")])


def make() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, entries in _sections():
        parts += [f"## {title}\n", *entries]
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(make(), encoding="utf-8")
