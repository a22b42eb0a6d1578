"""Broken files of our own format: each gets an error that names the file and the place, soon."""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fourbar as fb
from fourbar.io.formats import FORMATS
from fourbar.io.native.toml import _key, _value
from fourbar.io.source import Options, Source

SECONDS = 2.0  # of CPU; the least of a few tries, as machines are busy
GOOD: dict[str, Any] = {
    "fourbar": 1,
    "name": "arm",
    "gravity": [0, 0, -9.81],
    "bodies": [
        {"name": "upper", "mass": 2.0, "com": [0.2, 0, 0], "inertia": [0.01, 0.02, 0.02],
         "joint": {"type": "Revolute", "axis": "y", "name": "shoulder", "position": [0, 0, 1], "lower": [-1],
                   "upper": [1]},
         "geometry": [{"kind": "box", "size": [1, 1, 1]}]},
        {"name": "fore", "parent": "upper", "mass": 1.0, "inertia": [0.01, 0.02, 0.02],
         "joint": {"type": "Revolute", "axis": [0, 0.6, 0.8], "position": [0.4, 0, 0], "armature": [0.1]}},
        {"name": "rotor", "parent": "upper", "mass": 0.1, "inertia": [1e-4, 1e-4, 1e-4], "joint": {"type": "Revolute"}},
    ],
    "frames": [{"name": "hand", "body": "fore", "position": [0.3, 0, 0]}],
    "loops": [
        {"name": "gear", "type": "Gear", "driver": "fore", "driven": "rotor", "ratio": 9, "independent": {"fore": 1}}
    ],
    "configurations": {"bent": {"fore": [0.3]}},
    "actuators": [{"name": "motor", "drives": [{"joint": "rotor", "gear": [2]}], "force_range": [-1, 1]}],
}  # fmt: skip
MISSING = object()
Path_ = tuple[Any, ...]


def changed(path: Path_, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(GOOD)
    at: Any = data
    for step in path[:-1]:
        at = at[step]
    if value is MISSING:
        del at[path[-1]]
    elif isinstance(at, list) and path[-1] == len(at):
        at.append(value)
    else:
        at[path[-1]] = value
    return data


U, F = ("bodies", 0), ("bodies", 1)
J = (*U, "joint")
UPPER, FORE = r"bodies\[0\] 'upper'", r"bodies\[1\] 'fore'"
BEVELS = {"type": "Differential", "inputs": ["fore"], "outputs": ["rotor"], "matrix": [[1]]}
CAM = {"type": "Polynomial", "driver": "fore", "driven": "rotor", "coefficients": []}
WELD = {"type": "Closure", "joint": {"type": "Fixed"}, "predecessor": "fore", "successor": "world"}
ROD = {"type": "Distance", "predecessor": "fore", "successor": "world", "length": 1}
ROD |= {"predecessor_point": [0, 0, 0], "successor_point": [0, 0, 0]}
# Where, what is there instead, and what the error says.
TABLE: list[tuple[Path_, Any, str]] = [
    (("fourbar",), MISSING, "the file: 'fourbar' is missing"),
    (("fourbar",), 2, "has schema 2, but this fourbar reads up to 1; update fourbar"),
    (("fourbar",), 0, "expected the schema version, 1, got 0"),
    (("fourbar",), "1", "expected the schema version, 1, got '1'"),
    (("fourbar",), True, "expected the schema version, 1, got True"),
    (("fourbar",), 1.5, "expected the schema version"),
    (("name",), "", "name: expected a non-empty text"),
    (("name",), 3, "name: expected a non-empty text, got 3"),
    (("gravity",), [0, 0], "gravity: expected 3 numbers, got 2"),
    (("gravity",), 9.81, "gravity: expected a list of 3 numbers, got 9.81"),
    (("gravity",), [0, 0, "-9.81"], r"gravity\[2\]: expected a number, got '-9.81'"),
    (("gravty",), [0, 0, 1], "unknown key 'gravty'; did you mean 'gravity'"),
    (("bodies",), MISSING, "'bodies' is missing"),
    (("bodies",), [], "mechanism 'arm' has no bodies|there is no body"),
    (("bodies",), {"upper": {}}, "bodies: expected a list of tables"),
    (("bodies",), "upper", "bodies: expected a list of tables, got 'upper'"),
    ((*U, "name"), MISSING, r"bodies\[0\]: body: 'name' is missing"),
    ((*U, "name"), "", r"bodies\[0\] '': name: expected a non-empty text"),
    ((*U, "name"), "world", "'world' is reserved for the ground"),
    ((*U, "name"), ["upper"], "name: expected a non-empty text"),
    ((*F, "name"), "upper", r"bodies\[1\] 'upper': there is already a body 'upper'"),
    ((*F, "parent"), "uper", "body 'fore': parent: .*no body 'uper'; did you mean 'upper'"),
    ((*F, "parent"), "fore", "cycle: fore -> fore"),
    ((*U, "parent"), "fore", "cycle: upper -> fore -> upper"),
    ((*U, "parent"), 1, f"{UPPER}: parent: expected a non-empty text, got 1"),
    ((*U, "mass"), "2", f"{UPPER}: mass: expected a number, got '2'"),
    ((*U, "mass"), "1,5", f"{UPPER}: mass: expected a number, got '1,5'"),
    ((*U, "mass"), True, f"{UPPER}: mass: expected a number, got True"),
    ((*U, "mass"), -1, f"{UPPER}: body 'upper': mass -1.0 is negative"),
    ((*U, "mass"), 0, f"{UPPER}: body 'upper': mass is zero, but the inertia"),
    ((*U, "mass"), [2], f"{UPPER}: mass: expected a number"),
    ((*U, "mass"), 10**400, f"{UPPER}: mass: expected a finite number"),
    ((*U, "masss"), 2, f"{UPPER}: body: unknown key 'masss'; did you mean 'mass'"),
    ((*U, "com"), [0, 0], f"{UPPER}: com: expected 3 numbers, got 2"),
    ((*U, "com"), [0, 0, [1]], rf"{UPPER}: com\[2\]: expected a number"),
    ((*U, "inertia"), [1, 2], f"{UPPER}: inertia: expected 3 principal moments, 6 numbers"),
    ((*U, "inertia"), [1, 0.1, 0.1], f"{UPPER}: .* violate the triangle inequality"),
    ((*U, "inertia"), [-1, 1, 1], f"{UPPER}: .* negative principal moment"),
    ((*U, "inertia"), [[1, 2, 0], [0, 1, 0], [0, 0, 1]], f"{UPPER}: .* is not symmetric"),
    ((*U, "inertia"), [[1, 0], [0, 1]], f"{UPPER}: inertia: expected 3 rows of 3 numbers"),
    ((*U, "inertia"), [1, 0, 0, 1, "x", 1], rf"{UPPER}: inertia\[4\]: expected a number, got 'x'"),
    ((*U, "allow_unphysical"), 1, f"{UPPER}: allow_unphysical: expected true or false, got 1"),
    (J, "Revolute", f"{UPPER}: joint: expected a table with 'type', got 'Revolute'"),
    (J, {}, f"{UPPER}: joint: expected a table with 'type'"),
    ((*J, "type"), "revolute", f"{UPPER}: joint: unknown type 'revolute'; did you mean 'Revolute'"),
    ((*J, "type"), "CustomJoint", f"{UPPER}: joint: unknown type 'CustomJoint'"),
    ((*J, "type"), 7, f"{UPPER}: joint: unknown type 7"),
    ((*J, "axis"), "w", f"{UPPER}: joint: unknown axis 'w'"),
    ((*J, "axis"), [0, 0, 0], f"{UPPER}: .*axis .* it is zero"),
    ((*J, "axis"), [1, 1, 0], f"{UPPER}: .*has length 1.41421356, expected a unit vector"),
    ((*J, "axis"), [1, 0], f"{UPPER}: joint.axis: expected 3 numbers, got 2"),
    ((*J, "pitch"), 0.1, f"{UPPER}: joint: unknown key 'pitch'"),
    ((*J, "name"), "fore", "joint 'fore' carries both"),
    ((*J, "name"), 5, f"{UPPER}: joint.name: expected a non-empty text, got 5"),
    ((*J, "position"), [0, 0], f"{UPPER}: position: expected 3 numbers, got 2"),
    ((*J, "rotation"), [2, 0, 0, 0], f"{UPPER}: .*quaternion .* has length 2"),
    ((*J, "rotation"), [[1, 0, 0], [0, 1, 0], [0, 0, -1]], f"{UPPER}: .*is a reflection"),
    ((*J, "rotation"), [[1, 0, 0], [0, 2, 0], [0, 0, 1]], f"{UPPER}: .*not orthogonal"),
    ((*J, "rotation"), "z", f"{UPPER}: rotation: expected 3 rows of 3 numbers, got 'z'"),
    ((*J, "rpy"), [0, 0], f"{UPPER}: rpy: expected 3 numbers"),
    (J, {"type": "Revolute", "rpy": [0, 0, 0], "rotation": [1, 0, 0, 0]}, f"{UPPER}: .*rotation= or rpy=, not both"),
    ((*J, "lower"), [2], f"{UPPER}: .*every lower limit must be a number not above the upper one"),
    ((*J, "lower"), [-1, -1], f"{UPPER}: joint.lower: expected 1 numbers, got 2"),
    ((*J, "lower"), ["low"], rf"{UPPER}: joint.lower\[0\]: expected a number, got 'low'"),
    ((*J, "armature"), [-0.1], f"{UPPER}: .*armature: expected numbers ≥ 0"),
    ((*J, "armature"), ["inf"], f"{UPPER}: joint.armature"),
    ((*J, "damping"), None, f"{UPPER}: joint.damping"),
    ((*J, "max_force"), [-1], f"{UPPER}: .*max_force"),
    ((*J, "stiffness"), [1, 2], f"{UPPER}: joint.stiffness: expected 1 numbers, got 2"),
    ((*J, "rest"), [1, 2], f"{UPPER}: joint.rest: expected 1 numbers, got 2"),
    (J, {"type": "Composite"}, f"{UPPER}: joint.parts: expected a list of joints and placements"),
    (J, {"type": "Composite", "parts": []}, f"{UPPER}: .*needs at least one joint"),
    (J, {"type": "Composite", "parts": [{"type": "Revolt"}]}, rf"{UPPER}: joint.parts\[0\]: unknown type 'Revolt'"),
    (J, {"type": "Composite", "parts": [{"type": "Revolute"}] * 2}, f"{UPPER}: .*its coordinates are redundant"),
    (J, {"type": "SphericalEuler", "sequence": "xxy"}, f"{UPPER}: .*unknown Euler sequence 'xxy'"),
    (J, {"type": "Universal", "axis1": "x", "axis2": "x"}, f"{UPPER}: .*are parallel"),
    ((*U, "geometry"), {}, f"{UPPER}: geometry: expected a list of tables"),
    ((*U, "geometry", 0, "kind"), "cone", rf"{UPPER}: geometry\[0\]: unknown kind 'cone'"),
    ((*U, "geometry", 0, "size"), [1, 1], rf"{UPPER}: geometry\[0\]: a box takes x, y, z"),
    ((*U, "geometry", 0, "size"), [1, 1, -1], rf"{UPPER}: geometry\[0\]: a box takes x, y, z, finite and non-negative"),
    ((*U, "geometry", 0, "role"), "both", rf"{UPPER}: geometry\[0\]: unknown role 'both'"),
    ((*U, "geometry", 0, "mesh"), "../../etc/passwd", rf"{UPPER}: geometry\[0\]: mesh= is required for a mesh"),
    ((*U, "geometry", 0, "colour"), [1, 1, 1], rf"{UPPER}: geometry\[0\].colour: expected 4 numbers, got 3"),
    ((*U, "geometry", 0, "density"), 1, rf"{UPPER}: geometry\[0\]: unknown key 'density'"),
    (("frames", 0, "body"), "for", "frame 'hand': .*no body 'for'; did you mean 'fore'"),
    (("frames", 0, "body"), MISSING, r"frames\[0\] 'hand': frame: 'body' is missing"),
    (("frames", 0, "name"), "upper", r"frames\[0\] 'upper': there is already a frame 'upper'"),
    (("frames", 1), {"name": "hand", "body": "fore"}, r"frames\[1\] 'hand': there is already a frame 'hand'"),
    (("frames", 1), "hand", r"frames\[1\]: frame: expected a table"),
    (("actuators",), {}, "actuators: expected a list of tables"),
    (("actuators", 0, "drives"), MISSING, r"actuators\[0\] 'motor': actuator: 'drives' is missing"),
    (("actuators", 0, "drives"), [], r"actuators\[0\] 'motor': actuator 'motor': drives must be"),
    (("actuators", 0, "drives"), "rotor", r"actuators\[0\] 'motor': drives: expected a list of tables"),
    (("actuators", 0, "drives", 0, "joint"), "roto", "actuator 'motor': .*no joint 'roto'; did you mean 'rotor'"),
    (("actuators", 0, "drives", 0, "gear"), "2", r"actuators\[0\] 'motor': gear"),
    (("actuators", 0, "drives", 0, "gear"), [1, 2], "has 1 velocities, but the gear has 2 ratios"),
    (("actuators", 0, "drives", 0, "axes"), "world", r"actuators\[0\] 'motor': .*axes='world': expected one of"),
    (("actuators", 0, "drives", 0, "axes"), "parent", "axes= applies to ball and free joints only"),
    (("actuators", 0, "force_range"), [1, -1], r"actuators\[0\] 'motor': .*not above the upper"),
    (("actuators", 0, "force_range"), [1], r"actuators\[0\] 'motor': force_range: expected 2 numbers"),
    (("actuators", 0, "kind"), 3, r"actuators\[0\] 'motor': kind"),
    (("actuators", 0, "parameters"), [3], r"actuators\[0\] 'motor': parameters: expected a table"),
    (("actuators", 0, "parameters"), {"gain": "x"}, r"actuators\[0\] 'motor': parameters.gain"),
    (("actuators", 0, "ratio"), 3, r"actuators\[0\] 'motor': actuator: unknown key 'ratio'"),
    (("actuators", 1), {"name": "motor", "drives": [{"joint": "fore"}]}, "there is already an actuator 'motor'"),
    (("loops", 0, "type"), "Gears", r"loops\[0\] 'gear': loop: unknown type 'Gears'; did you mean 'Gear'"),
    (("loops", 0, "type"), "Constraint", r"loops\[0\] 'gear': loop: 'function' is missing"),
    (("loops", 0, "ratio"), MISSING, r"loops\[0\] 'gear': loop: 'ratio' is missing"),
    (("loops", 0, "ratio"), "9", r"loops\[0\] 'gear': loop.ratio: expected a number, got '9'"),
    (("loops", 0, "driver"), "rotor", r"loops\[0\] 'gear': loop: a gear couples two joints, got 'rotor' twice"),
    (("loops", 0, "driver"), "elbow", "loop 'gear': .*no joint 'elbow'"),
    (("loops", 0, "independent"), {"fore": 0}, r"loops\[0\] 'gear': .*cannot be zero"),
    (("loops", 0, "independent"), {"elbow": 1}, "loop 'gear': .*no joint 'elbow'"),
    (("loops", 0, "independent"), "fore", r"loops\[0\] 'gear': independent: expected a table"),
    (("loops", 0, "teeth"), 3, r"loops\[0\] 'gear': loop: unknown key 'teeth'"),
    (("loops", 1), {**CAM, "name": "gear", "coefficients": [1]}, r"loops\[1\] 'gear': there is already a loop"),
    (("loops", 1), {"type": "Coupling", "factors": {}}, r"loops\[1\]: .*a coupling needs joints"),
    (("loops", 1), {**BEVELS, "matrix": [[1, 2]]}, r"loops\[1\]: .*needs a finite matrix"),
    (("loops", 1), {**BEVELS, "inputs": "fore"}, r"loops\[1\]: loop.inputs: expected a list"),
    (("loops", 1), CAM, r"loops\[1\]: .*at least one coefficient"),
    (("loops", 1), {**WELD, "successor": "fore"}, r"loops\[1\]: .*between two bodies"),
    (("loops", 1), {**WELD, "successor": "x"}, "no body 'x'"),
    (("loops", 1), {**WELD, "joint": {}}, r"loops\[1\]: loop.joint: expected a table"),
    (("loops", 1), {**ROD, "length": 0}, r"loops\[1\]: .*must be positive"),
    (("configurations",), [1], "configurations: expected a table of configurations by name"),
    (("configurations", "bent"), 1, "configurations: 'bent': expected coordinates by joint"),
    (("configurations", "bent", "fore"), "0.3", r"configurations: 'bent'.fore\[0\]: expected a number"),
    (("configurations", "bent", "fore"), [1, 2], "configuration 'bent': joint 'fore' has 1 coordinates, got 2"),
    (("configurations", "bent", "elbow"), 1, "configuration 'bent': .*no joint 'elbow'"),
]  # fmt: skip


def as_json(data: Any) -> str:
    return json.dumps(data)


def as_toml(data: dict[str, Any]) -> str:
    return "".join(f"{_key(k)} = {_value(x)}\n" for k, x in data.items())


DUMP: dict[str, Callable[[Any], str]] = {"json": as_json, "toml": as_toml}


def _read(file: Path) -> tuple[fb.ParseError, float]:
    """The error of a file, and how long reading took."""
    start = time.process_time()
    with pytest.raises(fb.ParseError) as caught:
        fb.load(file)
    return caught.value, time.process_time() - start


def refused(content: bytes, format: str, words: str, tmp_path: Path) -> None:
    """Loading fails soon, with the file and the words."""
    file = tmp_path / f"broken.{format}"
    file.write_bytes(content)
    error, seconds = _read(file)
    for _ in range(2):
        seconds = seconds if seconds < SECONDS else min(seconds, _read(file)[1])
    assert seconds < SECONDS
    message = str(error)
    assert re.search(words, message, re.DOTALL), message
    assert re.match(re.escape(str(file)) + r":\d+: ", message) and len(message) < 2000
    assert error.report.errors[0].file == str(file)


@pytest.mark.parametrize("format", ["json", "toml"])
def test_the_good_one_is_good(format: str) -> None:
    assert fb.loads(DUMP[format](GOOD), format=format).nv == 2


SAID = [(format, *row) for format in ("json", "toml") for row in TABLE if format != "toml" or row[1] is not None]


@pytest.mark.parametrize(
    ("format", "path", "value", "words"),
    SAID,
    ids=[f"{f}-{'.'.join(map(str, p))}={str(v)[:20]}" for f, p, v, _ in SAID],
)
def test_broken_tables(path: Path_, value: Any, words: str, format: str, tmp_path: Path) -> None:
    """All but null in TOML, which has none."""
    refused(DUMP[format](changed(path, value)).encode(), format, words, tmp_path)


SENTINEL = "at this place"


def expected_lines(text: str, path: Path_, format: str) -> set[int]:
    """The line of the value at a path, found by its text, and that where the item around it begins."""
    lines = text.splitlines()
    here = next(n for n, line in enumerate(lines, 1) if SENTINEL in line)
    opening = {"json": "  {", "toml": "[["}[format]
    above = [n for n, line in enumerate(lines[:here], 1) if line.startswith(opening)]
    return {here} if len(path) < 3 or not above else {here, above[-1]}


@pytest.mark.parametrize("format", ["json", "toml"])
def test_lines_are_right(format: str) -> None:
    """For a value of the wrong kind anywhere in the file, the line is that of the value."""
    write = {"json": lambda data: json.dumps(data, indent=1), "toml": as_toml}[format]
    exact, tried = 0, 0
    for path in places(GOOD):
        if path[-1] in ("name", "parent", "body", "driver", "driven"):
            continue  # a text is right there
        text = write(changed(path, SENTINEL))
        with pytest.raises(fb.ParseError) as caught:
            fb.loads(text, format=format)
        wanted = expected_lines(text, path, format)
        found = caught.value.report.errors[0].line
        assert found in wanted, (path, found, wanted, str(caught.value))
        tried, exact = tried + 1, exact + (found == min(wanted) if len(wanted) == 1 else found != min(wanted))
    assert tried > 30 and (exact > 0.8 * tried if format == "json" else exact > 10)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('fourbar = 1\n\n[[bodies]]\nname = "a"\n\n[[bodies]]\nname = "b"\n[bodies.joint]\ntype = "Revolute"\n'
         "axis = 3\n", 10),
        ('fourbar = 1\n# [[bodies]]\nname = \'\'\'\n[[bodies]]\n\'\'\'\n[[bodies]]\nname = "a"\nmass = "x"\n', 8),
        ('fourbar = 1\nbodies = [\n { name = "a" },\n { name = "b", mass = "x" },\n]\n', 4),
        ('fourbar = 1\nbodies = [\n { name = "a" },\n { name = "b", joint.type = "Nothing" },\n]\n', 4),
        ('fourbar = 1\n"gravity" = [\n 0, # x\n 0,\n "z"]\nbodies = []\n', 5),
        ('fourbar = 1\n[[bodies]]\nname = "a"\n[[bodies]]\nname = "b"\n\n[[bodies.geometry]]\nkind = "box"\n'
         'size = [1, 1, 1]\n[[bodies.geometry]]\nkind = "ball"\n', 11),
        ('fourbar = 1\n[[bodies]]\nname = "a"\n[configurations.x]\na = 1\n[configurations."y z"]\na = "?"\n', 7),
        ('fourbar = 1\n[[bodies]]\nname = "a"\n[[loops]]\ntype = "Gear"\ndriver = "a"\ndriven = "a"\n'
         "ratio = true\n", 8),
    ],
)  # fmt: skip
def test_lines_of_toml_however_it_is_written(text: str, line: int) -> None:
    with pytest.raises(fb.ParseError) as caught:
        fb.loads(text, format="toml")
    assert caught.value.report.errors[0].line == line, str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"mass": 2.0', '"mass": 2.0,\n "mass": 3.0', 11), ('"mass": 2.0', '"mass": NaN', 10),
        ('"mass": 2.0', '"mass": [1,\n NaN]', 10), ('"mass": 2.0', '"mass": ' + "9" * 5000, 10),
        ('"mass": 1.0', '"mass": 1.0, "nam\\u0065": "x"', 45),
    ],
)  # fmt: skip
def test_lines_of_what_json_itself_refuses(old: str, new: str, line: int) -> None:
    text = json.dumps(GOOD, indent=1)
    with pytest.raises(fb.ParseError) as caught:
        fb.loads(text.replace(old, new), format="json")
    at = text[: text.index(old)].count("\n") + 1
    assert caught.value.report.errors[0].line == at + (line - 10 if line < 40 else 0), str(caught.value)


def test_what_is_wrong_with_the_whole_has_the_line_of_what_it_names() -> None:
    data = changed((*F, "mass"), 0)
    data["bodies"][1]["inertia"], data["loops"] = [0, 0, 0], []
    data["bodies"][1]["joint"]["armature"] = 0
    text = json.dumps(data, indent=1)
    with pytest.raises(fb.ParseError, match="fore") as caught:
        fb.loads(text, format="json", strict=True)
    above = text[: text.index('"fore"')].count("\n")
    assert caught.value.report.errors[0].line == above, str(caught.value)
    with pytest.warns(fb.FileWarning):
        assert [x.line for x in fb.loads(text, format="json").report.warnings] == [above]


def test_there_are_enough() -> None:
    assert len(TABLE) >= 60 and len({(p, str(v)) for p, v, _ in TABLE}) == len(TABLE)


TEXT = json.dumps(GOOD, indent=1)
JSON_TEXTS = [
    (b"", "broken.json:1: the file is empty"),
    (b"   \n", "broken.json:1|the file is empty"),
    (TEXT[: len(TEXT) // 2].encode(), r"broken.json:\d+: column"),
    (TEXT.replace("2.0", "NaN").encode(), "NaN is not a JSON number"),
    (TEXT.replace("2.0", "Infinity").encode(), 'Infinity is not a JSON number.*"inf" for an absent limit'),
    (TEXT.replace("2.0", "1,5").encode(), r"broken.json:\d+: column"),
    (TEXT.replace("2.0", "1e999").encode(), "mass: expected a finite number"),
    (TEXT.replace("2.0", "0x10").encode(), r"broken.json:\d+: column"),
    (TEXT.replace("2.0", "9" * 5000).encode(), "digits|finite"),
    (TEXT.replace('"mass": 2.0', '"mass": 2.0, "mass": 3.0').encode(), "duplicate key 'mass' of 'upper'"),
    (TEXT.replace("'", '"').replace('"upper"', "upper").encode(), r"broken.json:\d+: column"),
    (TEXT.encode("utf-16"), "is not UTF-8; save the file as UTF-8"),
    (TEXT.replace("arm", "ärm").encode("latin-1"), "broken.json:3: byte 0xe4 is not UTF-8"),
    (b"\x00" * 100, "column 1"),
    (b"[" * 100_000, ":1: lists and tables are nested deeper than 100"),
    (b'{"a":' * 100_000, ":1: lists and tables are nested deeper than 100"),
    (b"[]", r"the file: expected a table with fourbar, bodies, got \[\]"),
    (b"null", "the file: expected a table"),
    (b'"robot"', "the file: expected a table"),
    (b"{} {}", "Extra data"),
    (b"// comment\n{}", "column 1"),
    (b"<robot/>", "column 1"),
    (b'{"fourbar": 1, "bodies": [' + b"{}," * 20_000 + b"{}]}", "'name' is missing.*and 991 more errors"),
    (json.dumps(changed((*U, "mass"), list(range(200_000)))).encode(), "mass: expected a number"),
    (json.dumps(changed((*U, "name"), "x" * 1_000_000)).encode(), "no body 'upper'"),
]  # fmt: skip
TOML = as_toml(GOOD)
TOML_TEXTS = [
    (b"", "the file: 'fourbar' is missing"),
    (TOML[: len(TOML) // 2].encode(), r"broken.toml:\d+: "),
    (TOML.replace("2.0", "nan").encode(), "mass: expected a finite number, got nan"),
    (TOML.replace("2.0", "inf").encode(), "mass: expected a finite number, got inf"),
    (TOML.replace("2.0", "1,5").encode(), r"broken.toml:\d+: column \d+"),
    (TOML.replace("2.0", "").encode(), r"broken.toml:\d+: column \d+: Invalid value"),
    (TOML.replace("2.0", "9" * 5000).encode(), "digits|finite"),
    (TOML.replace("2.0", "1979-05-27").encode(), "mass: expected a number, got datetime"),
    (TOML.replace("2.0", "1979-99-99").encode(), "broken.toml"),
    (TOML.replace("mass = 2.0", "mass = 2.0, mass = 3.0").encode(), "Duplicate inline table key 'mass'"),
    (b"fourbar = 1\nfourbar = 1\n", "broken.toml:2: column .*Cannot overwrite a value"),
    (b"[[bodies]]\nname = 'a'\n[bodies]\n", "broken.toml:3"),
    (b"a = " + b"[" * 100_000, ":1: lists and tables are nested deeper than 100"),
    (b"fourbar = 1\nbodies = " + b"[" * 900 + b"]" * 900, "nested deeper than 100|bodies"),
    (TOML.encode("utf-16"), "is not UTF-8"),
    (b"\x00", "broken.toml:1"),
    (b"fourbar: 1", r"broken.toml:1: column \d"),
    (b'{"fourbar": 1}', "broken.toml:1"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "words"), JSON_TEXTS, ids=range(len(JSON_TEXTS)))
def test_broken_json(content: bytes, words: str, tmp_path: Path) -> None:
    refused(content, "json", words, tmp_path)


@pytest.mark.parametrize(("content", "words"), TOML_TEXTS, ids=range(len(TOML_TEXTS)))
def test_broken_toml(content: bytes, words: str, tmp_path: Path) -> None:
    refused(content, "toml", words, tmp_path)


def test_all_errors_are_listed(tmp_path: Path) -> None:
    data = changed((*U, "mass"), "2")
    data["loops"][0]["ratio"], data["frames"][0]["body"] = "9", 3
    with pytest.raises(fb.ParseError) as caught:
        fb.loads(json.dumps(data), format="json", name="here")
    assert len(caught.value.report.errors) == 3


def test_unknown_keys_can_be_waived() -> None:
    data = changed((*U, "colour"), "red")
    with pytest.raises(fb.ParseError, match="unknown key 'colour'"):
        fb.loads(json.dumps(data), format="json")
    robot = fb.loads(json.dumps(data), format="json", waive=["body@colour"])
    assert "key 'colour' is left out (waived)" in str(robot.report)


def test_a_chain_of_3000_links_is_read_soon() -> None:
    bodies = [
        {"name": f"b{i}", "parent": f"b{i - 1}" if i else "world", "mass": 1.0, "inertia": [1, 1, 1],
         "joint": {"type": "Revolute", "axis": "y", "position": [0, 0, 0.1]}} for i in range(3000)
    ]  # fmt: skip
    start = time.process_time()
    text = json.dumps({"fourbar": 1, "bodies": bodies})
    found, _ = FORMATS["json"].read(Source("chain", text.encode()), Options())
    assert len(found.bodies) == 3000 and time.process_time() - start < 3.0


def test_floating_is_refused() -> None:
    with pytest.raises(fb.ArgumentError, match="floating= is for formats that do not"):
        fb.loads(json.dumps(GOOD), format="json", floating=True)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=4), x, max_size=3),
    max_leaves=8,
)


def places(at: Any, path: Path_ = ()) -> list[Path_]:
    steps = at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
    return ([path] if path else []) + [p for key, x in steps for p in places(x, (*path, key))]


@given(st.sampled_from(places(GOOD)), values)
@settings(max_examples=300, deadline=None)
def test_any_change_is_read_or_explained(path: Path_, value: Any) -> None:
    try:
        FORMATS["json"].read(Source("robot", json.dumps(changed(path, value)).encode()), Options())
    except fb.ParseError as error:
        assert str(error).startswith("robot")


@given(st.integers(0, len(TEXT)), st.integers(0, 20), st.binary(max_size=6))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_explained(at: int, cut: int, new: bytes) -> None:
    for format, text in (("json", TEXT), ("toml", TOML)):
        raw = text.encode()
        try:
            FORMATS[format].read(Source("robot", raw[:at] + new + raw[at + cut :]), Options())
        except fb.ParseError as error:
            assert str(error).startswith("robot")
