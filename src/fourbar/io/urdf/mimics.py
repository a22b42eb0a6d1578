"""<mimic>: joints that follow another one exactly."""

from __future__ import annotations

from collections.abc import Mapping

from ...constraints import Gear
from ...errors import unknown
from ...mechanism.builder import MechanismBuilder
from ..report import loop_key
from .joints import Mimic, ReadJoint


def add_mimics(builder: MechanismBuilder, joints: Mapping[str, ReadJoint]) -> None:
    """A gear for every joint that mimics another; chains of them end at a joint that mimics none."""
    for name, joint in joints.items():
        if joint.mimic is not None:
            with joint.element.reading.element():
                _add(builder, joints, name, joint.mimic)


def _add(builder: MechanismBuilder, joints: Mapping[str, ReadJoint], name: str, mimic: Mimic) -> None:
    if joints[name].joint.nv == 0:
        mimic.element.reading.note(mimic.element.place, "a fixed joint cannot mimic another")
        return
    found = _end(joints, name, mimic)
    if found is None:
        return
    driver, ratio, offset = found
    for end in (name, driver):
        if joints[end].joint.nq != 1:
            mimic.element.fail(f"joint {end!r} has {joints[end].joint.nq} coordinates; only joints with one can mimic")
    chosen = next(({end: joints[end].scale} for end in (driver, name) if joints[end].independent), {})
    reading, loop = mimic.element.reading, f"{name}_mimic"
    reading.places[loop_key(loop)] = mimic.element.place
    with reading.naming(mimic.element.place):
        builder.loop(Gear(driver, name, ratio, offset), name=loop, independent=chosen)


def _end(joints: Mapping[str, ReadJoint], name: str, mimic: Mimic) -> tuple[str, float, float] | None:
    """The joint at the end of a chain of mimics, with the ratio and offset of the whole chain.

    None where the chain ends at an unknown joint, and the user accepts that the joint then moves freely.
    """
    path = {name: None}
    ratio, offset = 1.0, 0.0
    follows: Mimic | None = mimic
    while follows is not None:
        offset, ratio = offset + ratio * follows.offset, ratio * follows.multiplier
        if follows.joint not in joints:
            text = str(unknown("joint", follows.joint, joints))
            mimic.element.reading.doubt(mimic.element.place, text, "name a joint of the file", "mimic")
            return None
        if follows.joint in path:
            shown = [*path, follows.joint]
            mimic.element.fail(f"joints mimic each other in a cycle: {' -> '.join(shown[:12])}")
        path[follows.joint] = None
        follows = joints[follows.joint].mimic
    return list(path)[-1], ratio, offset
