"""The equations of a step under MuJoCo's law: impulses are a function of the velocities of rows, λ = φ(c).

c looks at the accelerations a_c with M itself, while the step ends with a, under the implicit damping of M̃ = M + dt D:

    ID(q, v, a_c) = forces + Jᵀ λ / dt,   λ = φ(c(a_c), b),   ID(q, v, a) + dt D a = forces + Jᵀ λ / dt
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ...expr import Graph, jvp, maximum, minimum, prepare, select
from ...functions import projection
from ...functions.registry import flat
from ...spatial.linear import Mat, Scalar, Vec
from ...tree.clusters import Cluster
from ...tree.links import Link
from ..candidates import JointRow
from ..cones import Cone, Row, of_cone, of_row
from ..gauss_seidel import RowBlock, norm, size_of
from ..implicit_forces import ImplicitDamping
from ..soft_step import soft_row, soft_terms
from .known_step import KnownStep
from .modes import BlockSlopes

_FAR = 1e20  # m/s: what is not there


def _answer(joint: bool, c: Sequence[Scalar], bounds: Sequence[Scalar]) -> list[Scalar]:
    """φ of a block: of a contact with its cone's slope and softness, and its units; of a joint's row."""
    if joint:
        return list(of_row(Row(*bounds[:7]), c[0]).impulse)
    slope, softness, _, *unit = bounds
    inside = [x * u for x, u in zip(c, unit, strict=True)]
    return [x * u for x, u in zip(of_cone(Cone(slope, softness), inside).impulse, unit, strict=True)]


@cache
def _trace_slopes(joint: bool, n: int, m: int) -> Any:
    """c (n), bounds (m) -> φ, its slopes by c, and by the bounds, column by column."""
    graph = Graph()
    c, bounds = graph.inputs("c", n), graph.inputs("bounds", m)
    roots = _answer(joint, c, bounds)
    columns = [y for x in (*c, *bounds) for y in jvp(roots, {x: 1.0})]
    return prepare([*roots, *columns], (*c, *bounds))


def soft_block_slopes(block: RowBlock, own: Vec, bounds: Vec, x: Vec, c: Vec, smoothing: float) -> BlockSlopes:
    """The linearised law of a block; it is smooth but for its corners, which are not rounded further."""
    n, m = block.size, len(bounds)
    entries = _trace_slopes(block.joint, n, m)((*c, *bounds))
    phi, slopes = entries[:n], [entries[n * (1 + k) : n * (2 + k)] for k in range(n + m)]
    velocity = Mat(Vec([-slopes[j][i] for j in range(n)]) for i in range(n))
    by_bounds = Mat(Vec([slopes[n + j][i] for j in range(m)]) for i in range(n))
    residual = norm([a - b for a, b in zip(phi, x, strict=True)]) * own[0]
    margin = _joint_margin(bounds, c[0]) if block.joint else _cone_margin(bounds, c)
    return BlockSlopes(Mat.identity(n), velocity, by_bounds, margin, residual)


def _cone_margin(bounds: Vec, c: Vec) -> Scalar:
    """How far a contact is from opening, from entering, and from the edge of its cone."""
    slope, _, position, *unit = bounds
    inside = [x * u for x, u in zip(c, unit, strict=True)]
    margin = size_of([inside[0]])
    if len(c) > 1:
        t, normal = norm(inside[1:]), -inside[0]
        margin = minimum(size_of([t - slope * normal]), size_of([slope * t + normal]))
    return select(position < 0.0, minimum(margin, -position), position)


def _joint_margin(bounds: Vec, c: Scalar) -> Scalar:
    """How far dry friction is from slipping, and a coordinate from its limits."""
    row = Row(*bounds[:7])
    slip = size_of([size_of([row.rest - c]) - row.hold * row.friction])
    margin = select(row.friction < _FAR, slip, _FAR)
    for end, weight in ((row.lower, row.below), (row.upper, row.above)):
        margin = minimum(margin, select(weight < _FAR, size_of([end - c]), _FAR))
    return minimum(margin, bounds[7])


class SoftKnownStep(KnownStep):
    """A step under MuJoCo's law whose accelerations and impulses are known."""

    implicitly = ImplicitDamping
    block_slopes = staticmethod(soft_block_slopes)

    def _kept_momentum(self, cluster: Cluster) -> Link | None:
        """None: gyroscopic torques are those of the start of a step."""
        return None

    def free_residual(self, a: Sequence[Vec], impulse: Sequence[Vec]) -> list[Any]:
        """r of the accelerations without implicit damping, under the impulses."""
        return self.residual(a, impulse, damped=False)

    def free_mass_matrix(self) -> list[list[Any]]:
        """M."""
        return [list(row) for row in projection.mass_matrix(self.c, self.s)]

    def row_velocities(self, a: Sequence[Vec], impulse: Sequence[Vec], free: Sequence[Vec]) -> list[Any]:
        """c of all rows, under the `free` accelerations."""
        terms, ahead = self._terms(free), self._by_link(self.ahead(free))
        now = self._by_link(self.v)
        changes = [self.call(_less, ahead[x.link][x.entry], now[x.link][x.entry]) for x in self.spec.joints]
        return flat([x.g for x in terms]) + changes

    def _terms(self, a: Sequence[Vec]) -> list[Any]:
        every = range(len(self.spec.candidates))
        ahead, before = self.contact_rates(self.ahead(a), every), self.contact_rates(self.v, every)
        friction = self.frictions()
        return [
            self.call(soft_terms, x, placed.touch, friction[k], before[k], ahead[k], self.dt)
            for k, (x, placed) in enumerate(zip(self.spec.candidates, self.placed, strict=True))
        ]

    def compliances(self) -> dict[int, Any]:
        """None: what gives way is in φ."""
        return {}

    def bounds(self) -> list[Vec]:
        """Slope, softness, position over the step and units of each contact; a joint's row and its nearest limit."""
        found = []
        for x, placed, terms in zip(self.spec.candidates, self.placed, self._terms(self.v), strict=True):
            position = self.call(_position, x.law, placed.touch.gap, self.dt)
            found.append(Vec((terms.cone.slope, terms.cone.softness, position, *terms.unit)))
        now, q, moving = self._by_link(self.v), self.c.coordinates(), self.c.model.cluster_tree.moving
        for row in self.spec.joints:
            at = q[row.link][row.entry], now[row.link][row.entry]
            dry = moving[row.link].friction[row.entry] if row.friction else 0.0
            terms = self.call(soft_row, row, *at, dry, self.dt)
            found.append(Vec((*terms, self.call(_nearest, row, at[0], self.dt))))
        return found


def _position(law: Any, gap: Scalar, dt: Scalar) -> Scalar:
    return (gap - law.margin) / dt


def _nearest(row: JointRow, q: Scalar, dt: Scalar) -> Scalar:
    """The distance from the nearest limit, over the step."""
    nearest: Scalar = _FAR
    for end, sign in ((row.lower, 1.0), (row.upper, -1.0)):
        if abs(end) != float("inf"):
            nearest = minimum(nearest, size_of([(q - end) * sign - row.soft.limit.margin]) / dt)
    return maximum(nearest, 0.0)


def _less(a: Scalar, b: Scalar) -> Scalar:
    return a - b
