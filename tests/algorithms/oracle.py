"""The equations of motion by the Lagrangian route (Liu-Jain eq. 44-48, 59), in plain NumPy and extended precision.

Nothing of the library's algorithms is used: poses are multiplied out body by body from `joint.placement`, and all the
rest follows from differentiating them. First derivatives are complex steps, exact to rounding; the rate of a Jacobian
is a central difference of these. Where `longdouble` is no longer than `double` the latter costs three digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fourbar import System
from fourbar.joints import Joint
from fourbar.joints.composite import SeriesJoint
from fourbar.joints.lie import GroupJoint

STEP = 1e-30  # of complex steps
# Central difference of order ten: weights of f(±h), f(±2h), ...
STENCIL = (5 / 6, -5 / 21, 5 / 84, -5 / 504, 1 / 1260)
LONG = np.finfo(np.longdouble).eps < 1e-17  # whether `longdouble` is what it says
DIFFERENCED = 1e-12 if LONG else 1e-11  # what to allow where a rate of a Jacobian enters


def skew(a: np.ndarray) -> np.ndarray:
    """[a] (..., 3, 3): the matrix of a ×."""
    zero = np.zeros_like(a[..., 0])
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*a.shape, 3)


def unskew(m: np.ndarray) -> np.ndarray:
    """The vector of the skew part of m (..., 3, 3)."""
    pairs = [m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0))]
    return np.stack(pairs, axis=-1) / 2


def apply(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """M x, sample by sample."""
    return (M @ x[..., None])[..., 0]


def dense(R: object, p: object, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    """A 4 x 4 matrix (*shape, 4, 4) from entries that are numbers or arrays."""
    T = np.zeros((*shape, 4, 4), kind)
    for i in range(3):
        T[..., i, 3] = p[i]
        for j in range(3):
            T[..., i, j] = R[i][j]
    T[..., 3, 3] = 1
    return T


class Kinematics:
    """Where the bodies and frames of a robot are, for configurations of real or complex numbers."""

    def __init__(self, robot: System) -> None:
        self.mechanism = robot.mechanism
        self.nv = robot.nv

    def plus(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q ⊕ v, joint by joint."""
        shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        parts, at_q, at_v = [], 0, 0
        for c in self.mechanism.joints:
            own_q = [q[..., at_q + i] for i in range(c.joint.nq)]
            own_v = [v[..., at_v + i] for i in range(c.joint.nv)]
            parts += [np.broadcast_to(x, shape) for x in c.joint.integrate(own_q, own_v)]
            at_q, at_v = at_q + c.joint.nq, at_v + c.joint.nv
        return np.stack(parts, axis=-1)

    def poses(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """World pose (..., 4, 4) of every body and frame."""
        shape, kind = q.shape[:-1], q.dtype
        found = {"world": np.broadcast_to(np.eye(4, dtype=kind), (*shape, 4, 4))}
        at = 0
        for c in self.mechanism.joints:
            moved = c.joint.placement([q[..., at + i] for i in range(c.joint.nq)])
            at += c.joint.nq
            fixed = dense(c.placement.rotation, c.placement.position, (), kind)
            found[c.child] = found[c.parent] @ fixed @ dense(moved.R, moved.p, shape, kind)
        for f in self.mechanism.frames:
            found[f.name] = found[f.body] @ dense(f.placement.rotation, f.placement.position, (), kind)
        return found

    def along(self, function: Callable[[np.ndarray], np.ndarray], q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """d/dt of a real function of the configuration q ⊕ t v, by central differences."""
        h = 0.002 / (float(np.abs(v).max()) or 1.0)
        q, v = q.astype(np.longdouble), v.astype(np.longdouble)
        total: np.ndarray | float = 0.0
        for k, weight in enumerate(STENCIL, 1):
            ahead, behind = (function(self.plus(q, sign * k * h * v)) for sign in (1, -1))
            total = total + np.longdouble(weight) / h * (ahead - behind)
        return np.asarray(total)

    def jacobians(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """J (..., 6, nv) of every body and frame: angular velocity, and velocity of the origin, in world axes."""
        real = self.poses(q.astype(np.longdouble))
        moved = self.plus(q.astype(np.clongdouble)[..., None, :], 1j * STEP * np.eye(self.nv, dtype=np.longdouble))
        return {name: _jacobian(real[name], T.imag / STEP) for name, T in self.poses(moved).items()}


def _jacobian(T: np.ndarray, dT: np.ndarray) -> np.ndarray:
    """J (..., 6, nv) from a pose (..., 4, 4) and its derivatives (..., nv, 4, 4)."""
    turning = unskew(dT[..., :3, :3] @ np.swapaxes(T[..., None, :3, :3], -1, -2))
    return np.swapaxes(np.concatenate([turning, dT[..., :3, 3]], axis=-1), -1, -2)


@dataclass(frozen=True)
class Dynamics:
    """What follows from the Lagrangian at states (q, v)."""

    M: np.ndarray
    Cv: np.ndarray  # Coriolis and centrifugal force
    g: np.ndarray  # force that holds against gravity
    kinetic: np.ndarray
    potential: np.ndarray
    com: np.ndarray
    com_jacobian: np.ndarray
    momentum: np.ndarray  # [angular; linear] about the world's origin


def lagrangian(robot: System, q: np.ndarray, v: np.ndarray) -> Dynamics:
    """M = Σ JᵀM_c J, C v = Σ (JᵀM_c J̇ + Jᵀ[ω̃]M_c J) v, from Jacobians of the bodies' centres of mass.

    What is fixed to the ground has no energy and no part in the centre of mass.
    """
    k = Kinematics(robot)
    ground = grounded(robot)
    bodies = [b for b in robot.mechanism.bodies if b.name not in ground]
    centres = {b.name: np.array(b.com, np.longdouble) for b in bodies}
    mass = np.array([b.mass for b in bodies], np.longdouble)

    def stacked(at: np.ndarray) -> np.ndarray:
        """J (bodies, ..., 6, nv) of the centres of mass."""
        T, J = k.poses(at.astype(np.longdouble)), k.jacobians(at)
        return np.stack([_shift(J[name], apply(T[name][..., :3, :3], c)) for name, c in centres.items()])

    T = k.poses(q.astype(np.longdouble))
    R = np.stack([T[b.name][..., :3, :3] for b in bodies])
    x = np.stack([apply(T[name][..., :3, :3], c) + T[name][..., :3, 3] for name, c in centres.items()])
    inertias = np.array([b.inertia for b in bodies], np.longdouble).reshape(-1, *[1] * (q.ndim - 1), 3, 3)
    Ic = R @ inertias @ np.swapaxes(R, -1, -2)
    J, dJ = stacked(q), k.along(stacked, q, v)
    m = mass.reshape(-1, *[1] * (q.ndim - 1), 1, 1)
    Jw, Jv = J[..., :3, :], J[..., 3:, :]
    armature = np.diag(np.concatenate([np.array(c.armature, np.longdouble) for c in robot.mechanism.joints]))
    M = (m * np.swapaxes(Jv, -1, -2) @ Jv + np.swapaxes(Jw, -1, -2) @ Ic @ Jw).sum(axis=0) + armature
    w, u = apply(Jw, v), apply(Jv, v)
    spin = apply(Ic, w)
    force = m[..., 0] * apply(dJ[..., 3:, :], v)
    torque = apply(Ic, apply(dJ[..., :3, :], v)) + np.cross(w, spin)
    Cv = (apply(np.swapaxes(Jv, -1, -2), force) + apply(np.swapaxes(Jw, -1, -2), torque)).sum(axis=0)
    Cv = Cv + armature_force([(c.joint, c.armature) for c in robot.mechanism.joints], v)
    gravity = np.array(robot.gravity, np.longdouble)
    g = -(m[..., 0] * apply(np.swapaxes(Jv, -1, -2), np.broadcast_to(gravity, x.shape))).sum(axis=0)
    kinetic = 0.5 * np.einsum("...i,...ij,...j", v.astype(np.longdouble), M, v)
    com = (m[..., 0] * x).sum(axis=0) / mass.sum()
    linear = (m[..., 0] * u).sum(axis=0)
    angular = (spin + np.cross(x, m[..., 0] * u)).sum(axis=0)
    return Dynamics(
        M, Cv, g, kinetic, -(com @ gravity) * mass.sum(), com, (m * Jv).sum(axis=0) / mass.sum(),
        np.concatenate([angular, linear], axis=-1),
    )  # fmt: skip


def brackets(joint: Joint) -> np.ndarray:
    """c (nv, nv, nv): the fields of unit velocities have [X_i, X_j] = Σ_k c_ijk X_k."""
    if isinstance(joint, SeriesJoint):
        c = np.zeros((joint.nv,) * 3)
        for link in joint._links:
            c[link.v, link.v, link.v] = brackets(link.joint)
        return c
    c = np.zeros((joint.nv,) * 3)
    if isinstance(joint, GroupJoint):
        for i, unit in enumerate(np.eye(joint.nv)):
            c[i] = np.array(joint.group.ad(unit.tolist()), float).T
    return c


def armature_force(joints: Iterable[tuple[Joint, Sequence[float]]], v: np.ndarray) -> np.ndarray:
    """-(A v) · [v, e_i] (..., nv): the force that turns the momenta of armatures A, joint by joint."""
    parts, first = [np.zeros((*v.shape[:-1], 0))], 0
    for joint, armature in joints:
        own = v[..., first : first + joint.nv]
        parts.append(-np.einsum("...i,ijk,...k->...j", own, brackets(joint), own * np.array(armature, float)))
        first += joint.nv
    return np.concatenate(parts, axis=-1)


def _shift(J: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The Jacobian of a point at r (world axes) from the origin of J."""
    moved = J[..., 3:, :] - skew(r) @ J[..., :3, :]
    return np.concatenate([J[..., :3, :], moved], axis=-2)


def grounded(robot: System) -> set[str]:
    """The bodies that cannot move."""
    found = {"world"}
    for c in robot.mechanism.joints:
        if c.joint.nv == 0 and c.parent in found:
            found.add(c.child)
    return found
