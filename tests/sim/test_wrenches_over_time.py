"""Wrenches on bodies over whole motions: of scenes, live worlds and robots alone, held, by function and in batches."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

MASS, ARM = 2.0, 0.5
G = 9.81
START = np.array([0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0])


def ball() -> fb.System:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=MASS, inertia=(0.01, 0.01, 0.01))
    return b.build()


def on_floor(robot: fb.System, **more: Any) -> fb.Scene:
    return fb.Scene(robot, fb.Plane(0.5), contacts=[Shape(robot.names.bodies[0], "sphere", 0.1)], **more)


def box_with_arm() -> fb.System:
    b = fb.Builder("box")
    b.body("box", joint=fb.joints.Free(), mass=MASS, inertia=(0.01, 0.01, 0.01), com=(0.01, 0.0, 0.0))
    b.body("arm", parent="box", joint=fb.joints.Revolute("y"), position=(0.1, 0.0, 0.0), mass=ARM,
           com=(0.1, 0.0, 0.0), inertia=(1e-3, 2e-3, 2e-3), damping=0.01)  # fmt: skip
    return b.build()


UP = {"ball": [0.0, 0.0, 0.0, 0.0, 0.0, MASS * G]}
FORMS = {
    "by name": UP,
    "array": np.array([UP["ball"]]),
    "function": lambda t, q, v: UP,
    "function of arrays": lambda t, q, v: np.array([UP["ball"]]),
    "traced": fb.traced(lambda t, q, v: UP),
    "traced row": fb.traced(lambda t, q, v: UP["ball"]),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_wrench_against_gravity_lets_a_ball_hover(form: str) -> None:
    """In every way of running; without it the ball falls."""
    f_ext, robot = FORMS[form], ball()
    scene = on_floor(robot)
    ends = [
        scene.simulate(START, duration=0.1, f_ext=f_ext).q[-1],
        scene.rollout(START, steps=50, f_ext=f_ext).q[-1],
        fb.simulate(scene, START, duration=0.1, f_ext=f_ext).q[-1],
        fb.simulate(robot, START, duration=0.1, dt=0.01, f_ext=f_ext).q[-1],
        fb.simulate(robot, START, duration=0.1, dt=0.01, f_ext=f_ext, period=0, tau=lambda t, q, v: 0.0 * v).q[-1],
        fb.rollout(robot, START, dt=0.01, steps=10, f_ext=f_ext).q[-1],
    ]
    if not callable(f_ext):
        worlds = scene.batch(2, f_ext=f_ext)
        worlds.reset(q=START)
        worlds.step(steps=50)
        ends += [*worlds.q, scene.step(START, np.zeros(6), dt=0.1, f_ext=f_ext).q]
    for q in ends:
        assert np.allclose(q, START, rtol=0.0, atol=1e-14)
    assert scene.rollout(START, steps=50).q[-1, 2] < 0.46


LAWS = {"rigid": fb.contact.Rigid(), "MuJoCo": fb.contact.MuJoCo()}


@pytest.mark.parametrize("law", LAWS)
def test_motions_have_the_bits_of_single_steps(law: str) -> None:
    """rollout, simulate, and live worlds one step at a time; the push drags the ball over the floor."""
    scene = on_floor(box_with_arm(), law=LAWS[law])
    q = np.array([0.0, 0.0, 0.102, 1.0, 0.0, 0.0, 0.0, 0.3])
    f_ext = {"arm": np.array([0.01, 0.02, 0.0, 1.0, 0.5, 0.3]), "box": np.array([0.0, 0.0, 0.1, 5.0, 0.0, -2.0])}
    run = scene.rollout(q, steps=60, f_ext=f_ext)
    assert run.contacts.found.any() and run.q[-1, 0] > 0.01
    again = scene.simulate(q, duration=60 * 2e-3, f_ext=lambda t, q, v: f_ext)
    worlds = scene.batch(3)
    worlds.reset(q=q)
    one = scene.batch(1, f_ext=f_ext)
    one.reset(q=q)
    for _ in range(60):
        worlds.step(f_ext=f_ext)
        one.step()
    assert np.array_equal(run.q, again.q)
    assert np.array_equal(run.v, again.v)
    assert all(np.array_equal(x, run.q[-1]) for x in (*worlds.q, one.q[0]))
    assert all(np.array_equal(x, run.v[-1]) for x in (*worlds.v, one.v[0]))


def test_samples_of_a_batch_have_wrenches_of_their_own() -> None:
    """Constant accelerations in the air; the same sample by sample, and in live worlds that are named."""
    robot = ball()
    scene = on_floor(robot)
    pushes = np.zeros((3, 1, 6))
    pushes[:, 0, 3] = [0.0, 1.0, -4.0]
    pushes[:, 0, 5] = MASS * G
    t = 0.1
    expected = 0.5 * pushes[:, 0, 3] / MASS * t**2
    runs = fb.rollout(robot, START, dt=0.01, steps=10, f_ext=pushes)
    assert np.allclose(runs.q[-1, :, 0], expected, rtol=1e-12)
    many = scene.rollout(START, steps=50, f_ext=pushes)
    single = [scene.rollout(START, steps=50, f_ext=x) for x in pushes]
    assert np.array_equal(many.q, np.stack([x.q for x in single], axis=1))
    by_name = scene.rollout(START, steps=50, f_ext={"ball": pushes[:, 0]})
    assert np.array_equal(many.q, by_name.q)
    worlds = scene.batch(3, f_ext=pushes)
    worlds.reset(q=START)
    worlds.step(ids=[2, 0], steps=50)
    assert np.array_equal(worlds.q[[2, 0]], many.q[-1][[2, 0]])
    assert np.array_equal(worlds.q[1], START)
    worlds.f_ext[1] = pushes[2]  # type: ignore[index]
    worlds.step(ids=[False, True, False], steps=50)
    assert np.array_equal(worlds.q[1], many.q[-1][2])


def test_wrenches_that_change_with_time() -> None:
    """f = sin t, held for a period: traced and in Python alike, and close to the closed form."""
    robot = ball()
    T = 0.2
    forces = {
        "python": lambda t, q, v: {"ball": [0, 0, 0, np.sin(10.0 * t), 0, MASS * G]},
        "traced": fb.traced(lambda t, q, v: {"ball": [0, 0, 0, fb.sin(10.0 * t), 0, MASS * G]}),
    }
    for run in (partial(fb.simulate, robot), on_floor(robot).simulate):
        ends = {x: run(START, duration=T, dt=1e-3, period=2e-3, f_ext=f).v[-1] for x, f in forces.items()}
        assert np.allclose(ends["python"], ends["traced"], rtol=0.0, atol=1e-15)
        assert ends["traced"][3] == pytest.approx((1.0 - np.cos(10.0 * T)) / (10.0 * MASS), rel=2e-2)


def test_wrenches_act_on_looped_and_constrained_robots() -> None:
    """As the joint forces that they amount to, given at every pass."""
    robot = fb.robots.four_bar()
    q = robot.assemble([0.8, 0.0, 0.0], keep=["link1_joint"])
    wrench = {robot.names.bodies[-1]: np.array([0.1, 0.0, 0.2, 1.0, -2.0, 0.5])}
    expected = fb.simulate(robot, q, duration=0.2, period=0, tau=lambda t, q, v: robot.generalized_force(q, wrench))
    pushed = fb.simulate(robot, q, duration=0.2, f_ext=wrench)
    assert np.allclose(pushed.q[-1], expected.q[-1], rtol=0.0, atol=1e-10)
    assert np.abs(pushed.q[-1] - fb.simulate(robot, q, duration=0.2).q[-1]).max() > 1e-3
    open_chain = robot.spanning().constrained(*(x.loop for x in robot.mechanism.loops))
    held = fb.simulate(open_chain, robot.expand(q), duration=0.2, f_ext=wrench)
    assert np.allclose(held.q[-1], robot.expand(pushed.q[-1]), rtol=0.0, atol=1e-8)
    in_scene = fb.Scene(robot, contacts=[], pairs=[]).rollout(q, dt=1e-4, steps=2000, f_ext=wrench)
    assert np.allclose(in_scene.q[-1], pushed.q[-1], rtol=0.0, atol=1e-3)


def test_observations_know_wrenches() -> None:
    """An accelerometer of a ball that is pushed, and gravity forces, which do not contain them."""
    robot = ball()
    observe = {"a": fb.observe.imu("ball"), "g": fb.observe.method("gravity_force")}
    f_ext = {"ball": [0.0, 0.0, 0.0, 1.0, 0.0, MASS * G]}
    for run in (
        fb.simulate(robot, START, duration=0.1, dt=0.01, f_ext=f_ext, observe=observe),
        on_floor(robot).simulate(START, duration=0.1, dt=0.01, f_ext=f_ext, observe=observe),
    ):
        assert np.allclose(run.observations["a"][-1], [0, 0, 0, 1.0 / MASS, 0, G], atol=1e-12)
        assert np.allclose(run.observations["g"][-1], [0, 0, 0, 0, 0, MASS * G], atol=1e-12)


def test_wrenches_that_are_wrong_are_named_by_the_function_that_was_called() -> None:
    scene = on_floor(box_with_arm())
    q, worlds = scene.start(), scene.batch(3)
    calls = {
        "step": lambda f: scene.step(q, np.zeros(7), dt=1e-3, f_ext=f),
        "simulate": lambda f: scene.simulate(q, duration=0.01, f_ext=f),
        "rollout": lambda f: scene.rollout(q, steps=2, f_ext=f),
        "batch": lambda f: scene.batch(2, f_ext=f),
    }
    for name, call in calls.items():
        with pytest.raises(fb.UnknownNameError, match=rf"\(in f_ext of {name}\) 'arn'; did you mean 'arm'"):
            call({"arn": np.zeros(6)})
        with pytest.raises(fb.ArgumentError, match=rf"^{name}: f_ext must have shape \(..., 2, 6\), got \(3, 6\)"):
            call(np.zeros((3, 6)))
    with pytest.raises(fb.UnknownNameError, match="in f_ext of step"):
        worlds.step(f_ext={"arn": np.zeros(6)})
    with pytest.raises(fb.ArgumentError, match=r"step: f_ext must have shape \(3, 2, 6\) or \(2, 6\), got \(4, 2, 6\)"):
        worlds.step(f_ext=np.zeros((4, 2, 6)))
    with pytest.raises(fb.ArgumentError, match=r"f_ext\(t, q, v\) returned shape \(4, 2, 6\) for one state"):
        scene.rollout(q, steps=2, f_ext=lambda t, q, v: np.zeros((4, 2, 6)))
    with pytest.raises(fb.UnknownNameError, match="'arn'; did you mean 'arm'"):
        scene.rollout(q, steps=2, f_ext=fb.traced(lambda t, q, v: {"arn": v[:6]}))
    with pytest.raises(fb.ArgumentError, match=r"^numbers: 'friction' must have shape"):
        scene.rollout(q, steps=2, numbers={"friction": np.ones(7)})
    with pytest.warns(fb.SimulationWarning, match="f_ext was NaN or infinite at t = 0 s"):
        scene.rollout(q, steps=2, f_ext=np.full((2, 6), np.nan))


def test_meshes_of_the_world_are_named_in_the_warning(tmp_path: Path) -> None:
    """Those without a name by that of their mesh, equal ones together."""
    pytest.importorskip("mujoco")
    corners = "0 0 0 1 0 0 0 1 0 0 0 1"
    text = f"""<mujoco><asset><mesh name="tet" vertex="{corners}"/></asset><worldbody>
        <geom type="mesh" mesh="tet"/><geom type="mesh" mesh="tet" pos="3 0 0"/>
        <body name="ball" pos="0 0 2"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
    (file := tmp_path / "world.xml").write_text(text)
    robot = fb.load(file)
    with pytest.warns(fb.SimulationWarning, match=r"mesh 'tet' of the world \(2 of them\)"):
        fb.Scene(robot)


@pytest.mark.parametrize("scheme", ["asked", "traced"])
def test_a_function_that_returns_a_wrong_shape_is_named(scheme: str) -> None:
    """With the shape that is expected, and the way to name bodies."""
    robot = box_with_arm()
    q = [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.3]
    runs = (partial(fb.rollout, robot, dt=0.01), on_floor(robot).rollout)
    for answer in (np.zeros(6), np.zeros((3, 6)), np.zeros((2, 5)), [1.0, 2.0]):
        f_ext: Any = lambda t, q, v, answer=answer: answer  # noqa: E731
        for run in runs:
            words = r"f_ext\(t, q, v\) must have shape \(\.\.\., 2, 6\), got .*by name, \{'arm': \(\.\.\., 6\)\}"
            with pytest.raises(fb.ArgumentError, match=words):
                run(q, steps=3, f_ext=fb.traced(f_ext) if scheme == "traced" else f_ext)
    named: Any = lambda t, q, v: {"arm": np.zeros(3)}  # noqa: E731
    for run in runs:
        with pytest.raises(fb.ArgumentError, match=r"f_ext\(t, q, v\)\['arm'\] must have shape \(\.\.\., 6\), got"):
            run(q, steps=3, f_ext=fb.traced(named) if scheme == "traced" else named)
    if scheme == "asked":
        with pytest.raises(fb.ArgumentError, match=r"f_ext\(t, q, v\) cannot be read .* it contains None"):
            fb.rollout(robot, q, dt=0.01, steps=3, f_ext=lambda t, q, v: None)


def test_steps_and_live_worlds_hold_wrenches() -> None:
    """They call no functions, and say so, of forces and controls too."""
    scene = on_floor(ball())
    words = "is a function, .*expected its values, an array of shape .*simulate and rollout call functions"
    for function in (lambda t, q, v: UP, fb.traced(lambda t, q, v: UP)):
        for call in (
            lambda f=function: scene.batch(2, f_ext=f),
            lambda f=function: scene.batch(2).step(f_ext=f),
            lambda f=function: scene.batch(2).step(f),
            lambda f=function: scene.step(START, np.zeros(6), dt=0.1, f_ext=f),
            lambda f=function: scene.step(START, np.zeros(6), f, dt=0.1),
        ):
            with pytest.raises(fb.ArgumentError, match=words):
                call()
    with pytest.raises(fb.ArgumentError, match=r"q is a function, .*neutral.*call it here"):
        scene.robot.mass_matrix(scene.robot.neutral)
