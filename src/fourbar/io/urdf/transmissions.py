"""<transmission>: an actuator on a joint behind a gear, and the inertia of its rotor where that is given.

A rotor of inertia I that turns N times as fast as its joint adds N² I to the diagonal of the mass matrix: the armature.
That neglects its gyroscopic part; a side-car file can declare the rotor as a body, which is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...errors import unknown
from ...mechanism.builder import MechanismBuilder
from ...representation import quantity
from ..element import Element
from .joints import ReadJoint

_RATIOS = ("mechanicalReduction", "mechanical_reduction")
_ROTOR_RATIOS = ("drake:gear_ratio",)  # of the rotor's inertia only
_INERTIAS = ("rotorInertia", "rotor_inertia", "motorInertia", "motor_inertia", "drake:rotor_inertia")
_SIMPLE = "SimpleTransmission"
_CONTROL = ("hardwareInterface", "role", "offset")


@dataclass
class Transmissions:
    """Inertia of rotors in the mass matrix, by joint; the actuators, by name: their joint and gear."""

    armatures: dict[str, float] = field(default_factory=dict)
    actuators: dict[str, tuple[str, float]] = field(default_factory=dict)

    def add_actuators(self, builder: MechanismBuilder) -> None:
        """Add the actuators to a robot that has its joints."""
        for name, (joint, gear) in self.actuators.items():
            builder.actuator(name, drives=joint, gear=gear)


def read_transmissions(root: Element, joints: Mapping[str, ReadJoint]) -> Transmissions:
    """All of them."""
    transmissions = Transmissions()
    for transmission in root.all("transmission"):
        with root.reading.element():
            _read(transmission, joints, transmissions)
    return transmissions


def _read(transmission: Element, joints: Mapping[str, ReadJoint], found: Transmissions) -> None:
    transmission.get("name")
    named, written = transmission.get("type"), transmission.child("type")
    kind = (named or "") if written is None else written.words()
    driven, actuators = transmission.all("joint"), transmission.all("actuator")
    parts = [transmission, *driven, *actuators]
    for part in parts[1:]:
        part.get("name")
        for tag in _CONTROL:
            for ignored in part.all(tag):
                ignored.mark("*")
    inertias = [x for part in parts for x in _values(part, _INERTIAS)]
    ratios = [x for part in parts for x in _values(part, _RATIOS)]
    of_rotors = [x for part in parts for x in _values(part, _ROTOR_RATIOS)]
    if len(driven) == len(actuators) == 1 and len(ratios) <= 1:
        _add_actuator(transmission, driven[0], actuators[0], ratios[0] if ratios else 1.0, joints, found)
        if kind and not kind.endswith(_SIMPLE):
            message = f"a transmission of type {kind[:60]!r} is read as a simple one with one gear ratio"
            transmission.reading.note(transmission.place, message, "use a side-car file for more")
    elif actuators and not any(inertias):
        given = f"{quantity(len(actuators), 'actuator')} and {quantity(len(ratios), 'gear ratio')}"
        message = f"{given} for {quantity(len(driven), 'joint')} are ignored"
        transmission.reading.note(transmission.place, message, "one of each is supported")
    if any(inertias) and of_rotors and ratios and ratios[0] not in (1.0, of_rotors[0]):  # one is what many files say
        message = (
            f"mechanicalReduction {ratios[0]:g} is the gear ratio of the actuator, and drake:gear_ratio "
            f"{of_rotors[0]:g} that of its rotor's inertia, which differ"
        )
        transmission.reading.note(transmission.place, message, "write the same ratio, if one motor is meant")
    if any(inertias):
        _add_armature(transmission, driven, inertias, of_rotors or ratios, joints, found)


def _add_actuator(
    transmission: Element,
    driven: Element,
    actuator: Element,
    ratio: float,
    joints: Mapping[str, ReadJoint],
    found: Transmissions,
) -> None:
    joint = driven.attributes.get("name", "")
    if joint not in joints or joints[joint].joint.nv != 1:
        why = "there is no such joint" if joint not in joints else "the joint does not have exactly one velocity"
        message = f"the actuator of joint {joint[:60]!r} is ignored: {why}"
        transmission.reading.note(transmission.place, message, key=actuator.key)
        return
    names = (actuator.attributes.get("name"), transmission.attributes.get("name"), f"{joint}_actuator")
    free = [name for name in names if name and name not in found.actuators]
    if not free:
        message = f"a second actuator {names[0]!r} of joint {joint!r} is left out"
        transmission.reading.note(transmission.place, message, key=actuator.key)
        return
    if free[0] != (names[0] or free[0]):
        message = f"there are several actuators {names[0]!r}; that of joint {joint!r} is renamed to {free[0]!r}"
        transmission.reading.note(transmission.place, message, key=actuator.key)
    if ratio == 0.0:
        message = f"the gear ratio of actuator {free[0]!r} is zero: it moves nothing"
        transmission.reading.warn(transmission.place, message, "write the ratio, or 1", "transmission")
    found.actuators[free[0]] = (joint, ratio)


def _add_armature(
    transmission: Element,
    driven: list[Element],
    inertias: list[float],
    ratios: list[float],
    joints: Mapping[str, ReadJoint],
    found: Transmissions,
) -> None:
    if len(driven) != 1 or len(inertias) != 1 or len(ratios) > 1:
        transmission.reading.doubt(
            transmission.place,
            f"{len(inertias)} rotor inertias and {len(ratios)} gear ratios for {len(driven)} joints",
            "one of each is supported; declare the rotors in a side-car file",
            "transmission",
        )
        return
    name = driven[0].require("name")
    if name not in joints:
        driven[0].fail(str(unknown("joint", name, joints)))
    if inertias[0] < 0.0:
        transmission.fail(f"the rotor inertia {inertias[0]} is negative")
    ratio = ratios[0] if ratios else 1.0
    found.armatures[name] = found.armatures.get(name, 0.0) + ratio * ratio * inertias[0]


def _values(part: Element, tags: tuple[str, ...]) -> list[float]:
    """The numbers in children with these tags: their attribute `value`, or their text."""
    values: list[float] = []
    for child in (child for tag in tags for child in part.all(tag)):
        with part.reading.lenient(child.key, doubt=True):
            values.append(child.number("value") if "value" in child.attributes else child.text_number())
    return values
