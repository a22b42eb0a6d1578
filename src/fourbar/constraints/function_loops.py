"""Loops written by the user as plain Python functions of joint coordinates."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expr import Expr
from ..expr.autodiff import reachable
from ..spatial.linear import Scalar
from .loop import Loop, MechanismView, read_names


def check_function(what: str, function: Any, count: int) -> None:
    """Refuse what cannot be called with `count` arguments."""
    if not (callable(function) and isinstance(function, Hashable)):
        raise ModelError(f"{what} needs a hashable function of joint coordinates, got {function!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return
    try:
        signature.bind(*range(count))
    except TypeError as error:
        shown = getattr(function, "__name__", repr(function))
        raise ModelError(
            f"{what}: {shown}{signature} is called with the coordinates of {count} joints, one argument each: {error}"
        ) from None


def call_function(function: Callable[..., Any], view: MechanismView, joints: Sequence[str]) -> Any:
    """The function at the coordinates of the named joints: a number each, or a sequence for joints with several."""
    coordinates = {name: view.q(name) for name in joints}
    try:
        return function(*(q[0] if len(q) == 1 else q for q in coordinates.values()))
    except ZeroDivisionError as error:
        raise ModelError(
            f"the function of a loop of {', '.join(map(repr, joints))} divides by zero whatever the coordinates are"
        ) from error
    except Exception as error:
        given = ", ".join(f"{name!r} {'a number' if len(q) == 1 else len(q)}" for name, q in coordinates.items())
        error.add_note(
            f"in the function of a loop, called once with symbols for the coordinates of its joints: {given}"
        )
        raise


def _scalars(what: str, result: Any) -> tuple[Scalar, ...]:
    """The result of a function, one number or several, as a tuple."""
    rows = tuple(result) if hasattr(result, "__iter__") and not isinstance(result, str) else (result,)
    if any(isinstance(x, bool | np.bool) for x in rows):
        raise ModelError(f"{what}: the function returned {result!r}; write a difference, x - y, instead of x == y")
    if not all(isinstance(x, Expr | numbers.Real) for x in rows):
        raise ModelError(f"{what}: the function returned {result!r}, expected a number or a flat sequence of them")
    checked = tuple(x if isinstance(x, Expr) else float(x) for x in rows)
    infinite = [x for node in reachable(checked) if node.op in _ARITHMETIC for x in node.args if _is_not_finite(x)]
    if infinite or any(map(_is_not_finite, checked)):
        raise ModelError(f"{what}: the function computes with numbers that are not finite (nan, inf)")
    return checked


_ARITHMETIC = ("add", "sub", "mul", "div")


def _is_not_finite(x: Any) -> bool:
    return x.__class__ is float and not math.isfinite(x)


@dataclass(frozen=True)
class Constraint(Loop):
    """A condition φ(q) = 0 between joints, as a Python function.

    Parameters
    ----------
    function : callable
        Takes the coordinates of the joints, one argument each (a number, or a sequence for joints with several), and
        returns the residual, one number or several. Use sin, cos, sqrt of fourbar or NumPy.
    of : sequence of str
        The joints.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.loops.Constraint(lambda crank, slide: slide - 0.1 * fb.cos(crank), ["crank", "slide"]).joints
    ('crank', 'slide')
    """

    function: Callable[..., Any]
    of: tuple[str, ...]

    def __init__(self, function: Callable[..., Any], of: Sequence[str]) -> None:
        object.__setattr__(self, "of", read_names("a constraint", of))
        object.__setattr__(self, "function", function)
        check_function(self._title, function, len(self.of))

    @property
    def _title(self) -> str:
        return f"constraint of {', '.join(map(repr, self.of))}"

    @property
    def joints(self) -> tuple[str, ...]:
        return self.of

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        rows = _scalars(self._title, call_function(self.function, view, self.of))
        traced = any(isinstance(x, Expr) for joint in self.of for x in view.q(joint))
        if not rows or (traced and not any(isinstance(x, Expr) for x in rows)):
            raise ModelError(
                f"{self._title}: the function returned {list(rows)!r}, which depends on none of the joints"
            )
        return rows

    def renamed(self, joints: Mapping[str, str], bodies: Mapping[str, str]) -> Constraint:
        return Constraint(self.function, [joints.get(x, x) for x in self.of])


@dataclass(frozen=True)
class Parametric(Loop):
    """Joints that follow others by a Python function: outputs = γ(inputs).

    Parameters
    ----------
    function : callable
        Takes the coordinates of the inputs, one argument each (a number, or a sequence for joints with several), and
        returns those of the outputs, one after the other, as one number or a sequence. Use sin, cos, sqrt of fourbar or
        NumPy.
    inputs : sequence of str
        Joints that drive.
    outputs : sequence of str
        Joints that follow.

    Notes
    -----
    The outputs follow without any iteration and are no part of q, if all joints have plain coordinates. An input that
    is no joint of the mechanism can be the joint of a body without mass.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.loops.Parametric(lambda crank: 0.1 * fb.cos(crank), ["crank"], ["slide"]).driven_joints
    ('slide',)
    """

    function: Callable[..., Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __init__(self, function: Callable[..., Any], inputs: Sequence[str], outputs: Sequence[str]) -> None:
        object.__setattr__(self, "inputs", read_names("the inputs of a parametric loop", inputs))
        object.__setattr__(self, "outputs", read_names("the outputs of a parametric loop", outputs))
        object.__setattr__(self, "function", function)
        twice = sorted(set(self.inputs) & set(self.outputs))
        if twice:
            raise ModelError(f"{self._title}: {twice[0]!r} is both an input and an output")
        check_function(self._title, function, len(self.inputs))

    @property
    def _title(self) -> str:
        return f"parametric loop of {', '.join(map(repr, self.outputs))}"

    @property
    def joints(self) -> tuple[str, ...]:
        return self.inputs + self.outputs

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return self.outputs

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        q = [x for name in self.outputs for x in view.q(name)]
        given = _scalars(self._title, call_function(self.function, view, self.inputs))
        if len(given) != len(q):
            raise ModelError(f"{self._title}: the function returned {len(given)} numbers for {len(q)} coordinates")
        return [x - y for x, y in zip(q, given, strict=True)]

    def renamed(self, joints: Mapping[str, str], bodies: Mapping[str, str]) -> Parametric:
        inputs, outputs = ([joints.get(x, x) for x in names] for names in (self.inputs, self.outputs))
        return Parametric(self.function, inputs, outputs)
