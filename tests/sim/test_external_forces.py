"""External wrenches on bodies in a step with contacts: the same as the joint forces that they amount to."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

LAWS = {"rigid": fb.contact.Rigid(), "MuJoCo": fb.contact.MuJoCo()}


def box_with_arm() -> fb.System:
    b = fb.Builder("box")
    b.body("box", joint=fb.joints.Free(), mass=2.0, inertia=(0.01, 0.01, 0.01), com=(0.01, 0.0, 0.0))
    b.body("arm", parent="box", joint=fb.joints.Revolute("y"), position=(0.1, 0.0, 0.0), mass=0.5,
           com=(0.1, 0.0, 0.0), inertia=(1e-3, 2e-3, 2e-3))  # fmt: skip
    return b.build()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("height", [0.0999, 1.0])
def test_wrenches_by_name_act_as_their_joint_forces(law: str, height: float) -> None:
    """On the floor and in the air; the joint forces are Jᵀ w."""
    robot = box_with_arm()
    corners = [Shape("box", position=(x, y, -0.1)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    scene = fb.Scene(robot, fb.Plane(0.5), contacts=corners, law=LAWS[law])
    q, v = np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0, 0.3]), np.zeros(robot.nv)
    wrenches = {"arm": np.array([0.1, 0.2, 0.0, 1.0, 0.5, 3.0]), "box": np.array([0.0, 0.0, 0.1, 5.0, 0.0, -7.0])}
    tau = sum(robot.jacobian(q, name, expressed_in="frame").T @ w for name, w in wrenches.items())
    by_name, pushed = scene.step(q, v, dt=1e-3, f_ext=wrenches), scene.step(q, v, tau, dt=1e-3)
    assert np.allclose(by_name.v, pushed.v, rtol=0.0, atol=1e-9)
    assert np.abs(by_name.v - scene.step(q, v, dt=1e-3).v).max() > 1e-2
    in_order = np.stack([wrenches[name] for name in robot.names.bodies])
    assert np.array_equal(scene.step(q, v, dt=1e-3, f_ext=in_order).v, by_name.v)
    scales = np.array([0.0, 1.0, -2.0])
    many = scene.step(np.tile(q, (3, 1)), np.tile(v, (3, 1)), dt=1e-3, f_ext=scales[:, None, None] * in_order)
    for one, scale in zip(many.v, scales, strict=True):
        assert np.allclose(one, scene.step(q, v, scale * tau, dt=1e-3).v, rtol=0.0, atol=1e-9)


def test_wrenches_act_on_links_of_loops() -> None:
    robot = fb.robots.four_bar()
    scene = fb.Scene(robot, contacts=[], pairs=[])
    q = robot.assemble([0.8, 0.0, 0.0], keep=["link1_joint"])
    f_ext = np.random.default_rng(1).normal(0.0, 5.0, size=(len(robot.names.bodies), 6))
    zero = np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, zero, zero) - robot.inverse_dynamics(q, zero, zero, f_ext=f_ext)
    assert np.abs(tau).max() > 0.1
    assert np.allclose(scene.step(q, zero, dt=1e-3, f_ext=f_ext).v, scene.step(q, zero, tau, dt=1e-3).v, atol=1e-12)


def test_a_wrong_name_is_answered_with_the_right_one() -> None:
    scene = fb.Scene(box_with_arm(), fb.Plane(), contacts=["box"])
    with pytest.raises(fb.UnknownNameError, match="'arn'; did you mean 'arm'"):
        scene.step(scene.start(), np.zeros(7), dt=1e-3, f_ext={"arn": np.zeros(6)})
