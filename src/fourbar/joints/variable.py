"""Numbers that may vary: the float fields of joints, loops and users' functions by name, and joints with other ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from functools import lru_cache
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..expr import Expr, Graph
from ..expr.autodiff import reachable
from ..once import cached_property
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .axis import Direction
from .rates import Rate, rate_of

if TYPE_CHECKING:
    from .base import Joint

Shape = tuple[int, ...]


def shape_of(value: Any) -> Shape | None:
    """The shape of a value that is made of numbers, (6,) of a placement; None of one that is not."""
    if isinstance(value, Transform):
        return (6,)
    if isinstance(value, float | int):
        return None if isinstance(value, bool) else ()
    if not isinstance(value, tuple) or not value or isinstance(value, Direction):
        return None
    if len(value) == 2 and isinstance(value[0], str):  # the number of a joint
        return shape_of(value[1])
    shapes = {shape_of(x) for x in value}
    inner = shapes.pop()
    return None if shapes or inner is None else (len(value), *inner)


def entries_of(value: Any) -> Iterator[float]:
    """The numbers of a value, one after the other; of a placement the twist by which it is displaced, zero."""
    if isinstance(value, Transform):
        yield from (0.0,) * 6
    elif isinstance(value, tuple):
        for x in value:
            yield from entries_of(x)
    elif not isinstance(value, str):
        yield float(value)


def with_entries(value: Any, entries: Iterator[Scalar]) -> Any:
    """A value of the same form with the next of the entries, which may be symbols; a placement is displaced by them."""
    if isinstance(value, Transform):
        from ..spatial.adjoint import exp  # when first needed: building a robot does without

        return value.then(exp(Twist.of(Vec(islice(entries, 6)))))
    if isinstance(value, tuple):
        return tuple(with_entries(x, entries) for x in value)
    return value if isinstance(value, str) else next(entries)


def nested_field(thing: Any, kind: type = object) -> str | None:
    """The field with the object whose fields are the numbers: a function that is a dataclass, or another `kind`."""
    for f in fields(thing) if is_dataclass(thing) else ():
        value = getattr(thing, f.name)
        if kind is not object and isinstance(thing, kind) and isinstance(value, kind):
            return f.name
        if f.name == "function" and is_dataclass(value) and not isinstance(value, type):
            return f.name
    return None


def innermost(thing: Any, kind: type = object) -> Any:
    """The object whose fields are the numbers."""
    field = nested_field(thing, kind)
    return thing if field is None else innermost(getattr(thing, field), kind)


def with_innermost(thing: Any, inner: Any, kind: type = object) -> Any:
    """A thing with that object replaced by another."""
    field = nested_field(thing, kind)
    return inner if field is None else with_field(thing, field, with_innermost(getattr(thing, field), inner, kind))


def with_field(thing: Any, name: str, value: Any) -> Any:
    """A copy with another value of a field, which may be symbols: its own checks expect floats."""
    if not hasattr(thing, "__dict__"):
        other = copy(thing)
    else:
        other, kind = object.__new__(type(thing)), type(thing)
        values = {k: x for k, x in vars(thing).items() if not isinstance(getattr(kind, k, None), cached_property)}
        other.__dict__.update(values)
    object.__setattr__(other, name, value)
    return other


def float_fields(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass that are made of floats; a whole number may be an exponent, or count something."""
    values = {f.name: getattr(thing, f.name) for f in fields(thing)} if is_dataclass(thing) else {}
    return {name: x for name, x in values.items() if not isinstance(x, int) and shape_of(x) is not None}


class BoundJoint(NamedTuple):
    """A joint some of whose numbers, by name and shape, are the entries p of a recording: works as the joint does."""

    joint: Joint
    which: tuple[tuple[str, Shape], ...]
    p: Vec

    @property
    def now(self) -> Joint:
        """The joint with these numbers."""
        return with_numbers(self.joint, self.which, self.p)

    @property
    def nq(self) -> int:
        """As for `Joint`."""
        return self.joint.nq

    @property
    def nv(self) -> int:
        """As for `Joint`."""
        return self.joint.nv

    def aligned(self) -> tuple[Mat | None, Any]:
        """As for `Joint`."""
        A, joint = self.joint.aligned()
        return A, self._replace(joint=joint)

    def subspace_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Twist, ...]:
        """As for `Joint`."""
        entries = _subspace_rate(self.joint, self.which).at(q, v, self.p)
        return tuple(Twist.of(Vec(entries[6 * k : 6 * k + 6])) for k in range(self.joint.nv))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now, name)


def with_numbers(joint: Joint, which: Iterable[tuple[str, Shape]], p: Sequence[Scalar]) -> Joint:
    """A joint with other numbers, their entries one after the other."""
    entries = iter(p)
    return joint.with_numbers({name: tuple(islice(entries, prod(shape))) for name, shape in which})


def with_number(joint: Any, name: str, shape: Shape, p: Sequence[Scalar]) -> Any:
    """A joint with another number: a plain joint if that is no symbol."""
    if all(isinstance(x, float) for x in p) and not isinstance(joint, BoundJoint):
        return joint.with_numbers({name: tuple(p)})
    known = joint if isinstance(joint, BoundJoint) else BoundJoint(joint, (), Vec())
    return BoundJoint(known.joint, (*known.which, (name, shape)), Vec((*known.p, *p)))


@lru_cache(maxsize=256)
def _subspace_rate(joint: Joint, which: tuple[tuple[str, Shape], ...]) -> Rate:
    """S° of a joint, column by column, with some of its numbers as inputs."""
    graph = Graph()
    q, p = graph.inputs("q", joint.nq), graph.inputs("p", sum(prod(shape) for _, shape in which))
    columns = with_numbers(joint, which, p).subspace(q).twists()
    return rate_of([joint], q, [x for t in columns for x in t.six()], p)


def why_axis_is_constant(joint: Joint) -> str:
    """The reason for which the axis of a joint cannot vary."""
    return f"an axis of {type(joint).__name__} is a direction, which its unit length ties"


@lru_cache(maxsize=256)
def why_constant(joint: Joint, name: str) -> str:
    """The reason for which a number of a joint cannot vary; empty if it can."""
    graph, shape = Graph(), shape_of(joint.variable[name]) or ()
    q, v, p = graph.inputs("q", joint.nq), graph.inputs("v", joint.nv), graph.inputs("p", prod(shape))
    kind = type(joint).__name__
    try:
        other = joint.aligned()[1].with_numbers({name: p})
        _ = other.placement(q), other.subspace(q), other.bias(q, v)
        moved = [*other.integrate(q, v), *other.rate(q, v), *other.difference(q, q), *other.chart_rate(v, v)]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        return f"{kind} does not compute with a symbol in its place ({error})"
    if not {x.id for x in p}.isdisjoint(node.id for node in reachable([x for x in moved if isinstance(x, Expr)])):
        return f"what a velocity of {kind} means depends on it"
    return ""
