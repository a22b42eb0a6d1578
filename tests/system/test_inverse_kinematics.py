"""Inverse kinematics: closed forms, round trips, limits, what cannot be reached, batches, messages."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import ArgumentError, AssemblyError, UnknownNameError
from fourbar.expr import interpret
from fourbar.functions.inverse_kinematics import CENTER_OF_MASS
from fourbar.joints import Cylindrical, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from tests.algorithms.mechanisms import random_mechanism

ROOT = Path(__file__).parents[2]
UPPER, LOWER = 0.6, 0.4
REACHED = 1e-8


def planar(limits: Any = None) -> fb.System:
    """Two links in the x-z plane; the tip is at (x, z) = UPPER (s1, -c1) + LOWER (s12, -c12)."""
    b = fb.Builder("planar")
    b.body("upper", joint=Revolute("-y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.03, 0.03, 0), limits=limits)
    b.body("lower", parent="upper", joint=Revolute("-y"), position=(0, 0, -UPPER), mass=1.0, com=(0, 0, -0.2),
           inertia=(0.02, 0.02, 0), limits=limits)  # fmt: skip
    b.frame("tip", "lower", position=(0, 0, -LOWER))
    return b.build()


def elbows(x: float, z: float) -> list[np.ndarray]:
    """Both solutions of the planar arm, from the law of cosines."""
    elbow = np.arccos((x * x + z * z - UPPER**2 - LOWER**2) / (2.0 * UPPER * LOWER))
    found = []
    for bend in (elbow, -elbow):
        toward = np.arctan2(x, -z) - np.arctan2(LOWER * np.sin(bend), UPPER + LOWER * np.cos(bend))
        found.append(np.array([toward, bend]))
    return found


def outside(robot: fb.System, q: np.ndarray) -> float:
    """How far any joint, dependent ones too, is beyond its limits."""
    moving = robot.model.cluster_tree.moving
    lower, upper = (np.array([x for c in moving for x in getattr(c, end)]) for end in ("lower", "upper"))
    every = robot.expand(q)
    return float(np.max(np.maximum(lower - every, every - upper), initial=0.0))


def check_round_trip(robot: fb.System, frames: list[str], n: int = 20, least: float = 1.0) -> None:
    """Poses of random configurations are reached, within limits and with loops closed."""
    q = robot.random(0, n=n)
    targets = {name: robot.pose(q, name) for name in frames}
    found = robot.inverse_kinematics(targets)
    assert found.converged.mean() >= least, found
    for name, T in targets.items():
        there = robot.pose(found.q[found.converged], name)
        assert np.abs(there - T[found.converged]).max() < 3.0 * REACHED
        away = np.linalg.norm(robot.pose(found.q, name)[:, :3, 3] - T[:, :3, 3], axis=-1)
        assert np.allclose(found.distance[name], away, atol=1e-12)
    assert outside(robot, found.q) <= 0.0
    assert robot.loop_gap(found.q).max() < 1e-9


@pytest.mark.quick
def test_both_elbows_of_the_planar_arm() -> None:
    robot = planar()
    x, z = 0.5, -0.6
    for q in elbows(x, z):
        assert np.allclose(robot.pose(q, "tip")[:3, 3], (x, 0.0, z))
        found = robot.inverse_kinematics({"tip": (x, 0.0, z)}, q + 0.2)
        assert found.converged and found.restarts == 0
        assert np.allclose(found.q, q, atol=1e-7)


def test_limits_choose_the_elbow() -> None:
    robot = planar(limits=(0.0, 3.0))
    x, z = 0.3, 0.4
    (inside,) = [q for q in elbows(x, z) if (q > 0.0).all()]
    other = next(q for q in elbows(x, z) if q is not inside)
    found = robot.inverse_kinematics({"tip": (x, 0.0, z)}, np.clip(other, 0.0, 3.0))
    assert found.converged and np.allclose(found.q, inside, atol=1e-7)
    ignored = robot.inverse_kinematics({"tip": (x, 0.0, z)}, other, limits=False)
    assert ignored.converged and np.allclose(ignored.q, other, atol=1e-7)


def test_what_is_too_far_is_missed_by_the_distance() -> None:
    robot = planar()
    away = np.array([[1.5, 0.0, -2.0], [0.0, 0.3, -1.0], [0.05, 0.0, 0.0], [0.5, 0.0, -0.6]])
    radius = np.hypot(away[:, 0], away[:, 2])
    nearest = np.clip(radius, UPPER - LOWER, UPPER + LOWER)
    found = robot.inverse_kinematics({"tip": away}, restarts=3)
    assert found.converged.tolist() == [False, False, False, True]
    assert np.allclose(found.distance["tip"], np.hypot(radius - nearest, away[:, 1]), atol=1e-6)
    assert (found.error == found.distance["tip"]).all() and not found.angle
    assert found.restarts.tolist() == [3, 3, 3, 0]
    assert "1 of 4 reached" in repr(found) and "1.5 m" in repr(found)


def test_a_limit_that_stops_the_arm() -> None:
    robot = planar(limits=(-0.5, 0.5))
    found = robot.inverse_kinematics({"tip": (2.0, 0.0, 0.0)}, restarts=2)
    assert not found.converged and (found.q == 0.5).all()  # as far as it goes
    tip = UPPER * np.array([np.sin(0.5), -np.cos(0.5)]) + LOWER * np.array([np.sin(1.0), -np.cos(1.0)])
    assert np.isclose(found.distance["tip"], np.hypot(2.0 - tip[0], tip[1]))


def test_weights_leave_directions_free() -> None:
    robot = planar()
    found = robot.inverse_kinematics({"tip": fb.Target((0.5, 7.0, -0.6), position_weight=(1, 0, 1))})
    assert found.converged and found.distance["tip"] < REACHED
    level = robot.inverse_kinematics({"tip": fb.Target(rotation=np.eye(3), rotation_weight=(0, 1, 0))}, [0.4, 0.9])
    assert level.converged and np.isclose(level.q.sum(), 0.0, atol=1e-7) and not level.distance


def test_weights_say_what_counts() -> None:
    robot = planar()
    both = {"tip": (3.0, 0.0, 0.0), "lower": fb.Target((0.0, 0.0, -UPPER), position_weight=1e3)}
    found = robot.inverse_kinematics(both, restarts=2)
    assert not found.converged and found.distance["lower"] < 1e-4 < 1.0 < found.distance["tip"]


@pytest.mark.parametrize(
    ("joints", "floating"),
    [
        ([Revolute("z"), Revolute("y"), Prismatic("x"), Revolute("x"), Revolute("y"), Revolute("z")], False),
        ([Spherical(), Cylindrical("y"), Planar(), Helical("x", 0.1), Universal("x", "y")], False),
        ([Revolute("z"), Revolute("y"), Spherical()], True),
    ],
)
def test_round_trip_of_random_trees(joints: list[Any], floating: bool) -> None:
    robot = random_mechanism(np.random.default_rng(1), joints, "tree", floating)
    check_round_trip(robot, [robot.names.bodies[-1]])


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "differential_wrist", "slider_crank", "planar_leg_linkage"])
def test_round_trip_of_loops(name: str) -> None:
    robot = fb.robots.ROBOTS[name]()
    check_round_trip(robot, [(robot.names.frames or robot.names.bodies)[-1]])


@pytest.mark.slow
@pytest.mark.parametrize("name", list(fb.robots.ROBOTS))
def test_round_trip_of_the_library(name: str) -> None:
    robot = fb.robots.ROBOTS[name]()
    check_round_trip(robot, [(robot.names.frames or robot.names.bodies)[-1]], n=100, least=0.99)


def narrowed(robot: fb.System, joint: str, lower: float, upper: float) -> fb.System:
    """A robot with other limits at one joint."""
    joints = (replace(c, lower=(lower,), upper=(upper,)) if c.name == joint else c for c in robot.mechanism.joints)
    return fb.System(replace(robot.mechanism, joints=tuple(joints)))


def test_a_limit_of_a_dependent_joint_stops_the_loop() -> None:
    robot = narrowed(fb.robots.four_bar(), "link3_joint", -0.4, 0.4)  # a parallelogram: the angles are the same
    assert robot.names.velocities == ("link1_joint",)
    angles = np.array([-1.0, -0.3, 0.2, 1.0])
    goal = 0.5 * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)  # of the end of link 1
    found = robot.inverse_kinematics({"link2": goal}, restarts=3)
    assert found.converged.tolist() == [False, True, True, False]
    assert np.allclose(found.q[:, 0], np.clip(angles, -0.4, 0.4), atol=3e-8) and (np.abs(found.q[:, 1]) <= 0.4).all()
    assert np.allclose(found.distance["link2"][[0, 3]], 2.0 * 0.5 * np.sin(0.3), atol=1e-7)


def test_limits_of_dependent_joints_are_kept() -> None:
    wide = fb.robots.five_bar()
    q = wide.random(3, n=40)
    middle = float(np.median(q[:, 3]))
    joint = wide.names.coordinates[3]
    assert joint not in wide.names.velocities
    robot = narrowed(wide, joint, middle, 1.2)
    whole = {name: wide.pose(q, name) for name in wide.names.bodies}  # which determines all joints
    found = robot.inverse_kinematics(whole, robot.random(0), restarts=5)
    assert outside(robot, found.q) <= 0.0 and robot.loop_gap(found.q).max() < 1e-9
    assert (found.converged == (q[:, 3] > middle)).all()


def test_limits_of_joints_on_a_group() -> None:
    """Where velocities are not the rates of coordinates, limits are kept all the same."""
    b = fb.Builder("puck")
    b.body("puck", joint=Planar(), mass=1.0, inertia=(1, 1, 1), limits=([-1.0, -1.0, -0.5], [1.0, 1.0, 0.5]))
    b.frame("rim", "puck", position=(0.3, 0.0, 0.0))
    robot = b.build()
    check_round_trip(robot, ["rim"])
    found = robot.inverse_kinematics({"rim": (3.0, 0.0, 0.0)}, restarts=2)
    assert np.allclose(found.q, (1.0, 0.0, 0.0), atol=1e-6) and np.isclose(found.distance["rim"], 1.7)
    assert outside(robot, found.q) <= 0.0


def test_centre_of_mass_and_feet() -> None:
    robot = fb.robots.mini_cheetah()
    q = robot.random(0, n=5)
    feet = list(robot.names.frames)[:2] or list(robot.names.bodies)[-2:]
    targets = {name: robot.pose(q, name)[:, :3, 3] for name in feet}
    found = robot.inverse_kinematics(targets, center_of_mass=robot.center_of_mass(q))
    assert found.converged.all() and CENTER_OF_MASS in found.distance
    assert np.abs(robot.center_of_mass(found.q) - robot.center_of_mass(q)).max() < 3.0 * REACHED


def test_same_bits_in_every_batch() -> None:
    robot = planar(limits=(-1.5, 2.5))
    p = robot.pose(robot.random(0, n=100), "tip")[:, :3, 3]
    p[::9] *= 3.0
    whole = robot.inverse_kinematics({"tip": p}, restarts=4)
    assert not whole.converged.all() and whole.restarts.max() == 4
    for n in (1, 7, 8):
        part = robot.inverse_kinematics({"tip": p[:n]}, restarts=4)
        for name in ("q", "error", "iterations", "restarts"):
            assert (getattr(part, name) == getattr(whole, name)[:n]).all()
    for i in (0, 9, 50):
        alone = robot.inverse_kinematics({"tip": p[i]}, restarts=4)
        assert alone.q.shape == (2,) and (alone.q == whole.q[i]).all() and alone.converged.shape == ()


def test_leading_axes_broadcast() -> None:
    robot = planar()
    q = robot.random(0, n=6).reshape(3, 2, 2)
    found = robot.inverse_kinematics({"tip": robot.pose(q, "tip")}, robot.random(1, n=2))
    assert found.q.shape == (3, 2, 2) and found.converged.shape == (3, 2) and found.converged.all()
    assert robot.inverse_kinematics({"tip": np.zeros((0, 3))}).q.shape == (0, 2)


def test_the_interpreter_agrees() -> None:
    from fourbar.functions.inverse_kinematics import Aim, compiled_search

    robot = planar(limits=(-1.5, 2.5))
    search = compiled_search(robot.mechanism, (Aim(robot.model.cluster_tree.frames["tip"], True, False),), True)
    given = {
        "q0": np.array([0.3, 0.4]),
        "goal": np.array([0.5, 0.0, -0.6]),
        "weight": np.ones(3),
        "setting": np.array([1e-8, 100.0, 1e-2, 5.0, 100.0, 1.0]),
    }
    expected = interpret(search.program(), given)
    q, report = search(*given.values())
    assert np.allclose(q, expected["q"], atol=1e-12) and report[2] == expected["report"][2]


def test_quaternions_and_poses_say_the_same() -> None:
    robot = fb.robots.differential_wrist()
    T = robot.pose(robot.random(0), robot.names.bodies[-1])
    quaternion = fb.convert.quaternion_from_matrix(T[:3, :3])
    body = robot.names.bodies[-1]
    a = robot.inverse_kinematics({body: T})
    b = robot.inverse_kinematics({body: fb.Target(T[:3, 3], quaternion)})
    assert a.converged and np.allclose(a.q, b.q, atol=1e-9)


def test_an_arm_of_six_joints_with_limits_reaches_nearly_all_poses_by_default() -> None:
    """Poses of which few of the eight solutions, or one, lie within the limits; those of the README."""
    arm = fb.load(ROOT / "examples" / "robot.urdf")
    for seed in range(3):
        T = arm.pose(arm.random(rng=seed, n=1000), "tool")
        found = arm.inverse_kinematics({"tool": T})
        assert found.converged.sum() >= 999 and found.restarts.max() > 20
        assert (found.q >= arm.limits.lower).all() and (found.q <= arm.limits.upper).all()
        alone = arm.inverse_kinematics({"tool": T[found.restarts.argmax()]})
        assert np.array_equal(alone.q, found.q[found.restarts.argmax()])


@pytest.mark.parametrize("rng", [3, np.int64(3)])
def test_all_restarts_begin_elsewhere(rng: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    robot, drawn = planar(), []
    random = type(robot).random
    monkeypatch.setattr(type(robot), "random", lambda *a, **k: drawn.append(random(*a, **k)) or drawn[-1])
    assert robot.inverse_kinematics({"tip": (3.0, 0.0, 0.0)}, rng=rng).restarts == 100
    starts = np.concatenate(drawn)
    assert starts.shape == (100, 2) and len(np.unique(starts, axis=0)) == 100


@pytest.mark.parametrize(
    ("targets", "options", "error", "words"),
    [
        ({"hand": (0, 0, 0)}, {}, UnknownNameError, "hand"),
        ({}, {}, ArgumentError, "no target"),
        ([1.0], {}, ArgumentError, "map frames"),
        ({"tip": (0, 0)}, {}, ArgumentError, "position"),
        ({"tip": (0, np.nan, 0)}, {}, ArgumentError, "NaN"),
        (
            {"tip": np.vstack([np.zeros((4, 3)), np.full(3, np.nan)])},
            {},
            ArgumentError,
            "NaN or infinite numbers in sample 4",
        ),
        (
            {"tip": np.where(np.arange(6).reshape(2, 3, 1) == 5, np.inf, np.zeros(3))},
            {},
            ArgumentError,
            r"in sample \(1, 2\)",
        ),
        ({"tip": np.eye(3)}, {}, ArgumentError, r"rotation matrix: give fb\.Target\(rotation=R\)"),
        ({"tip": np.tile(np.eye(3), (5, 1, 1))}, {}, ArgumentError, r"rotation matrix: give fb\.Target\(rotation=R\)"),
        ({"tip": np.full((4, 4), np.inf)}, {}, ArgumentError, "infinite"),
        ({"tip": 2.0 * np.eye(4)}, {}, ArgumentError, "last row"),
        ({"tip": np.diag([2.0, 1, 1, 1])}, {}, ArgumentError, "rotation matrix"),
        ({"tip": fb.Target(rotation=np.diag([1.0, 1, -1]))}, {}, ArgumentError, "determinant"),
        ({"tip": fb.Target(rotation=(2, 0, 0, 0))}, {}, ArgumentError, "unit length"),
        ({"tip": fb.Target()}, {}, ArgumentError, "neither"),
        ({"tip": fb.Target((0, 0, 0), position_weight=-1)}, {}, ArgumentError, "negative"),
        ({"tip": (0, 0, 0)}, {"q0": [0.0]}, ArgumentError, "q0"),
        ({"tip": (0, 0, 0)}, {"q0": [np.nan, 0.0]}, ArgumentError, "NaN"),
        ({"tip": np.zeros((4, 3))}, {"q0": np.zeros((3, 2))}, ArgumentError, "do not fit"),
        ({"tip": (0, 0, 0)}, {"tolerance": 0.0}, ArgumentError, "tolerance"),
        ({"tip": (0, 0, 0)}, {"restarts": -1}, ArgumentError, "restarts"),
        ({"tip": (0, 0, 0)}, {"iterations": 0}, ArgumentError, "iterations"),
        ({}, {"center_of_mass": fb.Target(rotation=np.eye(3))}, ArgumentError, "centre of mass"),
    ],
)
def test_messages(targets: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        planar().inverse_kinematics(targets, **options)


def test_dask_arrays_are_refused() -> None:
    """They would be computed at once."""
    positions = pytest.importorskip("dask.array").zeros((10, 3))
    robot = fb.robots.double_pendulum()
    for given in ({"tip": positions}, {"tip": fb.Target(positions)}):
        with pytest.raises(ArgumentError, match="'tip' is a dask array"):
            robot.inverse_kinematics(given)


def test_open_loops_are_refused() -> None:
    robot = fb.robots.four_bar()
    with pytest.raises(AssemblyError, match="assemble"):
        robot.inverse_kinematics({robot.names.bodies[-1]: (0, 0, 0)}, [0.3, 0.0, 0.0])


def test_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = fb.robots.five_bar()
        robot.inverse_kinematics({(robot.names.frames or robot.names.bodies)[-1]: np.full((9, 3), 5.0)}, restarts=2)


def test_limits_as_arrays() -> None:
    b = fb.Builder("geared")
    b.body("motor", joint=Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1), limits=(-10, 20), max_force=2.0,
           max_velocity=6.0)  # fmt: skip
    b.body("arm", joint=Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1), limits=(-1, 1))
    b.body("slide", parent="arm", joint=Prismatic("x"), mass=1.0, limits=(0, 0.5))
    b.body("ball", parent="slide", joint=Spherical(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = b.build()
    limits = robot.limits
    assert limits.lower.tolist() == [-10, -1, 0, *[-np.inf] * 4]
    assert limits.upper.tolist() == [20, 1, 0.5, *[np.inf] * 4]
    assert limits.effort.tolist() == [2.0, *[np.inf] * 5] and limits.least_effort[0] == -2.0
    assert limits.velocity.tolist() == [6.0, *[np.inf] * 5]
    with pytest.raises(ValueError, match="read-only"):
        limits.lower[0] = 0.0
    q = robot.random(0, n=50)
    assert (q >= limits.lower).all() and (q <= limits.upper).all()


def test_limits_of_scaled_coordinates() -> None:
    b = fb.Builder("geared")
    b.body("motor", joint=Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1), limits=(-10, 20), max_force=2.0)
    b.body("arm", joint=Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1), max_velocity=3.0)
    b.loop(fb.loops.Gear("arm", "motor", 10.0))
    robot = b.build().with_independent(("motor", -10.0))
    assert robot.names.velocities == ("motor",)
    assert np.allclose([*robot.limits.lower, *robot.limits.upper, *robot.limits.effort], [-2.0, 1.0, 20.0])


def test_joints_that_are_held_stay_where_they_are() -> None:
    robot = fb.robots.mini_cheetah()
    feet = [name for name in robot.names.frames if name.endswith("foot_contact")]
    q0, base = robot.random(3), next(j.name for j in robot.mechanism.joints if j.joint.nv == 6)
    other = robot.random(4, n=50)
    other[:, :7] = q0[:7]
    targets = {foot: robot.pose(other, foot)[..., :3, 3] for foot in feet}
    found = robot.inverse_kinematics(targets, q0, held=[base])
    assert found.converged.mean() > 0.9 and found.restarts.max() > 0
    assert (found.q[:, :7] == q0[:7]).all()
    many = np.stack([q0] * 50)
    many[:, 0] += np.arange(50)
    away = np.column_stack([np.arange(50.0), np.zeros((50, 2))])
    moved = {foot: p + away for foot, p in targets.items()}
    each = robot.inverse_kinematics(moved, many, held=[base])
    assert (each.q[:, :7] == many[:, :7]).all() and each.converged.mean() > 0.9


def test_held_joints_are_read_by_name_and_loops_stay_together() -> None:
    robot = fb.robots.five_bar()
    first = robot.mechanism.joints[0].name
    target = {robot.names.frames[0]: robot.pose(robot.neutral(), robot.names.frames[0])[:3, 3]}
    with pytest.raises(fb.ArgumentError, match=f"{first}.*hold all of"):
        robot.inverse_kinematics(target, held=[first])
    with pytest.raises(fb.ArgumentError, match="list of joints"):
        robot.inverse_kinematics(target, held=first)
    with pytest.raises(fb.UnknownNameError, match="bse"):
        robot.inverse_kinematics(target, held=["bse"])


def test_a_miss_names_the_joints_at_their_limits() -> None:
    """A door that opens to 1.6 rad cannot reach what is behind it; without limits it does, and nothing is named."""
    b = fb.Builder("door")
    b.body("leaf", joint=fb.joints.Revolute("z"), mass=20.0, com=(0.4, 0, 0), inertia=(1, 1, 1), limits=(0, 1.6))
    b.frame("handle", "leaf", position=(0.8, 0, 0))
    robot, far = b.build(), np.array([-0.8, 0.0, 0.0])
    missed = robot.inverse_kinematics({"handle": far}, restarts=2)
    assert not missed.converged and missed.at_limit["leaf"] and "with 'leaf' at the limit" in repr(missed)
    reached = robot.inverse_kinematics({"handle": far}, limits=False, q0=[1.0])
    assert reached.converged and not reached.at_limit
    several = robot.inverse_kinematics({"handle": [far, [0.0, 0.8, 0.0], [0.0, 0.0, 2.0]]}, restarts=1)
    assert several.at_limit["leaf"].shape == (3,) and several.at_limit["leaf"][:2].tolist() == [True, False]
