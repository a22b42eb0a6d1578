"""The tracer of what restricts motion: loops and conditions as expressions, with their derivatives.

Loops that are embedded are traced over the coordinates of the joints that they tie (`trace_loops`), rows that are held
by forces over the motions of links and joints that they look at (`trace_rows`). Both are differentiated by a `Tracer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

from ..errors import ModelError
from ..expr import Expr, Graph, evaluate, jvp, vjp
from ..expr.autodiff import reachable
from ..expr.fold import add, mul
from ..joints.base import Joint
from ..spatial.linear import Mat, Scalar, Vec, hat, is_zero
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .condition import Restriction, check_linear, look_up

Residual = Callable[[Sequence[Vec], Mapping[str, Twist]], Sequence[Scalar]]
GROUND = -1
_MANY = 3  # columns for each row from which on a Jacobian is cheaper backward
_LINK = (9, 3, 3, 3, 3, 3, 9)  # numbers of a moving link: R, p, ω, v, α, a, Γ
LINK_SIZE = sum(_LINK)
PLACE_SIZE = 12  # numbers of a pose: R, p


def cut(x: Sequence[Any], sizes: Sequence[int]) -> tuple[Vec, ...]:
    """A sequence in pieces of the given sizes."""
    ends = list(accumulate(sizes))
    return tuple(Vec(x[end - size : end]) for end, size in zip(ends, sizes, strict=True))


class Tracer:
    """Expressions of symbols, differentiated along time and other small changes, and taken where these are zero."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._changes: list[Expr] = []
        (self.t,) = self.changes("t", 1)

    def symbols(self, name: str, size: int) -> tuple[Expr, ...]:
        """The inputs of the expressions."""
        return self._graph.inputs(name, size)

    def changes(self, name: str, size: int) -> tuple[Expr, ...]:
        """The variables of differentiation, zero at the end."""
        found = self._graph.inputs(name, size)
        self._changes += found
        return found

    def rates(self, x: Sequence[Scalar]) -> list[Scalar]:
        """Derivatives along time."""
        return jvp(x, {self.t: 1.0})

    def transplant(self, inputs: Sequence[Expr], x: Sequence[Scalar]) -> tuple[tuple[Expr, ...], list[Scalar]]:
        """The symbols `inputs` in a graph of their own, and expressions of them there, folded. All at once: they have
        much in common."""
        symbols = Graph().inputs("x", len(inputs))
        known: dict[Expr, Any] = {**dict(zip(inputs, symbols, strict=True)), **dict.fromkeys(self._changes, 0.0)}
        return symbols, evaluate(x, known)


@dataclass(frozen=True)
class LoopTrace:
    """φ, K and φ̈ at constant velocity as expressions of the coordinates (and velocities) of a cluster's joints."""

    q: tuple[Expr, ...]
    v: tuple[Expr, ...]
    phi: tuple[Scalar, ...]
    K: tuple[tuple[Scalar, ...], ...]
    curvature: tuple[Scalar, ...]
    bodies: tuple[str, ...]  # that the residual looks at
    pull: tuple[tuple[tuple[Scalar, ...], ...], ...]  # for each body and each of its six displacements: ∂φ
    entries: tuple[tuple[int, ...], ...]  # for each row of K the columns of its entries that are not zero
    p: tuple[Expr, ...] = ()  # changes of numbers of the mechanism on which all of this depends too

    def only(self, rows: Sequence[int]) -> LoopTrace:
        """The trace with some of the rows."""
        phi, K, curvature, entries = (
            tuple(x[i] for i in rows) for x in (self.phi, self.K, self.curvature, self.entries)
        )
        pull = tuple(tuple(tuple(column[i] for i in rows) for column in columns) for columns in self.pull)
        return replace(self, phi=phi, K=K, curvature=curvature, entries=entries, pull=pull)

    @property
    def bodies_by_row(self) -> list[tuple[str, ...]]:
        """For each row the bodies whose displacements may change it."""
        pulls = list(zip(self.bodies, self.pull, strict=True))
        return [
            tuple(body for body, columns in pulls if any(not is_zero(column[i]) for column in columns))
            for i in range(len(self.phi))
        ]

    @property
    def roots(self) -> list[Scalar]:
        """Everything except the zeros of K, which `entries` lists."""
        pulls = [x for columns in self.pull for column in columns for x in column]
        rows = [row[j] for row, own in zip(self.K, self.entries, strict=True) for j in own]
        return [*self.phi, *rows, *self.curvature, *pulls]


def trace_loops(
    joints: Sequence[Joint], residual: Residual, bodies: Sequence[str], p: Sequence[Expr] = ()
) -> LoopTrace:
    """Differentiate a residual along the joints' motions q ⊕ δ, and along displacements of the bodies it looks at.

    The residual may hold symbols p of its own.
    """
    nq, nv = [j.nq for j in joints], [j.nv for j in joints]
    tracer = Tracer(p[0].graph if p else Graph())
    q, v, delta = tracer.symbols("q", sum(nq)), tracer.symbols("v", sum(nv)), tracer.changes("delta", sum(nv))
    nudges = tracer.changes("nudge", 6 * len(bodies))
    shifts: list[Any] = [add(a, mul(tracer.t, b)) for a, b in zip(delta, v, strict=True)]
    moved = [j.integrate(x, d) for j, x, d in zip(joints, cut(q, nq), cut(shifts, nv), strict=True)]
    displaced = {body: Twist.of(nudges[6 * b : 6 * b + 6]) for b, body in enumerate(bodies)}
    phi = list(residual(moved, displaced))
    columns = _sparse_columns(phi, delta) + _sparse_columns(phi, nudges)
    derivatives = [x for column in columns for x in column.values()]
    symbols, found = tracer.transplant((*q, *v, *p), [*phi, *derivatives, *tracer.rates(tracer.rates(phi))])
    m, n = len(phi), len(delta)
    values, slopes, curvature = (tuple(x) for x in cut(found, (m, len(derivatives), m)))
    K: list[list[Scalar]] = [[0.0] * n for _ in range(m)]
    pull: list[list[Scalar]] = [[0.0] * m for _ in nudges]
    entries: list[list[int]] = [[] for _ in range(m)]
    for i, j, entry in _entries(columns, slopes):
        if j >= n:
            pull[j - n][i] = entry
        elif not is_zero(entry):
            K[i][j] = entry
            entries[i].append(j)
    pulls = tuple(tuple(tuple(x) for x in pull[6 * b : 6 * b + 6]) for b in range(len(bodies)))
    rows, places = tuple(map(tuple, K)), tuple(map(tuple, entries))
    q_out, v_out, p_out = (tuple(x) for x in cut(symbols, (len(q), len(v), len(p))))
    return LoopTrace(q_out, v_out, values, rows, curvature, tuple(bodies), pulls, places, p_out)


def _entries(columns: Sequence[Mapping[int, Scalar]], values: Iterable[Scalar]) -> Iterator[tuple[int, int, Scalar]]:
    """Row, column and value of all entries of sparse columns, with other values."""
    places = ((i, j) for j, column in enumerate(columns) for i in column)
    return ((i, j, x) for (i, j), x in zip(places, values, strict=True))


def _supports(nodes: Sequence[Expr], inputs: Sequence[Expr]) -> dict[int, int]:
    """For each node, by its id, the inputs that it depends on, as the bits of a number."""
    supports: dict[int, int] = {x.id: 1 << n for n, x in enumerate(inputs)}
    for node in nodes:
        if node.id not in supports:
            support = 0
            for a in node.args:
                if a.__class__ is Expr:
                    support |= supports[a.id]
            supports[node.id] = support
    return supports


def _bits(number: int) -> list[int]:
    """The places of the bits of a number."""
    positions = []
    while number:
        lowest = number & -number
        positions.append(lowest.bit_length() - 1)
        number ^= lowest
    return positions


def _sparse_columns(phi: Sequence[Scalar], along: Sequence[Expr]) -> list[dict[int, Scalar]]:
    """∂φ along each input, by row, without zeros: forward or, where rows are few beside their columns, backward."""
    nodes = reachable(phi)
    supports = _supports(nodes, along)
    columns = [_bits(supports[x.id]) if x.__class__ is Expr else [] for x in phi]
    touched = len({j for own in columns for j in own})
    if touched > _MANY * max(1, len(phi)):
        backward: list[dict[int, Scalar]] = [{} for _ in along]
        for i, indices in enumerate(columns):
            for j, rate in zip(indices, vjp([phi[i]], [1.0], [along[j] for j in indices]), strict=True):
                if not is_zero(rate):
                    backward[j][i] = rate
        return backward
    rows: list[list[int]] = [[] for _ in along]
    for i, indices in enumerate(columns):
        for j in indices:
            rows[j].append(i)
    between: list[list[Expr]] = [[] for _ in along]
    for node in nodes:
        for j in _bits(supports[node.id]):
            between[j].append(node)
    columns_of_K = []
    for x, indices, between_entry in zip(along, rows, between, strict=True):
        rates = jvp([phi[i] for i in indices], {x: 1.0}, between_entry)
        columns_of_K.append({i: rate for i, rate in zip(indices, rates, strict=True) if not is_zero(rate)})
    return columns_of_K


class Taylor(NamedTuple):
    """A link to second order in time, relative to its carrier: R, p; ω, v; α, a (classical), Γ = [α] + [ω]²."""

    R: Mat  # (3, 3)
    p: Vec  # (3,), as all vectors here
    w: Vec
    v: Vec
    al: Vec
    acc: Vec
    G: Mat  # (3, 3)

    @staticmethod
    def of(flat: Sequence[Scalar]) -> Taylor:
        """From its numbers, one after the other."""
        parts, at = [], 0
        for size in _LINK:
            own = Vec(flat[at : at + size])
            parts.append(own if size == 3 else Mat((Vec(own[:3]), Vec(own[3:6]), Vec(own[6:]))))
            at += size
        return Taylor(*parts)

    def pose(self, t: Scalar) -> Transform:
        """Pose after a time t, up to t²."""
        half = 0.5 * t * t
        R = self.R + (self.R @ hat(self.w)) * t + (self.R @ self.G) * half
        return Transform((R,), self.p + (self.R @ self.v) * t + (self.R @ self.acc) * half)

    def twist(self, t: Scalar) -> Twist:
        """Velocity in its own axes after a time t, up to t."""
        return Twist(self.w + self.al * t, self.v + (self.acc - self.w.cross(self.v)) * t)


@dataclass(frozen=True, eq=False)
class RowTrace:
    """Expressions of the numbers of the links (`LINK_SIZE` each), then q, v, a of the joints, then, if places may
    change, their poses (`PLACE_SIZE` each), then changes of the condition's own numbers."""

    inputs: tuple[Expr, ...]
    phi: tuple[Scalar, ...]  # zero for rows that are not the rate of anything
    rate: tuple[Scalar, ...]
    acceleration: tuple[Scalar, ...]
    pull: tuple[tuple[tuple[Scalar, ...], ...], ...]  # for each link: m rows of six
    turn: tuple[tuple[tuple[Scalar, ...], ...], ...]  # for each joint: m rows over its velocities
    holonomic: bool

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.rate)

    @property
    def entries(self) -> list[Scalar]:
        """All entries of A."""
        return [x for part in (*self.pull, *self.turn) for row in part for x in row]


class VariedCondition(NamedTuple):
    """A condition as a function of its numbers: `at` returns it for given values of them."""

    at: Callable[[Vec], Restriction]
    size: int = 0


def trace_rows(
    varied: VariedCondition,
    places: Mapping[str, tuple[int, Transform]],
    links: Sequence[int],
    joints: Mapping[str, Joint],
    changing: bool = False,
) -> RowTrace:
    """Differentiate a condition in time, and its rates along the motions of links and joints.

    `places`: link and pose in it of what the condition looks at; `links`: those of them that move. The poses are inputs
    too if they are `changing`, and so are changes of the condition's numbers.
    """
    tracer = Tracer(Graph())
    numbers = Vec(tracer.symbols("number", varied.size))
    condition = varied.at(numbers)
    poses = [tracer.symbols(f"place{k}", PLACE_SIZE) for k in range(len(places) if changing else 0)]
    if changing:
        homes = zip(places.items(), poses, strict=True)
        places = {name: (link, _pose(own)) for (name, (link, _)), own in homes}
    flat = [tracer.symbols(f"link{i}", LINK_SIZE) for i in links]
    moving = {i: Taylor.of(x) for i, x in zip(links, flat, strict=True)}
    state = {name: (j, *_moving(tracer, f"{k}", j)) for k, (name, j) in enumerate(joints.items())}
    phi, rate = condition.residual_and_rates(_ConditionView(condition, tracer.t, places, moving, state), tracer.rates)
    if not rate:
        raise ModelError(f"{condition!r} constrains nothing: it has no rows")
    acceleration = tracer.rates(rate)
    along: list[list[Any]] = [[*link.w, *link.v] for link in moving.values()] + [[*v] for _, _, v, _ in state.values()]
    columns = [jvp(rate, {x: 1.0}) for part in along for x in part]
    inputs: list[Any] = [x for link in flat for x in link]
    inputs += [x for _, q, v, a in state.values() for x in (*q, *v, *a)]
    inputs += [*(x for own in poses for x in own), *numbers]
    every = [phi, rate, acceleration, *columns]
    symbols, found = tracer.transplant(inputs, [x for part in every for x in part])
    phi, rate, acceleration, *columns = cut(found, [len(rate)] * len(every))
    slopes = [tuple(zip(*part, strict=True)) for part in cut(columns, [len(part) for part in along])]  # columns to rows
    pull, turn = tuple(slopes[: len(moving)]), tuple(slopes[len(moving) :])
    traced = RowTrace(symbols, phi, rate, acceleration, pull, turn, condition.holonomic)
    if not traced.holonomic:
        moved = {x for part in along for x in part}
        moves = {y: x in moved for x, y in zip(inputs, symbols, strict=True)}
        check_linear(condition, traced.rate, traced.entries, moves)
    return traced


class _ConditionView:
    """The robot at time t, as a condition sees it."""

    def __init__(
        self,
        condition: Restriction,
        t: Scalar,
        places: Mapping[str, tuple[int, Transform]],
        links: Mapping[int, Taylor],
        joints: Mapping[str, tuple[Joint, Vec, Vec, Vec]],
    ) -> None:
        self._of, self._t, self._places, self._links, self._joints = condition, t, places, links, joints

    def q(self, joint: str) -> Vec:
        kind, q, v, a = look_up(self._of, "joints", self._joints, joint)
        return kind.integrate(q, v * self._t + a * (0.5 * self._t * self._t))

    def v(self, joint: str) -> Vec:
        _, _, v, a = look_up(self._of, "joints", self._joints, joint)
        return v + a * self._t

    def pose(self, body: str) -> Transform:
        link, inner = look_up(self._of, self._of.sights, self._places, body)
        return inner if link == GROUND else self._links[link].pose(self._t).then(inner)

    def twist(self, place: str) -> Twist:
        link, inner = look_up(self._of, "places", self._places, place)
        return Twist.zero() if link == GROUND else inner.motion_to_child(self._links[link].twist(self._t))


def _moving(tracer: Tracer, of: str, joint: Joint) -> tuple[Vec, Vec, Vec]:
    """q, v, a of a joint."""
    q, v, a = (Vec(tracer.symbols(x + of, n)) for x, n in (("q", joint.nq), ("v", joint.nv), ("a", joint.nv)))
    return q, v, a


def _pose(entries: Sequence[Scalar]) -> Transform:
    """A place from its numbers."""
    R = Mat(Vec(entries[i : i + 3]) for i in (0, 3, 6))
    return Transform((R,), Vec(entries[9:]))
