"""Functions of joint coordinates as text: what a file can hold of a loop that is a function."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unicodedata import normalize

from ..errors import ArgumentError, ModelError
from ..expr import Expr, Graph
from ..expr.formula_text import CONSTANTS, FUNCTIONS, FormulaError, ReadFormula, print_formulas
from .loop import read_number


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
    taken, graph = constants or {}, Graph()
    letter, part = next(x for x in (("q", "x"), ("joint", "part"), ("_q", "_x")) if not _is_taken(x, taken))
    names = [f"{letter}{i}" for i in range(1, len(sizes) + 1)]
    symbols = [graph.inputs(name, size) for name, size in zip(names, sizes, strict=True)]
    numbers = {name: graph.inputs(name, 1)[0] for name in taken}
    called = function(*([numbers] if taken else []), *(x[0] if len(x) == 1 else x for x in symbols))
    roots = list(called) if hasattr(called, "__iter__") else [called]
    shown: dict[Expr, str] = {x: name for name, x in numbers.items()}
    for name, group in zip(names, symbols, strict=True):
        shown |= {x: name if len(group) == 1 else f"{name}[{i}]" for i, x in enumerate(group)}
    parts, results = print_formulas(roots, shown, part)
    return Formula(names, results, dict(parts), taken)


def _is_taken(prefixes: tuple[str, str], names: Iterable[str]) -> bool:
    """Whether one of the names is a prefix with a number."""
    return any(name.startswith(prefixes) and name.lstrip("_abcdefghijklmnopqrstuvwxyz").isdigit() for name in names)
