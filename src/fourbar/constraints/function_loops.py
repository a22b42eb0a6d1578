"""Loops and conditions that users write: functions of joint coordinates, in Python or as formulas, which files can
hold.
"""

from __future__ import annotations

import inspect
import keyword
import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unicodedata import normalize

import numpy as np

from ..errors import ArgumentError, ModelError
from ..expr import Expr, Graph
from ..expr.autodiff import reachable
from ..expr.formula_text import CONSTANTS, FUNCTIONS, FormulaError, ReadFormula, print_formulas
from ..spatial.linear import Scalar, dot, vec
from .condition import Condition, MovingView, is_entry
from .loop import Loop, MechanismView, read_names, read_number


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


def _names(what: str, given: Any) -> tuple[str, ...]:
    """Names by which formulas can call their parts."""
    if not isinstance(given, str) and not hasattr(given, "__iter__"):
        raise ModelError(f"{what} of a formula: expected names such as 'crank' or 'l1', got {given!r}")
    words = given.split() if isinstance(given, str) else given
    names = tuple(normalize("NFKC", x) if isinstance(x, str) else x for x in words)  # as Python reads names in formulas
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise ModelError(f"{what} of a formula: expected names such as 'crank' or 'l1', got {name!r}")
        if name in FUNCTIONS or name in CONSTANTS:
            raise ModelError(f"{what} of a formula: {name!r} has a meaning in formulas already; choose another name")
    return names


def _texts(what: str, given: Any) -> tuple[str, ...]:
    texts = (given,) if isinstance(given, str) else tuple(given) if hasattr(given, "__iter__") else ()
    if not texts or not all(isinstance(x, str) for x in texts):
        raise ModelError(f"the {what} of a formula are texts such as 'slide - 0.1 * cos(crank)', got {given!r}")
    return texts


@dataclass(frozen=True)
class Formula:
    """A function of joint coordinates as text, which a file can hold: for `Constraint` and `Parametric`.

    Parameters
    ----------
    arguments : str or sequence of str
        Names of the arguments, as a list or with spaces between them: one for each joint.
    results : str or sequence of str
        Formulas of the results (rad, m), one for each row. They have numbers, names, + - * /, powers by whole numbers,
        brackets, sin, cos, tan, asin, acos, atan2, sqrt, exp, tanh, abs, min, max, select(a < b, x, y), and pi.
        Of a joint with several coordinates, ``name[0]`` is the first.
    where : mapping of str to str, optional
        Formulas of named parts, each of which may use those before it.
    constants : mapping of str to float, optional
        Numbers by name. They are the parameter ``loop.constants`` of a robot, which may vary.

    Examples
    --------
    >>> import fourbar as fb
    >>> crank = fb.loops.Formula("crank slide", "slide - r * cos(crank)", constants={"r": 0.1})
    >>> crank(0.0, 0.5)
    (0.4,)
    >>> fb.loops.Constraint(crank, ["crank_joint", "slide_joint"]).joints
    ('crank_joint', 'slide_joint')
    """

    arguments: tuple[str, ...]
    results: tuple[str, ...]
    where: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, float], ...]

    def __init__(
        self,
        arguments: str | Sequence[str],
        results: str | Sequence[str],
        where: Mapping[str, str] | None = None,
        constants: Mapping[str, float] | None = None,
    ) -> None:
        for key, by_name in (("where", where), ("constants", constants)):
            if not isinstance(by_name, Mapping | None):
                raise ModelError(f"{key} of a formula: expected a mapping by name, got {by_name!r}")
        where, constants = dict(where or {}), dict(constants or {})
        values = [read_number(f"constant {name!r} of a formula", x) for name, x in constants.items()]
        numbers = tuple(zip(_names("a constant", constants), values, strict=True))
        object.__setattr__(self, "arguments", _names("an argument", arguments))
        object.__setattr__(self, "results", _texts("results", results))
        object.__setattr__(self, "where", tuple(zip(_names("a part", where), _texts_of(where), strict=True)))
        object.__setattr__(self, "constants", numbers)
        every = [*self.arguments, *(name for name, _ in (*self.constants, *self.where))]
        twice = [name for name in every if every.count(name) > 1]
        if twice or not self.arguments:
            problem = f"the name {twice[0]!r} is given twice" if twice else "it has no arguments"
            raise ModelError(f"formula of {list(self.results)!r}: {problem}")
        _ = self._read
        places = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in self.arguments]
        object.__setattr__(self, "__signature__", inspect.Signature(places))
        object.__setattr__(self, "__name__", "formula")

    @cached_property
    def _read(self) -> tuple[tuple[tuple[str, ReadFormula], ...], tuple[ReadFormula, ...]]:
        """The named parts and the results, as functions of the values of names."""
        known = [*self.arguments, *(name for name, _ in self.constants)]
        parts: list[tuple[str, ReadFormula]] = []
        try:
            for name, text in self.where:
                parts.append((name, ReadFormula(text, known)))
                known.append(name)
            return tuple(parts), tuple(ReadFormula(text, known) for text in self.results)
        except FormulaError as error:
            raise ModelError(f"{self._title}: {error}") from None

    def __call__(self, *coordinates: Any) -> tuple[Any, ...]:
        """The results, for coordinates of the joints: scalars of any kind, or sequences of them."""
        if len(coordinates) != len(self.arguments):
            raise ArgumentError(f"{self._title}: called with {len(coordinates)} coordinates")
        values = {**dict(zip(self.arguments, coordinates, strict=True)), **dict(self.constants)}
        parts, results = self._read
        try:
            for name, part in parts:
                values[name] = part(values)
            return tuple(result(values) for result in results)
        except OverflowError:
            raise ModelError(f"{self._title}: a number in it is too large") from None
        except ValueError:
            what = "a root of a negative number, or an inverse function of one that is too large"
            raise ModelError(f"{self._title}: it has {what}, whatever the coordinates are") from None
        except (IndexError, TypeError) as error:
            raise ModelError(
                f"{self._title}: {error}; a joint with one coordinate is called by its name, of one with several "
                "name[0] is the first"
            ) from None

    @property
    def _title(self) -> str:
        return f"formula of {', '.join(self.arguments)}"


def _texts_of(where: Mapping[str, str]) -> tuple[str, ...]:
    return _texts("parts", tuple(where.values())) if where else ()


def trace_formula(
    function: Callable[..., Any], sizes: Sequence[int], constants: Mapping[str, float] | None = None
) -> Formula:
    """The formula of a Python function of joints with the given numbers of coordinates, from its trace.

    A joint with one coordinate is a number, another one a sequence, as in `function_loops`. A function with `constants`
    is called with their symbols, by name, as the first argument.
    """
    numbers_by_name, graph = constants or {}, Graph()
    letter, part = next(x for x in (("q", "x"), ("joint", "part"), ("_q", "_x")) if not _is_taken(x, numbers_by_name))
    names = [f"{letter}{i}" for i in range(1, len(sizes) + 1)]
    symbols = [graph.inputs(name, size) for name, size in zip(names, sizes, strict=True)]
    numbers = {name: graph.inputs(name, 1)[0] for name in numbers_by_name}
    called = function(*([numbers] if numbers_by_name else []), *(x[0] if len(x) == 1 else x for x in symbols))
    roots = list(called) if hasattr(called, "__iter__") else [called]
    shown: dict[Expr, str] = {x: name for name, x in numbers.items()}
    for name, group in zip(names, symbols, strict=True):
        shown |= {x: name if len(group) == 1 else f"{name}[{i}]" for i, x in enumerate(group)}
    parts, results = print_formulas(roots, shown, part)
    return Formula(names, results, dict(parts), numbers_by_name)


def _is_taken(prefixes: tuple[str, str], names: Iterable[str]) -> bool:
    """Whether one of the names is a prefix with a number."""
    return any(name.startswith(prefixes) and name.lstrip("_abcdefghijklmnopqrstuvwxyz").isdigit() for name in names)


@dataclass(frozen=True)
class Prescribed(Condition):
    """Joints that move as prescribed.

    Parameters
    ----------
    of : sequence of str
        The joints: one row per velocity; the forces are those of their drives.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.constraints.Prescribed(["hip", "knee"]).joints
    ('hip', 'knee')
    """

    of: tuple[str, ...]

    def __init__(self, of: Sequence[str]) -> None:
        object.__setattr__(self, "of", read_names("prescribed motion", of))

    @property
    def joints(self) -> tuple[str, ...]:
        return self.of

    def rates(self, view: MovingView) -> Sequence[Scalar]:
        return [x for joint in self.of for x in view.v(joint)]


@dataclass(frozen=True)
class Rows(Condition):
    """Rows A(q) v = 0 over the velocities of joints, as a Python function.

    They need not come from a condition on positions: a wheel that rolls, a blade that does not slip sideways.

    Parameters
    ----------
    function : callable
        Takes the coordinates of the joints, one argument each (a number, or a sequence for joints with several), and
        returns rows over the velocities of these joints (one row, or a list of rows). Use sin, cos, sqrt of fourbar or
        NumPy.
    of : sequence of str
        The joints.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.constraints.Rows(lambda left, right: [1.0, -1.0], ["left", "right"]).joints
    ('left', 'right')
    """

    function: Callable[..., Any]
    of: tuple[str, ...]

    def __init__(self, function: Callable[..., Any], of: Sequence[str]) -> None:
        object.__setattr__(self, "of", read_names("rows", of))
        object.__setattr__(self, "function", function)
        check_function("rows", function, len(self.of))

    @property
    def joints(self) -> tuple[str, ...]:
        return self.of

    def rates(self, view: MovingView) -> Sequence[Scalar]:
        v = [x for joint in self.of for x in view.v(joint)]
        result = call_function(self.function, view, self.of)
        rows = self._read(result)
        names = ", ".join(map(repr, self.of))
        for row in rows:
            if len(row) != len(v):
                raise ModelError(f"rows over {names} have {len(v)} entries each, the function returned {result!r}")
            if not all(map(is_entry, row)):
                raise ModelError(f"rows over {names} are made of finite numbers, the function returned {result!r}")
        return [dot(vec(row), v) for row in rows]

    def _read(self, result: Any) -> list[list[Any]]:
        rows = list(result) if isinstance(result, Iterable) and not isinstance(result, Mapping) else []
        if rows and not any(isinstance(row, Iterable) for row in rows):
            rows = [rows]
        if not rows or not all(isinstance(row, Iterable) for row in rows):
            raise ModelError(f"the function must return rows of numbers, such as [[1.0, -2.0]], got {result!r}")
        return [list(row) for row in rows]
