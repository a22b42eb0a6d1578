"""A mirrored robot has the mirrored motion."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import REGISTRY, Joint, Planar, Revolute, Translation3
from fourbar.joints.mirror import Mirror
from fourbar.mechanism.geometry import Geometry
from fourbar.mechanism.placement import Placement

from .support import close, robot, state

PLANES = ("x", "y", "z", (2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0))
LOOPS = ("four_bar", "geared", "differential", "spatial_crank", "written", "own_coordinate", "guided")
SLOW = ("explicit", "chained", "nested", "moored")
NAMES = [*LOOPS, "0", "5", *(pytest.param(n, marks=pytest.mark.slow) for n in (*SLOW, "1", "3", "6", "8"))]


@pytest.mark.parametrize("plane", PLANES, ids=str)
@pytest.mark.parametrize("joint", REGISTRY, ids=repr)
def test_joints(joint: Joint, plane: object) -> None:
    """T' = Q T Q and twists of the image are the reflected ones, at the mapped coordinates."""
    m = Mirror(plane)
    image = m.joint(joint)
    rng = np.random.default_rng(1)
    q, v = joint.random(rng, np.full(joint.nq, -np.inf), np.full(joint.nq, np.inf)), rng.normal(size=joint.nv)
    q1, v1 = (np.array(rows).reshape(len(x), len(x)) @ x for rows, x in ((image.q, q), (image.v, v)))
    expected, found = m.transform(joint.placement(q.tolist())), image.joint.placement(q1.tolist())
    close(np.array(found.R, float), np.array(expected.R, float), 1e-14)
    close(np.array(found.p, float), np.array(expected.p, float), 1e-14)
    if joint.nv:
        twist, other = (
            joint.subspace(q.tolist()).twist(v.tolist()),
            image.joint.subspace(q1.tolist()).twist(v1.tolist()),
        )
        close(np.array(other.angular, float), np.array(m.axial(twist.angular), float), 1e-14)
        close(np.array(other.linear, float), np.array(m.vector(twist.linear), float), 1e-14)


@pytest.mark.default_cases("geared")
@pytest.mark.slow_cases("5", "guided")
@pytest.mark.parametrize("name", NAMES)
def test_motion_is_mirrored(name: str) -> None:
    r, plane = robot(name), "y"
    image, m = r.mirrored(plane), Mirror(plane)
    q, v, _, tau = state(name)
    q1, v1 = r.mirrored_state(q, v, plane)
    assert np.all(image.loop_gap(q1) < 1e-10)
    _, tau1 = r.mirrored_state(q, r.inverse_mass_matrix(q) @ tau[..., None] @ [1.0], plane)
    a = r.forward_dynamics(q, v, tau)
    tau1 = (image.mass_matrix(q1) @ tau1[..., None])[..., 0]  # forces as M times the image of M⁻¹ tau
    a1 = image.forward_dynamics(q1, v1, tau1)
    T, T1 = r.poses(q), image.poses(q1)
    Q = np.eye(4)
    Q[:3, :3] = m.Q
    close(T1, Q @ T @ Q, 1e-10)
    close(image.kinetic_energy(q1, v1), r.kinetic_energy(q, v))
    close(image.potential_energy(q1), r.potential_energy(q))
    for body in (r.names.bodies[-1], r.names.bodies[len(r.names.bodies) // 2]):
        A, A1 = r.acceleration(q, v, a, body), image.acceleration(q1, v1, a1, body)
        close(A1, np.concatenate([-A[:, :3] @ m.Q, A[:, 3:] @ m.Q], axis=-1), 1e-8)


@pytest.mark.parametrize("name", ["four_bar", "geared", "0"])
def test_a_slanted_plane(name: str) -> None:
    r, plane = robot(name), PLANES[-1]
    q, v, a, _ = state(name)
    image = r.mirrored(plane)
    q1, v1 = r.mirrored_state(q, v, plane)
    close(image.kinetic_energy(q1, v1), r.kinetic_energy(q, v))
    close(image.potential_energy(q1), r.potential_energy(q))
    a1 = r.mirrored_state(q, a, plane)[1]
    power = np.einsum("ni,ni->n", image.mass_matrix(q1) @ a1[..., None] @ [1.0], v1)
    close(power, np.einsum("ni,ni->n", r.mass_matrix(q) @ a[..., None] @ [1.0], v))


@pytest.mark.parametrize("name", ["four_bar", "geared", "chained", "0"])
def test_twice_is_the_robot(name: str) -> None:
    r = robot(name)
    assert r.mirrored("x").mirrored("x") == r


def test_names() -> None:
    b = fb.Builder("legs")
    b.body("left_thigh", joint=Revolute("x"), joint_name="left_hip", position=(0, 0.1, 0), mass=1, com=(0, 0.2, -0.1))
    b.frame("left_toe", "left_thigh", position=(0, 0, -1))
    left = b.build()
    right = left.mirrored("y", names=lambda name: name.replace("left", "right"))
    assert right.names.bodies == ("right_thigh",) and right.names.joints == ("right_hip",)
    assert right.names.frames == ("right_toe",)
    (c,), (body,) = right.mechanism.joints, right.mechanism.bodies
    assert c.joint == Revolute("-x") and c.placement.position == (0, -0.1, 0) and body.com == (0, -0.2, -0.1)
    both = left.merge(right)
    close(both.mass_matrix([0.3, 0.3]), left.mass_matrix([0.3]) * np.eye(2))
    assert left.mirrored("y", names={"left_hip": "h"}).names.joints == ("h",)
    with pytest.raises(fb.UnknownNameError, match="no name 'hip'"):
        left.mirrored("y", names={"hip": "h"})


def test_limits_and_armature_follow() -> None:
    b = fb.Builder("slide")
    b.body("a", joint=Translation3(), mass=1, limits=([-1, -2, -3], [4, 5, 6]), armature=(1, 2, 3))
    (c,) = b.build().mirrored("y").mechanism.joints
    assert c.lower == (-1, -5, -3) and c.upper == (4, 2, 6) and c.armature == (1, 2, 3)
    b = fb.Builder("table")
    b.body("a", joint=Planar("z"), mass=1, inertia=(1, 1, 1), limits=([-1, -2, -3], [4, 5, 6]))
    with pytest.raises(fb.ModelError, match="joint 'a': the limits of a Planar joint cannot be mirrored"):
        b.build().mirrored((0.6, 0.8, 0.0))


def test_shapes_follow() -> None:
    """Corners of a box, and a point of a mesh, are at the reflected places."""
    R = Revolute((2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)).placement([0.7]).R
    place = Placement(tuple(tuple(row) for row in R), (0.1, 0.2, 0.3))
    shapes = [Geometry("box", (1.0, 2.0, 3.0), place), Geometry("mesh", (), place, mesh="a.stl", scale=(1.0, 2.0, 3.0))]
    b = fb.Builder("box").body("a", joint=Revolute("z"), mass=1, inertia=(1, 1, 1), geometry=shapes)
    for plane in PLANES:
        image, Q = b.build().mirrored(plane), np.array(Mirror(plane).Q)
        box, mesh = image.mechanism.bodies[0].geometry
        corners = np.array(list(product((-0.5, 0.5), repeat=3))) * box.size
        there = corners @ np.array(R).T + place.position
        here = corners @ np.array(box.placement.rotation).T + box.placement.position
        close(np.array(sorted(np.round(here, 9).tolist())), np.array(sorted(np.round(there @ Q, 9).tolist())), 1e-8)
        m = np.array([0.3, 0.5, -0.2])
        point = np.array(mesh.placement.rotation) @ (m * mesh.scale) + mesh.placement.position
        close(point, Q @ (np.array(R) @ (m * [1, 2, 3]) + place.position), 1e-14)
        assert np.linalg.det(np.array(mesh.placement.rotation)) > 0.99


def test_errors() -> None:
    with pytest.raises(fb.ModelError, match="unknown axis 'w'"):
        robot("four_bar").mirrored("w")

    class Odd(Revolute):
        pass

    assert Mirror("x").joint(Odd("x")).joint == Revolute("x")

    class Strange(Joint):
        pass

    Strange.__abstractmethods__ = frozenset()
    with pytest.raises(fb.ModelError, match="joint of type Strange cannot be mirrored"):
        Mirror("x").joint(Strange())
