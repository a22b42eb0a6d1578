"""Loops are closed once for a mechanism, and once for groups that are equal in all that their closing depends on."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.mechanism.mechanism import Configuration, Mechanism
from fourbar.tree import cluster_tree as lowering
from fourbar.tree.cluster_tree import lower
from fourbar.tree.clusters import ClusterFinder
from fourbar.tree.parameters import parameters
from tests.loops import looped

MODEL = """<mujoco><compiler angle="radian"/><worldbody>
<body name="crank"><joint axis="0 1 0"/><geom size=".1"/>
 <body name="coupler" pos="1 0 0"><joint axis="0 1 {slant}"/><geom size=".1"/></body></body>
<body name="rocker" pos="2 0 0"><joint axis="0 1 0"/><geom size=".1"/></body></worldbody>
<equality><connect name="pin" body1="coupler" body2="rocker" anchor="1 0 1"/></equality>
<keyframe><key qpos="0 0 0"/></keyframe></mujoco>"""


@pytest.fixture
def ties(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, ...]]]:
    """The loops that were tied, each time."""
    found: list[tuple[str, ...]] = []
    own = ClusterFinder._tie

    def counted(self: ClusterFinder, links: Any, loops: Any) -> Any:
        found.append(tuple(loop.name for loop in loops))
        return own(self, links, loops)

    monkeypatch.setattr(ClusterFinder, "_tie", counted)
    lowering._tied.cache_clear()
    yield found
    lowering._tied.cache_clear()


def test_a_file_is_closed_once(ties: list[tuple[str, ...]]) -> None:
    pytest.importorskip("mujoco")
    robot = fb.loads(MODEL.format(slant=0), format="mjcf")
    assert robot.nv == 1 and ties == [("pin",)]


def test_a_file_with_axes_that_are_not_quite_parallel_is_closed_before_and_after(ties: list[tuple[str, ...]]) -> None:
    pytest.importorskip("mujoco")
    with pytest.warns(fb.FileWarning, match="straighten"):
        robot = fb.loads(MODEL.format(slant=0.0005), format="mjcf")
    assert robot.nv == 1 and ties == [("pin",)] * 2


def test_a_mechanism_is_lowered_once(ties: list[tuple[str, ...]]) -> None:
    mechanism = replace(looped.mechanism("four_bar").mechanism)
    assert lower(mechanism) is lower(mechanism)
    assert len(ties) == 1
    robot = fb.System(mechanism)
    assert robot.model.cluster_tree is lower(mechanism)


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the mechanisms whose trees were found, each time."""
    found: list[str] = []
    own = lowering._lower

    def counted(mechanism: Mechanism) -> Any:
        found.append(mechanism.name)
        return own(mechanism)

    monkeypatch.setattr(lowering, "_lower", counted)
    return found


@pytest.mark.parametrize("format", ["urdf", "sdf", "mjcf", "json", "toml"])
def test_a_file_is_lowered_once(format: str, lowered: list[str], tmp_path: Path) -> None:
    """The reader, who looks at loops, writes a mechanism of which the robot is made, with the tree that it found."""
    if format == "mjcf":
        pytest.importorskip("mujoco")
    path = tmp_path / f"linkage.{format}"
    robot = fb.robots.four_bar()
    lowered.clear()
    robot.save(path)
    assert lowered == []
    q = fb.load(path).neutral()
    assert len(lowered) == 1
    assert len(q) == robot.nq


EDITS: dict[str, Callable[[fb.System], fb.System]] = {
    "gravity": lambda robot: robot.with_gravity((0.0, 0.0, -1.0)),
    "rename": lambda robot: robot.renamed(name="other"),
    "mirror": lambda robot: robot.mirrored("y"),
    "lock": lambda robot: robot.lock(robot.names.joints[:1]),
    "spanning": lambda robot: robot.spanning(),
    "pickle": lambda robot: pickle.loads(pickle.dumps(robot)),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("robot", ["double_pendulum", "four_bar"])
def test_an_edited_robot_is_lowered_once(robot: str, edit: str, lowered: list[str]) -> None:
    original = getattr(fb.robots, robot)()
    lowered.clear()
    other = EDITS[edit](original)
    assert other.nv >= 0 and len(lowered) <= 1  # none where the image of an equal robot is known


@pytest.mark.usefixtures("only_new")
def test_what_was_found_goes_with_its_mechanism() -> None:
    mechanism = replace(looped.mechanism("four_bar").mechanism)
    lower(mechanism)
    parameters(mechanism)
    key = id(mechanism)
    assert key in lower.cache and key in parameters.cache
    del mechanism
    gc.collect()
    assert key not in lower.cache and key not in parameters.cache


def test_other_masses_leave_loops_as_they_are(ties: list[tuple[str, ...]]) -> None:
    robot = looped.mechanism("four_bar")
    lower(replace(robot.mechanism))
    before = len(ties)
    name = robot.mechanism.bodies[0].name
    heavier = robot.with_parameters(bodies={name: {"mass": 7.0}})
    assert len(ties) == before
    q = robot.random(0)
    assert np.abs(heavier.loop_gap(q)) < 1e-12
    assert not np.allclose(heavier.mass_matrix(q), robot.mass_matrix(q))


def moved(mechanism: Mechanism, name: str) -> Mechanism:
    """The mechanism with something else on which its loops depend."""
    first = mechanism.joints[0]
    if name == "place":
        x, y, z = first.placement.position
        shifted = (x + 1e-9, y, z)
        other = replace(first, placement=replace(first.placement, position=shifted))
        return replace(mechanism, joints=(other, *mechanism.joints[1:]))
    if name == "start":
        near = Configuration("here", ((first.name, (0.05,)),))
        return replace(mechanism, configurations=(near,))
    (loop, *others) = mechanism.loops
    if name == "independent":
        return replace(mechanism, loops=(replace(loop, independent=((mechanism.joints[-1].name, 1.0),)), *others))
    return replace(mechanism, loops=(replace(loop, name="other"), *others))


@pytest.mark.parametrize("name", ["place", "start", "independent", "name"])
def test_whatever_loops_depend_on_makes_them_new(name: str, ties: list[tuple[str, ...]]) -> None:
    mechanism = replace(looped.mechanism("four_bar").mechanism)
    lower(mechanism)
    lower(replace(mechanism))
    assert len(ties) == 1
    lower(moved(mechanism, name))
    assert len(ties) == 2
