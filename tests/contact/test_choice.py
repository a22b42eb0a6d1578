"""Which shapes take part: groups, exclusions and pairs of files, solids of the world, meshes, too many points."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape, Solid
from fourbar.mechanism.geometry import Geometry
from fourbar.mechanism.placement import Placement

from .bodies import G, ball, free_body, placed

BALL = '<inertial pos="0 0 0" mass="1" diaginertia="0.004 0.004 0.004"/>'


def spheres(first: str, second: str, more: str = "") -> fb.System:
    """Two balls of a file above a floor, with attributes of their shapes, and rules."""
    pytest.importorskip("mujoco", reason="MJCF is read with MuJoCo")
    bodies = "".join(
        f'<body name="{name}" pos="{x} 0 0.2"><freejoint/>{BALL}'
        f'<geom name="{name}" type="sphere" size="0.1" {own}/></body>'
        for name, x, own in (("a", 0.0, first), ("b", 0.5, second))
    )
    floor = '<geom name="floor" type="plane" size="5 5 1"/>'
    return fb.loads(f"<mujoco><worldbody>{floor}{bodies}</worldbody>{more}</mujoco>", format="mjcf")


CHOICES = {
    "all": ("", "", "", ("a", "b", "a:b")),
    "by groups": ('contype="2" conaffinity="2"', "", "", ("b",)),
    "one side suffices": ('contype="0" conaffinity="1"', 'contype="0" conaffinity="1"', "", ("a", "b")),
    "excluded": ("", "", '<contact><exclude body1="a" body2="b"/></contact>', ("a", "b")),
    "a pair is named": (
        'contype="2" conaffinity="4"', 'contype="8" conaffinity="16"',
        '<contact><pair geom1="a" geom2="b" friction="0.3 0.3 0.005 0.0001 0.0001"/></contact>', ("a:b",)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_groups_and_rules_of_a_file_choose(name: str) -> None:
    first, second, more, wanted = CHOICES[name]
    scene = fb.Scene(spheres(first, second, more))
    assert scene.contacts == wanted
    if name == "a pair is named":
        assert scene.friction.tolist() == [0.3]


def test_what_is_named_takes_part_whatever_the_groups_say() -> None:
    robot = spheres('contype="2" conaffinity="4"', 'contype="8" conaffinity="16"')
    assert fb.Scene(robot).contacts == ()
    assert fb.Scene(robot, pairs=[("a", "b")]).contacts == ("a:b",)
    with pytest.raises(fb.ArgumentError, match="pairs=None: expected 'objects'"):
        fb.Scene(robot, pairs=None)
    assert fb.Scene(robot, grounded=["b"]).contacts == ("b",)
    assert fb.Scene(robot, fb.Plane()).contacts == ("a", "b")


def test_the_higher_priority_sets_the_friction() -> None:
    scene = fb.Scene(spheres('priority="1" friction="0.1 0 0"', 'friction="2 0 0"'))
    assert dict(zip(scene.contacts, scene.friction, strict=True)) == {"a": 0.1, "b": 2.0, "a:b": 0.1}


def test_a_file_that_switches_contacts_off_says_so() -> None:
    with pytest.warns(fb.SimulationWarning, match="switches contacts off"):
        scene = fb.Scene(spheres("", "", '<option><flag contact="disable"/></option>'))
    assert scene.contacts == ()


def arm(fixed_base: bool) -> fb.System:
    """A base with three links, each with a ball that overlaps its neighbours."""
    shape = [Geometry("sphere", (0.2,), role="collision")]
    b = fb.Builder("arm")
    joint = fb.joints.Fixed() if fixed_base else fb.joints.Free()
    b.body("base", joint=joint, mass=1.0, inertia=(0.01, 0.01, 0.01), geometry=shape)
    for k in range(3):
        b.body(f"link{k}", parent=f"link{k - 1}" if k else "base", joint=fb.joints.Revolute("y"), position=(0.3, 0, 0),
               mass=1.0, inertia=(0.01, 0.01, 0.01), geometry=shape)  # fmt: skip
    return b.build()


@pytest.mark.parametrize("fixed_base", [True, False])
def test_neighbours_do_not_touch_nor_do_links_of_one_robot_unless_asked(fixed_base: bool) -> None:
    robot = arm(fixed_base)
    assert fb.Scene(robot).contacts == ()
    found = {frozenset(x.split(":")) for x in fb.Scene(robot, pairs="all").contacts}
    assert found == {frozenset(x) for x in (("base", "link1"), ("base", "link2"), ("link0", "link2"))}


SOLIDS = {
    "sphere": (Solid("sphere", 0.3, (0.1, 0.2, 0.0)), lambda x: np.linalg.norm(x) - 0.3),
    "capsule": (
        Solid("capsule", (0.2, 0.4), (0.1, 0.2, 0.0)),
        lambda x: np.linalg.norm(x - [0, 0, np.clip(x[2], -0.2, 0.2)]) - 0.2,
    ),
    "box": (
        Solid("box", (0.4, 0.6, 0.2), (0.1, 0.2, 0.0)),
        lambda x: _outside(np.abs(x) - [0.2, 0.3, 0.1]),
    ),
    "cylinder": (
        Solid("cylinder", (0.3, 0.4), (0.1, 0.2, 0.0)),
        lambda x: _outside(np.array([np.hypot(x[0], x[1]) - 0.3, abs(x[2]) - 0.2])),
    ),
}


def _outside(d: np.ndarray) -> float:
    return float(np.linalg.norm(np.maximum(d, 0.0)) + min(d.max(), 0.0))


@pytest.mark.parametrize("kind", SOLIDS)
def test_solids_return_their_exact_distance(kind: str) -> None:
    """And the normal is its slope."""
    solid, distance = SOLIDS[kind]
    rng = np.random.default_rng(0)
    for point in rng.uniform(-0.7, 0.7, (50, 3)):
        gap, normal = solid.surface(_vec(point))
        assert abs(gap - distance(point - [0.1, 0.2, 0.0])) < 1e-12
        slope = [
            (distance(point + h - [0.1, 0.2, 0.0]) - distance(point - h - [0.1, 0.2, 0.0])) / 2e-6
            for h in 1e-6 * np.eye(3)
        ]
        assert np.allclose(normal, slope, atol=1e-5)


def _vec(x: np.ndarray):
    from fourbar.spatial.linear import Vec

    return Vec(x.tolist())


@pytest.mark.parametrize("kind", ["box", "cylinder", "sphere", "capsule"])
def test_a_ball_rests_on_a_solid_of_the_world_of_a_file(kind: str) -> None:
    pytest.importorskip("mujoco", reason="MJCF is read with MuJoCo")
    size = {"box": "0.5 0.5 0.25", "cylinder": "0.5 0.25", "sphere": "0.25", "capsule": "0.15 0.1"}[kind]
    robot = fb.loads(
        f"""<mujoco><worldbody><geom name="post" type="{kind}" size="{size}"/><body name="ball" pos="0 0 0.36">
        <freejoint/>{BALL}<geom type="sphere" size="0.1"/></body></worldbody></mujoco>""",
        format="mjcf",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scene = fb.Scene(robot)
    run = scene.simulate([0, 0, 0.36, 1, 0, 0, 0], duration=0.2)
    assert run.converged.all() and abs(run.q[-1, 2] - 0.35) < 1e-9
    assert np.allclose(run.contacts.force[-1], [[0, 0, G]])


def test_a_hull_or_cylinder_stands_on_a_table_that_is_a_body() -> None:
    b = fb.Builder("table")
    top = Geometry("box", (1.0, 1.0, 0.1), role="collision")
    b.body("table", joint=fb.joints.Fixed(), position=(0, 0, 0.45), geometry=[top])
    can = Geometry("cylinder", (0.05, 0.2), role="collision")
    b.body("can", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.00125), geometry=[can])
    scene = fb.Scene(b.build())
    run = scene.simulate(placed((0.3, 0.1, 0.6)), duration=0.1)
    assert np.abs(run.v[-1]).max() < 1e-9 and np.allclose(run.contacts.force[-1].sum(axis=0), [0, 0, G], atol=1e-6)


CUBE = "".join(f"v {x} {y} {z}\n" for x in (-1, 1) for y in (-1, 1) for z in (-0.5, 0.5))


def meshed(folder: Path) -> fb.System:
    """A block as a mesh of 20 x 20 x 10 cm."""
    (folder / "cube.obj").write_text(CUBE)
    mesh = Geometry("mesh", mesh="cube.obj", file=str(folder / "cube.obj"), scale=(0.1, 0.1, 0.1), role="collision",
                    placement=Placement(position=(0.0, 0.0, 0.02)))  # fmt: skip
    b = fb.Builder("block")
    b.body("block", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.006), geometry=[mesh])
    return b.build()


def test_a_mesh_stands_on_the_corners_of_its_hull_and_says_so(tmp_path: Path) -> None:
    with pytest.warns(fb.SimulationWarning, match=r"1 mesh touches with a few corners .* mm"):
        scene = fb.Scene(meshed(tmp_path), fb.Plane())
    assert len(scene.contacts) == 8
    run = scene.simulate(placed((0, 0, 0.05)), duration=0.3)
    assert run.converged.all() and abs(run.q[-1, 2] - 0.03) < 1e-9 and np.abs(run.v[-1]).max() < 1e-9
    with pytest.raises(fb.ArgumentError, match="mesh_points=3"):
        fb.Scene(meshed(tmp_path), fb.Plane(), mesh_points=3)


def test_a_mesh_without_file_is_named() -> None:
    b = fb.Builder("block")
    mesh = Geometry("mesh", mesh="nowhere.stl", role="collision")
    b.body("block", joint=fb.joints.Free(), mass=1.0, inertia=(1, 1, 1), geometry=[mesh])
    robot = b.build()
    with pytest.warns(fb.SimulationWarning, match="mesh of 'block', whose file was not found"):
        assert fb.Scene(robot, fb.Plane()).contacts == ()
    with pytest.raises(fb.ModelError, match="not simulated"):
        fb.Scene(robot, fb.Plane(), contacts=["block"])


def stool(legs: int) -> fb.System:
    """A block on legs that end in balls of radius 2 cm, 3 mm below boxes at their sides."""
    shapes = [Geometry("box", (0.5, 0.5, 0.1), Placement(position=(0.0, 0.0, 0.4)), "collision", name="seat")]
    for k in range(legs):
        x, y = 0.3 * np.cos(k * 2 * np.pi / legs), 0.3 * np.sin(k * 2 * np.pi / legs)
        shapes.append(Geometry("sphere", (0.02,), Placement(position=(x, y, 0.02)), "collision", name=f"foot{k}"))
        shapes.append(Geometry("box", (0.03, 0.03, 0.2), Placement(position=(x, y, 0.2)), "collision", name=f"leg{k}"))
    b = fb.Builder("stool")
    b.body("stool", joint=fb.joints.Free(), mass=1.0, inertia=(0.05, 0.05, 0.05), geometry=shapes)
    return b.build()


def test_links_with_many_points_have_slots_for_their_nearest() -> None:
    """A stool of 53 points falls on its side: no corner of the seat is below the floor, in any sample."""
    scene = fb.Scene(stool(5), fb.Plane(), pairs="none")
    assert scene.contacts == tuple(f"stool.nearest{k}" for k in range(6))
    q = scene.start()
    q[3:7] = np.cos(0.4), np.sin(0.4), 0.0, 0.0  # tilted, so that it falls on its side
    starts = np.array([scene.start(q), scene.start()])
    run = scene.simulate(starts, duration=1.0, dt=2e-3)
    assert run.converged.all()
    corners = np.array([[x, y, z] for x in (-0.25, 0.25) for y in (-0.25, 0.25) for z in (0.35, 0.45)])
    for rows in run.q[:, 0]:
        T = scene.robot.pose(rows, "stool")
        assert (corners @ T[:3, :3].T + T[:3, 3])[:, 2].min() > -1e-3
    assert np.abs(run.contacts.force[-1, 1].sum(axis=0) - (0.0, 0.0, 9.81)).max() < 1e-3
    alone = scene.simulate(starts[0], duration=1.0, dt=2e-3)
    assert np.array_equal(alone.q, run.q[:, 0])


def test_slots_take_the_points_with_the_least_gaps() -> None:
    """In random poses: gaps of the first two slots are the least of all points, the least first."""
    scene = fb.Scene(stool(5), fb.Plane(normal=(0.1, 0.2, 1.0)), pairs="none")
    every = fb.Scene(stool(5), fb.Plane(normal=(0.1, 0.2, 1.0)), contacts=["stool"], pairs="none")
    q = scene.robot.random(rng=1, n=20)
    gaps, least = (x.rollout(q, dt=1e-3, steps=1).contacts.gap[1] for x in (every, scene))
    assert len(every.contacts) == 53
    assert np.allclose(np.sort(gaps, axis=-1)[:, :2], least[:, :2], atol=1e-14)
    others = least[:, 2:]
    assert all(x in row for row, some in zip(gaps, others, strict=True) for x in some[np.isfinite(some)])


def test_a_body_on_many_points_rests() -> None:
    """A plate of eight boxes stands on 32 corners, of which six have slots: it does not rock, nor creep."""
    b = fb.Builder("plate")
    places = [(0.1 * i, 0.1 * j, 0.0) for i in range(4) for j in range(2)]
    boxes = [Geometry("box", (0.1, 0.1, 0.1), Placement(position=x), "collision") for x in places]
    b.body("plate", joint=fb.joints.Free(), mass=1.0, com=(0.15, 0.05, 0.0), inertia=(0.01, 0.01, 0.02), geometry=boxes)
    scene = fb.Scene(b.build(), fb.Plane(0.6))
    q = scene.robot.neutral()
    q[2] = 0.06
    run = scene.simulate(q, duration=1.5, dt=2e-3, every=10)
    assert len(scene.contacts) == 6 and run.converged.all()
    assert np.nanmin(run.contacts.gap) > -1e-8 and np.abs(run.q[-1] - run.q[40]).max() < 1e-8
    assert np.abs(run.contacts.force[-1].sum(axis=0) - (0.0, 0.0, 9.81)).max() < 1e-6
    assert np.abs(run.contacts.force[-1, :, :2]).max() < 1e-6


def test_numbers_of_terrain_reach_points_in_slots() -> None:
    scene = fb.Scene(stool(5), fb.Plane(), pairs="none")
    normals = np.array([(0.0, 0.0, 1.0), (0.3, 0.0, 1.0)])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    q = np.tile(scene.start(), (2, 1))
    run = scene.rollout(q, dt=1e-3, steps=1, numbers={"terrain.normal": normals})
    for k, normal in enumerate(normals):
        own = fb.Scene(stool(5), fb.Plane(normal=tuple(normal)), pairs="none")
        assert np.allclose(own.rollout(q[:1], dt=1e-3, steps=1).contacts.gap[1, 0], run.contacts.gap[1, k], atol=1e-12)


def test_between_objects_the_nearest_pairs_take_part_all_at_one_distance_or_none() -> None:
    """A ball far away makes more pairs of points than take part: a warning names those that are left out."""
    b = fb.Builder("two")
    shape = Geometry("box", (0.02, 0.02, 0.02), Placement(position=(9.0, 0.0, 5.0)), "collision", name="cube")
    b.body("cube", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=[shape])
    robot = stool(5).attach(b.build(), "world")
    with pytest.warns(fb.SimulationWarning) as caught:
        scene = fb.Scene(robot, fb.Plane())
    every = fb.Scene(robot, fb.Plane(), contacts=["cube", "stool"])
    (message,) = {str(x.message) for x in caught}
    assert "those that are nearest at the start" in message and "contacts=[...]" in message
    pairs = [name for name in scene.contacts if ":" in name]
    of_all = [name for name in every.contacts if ":" in name]
    assert len(pairs) <= 40 < len(of_all)
    through = message.split("Pairs of shapes that pass through each other: ")[1].split(".")[0]
    for name in through.split(" and ")[0].split(", "):
        assert not any(x.startswith(name) for x in pairs)


def test_a_robot_whose_neutral_configuration_is_beyond_its_limits_starts_at_them() -> None:
    b = fb.Builder("leg")
    b.body("hip", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.body(
        "shank", parent="hip", joint=fb.joints.Revolute("y"), mass=0.1, inertia=(1e-3, 1e-3, 1e-3), limits=(-2.0, -0.5)
    )
    scene = fb.Scene(b.build(), fb.Plane(), contacts=["shank"])
    assert scene.start()[-1] == -0.5


def test_many_points_carry_as_few_do() -> None:
    """A plate on 15 points: rows that are solved link by link, and G as with four."""
    robot = free_body("box", (0.2, 0.2, 0.1), 1.0, (0.004, 0.004, 0.006))
    grid = [(x, y) for x in np.linspace(-0.1, 0.1, 5) for y in np.linspace(-0.1, 0.1, 3)]
    few = [Shape("body", position=(x, y, -0.05)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    runs = []
    for points in (few, [Shape("body", position=(x, y, -0.05)) for x, y in grid]):
        scene = fb.Scene(robot, fb.Plane(0.3, normal=(0.5, 0.0, 1.0)), contacts=points)
        start = placed(0.05 * np.array(scene.terrains[0].normal), (0, 1, 0), np.arctan(0.5))  # type: ignore[attr-defined]
        runs.append(scene.simulate(start, duration=0.1))
    few_run, many = runs
    assert many.converged.all()
    assert np.allclose(many.v[-1], few_run.v[-1], atol=1e-8) and np.abs(many.v[-1]).max() > 0.1
    total = [run.contacts.force[-1].sum(axis=0) for run in runs]
    assert np.allclose(*total, atol=1e-5)


@pytest.mark.filterwarnings("ignore::fourbar.SimulationWarning")  # hyperstatic where all links lie on the floor
@pytest.mark.slow
def test_many_rows_of_joints_contacts_and_pairs() -> None:
    """A straight chain of balls with limits and dry friction falls on a floor: rows that cannot move are there too."""
    shape = [Geometry("sphere", (0.05,), role="collision")]
    b = fb.Builder("chain")
    for k in range(6):
        joint = fb.joints.Revolute("xy"[k % 2]) if k else fb.joints.Free()
        limits = {"limits": (-0.5, 0.5), "friction": 0.01} if k else {}
        b.body(f"link{k}", parent=f"link{k - 1}" if k else "world", joint=joint, position=(0.12, 0, 0), mass=0.3,
               inertia=(5e-4, 5e-4, 5e-4), geometry=shape, **limits)  # fmt: skip
    robot = b.build()
    scene = fb.Scene(robot, fb.Plane(0.7), pairs="all")
    assert scene.n_impulses > 40
    q, v = robot.neutral(), 0.1 * np.ones(robot.nv)
    q[2] = 0.06
    many = scene.simulate(np.tile(q, (3, 1)), np.tile(v, (3, 1)), duration=0.06, every=10)
    assert many.contacts.found.any() and many.worst.max() < 1e-4 and np.nanmin(many.contacts.gap) > -1e-4
    assert np.array_equal(many.converged, many.worst <= 1e-10)
    one = scene.simulate(q, v, duration=0.06, every=10)
    assert np.array_equal(many.q[:, 1], one.q) and np.array_equal(many.contacts.force[:, 2], one.contacts.force)


def test_messages_name_what_to_do() -> None:
    with pytest.raises(fb.ModelError, match=re.escape("kind must be one of sphere, capsule, box, cylinder")):
        Solid("ellipsoid", (1, 1, 1))
    with pytest.raises(fb.ModelError, match="radius, length"):
        Solid("cylinder", 1.0)
    scene = fb.Scene(ball(), Solid("box", (1, 1, 0.2)), Solid("sphere", 0.5, (2, 0, 0)))
    assert scene.contacts == ("body", "body:terrain1")


def test_a_robot_without_shapes_on_terrain_is_reported() -> None:
    robot = fb.robots.double_pendulum()
    with pytest.warns(fb.SimulationWarning, match="no collision shapes"):
        fb.Scene(robot, fb.Plane())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.Scene(robot)
        fb.Scene(robot, fb.Plane(), contacts=[])
