"""Places where the rates of a joint are dependent (gimbal lock): methods that invert M refuse them, others do not."""

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Composite, Free, Joint, Prismatic, Revolute, SphericalEuler, SphericalExponential

FLOATING = Composite(*map(Prismatic, "xyz"), *map(Revolute, "zyx"))
PLACES = [
    (SphericalEuler("xyz"), (0.3, np.pi / 2, 0.2)),
    (SphericalEuler("zyx"), (0.3, -np.pi / 2, 0.2)),
    (SphericalEuler("zxz"), (0.3, 0.0, 0.2)),
    (SphericalExponential(), (2.0 * np.pi, 0.0, 0.0)),
    (SphericalExponential(), (0.96 * np.pi, 1.2 * np.pi, 1.28 * np.pi)),
    (Composite(*map(Revolute, "xyz")), (0.1, np.pi / 2, 0.3)),
    (FLOATING, (1.0, 2.0, 3.0, 0.3, np.pi / 2, 0.2)),
]
IDS = [f"{type(joint).__name__}{k}" for k, (joint, _) in enumerate(PLACES)]


def made(joint: Joint, size: float = 1.0, armature=0.0, base: bool = False) -> fb.System:
    b = fb.Builder("top")
    if base:
        b.body("base", joint=Free(), mass=3.0, inertia=(1.0, 1.2, 1.4))
    mass, inertia = size**3, size**5
    b.body("ball", parent="base" if base else "world", joint=joint, mass=mass, com=(0.1 * size, 0.2 * size, 0.3 * size),
           inertia=(inertia, 1.1 * inertia, 1.2 * inertia), armature=armature)  # fmt: skip
    b.body("arm", parent="ball", joint=Revolute("y"), mass=mass, com=(0.0, 0.0, size), inertia=(inertia,) * 3)
    return b.build()


def state(robot: fb.System, place) -> np.ndarray:
    q = np.array(robot.neutral())
    first = robot.nq - 1 - len(place)
    q[first:-1] = place
    return q


@pytest.mark.parametrize("base", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize(("joint", "place"), PLACES, ids=IDS)
def test_methods_that_invert_the_mass_matrix_refuse(joint, place, base):
    robot = made(joint, base=base)
    q, one = state(robot, place), np.ones(robot.nv)
    calls = {
        "forward_dynamics": (q, one, one), "passive_dynamics": (q, one, one), "inverse_mass_matrix": (q,),
        "solve_mass_matrix": (q, one), "check": (q,),
    }  # fmt: skip
    for name, given in calls.items():
        for _ in range(2):  # the second call is machine code
            with pytest.raises(fb.SingularError, match=r"joint 'ball' .*Spherical"):
                getattr(robot, name)(*given)
    with pytest.raises(fb.SingularError, match="'ball'"):
        robot.forward_dynamics.jacobian(q, one, one)
    M = robot.mass_matrix(q)
    assert np.isfinite(M).all() and np.isfinite(robot.inverse_dynamics(q, one, one)).all()


@pytest.mark.parametrize(("joint", "place"), PLACES, ids=IDS)
def test_in_a_batch_these_samples_are_nan(joint, place):
    robot = made(joint)
    q, one = np.stack([state(robot, place)] * 3), np.ones(robot.nv)
    q[1, -4:-1] += 0.01
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="joint 'ball'"):
            a = robot.forward_dynamics(q, one, one)
        assert np.isnan(a[[0, 2]]).all()
        np.testing.assert_allclose(robot.inverse_dynamics(q[1], one, a[1]), 1.0, atol=1e-7)
    with pytest.raises(fb.SingularError, match=r"index \[0\] of the batch \(2 of 3"):
        robot.check(q)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("joint", "place"), PLACES[:6], ids=IDS[:6])
def test_the_decision_does_not_depend_on_size(joint, place, size):
    robot = made(joint, size)
    q, one = state(robot, place), np.ones(robot.nv)
    tau = size**5 * one
    for away, refused in ((1e-8, True), (1e-4, False)):
        near = q.copy()
        near[:3] += away * (q[:3] / np.linalg.norm(q[:3]) if isinstance(joint, SphericalExponential) else np.eye(3)[1])
        if refused:
            with pytest.raises(fb.SingularError):
                robot.forward_dynamics(near, one, tau)
            with pytest.raises(fb.SingularError):
                robot.check(near)
        else:
            robot.check(near)
            a = robot.forward_dynamics(near, 0.0 * one, tau)
            exact = np.linalg.solve(robot.mass_matrix(near), tau - robot.inverse_dynamics(near, 0.0 * one, 0.0 * one))
            np.testing.assert_allclose(a, exact, rtol=1e-5, atol=1e-6 * np.abs(exact).max())


def test_armature_gives_dependent_rates_an_inertia():
    """M is regular exactly where the rates without armature are independent."""
    place = PLACES[0][1]
    for armature in ([0.1, 0.1, 0.1], [0.1, 0.0, 0.0], [0.0, 0.0, 0.1], [0.0, 0.1, 0.0]):
        robot = made(SphericalEuler("xyz"), armature=armature)
        q, one = state(robot, place), np.ones(robot.nv)
        regular = np.linalg.cond(robot.mass_matrix(q)) < 1e9
        assert regular == (armature[0] + armature[2] > 0.0)
        if regular:
            a = robot.forward_dynamics(robot.check(q), one, one)
            np.testing.assert_allclose(robot.inverse_dynamics(q, one, a), 1.0, atol=1e-11)
        else:
            with pytest.raises(fb.SingularError):
                robot.forward_dynamics(q, one, one)


@pytest.mark.parametrize(("sequence", "middle"), [("xyz", np.pi / 2), ("zyx", -np.pi / 2), ("zxz", 0.0)])
def test_conversions_and_dynamics_call_the_same_angles_locked(sequence, middle):
    b = fb.Builder("top")
    robot = b.body("ball", joint=SphericalEuler(sequence), mass=1.0, inertia=(1.0, 1.1, 1.2)).build()
    angles = np.array([[0.3, middle + away, 0.2] for away in (0.0, 1e-6, 2.3e-6, 2.6e-6, 1e-5)])
    with pytest.warns(RuntimeWarning, match="gimbal lock"):
        a = robot.forward_dynamics(angles, np.zeros((5, 3)), np.ones((5, 3)))
    assert np.isnan(a).any(axis=-1).tolist() == fb.convert.is_gimbal_locked(angles, sequence).tolist()
    assert np.isnan(a).any(axis=-1).tolist() == [True, True, True, False, False]
