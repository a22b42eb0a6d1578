"""fourbar's own file: every robot comes back bit by bit, as JSON and as TOML."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fourbar as fb
from fourbar.constraints import serialize as loops_plain
from fourbar.joints import JOINT_TYPES, REGISTRY, Composite, CustomJoint, Joint, Revolute
from fourbar.joints import serialize as joints_plain
from fourbar.loops import Closure, Constraint, Distance, Parametric
from fourbar.mechanism.geometry import Geometry
from fourbar.mechanism.mechanism import Mechanism
from fourbar.mechanism.placement import Placement
from tests.algorithms import mechanisms
from tests.loops import looped

FORMATS = pytest.mark.parametrize("format", ["json", "toml"])


def text_of(mechanism: Mechanism, format: str) -> str:
    from fourbar.io.formats import FORMATS as KNOWN

    return KNOWN[format].write(mechanism, "robot")[0]


def back(mechanism: Mechanism, format: str) -> Mechanism:
    """There and back, without building the robot."""
    from fourbar.io.formats import FORMATS as KNOWN
    from fourbar.io.source import Options, Source

    found, report = KNOWN[format].read(Source("robot", text_of(mechanism, format).encode()), Options())
    assert not report
    return found


def same(a: Any, b: Any) -> None:
    """Equal, and equal bit by bit: -0.0 is not 0.0."""
    assert a == b
    assert repr(a) == repr(b)


def holds_function(joint: Any) -> bool:
    parts = joint.parts if isinstance(joint, Composite) else ()
    return isinstance(joint, CustomJoint) or any(map(holds_function, parts))


def writable(mechanism: Mechanism) -> bool:
    return not any(holds_function(c.joint) for c in mechanism.joints)


@pytest.mark.parametrize("joint", [j for j in REGISTRY if not holds_function(j)], ids=repr)
def test_joints(joint: Joint) -> None:
    same(joints_plain.from_plain("joint", json.loads(json.dumps(joints_plain.to_plain(joint)))), joint)


def test_every_joint_and_loop_type_is_met() -> None:
    assert set(joints_plain.TYPES.values()) >= set(JOINT_TYPES)
    met = {type(x.loop) for name in looped.NAMES for x in looped.mechanism(name).mechanism.loops}
    assert met >= set(loops_plain.TYPES.values())
    assert set(loops_plain.TYPES) == set(fb.loops.__all__) - {"Loop", "Formula"}


@FORMATS
@pytest.mark.parametrize("name", looped.NAMES)
def test_loops(name: str, format: str) -> None:
    robot = looped.mechanism(name)
    again = back(robot.mechanism, format)
    if not any(isinstance(x.loop, Constraint | Parametric) for x in robot.mechanism.loops):
        same(again, robot.mechanism)
        return
    same(back(again, format), again)  # functions of Python have become formulas
    q = robot.random(np.random.default_rng(0), 3)
    assert np.allclose(fb.System(again).mass_matrix(q), robot.mass_matrix(q), rtol=1e-13, atol=1e-14)


@FORMATS
@pytest.mark.parametrize("number", range(mechanisms.COUNT))
def test_random_trees(number: int, format: str) -> None:
    mechanism = mechanisms.mechanism(number).mechanism
    if writable(mechanism):
        same(back(mechanism, format), mechanism)
    else:
        with pytest.raises(
            fb.ModelError, match=r"'random\d' cannot be written: joint 'joint_body\d+': .*Python function"
        ):
            text_of(mechanism, format)


@FORMATS
@pytest.mark.parametrize("name", list(fb.robots.ROBOTS))
def test_robots_of_the_library(name: str, format: str) -> None:
    mechanism = fb.robots.ROBOTS[name]().mechanism
    same(back(mechanism, format), mechanism)


def full() -> fb.Builder:
    """A robot that uses everything a builder takes."""
    b = fb.Builder("all of it: ä \"quoted\" \\ 'so'", gravity=(0.1, -0.0, -9.81))
    third = 1.0 / 3.0
    place = Placement(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (third, 0.1 + 0.2, -0.0))
    shapes = [
        Geometry("box", (1.0, third, 3.0), place, "collision", colour=(0.1, 0.2, 0.3, 1.0), name="b"),
        Geometry("mesh", mesh="package://a/b.stl", scale=(1.0, -1.0, third)),
        Geometry("plane"),
    ]
    b.body(
        "base", joint=Revolute("-x"), joint_name="hip", position=(third, 1e-300, 5e-324), rpy=(0.1, 0.2, 0.3), mass=0.1,
        com=(0.0, third, -0.0), inertia=(third, 0.01, -0.02, third, 0.03, third), armature=0.3, damping=0.1,
        friction=0.2, limits=(-third, np.inf), stiffness=2.0, rest=0.1, max_force=10.0, max_velocity=third,
        geometry=shapes,
    )  # fmt: skip
    b.body(
        "flat", parent="base", joint=Revolute((0.6, 0.0, 0.8)), mass=1.0, inertia=(1, 0.1, 0.1), allow_unphysical=True
    )
    b.body("a.b", parent="base", mass=9.7976931348623157e49, joint_name="weld")
    b.body("slide", joint=fb.joints.Translation3(), mass=1, limits=([-1, -np.inf, 0], [np.inf, 2, 3]))
    b.frame("world mark", "world", position=(1, 2, third), rotation=place.rotation)
    b.rotor("rotor", drives="flat", ratio=third, parent="base", mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
    b.loop(Distance("flat", "slide", (1, 0, 0), (0, third, 0), 1.5), independent={"flat": third})
    b.configuration("up", {"hip": 0.25, "slide": (1.0, third, -0.0)})
    return b.configuration("a b", {})


@FORMATS
def test_everything(format: str, tmp_path: Path) -> None:
    mechanism = full().mechanism()
    found = back(mechanism, format)
    same(found, mechanism)
    assert [g.colour for g in found.bodies[0].geometry] == [(0.1, 0.2, 0.3, 1.0), None, None]


@FORMATS
@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")  # the four-bar is drawn in line
def test_save_and_load(format: str, tmp_path: Path) -> None:
    robot = fb.robots.four_bar()
    file = tmp_path / f"four.{format}"
    assert not robot.save(file)
    again = fb.load(file)
    assert again == robot and [x.key for x in again.report.findings] == ["flat"]
    q = robot.random(0)
    assert (again.mass_matrix(q) == robot.mass_matrix(q)).all()
    assert fb.loads(file.read_text(), format=format) == robot
    other = robot.lock(["link2_joint"]).attach(fb.robots.double_pendulum().mirrored("x"), "link1")
    other.save(file)
    assert fb.load(file) == other


def test_both_formats_say_the_same() -> None:
    mechanism = full().mechanism()
    from_toml = tomllib.loads(text_of(mechanism, "toml"))
    from_json = json.loads(text_of(mechanism, "json"))
    slide = next(x for x in from_json["bodies"] if x["name"] == "slide")["joint"]
    assert slide["lower"] == [-1.0, "-inf", 0.0] and slide["upper"] == ["inf", 2.0, 3.0]
    slide["lower"][1], slide["upper"][0] = -np.inf, np.inf
    assert from_toml == from_json


def test_what_cannot_be_written_is_named() -> None:
    b = fb.Builder("odd")
    b.body("a", joint=CustomJoint(lambda q: (np.eye(3), [q[0], 0, 0]), nq=1, name="rail"), mass=1)
    b.body("b", joint=Revolute("z"), mass=1, inertia=(1, 1, 1))
    b.body("c", joint=CustomJoint(lambda q: (np.eye(3), [q[0], 0, 0]), nq=1, name="rod"), mass=1)
    with pytest.raises(fb.ModelError, match=r"x\.json: 'odd' cannot be written: joint 'a': CustomJoint.*; joint 'c'"):
        b.build().save("x.json")
    assert not Path("x.json").exists()

    class Mine(Revolute):
        pass

    b = fb.Builder("mine").body("a", joint=Mine("z"), mass=1, inertia=(1, 1, 1))
    with pytest.raises(fb.ModelError, match=r"user-defined type.*register"):
        text_of(b.mechanism(), "json")


HAND = """
fourbar = 1
name = "arm"
[[bodies]]
name = "upper"
mass = 2
com = [0.2, 0, 0]
inertia = [0.01, 0.02, 0.02]
joint = { type = "Revolute", axis = "y", name = "shoulder", rpy = [0, 0, 0.5], lower = -1, upper = inf }
[[bodies]]
name = "fore"
parent = "upper"
mass = 1
inertia = [[0.01, 0, 0], [0, 0.02, 0], [0, 0, 0.02]]
[bodies.joint]
type = "Revolute"
axis = [0, 0.6, 0.8]
position = [0.4, 0, 0]
rotation = [1, 0, 0, 0]
[[bodies]]
name = "rotor"
parent = "upper"
mass = 0.1
inertia = [1e-4, 1e-4, 1e-4]
joint = { type = "Revolute" }
[[loops]]
type = "Gear"
driver = "fore"
driven = "rotor"
ratio = 50
independent = ["fore"]
[configurations.bent]
fore = 0.3
"""


def test_written_by_hand() -> None:
    robot = fb.loads(HAND, format="toml")
    b = fb.Builder("arm")
    b.body(
        "upper", joint=Revolute("y"), joint_name="shoulder", rpy=(0, 0, 0.5), mass=2, com=(0.2, 0, 0),
        inertia=(0.01, 0.02, 0.02), limits=(-1, np.inf),
    )  # fmt: skip
    b.body(
        "fore", parent="upper", joint=Revolute((0, 0.6, 0.8)), position=(0.4, 0, 0), mass=1, inertia=(0.01, 0.02, 0.02)
    )
    b.body("rotor", parent="upper", joint=Revolute("z"), mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    b.loop(fb.loops.Gear("fore", "rotor", 50), independent=["fore"]).configuration("bent", {"fore": 0.3})
    assert robot == b.build()


def test_loop_joints_by_hand() -> None:
    """A loop joint with coordinates of its own becomes a body, as with a builder."""
    data = json.loads(text_of(looped.mechanism("own_coordinate").mechanism, "json"))
    data["bodies"] = [x for x in data["bodies"] if x["name"] not in ("screw", "slot")]
    screw = {"type": "Helical", "axis": "z", "pitch": 0.15}
    slot = {"type": "Composite", "parts": [{"type": "Prismatic", "axis": "x"}, {"type": "Revolute"}]}
    data["loops"] = [
        {"name": "screw", "type": "Closure", "joint": screw, "predecessor": "swing", "successor": "block",
         "at_predecessor": {"position": [0, 0, 0.3]}},
        {"name": "slot", "type": "Closure", "joint": slot, "predecessor": "crank", "successor": "slab",
         "at_predecessor": {"position": [0.1, 0.2, 0]}, "at_successor": {"position": [0, 0.1, 0]}},
    ]  # fmt: skip
    robot = fb.loads(json.dumps(data), format="json")
    assert set(robot.names.bodies) == set(looped.mechanism("own_coordinate").names.bodies)
    assert all(isinstance(x.loop, Closure) for x in robot.mechanism.loops)


numbers = st.floats(-1e50, 1e50)  # as large as a builder takes
small = st.floats(-1e3, 1e3)
words = st.text(min_size=1, max_size=8).filter(lambda x: x != "world")


@st.composite
def robots(draw: st.DrawFn) -> Mechanism:
    b = fb.Builder(draw(words), gravity=draw(st.tuples(numbers, numbers, numbers)))
    names = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    for i, name in enumerate(names):
        joint = draw(st.sampled_from([j for j in REGISTRY if not holds_function(j)]))
        ends = sorted(draw(st.tuples(small, small)))
        b.body(
            name, parent=draw(st.sampled_from(["world", *names[:i]])), joint=joint, joint_name=f"j{i}{draw(words)}",
            position=draw(st.tuples(numbers, numbers, numbers)), rpy=draw(st.tuples(small, small, small)),
            mass=draw(st.floats(0.0, 1e50)), com=draw(st.tuples(numbers, numbers, numbers)),
            inertia=draw(st.tuples(*[small] * 6)), armature=draw(st.floats(0.0, 1e9)), limits=ends,
            stiffness=draw(st.floats(0.0, 1e9)), max_force=draw(st.floats(0.0)), allow_unphysical=True,
        )  # fmt: skip
    b.frame("f", names[0], position=draw(st.tuples(numbers, numbers, numbers)))
    b.configuration(draw(words), {})
    return b.mechanism()


@given(robots())
@settings(max_examples=25, deadline=None)
def test_any_robot(mechanism: Mechanism) -> None:
    for format in ("json", "toml"):
        same(back(mechanism, format), mechanism)


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_meshes_are_found_beside_the_file_and_in_folders(ending: str, tmp_path: Path) -> None:
    """As in other formats, and nowhere else."""
    (tmp_path / "inner").mkdir()
    for name in ("a.stl", "inner/b.stl"):
        (tmp_path / name).touch()
    b = fb.Builder("arm")
    shapes = [Geometry("mesh", mesh=name) for name in ("a.stl", "package://inner/b.stl", "c.stl", "../outside.stl")]
    b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=shapes)
    robot = b.build()
    (tmp_path.parent / "outside.stl").touch()
    robot.save(tmp_path / f"arm.{ending}")
    again = fb.load(tmp_path / f"arm.{ending}", folders=[tmp_path])
    files = [x.file for x in again.mechanism.bodies[0].geometry]
    assert again == robot and files == [str(tmp_path / "a.stl"), str(tmp_path / "inner" / "b.stl"), "", ""]
