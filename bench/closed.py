"""Closed loops by ball joints and hinges, as ours and as Pinocchio's constrained dynamics: same bodies, same states.

Pinocchio keeps the coordinates of all joints and adds rigid constraints, solved with multipliers
(`constraintDynamics`) or by its loop-constrained articulated-body algorithm (`lcaba`); we keep the coordinates of all
joints and the independent velocities. Both get the same state here, and the same forces on the independent
joints. A loop joint becomes three rows for Pinocchio (CONTACT_3D, two points coincide) or six (CONTACT_6D, two frames
coincide); a kind of five rows for a hinge there is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

import fourbar as fb
from fourbar.joints import Joint, Revolute, Spherical, Universal
from fourbar.loops import Closure


def _rod(length: float, mass: float, along: str = "x") -> dict[str, Any]:
    """A slender rod from the origin of its frame."""
    k = "xyz".index(along)
    com, inertia = [0.0] * 3, [mass * length**2 / 12.0] * 3
    com[k], inertia[k] = 0.5 * length, 1e-3 * mass * length**2
    return {"mass": mass, "com": com, "inertia": inertia}


def four_bar() -> fb.System:
    """A planar four-bar: crank, coupler and rocker on a ground of half a metre; one degree of freedom."""
    b = fb.Builder("four_bar")
    b.body("crank", joint=Revolute("y"), **_rod(0.2, 0.5))
    b.body("coupler", parent="crank", joint=Revolute("y"), position=(0.2, 0.0, 0.0), **_rod(0.5, 1.0))
    b.body("rocker", joint=Revolute("y"), position=(0.5, 0.0, 0.0), **_rod(0.4, 0.8))
    pin_joint = Closure(
        Revolute("y"), "coupler", "rocker", at_predecessor=(0.5, 0.0, 0.0), at_successor=(0.4, 0.0, 0.0)
    )
    b.configuration("open", {"crank": -1.0, "coupler": 0.6, "rocker": -1.4})  # drawn in line it has two assemblies
    return b.loop(pin_joint, independent=["crank"]).build()


def spring_leg() -> fb.System:
    """A leg built like Cassie's: a loop in space of thigh, shin, tarsus, heel spring and a rod between ball joints, and
    a planar one of crank, rod and foot. Eleven bodies, twelve velocities of which seven are independent.

    Bodies are declared depth first, as the sparse factorisation of Pinocchio takes for granted.
    """
    b = fb.Builder("spring_leg")
    b.body("hip_roll", joint=Revolute("x"), **_rod(0.1, 1.8))
    b.body("hip_yaw", parent="hip_roll", joint=Revolute("z"), position=(0.05, 0.0, -0.05), **_rod(0.1, 1.6))
    b.body("thigh", parent="hip_yaw", joint=Revolute("y"), position=(0.0, 0.0, -0.1), **_rod(-0.4, 8.0, "z"))
    b.body("knee", parent="thigh", joint=Revolute("y"), position=(0.0, 0.0, -0.4), **_rod(0.06, 0.8))
    b.body("shin", parent="knee", joint=Revolute("y"), position=(0.06, 0.0, 0.0), **_rod(-0.42, 0.6, "z"))
    b.body("tarsus", parent="shin", joint=Revolute("y"), position=(0.0, 0.0, -0.42), **_rod(-0.4, 0.8, "z"))
    b.body("heel", parent="tarsus", joint=Revolute("y"), position=(-0.02, 0.01, -0.03), **_rod(0.11, 0.13))
    b.body("crank", parent="tarsus", joint=Revolute("y"), position=(0.06, -0.03, -0.05), **_rod(0.05, 0.1))
    b.body("plantar", parent="crank", joint=Revolute("y"), position=(0.05, 0.0, 0.0), **_rod(-0.34, 0.1, "z"))
    b.body("foot", parent="tarsus", joint=Revolute("y"), position=(0.0, -0.03, -0.4), **_rod(0.15, 0.15))
    b.body("rod", parent="thigh", joint=Universal("x", "y"), position=(0.0, 0.04, -0.05), **_rod(-0.8, 0.16, "z"))
    b.loop(
        Closure(Spherical(), "rod", "heel", at_predecessor=(0.0, 0.0, -0.8), at_successor=(0.11, 0.0, 0.0)),
        independent=["knee", "shin", "tarsus"],
    )
    b.loop(
        Closure(Revolute("y"), "plantar", "foot", at_predecessor=(0.0, 0.0, -0.34), at_successor=(0.06, 0.0, 0.0)),
        independent=["crank"],
    )
    return b.build()


def _peer_joint(joint: Joint) -> Any:
    if isinstance(joint, Revolute):
        return pin.JointModelRevoluteUnaligned(np.array(joint.axis, float))
    assert isinstance(joint, Universal)
    return pin.JointModelUniversal(np.array(joint.axis1, float), np.array(joint.axis2, float))


def spanning_model(robot: fb.System) -> Any:
    """The spanning tree of a robot of hinges and universal joints as a Pinocchio model; joints in the same order."""
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    for body, c in zip(robot.mechanism.bodies, robot.mechanism.joints, strict=True):
        place = pin.SE3(np.array(c.placement.rotation), np.array(c.placement.position))
        parent = 0 if c.parent == "world" else model.getJointId(c.parent)
        i = model.addJoint(parent, _peer_joint(c.joint), place, body.name)
        inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))
        model.appendBodyToJoint(i, inertia, pin.SE3.Identity())
    return model


@dataclass
class Settings:
    """How Pinocchio solves: the kind of its constraints, its regularisation mu, how often it refines at most, and by
    which algorithm."""

    kind: Any
    mu: float
    iterations: int
    accuracy: float = 1e-14
    algorithm: str = "constraintDynamics"

    def __str__(self) -> str:
        rows = "3D" if self.kind == pin.ContactType.CONTACT_3D else "6D"
        return (
            f"{self.algorithm} {rows}, mu={self.mu:g}, {self.iterations} iteration{'s' if self.iterations > 1 else ''}"
        )


SETTINGS = [
    Settings(pin.ContactType.CONTACT_3D, 0.0, 1),
    Settings(pin.ContactType.CONTACT_3D, 1e-12, 1),
    Settings(pin.ContactType.CONTACT_3D, 1e-8, 10),
    Settings(pin.ContactType.CONTACT_3D, 1e-5, 10),
    Settings(pin.ContactType.CONTACT_6D, 1e-8, 10),
]
# Loop-constrained ABA: mu must be positive. With six rows a hinge would be locked, so there are three.
LCABA = [
    Settings(pin.ContactType.CONTACT_3D, mu, iterations, algorithm="lcaba")
    for mu, iterations in ((1e-4, 1), (1e-6, 1), (1e-8, 1), (1e-6, 10))
    if hasattr(pin, "lcaba")  # from Pinocchio 4.0 on
]


class ClosedPeer:
    """A robot with loop joints as Pinocchio's tree with constraints."""

    def __init__(self, robot: fb.System, settings: Settings) -> None:
        self.robot, self.model = robot, spanning_model(robot)
        self.data = self.model.createData()
        self.settings = pin.ProximalSettings(settings.accuracy, settings.mu, settings.iterations)
        self.closures = [named.loop for named in robot.mechanism.loops if isinstance(named.loop, Closure)]
        self.constraints = pin.StdVec_RigidConstraintModel()
        self.memory = pin.StdVec_RigidConstraintData()
        for loop in self.closures:
            ends = [(self.model.getJointId(b), p) for b, p in self._ends(loop)]
            first, second = ends
            made = pin.RigidConstraintModel(settings.kind, self.model, *first, *second, pin.ReferenceFrame.LOCAL)
            self.constraints.append(made)
            self.memory.append(made.createData())
        if settings.algorithm == "lcaba":
            pin.computeJointMinimalOrdering(self.model, self.data, self.constraints)
        else:
            pin.initConstraintDynamics(self.model, self.data, self.constraints, self.memory)
        self._solve = getattr(pin, settings.algorithm)

    @staticmethod
    def _ends(loop: Closure) -> list[tuple[str, Any]]:
        """(body, place) of both ends, with places in Pinocchio's form."""
        pairs = ((loop.predecessor, loop.at_predecessor), (loop.successor, loop.at_successor))
        return [(body, pin.SE3(np.array(T.R, float), np.array(T.p, float))) for body, T in pairs]

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """q̈ of all joints."""
        return self._solve(self.model, self.data, q, v, tau, self.constraints, self.memory, self.settings)

    def gap_acceleration(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
        """How far apart the two ends of a loop accelerate: the largest difference of their accelerations, m/s²."""
        data = self.model.createData()
        pin.forwardKinematics(self.model, data, q, v, a)
        worst = 0.0
        for loop in self.closures:
            found = []
            for body, place in self._ends(loop):
                i = self.model.getJointId(body)
                V, A = data.v[i], data.a[i]
                local = A.linear + np.cross(A.angular, place.translation)
                point = V.linear + np.cross(V.angular, place.translation)
                found.append(data.oMi[i].rotation @ (local + np.cross(V.angular, point)))
            worst = max(worst, float(np.abs(found[0] - found[1]).max()))
        return worst
