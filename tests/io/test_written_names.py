"""Names that writers make up are different from those of the robot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Helical, Revolute, Universal
from fourbar.loops import Closure, Coupling, Differential, Gear

MATTER: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.11, 0.12)}


def _series(b: fb.Builder) -> None:
    b.body("arm", joint=Universal("x", "y"), **MATTER)
    b.body("arm_1", parent="arm", joint=Revolute("z"), joint_name="arm_2", **MATTER)
    b.frame("arm_1_", "arm")


def _screw(b: fb.Builder) -> None:
    b.body("a", joint=Helical("z", 0.1), **MATTER)
    b.body("a_1_turned", parent="a", joint=Revolute("x"), joint_name="a_slide", **MATTER)
    b.loop(Gear("a", "a_slide", 0.5), name="a_slide_")


def _frame(b: fb.Builder) -> None:
    b.body("a", joint=Revolute("z"), **MATTER)
    b.frame("f", "a")
    b.body("b", parent="a", joint=Revolute("x"), joint_name="f_frame", **MATTER)


def _closure(b: fb.Builder) -> None:
    b.body("a", joint=Revolute("z"), **MATTER)
    b.body("b", parent="a", joint=Revolute("z"), position=(1, 0, 0), **MATTER)
    b.body("c", joint=Revolute("z"), position=(0, 1, 0), **MATTER)
    for name in ("l_1", "l_1_1", "l_2_1"):
        b.frame(name, "b")
    b.loop(Closure(Revolute("z"), "b", "c", at_predecessor=(1, 0, 0), at_successor=(1.5, 0, 0)), name="l")


def _sums(b: fb.Builder) -> None:
    b.body("a", joint=Revolute("z"), **MATTER)
    b.body("b", parent="a", joint=Revolute("z"), **MATTER)
    b.frame("k_sum1", "a")
    b.body("k_sum2", parent="b", joint=Revolute("z"), **MATTER)
    b.loop(Coupling({"a": 1.0, "b": -2.0, "k_sum2": 0.5}, 0.2), name="k")


def _differential(b: fb.Builder) -> None:
    for name in ("a", "b", "c", "d"):
        b.body(name, joint=Revolute("z"), **MATTER)
    b.loop(Differential(("a", "b"), ("c",), ((2.0, 1.0),)), name="k")
    b.loop(Coupling({"a": 1.0, "b": 3.0, "d": 1.0}), name="k_1")


@pytest.mark.parametrize("make", [_series, _screw, _frame, _closure, _sums, _differential])
@pytest.mark.parametrize("format", ["urdf", "mjcf"])
@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_names_that_are_made_up_are_new(make: Callable[[fb.Builder], None], format: str, tmp_path: Path) -> None:
    if format == "mjcf":
        pytest.importorskip("mujoco")
    b = fb.Builder("names")
    make(b)
    robot, file = b.build(), tmp_path / f"names.{format}"
    robot.save(file)
    again = fb.load(file)
    q, v = robot.random(0), np.ones(robot.nv)
    assert again.nv == robot.nv
    assert np.isclose(again.kinetic_energy(q, v), robot.kinetic_energy(q, v), rtol=1e-12)


def test_names_of_loops_that_xml_cannot_hold(tmp_path: Path) -> None:
    b = fb.Builder("names")
    b.body("a", joint=Revolute("z"), **MATTER)
    b.body("b", parent="a", joint=Revolute("z"), **MATTER)
    robot = b.loop(Gear("a", "b", 2.0), name="bell\x07").build()
    with pytest.raises(fb.ModelError, match=r"the name 'bell\\x07' has characters that XML cannot represent"):
        robot.save(tmp_path / "names.mjcf")
    assert not (tmp_path / "names.mjcf").exists()
