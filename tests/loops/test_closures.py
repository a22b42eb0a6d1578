"""A chain closed by any joint is the tree in which that joint carries the body: an oracle for every type of loop joint.

Closed: an arm on the ground, a plate that floats freely, and the joint between them as a loop. Open: the plate carried
by the joint. Same bodies, same forces; so configurations, velocities, accelerations and energies must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from fourbar import Builder, System, baselines
from fourbar.constraints.closures import closes_directly
from fourbar.joints import (
    JOINT_TYPES,
    Composite,
    CustomJoint,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    SphericalEuler,
    SphericalExponential,
    Translation2,
    Translation3,
    Universal,
)
from fourbar.loops import Closure

from .looped import apply, near, shaped

ODD, OTHER = (2 / 7, -3 / 7, 6 / 7), (0.6, 0.0, -0.8)
N = 4


def _cam(q: Any) -> Any:
    """A frame that turns while it moves on a cam."""
    c, s = np.cos(2.0 * q[0]), np.sin(2.0 * q[0])
    return [[c, -s, 0], [s, c, 0], [0, 0, 1]], [0.3 * c, 0.2 * s, 0.1 * q[0]]


JOINTS: tuple[tuple[Joint, ...], ...] = (
    (Fixed(), Revolute(ODD), Prismatic("-z"), Helical(OTHER, pitch=0.2)),
    (Cylindrical("x"), Spherical(), Planar("y"), Translation2(ODD)),
    (Translation3(), Schoenflies("x"), Helical(OTHER, pitch=-0.1), Universal(ODD, OTHER)),
    (SphericalEuler("zyx"), SphericalExponential(), Composite(Revolute("x"), Prismatic(ODD)), CustomJoint(_cam, nq=1)),
)
EACH_SET = pytest.mark.parametrize("number", range(len(JOINTS)))


def test_every_joint_type_closes_a_loop() -> None:
    joints = [joint for some in JOINTS for joint in some]
    assert {type(joint) for joint in joints} == set(JOINT_TYPES) - {Free}
    assert {type(j) for j in joints if not closes_directly(j)} == {Composite, CustomJoint}


def _place(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A position and a rotation."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return 0.3 * rng.normal(size=3), Q * np.sign(np.linalg.det(Q))


def _arms(b: Builder, number: int) -> list[tuple[int, Joint, tuple[Any, Any], tuple[Any, Any]]]:
    """An arm for each joint of a set; where on the arm and on the plate the joint sits."""
    found = []
    for i, joint in enumerate(JOINTS[number]):
        shaped(b, f"arm{i}", 100 + 10 * number + i, joint=Revolute("y"), position=(i, 0, 0))
        found.append((i, joint, _place(200 + i), _place(300 + i)))
    return found


@cache
def closed(number: int) -> System:
    b = Builder(f"closed{number}")
    for i, joint, (p1, R1), (p2, R2) in _arms(b, number):
        shaped(b, f"plate{i}", 150 + 10 * number + i, joint=Free())
        places = {"at_predecessor": p1, "predecessor_rotation": R1, "at_successor": p2, "successor_rotation": R2}
        b.loop(Closure(joint, f"arm{i}", f"plate{i}", **places), name=f"loop{i}")
    return b.build()


@cache
def opened(number: int) -> System:
    b = Builder(f"opened{number}")
    for i, joint, (p1, R1), (p2, R2) in _arms(b, number):
        limits = ([-2, -0.8, -2], [2, 0.8, 2]) if isinstance(joint, SphericalEuler) else None
        b.body(f"mount{i}", parent=f"arm{i}", joint=joint, position=p1, rotation=R1, limits=limits)
        back = {"position": -R2.T @ p2, "rotation": R2.T}
        shaped(b, f"plate{i}", 150 + 10 * number + i, parent=f"mount{i}", **back)
    return b.build()


@dataclass(frozen=True)
class Pair:
    """The same states of both robots; `every` are velocities of all joints of the closed one."""

    open_q: np.ndarray
    open_v: np.ndarray
    q: np.ndarray
    every: np.ndarray


def _quaternion(R: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of one rotation matrix."""
    scalar = [1 + R[0, 0] + R[1, 1] + R[2, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2]]
    if scalar[0] > scalar[1]:
        q = [scalar[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    elif R[1, 1] < R[2, 2] and R[0, 0] < R[2, 2]:
        q = [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2], 1 + R[2, 2] - R[0, 0] - R[1, 1]]
    elif R[0, 0] < R[1, 1]:
        q = [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1 + R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]]
    else:
        q = [R[2, 1] - R[1, 2], scalar[1], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]]
    return np.array(q) / np.linalg.norm(q)


def _parts(number: int, x: np.ndarray, size: str, plates: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Numbers of the joints of the closed robot, from those of the open one (arms first) and those of the plates."""
    own = np.cumsum([len(JOINTS[number]), *(getattr(joint, size) for joint in JOINTS[number])])
    parts = {f"arm{i}": x[:, i : i + 1] for i in range(len(JOINTS[number]))}
    parts |= {f"plate{i}": plate for i, plate in enumerate(plates)}
    return parts | {f"loop{i}": x[:, own[i] : own[i + 1]] for i in range(len(JOINTS[number]))}


def _rates(number: int, x: np.ndarray, of_plate: Callable[[int], np.ndarray]) -> np.ndarray:
    """Velocities or accelerations of all joints of the closed robot, in the order of its spanning tree."""
    parts = _parts(number, x, "nv", [of_plate(i) for i in range(len(JOINTS[number]))])
    return np.concatenate([parts[c.name] for c in closed(number).model.cluster_tree.moving], axis=-1)


@cache
def pair(number: int) -> Pair:
    tree, robot, rng = opened(number), closed(number), np.random.default_rng(5)
    q, v = tree.random(rng, N), rng.normal(size=(N, tree.nv))
    T = tree.poses(q)
    plates = []
    for i in range(len(JOINTS[number])):
        pose = T[:, tree.names.bodies.index(f"plate{i}")]
        turned = np.array([_quaternion(R) for R in pose[:, :3, :3]])
        plates.append(np.concatenate([pose[:, :3, 3], turned], axis=-1))
    parts = _parts(number, q, "nq", plates)
    full = np.concatenate([parts[joint] for cluster in robot.clusters for joint in cluster.joints], axis=-1)
    every = _rates(number, v, lambda i: tree.velocity(q, v, f"plate{i}", expressed_in="frame"))
    return Pair(q, v, full, every)


def _independent(robot: System, every: np.ndarray) -> np.ndarray:
    where = baselines.independent(robot)
    return every[:, where.places] / where.scales


@EACH_SET
def test_what_the_joint_allows_is_closed(number: int) -> None:
    """Same freedom, and no gap in any configuration that the joint can reach."""
    robot, tree, p = closed(number), opened(number), pair(number)
    assert robot.nv == tree.nv
    assert robot.loop_gap(p.q).max() < 1e-14
    bodies = [robot.names.bodies.index(f"plate{i}") for i in range(4)]
    others = [tree.names.bodies.index(f"plate{i}") for i in range(4)]
    near(robot.poses(p.q)[:, bodies], tree.poses(p.open_q)[:, others], 1e-14)


@EACH_SET
def test_what_is_closed_the_joint_allows(number: int) -> None:
    """Every closed configuration is one that the joint can reach: no axis points backwards, nothing is upside down."""
    robot = closed(number)
    q = robot.random(8, 10)
    T = robot.poses(q)
    for i, joint in enumerate(JOINTS[number]):
        (p1, R1), (p2, R2) = _place(200 + i), _place(300 + i)
        first, second = (np.eye(4) for _ in range(2))
        first[:3, :3], first[:3, 3], second[:3, :3], second[:3, 3] = R1, p1, R2, p2
        arm, plate = (T[:, robot.names.bodies.index(f"{body}{i}")] for body in ("arm", "plate"))
        between = np.linalg.inv(arm @ first) @ plate @ second
        for sample in between:
            assert _distance(joint, sample) < 1e-9, f"{joint} cannot reach\n{sample}"


def _distance(joint: Joint, T: np.ndarray) -> float:
    """How near the joint comes to a relative pose: least squares over its coordinates, from many starts."""

    def gap(x: np.ndarray) -> np.ndarray:
        placed = joint.placement(x.tolist())
        turn, way = np.array(placed.R, float) - T[:3, :3], np.array(placed.p, float) - T[:3, 3]
        return np.concatenate([turn.ravel(), way])

    if joint.nq == 0:
        return float(np.abs(gap(np.zeros(0))).max())
    rng, best, wide = np.random.default_rng(0), np.inf, np.full(joint.nq, np.inf)
    for _ in range(20):
        start = joint.random(rng, -wide, wide, ())
        if isinstance(joint, Helical):  # whole turns away there are other minima
            start = np.array([T[:3, 3] @ joint.axis / joint.pitch])
        found = scipy.optimize.least_squares(gap, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        best = min(best, float(np.abs(found.fun).max()))
        if best < 1e-10:
            break
    return best


@EACH_SET
def test_same_velocities_accelerations_and_energies(number: int) -> None:
    robot, tree, p = closed(number), opened(number), pair(number)
    v = _independent(robot, p.every)
    near(robot.expand_velocity(p.q, v), p.every, 1e-12)
    near(robot.kinetic_energy(p.q, v), tree.kinetic_energy(p.open_q, p.open_v), 1e-12)
    rng = np.random.default_rng(6)
    a = rng.normal(size=p.open_v.shape)
    every = _rates(number, a, lambda i: tree.acceleration(p.open_q, p.open_v, a, f"plate{i}", expressed_in="frame"))
    near(robot.expand_acceleration(p.q, v, _independent(robot, every)), every, 1e-11)


@EACH_SET
def test_same_dynamics(number: int) -> None:
    """Gravity, wrenches on all bodies, and a motor on every arm: the same accelerations of all joints."""
    robot, tree, p = closed(number), opened(number), pair(number)
    v, rng = _independent(robot, p.every), np.random.default_rng(7)
    wrench = {name: rng.normal(size=(N, 6)) for i in range(4) for name in (f"arm{i}", f"plate{i}")}
    f_ext = {r: np.stack([wrench.get(n, np.zeros((N, 6))) for n in r.names.bodies], axis=1) for r in (robot, tree)}
    motors = rng.normal(size=(N, 4))
    tau = np.zeros_like(p.open_v)
    tau[:, :4] = motors
    a = tree.forward_dynamics(p.open_q, p.open_v, tau, f_ext=f_ext[tree])
    every = _rates(number, a, lambda i: tree.acceleration(p.open_q, p.open_v, a, f"plate{i}", expressed_in="frame"))
    forces = np.zeros_like(p.every)
    labels = baselines.spanning_tree(robot).names.velocities
    forces[:, [labels.index(f"arm{i}") for i in range(4)]] = motors
    driven = apply(np.swapaxes(robot.loop_map(p.q), -1, -2), forces)
    near(robot.forward_dynamics(p.q, v, driven, f_ext=f_ext[robot]), _independent(robot, every), 1e-10)
