"""Inertias as MuJoCo accepts them.

It requires mass and three principal moments of at least 1e-15 for everything that moves, and moments that satisfy the
triangle inequality to the last bit. A thin rod, a point mass and a flat plate are therefore written with the smallest
accepted numbers, which is below the effect of rounding on the dynamics. A physically inconsistent inertia (A + B < C)
can be expressed exactly where the dynamics does not depend on all of it:

- For bodies that are fixed to each other only the sum matters: the first of them takes all moments.
- A body that only ever turns about one axis n shows nᵀ J n alone, so that a ball with this moment does the same.
- About a hinge along n, t (1 - n nᵀ) may move from the parent to the child: turning about n does not change it. This
  is how a rotor gets the moments across its axis that its parent was given.

Armature has one number for each velocity of a joint in these formats.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple
from xml.etree import ElementTree as ET

import numpy as np

from ...joints import Fixed, Revolute
from ...joints.axis import unit_axis
from ...joints.base import Joint
from ...mechanism.armature_blocks import places
from ...mechanism.fluid import Fluid
from ...mechanism.mechanism import WORLD, Body, Mechanism, PlacedJoint
from ...spatial.inertia import is_usable
from ..numbers import quaternion
from .written_numbers import Unsaid, child, list_names


def without_blocks(mechanism: Mechanism, unsaid: Unsaid) -> Mechanism:
    """The mechanism with armature by joint: blocks without entries off the diagonal are added to that of their joints,
    others refused by name, or left out where that is waived.
    """
    if not mechanism.armatures:
        return mechanism
    joints = {c.name: c for c in mechanism.joints}
    for block in mechanism.armatures:
        rows = block.matrix
        if any(x for i, row in enumerate(rows) for j, x in enumerate(row) if i != j):
            coupled = ", ".join(map(repr, block.joints))
            unsaid.refuse(f"armature {block.name!r}, which couples velocities of {coupled}", "armature")
            continue
        for name, own in places(block, {c.name: c.joint for c in mechanism.joints}).items():
            total = tuple(x + rows[i][i] for x, i in zip(joints[name].armature, own, strict=True))
            joints[name] = replace(joints[name], armature=total)
    return replace(mechanism, joints=tuple(joints[c.name] for c in mechanism.joints), armatures=())


LEAST = 1e-15  # MuJoCo's smallest mass and moment of a moving body
_ROOM = 1e-12  # below this fraction of the largest moment MuJoCo's own principal axes may fail its checks
_ROUNDING = 1e-9  # possible error of a moment that a file wrote with few digits
_NEGLIGIBLE = 1e-6  # largest LEAST, relative to the inertia that it is added to
_PARALLEL = 1e-14
_SHOWN = 6


def leave_refused(mechanism: Mechanism, unsaid: Unsaid) -> None:
    """Say which inertias a file holds as they are, although they are refused when it is read, unless waived."""
    refused = [body.name for body in mechanism.bodies if not is_usable(body.mass, np.array(body.inertia))]
    if refused:
        what = f"{list_names(refused)}: negative principal moments are refused when the file is read"
        unsaid.leave(what, "read it with waive=['inertia']")


def leave_compensation(mechanism: Mechanism, unsaid: Unsaid) -> None:
    """Say of which bodies the gravity compensation cannot be written."""
    named = [body.name for body in mechanism.bodies if body.gravity_compensation]
    if named:
        unsaid.leave(
            f"{list_names(named)}: gravity compensation is left out, the whole weight acts where the file is read"
        )


def refuse_fluids(mechanism: Mechanism, unsaid: Unsaid, added_mass: bool = False) -> None:
    """Refuse fluids around bodies. `added_mass`: the format has that, so that only the rest is lost."""
    lost: list[str] = []
    for body in mechanism.bodies:
        if body.fluid is not None:
            rest = replace(body.fluid, added_mass=(0.0,) * 6) if added_mass else body.fluid
            if rest not in (Fluid(), Fluid(density=rest.density)):
                lost.append(body.name)
    if lost:
        what = "buoyancy, drag and current" if added_mass else "the fluid"
        unsaid.refuse(f"{what} around {'bodies' if len(lost) > 1 else 'body'} {list_names(lost)}", "fluid")


class Inertials:
    """Writes the inertias of the bodies of a mechanism."""

    def __init__(self, mechanism: Mechanism, unsaid: Unsaid) -> None:
        self._unsaid = unsaid
        self._axes = turning(mechanism)
        self._carried = _carried_inertias(mechanism)
        self._tensors = {body.name: _symmetric(body) for body in mechanism.bodies}
        self._said: dict[str, list[str]] = {}
        self._gather(mechanism)
        for body, c in zip(reversed(mechanism.bodies), reversed(mechanism.joints), strict=True):
            if c.joint.nv and not _is_expressible(self._tensors[body.name]):
                self._mend(body, c)
        self._heavy = self._heavy_enough(mechanism)

    def write(self, element: ET.Element, body: Body, c: PlacedJoint) -> None:
        """Write the inertia of a body; what cannot be expressed is refused."""
        J = self._tensors[body.name]
        moments = _moments(J)
        if not body.mass and not moments.any():
            if c.joint.nv and body.name not in self._heavy:
                self._without_mass(element, body)
        elif not _is_expressible(J):
            self._unphysical(element, body, moments)
        else:
            self._write_inertia(element, body, J, bool(c.joint.nv))

    def report(self) -> None:
        """Report what was changed, once for all bodies."""
        for what, bodies in self._said.items():
            more = f" and {len(bodies) - _SHOWN} more" if len(bodies) > _SHOWN else ""
            listed = ", ".join(map(repr, bodies[:_SHOWN])) + more
            self._unsaid.leave(f"{'bodies' if len(bodies) > 1 else 'body'} {listed}: {what}")

    def _report(self, what: str, body: str) -> None:
        self._said.setdefault(what, []).append(body)

    def _gather(self, mechanism: Mechanism) -> None:
        """Where a body among those fixed to each other is physically inconsistent, let the first take all moments."""
        bad: set[str] = set()
        first = {WORLD: (WORLD, np.eye(3))}  # the first of the bodies that are fixed to each other, and R to its frame
        for c in mechanism.joints:
            carrier, R = first[c.parent]
            R = R @ np.array(c.placement.rotation) @ np.array(c.joint.placement(c.joint.neutral()).R, float)
            first[c.child] = (c.child, np.eye(3)) if c.joint.nv else (carrier, R)
            if not _is_expressible(self._tensors[c.child]):
                bad.add(first[c.child][0])
        for name, (carrier, R) in first.items():
            if carrier in bad and name != carrier:
                if carrier != WORLD:
                    self._tensors[carrier] = self._tensors[carrier] + R @ self._tensors[name] @ R.T
                if self._tensors[name].any():
                    self._report("moments are written with those of the body that it is fixed to", name)
                self._tensors[name] = np.zeros((3, 3))

    def _mend(self, body: Body, c: PlacedJoint) -> None:
        """Give a body a physically consistent inertia with which the mechanism moves the same, if there is one."""
        J, axes = self._tensors[body.name], self._axes[body.name]
        if axes.shape[1] < 2:
            n = axes[:, 0] if axes.shape[1] else np.zeros(3)
            self._tensors[body.name] = max(float(n @ J @ n), 0.0) * np.eye(3)
            self._report("turns about one axis at most: the moment about this is written as that about all", body.name)
        elif isinstance(c.joint, Revolute) and c.parent != WORLD:
            t = 0.5 * (1.0 + _ROUNDING) * _deficit(_moments(J))
            n, R = np.array(c.joint.axis, float), np.array(c.placement.rotation)
            across = t * (np.eye(3) - np.outer(n, n))
            given = self._tensors[c.parent] - R @ across @ R.T
            if _is_expressible(J + across) and _is_expressible(given):
                self._tensors[body.name], self._tensors[c.parent] = J + across, given
                self._report("moments across its hinge are taken from its parent", body.name)

    def _heavy_enough(self, mechanism: Mechanism) -> set[str]:
        """Bodies with enough mass for MuJoCo, their own or that of what is fixed to them."""
        heavy: set[str] = set()
        for body, c in zip(reversed(mechanism.bodies), reversed(mechanism.joints), strict=True):
            if body.mass >= LEAST and _moments(self._tensors[body.name])[0] >= LEAST:
                heavy.add(body.name)
            if body.name in heavy and not c.joint.nv:
                heavy.add(c.parent)
        return heavy

    def _without_mass(self, element: ET.Element, body: Body) -> None:
        if self._is_too_light(body):
            self._unsaid.refuse(f"body {body.name!r}, which moves but is massless")
            return
        self._report(f"no mass, which MuJoCo requires of everything that moves: {LEAST:g} is written", body.name)
        child(element, "inertial", pos=(0.0, 0.0, 0.0), mass=[LEAST], diaginertia=(LEAST,) * 3)

    def _is_too_light(self, body: Body) -> bool:
        """Whether LEAST would be noticeable beside what a body moves."""
        carried = self._carried[body.name]
        return _NEGLIGIBLE * (carried.moment if self._axes[body.name].shape[1] else carried.mass) < LEAST

    def _unphysical(self, element: ET.Element, body: Body, moments: np.ndarray) -> None:
        a, b, c = moments
        why = f"a negative principal moment {a:.4g}" if a < 0.0 else f"{a:.4g} + {b:.4g} < {c:.4g}"
        what = f"body {body.name!r}: a physically inconsistent inertia ({why})"
        if self._unsaid.refuse(what, "inertia"):
            _, R = np.linalg.eigh(self._tensors[body.name])
            raised = np.maximum(moments, 0.0)
            nearest = raised + max(_deficit(raised), 0.0) / 3.0 * np.array([1.0, 1.0, -1.0])
            self._write_inertia(element, body, R @ np.diag(nearest) @ R.T, True)

    def _write_inertia(self, element: ET.Element, body: Body, J: np.ndarray, moves: bool) -> None:
        moments, least = _moments(J), LEAST if moves and body.name not in self._heavy else 0.0
        if min(body.mass, moments[0]) < least:
            if self._is_too_light(body):
                self._unsaid.refuse(f"body {body.name!r}: mass or moments below MuJoCo's minimum")
                return
            lacking = "mass" if body.mass < LEAST else "moment about one axis"
            self._report(f"no {lacking}, which MuJoCo requires: {LEAST:g} is written", body.name)
        mass, room = max(body.mass, least), _ROOM * moments[2]
        if moments[0] > max(room, _ROOM) and _deficit(moments) < -room:
            (xx, xy, xz), (_, yy, yz), (_, _, zz) = J.tolist()
            child(element, "inertial", pos=body.com, mass=[mass], fullinertia=(xx, yy, zz, xy, xz, yz))
            return
        _, R = np.linalg.eigh(J)
        quat = quaternion(R if np.linalg.det(R) > 0.0 else R * [1.0, 1.0, -1.0])
        child(element, "inertial", pos=body.com, quat=quat, mass=[mass], diaginertia=_nearest_moments(moments, least))


def turning(mechanism: Mechanism) -> dict[str, np.ndarray]:
    """The directions (3, k), in a body's own frame, about which it can turn: none, one that stays, or all three."""
    directions: dict[str, np.ndarray] = {WORLD: np.zeros((3, 0))}
    for c in mechanism.joints:
        before = np.array(c.placement.rotation).T @ directions[c.parent]
        own = _own_axes(c.joint)
        if own.shape[1] == 1 and before.shape[1] == 1 and np.linalg.norm(np.cross(own.T, before.T)) < _PARALLEL:
            before = own
        all_of = before if not own.shape[1] else own if before.shape[1] == 0 or before is own else np.eye(3)
        if isinstance(c.joint, Fixed):
            all_of = np.array(c.joint.placement(()).R, float).T @ all_of
        directions[c.child] = all_of
    return directions


def _own_axes(joint: Joint) -> np.ndarray:
    if joint.turning == "none":
        return np.zeros((3, 0))
    if joint.turning == "axis":
        axis = np.array(unit_axis(joint.axis), float)  # type: ignore[attr-defined]
        return (axis / np.linalg.norm(axis))[:, None]
    return np.eye(3)


class CarriedInertia(NamedTuple):
    """The inertia that a body's joint moves, with all descendants: mass, and the size of the moment about the joint."""

    mass: float
    moment: float


def _carried_inertias(mechanism: Mechanism) -> dict[str, CarriedInertia]:
    carried: dict[str, CarriedInertia] = {}
    for body, c in zip(reversed(mechanism.bodies), reversed(mechanism.joints), strict=True):
        mass, moment = carried.get(body.name, CarriedInertia(0.0, 0.0))
        moment += float(np.abs(body.inertia).max()) + body.mass * float(np.dot(body.com, body.com))
        carried[body.name] = own = CarriedInertia(mass + body.mass, moment)
        mass, moment = carried.get(c.parent, CarriedInertia(0.0, 0.0))
        lever = float(np.dot(c.placement.position, c.placement.position))
        carried[c.parent] = CarriedInertia(mass + own.mass, moment + own.moment + own.mass * lever)
    return carried


def _symmetric(body: Body) -> np.ndarray:
    J = np.array(body.inertia, float)
    return 0.5 * (J + J.T)


def _moments(J: np.ndarray) -> np.ndarray:
    """The principal moments, smallest first."""
    return np.linalg.eigvalsh(J)


def _deficit(moments: np.ndarray) -> float:
    """By how much C exceeds A + B."""
    a, b, c = moments
    return float(c - a - b)


def _is_expressible(J: np.ndarray) -> bool:
    """Whether an inertia is physically consistent, but for rounding, and above MuJoCo's minimum."""
    moments = _moments(J)
    dust = max(_ROUNDING * float(moments[2]), LEAST)
    return bool(moments[0] >= -dust and _deficit(moments) <= dust)


def _nearest_moments(moments: np.ndarray, least: float) -> tuple[float, float, float]:
    """The nearest moments that pass MuJoCo's checks as written."""
    a, b, c = (max(float(x), least) for x in moments)
    if a + b < c:
        a += c - (a + b)
    while a + b < c:
        a = float(np.nextafter(a, np.inf))
    return a, b, c
