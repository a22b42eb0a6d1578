"""The arguments of methods, each declared once: its name, its kind, which gives its shape for a model, and its help.

A method names those that it takes: `@method(Q, V, A, results="tau", optional=[F_EXT])`.
"""

from __future__ import annotations

import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Argument, to_array
from .model import Model

if TYPE_CHECKING:
    from .registry import Method, Option


@dataclass(frozen=True)
class DeclaredArgument(ABC):
    """An argument as it is declared. `type` and `text` are its entry in the docstrings of methods that take it."""

    name: str
    text: str = field(default="", kw_only=True)

    type: ClassVar[str] = "array_like"
    default: ClassVar[float | None] = None

    @abstractmethod
    def shape(self, model: Any) -> tuple[int, ...]:
        """Its core shape for a model."""

    def on(self, model: Model, optional: bool = False) -> Argument:
        """The argument of a function of a model, which may be left out or not."""
        return Argument(self.name, self.shape(model), optional)

    def read(self, model: Model, function: str, value: Any) -> np.ndarray:
        """A value given for it in a call of a function, as an array (..., *shape) of float64."""
        return to_array(function, self.on(model), value)


@dataclass(frozen=True)
class SizedArgument(DeclaredArgument):
    """A vector of a given number of entries, whatever the model; without entries, one number."""

    count: int

    def shape(self, model: Model) -> tuple[int, ...]:
        return (self.count,) if self.count else ()


class ConfigurationArgument(DeclaredArgument):
    """Coordinates (nq). It moves along the group and the loops: its tangent has nv entries."""

    type = "array_like, shape (..., nq)"

    def shape(self, model: Model) -> tuple[int, ...]:
        return (model.cluster_tree.nq,)

    def on(self, model: Model, optional: bool = False) -> Argument:
        return Argument(self.name, self.shape(model), optional, (model.cluster_tree.nv,))


class OpenCoordinates(DeclaredArgument):
    """Coordinates (nq) each of which may change by itself, also such that loops open."""

    type = "array_like, shape (..., nq)"

    def shape(self, model: Model) -> tuple[int, ...]:
        return (model.cluster_tree.nq,)


class Tangent(DeclaredArgument):
    """A number for each independent velocity (nv): velocities, accelerations, forces."""

    type = "array_like, shape (..., nv)"

    def shape(self, model: Model) -> tuple[int, ...]:
        return (model.cluster_tree.nv,)


class JointForces(DeclaredArgument):
    """A force of each velocity of each joint, independent or not."""

    type = "array_like, shape (..., n)"

    def shape(self, model: Model) -> tuple[int, ...]:
        return (model.cluster_tree.spanning_tree.nv,)


class Wrenches(DeclaredArgument):
    """A wrench [moment; force] on each body (n_bodies, 6), or on some, by their names."""

    type = "array_like, shape (..., n_bodies, 6), or dict"

    def shape(self, model: Model) -> tuple[int, ...]:
        return len(model.mechanism.bodies), 6

    def on(self, model: Model, optional: bool = False) -> Argument:
        return Argument(self.name, self.shape(model), optional, rows=tuple(b.name for b in model.mechanism.bodies))


class ActuatorForces(DeclaredArgument):
    """A force of each actuator (n_actuators)."""

    type = "array_like, shape (..., nu)"

    def shape(self, model: Model) -> tuple[int, ...]:
        return (len(model.mechanism.actuators),)


@dataclass(frozen=True)
class Scalar(DeclaredArgument):
    """One number, with a default or without."""

    type = "array_like, shape (...)"
    default: float | None = None

    def shape(self, model: Model) -> tuple[int, ...]:
        return ()

    def on(self, model: Model, optional: bool = False) -> Argument:
        return Argument(self.name, self.shape(model), optional, default=self.default)


Q = ConfigurationArgument("q", text="Configuration, with its loops closed.")
Q0 = ConfigurationArgument("q0", text="Configuration at the start.")
Q1 = ConfigurationArgument("q1", text="Configuration at the end.")
COORDINATES = OpenCoordinates("q", text="Coordinates, with open or closed loops.")
V = Tangent("v", text="Velocity (rad/s, m/s).")
A = Tangent("a", text="Acceleration (rad/s², m/s²).")
TAU = Tangent("tau", text="Joint forces (N m, N).")
B = Tangent("b", text="Right-hand side: joint forces (N m, N).")
THETA = Tangent("theta", text="θ in q(t) = q₀ ⊕ θ(t) (rad, m).")
F_EXT = Wrenches(
    "f_ext",
    text="Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies, "
    '``{"hand": wrench}``.',
)
U = ActuatorForces(
    "u",
    text="Controls of the actuators, in the order of `names.actuators`: those of a motor are forces (N m, N), those of "
    "servos lengths (rad, m) or velocities (rad/s, m/s).",
)
DT = Scalar("dt", text="Time step (s).")
DT_OR_1 = Scalar("dt", 1.0, text="Time (s); without it v is the step itself, q ⊕ v.")
TAU_PASSIVE = JointForces(
    "tau_passive",
    text="Given forces (N m, N) that act in the joints besides those of the drives, one for each velocity of each "
    "joint, in the order of `expand_velocity` (n = nv without embedded loops).",
)
FRICTION_VELOCITY = Scalar(
    "friction_velocity",
    text="Velocity v_s > 0 (rad/s, m/s) around rest over which dry friction is smoothed: joints with `friction` f then "
    "rub with -f tanh(v / v_s). Without it there is no dry friction.",
)


_WIDTH = 112  # of the text of an entry, which stands in a method of a class
_TITLE = r"^\S[^\n]*\n-+\n"


class DocEntry(NamedTuple):
    """An entry of a section Parameters, Returns or Raises: a name, its type and what it is."""

    name: str
    type: str
    text: str

    def __str__(self) -> str:
        return f"{self.name} : {self.type}\n{textwrap.indent(self.text, '    ')}"


def section(doc: str, title: str) -> str:
    """The text of one section of a docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?={_TITLE}|\Z)", cleandoc(doc), re.DOTALL | re.MULTILINE)
    return found[1].rstrip() if found else ""


def entries(doc: str, title: str) -> list[DocEntry]:
    """The entries of a section of a docstring."""
    found = re.findall(
        r"^(\S[^:\n]*?)(?: : ([^\n]*))?\n((?:    [^\n]*\n?|\n)*)", section(doc, title) + "\n", re.MULTILINE
    )
    return [DocEntry(name, type, cleandoc(text)) for name, type, text in found]


def complete_docstring(method: Method) -> str:
    """The docstring of a method with all it takes in its section Parameters, in the order of a call."""
    written = cleandoc(method.text)
    if not written:
        return ""
    differing = {entry.name: entry for entry in entries(written, "Parameters")}
    listed = [differing.get(entry.name, entry) for entry in declared_entries(method)]
    parameters = "\n".join(["Parameters", "----------", *map(str, (entry for entry in listed if entry.text))])
    words, *sections = re.split(rf"(?={_TITLE})", written, flags=re.MULTILINE)
    rest = [own.rstrip() for own in sections if not own.startswith("Parameters\n")]
    return "\n\n".join([words.rstrip(), parameters, *rest])


def declared_entries(method: Method) -> Iterator[DocEntry]:
    """The entries of all that a method takes, as declared."""
    yield from (_argument(x) for x in method.inputs)
    yield from map(_option, method.options)
    yield from (_argument(x, optional=True) for x in method.extra)
    if len(method.results) == 1:
        yield DocEntry("out", "ndarray, optional", "Array that receives the result.")
    else:
        yield DocEntry("out", "tuple of ndarray, optional", "Arrays that receive the results.")
    yield DocEntry("threads", "int, optional", "Largest number of threads for a batch.")


def _argument(argument: DeclaredArgument, optional: bool = False) -> DocEntry:
    default = "" if argument.default is None else f", default {argument.default}"
    return _entry(argument.name, argument.type + (", optional" if optional else default), argument.text)


def _option(option: Option) -> DocEntry:
    default = ", optional" if option.default in (None, ()) else f", default {option.default!r}"
    return _entry(option.name, option.type + ("" if option.required else default), option.text)


def _entry(name: str, type: str, text: str) -> DocEntry:
    whole = re.sub("``.*?``", lambda code: code[0].replace(" ", "\0"), text)  # code stays on one line
    return DocEntry(name, type, textwrap.fill(whole, _WIDTH - 4, break_on_hyphens=False).replace("\0", " "))
