"""Places where the columns of S of any joint, or of joints in series on massless bodies, are dependent or vanish."""

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Composite, CustomJoint, Joint, Prismatic, Revolute, Universal
from fourbar.joints.base import suspect_columns
from fourbar.joints.examples import REGISTRY
from fourbar.spatial import Transform, Vec

_STILL = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
_OUT = Transform((), Vec((0.7, 0.0, 0.0)))


def polar(q: Any) -> Any:
    """A slide at a distance and an angle: at distance zero the angle moves nothing."""
    return _STILL, [q[0] * np.cos(q[1]), q[0] * np.sin(q[1]), 0.0]


def globe(q: Any) -> Any:
    """A point at a longitude and a latitude: at the poles the longitude moves nothing."""
    c = 2.0 * np.cos(q[1])
    return _STILL, [c * np.cos(q[0]), c * np.sin(q[0]), 2.0 * np.sin(q[1])]


def cubic(q: Any) -> Any:
    return _STILL, [q[0] * q[0] * q[0], 0.0, 0.0]


PLACES: dict[str, tuple[Joint, tuple[float, ...], tuple[float, ...]]] = {  # a singular place, and one near it
    "polar": (CustomJoint(polar, nq=2, home=(0.5, 0.5)), (0.0, 0.3), (1e-7, 0.3)),
    "globe": (CustomJoint(globe, nq=2), (0.3, np.pi / 2), (0.3, np.pi / 2 - 1e-6)),
    "cubic": (CustomJoint(cubic, nq=1, home=(1.0,)), (0.0,), (1e-5,)),
    "arm": (Composite(Revolute("z"), _OUT, Revolute("z"), _OUT, Revolute("z")), (0.2, 0.0, 0.4), (0.2, 1e-3, 0.4)),
    "wrist": (Composite(Revolute("z"), Prismatic("x"), Revolute("y"), Revolute("z")), (0.2, 0.0, 0.0, 0.4),
              (0.2, 0.1, 0.3, 0.4)),
}  # fmt: skip
EACH = pytest.mark.parametrize(("joint", "place", "near"), PLACES.values(), ids=PLACES)


def made(joint: Joint, size: float = 1.0) -> fb.System:
    b = fb.Builder("tested")
    b.body("base", joint=Revolute("x"), mass=size**3, com=(0, 0, 0.1 * size), inertia=(size**5,) * 3)
    b.body("hand", parent="base", joint=joint, mass=size**3, inertia=(size**5, 1.1 * size**5, 1.2 * size**5))
    return b.build()


@EACH
def test_places_are_refused_and_only_these(joint: Joint, place: Any, near: Any) -> None:
    robot = made(joint)
    q, beside, one = np.array([0.4, *place]), np.array([0.4, *near]), np.ones(robot.nv)
    for name, given in {"forward_dynamics": (q, one, one), "inverse_mass_matrix": (q,), "check": (q,)}.items():
        for _ in range(2):  # the second call is machine code
            with pytest.raises(fb.SingularError, match="joint 'hand' is at a singularity of its coordinates"):
                getattr(robot, name)(*given)
    assert np.linalg.cond(robot.mass_matrix(q)) > 1e12
    rest = np.zeros(robot.nv)
    a = robot.forward_dynamics(robot.check(beside), rest, one)
    M = robot.mass_matrix(beside)
    scale = 1.0 / np.sqrt(np.diag(M))
    right = (one - robot.inverse_dynamics(beside, rest, rest)) * scale
    expected = scale * np.linalg.solve(M * np.outer(scale, scale), right)
    np.testing.assert_allclose(a, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).min())
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="joint 'hand'"):
            both = robot.forward_dynamics(np.stack([q, beside]), rest, one)
        assert np.isnan(both[0]).all()
        np.testing.assert_allclose(both[1], a, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_the_size_of_a_mechanism_does_not_matter(size: float) -> None:
    """An arm of any size is refused where it is straight, and not a millirad beside."""
    out = Transform((), Vec((0.7 * size, 0.0, 0.0)))
    robot = made(Composite(Revolute("z"), out, Revolute("z"), out, Revolute("z")), size)
    one = np.ones(robot.nv)
    with pytest.raises(fb.SingularError):
        robot.forward_dynamics([0.4, 0.2, 0.0, 0.4], one, one)
    robot.forward_dynamics(robot.check([0.4, 0.2, 1e-3, 0.4]), one, one)


@pytest.mark.quick
def test_joints_without_such_places_pay_nothing() -> None:
    """S of a universal joint changes, and never loses rank; so does that of a hinge that a slide carries outwards."""
    for joint in (Universal("x", "z"), Composite(Revolute("z"), Prismatic("x")), Composite(*map(Prismatic, "xyz")),
                  Composite(Revolute("z"), _OUT, Revolute("z"))):  # fmt: skip
        assert suspect_columns(joint) == ()
    flat = [x for x in REGISTRY if not type(x).__name__.startswith(("Spherical", "Composite", "Custom"))]
    assert flat and all(suspect_columns(x) == () for x in flat)
    assert suspect_columns(Composite(*map(Prismatic, "xyz"), *map(Revolute, "zyx"))) == ((3, 4, 5),)


def gimbal(axes: str, armature: float = 0.0, offset: float = 0.0) -> fb.System:
    """Hinges in series on massless bodies, and a body on the last."""
    b = fb.Builder("gimbal")
    for k, axis in enumerate(axes[:-1]):
        b.body(f"ring{k}", parent=f"ring{k - 1}" if k else "world", joint=Revolute(axis), armature=armature,
               position=(0.0, 0.0, offset))  # fmt: skip
    b.body("rotor", parent=f"ring{len(axes) - 2}", joint=Revolute(axes[-1]), mass=1.0, com=(0.1, 0.2, 0.3),
           inertia=(1.0, 1.1, 1.2))  # fmt: skip
    b.body("arm", parent="rotor", joint=Revolute("x"), mass=0.5, com=(0.0, 0.3, 0.0), inertia=(0.1, 0.1, 0.1))
    return b.build()


@pytest.mark.parametrize(("axes", "middle"), [("xyz", np.pi / 2), ("zxz", 0.0)])
def test_massless_links_on_a_common_axis(axes: str, middle: float) -> None:
    robot = gimbal(axes)
    q, one = np.array([0.3, middle, 0.2, 0.1]), np.ones(4)
    for away in (0.0, 1e-7):
        near = q + away * np.eye(4)[1]
        for ask in (lambda at: robot.forward_dynamics(at, one, one), robot.inverse_mass_matrix, robot.check):
            for _ in range(2):
                with pytest.raises(fb.SingularError, match="joints 'ring0', 'ring1', 'rotor' are at a singularity"):
                    ask(near)
    beside = robot.check(q + 1e-3 * np.eye(4)[1])
    a = robot.forward_dynamics(beside, one, one)
    np.testing.assert_allclose(robot.inverse_dynamics(beside, one, a), 1.0, atol=1e-9)
    with pytest.warns(RuntimeWarning, match="'ring0', 'ring1', 'rotor'"):
        assert np.isnan(robot.forward_dynamics(np.stack([q, beside]), one, one)).all(axis=-1).tolist() == [True, False]
    loaded = gimbal(axes, armature=0.1)
    np.testing.assert_allclose(loaded.inverse_dynamics(q, one, loaded.forward_dynamics(q, one, one)), 1.0, atol=1e-12)


def test_held_links_of_a_massless_chain_leave_the_others_independent() -> None:
    robot = gimbal("xyz")
    q, one = np.array([0.3, np.pi / 2, 0.2, 0.1]), np.ones(4)
    for name, regular in (("ring0", True), ("ring1", False), ("rotor", True), ("arm", False)):
        if regular:
            a, tau = robot.hybrid_dynamics(q, one, one, one, prescribed=[name])
            np.testing.assert_allclose(robot.inverse_dynamics(q, one, a), tau, atol=1e-11)
        else:
            with pytest.raises(fb.SingularError, match="'ring0', 'ring1', 'rotor'"):
                robot.hybrid_dynamics(q, one, one, one, prescribed=[name])


@pytest.mark.parametrize("offset", [0.0, 0.2])
def test_offsets_between_massless_links_matter(offset: float) -> None:
    """Parallel axes that are apart move the body differently."""
    robot = gimbal("xyz", offset=offset)
    q, one = np.array([0.3, np.pi / 2, 0.2, 0.1]), np.ones(4)
    if offset:
        a = robot.forward_dynamics(robot.check(q), one, one)
        np.testing.assert_allclose(robot.inverse_dynamics(q, one, a), 1.0, atol=1e-9)
    else:
        with pytest.raises(fb.SingularError):
            robot.forward_dynamics(q, one, one)


def test_numbers_that_leave_no_inertia_are_refused_by_name() -> None:
    robot = fb.robots.double_pendulum()
    q, v, tau = [0.1, 0.2], [0.0, 0.0], [1.0, 1.0]
    varied = robot.varying("lower.mass", "lower.inertia")
    for _ in range(2):
        with pytest.raises(fb.SingularError, match=r"joint 'elbow' moves nothing .*body 'lower'"):
            varied.forward_dynamics(q, v, tau, 0.0, np.zeros((3, 3)))
    with pytest.warns(RuntimeWarning, match="body 'lower'"):
        a = varied.forward_dynamics(q, v, tau, [0.0, 0.8], np.zeros((3, 3)))
    assert np.isnan(a[0]).all() and np.isfinite(a[1]).all()
    b = fb.Builder("one")
    one = b.body("bob", joint=Revolute("y"), mass=1.0, com=(0, 0, -1)).build().varying("bob.mass")
    for _ in range(2):  # the inverse is infinite
        with pytest.raises(fb.SingularError, match="body 'bob'"):
            one.inverse_mass_matrix([0.1], 0.0)
