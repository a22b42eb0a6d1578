"""The common part of JSON and TOML readers, besides the tables.

From tables to a mechanism. Every message names the file, the place in it, what was found and what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ...constraints.serialize import from_plain as loop_from_plain
from ...constraints.serialize import read_independent
from ...errors import ArgumentError, FourbarError, ModelError, unknown
from ...joints.serialize import Plain, choose, held_types, matrix, number, numbers, parameters, shorten, table, text
from ...joints.serialize import from_plain as joint_from_plain
from ...mechanism.actuator_dynamics import Dynamics
from ...mechanism.actuators import Drive
from ...mechanism.builder import MechanismBuilder
from ...mechanism.fluid import FIELDS as FLUID
from ...mechanism.fluid import Fluid
from ...mechanism.geometry import Geometry
from ...mechanism.mechanism import WORLD, Mechanism
from ...mechanism.validate import read_placement
from ...once import cached_property
from ..documents import Document, DocumentLines
from ..documents.lines import label
from ..meshes import Meshes
from ..report import ParseError, Place, Reading, Report, loop_key
from ..source import Options, Source
from . import VERSION
from .contacts import add_contacts, read_heights, read_softness, read_surface

_TOP = (
    "fourbar", "name", "gravity", "bodies", "frames", "loops", "configurations", "velocities", "controls",
    "activations", "actuators", "world", "contacts", "armatures",
)  # fmt: skip
_PLACE = ("position", "rotation", "rpy")
_BODY = (
    "name", "parent", "joint", "mass", "com", "inertia", "gravity_compensation", "allow_unphysical", "geometry",
    "fluid",
)  # fmt: skip
_SHAPE = ("kind", "size", *_PLACE, "role", "mesh", "scale", "colour", "name", "surface", "heights")
_PER_VELOCITY = ("armature", "damping", "friction", "stiffness")
_BOUNDS = ("lower", "upper", "max_force", "max_velocity", "min_force")
_JOINT = ("type", "name", *_PLACE, *_PER_VELOCITY, *_BOUNDS, "rest", "softness")
_ACTUATOR = ("name", "drives", "control_range", "force_range", "kind", "parameters", "dynamics", "delay")
_WORDS = {"inf": float("inf"), "-inf": -float("inf")}


class _Tables:
    """The tables of a file while they are read: what is wrong with one gets its line."""

    def __init__(self, document: Document, reading: Reading) -> None:
        self.data, self.lines, self.reading = document.data, document.lines, reading

    @contextmanager
    def at(self, *path: str | int, item: Any = None) -> Iterator[None]:
        """A context for reading what is at a path: a message gets the line of what it names there."""
        try:
            yield
        except ParseError:
            raise
        except ModelError as error:
            line = self.lines.of_message(path, _inside(str(error)))
            self.reading.fail(Place(self.reading.file, line, label(path, item)), str(error))

    def mechanism(self, b: MechanismBuilder) -> Mechanism:
        """The mechanism; an error about it as a whole gets the line of the first thing that it names."""
        try:
            return b.mechanism()
        except FourbarError as error:
            whole = Place(self.reading.file, 1)
            found = Report((), Places(self.data, self.lines, self.reading.file)).place_of(str(error), "")
            self.reading.fail(found if found.line else whole, str(error))


class Places(Mapping[str, Place]):
    """The paths of named bodies, joints, frames, loops and actuators; computed when first asked."""

    def __init__(self, data: Any, lines: DocumentLines, file: str) -> None:
        self._data, self._lines, self._file = data, lines, file

    @cached_property
    def _all(self) -> dict[str, Place]:
        places: dict[str, Place] = {}
        for kind in ("bodies", "frames", "loops", "actuators", "armatures"):
            for i, item in enumerate(self._data.get(kind, [])):
                joint = item.get("joint")
                names = [item.get("name"), joint.get("name") if isinstance(joint, dict) else None]
                place = Place(self._file, self._lines.of((kind, i)), label((kind, i), item))
                if kind == "loops" and isinstance(names[0], str):
                    places[loop_key(names[0])] = place
                places.update({name: place for name in names if isinstance(name, str) and name not in places})
        return places

    def __getitem__(self, name: str) -> Place:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __reduce__(self) -> tuple[type[dict[str, Place]], tuple[dict[str, Place]]]:
        return dict, (dict(self._all),)


def _inside(message: str) -> str:
    """A message without the name of the table itself, which is not a key of it."""
    for word in ("the file: ", "body: ", "frame: ", "loop: ", "loop.", "actuator: ", "drive: ", "armature: "):
        message = message.removeprefix(word)
    return message


def from_plain(document: Document, reading: Reading) -> Mechanism:
    """The mechanism from the tables of a file; errors of all bodies, frames and loops are collected."""
    tables = _Tables(document, reading)
    with tables.at():
        if isinstance(document.data, dict) and "fourbar" not in document.data:
            raise ModelError(
                f"the file: 'fourbar' is missing, the schema version ({VERSION}) of fourbar's native files"
            )
        top = _read_table(reading, "", document.data, _TOP, ("fourbar", "bodies"))
        _check_version(top["fourbar"])
        name = text("name", top.get("name", "robot"))
        b = MechanismBuilder(name, numbers("gravity", top.get("gravity", [0.0, 0.0, -9.81]), 3))
    for kind, add in (
        ("bodies", _add_body),
        ("frames", _add_frame),
        ("loops", _add_loop),
        ("actuators", _add_actuator),
        ("armatures", _add_armature),
        ("world", _add_world),
    ):
        with reading.element(), tables.at():
            for i, item in enumerate(_items(kind, top.get(kind, []))):
                with reading.element(), tables.at(kind, i, item=item):
                    add(b, item, reading)
    _add_configurations(b, top, reading, tables)
    with reading.element(), tables.at("contacts"):
        add_contacts(b, top.get("contacts", {}), reading, _read_table)
    reading.check()
    return tables.mechanism(b)


def _check_version(version: Any) -> None:
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ModelError(f"fourbar: expected the schema version, {VERSION}, got {shorten(version)}")
    if version > VERSION:
        raise ModelError(
            f"fourbar: the file has schema {version}, but this fourbar reads up to {VERSION}; update fourbar"
        )


def _items(kind: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ModelError(f"{kind}: expected a list of tables, got {shorten(value)}")
    return value


def _read_table(reading: Reading, where: str, value: Any, known: tuple[str, ...], needed: tuple[str, ...]) -> Plain:
    """A table; unknown keys are errors unless waived."""
    if isinstance(value, dict):
        waived = {key for key in value if key not in known and reading.is_waived(f"{where}@{key}".lstrip("@"))}
        for key in waived:
            place, full = Place(reading.file, 0, where), f"{where}@{key}".lstrip("@")
            reading.add("note", place, f"key {key!r} is left out (waived)", key=full)
        value = {key: x for key, x in value.items() if key not in waived}
    return table(where or "the file", value, known, needed)


def _placement_arguments(given: Plain) -> Plain:
    """The builder arguments of a placement."""
    arguments: Plain = {}
    if "position" in given:
        arguments["position"] = numbers("position", given["position"], 3)
    if "rpy" in given:
        arguments["rpy"] = numbers("rpy", given["rpy"], 3)
    if "rotation" in given:
        value = given["rotation"]
        flat = isinstance(value, list) and len(value) == 4
        arguments["rotation"] = numbers("rotation", value, 4) if flat else matrix("rotation", value, 3, 3)
    return arguments


def _add_body(b: MechanismBuilder, item: Any, reading: Reading) -> None:
    table = _read_table(reading, "body", item, _BODY, ("name",))
    name = text("name", table["name"])
    arguments: Plain = {"parent": text("parent", table.get("parent", WORLD))}
    arguments |= _read_joint(reading, table.get("joint", {"type": "Fixed"}))
    for key in ("mass", "gravity_compensation"):
        if key in table:
            arguments[key] = number(key, table[key])
    if "com" in table:
        arguments["com"] = numbers("com", table["com"], 3)
    if "inertia" in table:
        arguments["inertia"] = _read_inertia(table["inertia"])
    allow = table.get("allow_unphysical", False)
    if not isinstance(allow, bool):
        raise ModelError(f"allow_unphysical: expected true or false, got {shorten(allow)}")
    shapes = [
        _read_shape(reading, f"geometry[{i}]", x) for i, x in enumerate(_items("geometry", table.get("geometry", [])))
    ]
    if "fluid" in table:
        arguments["fluid"] = _read_fluid(reading, table["fluid"])
    b.body(name, **arguments, geometry=shapes, allow_unphysical=allow)


def _read_fluid(reading: Reading, value: Any) -> Fluid:
    table = dict(_read_table(reading, "fluid", value, FLUID, ()))
    for key, entry in table.items():
        nested = isinstance(entry, list) and any(isinstance(row, list) for row in entry)
        size = 3 if key in ("center_of_buoyancy", "current") else 6
        what = f"fluid.{key}"
        if key in ("volume", "density"):
            table[key] = number(what, entry)
        else:
            table[key] = matrix(what, entry, 6, 6) if nested and size == 6 else numbers(what, entry, size)
    try:
        return Fluid(**table)
    except ModelError as error:
        raise ModelError(f"fluid.{error}") from None


def _read_inertia(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], list):
        return matrix("inertia", value, 3, 3)
    read = numbers("inertia", value)
    if len(read) not in (3, 6):
        raise ModelError(
            f"inertia: expected 3 principal moments, 6 numbers xx xy xz yy yz zz, or 3 rows, got {shorten(value)}"
        )
    return read


def _read_joint(reading: Reading, value: Any) -> Plain:
    own = parameters(choose("joint", value, held_types()))
    table = _read_table(reading, "joint", value, (*_JOINT, *own), ("type",))
    joint = joint_from_plain("joint", {key: x for key, x in table.items() if key == "type" or key in own})
    arguments: Plain = {"joint": joint, **_placement_arguments(table)}
    if "name" in table:
        arguments["joint_name"] = text("joint.name", table["name"])
    for key in _PER_VELOCITY:
        if key in table:
            arguments[key] = _scalars(f"joint.{key}", table[key], joint.nv)
    if "rest" in table:
        arguments["rest"] = _scalars("joint.rest", table["rest"], joint.nq)
    if "softness" in table:
        arguments["softness"] = read_softness(reading, "joint.softness", table["softness"], _read_table)
    bounds = {
        key: _scalars(f"joint.{key}", table[key], joint.nv if key.startswith("m") else joint.nq, infinite=True)
        for key in _BOUNDS
        if key in table
    }
    if "lower" in bounds or "upper" in bounds:
        ends = bounds.pop("lower", [-_WORDS["inf"]] * joint.nq), bounds.pop("upper", [_WORDS["inf"]] * joint.nq)
        arguments["limits"] = ends
    return arguments | bounds


def _scalars(what: str, value: Any, count: int, infinite: bool = False) -> list[float]:
    """`count` numbers, or one for all; where allowed, "inf" too."""
    values = value if isinstance(value, list) else [value] * count
    if infinite:
        values = [_WORDS.get(x, x) if isinstance(x, str) else x for x in values]
        finite = [0.0 if isinstance(x, float) and x in _WORDS.values() else x for x in values]
        numbers(what, finite, count)
        return [float(x) for x in values]
    return numbers(what, values, count)


def _add_world(b: MechanismBuilder, item: Any, reading: Reading) -> None:
    b.world(_read_shape(reading, "world", item))


def _read_shape(reading: Reading, what: str, value: Any) -> Geometry:
    table = _read_table(reading, what, value, _SHAPE, ("kind",))
    place = _placement_arguments(table)
    arguments: Plain = {"kind": text(f"{what}.kind", table["kind"])}
    for key, count in (("size", None), ("scale", 3), ("colour", 4)):
        if key in table:
            arguments[key] = tuple(numbers(f"{what}.{key}", table[key], count))
    for key in ("role", "mesh", "name"):
        if key in table:
            arguments[key] = text(f"{what}.{key}", table[key])
    if "surface" in table:
        arguments["surface"] = read_surface(reading, f"{what}.surface", table["surface"], _read_table)
    if "heights" in table:
        arguments["heights"] = read_heights(f"{what}.heights", table["heights"])
    at = read_placement(what, place.get("position", (0.0, 0.0, 0.0)), place.get("rotation"), place.get("rpy"))
    try:
        return Geometry(placement=at, **arguments)
    except ModelError as error:
        raise ModelError(f"{what}: {str(error).removeprefix('geometry: ')}") from None


def _add_frame(b: MechanismBuilder, item: Any, reading: Reading) -> None:
    given = _read_table(reading, "frame", item, ("name", "body", *_PLACE), ("name", "body"))
    b.frame(text("name", given["name"]), text("body", given["body"]), **_placement_arguments(given))


def _add_loop(b: MechanismBuilder, item: Any, reading: Reading) -> None:
    loop = loop_from_plain("loop", item, also=("name", "independent"))
    name = text("name", item["name"]) if "name" in item else None
    b.loop(loop, name=name, independent=read_independent(item.get("independent", {})))


def _add_actuator(b: MechanismBuilder, item: Any, reading: Reading) -> None:
    table = _read_table(reading, "actuator", item, _ACTUATOR, ("name", "drives"))
    arguments: Plain = {
        key: _scalars(key, table[key], 2, infinite=True) for key in ("control_range", "force_range") if key in table
    }
    if "kind" in table:
        arguments["kind"] = text("kind", table["kind"])
    if "dynamics" in table:
        arguments["dynamics"] = _read_dynamics(reading, table["dynamics"])
    if "delay" in table:
        arguments["delay"] = table["delay"]
    drives = [_read_drive(reading, x) for x in _items("drives", table["drives"])]
    laws = table.get("parameters", {})
    if not isinstance(laws, dict):
        raise ModelError(f"parameters: expected a table of numbers by name, got {shorten(laws)}")
    laws = {key: numbers(f"parameters.{key}", x if isinstance(x, list) else [x]) for key, x in laws.items()}
    b.actuator(text("name", table["name"]), drives=drives, parameters=laws, **arguments)


def _read_dynamics(reading: Reading, value: Any) -> Dynamics:
    given = _read_table(reading, "dynamics", value, ("kind", "time_constant", "range", "early"), ("kind",))
    ends = _scalars("range", given["range"], 2, infinite=True) if "range" in given else None
    numbers_of = {key: given[key] for key in ("time_constant", "early") if key in given}
    return Dynamics(text("kind", given["kind"]), range=ends, **numbers_of)  # type: ignore[arg-type]


def _add_armature(b: MechanismBuilder, item: Any, reading: Reading) -> None:
    given = _read_table(reading, "armature", item, ("name", "joints", "matrix"), ("name", "joints", "matrix"))
    joints, rows = _items("joints", given["joints"]), _items("matrix", given["matrix"])
    matrix = [numbers("matrix", row, len(rows)) for row in rows]
    b.armature([text("joints", x) for x in joints], matrix, name=text("name", given["name"]))


def _read_drive(reading: Reading, value: Any) -> Drive:
    given = _read_table(reading, "drive", value, ("joint", "gear", "axes"), ("joint",))
    gear = given.get("gear", 1.0)
    ratios = numbers("gear", gear if isinstance(gear, list) else [gear])
    return Drive(text("joint", given["joint"]), tuple(ratios), text("axes", given.get("axes", "child")))  # type: ignore[arg-type]


def _add_configurations(b: MechanismBuilder, top: Plain, reading: Reading, tables: _Tables) -> None:
    """The named configurations, with their velocities, controls and activations."""
    by_kind: dict[str, dict[str, dict[str, list[float]]]] = {}
    for kind, of in (("configurations", "coordinates by joint"), ("velocities", "velocities by joint"),
                     ("controls", "controls by actuator"), ("activations", "activations by actuator")):  # fmt: skip
        with reading.element(), tables.at(kind):
            by_kind[kind] = _by_configuration(kind, of, top.get(kind, {}))
            for name in by_kind[kind]:
                if name not in (known := by_kind.get("configurations", {})):
                    raise ModelError(str(unknown("configuration", name, known)))
    with reading.element(), tables.at("configurations"):
        for name, q in by_kind.get("configurations", {}).items():
            v, u, act = (by_kind.get(kind, {}).get(name, {}) for kind in ("velocities", "controls", "activations"))
            of_actuators = {"controls": u, "activations": act}
            first = {kind: {a: x[0] for a, x in own.items()} for kind, own in of_actuators.items()}
            b.configuration(name, q, velocities=v, **first)


def _by_configuration(kind: str, of: str, value: Any) -> dict[str, dict[str, list[float]]]:
    """Numbers by joint or actuator, by the name of the configuration."""
    if not isinstance(value, dict):
        raise ModelError(f"expected a table of {kind} by name, got {shorten(value)}")
    for name, entries in value.items():
        if not isinstance(entries, dict):
            raise ModelError(f"{name!r}: expected {of}, got {shorten(entries)}")
    size = 1 if kind in ("controls", "activations") else None
    return {
        name: {key: numbers(f"{name!r}.{key}", x if isinstance(x, list) else [x], size) for key, x in entries.items()}
        for name, entries in value.items()
    }


def read_whole(
    source: Source, options: Options, parsed: Callable[[str, Reading], Document]
) -> tuple[Mechanism, Report]:
    """The mechanism in a file whose text `parsed` turns into tables."""
    if options.floating is not False:
        raise ArgumentError(
            f"{source.name}: floating= is for formats that do not define how the root is attached; this one does. Use "
            "robot.sub(root, joint=Free()) on the robot"
        )
    reading = options.reading(source)
    document = parsed(source.text, reading)
    try:
        mechanism = from_plain(document, reading)
    except (ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, ModelError):
            raise
        reading.fail(Place(reading.file, 1), str(error))
    mechanism = _with_meshes(mechanism, Meshes(options.folders, source.folder))
    places = Places(document.data, document.lines, source.name)
    return mechanism, replace(reading.close(), places=places)


def _with_meshes(mechanism: Mechanism, meshes: Meshes) -> Mechanism:
    """The mechanism with the files of its meshes, where they are found."""

    def find_meshes(shapes: tuple[Geometry, ...]) -> tuple[Geometry, ...]:
        return tuple(replace(x, file=meshes.find(x.mesh).path) if x.mesh else x for x in shapes)

    bodies = tuple(replace(body, geometry=find_meshes(body.geometry)) for body in mechanism.bodies)
    return replace(mechanism, bodies=bodies, world=find_meshes(mechanism.world))
