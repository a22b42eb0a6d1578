"""Articulated inertias and biases beside mass matrices of the part that a body carries, set afloat, and reactions."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Fixed, Free, Revolute, Spherical
from tests.loops import looped

from . import mechanisms
from .mechanisms import near

pytestmark = pytest.mark.drawn_in_line


def entries(robot: fb.System, part: fb.System, x: np.ndarray, kind: str) -> np.ndarray:
    """The entries of coordinates or velocities of a robot that a floating part of it has too, but for its base."""
    names = list(getattr(robot.names, kind))
    return np.array([x[names.index(name)] for name in getattr(part.names, kind)[7 if kind == "coordinates" else 6 :]])


def pose_as_coordinates(T: np.ndarray) -> np.ndarray:
    """Position and quaternion of a pose."""
    return np.concatenate([T[:3, 3], fb.convert.quaternion_from_matrix(T[:3, :3])])


def afloat(
    robot: fb.System, body: str, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """I_A and p_A from the mass matrix and bias force of the part that begins with a body, on a free joint."""
    part = robot.sub(body, joint=Free())
    number = list(robot.names.bodies).index(body)
    q_part = np.concatenate([pose_as_coordinates(robot.pose(q, body)), entries(robot, part, q, "coordinates")])
    v_part = np.concatenate([robot.twists(q, v)[number], entries(robot, part, v, "velocities")])
    forces = np.array([f_ext[list(robot.names.bodies).index(name)] for name in part.names.bodies])
    M, h = part.mass_matrix(q_part), part.bias_force(q_part, v_part, f_ext=forces)
    ahead = np.linalg.solve(M[6:, 6:], np.column_stack([M[6:, :6], entries(robot, part, tau, "velocities") - h[6:]]))
    inertia = M[:6, :6] - M[:6, 6:] @ ahead[:, :6]
    weight = np.concatenate([np.zeros(3), robot.pose(q, body)[:3, :3].T @ robot.gravity])
    return inertia, h[:6] + M[:6, 6:] @ ahead[:, 6] + inertia @ weight


def check(robot: fb.System, bodies: list[str], state: mechanisms.State) -> None:
    q, v, tau, f_ext = state.q[0], state.v[0], state.tau[0], state.f_ext[0]
    inertias, biases = robot.articulated_inertia(q), robot.articulated_bias(q, v, tau, f_ext=f_ext)
    for body in bodies:
        number = list(robot.names.bodies).index(body)
        inertia, bias = afloat(robot, body, q, v, tau, f_ext)
        near(inertias[number], inertia, 1e-9)
        near(biases[number], bias, 1e-9)
        near(robot.articulated_inertia(q, body), inertia, 1e-9)


@pytest.mark.parametrize("number", [0, 3, 5])
def test_trees(number: int) -> None:
    robot = mechanisms.mechanism(number)
    bodies = zip(robot.mechanism.bodies, robot.mechanism.joints, strict=True)
    moving = [body.name for body, joint in bodies if joint.joint.nv and body.mass]
    check(robot, moving[:: max(1, len(moving) // 4)], mechanisms.state(robot, n=1))


@pytest.mark.parametrize(("name", "bodies"), [("planar_leg_linkage", ["thigh"]), ("mini_cheetah", ["Floating Base"])])
def test_bodies_that_carry_loops(name: str, bodies: list[str]) -> None:
    robot = getattr(fb.robots, name)()
    bodies = [b for b in bodies if b in robot.names.bodies] or [robot.names.bodies[0]]
    check(robot, bodies, mechanisms.state(robot, n=1))


def coupler(cut: bool) -> fb.System:
    """A four-bar whose coupler carries a hand on a ball joint, or the coupler alone, afloat, with its hand."""
    b = fb.Builder("linkage", gravity=(0.5, -9.0, 1.0))
    if cut:
        b.body("coupler", joint=Free(), mass=1.0, com=(0.45, 0.0, 0.0), inertia=(0.0, 0.0675, 0.0675))
    else:
        b.loop(looped.bars(b, "", (1.0, 0.4, 0.9, 0.7)), name="loop", independent=["crank"])
    looped.shaped(b, "hand", 1, parent="coupler", joint=Spherical(), position=(0.4, 0.1, 0.0))
    return b.build()


def test_body_within_a_loop_is_that_body_with_what_it_carries_outside_the_loop() -> None:
    linkage, alone = coupler(cut=False), coupler(cut=True)
    state = mechanisms.state(linkage, n=1)
    q, v, tau = state.q[0], state.v[0], state.tau[0]
    q_alone = np.concatenate([pose_as_coordinates(linkage.pose(q, "coupler")), q[-4:]])
    M = alone.mass_matrix(q_alone)
    inertia = M[:6, :6] - M[:6, 6:] @ np.linalg.solve(M[6:, 6:], M[6:, :6])
    near(linkage.articulated_inertia(q, "coupler"), inertia, 1e-10)
    twist = linkage.twists(q, v)[list(linkage.names.bodies).index("coupler")]
    h = alone.bias_force(q_alone, np.concatenate([twist, v[-3:]]))
    weight = np.concatenate([np.zeros(3), linkage.pose(q, "coupler")[:3, :3].T @ linkage.gravity])
    bias = h[:6] + M[:6, 6:] @ np.linalg.solve(M[6:, 6:], tau[-3:] - h[6:]) + inertia @ weight
    near(linkage.articulated_bias(q, v, tau, "coupler"), bias, 1e-10)


def geared_bodies(cut: bool) -> fb.System:
    """A four-bar with a gear between joints on its crank and its coupler; or these two bodies afloat, with the gear."""
    b = fb.Builder("geared")
    if cut:
        b.body("crank", joint=Free(), mass=1.0, com=(0.2, 0.0, 0.0), inertia=(0.0, 0.4**2 / 12, 0.4**2 / 12))
        b.body("coupler", joint=Free(), mass=1.0, com=(0.45, 0.0, 0.0), inertia=(0.0, 0.0675, 0.0675))
    else:
        b.loop(looped.bars(b, "", (1.0, 0.4, 0.9, 0.7)), name="loop", independent=["crank"])
    looped.shaped(b, "wheel", 1, parent="crank", joint=Revolute("x"), position=(0.2, 0.0, 0.1))
    looped.shaped(b, "driven", 2, parent="coupler", joint=Revolute("y"), position=(0.3, 0.1, 0.0))
    b.loop(fb.loops.Gear("wheel", "driven", -2.0), name="gear")
    return b.build()


def test_bodies_on_which_a_gear_hangs_while_the_other_is_still() -> None:
    linkage, alone = geared_bodies(cut=False), geared_bodies(cut=True)
    q = mechanisms.state(linkage, n=1).q[0]
    poses = [pose_as_coordinates(linkage.pose(q, body)) for body in ("crank", "coupler")]
    M = alone.mass_matrix(np.concatenate([*poses, [q[-1], -2.0 * q[-1]]]))  # the wheel, and what it drives
    assert alone.names.velocities[0].startswith("crank") and alone.names.velocities[6].startswith("coupler")
    for body, at in (("crank", slice(0, 6)), ("coupler", slice(6, 12))):
        inertia = M[at, at] - np.outer(M[at, 12], M[12, at]) / M[12, 12]
        near(linkage.articulated_inertia(q, body), inertia, 1e-10)


@pytest.mark.quick
def test_wrench_is_the_reaction_in_motion() -> None:
    """F = I_A A + p_A is what the joint transmits while the robot moves under tau; also what holds the base."""
    b = fb.Builder("arm")
    b.body("base", joint=Fixed(), mass=2.0, com=(0.0, 0.0, 0.1), inertia=(0.1, 0.1, 0.1), position=(0.1, 0.0, 0.0))
    looped.shaped(b, "upper", 1, parent="base", joint=Revolute("y"), position=(0.0, 0.1, 0.2))
    looped.shaped(b, "bracket", 2, parent="upper", joint=Fixed(), position=(0.1, 0.0, 0.3))
    looped.shaped(b, "hand", 3, parent="bracket", joint=Spherical(), position=(0.3, 0.0, 0.0))
    robot = b.build()
    state = mechanisms.state(robot, n=3)
    a = robot.forward_dynamics(state.q, state.v, state.tau, state.f_ext)
    reactions = robot.reactions(state.q, state.v, a, state.f_ext)
    inertias = robot.articulated_inertia(state.q)
    biases = robot.articulated_bias(state.q, state.v, state.tau, f_ext=state.f_ext)
    for k, body in enumerate(robot.names.bodies):
        if body == "bracket":  # one with the body that carries it
            continue
        moved = robot.acceleration(state.q, state.v, a, body, expressed_in="frame")
        moved[:, 3:] -= np.einsum("nij,i->nj", robot.pose(state.q, body)[:, :3, :3], robot.gravity)
        near(np.einsum("nij,nj->ni", inertias[:, k], moved) + biases[:, k], reactions[:, k], 1e-10)


def test_derivative_by_the_mass_of_a_body_on_the_ground() -> None:
    b = fb.Builder("base")
    b.body("base", joint=Fixed(), mass=2.0, com=(0.0, 0.0, 0.1), inertia=(0.1, 0.1, 0.1))
    b.body("arm", parent="base", joint=Revolute("y"), mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    by = b.build().articulated_inertia.jacobian([0.3], frame="base", parameters=["base.mass"]).parameters["base.mass"]
    assert np.allclose(by[3:, 3:], np.eye(3)) and np.isclose(by[0, 0], 0.1**2)


def test_unknown_body() -> None:
    with pytest.raises(fb.UnknownNameError, match="'elbow'"):
        fb.robots.double_pendulum().articulated_inertia([0.1, 0.2], "elbow")
