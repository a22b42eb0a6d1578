"""Humanoids with geared rotors: the MIT Humanoid (its knees and ankles share belts) and JVRC-1."""

from __future__ import annotations

from ..system.system import System
from .robot_data import Rotors, build_facts, check_choice, read_facts


def mit_humanoid(rotors: Rotors = "exact", version: str = "latest") -> System:
    """Floating base, two legs of five joints, two arms of four: 24 degrees of freedom.

    A belt runs from the ankle's rotor past the knee, so knee, ankle and their two rotors are one cluster.
    rotors: "exact", "reflected" (an armature instead of a body; what the shared belt couples is lost), "block" (an
    armature block of knee and ankle) or "none".
    version: "latest", or "paper" for the numbers behind the results of Chignoli's paper (rotors without mass).
    """
    check_choice("version", version, ("latest", "paper"))
    return build_facts(read_facts("mit_humanoid" if version == "latest" else "mit_humanoid_paper"), rotors)


def jvrc1(rotors: Rotors = "exact") -> System:
    """JVRC-1: floating base and 32 geared joints, 38 degrees of freedom, 65 bodies.

    rotors: "exact", "reflected" (an armature instead of a body) or "none".
    """
    return build_facts(read_facts("jvrc1"), rotors)
