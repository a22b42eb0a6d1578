"""The layout of q and v of a robot: entries of its floating base, and of the joints that are driven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, unknown
from ..joints.euclidean import is_flat
from ..joints.lie import Free
from ..mechanism.mechanism import WORLD, PlacedJoint, velocity_names
from ..mechanism.placement import Placement
from ..system.system import System

Entries = np.ndarray | slice  # of q or v
_SMALL = 1e-4  # rad, m: how far a joint is moved to see how its coordinate follows


@dataclass(frozen=True)
class FloatingBase:
    """The first free joint that carries a body on the world: the entries of its position, quaternion and velocities.

    `placement` is where the joint sits in the world, `down` the direction of gravity in its axes.
    """

    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    down: np.ndarray
    placement: Placement

    def place(self, q: np.ndarray) -> np.ndarray:
        """Where the base is (n, 3), in the world."""
        position = q[:, self.position]
        return (
            position
            if self.placement == Placement()
            else position @ np.array(self.placement.rotation).T + self.placement.position
        )

    def gravity(self, q: np.ndarray) -> np.ndarray:
        """The direction of gravity (n, 3) in the axes of the base."""
        w, x, y, z = (q[:, i] for i in self.quaternion)
        rows = (
            (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
            (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
            (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
        )
        down_in_base = np.zeros((len(q), 3))
        for g, row in zip(self.down, rows, strict=True):
            if g:
                for k, entry in enumerate(row):
                    down_in_base[:, k] += g * entry
        return down_in_base


def _free(robot: System) -> PlacedJoint | None:
    """The first joint that lets a body move freely in the world, and is no part of a loop that leaves it less."""
    known = {*robot.names.velocities}
    for joint in robot.mechanism.joints:
        free = isinstance(joint.joint, Free) and joint.parent == WORLD
        if free and known.issuperset(velocity_names(joint.name, joint.joint)):
            return joint
    return None


def _base(robot: System) -> FloatingBase | None:
    joint = _free(robot)
    if joint is None:
        return None
    q = [robot.names.coordinates.index(f"{joint.name}.{x}") for x in joint.joint.q_names]
    v = [robot.names.velocities.index(x) for x in velocity_names(joint.name, joint.joint)]
    down = np.asarray(joint.placement.rotation).T @ np.asarray(robot.gravity)
    size = float(np.linalg.norm(down))
    return FloatingBase(np.array(q[:3]), np.array(q[3:]), np.array(v), down / size if size else down, joint.placement)


@dataclass(frozen=True)
class StateLayout:
    """The base, if there is one, and the entries of q and v that are not the base's."""

    base: FloatingBase | None
    other_q: np.ndarray
    other_v: np.ndarray

    @staticmethod
    def of(robot: System) -> StateLayout:
        """The layout of a robot."""
        base = _base(robot)
        if base is None:
            return StateLayout(None, np.arange(robot.nq), np.arange(robot.nv))
        own = np.concatenate([base.position, base.quaternion])
        return StateLayout(
            base, np.setdiff1d(np.arange(robot.nq), own), np.setdiff1d(np.arange(robot.nv), base.velocity)
        )


@dataclass(frozen=True)
class DrivenJoints:
    """Joints that actions drive: their names, entries of q and v, and the largest forces (infinite if not known).

    `ratio` is the rate of the coordinate in q per unit of v; tau is ratio times the force along the coordinate. A loop
    may have declared a unit of its own for v, in some loops for q too.
    """

    names: tuple[str, ...]
    q: Entries
    v: Entries
    ratio: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def velocities(self, v: np.ndarray) -> np.ndarray:
        """Rates of the coordinates (n, joints), from v (n, nv)."""
        return v[:, self.v] * self.ratio


def _drivable(robot: System) -> dict[str, PlacedJoint]:
    """Joints of one coordinate whose velocity is independent."""
    both = {*robot.names.coordinates} & {*robot.names.velocities}
    joints = robot.mechanism.joints
    return {j.name: j for j in joints if j.name in both and j.joint.nv == 1 and is_flat(j.joint)}


def driven_joints(owner: str, robot: System, names: Any) -> DrivenJoints:
    """The joints of some names, or all that have one coordinate."""
    known = _drivable(robot)
    if isinstance(names, str):
        raise ArgumentError(f"{owner}: joints={names!r}: expected a list of names of joints")
    chosen = tuple(known) if names is None else tuple(names)
    for name in chosen:
        if name not in known:
            raise unknown("joint of one coordinate that can be driven", name, known)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ArgumentError(f"{owner}: expected different joints to drive, at least one, got {list(chosen)}")
    q = np.array([robot.names.coordinates.index(name) for name in chosen])
    v = np.array([robot.names.velocities.index(name) for name in chosen])
    units, ratio = _units(robot, chosen, q, v)
    high = np.array([(*known[name].max_force, np.inf)[0] for name in chosen])
    low = np.array([(*known[name].min_force, -bound)[0] for name, bound in zip(chosen, high, strict=True)])
    return DrivenJoints(chosen, _entries(q), _entries(v), ratio, low * units / ratio, high * units / ratio)


def _entries(numbers: np.ndarray) -> Entries:
    """Entries by number, as a slice where they follow each other: that takes less time."""
    first, n = int(numbers[0]), len(numbers)
    return slice(first, first + n) if np.array_equal(numbers, np.arange(first, first + n)) else numbers


def _units(robot: System, names: tuple[str, ...], q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Velocities of joints, and rates of their coordinates in q, per unit of v: 1 but for what loops declare."""
    declared = {name: unit for loop in robot.mechanism.loops for name, unit in loop.independent}
    units, ratio = np.array([declared.get(name, 1.0) for name in names]), np.ones(len(names))
    for k in np.flatnonzero(units != 1.0):
        step, start = np.zeros(robot.nv), robot.model.neutral()
        step[v[k]] = _SMALL / units[k]
        moved = (robot.integrate(start, step, 1.0) - start)[q[k]] / step[v[k]]
        ratio[k] = min((1.0, units[k]), key=lambda one: abs(one - moved))
    return units, ratio
