"""Robots in a fluid, and their dynamics by an independent route: body by body in NumPy, from twists and Jacobians."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import fourbar as fb
from fourbar.joints import Free, Prismatic, Revolute, Spherical
from fourbar.mechanism.mechanism import Body


def definite(rng: np.random.Generator, size: float = 1.0) -> np.ndarray:
    """A symmetric positive definite 6 x 6 matrix."""
    A = rng.normal(size=(6, 6))
    return size * (A @ A.T / 6.0 + 0.1 * np.eye(6))


def any_fluid(rng: np.random.Generator, forces: bool = False) -> fb.Fluid:
    """Added mass and buoyancy, and drag and a current if asked for."""
    acting = {
        "linear_drag": definite(rng),
        "quadratic_drag": rng.uniform(0.1, 1.0, size=6),
        "current": rng.normal(size=3),
    }
    volume, center = rng.uniform(0.0, 2e-3), 0.1 * rng.normal(size=3)
    return fb.Fluid(
        added_mass=definite(rng), volume=volume, center_of_buoyancy=center, density=1025.0, **(acting if forces else {})
    )


def immerse(robot: fb.System, seed: int = 0, forces: bool = False) -> fb.System:
    """The robot with a fluid around two of three bodies, and without armatures."""
    rng = np.random.default_rng(seed)
    wet = {name: {"fluid": any_fluid(rng, forces)} for n, name in enumerate(robot.names.bodies) if n % 3 != 1}
    bare = {joint.name: {"armature": 0.0} for joint in robot.mechanism.joints if joint.joint.nv}
    return robot.with_parameters(bodies=wet, joints=bare)


def with_fluids(robot: fb.System, **changes: Any) -> fb.System:
    """The robot with other numbers of all its fluids."""
    wet = [body for body in robot.mechanism.bodies if body.fluid is not None]
    return robot.with_parameters(bodies={body.name: {"fluid": replace(body.fluid, **changes)} for body in wet})


def vehicle(gravity: Any = (0.0, 0.0, -9.81), forces: bool = False) -> fb.System:
    """A hull with an arm whose gripper is fixed to its last link, and a piston; one link without a fluid."""
    rng = np.random.default_rng(7)
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    rigid: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.2), "inertia": (0.1, 0.12, 0.09)}
    wet = (any_fluid(rng, forces) for _ in range(4))
    b = fb.Builder("vehicle", gravity=gravity)
    b.body("hull", joint=Free(), mass=10.0, com=(0.02, -0.01, 0.05), inertia=(1.0, 1.1, 1.2), fluid=next(wet))
    b.body("upper", parent="hull", joint=Revolute(axis), position=(0.3, 0.1, 0.0), fluid=next(wet), **rigid)
    b.body("wrist", parent="upper", joint=Spherical(), position=(0.3, 0.1, 0.0), **rigid)
    b.body("gripper", parent="wrist", rpy=(0.3, 0.2, 0.1), position=(0.1, 0.2, 0.3), fluid=next(wet), **rigid)
    b.body("piston", parent="hull", joint=Prismatic("y"), position=(-0.3, 0.1, 0.0), fluid=next(wet), **rigid)
    return b.build()


def hat(x: np.ndarray) -> np.ndarray:
    a, b, c = x
    return np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])


def rigid_inertia(body: Body) -> np.ndarray:
    """The 6 x 6 inertia of a body about its origin, [angular; linear]."""
    C, m = hat(np.array(body.com)), body.mass
    return np.block([[np.array(body.inertia) - m * C @ C, m * C], [-m * C, m * np.eye(3)]])


def inertia(body: Body) -> np.ndarray:
    """With the added mass."""
    return rigid_inertia(body) + (np.array(body.fluid.added_mass) if body.fluid else 0.0)


def coadjoint(V: np.ndarray, h: np.ndarray) -> np.ndarray:
    """-ad_Vᵀ h."""
    w, v = V[:3], V[3:]
    return np.concatenate([np.cross(w, h[:3]) + np.cross(v, h[3:]), np.cross(w, h[3:])])


def weight(body: Body, down: np.ndarray) -> np.ndarray:
    """Weight and buoyancy, with gravity in the body's axes."""
    lost = body.fluid.density * body.fluid.volume if body.fluid else 0.0
    moment = body.mass * np.array(body.com) - (lost * np.array(body.fluid.center_of_buoyancy) if body.fluid else 0.0)
    return np.concatenate([np.cross(moment, down), (body.mass - lost) * down])


def moving_bodies(robot: fb.System, q: np.ndarray) -> Iterator[tuple[Body, np.ndarray, np.ndarray]]:
    """Each body with its pose (4, 4) and Jacobian (6, nv), in its own axes at its origin."""
    for body in robot.mechanism.bodies:
        yield body, robot.pose(q, body.name), robot.jacobian(q, body.name, expressed_in="frame")


def mass_matrix(robot: fb.System, q: np.ndarray) -> np.ndarray:
    """Σ Jᵀ (I + M_a) J."""
    return sum(J.T @ inertia(body) @ J for body, _, J in moving_bodies(robot, q))  # type: ignore[return-value]


def inverse_dynamics(robot: fb.System, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Σ Jᵀ (M A - ad_Vᵀ M V - weight - buoyancy) of all bodies."""
    total = np.zeros(robot.nv)
    for body, pose, J in moving_bodies(robot, q):
        V, A = J @ v, robot.acceleration(q, v, a, body.name, expressed_in="frame")
        M, down = inertia(body), pose[:3, :3].T @ np.array(robot.gravity)
        total += J.T @ (M @ A + coadjoint(V, M @ V) - weight(body, down))
    return total


def fluid_wrench(body: Body, pose: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Drag and the effect of the current on the added mass, from Kirchhoff's equations of the relative velocity."""
    assert body.fluid is not None
    U = np.concatenate([np.zeros(3), pose[:3, :3].T @ np.array(body.fluid.current)])
    R, M = V - U, np.array(body.fluid.added_mass)
    rate = np.concatenate([np.zeros(3), -np.cross(V[:3], U[3:])])  # of U in the body's axes
    in_current = -M @ rate + coadjoint(R, M @ R)
    drag = np.array(body.fluid.linear_drag) @ R + np.array(body.fluid.quadratic_drag) @ (np.abs(R) * R)
    return coadjoint(V, M @ V) - in_current - drag


def passive_forces(robot: fb.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Σ Jᵀ F of drag and current."""
    parts = [J.T @ fluid_wrench(body, pose, J @ v) for body, pose, J in moving_bodies(robot, q) if body.fluid]
    return sum(parts, np.zeros(robot.nv))
