"""Loops as formulas: the same as Python functions, written to files and read, with constants that vary."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.constraints.serialize import as_data
from fourbar.joints import Prismatic, Revolute, Spherical
from fourbar.loops import Constraint, Coupling, Differential, Formula, Gear, Loop, Parametric, Polynomial

QUIET = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")


def slider(loop: Loop, independent: Any = ("crank",)) -> fb.System:
    b = fb.Builder("slider")
    b.body("crank", joint=Revolute("y"), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))
    b.body("slide", joint=Prismatic("x"), mass=2.0, com=(0, 0.1, 0.2), inertia=(0.1, 0.1, 0.1))
    return b.loop(loop, name="tie", independent=independent).build()


def _function(crank: Any, slide: Any) -> Any:
    return slide - 0.1 * fb.cos(crank) - fb.sqrt(0.09 - (0.1 * fb.sin(crank)) ** 2)


TEXT = Formula(
    "crank slide", "slide - r * cos(crank) - sqrt(l**2 - (r * sin(crank))**2)", constants={"r": 0.1, "l": 0.3}
)


def test_the_same_as_a_python_function() -> None:
    names = ["crank", "slide"]
    ours, expected = slider(Constraint(TEXT, names)), slider(Constraint(_function, names))
    q = expected.random(np.random.default_rng(0), 5)
    v, tau = np.random.default_rng(1).normal(size=(2, 5, 1))
    for robot in (ours, fb.loads(_json(expected), format="json"), pickle.loads(pickle.dumps(ours))):
        assert np.allclose(robot.forward_dynamics(q, v, tau), expected.forward_dynamics(q, v, tau), rtol=1e-13)


def _json(robot: fb.System) -> str:
    from fourbar.io.formats import FORMATS

    return FORMATS["json"].write(robot.mechanism, "x.json")[0]


def test_constants_vary() -> None:
    """Derivatives by the constants against differences, and other values against a robot that is built with them."""
    names = ["crank", "slide"]
    robot = slider(Constraint(TEXT, names))
    q = robot.assemble([0.7] if robot.nq == 1 else [0.7, 0.35])
    other = slider(Constraint(Formula("crank slide", TEXT.results, constants={"r": 0.11, "l": 0.28}), names))
    varied = robot.varying("tie.constants")
    assert np.allclose(varied.mass_matrix(q, [0.11, 0.28]), other.mass_matrix(q), rtol=1e-13)
    v = np.array([0.7])
    slope: Any = robot.inverse_dynamics.jacobian(q, v, v, parameters=["tie.constants"])[-1]
    h = 1e-6
    for i, step in enumerate(h * np.eye(2)):
        ends = [varied.inverse_dynamics(q, v, v, [0.1, 0.3] + sign * step) for sign in (1, -1)]
        assert np.allclose(slope["tie.constants"][..., i], (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


def test_a_joint_with_several_coordinates(tmp_path: Path) -> None:
    """w of a ball's quaternion drives a slide; coordinates are indexed in the text."""
    b = fb.Builder("ball")
    b.body("ball", joint=Spherical(), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))
    b.body("slide", joint=Prismatic("x"), mass=2.0)
    b.loop(Constraint(lambda ball, slide: slide - ball[1] * ball[0], ["ball", "slide"]), name="tie")
    robot = b.build()
    robot.save(tmp_path / "ball.json")
    again = fb.load(tmp_path / "ball.json")
    (loop,) = again.mechanism.loops
    assert isinstance(loop.loop, Constraint) and isinstance(loop.loop.function, Formula)
    assert "q1[0]" in loop.loop.function.results[0]
    q = robot.random(np.random.default_rng(0), 4)
    assert np.allclose(again.mass_matrix(q), robot.mass_matrix(q), rtol=1e-13)


def test_edited_loops_are_written(tmp_path: Path) -> None:
    """The mirror image of a function of joints, and one with a locked joint, become formulas too."""
    robot = fb.robots.tello()
    image = robot.mirrored("y")
    image.save(tmp_path / "image.json")
    again = fb.load(tmp_path / "image.json")
    q = image.random(np.random.default_rng(0), 3)
    assert np.allclose(again.mass_matrix(q), image.mass_matrix(q), rtol=1e-12)
    locked = (
        slider(Constraint(lambda a, b: b - fb.sin(a), ["crank", "slide"]))
        .mechanism.loops[0]
        .loop.hold({"crank": (0.3,)})
    )
    data = as_data(locked[0], {"slide": 1})
    assert isinstance(data, Constraint) and data.function(0.0)[0] == pytest.approx(-np.sin(0.3), rel=1e-15)


@QUIET
@pytest.mark.parametrize("format", ["json", "toml", "urdf"])
def test_edited_formulas_keep_outputs_and_constants(format: str, tmp_path: Path) -> None:
    """A locked input and a mirror image leave a `Parametric` one, and constants stay parameters."""
    b = fb.Builder("three")
    for name, axis in (("a", "y"), ("b", "z"), ("c", "x")):
        b.body(name, joint=Revolute(axis), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25))
    function = Formula("u v", "g * sin(u) * cos(v)", constants={"g": 0.3})
    robot = b.loop(Parametric(function, ["a", "b"], ["c"]), name="tie").build()
    for edited in (robot.lock({"b": 0.1}), robot.mirrored("y"), robot.mirrored("x")):
        edited.save(tmp_path / f"robot.{format}")
        again = fb.load(tmp_path / f"robot.{format}")
        (loop,) = again.mechanism.loops
        assert isinstance(loop.loop, Parametric) and again.nq == edited.nq
        assert "tie.constants" in again.names.numbers
        q = edited.random(np.random.default_rng(0), 3)
        assert np.allclose(again.mass_matrix(q), edited.mass_matrix(q), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("u[0] - v", "formula of u, v: .*called by its name"),
        ("inf * u - v", "not finite"),
        ("sqrt(-1) * u - v", "formula of u, v: "),
    ],
)
def test_what_no_joint_can_be_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(fb.ModelError, match=words):
        slider(Constraint(Formula("u v", text), ["crank", "slide"]))


def test_names_and_lines_as_people_type_them() -> None:
    assert Formula("µ", "2 *\n µ")(2.0) == (4.0,)  # the micro sign is another letter than the Greek one
    with pytest.raises(fb.ArgumentError, match="called with 2 coordinates"):
        Formula("x", "x")(1.0, 2.0)


class _Reading(Loop):
    """A user's own type of loop, which prefers a dependent joint."""

    @property
    def joints(self) -> tuple[str, ...]:
        return ("crank", "slide")

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return ("slide",)

    def residual(self, view: Any) -> Any:
        return [view.q("slide")[0] - fb.sin(view.q("crank")[0])]


def test_what_no_file_holds_is_named(tmp_path: Path) -> None:
    with pytest.raises(fb.ModelError, match=r"loop 'tie': a loop of type _Reading is made of Python code"):
        slider(_Reading()).save(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("arguments", "results", "more", "words"),
    [
        ("a", "b", {}, "formula of a: unknown name 'b'"),
        ("a a", "a", {}, "'a' is given twice"),
        ("", "1", {}, "it has no arguments"),
        ("sin", "1", {}, "'sin' has a meaning in formulas already"),
        ("a-b", "1", {}, "expected names such as 'crank'"),
        ("lambda", "1", {}, "expected names such as 'crank'"),
        ("a", [], {}, "results of a formula are texts"),
        ("a", [1.0], {}, "results of a formula are texts"),
        ("a", "a", {"constants": {"r": np.nan}}, "constant 'r' of a formula must be a finite number"),
        ("a", "a", {"constants": {"a": 1.0}}, "'a' is given twice"),
        ("a", "b", {"where": {"b": "c", "c": "a"}}, "unknown name 'c'"),
        ("a", "a +", {}, "'a \\+' is no formula"),
        (5, "a", {}, "expected names such as"),
        ("a", 5, {}, "results of a formula are texts"),
        ("a", "a", {"where": ["a"]}, "where of a formula: expected a mapping"),
        ("a", "a", {"constants": 3}, "constants of a formula: expected a mapping"),
    ],
)
def test_refused(arguments: Any, results: Any, more: Any, words: str) -> None:
    with pytest.raises(fb.ModelError, match=words):
        Formula(arguments, results, **more)


def test_the_number_of_arguments_is_checked() -> None:
    with pytest.raises(fb.ModelError, match="called with the coordinates of 1 joints"):
        Constraint(TEXT, ["crank"])


LOOPS: dict[str, Loop] = {
    "gear": Gear("crank", "slide", 0.2, 0.1),
    "coupling": Coupling({"crank": 1.0, "slide": -3.0}, 0.2),
    "differential": Differential(["crank"], ["slide"], [[0.5]]),
    "polynomial": Polynomial("crank", "slide", (0.1, 0.2, 0.3, 0.4)),
    "constraint": Constraint(TEXT, ["crank", "slide"]),
    "parametric": Parametric(lambda x: 0.3 * fb.sin(x) + 0.1 * x, ["crank"], ["slide"]),
}
CHOICES: tuple[Any, ...] = ((), ["crank"], ["slide"], {"crank": 3.0}, {"slide": 0.5})


@QUIET
@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("name", LOOPS)
def test_urdf_keeps_the_independent_velocity(name: str, choice: Any, tmp_path: Path) -> None:
    """URDF has the choice of the independent velocity, and its unit, as attributes of the joint."""
    try:
        robot = slider(LOOPS[name], choice)
    except fb.ModelError:
        assert name == "parametric"  # its output follows and cannot be chosen
        return
    robot.save(tmp_path / "robot.urdf")
    again = fb.load(tmp_path / "robot.urdf")
    assert again.names.velocities == robot.names.velocities
    start = robot.assemble(np.full(robot.nq, 0.3))
    q = start[[robot.names.coordinates.index(x) for x in again.names.coordinates]]
    assert np.allclose(again.mass_matrix(q), robot.mass_matrix(start), rtol=1e-12)
    v = np.array([0.7])
    assert np.allclose(again.forward_dynamics(q, v, [0.1]), robot.forward_dynamics(start, v, [0.1]), rtol=1e-10)


@QUIET
def test_loops_of_our_own_files_in_a_sidecar(tmp_path: Path) -> None:
    """A side-car adds every type of loop to a URDF: here the function that ties a slider to its crank."""
    robot = slider(Constraint(TEXT, ["crank", "slide"]), {"crank": 2.0})
    robot.spanning().save(tmp_path / "slider.urdf")
    text = """
        [[loops]]
        name = "tie"
        type = "Constraint"
        of = ["crank", "slide"]
        independent = { crank = 2.0 }
        [loops.function]
        arguments = ["crank", "slide"]
        constants = { r = 0.1, l = 0.3 }
        results = ["slide - r * cos(crank) - sqrt(l**2 - (r * sin(crank))**2)"]
        """
    (tmp_path / "slider.toml").write_text(text)
    again = fb.load(tmp_path / "slider.urdf", sidecar=tmp_path / "slider.toml")
    q = robot.assemble(np.full(robot.nq, 0.3))
    assert again.names.coordinates == robot.names.coordinates
    assert np.allclose(again.mass_matrix(q), robot.mass_matrix(q), rtol=1e-13)
    (tmp_path / "slider.toml").write_text(text.replace("{ crank = 2.0 }", "3"))
    with pytest.raises(fb.ModelError, match=r"slider.toml:6: .*independent: expected a table"):
        fb.load(tmp_path / "slider.urdf", sidecar=tmp_path / "slider.toml")


def test_a_scale_without_independence_is_refused() -> None:
    text = """<robot name="r"><link name="a"/><link name="b"/>
    <joint name="j" type="continuous" independent_scale="2"><parent link="a"/><child link="b"/></joint></robot>"""
    with pytest.raises(fb.ModelError, match='independent="true"'):
        fb.loads(text, format="urdf")


@QUIET
@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ('<argument name="x" joint="no"/><result value="x"/>', "no joint 'no'"),
        ('<argument name="x" joint="j"/>', "results of a formula are texts"),
        ('<argument name="x" joint="j"/><result value="x + z"/>', "unknown name 'z'"),
        ('<argument name="x" joint="j"/><result value="x"/><spring value="3"/>', "spring"),
    ],
)
def test_damaged_functions_in_urdf(inside: str, words: str) -> None:
    text = f"""<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1"
    izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
    <loop name="l" type="constraint">{inside}</loop></robot>"""
    with pytest.raises(fb.ModelError, match=words):
        fb.loads(text, format="urdf")


@QUIET
@pytest.mark.parametrize("name", list(fb.robots.ROBOTS))
def test_shipped_robots_in_urdf(name: str, tmp_path: Path) -> None:
    """Every robot of the library, written as URDF+ and read: the same velocities and mass matrix."""
    robot = fb.robots.ROBOTS[name]()
    robot.save(tmp_path / "robot.urdf")
    again = fb.load(tmp_path / "robot.urdf")
    assert sorted(again.names.velocities) == sorted(robot.names.velocities)
    q = robot.random(np.random.default_rng(0), 2)
    columns = [robot.names.coordinates.index(x) for x in again.names.coordinates]
    rows = [robot.names.velocities.index(x) for x in again.names.velocities]
    expected = robot.mass_matrix(q)[:, rows][:, :, rows]
    assert np.abs(again.mass_matrix(q[:, columns]) - expected).max() <= 1e-9 * np.abs(expected).max()
