"""What objects show of themselves in a session and in a notebook: short, and safe to put on a page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.identification import Fourier
from fourbar.representation import abbreviate, html_table, quantity

UGLY = "<script>alert('&')</script>"


class Reader(HTMLParser):
    """The tags and the words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == [], "all tags are closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


TABLE = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


def ugly_robot() -> fb.System:
    b = fb.Builder(UGLY)
    b.body(UGLY, joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    return b.build()


def identified() -> fb.Identification:
    robot = ugly_robot()
    q, v, a = np.random.default_rng(0).normal(size=(3, 50, 1))
    return fb.identify(robot, {"q": q, "v": v, "a": a, "tau": robot.inverse_dynamics(q, v, a)}, noise=0.01)


def shown() -> dict[str, Any]:
    robot = ugly_robot()
    return {
        "System": robot,
        "Names": robot.names,
        "Run": fb.simulate(robot, [0.5], duration=0.1, dt=0.01),
        "Report": fb.Report((fb.Finding("warning", UGLY, file="arm.urdf", line=3),), file="arm.urdf"),
        "InverseKinematics": robot.inverse_kinematics({UGLY: (0.1, 0.0, 0.2)}, restarts=1),
        "Scene": fb.Scene(robot, fb.Plane(), contacts=[UGLY]),
        "Identification": identified(),
        "BaseParameters": fb.base_parameters(robot),
        "Excitation": fb.exciting_trajectory(robot, period=2.0, velocity=2.0, evaluations=3),
    }


SHOWN = shown()
DRAWN = ("System", "Scene", "Run")


@pytest.mark.parametrize("name", SHOWN)
def test_the_representation_is_short(name: str) -> None:
    text = repr(SHOWN[name])
    assert text.startswith(f"<fourbar {name}") and text.endswith(">")
    assert len(text.splitlines()) == 1 and len(text) < 250


@pytest.mark.parametrize("name", SHOWN)
def test_the_table_is_small_and_escaped(name: str) -> None:
    page = SHOWN[name]._repr_html_()
    if name in DRAWN:  # a frame with a page of its own inside, all escaped, then the table
        frame, end, page = page.partition("</iframe>")
        assert frame.startswith("<iframe srcdoc=") and end and frame.count("<") == 1
        page = page.replace("<details><summary>numbers</summary>", "").replace("</details>", "")
    reader = Reader(page)
    assert reader.tags <= TABLE and "table" in reader.tags
    assert "<script" not in page and len(page) < 5000
    if name not in ("Run", "BaseParameters"):
        assert any(UGLY in word for word in reader.words), "names are shown as they are"


def test_what_is_said() -> None:
    robot = fb.robots.double_pendulum()
    assert "2 bodies" in repr(robot) and "elbow" in robot._repr_html_()
    assert "2 velocities" in repr(robot.names)
    motion = fb.simulate(robot, np.zeros((4, 2)), duration=0.1, dt=0.01)
    assert "11 states" in repr(motion) and "(11, 4, 2)" in repr(motion)
    report = SHOWN["Report"]
    assert "1 warning" in repr(report) and "0 errors" in repr(report) and "arm.urdf" in repr(report)
    found = identified()
    assert f"{len(found.identified)} of" in repr(found) and str(found) == found.report()
    assert "1 harmonic of" in repr(Fourier(np.zeros(1), np.zeros((1, 1, 2)), 2.0))


def test_targets_that_are_missed_are_shown() -> None:
    robot = fb.robots.double_pendulum()
    far = robot.inverse_kinematics({"tip": [(0.0, 0.0, -2.0), (0.0, 0.0, -3.0)]}, restarts=0)
    words = Reader(far._repr_html_()).words
    assert "tip" in words and f"{far.distance['tip'].max():.3g}" in words and "-" in words
    nothing = robot.inverse_kinematics({"tip": np.zeros((0, 3))})
    assert Reader(nothing._repr_html_()).words.count("-") == 2


def test_a_scene_lists_what_may_touch_and_what_stops_joints() -> None:
    b = fb.Builder("door")
    b.body("leaf", joint=fb.joints.Revolute("z"), mass=20.0, com=(0.4, 0, 0), limits=(0, 1.6))
    scene = fb.Scene(b.build(), fb.Plane(friction=0.25), contacts=["leaf"])
    assert "1 contact, 1 joint velocity with limits" in repr(scene)
    words = Reader(scene._repr_html_().partition("</iframe>")[2] or scene._repr_html_()).words
    assert {"leaf", "0.25", "0 to 1.6"} <= {*words}


def test_a_motion_that_is_not_finite_is_shown() -> None:
    lost = fb.Run(np.array([0.0]), np.full((1, 2), np.nan), np.zeros((1, 2)))
    assert "1 state" in repr(lost) and "-" in Reader(lost._repr_html_()).words
    nothing = fb.Run(np.zeros(0), np.zeros((0, 2)), np.zeros((0, 2)))
    assert "0 states" in repr(nothing) and nothing._repr_html_()


@pytest.mark.quick
def test_long_tables_and_lists_are_cut() -> None:
    page = html_table("many", ("name", "number"), ((f"n{i}", i) for i in range(100)))
    assert "n19" in page and "n20" not in page and "... and 80 more" in page
    assert abbreviate([f"n{i}" for i in range(10)]).endswith("n7, ... and 2 more")
    assert quantity(1, "body", "bodies") == "1 body" and quantity(0, "state") == "0 states"


def test_equations_are_shown_as_formulas() -> None:
    pytest.importorskip("sympy")
    b = fb.Builder("slide", gravity=(0, 0, 0))
    equations = b.body("block", joint=fb.joints.Prismatic("x"), mass=2.0).build().equations()
    assert repr(equations) == "<fourbar Equations of 'slide': 1 coordinate, 1 velocity, 0 parameters>"
    assert equations._repr_latex_().startswith("$$") and r"\tau" in equations._repr_latex_()
