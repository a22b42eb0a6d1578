"""The equations of motion as formulas: M(q), C(q, v), g(q) and τ in SymPy, as LaTeX, as Python. The steps are those
that are compiled, run on symbols; the result is simplified as far as that is quick.

`SymbolicRecorder` keeps everything in one graph of expressions, for work with formulas instead of code.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from ..errors import ArgumentError, FourbarError, extra
from ..expr import Expr, cos, reachable, sin, sqrt
from ..expr.node import Graph
from ..functions.arguments import Q
from ..functions.context import Context, Model
from ..functions.registry import METHODS
from ..joints.base import Joint
from ..joints.composite import SeriesJoint
from ..joints.lie import Free, Spherical
from ..joints.rotational import SphericalExponential
from ..representation import quantity
from ..spatial.linear import Mat, Scalar, Vec, dot, hat, zeros
from ..spatial.subspace import Columns, Subspace
from ..spatial.transform import Transform
from ..tree.cluster_tree import ClusterTree
from ..tree.clusters import Cluster, single_clusters
from ..tree.embedding import LoopEmbedding
from ..tree.parameter_changes import Parameters, with_symbols
from ..tree.spanning_tree import SpanningTree


class SymbolicRecorder:
    """Steps are called on expressions; the results are expressions of the arguments, to differentiate or to print."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = graph or Graph()
        self.arguments: dict[str, tuple[Expr, ...]] = {}

    def input(self, name: str, shape: tuple[int, ...]) -> tuple[Expr, ...]:
        """Declare an argument; its entries come back flat, row-major."""
        return self.arguments.setdefault(name, self.graph.inputs(name, prod(shape)))

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """The function, called."""
        return function(*args)


_FINEST = 64.0  # multiples of 1/64 are written as fractions, others as decimals


def load_sympy() -> Any:
    """The module sympy, or an error that says how to get it."""
    try:
        import sympy
    except ImportError:
        raise FourbarError("symbolic equations need SymPy, which is not installed: " + extra("sympy")) from None
    return sympy


def number(x: float) -> Any:
    """A float as a SymPy number: whole numbers and simple binary fractions exactly, others as decimals."""
    sympy = load_sympy()
    if x != x:
        return sympy.nan
    return sympy.Rational(x) if (x * _FINEST).is_integer() else sympy.Float(x)


def _meaning() -> dict[str, Callable[..., Any]]:
    sympy = load_sympy()
    return {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "div": operator.truediv,
        "neg": operator.neg,
        "lt": sympy.Lt,
        "le": sympy.Le,
        "sin": sympy.sin,
        "cos": sympy.cos,
        "sqrt": sympy.sqrt,
        "atan2": sympy.atan2,
        "min": sympy.Min,
        "max": sympy.Max,
        "select": lambda condition, a, b: sympy.Piecewise((a, condition), (b, True)),
    }


def to_sympy(roots: Sequence[Any], symbols: Mapping[Expr, Any]) -> list[Any]:
    """The roots as SymPy expressions, every input replaced by its symbol (or any other SymPy expression)."""
    meaning = _meaning()
    known: dict[int, Any] = {x.id: symbol for x, symbol in symbols.items()}

    def operand(x: Any) -> Any:
        return known[x.id] if x.__class__ is Expr else number(float(x))

    for node in reachable(roots):
        if node.id not in known:
            if node.op not in meaning:
                raise KeyError(f"no symbol was given for {node!r}")
            known[node.id] = meaning[node.op](*map(operand, node.args))
    return [operand(r) for r in roots]


_LARGEST = 200_000  # operations of all formulas, written out


@dataclass(frozen=True)
class Equations:
    """M a + C v + g = τ as SymPy matrices; what `System.equations` returns.

    Parameters
    ----------
    name : str
        Name of the robot.
    q : tuple of Symbol
        Coordinates, in the order of the arrays; quaternions have unit length.
    v : tuple of Symbol
        Velocities.
    a : tuple of Symbol
        Accelerations.
    M : Matrix
        Mass matrix.
    C : Matrix
        Coriolis matrix.
    g : Matrix
        Gravity forces.
    tau : Matrix
        Joint forces.
    parameters : dict of Symbol to float
        Symbols that stand for numbers of the model, with their values.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("slide", gravity=(0, 0, 0))
    >>> equations = b.body("block", joint=fb.joints.Prismatic("x"), mass=2.0).build().equations()
    >>> equations.tau
    Matrix([[2*a_block]])
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

    def __repr__(self) -> str:
        sizes = f"{quantity(len(self.q), 'coordinate')}, {quantity(len(self.v), 'velocity', 'velocities')}"
        return f"<fourbar Equations of {self.name!r}: {sizes}, {quantity(len(self.parameters), 'parameter')}>"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"

    def latex(self) -> str:
        """M, C, g and τ as LaTeX.

        Returns
        -------
        str
            One aligned equation each.
        """
        sympy = load_sympy()
        parts = (("M", self.M), ("C", self.C), ("g", self.g), (r"\tau", self.tau))
        lines = [f"{letter} &= {sympy.latex(matrix)}" for letter, matrix in parts]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def python(self, name: str = "equations") -> str:
        """Source of a plain Python function that computes M, C and g.

        Parameters
        ----------
        name : str, default 'equations'
            Name of the function.

        Returns
        -------
        str
            The source of ``name(q, v)``, which returns M, C (lists of rows) and g (a list). Parameters are keyword
            arguments, with their values as defaults; common terms are computed once.
        """
        sympy = load_sympy()
        named = "".join(f", {symbol}={value!r}" for symbol, value in self.parameters.items())
        lines = ["from math import atan2, cos, sin, sqrt", "", "", f"def {name}(q, v{', *' if named else ''}{named}):"]
        lines += [
            f"    {_unpack_text(symbols)} = {letter}" for letter, symbols in (("q", self.q), ("v", self.v)) if symbols
        ]
        common, matrices = sympy.cse([self.M, self.C, self.g], symbols=sympy.numbered_symbols("x_"))
        lines += [f"    {symbol} = {_source(x)}" for symbol, x in common]
        for letter, matrix in zip("MC", matrices, strict=False):
            rows = ("[" + ", ".join(map(_source, matrix.row(i))) + "]" for i in range(matrix.rows))
            lines.append(f"    {letter} = [{', '.join(rows)}]")
        lines.append(f"    g = [{', '.join(map(_source, matrices[2]))}]")
        return "\n".join([*lines, "    return M, C, g", ""])


def _unpack_text(symbols: Sequence[Any]) -> str:
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


def _trace(spanning: Model, recorder: SymbolicRecorder) -> list[Any]:
    """M, g and C of the spanning tree, flat, as traced expressions of q and v of all its joints."""
    flat: list[Any] = []
    for name in ("mass_matrix", "gravity_force", "coriolis_matrix"):
        method = METHODS[name]
        ((_, _, entries),) = method.record(Context(spanning, recorder, method.all_arguments(spanning)))
        flat += entries
    return flat


def _check_size(name: str, flat: Sequence[Any], named: Collection[Expr]) -> None:
    """Refuse formulas too long to read; what is `named` is written once."""
    size = unshared_operations(flat, named)
    if size > _LARGEST:
        raise ArgumentError(
            f"the equations of {name!r} have {size} operations when written out, more than "
            f"{_LARGEST}: formulas are for small mechanisms; use the compiled methods instead"
        )


def _spanning(model: Model, symbols: _Symbols, recorder: SymbolicRecorder, shorten: Any) -> _Spanning:
    sympy = load_sympy()
    cluster_tree = model.cluster_tree
    tree, n = cluster_tree.spanning_tree, cluster_tree.spanning_tree.nv
    tied = any(not cluster.is_free for cluster in cluster_tree.clusters)
    closed = closed_forms(cluster_tree)
    flat = _trace(Model(model.mechanism, replace(closed, clusters=single_clusters(closed.spanning_tree))), recorder)
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
    return _Spanning(M, C, g, w, loop_map(tree, cluster_tree.clusters, q, w, symbols.parameters) if tied else None)


def _all_coordinates(model: Model, symbols: _Symbols, recorder: SymbolicRecorder) -> list[Any]:
    """The coordinates of all joints: those that explicit loops determine as formulas of the others."""
    own = SymbolicRecorder(recorder.graph)
    context = Context(Model(model.mechanism, model.cluster_tree), own, [Q.on(model)])
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
    recorder = SymbolicRecorder()
    parameters = Parameters(recorder.graph)
    if symbols:
        model = Model(*with_symbols(model.mechanism, model.cluster_tree, parameters))
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


_SIMPLIFIED = 600  # operations of one entry up to which it is simplified
_EXPANDED = 800  # operations up to which an expanded formula is simplified further
_DUST = 1e-15  # rounding errors of sums that vanish, relative to the largest number of a formula


def identifiers(prefix: str, names: Iterable[str]) -> list[str]:
    """Names as identifiers, all different."""
    names_used: list[str] = []
    for i, name in enumerate(names):
        plain = re.sub(r"\W", "_", f"{prefix}{name}")
        names_used.append(f"{plain}_{i}" if plain in names_used else plain)
    return names_used


def unshared_operations(roots: Sequence[Any], named: Collection[Expr] = ()) -> int:
    """Number of operations of traced expressions if only what is `named` is shared."""
    size: dict[int, int] = {}
    names = {x.id for x in named}
    for node in reachable(roots):
        size[node.id] = 1 if node.id in names else 1 + sum(size[a.id] for a in node.args if a.__class__ is Expr)
    return sum(size[r.id] for r in roots if r.__class__ is Expr)


def tidy(x: Any) -> Any:
    """A formula simplified where that is quick: sums of products, with the addition theorems of sine and cosine."""
    sympy = load_sympy()
    if x.count_ops() > _SIMPLIFIED or x.has(sympy.Piecewise):
        return x
    above, below = sympy.fraction(sympy.together(x))
    return _shorten(x) if below.is_number else _shorten(above) / _shorten(below)


def _shorten(x: Any) -> Any:
    """A formula without fractions: the shortest of the original, the expanded one, and one with products of sines as
    sums.
    """
    sympy = load_sympy()
    from sympy.simplify.fu import TR8  # products of sines and cosines to sums

    expanded = sympy.expand(x)
    forms = [x, expanded]
    if expanded.count_ops() <= _EXPANDED and expanded.has(sympy.sin, sympy.cos):
        forms.append(sympy.expand(TR8(expanded)))
    forms = [clean(form) for form in forms]
    return min([sympy.factor_terms(forms[-1]), *reversed(forms)], key=lambda form: form.count_ops())


def clean(x: Any) -> Any:
    """Without rounding errors of vanishing sums, and with integers written as such."""
    sympy = load_sympy()
    floats = x.atoms(sympy.Float)
    largest = max(map(abs, floats), default=0)
    return x.xreplace({f: sympy.Integer(0) if abs(f) < _DUST * largest else number(float(f)) for f in floats})


def _quaternions(joint: Joint) -> list[int]:
    """Where the quaternions of a joint begin in its coordinates."""
    if isinstance(joint, SeriesJoint):
        return [link.q.start + at for link in joint._links for at in _quaternions(link.joint)]
    return [joint.nq - 4] if isinstance(joint, Free | Spherical) else []


def unit_lengths(tree: SpanningTree, q: Sequence[Any]) -> dict[Any, Any]:
    """For every quaternion among the coordinates of a tree: its squared length, to be replaced by one."""
    parts = zip(tree.links, tree.split_q(q), strict=True)
    starts = [own[at : at + 4] for link, own in parts for at in _quaternions(link.joint)]
    return {sum(x**2 for x in quaternion): number(1.0) for quaternion in starts}


class LoopMap(NamedTuple):
    """q̇ = G ẏ and Ġ as SymPy matrices (velocities of all joints x independent velocities)."""

    G: Any
    G_rate: Any


def _loop_blocks(
    tie: LoopEmbedding, q: Sequence[Any], v: Sequence[Any], parameters: Mapping[Expr, Any]
) -> tuple[Any, Any]:
    """G and Ġ of links connected by loops, at coordinates q and velocities v of all their joints."""
    sympy = load_sympy()
    n, m = len(tie.traced.v), len(tie.rows)
    p, inputs = to_sympy(tie.p, parameters), (*tie.traced.q, *tie.traced.p)
    entries = to_sympy([x for i in tie.rows for x in tie.traced.K[i]], dict(zip(inputs, (*q, *p), strict=True)))
    K = sympy.Matrix(m, n, [tidy(x) for x in entries])
    rate = tie.K_rate
    slopes = to_sympy(rate.entries, dict(zip((*rate.q, *rate.v, *rate.still), (*q, *v, *p), strict=True)))
    K_rate = sympy.Matrix(m, n, [tidy(x) for x in slopes])
    K_d = K[:, list(tie.dependent)]
    adjugate, determinant = K_d.adjugate(), tidy(K_d.det(method="berkowitz"))
    scales = sympy.diag(*(sympy.nsimplify(scale) for _, scale in tie.independent))
    independent = [j for j, _ in tie.independent]
    G, G_rate = sympy.zeros(n, tie.nv), sympy.zeros(n, tie.nv)
    _put(G, independent, scales)
    _put(G, tie.dependent, (-adjugate * K[:, independent] * scales).applyfunc(lambda x: tidy(x) / determinant))
    bent = (-adjugate * K_rate).applyfunc(lambda x: tidy(x) / determinant)
    _put(G_rate, tie.dependent, bent * G)
    return G, G_rate


def _put(target: Any, rows: Sequence[int], block: Any) -> None:
    for i, row in enumerate(rows):
        target[row, :] = block[i, :]


def loop_map(
    tree: SpanningTree, clusters: Sequence[Cluster], q: Sequence[Any], v: Sequence[Any], parameters: Mapping[Expr, Any]
) -> LoopMap:
    """G and Ġ of a robot, at coordinates q and velocities v of all its joints; `parameters` by their traces."""
    sympy = load_sympy()
    nv = sum(cluster.embedding.nv for cluster in clusters)
    G, G_rate = sympy.zeros(tree.nv, nv), sympy.zeros(tree.nv, nv)
    by_link, rates = tree.split_q(q), tree.split_v(v)
    first = 0
    for cluster in clusters:
        rows = [tree.first_v[i] + k for i in cluster.links for k in range(tree.links[i].joint.nv)]
        columns = slice(first, first + cluster.embedding.nv)
        first += cluster.embedding.nv
        if cluster.tie is not None:
            own_q, own_v = ([x for i in cluster.links for x in part[i]] for part in (by_link, rates))
            blocks = _loop_blocks(cluster.tie, own_q, own_v, parameters)
        else:
            blocks = sympy.eye(len(rows)), sympy.zeros(len(rows), len(rows))
        for target, block in zip((G, G_rate), blocks, strict=True):
            for i, row in enumerate(rows):
                target[row, columns] = block[i, :]
    return LoopMap(G, G_rate)


@dataclass(frozen=True)
class ClosedExponential(SphericalExponential):
    """The same joint as formulas that hold for φ ≠ 0."""

    def placement(self, q: Sequence[Scalar]) -> Transform:
        s, h = dot(q, q), hat(q)
        t = sqrt(s)
        return Transform((Mat.identity(3) + h * (sin(t) / t) + (h @ h) * ((1.0 - cos(t)) / s),))

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        s, h = dot(q, q), hat(q)
        t = sqrt(s)
        D = Mat.identity(3) - h * ((1.0 - cos(t)) / s) + (h @ h) * ((t - sin(t)) / (s * t))
        return Columns(tuple(Vec((*column, *zeros(3))) for column in D.T))


def closed_forms(cluster_tree: ClusterTree) -> ClusterTree:
    """A mechanism whose joints with rotation vectors are written as formulas."""
    spanning = cluster_tree.spanning_tree
    if not any(isinstance(c.joint, SphericalExponential) for c in spanning.links):
        return cluster_tree
    closed = [
        c._replace(joint=ClosedExponential()) if isinstance(c.joint, SphericalExponential) else c
        for c in spanning.links
    ]
    tree = replace(spanning, links=tuple(closed))
    return replace(cluster_tree, spanning_tree=tree, equivalent=tree, unturned=tree)


class Angles(NamedTuple):
    """The angles |φ| as symbols: what they stand for in a trace, and their formulas."""

    nodes: dict[Expr, Any]
    values: dict[Any, Any]


def rotation_angles(tree: SpanningTree, traced: Sequence[Any], q: Sequence[Any]) -> Angles:
    """The angles of all rotation vectors, from the traced coordinates of a tree and their symbols."""
    sympy = load_sympy()
    angles = Angles({}, {})
    for link, own, symbols in zip(tree.links, tree.split_q(traced), tree.split_q(q), strict=True):
        if isinstance(link.joint, SphericalExponential):
            angle, s = sympy.Dummy("angle", positive=True), dot(own, own)
            angles.nodes.update({s: angle**2, sqrt(s): angle})  # type: ignore[dict-item]
            angles.values[angle] = sympy.sqrt(sum(x**2 for x in symbols))
    return angles
