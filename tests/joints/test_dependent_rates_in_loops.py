"""Joints whose rates are dependent (gimbal lock) inside loops: methods that invert M refuse them, others do not."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fourbar as fb
from fourbar.joints import CustomJoint, Joint, Prismatic, Revolute, Spherical, SphericalEuler, SphericalExponential
from fourbar.loops import Distance


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
