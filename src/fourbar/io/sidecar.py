"""A side-car file (JSON, TOML, YAML) adds to a tree what its own format cannot express: loops, motors, gears.

Lists of tables: `loops` (a joint between two bodies), `gears`, `couplings`, `motors` (rotors as bodies), `armatures`
(blocks that couple joints), `frames`; and `configuration`, joint positions near which loops are closed. docs/files.md
has the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..constraints import Closure, Coupling, Gear
from ..constraints.serialize import TYPES, from_plain, read_independent
from ..errors import ArgumentError
from ..joints import Joint, Universal
from ..joints.registry import about, types_by_tag
from ..mechanism.builder import MechanismBuilder
from ..mechanism.validate import read_placement
from .report import Reading, loop_key
from .source import Options, read_source
from .tables import Table, read_table

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
