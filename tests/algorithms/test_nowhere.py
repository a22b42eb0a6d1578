"""Questions without an answer: said in words for one state, NaN with a warning in a batch, never part of one."""

from __future__ import annotations

import pydoc
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Composite, Free, Prismatic, Revolute, Spherical
from fourbar.loops import Gear

SOLID = {"mass": 1.0, "com": (0.1, 0.0, 0.2), "inertia": (1.0, 1.1, 1.2)}


def floating() -> fb.System:
    b = fb.Builder("floating")
    b.body("base", joint=Free(), **SOLID)
    b.body("arm", parent="base", joint=Revolute("y"), **SOLID)
    b.body("ball", parent="arm", joint=Composite(Prismatic("x"), Spherical()), **SOLID)
    return b.build()


ROBOT = floating()
CALLS: dict[str, Any] = {
    "forward_dynamics": lambda r, q: r.forward_dynamics(q, *np.zeros((2, r.nv))),
    "inverse_dynamics": lambda r, q: r.inverse_dynamics(q, *np.zeros((2, r.nv))),
    "pose": lambda r, q: r.pose(q, "ball"),
    "integrate": lambda r, q: r.integrate(q, np.zeros(r.nv), 0.1),
    "difference": lambda r, q: r.difference(r.neutral(), q),
    "potential_energy": lambda r, q: r.potential_energy(q),
    "jacobian": lambda r, q: r.forward_dynamics.jacobian(q, *np.zeros((2, r.nv))),
    "vjp": lambda r, q: r.potential_energy.vjp(q, 1.0),
}


@pytest.mark.quick
@pytest.mark.parametrize("call", CALLS)
def test_a_zero_quaternion_is_named(call: str) -> None:
    """np.zeros(nq) is what everybody tries first on a floating robot. Machine code serves the repeated calls."""
    for _ in range(3):
        with pytest.raises(fb.ArgumentError, match=r"quaternion of joint 'base'.*\[3:7\].*robot.neutral\(\)"):
            CALLS[call](ROBOT, np.zeros(ROBOT.nq))
    q = ROBOT.neutral()
    q[-4:] = 0.0
    with pytest.raises(fb.ArgumentError, match=r"quaternion of joint 'ball'.*\[9:13\]"):
        ROBOT.pose(q, "ball")


@pytest.mark.parametrize("size", [1e-160, 1e-200, 5e-324])
def test_a_quaternion_whose_squares_vanish_is_one_of_zeros(size: float) -> None:
    q = ROBOT.neutral()
    q[3:7] = [-size, 0.0, size, 0.0]
    for _ in range(3):
        with pytest.raises(fb.ArgumentError, match=r"quaternion of joint 'base'"):
            ROBOT.potential_energy(q)
        with pytest.warns(RuntimeWarning, match=r"in some samples.*quaternion of joint 'base'"):
            found = ROBOT.potential_energy(np.array([ROBOT.neutral(), q]))
        assert np.isnan(found).tolist() == [False, True]
    with pytest.raises(fb.ArgumentError, match=r"quaternion of joint 'base'"):
        ROBOT.check(q)


def test_what_does_not_depend_on_it_is_computed() -> None:
    q = np.zeros(ROBOT.nq)
    q[-4] = 1.0
    assert np.array_equal(ROBOT.mass_matrix(q), ROBOT.mass_matrix(ROBOT.neutral()))


@pytest.mark.parametrize("shape", [(5,), (2, 3), (40,)])
@pytest.mark.parametrize("method", ["forward_dynamics", "inverse_mass_matrix", "gravity_force"])
def test_in_a_batch_the_whole_sample_is_nan(method: str, shape: tuple[int, ...]) -> None:
    q = ROBOT.random(0, int(np.prod(shape))).reshape(*shape, ROBOT.nq)
    q[..., 9:13] = [1.0, 0.0, 0.0, 0.0]
    rest = [np.zeros((*shape, ROBOT.nv))] * (2 if method == "forward_dynamics" else 0)
    f = getattr(ROBOT, method)
    sound = f(q, *rest)
    lost = np.zeros(shape, bool)
    lost.flat[3] = True
    q[lost, 9:13] = 0.0
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match=r"in some samples.*quaternion of joint 'ball'"):
            found = f(q, *rest)
        assert np.isnan(found[lost]).all() and np.array_equal(found[~lost], sound[~lost])


@pytest.mark.parametrize("angle", [1e9, -3e12, 1e300])
def test_angles_without_end_are_named(angle: float) -> None:
    robot = fb.robots.double_pendulum()
    z = np.zeros(2)
    for _ in range(3):
        with pytest.raises(fb.ArgumentError, match=r"'elbow'.*modulo 2π"):
            robot.forward_dynamics([0.1, angle], z, z)
    q = np.zeros((20, 2))
    q[7, 1] = angle
    zeros = np.zeros((20, 2))
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match=r"'elbow'.*modulo 2π"):
            a = robot.forward_dynamics(q, zeros, zeros)
        assert np.flatnonzero(np.isnan(a).all(axis=1)).tolist() == [7] and np.isnan(a).sum() == 2


def test_distances_may_be_large() -> None:
    b = fb.Builder("far")
    b.body("cart", joint=Prismatic("x"), **SOLID)
    b.body("arm", parent="cart", joint=Revolute("y"), **SOLID)
    robot = b.build()
    near, far = (robot.forward_dynamics([x, 0.3], [0.0, 1.0], [0.0, 0.0]) for x in (0.0, 1e12))
    assert np.array_equal(near, far)
    with pytest.raises(fb.ArgumentError, match="'arm'"):
        robot.forward_dynamics([1e12, 1e12], [0.0, 1.0], [0.0, 0.0])


MASSLESS = """<robot name="wheel"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="wheel"/>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
<joint name="hub" type="continuous"><parent link="arm"/><child link="wheel"/><origin xyz="1 0 0"/><axis xyz="0 1 0"/>
</joint></robot>"""
NEED_MASS = ["forward_dynamics", "inverse_mass_matrix", "solve_mass_matrix", "passive_dynamics"]


@pytest.mark.quick
@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("method", NEED_MASS)
def test_a_joint_that_moves_nothing(method: str, floats: bool) -> None:
    """Waived when read: then all but what divides by its inertia is computed, and that is said by name."""
    robot = fb.loads(MASSLESS, waive=["massless"], floating=floats)
    f, zero = getattr(robot, method), np.zeros(robot.nv)
    arguments = [robot.neutral(), *[zero] * {"inverse_mass_matrix": 0, "solve_mass_matrix": 1}.get(method, 2)]
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="'hub' moves nothing that has inertia"):
            assert np.isnan(f(*arguments)).all()
        with pytest.warns(RuntimeWarning, match="'hub' moves nothing that has inertia"):
            assert np.isnan(f(*(np.stack([x] * 9) for x in arguments))).all()


def test_what_needs_no_inertia_is_computed() -> None:
    robot = fb.loads(MASSLESS, waive=["massless"])
    q, v, a = [0.3, 0.5], [1.0, 2.0], [0.5, 0.1]
    M = robot.mass_matrix(q)
    assert np.array_equal(M, [[1.0, 0.0], [0.0, 0.0]])
    assert np.allclose(robot.inverse_dynamics(q, v, a), M @ a)


def _geared(joint: Any, ratio: float) -> fb.System:
    b = fb.Builder("geared")
    for name in ("slow", "fast"):
        b.body(name, joint=joint, **SOLID)
    return b.loop(Gear("slow", "fast", ratio)).build()


def test_an_angle_that_a_gear_makes_too_large_is_named() -> None:
    robot = _geared(Revolute("y"), 1e9)
    assert np.isfinite(robot.inverse_dynamics([1e-2], [0.0], [0.0])).all()
    for call in (lambda: robot.inverse_dynamics([1.0], [0.0], [0.0]), lambda: robot.check([1.0])):
        with pytest.raises(fb.ArgumentError, match=r"'fast' is 1e\+09 .*modulo 2π"):
            call()
    with pytest.warns(RuntimeWarning, match=r"in some samples of q: the coordinate 'fast'"):
        tau = robot.inverse_dynamics(*np.array([[[1.0], [0.0]]] + [np.zeros((2, 1))] * 2))
    assert np.isnan(tau[0, 0]) and np.isfinite(tau[1, 0])


def test_check_refuses_angles_that_methods_refuse() -> None:
    with pytest.raises(fb.ArgumentError, match=r"check: q at index \[1\].*'elbow'.*modulo 2π"):
        fb.robots.double_pendulum().check([[0.0, 0.0], [0.0, 1e9]])
    assert _geared(Prismatic("y"), 2.0).check([2e8]) == 2e8  # a distance


@pytest.mark.parametrize("limit", [1.1e8, 1e12, 1e300])
def test_random_takes_far_limits_as_none(limit: float) -> None:
    b = fb.Builder("endless")
    b.body("arm", joint=Revolute("y"), limits=(-limit, limit), **SOLID)
    b.body("one_sided", joint=Revolute("y"), limits=(1.0, limit), **SOLID)
    q = b.build().random(0, 50)
    assert np.abs(q[:, 0]).max() <= np.pi and q[:, 1].min() >= 1.0 and q[:, 1].max() <= 1.0 + 2 * np.pi


def test_help_of_a_method_is_its_description() -> None:
    text = pydoc.render_doc(fb.robots.four_bar().forward_dynamics)
    assert "caused by joint forces" in text and "robot.check(q, v)" in text
