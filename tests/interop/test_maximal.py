"""Poses and twists of bodies ↔ (q, v): round trips on every joint and loop, what does not fit, turns gears hide."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, System, convert
from fourbar.interop.maximal import turning
from fourbar.interop.numbered_robot import joint_pose
from fourbar.joints import REGISTRY, Composite, CustomJoint, Joint, Revolute

from .robots import EACH, robot, states

EACH_JOINT = pytest.mark.parametrize("joint", REGISTRY, ids=lambda j: repr(j)[:60])


def samples(joint: Joint, n: int = 30) -> np.ndarray:
    unlimited = np.full(joint.nq, np.inf)
    return joint.random(np.random.default_rng(0), -unlimited, unlimited, (n,))


@EACH_JOINT
def test_coordinates_of_one_joint(joint: Joint) -> None:
    """Alone, and told what they are near to: then the very same, turns and signs included, where they are principal."""
    q = samples(joint)
    T = joint_pose(joint, q)
    found = convert.joint_coordinates(joint, T)
    assert found.residual.max() <= 2e-15
    assert np.abs(joint_pose(joint, found.q) - T).max() == found.residual.max()
    q[:, turning(joint)] += 2 * np.pi * np.random.default_rng(1).integers(-3, 4, (len(q), len(turning(joint))))
    near = convert.joint_coordinates(joint, joint_pose(joint, q), near=q + 0.01)
    assert near.residual.max() <= 1e-14
    if not isinstance(joint, fb.joints.SphericalEuler | Composite | CustomJoint):
        assert np.abs(near.q - q).max(initial=0.0) <= 2e-14


@EACH_JOINT
def test_joints_have_closed_forms_over_any_scalar(joint: Joint) -> None:
    """All but composites and functions; floats and arrays agree."""
    from fourbar.spatial.linear import Mat, Vec
    from fourbar.spatial.transform import Transform

    q = samples(joint, 3)
    T = joint_pose(joint, q)
    one = joint.coordinates_of(Transform((Mat.of(T[1, :3, :3].tolist()),), Vec(T[1, :3, 3].tolist())))
    assert (one is None) == (type(joint) in (Composite, CustomJoint))
    if one is not None:
        assert np.abs(np.array(one) - convert.joint_coordinates(joint, T).q[1]).max(initial=0.0) <= 1e-15


def test_a_pose_that_does_not_fit_a_joint() -> None:
    T = np.eye(4)
    T[2, 3] = 0.5
    found = convert.joint_coordinates(Revolute("z"), T)
    assert found.residual == 0.5 and found.q.tolist() == [0.0]


def _hint(name: str, q: np.ndarray) -> np.ndarray | None:
    """Tells the turns that poses do not show: of a rotor five times as fast as the coupler of a linkage."""
    return q + 0.01 if name == "nested" else None


@EACH
def test_states_come_back(name: str) -> None:
    system, (q, v) = robot(name), states(name)
    poses, twists = convert.maximal_from_state(system, q, v)
    found = convert.state_from_maximal(system, poses, twists, near=_hint(name, q))
    assert np.abs(system.poses(found.q) - poses).max() <= 1e-12
    assert np.abs(system.twists(*found) - twists).max() <= 1e-11 * np.abs(twists).max()
    near = convert.state_from_maximal(system, poses, twists, near=q)
    assert np.abs(near.q - q).max() <= 1e-11
    assert np.abs(near.v - v).max() <= 1e-11 * np.abs(twists).max()


@EACH
def test_poses_that_do_not_fit_are_refused(name: str) -> None:
    """A body moved away, as no joint can move it: the residual names it and says by how much."""
    system, (q, v) = robot(name), states(name)
    poses, twists = convert.maximal_from_state(system, q, v)
    held = [i for i, c in enumerate(system.mechanism.joints) if c.joint.nv < 3 and c.child != "world"]
    body = next(i for i in held if not isinstance(system.mechanism.joints[i].joint, Composite))
    moved = poses.copy()
    step = convert.pose_from_quaternion([0.3, 0.2, 0.25], [1.0, 0.1, 0.2, -0.15])
    moved[2, body] = moved[2, body] @ step
    found = convert.coordinates_from_poses(system, moved)
    assert found.residual[2].max() > 0.01
    with pytest.raises(ArgumentError, match=r"do not fit the robot: that of body .* is off by [0-9.]+ from what joint"):
        convert.state_from_maximal(system, moved, twists)


@EACH
def test_twists_that_cannot_be_reached_are_refused(name: str) -> None:
    system, (q, v) = robot(name), states(name)
    poses, twists = convert.maximal_from_state(system, q, v)
    wrong = twists + 0.1 * np.random.default_rng(1).normal(size=twists.shape)
    with pytest.raises(
        ArgumentError, match=r"the twists are inconsistent: that of body .* violates joints or loops by"
    ):
        convert.state_from_maximal(system, poses, wrong, near=_hint(name, q))


def motor(ratio: float, independent: str) -> System:
    b = fb.Builder("motor")
    b.body("link", joint=Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    b.body("rotor", joint=Revolute("z"), mass=0.1, inertia=(0.1, 0.1, 0.1))
    b.loop(fb.loops.Gear("link", "rotor", ratio), name="gear", independent=[independent])
    return b.build()


@pytest.mark.parametrize("ratio", [2.5, 9.0, -50.0, 100 / 7])
@pytest.mark.parametrize("independent", ["link", "rotor"])
def test_turns_that_a_gear_hides(ratio: float, independent: str) -> None:
    """Poses show both angles up to turns; the gear tells which turns, whichever of the two is independent."""
    geared = motor(ratio, independent)
    angle = np.linspace(-3.0, 3.0, 41)[:, None]
    q = angle if independent == "link" else ratio * angle
    poses = geared.poses(q)
    found = convert.coordinates_from_poses(geared, poses)
    assert found.residual.max() < 1e-12
    assert np.abs(geared.poses(found.q) - poses).max() < 1e-12
    if ratio in (9.0, -50.0):  # then one turn of the link is whole turns of the rotor: the fewest are within one
        assert np.abs(found.q - q).max() < 1e-12
    far = q + 2 * np.pi * 7 * (1.0 if independent == "link" else ratio)
    near = convert.coordinates_from_poses(geared, geared.poses(far), near=far)
    assert np.abs(near.q - far).max() < 1e-11


def test_a_gear_that_does_not_mesh_is_refused() -> None:
    geared = motor(9.0, "link")
    poses = geared.poses([0.4])
    poses[1] = poses[1] @ convert.pose_from_quaternion([0, 0, 0], [1, 0, 0, 0.1])
    with pytest.raises(ArgumentError, match=r"body 'rotor' is off by 0\.\d+ from what joint 'rotor' and the loops"):
        convert.state_from_maximal(geared, poses, np.zeros((2, 6)))


def test_an_open_loop_is_refused() -> None:
    """The bars each fit their joints, but the loop does not close."""
    bars = fb.robots.four_bar()
    tree = bars.spanning()
    q = bars.random(0) + 0.01
    with pytest.raises(ArgumentError, match=r"leave the loops open by 0\.0\d+ .*robot.assemble"):
        convert.state_from_maximal(bars, tree.poses(q), np.zeros((len(bars.names.bodies), 6)))


def test_shapes_and_poses_are_checked() -> None:
    arm = fb.robots.double_pendulum()
    T = arm.poses([0.1, 0.2])
    with pytest.raises(ArgumentError, match=r"poses must have shape \(..., 2, 4, 4\), got \(3, 4\)"):
        convert.coordinates_from_poses(arm, T[0, :3])
    with pytest.raises(ArgumentError, match="rotation of a pose is not orthogonal"):
        convert.coordinates_from_poses(arm, 2.0 * T)
    bad = T.copy()
    bad[0, 3, 0] = 1.0
    with pytest.raises(ArgumentError, match="last row"):
        convert.coordinates_from_poses(arm, bad)
    with pytest.raises(ArgumentError, match="near must have shape"):
        convert.coordinates_from_poses(arm, T, near=[0.0])
