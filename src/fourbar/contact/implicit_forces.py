"""Forces that act implicitly in a step: springs and damping of joints, and the gains of servos.

A force that falls with velocity by d and with position by k is, at the end of a step, that at its start less
dt k v + (dt d + dt² k) a. The first is known, the second belongs to the mass matrix: M̃ = M + Σ (dt d + dt² k) bᵀ b.
Where b moves one velocity that is an armature, and the sweeps know it. Where it moves several, as a servo on a tendon
does, the answer to forces is corrected after the sweeps, by as many rows as there are such servos (Woodbury).
"""

from __future__ import annotations

from typing import NamedTuple

from ..algorithms.actuators import ActuatorSlopes
from ..expr import maximum, sqrt
from ..functions import actuator_recording as actuation
from ..functions.context import Context
from ..functions.methods.passive import acts, is_passive, passive_parts
from ..joints.euclidean import is_flat
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.solve import factor


class Servo(NamedTuple):
    """The implicit gains of an actuator, by number: dt k, dt d + dt² k, and its gears by link."""

    actuator: int
    stiff: Scalar
    weight: Scalar
    gears: dict[int, Vec]
    is_coupled: bool


def _softer(slopes: ActuatorSlopes, dt: Scalar) -> tuple[Scalar, Scalar]:
    """dt k and dt d + dt² k of slopes that are not negative: what grows by itself is left to explicit steps."""
    k, d = (max(x, 0.0) if isinstance(x, float) else maximum(x, 0.0) for x in slopes)
    return dt * k, dt * (d + dt * k)


def _over_step(damping: Scalar, dt: Scalar) -> Scalar:
    return dt * damping


def _stiffer(armature: Vec, damping: Vec, stiffness: Vec, dt: Scalar) -> Vec:
    rows = zip(armature, damping, stiffness, strict=True)
    return Vec([a + dt * d + dt * dt * k for a, d, k in rows])


def _geared(armature: Vec, gear: Vec, weight: Scalar) -> Vec:
    return Vec([a + weight * x * x for a, x in zip(armature, gear, strict=True)])


def _spring_ahead(stiffness: Vec, v: Vec, dt: Scalar) -> Vec:
    """The additional force of a spring at the end of a step at this velocity."""
    return Vec([-(k * x * dt) for k, x in zip(stiffness, v, strict=True)])


def _rate(gears: tuple[Vec, ...], parts: tuple[Vec, ...]) -> Scalar:
    total: Scalar = 0.0
    for gear, x in zip(gears, parts, strict=True):
        total = total + dot(gear, x)
    return total


def _pulling(force: Vec, gear: Vec, factor_: Scalar, rate: Scalar) -> Vec:
    """A force with -factor · rate along a gear added."""
    return Vec([f - x * (factor_ * rate) for f, x in zip(force, gear, strict=True)])


def _less(force: Scalar, servo: tuple[Scalar, Scalar], rate: Scalar, change: Scalar) -> Scalar:
    stiff, weight = servo
    return force - stiff * rate - weight * change


def _added(a: Vec, b: Vec) -> Vec:
    return a + b


class Implicit:
    """Springs, damping and, where controls u are given, actuators: what they do in a step."""

    def __init__(self, c: Context, dt: Scalar) -> None:
        self.c, self.dt, self.call = c, dt, c.recorder.call
        self.is_driven = "u" in c.given
        gains = actuation.gains_of(c) if self.is_driven else []
        self.servos: list[Servo] = []
        for x in gains:
            stiff, weight = self._weights(x.slopes)
            self.servos.append(Servo(x.actuator, stiff, weight, x.gears, x.is_coupled))
        self.coupled = [x for x in self.servos if x.is_coupled]

    def _weights(self, slopes: ActuatorSlopes) -> tuple[Scalar, Scalar]:
        """The implicit gains of a servo: by velocity, and by acceleration."""
        return self.call(_softer, slopes, self.dt)

    def _stiffness(self, i: int) -> Vec | None:
        """The stiffness of a joint's implicit spring: its coordinates are the integrals of its velocities."""
        joint = self.c.model.cluster_tree.moving[i]
        return Vec(joint.stiffness) if is_flat(joint.joint) and acts(joint.stiffness) else None

    def armature(self, i: int, own: Vec) -> Vec:
        """The armature of a link's joint with what acts implicitly on it alone."""
        joint, k = self.c.model.cluster_tree.moving[i], self._stiffness(i)
        if acts(joint.damping) or k is not None:
            still = Vec((0.0,) * joint.joint.nv)
            own = self.call(_stiffer, own, Vec(joint.damping), still if k is None else k, self.dt)
        for x in self.servos:
            if i in x.gears and not x.is_coupled:
                own = self.call(_geared, own, x.gears[i], x.weight)
        return own

    def forces(self) -> list[Vec]:
        """All forces on the independent velocities, by cluster, but what depends on accelerations: those given, of
        springs, of damping, of actuators.
        """
        c, moving = self.c, self.c.model.cluster_tree.moving
        total = c.by_cluster("tau")
        if is_passive(c):
            total = [self.call(_added, *both) for both in zip(total, passive_parts(c), strict=True)]
        springs = [i for i in range(len(moving)) if self._stiffness(i) is not None]
        if springs or self.is_driven:
            v, more = c.velocities(), self.pulls()
            for i in springs:
                more[i] = self.call(_added, more[i], self.call(_spring_ahead, self._stiffness(i), v[i], self.dt))
            total = [self.call(_added, *both) for both in zip(total, c.project(more), strict=True)]
        return list(total)

    def pulls(self) -> list[Vec]:
        """Forces of actuators on the joints of all links, but what depends on accelerations."""
        if not self.is_driven:
            return self.c.still()
        total, v = actuation.joint_forces(self.c), self.c.velocities()
        for x in self.servos:
            rate = self._along(x, v)
            for i, gear in x.gears.items():
                total[i] = self.call(_pulling, total[i], gear, x.stiff, rate)
        return total

    def _along(self, servo: Servo, by_link: list[Vec]) -> Scalar:
        return self.call(_rate, tuple(servo.gears.values()), tuple(by_link[i] for i in servo.gears))

    def responses(self) -> list[Scalar]:
        """The forces of the actuators at the start of the step."""
        return actuation.forces(self.c)

    def acted(self, a: list[Vec]) -> list[Scalar]:
        """The forces of all actuators that acted in the step, with the accelerations a of the joints of all links."""
        found, v = self.responses(), self.c.velocities()
        for x in self.servos:
            both = (self._along(x, v), self._along(x, a))
            found[x.actuator] = self.call(_less, found[x.actuator], (x.stiff, x.weight), *both)
        return found

    def pulled(self, a: list[Vec]) -> list[Vec]:
        """The forces of actuators on the joints of all links that acted in the step."""
        total = self.pulls()
        for x in self.servos:
            rate = self._along(x, a)
            for i, gear in x.gears.items():
                total[i] = self.call(_pulling, total[i], gear, x.weight, rate)
        return total

    def rates(self, by_link: list[Vec]) -> Vec:
        """The rates of all servos that move several velocities."""
        return Vec([self._along(x, by_link) for x in self.coupled])


class ImplicitVelocities(Implicit):
    """The damping of joints and of servos: what depends on positions acts with its force at the start of a step."""

    def _weights(self, slopes: ActuatorSlopes) -> tuple[Scalar, Scalar]:
        return 0.0, self.call(_over_step, slopes.damping, self.dt)

    def _stiffness(self, i: int) -> Vec | None:
        return None


class ImplicitDamping(ImplicitVelocities):
    """The damping of joints alone."""

    def __init__(self, c: Context, dt: Scalar) -> None:
        super().__init__(c, dt)
        self.servos, self.coupled = [], []


class Explicit(ImplicitDamping):
    """Nothing: all forces are those at the start of a step."""

    def armature(self, i: int, own: Vec) -> Vec:
        """The armature of a link's joint, as it is."""
        return own


class ServoCoupling(NamedTuple):
    """The response of servos that move several velocities: their forces are -W (rates + C f), where `rates` are those
    without contacts and without themselves, f forces along the rows, and C how the rates answer to these.
    """

    W: Mat
    rates: Vec
    C: Mat


def coupling(G: tuple[Vec, ...], weights: Vec, rates: Vec) -> ServoCoupling:
    """From the matrix of all rows, those of the servos last, and the weights dt d + dt² k."""
    n, m = len(G) - len(weights), len(weights)
    root = [sqrt(x) for x in weights]
    own = [[root[i] * G[n + i][n + j] * root[j] + (1.0 if i == j else 0.0) for j in range(m)] for i in range(m)]
    inverse = factor(Mat(Vec(row) for row in own)).solve_columns(Mat.identity(m))
    W = Mat(Vec([root[i] * inverse[i][j] * root[j] for j in range(m)]) for i in range(m))
    return ServoCoupling(W, rates, Mat(Vec(row[:n]) for row in G[n:]))


def softened(G: tuple[Vec, ...], x: ServoCoupling) -> tuple[Vec, ...]:
    """The matrix of the rows of contacts and joints, G - Cᵀ W C, symmetric to the last bit."""
    n = len(G) - len(x.W)
    WC = x.W @ x.C
    rows = [[G[i][j] for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rows[i][j] = rows[j][i] = G[i][j] - _column(x.C, i, WC, j)
    return tuple(Vec(row) for row in rows)


def _column(A: Mat, i: int, B: Mat, j: int) -> Scalar:
    total: Scalar = 0.0
    for a, b in zip(A, B, strict=True):
        total = total + a[i] * b[j]
    return total


def shift(x: ServoCoupling, dt: Scalar) -> Vec:
    """The change by the servos of the rows' velocities without contacts: -dt Cᵀ W rates."""
    return x.C.transpose_times(x.W @ x.rates) * (-1.0 * dt)


def yielding(x: ServoCoupling, force: Vec) -> Vec:
    """The forces of the servos, with forces along the rows."""
    return (x.W @ (x.rates + x.C @ force)) * -1.0
