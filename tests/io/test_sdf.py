"""SDF files: frame semantics, loops, gearboxes, and what is reported. Drake's numbers are compared in tests/peers."""

from __future__ import annotations

import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Fixed, Helical, Universal

from .sdf_models import FIX, joint, link, sdf

pytestmark = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")


def load(text: str, **options: object) -> fb.System:
    return fb.loads(text, name="m.sdf", **options)  # type: ignore[arg-type]


def test_a_root_without_a_joint_is_free_as_the_format_means_it():
    text = sdf(link("a", "1 2 3 0 0 .5") + link("b", "1 2 4 0 0 0") + joint("j", "revolute", "a", "b"))
    robot = load(text)
    assert robot.nv == 7
    assert "'a' has no joint to the world" in str(robot.report)
    q = robot.configurations["initial"]
    assert np.allclose(q, [1, 2, 3, np.cos(0.25), 0, 0, np.sin(0.25), 0], atol=1e-15)
    assert np.allclose(robot.pose(q, "b")[:3, 3], [1, 2, 4], atol=1e-15)
    fixed = load(text, floating=Fixed())
    assert fixed.nv == 1
    assert np.allclose(fixed.pose([0.0], "a")[:3, 3], [1, 2, 3])


def test_static_models_are_part_of_the_world():
    robot = load(sdf("<static>true</static>" + link("a", "0 0 1 0 0 0") + link("b")) + "")
    assert (robot.nv, robot.names.bodies) == (0, ("a", "b"))


def test_worlds_hold_several_models():
    text = (
        '<sdf version="1.10"><world name="w"><gravity>0 0 -5</gravity><physics type="ode"/>'
        f'<model name="table"><static>1</static>{link("top", "0 0 1 0 0 0")}</model>'
        f'<frame name="spot" attached_to="table"><pose>1 0 0 0 0 0</pose></frame>'
        f'<model name="arm"><pose relative_to="spot">0 0 .5 0 0 0</pose>{link("a")}{link("b")}'
        f"{joint('j', 'revolute', 'a', 'b')}</model>"
        f"{joint('mount', 'fixed', 'table::top', 'arm::a')}"
        "</world></sdf>"
    )
    robot = load(text)
    assert robot.gravity == (0.0, 0.0, -5.0)
    assert robot.names.bodies == ("table::top", "arm::a", "arm::b")
    assert robot.names.velocities == ("arm::j",)
    assert np.allclose(robot.pose([0.0], "arm::a")[:3, 3], [1, 0, 0.5])


def test_a_link_with_two_parents_is_in_a_loop():
    """A four-bar: the rocker is the child of the ground and of the coupler."""
    text = sdf(
        link("base") + joint("fix", "fixed", "world", "base")
        + link("crank", "0 0 0 0 0 0") + joint("crank", "revolute", "base", "crank", axis="0 1 0").replace(
            'name="crank" type', 'name="turn" type')
        + link("coupler", "0 0 .2 0 0 0") + joint("elbow", "revolute", "crank", "coupler", axis="0 1 0")
        + link("rocker", ".5 0 0 0 0 0") + joint("swing", "revolute", "base", "rocker", axis="0 1 0")
        + joint("pin", "revolute", "coupler", "rocker", '<pose relative_to="rocker">0 0 .4 0 0 0</pose>', "0 1 0")
    )  # fmt: skip
    robot = load(text)
    assert (robot.nq, robot.nv) == (3, 1)
    assert [c.loops for c in robot.clusters] == [("pin",)]
    q = robot.random(rng=0)
    pin = robot.pose(q, "rocker") @ [0, 0, 0.4, 1]
    other = robot.pose(q, "coupler") @ [0.5, 0, 0.2, 1]
    assert np.allclose(pin, other, atol=1e-12)


def test_axes_of_few_digits_are_straightened_and_reported():
    text = sdf(
        link("base") + joint("fix", "fixed", "world", "base")
        + link("crank") + joint("turn", "revolute", "base", "crank", axis="0 1 0")
        + link("coupler", "0 0 .2 1.5708 0 0") + joint("elbow", "revolute", "crank", "coupler", axis="0 0 -1")
        + link("rocker", ".5 0 0 0 0 0") + joint("swing", "revolute", "base", "rocker", axis="0 1 0")
        + joint("pin", "revolute", "coupler", "rocker", '<pose relative_to="rocker">0 0 .4 0 0 0</pose>', "0 1 0")
    )  # fmt: skip
    with pytest.warns(fb.FileWarning):
        robot = load(text)
    assert robot.nv == 1
    assert "axes in a loop are not quite parallel: those of 'elbow' are turned by up to 3.7e-06" in str(robot.report)
    frozen = load(text, straighten=0)
    assert frozen.nv == 0
    assert "lock joints" in str(frozen.report)
    for wrong in (1.0, True, "much", {"elbow": -1.0}):
        with pytest.raises(fb.ArgumentError, match="an angle in radians"):
            load(text, straighten=wrong)
    with pytest.raises(fb.UnknownNameError, match=r"'knee'.*elbow"):
        load(text, straighten={"knee": 0.1})
    with pytest.raises(fb.UnknownNameError, match="no joint or loop"):
        load(text, straighten={"": 0.1})


def test_a_rigid_loop_says_which_axis_is_misaligned():
    text = sdf(
        link("base") + joint("fix", "fixed", "world", "base")
        + link("crank") + joint("turn", "revolute", "base", "crank", axis="0 1 0")
        + link("coupler", "0 0 .2 0 0 .1") + joint("elbow", "revolute", "crank", "coupler", axis="0 1 0")
        + link("rocker", ".5 0 0 0 0 0") + joint("swing", "revolute", "base", "rocker", axis="0 1 0")
        + joint("pin", "ball", "coupler", "rocker", '<pose relative_to="rocker">0 0 .4 0 0 0</pose>')
    )  # fmt: skip
    rigid = load(text)
    assert rigid.nv == 0
    (told,) = [f for f in rigid.report if f.key == "frozen"]
    assert told.line and "the axis of 'elbow' is 0.1 rad off those of 'turn', 'swing'" in told.message
    assert "straighten={'elbow': 0.11}" in told.fix
    assert load(text, straighten={"elbow": 0.11}).nv == 1


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
def test_a_gearbox_couples_the_angles_from_its_reference_body(turned: bool, flipped: bool):
    """θ₂ = -ratio θ₁, whichever way joints and axes point: by the poses of the bodies."""
    ends = ("b", "base") if turned else ("base", "b")
    box = (
        '<joint name="g" type="gearbox"><parent>a</parent><child>b</child>'
        "<gearbox_reference_body>base</gearbox_reference_body><gearbox_ratio>3</gearbox_ratio>"
        f"<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 {'-1' if flipped else '1'}</xyz></axis2></joint>"
    )
    text = sdf(
        link("base") + joint("fix", "fixed", "world", "base") + link("a") + link("b")
        + joint("ja", "revolute", "base", "a") + joint("jb", "revolute", *ends, axis="0 0 -1") + box
    )  # fmt: skip
    robot = load(text)
    assert robot.nv == 1
    full = robot.expand(np.array([0.1]))
    angle = {}
    for body in "ab":
        R = robot.pose([0.1], body)[:3, :3]
        angle[body] = np.arctan2(R[1, 0], R[0, 0])
    assert np.abs(full).max() > 0.05
    assert np.isclose((-1.0 if flipped else 1.0) * angle["b"], -3.0 * angle["a"], atol=1e-14)


def test_mimic():
    follower = joint("k", "revolute", "a", "b").replace(
        "</axis>",
        '<mimic joint="j"><multiplier>2</multiplier><offset>.3</offset><reference>.1</reference></mimic></axis>',
    )
    robot = load(sdf(link("a") + link("b") + joint("j", "revolute", "world", "a") + follower))
    assert np.allclose(robot.expand([0.5]), [0.5, 2 * (0.5 - 0.1) + 0.3])


def test_screws_and_their_older_spelling():
    new = sdf(link("a") + joint("j", "screw", "world", "a", "<screw_thread_pitch>.4</screw_thread_pitch>"))
    old = sdf(link("a") + joint("j", "screw", "world", "a", f"<thread_pitch>{-2 * np.pi / 0.4}</thread_pitch>"), "1.6")
    for text in (new, old):
        (connection,) = load(text).mechanism.joints
        assert isinstance(connection.joint, Helical)
        assert np.isclose(connection.joint.pitch, 0.4 / (2 * np.pi), rtol=1e-14)


def test_joints_with_two_axes():
    second = "<axis2><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper></limit></axis2>"
    for kind in ("universal", "revolute2"):
        (connection,) = load(sdf(link("a") + joint("j", kind, "world", "a", second))).mechanism.joints
        assert connection.joint == Universal("z", "y")
        assert (connection.lower, connection.upper) == ((-np.inf, -1.0), (np.inf, 2.0))


def test_parameters_of_an_axis():
    axis = (
        "<axis><xyz>0 0 2</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>5</effort>"
        "<velocity>-1</velocity></limit>"
        "<dynamics><damping>.1</damping><friction>.2</friction><spring_reference>.3</spring_reference>"
        "<spring_stiffness>.4</spring_stiffness></dynamics></axis>"
    )
    text = sdf(link("a") + joint("j", "revolute", "world", "a").replace("<axis><xyz>0 0 1</xyz></axis>", axis))
    robot = load(text)
    (c,) = robot.mechanism.joints
    assert (c.lower, c.upper, c.damping, c.friction) == ((-1.0,), (np.inf,), (0.1,), (0.2,))
    assert (c.stiffness, c.rest, c.max_force, c.max_velocity) == ((0.4,), (0.3,), (5.0,), (np.inf,))
    assert "the axis has length 2" in str(robot.report)


def test_joints_are_turned_round_where_the_tree_needs_it():
    """b carries the world's end: the joint a -> b is used from b to a, with the same coordinate."""
    text = sdf(
        link("a", "1 0 0 0 0 0") + link("b") + joint("root", "fixed", "world", "b") + joint("j", "revolute", "a", "b")
    )
    robot = load(text)
    q = [0.3]
    a_to_b = np.linalg.inv(robot.pose(q, "a")) @ robot.pose(q, "b")
    assert np.isclose(np.arctan2(a_to_b[1, 0], a_to_b[0, 0]), 0.3)


def test_shapes_and_colours():
    shapes = (
        '<visual name="v"><pose>1 2 3 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>'
        "<material><diffuse>1 0 0 1</diffuse></material></visual>"
        "<collision name='c'><geometry><mesh><uri>model://x/y.stl</uri><scale>2 2 2</scale></mesh></geometry>"
        "<surface><friction/></surface></collision>"
    )
    robot = load(sdf(link("a", more=shapes) + FIX), strict=True)
    box, mesh = robot.mechanism.bodies[0].geometry
    assert (box.kind, box.size, box.colour, box.role) == ("box", (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 1.0), "visual")
    assert (mesh.kind, mesh.mesh, mesh.scale, mesh.role) == ("mesh", "model://x/y.stl", (2.0, 2.0, 2.0), "collision")


def test_defaults_of_the_format():
    robot = load(sdf('<link name="a"/><link name="b"><inertial/></link>'))
    assert [(b.mass, b.inertia[0][0]) for b in robot.mechanism.bodies] == [(1.0, 1.0), (1.0, 1.0)]
    assert "SDF then assumes a mass of 1 kg" in str(robot.report)


DOUBTS = {
    "no gravity": (sdf(link("a", more="<gravity>0</gravity>")), "link/gravity"),
    "kinematic": (sdf(link("a", more="<kinematic>1</kinematic>")), "link/kinematic"),
    "decay": (sdf(link("a", more="<velocity_decay><linear>.1</linear></velocity_decay>")), "link/velocity_decay"),
    "auto inertia": (sdf(link("a").replace("<inertial>", '<inertial auto="true">')), "inertial@auto"),
    "include": (sdf(link("a") + "<include><uri>model://arm</uri></include>"), "include"),
    "unknown in a joint": (sdf(link("a") + joint("j", "ball", "world", "a", "<rubber/>")), "joint/rubber"),
    "negative moment": (sdf(link("a").replace("<ixx>.03", "<ixx>-.03")), "inertia"),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_what_would_change_the_motion_is_refused_unless_waived(name: str):
    text, key = DOUBTS[name]
    with pytest.raises(fb.ModelError, match=r"m\.sdf:\d+: ") as error:
        load(text)
    assert key.split("/")[-1] in str(error.value)
    assert "waived" in str(load(text, waive=[key]).report)


# --- the robots of example-robot-data ---------------------------------------------------------------------------------


def cassies() -> list[Path]:
    import sysconfig

    root = (
        Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots/cassie_description/robots"
    )
    return sorted(root.glob("*.sdf"))


CASSIES = {  # velocities, loops
    "cassie": (16, 16), "cassie_reduced": (11, 4), "cassie_simple": (11, 4), "cassie_v2": (18, 4),
    "cassie_wo_gearbox_spring": (13, 4),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not cassies(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("passive", [True, False])
@pytest.mark.parametrize("name", CASSIES)
def test_cassie_loads_and_moves(name: str, passive: bool):
    """A second of falling and swinging: energy and loops hold. In the files of (11, ...) the rods of the feet have
    axes 0.1 rad off, which makes these loops rigid: that is reported. The rods of the shins reach places where the knee
    and its spring no longer say how they move."""
    path = next(p for p in cassies() if p.stem == name)
    robot = fb.load(path)
    velocities, loops = CASSIES[name]
    assert (robot.nv, len(robot.mechanism.loops)) == (velocities, loops)
    assert ("lock joints" in str(robot.report)) == (velocities == 11)
    q = next(iter(robot.configurations.values()), robot.neutral())
    v = np.full(robot.nv, 0.05)
    path_ = fb.simulate(robot, q, v, duration=1.0, dt=1e-3, every=50, passive=passive)
    energy = robot.kinetic_energy(path_.q, path_.v) + robot.potential_energy(path_.q) + path_.lost
    if passive:
        energy = energy + robot.spring_energy(path_.q)
    assert np.abs(energy - energy[0]).max() < 1e-6 * robot.kinetic_energy(path_.q, path_.v).max()
    assert robot.loop_gap(path_.q).max() < 1e-12


@pytest.mark.slow
@pytest.mark.skipif(not cassies(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("name", CASSIES)
def test_the_mobility_of_cassies_feet_by_the_files_own_numbers(name: str):
    """Without our reader: three hinges and a ball, K = [a1 x r1, a2 x r2, -a3 x r3] in the pose of the file."""
    path = next(p for p in cassies() if p.stem == name)
    model = ElementTree.parse(path).getroot().find("model")
    assert model is not None
    found = [3 - int(np.linalg.matrix_rank(_foot_loop(model, side), tol=1e-9)) for side in ("left", "right")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = fb.load(path)
    ours = [len(c.velocity_names) for c in robot.clusters if any("plantar-foot" in x for x in c.loops)]
    assert sorted(found) == sorted(n if name != "cassie" else 1 for n in ours)
    assert found == ([0, 0] if name in ("cassie_reduced", "cassie_simple") else [1, 1])


def _foot_loop(model: ElementTree.Element, side: str) -> np.ndarray:
    def pose(e: ElementTree.Element | None) -> tuple[np.ndarray, np.ndarray]:
        x = np.array((e.text if e is not None and e.text else "0 0 0 0 0 0").split(), float)
        (cr, cp, cy), (sr, sp, sy) = np.cos(x[3:]), np.sin(x[3:])
        Rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
        Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        return np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]) @ Ry @ Rx, x[:3]

    joints = {j.get("name"): j for j in model.findall("joint")}
    links = {x.get("name"): pose(x.find("pose")) for x in model.findall("link")}

    def place(name: str) -> tuple[np.ndarray, np.ndarray]:
        j = joints[f"{side}-{name}"]
        (R, p), (r, t) = links[j.findtext("child", "").strip()], pose(j.find("pose"))
        axis = np.array(j.findtext("axis/xyz", "").split(), float)
        return axis if j.findtext("axis/use_parent_model_frame") == "1" else R @ r @ axis, R @ t + p

    ball = place("plantar-foot-joint")[1]
    hinges = [(1.0, *place("tarsus-crank-joint")), (1.0, *place("crank-rod-joint")), (-1.0, *place("foot-op"))]
    return np.array([sign * np.cross(axis, ball - at) for sign, axis, at in hinges]).T


def four_bar(closing: str = "", rest: str = "") -> str:
    """Links in a plane, a fixed: the last joint, `close`, is between c and d."""
    links = link("a") + link("b") + link("c", "1 0 0 0 0 0") + link("d", "0 1 0 0 0 0")
    joints = joint("jb", "revolute", "a", "b") + joint("jc", "revolute", "b", "c") + joint("jd", "revolute", "a", "d")
    axis = f"<axis><xyz>0 0 1</xyz>{closing}</axis>"
    last = f'<joint name="close" type="revolute"><parent>c</parent><child>d</child>{axis}</joint>'
    return sdf(FIX + links + joints + last + rest)


@pytest.mark.parametrize("inside", ["<damping>1</damping>", "<spring_stiffness>1</spring_stiffness>"])
def test_forces_of_a_joint_that_closes_a_loop_have_to_be_waived(inside: str):
    text = four_bar(f"<dynamics>{inside}</dynamics>")
    with pytest.raises(fb.ParseError, match=r"closes a loop: its damping and spring are ignored.*'axis/dynamics'"):
        load(text)
    assert "(waived)" in str(load(text, waive=["axis/dynamics"]).report)
    friction = load(four_bar("<dynamics><friction>1</friction></dynamics>"))
    assert "closes a loop: its friction is ignored" in str(friction.report)


def test_joints_that_close_loops_have_no_coordinate():
    mimic = "<mimic joint='{}'><multiplier>2</multiplier><offset>0</offset><reference>0</reference></mimic>"
    with pytest.raises(fb.ParseError, match=r"joint 'close' closes a loop: it has no coordinate that could mimic"):
        load(four_bar(mimic.format("jb")))
    follower = f"<axis><xyz>0 0 1</xyz>{mimic.format('close')}</axis>"
    more = link("e") + f'<joint name="je" type="revolute"><parent>a</parent><child>e</child>{follower}</joint>'
    with pytest.raises(fb.ParseError, match=r"joint 'close' closes a loop: it has no coordinate that could mimic"):
        load(four_bar(rest=more))
    axes = "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>"
    inside = "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>c</gearbox_reference_body>"
    gear = f'<joint name="g" type="gearbox"><parent>b</parent><child>d</child>{axes}{inside}</joint>'
    with pytest.raises(fb.ParseError, match=r"between its reference body 'c' and 'd', and not one that closes a loop"):
        load(four_bar(rest=gear))


def test_the_initial_position_is_reported():
    text = sdf(FIX + link("a") + link("b") + joint("j", "revolute", "a", "b"))
    text = text.replace("<xyz>", "<initial_position>.4</initial_position><xyz>")
    assert "initial_position is ignored" in str(load(text).report)


def test_what_was_not_read_because_of_an_error_is_no_second_error():
    text = sdf(FIX + link("a") + link("b") + joint("j", "universal", "a", "b"))
    text = text.replace("</axis>", "</axis><axis2><xyz>0 0 1</xyz></axis2>")
    with pytest.raises(fb.ParseError) as found:
        load(text)
    assert len(found.value.report) == 1 and "are parallel" in str(found.value)


@pytest.mark.parametrize("floating", [True, Fixed()])
def test_a_root_that_the_file_carries_cannot_float(floating: object):
    text = sdf(FIX + link("a") + link("b") + joint("j", "revolute", "a", "b"))
    with pytest.raises(fb.ArgumentError, match="joints to the world carry all links; remove floating="):
        load(text, floating=floating)
