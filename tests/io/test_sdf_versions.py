"""SDF: older versions, canonical links, models inside models, limits that are none, and what links default to."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fourbar as fb

from .sdf_models import FIX, TREES, joint, link, sdf


def load(text: str, **options: object) -> fb.System:
    return fb.loads(text, name="m.sdf", **options)  # type: ignore[arg-type]


def turned(version: str, more: str = "") -> fb.System:
    """A hinge about y whose link is turned: before 1.5 the y of the model, then that of the joint."""
    hinge = joint("j", "revolute", "a", "b", more, axis="0 1 0")
    return load(sdf(link("a") + FIX + link("b", "0 0 1 1.2 0 0") + hinge, version))


@pytest.mark.parametrize(("version", "of_model"), [("1.3", True), ("1.4", True), ("1.5", False), ("1.7", False)])
def test_axes_before_version_1_5_are_those_of_the_model(version: str, of_model: bool) -> None:
    R = turned(version).pose([0.5], "b")[:3, :3] @ turned(version).pose([0.0], "b")[:3, :3].T
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (2 * np.sin(0.5))
    expected = (0, 1, 0) if of_model else (0, np.cos(1.2), np.sin(1.2))
    assert np.allclose(axis, expected, atol=1e-14)


def test_an_included_model_keeps_the_conventions_of_its_own_version(tmp_path) -> None:
    body = link("a") + FIX + link("b", "0 0 1 1.2 0 0") + joint("j", "revolute", "a", "b", axis="0 1 0")
    (tmp_path / "old.sdf").write_text(sdf(body, "1.4"))
    world = '<sdf version="1.9"><world name="w"><include><uri>old.sdf</uri></include></world></sdf>'
    (tmp_path / "w.sdf").write_text(world)
    robot = fb.load(tmp_path / "w.sdf")
    assert np.allclose(robot.pose([0.5], "m::b"), turned("1.4").pose([0.5], "b"))


def test_poses_of_1_6_name_a_frame() -> None:
    text = sdf(
        link("a", "1 2 3 0 0 1") + FIX + link("b", "0 0 1 .1 0 0", "a") + joint("j", "revolute", "a", "b"), "1.6"
    )
    old = load(text.replace("relative_to", "frame"))
    assert np.allclose(old.pose([0.3], "b"), load(text.replace("1.6", "1.8")).pose([0.3], "b"))
    assert load(sdf(link("a").replace("<pose>", "<pose frame=''>") + FIX, "1.6"), strict=True).nv == 0


def test_gravity_up_to_1_5_is_that_of_the_physics() -> None:
    world = '<sdf version="{}"><world name="w"><physics type="ode"><gravity>0 0 -3</gravity></physics>{}</world></sdf>'
    model = f'<model name="m">{link("a")}</model>'
    assert load(world.format("1.4", model)).gravity == (0.0, 0.0, -3.0)
    assert load(world.format("1.6", model)).gravity == (0.0, 0.0, -9.8)


@pytest.mark.parametrize("version", ["1.4", "1.6"])
def test_up_to_1_6_joints_may_have_the_names_of_links(version: str) -> None:
    body = link("a") + FIX + link("b", "0 0 1 0 0 0") + joint("b", "revolute", "a", "b")
    robot = load(sdf(body, version), strict=True)
    assert robot.names.velocities == ("b_joint",) and "'b_joint'" in str(robot.report)
    with pytest.raises(fb.ParseError, match="'b' is already used"):
        load(sdf(body, "1.7"))
    with pytest.raises(fb.ParseError, match="already used"):
        load(sdf(body + joint("b", "revolute", "a", "b") + link("b"), version))


# --- canonical links --------------------------------------------------------------------------------------------------


def test_a_canonical_link_that_nothing_needs_is_understood() -> None:
    text = sdf(link("a") + FIX + link("b") + joint("j", "revolute", "a", "b"), attributes=' canonical_link="b"')
    assert load(text, strict=True).nv == 1


@pytest.mark.parametrize("name", ["nothing", "j"])
def test_a_canonical_link_is_a_link(name: str) -> None:
    text = sdf(link("a") + FIX + link("b") + joint("j", "revolute", "a", "b"), attributes=f' canonical_link="{name}"')
    with pytest.raises(fb.ParseError, match=name):
        load(text)


def test_a_model_without_links_belongs_to_the_first_inside() -> None:
    robot = load(TREES["links inside only"])
    assert robot.names.bodies == ("outer::inner::a", "outer::inner::b/j", "outer::inner::b")
    deep = '<model name="x"><model name="y"><model name="z">' + link("a", "0 0 1 0 0 0") + "</model></model></model>"
    robot = load(sdf(deep + '<frame name="f" attached_to="x"/>' + joint("j", "revolute", "world", "x")))
    assert (robot.nv, robot.mechanism.frames[0].body) == (1, "x::y::z::a")


# --- limits and defaults ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["1e9", "1e12", "1e16", "inf"])
def test_limits_so_far_away_are_none(size: str) -> None:
    limit = (
        f"<limit><lower>-{size}</lower><upper>{size}</upper><effort>{size}</effort><velocity>{size}</velocity></limit>"
    )
    robot = load(sdf(link("a") + joint("j", "revolute", "world", "a").replace("</axis>", limit + "</axis>")))
    (c,) = (c for c in robot.mechanism.joints if c.name == "j")
    assert (c.lower, c.upper, c.max_force, c.max_velocity) == ((-np.inf,), (np.inf,), (np.inf,), (np.inf,))
    assert np.abs(robot.random(0, 100)).max() < 10.0


BOX = "<geometry><box><size>1 1 1</size></box></geometry>"
BROKEN_SHAPES = {
    "": "<geometry> is missing",
    "<geometry><box><size>1 1</size></box></geometry>": "2 numbers, but 3",
    "<geometry><sphere><radius>-1</radius></sphere></geometry>": "non-negative",
    "<geometry><sphere/><box/></geometry>": "2 shapes",
    "<geometry><mesh/></geometry>": "<uri> is missing",
    "<geometry><mesh><uri>a.stl</uri><scale>1 1</scale></mesh></geometry>": "2 numbers, but 3",
    BOX + "<material/><material/>": "a second <material>",
    "<pose>1 2</pose>" + BOX: "2 numbers, but 6",
}


@pytest.mark.parametrize("role", ["visual", "collision"])
@pytest.mark.parametrize("shape", BROKEN_SHAPES)
def test_shapes_that_cannot_be_read_are_left_out_with_a_warning(shape: str, role: str) -> None:
    text = sdf(link("a", more=f'<{role} name="v">{shape}</{role}><{role} name="w">{BOX}</{role}>'))
    with pytest.warns(fb.FileWarning, match=f"link/{role}"):
        robot = load(text)
    (warning,) = (f for f in robot.report if f.severity == "warning")
    assert BROKEN_SHAPES[shape] in warning.message and warning.line
    assert len(robot.mechanism.bodies[0].geometry) == 1
    load(text, waive=[f"link/{role}"], strict=True)


def test_the_length_of_an_axis_does_not_matter_if_it_has_one() -> None:
    text = sdf(link("a") + joint("j", "revolute", "world", "a", axis="1e308 0 0"))
    assert np.allclose(load(text).pose([0.5], "a")[1:3, 1], (np.cos(0.5), np.sin(0.5)))
    with pytest.raises(fb.ParseError, match=r"axis is too long.*write a unit vector"):
        load(text.replace("1e308 0 0", "1.7e308 1.7e308 0"))


def test_limits_in_the_wrong_order_can_be_waived() -> None:
    limit = "<limit><lower>1</lower><upper>-1</upper></limit></axis>"
    text = sdf(link("a") + joint("j", "revolute", "world", "a").replace("</axis>", limit))
    with pytest.raises(fb.ParseError, match=r"lower limit 1 is above the upper one -1.*waive=\['axis/limit'\]"):
        load(text)
    (c,) = (c for c in load(text, waive=["axis/limit"]).mechanism.joints if c.name == "j")
    assert (c.lower, c.upper) == ((-np.inf,), (np.inf,))


def test_links_without_inertial_are_noted_with_one_key() -> None:
    links = "".join(f'<link name="{name}"/>' for name in "abc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = load(sdf(links), strict=True)
    found = [f for f in robot.report if f.key == "link/inertial"]
    assert [f.severity for f in found] == ["note"] * 3 and len({f.message for f in found}) == 1
    assert "1 kg" in found[0].message and {f.line for f in found} == {3}


def test_links_of_static_models_need_no_inertial() -> None:
    robot = load(sdf('<static>1</static><link name="a"/>'), strict=True)
    assert len(robot.report) == 0


def test_shapes_may_be_placed_in_other_frames() -> None:
    shape = '<visual name="v"><pose relative_to="f">0 0 1 0 0 0</pose><geometry><sphere><radius>1</radius></sphere>'
    frame = '<frame name="f"><pose>1 2 3 0 0 0</pose></frame>'
    text = sdf(frame + link("a", "0 2 0 0 0 0", more=f"{shape}</geometry></visual>") + FIX)
    assert load(text, strict=True).mechanism.bodies[0].geometry[0].placement.position == (1.0, 0.0, 4.0)


@pytest.mark.parametrize("tag", ["lower", "upper", "effort", "velocity"])
@pytest.mark.parametrize("word", ["low", "nan", ""])
def test_a_limit_that_is_no_number_can_be_waived(tag: str, word: str) -> None:
    limits = {"lower": "-1", "upper": "1", "effort": "5", "velocity": "2"} | {tag: word}
    inside = "<limit>" + "".join(f"<{x}>{y}</{x}>" for x, y in limits.items()) + "</limit>"
    text = (
        '<sdf version="1.9"><model name="m"><link name="a"/><joint name="j" type="revolute"><parent>world</parent>'
        f"<child>a</child><axis><xyz>0 0 1</xyz>{inside}</axis></joint></model></sdf>"
    )
    with pytest.raises(fb.ParseError, match=r"no limit; .*waive=\['axis/limit'\]"):
        fb.loads(text)
    (c,) = (c for c in fb.loads(text, waive=["axis/limit"]).mechanism.joints if c.name == "j")
    found = {"lower": -c.lower[0], "upper": c.upper[0], "effort": c.max_force[0], "velocity": c.max_velocity[0]}
    assert found == {"lower": 1.0, "upper": 1.0, "effort": 5.0, "velocity": 2.0} | {tag: float("inf")}


@pytest.mark.parametrize("version", ["1.4", "1.6", "1.7"])
def test_names_of_flattened_models_hold_colons_before_version_8(version: str) -> None:
    body = link("arm::a") + link("arm::hand::b") + joint("arm::j", "revolute", "arm::a", "arm::hand::b")
    robot = fb.loads(sdf(body, version))
    assert robot.names.bodies[-1] == "arm::hand::b" and robot.names.velocities[-1] == "arm::j"
    with pytest.raises(fb.ParseError, match="no link, joint, frame or model 'arm::hand'"):
        fb.loads(sdf(body.replace("<child>arm::hand::b", "<child>arm::hand"), version))
    with pytest.raises(fb.ParseError, match="'arm::a' is reserved"):
        fb.loads(sdf(body, "1.8"))
