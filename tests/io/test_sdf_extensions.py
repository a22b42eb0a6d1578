"""SDF: what Drake adds to it is read, doubted or noted, never dropped with a warning."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Planar, Spherical
from fourbar.loops import Closure, Coupling, Gear

from .sdf_models import FIX, joint, link, sdf

FRAMES = (
    '<frame name="F" attached_to="a"><pose>.1 .2 .3 .4 .5 .6</pose></frame>'
    '<frame name="M" attached_to="b"><pose>.3 .2 .1 .7 .5 .6</pose></frame>'
)
BASE = link("a", "0 0 1 .1 .2 .3") + FIX + link("b", "1 2 3 .1 .2 .3")
TWO = (
    link("a") + joint("j", "revolute", "world", "a") + link("b", "0 0 1 0 0 0") + joint("k", "revolute", "a", "b")
)  # fmt: skip


def load(text: str, **options: object) -> fb.System:
    return fb.loads(text, name="m.sdf", strict=True, **options)  # type: ignore[arg-type]


def planar(parent: str = "F", child: str = "M", damping: str = "0 0 0", kind: str = "planar") -> str:
    return (
        f'<drake:joint name="p" type="{kind}"><drake:parent>{parent}</drake:parent><drake:child>{child}</drake:child>'
        f"<drake:damping>{damping}</drake:damping></drake:joint>"
    )


def drake(tag: str, **children: object) -> str:
    inside = "".join(f"<drake:{tag}_{name}>{value}</drake:{tag}_{name}>" for name, value in children.items())
    return f"<drake:{tag}>{inside}</drake:{tag}>"


# --- joints -----------------------------------------------------------------------------------------------------------


def test_a_planar_joint_is_at_zero_where_its_frames_meet() -> None:
    robot = load(sdf(BASE + FRAMES + planar(damping="2 2 3")))
    (c,) = (c for c in robot.mechanism.joints if c.name == "p")
    assert (c.joint, c.damping) == (Planar("z"), (3.0, 2.0, 2.0))
    assert np.allclose(robot.pose([0.0, 0.0, 0.0], "M"), robot.pose([0.0, 0.0, 0.0], "F"), atol=1e-15)
    between = np.linalg.inv(robot.pose([0.3, 0.4, 0.5], "F")) @ robot.pose([0.3, 0.4, 0.5], "M")
    assert np.allclose(between[:3, 3], [0.3, 0.4, 0.0], atol=1e-15)
    assert np.allclose(between[:2, 0], [np.cos(0.5), np.sin(0.5)])


def test_a_planar_joint_may_close_a_loop() -> None:
    robot = load(sdf(link("a") + FIX + link("b", "1 0 0 0 0 0") + joint("j", "ball", "a", "b") + planar("a", "b")))
    (loop,) = robot.mechanism.loops
    assert isinstance(loop.loop, Closure) and loop.loop.joint == Planar("z") and robot.nv == 1


def test_planar_joints_that_cannot_be_said() -> None:
    with pytest.raises(fb.ParseError, match="along x and 2 along y"):
        load(sdf(BASE + FRAMES + planar(damping="1 2 3")))
    assert load(sdf(BASE + FRAMES + planar(damping="1 2 3")), waive=["drake:damping"]).nv == 3
    with pytest.raises(fb.ParseError, match="exchange <drake:parent>"):
        load(sdf(BASE + FRAMES + planar("M", "F")))
    with pytest.raises(fb.ParseError, match=r"'curvilinear' is not supported.*drake:joint"):
        load(sdf(BASE + FRAMES + planar(kind="curvilinear")))
    assert load(sdf(BASE + FRAMES + planar(kind="curvilinear")), waive=["drake:joint"]).nv == 6


def test_the_damping_of_a_ball_is_that_of_all_its_velocities() -> None:
    dynamics = "<axis><xyz>0 0 1</xyz><dynamics><damping>.3</damping></dynamics></axis>"
    robot = load(sdf(link("a") + joint("j", "ball", "world", "a", dynamics)))
    assert robot.mechanism.joints[-1].damping == (0.3, 0.3, 0.3)


def test_the_damping_of_a_ball_that_closes_a_loop_is_reported() -> None:
    dynamics = "<axis><xyz>0 0 1</xyz><dynamics><damping>.3</damping></dynamics></axis>"
    text = sdf(TWO + joint("tie", "ball", "world", "b", dynamics))
    with pytest.warns(fb.FileWarning):
        robot = fb.loads(text)
    assert "its damping is ignored" in str(robot.report)


def test_rotors_behind_gears_are_armatures() -> None:
    rotor = "<drake:rotor_inertia>.002</drake:rotor_inertia><drake:gear_ratio>30</drake:gear_ratio>"
    robot = load(sdf(link("a") + joint("j", "revolute", "world", "a", rotor)))
    bare = load(sdf(link("a") + joint("j", "revolute", "world", "a")))
    assert np.allclose(robot.mass_matrix([0.0]) - bare.mass_matrix([0.0]), 1.8)
    idle = joint("j", "revolute", "world", "a", rotor).replace("</axis>", "<limit><effort>0</effort></limit></axis>")
    assert "no actuator" in str(load(sdf(link("a") + idle)).report)
    with pytest.raises(fb.ParseError, match="negative"):
        load(sdf(link("a") + joint("j", "revolute", "world", "a", rotor.replace(">.002", ">-.002"))))
    with pytest.raises(fb.ParseError, match="rotor on a joint of 0 axes"):
        load(sdf(link("a") + joint("j", "ball", "world", "a", rotor)))


# --- constraints ------------------------------------------------------------------------------------------------------


def test_a_ball_constraint_closes_a_loop() -> None:
    ball = drake("ball_constraint", body_A="world", body_B="b", p_AP="0 0 1.5", p_BQ="0 0 .5")
    loop = load(sdf(link("a") + joint("j", "ball", "world", "a") + link("b", "0 0 1 0 0 0")
                    + joint("k", "revolute", "a", "b", axis="0 1 0") + ball)).mechanism.loops[0]  # fmt: skip
    expected = Closure(Spherical(), "world", "b", at_predecessor=(0, 0, 1.5), at_successor=(0, 0, 0.5))
    assert loop.loop == expected
    where_it_is = ball.replace("<drake:ball_constraint_p_BQ>0 0 .5</drake:ball_constraint_p_BQ>", "")
    text = sdf(link("a") + joint("j", "ball", "world", "a") + link("b", "0 0 1 0 0 0")
               + joint("k", "revolute", "a", "b", axis="0 1 0") + where_it_is)  # fmt: skip
    assert load(text).mechanism.loops[0].loop == expected


def tendon(**children: object) -> str:
    ties = '<drake:tendon_constraint_joint name="j" a="1"/><drake:tendon_constraint_joint name="k" a="-2"/>'
    given = {"offset": 0.25, "lower_limit": 1, "upper_limit": 1, "stiffness": "inf", "damping": 0, **children}
    return drake("tendon_constraint", **given).replace("<drake:tendon_constraint>", f"<drake:tendon_constraint>{ties}")


def test_a_tendon_that_does_not_give_is_a_coupling() -> None:
    robot = load(sdf(TWO + tendon()))
    assert robot.mechanism.loops[0].loop == Coupling({"j": 1.0, "k": -2.0}, 0.75)
    assert robot.nv == 1


@pytest.mark.parametrize(
    "other", [{"stiffness": 1e9}, {"lower_limit": 0}, {"lower_limit": "-inf", "upper_limit": "inf"}]
)
def test_other_tendons_are_doubted(other: dict[str, object]) -> None:
    with pytest.raises(fb.ParseError, match=r"elastic tendon.*waive"):
        load(sdf(TWO + tendon(**other)))
    assert load(sdf(TWO + tendon(**other)), waive=["drake:tendon_constraint"]).nv == 2


def test_mimics_of_drake() -> None:
    mimic = '<drake:mimic joint="j" multiplier="-2" offset=".1"/>'
    own = "<mimic joint='j'><multiplier>-2</multiplier><offset>.1</offset></mimic></axis>"
    text = sdf(TWO.replace("<child>b</child>", "<child>b</child>" + mimic))
    both = text[: text.rindex("</axis>")] + own + text[text.rindex("</axis>") + len("</axis>") :]
    for said in (text, both):
        robot = load(said)
        assert [x.loop for x in robot.mechanism.loops] == [Gear("j", "k", -2.0, 0.1)] and robot.nv == 1
    with pytest.raises(fb.ParseError, match="contradict each other"):
        load(both.replace('multiplier="-2"', 'multiplier="3"'))
    with pytest.raises(fb.ParseError, match="'zz'"):
        load(text.replace('joint="j"', 'joint="zz"'))


# --- what is not carried ----------------------------------------------------------------------------------------------

DOUBTED = {
    "linear_bushing_rpy": sdf(TWO + drake("linear_bushing_rpy", frameA="a")),
    "linear_spring_damper": sdf(TWO + drake("linear_spring_damper", body_A="a")),
    "deformable_properties": sdf(link("a", more="<drake:deformable_properties/>") + FIX),
    "whatever_comes_next": sdf(TWO + "<drake:whatever_comes_next/>"),
}


@pytest.mark.parametrize("tag", DOUBTED)
def test_what_would_change_the_motion_has_to_be_waived(tag: str) -> None:
    with pytest.raises(fb.ParseError, match=f"<drake:{tag}>"):
        fb.loads(DOUBTED[tag])
    assert "waived" in str(fb.loads(DOUBTED[tag], waive=[f"drake:{tag}"]).report)


def test_what_concerns_controllers_contact_and_pictures_is_noted() -> None:
    shape = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    text = sdf(
        link("a", more=f'<collision name="c">{shape}<drake:proximity_properties><drake:mu_static>1</drake:mu_static>'
                       "</drake:proximity_properties></collision>")
        + joint("j", "revolute", "world", "a", '<drake:controller_gains p="1" d="2"/>').replace(
            "</axis>", "<limit><drake:acceleration>3</drake:acceleration></limit></axis>")
        + '<drake:collision_filter_group name="g"><drake:member>a</drake:member></drake:collision_filter_group>'
    )  # fmt: skip
    report = load(text).report
    assert [f.severity for f in report] == ["note"] * 4
    for tag in ("proximity_properties", "controller_gains", "acceleration", "collision_filter_group"):
        (note,) = (f for f in report if f.key.endswith(f"drake:{tag}"))
        assert note.message.endswith(
            "is ignored" if tag != "proximity_properties" else "only friction and stiffness are read"
        )


def test_shapes_of_drake() -> None:
    capsule = "<drake:capsule><radius>.1</radius><length>.5</length></drake:capsule>"
    egg = "<drake:ellipsoid><a>1</a><b>2</b><c>3</c></drake:ellipsoid>"
    shapes = "".join(
        f'<visual name="{n}"><geometry>{shape}</geometry></visual>' for n, shape in enumerate((capsule, egg))
    )
    found = load(sdf(link("a", more=shapes) + FIX)).mechanism.bodies[0].geometry
    assert [(g.kind, g.size) for g in found] == [("capsule", (0.1, 0.5)), ("ellipsoid", (1.0, 2.0, 3.0))]
