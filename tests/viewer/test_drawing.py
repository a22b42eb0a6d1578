"""What is drawn of a robot: surfaces, places, sizes; and files that are read again by another library."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.mechanism.geometry import Geometry
from fourbar.mechanism.placement import Placement
from fourbar.shapes import Capsule
from fourbar.sim.motions.results import load_recording
from fourbar.spatial.linear import Vec
from fourbar.viewer import recorded_motion, triangles
from fourbar.viewer.gltf import glb
from fourbar.viewer.look import direction, eye_and_middle
from fourbar.viewer.mesh_files import read_mesh
from fourbar.viewer.overlays import half_axes
from fourbar.viewer.recorded_motion import (
    RecordedMotion,
    continuous,
    draw,
    hold_last_finite,
    matrices,
    quaternions,
    still,
)
from fourbar.viewer.terrain_surfaces import surface_of
from fourbar.viewer.view import recording_of

pytestmark = pytest.mark.quick


def volume(solid: triangles.TriangleSurface) -> float:
    """The volume inside a closed surface whose triangles turn outwards."""
    a, b, c = np.moveaxis(solid.vertices[solid.faces].astype(float), 1, 0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


@pytest.mark.parametrize(
    ("solid", "wanted"),
    [
        (triangles.box(1.0, 2.0, 3.0), 6.0),
        (triangles.cylinder(0.5, 2.0, 200), np.pi * 0.25 * 2.0),
        (triangles.sphere(1.0, 96), 4.0 / 3.0 * np.pi),
        (triangles.surface_of(Capsule(0.5, 1.0), 96), np.pi * 0.25 + np.pi / 6.0),
        (triangles.ellipsoid(1.0, 2.0, 0.5), 4.0 / 3.0 * np.pi),
    ],
)
def test_shapes_have_their_volume_and_normals_point_out(solid: triangles.TriangleSurface, wanted: float) -> None:
    assert volume(solid) == pytest.approx(wanted, rel=0.03)
    assert np.allclose(np.linalg.norm(solid.normals, axis=1), 1.0, atol=1e-5)
    assert (np.einsum("ij,ij->i", solid.vertices, solid.normals) > 0.0).all()


def test_edges_stay_sharp_and_round_things_smooth() -> None:
    box, ball = triangles.box(1.0, 1.0, 1.0), triangles.sphere(1.0)
    assert sorted(map(tuple, np.abs(box.normals).round(6).tolist())).count((0.0, 0.0, 1.0)) == 8
    assert np.abs(ball.normals - ball.vertices).max() < 0.05


def test_fewer_triangles_look_alike() -> None:
    ball = triangles.sphere(1.0, 160)
    fewer = triangles.shade(*triangles.simplify(ball.vertices, ball.faces, 2000))
    assert 500 < len(fewer.faces) <= 2000
    assert volume(fewer) == pytest.approx(volume(ball), rel=0.05)


def test_quaternions_of_all_turns() -> None:
    R = matrices(np.random.default_rng(0).normal(size=(500, 4)))
    half = matrices(np.eye(4)[1:])  # half turns about the axes
    for x in (R, half):
        assert np.abs(matrices(quaternions(x)) - x).max() < 1e-14
    angle = np.linspace(0.0, 4.0 * np.pi, 100)
    turning = matrices(np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=1))
    assert np.abs(np.diff(continuous(quaternions(turning)), axis=0)).max() < 0.1


def test_directions_become_the_third_axis() -> None:
    z = np.random.default_rng(1).normal(size=(40, 3))
    T = triangles.pointing(z, z)
    assert np.allclose(T[:, :3, 2], z / np.linalg.norm(z, axis=1, keepdims=True))
    assert np.allclose(np.linalg.det(T[:, :3, :3]), 1.0) and np.allclose(T[:, :3, 3], z)


def test_a_robot_without_shapes_is_drawn_as_sticks() -> None:
    robot = fb.robots.double_pendulum()
    drawing = draw(robot)
    names = {item.name for item in drawing.items if item.layer == "shapes"}
    assert names == {"upper/stick", "lower/stick", "shoulder/marker", "elbow/marker"}
    assert set(drawing.layers) == {"shapes", "frames", "axes", "mass", "inertia"}
    assert 0.8 < drawing.size < 1.1  # 0.9 m long


def test_places_are_poses_and_the_centre_of_mass() -> None:
    robot = fb.robots.delta()
    drawing, q = draw(robot), robot.random(0, n=3)
    places = drawing.places(q)
    bodies = len(robot.names.bodies)
    assert places.shape == (3, drawing.world + 1, 4, 4)
    assert np.array_equal(places[:, :bodies], robot.poses(q))
    assert np.allclose(places[:, bodies, :3, 3], robot.center_of_mass(q), atol=1e-12)
    assert np.array_equal(places[:, -1], np.broadcast_to(np.eye(4), (3, 4, 4)))


def test_rods_of_loops_join_their_ends() -> None:
    robot = fb.robots.delta()
    drawing, q = draw(robot), robot.random(1)
    places, names = drawing.places(q), list(robot.names.bodies)
    for k, named in enumerate(robot.mechanism.loops):
        loop: Any = named.loop
        T = places[len(names) + 1 + k]
        end = robot.pose(q, loop.successor) @ np.array([*loop.successor_point, 1.0])
        assert np.allclose(T[:3, :3] @ (0.0, 0.0, loop.length) + T[:3, 3], end[:3], atol=1e-9)


def shapely() -> fb.System:
    """A body with one shape of each kind, seen and touched, and a mesh that is not there."""
    at = Placement(position=(0.1, 0.0, 0.0))
    kinds: list[Any] = [("box", (0.1, 0.1, 0.1)), ("sphere", (0.05,)), ("cylinder", (0.05, 0.2)),
                        ("capsule", (0.05, 0.2)), ("ellipsoid", (0.1, 0.2, 0.3))]  # fmt: skip
    shapes = [Geometry(kind, size, at, role) for kind, size in kinds for role in ("visual", "collision")]
    shapes.append(Geometry("mesh", mesh="package://nowhere/arm.stl"))
    b = fb.Builder("shapely")
    b.body("body", joint=fb.joints.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=shapes)
    return b.build()


def test_all_kinds_of_shapes_and_a_missing_mesh() -> None:
    drawing = draw(shapely())
    assert not any(item.layer == "collision" for item in drawing.items) and "collision" in drawing.layers
    drawing = drawing.complete()  # only now are the meshes of collision shapes read
    assert sum(item.layer == "collision" for item in drawing.items) == 5
    assert sum(item.layer == "shapes" for item in drawing.items) == 6  # a box in place of the mesh
    (note,) = drawing.notes
    assert "arm.stl" in note and "folders" in note
    with pytest.raises(fb.ArgumentError, match="shape"):
        draw(shapely(), [0.0, 1.0])


def test_a_robot_whose_meshes_are_all_missing_is_still_seen() -> None:
    b = fb.Builder("arm")
    for name, parent in (("upper", "world"), ("lower", "upper")):
        own = [Geometry("mesh", mesh=f"package://nowhere/{name}.stl")]
        b.body(name, parent=parent, joint=fb.joints.Revolute("y"), position=(0, 0, -0.5), mass=1.0,
               inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, -0.2), geometry=own)  # fmt: skip
    names = [item.name for item in draw(b.build()).items if item.layer == "shapes"]
    assert {"upper/shapes/0", "lower/shapes/0", "upper/stick", "lower/stick"} <= set(names)


def test_the_ellipsoid_has_the_inertia_of_its_body() -> None:
    R = matrices(np.array([0.9, 0.1, -0.3, 0.2]))
    half = np.array([0.1, 0.2, 0.4])
    moments = 3.0 / 5.0 * (half @ half - half**2)
    b = fb.Builder("one")
    b.body("body", joint=fb.joints.Free(), mass=3.0, inertia=R @ np.diag(moments) @ R.T)
    found = half_axes(b.build().mechanism.bodies[0])
    assert found is not None and np.allclose(sorted(found[0]), half)
    assert np.allclose(found[1] @ np.diag(found[0]) @ found[1].T, R @ np.diag(half) @ R.T)


def test_an_ellipsoid_larger_than_the_robot_does_not_hide_it() -> None:
    """A rotor of a gram with the inertia of a wheel, as some files have it."""
    b = fb.Builder("arm")
    b.body("upper", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))
    b.body("rotor", parent="upper", joint=fb.joints.Revolute("y"), position=(0.4, 0, 0), mass=1e-3,
           inertia=(1e-3, 1e-3, 1e-3))  # fmt: skip
    items = {item.name: item for item in draw(b.build()).items if item.layer == "inertia"}
    good, doubtful = items["upper/inertia"].colour, items["rotor/inertia"].colour
    assert doubtful[3] < 0.1 < good[3] and doubtful[0] > doubtful[2] and good[2] > good[0]


def test_the_ground_is_where_the_terrain_is() -> None:
    bounds = np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]])
    slope = fb.Plane(point=(0.0, 0.0, -0.2), normal=(0.3, 0.0, 1.0))
    field = fb.HeightField([[0.0, 0.1, 0.2], [0.0, 0.3, 0.1]], spacing=(0.5, 0.5), origin=(-0.5, -0.5))
    waves = fb.SignedDistance(lambda x, y, z: z - 0.1 * fb.sin(3.0 * x))
    for terrain in (slope, field, waves):
        solid = surface_of(terrain, bounds, 1.0)
        assert solid is not None
        gaps = [float(terrain.surface(Vec(p)).gap) for p in solid.vertices.astype(float).tolist()[::7]]
        assert np.abs(gaps).max() < 1e-5
        reach = np.ptp(solid.vertices, axis=0)
        assert reach[0] > 2.0 and reach[1] > 2.0


def test_states_that_are_not_finite_are_held() -> None:
    q = np.array([[[0.0], [np.nan]], [[1.0], [2.0]], [[np.nan], [np.nan]]])
    assert hold_last_finite(q, np.array([9.0]))[..., 0].tolist() == [[0.0, 9.0], [1.0, 2.0], [1.0, 2.0]]


def test_recordings_are_thinned_and_refuse_nonsense() -> None:
    robot = fb.robots.double_pendulum()
    t = np.linspace(0.0, 1.0, 1001)
    recording = RecordedMotion.of(robot, t, np.zeros((1001, 5, 2)))
    thin = recording.sample(30.0)
    assert len(thin.t) == 31 and thin.t[-1] == 1.0 and thin.q.shape == (31, 5, 2)
    with pytest.raises(fb.ArgumentError, match="has no robot"):
        RecordedMotion.of(None, t, np.zeros((1001, 2)))
    with pytest.raises(fb.ArgumentError, match="no states"):
        RecordedMotion.of(robot, np.zeros(0), np.zeros((0, 2)))
    with pytest.raises(fb.ArgumentError, match="configurations"):
        RecordedMotion.of(robot, t, np.zeros((1001, 3)))


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The JSON and the numbers of a .glb file."""
    magic, version, length = struct.unpack("<4sII", data[:12])
    assert (magic, version, length) == (b"glTF", 2, len(data))
    size, kind = struct.unpack("<I4s", data[12:20])
    assert kind == b"JSON" and size % 4 == 0
    more, kind = struct.unpack("<I4s", data[20 + size : 28 + size])
    assert kind == b"BIN\0" and more % 4 == 0 and len(data) == 28 + size + more
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def numbers(file: dict[str, Any], data: bytes, k: int) -> np.ndarray:
    """An accessor as an array."""
    accessor = file["accessors"][k]
    view = file["bufferViews"][accessor["bufferView"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
    found = np.frombuffer(
        data, {5126: "<f4", 5125: "<u4"}[accessor["componentType"]], accessor["count"] * width, view["byteOffset"]
    )
    assert found.nbytes == view["byteLength"] and view["byteOffset"] % 4 == 0
    return found.reshape(-1, width)


def test_keyframes_are_the_poses_of_the_bodies(tmp_path: Path) -> None:
    robot = fb.robots.four_bar()
    run = fb.simulate(robot, robot.assemble([0.8, 0.0, 0.0], keep=["link1_joint"]), [3.0], duration=0.5, dt=0.01)
    run.save(tmp_path / "run.glb", ghosts=3)
    file, data = parts((tmp_path / "run.glb").read_bytes())
    (animation,) = file["animations"]
    poses = robot.poses(run.q[[np.abs(run.t - t).argmin() for t in np.linspace(0.0, 0.5, 31)]])
    seen = set()
    for channel in animation["channels"]:
        name, path = file["nodes"][channel["target"]["node"]]["name"], channel["target"]["path"]
        body = robot.names.bodies.index(name)
        sampler = animation["samplers"][channel["sampler"]]
        x, t = numbers(file, data, sampler["output"]), numbers(file, data, sampler["input"])[:, 0]
        assert np.allclose(t, run.t[[np.abs(run.t - s).argmin() for s in np.linspace(0.0, 0.5, 31)]], atol=1e-6)
        wanted = poses[:, body, :3, 3] if path == "translation" else poses[:, body, :3, :3]
        got = x if path == "translation" else matrices(x[:, [3, 0, 1, 2]].astype(float))
        assert np.abs(got - wanted).max() < 1e-6
        seen.add((name, path))
    turning = np.ptp(poses[..., :3, :3], axis=0).max(axis=(1, 2)) > 1e-5  # in a parallelogram the coupler does not
    assert {name for name, path in seen if path == "rotation"} == set(np.array(robot.names.bodies)[turning])
    assert turning.sum() == 2
    for accessor in (a for a in file["accessors"] if "min" in a and a["type"] == "VEC3"):
        assert (np.array(accessor["max"]) >= np.array(accessor["min"])).all()
    assert sum(node.get("name", "").startswith("ghost") for node in file["nodes"]) == 3
    camera = file["extras"]["camera"]  # all that page.js reads
    assert {*camera} == {"bounds", "start", "fit"} and all(
        np.isfinite(x).all() and len(x) == 2 for x in camera.values()
    )


def test_glb_is_read_by_trimesh(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    robot = fb.robots.stewart_platform()
    drawing = draw(robot)
    scene = trimesh.load(io.BytesIO(glb(still(robot))), file_type="glb")
    (x0, y0, z0), (x1, y1, z1) = scene.bounds  # y is upwards there
    assert np.abs(np.array([[x0, -z1, y0], [x1, -z0, y1]]) - drawing.bounds).max() < 0.02 * drawing.size
    visible = [item for item in drawing.items if item.layer == "shapes"]
    assert sum(len(g.faces) for g in scene.geometry.values()) > 0
    assert len(scene.graph.nodes_geometry) == len(visible)


def test_a_mesh_file_keeps_its_colours_and_place(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    red = trimesh.creation.box(extents=(0.2, 0.1, 0.1))
    red.visual = trimesh.visual.TextureVisuals(
        material=trimesh.visual.material.PBRMaterial(baseColorFactor=[255, 0, 0, 255])
    )
    trimesh.Scene([red]).export(str(tmp_path / "red.glb"))
    (tmp_path / "broken.stl").write_text("solid nothing", encoding="utf-8")
    shapes = [Geometry("mesh", mesh="red.glb", file=str(tmp_path / "red.glb"), scale=(2.0, 2.0, 2.0)),
              Geometry("mesh", mesh="broken.stl", file=str(tmp_path / "broken.stl"))]  # fmt: skip
    b = fb.Builder("meshed")
    b.body("body", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=shapes)
    drawing = draw(b.build())
    good, lost = (item for item in drawing.items if item.layer == "shapes")
    assert good.colour[:3] == (1.0, 0.0, 0.0)
    assert np.allclose(np.ptp(good.solid.vertices, axis=0), (0.4, 0.2, 0.2))
    assert "broken.stl" in drawing.notes[0] and lost.colour != good.colour


def test_shapes_of_a_scene_are_drawn_and_kept_in_files(tmp_path: Path) -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004), com=(0.0, 0.0, 0.05))
    b.frame("hook", "ball", position=(0.0, 0.0, 0.2))
    ball, hook = fb.contact.Shape("ball", "sphere", 0.1), fb.contact.Shape("hook", "box", (0.1, 0.1, 0.1), (0.1, 0, 0))
    step = fb.contact.Solid("box", (0.4, 0.4, 0.1), position=(0.0, 0.0, -0.05))
    scene = fb.Scene(b.build(), step, contacts=[ball, hook, fb.contact.Shape("ball")], pairs="none")
    run = scene.simulate([0.0, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0], duration=0.01, every=5)
    run.save(tmp_path / "run.npz")
    for recording in (recording_of(scene), run.recording, load_recording(tmp_path / "run.npz")):
        drawn = recording.drawing()
        seen = [x for x in drawn.items if x.layer == "shapes"]
        assert [x.name for x in seen] == ["ball/shapes/0", "ball/shapes/1"], "shapes, no stick, and no point"
        assert np.allclose(seen[1].placement[:3, 3], (0.1, 0.0, 0.2))
        (ground,) = (x for x in drawn.items if x.layer == "ground")
        assert np.allclose(ground.solid.bounds, [(-0.2, -0.2, -0.1), (0.2, 0.2, 0.0)])


def test_what_stands_in_the_world_of_a_file_is_drawn_once(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "scene.xml").write_text(
        "<mujoco><worldbody><geom type='box' size='1 1 0.1' pos='0 0 -0.1'/><body pos='0 0 0.1'><freejoint/>"
        "<geom type='sphere' size='0.1'/></body></worldbody></mujoco>",
        encoding="utf-8",
    )
    drawn = recording_of(fb.load_scene(tmp_path / "scene.xml")).drawing()
    assert sum(x.layer == "ground" for x in drawn.items) == 1


def test_a_floor_of_a_file_is_drawn_once() -> None:
    """A plane of the world is terrain of a scene too; as a shape and as terrain it would fight for pixels."""
    b = fb.Builder("ball").world(Geometry("plane", role="collision", name="floor"))
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    robot = b.build()
    scene = fb.Scene(robot, contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    assert [type(x).__name__ for x in scene.terrains] == ["Plane"]
    floors = [x for x in recording_of(scene).drawing().items if x.layer == "ground"]
    assert len(floors) == 1 and floors[0].tile > 0.0
    other = draw(robot, terrains=[fb.Plane(point=(0.0, 0.0, 0.3))])
    assert sum(x.layer == "ground" for x in other.items) == 2, "a plane at another height is drawn"


def test_the_ground_and_the_camera_reach_as_far_as_all_worlds() -> None:
    b = fb.Builder("brick")
    b.body("brick", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    t, q = np.linspace(0.0, 1.0, 5), np.zeros((5, 64, 7))
    q[..., 2], q[..., 3] = 0.1, 1.0
    q[..., 0] = 3.0 * t[:, None]
    shape = fb.contact.Shape("brick", "sphere", 0.5)
    recording = RecordedMotion.of(b.build(), t, q, terrains=(fb.Plane(),), touching=(shape,), spread=4.0)
    drawing = recording.drawing()
    floor = next(x.solid for x in drawing.items if x.layer == "ground").bounds
    places = recording.places(drawing)[..., 0, :3, 3].reshape(-1, 3)
    low, high = recording.bounds(drawing)
    for box in (floor[:, :2], np.array([low, high])[:, :2]):
        assert (box[0] <= places[:, :2].min(axis=0)).all() and (box[1] >= places[:, :2].max(axis=0)).all()
    assert not recording.follows(None) and recording.follows(True)
    q[..., 0] *= 100.0
    assert RecordedMotion.of(recording.robot, t, q).follows(None), "too far to be shown whole"


def test_robots_spread_over_the_ground_are_seen_from_the_side_of_a_robot() -> None:
    """Not from above, as a flat mechanism is: their box is flat, they are not."""
    robot, spread = np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]]), np.array([[-30.0, -30.0, 0.0], [30.0, 30.0, 1.0]])
    flat = np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 0.01]])
    alone, many, above = direction(robot, robot), direction(spread, robot), direction(flat, flat)
    assert alone[1] < many[1] < 0.8 < above[1]
    assert alone[0] == many[0]
    eye, middle = eye_and_middle(spread, robot)
    assert np.arcsin((eye - middle)[2] / np.linalg.norm(eye - middle)) == pytest.approx(many[1])


def test_clusters_have_colours_of_their_own() -> None:
    robot = fb.robots.tello()
    tree = robot.model.cluster_tree
    items = draw(robot, colour="clusters").items
    of = {x.name.removesuffix("/stick"): x.colour for x in items if x.name.endswith("/stick")}
    for cluster in tree.clusters:
        own = {of[name] for name in of if name in tree.bodies and tree.bodies[name].link in cluster.links}
        assert len(own) <= 1
    assert len({of[name] for name in of if name in tree.bodies}) > 4
    with pytest.raises(fb.ArgumentError, match="clusters"):
        recorded_motion.colour_recording(recording_of(robot), "rainbow")


def test_colours_of_meshes_with_texture_coordinates(tmp_path: Path) -> None:
    """Without a material there is none; of a texture the part counts that the mesh uses: here its lower half."""
    pytest.importorskip("trimesh", reason="trimesh is not installed: the extra 'view'")
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    plate = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0.1 0.1\nvt 0.9 0.1\nvt 0.1 0.4\nf 1/1 2/2 3/3\n"
    (tmp_path / "bare.obj").write_text(plate)
    assert [x.colour for x in read_mesh(str(tmp_path / "bare.obj"))] == [None]
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:4], pixels[4:] = (0, 0, 255), (255, 0, 0)  # blue above red
    image.fromarray(pixels).save(tmp_path / "paint.png")
    (tmp_path / "plate.mtl").write_text("newmtl paint\nmap_Kd paint.png\n")
    (tmp_path / "plate.obj").write_text("mtllib plate.mtl\nusemtl paint\n" + plate)
    assert [x.colour for x in read_mesh(str(tmp_path / "plate.obj"))] == [(1.0, 0.0, 0.0, 1.0)]
    (tmp_path / "plate.mtl").write_text("newmtl paint\nKd 0.0 1.0 0.0\n")
    (tmp_path / "other.obj").write_text("mtllib plate.mtl\nusemtl paint\n" + plate)
    assert [x.colour for x in read_mesh(str(tmp_path / "other.obj"))] == [(0.0, 1.0, 0.0, 1.0)]
