"""Broken and malicious SDF files: each is refused with file, line and reason, or loads correctly, in bounds."""

from __future__ import annotations

from typing import Any

import pytest

from .hostile import judge, try_all
from .sdf_models import joint, link, sdf

GOOD = sdf(link("a") + link("b") + joint("j", "revolute", "a", "b"))
HINGE = joint("j", "revolute", "a", "b")


def inertial(old: str, new: str) -> str:
    return GOOD.replace(old, new, 1)


def hinged(old: str, new: str) -> str:
    return sdf(link("a") + link("b") + HINGE.replace(old, new))


def framed(frames: str) -> str:
    return sdf(link("a") + frames)


def chain(n: int, relative: bool) -> str:
    links = "".join(
        link(f"l{i}", "1 0 0 0 0 0" if relative else f"{i} 0 0 0 0 0", f"l{i - 1}" if relative and i else "")
        for i in range(n)
    )
    joints = "".join(joint(f"j{i}", "revolute", f"l{i}", f"l{i + 1}", axis="0 1 0") for i in range(n - 1))
    return sdf(links + joints)


def nested(n: int) -> str:
    return sdf(f'<model name="{"m"}">' * n + link("a") + "</model>" * n)


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaa">'
    + "".join(f'<!ENTITY {c} "&{p};&{p};&{p};">' for p, c in zip("abcd", "bcde", strict=True))
    + "]>"
)
BOX = (
    "<joint name='g' type='gearbox'><parent>a</parent><child>b</child>{}"
    "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>"
)
CASES: dict[str, tuple[str, str]] = {
    "empty": ("", "empty"),
    "no xml": ("hello", "not XML"),
    "binary": ("\x00\x01\x02", "zero byte"),
    "other root": ("<mujoco/>", "the root element of an SDF file is <sdf>"),
    "no version": ("<sdf><model name='m'/></sdf>", "'version' is missing"),
    "old version": (sdf(link("a"), "1.2"), "version '1.2' is not supported"),
    "future version": (sdf(link("a"), "2.0"), "version '2.0' is not supported"),
    "truncated": (GOOD[:300], ""),
    "no model": ("<sdf version='1.9'/>", "expected one <world> or one <model>, found 0"),
    "two models": ("<sdf version='1.9'><model name='a'/><model name='b'/></sdf>", "found 2"),
    "empty model": (sdf(""), "there is no <link>"),
    "model without a name": (GOOD.replace('<model name="m">', "<model>"), "'name' is missing"),
    "link without a name": (sdf("<link/>"), "'name' is missing"),
    "empty name": (sdf(link("")), "'name' is empty"),
    "reserved name": (sdf(link("world")), "reserved"),
    "reserved word": (sdf(link("__model__")), "reserved"),
    "name with a scope": (sdf(link("a::b")), "reserved"),
    "duplicate link": (sdf(link("a") + link("a")), "already used, by the link at line 3"),
    "duplicate joint": (sdf(link("a") + link("b") + HINGE + HINGE), "already used"),
    "joint named as a link": (sdf(link("a") + link("b") + HINGE.replace('"j"', '"a"')), "already used, by the link"),
    "bad encoding": (GOOD.replace('"m"', '"\xff"'), "not UTF-8"),
    "entity bomb": (BOMB + GOOD, "DOCTYPE"),
    "external entity": ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + GOOD, "DOCTYPE"),
    "undefined entity": (GOOD.replace('"m"', '"&boo;"'), "entity"),
    "NaN mass": (inertial("<mass>1.3", "<mass>nan"), "not finite"),
    "infinite mass": (inertial("<mass>1.3", "<mass>inf"), "not finite"),
    "too large a mass": (inertial("<mass>1.3", "<mass>1e999"), "too large"),
    "comma": (inertial("<mass>1.3", "<mass>1,3"), "comma"),
    "hexadecimal": (inertial("<mass>1.3", "<mass>0x10"), "hexadecimal"),
    "empty mass": (inertial("<mass>1.3", "<mass>"), "empty"),
    "word for a mass": (inertial("<mass>1.3", "<mass>heavy"), "not a decimal number"),
    "two masses": (inertial("<mass>1.3</mass>", "<mass>1</mass><mass>2</mass>"), "a second <mass>"),
    "negative mass": (inertial("<mass>1.3", "<mass>-1"), "negative"),
    "zero mass": (inertial("<mass>1.3", "<mass>0"), "loads 2 7"),
    "negative moment": (inertial("<ixx>.03", "<ixx>-.03"), "negative principal moment"),
    "not positive": (inertial("<ixy>.002", "<ixy>9"), "negative principal moment"),
    "triangle": (inertial("<izz>.05", "<izz>5"), "loads 2 7"),
    "two inertials": (sdf(link("a", more="<inertial/>")), "a second <inertial>"),
    "pose of five": (inertial("<pose>.1 -.05 .2 .3 .2 .1", "<pose>1 2 3 4 5"), "has 5 numbers, but 6"),
    "pose with commas": (inertial("<pose>.1 -.05 .2 .3 .2 .1", "<pose>1,2,3,4,5,6"), "commas"),
    "pose with NaN": (inertial("<pose>.1 -.05 .2 .3 .2 .1", "<pose>nan 0 0 0 0 0"), "not finite"),
    "bad rotation format": (inertial("<pose>", '<pose rotation_format="matrix">'), "expected euler_rpy or quat_xyzw"),
    "long quaternion": (
        inertial("<pose>.1 -.05 .2 .3 .2 .1", '<pose rotation_format="quat_xyzw">0 0 0 1 1 1 1'), "has length 2",
    ),
    "zero quaternion": (
        inertial("<pose>.1 -.05 .2 .3 .2 .1", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0'), "has length 0",
    ),
    "pose relative to nothing": (sdf(link("a", "0 0 0 0 0 0", "zz")), "there is no link, joint, frame or model 'zz'"),
    "pose relative to itself": (sdf(link("a", "0 0 0 0 0 0", "a")), "cycle: a -> a"),
    "poses in a cycle": (sdf(link("a", "", "b") + link("b", "", "a")), "cycle"),
    "pose in a frame of 1.6": (sdf(link("a").replace("<pose>", '<pose frame="b">'), "1.7"), "attribute frame"),
    "frame attached to nothing": (framed('<frame name="f" attached_to="zz"/>'), "'zz'"),
    "frames in a cycle": (
        framed('<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'), "cycle",
    ),
    "placement frame unknown": (
        sdf(f'<model name="n" placement_frame="zz">{link("a")}</model>'), "'zz'",
    ),
    "canonical link unknown": (sdf(link("a") + '<frame name="f"/>', attributes=' canonical_link="zz"'), "'zz'"),
    "joint without a type": (hinged(' type="revolute"', ""), "'type' is missing"),
    "unknown joint type": (hinged("revolute", "rubber"), "unknown joint type 'rubber'"),
    "joint without a parent": (hinged("<parent>a</parent>", ""), "<parent> is missing"),
    "joint without a child": (hinged("<child>b</child>", ""), "<child> is missing"),
    "unknown parent": (hinged("<parent>a", "<parent>zz"), "'zz'; known"),
    "nearly known parent": (
        sdf(link("base") + link("b") + HINGE.replace("<parent>a", "<parent>bass")), "did you mean 'base'",
    ),
    "joint on itself": (hinged("<parent>a", "<parent>b"), "connects 'b' with itself"),
    "child is the world": (hinged("<child>b", "<child>world"), "the world cannot be the child"),
    "no axis": (hinged("<axis><xyz>0 0 1</xyz></axis>", ""), "<axis> is missing"),
    "zero axis": (hinged("0 0 1", "0 0 0"), "the axis is zero"),
    "axis of two": (hinged("0 0 1", "0 1"), "has 2 numbers, but 3"),
    "axis in an unknown frame": (hinged("<xyz>", '<xyz expressed_in="zz">'), "'zz'"),
    "limits swapped": (
        hinged("</axis>", "<limit><lower>1</lower><upper>-1</upper></limit></axis>"), "lower limit 1 is above",
    ),
    "NaN limit": (hinged("</axis>", "<limit><lower>nan</lower></limit></axis>"), "not finite"),
    "negative damping": (hinged("</axis>", "<dynamics><damping>-1</damping></dynamics></axis>"), "damping"),
    "parallel axes": (
        sdf(link("a") + joint("j", "universal", "world", "a", "<axis2><xyz>0 0 1</xyz></axis2>")), "are parallel",
    ),
    "endless screw": (
        sdf(link("a") + joint("j", "screw", "world", "a", "<thread_pitch>0</thread_pitch>")), "thread_pitch is zero",
    ),
    "gearbox without a body": (
        sdf(link("a") + link("b") + BOX.format("")), "<gearbox_reference_body> is missing",
    ),
    "gearbox without joints": (
        sdf(link("a") + link("b") + link("c") + BOX.format("<gearbox_reference_body>c</gearbox_reference_body>")),
        "needs a revolute joint",
    ),
    "mimic of nothing": (hinged("</axis>", '<mimic joint="zz"/></axis>'), "'zz'"),
    "mimic of itself": (hinged("</axis>", '<mimic joint="j"/></axis>'), "'j' twice"),
    "mimics in a cycle": (
        sdf(link("a") + link("b")
            + joint("j", "revolute", "world", "a").replace("</axis>", '<mimic joint="k"/></axis>')
            + joint("k", "revolute", "world", "b").replace("</axis>", '<mimic joint="j"/></axis>')),
        "loads 2 1",
    ),
    "joints cycle": (
        sdf(link("a") + link("b", "1 0 0 0 0 0") + link("c", "0 1 0 0 0 0") + joint("j", "revolute", "a", "b")
            + joint("k", "revolute", "b", "c") + joint("l", "revolute", "c", "a")),
        "loads 3 6",
    ),
    "shape without geometry": (sdf(link("a", more='<visual name="v"/>')), "loads 1 6"),
    "negative radius": (
        sdf(link("a", more='<visual name="v"><geometry><sphere><radius>-1</radius></sphere></geometry></visual>')),
        "loads 1 6",
    ),
    "two shapes": (
        sdf(link("a", more='<visual name="v"><geometry><sphere/><box/></geometry></visual>')), "loads 1 6",
    ),
    "mesh above": (
        sdf(link("a", more='<visual name="v"><geometry><mesh><uri>../../../passwd</uri></mesh></geometry></visual>')),
        "loads 1 6",
    ),
    "static of another kind": (sdf("<static>yes</static>" + link("a")), "expected true or false"),
    "included model": (sdf("<include><uri>file:///etc/passwd</uri></include>" + link("a")), "cannot be included"),
    "long chain": (chain(800, False), "loads 800 805"),
    "chain of relative poses": (chain(800, True), "loads 800 805"),
    "deep models": (nested(200), "nested deeper"),
    "huge attribute": (GOOD.replace('"m"', f'"{"m" * 2_000_000}"'), "characters"),
    "many numbers": (inertial("<pose>.1 -.05 .2 .3 .2 .1", "<pose>" + "1 " * 300_000), "numbers, but 6"),
    "byte order mark": ("\xef\xbb\xbf" + GOOD, "loads 2 7"),
}  # fmt: skip


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return try_all({name: text for name, (text, _) in CASES.items()}, "sdf", "sdf", GOOD)


def test_there_are_enough() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_or_loads(name: str, found: dict[str, Any]) -> None:
    judge(found[name], CASES[name][1])
