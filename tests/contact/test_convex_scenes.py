"""Hulls, cylinders, ellipsoids and boxes on each other in scenes: they rest, hold and pass nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape, nearest_candidates
from fourbar.contact.candidates import OneOf
from fourbar.contact.selection import CandidateGroup
from fourbar.mechanism.contact import Surface
from fourbar.mechanism.geometry import Geometry
from fourbar.shapes import Capsule, ConvexHull, Cylinder, ShapeType
from fourbar.spatial.linear import Vec
from fourbar.spatial.transform import IDENTITY, Transform
from fourbar.tree.cluster_tree import GROUND

from .bodies import G, placed

CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
SIX = np.array([[np.cos(a), np.sin(a), z] for a in np.arange(6) * np.pi / 3 for z in (-1.0, 1.0)])
INERT = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
FREE = {"joint": fb.joints.Free(), "mass": 1.0, "inertia": (0.004, 0.004, 0.005)}


def mesh(folder: Path, name: str, points: np.ndarray, friction: float | None = None) -> Geometry:
    """A mesh of points, in a file."""
    file = folder / f"{name}.obj"
    file.write_text("".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in points.tolist()))
    surface = Surface(friction=friction)
    return Geometry("mesh", (), role="collision", name=name, mesh=str(file), file=str(file), surface=surface)


def stacked(low: Geometry, top: Geometry, com: float = 0.0) -> fb.System:
    """Two free bodies above a floor, the first with its centre of mass at (com, com, com)."""
    b = fb.Builder("stack")
    b.world(Geometry("plane", role="collision", name="floor"))
    b.body("low", **{**FREE, "mass": 2.0, "inertia": (0.03, 0.03, 0.05)}, com=(com,) * 3, geometry=[low])
    b.body("top", **FREE, geometry=[top])
    return b.build()


STACKS = ["hull on hull", "cylinder on box", "box on hull", "cylinder on hull", "ellipsoid on box", "lying on box"]


@pytest.mark.parametrize("name", [STACKS[0], STACKS[1], *(pytest.param(x, marks=pytest.mark.slow) for x in STACKS[2:])])
def test_stacks_rest_without_creeping(name: str, tmp_path: Path) -> None:
    top_name, low_name = name.split(" on ")
    off = 0.3 if low_name == "hull" else 0.0  # the origin of a mesh may be outside of it
    low = (
        mesh(tmp_path, "low", CUBE * (0.4, 0.4, 0.2) + off)
        if low_name == "hull"
        else Geometry("box", (0.4, 0.4, 0.2), role="collision", name="low")
    )
    tops: dict[str, tuple[Geometry, float]] = {
        "hull": (mesh(tmp_path, "top", SIX * (0.1, 0.1, 0.05)), 0.05),
        "cylinder": (Geometry("cylinder", (0.1, 0.2), role="collision", name="top"), 0.1),
        "lying": (Geometry("cylinder", (0.1, 0.2), role="collision", name="top"), 0.1),
        "box": (Geometry("box", (0.2, 0.2, 0.1), role="collision", name="top"), 0.05),
        "ellipsoid": (Geometry("ellipsoid", (0.1, 0.1, 0.05), role="collision", name="top"), 0.05),
    }
    top, height = tops[top_name]
    scene = fb.Scene(stacked(low, top, off), mesh_points=16)
    turned = placed((0.05, 0.03, 0.2 + height), (1.0, 0.0, 0.0), 0.5 * np.pi if top_name == "lying" else 0.0)
    q = np.concatenate([placed((-off, -off, 0.1 - off)), turned])
    run = scene.simulate(q, duration=2.0, dt=2e-3, every=100)
    assert np.abs(run.q - q).max() < 1e-9 and run.converged.all()
    pressed = [k for k, x in enumerate(scene.contacts) if x.startswith("low:top")]
    assert np.isclose(abs(run.contacts.force[-1, pressed, 2].sum()), G)


def test_a_ball_is_held_by_fingers_of_hulls(tmp_path: Path) -> None:
    rng, R = np.random.default_rng(0), 0.04
    tip = rng.normal(size=(200, 3))
    tip *= np.array([0.02, 0.015, 0.03]) / np.linalg.norm(tip, axis=1, keepdims=True)
    b = fb.Builder("hand")
    for k, angle in enumerate(np.arange(3) * 2.0 * np.pi / 3.0):
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        inwards = fb.joints.Prismatic(tuple(-out))
        finger = mesh(tmp_path, f"tip{k}", tip, friction=1.0)
        b.body(f"f{k}", joint=inwards, position=tuple(out * (R + 0.025)), mass=0.1, geometry=[finger])
    ball = Geometry("sphere", (R,), role="collision", name="ball", surface=Surface(friction=1.0))
    b.body("ball", joint=fb.joints.Free(), mass=0.2, inertia=(0.08 * R * R,) * 3, geometry=[ball])
    with pytest.warns(fb.SimulationWarning, match="corners of the convex hull"):
        scene = fb.Scene(b.build(), mesh_points=32)
    tau = np.concatenate([[6.0] * 3, np.zeros(6)])
    run = scene.simulate(scene.robot.neutral(), tau=tau, duration=1.5, every=250)
    assert abs(run.q[-1, 5]) < 2e-3 and np.abs(run.q[-1] - run.q[2]).max() < 1e-9
    held = run.contacts.force[-1, [k for k, x in enumerate(scene.contacts) if "ball" in x]]
    assert np.isclose(abs(held[:, 2].sum()), 0.2 * G)


def manifold(shapes: tuple[ShapeType, ShapeType], poses: tuple[Transform, Transform]) -> list[Any]:
    """The contacts of two shapes that are there."""
    from fourbar.contact.narrow.manifolds import touch_convex
    from fourbar.expr import Direct

    return [x for x in touch_convex(Direct(), shapes, poses) if x.gap < 1.0]


def at(x: float, y: float, z: float, axis: Any = (0.0, 0.0, 1.0), angle: float = 0.0) -> Transform:
    q = placed((x, y, z), axis, angle)
    return fb.joints.Free().placement(Vec(q.tolist()))


FLAT, HIGH = ConvexHull.around(CUBE * (0.2, 0.2, 0.1)), ConvexHull.around(CUBE * (1.0, 1.0, 0.2))
LYING = ((1.0, 0.0, 0.0), 0.5 * np.pi)
PLACES = [
    ("face on face", (FLAT, HIGH), (at(0, 0, 0.15), at(0, 0, 0)), 4, 0.04),
    ("over an edge", (FLAT, HIGH), (at(0.5, 0, 0.15), at(0, 0, 0)), 4, 0.02),
    ("end on end", (Cylinder(0.1, 0.2), Cylinder(0.1, 0.3)), (at(0.03, 0, 0.25), at(0, 0, 0)), 4, 0.01),
    ("side on face", (Cylinder(0.1, 0.2), HIGH), (at(0.1, 0, 0.2, *LYING), at(0, 0, 0)), 2, 0.0),
    ("side on side", (Cylinder(0.1, 0.2), Cylinder(0.1, 0.3)), (at(0, 0, 0.2, *LYING), at(0, 0, 0, *LYING)), 2, 0.0),
    ("capsule on face", (Capsule(0.1, 0.2), HIGH), (at(0, 0, 0.2, *LYING), at(0, 0, 0)), 2, 0.0),
    ("crossed", (Cylinder(0.1, 0.2), Cylinder(0.1, 0.3)),
     (at(0, 0, 0.2, *LYING), at(0, 0, 0, (0.0, 1.0, 0.0), 0.5 * np.pi)), 1, 0.0),
    ("edge across edge", (ConvexHull.around(CUBE * 0.2), ConvexHull.around(CUBE * 0.4)),
     (at(0, 0, 0.3 * np.sqrt(2.0), (1.0, 0.0, 0.0), 0.25 * np.pi), at(0, 0, 0, (0.0, 1.0, 0.0), 0.25 * np.pi)), 1, 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("shapes", "poses", "count", "area"), [x[1:] for x in PLACES], ids=[x[0] for x in PLACES])
def test_points_span_the_area_of_overlap(shapes: Any, poses: Any, count: int, area: float) -> None:
    found = manifold(shapes, poses)
    points = np.array([[float(y) for y in x.point] for x in found])
    assert len(found) == count and max(abs(float(x.gap)) for x in found) < 1e-12
    assert all(np.allclose([float(y) for y in x.normal], [0.0, 0.0, 1.0], atol=1e-9) for x in found)
    ring = points[np.argsort(np.arctan2(*(points - points.mean(axis=0))[:, 1::-1].T))]
    x, y = ring[:, 0], ring[:, 1]
    spanned = 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))
    assert spanned >= 0.9 * area and (area > 0.0 or spanned < 1e-9)


def test_gaps_of_points_lean_with_the_faces() -> None:
    """A box of hull that is tilted by 0.01 about its middle: two corners as high as the others are deep."""
    found = manifold((FLAT, HIGH), (at(0, 0, 0.15, (1.0, 0.0, 0.0), 0.01), at(0, 0, 0)))
    gaps = sorted(float(x.gap) for x in found)
    middle, lift = 0.05 * (1.0 - np.cos(0.01)), 0.1 * np.sin(0.01)
    assert np.allclose(gaps, [middle - lift] * 2 + [middle + lift] * 2, atol=1e-12)


def test_pairs_of_the_file_are_those_that_it_allows() -> None:
    b = fb.Builder("arm")
    grouped = [Surface(groups=1, meets=1), Surface(groups=2, meets=1), Surface(groups=1, meets=2)]
    parent = ""
    for k, surface in enumerate(grouped):
        ball = Geometry("sphere", (0.1,), role="collision", name=f"s{k}", surface=surface)
        more: dict[str, Any] = {"parent": parent} if parent else {}
        b.body(f"b{k}", joint=fb.joints.Revolute("y"), position=(0.3, 0, 0), **INERT, geometry=[ball], **more)
        parent = f"b{k}"
    b.body("loose", **FREE, geometry=[Geometry("sphere", (0.1,), role="collision", name="ball")])
    robot = b.build()
    names = {way: {x.replace(".0", "") for x in fb.Scene(robot, pairs=way).contacts} for way in ("objects", "file")}
    assert names["objects"] == {f"s{k}:ball" for k in range(3)}
    assert names["file"] == names["objects"] | {"s0:s2"}  # neighbours and other groups do not meet
    with pytest.raises(fb.ArgumentError, match="'file'"):
        fb.Scene(robot, pairs="some")


def test_shapes_added_by_name_touch_too() -> None:
    b = fb.Builder("two")
    for name in ("one", "other"):
        b.body(name, **FREE)
    shapes = [Shape("one", "ellipsoid", (0.1, 0.1, 0.2)), Shape("other", "cylinder", (0.2, 0.2))]
    scene = fb.Scene(b.build(), contacts=shapes, pairs=[("one", "other")])
    run = scene.simulate(np.concatenate([placed((0, 0, 0.35)), placed((0, 0, 0))]), duration=0.1)
    assert scene.contacts == ("one:other",) and np.isfinite(run.q).all()


def test_distances_at_the_start_of_many_pairs_are_those_of_each() -> None:
    """On moving links and fixed ones, of all kinds together: what is computed at once is what each pair has alone."""
    kinds = {"capsule": (0.05, 0.2), "box": (0.1, 0.1, 0.1), "cylinder": (0.1, 0.1), "ellipsoid": (0.1, 0.05, 0.1)}
    b = fb.Builder("many")
    b.world(Geometry("box", (0.3, 0.3, 0.1), role="collision", name="table"))
    for k, (kind, size) in enumerate(2 * [*kinds.items()]):
        b.body(f"b{k}", **FREE, geometry=[Geometry(kind, size, role="collision", name=f"s{k}")])
    robot = b.build()
    q = robot.neutral().reshape(-1, 7)
    q[:, :3] = np.random.default_rng(0).uniform(-1.0, 1.0, (8, 3))
    poses = {GROUND: IDENTITY} | {k: at(*x[:3]) for k, x in enumerate(q)}
    scene = fb.Scene(robot, contacts=[f"b{k}" for k in range(8)], pairs="all", grounded=[])
    pairs = {(x.geometry.manifold, x.links): x for x in scene.spec.candidates if isinstance(x.geometry, OneOf)}
    groups = [CandidateGroup((), [x]) for x in pairs.values()]
    together = nearest_candidates.find_distances(groups, poses)
    for group, gap in zip(groups, together, strict=True):
        (x,) = group.candidates
        assert isinstance(x.geometry, OneOf)
        alone = x.geometry.manifold.touches(*(poses[link] for link in x.links))
        assert np.isclose(gap, min(float(y.gap) for y in alone), rtol=0.0, atol=1e-12)
    assert len(groups) >= 28
