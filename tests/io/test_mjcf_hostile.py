"""Broken and malicious MJCF files: each is refused with file, line and reason, or loads correctly, in bounds."""

from __future__ import annotations

from typing import Any

import pytest

from .hostile import judge, try_all

pytest.importorskip("mujoco")

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
GOOD = f'<mujoco><worldbody>\n<body name="a"><joint name="j"/>{INERTIAL}\n</body></worldbody></mujoco>'


def body(inside: str, rest: str = "", head: str = "") -> str:
    return f'<mujoco>{head}<worldbody>\n<body name="a"><joint name="j"/>{inside}\n</body></worldbody>{rest}</mujoco>'


def inertial(**changed: str) -> str:
    values = {"pos": "0 0 0", "mass": "1", "diaginertia": "1 1 1", **changed}
    return body(f"<inertial {' '.join(f'{k}={v!r}' for k, v in values.items() if v != 'none')}/>")


def two(rest: str) -> str:
    bodies = "".join(
        f'<body name="{n}"><joint name="j{n}" axis="0 1 0"/>{INERTIAL}<site name="s{n}"/></body>' for n in "ab"
    )
    return f"<mujoco>\n<worldbody>{bodies}</worldbody>\n{rest}</mujoco>"


def chain(n: int) -> str:
    links = "".join(f'<body pos="1 0 0"><joint axis="0 1 0"/>{INERTIAL}' for _ in range(n))
    return f"<mujoco><worldbody>{links}{'</body>' * n}</worldbody></mujoco>"


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaa">'
    + "".join(f'<!ENTITY {c} "&{p};&{p};&{p};">' for p, c in zip("abcd", "bcde", strict=True))
    + "]>"
)
CASES: dict[str, tuple[str, str]] = {
    "empty": ("", "empty"),
    "blanks": ("  \n ", "empty"),
    "no xml": ("hello", "not XML"),
    "binary": ("\x00\x01\x02\x03", "zero byte"),
    "other root": ("<robot name='x'/>", "the root element of an MJCF file is <mujoco>"),
    "part": ("<mujocoinclude/>", "not <mujocoinclude>; this is a part that other files include"),
    "truncated": (GOOD[:60], ""),
    "truncated in a tag": (GOOD[:45], ""),
    "cut in an attribute": (GOOD[:52], ""),
    "wrong nesting": ("<mujoco><worldbody></mujoco></worldbody>", "not well-formed"),
    "two roots": (GOOD + GOOD, "not well-formed"),
    "bad encoding": (GOOD.replace('"a"', '"\xff"'), "not UTF-8"),
    "utf-32": ("\xff\xfe\x00\x00<\x00\x00\x00", "UTF-32"),
    "unknown encoding": ('<?xml version="1.0" encoding="klingon"?>' + GOOD, ""),
    "undefined entity": (GOOD.replace('"a"', '"&boo;"'), "entity"),
    "entity bomb": (BOMB + GOOD.replace('"a"', '"&e;"'), "DOCTYPE"),
    "external entity": ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + GOOD, "DOCTYPE"),
    "doctype": ("<!DOCTYPE mujoco>" + GOOD, "DOCTYPE"),
    "include of a system file": ('<mujoco>\n<include file="/etc/passwd"/></mujoco>', "not in the folders"),
    "include above": ('<mujoco>\n<include file="../../../etc/passwd"/></mujoco>', "not in the folders"),
    "include of nothing": ('<mujoco>\n<include file="gone.xml"/></mujoco>', "not in the folders"),
    "include without a file": ("<mujoco>\n<include/></mujoco>", "'file' is missing"),
    "attached model": ('<mujoco><asset>\n<model name="m" file="/etc/passwd"/></asset></mujoco>', "not in the folders"),
    "flexcomp": ('<mujoco><worldbody>\n<flexcomp name="f" file="/etc/passwd"/></worldbody></mujoco>', "<flexcomp>"),
    "NaN mass": (inertial(mass="nan"), "not a finite number"),
    "NaN in capitals": (inertial(mass="NaN"), "not a finite number"),
    "infinite mass": (inertial(mass="inf"), "not a finite number"),
    "minus infinity": (inertial(pos="-Infinity 0 0"), "not a finite number"),
    "huge mass": (inertial(mass="1e400"), ""),
    "comma": (inertial(mass="1,5"), "mass"),
    "commas between": (inertial(pos="0,0,0"), "pos"),
    "empty number": (inertial(mass=""), "mass"),
    "word": (inertial(mass="heavy"), "mass"),
    "hexadecimal": (inertial(mass="0x10"), "hexadecimal"),
    "two masses": (inertial(mass="1 2"), "mass"),
    "two of three": (inertial(diaginertia="1 1"), "diaginertia"),
    "zero mass": (inertial(mass="0"), "mass"),
    "negative mass": (inertial(mass="-1"), "mass"),
    "no mass": (inertial(mass="none"), "mass"),
    "zero inertia": (inertial(diaginertia="0 0 0"), "inertia"),
    "negative inertia": (inertial(diaginertia="1 1 -1"), "inertia"),
    "triangle": (inertial(diaginertia="1 1 5"), "A + B >= C"),
    "not positive": (inertial(diaginertia="none", fullinertia="1 1 1 2 0 0"), "inertia"),
    "no inertial": (body(""), "mass and inertia"),
    "zero axis": (body(INERTIAL + '<joint axis="0 0 0"/>'), "axis"),
    "the same hinge twice": (body(INERTIAL + "<joint/>"), "loads 2 2"),
    "zero quaternion": (body(INERTIAL + '<body quat="0 0 0 0"/>'), "quat"),
    "bad joint type": (body(INERTIAL + '<joint type="rubber"/>'), "rubber"),
    "unknown element": (body(INERTIAL + "<rubber/>"), "unrecognized element"),
    "unknown attribute": (body(INERTIAL + '<joint colour="1"/>'), "unrecognized attribute"),
    "duplicate attribute": (body(INERTIAL).replace('name="a"', 'name="a" name="b"'), "duplicate attribute"),
    "duplicate body": (body(INERTIAL + f'<body name="a">{INERTIAL}</body>'), "repeated name"),
    "duplicate joint": (body(INERTIAL + '<joint name="j" axis="1 0 0"/>'), "repeated name"),
    "free inside": (body(INERTIAL + f"<body><freejoint/>{INERTIAL}</body>"), "free joint"),
    "free and hinge": (body(INERTIAL + "<freejoint/>"), "more than 6 dofs"),
    "limits swapped": (body(INERTIAL + '<joint axis="1 0 0" range="1 -1"/>'), "loads 2 2"),
    "negative damping": (body(INERTIAL + '<joint axis="1 0 0" damping="-1"/>'), ""),
    "negative armature": (body(INERTIAL + '<joint axis="1 0 0" armature="-1"/>'), ""),
    "unknown mesh": (body('<geom type="mesh" mesh="gone"/>'), "mesh"),
    "mesh above": (
        body('<geom type="mesh" mesh="m"/>', head='<asset><mesh name="m" file="../../../../etc/passwd"/></asset>\n'),
        "was not found",
    ),
    "negative size": (body('<geom type="sphere" size="-1"/>'), "size"),
    "no bodies": ("<mujoco>\n<worldbody/></mujoco>", "there is no <body>"),
    "connect unknown": (two('<equality><connect body1="a" body2="z" anchor="0 0 0"/></equality>'), "'z'"),
    "connect itself": (two('<equality><connect body1="a" body2="a" anchor="0 0 0"/></equality>'), "is repeated"),
    "joint on itself": (two('<equality><joint joint1="ja" joint2="ja"/></equality>'), ""),
    "joint equality unknown": (two('<equality><joint joint1="zz"/></equality>'), "'zz'"),
    "joint equalities cycle": (
        two('<equality><joint joint1="ja" joint2="jb"/><joint joint1="jb" joint2="ja"/></equality>'), "loads 2 1",
    ),
    "joint equalities that contradict": (
        two('<equality><joint name="e" joint1="ja" polycoef="0"/><joint joint1="ja" polycoef="1"/></equality>'), "",
    ),
    "impossible connect": (
        two('<equality><connect site1="sa" site2="sb"/></equality>').replace('name="sa"/>', 'name="sa" pos="0 9 0"/>'),
        "cannot be closed",
    ),
    "tendon of nothing": (two('<tendon><fixed name="t"/></tendon>'), ""),
    "tendon of unknown": (two('<tendon><fixed name="t"><joint joint="zz" coef="1"/></fixed></tendon>'), "'zz'"),
    "key of wrong size": (two('<keyframe><key qpos="1 2 3 4"/></keyframe>'), ""),
    "actuator of unknown": (two('<actuator><motor joint="zz"/></actuator>'), "zz"),
    "plugin": ('<mujoco><extension>\n<plugin plugin="evil.so"/></extension></mujoco>', "evil.so"),
    "chain of 300": (chain(300), "loads 300 300"),
    "chain of 3000": (chain(3000), "nested deeper"),
    "deep nesting": ("<mujoco>" + "<worldbody>" * 5000 + "</worldbody>" * 5000 + "</mujoco>", "nested deeper"),
    "many attributes": (GOOD.replace("<mujoco", "<mujoco " + " ".join(f'a{i}=""' for i in range(50_000))), "attribute"),
    "huge attribute": (GOOD.replace('"a"', f'"{"a" * 2_000_000}"'), "characters"),
    "many numbers": (inertial(pos="1 " * 300_000), "pos"),
    "long name": (GOOD.replace('"a"', f'"{"a" * 100_000}"'), "loads 1 1"),
    "name with a zero escape": (GOOD.replace('"a"', '"&#0;"'), "not well-formed"),
    "unicode names": (GOOD.replace('"a"', '"\xc3\xa4\xe2\x82\xac"'), "loads 1 1"),
    "byte order mark": ("\xef\xbb\xbf" + GOOD, "loads 1 1"),
    "comments": ("<!-- a -->" + GOOD.replace("<joint", "<!-- b --><joint"), "loads 1 1"),
    "copies without end": (body('<replicate count="1000000000"><geom size="1"/></replicate>'), "copies"),
    "copies of copies": (
        body('<replicate count="1000"><replicate count="1000"><geom size="1"/></replicate></replicate>'), "copies",
    ),
    "a huge composite": (body('<composite type="cable" count="100000000 1 1"/>'), "copies"),
}  # fmt: skip


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return try_all({name: text for name, (text, _) in CASES.items()}, "mjcf", "xml", GOOD)


def test_there_are_enough() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_or_loads(name: str, found: dict[str, Any]) -> None:
    judge(found[name], CASES[name][1])
