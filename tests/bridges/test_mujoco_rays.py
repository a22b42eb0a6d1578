"""Rays against shapes and terrain: hits and misses of mj_ray, from outside and inside, and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Solid
from fourbar.contact.terrain import HeightField, SignedDistance, Terrain
from fourbar.contact.terrain_rays import ray_to
from fourbar.expr import Unrolled, interpret
from fourbar.shapes.base import ShapeType
from fourbar.shapes.chords import nearest_hit
from fourbar.shapes.ellipsoid import Ellipsoid
from fourbar.shapes.hull import ConvexHull
from fourbar.spatial.linear import Vec

mujoco: Any = pytest.importorskip("mujoco")

CORNERS = np.random.default_rng(3).normal(size=(12, 3)) * 0.3
SOLIDS: dict[str, tuple[str, Terrain | ShapeType]] = {
    "sphere": ('type="sphere" size="0.4"', Solid("sphere", 0.4)),
    "capsule": ('type="capsule" size="0.2 0.3"', Solid("capsule", (0.2, 0.6))),
    "box": ('type="box" size="0.2 0.3 0.4"', Solid("box", (0.4, 0.6, 0.8))),
    "cylinder": ('type="cylinder" size="0.3 0.4"', Solid("cylinder", (0.3, 0.8))),
    "ellipsoid": ('type="ellipsoid" size="0.2 0.3 0.4"', Ellipsoid(0.2, 0.3, 0.4)),
    "hull": ('type="mesh" mesh="hull"', ConvexHull.around(CORNERS)),
    "plane": ('type="plane" size="0 0 1"', fb.Plane()),
}


def found(subject: Terrain | ShapeType, x: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Distances along rays, by the interpreter of the program that is compiled elsewhere."""
    recorder = Unrolled()
    place, along = (recorder.input(name, (3,)) for name in "xd")
    if isinstance(subject, ShapeType):
        t = recorder.call(lambda x, d: nearest_hit(subject.chord(x, d)), Vec(place), Vec(along))
    else:
        t = ray_to(recorder, subject, Vec(place), Vec(along))
    return interpret(recorder.finish("ray", [("t", (), (t,))]), {"x": x, "d": d})["t"]


def model_of(attributes: str) -> Any:
    """A shape in the world."""
    listed = " ".join(map(str, CORNERS.ravel()))
    mesh = f'<mesh name="hull" vertex="{listed}"/>'
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{mesh}</asset><worldbody><geom {attributes}/></worldbody></mujoco>"
    )


def single_precision_hull() -> ConvexHull:
    """The corners as MuJoCo has them: about the centre of mass, in single precision."""
    model = model_of(SOLIDS["hull"][0])
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, model.geom_quat[0])
    return ConvexHull.around(model.mesh_vert.astype(float) @ R.reshape(3, 3).T + model.geom_pos[0])


def theirs(attributes: str, x: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Distances by mj_ray, infinite where there is no hit."""
    model = model_of(attributes)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    which = np.zeros(1, np.int32)
    t = np.array([mujoco.mj_ray(model, data, a, b, None, 1, -1, which) for a, b in zip(x, d, strict=True)])
    return np.where(t < 0.0, np.inf, t)


def rays(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Rays from near and far, some of them from inside; some are along axes and through the middle."""
    rng = np.random.default_rng(0)
    x, d = rng.normal(size=(n, 3)) * rng.choice([0.1, 0.5, 2.0], n)[:, None], rng.normal(size=(n, 3))
    d[::2] = rng.normal(size=d[::2].shape) * 0.2 - x[::2]
    d[::20] = np.eye(3)[rng.integers(0, 3, len(d[::20]))] * rng.choice([-1.0, 1.0], len(d[::20]))[:, None]
    x[::40, :2] = 0.0
    return x, d / np.linalg.norm(d, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", SOLIDS)
def test_shapes(kind: str) -> None:
    attributes, own = SOLIDS[kind]
    own = single_precision_hull() if kind == "hull" else own
    x, d = rays()
    t, wanted = found(own, x, d), theirs(attributes, x, d)
    hit = np.isfinite(wanted)
    assert 100 < hit.sum() < len(hit)
    np.testing.assert_array_equal(np.isfinite(t), hit)
    np.testing.assert_allclose(t[hit], wanted[hit], rtol=0, atol=1e-9)


def test_along_edges_of_a_box() -> None:
    """Rays in the planes of faces, through edges and corners: hits, to the last digit."""
    box = SOLIDS["box"][1]
    x = np.array([[-1.0, 0.0, 0.4], [-1.0, 0.3, 0.0], [-1.0, 0.3, 0.4], [0.2, 0.3, 2.0], [-1.0, 0.0, 0.4 + 1e-12]])
    d = np.array([[1.0, 0, 0], [1.0, 0, 0], [1.0, 0, 0], [0, 0, -1.0], [1.0, 0, 0]])
    np.testing.assert_allclose(found(box, x, d), [0.8, 0.8, 0.8, 1.6, np.inf], rtol=0, atol=1e-15)


def heights() -> HeightField:
    """A rough field."""
    return HeightField(np.random.default_rng(1).uniform(-0.2, 0.3, (9, 7)), (0.25, 0.3), (-1.0, -0.9))


def test_height_fields_against_small_steps() -> None:
    """The first change of the sign of z - height along each ray, by bisection between 20,000 places of it."""
    field = heights()
    rng = np.random.default_rng(2)
    x, d = rng.uniform(-1.6, 1.6, (60, 3)), rng.normal(size=(60, 3))
    x[:, 2] = rng.uniform(-0.3, 1.0, 60)
    d[:, 2] = -np.abs(d[:, 2]) * rng.choice([1.0, 0.2, -0.3], 60)
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    t = found(field, x, d)
    s = np.linspace(0.0, 12.0, 20_001)
    for k in range(60):

        def above(s: Any, k: int = k) -> Any:
            return x[k, 2] + s * d[k, 2] - field.height(x[k, 0] + s * d[k, 0], x[k, 1] + s * d[k, 1])

        signs = np.signbit(above(s))
        changes = np.flatnonzero(signs[1:] != signs[:-1])
        if not len(changes):
            assert t[k] > 12.0
            continue
        low, high = s[changes[0]], s[changes[0] + 1]
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if np.signbit(above(middle)) == signs[changes[0]] else (low, middle)
        assert t[k] == pytest.approx(low, abs=1e-10)


def test_height_fields_with_flat_cells_are_mujocos() -> None:
    """On a plane that is given as heights, MuJoCo's triangles are the bilinear cells."""
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, 9), np.linspace(-1.0, 1.0, 9), indexing="ij")
    z = 0.5 + 0.2 * x - 0.1 * y
    low = z.min()
    words = " ".join(map(str, ((z - low) / (z.max() - low)).T[::-1].ravel()))
    size = f"1 1 {z.max() - low} 0.1"
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><hfield name="h" nrow="9" ncol="9" size="{size}" elevation="{words}"/></asset><worldbody>'
        f'<geom type="hfield" hfield="h" pos="0 0 {low}"/></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rng, which = np.random.default_rng(4), np.zeros(1, np.int32)
    start, target = rng.uniform(-0.9, 0.9, (2, 80, 3))
    start[:, 2], target[:, 2] = start[:, 2] + 2.0, 0.4
    d = target - start
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    wanted = np.array([mujoco.mj_ray(model, data, a, b, None, 1, -1, which) for a, b in zip(start, d, strict=True)])
    np.testing.assert_allclose(found(HeightField(z, 0.25, (-1.0, -1.0)), start, d), wanted, rtol=0, atol=1e-6)


def test_signed_distances() -> None:
    """A ball as a signed distance, from outside and inside; and one that is larger than the true distance."""
    ball = SignedDistance(lambda x, y, z: fb.sqrt(x * x + y * y + z * z + 1e-300) - 0.4)
    x, d = rays(200)
    t, wanted = found(ball, x, d), found(SOLIDS["sphere"][1], x, d)
    hit = np.isfinite(wanted)
    grazing = np.linalg.norm(np.cross(x, d), axis=1) > 0.399
    np.testing.assert_array_equal(np.isfinite(t)[~grazing], hit[~grazing])
    np.testing.assert_allclose(t[hit & ~grazing], wanted[hit & ~grazing], rtol=0, atol=1e-8)


def test_rangefinders_of_a_scene() -> None:
    """Compiled, in a batch: shapes of moving bodies and of the world, but not of the body of the site."""
    xml = """<mujoco><worldbody><geom type="plane" size="0 0 .1"/>
    <geom type="box" size=".2 1 .6" pos="1.5 0 .6" euler="0 0 20"/>
    <body pos=".3 .9 .8"><freejoint/><geom type="sphere" size=".15"/></body>
    <body pos="-.8 .3 .7"><freejoint/><geom type="capsule" size=".1 .3" euler="30 10 0"/></body>
    <body pos="0 0 1"><freejoint/><geom size=".02" mass="1"/><site name="look" pos="0.05 0 0" euler="0 90 0"/></body>
    </worldbody></mujoco>"""
    model, robot = mujoco.MjModel.from_xml_string(xml), fb.loads(xml)
    scene, d = fb.Scene(robot, contacts=[]), rays(24)[1]
    watch = {"range": fb.observe.ray("look", d, scene=scene), "ahead": fb.observe.ray("look", scene=scene, reach=0.5)}
    q = np.tile(robot.configurations["qpos0"], (3, 1))
    q[1:, -7:-4] += [[0.1, 0.2, -0.3], [0.3, -0.2, 0.4]]
    q[1:, -4:] = [[0.6, 0.8, 0.0, 0.0], [0.5, 0.5, -0.5, 0.5]]
    worlds = scene.batch(3, dt=1e-3, observe=watch)
    worlds.reset(q=q)
    for k in range(3):
        data = mujoco.MjData(model)
        data.qpos[:] = q[k]
        mujoco.mj_forward(model, data)
        site, which = data.site("look"), np.zeros(1, np.int32)
        R, own = site.xmat.reshape(3, 3), model.site("look").bodyid[0]
        wanted = np.array([mujoco.mj_ray(model, data, site.xpos, R @ x, None, 1, own, which) for x in d])
        np.testing.assert_allclose(worlds.observations["range"][k], np.where(wanted < 0, np.inf, wanted), atol=1e-9)
    assert np.isinf(worlds.observations["ahead"][0])
    worlds.step()
    assert np.isfinite(worlds.observations["range"]).any()


def test_height_scans_turn_with_the_frame() -> None:
    field = heights()
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    scene = fb.Scene(b.build(), field, contacts=[fb.contact.Shape("ball", "sphere", 0.05)])
    points = [(0.0, 0.0), (0.3, 0.0), (0.0, 0.2)]
    q = [0.1, 0.2, 1.0, np.cos(0.4), 0.0, 0.0, np.sin(0.4)]
    scan = fb.observe.height_scan("ball", points, field)
    seen = scene.rollout(q, steps=1, observe={"scan": scan}).observations["scan"][0]
    c, s = np.cos(0.8), np.sin(0.8)
    places = [(0.1 + c * a - s * e, 0.2 + s * a + c * e) for a, e in points]
    np.testing.assert_allclose(seen, [1.0 - field.height(*at) for at in places], rtol=0, atol=1e-14)
    with pytest.raises(fb.ArgumentError, match="expected a HeightField"):
        fb.observe.height_scan("ball", points, fb.Plane())  # type: ignore[arg-type]
    with pytest.raises(fb.ArgumentError, match="not zero"):
        fb.observe.ray("ball", (0.0, 0.0, 0.0), scene=field)
    with pytest.raises(fb.ArgumentError, match="expected a Scene"):
        fb.observe.ray("ball", scene="floor")
