"""Joints against independent formulas: matrix exponentials, SciPy's rotations, the papers, and one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from fourbar.expr import Graph, reachable, sin
from fourbar.joints import (
    REGISTRY,
    Composite,
    CustomJoint,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    SphericalEuler,
    SphericalExponential,
    Translation2,
    Translation3,
    Universal,
)
from fourbar.joints.base import subspace_matrix
from fourbar.joints.lie import GroupJoint
from fourbar.joints.one_axis import AxisJoint
from fourbar.joints.rotational import SEQUENCES
from fourbar.spatial.linear import Mat, Vec, hat
from fourbar.spatial.subspace import Selection
from fourbar.spatial.transform import Transform

CONSTANT = [joint for joint in REGISTRY if isinstance(joint, AxisJoint | GroupJoint)]
OBLIQUE = (2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def pose(joint: Joint, q: Any) -> np.ndarray:
    T, matrix = joint.placement(q), np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = T.R, T.p
    return matrix


def any_q(joint: Joint, seed: int = 2) -> list[float]:
    free = np.full(joint.nq, np.inf)
    return joint.random(np.random.default_rng(seed), -free, free).tolist()


def near(a: Any, b: Any, tol: float = 1e-14) -> None:
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=0.0, atol=tol)


def same_joint(a: Joint, b: Joint, q: Any, v: Any, tol: float = 1e-14) -> None:
    """Equal pose, S v and S° v at the same coordinates."""
    near(pose(a, q), pose(b, q), tol)
    near(a.subspace(q).twist(v).six(), b.subspace(q).twist(v).six(), tol)
    near(a.bias(q, v).six(), b.bias(q, v).six(), tol)


@pytest.mark.parametrize("joint", CONSTANT, ids=repr)
def test_constant_velocity_is_a_screw_motion(joint: Joint) -> None:
    """T(q ⊕ v) = T(q) exp([S v]) where S is constant."""
    for seed in range(3):
        q, v = any_q(joint, seed), rng().normal(size=joint.nv).tolist()
        V, twist = joint.subspace(q).twist(v), np.zeros((4, 4))
        twist[:3, :3], twist[:3, 3] = hat(V.angular), V.linear
        near(pose(joint, joint.integrate(q, v)), pose(joint, q) @ expm(twist), 1e-13)
        assert joint.bias(q, v).six() == (0.0,) * 6


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_euler_angles(sequence: str) -> None:
    q = [0.3, -1.1, 2.5]
    joint = SphericalEuler(sequence)
    near(pose(joint, q)[:3, :3], Rotation.from_euler(sequence.upper(), q).as_matrix())
    same_joint(joint, Composite(*(Revolute(axis) for axis in sequence)), q, [1.0, -0.5, 0.7])


def test_euler_subspace_of_liu_jain() -> None:
    """Eq. 52 is in parent axes."""
    q = [0.3, -1.1, 2.5]
    turned = [Rotation.from_euler("XYZ"[:k], q[:k]).as_matrix().reshape(3, 3) if k else np.eye(3) for k in range(4)]
    in_parent = np.stack([turned[0][:, 0], turned[1][:, 1], turned[2][:, 2]], axis=1)
    S = subspace_matrix(SphericalEuler("xyz"), q)
    near(S[:3], turned[3].T @ in_parent)
    near(S[3:], 0.0)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 1e-3, 0.5, 0.9999, 1.0001, 2.0, 3.0, np.pi, 4.5, 6.0])
def test_exponential_of_liu_jain(angle: float) -> None:
    """R is eq. 53 and R S is eq. 54, also where these formulas would divide by zero."""
    joint, q = SphericalExponential(), [angle * x for x in OBLIQUE]
    R = pose(joint, q)[:3, :3]
    near(R, Rotation.from_rotvec(q).as_matrix())
    unit = np.array(hat(OBLIQUE), float)
    one_minus_cos, t_minus_sin = 2.0 * np.sin(angle / 2) ** 2, angle - np.sin(angle)
    # Eq. 54 with [φ] = angle [axis]; for small angles t - sin t is t³/6.
    first = one_minus_cos / angle if angle else 0.0
    second = t_minus_sin / angle if angle > 0.1 else angle**2 / 6.0 - angle**4 / 120.0
    near(R @ subspace_matrix(joint, q)[:3], np.eye(3) + first * unit + second * unit @ unit, 1e-9)
    assert np.all(np.isfinite(joint.bias(q, [1.0, 2.0, 3.0]).six()))


def test_universal_closed_form() -> None:
    a, b, da, db = 0.4, -1.3, 0.7, 1.9
    joint = Universal("x", "y")
    c, s = np.cos(b), np.sin(b)
    near(subspace_matrix(joint, [a, b])[:3], [[c, 0.0], [0.0, 1.0], [s, 0.0]])
    near(joint.bias([a, b], [da, db]).six(), [-s * da * db, 0.0, c * da * db, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("joint", [Spherical(), Free()])
def test_quaternions_of_any_length(joint: Joint) -> None:
    """The length of the quaternion does not matter, and what is computed has unit length."""
    q0, q1, v = any_q(joint, 1), any_q(joint, 2), rng().normal(size=joint.nv).tolist()
    near(pose(joint, q0)[:3, :3], Rotation.from_quat(np.roll(q0[-4:], -1)).as_matrix())
    long0, long1 = [*q0[:-4], *(3.0 * x for x in q0[-4:])], [*q1[:-4], *(-0.2 * x for x in q1[-4:])]
    near(pose(joint, long0), pose(joint, q0))
    near(joint.integrate(long0, v), joint.integrate(q0, v))
    near(joint.difference(long0, long1), joint.difference(q0, q1))


def test_random_rotations_are_uniform() -> None:
    free = np.full(4, np.inf)
    R = np.array([pose(Spherical(), q)[:3, :3] for q in Spherical().random(rng(), -free, free, (2000,))])
    assert np.abs(R.mean(axis=0)).max() < 0.06
    near((R**2).mean(axis=0), 1 / 3, 0.03)


def test_axes_of_planar_joints() -> None:
    """x and y follow the axis cyclically: for a plane normal to y they are z and x."""
    near(pose(Planar("z"), [1.0, 2.0, 0.0])[:3, 3], [1.0, 2.0, 0.0])
    near(pose(Planar("x"), [1.0, 2.0, 0.0])[:3, 3], [0.0, 1.0, 2.0])
    near(pose(Translation2("y"), [1.0, 2.0])[:3, 3], [2.0, 0.0, 1.0])
    near(pose(Schoenflies("x"), [1.0, 2.0, 3.0, 0.0])[:3, 3], [3.0, 1.0, 2.0])
    for joint in (Planar(OBLIQUE), Translation2(OBLIQUE)):
        assert abs(pose(joint, any_q(joint))[:3, 3] @ OBLIQUE) < 1e-15
    near(pose(Revolute(OBLIQUE), [0.7])[:3, :3], Rotation.from_rotvec(0.7 * np.array(OBLIQUE)).as_matrix())


def test_quarter_circle_in_the_plane() -> None:
    """Forward at unit speed while turning left by a quarter: a circle of radius 2/π."""
    radius = 2.0 / np.pi
    near(Planar().integrate([1.0, 1.0, np.pi / 2], [np.pi / 2, 1.0, 0.0]), [1.0 - radius, 1.0 + radius, np.pi])


def test_series_equal_to_a_simple_joint() -> None:
    v = [0.7, -1.2, 0.4]
    same_joint(Composite(Revolute(OBLIQUE), Prismatic(OBLIQUE)), Cylindrical(OBLIQUE), [0.3, 0.9], v[:2])
    same_joint(Composite(Prismatic("x"), Prismatic("y")), Translation2(), [0.3, 0.9], v[:2])
    same_joint(Composite(Fixed(), Helical("y", 0.1), Fixed()), Helical("y", 0.1), [0.3], v[:1])
    near(pose(Composite(Translation3(), Spherical()), [1, 2, 3, 0.5, 0.5, -0.5, 0.5]),
         pose(Free(), [1, 2, 3, 0.5, 0.5, -0.5, 0.5]))  # fmt: skip
    nested = Composite(Composite(Revolute("x"), Prismatic("y")), Revolute("z"))
    same_joint(nested, Composite(Revolute("x"), Composite(Prismatic("y"), Revolute("z"))), v, v)


def test_series_sees_constant_selections() -> None:
    assert Composite(Prismatic("x"), Prismatic("y")).subspace([0.0, 0.0]) == Selection((3, 4))
    assert Composite(Revolute(OBLIQUE), Prismatic(OBLIQUE)).aligned()[1].subspace([0.0, 0.0]) == Selection((2, 5))
    assert not isinstance(SphericalEuler("xyx").subspace([0.0, 0.0, 0.0]), Selection)


def operations(joint: Joint) -> int:
    """How many operations the aligned joint's placement applied to a vector takes."""
    graph = Graph()
    q, a = graph.inputs("q", joint.nq), graph.inputs("a", 3)
    moved = joint.aligned()[1].placement(q).point(Vec(a))
    return sum(node.op != "input" for node in reachable(moved))


def test_alignment_costs_nothing() -> None:
    """An oblique axis is free, and what lies between two joints of a series is one matrix."""
    assert operations(Revolute(OBLIQUE)) == operations(Revolute("z"))
    assert operations(Composite(Revolute(OBLIQUE), Prismatic(OBLIQUE))) == operations(Cylindrical("z"))
    assert operations(Composite(Revolute(OBLIQUE), Revolute("x"))) <= operations(Revolute("z")) * 2 + 2 * 15


# --- custom joints ----------------------------------------------------------------------------------------------------


def elbow(q: Any) -> Any:
    """A universal joint about x and y, by SciPy-like object arithmetic."""
    c, s = np.cos(q), np.sin(q)
    about_x = np.array([[1, 0, 0], [0, c[0], -s[0]], [0, s[0], c[0]]])
    about_y = np.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
    return about_x @ about_y, np.zeros(3)


def screw(q: Any) -> Any:
    """A helical joint, by fourbar's own types."""
    return Helical(OBLIQUE, pitch=0.2).placement(q)


def slide(q: Any) -> Any:
    """A prismatic joint along x as a 4 x 4 matrix."""
    T = np.eye(4, dtype=object)
    T[0, 3] = q[0]
    return T


def lifted(q: Any) -> Any:
    """A function with a domain: q > 0."""
    return Mat.identity(3), (0, 0, np.sqrt(q[0]) + sin(q[0]))


@pytest.mark.parametrize(
    "function, joint",
    [(elbow, Universal("x", "y")), (screw, Helical(OBLIQUE, pitch=0.2)), (slide, Prismatic("x"))],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_custom_equals_built_in(function: Any, joint: Joint) -> None:
    custom = CustomJoint(function, joint.nq)
    for seed in range(3):
        v = np.random.default_rng(seed).normal(size=joint.nv).tolist()
        same_joint(custom, joint, any_q(joint, seed), v)


def test_custom_away_from_zero() -> None:
    joint = CustomJoint(lifted, 1, home=(2.0,))
    assert joint.neutral() == (2.0,)
    assert 1.5 <= joint.random(rng(), np.array([-np.inf]), np.array([np.inf]))[0] <= 2.5
    near(joint.subspace([4.0]).twist([1.0]).linear, [0.0, 0.0, 0.25 + np.cos(4.0)])
    near(joint.bias([4.0], [2.0]).linear, [0.0, 0.0, (-1.0 / 32.0 - np.sin(4.0)) * 4.0])


def test_custom_identity() -> None:
    """Equal by function and coordinates; the name is for messages only."""
    assert CustomJoint(elbow, 2, name="a") == CustomJoint(elbow, 2)
    assert hash(CustomJoint(elbow, 2, name="a")) == hash(CustomJoint(elbow, 2))
    assert CustomJoint(screw, 1) != CustomJoint(slide, 1)
    assert repr(CustomJoint(elbow, 2, name="a")) == "CustomJoint(elbow, nq=2, name='a')"


def test_placements_inside_a_series() -> None:
    """T₁ P T₂ P by matrices."""
    P = Transform.of(Mat.of([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), (1, 2, 3))
    joint = Composite(Revolute("x"), P, Planar("z"), P)
    q = [0.3, 0.1, -0.2, 0.9]
    fixed = np.array([[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
    near(pose(joint, q), pose(Revolute("x"), q[:1]) @ fixed @ pose(Planar("z"), q[1:]) @ fixed)
