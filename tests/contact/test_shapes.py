"""Shapes on planes, height fields and signed distances; shapes against each other."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape
from fourbar.errors import ArgumentError, ModelError
from fourbar.spatial.linear import Vec

from .bodies import G, ball, free_body, placed, world_velocity

pytestmark = pytest.mark.usefixtures("no_warnings")


def test_a_capsule_lies_down_and_a_cylinder_rolls() -> None:
    capsule = free_body("capsule", (0.05, 0.2), 1.0, (0.005, 0.005, 0.00125))
    scene = fb.Scene(capsule, fb.Plane())
    run = scene.simulate(placed((0, 0, 0.05), (0, 1, 0), np.pi / 2), duration=0.2, every=100)
    assert np.abs(run.v[-1]).max() < 1e-9 and np.allclose(run.contacts.force[-1, :, 2], G / 2)
    radius, T, angle = 0.1, 0.3, 0.2
    cylinder = free_body("cylinder", (radius, 0.2), 1.0, (0.0058, 0.0058, 0.5 * radius**2))
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    scene = fb.Scene(cylinder, fb.Plane(friction=1.0, normal=normal))
    run = scene.simulate(placed(radius * normal, (1, 0, 0), np.pi / 2), duration=T, dt=1e-3, every=50)
    speed = np.linalg.norm(world_velocity(cylinder, run.q[-1], run.v[-1])[3:])
    assert np.allclose(speed, 2 / 3 * G * np.sin(angle) * T, rtol=1e-6)  # a solid cylinder: 2/3 of the pull


def test_a_cylinder_stands_on_its_end() -> None:
    cylinder = free_body("cylinder", (0.05, 0.2), 1.0, (0.004, 0.004, 0.00125))
    run = fb.Scene(cylinder, fb.Plane()).simulate(placed((0, 0, 0.1)), duration=0.2, every=100)
    assert np.abs(run.v[-1]).max() < 1e-9
    assert np.allclose(run.contacts.force[-1].sum(axis=0), [0, 0, G], atol=1e-8)


def test_an_ellipsoid_rests_on_its_flat_side() -> None:
    body = free_body("ellipsoid", (0.1, 0.1, 0.05), 1.0, 0.2 * np.array([0.0125, 0.0125, 0.02]))
    run = fb.Scene(body, fb.Plane()).simulate(placed((0, 0, 0.05)), duration=0.1, every=50)
    assert abs(run.contacts.gap[-1, 0]) < 1e-12 and np.abs(run.v[-1]).max() < 1e-12


def test_a_ball_on_a_signed_distance_is_one_on_the_same_plane() -> None:
    angle = 0.3
    robot = ball()
    n = (np.sin(angle), 0.0, np.cos(angle))
    scenes = [
        fb.Scene(robot, fb.Plane(friction=0.6, normal=n)),
        fb.Scene(robot, fb.SignedDistance(lambda x, y, z: 3.0 * (n[0] * x + n[2] * z), friction=0.6)),
        fb.Scene(robot, fb.HeightField([[np.tan(angle)] * 2, [-np.tan(angle)] * 2], (2.0, 2.0), (-1.0, -1.0), 0.6)),
    ]
    q = placed(0.1 * np.array(n))
    runs = [scene.simulate(q, duration=0.2, dt=1e-3) for scene in scenes]
    for run in runs[1:]:
        assert np.allclose(run.q, runs[0].q, atol=1e-9) and np.allclose(run.contacts.force, runs[0].contacts.force)


def test_a_ball_swings_in_a_bowl() -> None:
    """A frictionless ball in a spherical bowl is a pendulum from the bowl's centre."""
    R, r = 1.0, 0.1

    def bowl(x, y, z):
        return R - fb.sqrt(x * x + y * y + (z - R) * (z - R))

    robot = ball(r)
    scene = fb.Scene(robot, fb.SignedDistance(bowl, friction=0.0))
    a, length = 0.05, R - r
    run = scene.simulate(placed((length * np.sin(a), 0, R - length * np.cos(a))), duration=1.0, dt=1e-3, every=10)
    expected = length * np.sin(a * np.cos(np.sqrt(G / length) * run.t))
    assert np.abs(run.q[:, 0] - expected).max() < 1e-3
    distance = np.linalg.norm(run.q[:, :3] - [0, 0, R], axis=1)
    assert np.abs(distance - length).max() < 1e-6


def test_heights_are_interpolated() -> None:
    rng = np.random.default_rng(0)
    table = rng.uniform(size=(5, 4))
    field = fb.HeightField(table, (0.5, 0.3), (-1.0, 0.2))
    for i in range(4):
        for j in range(3):
            x, y = -1.0 + 0.5 * (i + 0.25), 0.2 + 0.3 * (j + 0.6)
            corners = table[i : i + 2, j : j + 2]
            wanted = np.array([0.75, 0.25]) @ corners @ np.array([0.4, 0.6])
            assert np.isclose(field.height(float(x), float(y)), wanted)


def test_at_the_knots_of_a_height_field_the_normal_is_that_of_a_cell_beside_them() -> None:
    """Also of heights far from zero, and at the edges."""
    slope, n, m = (0.3, -0.2), 4, 5
    table = 3.0 + slope[0] * 0.5 * np.arange(n)[:, None] + slope[1] * 0.25 * np.arange(m)
    field = fb.HeightField(table, (0.5, 0.25), (-0.5, 0.25))
    for i in range(n):
        for j in range(m):
            gap, normal = field.surface(Vec((-0.5 + 0.5 * i, 0.25 + 0.25 * j, 4.0)))
            at_end = np.array([i == n - 1, j == m - 1])
            assert np.allclose(-np.array(normal[:2]) / normal[2], np.where(at_end, 0.0, slope))
            assert np.isclose(gap, (4.0 - table[i, j]) * normal[2])


def test_a_ball_stays_where_it_falls_on_a_knot_of_a_flat_height_field() -> None:
    scene = fb.Scene(ball(0.1), fb.HeightField(np.full((5, 5), 0.5), origin=(-2.0, -2.0)))
    run = scene.simulate(placed((0.0, 0.0, 0.7)), duration=1.0)
    assert np.allclose(run.q[-1], placed((0.0, 0.0, 0.6)), atol=1e-9)
    assert np.allclose(run.contacts.force[-1], [[0, 0, G]], atol=1e-6)


def two(first: Shape, second: Shape, mass: float = 1.0) -> fb.System:
    b = fb.Builder("two", gravity=(0, 0, 0))
    for name, m in (("a", 1.0), ("b", mass)):
        b.body(name, joint=fb.joints.Free(), mass=m, inertia=0.01 * m * np.ones(3))
    return b.build()


PAIRS = {
    "ball and capsule": (Shape("a", "sphere", 0.1), Shape("b", "capsule", (0.1, 0.4)), (-0.5, 0.0, 0.05), -0.2),
    "two capsules": (
        Shape("a", "capsule", (0.1, 0.4)), Shape("b", "capsule", (0.1, 0.4), rpy=(1.0, 0, 0)), (-0.5, 0, 0), -0.2
    ),
    "ball and box": (Shape("a", "sphere", 0.1), Shape("b", "box", (0.3, 0.4, 0.4)), (-0.5, 0.02, 0.03), -0.25),
    "a corner and a box": (Shape("a", "point"), Shape("b", "box", (0.3, 0.4, 0.4)), (-0.5, 0.02, 0.03), -0.15),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_what_meets_head_on_stops_where_it_touches(name: str) -> None:
    """a flies along x into b, which is at rest: they go on together, a no deeper than it may."""
    first, second, start, touching = PAIRS[name]
    robot = two(first, second)
    scene = fb.Scene(robot, contacts=[first, second])
    q, v = robot.neutral(), np.zeros(12)
    q[[robot.names.coordinates.index(f"a.{x}") for x in "xyz"]] = start
    v[robot.names.velocities.index("a.vx")] = 1.0
    run = scene.simulate(q, v, duration=0.5, dt=1e-3)
    assert run.contacts.found.any() and np.nanmin(run.contacts.gap) > -1e-4
    apart = run.q[:, robot.names.coordinates.index("a.x")] - run.q[:, robot.names.coordinates.index("b.x")]
    hit = int(np.argmax(run.contacts.found.any(axis=1)))
    assert abs(apart[hit] - touching) < 2e-3
    momentum = robot.momentum(run.q, run.v, about="world")
    assert np.abs(momentum - momentum[0]).max() < 1e-9


@pytest.mark.parametrize("count", [2, 3])
def test_a_cradle_hands_the_velocity_on(count: int) -> None:
    """Balls in a row with small gaps, e = 1: the last leaves with the velocity of the first."""
    b = fb.Builder("cradle", gravity=(0, 0, 0))
    for i in range(count):
        b.body(f"ball{i}", joint=fb.joints.Prismatic("x"), position=(0.0, 0.0, 0.0), mass=1.0)
    robot = b.build()
    balls = [Shape(f"ball{i}", "sphere", 0.05, friction=0.0, restitution=1.0) for i in range(count)]
    scene = fb.Scene(robot, contacts=balls)
    q = np.array([-0.05, *(0.101 * (i + 1) for i in range(count - 1))])
    v = np.zeros(count)
    v[0] = 1.0
    run = scene.simulate(q, v, duration=0.3, dt=1e-3)
    assert np.allclose(run.v[-1], [*([0.0] * (count - 1)), 1.0], atol=1e-9)


def test_a_stack_of_mass_ratio_one_to_thousand_stands() -> None:
    b = fb.Builder("stack")
    for name, m in (("light", 1.0), ("heavy", 1000.0)):
        b.body(name, joint=fb.joints.Free(), mass=m, inertia=m * 0.02 / 12 * np.ones(3))
    robot = b.build()
    low = [Shape("light", position=(x, y, -0.05)) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
    top = [Shape("heavy", position=(x, y, -0.05)) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
    scene = fb.Scene(
        robot, fb.Plane(friction=0.5), contacts=[*low, *top, Shape("light", "box", (0.2, 0.2, 0.1))],
        pairs=[(f"heavy#{k}", "light#8") for k in range(4, 8)], grounded=[f"light#{k}" for k in range(4)],
    )  # fmt: skip
    q = robot.neutral()
    q[robot.names.coordinates.index("light.z")], q[robot.names.coordinates.index("heavy.z")] = 0.05, 0.15
    run = scene.simulate(q, duration=0.1, dt=2e-3, every=10)
    assert run.converged.all()
    assert np.abs(run.q[-1] - q).max() < 1e-11 and np.abs(run.v[-1]).max() < 1e-10
    load = run.contacts.force[-1, :, 2]
    assert np.isclose(load[:4].sum(), 1001.0 * G) and np.isclose(load[4:].sum(), 1000.0 * G)


def test_shapes_of_one_robot_touch_each_other_if_asked() -> None:
    b = fb.Builder("jaws", gravity=(0, 0, 0))
    b.body("palm", joint=fb.joints.Revolute("z"), mass=1.0, inertia=(0.01, 0.01, 0.01))
    for name, y in (("left", 0.1), ("right", -0.1)):
        b.body(name, parent="palm", joint=fb.joints.Prismatic("y"), position=(0, y, 0), mass=0.1, inertia=(1e-4,) * 3)
    robot = b.build()
    tips = [Shape("left", "sphere", 0.03), Shape("right", "sphere", 0.03)]
    assert fb.Scene(robot, contacts=tips).contacts == ()
    scene = fb.Scene(robot, contacts=tips, pairs="all")
    assert scene.contacts == ("left:right",)
    run = scene.simulate(np.zeros(3), np.array([0.0, -0.2, 0.2]), duration=0.6, dt=1e-3)
    assert np.nanmin(run.contacts.gap) > -1e-9 and abs(run.contacts.gap[-1, 0]) < 1e-9


def test_what_cannot_be_simulated_is_refused_in_words() -> None:
    robot = ball()
    with pytest.raises(ModelError, match=r"kind must be one of .*sphere"):
        Shape("body", "mesh")
    with pytest.raises(ArgumentError, match="Plane, HeightField or SignedDistance"):
        fb.Scene(robot, "floor")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="radius"):
        Shape("body", "sphere")
    with pytest.raises(fb.UnknownNameError, match="foot"):
        fb.Scene(robot, fb.Plane(), contacts=["foot"])
    with pytest.raises(ModelError, match="same everywhere"):
        fb.SignedDistance(lambda x, y, z: 1.0)
    with pytest.raises(ModelError, match=r"restitution=1\.5"):
        fb.Plane(restitution=1.5)
