"""<transmission>: gear ratios, and the inertia of rotors where it is given.

A rotor of inertia I that turns N times as fast as its joint adds N² I to the diagonal of the mass matrix: the armature.
That leaves out its gyroscopic part; a side-car file can declare the rotor as a body, which is exact.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import unknown
from ..element import Element
from .joints import ReadJoint

_RATIOS = ("mechanicalReduction", "mechanical_reduction", "drake:gear_ratio")
_INERTIAS = ("rotorInertia", "rotor_inertia", "motorInertia", "motor_inertia", "drake:rotor_inertia")
_CONTROL = ("hardwareInterface", "role", "offset")


def read_armatures(root: Element, joints: Mapping[str, ReadJoint]) -> dict[str, float]:
    """What rotors add to the mass matrix, by joint."""
    found: dict[str, float] = {}
    for transmission in root.all("transmission"):
        with root.reading.element():
            _read(transmission, joints, found)
    return found


def _read(transmission: Element, joints: Mapping[str, ReadJoint], found: dict[str, float]) -> None:
    transmission.get("name")
    transmission.get("type")
    kind = transmission.child("type")
    if kind is not None:
        kind.words()
    driven, actuators = transmission.all("joint"), transmission.all("actuator")
    parts = [transmission, *driven, *actuators]
    for part in parts[1:]:
        part.get("name")
        for tag in _CONTROL:
            for ignored in part.all(tag):
                ignored.mark("*")
    inertias = [x for part in parts for x in _values(part, _INERTIAS)]
    ratios = [x for part in parts for x in _values(part, _RATIOS)]
    if not any(inertias):
        if any(ratio != 1.0 for ratio in ratios):
            transmission.reading.note(
                transmission.place,
                f"a gear ratio of {ratios[0]:g} without a rotor inertia has no effect on the dynamics",
                "if the rotor matters, declare it as a motor in a side-car file",
            )
        return
    if len(driven) != 1 or len(inertias) != 1 or len(ratios) > 1:
        transmission.reading.doubt(
            transmission.place,
            f"{len(inertias)} rotor inertias and {len(ratios)} gear ratios for {len(driven)} joints",
            "one of each is understood; declare the rotors in a side-car file",
            "transmission",
        )
        return
    name = driven[0].require("name")
    if name not in joints:
        driven[0].fail(str(unknown("joint", name, joints)))
    if inertias[0] < 0.0:
        transmission.fail(f"the rotor inertia {inertias[0]} is negative")
    ratio = ratios[0] if ratios else 1.0
    found[name] = found.get(name, 0.0) + ratio * ratio * inertias[0]


def _values(part: Element, tags: tuple[str, ...]) -> list[float]:
    """The numbers of children with these tags: their attribute `value`, or their text."""
    found = [child for tag in tags for child in part.all(tag)]
    return [c.number("value") if "value" in c.attributes else c.text_number() for c in found]
