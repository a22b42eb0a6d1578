"""Writes docs/api.md from the docstrings:  python docs/make_api.py"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fourbar as fb
from fourbar import errors
from fourbar.bridges import pinocchio
from fourbar.joints import JOINT_TYPES, Joint
from fourbar.system.methods import METHODS, Method
from fourbar.system.options import READERS
from fourbar.system.robot import Family, Names

TARGET = Path(__file__).with_name("api.md")
_FUNCTIONS = ("sin", "cos", "tan", "sqrt", "asin", "acos", "atan2", "minimum", "maximum", "select")
_HEAD = """\
# API reference

Made from the docstrings by `python docs/make_api.py`. In shapes, `...` stands for leading axes, which broadcast.
"""


def _doc(thing: Any) -> str:
    return _fenced(inspect.cleandoc(thing.__doc__ or ""))


def _fenced(text: str) -> str:
    """Sessions (>>> lines) as code."""
    return re.sub(
        r"((?:^>>> .*\n?)+)", lambda m: f"```pycon\n{m[1].rstrip()}\n```\n", text, flags=re.MULTILINE
    ).rstrip()


def _signature(function: Callable[..., Any], name: str, skip: tuple[str, ...] = ("self",)) -> str:
    """name(arguments), without annotations and without `self`."""
    parameters = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in inspect.signature(function).parameters.values()
        if p.name not in skip
    ]
    return name + str(inspect.Signature(parameters))


def _entry(title: str, text: str) -> str:
    return f"### `{title}`\n\n{text}\n"


def _class(kind: type, members: tuple[str, ...] = ()) -> Iterator[str]:
    """A class, then the named members."""
    yield _entry(_signature(kind.__init__, kind.__name__), _doc(kind))
    for name in members:
        member = inspect.getattr_static(kind, name)
        function = getattr(member, "fget", None) or getattr(member, "func", None)
        title = f"{kind.__name__}.{name}" if function else _signature(member, f"{kind.__name__}.{name}")
        yield _entry(title, _doc(function or member))


def _method(name: str, method: Method) -> str:
    """A method of a robot: arrays, then options, then what every function takes."""
    options = list(inspect.signature(READERS[method.static]).parameters.values())[1:]
    bare = [str(p.replace(annotation=inspect.Parameter.empty)) for p in options]
    arguments = [*method.arguments, *bare, *(f"{x}=None" for x in method.optional), "out=None", "threads=None"]
    return _entry(f"System.{name}({', '.join(arguments)})", inspect.cleandoc(method.doc))


def _joint(kind: type[Joint]) -> str:
    shown = [p for p in inspect.signature(kind).parameters.values() if not p.name.startswith("_")]
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in shown]
    return _entry(f"joints.{kind.__name__}{inspect.Signature(bare)}", _doc(kind))


def _robots() -> Iterator[str]:
    for name, make in fb.robots.ROBOTS.items():
        yield _entry(_signature(make, f"robots.{name}"), _doc(make))


def _system() -> Iterator[str]:
    yield f"{_doc(fb.System)}\n"
    for name in ("name", "nq", "nv", "gravity", "names"):
        member = inspect.getattr_static(fb.System, name)
        text = _doc(getattr(member, "fget", None) or member.func)
        yield _entry(f"System.{name}", text or {"name": "Its name.", "gravity": "The field of gravity (3)."}[name])
    yield f"`names` has {', '.join(f'`{field}`' for field in Names.__dataclass_fields__)}.\n"
    for name in ("with_gravity", "neutral", "random", "show", "program"):
        member = getattr(fb.System, name)
        yield _entry(_signature(member, f"System.{name}"), _doc(member))


def _sections() -> Iterator[tuple[str, Iterator[str]]]:
    yield "Building", _class(fb.Builder, ("body", "frame", "build"))
    yield "Robots", _system()
    yield "Algorithms", iter([_ALGORITHMS, *(_method(name, m) for name, m in METHODS.items())])
    yield "Joints", iter([f"{_doc(Joint)}\n", *map(_joint, JOINT_TYPES)])
    yield "Simulation", iter([_entry(_signature(fb.simulate, "simulate"), _doc(fb.simulate)), *_class(fb.Trajectory)])
    yield "Robots of the library", _robots()
    yield (
        "Functions of any scalar",
        iter(_entry(_signature(f, f.__name__), _doc(f)) for f in map(_function, _FUNCTIONS)),
    )
    yield (
        "Errors",
        iter(
            _entry(f"{kind.__name__}({', '.join(b.__name__ for b in kind.__bases__)})", _doc(kind))
            for kind in _errors()
        ),
    )
    conversions = tuple(name for name in vars(pinocchio.Peer) if not name.startswith("_"))
    bridge = _entry(_signature(pinocchio.from_pinocchio, "from_pinocchio"), _doc(pinocchio.from_pinocchio))
    yield (
        "Pinocchio: `fourbar.bridges.pinocchio`",
        iter([f"{_doc(pinocchio)}\n", bridge, *_class(pinocchio.Peer, conversions)]),
    )


_ALGORITHMS = f"""\
Methods of a robot, each compiled at its first call. `out` is an array for the result (a tuple of them where there are
several), `threads` the most threads to use. A method with options, such as `frame`, also has

{_entry(_signature(Family.specialise, "specialise"), _doc(Family.specialise))}"""


def _function(name: str) -> Any:
    return getattr(fb, name)


def _errors() -> list[type]:
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


def make() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, entries in _sections():
        parts += [f"## {title}\n", *entries]
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(make(), encoding="utf-8")
