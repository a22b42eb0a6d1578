"""Energy and gaps of every shape on curved and creased terrain: nothing is gained, and gaps change as things move."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import fourbar as fb
from fourbar.contact import Compliant, Rigid, Shape
from fourbar.contact.rims import on_rim
from fourbar.contact.round_shapes import BallOnTerrain, RoundOnTerrain
from fourbar.mechanism.geometry import Geometry
from fourbar.shapes.ellipsoid import Ellipsoid
from fourbar.spatial.linear import Vec
from fourbar.spatial.transform import IDENTITY, Transform

from .bodies import G, ball, free_body, placed

DT, RECOVERED = 1e-3, 0.2
SHAPES = {
    "tall cylinder": ("cylinder", (0.05, 0.15)), "flat cylinder": ("cylinder", (0.1, 0.04)),
    "capsule": ("capsule", (0.05, 0.2)), "box": ("box", (0.2, 0.15, 0.1)), "sphere": ("sphere", (0.08,)),
    "ellipsoid": ("ellipsoid", (0.1, 0.07, 0.05)),
}  # fmt: skip
HEIGHTS = np.random.default_rng(3).uniform(0.0, 0.05, (8, 8))
TERRAINS = {
    "plane": lambda mu: fb.Plane(friction=mu),
    "waves": lambda mu: fb.SignedDistance(
        lambda x, y, z: z - 0.03 * fb.sin(1.5 * x) * fb.sin(1.8 * y), friction=mu
    ),
    "short waves": lambda mu: fb.SignedDistance(
        lambda x, y, z: z - 0.01 * fb.sin(12 * x) * fb.sin(15 * y), friction=mu
    ),
    "bowl": lambda mu: fb.SignedDistance(lambda x, y, z: z - 0.5 * (x * x + 2 * y * y), friction=mu),
    "field": lambda mu: fb.HeightField(HEIGHTS, 1.0, (-3.5, -3.5), mu),
    "grooves": lambda mu: fb.HeightField(
        np.abs(np.arange(8) - 3.5)[:, None] * np.full(8, 0.1), 0.5, (-1.75, -1.75), mu
    ),
}  # fmt: skip


def falling(shape: str, terrain: Any, law: Any, seconds: float) -> tuple[fb.System, Any]:
    """Eight bodies of one kind that fall on terrain, half of them almost upright."""
    kind, size = SHAPES[shape]
    inertia = {3: 0.2, 2: 0.1, 1: 0.4}[len(size)] * np.dot(size, size) * np.array([1.0, 1.0, 0.9])
    robot = free_body(kind, size, 1.0, tuple(inertia))
    rng, n = np.random.default_rng(0), 8
    q = np.zeros((n, 7))
    q[:, :2], q[:, 2] = rng.uniform(-0.4, 0.4, (n, 2)), 0.55
    q[:, 3:] = np.where(np.arange(n)[:, None] < n // 2, [1.0, 0, 0, 0] + 0.05 * rng.normal(size=(n, 4)),
                        rng.normal(size=(n, 4)))  # fmt: skip
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    scene = fb.Scene(robot, terrain, contacts=[Shape("body", kind, size)], law=law)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.SimulationWarning)  # a step in thousands that is not solved to 1e-10
        return robot, scene.simulate(q, 0.3 * rng.normal(size=(n, 6)), duration=seconds, dt=DT, every=1)


def cases(every: list[tuple[Any, ...]], quick: Any) -> list[Any]:
    """Cases of a test, of which some are part of the default run."""
    return [x if quick(*x) else pytest.param(*x, marks=pytest.mark.slow) for x in every]


@pytest.mark.parametrize(
    ("shape", "terrain", "mu"),
    cases(
        [(shape, terrain, mu) for shape in SHAPES for terrain in TERRAINS for mu in (0.0, 0.5, 1.0)],
        lambda shape, terrain, mu: mu == 0.5 and shape in ("flat cylinder", "ellipsoid") and terrain != "grooves",
    ),
)
def test_no_step_adds_more_than_the_work_of_taking_back_a_part_of_a_penetration(
    shape: str, terrain: str, mu: float
) -> None:
    """Kinetic and potential energy: m g times a fifth of the depths, and what is of second order in dt, which is lost
    again."""
    robot, run = falling(shape, TERRAINS[terrain](mu), Rigid(), 2.0)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    depth = np.maximum(-run.contacts.gap[1:], 0.0).sum(axis=-1)
    assert (np.diff(energy, axis=0) <= 1.2 * G * RECOVERED * depth + 1e-3).all()
    climbs = energy - np.minimum.accumulate(energy, axis=0)
    assert climbs.max() < (0.1 if terrain == "grooves" else 0.02)  # of several joules
    still = np.abs(run.v[-1]).max(axis=-1) < 1e-6
    assert not still.any() or run.contacts.gap[-1, still].min() > -1e-6


@pytest.mark.parametrize(
    ("shape", "terrain"),
    cases(
        [(shape, terrain) for shape in SHAPES for terrain in ("plane", "waves", "bowl", "field")],
        lambda shape, terrain: shape in ("flat cylinder", "ellipsoid"),
    ),
)
def test_springs_give_back_what_they_take(shape: str, terrain: str) -> None:
    """Kinetic and potential energy, and that of the springs, under the compliant law."""
    law = Compliant(2e4, 200.0)
    robot, run = falling(shape, TERRAINS[terrain](0.5), law, 2.0)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    depth = np.minimum(run.contacts.gap[1:], 0.0)  # at the start of each step
    energy = energy[:-1] + 0.5 * law.stiffness * (depth**2).sum(axis=-1)
    climbs = energy - np.minimum.accumulate(energy, axis=0)
    assert climbs.max() < 0.015


def posed(R: np.ndarray, p: Any) -> Transform:
    """A pose from arrays."""
    return Transform.of(R.tolist(), Vec(np.asarray(p, float).tolist()))


def poses(rng: np.random.Generator, height: float) -> Transform:
    """Somewhere near the ground, turned anyhow or almost upright."""
    Q = np.linalg.qr(np.eye(3) * 30.0 * rng.integers(0, 2) + rng.normal(size=(3, 3)))[0]
    Q *= np.sign(np.linalg.det(Q))
    return posed(Q, [*rng.uniform(-0.4, 0.4, 2), height])


def moved(pose: Transform, twist: np.ndarray, dt: float) -> Transform:
    """A pose after a short time with an angular and a linear velocity, in the world."""
    angle = np.linalg.norm(twist[:3]) * dt
    x, y, z = twist[:3] / np.linalg.norm(twist[:3])
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    R = (np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K) @ np.array(pose.R, float)
    return posed(R, np.array(pose.p, float) + dt * twist[3:])


ROUND: dict[str, Any] = {
    "ball": lambda terrain: [BallOnTerrain((0.01, 0.02, -0.01), 0.04, terrain)],
    "ellipsoid": lambda terrain: [
        RoundOnTerrain((0.01, 0.0, 0.0), ((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)), Ellipsoid(0.06, 0.04, 0.03), terrain)
    ],
    "rim": lambda terrain: list(on_rim((0.0, 0.0, -0.02), (0.0, 0.0, 1.0), 0.06, terrain)),
}


@pytest.mark.parametrize("kind", ROUND)
@pytest.mark.parametrize("terrain", ["plane", "waves", "short waves"])
def test_a_gap_changes_by_the_velocity_along_the_normal_alone(kind: str, terrain: str) -> None:
    """Differences of the gap along a motion, near the surface, against n · (v + ω x r): a point that runs along the
    shape to places of other gaps, and a normal from afar, both miss it."""
    rng, step, bad, count = np.random.default_rng(1), 1e-6, 0, 0
    ground = TERRAINS[terrain](0.5)
    for _ in range(60):
        pose, twist = poses(rng, 0.05), rng.normal(size=6)
        for geometry in ROUND[kind](ground)[: 1 if terrain == "plane" else None]:  # two of a rim on a plane follow
            gap, point, normal = geometry.touch(pose, IDENTITY)
            back = pose._replace(p=pose.p - normal * gap)  # so that it touches
            gap, point, normal = geometry.touch(back, IDENTITY)
            after, before = (geometry.touch(moved(back, twist, x), IDENTITY).gap for x in (step, -step))
            at = np.array(point, float) - np.array(back.p, float)
            rate = np.array(normal, float) @ (twist[3:] + np.cross(twist[:3], at))
            count += 1
            bad += abs((after - before) / (2 * step) - rate) > 2e-3 * np.linalg.norm(twist)
    assert bad <= 0.02 * count  # where the lower of two ends changes


@pytest.mark.parametrize("terrain", ["plane", "waves", "short waves", "bowl"])
def test_the_points_of_a_rim_are_its_lowest(terrain: str) -> None:
    """Against two thousand points of the rim."""
    rng = np.random.default_rng(2)
    ground, radius = TERRAINS[terrain](0.5), 0.06
    angles = np.linspace(0.0, 2.0 * np.pi, 2000)
    for _ in range(10):
        pose, rim = poses(rng, 0.06), list(on_rim((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), radius, ground))
        for _ in range(3):  # until it touches
            found, _, normal = min((x.touch(pose, IDENTITY) for x in rim), key=lambda x: x.gap)
            pose = pose._replace(p=pose.p - normal * found)
        found = min(x.touch(pose, IDENTITY).gap for x in rim)
        points = (pose.point(Vec((radius * np.cos(a), radius * np.sin(a), 0.0))) for a in angles)
        assert found == pytest.approx(min(float(ground.surface(x).gap) for x in points), abs=2e-6)


def test_a_ball_and_an_ellipsoid_know_their_distance_from_a_function_that_is_none() -> None:
    """A spherical bowl as R² - |x - C|², which is a distance at the bowl only; depth and normal in closed form."""
    R, radius = 0.5, 0.1
    bowl = fb.SignedDistance(lambda x, y, z: R * R - x * x - y * y - (z - R) * (z - R))
    centre = np.array([0.0, 0.0, R])
    rng = np.random.default_rng(3)
    for _ in range(20):
        out = rng.normal(size=3)
        out /= np.linalg.norm(out)
        gap, point, normal = BallOnTerrain((0.0, 0.0, 0.0), radius, bowl).touch(
            posed(np.eye(3), centre + (R - radius) * out), IDENTITY
        )
        assert abs(gap) < 1e-5 and np.allclose(normal, -out, atol=1e-12)
        assert np.allclose(point, centre + R * out, atol=1e-12)
    half = (0.1, 0.07, 0.05)
    for _ in range(10):
        out = rng.normal(size=3)
        pose = posed(np.array(poses(rng, 0.0).R, float), centre + 0.4 * out / np.linalg.norm(out))
        geometry = RoundOnTerrain((0, 0, 0), ((1, 0, 0), (0, 1, 0), (0, 0, 1)), Ellipsoid(*half), bowl)
        for _ in range(3):  # until it touches
            gap, _, normal = geometry.touch(pose, IDENTITY)
            pose = pose._replace(p=pose.p - normal * gap)
        gap = geometry.touch(pose, IDENTITY).gap

        def far(u: np.ndarray, pose: Transform = pose) -> float:
            x = [half[0] * np.cos(u[0]) * np.cos(u[1]), half[1] * np.sin(u[0]) * np.cos(u[1]), half[2] * np.sin(u[1])]
            return R - float(np.linalg.norm(np.array(pose.point(Vec(x)), float) - centre))

        wanted = min(minimize(far, u, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-13}).fun
                     for u in ((0, 0), (1.5, 0), (3, 0), (4.5, 0), (0, 1.5), (0, -1.5)))  # fmt: skip
        assert gap == pytest.approx(wanted, abs=2e-5)


@pytest.mark.parametrize("shape", ["tall cylinder", "flat cylinder"])
def test_a_cylinder_that_stands_on_a_dune_stays(shape: str) -> None:
    """It rocks no more than before, gains no energy, and no point of either rim is below the surface."""
    radius, length = SHAPES[shape][1]
    dune = TERRAINS["waves"](0.8)
    robot = free_body("cylinder", (radius, length), 1.0, (0.004, 0.004, 0.004))
    at = (0.3, 0.25)
    slope = np.array(dune.surface(Vec((*at, 0.1))).normal, float)
    scene = fb.Scene(robot, dune)
    height = 0.5 * length + 0.03 * np.sin(1.5 * at[0]) * np.sin(1.8 * at[1]) + 2e-3
    axis = np.cross([0, 0, 1], slope)
    q = placed((*at, height), axis / np.linalg.norm(axis), float(np.linalg.norm(axis)))
    run = scene.simulate(q, duration=2.0, dt=DT)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.diff(energy)[500:].max() < 1e-7 and np.linalg.norm(run.q[-1, :2] - at) < 0.01
    speed = np.abs(run.v).max(axis=-1)
    assert speed[1500:].max() <= 1.001 * speed[500:1000].max() < 0.05
    pose = robot.pose(run.q[-1], "body")
    turns = np.linspace(0.0, 2.0 * np.pi, 720)
    for z in (0.5 * length, -0.5 * length):
        rim = pose[:3, 3] + np.c_[radius * np.cos(turns), radius * np.sin(turns), np.full(720, z)] @ pose[:3, :3].T
        assert min(float(dune.surface(Vec(x.tolist())).gap) for x in rim) > -1e-6


def test_a_ball_that_starts_inside_a_field_leaves_it_gently() -> None:
    """From a centimetre inside: out within 50 ms, half as high above as from a plane, and then at rest."""
    scene = fb.Scene(ball(0.1), fb.HeightField(np.zeros((3, 3)), origin=(-1.0, -1.0)))
    run = scene.simulate(placed((0, 0, 0.09)), duration=0.5, dt=DT)
    assert run.q[:, 2].max() < 0.105 and run.q[run.t > 0.05, 2].min() > 0.1 - 1e-6
    assert np.abs(run.v[-1]).max() < 1e-9 and run.q[-1, 2] == pytest.approx(0.1, abs=1e-9)


def test_a_cylinder_rolls_on_a_function_as_on_a_plane() -> None:
    """Two thirds of the pull, but for what a point takes that is met at the end of a sector: first order in dt."""
    radius, angle, seconds = 0.1, 0.2, 0.3
    cylinder = free_body("cylinder", (radius, 0.2), 1.0, (0.0058, 0.0058, 0.5 * radius**2))
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    slope = fb.SignedDistance(lambda x, y, z: normal[0] * x + normal[2] * z, friction=1.0)
    q = np.repeat(placed(radius * normal, (1, 0, 0), np.pi / 2)[None], 5, 0)
    for k, turn in enumerate(np.linspace(0.0, 1.0, 5)):  # about its own axis
        w, x, y, z = q[k, 3:]
        c, s = np.cos(turn / 2), np.sin(turn / 2)
        q[k, 3:] = w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s
    run = fb.Scene(cylinder, slope).simulate(q, duration=seconds, dt=DT)
    speed = np.linalg.norm(run.v[-1, :, 3:], axis=-1)
    assert np.allclose(speed, 2 / 3 * G * np.sin(angle) * seconds, rtol=5e-4)


def test_rims_have_sectors_on_fields() -> None:
    """Twelve points of a cylinder on a field, six on a plane; four cylinders have slots for their nearest points."""
    b = fb.Builder("wheels")
    b.body("base", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    for k in range(4):
        wheel = Geometry("cylinder", (0.05, 0.03), role="collision")
        b.body(f"wheel{k}", parent="base", joint=fb.joints.Revolute("z"), position=(0.2 * k, 0.0, 0.0), mass=0.1,
               inertia=(1e-4, 1e-4, 1e-4), geometry=[wheel])  # fmt: skip
    robot, field = b.build(), fb.HeightField(HEIGHTS)
    assert fb.Scene(robot, field).contacts == tuple(f"wheel{k}.nearest{i}" for k in range(4) for i in range(6))
    assert len(fb.Scene(robot, fb.Plane()).contacts) == 24
    assert len(fb.Scene(robot, field, contacts=["wheel0", "wheel1"]).contacts) == 24
    assert len(fb.Scene(robot, fb.Plane(), contacts=["wheel0"]).contacts) == 6


def test_a_cylinder_on_waves_has_the_same_bits_in_any_batch() -> None:
    robot = free_body("cylinder", (0.1, 0.04), 1.0, (0.003, 0.003, 0.005))
    scene = fb.Scene(robot, TERRAINS["waves"](0.5))
    rng = np.random.default_rng(5)
    q = np.repeat(placed((0.2, 0.1, 0.08))[None], 11, 0)
    v = rng.normal(size=(11, 6))
    every = scene.rollout(q, v, dt=DT, steps=300, every=300)
    for k in (0, 4, 10):
        alone = scene.rollout(q[k], v[k], dt=DT, steps=300, every=300)
        assert np.array_equal(alone.q[-1], every.q[-1, k]) and np.array_equal(alone.v[-1], every.v[-1, k])


@pytest.mark.parametrize("dt", [2e-3, 1e-3, 5e-4])
def test_eulers_disc_does_not_rise(dt: float) -> None:
    """It spins on its rim, at points that run along it: its energy stays, within a thousandth in a second."""
    m, radius, height, tilt = 0.4, 0.05, 0.01, 0.3
    across = m * (3.0 * radius**2 + height**2) / 12.0
    b = fb.Builder("disc")
    b.body("disc", joint=fb.joints.Free(), mass=m, inertia=(across, across, 0.5 * m * radius**2))
    scene = fb.Scene(b.build(), fb.Plane(0.6), contacts=[Shape("disc", "cylinder", (radius, height))])
    q = scene.start([0, 0, 0.5, np.cos(tilt / 2), np.sin(tilt / 2), 0, 0])
    rate = np.sqrt(4.0 * 9.81 / (radius * np.sin(tilt)))  # of steady precession, of a thin disc
    run = scene.simulate(q, [0, rate * np.sin(tilt), 0, 0, 0, 0], duration=1.0, dt=dt)
    energy = scene.robot.kinetic_energy(run.q, run.v) + scene.robot.potential_energy(run.q)
    settled = energy[len(energy) // 5 :]
    assert run.converged.all() and energy.max() == energy[0]
    assert np.abs(settled / settled[0] - 1.0).max() < 1e-3
    upright = 1.0 - 2.0 * (run.q[:, 4] ** 2 + run.q[:, 5] ** 2)
    assert np.abs(np.arccos(upright) - tilt).max() < 0.02 and np.nanmax(run.penetration) < 1e-4
