"""The equations of motion as formulas: M(q), C(q, v), g(q) and τ in SymPy, as LaTeX, as plain Python.

The steps are those that are compiled, run on symbols; what comes out is simplified as far as that is quick.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..expr import Expr
from ..expr.to_sympy import load_sympy, to_sympy
from ..expr.whole import Whole
from ..model.groups import free_groups
from ..model.symbols import Parameters, with_symbols
from .context import Context, Model
from .exponential_formulas import closed_forms, rotation_angles
from .formulas import identifiers, tidy, unit_lengths, written_out
from .loop_formulas import LoopMap, loop_map
from .methods import METHODS

_LARGEST = 200_000  # operations of all formulas, written out


@dataclass(frozen=True)
class Equations:
    """M a + C v + g = τ as SymPy matrices, in the symbols q, v and a (in the order of the arrays).

    `parameters` are the symbols that stand for numbers of the model, with their values. Quaternions have unit length.
    """

    name: str
    q: tuple[Any, ...]
    v: tuple[Any, ...]
    a: tuple[Any, ...]
    M: Any
    C: Any
    g: Any
    tau: Any
    parameters: dict[Any, float]

    def latex(self) -> str:
        """M, C, g and τ as LaTeX, an aligned equation each."""
        sympy = load_sympy()
        parts = (("M", self.M), ("C", self.C), ("g", self.g), (r"\tau", self.tau))
        lines = [f"{letter} &= {sympy.latex(matrix)}" for letter, matrix in parts]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def python(self, name: str = "equations") -> str:
        """The source of a function name(q, v) of plain Python that returns M, C (lists of rows) and g (a list).

        Parameters are keyword arguments, with their values as defaults. Common terms are computed once.
        """
        sympy = load_sympy()
        named = "".join(f", {symbol}={value!r}" for symbol, value in self.parameters.items())
        lines = ["from math import atan2, cos, sin, sqrt", "", "", f"def {name}(q, v{', *' if named else ''}{named}):"]
        lines += [
            f"    {_unpacked(symbols)} = {letter}" for letter, symbols in (("q", self.q), ("v", self.v)) if symbols
        ]
        common, found = sympy.cse([self.M, self.C, self.g], symbols=sympy.numbered_symbols("x_"))
        lines += [f"    {symbol} = {_source(x)}" for symbol, x in common]
        for letter, matrix in zip("MC", found, strict=False):
            rows = ("[" + ", ".join(map(_source, matrix.row(i))) + "]" for i in range(matrix.rows))
            lines.append(f"    {letter} = [{', '.join(rows)}]")
        lines.append(f"    g = [{', '.join(map(_source, found[2]))}]")
        return "\n".join([*lines, "    return M, C, g", ""])


def _unpacked(symbols: Sequence[Any]) -> str:
    return ", ".join(map(str, symbols)) + ("," if len(symbols) == 1 else "")


def _source(x: Any) -> str:
    return load_sympy().pycode(x, fully_qualified_modules=False)


class _Symbols(NamedTuple):
    """SymPy's symbols of a robot: coordinates, velocities, accelerations, and parameters with their values."""

    q: tuple[Any, ...]
    v: tuple[Any, ...]
    a: tuple[Any, ...]
    parameters: dict[Expr, Any]
    values: dict[Any, float]


def _symbols(names: Any, parameters: Parameters) -> _Symbols:
    """All different: names that become equal as identifiers are numbered."""
    sympy = load_sympy()
    listed = {"q": names.coordinates, "v": names.velocities, "a": names.velocities}
    q, v, a = (
        tuple(sympy.Symbol(x, real=True) for x in identifiers(f"{letter}_", own)) for letter, own in listed.items()
    )
    marks = identifiers("", (name for name, _ in parameters.found.values()))
    known = {x: sympy.Symbol(mark, real=True) for x, mark in zip(parameters.found, marks, strict=True)}
    return _Symbols(q, v, a, known, {known[x]: value for x, (_, value) in parameters.found.items()})


class _Spanning(NamedTuple):
    """M, C and g of the spanning tree, for the velocities `w` of all joints; and the maps of the loops, if any."""

    M: Any
    C: Any
    g: Any
    w: tuple[Any, ...]
    loops: LoopMap | None


def _traced(spanning: Model, recorder: Whole) -> list[Any]:
    """M, g and C of the spanning tree, flat, as traced expressions of q and v of all its joints."""
    flat: list[Any] = []
    for name in ("mass_matrix", "gravity_force", "coriolis_matrix"):
        method = METHODS[name]
        ((_, _, entries),) = method.record(Context(spanning, recorder, method.arguments))
        flat += entries
    return flat


def _check_size(name: str, flat: Sequence[Any], named: Collection[Expr]) -> None:
    """Refuse formulas that nobody would read; what is `named` is written once."""
    size = written_out(flat, named)
    if size > _LARGEST:
        raise ArgumentError(
            f"the equations of {name!r} have {size} operations when written out, more than "
            f"{_LARGEST}: formulas are for small mechanisms; use the compiled methods instead"
        )


def _spanning(model: Model, symbols: _Symbols, recorder: Whole, shorten: Any) -> _Spanning:
    sympy = load_sympy()
    lowered = model.lowered
    tree, n = lowered.tree, lowered.tree.nv
    tied = any(not group.is_free for group in lowered.groups)
    closed = closed_forms(lowered)
    flat = _traced(Model(model.mechanism, replace(closed, groups=free_groups(closed.tree))), recorder)
    q = _all_coordinates(model, symbols, recorder) if tied else symbols.q
    w = tuple(sympy.Dummy(f"w_{i}", real=True) for i in range(n)) if tied else symbols.v
    known = dict(zip((*recorder.arguments["q"], *recorder.arguments["v"]), (*q, *w), strict=True))
    unit = unit_lengths(tree, q)
    angles = rotation_angles(tree, recorder.arguments["q"], q)
    _check_size(model.mechanism.name, flat, angles.nodes)
    traced = to_sympy(flat, {**known, **symbols.parameters, **angles.nodes})
    found = [shorten(x.xreplace(unit)).xreplace(angles.values) for x in traced]
    M, C = (sympy.Matrix(n, n, part) for part in (found[: n * n], found[n * n + n :]))
    g = sympy.Matrix(n, 1, found[n * n : n * n + n])
    return _Spanning(M, C, g, w, loop_map(tree, lowered.groups, q, w, symbols.parameters) if tied else None)


def _all_coordinates(model: Model, symbols: _Symbols, recorder: Whole) -> list[Any]:
    """The coordinates of all joints: those that explicit loops determine as formulas of the others."""
    own = Whole(recorder.graph)
    context = Context(Model(model.mechanism, model.lowered), own, ("q",))
    flat = [x for part in context.coordinates() for x in part]
    return to_sympy(flat, {**dict(zip(own.arguments["q"], symbols.q, strict=True)), **symbols.parameters})


def _on_independent(s: _Spanning, v: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Gᵀ M G, Gᵀ (C G + M Ġ) and Gᵀ g, with the velocities G v of all joints."""
    if s.loops is None:
        return s.M, s.C, s.g
    sympy = load_sympy()
    G, G_rate = s.loops
    moving = dict(zip(s.w, G * sympy.Matrix(len(v), 1, v), strict=True))
    C = G.T * (s.C * G + s.M * G_rate)
    return G.T * s.M * G, C.applyfunc(lambda x: x.xreplace(moving)), G.T * s.g


def make_equations(model: Model, names: Any, symbols: bool, simplify: bool) -> Equations:
    """The equations of a robot; `names` are those of its coordinates and velocities."""
    sympy = load_sympy()
    recorder = Whole()
    parameters = Parameters(recorder.graph)
    if symbols:
        model = Model(*with_symbols(model.mechanism, model.lowered, parameters))
    known = _symbols(names, parameters)
    shorten = tidy if simplify else _as_it_is
    spanning = _spanning(model, known, recorder, shorten)
    M, C, g = _on_independent(spanning, known.v)
    a, v = (sympy.Matrix(len(x), 1, x) for x in (known.a, known.v))
    tau = M * a + C * v + g
    if spanning.loops is None:
        tau = tau.applyfunc(shorten)
    M, C, g, tau = (sympy.ImmutableMatrix(x) for x in (M, C, g, tau))
    return Equations(model.mechanism.name, known.q, known.v, known.a, M, C, g, tau, known.values)


def _as_it_is(x: Any) -> Any:
    return x
