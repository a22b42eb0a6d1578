"""A step under MuJoCo's law: forces from the accelerations that a state has, then velocities with implicit damping.

Forces f solve the problem of `cones` with M itself; the step is v⁺ = v + dt M̃⁻¹ (forces + Jᵀ f), q⁺ = q ⊕ dt v⁺, which
is what MuJoCo's integrators do: M̃ = M ("explicit"), M + dt D with the damping of joints ("Euler"), or also with that of
servos ("implicitfast"). Springs, and what servos do by their position, act explicitly.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from ..algorithms.tiles import negative_solution
from ..expr import maximum, select
from ..functions.context import Context
from ..functions.registry import flat
from ..spatial.linear import Mat, Scalar, Vec
from ..tree.clusters import Cluster
from ..tree.links import Link
from . import cones, integration
from .candidates import Candidate, JointRow, Spec, Touch
from .cones import Cone, Row, SoftProblem
from .contact_step import Stepper
from .delassus import Delassus, FreeMotion
from .gauss_seidel import Solution, better
from .implicit_forces import Explicit, Implicit, ImplicitDamping, ImplicitVelocities, coupling, yielding
from .soft_law import EULER, EXPLICIT, IMPLICIT_FAST, LEAST_FRICTION, SoftJoint

_FAR = 1e30
_AT_ONCE = 40  # rows up to which a Newton step is one piece of code


class Terms(NamedTuple):
    """A contact: g of its rows, their units, and its cone."""

    g: Vec
    unit: Vec
    cone: Cone


def soft_terms(candidate: Candidate, touch: Touch, friction: Vec, before: Vec, free: Vec, dt: Scalar) -> Terms:
    """The terms of a contact in the convex problem; one that is open has a normal velocity that keeps it open."""
    law = candidate.law
    position = touch.gap - law.margin
    drawn = law.drawn(position, dt)
    left = 1.0 - dt * drawn.damping
    g = [x - y * left for x, y in zip(free, before, strict=True)]
    g[0] = select(position < 0.0, g[0] + dt * drawn.stiffness * position, _FAR)
    stiff = law.ratio**0.5
    unit: list[Scalar] = [1.0]
    slope: Scalar = 0.0
    if len(friction):
        slope = maximum(friction[0], LEAST_FRICTION) * (1.0 / stiff)
    for size, bound in zip(candidate.discs, friction, strict=True):
        unit += [bound * (1.0 / slope) if len(unit) > 1 else stiff] * size
    return Terms(Vec(g), Vec(unit), Cone(slope, drawn.softness))


def soft_row(row: JointRow, q: Scalar, v: Scalar, friction: Scalar, dt: Scalar) -> Row:
    """The terms of a joint in the convex problem: changes of its velocity in a step."""
    soft: SoftJoint = row.soft
    rub = soft.friction.drawn(0.0, dt)
    ends: list[tuple[Scalar, Scalar]] = []
    for end, sign in ((row.lower, 1.0), (row.upper, -1.0)):
        if abs(end) == float("inf"):
            ends.append((-sign * _FAR, _FAR))
            continue
        inside = (q - end) * sign - soft.limit.margin
        drawn = soft.limit.drawn(inside, dt)
        to = -(v * drawn.damping) - inside * drawn.stiffness * sign
        ends.append((select(inside < 0.0, dt * to, -sign * _FAR), drawn.softness))
    (lower, below), (upper, above) = ends
    held = row.friction > 0.0
    rest, softness = (-(v * rub.damping) * dt, rub.softness) if held else (0.0, _FAR)
    return Row(rest, softness, friction * dt, lower, upper, below, above)


def _in_units(impulse: Vec, unit: Vec) -> Vec:
    """Impulses in the units of the cones."""
    return Vec([x / u for x, u in zip(impulse, unit, strict=True)])


def _left(residual: Scalar, tolerance: Scalar) -> Scalar:
    return residual - tolerance


class SoftStepper(Stepper):
    """Records a step under MuJoCo's law."""

    conditions = staticmethod(cones.conditions)  # type: ignore[assignment]
    by_integrator: ClassVar[dict[str, type[Implicit]]] = {
        EXPLICIT: Explicit, EULER: ImplicitDamping, IMPLICIT_FAST: ImplicitVelocities,
    }  # fmt: skip

    def __init__(self, c: Context, spec: Spec) -> None:
        self.implicitly = self.by_integrator[spec.soft]
        super().__init__(c, spec)
        self.damped = self.free
        if self.s.tree is not (plain := c.equations(self._touched())).tree:
            forces = self.implicit.forces()
            self.free = FreeMotion(plain, c.clusters, c.cluster_states, c.velocities(), forces, c.F_ext(), c.gravity)

    def _tumbling(self, cluster: Cluster) -> Link | None:
        """None: MuJoCo takes gyroscopic torques from the start of a step."""
        return None

    def problem(self, delassus: Delassus) -> Any:
        """G, g, units and cones of all rows."""
        needed, spec, call = self.needed(), self.spec, self.call
        a = self.free.accelerations(needed, {})
        ahead = {n: self._ahead(n, a[n]) for n in needed}
        own = {n: self.v[n] for n in needed}
        every = list(range(len(spec.candidates)))
        free, before = self._rates(ahead, every), self._rates(own, every)
        g: list[Any] = []
        unit: list[Any] = []
        found: list[Any] = []
        for k, candidate in enumerate(spec.candidates):
            terms = call(soft_terms, candidate, self.placed[k].touch, self._friction(k), before[k], free[k], self.dt)
            g += terms.g
            unit += terms.unit
            found.append(terms.cone)
        self.free_rates = flat([free[k] for k in every])
        v, w, q = self._links(own), self._links(ahead), self.c.coordinates()
        for row in spec.joints:
            now = v[row.link][row.entry]
            self.free_rates.append(w[row.link][row.entry])
            g.append(call(_changed, w[row.link][row.entry], now))
            found.append(call(soft_row, row, q[row.link][row.entry], now, self._dry(row), self.dt))
        unit += [1.0] * len(spec.joints)
        rows = self._matrix(delassus)[: len(g)]
        G = tuple(Vec(row[: len(g)]) for row in rows)  # without servos that move several velocities
        return call(cones.in_units, Mat(G), Vec(g), Vec(unit), tuple(found))

    def _matrix(self, delassus: Delassus) -> list[list[Any]]:
        """G of all rows, those of servos that move several velocities last."""
        return delassus.matrix([*(block.size for block in self.blocks), *[1] * len(self.implicit.coupled)])

    def solve(self, problem: SoftProblem, start: Vec) -> Solution:  # type: ignore[override]
        """Newton steps from the impulses of the last step."""
        call, blocks, spec = self.call, self.blocks, self.spec
        if not blocks:
            return Solution(Vec(()), 0.0)
        x = call(_in_units, start, problem.unit)
        best = call(cones.measured, problem, blocks, x)
        step = self._onward if len(problem.g) <= _AT_ONCE else self._far_onward

        def once_more(state: tuple[Vec, Solution]) -> tuple[tuple[Vec, Solution], Any]:
            x = step(problem, state[0])
            best = call(better, state[1], call(cones.measured, problem, blocks, x))
            return (x, best), call(_left, best.residual, spec.aim)

        return call(cones.ended, problem, blocks, self.c.recorder.repeat(once_more, (x, best), spec.rounds)[1])

    def _onward(self, problem: SoftProblem, x: Vec) -> Vec:
        return self.call(cones.onward, problem, self.blocks, x)

    def _far_onward(self, problem: SoftProblem, x: Vec) -> Vec:
        """`_onward` for many rows, in tiles that share their code."""
        call, blocks, n = self.call, self.blocks, len(problem.g)
        at = call(cones.downhill, problem, blocks, x)
        rows: list[list[Any]] = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
        for k, (a, first) in enumerate(zip(blocks, at.found, strict=True)):
            for b, second in zip(blocks[: k + 1], at.found, strict=False):
                made = call(cones.between, cones.part(problem, a, b), first, second)
                made = call(_plus_one, made) if a is b else made
                for i, row in enumerate(made, a.first):
                    for j, y in enumerate(row, b.first):
                        rows[i][j] = rows[j][i] = y
        negative, _ = negative_solution(self.c.recorder, rows, [[y] for y in at.right])
        y = call(_negative, Vec([row[0] for row in negative]))
        return call(cones.searched, problem, blocks, x, call(cones.way, blocks, at, y))

    def accelerated(self, delassus: Delassus, forces: tuple[Vec, ...]) -> dict[int, Vec]:
        """With the damping of joints and servos implicitly, and of free bodies the gyroscopic torque where the
        integrator has it so."""
        a = self._damped_accelerations(delassus, forces)
        if self.spec.soft != IMPLICIT_FAST:
            return a
        for n, cluster in enumerate(self.c.clusters):
            if (link := super()._tumbling(cluster)) is not None and self._is_free_body(cluster.links[0]):
                a[n] = self.call(integration.with_implicit_gyration, link, self.v[n], a[n], self.dt)
        return a

    def _is_free_body(self, link: int) -> bool:
        """Whether a link on a free joint is a single body."""
        tree, mechanism = self.c.model.cluster_tree, self.c.model.mechanism
        massive = [x for x in mechanism.bodies if tree.bodies[x.name].link == link and x.mass > 0.0]
        return tree.moving[link].joint.nv == 6 and len(massive) == 1

    def _damped_accelerations(self, delassus: Delassus, forces: tuple[Vec, ...]) -> dict[int, Vec]:
        servos, every = self.implicit.coupled, list(range(len(self.c.clusters)))
        if self.damped is self.free and not servos:
            return super().accelerated(delassus, forces)
        again = Delassus(self.damped, delassus.bases, delassus.blocks)
        if servos:
            G = tuple(Vec(row) for row in self._matrix(again))
            rates = self.implicit.rates(self._accelerated(self.damped.accelerations(self.needed(), {})))
            answer = self.call(coupling, G, Vec([x.weight for x in servos]), rates)
            pulled = self.call(yielding, answer, Vec(flat(forces)))
            forces = (*forces, *(Vec((x,)) for x in pulled))
        return self.damped.accelerations(every, again.forces(forces))


def _plus_one(A: Mat) -> Mat:
    return A + Mat.identity(len(A))


def _negative(x: Vec) -> Vec:
    return -x


def _changed(after: Scalar, before: Scalar) -> Scalar:
    return after - before
