"""Kinetic and potential energy, centre of mass, momentum, and the matrices that make momentum from velocity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ModelError
from ..spatial.fluid_inertia import AnyInertia, dry, is_immersed
from ..spatial.linear import Scalar, Vec, dot, zeros
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.links import Kinematics
from . import armature
from .kinematics import place_outward
from .sweep import Outcome, Sweeps, velocity_outward

COM, WORLD = "com", "world"


def body_kinetic_energy(k: Kinematics, V: Twist, v: Vec) -> Scalar:
    """½ V · I V, plus ½ v² of the armature."""
    spinning = dot([j * x for j, x in zip(k.armature, v, strict=True)], v)
    return 0.5 * (k.I.momentum(V).power(V) + spinning)


def add(*terms: Any) -> Any:
    """Sum of tuples of scalars, or of scalars."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def kinetic_energy(s: Sweeps, v: Sequence[Vec]) -> Scalar:
    """½ vᵀ M v."""
    V = s.outward(velocity_outward, Twist.zero(), v)
    terms = [s.step(i, body_kinetic_energy, V[i], v[i]) for i in range(len(V))]
    return _sum(s, [*terms, *armature.coupled_energies(s, v)], 0.0)


def _sum(s: Sweeps, terms: Sequence[Any], nothing: Any) -> Any:
    """A sum of many terms, eight at a time so that no single step has to take them all; `nothing` if there are none."""
    while len(terms) > 1:
        terms = [s.recorder.call(add, *terms[i : i + 8]) for i in range(0, len(terms), 8)]
    return terms[0] if terms else nothing


def body_first_moment(k: Kinematics, pose: Transform) -> Vec:
    """∫ r dm in the world."""
    return pose.rotate(k.I.h) + k.I.m * pose.p


def first_moment(s: Sweeps) -> Vec:
    """Σ m p of all moving bodies, in the world."""
    return _first_moment(s, s.outward(place_outward, IDENTITY))


def _first_moment(s: Sweeps, pose: Sequence[Transform]) -> Vec:
    return _sum(s, [s.step(i, body_first_moment, pose[i]) for i in range(len(pose))], zeros(3))


def moving_mass(s: Sweeps) -> Scalar:
    """Mass of all that moves, which is not zero."""
    mass = s.fold(_total, tuple(c.I.m for c in s.tree.links))
    if mass.__class__ is float and not mass > 0.0:
        raise ModelError("nothing that moves has mass, so there is no centre of mass; use about='world' for momentum")
    return mass


def _total(masses: tuple[Scalar, ...]) -> Scalar:
    return sum(masses, 0.0)


def _potential(moment: Vec, gravity: Vec) -> Scalar:
    return -dot(gravity, moment)


def body_net_moment(k: Kinematics, pose: Transform) -> Vec:
    """∫ r dm in the world, less that of the fluid which a body displaces."""
    own = body_first_moment(k, pose)
    return own - k.I.displaced.to_parent(pose).h if is_immersed(k.I) else own


def potential_energy(s: Sweeps, gravity: Sequence[float]) -> Scalar:
    """-Σ m g · p, where m is less the mass of the displaced fluid."""
    pose = s.outward(place_outward, IDENTITY)
    moment = _sum(s, [s.step(i, body_net_moment, pose[i]) for i in range(len(pose))], zeros(3))
    return s.recorder.call(_potential, moment, Vec(gravity))


def _divide(moment: Vec, mass: Scalar) -> Vec:
    return moment * (1.0 / mass)


def center_of_mass(s: Sweeps) -> Vec:
    """Centre of mass of all that moves, in the world."""
    return s.recorder.call(_divide, first_moment(s), moving_mass(s))


class LinkInWorld(NamedTuple):
    """A link in world axes, with the root body's origin as reference point: subspace and inertia."""

    S: tuple[Twist, ...]
    I: AnyInertia


def whole(k: Kinematics, pose: Transform, reference: Vec) -> LinkInWorld:
    """A link seen from the reference point."""
    near = Transform(pose.factors, pose.p - reference)
    return LinkInWorld(tuple(near.motion_to_parent(t) for t in k.S.twists()), k.I.to_parent(near))


def compose_inward(k: Kinematics, children: tuple[AnyInertia, ...], own: LinkInWorld) -> Outcome:
    """Momentum of the joint and all it carries, for each of its unit motions."""
    Ic = sum(children, own.I)
    return Outcome(tuple(Ic.momentum(t) for t in own.S), Ic)


def about(h: tuple[Wrench, ...], point: Vec) -> tuple[Wrench, ...]:
    """Momenta moved to another reference point."""
    return tuple(Wrench(x.angular - point.cross(x.linear), x.linear) for x in h)


def _reference(moment: Vec, reference: Vec, mass: Scalar) -> Vec:
    return moment * (1.0 / mass) - reference


def _reference_point(pose: Sequence[Transform]) -> Vec:
    return pose[0].p if pose else zeros(3)


def whole_body(k: Kinematics, pose: Transform, reference: Vec) -> LinkInWorld:
    """A link seen from the reference point, without the fluid that it moves."""
    return whole(k._replace(I=dry(k.I)), pose, reference)


def momentum_matrix(s: Sweeps, point: str, link: Any = whole) -> list[list[Any]]:
    """The matrix A (6 x nv) with momentum = A v, world axes, about the centre of mass or the world's origin.

    All sums are formed about the first body's origin: far from the world's origin nothing is lost by cancellation.
    """
    pose = s.outward(place_outward, IDENTITY)
    reference = _reference_point(pose)
    wholes = [s.step(i, link, pose[i], reference) for i in range(len(pose))]
    momenta = s.inward(compose_inward, wholes)
    if point == COM:
        moment = _first_moment(s, pose)
        target = s.recorder.call(_reference, moment, reference, moving_mass(s))
    else:
        target = s.recorder.call(_reference, zeros(3), reference, 1.0)
    A: list[list[Any]] = [[0.0] * s.tree.nv for _ in range(6)]
    for i, h in enumerate(momenta):
        for b, column in enumerate(s.recorder.call(about, h, target)):
            for row, x in enumerate(column.six()):
                A[row][s.tree.first_v[i] + b] = x
    return A


def body_momentum(k: Kinematics, pose: Transform, reference: Vec, V: Twist) -> Wrench:
    """Momentum of a body in world axes, about the reference point."""
    return Transform(pose.factors, pose.p - reference).force_to_parent(k.I.momentum(V))


def momentum(s: Sweeps, v: Sequence[Vec], point: str) -> Vec:
    """Angular and linear momentum of all that moves, world axes, about the centre of mass or the world's origin."""
    pose = s.outward(place_outward, IDENTITY)
    V = s.outward(velocity_outward, Twist.zero(), v)
    reference = _reference_point(pose)
    total = _sum(s, [s.step(i, body_momentum, pose[i], reference, V[i]) for i in range(len(V))], Wrench.zero())
    about_com = point == COM
    moment, mass = (_first_moment(s, pose), moving_mass(s)) if about_com else (zeros(3), 1.0)
    target = s.recorder.call(_reference, moment, reference, mass)
    return s.recorder.call(about, (total,), target)[0].six()


def center_of_mass_jacobian(s: Sweeps) -> list[list[Any]]:
    """J (3 x nv): velocity of the centre of mass = J v. The linear momentum matrix, divided by the mass."""
    rows = momentum_matrix(s, COM, whole_body)[3:]
    k = s.fold(_inverse, moving_mass(s))
    return [[s.fold(_times, x, k) for x in row] for row in rows]


def _inverse(x: Scalar) -> Scalar:
    return 1.0 / x


def _times(x: Scalar, k: Scalar) -> Scalar:
    return x * k
