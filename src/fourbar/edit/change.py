"""Changing numbers of a mechanism by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..constraints.serialize import from_plain, to_plain
from ..errors import ModelError, unknown
from ..joints.serialize import unknown_word
from ..mechanism.actuators import Actuator, make
from ..mechanism.armature_blocks import ArmatureBlock, read_block
from ..mechanism.builder import MechanismBuilder
from ..mechanism.mechanism import Body, Frame, Mechanism, NamedLoop, PlacedJoint
from ..mechanism.validate import read_scale, read_three
from ..spatial.inertia import unphysical
from .rename import check

Changes = Mapping[str, Mapping[str, Any]] | None

_PLACE = ("position", "rotation", "rpy")
_OF_BODY = ("mass", "com", "inertia", "geometry", "gravity_compensation", "fluid")
_BODY = (*_OF_BODY, "allow_unphysical")
_BY_VELOCITY = ("armature", "damping", "friction", "max_force", "max_velocity", "min_force")
_ACTUATOR = ("drives", "gear", "axes", "control_range", "force_range", "kind", "parameters", "dynamics", "delay")
_ARMATURE = ("joints", "matrix")
_JOINT = ("joint", *_PLACE, *_BY_VELOCITY, "limits", "stiffness", "rest")


def change(
    mechanism: Mechanism,
    bodies: Changes = None,
    joints: Changes = None,
    frames: Changes = None,
    loops: Changes = None,
    gravity: Any = None,
    actuators: Changes = None,
    armatures: Changes = None,
) -> Mechanism:
    """Other masses, placements, limits, ratios, ...: tables by the name of the body, joint, frame, loop, actuator or
    armature.
    """
    of_bodies = _checked_changes("body", bodies, (b.name for b in mechanism.bodies), _BODY)
    of_joints = _checked_changes("joint", joints, (c.name for c in mechanism.joints), _JOINT)
    of_frames = _checked_changes("frame", frames, (f.name for f in mechanism.frames), ("body", *_PLACE))
    of_loops = _checked_changes("loop", loops, (x.name for x in mechanism.loops), None)
    of_actuators = _checked_changes("actuator", actuators, (x.name for x in mechanism.actuators), _ACTUATOR)
    of_armatures = _checked_changes("armature", armatures, (x.name for x in mechanism.armatures), _ARMATURE)
    pairs = [
        _changed_body(b, c, of_bodies.get(b.name, {}), of_joints.get(c.name, {}))
        for b, c in zip(mechanism.bodies, mechanism.joints, strict=True)
    ]
    sizes = {c.name: c.joint.nq for c in mechanism.joints}
    acting = tuple(_changed_actuator(x, of_actuators.get(x.name, {})) for x in mechanism.actuators)
    followed = {x.name for x in acting if x.dynamics is not None}
    named = [(x, tuple(own for own in x.activations if own[0] in followed)) for x in mechanism.configurations]
    return check(
        replace(
            mechanism,
            bodies=tuple(b for b, _ in pairs),
            joints=tuple(c for _, c in pairs),
            frames=tuple(_changed_frame(f, of_frames.get(f.name, {})) for f in mechanism.frames),
            loops=tuple(_changed_loop(x, of_loops.get(x.name, {}), sizes) for x in mechanism.loops),
            actuators=acting,
            configurations=tuple(replace(x, activations=activations) for x, activations in named),
            armatures=tuple(_changed_armature(x, of_armatures.get(x.name, {})) for x in mechanism.armatures),
            gravity=mechanism.gravity if gravity is None else read_three("gravity", gravity),
        )
    )


def _checked_changes(
    kind: str, changes: Changes, known: Iterable[str], keys: tuple[str, ...] | None
) -> Mapping[str, Mapping[str, Any]]:
    listed, by_name = list(known), changes or {}
    if not isinstance(by_name, Mapping):
        raise ModelError(f"expected parameters by {kind}, such as {{'{kind}': {{...}}}}, got {changes!r}")
    for name, fields in by_name.items():
        if name not in listed:
            raise unknown(kind, name, listed)
        if not isinstance(fields, Mapping):
            raise ModelError(f"{kind} {name!r}: expected parameters by name, got {fields!r}")
        for key in fields if keys is not None else ():
            if key not in (keys or ()):
                raise ModelError(f"{kind} {name!r}: {unknown_word('parameter', key, keys or ())}")
    return by_name


def _placement_fields(old: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Position and rotation, as they were or as given."""
    turned = {key: given[key] for key in ("rotation", "rpy") if key in given}
    return {"position": given.get("position", old.position), **(turned or {"rotation": old.rotation})}


def _changed_body(
    body: Body, c: PlacedJoint, of_body: Mapping[str, Any], of_joint: Mapping[str, Any]
) -> tuple[Body, PlacedJoint]:
    if not of_body and not of_joint:
        return body, c
    fields: dict[str, Any] = {key: getattr(body, key) for key in _OF_BODY} | dict(of_body)
    if not of_body:
        fields["allow_unphysical"] = unphysical(body.mass, np.array(body.inertia)) is not None
    carried = _placement_fields(c.placement, of_joint) | {"joint": c.joint, "limits": (c.lower, c.upper)}
    carried |= {key: getattr(c, key) for key in _BY_VELOCITY} | (
        {"stiffness": c.stiffness, "rest": c.rest} if c.rest else {}
    )
    if "joint" in of_joint and of_joint["joint"] != c.joint:  # the parameters of the old joint do not apply
        carried = _placement_fields(c.placement, of_joint)
    carried |= {key: x for key, x in of_joint.items() if key not in _PLACE}
    b = MechanismBuilder().body(body.name, joint_name=c.name, **fields, **carried).mechanism()
    return b.bodies[0], replace(b.joints[0], parent=c.parent)


def _changed_frame(frame: Frame, given: Mapping[str, Any]) -> Frame:
    if not given:
        return frame
    b = MechanismBuilder().body("any").frame(frame.name, "any", **_placement_fields(frame.placement, given)).mechanism()
    return replace(b.frames[0], body=given.get("body", frame.body))


def _changed_loop(loop: NamedLoop, given: Mapping[str, Any], sizes: Mapping[str, int]) -> NamedLoop:
    if not given:
        return loop
    own = {key: _plain(key, x) for key, x in given.items() if key != "independent"}
    what = f"loop {loop.name!r}"
    changed = from_plain(what, {**to_plain(loop.loop, sizes), **own}) if own else loop.loop
    chosen = given.get("independent", dict(loop.independent))
    pairs = chosen.items() if isinstance(chosen, Mapping) else [(x, 1.0) for x in chosen]
    scales = tuple((str(j), read_scale(f"{what}, independent joint {j!r}", x)) for j, x in pairs)
    return NamedLoop(loop.name, changed, scales)


def _changed_actuator(actuator: Actuator, given: Mapping[str, Any]) -> Actuator:
    if not given:
        return actuator
    fields: dict[str, Any] = {key: getattr(actuator, key) for key in _ACTUATOR if hasattr(actuator, key)}
    fields["parameters"] = dict(actuator.parameters)
    if {"gear", "axes"} & set(given) and "drives" not in given:
        drive, *others = actuator.drives
        if others:
            raise ModelError(
                f"actuator {actuator.name!r} has {len(actuator.drives)} drives: give drives=, the gear ratios by joint"
            )
        fields |= {"drives": drive.joint, "gear": drive.gear, "axes": drive.axes}
    return make(actuator.name, **{**fields, **given})


def _changed_armature(block: ArmatureBlock, given: Mapping[str, Any]) -> ArmatureBlock:
    return read_block(block.name, **{"joints": block.joints, "matrix": block.matrix, **given}) if given else block


def _plain(key: str, value: Any) -> Any:
    """A value of Python or NumPy as plain data; a position stands for a placement."""
    if isinstance(value, Mapping):
        return {k: _plain(k, x) for k, x in value.items()}
    found = np.asarray(value).tolist() if isinstance(value, np.ndarray | np.generic | tuple | list) else value
    return {"position": found} if key.startswith("at_") else found
