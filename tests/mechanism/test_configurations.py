"""Named configurations, springs that a joint carries, joints held in place."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Revolute, Spherical
from fourbar.loops import Closure, Coupling

ROD = {"mass": 1.0, "com": (0.2, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}


def four_bar(*, home: dict[str, float] | None = None) -> fb.System:
    b = fb.Builder("four_bar")
    b.body("crank", joint=Revolute("y"), **ROD)
    b.body("coupler", parent="crank", joint=Revolute("y"), position=(0.2, 0, 0), **ROD)
    b.body("rocker", joint=Revolute("y"), position=(0.5, 0, 0), **ROD)
    b.loop(Closure(Revolute("y"), "coupler", "rocker", at_predecessor=(0.5, 0, 0), at_successor=(0.4, 0, 0)))
    if home is not None:
        b.configuration("home", home)
    b.configuration("other", {"crank": 0.5, "coupler": -1.5, "rocker": -1.8})
    return b.build()


def test_configurations_are_closed_and_frozen():
    robot = four_bar(home={"crank": 0.3, "coupler": -0.9, "rocker": -1.4})
    assert list(robot.configurations) == ["home", "other"]
    for q in robot.configurations.values():
        assert robot.loop_gap(q) < 1e-12
        with pytest.raises(ValueError, match="read-only"):
            q[0] = 1.0
    assert np.abs(robot.configurations["home"] - [0.3, -0.9, -1.4]).max() < 0.3


def test_the_first_configuration_says_on_which_branch_loops_close():
    up, down = four_bar(home={"rocker": -1.5, "coupler": -1.0}), four_bar(home={"rocker": 1.5, "coupler": 1.0})
    assert up.neutral()[2] < 0.0 < down.neutral()[2]


def test_of_an_explicit_loop_only_independent_coordinates_remain():
    b = fb.Builder()
    b.body("a", joint=Revolute("y"), **ROD)
    b.body("b", joint=Revolute("y"), **ROD)
    b.body("c", joint=Spherical(), **ROD)
    b.loop(Coupling({"a": 1.0, "b": -2.0}))
    b.configuration("home", {"b": 0.2, "a": 0.4, "c": (0.0, 1.0, 0.0, 0.0)})
    robot = b.build()
    home = robot.expand(robot.configurations["home"])
    assert np.allclose(home, [0.4, 0.2, 0, 1, 0, 0], atol=1e-15)


def test_a_coupling_of_one_joint_holds_it():
    b = fb.Builder()
    b.body("a", joint=Revolute("y"), **ROD)
    b.body("b", parent="a", joint=Revolute("y"), position=(0.4, 0, 0), **ROD)
    b.loop(Coupling({"b": 2.0}, 0.6))
    held = b.build()
    welded = fb.Builder()
    welded.body("a", joint=Revolute("y"), **ROD)
    welded.body("b", parent="a", position=(0.4, 0, 0), rpy=(0, 0.3, 0), **ROD)
    assert (held.nq, held.nv) == (1, 1)
    state = [0.7], [1.1], [0.2]
    assert np.allclose(held.inverse_dynamics(*state), welded.build().inverse_dynamics(*state), rtol=1e-14, atol=1e-14)


def test_springs_are_carried():
    b = fb.Builder()
    b.body("a", joint=Revolute("y"), stiffness=3.0, rest=0.5, **ROD)
    b.body("b", joint=Spherical(), stiffness=2.0, **ROD)
    b.body("c", joint=Revolute("y"), **ROD)
    a, ball, plain = b.mechanism().joints
    assert (a.stiffness, a.rest) == ((3.0,), (0.5,))
    assert (ball.stiffness, ball.rest) == ((2.0,) * 3, (1.0, 0.0, 0.0, 0.0))
    assert (plain.stiffness, plain.rest) == ((), ())


def configured(name: object, coordinates: object) -> fb.Builder:
    b = fb.Builder()
    b.body("a", joint=Revolute("y"), **ROD)
    return b.configuration("there", {}).configuration(name, coordinates)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "coordinates", "words"),
    [
        ("", {}, "a unique name"),
        ("there", {}, "a unique name"),
        ("home", [1.0], "coordinates by joint"),
        ("home", {"a": "up"}, "expected numbers, got 'up'"),
        ("home", {"a": np.nan}, "finite coordinates"),
        ("home", {"b": 1.0}, "there is no joint 'b'"),
        ("home", {"a": (1.0, 2.0)}, "joint 'a' has 1 coordinates, got 2"),
    ],
)
def test_wrong_configurations_are_refused(name: object, coordinates: object, words: str):
    with pytest.raises(fb.ModelError, match=words):
        configured(name, coordinates).build()


def test_wrong_springs_are_refused():
    with pytest.raises(fb.ModelError, match="rest: the joint has 1 coordinates, got 2"):
        fb.Builder().body("a", joint=Revolute("y"), stiffness=1.0, rest=(1.0, 2.0), **ROD)
    with pytest.raises(fb.ModelError, match="stiffness: expected numbers ≥ 0"):
        fb.Builder().body("a", joint=Revolute("y"), stiffness=-1.0, **ROD)


def test_a_configuration_from_which_steps_lead_nowhere_is_closed_from_beside_it():
    b = fb.Builder()
    b.body("a", joint=Revolute("y"), **ROD)
    b.body("b", parent="a", joint=Revolute("y"), position=(0.4, 0, 0), **ROD)
    b.loop(Closure(Spherical(), "b", "world", at_predecessor=(0.4, 0, 0), at_successor=(0.3, 0, 0)))
    b.configuration("home", {"a": 1.0, "b": -2.0})
    b.configuration("stuck", {})
    robot = b.build()
    assert robot.loop_gap(robot.configurations["stuck"]) < 1e-11


def _flat(factor: float = 1.0, home: dict[str, float] | None = None) -> fb.Builder:
    """A parallelogram that is closed with all joints at zero, where its links are in line."""
    b = fb.Builder("flat")
    b.body("crank", joint=Revolute("y"), **ROD)
    b.body("coupler", parent="crank", joint=Revolute("y"), position=(0.2 * factor, 0, 0), **ROD)
    b.body("rocker", joint=Revolute("y"), position=(0.5 * factor, 0, 0), **ROD)
    ends = {"at_predecessor": (0.5 * factor, 0, 0), "at_successor": (0.2 * factor, 0, 0)}
    b.loop(Closure(Revolute("y"), "coupler", "rocker", **ends), name="pin")
    return b if home is None else b.configuration("home", home)


@pytest.mark.parametrize("factor", [1.0, 1e-4, 1e5])
def test_build_warns_of_a_linkage_drawn_in_line(factor: float):
    with pytest.warns(
        RuntimeWarning, match=r"loop 'pin' is singular where all joints are at zero.*Builder\.configuration"
    ):
        _flat(factor).build()
    with pytest.warns(RuntimeWarning, match="loop 'pin' is singular in the configuration 'home'"):
        _flat(factor, home={"crank": 0.0}).build()


def test_build_is_silent_where_the_assembly_is_named():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = _flat(home={"crank": 1.0, "coupler": -1.0, "rocker": 1.0}).build()
    assert np.allclose(robot.neutral(), [1.0, -1.0, 1.0])


@pytest.mark.parametrize("name", ["four_bar", "parallelogram", "crank_rocker", "six_bar", "five_bar", "slider_crank"])
def test_shipped_linkages_are_silent(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(fb.robots, name)().neutral()


def test_load_warns_of_a_linkage_drawn_in_line(tmp_path: Path):
    """In the one message of the file, with a key; a file that names the assembly is silent."""
    with pytest.warns(RuntimeWarning, match="singular"):
        _flat().build().save(tmp_path / "flat.json")
    with pytest.warns(fb.FileWarning, match=r"flat\.json: 1 warning \(flat\)") as caught:
        robot = fb.load(tmp_path / "flat.json")
    (finding,) = robot.report.warnings
    assert len(caught) == 1 and finding.key == "flat" and "loop 'pin' is singular" in finding.message
    with pytest.raises(fb.ParseError, match="loop 'pin' is singular"):
        fb.load(tmp_path / "flat.json", strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fb.load(tmp_path / "flat.json", waive=["flat"]).nv == 1
        _flat(home={"crank": 1.0, "coupler": -1.0, "rocker": 1.0}).build().save(tmp_path / "bent.json")
        assert not fb.load(tmp_path / "bent.json").report.warnings


def _limited(home: float | None = None) -> fb.System:
    """A hinge that cannot be at zero, and a wheel that a gear drives beyond its limits there."""
    b = fb.Builder("limited")
    b.body("arm", joint=Revolute("y"), limits=(0.5, 1.0), **ROD)
    b.body("shaft", joint=Revolute("y"), limits=(-1.0, 1.0), **ROD)
    b.body("wheel", joint=Revolute("y"), limits=(-1.0, -0.2), **ROD)
    b.loop(Coupling({"shaft": 2.0, "wheel": -1.0}), independent=["shaft"])
    return (b if home is None else b.configuration("home", {"arm": home, "shaft": -0.2, "wheel": -0.4})).build()


def test_neutral_outside_the_limits_warns():
    with pytest.warns(RuntimeWarning) as caught:
        q = _limited().neutral()
    (message,) = (str(x.message) for x in caught)
    for words in ("'arm' is at 0 (limits 0.5 and 1)", "'wheel' is at 0 (limits -1 and -0.2)", "Builder.configuration"):
        assert words in message
    assert "'shaft'" not in message and "robot.random(0)" in message and np.array_equal(q, np.zeros(2))
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match=r"Begin with robot\.configurations\['home'\]"):
        _limited(home=0.7).neutral()
    with pytest.warns(RuntimeWarning, match=r"Begin with a configuration named by Builder\.configuration"):
        _limited(home=0.1).neutral()


def test_nothing_else_warns_of_the_neutral_configuration():
    """Methods whose q may be left out, and robots within their limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = _limited()
        robot.random(0), robot.lock(["arm"]), robot.limits, robot.clusters
        fb.Scene(robot)
        four_bar(home={"crank": 0.4, "coupler": -1.0, "rocker": -1.0}).neutral()
    with pytest.warns(RuntimeWarning, match="neutral"):
        robot.neutral()
