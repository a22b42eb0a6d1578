"""Numbers near the ends of the range, anywhere in a file: a robot, or an error with file and line; nothing else."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fourbar as fb

from .sdf_models import TREES

MATTER = (
    '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/><mass value="1.5"/>'
    '<inertia ixx="1.1" ixy="0.1" ixz="0.2" iyy="1.2" iyz="0.3" izz="1.3"/></inertial>'
    '<visual><origin xyz="0.1 0.1 0.1" rpy="0.1 0.2 0.3"/><geometry><box size="1.1 1.2 1.3"/></geometry></visual>'
)


def joint(name: str, parent: str, child: str, inside: str = "") -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        '<origin xyz="0.5 0.1 0.2" rpy="0.1 0.2 0.3"/><axis xyz="0.1 1.0 0.2"/>'
        '<limit lower="-1.5" upper="1.5" effort="2.5" velocity="3.5"/><dynamics damping="0.5" friction="0.25" '
        f'spring_stiffness="2.5" spring_reference="0.5"/>{inside}</joint>'
    )


URDF = "\n".join([
    '<robot name="r">', *(f'<link name="{x}">{MATTER}</link>' for x in "abcd"), joint("j1", "a", "b"),
    joint("j2", "b", "c", '<mimic joint="j1" multiplier="2.5" offset="0.5"/>'), joint("j3", "a", "d"),
    '<transmission><joint name="j1"/><actuator name="m"><mechanicalReduction>50.5</mechanicalReduction>',
    '<rotorInertia>0.25</rotorInertia></actuator></transmission>',
    '<coupling name="k"><predecessor link="b"/><successor link="d"/><ratio value="3.5"/></coupling>',
    '<frame name="f" link="b" xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/></robot>',
])  # fmt: skip
MJCF = (
    '<mujoco><option gravity="0.0 0.0 -9.8"/><worldbody><body name="a" pos="0.0 0.5 1.0"><joint name="j" '
    'axis="0.0 1.0 0.2" armature="0.1" damping="0.5" stiffness="2.5" range="-1.5 1.5" limited="true"/>'
    '<inertial pos="0.1 0.2 0.3" mass="1.5" diaginertia="1.1 1.2 1.3"/><geom type="box" size="0.1 0.2 0.3"/>'
    '<body name="b" pos="0.5 0.1 0.2"><joint name="k" axis="0.0 1.0 0.0"/><inertial pos="0.1 0.2 0.3" mass="1.5" '
    'diaginertia="1.1 1.2 1.3"/></body></body></worldbody><equality><joint joint1="j" joint2="k" '
    'polycoef="0.1 2.5 0.1 0.0 0.0"/></equality><actuator><motor joint="j" gear="3.5"/></actuator></mujoco>'
)
Change = tuple[int, list[tuple[float, str]]]
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?(?![\w.])")
EXTREME = (
    "1e308", "-1e308", "1.7976931348623157e308", "1e200", "1e155", "-1e100", "1e51", "1e40", "5e-324", "-1e-320",
    "1e-308", "1e-155", "1" + "0" * 400 + ".0",
)  # fmt: skip


def written(name: str, format: str, folder: Path) -> str:
    robot = getattr(fb.robots, name)()
    robot.save(folder / f"a.{format}")
    return (folder / f"a.{format}").read_text()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("extreme")
    own = {format: [written("crank_rocker", format, folder)] for format in ("json", "toml")}
    return {"urdf": [URDF], "sdf": list(TREES.values()), "mjcf": [MJCF], **own}


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Which document, and which of its numbers become which others."""
    one = st.tuples(st.floats(0.0, 1.0, exclude_max=True), st.sampled_from(EXTREME))
    return draw(st.integers(0, 100)), draw(st.lists(one, min_size=1, max_size=3))


def is_explained(text: str, format: str, changed: list[tuple[float, str]]) -> None:
    for where, number in changed:
        spots = [m.span() for m in NUMBER.finditer(text)]
        if not spots:
            return
        a, b = spots[int(where * len(spots))]
        text = text[:a] + number + text[b:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            robot = fb.loads(text, format=format, name=f"f.{format}", waive=["*"])
        except fb.ParseError as error:
            found = error.report.errors[0]  # of what MuJoCo has compiled, gravity and the like have no line
            assert found.file == f"f.{format}" and (found.line or format == "mjcf")
        else:
            assert robot.names.bodies


QUICK = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=3_000, deadline=None, suppress_health_check=list(HealthCheck))
FORMATS = pytest.mark.parametrize("format", ["urdf", "json", "toml", "sdf", "mjcf"])


@FORMATS
@QUICK
@given(changes())
def test_extreme_numbers(documents: dict[str, list[str]], format: str, change: Change) -> None:
    if format == "mjcf":
        pytest.importorskip("mujoco")
    which, changed = change
    is_explained(documents[format][which % len(documents[format])], format, changed)


@pytest.mark.slow
@FORMATS
@LONG
@given(changes())
def test_many_extreme_numbers(documents: dict[str, list[str]], format: str, change: Change) -> None:
    if format == "mjcf":
        pytest.importorskip("mujoco")
    which, changed = change
    is_explained(documents[format][which % len(documents[format])], format, changed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('ixx="1.1"', 'ixx="1e308"'), ('iyy="1.2"', 'iyy="-1e308"'), ('value="1.5"', 'value="1e308"'),
        ('xyz="0.5 0.1 0.2"', 'xyz="1e200 0 0"'), ('rpy="0.1 0.2 0.3"/><mass', 'rpy="0 0 1e300"/><mass'),
    ],
)  # fmt: skip
def test_what_is_too_large_has_a_line(old: str, new: str) -> None:
    assert old in URDF
    with pytest.raises(fb.ParseError, match=r"f\.urdf:\d+: .*(up to 1e\+50|expected finite numbers)"):
        fb.loads(URDF.replace(old, new, 1), name="f.urdf")


def test_whole_numbers_too_long_for_floats(documents: dict[str, list[str]]) -> None:
    data = json.loads(documents["json"][0])
    data["bodies"][0]["mass"] = 10**400
    with pytest.raises(fb.ParseError, match="mass: expected a finite number"):
        fb.loads(json.dumps(data), format="json")
    with pytest.raises(fb.ModelError, match=r"numbers up to 1e\+50"):
        fb.Builder("r").body("a", mass=10**400)
