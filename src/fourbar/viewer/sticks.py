"""A robot without shapes, as sticks between its joints and markers at them, in sizes that fit it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..constraints import Closure, Distance
from ..mechanism.mechanism import WORLD, Mechanism, PlacedJoint
from ..mechanism.sticks import PALETTE, guided_joints, held_points, stick_ends
from . import triangles
from .drawing import Item, Rod, numbers
from .mesh_files import Colour

JOINT: Colour = (0.22, 0.24, 0.28, 1.0)
CLOSING: Colour = (0.85, 0.55, 0.10, 1.0)
FIXED: Colour = (0.55, 0.57, 0.60, 1.0)
_THIN = 0.012  # radius of a stick, of the robot's size
_SHORT = 1e-3  # of the size: shorter sticks are not drawn


def directions(joint: Any) -> list[tuple[np.ndarray, bool]]:
    """The axes along which a joint moves at its neutral position, in its own axes, and whether it turns about them."""
    columns = [np.array(t.six(), float) for t in joint.subspace(joint.neutral()).twists()] if joint.nv else []
    axes = []
    for column in columns:
        turns = bool(np.linalg.norm(column[:3]) > 1e-9)
        axis = column[:3] if turns else column[3:]
        axes.append((axis / (np.linalg.norm(axis) or 1.0), turns))
    return axes


class Sticks:
    """The sticks of a mechanism at poses (bodies, 4, 4) in which its loops are closed."""

    def __init__(self, mechanism: Mechanism, poses: np.ndarray) -> None:
        self.mechanism, self.poses, self.number = mechanism, poses, numbers(mechanism)
        self.ends = stick_ends(mechanism)
        for joint in guided_joints(mechanism):
            self.ends[joint.child].append(self._behind(joint))
        self._free = {j.child for j in mechanism.joints if j.joint.nv == 6}
        self.size = self._size()

    def _behind(self, joint: PlacedJoint) -> np.ndarray:
        """Where a sliding body came from, in its own axes: the place of its joint on the parent."""
        child = self.poses[self.number[joint.child]]
        parent = np.eye(4) if joint.parent == WORLD else self.poses[self.number[joint.parent]]
        start = parent[:3, :3] @ np.array(joint.placement.position, float) + parent[:3, 3]
        return child[:3, :3].T @ (start - child[:3, 3])

    def _size(self) -> float:
        points = [T[:3, :3] @ p + T[:3, 3] for b in self.mechanism.bodies for T in [self.poses[self.number[b.name]]]
                  for p in [np.zeros(3), *self.ends[b.name]]]  # fmt: skip
        return float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0 if points else 1.0

    def rods(self) -> list[Rod]:
        """Massless rods between two bodies."""
        distances = [x.loop for x in self.mechanism.loops if isinstance(x.loop, Distance)]
        return [
            Rod((self.number[x.predecessor], self.number[x.successor]),
                (np.array(x.predecessor_point, float), np.array(x.successor_point, float)))
            for x in distances
        ]  # fmt: skip

    def items(self, first_rod: int) -> list[Item]:
        """Sticks and markers; rods have the places from `first_rod` on."""
        world = first_rod + len(self.rods())
        items = [item for k, body in enumerate(self.mechanism.bodies) for item in self._body(k, body.name)]
        items += self._ground(world)
        items += [item for joint in self.mechanism.joints for item in self._marker(joint, world)]
        items += self._closings(world)
        for k, x in enumerate(x for x in self.mechanism.loops if isinstance(x.loop, Distance)):
            length = float(getattr(x.loop, "length", 0.0))
            solid = triangles.rod(np.zeros(3), np.array([0.0, 0.0, length]), 0.5 * _THIN * self.size)
            items.append(Item(f"{x.name}/rod", "shapes", first_rod + k, solid, FIXED))
        return items

    def _body(self, place: int, name: str) -> list[Item]:
        origin = np.zeros(3)
        ends = [p for p in self.ends[name] if np.linalg.norm(p) > _SHORT * self.size]
        if not ends:
            return []
        radius = _THIN * self.size
        parts = [triangles.rod(origin, p, radius) for p in _distinct(ends)]
        parts += [triangles.move_surface(triangles.sphere(radius, 16), _at(p)) for p in _distinct(ends)]
        return [Item(f"{name}/stick", "shapes", place, triangles.merge(parts), (*PALETTE[place % len(PALETTE)], 1.0))]

    def _ground(self, world: int) -> list[Item]:
        """Sticks of the world between the places to which chains and loops are fixed, if there are several."""
        fixed = [np.array(j.placement.position, float) for j in self.mechanism.joints
                 if j.parent == WORLD and j.child not in self._free]  # fmt: skip
        ends = _distinct([*fixed, *(p for held in held_points(self.mechanism) for body, p in held if body == WORLD)])
        if len(ends) < 2:
            return []
        middle = np.mean(ends, axis=0) if len(ends) > 2 else ends[0]
        parts = [triangles.rod(middle, p, 0.6 * _THIN * self.size) for p in ends if np.linalg.norm(p - middle) > 0.0]
        return [Item("world/stick", "shapes", world, triangles.merge(parts), FIXED)]

    def _marker(self, joint: PlacedJoint, world: int) -> list[Item]:
        axes, radius = directions(joint.joint), 1.8 * _THIN * self.size
        place = self.number[joint.child]
        if not axes or len(axes) == 6:
            return []
        if len(axes) > 1:
            return [Item(f"{joint.name}/marker", "shapes", place, triangles.sphere(1.3 * radius), JOINT)]
        axis, turns = axes[0]
        if turns:
            solid, at = triangles.cylinder(radius, 3.0 * radius), triangles.pointing(axis, np.zeros(3))
            return [Item(f"{joint.name}/marker", "shapes", place, solid, JOINT, at)]
        R, home = np.array(joint.placement.rotation, float), np.array(joint.placement.position, float)
        guide = triangles.box(1.7 * radius, 1.7 * radius, 4.0 * radius)  # on the body along which it slides
        parent = world if joint.parent == WORLD else self.number[joint.parent]
        return [Item(f"{joint.name}/marker", "shapes", parent, guide, JOINT, triangles.pointing(R @ axis, home))]

    def _closings(self, world: int) -> list[Item]:
        """Markers of joints that close loops."""
        markers, radius = [], 1.6 * _THIN * self.size
        for named in self.mechanism.loops:
            loop = named.loop
            if not isinstance(loop, Closure):
                continue
            place, p = self.number[loop.predecessor], np.array(loop.at_predecessor.p, float)
            R = np.array(loop.at_predecessor.R, float)
            axes = directions(loop.joint)
            single = len(axes) == 1 and axes[0][1]
            solid = triangles.cylinder(radius, 3.4 * radius) if single else triangles.sphere(1.3 * radius)
            at = triangles.pointing(R @ axes[0][0], p) if single else _at(p)
            markers.append(Item(f"{named.name}/marker", "shapes", place if place >= 0 else world, solid, CLOSING, at))
        return markers


def _at(p: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = p
    return T


def _distinct(points: list[np.ndarray]) -> list[np.ndarray]:
    points_apart: list[np.ndarray] = []
    for p in points:
        if all(np.linalg.norm(p - x) > 1e-9 for x in points_apart):
            points_apart.append(p)
    return points_apart
