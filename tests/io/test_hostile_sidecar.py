"""Broken side-car files, in JSON, TOML and YAML: each gets an error with its own file and line, soon."""

from __future__ import annotations

import copy
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fourbar as fb
from fourbar.io.native.toml import _key, _value

SECONDS = 2.0
MATTER = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LEG = '<robot name="leg">' + "".join(f'<link name="{x}">{MATTER}</link>' for x in ("base", "thigh", "shank", "rod"))
for _name, _parent, _child in (("hip", "base", "thigh"), ("knee", "thigh", "shank"), ("crank", "base", "rod")):
    LEG += f'<joint name="{_name}" type="continuous"><parent link="{_parent}"/><child link="{_child}"/>'
    LEG += '<axis xyz="0 1 0"/></joint>'
LEG += "</robot>"
GOOD: dict[str, Any] = {
    "frames": [{"name": "toe", "body": "shank", "position": [0, 0, -0.4], "rpy": [0, 0, 0.1]}],
    "motors": [
        {"name": "rotor", "parent": "base", "drives": "hip", "ratio": 9.0, "axis": "y", "mass": 0.2,
         "inertia": [1e-4, 2e-4, 1e-4], "com": [0, 0, 0.01]}
    ],
    "loops": [
        {"name": "pin", "type": "spherical", "predecessor": "rod", "successor": "shank", "position1": [0.1, 0, 0],
         "position2": [0.1, 0, 0], "axis": [0, 1, 0], "independent": ["hip"]}
    ],
    "gears": [{"name": "belt", "driver": "hip", "driven": "knee", "ratio": -1.0, "offset": 0.1}],
    "couplings": [{"name": "sum", "factors": {"hip": 1.0, "crank": 2.0}, "offset": 0.0}],
    "configuration": {"hip": 0.2},
}  # fmt: skip
ONLY = ("frames", "motors", "gears", "configuration")  # what goes together


def written(data: dict[str, Any], ending: str) -> str:
    if ending == "json":
        return json.dumps(data, indent=1)
    if ending == "toml":
        lines = []
        for key, value in data.items():
            if isinstance(value, list) and value and all(isinstance(x, dict) for x in value):
                for item in value:
                    lines += [f"[[{_key(key)}]]", *(f"{_key(k)} = {_value(x)}" for k, x in item.items())]
            else:
                lines.insert(0, f"{_key(key)} = {_value(value)}")
        return "\n".join(lines) + "\n"
    import yaml  # type: ignore[import-untyped]

    return yaml.safe_dump(data, sort_keys=False)


def beside(content: str | bytes, ending: str, folder: Path) -> fb.System:
    path = folder / f"leg.{ending}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return fb.loads(LEG, name="leg.urdf", sidecar=path)


def refused(content: str | bytes, ending: str, words: str, folder: Path) -> int:
    """Reading fails soon, with the side-car's name, a line and the words; the line."""
    start = time.process_time()
    with pytest.raises(fb.ParseError) as caught:
        beside(content, ending, folder)
    seconds, message = time.process_time() - start, str(caught.value)
    assert seconds < SECONDS
    assert re.search(words, message, re.DOTALL), message
    where = re.match(re.escape(str(folder / f"leg.{ending}")) + r":(\d+): ", message)
    assert where and len(message) < 3000, message[:3000]
    return int(where[1])


MISSING = object()
NUMBERS: tuple[Any, ...] = ("9", "1,5", True, None, [1.0], 1e999, {"a": 1})
TABLE: list[tuple[tuple[Any, ...], Any, str]] = [
    *[(("motors", 0, "ratio"), x, "ratio=.*: expected a finite number") for x in NUMBERS],
    *[(("motors", 0, "mass"), x, "mass=.*: expected a finite number") for x in NUMBERS],
    *[(("gears", 0, "offset"), x, "offset=.*: expected a finite number") for x in NUMBERS if x is not None],
    *[(("motors", 0, "inertia"), x, "inertia=.*: expected") for x in (1.0, "x", [1, 2], [1, 2, "3"], [1, 2, None], {})],
    *[(("motors", 0, "com"), x, "com=.*: expected") for x in (0, "x", [1, 2], [1, 2, "3"], [[1], 2, 3])],
    *[(("frames", 0, "position"), x, "position=.*: expected") for x in (0, "x", [1, 2], [1, 2, True], {"x": 1})],
    *[(("frames", 0, "rpy"), x, "rpy=.*: expected") for x in (0, "x", [1, 2, 3, 4])],
    *[(("frames", 0, "name"), x, "name=.*: expected a text") for x in (3, "", [], {}, True)],
    *[(("frames", 0, "body"), x, "body=.*: expected a text") for x in (3, "", ["shank"])],
    *[((kind,), x, f"{kind}: expected a list of tables") for kind in ONLY[:3] for x in (3, "x", {"a": 1}, [3])],
    *[(("configuration",), x, "configuration=.*: expected numbers by name") for x in (3, "x", [1])],
    *[(("configuration", "hip"), x, "configuration.hip=.*expected a finite number") for x in ("x", [1], True)],
    *[(("motors", 0, key), MISSING, f"'{key}' is missing") for key in ("name", "parent", "drives", "ratio", "mass")],
    *[(("gears", 0, key), MISSING, f"'{key}' is missing") for key in ("driver", "driven", "ratio")],
    (("motors", 0, "mass"), -1.0, "mass"), (("motors", 0, "mass"), 0.0, "mass|inertia"),
    (("motors", 0, "inertia"), [-1e-4, 2e-4, 1e-4], "positive|negative|inertia"),
    (("motors", 0, "inertia"), [1e-4, 2e-3, 1e-4], "triangle"),
    (("motors", 0, "inertia"), [1, 2, 3, 4, 5, 6], "inertia|positive"),
    (("motors", 0, "drives"), "ankle", "no joint 'ankle'"), (("motors", 0, "parent"), "moon", "no body 'moon'"),
    (("motors", 0, "axis"), [0, 0, 0], "axis"), (("motors", 0, "axis"), "w", "axis"),
    (("motors", 0, "axis"), 3, "axis"), (("motors", 0, "axis"), [0, 1], "axis"),
    (("motors", 0, "name"), "thigh", "'thigh'"), (("motors", 0, "colour"), "red", "'colour' is not understood"),
    (("frames", 0, "body"), "moon", "no body 'moon'"), (("frames", 0, "bodi"), "x", "'bodi' is not understood"),
    (("frames", 0, "rotation"), [1, 0, 0, 0], "rotation|rpy"),
    (("gears", 0, "driver"), "ankle", "no joint 'ankle'"), (("gears", 0, "driver"), "knee", "knee"),
    (("gears", 0, "ratio"), "1e-5", "write 1e-05, which is a number"), (("geers",), [], "'geers' is not understood"),
    (("configuration", "ankle"), 1.0, "'ankle'"), (("loops",), [{}], r"loops\[0\]: 'name' is missing"),
    (("loops",), [{"name": "x", "type": "wobbly"}], "unknown type 'wobbly'"),
    (("loops",), [{"name": "x", "type": "fixed", "predecessor": "rod"}], "'successor' is missing"),
    (("loops",), [{"name": "x", "type": "fixed", "predecessor": "rod", "successor": "rod"}], "rod"),
    (("loops",), [{"name": "x", "type": "fixed", "predecessor": "rod", "successor": "moon"}], "'moon'"),
    (("loops",), [{"name": "x", "type": "Distance", "length": 1.0}], "'predecessor' is missing"),
    (("loops",), [{"name": "x", "type": "Gear", "driver": "hip", "driven": "knee", "ratio": 1, "x": 2}], "unknown key"),
    (("loops",), [{"name": "x", "type": "Constraint", "function": {"arguments": ["a"], "results": ["b"]},
                   "of": ["hip"]}], "unknown name 'b'"),
    (("couplings",), [{"name": "x"}], "'factors' is missing"), (("couplings",), [{"factors": []}], "numbers by name"),
    (("couplings",), [{"factors": {"hip": "1"}}], "factors.hip='1'"),
    (("couplings",), [{"factors": {"moon": 1}}], "'moon'"), (("couplings",), [{"factors": {}}], "coupling|factor"),
]  # fmt: skip


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    data = {key: copy.deepcopy(GOOD[key]) for key in ONLY}
    at: Any = data
    for step in path[:-1]:
        at = at[step]
    if value is MISSING:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


@pytest.mark.parametrize("ending", ["json", "toml", "yaml"])
def test_the_good_ones_are_good(ending: str, tmp_path: Path) -> None:
    for key, value in GOOD.items():
        if key not in ONLY:
            beside(written({key: value}, ending), ending, tmp_path)
    assert beside(written({key: GOOD[key] for key in ONLY}, ending), ending, tmp_path).nv == 2


def _has_null(value: Any) -> bool:
    return value is None or (isinstance(value, list) and None in value)


SAID = [(e, *row) for e in ("json", "toml", "yaml") for row in TABLE if e != "toml" or not _has_null(row[1])]


@pytest.mark.parametrize(
    ("ending", "path", "value", "words"),
    SAID,
    ids=[f"{e}-{'.'.join(map(str, p))}={str(v)[:20]}" for e, p, v, _ in SAID],
)
def test_broken_tables(path: tuple[Any, ...], value: Any, words: str, ending: str, tmp_path: Path) -> None:
    """All but null in TOML, which has none."""
    if ending == "yaml":
        pytest.importorskip("yaml")
    data = changed(path, value)
    text = written(data, ending).replace("Infinity", "1e999" if ending == "json" else "inf")
    line = refused(text, ending, words, tmp_path)
    if value is not MISSING and isinstance(path[-1], str) and "expected" in words:
        key = [n for n, x in enumerate(text.splitlines(), 1) if re.search(rf'(^|[\s{{"\[]){path[-1]}\b', x)]
        assert line in key, (line, key, text)


def test_there_are_enough() -> None:
    assert len({(p, str(v)) for p, v, _ in TABLE}) >= 60


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(24)
)
MERGED = "a: &a {x: 1, y: 2}\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} {{<<: [{', '.join([f'*{chr(97 + i)}'] * 9)}]}}\n" for i in range(8)
)
TEXTS = {
    "json": [
        ("", "the file is empty"), ("{", "column"), ("[]", "expected a table"), ("null", "expected a table"),
        ('{"gears": [], "gears": []}', "duplicate key"), ('{"gears": [{"ratio": NaN}]}', "NaN is not a JSON number"),
        ("[" * 100_000, "nested deeper"), ('{"a":' * 100_000, "nested deeper"), ("\0", "column 1"),
        (b"\xff\xfe{}", "UTF-8"), ('{"gears": [{"ratio": ' + "9" * 5000 + "}]}", "digits"), ("{} {}", "Extra data"),
        ('{"gears": [' + "{}," * 20_000 + "{}]}", "'driver' is missing"), ("<robot/>", "column 1"),
    ],
    "toml": [
        ("gears", "Expected"), ("a = [", "column|array|value"), ("a = 1\na = 2", "leg.toml:2"), ("\0", "leg.toml:1"),
        ("a = " + "[" * 100_000, "nested deeper"), (b"\xff", "UTF-8"), ("gears = 3", "expected a list of tables"),
        ("[[gears]]\nratio = " + "9" * 5000, "digits"), ("[gears]\nratio = 1", "expected a list of tables"),
        ("[[gears]]\ndriver = 'hip'\ndriven = 'knee'\nratio = nan", "leg.toml:4: .*expected a finite number"),
        ("[[gears]]\ndriver = 1979-05-27", "leg.toml:2: .*expected a text"), ("a = 1979-99-99", "leg.toml"),
        ("b = 1\n" + "a." * 20_000 + "a = 1", "leg.toml:2: .*nested deeper"), ("'a'." * 200 + "a = 1", "nested deeper"),
        (f"[{'a . ' * 20_000}a]", "leg.toml:1: .*nested deeper"), (f"a = '{'a.' * 300}'", "not understood"),
        ("[[gears]]\ndriver = { " + "a." * 200 + "a = 1 }", "leg.toml:2: .*nested deeper"),
    ],
    "yaml": [
        ("", "expected a table"), ("[1, 2", "not YAML"), ("a: b: c", "leg.yaml:1: not YAML"),
        ("a:\n\t- b", "leg.yaml:2"),
        ("a: 1\nb: 2\na: 3", "leg.yaml:3: duplicate key 'a'"), ("*a", "not YAML"), ("- 1", "expected a table"),
        ("!!python/object/apply:os.system ['true']", "leg.yaml:1: not YAML"), ("a: !!int x", "leg.yaml:1"),
        ("? [a, b]\n: 1", "not understood|not YAML"), ("gears: &a [*a]", "more than 100000 values"),
        (LAUGHS, "more than 100000 values"), (MERGED, "leg.yaml:1: its aliases and merged keys"),
        ("[" * 5000, "nested deeper"),
        ("gears: " + "{a: " * 300 + "}" * 300, "nested deeper"), ("a: \x01", "leg.yaml:1: not YAML"),
        ("gears:\n- driver: hip\n  driven: knee\n  ratio: 1e-5", "leg.yaml:4: .*write 1e-05"),
        ("gears:\n- driver: hip\n  driven: knee\n  ratio: .nan", "leg.yaml:4: .*expected a finite number"),
        ("gears:\n- driver: hip\n  driven: knee\n  ratio: 1,5", "leg.yaml:4: .*comma"), (b"\xff", "UTF-8"),
        ("gears:\n- ratio: 2026-99-99", "leg.yaml"), ("1: 2", "'1' is not understood"), ("null: 2", "not understood"),
        ("--- {}\n--- {}", "not YAML"), ("gears:\n- &x {driver: hip}\n- *x", r"gears\[0\]: 'driven' is missing"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("ending", "content", "words"),
    [(ending, content, words) for ending, cases in TEXTS.items() for content, words in cases],
    ids=[f"{ending}{n}" for ending, cases in TEXTS.items() for n in range(len(cases))],
)
def test_broken_texts(ending: str, content: str | bytes, words: str, tmp_path: Path) -> None:
    if ending == "yaml":
        pytest.importorskip("yaml")
    refused(content, ending, words, tmp_path)


WHOLE = {ending: written({key: GOOD[key] for key in ONLY}, ending) for ending in ("json", "toml")}


@given(st.sampled_from(["json", "toml", "yaml"]), st.integers(0, 900), st.integers(0, 20), st.binary(max_size=6))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_explained(
    tmp_path_factory: pytest.TempPathFactory, ending: str, at: int, cut: int, new: bytes
) -> None:
    pytest.importorskip("yaml")
    raw = WHOLE.setdefault(ending, written({key: GOOD[key] for key in ONLY}, ending)).encode()
    try:
        beside(raw[:at] + new + raw[at + cut :], ending, tmp_path_factory.getbasetemp())
    except fb.FourbarError as error:
        assert str(error)
