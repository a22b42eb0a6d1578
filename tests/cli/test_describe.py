"""fourbar info, show and bench: what they print."""

from __future__ import annotations

import pytest

from fourbar import Builder, System, robots
from fourbar.cli import bench
from fourbar.cli.info import describe
from fourbar.cli.main import COMMANDS, main
from fourbar.functions.methods import METHODS
from fourbar.joints import Free, Prismatic, Revolute, Spherical
from fourbar.system.program_text import count

TREE = """\
body             joint  q     v     mass [kg]  type
---------------  -----  ----  ----  ---------  ------------------
world
├─ table                                       frame
└─ base          base   0:7   0:6           2  Free()
   ├─ imu                                      frame
   ├─ left       hip    7     6             1  Revolute(axis='x')
   │  └─ foot    foot                     0.5  Fixed()
   │     └─ toe                                frame
   └─ head       head   8:12  7:10        0.5  Spherical()
"""


def _branched() -> System:
    b = Builder("branched")
    b.body("base", joint=Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.body("left", parent="base", joint=Revolute("x"), joint_name="hip", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("foot", parent="left", mass=0.5, inertia=(0.01, 0.01, 0.01))
    b.body("head", parent="base", joint=Spherical(), mass=0.5, inertia=(0.01, 0.01, 0.01))
    b.frame("table", "world").frame("imu", "base").frame("toe", "foot")
    return b.build()


def test_tree() -> None:
    text = describe(_branched())
    totals, _, tree = text.partition("\n\n")
    assert tree == TREE.rstrip("\n")
    assert "joints       3 moving, 1 fixed" in totals
    assert "coordinates  nq = 12, nv = 10" in totals
    assert "mass         4 kg" in totals
    assert "gravity      (0, 0, -9.81) m/s²" in totals


JOINTS = """\
joint  unit  lower  upper  speed  force  damping  stiffness
-----  ----  -----  -----  -----  -----  -------  ---------
hip    rad    -0.5    1.5      3     20      0.1          5
slide  m         0    0.2

actuator  moves    kind    control  force
--------  -------  ------  -------  -----
motor     9 x hip  motor   -1 to 2  ±4
push      slide    affine"""


def test_limits_and_actuators() -> None:
    b = Builder("driven")
    b.body("arm", joint=Revolute("x"), joint_name="hip", mass=1.0, inertia=(0.1, 0.1, 0.1), limits=(-0.5, 1.5),
           max_velocity=3.0, max_force=20.0, damping=0.1, stiffness=5.0)  # fmt: skip
    b.body("rod", parent="arm", joint=Prismatic("x"), joint_name="slide", mass=1.0, limits=(0.0, 0.2))
    b.actuator("motor", drives={"hip": 9.0}, control_range=(-1.0, 2.0), force_range=(-4.0, 4.0))
    b.actuator("push", drives="slide", kind="affine", parameters={"gain": (10.0,), "bias": (0.0, -10.0)})
    assert describe(b.build()).endswith(JOINTS)


def test_help_lists_every_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    lines = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.split()[0] in COMMANDS]
    assert sorted(lines) == sorted(COMMANDS)
    assert text.index("first steps") < text.index("  info ") < text.index("  check ") < text.index("\n  show ")


def test_info_of_the_default_robot(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    default = capsys.readouterr().out
    assert main(["info", "crank_rocker"]) == 0
    assert capsys.readouterr().out == default
    assert default.splitlines()[-1].split() == ["pin", "crank,", "coupler,", "rocker", "world", "crank"]


@pytest.mark.parametrize(("stage", "sign"), [("program", "block 0"), ("llvm", "define"), ("asm", ".text")])
def test_stages(stage: str, sign: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "double_pendulum", "gravity_force", "--stage", stage]) == 0
    assert sign in capsys.readouterr().out


@pytest.mark.quick
def test_count_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "double_pendulum", "forward_dynamics", "--count"]) == 0
    rows = dict(line.split() for line in capsys.readouterr().out.splitlines()[2:])
    expected = count(robots.double_pendulum().program("forward_dynamics"))
    assert {kind: int(n) for kind, n in rows.items()} == {**expected, "total": sum(expected.values())}


@pytest.mark.parametrize("method", [name for name in METHODS if not name.startswith(("actuator", "control"))])
def test_every_method_can_be_shown(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    robot, tip = ("mini_cheetah", "FL_foot_contact") if method == "osim" else ("double_pendulum", "tip")
    options = {"frame": ["--frame", tip], "frames": ["--frames", tip], "prescribed": ["--prescribed", "elbow"]}
    options["cluster"] = ["--cluster", robots.double_pendulum().clusters[0].bodies[0]]
    given = [word for name in METHODS[method].static for word in options.get(name, [])]
    assert main(["show", robot, method, *given]) == 0
    assert capsys.readouterr().out.startswith(f"program {method} ")


@pytest.mark.parametrize("method", ["actuator_force", "actuator_matrix", "control_force", "control_gains"])
def test_a_robot_without_actuators_cannot_show_theirs(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "double_pendulum", method]) != 0
    assert "has no actuators" in capsys.readouterr().err


def test_bench_has_a_row_a_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--batch", "8", "--repeat", "1"]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert "batch of 8 [ns]" in head
    assert [row.split()[1] for row in rows] == list(bench.METHODS)
    assert all(float(x) > 0.0 for row in rows for x in row.split()[3:])


def test_shortest_is_the_least() -> None:
    calls = []
    assert 0.0 <= bench.shortest(lambda: calls.append(None), repeat=2, at_least=1e-5) < 1e-3
    assert len(calls) >= 3
