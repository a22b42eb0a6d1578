"""The small robots agree with what can be written down about them."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar import System, robots
from fourbar.robots import legged, linkages, parallel
from fourbar.robots.legged import HIP_DIFFERENTIAL, KNEE_ANKLE_DIFFERENTIAL
from fourbar.robots.linkages import LENGTHS, closed_form

from .support import near, robot, state


def _coordinate(system: System, q: np.ndarray, name: str) -> np.ndarray:
    return q[..., system.names.coordinates.index(name)]


def test_parallelogram() -> None:
    """The coupler swings without turning: M = 2 J + m l², and gravity acts on a mass of 2 at the cranks' end."""
    system = robot("parallelogram")
    assert system.forward_dynamics([1.0, -1.0, 1.0], [1.0], [0.0])[0] == pytest.approx(-12.720877489359486, rel=1e-13)
    assert system.mass_matrix([1.0, -1.0, 1.0])[0, 0] == pytest.approx(2 * 0.25 / 3 + 0.25, rel=1e-14)


def test_crank_rocker() -> None:
    """Its closed form, all the way round and in both assemblies."""
    system = robot("crank_rocker")
    turn = np.linspace(-np.pi, np.pi, 40)
    for side in (1.0, -1.0):
        guess = np.stack([turn, side * 1.2 - turn, side * 1.8 + 0 * turn], axis=-1)
        q = system.assemble(guess, keep=["crank"])
        v = 3.0 * np.cos(5.0 * turn)[:, None]
        expected = closed_form(q, v)
        found = system.forward_dynamics(q, v, np.zeros_like(v))
        assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()


def test_crank_rocker_never_comes_near_a_toggle_position() -> None:
    """The angle between coupler and rocker, which is 0 or π at a toggle position, stays between these two bounds."""
    system = robot("crank_rocker")
    ground, crank, coupler, rocker = LENGTHS
    turn = np.linspace(-np.pi, np.pi, 100)
    q = system.assemble(np.stack([turn, 1.2 - turn, 1.8 + 0 * turn], axis=-1), keep=["crank"])
    between = np.cos(q[:, 0] + q[:, 1] - q[:, 2])
    largest, smallest = (
        (coupler**2 + rocker**2 - reach**2) / (2 * coupler * rocker) for reach in (ground - crank, ground + crank)
    )
    assert smallest > -0.7 and largest < 0.8
    assert between.max() == pytest.approx(largest, abs=1e-3) and between.min() == pytest.approx(smallest, abs=1e-3)


@pytest.mark.parametrize("name", ["four_bar", "parallelogram"])
def test_upright(name: str) -> None:
    """Cranks at a right angle to the ground are no toggle position."""
    system = robot(name)
    signs = [-1.0 if joint in ("coupler", "link2_joint") else 1.0 for joint in system.names.coordinates]
    q = np.pi / 2 * np.array(signs)
    assert system.loop_gap(q) < 1e-15
    assert np.allclose(system.loop_map(q)[:, 0], signs, rtol=0.0, atol=1e-12)


def test_slider_crank() -> None:
    system = robot("slider_crank")
    r, l = linkages.SLIDER_CRANK
    angle = np.linspace(-1.4, 1.4, 15)
    guess = np.zeros((15, 3))
    guess[:, system.names.coordinates.index("crank")] = angle
    q = system.assemble(guess, keep=["crank"])
    root = np.sqrt(l**2 - (r * np.sin(angle)) ** 2)
    assert np.allclose(_coordinate(system, q, "crank"), angle, rtol=0.0, atol=0.0)
    assert np.allclose(_coordinate(system, q, "piston"), r * np.cos(angle) + root - (r + l), rtol=0.0, atol=1e-14)
    speed = -r * np.sin(angle) * (1.0 + r * np.cos(angle) / root)
    row = [c.name for c in system.mechanism.joints].index("piston")
    assert np.allclose(system.loop_map(q)[:, row, 0], speed, rtol=0.0, atol=1e-14)


def test_five_bar() -> None:
    """At q = 0 it is symmetric; everywhere the tip is a forearm from both elbows."""
    system = robot("five_bar")
    ground, crank, forearm = linkages.FIVE_BAR
    assert np.allclose(system.neutral(), 0.0, rtol=0.0, atol=1e-15)
    assert system.pose(system.neutral(), "tip")[0, 3] == pytest.approx(0.0, abs=1e-15)
    q = near(system)
    tip = system.pose(q, "tip")[:, :3, 3]
    for side in ("left", "right"):
        elbow = system.poses(q)[:, system.names.bodies.index(f"{side}_forearm"), :3, 3]
        assert np.allclose(np.linalg.norm(tip - elbow, axis=1), forearm, rtol=1e-13, atol=0.0)
        start = np.array([-ground / 2 if side == "left" else ground / 2, 0.0, 0.0])
        assert np.allclose(np.linalg.norm(elbow - start, axis=1), crank, rtol=1e-13, atol=0.0)


def test_delta_does_not_turn() -> None:
    """The platform keeps its attitude and is a rod's length from three points that the arms carry."""
    system = robot("delta")
    base, arm, platform, length, _ = parallel.DELTA
    q = near(system)
    pose = system.poses(q)[:, system.names.bodies.index("platform")]
    assert np.allclose(pose[:, :3, :3], np.eye(3), rtol=0.0, atol=1e-11)
    for i in range(3):
        out = np.array([np.cos(2 * np.pi * i / 3), np.sin(2 * np.pi * i / 3), 0.0])
        angle = _coordinate(system, q, f"arm{i + 1}")[:, None]
        elbow = (base + arm * np.cos(angle)) * out - arm * np.sin(angle) * np.array([0.0, 0.0, 1.0])
        reach = np.linalg.norm(pose[:, :3, 3] + platform * out - elbow, axis=1)
        assert np.allclose(reach, length, rtol=1e-12, atol=0.0)


def test_delta_holds_its_weight() -> None:
    """With equal arms the platform hangs in the middle, and each motor carries a third."""
    system = robot("delta")
    tau = system.gravity_force(system.neutral())
    assert np.allclose(tau, tau[0], rtol=1e-12, atol=0.0)
    J = system.jacobian(system.neutral(), "tool")
    arms = -0.3 * 9.81 * 0.125  # their own weight, half an arm from the axis
    assert np.allclose(tau, J[5] * 0.4 * 9.81 + arms, rtol=1e-12, atol=0.0)


@pytest.mark.slow  # a large cluster
def test_stewart_platform_legs() -> None:
    """The slides are the distances between the ends of the legs; lifting all alike lifts the platform straight up."""
    system = robot("stewart_platform")
    q = near(system)
    poses = system.poses(q)
    bodies = system.names.bodies
    base, platform, height = parallel.STEWART
    below, above = parallel._corners(base, 0.2), parallel._corners(platform, np.pi / 3 - 0.25)
    pose = poses[:, bodies.index("platform")]
    for i in range(6):
        top = pose[:, :3, :3] @ above[i] + pose[:, :3, 3]
        length = np.linalg.norm(top - below[i], axis=1)
        start = np.linalg.norm(above[i] + [0.0, 0.0, height] - below[i])
        assert np.allclose(length - start, _coordinate(system, q, f"slide{i + 1}"), rtol=0.0, atol=1e-12)
    lifted = system.integrate(system.neutral(), np.full(6, 0.05), 1.0)
    T = system.pose(lifted, "platform")
    assert np.allclose(T[:3, :3], np.eye(3), rtol=0.0, atol=1e-12)
    assert np.allclose(T[:2, 3], 0.0, rtol=0.0, atol=1e-12)
    assert T[2, 3] > height + 0.05


def test_cassie_leg_rods() -> None:
    """The achilles rod keeps its length, and the foot follows its crank as in a parallelogram."""
    system = robot("cassie_leg")
    q = near(system)
    poses = system.poses(q)
    thigh, tarsus = (poses[:, system.names.bodies.index(name)] for name in ("thigh", "tarsus"))
    on = ((thigh, legged.HIP_END), (tarsus, legged.HEEL_END))
    ends = [T[:, :3, :3] @ np.array(end) + T[:, :3, 3] for T, end in on]
    lengths = np.linalg.norm(ends[1] - ends[0], axis=1)
    assert np.allclose(lengths, lengths[0], rtol=1e-13, atol=0.0)
    assert np.allclose(_coordinate(system, q, "toe"), _coordinate(system, q, "foot_crank"), rtol=0.0, atol=1e-12)
    assert [c.loops for c in system.clusters if c.loops] == [("achilles_rod",), ("plantar_pin",)]


def test_differential_wrist() -> None:
    """Motor torques are half the pitch torque plus or minus half the roll torque."""
    system = robot("differential_wrist")
    by_motor = system.with_independent("left_gear", "right_gear")
    q, v, a = state(system)
    mix = np.array([[1.0, 1.0], [1.0, -1.0]])
    tau = system.inverse_dynamics(q, v, a)
    motors = by_motor.inverse_dynamics(q @ mix.T, v @ mix.T, a @ mix.T)
    assert np.allclose(motors @ mix, tau, rtol=1e-12, atol=1e-14)


def _hip_angles(l1: np.ndarray, l2: np.ndarray) -> list[np.ndarray]:
    """Motor angles of Tello's hip for angles of gimbal and thigh, in closed form."""
    found = []
    for side in (1.0, -1.0):
        a = 57 / 2500 - 8 / 625 * np.cos(l1) * np.sin(l2) - side * 7 / 625 * np.sin(l1)
        b = -8 / 625 * np.cos(l2)
        c = 49 / 5000 * np.cos(l1) + side * 399 / 20000 * np.sin(l1) + 57 / 2500 * np.cos(l1) * np.sin(l2)
        c = c - side * 7 / 625 * np.sin(l1) * np.sin(l2) - 3021 / 160000
        d = np.sqrt(a**2 + b**2 - c**2)
        found.append(np.arctan2(a * c - b * d, b * c + a * d))
    return found


def _knee_ankle_angles(l1: np.ndarray, l2: np.ndarray) -> list[np.ndarray]:
    """Motor angles of Tello's knee and ankle for angles of shin and foot, in closed form."""
    beta, ninth = l2 + np.deg2rad(114.0), np.pi / 9
    a = -21 / 6250 * np.sin(ninth) - 7 / 2500 * np.sin(beta)
    b = 13 / 625 - 7 / 2500 * np.cos(beta) - 21 / 6250 * np.cos(ninth)
    c = 273 / 12500 * np.cos(ninth) + 91 / 5000 * np.cos(beta) - 147 / 50000 * np.cos(ninth - beta) - 163349 / 6250000
    d = np.sqrt(a**2 + b**2 - c**2)
    turn = np.arctan2(b * d + a * c, b * c - a * d) - np.deg2rad(120.84)
    return [l1 - turn, l1 + turn]


def test_tello_differentials() -> None:
    """φ vanishes where the closed-form inverse kinematics says, and G is its derivative, rotor speeds in units of 6."""
    system = robot("tello")
    rng = np.random.default_rng(4)
    for name, function, angles in (
        ("hip", HIP_DIFFERENTIAL, _hip_angles), ("knee-ankle", KNEE_ANKLE_DIFFERENTIAL, _knee_ankle_angles)
    ):  # fmt: skip
        l1, l2 = rng.uniform(-0.35, 0.35, (2, 20))
        y1, y2 = angles(l1, l2)
        assert np.abs(function(6 * y1, 6 * y2, l1, l2)).max() < 1e-16
        links = ("gimbal", "thigh") if name == "hip" else ("shin", "foot")
        joints = [f"left-{name}-rotor-1_joint", f"left-{name}-rotor-2_joint", *(f"left-{x}_joint" for x in links)]
        q = np.broadcast_to(system.neutral(), (20, system.nq)).copy()
        for joint, values in zip(joints, (6 * y1, 6 * y2, l1, l2), strict=True):
            q[:, system.names.coordinates.index(joint)] = values
        G = system.loop_map(q)
        moving = [c for c in system.mechanism.joints if c.joint.nv]
        rows = [sum(c.joint.nv for c in moving[: [m.name for m in moving].index(joint)]) for joint in joints]
        columns = [system.names.velocities.index(joint) for joint in joints[:2]]
        block = G[:, rows][:, :, columns]
        assert np.array_equal(block[:, :2], np.broadcast_to(6 * np.eye(2), (20, 2, 2)))
        h = 1e-6
        steps = [(np.array(angles(l1 + x, l2 + y)), np.array(angles(l1 - x, l2 - y))) for x, y in ((h, 0.0), (0.0, h))]
        inverse = np.stack([(after - before) / (2 * h) for after, before in steps], axis=-1).transpose(1, 0, 2)
        assert np.allclose(inverse @ block[:, 2:], np.eye(2), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", [None, 7])
def test_chains_of_any_length(n: int, seed: int | None) -> None:
    for make, pairs in ((robots.gt_chain, n), (robots.pbt_chain, (n + 1) // 2)):
        system = make(n, seed=seed)
        assert (system.nq, system.nv, len(system.names.bodies)) == (n, n, 2 * n)
        assert len(system.clusters) == pairs
        assert len(system.names.frames) == n
        assert make(n, seed=seed, rotors="none").nv == n
    if seed is None:
        assert robots.gt_chain(n).mass_matrix(np.zeros(n))[-1, -1] == pytest.approx(1.25 + 36e-4, rel=1e-14)
