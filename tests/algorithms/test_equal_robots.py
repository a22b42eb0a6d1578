"""Different descriptions of the same robot move alike."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given

from fourbar import System
from fourbar.joints import Fixed, Joint
from fourbar.joints.composite import SeriesJoint
from fourbar.mechanism.mechanism import Body, Mechanism, PlacedJoint, Placement
from fourbar.spatial.transform import Transform

from .mechanisms import (
    COUNT,
    EACH,
    EACH_FLOATING,
    EXAMPLES,
    FEW,
    RECIPES,
    Recipe,
    condition,
    mechanism,
    near,
    random_rotation,
    shares,
    state,
)
from .oracle import dense, skew

TIGHT = 1e-13


def same_motion(robot: System, other: System, recipe: Recipe) -> None:
    """Equal M, ID and FD at the same q, v, a, τ."""
    s = state(robot, recipe)
    M = robot.mass_matrix(s.q)
    near(other.mass_matrix(s.q), M, TIGHT)
    near(other.inverse_dynamics(s.q, s.v, s.a), robot.inverse_dynamics(s.q, s.v, s.a), TIGHT)
    tol = max(1e-14 * condition(M).max(), TIGHT)
    near(other.forward_dynamics(s.q, s.v, s.tau), robot.forward_dynamics(s.q, s.v, s.tau), tol)


def placement(T: np.ndarray) -> Placement:
    return Placement(tuple(map(tuple, T[:3, :3].tolist())), tuple(T[:3, 3].tolist()))


def pose(p: Placement) -> np.ndarray:
    return dense(p.rotation, p.position, (), np.dtype(float))


# --- fixed joints -----------------------------------------------------------------------------------------------------


def welded(a: Body, b: Body, T: np.ndarray) -> Body:
    """One body from two, b placed at T in the frame of a: masses add, inertias by the parallel-axis theorem."""
    mass = a.mass + b.mass
    centres = [np.array(a.com), T[:3, :3] @ np.array(b.com) + T[:3, 3]]
    com = (a.mass * centres[0] + b.mass * centres[1]) / mass if mass else np.zeros(3)
    total = np.zeros((3, 3))
    for m, c, inertia in zip((a.mass, b.mass), centres, (a.inertia, T[:3, :3] @ b.inertia @ T[:3, :3].T), strict=True):
        arm = skew(c - com)
        total += np.array(inertia) + m * arm @ arm.T
    return Body(a.name, mass, tuple(com.tolist()), tuple(map(tuple, total.tolist())))


def without_fixed_joints(m: Mechanism) -> Mechanism:
    """The same mechanism with every fixed body made part of what carries it, by hand; without frames."""
    homes = {"world": ("world", np.eye(4))}
    bodies: dict[str, Body] = {}
    connections: list[PlacedJoint] = []
    for body, c in zip(m.bodies, m.joints, strict=True):
        carrier, T = homes[c.parent]
        T = T @ pose(c.placement)
        if c.joint == Fixed():
            homes[body.name] = carrier, T
            if carrier != "world":
                bodies[carrier] = welded(bodies[carrier], body, T)
        else:
            homes[body.name] = body.name, np.eye(4)
            bodies[body.name] = body
            connections.append(replace(c, parent=carrier, placement=placement(T)))
    return Mechanism(m.name, tuple(bodies.values()), tuple(connections), (), m.gravity)


@EACH
@EXAMPLES
@given(RECIPES)
def test_fixed_joints_are_merged(number: int, recipe: Recipe) -> None:
    robot = mechanism(number)
    same_motion(robot, merged_robot(number), recipe)


@cache
def merged_robot(number: int) -> System:
    return System(without_fixed_joints(mechanism(number).mechanism))


# --- joints in series -------------------------------------------------------------------------------------------------


def in_series(joint: Joint) -> list[Joint | Transform]:
    """The joints and placements that a joint stands for."""
    if not isinstance(joint, SeriesJoint):
        return [joint]
    return [inner for part in joint.parts for inner in ([part] if isinstance(part, Transform) else in_series(part))]


def as_chains(m: Mechanism) -> Mechanism:
    """The same mechanism with every joint in series written as a chain of joints with massless bodies between."""
    bodies: list[Body] = []
    connections: list[PlacedJoint] = []
    for body, c in zip(m.bodies, m.joints, strict=True):
        parts = in_series(c.joint)
        parent, at = c.parent, c.placement
        used = 0
        for k, part in enumerate(parts):
            last = k == len(parts) - 1
            name = body.name if last else f"{body.name}/{k}"
            joint = Fixed() if isinstance(part, Transform) else part
            if isinstance(part, Transform):
                at = placement(pose(at) @ dense(part.R, part.p, (), np.dtype(float)))
            own = c.armature[used : used + joint.nv]
            used += joint.nv
            bodies.append(body if last else Body(name, 0.0, (0.0, 0.0, 0.0), ((0.0,) * 3,) * 3))
            zeros, free = (0.0,) * joint.nv, (np.inf,) * joint.nq
            connections.append(
                PlacedJoint(f"{c.name}/{k}", joint, parent, name, at, own, zeros, zeros, tuple(-x for x in free), free)
            )
            parent, at = name, Placement()
    return Mechanism(m.name, tuple(bodies), tuple(connections), m.frames, m.gravity)


WITH_SERIES = [i for i in range(COUNT) if any(isinstance(joint, SeriesJoint) for joint in shares()[i])]


@pytest.mark.parametrize("number", [pytest.param(i, marks=pytest.mark.quick) if i == 0 else i for i in WITH_SERIES])
def test_joints_in_series_are_chains(number: int) -> None:
    """Universal, Euler and composite joints equal the chain of their parts, with nothing between that has mass."""
    robot = mechanism(number)
    chain = System(as_chains(robot.mechanism))
    assert len(chain.names.bodies) > len(robot.names.bodies)
    for recipe in ((0, "random", 1.0), (1, "home", 10.0)):
        same_motion(robot, chain, recipe)
    s = state(robot)
    near(chain.pose(s.q, "hand"), robot.pose(s.q, "hand"), TIGHT)
    near(chain.jacobian(s.q, "hand"), robot.jacobian(s.q, "hand"), TIGHT)


# --- place and gravity ------------------------------------------------------------------------------------------------


def mounted(m: Mechanism, T: np.ndarray) -> Mechanism:
    """The mechanism on a heavy body that stands at T, in the same gravity as seen from there; without frames."""
    mount = Body("mount", 100.0, (0.1, 0.2, 0.3), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    here = PlacedJoint("mount", Fixed(), "world", "mount", placement(T), (), (), (), (), ())
    connections = [replace(c, parent="mount" if c.parent == "world" else c.parent) for c in m.joints]
    gravity = tuple((T[:3, :3] @ np.array(m.gravity)).tolist())
    return Mechanism(m.name, (mount, *m.bodies), (here, *connections), (), gravity)


@FEW
def test_standing_elsewhere(number: int) -> None:
    """Moved as a whole, gravity and all, a robot moves the same; poses, centre of mass and momentum move along."""
    robot = mechanism(number)
    rng = np.random.default_rng(number)
    T = dense(random_rotation(rng, generic=True), rng.normal(size=3), (), np.dtype(float))
    moved = System(mounted(robot.mechanism, T))
    same_motion(robot, moved, (3, "random", 1.0))
    s = state(robot)
    R, p = T[:3, :3], T[:3, 3]
    near(moved.poses(s.q)[:, 1:], T @ robot.poses(s.q), TIGHT)
    near(moved.center_of_mass(s.q), robot.center_of_mass(s.q) @ R.T + p, TIGHT)
    h, h_moved = robot.momentum(s.q, s.v), moved.momentum(s.q, s.v)
    near(h_moved, np.concatenate([h[:, :3] @ R.T, h[:, 3:] @ R.T], axis=-1), TIGHT)
    near(moved.kinetic_energy(s.q, s.v), robot.kinetic_energy(s.q, s.v), TIGHT)


@FEW
def test_forces_are_linear_in_gravity(number: int) -> None:
    """ID in g + g' is ID in g + weight in g'; energies likewise."""
    robot = mechanism(number)
    s = state(robot)
    g, extra = np.array(robot.gravity), np.array([1.0, -2.0, 3.0])
    both, other = robot.with_gravity(g + extra), robot.with_gravity(extra)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    near(both.inverse_dynamics(s.q, s.v, s.a), tau + other.gravity_force(s.q), TIGHT)
    sizes = np.abs(robot.potential_energy(s.q)) + np.abs(other.potential_energy(s.q))
    near(both.potential_energy(s.q), robot.potential_energy(s.q) + other.potential_energy(s.q), TIGHT, sizes)


@cache
def weightless(number: int) -> System:
    return mechanism(number).with_gravity((0.0, 0.0, 0.0))


@EACH_FLOATING
@EXAMPLES
@given(RECIPES)
def test_a_floating_base_is_like_any_other_place(number: int, recipe: Recipe) -> None:
    """Without gravity nothing depends on where a floating robot is, nor on how it is turned."""
    robot = weightless(number)
    s = state(robot, recipe)
    q = s.q.copy()
    q[:, :7] = robot.random(11, len(q))[:, :7] * np.array([100.0] * 3 + [1.0] * 4)
    near(robot.mass_matrix(q), robot.mass_matrix(s.q), 1e-15)
    near(robot.inverse_dynamics(q, s.v, s.a), robot.inverse_dynamics(s.q, s.v, s.a), TIGHT)
    tol = max(1e-14 * condition(robot.mass_matrix(q)).max(), TIGHT)
    near(robot.forward_dynamics(q, s.v, s.tau), robot.forward_dynamics(s.q, s.v, s.tau), tol)


@pytest.mark.quick
def test_free_fall() -> None:
    """Let go at rest, a floating robot falls as if it were rigid: no joint moves."""
    robot = mechanism(0)
    assert not any(robot.mechanism.joints[0].armature)
    s = state(robot)
    a = robot.forward_dynamics(s.q, 0.0 * s.v, 0.0 * s.tau)
    expected = np.zeros_like(a)
    expected[:, 3:6] = np.einsum("bij,i->bj", robot.pose(s.q, "base")[:, :3, :3], robot.gravity)
    near(a, expected, 1e-12)


# --- order of declaration ---------------------------------------------------------------------------------------------


@FEW
def test_order_of_declaration(number: int) -> None:
    """Bodies may be declared in any order in which parents come first: only the places of the numbers change."""
    robot = mechanism(number)
    m = robot.mechanism
    depth = {"world": 0}
    for c in m.joints:
        depth[c.child] = depth[c.parent] + 1
    order = sorted(range(len(m.bodies)), key=lambda i: (depth[m.bodies[i].name], -i))
    bodies, connections = tuple(m.bodies[i] for i in order), tuple(m.joints[i] for i in order)
    other = System(Mechanism(m.name, bodies, connections, m.frames, m.gravity))
    to_q = [robot.names.coordinates.index(x) for x in other.names.coordinates]
    to_v = [robot.names.velocities.index(x) for x in other.names.velocities]
    s = state(robot)
    tau = other.inverse_dynamics(s.q[:, to_q], s.v[:, to_v], s.a[:, to_v])
    near(tau, robot.inverse_dynamics(s.q, s.v, s.a)[:, to_v], TIGHT)
    near(other.mass_matrix(s.q[:, to_q]), robot.mass_matrix(s.q)[:, to_v][:, :, to_v], TIGHT)
