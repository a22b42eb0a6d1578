"""Axes that a file writes with few digits are made parallel in loops, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.io.loop_repair import misaligned_axes, straighten, straighten_axes
from fourbar.io.report import Reading
from fourbar.io.source import Options
from fourbar.joints import Prismatic, Revolute
from fourbar.loops import Closure
from fourbar.mechanism.mechanism import Mechanism
from fourbar.tree.cluster_tree import lower

pytestmark = pytest.mark.drawn_in_line

ROD = {"mass": 1.0, "com": (0.2, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}


def tilted(angle: float, about: str = "x") -> tuple[float, float, float]:
    """The y axis, off by an angle."""
    return (0.0, np.cos(angle), np.sin(angle)) if about == "x" else (np.sin(angle), np.cos(angle), 0.0)


def four_bar(error: float) -> fb.Builder:
    b = fb.Builder("four_bar")
    b.body("crank", joint=Revolute("y"), **ROD)
    b.body("coupler", parent="crank", joint=Revolute(tilted(error)), position=(0.2, 0, 0), **ROD)
    b.body("rocker", joint=Revolute(tilted(-error, "z")), position=(0.5, 0, 0), **ROD)
    b.body("arm", parent="rocker", joint=Revolute(tilted(0.3 * error)), position=(0.4, 0, 0), **ROD)
    pin = Closure(
        Revolute(tilted(2 * error)), "coupler", "rocker", at_predecessor=(0.5, 0, 0), at_successor=(0.4, 0, 0)
    )
    b.loop(pin, name="pin")
    return b


@pytest.mark.parametrize("error", [1e-7, 1e-5, 1e-3])
def test_a_planar_loop_moves_again(error: float):
    rough = four_bar(error).mechanism()
    straight, told = straighten(rough, 3e-3)
    robot, exact = fb.System(straight), four_bar(0.0).build()
    assert robot.nv == exact.nv == 2
    (one,) = told
    assert set(one.joints) == {"coupler", "rocker", "pin"}  # not the arm, which is outside of the loop
    assert one.angle == pytest.approx(2 * error, rel=1e-3)
    q = exact.random(rng=0)
    v = np.ones(2)
    assert np.allclose(robot.bias_force(robot.assemble(q), v), exact.bias_force(q, v), atol=20 * error)


def test_what_is_straight_is_left_as_it_is():
    mechanism = four_bar(0.0).mechanism()
    assert straighten(mechanism, 1e-3) == (mechanism, ())


def test_what_is_really_askew_is_left_as_it_is():
    mechanism = four_bar(0.05).mechanism()
    assert straighten(mechanism, 1e-3) == (mechanism, ())


def test_joints_that_are_named_are_turned_further():
    """One axis is 0.1 off, another is meant to be askew: only the named one is turned."""
    b = fb.Builder("askew")
    b.body("crank", joint=Revolute("y"), **ROD)
    b.body("coupler", parent="crank", joint=Revolute(tilted(0.1)), position=(0.2, 0, 0), **ROD)
    b.body("rocker", joint=Revolute(tilted(0.0)), position=(0.5, 0, 0), **ROD)
    pin = Closure(fb.joints.Spherical(), "coupler", "rocker", at_predecessor=(0.5, 0, 0), at_successor=(0.4, 0, 0))
    b.loop(pin, name="pin")
    rough = b.mechanism()
    (off,) = misaligned_axes(rough, "pin", 2e-3)
    assert (off.joint, off.others) == ("coupler", ("crank", "rocker"))
    assert off.angle == pytest.approx(0.1, rel=1e-12)
    assert straighten(rough, 2e-3) == (rough, ()) and fb.System(rough).nv == 0
    straight, (told,) = straighten(rough, 2e-3, {"coupler": 0.11})
    assert told.joints == ("coupler",) and fb.System(straight).nv == 1
    assert misaligned_axes(straight, "pin", 2e-3) == () and misaligned_axes(rough, "none", 2e-3) == ()


def test_slides_are_turned_across_the_hinges():
    b = fb.Builder("engine")
    b.body("crank", joint=Revolute("y"), **ROD)
    b.body("rod", parent="crank", joint=Revolute("-y"), position=(0.2, 0, 0), **ROD)
    b.body("piston", joint=Prismatic((np.cos(1e-4), np.sin(1e-4), 0.0)), position=(0.7, 0, 0), **ROD)
    b.loop(Closure(Revolute("y"), "rod", "piston", at_predecessor=(0.5, 0, 0)), name="pin")
    straight, (told,) = straighten(b.mechanism(), 1e-3)
    assert told.joints == ("piston",)
    assert straight.joints[2].joint == Prismatic("x")
    assert fb.System(straight).nv == 1


def spare(error: float) -> fb.Builder:
    """A loop that moves whatever its axes are: its last body is free but for the pin."""
    b = four_bar(error)
    b.body("float", joint=fb.joints.Free(), position=(1.0, 0, 0), **ROD)
    b.loop(Closure(fb.joints.Spherical(), "arm", "float", at_predecessor=(0.3, 0, 0)), name="tow")
    return b


def test_a_file_is_turned_only_where_a_loop_then_moves_more():
    """By default; an angle that is asked for turns all axes, one by joint those of the loops of that joint."""
    b = fb.Builder("towed")
    b.body("arm", joint=Revolute("y"), **ROD)
    b.body("hand", parent="arm", joint=Revolute(tilted(1e-3)), position=(0.4, 0, 0), **ROD)
    b.body("float", joint=fb.joints.Free(), position=(1.0, 0, 0), **ROD)
    b.loop(Closure(fb.joints.Spherical(), "hand", "float", at_predecessor=(0.3, 0, 0)), name="tow")
    towed = b.mechanism()

    def read(mechanism: Mechanism, **extra: Any) -> Mechanism:
        return straighten_axes(mechanism, Options(extra=extra), Reading("file"))

    assert read(towed) == towed
    assert read(towed, straighten=0.0) == towed
    for asked in (2e-3, {"hand": 2e-3}):
        assert read(towed, straighten=asked).joints[1].joint == Revolute("y")
    assert read(towed, straighten={"float": 2e-3}) == towed  # the others are straightened as usual
    rough = four_bar(1e-3).mechanism()
    assert read(rough) == straighten(rough, 2e-3)[0] and lower(read(rough)).nv == 2


def test_last_digits_are_always_straightened():
    """Whether loops are rigid must not depend on rounding."""
    rough = spare(1e-7).mechanism()
    reading = Reading("file")
    found = straighten_axes(rough, Options(), reading)
    assert found == straighten(rough, 2e-3)[0] != rough
    assert [f.key for f in reading.findings] == ["straighten"]
