"""Inverse dynamics with an actuated set (Kim eq. 56-66): unique, redundant in two senses, too few."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
import scipy.linalg

import fourbar as fb
from fourbar import ArgumentError, Builder, SingularError, System
from fourbar.constraints import Prescribed
from fourbar.joints import Fixed, Revolute
from fourbar.loops import Closure
from fourbar.system.constrained.robot import Constrained
from tests.loops.looped import apply, near, transposed

pytestmark = pytest.mark.drawn_in_line

HINGES = ("left", "left_elbow", "tip", "right_elbow", "right")


@cache
def five_bar(embedded: bool) -> System:
    """Kim's planar five-bar: five hinges in a row, the last body welded to the ground (three rows of six count)."""
    b = Builder("five_bar", gravity=(0, -9.81, 0))
    lengths = (0.25, 0.35, 0.35, 0.25)
    parent, place = "world", (-0.15, 0, 0)
    for name, length in zip(HINGES, (*lengths, 0.05), strict=True):
        b.body(
            name, parent=parent, joint=Revolute("z"), position=place, mass=0.4, com=(length / 2, 0, 0),
            inertia=(1e-4, 2e-3, 2e-3),
        )  # fmt: skip
        parent, place = name, (length, 0, 0)
    if embedded:
        b.loop(_ground(), name="ground", independent=["left", "right"])
    return b.build()


def _ground() -> Closure:
    return Closure(Fixed(), "world", "right", at_predecessor=(0.15, 0, 0))


@cache
def states(n: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a of all hinges, with the loop closed, and away from singular positions."""
    robot = five_bar(True)
    rng = np.random.default_rng(0)
    start = robot.assemble([1.9, -0.9, -1.9, -0.9, 1.8])
    q = robot.integrate(start, 0.2 * rng.normal(size=(n, 2)), 1.0)
    v, a = rng.normal(size=(2, n, 2))
    return robot.expand(q), robot.expand_velocity(q, v), robot.expand_acceleration(q, v, a)


@cache
def constrained(
    actuated: tuple[str, ...], least: str = "torque", weight: tuple[float, ...] | None = None
) -> Constrained:
    return five_bar(False).constrained(_ground(), actuated=actuated, least=least, weight=weight)


def _solves(c: Constrained, tau: np.ndarray, force: np.ndarray, actuated: tuple[str, ...]) -> np.ndarray:
    """Forces on all hinges; that they cause the accelerations is asserted by forward dynamics."""
    q, v, a = states()
    full = np.zeros_like(v)
    full[:, [HINGES.index(x) for x in actuated]] = tau
    near(c.forward_dynamics(q, v, full)[0], a, 1e-11)
    needed = five_bar(False).inverse_dynamics(q, v, a)
    near(full + apply(transposed(c.jacobian(q)), force), needed, 1e-12)
    return needed


@pytest.mark.default_cases("actuated0", "actuated2")
@pytest.mark.parametrize("actuated", [("left", "right"), ("right", "left"), ("tip", "left_elbow")])
def test_two_motors_are_unique(actuated: tuple[str, ...]) -> None:
    c, (q, v, a) = constrained(actuated), states()
    tau, force = c.inverse_dynamics(q, v, a)
    _solves(c, tau, force, actuated)
    robot = five_bar(True)
    independent = _independent(robot)
    again = robot.actuated(actuated).inverse_dynamics(q, v[:, independent], a[:, independent])
    near(again, tau, 1e-11)
    near(constrained(actuated, "constraint").inverse_dynamics(q, v, a)[0], tau, 1e-11)


def _independent(robot: System) -> list[int]:
    return [HINGES.index(x) for x in robot.names.velocities]


def _least_torque(rows: np.ndarray, needed: np.ndarray, active: list[int], W: np.ndarray) -> np.ndarray:
    """min τᵀ W τ over all τ of the actuators: Nᵀ Sᵀ τ = Nᵀ needed, N spanning the allowed velocities. One sample."""
    N = scipy.linalg.null_space(rows, rcond=1e-9)
    B = N[active]
    return np.linalg.solve(W, B) @ np.linalg.solve(B.T @ np.linalg.solve(W, B), N.T @ needed)


@pytest.mark.default_cases("False-actuated0", "True-actuated1")
@pytest.mark.parametrize("actuated", [("left", "tip", "right"), ("right", "left_elbow", "left"), HINGES])
@pytest.mark.parametrize("weighted", [False, True])
def test_least_torque(actuated: tuple[str, ...], weighted: bool) -> None:
    weight = tuple(1.0 + 0.5 * i for i in range(len(actuated))) if weighted else None
    c, (q, v, a) = constrained(actuated, weight=weight), states()
    tau, force = c.inverse_dynamics(q, v, a)
    needed = _solves(c, tau, force, actuated)
    W = np.eye(len(actuated)) if weight is None else np.diag(weight)
    active = [HINGES.index(x) for x in actuated]
    expected = [_least_torque(rows, f, active, W) for rows, f in zip(c.jacobian(q), needed, strict=True)]
    near(tau, np.array(expected), 1e-11)
    robot = five_bar(True)
    independent = _independent(robot)
    again = robot.actuated(actuated, weight=weight).inverse_dynamics(q, v[:, independent], a[:, independent])
    near(again, tau, 1e-11)


@pytest.mark.parametrize("actuated", [("left", "tip", "right"), HINGES])
def test_least_constraint_force(actuated: tuple[str, ...]) -> None:
    c, (q, v, a) = constrained(actuated, "constraint"), states()
    tau, force = c.inverse_dynamics(q, v, a)
    needed = _solves(c, tau, force, actuated)
    passive = [i for i, x in enumerate(HINGES) if x not in actuated]
    for rows, f, lam in zip(c.jacobian(q), needed, force, strict=True):
        expected = np.linalg.pinv(rows[:, passive].T, rcond=1e-9) @ f[passive] if passive else np.zeros(c.m)
        near(lam[None], expected[None], 1e-11, np.abs(f).max() * np.ones(1))
    if not passive:
        near(tau, needed, 1e-13)  # every hinge is driven: as if it were a chain


def test_weighted_constraint_force() -> None:
    actuated, weight = ("left", "tip", "right"), tuple(1.0 + i for i in range(6))
    c, (q, v, a) = constrained(actuated, "constraint", weight), states()
    tau, force = c.inverse_dynamics(q, v, a)
    needed = _solves(c, tau, force, actuated)
    passive = [1, 3]
    for rows, f, lam in zip(c.jacobian(q), needed, force, strict=True):
        A_p, W = rows[:, passive].T, np.diag(weight)
        expected = np.linalg.solve(W, A_p.T) @ np.linalg.solve(A_p @ np.linalg.solve(W, A_p.T), f[passive])
        near(lam[None], expected[None], 1e-11)


def test_external_forces() -> None:
    c, (q, v, a) = constrained(("left", "right")), states()
    f_ext = np.random.default_rng(2).normal(size=(len(q), 5, 6))
    tau, _ = c.inverse_dynamics(q, v, a, f_ext=f_ext)
    full = np.zeros_like(v)
    full[:, [0, 4]] = tau
    near(c.forward_dynamics(q, v, full, f_ext=f_ext)[0], a, 1e-11)


def test_too_few_motors() -> None:
    q, v, a = states()
    with pytest.raises(ArgumentError, match=r"too few: 4 velocities are passive.*hybrid_dynamics"):
        constrained(("left",)).inverse_dynamics(q, v, a)
    with pytest.raises(ArgumentError, match=r"determine 1 of 2 independent velocities.*hybrid_dynamics"):
        five_bar(True).actuated(["tip"])


def test_accelerations_that_the_constraints_forbid() -> None:
    q, v, a = states()
    with pytest.raises(ArgumentError, match=r"do not allow these accelerations.*row"):
        constrained(("left", "right")).inverse_dynamics(q, v, a + 1.0)


def test_singular_position_of_the_motors() -> None:
    """Where the forearms are in line, the cranks' motors do not hold the tip."""
    robot = five_bar(True).with_independent("left", "left_elbow")
    q = robot.assemble([2.2, -1.2, 0.0, -1.4, 1.0], keep=["tip"])
    drives = robot.actuated(["left", "right"])
    with pytest.raises(SingularError, match="do not hold the robot"):
        drives.inverse_dynamics(q, np.zeros(2), np.ones(2))
    with pytest.warns(RuntimeWarning, match="do not hold the robot"):
        found = drives.inverse_dynamics(np.stack([q, robot.integrate(q, [0.1, 0.1], 1.0)]), np.zeros(2), np.ones(2))
    assert np.all(np.isnan(found[0])) and np.all(np.isfinite(found[1]))
    c = constrained(("left", "right"))
    with pytest.raises(SingularError, match="cannot cause"):
        c.inverse_dynamics(robot.expand(q), np.zeros(5), robot.expand_acceleration(q, np.zeros(2), np.ones(2)))


@pytest.mark.default_cases("torque")
@pytest.mark.parametrize("least", ["torque", "constraint"])
def test_singular_positions_of_small_robots(least: str) -> None:
    """Forces of a robot that weighs a billionth are a billionth: out of reach where those of a large one are."""
    robot = five_bar(True).with_independent("left", "left_elbow")
    q = robot.assemble([2.2, -1.2, 0.0, -1.4, 1.0], keep=["tip"])
    full = robot.expand(q), np.zeros(5), robot.expand_acceleration(q, np.zeros(2), np.ones(2))
    tree = five_bar(False)
    for size in (1.0, 1e-9, 1e9):
        scaled = tree.with_inertial_parameters(size * tree.inertial_parameters())
        c = scaled.constrained(_ground(), actuated=("left", "right"), least=least)
        with pytest.raises(SingularError, match="cannot cause"):
            c.inverse_dynamics(*full)
        q_, v, a = states()
        tau, _ = c.inverse_dynamics(q_, v, a)
        near(tau / size, constrained(("left", "right"), least).inverse_dynamics(q_, v, a)[0], 1e-10)


CLOSED = [
    ("five_bar", ["left_crank", "right_crank"]),
    ("five_bar", ["left_forearm", "right_forearm", "left_crank"]),
    ("delta", ["arm1", "arm2", "arm3"]),
    ("delta", ["platform"]),
    pytest.param("stewart_platform", [f"slide{i}" for i in range(6, 0, -1)] + ["cardan2"], marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "joints"), CLOSED)
def test_closed_robots_of_the_library(name: str, joints: list[str]) -> None:
    """Power of the actuators = power of the independent forces; and forward dynamics undoes it."""
    robot = getattr(fb.robots, name)()
    drives = pickle.loads(pickle.dumps(robot.actuated(joints)))
    rng = np.random.default_rng(1)
    q, (v, a, w) = robot.random(rng, 5), rng.normal(size=(3, 5, robot.nv))
    tau = drives.inverse_dynamics(q, v, a)
    places = [i for j in joints for i, x in enumerate(robot.spanning().names.velocities) if x.partition(".")[0] == j]
    moved = robot.expand_velocity(q, w)[:, places]
    expected = (robot.inverse_dynamics(q, v, a) * w).sum(axis=-1)
    size = np.abs(robot.inverse_dynamics(q, v, a) * w).sum(axis=-1)
    near((tau * moved).sum(axis=-1)[:, None], expected[:, None], 1e-12, size)
    near(drives.forward_dynamics(q, v, tau), a, 1e-11)
    near(apply(drives.actuator_map(q), w), moved, 1e-12)


def test_arguments() -> None:
    robot = five_bar(True)
    with pytest.raises(KeyError, match="there is no moving joint 'tipp'; did you mean 'tip'"):
        robot.actuated(["tipp"])
    with pytest.raises(ArgumentError, match="expected a list of joint names"):
        robot.actuated("tip")
    with pytest.raises(ArgumentError, match="named twice"):
        robot.actuated(["tip", "tip"])
    with pytest.raises(ArgumentError, match="weight has 2 rows, but there are 3 actuated velocities"):
        robot.actuated(["left", "tip", "right"], weight=[1.0, 2.0])
    with pytest.raises(ArgumentError, match="positive definite"):
        robot.actuated(["left", "right"], weight=[[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ArgumentError, match="least='force'"):
        five_bar(False).constrained(_ground(), actuated=["left", "right"], least="force")
    q, v, a = states()
    with pytest.raises(ArgumentError, match="weight has 2 rows, but there are 6 rows of constraints"):
        constrained(("left", "right"), "constraint", (1.0, 2.0)).inverse_dynamics(q, v, a)
    with pytest.raises(ArgumentError, match="needs the actuated joints"):
        five_bar(False).constrained(_ground()).inverse_dynamics(q, v, a)


@pytest.mark.parametrize("actuated", [("left", "right"), ("left", "tip", "right")])
def test_passive_forces_load_the_drives(actuated: tuple[str, ...]) -> None:
    """Kim eq. 58 and 62 with τ_p of springs, dampers, friction and given forces, dense."""
    rng = np.random.default_rng(3)
    joints = {
        name: {"damping": rng.uniform(1, 3), "stiffness": rng.uniform(1, 3), "rest": 0.3, "friction": 0.4}
        for name in HINGES
    }
    robot = five_bar(False).with_parameters(joints=joints)
    c, (q, v, a) = robot.constrained(_ground(), actuated=actuated), states()
    given = rng.normal(size=v.shape)
    tau, force = c.inverse_passive_dynamics(q, v, a, tau_passive=given, friction_velocity=0.1)
    loads = given + robot.passive_forces(q, v) - 0.4 * np.tanh(v / 0.1)
    needed, active = robot.inverse_dynamics(q, v, a) - loads, [HINGES.index(x) for x in actuated]
    rows = c.jacobian(q)
    expected = [_least_torque(A, f, active, np.eye(len(active))) for A, f in zip(rows, needed, strict=True)]
    near(tau, np.array(expected), 1e-11)
    full = np.zeros_like(v)
    full[:, active] = tau
    near(c.forward_dynamics(q, v, full + loads)[0], a, 1e-10)
    near(full + apply(transposed(rows), force), needed, 1e-11)
    near(c.inverse_dynamics(q, v, a, tau_passive=loads)[0], tau, 1e-12)
    dv = rng.normal(size=v.shape)
    rate = c.inverse_passive_dynamics.jvp({"q": q, "v": v, "a": a}, {"a": dv})[0]
    near(rate, c.inverse_dynamics.jvp({"q": q, "v": v, "a": a}, {"a": dv})[0], 1e-11)


@pytest.mark.parametrize("actuated", [("left", "right"), ("left", "tip", "right")])
def test_passive_forces_of_an_embedded_loop_load_its_drives(actuated: tuple[str, ...]) -> None:
    """Drives, springs, dampers and friction of all joints together make the accelerations that were asked for."""
    joints = {name: {"damping": 2.0, "stiffness": 1.5, "rest": 0.3, "friction": 0.4} for name in HINGES}
    robot = five_bar(True).with_parameters(joints=joints)
    (q, v, a), independent = states(), _independent(five_bar(True))
    v, a, drives = v[:, independent], a[:, independent], robot.actuated(actuated)
    tau = drives.inverse_passive_dynamics(q, v, a)
    B = drives.actuator_map(q)
    near(robot.passive_dynamics(q, v, apply(transposed(B), tau)), a, 1e-9)
    rubbing = drives.inverse_passive_dynamics(q, v, a, friction_velocity=0.1) - tau
    joint_rates = apply(robot.loop_map(q), v)
    dry = apply(transposed(robot.loop_map(q)), 0.4 * np.tanh(joint_rates / 0.1))
    near(apply(transposed(B), rubbing), dry, 1e-10)


def test_embedded_loops_with_passive_forces() -> None:
    robot = five_bar(True).with_parameters(joints={name: {"damping": 2.0} for name in HINGES})
    (q, v, _), independent = states(), _independent(five_bar(True))
    held = robot.constrained(Prescribed(["left"]), actuated=("left", "right"))
    y = q, v[:, independent], np.zeros((len(q), 2))
    y = y[0], held.impulse(y[0], y[1])[0], y[2]
    allowed, _ = held.forward_dynamics(*y[:2], y[2])
    tau, force = held.inverse_passive_dynamics(y[0], y[1], allowed)
    full = robot.inverse_passive_dynamics(y[0], y[1], allowed)
    near(tau + apply(transposed(held.jacobian(y[0])), force), full, 1e-11)
