"""Actuators: their forces do the work of their velocities, and they follow a robot through edits and files."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Prismatic, Revolute, Spherical
from fourbar.loops import Gear
from tests.algorithms import mechanisms
from tests.edit.support import by_joint
from tests.loops import looped

pytestmark = pytest.mark.drawn_in_line

TREES = [str(i) for i in (0, 3, 5, 7)]
LOOPED = [looped.marked(name) for name in looped.NAMES if name != "tripod"]


def with_actuators(robot: fb.System) -> fb.System:
    """The robot with an actuator on every joint, others in the parent's axes, and one tendon over all joints."""
    rng = np.random.default_rng(5)
    b = fb.Builder(robot.name, robot.gravity).include(robot.mechanism)
    moving = robot.model.cluster_tree.moving
    for c in moving:
        b.actuator(f"{c.name}_motor", drives=c.name, gear=rng.normal(size=c.joint.nv), force_range=(-3, 5))
        if isinstance(c.joint, Spherical | Free):
            b.actuator(f"{c.name}_gimbal", drives=c.name, gear=rng.normal(size=c.joint.nv), axes="parent")
    b.actuator("tendon", drives={c.name: rng.normal(size=c.joint.nv) for c in moving}, gear=0.5)
    return b.build()


@cache
def actuated(name: str) -> fb.System:
    """One of the fixed mechanisms."""
    robot: Any = mechanisms.mechanism(int(name)) if name.isdigit() else looped.mechanism(name)
    return with_actuators(robot)


def states(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    s = mechanisms.state(actuated(name)) if name.isdigit() else looped.state(name)
    return s.q, s.v, np.random.default_rng(2).normal(size=(len(s.q), len(actuated(name).actuators)))


def speeds(robot: fb.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The velocities of the actuators from those of all joints, by hand."""
    every, at = by_joint(robot, np.asarray(robot.expand_velocity(q, v)), "nv"), by_joint(robot, robot.expand(q), "nq")
    joints, found = {c.name: c.joint for c in robot.model.cluster_tree.moving}, []
    for actuator in robot.actuators:
        total = np.zeros(len(q))
        for drive in actuator.drives:
            own = every[drive.joint]
            if drive.axes == "parent":
                R = np.array([np.array(joints[drive.joint].placement(x.tolist()).R, float) for x in at[drive.joint]])
                own = np.concatenate([looped.apply(R, part) for part in np.split(own, own.shape[-1] // 3, axis=-1)], -1)
            total += own @ np.array(drive.gear)
        found.append(total)
    return np.stack(found, axis=-1)


@pytest.mark.parametrize("name", [*TREES, *LOOPED])
def test_forces_do_the_work_of_the_velocities(name: str) -> None:
    robot, (q, v, u) = actuated(name), states(name)
    B, s = robot.actuator_matrix(q), speeds(robot, q, v)
    looped.near(looped.apply(B, v), s, 1e-12)
    tau = robot.actuator_force(q, u)
    looped.near(tau, looped.apply(looped.transposed(B), u), 1e-12)
    power, size = np.sum(u * s, axis=-1), np.abs(u * s).sum(axis=-1)
    assert np.all(np.abs(np.sum(tau * v, axis=-1) - power) < 1e-12 * size)


@pytest.mark.parametrize("name", ["0", "four_bar"])
def test_derivatives(name: str) -> None:
    robot, (q, v, u) = actuated(name), states(name)
    found = robot.actuator_force.jvp((q, u), (v, None))
    expected = looped.slope(lambda t: robot.actuator_force(robot.integrate(q, v, t), u), 1e-3)
    assert np.abs(found - expected).max() < 1e-8 * max(1.0, np.abs(expected).max())
    looped.near(robot.actuator_force.jacobian(q, u).u, looped.transposed(robot.actuator_matrix(q)), 1e-13)


@pytest.mark.parametrize("name", ["0", "5", "four_bar", "geared"])
def test_they_travel_and_are_saved(name: str, tmp_path: Path) -> None:
    robot, (q, _, u) = actuated(name), states(name)
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot and again.actuators == robot.actuators
    assert np.array_equal(again.actuator_force(q, u), robot.actuator_force(q, u))
    if name == "geared":
        for file in ("robot.json", "robot.toml"):
            robot.save(tmp_path / file)
            assert fb.load(tmp_path / file) == robot


def arm() -> fb.Builder:
    b = fb.Builder("arm")
    b.body("a", joint=Revolute("y"), mass=1, inertia=(1, 1, 1))
    b.body("b", parent="a", joint=Spherical(), position=(0, 0.2, 1), mass=1, inertia=(1, 2, 2.5))
    b.body("c", parent="b", joint=Prismatic("x"), position=(0.3, 0, 0), mass=1, inertia=(1, 1, 1))
    b.body("d", parent="c", mass=1)
    b.actuator("m", drives="a", gear=3.0, control_range=(-1, 1), kind="affine", parameters={"gain": 2, "bias": (0, -2)})
    b.actuator("g", drives="b", gear=(1, 2, 3), axes="parent")
    b.actuator("t", drives={"a": 1.0, "c": -2.0})
    return b


def test_what_a_robot_says_of_them() -> None:
    robot = arm().build()
    assert robot.names.actuators == ("m", "g", "t")
    first = robot.actuators[0]
    assert first.drives == (fb.Drive("a", (3.0,)),)
    assert first.control_range == (-1.0, 1.0) and first.force_range == (-np.inf, np.inf)
    assert first.kind == "affine" and dict(first.parameters) == {"gain": (2.0,), "bias": (0.0, -2.0)}
    assert robot.actuators[2].joints == ("a", "c")


def test_locked_joints_need_no_force() -> None:
    """What is left acts on the joints that are left as before."""
    robot, rng = arm().build(), np.random.default_rng(0)
    q, u = robot.random(rng), rng.normal(size=3)
    less = robot.lock(["a"], q)
    assert less.names.actuators == ("g", "t")
    assert np.allclose(less.actuator_force(q[1:], u[1:]), robot.actuator_force(q, u)[1:], atol=1e-15)
    assert robot.lock(["a", "b", "c"]).actuators == ()


def test_locking_a_driver_takes_the_actuator_of_what_it_drives() -> None:
    b = arm()
    b.body("rotor", joint=Revolute("y"), mass=1, inertia=(1, 1, 1)).loop(Gear("a", "rotor", 6.0))
    b.actuator("on rotor", drives="rotor")
    robot = b.build()
    assert np.isclose(robot.actuator_matrix(robot.neutral())[3, robot.names.velocities.index("a")], 6.0)
    assert robot.lock(["a"]).names.actuators == ("g", "t")


def test_parts_keep_what_acts_on_them() -> None:
    robot = arm().build()
    assert robot.sub("b").actuators == (robot.actuators[1], fb.Actuator("t", (fb.Drive("c", (-2.0,)),)))
    assert robot.sub("b", joint=Free()).names.actuators == ("t",)


def test_attached_and_merged_robots_bring_theirs() -> None:
    robot = arm().build()
    both = robot.attach(robot, "d", prefix="second_")
    assert both.names.actuators == ("m", "g", "t", "second_m", "second_g", "second_t")
    assert both.actuators[-1].joints == ("second_a", "second_c")
    assert robot.merge(robot, prefix="x_").names.actuators[3:] == ("x_m", "x_g", "x_t")
    with pytest.raises(fb.ModelError, match="already an actuator 'm'"):
        robot.merge(robot.renamed(bodies=str.upper, joints=str.upper))


def test_renamed() -> None:
    robot = arm().build().renamed(joints={"a": "shoulder"}, actuators={"m": "motor"})
    assert robot.names.actuators == ("motor", "g", "t") and robot.actuators[2].joints == ("shoulder", "c")
    with pytest.raises(fb.UnknownNameError, match="actuator"):
        robot.renamed(actuators={"m": "motor"})


@pytest.mark.parametrize("name", ["0", "3", "7", "four_bar", "geared"])
@pytest.mark.parametrize("plane", ["x", (0.6, 0.0, 0.8)])
def test_mirrored(name: str, plane: Any) -> None:
    """The image moves as the original does, and its actuators too."""
    robot, (q, v, u) = actuated(name), states(name)
    image = robot.mirrored(plane)
    q_image, v_image = robot.mirrored_state(q, v, plane)
    looped.near(looped.apply(image.actuator_matrix(q_image), v_image), looped.apply(robot.actuator_matrix(q), v), 1e-11)
    power = np.sum(robot.actuator_force(q, u) * v, axis=-1)
    assert np.allclose(np.sum(image.actuator_force(q_image, u) * v_image, axis=-1), power, rtol=1e-11, atol=1e-11)


def test_changed() -> None:
    robot = arm().build()
    other = robot.with_parameters(actuators={"m": {"gear": 5.0, "force_range": (-2, 2)}, "t": {"drives": {"c": 1.0}}})
    assert other.actuators[0].drives == (fb.Drive("a", (5.0,)),) and other.actuators[0].force_range == (-2.0, 2.0)
    assert other.actuators[0].parameters == robot.actuators[0].parameters
    assert other.actuators[2].joints == ("c",)
    assert robot.with_parameters(actuators={"g": {"gear": (0, 0, 1)}}).actuators[1].drives[0].axes == "parent"
    assert robot.with_parameters(actuators={"g": {"axes": "child"}}).actuators[1].drives == (fb.Drive("b", (1, 2, 3)),)
    for wrong, words in (
        ({"t": {"gear": 2.0}}, "has 2 drives"),
        ({"t": {"axes": "parent"}}, "has 2 drives"),
        ({"m": {"gears": 2.0}}, "'gears'"),
        ({"z": {}}, "'z'"),
    ):
        with pytest.raises(fb.FourbarError, match=words):
            robot.with_parameters(actuators=wrong)
    with pytest.raises(fb.ModelError, match="has 3 velocities, but the gear has 1 ratios"):
        robot.with_parameters(joints={"a": {"joint": Spherical()}})


def test_they_change_nothing_of_the_dynamics() -> None:
    robot, plain = actuated("four_bar"), looped.mechanism("four_bar")
    s = looped.state("four_bar")
    assert np.array_equal(robot.inverse_dynamics(s.q, s.v, s.a), plain.inverse_dynamics(s.q, s.v, s.a))
    assert robot != plain


WRONG = {
    "no such joint": ({"drives": "z"}, "'z'"),
    "fixed joint": ({"drives": "d"}, "joint 'd' is fixed"),
    "too few ratios": ({"drives": "b", "gear": 2.0}, "has 3 velocities, but the gear has 1 ratios"),
    "too many ratios": ({"drives": "a", "gear": (1, 2)}, "has 1 velocities, but the gear has 2 ratios"),
    "no joint": ({"drives": 3}, "drives must be a joint"),
    "no joints": ({"drives": {}}, "drives must be a joint"),
    "words": ({"drives": "a", "gear": "fast"}, "expected numbers"),
    "infinite": ({"drives": "a", "gear": np.inf}, "finite"),
    "nan by joint": ({"drives": {"a": np.nan}}, "finite"),
    "several gears": ({"drives": {"a": 1.0}, "gear": (1, 2)}, "one number"),
    "gear of drives": ({"drives": [fb.Drive("a")], "gear": 2.0}, "has its own gear and axes"),
    "axes of drives": ({"drives": [fb.Drive("b", (1, 2, 3))], "axes": "parent"}, "has its own gear and axes"),
    "axes": ({"drives": "b", "gear": (1, 2, 3), "axes": "world"}, "expected one of 'child', 'parent'"),
    "axes of a hinge": ({"drives": "a", "axes": "parent"}, "axes= applies to ball and free joints only"),
    "range": ({"drives": "a", "force_range": (1, 0)}, "not above the upper"),
    "no range": ({"drives": "a", "control_range": 3}, "expected a pair"),
    "range of nan": ({"drives": "a", "control_range": (np.nan, 1)}, "not above the upper"),
    "kind": ({"drives": "a", "kind": ""}, "kind is a word"),
    "parameters": ({"drives": "a", "parameters": [1, 2]}, "parameters are numbers by name"),
    "words as parameters": ({"drives": "a", "parameters": {"gain": "x"}}, "expected numbers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str) -> None:
    given, words = WRONG[name]
    with pytest.raises(fb.ModelError, match="actuator 'new'") as error:
        arm().actuator("new", **given).build()
    assert words in str(error.value)


def test_errors_of_names() -> None:
    with pytest.raises(fb.ModelError, match="already an actuator 'm'"):
        arm().actuator("m", drives="a")
    with pytest.raises(fb.ModelError, match="needs a name"):
        arm().actuator("", drives="a")


@pytest.mark.parametrize("method", ["actuator_matrix", "actuator_force"])
def test_a_robot_without_actuators_says_so(method: str) -> None:
    robot = fb.robots.double_pendulum()
    with pytest.raises(fb.ArgumentError, match="has no actuators; declare them"):
        getattr(robot, method)([0.0, 0.0], *([[]] if method == "actuator_force" else []))
    assert robot.actuators == ()
