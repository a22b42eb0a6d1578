"""Joints whose rates are dependent (gimbal lock) inside loops: methods that invert M refuse them, others do not."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fourbar as fb
from fourbar.joints import CustomJoint, Joint, Prismatic, Revolute, Spherical, SphericalEuler, SphericalExponential
from fourbar.loops import Constraint, Distance, Gear


def _cardan(q: Any) -> Any:
    """Rotations about x, y and z in series."""
    a, b, c = np.cos(q[0]), np.cos(q[1]), np.cos(q[2])
    x, y, z = np.sin(q[0]), np.sin(q[1]), np.sin(q[2])
    second = [a * z + x * y * c, a * c - x * y * z, -x * b]
    return [[b * c, -b * z, y], second, [x * z - a * y * c, x * c + a * y * z, a * b]], [0.0, 0.0, 0.0]


PLACES = [
    (SphericalEuler("xyz"), (0.3, np.pi / 2, 0.2)),
    (SphericalEuler("zxz"), (0.3, 0.0, 0.2)),
    (SphericalExponential(), (2.0 * np.pi, 0.0, 0.0)),
    (CustomJoint(_cardan, nq=3), (0.3, np.pi / 2, 0.2)),
]
EACH = pytest.mark.parametrize(("joint", "place"), PLACES, ids=["xyz", "zxz", "exponential", "custom"])


@cache
def made(joint: Joint, tail: int = 1, armature: float = 0.0) -> fb.System:
    """A crank, a rod on a joint, a tail of hinges, and a slider at the end of a stick from the last of them."""
    b = fb.Builder("linkage")
    b.body("crank", joint=Revolute("y"), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.body("rod", parent="crank", joint=joint, position=(0.3, 0, 0), mass=1.0, com=(0.2, 0.1, 0.05),
           inertia=(1.0, 1.1, 1.2), armature=armature)  # fmt: skip
    end = "rod"
    for k in range(tail):
        b.body(f"tail{k}", parent=end, joint=Revolute("yxz"[k % 3]), position=(0.1, 0, 0), mass=1.0,
               com=(0, 0.1, 0.3), inertia=(0.1, 0.1, 0.1))  # fmt: skip
        end = f"tail{k}"
    b.body("slider", joint=Prismatic("x"), position=(5.0, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    moving = ["crank", "rod", *(f"tail{k}" for k in range(tail))]
    return b.loop(Distance(end, "slider", (0.1, 0.2, 0.1), (0, 0, 0), length=5.0), independent=moving).build()


def closed(robot: fb.System, place: Any) -> np.ndarray:
    """The crank at zero and the rod's joint at `place`, with the slider where the loop has it."""
    q = np.array(robot.neutral())
    q[0], q[1 : 1 + len(place)], q[1 + len(place) : -1], q[-1] = 0.0, place, 0.2, 0.3
    return robot.assemble(q, keep=["crank", "rod", "tail0"])


@EACH
@pytest.mark.parametrize("tail", [1, 9], ids=["narrow", "wide"])
def test_methods_that_invert_the_mass_matrix_refuse(joint, place, tail):
    robot = made(joint, tail)
    q, one = closed(robot, place), np.ones(robot.nv)
    calls = {
        "forward_dynamics": (q, one, one),
        "inverse_mass_matrix": (q,),
        "solve_mass_matrix": (q, one),
        "check": (q,),
    }
    for name, given in calls.items():
        for _ in range(2):  # the second call is machine code
            with pytest.raises(fb.SingularError, match=r"joint 'rod' .*Spherical"):
                getattr(robot, name)(*given)
    assert np.linalg.cond(robot.mass_matrix(q)) > 1e12
    assert np.isfinite(robot.inverse_dynamics(q, one, one)).all()


@EACH
@pytest.mark.parametrize("tail", [1, 9], ids=["narrow", "wide"])
def test_in_a_batch_only_these_samples_are_nan(joint, place, tail):
    """Beside them the accelerations are those of the robot with a quaternion."""
    robot, other = made(joint, tail), made(Spherical(), tail)
    beside = np.array(place) + 0.01
    q = np.stack([closed(robot, place), closed(robot, beside), closed(robot, place)])
    rest = np.zeros(robot.nv)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="joint 'rod'"):
            a = robot.forward_dynamics(q, rest, rest)
        assert np.isnan(a[[0, 2]]).all()
    R = robot.pose(q[1], frame="rod")[:3, :3]  # in the crank too, which is at zero
    quaternion = Rotation.from_matrix(R).as_quat(scalar_first=True)
    same = np.concatenate([q[1, :1], quaternion, q[1, 4:]])
    expected = other.forward_dynamics(other.check(same), rest, rest)
    np.testing.assert_allclose(np.delete(a[1], [1, 2, 3]), np.delete(expected, [1, 2, 3]), rtol=1e-7, atol=1e-7)
    with pytest.raises(fb.SingularError, match=r"index \[0\] of the batch \(2 of 3"):
        robot.check(q)
    robot.check(q[1])


@EACH
def test_armature_gives_dependent_rates_an_inertia(joint, place):
    robot = made(joint, 1, 0.1)
    q, one = closed(robot, place), np.ones(robot.nv)
    a = robot.forward_dynamics(robot.check(q), one, one)
    np.testing.assert_allclose(robot.inverse_dynamics(q, one, a), 1.0, atol=1e-10)


@EACH
def test_hybrid_dynamics_refuses_where_the_rates_that_are_free_are_dependent(joint, place):
    robot = made(joint)
    q, one = closed(robot, place), np.ones(robot.nv)
    for prescribed, regular in ((["crank"], False), (["tail0"], False), (["rod"], True), (["crank", "rod"], True)):
        if regular:
            a, tau = robot.hybrid_dynamics(q, one, one, one, prescribed=prescribed)
            np.testing.assert_allclose(robot.inverse_dynamics(q, one, a), tau, atol=1e-10)
        else:
            for _ in range(2):
                with pytest.raises(fb.SingularError, match="joint 'rod'"):
                    robot.hybrid_dynamics(q, one, one, one, prescribed=prescribed)
            with pytest.warns(RuntimeWarning, match="joint 'rod'"):
                a, _ = robot.hybrid_dynamics(np.stack([q, q]), one, one, one, prescribed=prescribed)
            assert np.isnan(a).all()


def geared(which: int, links: int = 0, armature: float = 0.0) -> fb.System:
    """A ball on Euler angles, a motor that follows one of them, and hinges that follow the motor."""
    b = fb.Builder("geared")
    b.body("ball", joint=SphericalEuler("xyz"), mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 1.1, 1.2))
    b.body("motor", joint=Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.loop(Constraint(lambda angles, motor: motor - 2.0 * angles[which], ["ball", "motor"]), independent=["ball"])
    above = "ball"
    for k in range(links):
        b.body(f"link{k}", parent=above, joint=Revolute("xyz"[k % 3]), mass=1.0, com=(0, 0.1, 0.3),
               inertia=(0.1, 0.1, 0.1), armature=armature)  # fmt: skip
        above = f"link{k}"
    if links:  # one cluster, with many velocities
        b.body("end", joint=Prismatic("x"), mass=1.0, inertia=(0.1, 0.1, 0.1))
        moving = ["ball", *(f"link{k}" for k in range(links))]
        b.loop(Distance(above, "end", (0.1, 0.2, 0.1), (0, 0, 0), length=9.0), independent=moving)
    return b.build()


@pytest.mark.parametrize("links", [0, 11], ids=["narrow", "wide"])
@pytest.mark.parametrize("which", range(3))
def test_loops_that_use_the_coordinates_may_keep_rates_independent(which, links):
    """At gimbal lock the outer angles turn the ball equally: a motor that follows one of them tells them apart."""
    robot = geared(which, links)
    start = np.array(robot.neutral())
    first = robot.mechanism.joints[0].name
    assert first == "ball"
    start[:3] = (0.3, np.pi / 2, 0.2)
    q = robot.assemble(start, keep=["ball", *(f"link{k}" for k in range(links))])
    one = np.ones(robot.nv)
    scale = 1.0 / np.sqrt(np.diag(robot.mass_matrix(q)))
    regular = np.linalg.cond(robot.mass_matrix(q) * np.outer(scale, scale)) < 1e9
    assert regular == (which != 1)
    if regular:
        a = robot.forward_dynamics(robot.check(q), one, one)
        np.testing.assert_allclose(robot.inverse_dynamics(q, one, a), 1.0, atol=1e-8)
        return
    calls = {"forward_dynamics": (q, one, one), "inverse_mass_matrix": (q,), "check": (q,)}
    for name, given in calls.items():
        for _ in range(2):
            with pytest.raises(fb.SingularError, match="joint 'ball'"):
                getattr(robot, name)(*given)
    with pytest.warns(RuntimeWarning, match="joint 'ball'"):
        a = robot.forward_dynamics(np.stack([q, q]), one, one)
    assert np.isnan(a).all()
    with pytest.raises(fb.SingularError, match=r"index \[0\] of the batch"):
        robot.check(np.stack([q, q]))


def test_constrained_robots_refuse_by_the_name_of_the_joint():
    b = fb.Builder("top")
    b.body("ball", joint=SphericalEuler("xyz"), mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 1.1, 1.2))
    b.body("arm", parent="ball", joint=Revolute("y"), mass=1.0, com=(0, 0, 1.0), inertia=(1.0, 1.0, 1.0))
    held = b.frame("tip", "arm", position=(0.3, 0.1, 1.0)).build().constrained(fb.constraints.Contact("tip", "touch"))
    q, one = np.array([0.3, np.pi / 2, 0.2, 0.1]), np.ones(4)
    for ask in (
        lambda: held.forward_dynamics(q, one, one),
        lambda: held.osim_inverse(q),
        lambda: held.impulse(q, one),
        lambda: held.hybrid_dynamics(q, one, one, one, prescribed=["arm"]),
        lambda: held.forward_dynamics.jacobian(q, one, one),
    ):
        with pytest.raises(fb.SingularError, match="joint 'ball'"):
            ask()
    a, tau, _ = held.hybrid_dynamics(q, one, one, one, prescribed=["ball"])
    assert np.isfinite(a).all() and np.isfinite(tau).all()
    with pytest.warns(RuntimeWarning) as said:
        a, _ = held.forward_dynamics(np.stack([q, q + 0.1]), one, one)
    assert np.isnan(a).all(axis=-1).tolist() == [True, False]
    assert all("joint 'ball'" in str(warning.message) for warning in said)


@pytest.mark.parametrize("which", range(3))
def test_clusters_that_are_freed_together(which):
    """A ball and a motor that follows one of its angles, on two geared links: wherever they are among all links."""
    b = fb.Builder("nested")
    for name, aside in (("left", 0.0), ("right", 0.5)):
        b.body(name, joint=Revolute("y"), position=(0, aside, 0), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.loop(Gear("left", "right", -1.0), independent=["left"])
    b.body("motor", parent="right", joint=Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("ball", parent="left", joint=SphericalEuler("xyz"), position=(0.3, 0, 0), mass=1.0, com=(0.2, 0.1, 0.05),
           inertia=(1.0, 1.1, 1.2))  # fmt: skip
    loop = Constraint(lambda angles, motor: motor - 2.0 * angles[which], ["ball", "motor"])
    robot = b.loop(loop, independent=["ball"]).build()
    assert [len(cluster.carriers) for cluster in robot.model.cluster_tree.clusters] == [1, 2]
    first = robot.names.coordinates.index("ball.angle1")
    q, one = np.array(robot.neutral()), np.ones(robot.nv)
    q[first : first + 3] = 0.3, np.pi / 2, 0.2
    q = robot.assemble(q, keep=["left", "ball"])
    if which == 1:
        for name, given in {"forward_dynamics": (q, one, one), "inverse_mass_matrix": (q,), "check": (q,)}.items():
            with pytest.raises(fb.SingularError, match="joint 'ball'"):
                getattr(robot, name)(*given)
    else:
        a = robot.forward_dynamics(robot.check(q), one, one)
        np.testing.assert_allclose(robot.inverse_dynamics(q, one, a), 1.0, atol=1e-9)
