"""Pictures of motions and robots: what is drawn, how it is grouped, and that nothing else changes."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import ArgumentError, UnknownNameError
from fourbar.joints import Free, Revolute
from fourbar.plots.motion_pictures import PlottedMotion, plot_motion

matplotlib = pytest.importorskip("matplotlib")

from fourbar.plots.motion_lines import euler, group_titles, limbs, panels  # noqa: E402
from fourbar.plots.sticks import flat_plane, stick_figure, tip_path  # noqa: E402
from fourbar.plots.style import labels, too_long  # noqa: E402


def walker(joints: int = 3) -> fb.System:
    """A base with four legs, each with some joints that have limits."""
    b = fb.Builder("walker")
    b.body("base", joint=Free(), mass=5.0, inertia=(0.1, 0.1, 0.1))
    for side in ("front_left", "front_right", "hind_left", "hind_right"):
        parent = "base"
        for k in range(joints):
            b.body(f"{side}_{k}", parent=parent, joint=Revolute("y"), position=(0.1, 0.1, -0.2), mass=1.0,
                   inertia=(0.01, 0.01, 0.01), limits=(-1.0 - 0.1 * k, 1.0))  # fmt: skip
            parent = f"{side}_{k}"
    return b.build()


def motion(robot: fb.System, n: int = 5) -> fb.Run:
    """States that no simulation made."""
    rng = np.random.default_rng(0)
    return fb.Run(np.linspace(0, 1, n), robot.random(0, n=n), rng.normal(size=(n, robot.nv)), robot, np.zeros(n))


def titles(figure: Any) -> list[str]:
    """The titles of the panels that are seen."""
    return [axes.get_title("left") for axes in figure.axes if axes.get_visible()]


def names(axes: Any) -> list[str]:
    """The names of the lines of a panel."""
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_simulation_draws_itself() -> None:
    robot = fb.robots.double_pendulum()
    run = fb.simulate(robot, [0.5, 0.0], duration=0.1, dt=0.01)
    assert run.robot is robot
    figure = run.plot()
    assert titles(figure) == ["angles", "energy (potential: since the start)"]
    angles, energy = figure.axes
    assert names(angles) == ["shoulder", "elbow"] and names(energy) == ["kinetic", "potential", "sum"]
    assert np.array_equal(angles.lines[0].get_ydata(), run.q[:, 0])
    total = energy.lines[-1].get_ydata()
    assert np.ptp(total) < 1e-8
    assert angles.get_ylabel() == "rad" and energy.get_xlabel() == "time [s]"


def test_many_joints_are_grouped_by_limb() -> None:
    robot = walker()
    assert set(limbs(robot.model.cluster_tree).values()) == {
        "base", "front_left", "front_right", "hind_left", "hind_right",
    }  # fmt: skip
    figure = motion(robot).plot("coordinates")
    assert titles(figure) == [
        "positions", "angles: base", "angles: front_left", "angles: front_right", "angles: hind_left",
        "angles: hind_right",
    ]  # fmt: skip
    assert names(figure.axes[1]) == ["base.roll", "base.pitch", "base.yaw"]
    assert names(figure.axes[0]) == ["base.x", "base.y", "base.z"] and figure.axes[0].get_ylabel() == "m"


@pytest.mark.parametrize("joints", [1, 3, 9])
def test_every_coordinate_is_in_one_panel(joints: int) -> None:
    robot = walker(joints)
    figure = motion(robot).plot("coordinates")
    drawn = [name for axes in figure.axes if axes.get_visible() for name in names(axes)]
    expected = [x for x in robot.names.coordinates if not x.startswith("base")]
    assert sorted(x for x in drawn if not x.startswith("base")) == sorted(expected)
    assert all(len(names(axes)) <= 8 for axes in figure.axes if axes.get_visible())


def test_of_many_coordinates_in_loops_the_independent_are_drawn() -> None:
    robot = fb.robots.stewart_platform()
    figure = motion(robot, 3).plot("coordinates")
    assert names(figure.axes[0]) == list(robot.names.velocities) and figure.axes[0].get_ylabel() == "m"
    other = robot.names.coordinates[0]
    if other not in robot.names.velocities:
        assert other in names(motion(robot, 3).plot("coordinates", joints=[other]).axes[0])


def bands(axes: Any) -> list[tuple[float, float]]:
    """From where to where bands reach."""
    found = []
    for patch in axes.patches:
        y = patch.get_y(), patch.get_y() + patch.get_height()
        found.append((round(min(y), 6), round(max(y), 6)))
    return sorted(found)


def test_bands_begin_at_the_limits() -> None:
    b = fb.Builder("one")
    b.body("rod", joint=Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1), limits=(-0.5, 0.8))
    robot = b.build()
    q = np.linspace(-0.4, 0.9, 10)[:, None]
    run = fb.Run(np.arange(10.0), q, 0.0 * q, robot, np.zeros(10))
    axes = run.plot("coordinates").axes[0]
    (_, below), (above, _) = bands(axes)
    assert (below, above) == (-0.5, 0.8)
    low, high = axes.get_ylim()
    assert low < -0.5 and high > 0.9
    free = fb.robots.double_pendulum()
    assert not bands(fb.simulate(free, [0.5, 0.0], duration=0.1, dt=0.01).plot("coordinates").axes[0])


def test_forces_of_a_function_and_an_array() -> None:
    robot = fb.robots.double_pendulum()

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -0.5 * v

    run = fb.simulate(robot, [0.5, 0.0], duration=0.1, dt=0.01, period=0, tau=torque)
    for given in (torque, -0.5 * run.v):
        figure = run.plot(["torques"], tau=given)
        assert titles(figure) == ["joint forces"] and figure.axes[0].get_ylabel() == "N m"
        assert np.allclose(figure.axes[0].lines[0].get_ydata(), -0.5 * run.v[:, 0])
    assert "joint forces" in titles(run.plot(tau=torque))
    with pytest.raises(ArgumentError, match="tau must be"):
        run.plot(tau=np.zeros((3, 2)))


def test_samples_of_batches() -> None:
    robot = fb.robots.double_pendulum()
    q = robot.random(0, n=6).reshape(2, 3, 2)
    run = fb.simulate(robot, q, duration=0.05, dt=0.01)
    for sample in (4, (1, 1)):
        line = run.plot("coordinates", sample=sample).axes[0].lines[0]
        assert np.array_equal(line.get_ydata(), run.q[:, 1, 1, 0])
    rolled = fb.rollout(robot, q, dt=0.01, steps=5)
    assert np.array_equal(rolled.plot("coordinates", sample=4).axes[0].lines[0].get_ydata(), rolled.q[:, 1, 1, 0])
    with pytest.raises(ArgumentError, match="sample=6"):
        run.plot(sample=6)


def test_contact_forces() -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    robot = b.build()
    scene = fb.Scene(robot, fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    start = robot.neutral()
    start[2] = 0.1
    run = scene.simulate(start, duration=0.1, dt=0.01)
    figure = run.plot(["contacts"])
    assert titles(figure) == ["contact forces"] and figure.axes[0].get_ylabel() == "N"
    assert np.isclose(figure.axes[0].lines[0].get_ydata()[-1], 9.81)
    assert "contact forces" in titles(run.plot())


@pytest.mark.parametrize(
    ("what", "joints", "error", "words"),
    [
        (["speed"], None, UnknownNameError, "speed"),
        (["torques"], None, ArgumentError, "tau="),
        (["contacts"], None, ArgumentError, "no contacts"),
        (["coordinates"], ["knee"], UnknownNameError, "knee"),
    ],
)
def test_messages(what: Any, joints: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        motion(fb.robots.double_pendulum()).plot(what, joints=joints)


def test_no_states_and_no_numbers_are_refused() -> None:
    robot = fb.robots.double_pendulum()
    with pytest.raises(ArgumentError, match="no state to draw"):
        motion(robot, 0).plot()
    with pytest.raises(ArgumentError, match=r"tau\(t, q, v\) or an array, got 'drive'"):
        motion(robot).plot(tau="drive")  # type: ignore[arg-type]


def test_without_a_robot_or_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = fb.Run(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2)))
    with pytest.raises(ArgumentError, match="has no robot"):
        alone.plot()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ArgumentError, match="matplotlib"):
        fb.robots.double_pendulum().plot()


def test_nothing_outside_of_the_figure_changes() -> None:
    before = dict(matplotlib.rcParams)
    robot = fb.robots.four_bar()
    for draw in (robot.plot, robot.plot_mass_matrix, motion(robot).plot):
        draw()
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


def test_sticks_join_the_joints() -> None:
    robot = fb.robots.four_bar()
    q = robot.random(0)
    sticks = stick_figure(robot, q)
    T = robot.pose(q, "link2")
    assert any(np.allclose(bone, [robot.pose(q, "link1")[:3, 3], T[:3, 3]]) for bone in sticks.bones)
    assert np.allclose(np.ptp(sticks.ties, axis=1), 0.0, atol=1e-9)  # pins, which hold one point
    assert flat_plane(robot) == [0, 1]
    assert len(robot.plot(np.stack([q, q])).axes) == 1


def test_what_needs_three_dimensions() -> None:
    robot = walker()
    figure = robot.plot(robot.random(0), frames=["base"], center_of_mass=True)
    assert figure.axes[0].name == "3d"
    with pytest.raises(UnknownNameError):
        robot.plot(frames=["tail"])


def test_things_fixed_to_a_base_have_no_sticks() -> None:
    b = fb.Builder("base")
    b.body("trunk", joint=Free(), mass=1.0, inertia=(1, 1, 1))
    b.body("camera", parent="trunk", position=(9.0, 0, 0))
    b.body("arm", parent="trunk", joint=Revolute("y"), position=(0, 1.0, 0), mass=1.0, inertia=(1, 1, 1))
    b.body("label", parent="arm", position=(0.1, 0, 0))
    b.body("hand", parent="arm", position=(0, 0, -1.0))
    robot = b.build()
    ends = {tuple(bone[1].tolist()) for bone in stick_figure(robot, robot.neutral()).bones}
    assert ends == {(0.0, 1.0, 0.0), (0.0, 1.0, -1.0)}
    b.frame("thumb", "hand", position=(0.5, 0, 0)).frame("finger", "hand", position=(0, 0, -0.5))
    robot = b.build()
    ends = {tuple(bone[1].tolist()) for bone in stick_figure(robot, robot.neutral()).bones}
    assert ends == {(0.0, 1.0, 0.0), (0.0, 1.0, -1.0), (0.5, 1.0, -1.0), (0.0, 1.0, -1.5)}


def humanoid() -> fb.System:
    """Legs and arms whose joints are named by the side first, as many files do; a camera on the base."""
    b = fb.Builder("humanoid")
    matter = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    b.body("pelvis", joint=Free(), **matter)
    for side, y in (("left", 0.1), ("right", -0.1)):
        for first, z in (("hip", -0.1), ("shoulder", 0.5)):
            parent = "pelvis"
            for k, part in enumerate(("pitch", "roll", "yaw")):
                name = f"{side}_{first}_{part}_joint"
                b.body(name, parent=parent, joint=Revolute("xyz"[k]), position=(0, y, z), **matter)
                parent = name
            elbow = {"hip": "knee", "shoulder": "elbow"}[first]
            b.body(f"{side}_{elbow}_joint", parent=parent, joint=Revolute("y"), position=(0, 0, -0.3),
                   com=(0.1, 0, -0.1), **matter)  # fmt: skip
    return b.frame("camera", "pelvis", position=(0.1, 0, 0)).build()


def test_panels_say_from_where_to_where_a_limb_reaches() -> None:
    """A left leg and a left arm begin alike; "left_hip" would be said of a panel that has the knee too."""
    of = limbs(humanoid().model.cluster_tree)
    assert of["left_knee_joint"] == "left_hip … left_knee" and of["left_elbow_joint"] == "left_shoulder … left_elbow"
    found = titles(motion(humanoid()).plot(what=["coordinates"]))
    assert found[2:] == [
        "angles: left_hip … left_knee", "angles: left_shoulder … left_elbow",
        "angles: right_hip … right_knee", "angles: right_shoulder … right_elbow",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([["FR_hip", "FR_calf"], ["FL_hip", "FL_calf"]], ["FR", "FL"]),
        ([["torso_1_joint", "torso_2_joint", "head_1_joint", "head_2_joint"]], ["torso … head"]),
        ([["arm_left_1", "arm_left_2", "gripper_left"]], ["arm_left … gripper_left"]),
        ([["LHipYaw", "LHipRoll", "LKnee"], ["LArmYaw", "LArmRoll", "LElbow"]], ["LHip … LKnee", "LArm … LElbow"]),
        ([["leg_lower", "leg_left"]], ["leg"]),  # whole words
        ([["hip_yaw_1", "knee_1"], ["hip_yaw_2", "knee_2"]], ["hip_yaw_1 … knee_1", "hip_yaw_2 … knee_2"]),
        ([["a"], ["b"]], ["a", "b"]),
    ],
)
def test_titles_of_groups(groups: list[list[str]], expected: list[str]) -> None:
    assert group_titles(groups) == expected


def chain(links: int) -> fb.System:
    """Links that hang on each other."""
    b, parent = fb.Builder("chain"), "world"
    for k in range(links):
        b.body(f"link{k + 1}", parent=parent, joint=Revolute("xy"[k % 2]), position=(0, 0, -0.1), mass=0.1,
               com=(0, 0, -0.05), inertia=(1e-4, 1e-4, 1e-4))  # fmt: skip
        parent = f"link{k + 1}"
    return b.build()


def test_panels_of_a_long_chain_say_which_of_its_links_they_show() -> None:
    robot = chain(40)
    ends = [(1, 8), (9, 16), (17, 24), (25, 32), (33, 40)]
    assert titles(motion(robot, 3).plot("coordinates")) == [f"angles: link{a} … link{b}" for a, b in ends]
    axes = robot.plot_mass_matrix().axes[0]
    rows = [(round(at), text.get_text()) for at, text in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)]
    assert len(rows) > 10 and all(name == f"link{at + 1}" for at, name in rows)


def test_a_force_that_stays_as_it_is_looks_constant() -> None:
    """Not its rounding, magnified to the height of the panel."""
    robot = fb.robots.double_pendulum()
    run = fb.simulate(robot, [0.5, 0.0], duration=0.1, dt=0.01)
    torque = 0.03 + 1e-16 * np.arange(len(run.t) * 2).reshape(-1, 2)
    axes = run.plot(["torques"], tau=torque).axes[0]
    assert np.ptp(axes.get_ylim()) > 0.003


def test_blows_do_not_hide_the_forces_that_carry_a_robot() -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=Free(), mass=2.0, inertia=(0.01, 0.01, 0.01))
    scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    run = scene.simulate([0, 0, 0.6, 1, 0, 0, 0], duration=1.0, dt=2e-3)
    axes = run.plot("contacts").axes[0]
    weight = 2.0 * 9.81
    assert axes.lines[0].get_ydata().max() > 20.0 * weight, "it falls"
    assert weight <= axes.get_ylim()[1] < 2.0 * weight and "in impacts" in axes.get_title(loc="left")
    resting = scene.simulate([0, 0, 0.1, 1, 0, 0, 0], duration=0.1, dt=2e-3)
    assert titles(resting.plot("contacts")) == ["contact forces"]


def test_numbers_of_the_vertical_axis_do_not_touch_it() -> None:
    """Nor does its name: with a sign, they are long; of a tall robot, the axis has little room."""
    axes = chain(40).plot().axes[0]
    axes.figure.savefig(io.BytesIO(), format="png")
    rises = [tick.label1 for tick in axes.zaxis.majorTicks]
    assert [x.get_text() for x in rises] == ["−3.0", "−1.5"]
    line = axes.transData.transform(np.array(axes.zaxis.line.get_data()).T)
    x, y = line[np.argsort(line[:, 1])].T
    for label in rises:
        box = label.get_window_extent()
        assert box.x0 > np.interp(0.5 * (box.y0 + box.y1), y, x) + 3.0
    name = axes.zaxis.label.get_window_extent()
    assert not any(name.overlaps(label.get_window_extent()) for label in rises)


def test_long_names_lose_the_word_that_all_have() -> None:
    names = ["left_shoulder_pitch_joint", "left_elbow_joint"]
    assert too_long(names) and not too_long(names[1:])
    assert labels(names, True) == ["left_shoulder_pitch", "left_elbow"] and labels(names[1:], True) == names[1:]
    assert labels(["a_joint", "b_joint"], False) == ["a_joint", "b_joint"]
    alike = ["x" * 20 + mark + "y" * 20 for mark in "ab"]
    assert labels(alike, True) == alike, "dots would make them the same"


def test_the_path_is_that_of_a_far_end_not_of_a_sensor() -> None:
    robot = humanoid()
    q = robot.random(0, n=2)
    name, path = tip_path(robot, q)
    T = robot.pose(q, "right_elbow_joint")
    assert name == "right_elbow_joint" and np.allclose(path, T[:, :3, :3] @ [0.1, 0, -0.1] + T[:, :3, 3])
    ends = [bone[1] for bone in stick_figure(robot, q[0]).bones]
    assert any(np.allclose(x, path[0]) for x in ends) and len(ends) == 20, "five of each limb, none to the camera"


def test_a_slider_is_joined_with_its_guide() -> None:
    robot = fb.robots.stewart_platform()
    q = robot.random(0)
    bones = stick_figure(robot, q).bones
    for k in range(1, 7):
        joint = next(c for c in robot.mechanism.joints if c.name == f"slide{k}")
        T = robot.pose(q, joint.parent)
        guide = T[:3, :3] @ np.array(joint.placement.position) + T[:3, 3]
        leg = [guide, robot.pose(q, joint.child)[:3, 3]]
        assert any(np.allclose(bone, leg) for bone in bones)


def test_zeros_of_the_mass_matrix_are_white() -> None:
    robot = walker()
    q = robot.random(0)
    image = robot.plot_mass_matrix(q).axes[0].images[0].get_array()
    M = robot.mass_matrix(q)
    apart = [robot.names.velocities.index(x) for x in ("front_left_0", "hind_right_2")]
    assert M[tuple(apart)] == 0.0 and np.ma.getmaskarray(image)[tuple(apart)]
    assert np.isclose(image[0, 0], M[0, 0])


def test_euler_angles_of_quaternions() -> None:
    angles = np.array([[0.3, -0.4, 2.9], [0.3, -0.4, 3.3]])
    found = euler(fb.convert.quaternion_from_euler(angles[:, ::-1], "zyx"))
    assert np.allclose(found, angles)


def test_notebooks_show_figures() -> None:
    figure = fb.robots.four_bar().plot()
    assert isinstance(figure, matplotlib.figure.Figure) and figure._repr_png_()[:4] == b"\x89PNG"
    again = pickle.loads(pickle.dumps(figure))
    assert len(again.axes) == 1


def test_no_panel_without_lines() -> None:
    assert panels("angles", []) == []


def test_a_joint_keeps_its_colour_in_all_panels() -> None:
    """Also where a panel leaves joints out: here the force of the first is zero."""
    robot = fb.robots.double_pendulum()
    run = fb.simulate(robot, [0.3, 0.0], [0.0, 5.0], duration=0.2, dt=0.01)
    torque = np.zeros((len(run.t), 2))
    torque[:, 1] = 1.0
    figure = plot_motion(PlottedMotion(robot, run.t, run.q, run.v, torque), ["coordinates", "torques"], None, "")
    colours: dict[str, set[str]] = {}
    for line in (line for axes in figure.axes for line in axes.get_lines()):
        if not line.get_label().startswith("_"):
            colours.setdefault(line.get_label(), set()).add(line.get_color())
    assert len(colours) == 2 and all(len(own) == 1 for own in colours.values())
    assert len(set().union(*colours.values())) == 2


def test_no_two_lines_of_a_panel_look_alike() -> None:
    """Nor where joints of several limbs share a panel, of which each has a panel of its own: the largest velocities."""
    robot = fb.robots.mini_cheetah()
    rng = np.random.default_rng(0)
    t, q, v = np.linspace(0.0, 1.0, 4), np.tile(robot.neutral(), (4, 1)), rng.normal(size=(4, robot.nv))
    figure = plot_motion(PlottedMotion(robot, t, q, v, v), ["coordinates", "velocities", "torques"], None, "")
    looks: dict[str, set[tuple[str, str]]] = {}
    for axes in figure.axes:
        lines = [x for x in axes.get_lines() if not x.get_label().startswith("_")]
        own = [(x.get_color(), x.get_linestyle()) for x in lines]
        assert len(set(own)) == len(own), axes.get_title(loc="left")
        for line, look in zip(lines, own, strict=True):
            looks.setdefault(line.get_label(), set()).add(look)
    assert all(len(own) == 1 for own in looks.values())
