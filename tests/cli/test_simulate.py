"""fourbar simulate."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fourbar import Builder, SingularError, System, robots, simulate
from fourbar.cli import shared_arguments
from fourbar.cli.main import main
from fourbar.errors import extra
from fourbar.joints import Free, Prismatic, Revolute

SHORT = ["--duration", "0.2", "--dt", "0.01"]
PNG = b"\x89PNG"


def _number(label: str, text: str) -> float:
    found = re.search(rf"^{label} +(\S+)", text, re.MULTILINE)
    assert found is not None, text
    return float(found[1])


def test_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "four_bar.png"
    assert main(["simulate", "--duration", "1", "--dt", "0.002", "--output", str(picture)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("robot               crank_rocker (3 bodies, nv = 1)\n")
    assert _number("steps", out) == 500
    assert _number("energy drift", out) < 1e-6
    assert _number("loop gap", out) < 1e-14
    assert _number("acceleration error", out) < 1e-13
    assert out.endswith(f"picture: {picture}\n")
    assert picture.read_bytes()[:4] == PNG


def test_without_loops_there_is_no_gap(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "double_pendulum", "--no-picture", *SHORT]) == 0
    out = capsys.readouterr().out
    assert "loop gap" not in out
    assert _number("acceleration error", out) < 1e-13


def test_default_output_is_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", *SHORT]) == 0
    assert (tmp_path / "simulation.png").read_bytes()[:4] == PNG


@pytest.mark.quick
def test_table_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "--no-picture", *SHORT]) == 0
    out = capsys.readouterr().out
    assert "picture" not in out
    assert _number("acceleration error", out) < 1e-13
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_table_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "fourbar.cli.picture", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = tmp_path / "x.png"
    assert main(["simulate", *SHORT, "--output", str(picture)]) == 1
    printed = capsys.readouterr()
    assert "energy drift" in printed.out
    assert "picture" not in printed.out
    assert f"{picture} was not written: that needs matplotlib, {extra('plot')}" in printed.err
    assert not picture.exists()


def test_without_tqdm_progress_is_plain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert main(["simulate", *SHORT, "--no-picture"]) == 0
    told = capsys.readouterr().err
    assert told.startswith(f"simulating (for a progress bar: {extra('plot')}") and told.endswith(" ..........\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dt", "0"], "--dt: expected a positive number, got '0'"),
        (["--dt", "nan"], "--dt: expected a positive number"),
        (["--duration", "-1"], "--duration: expected a positive number"),
        (["--duration", "soon"], "--duration: expected a positive number, got 'soon'"),
    ],
)
def test_wrong_numbers(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["simulate", *options])
    assert done.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dt", "2", "--duration", "1"], "--dt 2 is longer than --duration 1"),
        (["--dt", "1e-300", "--duration", "1e300"], "is inf steps: too many"),
        (["--dt", "1e-9", "--duration", "1e3"], "is 1e+12 steps: too many"),
        (["--output", "picture.txt"], "expected a name that ends in one of"),
        (["--output", "picture"], "expected a name that ends in one of"),
        (["--output", "no/such/folder/picture.png"], "there is no folder"),
    ],
)
def test_refused(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", *options]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


def test_motion_that_diverges(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--no-picture", "double_pendulum", "--dt", "1", "--duration", "100"]) == 1
    printed = capsys.readouterr()
    assert "the simulation diverged" in printed.err
    assert printed.out == ""


def test_motion_that_ends_at_a_singular_position(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends(robot: System, q: Any, v: Any, *, duration: float, progress: Any = None, **rest: Any) -> Any:
        for i in progress(range(10)) if progress else ():
            if i == 3:
                raise SingularError("loop 'closing' is at a toggle position")

    monkeypatch.setattr("fourbar.cli.simulate.simulate", ends)
    assert main(["simulate", "--no-picture", "four_bar", "--dt", "0.1"]) == 1
    assert re.search(r"stopped after 0.3 s \(use --duration to end earlier\): loop 'closing'", capsys.readouterr().err)


def test_loops_are_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "slider_crank", "--no-picture", "--duration", "0.1"]) == 0
    out = capsys.readouterr().out
    assert _number("energy drift", out) < 1e-8
    assert _number("force residual", out) < 1e-12


def test_any_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A robot without closed form, without frames, with a free base and more coordinates than fit in a legend."""

    def sledge() -> System:
        solid = {"mass": 1.0, "inertia": (0.1, 0.2, 0.15)}
        b = Builder("sledge")
        b.body("base", joint=Free(), **solid)
        b.body("slider", parent="base", joint=Prismatic("x"), position=(0.0, 0.1, 0.0), **solid)
        b.body("wheel", parent="slider", joint=Revolute("y"), **solid)
        return b.build()

    monkeypatch.setitem(robots.ROBOTS, "sledge", sledge)
    assert shared_arguments.read_robot("sledge").nv == 8
    picture = tmp_path / "sledge.svg"
    assert main(["simulate", "sledge", *SHORT, "--output", str(picture)]) == 0
    assert _number("force residual", capsys.readouterr().out) < 1e-12
    assert picture.stat().st_size > 1000


SPRUNG = """<robot name="sprung"><link name="base"/><link name="arm"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
<inertia ixx=".01" iyy=".01" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="swing" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="3"/><dynamics damping="0.3" friction="0.2"/></joint><gizmo/></robot>
"""


def test_damping_of_a_file_acts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It takes energy, which the balance counts; friction and limits, which do not act, are told."""
    file = tmp_path / "sprung.urdf"
    file.write_text(SPRUNG)
    command = ["simulate", str(file), "--no-picture", "--duration", "1"]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert _number("energy drift", printed.out) < 1e-9
    assert _number("lost to damping", printed.out) > 1.0
    assert _number("force residual", printed.out) < 1e-12
    assert re.search("^acting +damping of 1 joint$", printed.out, re.MULTILINE)
    assert re.search("^not acting +friction of 1 joint$", printed.out, re.MULTILINE)
    assert printed.err.count("warning: simulate: the Coulomb friction of joint 'swing'") == 1
    assert printed.err.count("warning: simulate: joint 'swing' moved beyond the limits") == 1
    assert f"{file}: 1 warning (gizmo); `fourbar check {file}` lists them" in printed.err
    assert main([*command, "--no-passive"]) == 0
    printed = capsys.readouterr()
    assert _number("energy drift", printed.out) < 1e-9
    assert "lost to damping" not in printed.out and "Coulomb" not in printed.err
    assert re.search("^not acting +damping of 1 joint, friction of 1 joint$", printed.out, re.MULTILINE)


def test_warnings_are_reported_where_the_simulation_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stiff() -> System:
        b = Builder("stiff")
        b.body("cart", joint=Prismatic("z"), mass=1.0, inertia=(1, 1, 1), stiffness=1e6, friction=1.0)
        return b.build()

    monkeypatch.setitem(robots.ROBOTS, "stiff", stiff)
    assert main(["simulate", "stiff", "--no-picture", "--dt", "0.1", "--duration", "20"]) == 1
    printed = capsys.readouterr().err
    assert "the simulation diverged" in printed
    assert printed.count("warning: simulate: the Coulomb friction of joint 'cart'") == 1


def test_springs_of_a_robot_act(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def bouncer() -> System:
        b = Builder("bouncer")
        b.body("cart", joint=Prismatic("z"), mass=1.0, inertia=(1, 1, 1), stiffness=100.0, rest=0.2)
        return b.build()

    monkeypatch.setitem(robots.ROBOTS, "bouncer", bouncer)
    assert main(["simulate", "bouncer", "--no-picture", "--duration", "1"]) == 0
    printed = capsys.readouterr()
    assert _number("energy drift", printed.out) < 1e-9
    assert re.search("^acting +springs of 1 joint$", printed.out, re.MULTILINE)
    assert "lost" not in printed.out


ARM = """<robot name="arm"><link name="base"><collision><geometry><box size=".2 .2 .2"/></geometry></collision></link>
<link name="upper"><inertial><mass value="1"/><origin xyz="0 0 .2"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>{upper}</link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
</robot>"""
BALL = '<collision><origin xyz="0 0 .4"/><geometry><sphere radius=".05"/></geometry></collision>'


@pytest.mark.parametrize("upper", ["", BALL])
def test_the_base_of_an_arm_is_no_floor(upper: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.format(upper=upper), encoding="utf-8")
    assert main(["simulate", str(file), *SHORT, "--no-picture"]) == 0
    said = capsys.readouterr()
    assert _number("energy drift", said.out) < 1e-3 and "contacts" not in said.out + said.err


def test_of_many_joints_those_that_move_most_are_drawn_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, *_, **__: seen.append(self))
    assert main(["simulate", "tello", *SHORT, "--output", str(tmp_path / "x.png")]) == 0
    (figure,) = seen
    figure.draw_without_rendering()
    joints, _, path, *_ = figure.axes
    assert len(joints.get_legend().texts) == 8 and joints.get_title(loc="left").endswith(
        "the 8 independent ones that move most, of 20"
    )
    boxes = [x.get_window_extent() for x in (path.get_legend(), path._left_title)]
    assert not boxes[0].overlaps(boxes[1])


def test_joints_stop_at_their_limits_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without, they go on, which is said with what to do."""
    pytest.importorskip("matplotlib")
    seen: list[Any] = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, *_, **__: seen.append(self))
    command = ["simulate", "five_bar", "--output", str(tmp_path / "x.png"), "--duration"]
    assert main([*command, "1"]) == 0
    printed = capsys.readouterr()
    assert re.search(
        r"^joint limits +left by 1 joint, which would stop there with --limits$", printed.out, re.MULTILINE
    )
    assert "enforced in scenes only" in printed.err
    assert main([*command, "3", "--limits"]) == 0
    printed = capsys.readouterr()
    assert re.search(r"^at the end +at rest$", printed.out, re.MULTILINE) and "beyond" not in printed.err
    assert _number("residual", printed.out) < 1e-9 and _number("energy lost", printed.out) > 5.0
    robot = robots.five_bar()
    at = robot.names.coordinates.index("right_forearm")
    free, stopped = (figure.axes[0].lines[at].get_ydata() for figure in seen)
    low, high = robot.limits.lower[at], robot.limits.upper[at]
    assert free.min() < low - 0.1 or free.max() > high + 0.1
    assert stopped.min() > low - 0.01 and stopped.max() < high + 0.01


@pytest.mark.slow
def test_a_platform_does_not_fall_between_its_limits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "stewart_platform", "--no-picture", "--limits", "--duration", "3"]) == 0
    assert re.search(r"^at the end +at rest$", capsys.readouterr().out, re.MULTILINE)


def test_coordinates_are_called_as_info_does() -> None:
    pytest.importorskip("matplotlib")
    from fourbar.cli.picture import joints
    from fourbar.plots.style import drawing

    robot = robots.stewart_platform()
    with drawing(4.0, 3.0, "") as figure:
        axes = figure.add_subplot()
        joints(axes, robot, np.array([0.0, 1.0]), robot.random(0, n=2))
    names = [text.get_text() for text in axes.get_legend().texts]
    assert "slide1" in names and any(re.fullmatch(r"cardan\d\.angle\d", name) for name in names)
    assert "the 6 independent ones and 2 more, of 18" in axes.get_title(loc="left")


@pytest.mark.parametrize(
    ("robot", "options", "message"),
    [("double_pendulum", [], "no joint of double_pendulum has limits"), ("delta", ["--no-passive"], "--no-passive")],
)
def test_limits_that_cannot_act(
    robot: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", robot, "--limits", "--no-picture", *SHORT, *options]) == 2
    assert message in capsys.readouterr().err


def test_what_is_compiled_on_the_way_is_not_part_of_a_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the joints of a loop turn back it is followed by others, whose steps are compiled then."""
    clock, made = [0.0], []

    def slow_at_first(*args: Any, **options: Any) -> Any:
        made.append(options["duration"])
        clock[0] += 100.0 if len(made) < 3 else 0.006
        return simulate(*args, **options)

    monkeypatch.setattr("fourbar.cli.simulate.simulate", slow_at_first)
    monkeypatch.setattr("fourbar.cli.simulate.time", SimpleNamespace(perf_counter=lambda: clock[0]))
    assert main(["simulate", "four_bar", "--duration", "0.2", "--no-picture"]) == 0
    assert made[1:] == [0.2, 0.2] and re.search(r"^time per step +30 µs$", capsys.readouterr().out, re.MULTILINE)


def test_a_robot_falls_on_a_ground(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A double pendulum on a ground 20 % of its size below its lowest point; damping is said."""
    picture = tmp_path / "ground.png"
    options = ["--ground", "--friction", "0.5", "--duration", "1", "--dt", "0.002", "--output", str(picture)]
    assert main(["simulate", "double_pendulum", *options]) == 0
    out = capsys.readouterr().out
    assert _number("residual", out) < 1e-9 and "friction 0.5" in out and "joint damping" in out
    assert re.search(r"touching at the end +lower [\d.]+ N", out) is not None, out
    assert picture.read_bytes()[:4] == PNG


def test_single_bodies_on_the_floor_of_a_file_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which have no bones: where they start and end is marked."""
    pytest.importorskip("mujoco", reason="MJCF is read with MuJoCo")
    pytest.importorskip("matplotlib")
    file = tmp_path / "scene.xml"
    ball = '<body name="ball" pos="0 0 .3"><freejoint/><geom size=".1" mass="1"/></body>'
    floor = '<geom name="floor" type="plane" size="5 5 1"/>'
    file.write_text(f"<mujoco><worldbody>{floor}{ball}</worldbody></mujoco>")
    output = tmp_path / "scene.png"
    assert main(["simulate", str(file), "--duration", "0.3", "--output", str(output)]) == 0
    assert output.stat().st_size > 1000 and "ball 9.81 N" in capsys.readouterr().out


def test_a_floor_of_the_file_is_touched_unless_it_is_not_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mujoco", reason="MJCF is read with MuJoCo")
    file = tmp_path / "ball.xml"
    file.write_text(
        """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="ball" pos="0 0 0.5"><freejoint/>
        <inertial pos="0 0 0" mass="2" diaginertia="0.01 0.01 0.01"/><geom type="sphere" size="0.1"/></body>
        </worldbody></mujoco>"""
    )
    options = ["--no-picture", "--duration", "1", "--dt", "0.002"]
    assert main(["simulate", str(file), *options]) == 0
    out = capsys.readouterr().out
    assert "ball 19.6 N (weight 19.62 N)" in out and "joint damping" not in out
    assert main(["simulate", str(file), "--no-contacts", *options]) == 0
    printed = capsys.readouterr()
    assert "touching" not in printed.out and "contacts are not simulated" in printed.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--friction", "0.5"], "give --ground too"),
        (["--ground", "--no-contacts"], "leave out --no-contacts"),
    ],
)
def test_options_of_the_ground(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--no-picture", *SHORT, *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", robots.ROBOTS)
def test_every_robot_of_the_library_falls_on_a_ground(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", name, "--ground", "--no-picture", "--duration", "1", "--dt", "0.002"]) == 0
    assert "touching at the end" in capsys.readouterr().out


def test_the_picture_colours_only_the_last_stretch_of_a_path_that_covers_itself() -> None:
    pytest.importorskip("matplotlib")
    from fourbar.cli.picture import last_stretch

    angle = np.linspace(0.0, 40.0 * np.pi, 4001)  # twenty turns on a circle of radius 1
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert abs((angle[-1] - angle[last_stretch(circle)]) - 3.0 * 8.0**0.5) < 0.05  # 3 diagonals of its box
    assert last_stretch(circle[:100]) == 0, "a short path is shown whole"
    assert last_stretch(np.zeros((5, 2))) == 0
