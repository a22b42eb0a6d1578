"""Small SDF documents: frames, nested models, every joint."""

from __future__ import annotations

INERTIAL = (
    "<inertial><pose>.1 -.05 .2 .3 .2 .1</pose><mass>1.3</mass><inertia><ixx>.03</ixx><ixy>.002</ixy><ixz>-.003</ixz>"
    "<iyy>.04</iyy><iyz>.004</iyz><izz>.05</izz></inertia></inertial>"
)


def link(name: str, pose: str = "", relative_to: str = "", more: str = "") -> str:
    at = f"<pose{f' relative_to={relative_to!r}' if relative_to else ''}>{pose}</pose>" if pose or relative_to else ""
    return f'<link name="{name}">{at}{INERTIAL}{more}</link>\n'


def joint(name: str, kind: str, parent: str, child: str, more: str = "", axis: str = "0 0 1") -> str:
    axes = "" if kind in ("fixed", "ball") else f"<axis><xyz>{axis}</xyz></axis>"
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{axes}{more}</joint>\n'


def sdf(body: str, version: str = "1.11", attributes: str = "") -> str:
    return f'<sdf version="{version}">\n<model name="m"{attributes}>\n{body}</model>\n</sdf>'


FIX = joint("base", "fixed", "world", "a")
TREES = {  # one coordinate a joint, fixed to the world: comparable with a peer joint by joint
    "chain": sdf(
        link("a", "0 0 1 .1 .2 .3") + FIX
        + link("b", ".5 0 0 0 .3 0", "a") + joint("j", "revolute", "a", "b", axis="0 .6 .8")
        + link("c", "0 .5 0 .2 0 .1", "b") + joint("k", "prismatic", "b", "c", axis="1 0 0")
    ),
    "joint away from the link": sdf(
        link("a") + FIX + link("b", "1 0 0 .1 .2 .3")
        + joint("j", "continuous", "a", "b", "<pose>-.3 .1 .2 .5 .4 .3</pose>")
        + link("c", "1 1 0 0 0 1") + joint("k", "revolute", "b", "c", '<pose relative_to="b">.2 .1 0 .1 0 0</pose>')
    ),
    "poses relative to joints and frames": sdf(
        link("a") + FIX
        + '<frame name="f" attached_to="a"><pose>.1 .2 .3 .4 .5 .6</pose></frame>\n'
        + '<frame name="g"><pose relative_to="f">1 0 0 0 0 .5</pose></frame>\n'
        + link("b", "0 0 .1 0 0 0", "j") + joint("j", "revolute", "f", "b", '<pose relative_to="g">.1 0 0 0 1 0</pose>')
    ),
    "axis in another frame": sdf(
        link("a", "0 0 0 .3 .2 .1") + FIX + link("b", "1 0 0 1 .5 .2")
        + '<frame name="f"><pose>0 0 0 .7 .8 .9</pose></frame>'
        + joint("j", "revolute", "a", "b").replace("<xyz>", '<xyz expressed_in="f">')
        + link("c", "0 1 0 .1 .2 .3")
        + joint("k", "revolute", "a", "c").replace("<xyz>", '<xyz expressed_in="__model__">')
    ),
    "nested models": sdf(
        link("a") + FIX
        + '<model name="arm" placement_frame="grip"><pose relative_to="a">0 1 0 .1 .2 .3</pose>'
        + link("b", "0 0 .3 .2 0 0")
        + '<frame name="grip" attached_to="b"><pose>.1 .2 .3 .4 .5 .6</pose></frame>'
        + '<model name="hand"><pose>1 0 0 0 0 0</pose>' + link("c", "0 .1 0 0 0 0") + "</model>"
        + joint("k", "revolute", "b", "hand::c") + "</model>\n"
        + joint("j", "revolute", "a", "arm::b", axis="1 0 0")
        + link("d", ".1 0 0 0 0 0", "arm::hand::c") + joint("l", "prismatic", "arm::hand::c", "d")
    ),
    "quaternions and degrees": sdf(
        link("a") + FIX
        + '<link name="b"><pose degrees="true">1 2 3 30 40 50</pose>' + INERTIAL + "</link>"
        + joint("j", "revolute", "a", "b")
        + '<link name="c"><pose rotation_format="quat_xyzw">1 0 0 .5 .5 -.5 .5</pose>' + INERTIAL + "</link>"
        + joint("k", "revolute", "b", "c")
    ),
    "screw": sdf(
        link("a") + FIX + link("b", "0 .2 0 0 .1 0")
        + joint("j", "screw", "a", "b", "<screw_thread_pitch>.4</screw_thread_pitch>", axis="0 1 0")
    ),
    "axes of 1.3": sdf(
        "<pose>1 2 3 .3 .2 .1</pose>" + link("a", "0 0 0 .4 .5 .6") + FIX + link("b", "1 0 0 1 .5 .2")
        + joint("j", "revolute", "a", "b", "<pose>.1 .2 .3 .4 .5 .6</pose>", axis="0 .6 .8"), "1.3"
    ),
    "axes of 1.4": sdf(
        link("a", "0 0 0 .4 .5 .6") + FIX + link("b", "1 0 0 1 .5 .2")
        + joint("j", "revolute", "a", "b", "<pose>.1 .2 .3 .4 .5 .6</pose>", axis="0 1 0")
        + link("c", "1 1 0 0 0 1") + joint("k", "prismatic", "b", "c", axis="1 0 0"), "1.4"
    ),
    "frames of 1.6": sdf(
        link("a", "0 0 0 .4 .5 .6") + FIX + link("b", "1 0 0 1 .5 .2", "a").replace("relative_to", "frame")
        + joint("j", "revolute", "a", "b", '<pose frame="a">.1 .2 .3 .4 .5 .6</pose>', axis="0 1 0")
        + link("c", "1 1 0 0 0 1") + joint("k", "revolute", "b", "c").replace(
            "</axis>", "<use_parent_model_frame>1</use_parent_model_frame></axis>"), "1.6"
    ),
    "links inside only": sdf(
        '<frame name="f"><pose>.1 .2 .3 .4 .5 .6</pose></frame>'
        + '<model name="outer" canonical_link="inner::b"><pose>0 0 1 0 .3 0</pose>'
        + '<model name="inner"><pose>1 0 0 0 0 0</pose>' + link("a") + link("b", "0 1 0 .3 .2 .1") + "</model></model>"
        + joint("base", "fixed", "world", "outer::inner::a")
        + joint("j", "revolute", "outer::inner::a", "outer", axis="0 1 0")
    ),
    "rotors behind gears": sdf(
        link("a") + FIX + link("b", "0 .2 0 0 .1 0")
        + joint("j", "revolute", "a", "b",
                "<drake:rotor_inertia>.002</drake:rotor_inertia><drake:gear_ratio>30</drake:gear_ratio>")
        + link("c", "0 .4 0 0 .1 0")
        + joint("k", "prismatic", "b", "c", "<drake:rotor_inertia>.3</drake:rotor_inertia>")
        + link("d", "0 .6 0 0 .1 0")
        + joint("l", "revolute", "c", "d", "<drake:rotor_inertia>.3</drake:rotor_inertia>").replace(
            "</axis>", "<limit><effort>0</effort></limit></axis>")
    ),
    "model with a pose": sdf("<pose>1 2 3 .3 .2 .1</pose>" + link("a", "0 0 1 0 0 1") + FIX
                             + link("b") + joint("j", "revolute", "a", "b")),
}  # fmt: skip
