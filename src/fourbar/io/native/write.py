"""From a mechanism to tables. Default values are left out; no bit of a number is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np

from ...constraints.serialize import to_plain as loop_to_plain
from ...errors import ModelError
from ...joints.serialize import Plain
from ...joints.serialize import to_plain as joint_to_plain
from ...mechanism.actuators import Actuator
from ...mechanism.armature_blocks import ArmatureBlock
from ...mechanism.contact import ContactPair, JointSoftness, Surface
from ...mechanism.contact_rules import ContactRules
from ...mechanism.fluid import FIELDS as FLUID
from ...mechanism.fluid import Fluid
from ...mechanism.geometry import Geometry
from ...mechanism.mechanism import WORLD, Body, Frame, Mechanism, NamedLoop, PlacedJoint, Placement
from ...spatial.inertia import unphysical
from . import VERSION


class _Problems:
    """Collects everything that cannot be written."""

    def __init__(self) -> None:
        self.found: list[str] = []

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        try:
            yield
        except ModelError as error:
            self.found.append(f"{what}: {error}")


def to_plain(mechanism: Mechanism, file: str) -> Plain:
    """The tables of a mechanism."""
    problems = _Problems()
    document: Plain = {"fourbar": VERSION, "name": mechanism.name, "gravity": list(mechanism.gravity)}
    document["bodies"] = [_body(b, c, problems) for b, c in zip(mechanism.bodies, mechanism.joints, strict=True)]
    frames = [_frame(f) for f in mechanism.frames]
    sizes = {c.name: c.joint.nq for c in mechanism.joints}
    loops = [_loop(x, sizes, problems) for x in mechanism.loops]
    named = {x.name: {joint: list(q) for joint, q in x.coordinates} for x in mechanism.configurations}
    velocities = {x.name: {j: list(v) for j, v in x.velocities} for x in mechanism.configurations if x.velocities}
    controls = {x.name: dict(x.controls) for x in mechanism.configurations if x.controls}
    activations = {x.name: dict(x.activations) for x in mechanism.configurations if x.activations}
    pulls = [_actuator(x) for x in mechanism.actuators]
    if problems.found:
        raise ModelError(f"{file}: {mechanism.name!r} cannot be written: " + "; ".join(problems.found))
    optional = {"frames": frames, "loops": loops, "configurations": named, "actuators": pulls}
    optional |= {"velocities": velocities, "controls": controls, "activations": activations}
    optional["armatures"] = [_armature(x) for x in mechanism.armatures]
    optional |= {"world": [_shape(x) for x in mechanism.world], "contacts": _contacts(mechanism.contacts)}
    return {**document, **_set_values(optional, ([], {}))}


def _set_values(values: Plain, empty: tuple[Any, ...]) -> Plain:
    """The values that are not (bit by bit) one of the defaults."""
    words = {repr(x) for x in empty}
    return {key: x for key, x in values.items() if repr(x) not in words}


def _place(placement: Placement) -> Plain:
    position, rotation = list(placement.position), [list(row) for row in placement.rotation]
    found = _set_values({"position": position}, ([0.0, 0.0, 0.0],))
    return found | _set_values({"rotation": rotation}, ([list(row) for row in Placement().rotation],))


def _body(body: Body, c: PlacedJoint, problems: _Problems) -> Plain:
    table: Plain = {"name": body.name, **_set_values({"parent": c.parent}, (WORLD,))}
    with problems.of(f"joint {c.name!r}"):
        joint = _joint(c)
        table |= _set_values({"joint": joint}, ({"type": "Fixed"},))
    table |= _set_values({"mass": body.mass}, (0.0,)) | _set_values({"com": list(body.com)}, ([0.0, 0.0, 0.0],))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.inertia
    table |= _set_values({"inertia": [xx, xy, xz, yy, yz, zz]}, ([0.0] * 6,))
    table |= _set_values({"gravity_compensation": body.gravity_compensation}, (0.0,))
    if unphysical(body.mass, np.array(body.inertia)) is not None:
        table["allow_unphysical"] = True
    if body.fluid is not None:
        table["fluid"] = _fluid(body.fluid)
    return table | _set_values({"geometry": [_shape(shape) for shape in body.geometry]}, ([],))


def _fluid(fluid: Fluid) -> Plain:
    """The numbers that are not those of `Fluid()`; diagonal matrices by their diagonals."""
    table, none = {}, Fluid()
    for name in FLUID:
        value = getattr(fluid, name)
        if repr(value) == repr(getattr(none, name)):
            continue
        if isinstance(value, float):
            table[name] = value
        elif len(value) == 3:
            table[name] = list(value)
        else:
            diagonal = [row[i] for i, row in enumerate(value)]
            is_diagonal = not any(x for i, row in enumerate(value) for j, x in enumerate(row) if i != j)
            table[name] = diagonal if is_diagonal else [list(row) for row in value]
    return table


def _joint(c: PlacedJoint) -> Plain:
    table = joint_to_plain(c.joint)
    if c.name != c.child:
        table["name"] = c.name
    table |= _place(c.placement)
    for key in ("armature", "damping", "friction", "stiffness"):
        table |= _set_values({key: list(getattr(c, key))}, ([], [0.0] * c.joint.nv))
    infinite = [float("inf")]
    table |= _set_values({"lower": list(c.lower)}, ([], [-x for x in infinite] * c.joint.nq))
    table |= _set_values({"upper": list(c.upper)}, ([], infinite * c.joint.nq))
    table |= _set_values({"rest": list(c.rest)}, ([],))
    for key in ("max_force", "max_velocity"):
        table |= _set_values({key: list(getattr(c, key))}, ([], infinite * c.joint.nv))
    if c.softness is not None:
        table |= _set_values({"softness": _by_name(c.softness)}, ({},))
    return table | _set_values({"min_force": list(c.min_force)}, ([],))


def _shape(shape: Geometry) -> Plain:
    table: Plain = {"kind": shape.kind, **_place(shape.placement)}
    for field in fields(shape):
        value = getattr(shape, field.name)
        if field.name not in ("kind", "placement", "file", "surface", "heights"):
            table |= _set_values({field.name: value}, (field.default,))
    table |= _set_values({"heights": [list(row) for row in shape.heights]}, ([],))
    table |= _set_values({"surface": _by_name(shape.surface)}, ({},))
    return {key: list(value) if isinstance(value, tuple) else value for key, value in table.items()}


def _by_name(surface: Surface | JointSoftness) -> Plain:
    """The numbers that are not the default ones."""
    found: Plain = {}
    for field in fields(surface):
        found |= _set_values({field.name: getattr(surface, field.name)}, (field.default,))
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def _contacts(rules: ContactRules) -> Plain:
    table: Plain = {}
    for field in fields(rules):
        if field.name not in ("pairs", "excluded"):
            table |= _set_values({field.name: getattr(rules, field.name)}, (field.default,))
    table |= _set_values({"excluded": [list(x) for x in rules.excluded]}, ([],))
    return table | _set_values({"pairs": [_pair(x) for x in rules.pairs]}, ([],))


def _pair(pair: ContactPair) -> Plain:
    found: Plain = {"first": list(pair.first), "second": list(pair.second), **_set_values({"name": pair.name}, ("",))}
    return found | _set_values({"surface": _by_name(pair.surface)}, ({},))


def _frame(frame: Frame) -> Plain:
    return {"name": frame.name, "body": frame.body, **_place(frame.placement)}


def _loop(loop: NamedLoop, sizes: Mapping[str, int], problems: _Problems) -> Plain:
    found: Plain = {"name": loop.name}
    with problems.of(f"loop {loop.name!r}"):
        found |= loop_to_plain(loop.loop, sizes)
    return found | _set_values({"independent": dict(loop.independent)}, ({},))


def _armature(block: ArmatureBlock) -> Plain:
    return {"name": block.name, "joints": list(block.joints), "matrix": [list(row) for row in block.matrix]}


def _actuator(actuator: Actuator) -> Plain:
    table: Plain = {"name": actuator.name}
    table["drives"] = [
        {"joint": x.joint, "gear": list(x.gear), **_set_values({"axes": x.axes}, ("child",))} for x in actuator.drives
    ]
    infinite = float("inf")
    for key in ("control_range", "force_range"):
        table |= _set_values({key: list(getattr(actuator, key))}, ([-infinite, infinite],))
    table |= _set_values({"kind": actuator.kind}, ("motor",))
    table |= _set_values({"delay": actuator.delay}, (0,))
    if (own := actuator.dynamics) is not None:
        time = {} if own.kind == "integrator" else {"time_constant": own.time_constant}
        ends = {} if own.range is None else {"range": list(own.range)}
        table["dynamics"] = {"kind": own.kind, **time, **ends, **_set_values({"early": own.early}, (False,))}
    return table | _set_values({"parameters": {key: list(x) for key, x in actuator.parameters}}, ({},))
