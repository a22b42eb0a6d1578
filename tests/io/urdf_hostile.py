"""Broken URDFs by name, each with what is expected: the beginning of an error after the file's name, or "" if it loads.

The text starts with <robot name="r"> in line 1; every part is a line of its own.
"""

from __future__ import annotations

MATTER = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def link(name: str, inside: str = MATTER) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "continuous", inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(*parts: str) -> str:
    return "\n".join(['<robot name="r">', *parts, "</robot>"])


def two(inside: str = "", kind: str = "continuous", body: str = MATTER) -> str:
    """Lines 2 and 3 are the links, 4 the joint."""
    return robot(link("a"), link("b", body), joint("j", "a", "b", kind, inside))


def mass(value: str) -> str:
    return two(body=MATTER.replace('mass value="1"', f'mass value="{value}"'))


def moments(xx: str = "1", xy: str = "0", yy: str = "1", zz: str = "1") -> str:
    body = f'<inertia ixx="{xx}" ixy="{xy}" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/>'
    return two(body=f'<inertial><mass value="1"/>{body}</inertial>')


def chain(n: int, closed: bool = False) -> str:
    parts = [link(f"l{i}") for i in range(n)]
    parts += [joint(f"j{i}", f"l{i - 1}", f"l{i}") for i in range(0 if closed else 1, n)]
    return robot(*parts).replace('"l-1"', f'"l{n - 1}"')


def mesh(name: str) -> str:
    return two(body=MATTER + f'<visual><geometry><mesh filename="{name}"/></geometry></visual>')


def mimics(first: str, second: str) -> str:
    follow = [f'<mimic joint="{x}"/>' if x else "" for x in (first, second)]
    return robot(*map(link, "abc"), joint("j1", "a", "b", inside=follow[0]), joint("j2", "b", "c", inside=follow[1]))


BOMB = "<!DOCTYPE r [" + "".join(
    f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha"}">' for i in range(10)
) + "]>"  # fmt: skip
LIMIT = '<limit lower="{}" upper="{}" effort="1" velocity="1"/>'

HOSTILE: dict[str, tuple[str | bytes, str]] = {
    # --- no document
    "empty": ("", ": the file is empty"),
    "blank": (" \n\n", ": the file is empty"),
    "no xml": ("solid cube", ":1: this is not XML"),
    "json": ("{}", ":1: this is not XML"),
    "truncated in a tag": (two()[:100], ":2: not well-formed XML"),
    "truncated between tags": (two()[: two().rindex("</robot>")], ":5: the file ends inside <robot>"),
    "wrong end tag": ("<robot>\n<link></robot>", ":2: not well-formed XML: mismatched tag"),
    "two roots": (two() + "<robot/>", ":5: not well-formed XML: junk after"),
    "attribute twice": ('<robot name="r" name="s"/>', ":1: not well-formed XML: duplicate attribute"),
    "unquoted attribute": ("<robot name=r/>", ":1: not well-formed XML"),
    "ampersand": ("<robot>\nR&D</robot>", ":2: not well-formed XML"),
    "control character": ("<robot>\n\x01</robot>", ":2: not well-formed XML"),
    "entity bomb": (BOMB + "<robot>&e9;</robot>", ":1: a DOCTYPE"),
    "quadratic bomb": ('<!DOCTYPE r [<!ENTITY a "' + "a" * 50_000 + '">]><robot>' + "&a;" * 50_000, ":1: a DOCTYPE"),
    "external entity": ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot>&x;</robot>', ":1: a DOCTYPE"),
    "external DTD": ('<!DOCTYPE robot SYSTEM "http://localhost/x.dtd"><robot/>', ":1: a DOCTYPE"),
    "parameter entity": ('<!DOCTYPE r [<!ENTITY % x SYSTEM "file:///x"> %x;]><robot/>', ":1: a DOCTYPE"),
    "undefined entity": ("<robot>\n&nbsp;</robot>", ":2: an entity"),
    "deep nesting": ("<robot>\n" + "<a>" * 100_000, ":2: .*nested deeper than 100"),
    "huge attribute": (f'<robot name="{"x" * 2_000_000}"/>', ":1: attribute 'name' of <robot> has more than"),
    "many elements": ("<robot>" + "<a/>" * 250_000 + "</robot>", ":1: .*more than 200000 elements"),
    "many attributes": ("<robot " + " ".join(f"a{i}=''" for i in range(50_000)) + "/>", ":1: .* more than 1000"),
    # --- encodings
    "latin-1 as utf-8": (robot("<!-- caf\xe9 -->").encode("latin-1"), ":2: byte 0xe9 is not UTF-8"),
    "utf-16 without a mark": (two().encode("utf-16-le"), ":1: the file contains a zero byte"),
    "utf-16 with a mark": (two().encode("utf-16"), ""),
    "utf-8 with a mark": (two().encode("utf-8-sig"), ""),
    "utf-32": (two().encode("utf-32"), ":1: the file is UTF-32"),
    "declared utf-16, is not": ("<?xml version='1.0' encoding='utf-16'?>" + two(), ":1: "),
    "declared unknown": ("<?xml version='1.0' encoding='utf-9'?>" + two(), ":1: "),
    "zero byte": (two().encode() + b"\0", ":5: the file contains a zero byte"),
    "binary": (bytes(range(256)), ":1: "),
    # --- numbers
    "mass NaN": (mass("nan"), ":3: .*mass: value='nan': 'nan' is not finite"),
    "mass Inf": (mass("inf"), ":3: .*'inf' is not finite"),
    "mass too large": (mass("1e400"), ":3: .*too large"),
    "mass comma": (mass("1,5"), ":3: .*'1,5' has a comma"),
    "mass empty": (mass(""), ":3: .*it is empty"),
    "mass word": (mass("heavy"), ":3: .*'heavy' is not a decimal number"),
    "mass hexadecimal": (mass("0x1p3"), ":3: .*hexadecimal"),
    "mass with a unit": (mass("1kg"), ":3: .*not a decimal number"),
    "mass two numbers": (mass("1 2"), ":3: .*more than one number"),
    "mass underscore": (mass("1_0"), ":3: .*not a decimal number"),
    "mass Arabic digits": (mass("١"), ":3: .*not a decimal number"),
    "mass of many digits": (mass("1" * 100_000), ":3: .*more than 400 characters"),
    "mass expression": (mass("${2*m}"), ":3: .*xacro"),
    "mass missing": (two(body="<inertial><inertia/></inertial>"), ":3: .*<mass> is missing"),
    "mass without value": (two(body="<inertial><mass>1</mass></inertial>"), ":3: .*'value' is missing"),
    "xyz of two": (two('<origin xyz="1 2"/>'), ":4: .*has 2 numbers, but 3 are expected"),
    "xyz with commas": (two('<origin xyz="1,2,3"/>'), ":4: .*has commas"),
    "xyz with commas and spaces": (two('<origin xyz="1, 2, 3"/>'), ":4: .*'1,' .*separate numbers by spaces alone"),
    "rpy NaN": (two('<origin rpy="0 nan 0"/>'), ":4: .*not finite"),
    "limit Inf": (two(LIMIT.format("-inf", "inf"), "revolute"), ":4: .*not finite"),
    "colour of three": (two(body=MATTER + '<visual><geometry><sphere radius="1"/></geometry><material name="m">'
                            '<color rgba="1 0 0"/></material></visual>'), ""),
    # --- matter
    "mass negative": (mass("-1"), ":3: .*mass -1.0 is negative"),
    "mass zero": (mass("0"), ""),
    "no matter": (two(body=""), ""),
    "inertia negative": (moments(xx="-1"), ":3: .*negative principal moment"),
    "inertia not positive": (moments(xy="3"), ":3: .*negative principal moment"),
    "inertia triangle": (moments(zz="9"), ""),
    "inertia missing": (two(body='<inertial><mass value="1"/></inertial>'), ":3: .*<inertia> is missing"),
    "inertia incomplete": (two(body=MATTER.replace('ixy="0"', "")), ":3: .*'ixy' is missing"),
    "inertia not symmetric": (two(body=MATTER.replace('ixy="0"', 'ixy="0" iyx="1"')), ":3: .*iyx='1' is not"),
    "two inertials": (two(body=MATTER * 2), ":3: .*a second <inertial>"),
    # --- names and trees
    "no links": (robot(), ":1: .*there is no <link>"),
    "link without a name": (robot("<link/>"), ":2: .*'name' is missing"),
    "link with an empty name": (robot('<link name=" "/>'), ":2: .*'name' is empty"),
    "link twice": (robot(link("a"), link("a")), ":3: .*a second link 'a'; the first is at line 2"),
    "joint twice": (robot(*map(link, "abc"), joint("j", "a", "b"), joint("j", "b", "c")), ":6: .*a second joint 'j'"),
    "joint without a type": (robot(link("a"), '<joint name="j"/>'), ":3: .*'type' is missing"),
    "joint of unknown type": (two(kind="wobbly"), ":4: .*unknown joint type 'wobbly'"),
    "joint without parent": (robot(link("a"), '<joint name="j" type="fixed"/>'), ":3: .*<parent> is missing"),
    "unknown parent": (robot(link("arm"), joint("j", "am", "arm")), ":3: .*no link 'am'; did you mean 'arm'"),
    "unknown child": (robot(link("a"), joint("j", "a", "zzz")), ":3: .*there is no link 'zzz'"),
    "two children": (two('<child link="a"/>'), ":4: .*a second <child>"),
    "itself": (robot(link("a"), joint("j", "a", "a")), ":3: .*connects link 'a' with itself"),
    "two parents": (robot(*map(link, "abc"), joint("j", "a", "c"), joint("k", "b", "c")),
                    ":6: .*'c' already has a joint, 'j' .line 5."),
    "circle of all": (chain(3, closed=True), ":5: .*joints form a cycle: l0 <- l2 <- l1 <- l0"),
    "circle aside": (robot(*map(link, "abc"), joint("j", "b", "c"), joint("k", "c", "b")), ":6: .*cycle"),
    "long circle": (chain(2000, closed=True), ":2002: .*cycle"),
    "not connected": (robot(link("a"), link("b")), ":3: .*link 'b' is not connected: the root is 'a'"),
    "world inside": (robot(link("a"), link("world"), joint("j", "a", "world")), ":4: .*reserved for the ground"),
    "frame of a loop name": (robot(link("a"), link("b"), joint("j", "a", "b"), '<loop name="l" type="fixed"/>'),
                             ":5: .*<predecessor> is missing"),
    # --- joints
    "zero axis": (two('<axis xyz="0 0 0"/>'), ":4: .*has no direction"),
    "long axis": (two('<axis xyz="0 0 2"/>'), ""),
    "axis without xyz": (two("<axis/>"), ":4: .*'xyz' is missing"),
    "limits crossed": (two(LIMIT.format(1, -1), "revolute"), ":4: .*lower limit 1.0 is above"),
    "effort negative": (two('<limit effort="-1" velocity="1"/>'), ":4: .*effort=-1.0 is negative"),
    "damping negative": (two('<dynamics damping="-1"/>'), ":4: .*damping=-1.0 is negative"),
    "mimic itself": (two('<mimic joint="j"/>'), ":4: .*cycle: j -> j"),
    "mimic circle": (mimics("j2", "j1"), ":5: .*cycle: j1 -> j2 -> j1"),
    "mimic nothing": (mimics("", "j7"), ":6: .*there is no joint 'j7'"),
    "mimic without a joint": (two("<mimic/>"), ":4: .*'joint' is missing"),
    "mimic of a free joint": (robot(*map(link, "abc"), joint("j", "a", "b", "floating"),
                              joint("k", "b", "c", inside='<mimic joint="j"/>')), ":6: .*'j' has 7 coordinates"),
    "mimic with a power": (mimics("", 'j1" power="2'), ":6: .*power='2' is not understood"),
    # --- loops
    "loop of unknown links": (robot(*map(link, "ab"), joint("j", "a", "b"), '<loop name="l" type="revolute">'
                              '<predecessor link="x"/><successor link="b"/></loop>'), ":5: .*there is no link 'x'"),
    "loop that cannot close": (robot(*map(link, "ab"), joint("j", "a", "b"), '<loop name="l" type="spherical">'
                               '<predecessor link="a"><origin xyz="9 0 0"/></predecessor><successor link="b"/></loop>'),
                               ":5: .*cannot be closed"),
    "coupling of a chain": (robot(*map(link, "ab"), joint("j", "a", "b"), '<coupling name="l"><predecessor link="a"/>'
                            '<successor link="b"/></coupling>'), ":5: .*no joint moves 'a'"),
    "other loop element": (two().replace("</robot>", "<loop_joint/></robot>"), ":5: .*<loop_joint> is not understood"),
    # --- shapes and paths
    "no geometry": (two(body=MATTER + "<visual/>"), ""),
    "empty geometry": (two(body=MATTER + "<visual><geometry/></visual>"), ""),
    "negative box": (two(body=MATTER + '<visual><geometry><box size="1 -1 1"/></geometry></visual>'), ""),
    "mesh without a name": (mesh(""), ""),
    "mesh outside": (mesh("../../../../../../etc/passwd"), ""),
    "mesh outside a package": (mesh("package://p/../../../etc/passwd"), ""),
    "mesh absolute": (mesh("file:///etc/passwd"), ""),
    "mesh of the net": (mesh("http://localhost/a.stl"), ""),
    "mesh with a zero": (mesh("a&#x41;.stl"), ""),
    "mesh of a long name": (mesh("x" * 100_000), ""),
    # --- other
    "xacro": (robot('<xacro:macro name="m"/>'), ":2: .*belongs to xacro"),
    "sdf": ("<sdf version='1.9'/>", ":1: .*the root element is <sdf>, not <robot>"),
    "long chain": (chain(400), ""),
    "negative rotor": (two().replace("</robot>", '<transmission><joint name="j"/><actuator><rotorInertia>-1'
                       "</rotorInertia></actuator></transmission></robot>"), ":5: .*rotor inertia -1.0 is negative"),
}  # fmt: skip
