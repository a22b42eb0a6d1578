"""Actuators while recording: their lengths, velocities, forces and gains on the joints of all links.

Simulations use `joint_forces` and `actuator_gains`; the methods of a robot are in `methods/actuation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..algorithms import actuators as laws
from ..algorithms.actuators import (
    ActuatorLaw,
    ActuatorSlopes,
    Ends,
    add_drive,
    add_velocity,
    driven_length,
    ends_of,
    in_child_axes,
)
from ..errors import ArgumentError
from ..mechanism.actuators import Actuator, law_of
from ..spatial.linear import Scalar, Vec, is_zero
from .context import Context


class Pull(NamedTuple):
    """One drive of an actuator: its number, the link that it moves, and the gear on the velocities of its joint."""

    actuator: int
    link: int
    gear: Vec  # (nv of the joint,)


class Gain(NamedTuple):
    """The gains of an actuator, by number: its slopes, and its gears by link (0 where a joint bears no more)."""

    actuator: int
    slopes: ActuatorSlopes
    gears: dict[int, Vec]

    @property
    def is_coupled(self) -> bool:
        """Whether it moves several velocities."""
        return sum(not is_zero(x) for gear in self.gears.values() for x in gear) > 1


class Gains(NamedTuple):
    """The contributions of actuators to stiffness K and damping D of all links' joints, for implicit steps.

    `stiffness` and `damping` (by link, one entry per velocity) are diagonal: of actuators that move one velocity. The
    others add slope · gearᵀ gear each. A step that is implicit in both solves

        (M + dt D + dt² K) Δv = dt (τ - h - dt K v)

    with τ that of the `joint_forces` at q, v, u. A diagonal adds to the armature, also of joints that loops hold.
    """

    stiffness: list[Vec]
    damping: list[Vec]
    coupled: list[Gain]


def pulls(c: Context) -> list[Pull]:
    """All drives of all actuators, with gears in the axes of the child."""
    if not c.actuators:
        raise ArgumentError(
            f"robot {c.model.mechanism.name!r} has no actuators; declare them with Builder.actuator(...), or put "
            "forces on the velocities themselves"
        )
    moving = c.model.cluster_tree.moving
    link, q = {joint.name: i for i, joint in enumerate(moving)}, c.coordinates()
    drives = []
    for a, actuator in enumerate(c.actuators):
        for drive in actuator.drives:
            i, gear = link[drive.joint], Vec(drive.gear)
            in_parent = drive.axes == "parent"
            gear = c.recorder.call(in_child_axes, moving[i].joint, q[i], gear) if in_parent else gear
            drives.append(Pull(a, i, gear))
    return drives


def lengths(c: Context) -> list[Scalar]:
    """The length of each actuator: Σ gear · coordinates of its joints."""
    joints, q = c.model.cluster_tree.moving, c.coordinates()
    found: list[Scalar] = [0.0] * len(c.actuators)
    for a, i, gear in pulls(c):
        found[a] = c.recorder.call(driven_length, joints[i].joint, q[i], gear, found[a])
    return found


def speeds(c: Context) -> list[Scalar]:
    """The velocity of each actuator: B v."""
    v, found = c.velocities(), [0.0] * len(c.actuators)
    for a, i, gear in pulls(c):
        found[a] = c.recorder.call(add_velocity, gear, v[i], found[a])
    return found


def _states(c: Context) -> Iterator[tuple[ActuatorLaw, Scalar, Scalar, Scalar]]:
    """Law, control, length and velocity of each actuator; zeros for those that its law does not use."""
    laws_of_actuators = [_law(c.model.mechanism.name, actuator) for actuator in c.actuators]
    nothing = [0.0] * len(laws_of_actuators)
    length = lengths(c) if any(law.needs_length for law in laws_of_actuators) else nothing
    speed = speeds(c) if any(law.needs_velocity for law in laws_of_actuators) else nothing
    for law, u, x, s in zip(laws_of_actuators, c.given["u"], length, speed, strict=True):
        yield law, u, x if law.needs_length else 0.0, s if law.needs_velocity else 0.0


def _law(robot: str, actuator: Actuator) -> ActuatorLaw:
    coefficients = law_of(actuator)
    if coefficients is None:
        raise ArgumentError(
            f"robot {robot!r}: actuator {actuator.name!r} is of kind {actuator.kind!r}, whose state or law is not "
            "computed: only motors, servos and others of kind 'motor' or 'affine' act. Replace it, such as by "
            f"with_parameters(actuators={{{actuator.name!r}: {{'kind': 'motor', 'parameters': {{}}}}}}), or compute "
            "its force yourself and give it to actuator_force"
        )
    gain, bias = coefficients
    control = ends_of(*actuator.control_range) if actuator.dynamics is None else (None, None)
    return ActuatorLaw(Vec(gain), Vec(bias), control, ends_of(*actuator.force_range))


def forces(c: Context) -> list[Scalar]:
    """The force of each actuator at its control."""
    return [c.recorder.call(laws.force, *state) for state in _states(c)]


def joint_forces(c: Context) -> list[Vec]:
    """Forces of all actuators on the joints of all links, within what the joints bear."""
    total, bounds = _unlimited_forces(c, forces(c)), _bounds(c)
    for i, ends in bounds.items():
        total[i] = c.recorder.call(laws.all_within, total[i], ends)
    return total


def _unlimited_forces(c: Context, actuator_forces: Sequence[Scalar]) -> list[Vec]:
    total = c.still()
    for a, i, gear in pulls(c):
        total[i] = c.recorder.call(add_drive, gear, actuator_forces[a], total[i])
    return total


def _bounds(c: Context) -> dict[int, tuple[Ends, ...]]:
    """The links whose joints bear only so much, and how much."""
    bounds = {}
    for i, joint in enumerate(c.model.cluster_tree.moving):
        upper = joint.max_force or (math.inf,) * joint.joint.nv
        lower = joint.min_force or tuple(-x for x in upper)
        if min(upper, default=math.inf) < math.inf or max(lower, default=-math.inf) > -math.inf:
            bounds[i] = tuple(map(ends_of, lower, upper))
    return bounds


def gains_of(c: Context) -> list[Gain]:
    """The gains of each actuator that has any, at the given state and control."""
    every, bounds = pulls(c), _bounds(c)
    total = _unlimited_forces(c, forces(c)) if bounds else c.still()
    gains = []
    for a, slope in enumerate([c.recorder.call(laws.slopes, *state) for state in _states(c)]):
        if is_zero(slope.stiffness) and is_zero(slope.damping):
            continue
        gears: dict[int, Vec] = {}
        for _, i, gear in (x for x in every if x.actuator == a):
            gears[i] = c.recorder.call(add_drive, gear, 1.0, gears[i]) if i in gears else gear
        for i in gears.keys() & bounds.keys():
            gears[i] = c.recorder.call(laws.all_free, total[i], bounds[i], gears[i])
        gains.append(Gain(a, slope, gears))
    return gains


def actuator_gains(c: Context) -> Gains:
    """The gains of all actuators at the given state and control; zero for those at an end of their range."""
    total = Gains(c.still(), c.still(), [])
    for gain in gains_of(c):
        if gain.is_coupled:
            total.coupled.append(gain)
            continue
        for i, gear in gain.gears.items():
            for by_link, k in ((total.stiffness, gain.slopes.stiffness), (total.damping, gain.slopes.damping)):
                by_link[i] = c.recorder.call(add_actuator_gain, by_link[i], gear, k)
    return total


def add_actuator_gain(before: Vec, gear: Vec, k: Scalar) -> Vec:
    """Diagonal gains with those of an actuator that moves one velocity added."""
    return Vec([a + k * x * x for a, x in zip(before, gear, strict=True)])


def gain_rows(c: Context) -> tuple[list[list[Any]], list[ActuatorSlopes]]:
    """The same gains as rows on the independent velocities, one for each velocity or actuator that has any, and their
    slopes: K = Σ stiffness · rowᵀ row."""
    gains, rows, steep = actuator_gains(c), [], []
    for i, (k, d) in enumerate(zip(gains.stiffness, gains.damping, strict=True)):
        for n, (stiffness, damping) in enumerate(zip(k, d, strict=True)):
            if not (is_zero(stiffness) and is_zero(damping)):
                row: list[Any] = [0.0] * c.tree.nv
                row[c.tree.first_v[i] + n] = 1.0
                rows.append(row)
                steep.append(ActuatorSlopes(stiffness, damping))
    for _, slope, gears in gains.coupled:
        row = [0.0] * c.tree.nv
        for i, gear in gears.items():
            row[c.tree.first_v[i] : c.tree.first_v[i] + len(gear)] = gear
        rows.append(row)
        steep.append(slope)
    return c.columns(rows), steep
