"""A side-car file (JSON, TOML, YAML) adds to a tree what its own format cannot express: loops, motors, gears.

`Table` reads tables strictly: entries that were asked for are marked, the rest is reported. Lists of tables: `loops` (a
joint between two bodies), `gears`, `couplings`, `motors` (rotors as bodies), `armatures` (blocks that couple joints),
`frames`; and `configuration`, joint positions near which loops are closed. docs/files.md has the schema.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, NoReturn

from ..constraints import Closure, Coupling, Gear
from ..constraints.serialize import TYPES, from_plain, read_independent
from ..errors import ArgumentError, ModelError
from ..joints import Joint, Universal
from ..joints.registry import about, types_by_tag
from ..joints.serialize import shorten
from ..mechanism.builder import MechanismBuilder
from ..mechanism.validate import read_placement
from .documents import DocumentLines, read_json, read_toml, read_yaml
from .documents.lines import Path as KeyPath
from .documents.lines import label
from .numbers import NotANumber, read_number
from .report import ParseError, Place, Reading, loop_key
from .source import Options, Source, read_source

_REQUIRED = object()


class Table:
    """A mapping of a file; `at` is its path, such as ("motors", 2)."""

    def __init__(self, content: dict[str, Any], at: KeyPath, reading: Reading, lines: DocumentLines) -> None:
        self._content = content
        self._read: set[str] = set()
        self._at, self._lines = at, lines
        self.reading = reading

    @property
    def path(self) -> str:
        """Where it is, as text."""
        return label(self._at, self._content)

    @property
    def place(self) -> Place:
        """Its place in the file, for findings."""
        return self.place_of()

    def place_of(self, *key: str) -> Place:
        """Where it, or a key of it, is."""
        return Place(self.reading.file, self._lines.of((*self._at, *key)), self.path)

    def fail(self, message: str, fix: str = "", *key: str) -> NoReturn:
        """Refuse this table, or a key of it."""
        self.reading.fail(self.place_of(*key), message, fix)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """A context for building from this table: refusals get the line of what they name."""
        try:
            yield
        except ParseError:
            raise
        except ModelError as error:
            line = self._lines.of_message(self._at, str(error))
            self.reading.fail(Place(self.reading.file, line, self.path), str(error))

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def get(self, key: str, default: Any = _REQUIRED) -> Any:
        """A value of any kind."""
        self._read.add(key)
        if key not in self._content and default is _REQUIRED:
            self.fail(f"{key!r} is missing")
        return self._content.get(key, default)

    def word(self, key: str, default: Any = _REQUIRED) -> str:
        """A text that is not empty."""
        value = self.get(key, default)
        if value is not default and (not isinstance(value, str) or not value):
            self.fail(f"{key}={shorten(value)}: expected a text", "", key)
        return value

    def words(self, key: str, default: Any = _REQUIRED) -> list[str]:
        """A list of texts."""
        value = self.get(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(x, str) and x for x in value):
            self.fail(f"{key}={shorten(value)}: expected a list of texts", "", key)
        return list(value)

    def number(self, key: str, default: Any = _REQUIRED) -> float:
        """A finite number."""
        value = self.get(key, default)
        return value if value is default else self._number(key, value, key)

    def numbers(self, key: str, counts: tuple[int, ...], default: Any = _REQUIRED) -> Any:
        """A list of finite numbers, of one of these lengths."""
        value = self.get(key, default)
        if value is default:
            return value
        if not isinstance(value, list) or len(value) not in counts:
            self.fail(f"{key}={shorten(value)}: expected {' or '.join(map(str, counts))} numbers", "", key)
        return [self._number(key, x, key) for x in value]

    def matrix(self, key: str) -> list[list[float]]:
        """A square matrix of finite numbers, row by row."""
        rows = self.get(key)
        n = len(rows) if isinstance(rows, list) else 0
        if not n or not all(isinstance(row, list) and len(row) == n for row in rows):
            self.fail(f"{key}={shorten(rows)}: expected a square matrix, a list of its rows", "", key)
        return [[self._number(key, x, key) for x in row] for row in rows]

    def factors(self, key: str) -> dict[str, float]:
        """Finite numbers by name."""
        value = self.get(key)
        if not isinstance(value, dict):
            self.fail(f"{key}={shorten(value)}: expected numbers by name", "", key)
        return {str(name): self._number(f"{key}.{str(name)[:60]}", x, key, str(name)) for name, x in value.items()}

    def without(self, *keys: str) -> dict[str, Any]:
        """All entries but these, for a reader of plain tables, which reports faults in them."""
        self._read.update(self._content)
        return {key: value for key, value in self._content.items() if key not in keys}

    def words_in_it(self) -> Iterator[tuple[str, Place]]:
        """The names that a table declares or uses, each with its place."""
        for key, value in self._content.items():
            names = [value] if isinstance(value, str) else value if isinstance(value, dict) else ()
            yield from ((name, self.place_of(key)) for name in names if isinstance(name, str))

    def _number(self, what: str, value: Any, *key: str) -> float:
        try:
            number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.fail(f"{what}={shorten(value)}: expected a finite number", _hint(value), *key)
        return number

    def tables(self, key: str) -> Iterator[Table]:
        """A list of tables, which may be missing."""
        value = self.get(key, [])
        if not isinstance(value, list) or not all(isinstance(x, dict) for x in value):
            self.fail(f"{key}: expected a list of tables, got {shorten(value)}", "", key)
        for i, content in enumerate(value):
            yield Table(content, (*self._at, key, i), self.reading, self._lines)

    def close(self) -> None:
        """Report what was not read; in a table that adds to the dynamics, all of it matters."""
        for key in self._content:
            if key not in self._read:
                place, key = self.place_of(key), str(key)
                fix = f"known keys: {', '.join(sorted(self._read))}"
                self.reading.doubt(place, f"{key[:60]!r} is not understood", fix, key[:60])


def read_table(source: Source, reading: Reading) -> Table:
    """The content of a file; its ending determines the format."""
    readers = {".json": read_json, ".toml": read_toml, ".yaml": read_yaml, ".yml": read_yaml}
    ending = PurePath(source.name).suffix.lower()
    if ending not in readers:
        raise ArgumentError(f"{source.name}: a side-car file ends in {', '.join(readers)}, not in {ending!r}")
    document = readers[ending](source.text, reading)
    if not isinstance(document.data, dict):
        reading.fail(Place(source.name, 1), f"expected a table (mapping) at the top, got {shorten(document.data)}")
    return Table(document.data, (), reading, document.lines)


def _hint(value: Any) -> str:
    """A hint for a text that is nearly a number: YAML reads 1e-5 as text."""
    try:
        return f"write {read_number(value)!r}, which is a number" if isinstance(value, str) else ""
    except NotANumber as error:
        return str(error)


_ZERO = [0.0, 0.0, 0.0]


def add_sidecar(builder: MechanismBuilder, path: str | Path, options: Options) -> Reading:
    """Add the content of a side-car file to a robot; returns its findings."""
    if not isinstance(path, str | Path):
        raise ArgumentError(f"sidecar={path!r}: expected the name of a file")
    source = read_source(path)
    reading = options.reading(source)
    table = read_table(source, reading)
    readers: dict[str, Callable[[MechanismBuilder, Table], None]] = {
        "frames": _frame,
        "motors": _motor,
        "loops": _loop,
        "gears": _gear,
        "couplings": _coupling,
        "armatures": _armature,
    }
    for key, reader in readers.items():
        for entry in table.tables(key):
            for name, place in entry.words_in_it():
                reading.places.setdefault(name, place)
            if isinstance(name := entry.get("name", None), str) and key in ("loops", "gears", "couplings"):
                reading.places[loop_key(name)] = entry.place
            with reading.element(), entry.naming():
                reader(builder, entry)
                entry.close()
    with reading.element(), table.naming():
        if "configuration" in table:
            reading.places.update(
                {name: table.place_of("configuration", name) for name in table.factors("configuration")}
            )
            builder.configuration("sidecar", table.factors("configuration"))
        table.close()
    reading.check()
    return reading


def _pose(entry: Table, suffix: str = "") -> dict[str, Any]:
    """position, and rpy or rotation (quaternion w, x, y, z)."""
    rotation = entry.numbers(f"rotation{suffix}", (4,), None)
    rpy = entry.numbers(f"rpy{suffix}", (3,), None)
    return {"position": entry.numbers(f"position{suffix}", (3,), _ZERO), "rotation": rotation, "rpy": rpy}


def _axis(entry: Table, key: str = "axis", default: Any = "z") -> Any:
    value = entry.get(key, default)
    return value if isinstance(value, str) else entry.numbers(key, (3,))


def _loop(builder: MechanismBuilder, entry: Table) -> None:
    """{name, type, predecessor, successor, position1, rpy1, position2, rpy2, axis, independent}, or a loop as in our
    own files."""
    name, kind, known = entry.word("name"), entry.word("type"), types_by_tag("urdf+")
    if kind in TYPES:
        loop, chosen = from_plain("loop", entry.without("name", "independent")), entry.get("independent", {})
        builder.loop(loop, name=name, independent=read_independent(chosen))
        return
    if kind == "universal":
        joint: Joint = Universal(_axis(entry, "axis", "x"), _axis(entry, "axis2", "y"))
    elif kind in known:
        joint = about(known[kind], _axis(entry))
    else:
        entry.fail(f"unknown type {kind!r}", f"expected one of {', '.join([*known, 'universal', *TYPES])}")
    first, second = (read_placement(entry.path, **_pose(entry, side)) for side in ("1", "2"))
    closure = Closure(
        joint, entry.word("predecessor"), entry.word("successor"),
        at_predecessor=first.position, predecessor_rotation=first.rotation,
        at_successor=second.position, successor_rotation=second.rotation,
    )  # fmt: skip
    builder.loop(closure, name=name, independent=entry.words("independent", []))


def _gear(builder: MechanismBuilder, entry: Table) -> None:
    """{name, driver, driven, ratio, offset}: q_driven = ratio · q_driver + offset."""
    gear = Gear(entry.word("driver"), entry.word("driven"), entry.number("ratio"), entry.number("offset", 0.0))
    builder.loop(gear, name=entry.word("name", None))


def _coupling(builder: MechanismBuilder, entry: Table) -> None:
    """{name, factors = {joint = factor}, offset, independent}: Σ factor · q = offset."""
    coupling = Coupling(entry.factors("factors"), entry.number("offset", 0.0))
    builder.loop(coupling, name=entry.word("name", None), independent=entry.words("independent", []))


def _motor(builder: MechanismBuilder, entry: Table) -> None:
    """{name, parent, drives, ratio, axis, position, rpy, mass, com, inertia}: a rotor as a body."""
    builder.rotor(
        entry.word("name"), drives=entry.word("drives"), ratio=entry.number("ratio"), parent=entry.word("parent"),
        axis=_axis(entry), mass=entry.number("mass"), com=entry.numbers("com", (3,), _ZERO),
        inertia=entry.numbers("inertia", (3, 6)), **_pose(entry),
    )  # fmt: skip


def _armature(builder: MechanismBuilder, entry: Table) -> None:
    """{name, joints, matrix}: armature that couples joints, a symmetric matrix over their velocities."""
    builder.armature(entry.words("joints"), entry.matrix("matrix"), name=entry.word("name"))


def _frame(builder: MechanismBuilder, entry: Table) -> None:
    """{name, body, position, rpy}: a named placement on a body."""
    builder.frame(entry.word("name"), entry.word("body"), **_pose(entry))
