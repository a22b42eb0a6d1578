"""Shapes of the world, surfaces and rules of contact: they follow a robot through edits, files and processes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.cli.main import main
from fourbar.joints import Free, Prismatic, Revolute
from fourbar.mechanism.contact import ContactPair, Surface
from fourbar.mechanism.contact_pairs import contact_candidates, touches_world
from fourbar.mechanism.contact_rules import NO_RULES, ContactRules
from fourbar.mechanism.geometry import Geometry
from fourbar.mechanism.placement import Placement

TILTED = Placement(((0.8, 0.0, 0.6), (0.0, 1.0, 0.0), (-0.6, 0.0, 0.8)), (0.1, 0.2, 0.3))
FLOOR = Geometry("plane", role="collision", name="floor", surface=Surface(friction=0.4, restitution=0.1))
HILLS = Geometry(
    "hfield", (2.0, 4.0, 0.1), TILTED, "collision", heights=((0.0, 0.1, 0.2), (0.3, 0.0, 0.5)), name="hills"
)
SOLE = Geometry("sphere", (0.1,), role="collision", name="sole", surface=Surface(friction=0.9, torsion=0.01, groups=3))
MATTER: dict[str, Any] = {"mass": 1.0, "inertia": (1, 1, 1), "geometry": [SOLE]}


def walker() -> fb.Builder:
    b = fb.Builder("walker").world(FLOOR, HILLS)
    b.body("trunk", joint=Free(), **MATTER)
    b.body("thigh", parent="trunk", joint=Revolute("y"), position=(0, 0.1, 0), **MATTER)
    b.body("shank", parent="thigh", joint=Revolute("y"), position=(0, 0, -0.5), **MATTER)
    b.exclude_contact("trunk", "shank")
    b.contact_pair(("world", "floor"), ("shank", "sole"), Surface(friction=0.2, dimensions=4), "step")
    return b.contact_options(cone="elliptic", impratio=10.0, timestep=1e-3)


def pairs(robot: fb.System) -> set[tuple[str, str]]:
    return {(x.first.body, x.second.body) for x in contact_candidates(robot.mechanism)}


def test_what_a_robot_has() -> None:
    robot = walker().build()
    m = robot.mechanism
    assert m.world == (FLOOR, HILLS) and m.world[0].friction == 0.4
    pair = ContactPair(("world", "floor"), ("shank", "sole"), Surface(friction=0.2, dimensions=4), "step")
    rules = ContactRules((pair,), (("trunk", "shank"),), cone="elliptic", impratio=10.0, timestep=1e-3)
    assert m.contacts == rules
    assert pairs(robot) == {("world", x) for x in ("trunk", "thigh", "shank")}
    assert next(x.pair for x in contact_candidates(m) if x.second.body == "shank" and x.first.shape is FLOOR) == pair
    assert robot != fb.System(fb.Builder("walker").include(m).world(SOLE).mechanism())


@pytest.mark.parametrize("file", ["walker.json", "walker.toml"])
def test_files_and_processes(file: str, tmp_path: Path) -> None:
    robot = walker().build()
    robot.save(tmp_path / file)
    assert fb.load(tmp_path / file) == robot
    assert pickle.loads(pickle.dumps(robot)) == robot and hash(pickle.loads(pickle.dumps(robot))) == hash(robot)


def test_renaming() -> None:
    robot = walker().build().renamed(bodies={"shank": "leg", "trunk": "body"})
    rules = robot.mechanism.contacts
    assert rules.pairs[0].second == ("leg", "sole") and rules.excluded == (("body", "leg"),)
    assert robot.mechanism.world == (FLOOR, HILLS)


def test_locking_makes_neighbours_one() -> None:
    robot = walker().build().lock(["thigh"])
    assert robot.mechanism.world == (FLOOR, HILLS) and len(robot.mechanism.contacts.pairs) == 1
    assert pairs(robot) == {("world", x) for x in ("trunk", "thigh", "shank")}  # the shank's parent is now the trunk


def test_parts() -> None:
    robot = walker().build()
    assert robot.sub("trunk", joint=Prismatic("z")).mechanism.world == (FLOOR, HILLS)
    assert robot.sub("trunk", to=["thigh"]).mechanism.contacts.excluded == ()
    leg = robot.sub("thigh").mechanism
    assert (leg.world, leg.contacts.pairs, leg.contacts.excluded) == ((), (), ())
    assert leg.contacts.cone == "elliptic"


def test_joining() -> None:
    robot = walker().build()
    both = robot.merge(robot, prefix="second_")
    assert both.mechanism.world == (FLOOR, HILLS)  # one floor is enough
    assert [x.second[0] for x in both.mechanism.contacts.pairs] == ["shank", "second_shank"]
    assert both.mechanism.contacts.excluded == (("trunk", "shank"), ("second_trunk", "second_shank"))
    assert ("shank", "second_shank") in pairs(both)
    arm = fb.Builder("arm").body("link", joint=Revolute("y"), **MATTER).build()
    carried = arm.attach(robot, "link", prefix="w_")
    assert carried.mechanism.world == () and carried.mechanism.contacts.pairs == ()
    assert carried.mechanism.contacts.excluded == (("w_trunk", "w_shank"),)
    assert robot.attach(arm, "trunk").mechanism.world == (FLOOR, HILLS)


def test_the_mirror_image() -> None:
    """A point of the land is where its image is."""
    image = walker().build().mirrored("y").mechanism
    land = image.world[1]
    for i in range(2):
        for j in range(3):
            at = np.array([2.0 * (i - 0.5), 4.0 * (j / 2 - 0.5), HILLS.heights[i][j]])
            there = np.array(TILTED.rotation) @ at + TILTED.position
            k = 2 - j
            own = np.array([at[0], 4.0 * (k / 2 - 0.5), land.heights[i][k]])
            found = np.array(land.placement.rotation) @ own + land.placement.position
            assert np.allclose(found, there * [1, -1, 1], atol=1e-15)
    assert np.linalg.det(np.array(land.placement.rotation)) > 0.0
    assert image.contacts == walker().mechanism().contacts
    assert walker().build().mirrored("y").mirrored("y").mechanism.world == (FLOOR, HILLS)


def test_other_numbers_leave_them() -> None:
    robot = walker().build()
    other = robot.with_parameters(bodies={"trunk": {"mass": 2.0}}).with_gravity((0, 0, -1))
    assert (other.mechanism.world, other.mechanism.contacts) == (robot.mechanism.world, robot.mechanism.contacts)


def test_edits_keep_the_warning_of_simulations() -> None:
    b = fb.Builder("ball").world(FLOOR).body("ball", joint=Prismatic("z"), **MATTER)
    robot = b.build().renamed(bodies={"ball": "b"})
    assert touches_world(robot.mechanism)
    with pytest.warns(fb.SimulationWarning, match="contacts are not simulated"):
        fb.simulate(robot, [1.0], duration=0.01, dt=1e-3)
    for _ in range(2):  # known after the first
        with pytest.warns(fb.SimulationWarning, match=r"rollout: contacts are not simulated"):
            fb.rollout(robot, [[1.0]], dt=1e-3, steps=2)


def test_the_base_of_an_arm_is_not_the_world_but_a_table_is() -> None:
    shape = Geometry("box", (0.1, 0.1, 0.1), role="collision")
    b = fb.Builder("arm").body("base", geometry=[shape])
    b.body("upper", parent="base", joint=Prismatic("z"), **{**MATTER, "geometry": [shape]})
    assert not touches_world(b.mechanism())
    assert touches_world(b.body("table", position=(1.0, 0, 0), geometry=[shape]).mechanism())


def test_groups() -> None:
    one, two = Surface(groups=2, meets=0), Surface(groups=0, meets=2)
    assert one.may_meet(two) and two.may_meet(one) and not one.may_meet(one)
    b = fb.Builder("x").world(Geometry("plane", role="collision", surface=Surface(groups=4, meets=4)))
    assert contact_candidates(b.body("a", joint=Free(), **MATTER).mechanism()) == []


def test_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walker().build().save(tmp_path / "walker.json")
    assert main(["info", str(tmp_path / "walker.json")]) == 0
    assert "3 for collision, 0 for viewing, 2 of the world; 6 pairs may touch" in capsys.readouterr().out


def test_nothing_is_said_of_plain_robots() -> None:
    robot = fb.robots.double_pendulum()
    assert robot.mechanism.world == () and robot.mechanism.contacts is NO_RULES


WRONG: dict[str, tuple[Any, str]] = {
    "friction": (lambda: Surface(friction=-1.0), "friction=-1.0"),
    "friction in words": (lambda: Surface(friction="much"), "friction='much'"),  # type: ignore[arg-type]
    "not a number": (lambda: Surface(torsion=np.nan), "torsion=nan"),
    "restitution": (lambda: Surface(restitution=1.5), "from 0 to 1"),
    "dimensions": (lambda: Surface(dimensions=2), "dimensions=2"),
    "groups": (lambda: Surface(groups=2**40), "at most 32 bits"),
    "solref": (lambda: Surface(solref=(1.0,)), "solref"),
    "margin": (lambda: Surface(margin=np.inf), "margin=inf"),
    "cone": (lambda: fb.Builder().contact_options(cone="round"), "cone='round'"),
    "step": (lambda: fb.Builder().contact_options(timestep=0.0), "timestep=0.0"),
    "option": (lambda: fb.Builder().contact_options(speed=1), "'speed'"),
    "surface": (lambda: Geometry("plane", surface=0.3), "must be a Surface"),  # type: ignore[arg-type]
    "heights": (lambda: Geometry("hfield", (1.0, 1.0, 0.1)), "needs them"),
    "heights of a box": (lambda: Geometry("box", (1.0, 1.0, 1.0), heights=((0.0, 0.0), (0.0, 0.0))), "only a height"),
    "few heights": (lambda: Geometry("hfield", (1.0, 1.0, 0.1), heights=((0.0, 1.0),)), "at least 2 x 2"),
    "uneven": (lambda: Geometry("hfield", (1.0, 1.0, 0.1), heights=((0.0, 1.0), (1.0,))), "equally long"),
    "excluded": (lambda: walker().exclude_contact("trunk", "tail").mechanism(), "'tail'"),
    "body of a pair": (lambda: walker().contact_pair(("tail", "a"), ("world", "floor")).mechanism(), "'tail'"),
    "shape of a pair": (lambda: walker().contact_pair(("trunk", "a"), ("world", "floor")).mechanism(), "no shape 'a'"),
    "no shape": (lambda: walker().contact_pair("trunk", "world"), "a shape is"),  # type: ignore[arg-type]
    "world": (lambda: fb.Builder().world("floor"), "expected a list of Geometry"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str) -> None:
    make, words = WRONG[name]
    with pytest.raises(fb.ModelError) as error:
        make()
    assert words in str(error.value)


BAD_FILES = {
    "surface": ('"geometry": [{"kind": "plane", "surface": {"grip": 1}}]', "grip"),
    "number": ('"geometry": [{"kind": "plane", "surface": {"friction": "x"}}]', "friction"),
    "negative": ('"geometry": [{"kind": "plane", "surface": {"friction": -1}}]', "friction=-1"),
    "bits": ('"geometry": [{"kind": "plane", "surface": {"groups": 1.5}}]', "whole number"),
    "heights": ('"geometry": [{"kind": "hfield", "size": [1, 1, 1], "heights": [1, 2]}]', "rows of numbers"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_errors_of_files(name: str) -> None:
    inside, words = BAD_FILES[name]
    text = f'{{"fourbar": 1, "bodies": [{{"name": "a", {inside}}}]}}'
    with pytest.raises(fb.ModelError) as error:
        fb.loads(text, format="json")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ('{"pairs": [{"first": ["a"]}]}', "second"),
        ('{"pairs": [{"first": ["a"], "second": ["b", "c"]}]}', "a body and the name of a shape"),
        ('{"excluded": [["a"]]}', "two bodies"),
        ('{"excluded": [["a", "z"]]}', "'z'"),
        ('{"enabled": 3}', "true or false"),
        ('{"cone": "round"}', "'pyramidal' or 'elliptic'"),
        ('{"colour": 1}', "colour"),
        ("[1]", "contacts"),
    ],
)
def test_errors_of_rules_in_files(inside: str, words: str) -> None:
    with pytest.raises(fb.ModelError) as error:
        fb.loads(f'{{"fourbar": 1, "bodies": [{{"name": "a"}}], "contacts": {inside}}}', format="json")
    assert words in str(error.value)
