"""Boxes and capsules against each other: distances by hulls of differences, closed forms at rest, what is conserved."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial import ConvexHull, HalfspaceIntersection
from scipy.spatial.transform import Rotation

import fourbar as fb
from fourbar.contact import Shape, Solid
from fourbar.contact.boxes import BoxAndBox
from fourbar.contact.candidates import APART
from fourbar.contact.capsules import ALONG, CapsuleAndSolid
from fourbar.shapes import Box, Capsule
from fourbar.shapes.registry import TYPES
from fourbar.spatial.linear import Vec
from fourbar.spatial.transform import IDENTITY, Transform

from .bodies import G, free_body

pytestmark = pytest.mark.usefixtures("no_warnings")

SIGNS = np.array(list(product((1.0, -1.0), repeat=3)))


def pose(R: np.ndarray, p: np.ndarray) -> Transform:
    return Transform.of(R.tolist(), Vec(p.tolist()))


def signed_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Of two hulls of points: that of the origin from the hull of all differences."""
    apart = (a[:, None] - b[None]).reshape(-1, 3)
    inside = ConvexHull(apart).equations[:, 3].max()
    if inside <= 0.0:
        return float(inside)
    w, _ = nnls(np.vstack([apart.T, 1e3 * np.ones(len(apart))]), np.array([0.0, 0.0, 0.0, 1e3]))
    return float(np.linalg.norm(apart.T @ w / w.sum()))


def random_boxes(seed: int) -> Iterator[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(seed)
    turns = Rotation.random(400, random_state=seed).as_matrix()
    for R, S in zip(turns[::2], turns[1::2], strict=True):
        yield *rng.uniform(0.05, 0.5, (2, 3)), R, S, rng.normal(scale=0.4, size=3)


def test_two_boxes_are_as_far_apart_as_the_hull_of_their_differences_says() -> None:
    """In any pose, apart or within each other; and moved by the gap along the normal they touch."""
    crossed = passing = within = 0
    for h, k, R, S, p in random_boxes(0):
        found = BoxAndBox(IDENTITY, tuple(h), IDENTITY, tuple(k)).touches(pose(R, 0.0 * p), pose(S, p))
        nearest = min(found, key=lambda x: float(x.gap))
        exact = signed_distance(SIGNS * h @ R.T, SIGNS * k @ S.T + p)
        assert abs(nearest.gap - exact) < 1.3e-3 * abs(exact) + 1e-9  # crossing edges within 3 degrees of faces
        n = np.array([float(x) for x in nearest.normal])
        left = signed_distance(SIGNS * h @ R.T - nearest.gap * n, SIGNS * k @ S.T + p)
        assert abs(np.linalg.norm(n) - 1.0) < 1e-12 and abs(left) < 2e-3 * abs(exact) + 1e-9
        last = nearest is found[-1]
        crossed, passing, within = (
            crossed + (last and exact < 0.0),
            passing + (last and exact > 0.0),
            within + (exact < 0),
        )
    assert min(crossed, passing) > 20 and 60 < within < 180  # all kinds were seen


def test_faces_touch_at_the_corners_of_where_they_overlap() -> None:
    """The hull of the points is the intersection of the two faces."""
    rng = np.random.default_rng(1)
    counts = set()
    for angle in (*rng.uniform(0.0, np.pi, 40), 0.0, np.pi / 4, np.pi / 2, 1e-12):
        h, k = rng.uniform(0.2, 0.4, (2, 3))
        if angle == np.pi / 4:
            h, k = np.array([0.3, 0.3, 0.2]), np.array([0.3, 0.3, 0.1])
        shift = rng.normal(scale=0.1, size=2) * (angle != np.pi / 4)
        R = Rotation.from_euler("z", angle).as_matrix()
        box = BoxAndBox(IDENTITY, tuple(h), IDENTITY, tuple(k))
        found = [x for x in box.touches(IDENTITY, pose(R, np.array([*shift, h[2] + k[2]]))) if x.gap < APART]
        assert all(abs(float(x.gap)) < 1e-12 and np.allclose([float(y) for y in x.normal], [0, 0, -1]) for x in found)
        sides = [[s * (i == j) for j in range(2)] + [-h[i]] for i in range(2) for s in (1.0, -1.0)]
        for i, s in product(range(2), (1.0, -1.0)):
            normal = s * R[:2, i]
            sides.append([*normal, -k[i] - normal @ shift])
        points = np.array([[float(y) for y in x.point] for x in found])
        exact = ConvexHull(HalfspaceIntersection(np.array(sides), 0.5 * shift).intersections)
        assert np.allclose(points[:, 2], h[2]) and np.isclose(ConvexHull(points[:, :2]).volume, exact.volume, rtol=1e-7)
        counts.add(len(points))
    assert 8 in counts and 4 in counts


def test_a_capsule_touches_where_it_is_nearest() -> None:
    rng = np.random.default_rng(2)
    for kind, size in (("box", (0.3, 0.4, 0.2)), ("capsule", (0.1, 0.4)), ("cylinder", (0.15, 0.3))):
        for p, d in rng.normal(scale=0.4, size=(40, 2, 3)):
            found = ALONG[kind](Vec(p.tolist()), Vec(d.tolist()), size)
            distance = TYPES[kind](*size).distance
            near = [float(distance(Vec((p + t * d).tolist())).gap) for t in np.linspace(0.0, 1.0, 201)]
            best = float(distance(Vec((p + float(found.nearest) * d).tolist())).gap)
            assert min(near) < 0.0 or best < min(near) + 1e-12
            over = [t for t in np.linspace(0.0, 1.0, 201) if found.begin < t < found.end]
            if over and kind == "box" and best > 0.0:  # over a face: straight to it
                normals = [distance(Vec((p + t * d).tolist())) for t in (over[0], over[-1])]
                assert all(sorted(abs(float(x)) for x in y.normal) == [0.0, 0.0, 1.0] for y in normals if y.gap > 0.0)


def test_a_capsule_leaves_a_box_that_its_middle_line_has_entered_on_the_shortest_way() -> None:
    rng = np.random.default_rng(5)
    half, radius, entered = np.array([0.15, 0.1, 0.2]), 0.04, 0
    for p, d in zip(rng.uniform(-0.25, 0.25, (300, 3)), rng.normal(scale=0.2, size=(300, 3)), strict=True):
        ends = np.array([p - d, p + d])
        exact = signed_distance(ends, SIGNS * half)
        if exact > 0.0:
            continue
        entered += 1
        a, b = (tuple(x.tolist()) for x in ends)
        made = CapsuleAndSolid((a, b), radius, Box(*(2.0 * half)), IDENTITY)
        deepest = min(made.touches(IDENTITY, IDENTITY), key=lambda x: float(x.gap))
        assert abs(deepest.gap - (exact - radius)) < 1e-8
        n = np.array([float(x) for x in deepest.normal])
        assert abs(np.linalg.norm(n) - 1.0) < 1e-12
        assert abs(signed_distance(ends - deepest.gap * n, SIGNS * half) - radius) < 1e-6
    assert entered > 80
    long = CapsuleAndSolid(((-0.5, 0.02, 0.15), (0.5, 0.02, 0.15)), radius, Box(*(2.0 * half)), IDENTITY)
    found = long.touches(IDENTITY, IDENTITY)  # sunk into a face, over which it lies
    assert np.allclose([[float(x) for x in y.normal] for y in found], [[0.0, 0.0, 1.0]] * 2)
    assert np.allclose([float(x.gap) for x in found], -0.05 - radius)
    assert np.allclose(sorted(float(x.point[0]) for x in found), [-0.15, 0.15])


@pytest.mark.parametrize("kind", ["box", "cylinder", "capsule", "sphere"])
def test_forces_act_on_the_first_of_two_whatever_their_shapes_are(kind: str) -> None:
    """On the robot where the other is terrain; as their name says where both move."""
    size = {"box": (0.2, 0.2, 0.1), "cylinder": (0.08, 0.1), "capsule": (0.05, 0.2), "sphere": (0.1,)}[kind]
    robot = free_body(kind, size, 1.0, (0.004, 0.004, 0.004))
    scene = fb.Scene(robot, Solid("sphere", (50.0,), (0.0, 0.0, -50.0), friction=0.0))
    start = scene.start([0.0, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0])  # lowered onto the ball
    assert np.isclose(start[2], {"box": 0.05, "cylinder": 0.05, "capsule": 0.15, "sphere": 0.1}[kind])
    run = scene.simulate(start, duration=0.02)
    assert np.isclose(run.contacts.force[-1].sum(axis=0)[2], G) and np.isclose(run.q[-1, 2], start[2])
    b = fb.Builder("two")
    for name in ("lower", "upper"):
        b.body(name, joint=fb.joints.Prismatic("z"), mass=1.0)
    shapes = [Shape("lower", "sphere", 0.1, friction=0.0), Shape("upper", kind, size, friction=0.0)]
    top = float(start[2]) + 0.1
    for pair, sign in ((("lower", "upper"), -1.0), (("upper", "lower"), 1.0)):
        two = fb.Scene(b.build(), fb.Plane(friction=0.0), contacts=shapes, pairs=[pair])
        two_run = two.simulate([0.1, 0.1 + top], duration=0.02)
        names = [x for x in two.contacts if ":" in x and x.startswith(pair[0])]
        assert names and np.isclose(sum(two_run.contacts[x].force[-1, 2] for x in names), sign * G)


def test_a_capsule_along_another_touches_at_two_points() -> None:
    made = CapsuleAndSolid(((0.0, 0.0, -0.3), (0.0, 0.0, 0.3)), 0.1, Capsule(0.1, 0.4), IDENTITY)
    found = made.touches(pose(np.eye(3), np.array([0.0, 0.2, 0.1])), IDENTITY)
    assert np.allclose([x.gap for x in found], 0.0, atol=1e-15)
    assert np.allclose(sorted(float(x.point[2]) for x in found), [-0.2, 0.2])


def turned(p: tuple[float, ...], axis: str, angle: Any) -> np.ndarray:
    x, y, z, w = Rotation.from_euler(axis, angle).as_quat()
    return np.array([*p, w, x, y, z])


def energy(robot: fb.System, run: Any) -> np.ndarray:
    return robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)


def test_crossed_boxes_rest_on_their_edges() -> None:
    """A plank across a beam has four crossing edges and no corner where it touches; so have two ridges, one."""
    plank = free_body("box", (1.0, 0.1, 0.1), 1.0, (0.00167, 0.084, 0.084))
    ridge = Rotation.from_euler("y", np.pi / 4).as_matrix()
    beams = Solid("box", (0.1, 1.0, 0.1)), Solid("box", (0.1, 1.0, 0.1), (5.0, 0.0, 0.0), ridge)
    scene = fb.Scene(plank, *beams)
    high = 0.1 * np.sqrt(2.0)
    start = np.stack([turned((0.02, 0, 0.1), "x", 0.0), turned((5.0, 0.1, high), "x", np.pi / 4)])
    run = scene.simulate(start, duration=0.3, dt=2e-3, every=10)
    assert np.nanmin(run.contacts.gap) > -1e-9 and np.abs(run.v).max() < 1e-8  # rad/s: 1e-10 m/s at the edge
    assert np.allclose(run.contacts.force[-1].sum(axis=1), [0.0, 0.0, G], atol=1e-7)
    assert np.allclose(run.contacts.found[-1].sum(axis=1), [4, 1]) and np.isinf(run.contacts.gap[-1, 1, :8]).all()
    assert np.diff(energy(plank, run), axis=0).max() < 1e-12


def test_a_capsule_that_is_longer_than_a_box_lies_on_it() -> None:
    capsule = free_body("capsule", (0.05, 1.0), 1.0, (0.08, 0.08, 0.00125))
    scene = fb.Scene(capsule, Solid("box", (0.3, 0.4, 0.1)))
    start = np.stack([turned((0.02, 0, 0.1), "y", np.pi / 2), turned((0.02, 0, 0.15), "y", np.pi / 2 - 0.1)])
    run = scene.simulate(start, duration=1.5, dt=2e-3, every=10)
    still, fallen = run.v[:, 0], run.v[-1, 1]
    assert np.abs(still).max() < 1e-9 and np.abs(fallen).max() < 1e-9
    assert np.nanmin(run.contacts.gap[:, 0]) > -1e-12 and np.nanmin(run.contacts.gap) > -1e-5
    load = run.contacts.force[-1, 0, :, 2]
    assert np.allclose(load.sum(), G) and np.allclose(sorted(load), [G * 0.13 / 0.3, G * 0.17 / 0.3])


def test_boxes_that_meet_with_crossing_edges_keep_their_momentum() -> None:
    b = fb.Builder("two", gravity=(0, 0, 0))
    for name in "ab":
        b.body(name, joint=fb.joints.Free(), mass=1.0, inertia=(0.05, 0.05, 0.05))
    robot = b.build()
    scene = fb.Scene(robot, contacts=[Shape(x, "box", (1.0, 0.1, 0.1), friction=0.0) for x in "ab"])
    rng = np.random.default_rng(3)
    q, v = np.tile(robot.neutral(), (8, 1)), rng.normal(scale=0.3, size=(8, 12))
    for k in range(8):
        q[k, :7] = turned((*rng.uniform(-0.2, 0.2, 2), 0.2), "xyz", rng.normal((0.8, 0.0, 0.0), 0.1))
        q[k, 7:] = turned((0.0, 0.0, 0.0), "xyz", rng.normal((0.8, 0.0, 1.6), 0.1))
    v[:, robot.names.velocities.index("a.vz")] = -1.0
    v[:, robot.names.velocities.index("b.vz")] = 1.0
    run = scene.simulate(q, v, duration=0.4, dt=1e-3, every=4)
    momentum = robot.momentum(run.q, run.v, about="world")
    assert run.contacts.found[:, :, -1].any(axis=0).sum() >= 6  # crossing edges were among what met
    assert np.abs(momentum - momentum[0]).max() < 1e-9 and np.nanmin(run.contacts.gap) > -2e-3
    assert np.diff(robot.kinetic_energy(run.q, run.v), axis=0).max() < 1e-3


def test_many_objects_that_touch_each_other_do_not_enter_each_other() -> None:
    """Five balls, 45 rows, of which each touches two objects that do not feel each other otherwise."""
    b = fb.Builder("balls")
    for k in range(5):
        b.body(f"b{k}", joint=fb.joints.Free(), mass=1.0 + k, inertia=0.004 * (1.0 + k) * np.ones(3))
    robot = b.build()
    shapes = [Shape(f"b{k}", "sphere", 0.1, friction=0.5) for k in range(5)]
    scene = fb.Scene(robot, fb.Plane(friction=0.5), contacts=shapes, tolerance=1e-6)
    q = robot.neutral().reshape(5, 7)
    q[:, :3] = [(-0.11, 0, 0.1), (0.11, 0, 0.1), (0, 0.19, 0.1), (0, 0.06, 0.27), (0.4, 0, 0.1)]
    run = scene.simulate(q.ravel(), duration=0.2, dt=2e-3, every=5)
    assert np.nanmin(run.contacts.gap) > -1e-7
    assert np.allclose(run.contacts.force[-1, :5, 2].sum(), 15.0 * G, rtol=0.3)


def test_a_capsule_lies_on_a_cylinder_that_moves() -> None:
    """Along the top of one that lies on the floor, on frictionless rails: two points carry half of the weight each."""
    b = fb.Builder("two")
    b.body("low", joint=fb.joints.Prismatic("z"), mass=2.0)
    b.body("top", joint=fb.joints.Planar("y"), mass=1.0, inertia=(0.02, 0.02, 0.001))
    robot = b.build()
    low = Shape("low", "cylinder", (0.1, 0.3), rpy=(0.0, np.pi / 2, 0.0), friction=0.0)
    top = Shape("top", "capsule", (0.05, 0.6), rpy=(0.0, np.pi / 2, 0.0), friction=0.0)
    scene = fb.Scene(robot, fb.Plane(friction=0.0), contacts=[low, top], grounded=["low"])
    q = robot.neutral()
    q[robot.names.coordinates.index("low")] = 0.1
    q[robot.names.coordinates.index("top.x")] = 0.25  # along z: the plane has its own axes
    run = scene.simulate(q, duration=0.1, dt=2e-3, every=10)
    pressed = run.contacts.force[-1, -2:, 2]
    assert scene.contacts[-2:] == ("low:top.0", "low:top.1") and np.abs(run.v).max() < 1e-9
    assert np.allclose(np.abs(pressed), G / 2) and np.allclose(run.contacts.force[-1, :-2, 2].sum(), 3.0 * G)


@pytest.mark.parametrize(("kind", "size"), [("cylinder", (0.1, 0.2)), ("ellipsoid", (0.1, 0.1, 0.2))])
def test_cylinders_and_ellipsoids_touch_boxes_that_move(kind, size):
    b = fb.Builder("two")
    for name in ("one", "other"):
        b.body(name, joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    shapes = [fb.contact.Shape("one", kind, size), fb.contact.Shape("other", "box", (0.2, 0.2, 0.2))]
    scene = fb.Scene(b.build(), fb.Plane(), contacts=shapes)
    assert {"one", "other", "one:other"} == {name.partition(".")[0] for name in scene.contacts}
    with pytest.raises(fb.ArgumentError, match=r"contact 'one:other.*found by a search"):
        fb.linearize(scene, [0, 0, 0.3, 1, 0, 0, 0, 0, 0, 0.1, 1, 0, 0, 0], dt=1e-3)
