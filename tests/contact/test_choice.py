"""Which shapes take part: groups, exclusions and pairs of files, solids of the world, meshes, too many points."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

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


def test_of_too_many_points_the_feet_and_what_lies_far_apart_take_part() -> None:
    """All feet, and corners of the seat and of every leg: whichever way it falls, nothing sinks."""
    for legs in (4, 5):
        with pytest.warns(fb.SimulationWarning, match=r"points may touch, 40 of them are simulated"):
            scene = fb.Scene(stool(legs), fb.Plane(), pairs="none")
        assert len(scene.contacts) == 40 and {f"foot{k}" for k in range(legs)} <= set(scene.contacts)
        assert sum(name.startswith("seat") for name in scene.contacts) >= 4
        for k in range(legs):
            assert any(name.startswith(f"leg{k}.") for name in scene.contacts)
    q = scene.start()
    q[3:7] = np.cos(0.4), np.sin(0.4), 0.0, 0.0  # tilted, so that it falls on its side
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = scene.simulate(scene.start(q), duration=1.0, dt=2e-3)
    T = scene.robot.pose(run.q[-1], "stool")
    corners = np.array([[x, y, z] for x in (-0.25, 0.25) for y in (-0.25, 0.25) for z in (0.35, 0.45)])
    assert (corners @ T[:3, :3].T + T[:3, 3])[:, 2].min() > -1e-3


def test_between_objects_the_nearest_shapes_take_part_all_at_one_height_or_none() -> None:
    """Four legs fit, five do not: none of them is preferred. A ball far away makes pairs of objects."""
    b = fb.Builder("two")
    shape = Geometry("sphere", (0.02,), Placement(position=(9.0, 0.0, 5.0)), "collision", name="ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=[shape])
    ball = b.build()
    for legs, points in ((4, 37), (5, 6)):
        with pytest.warns(fb.SimulationWarning, match=rf"{points} of them are simulated.*seat"):
            scene = fb.Scene(stool(legs).attach(ball, "world"), fb.Plane())
        assert ("leg2.7" in scene.contacts) == (legs == 4) and "seat.0" not in scene.contacts


@pytest.mark.parametrize("pairs", ["objects", [("ball", "seat")]])
def test_a_warning_names_pairs_that_are_left_out_and_naming_bodies_brings_them_back(pairs: Any) -> None:
    """A ball beside a stool of 53 points: six points of feet and ball are simulated, and the two do not touch."""
    b = fb.Builder("ball")
    shape = Geometry("sphere", (0.02,), Placement(position=(9.0, 0.0, 5.0)), "collision", name="ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=[shape])
    robot = stool(5).attach(b.build(), "world")
    with pytest.warns(fb.SimulationWarning) as caught:
        scene = fb.Scene(robot, fb.Plane(), pairs=pairs)
    every = fb.Scene(robot, fb.Plane(), pairs=pairs, contacts=["ball", "stool"])
    (message,) = {str(x.message) for x in caught}
    assert f"{len(every.contacts)} points may touch, {len(scene.contacts)} of them are simulated" in message
    assert len(scene.contacts) == 6 and not any(":" in name for name in scene.contacts)
    through = message.split("Pairs of shapes that pass through each other: ")[1].split(".")[0]
    assert {"seat", "ball"} == set(through.split(", ")[0].split(":"))
    assert "Shapes that pass through terrain: seat, leg0, leg1, leg2, leg3, leg4." in message
    assert "shapes of equal height together" in message and "only some of their points" not in message
    assert any({"seat", "ball"} == set(name.split(":")) for name in every.contacts)


def test_a_warning_names_cylinders_that_keep_some_points_of_their_rims() -> None:
    b = fb.Builder("wheels")
    shapes = [Geometry("cylinder", (0.1, 0.05), Placement(position=(k, 0.0, k)), "collision", name=f"wheel{k}")
              for k in range(8)]  # fmt: skip
    b.body("wheels", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=shapes)
    with pytest.warns(fb.SimulationWarning, match="48 points may touch, 39 of them are simulated") as caught:
        scene = fb.Scene(b.build(), fb.Plane())
    message = str(caught[0].message)
    points = {f"wheel{k}": sum(name.startswith(f"wheel{k}.") for name in scene.contacts) for k in range(8)}
    partly = ", ".join(name for name, n in points.items() if 0 < n < 6)
    assert points["wheel0"] == 6 and partly and f"sink into terrain between them: {partly}" in message
    assert "Pairs" not in message and "points of the others that are far apart" in message


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
