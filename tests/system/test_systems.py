"""What becomes of a mechanism: fixed bodies, bodies without mass, random configurations, gravity."""

import numpy as np
import pytest

from fourbar import Builder, ModelError
from fourbar.joints import Fixed, Free, Planar, Prismatic, Revolute, Spherical, SphericalExponential
from fourbar.tree.cluster_tree import GROUND

SOLID = {"mass": 1.3, "com": (0.1, -0.2, 0.3), "inertia": (0.4, 0.5, 0.6)}


def test_fixed_bodies_have_a_home_in_what_carries_them():
    b = Builder()
    b.body("post", position=(0.0, 0.0, 1.0), **SOLID)
    b.body("arm", parent="post", joint=Revolute("z"), position=(0.5, 0.0, 0.0), **SOLID)
    b.body("plate", parent="arm", joint=Fixed(), position=(0.2, 0.0, 0.0), rpy=(0.0, 0.0, np.pi / 2), **SOLID)
    b.body("tool", parent="plate", position=(0.1, 0.0, 0.0), **SOLID)
    b.frame("point", "tool", position=(0.0, 0.0, 0.1))
    robot = b.build()
    homes = robot.model.cluster_tree.bodies
    assert [homes[name].link for name in ("post", "arm", "plate", "tool")] == [GROUND, 0, 0, 0]
    assert robot.nv == 1
    q = np.array([0.7])
    c, s = np.cos(0.7), np.sin(0.7)
    np.testing.assert_allclose(robot.pose(q, "post")[:3, 3], (0.0, 0.0, 1.0))
    np.testing.assert_allclose(robot.pose(q, "plate")[:3, 3], (0.5 + 0.2 * c, 0.2 * s, 1.0), atol=1e-15)
    np.testing.assert_allclose(
        robot.pose(q, "point")[:3, 3], (0.5 + 0.2 * c - 0.1 * s, 0.2 * s + 0.1 * c, 1.1), atol=1e-15
    )
    np.testing.assert_allclose(robot.poses(q)[3], robot.pose(q, "tool"), atol=1e-15)


def test_fixed_bodies_weigh_as_much_as_one_merged_by_hand():
    """Two halves on a fixed joint are one body."""
    halves = Builder()
    halves.body("a", joint=Revolute("y"), mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.2, 0.25))
    halves.body("b", parent="a", position=(0.4, 0.0, 0.0), mass=3.0, com=(0.1, 0.0, 0.0), inertia=(0.2, 0.3, 0.4))
    com = (0.1 * 1.0 + 0.5 * 3.0) / 4.0
    across = 1.0 * (com - 0.1) ** 2 + 3.0 * (0.5 - com) ** 2
    one = Builder()
    one.body("a", joint=Revolute("y"), mass=4.0, com=(com, 0.0, 0.0), inertia=(0.3, 0.5 + across, 0.65 + across))
    q, v, a = np.random.default_rng(0).random((3, 1))
    np.testing.assert_allclose(
        halves.build().inverse_dynamics(q, v, a), one.build().inverse_dynamics(q, v, a), rtol=1e-13
    )
    np.testing.assert_allclose(halves.build().potential_energy(q), one.build().potential_energy(q), rtol=1e-13)


@pytest.mark.quick
@pytest.mark.parametrize("joint", [Revolute("y"), Prismatic("x"), Spherical(), Free()], ids=str)
def test_a_joint_that_moves_nothing_is_refused(joint):
    b = Builder()
    b.body("arm", joint=Revolute("z"), **SOLID)
    b.body("hand", parent="arm", joint=joint, joint_name="wrist")
    with pytest.raises(ModelError, match=r"joint 'wrist' moves nothing that has inertia \(body 'hand'.*armature"):
        b.build()


def test_a_point_on_its_own_axis_moves_nothing():
    b = Builder().body("bead", joint=Revolute("z"), mass=1.0, com=(0.0, 0.0, 0.5))
    with pytest.raises(ModelError, match="joint 'bead' moves nothing"):
        b.build()
    off = Builder().body("bead", joint=Revolute("z"), mass=1.0, com=(0.1, 0.0, 0.5)).build()
    np.testing.assert_allclose(off.mass_matrix(np.zeros(1)), [[0.01]])


@pytest.mark.quick
def test_a_body_without_mass_may_carry_others():
    b = Builder()
    b.body("link", joint=Revolute("z"))
    b.body("empty", parent="link", joint=Revolute("x"))
    b.body("tool", parent="empty", joint=Revolute("y"), **SOLID)
    robot = b.build()
    q, v, tau = np.random.default_rng(1).random((3, 3))
    a = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), tau, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("joint", [Revolute, lambda axis: SphericalExponential()], ids=["hinge", "ball"])
def test_motions_that_cancel(joint, seed):
    """A hinge along the axis of another one, or through a ball joint: nothing but rounding resists it."""
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    b = Builder().body("link", joint=Revolute(axis), rpy=rng.random(3))
    b.body("tool", parent="link", joint=joint(axis), position=0.7 * axis, **SOLID)
    with pytest.raises(ModelError, match="joint 'link' moves nothing"):
        b.build()


def test_small_parts_of_large_machines():
    """What counts is the inertia that a joint carries, not that of what carries it."""
    b = Builder("ship").body("hull", joint=Free(), mass=1e8, inertia=(1e10, 1e10, 1e10))
    b.body("gimbal", parent="hull", joint=Revolute("x"))
    b.body("dish", parent="gimbal", joint=Revolute("y"), mass=1e-3, inertia=(1e-7, 1e-7, 1e-7))
    assert b.build().nv == 8


@pytest.mark.quick
def test_armature_is_inertia_enough():
    b = Builder()
    b.body("arm", joint=Revolute("z"), **SOLID)
    b.body("rotor", parent="arm", joint=Revolute("z"), armature=0.02)
    robot = b.build()
    assert robot.mass_matrix(np.zeros(2))[1, 1] == 0.02
    assert np.all(np.isfinite(robot.forward_dynamics(*np.ones((3, 2)))))


@pytest.mark.quick
def test_random_configurations_respect_limits():
    b = Builder()
    b.body("a", joint=Revolute("z"), limits=(-0.1, 0.3), **SOLID)
    b.body("b", parent="a", joint=Prismatic("z"), limits=(2.0, np.inf), **SOLID)
    b.body("c", parent="b", joint=Revolute("x"), limits=(-np.inf, -5.0), **SOLID)
    b.body("d", parent="c", joint=Revolute("x"), limits=(0.5, 0.5), **SOLID)
    b.body("e", parent="d", joint=Planar("z"), limits=((-1.0, -2.0, 0.0), (1.0, 2.0, 0.5)), **SOLID)
    b.body("f", parent="e", joint=Revolute("z"), **SOLID)
    robot = b.build()
    q = robot.random(0, 5000)
    lower = [x for c in robot.mechanism.joints for x in c.lower]
    upper = [x for c in robot.mechanism.joints for x in c.upper]
    assert np.all(q >= lower)
    assert np.all(q <= upper)
    assert np.all(np.abs(q[:, -1]) <= np.pi)
    bounded = np.isfinite(lower) & np.isfinite(upper)
    width = np.ptp(q, axis=0)[bounded]
    assert np.all(width >= 0.95 * (np.array(upper) - lower)[bounded])


@pytest.mark.quick
def test_random_configurations_are_repeatable():
    robot = Builder().body("a", joint=Free(), **SOLID).body("b", parent="a", joint=Spherical(), **SOLID).build()
    assert robot.random().shape == (11,)
    assert robot.random(0).shape == (11,)
    assert robot.random(0, 7).shape == (7, 11)
    assert robot.random(0, 1).shape == (1, 11)
    assert robot.random(0, 0).shape == (0, 11)
    assert np.array_equal(robot.random(5, 3), robot.random(5, 3))
    assert not np.array_equal(robot.random(5, 3), robot.random(6, 3))
    rng = np.random.default_rng(5)
    assert np.array_equal(robot.random(rng, 3), robot.random(5, 3))
    assert not np.array_equal(robot.random(rng, 3), robot.random(5, 3))
    assert not np.array_equal(robot.random(), robot.random())
    for q in (robot.random(1, 50), robot.neutral()[None]):
        np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0, rtol=1e-14)


def test_the_neutral_configuration():
    robot = Builder().body("a", joint=Free(), **SOLID).body("b", parent="a", joint=Revolute("z"), **SOLID).build()
    assert np.array_equal(robot.neutral(), [0, 0, 0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(robot.poses(robot.neutral()), [np.eye(4)] * 2)


@pytest.mark.quick
def test_gravity_can_be_changed():
    robot = Builder().body("a", joint=Prismatic("z"), **SOLID).build()
    np.testing.assert_allclose(robot.gravity_force([0.0]), [1.3 * 9.81])
    moon = robot.with_gravity((0.0, 0.0, -1.62))
    np.testing.assert_allclose(moon.gravity_force([0.0]), [1.3 * 1.62])
    assert robot.gravity == (0.0, 0.0, -9.81)
    assert np.array_equal(robot.with_gravity((0, 0, 0)).gravity_force([0.0]), [0.0])


def test_mechanisms_are_frozen():
    robot = Builder().body("a", joint=Prismatic("z"), **SOLID).build()
    for thing, name in ((robot, "name"), (robot.mechanism, "bodies"), (robot.mechanism.bodies[0], "mass")):
        with pytest.raises(AttributeError):
            setattr(thing, name, None)
    with pytest.raises(AttributeError):
        del robot.mechanism
    with pytest.raises(AttributeError, match="with_gravity"):
        robot.gravity = (0.0, 0.0, 0.0)
