"""The MIT Mini Cheetah: a quadruped whose twelve geared rotors are bodies of their own."""

from __future__ import annotations

from ..system.system import System
from .robot_data import Rotors, build_facts, check_choice, read_facts


def mini_cheetah(rotors: Rotors = "exact", version: str = "latest") -> System:
    """Floating base, four legs of three joints, each joint geared to a rotor: 18 degrees of freedom.

    rotors: "exact", "reflected" (an armature instead of a body) or "none". version: "latest", or "paper" for the
    numbers behind the results of Chignoli's paper (rotors without mass, other hip and knee frames).
    """
    check_choice("version", version, ("latest", "paper"))
    return build_facts(read_facts("mini_cheetah" if version == "latest" else "mini_cheetah_paper"), rotors)
