"""Legged robots with geared rotors: the MIT Mini Cheetah, the MIT Humanoid, JVRC-1 and Tello; and a leg like
Cassie's.

Knees and ankles of the MIT Humanoid share belts. Differentials drive the hips, knees and ankles of Tello: loops that no
constant ratio describes.
"""

from __future__ import annotations

import numpy as np

from ..constraints import Closure, Distance, Formula
from ..hints import with_keyword_hints
from ..joints import Revolute
from ..system.system import Builder, System
from .robot_data import Rotors, build_facts, check_choice, merged_facts, read_facts, rod


@with_keyword_hints
def mini_cheetah(rotors: Rotors = "exact", version: str = "latest") -> System:
    """Floating base, four legs of three joints, each joint geared to a rotor: 18 degrees of freedom.

    rotors: "exact", "reflected" (an armature instead of a body) or "none". version: "latest", or "paper" for the
    numbers behind the results of Chignoli's paper (rotors without mass, other hip and knee frames).
    """
    check_choice("version", version, ("latest", "paper"))
    return build_facts(read_facts("mini_cheetah" if version == "latest" else "mini_cheetah_paper"), rotors)


@with_keyword_hints
def mit_humanoid(rotors: Rotors = "exact", version: str = "latest") -> System:
    """Floating base, two legs of five joints, two arms of four: 24 degrees of freedom.

    A belt runs from the ankle's rotor past the knee, so knee, ankle and their two rotors are one cluster.
    rotors: "exact", "reflected" (an armature instead of a body; what the shared belt couples is lost), "block" (an
    armature block of knee and ankle) or "none".
    version: "latest", or "paper" for the numbers behind the results of Chignoli's paper (rotors without mass).
    """
    check_choice("version", version, ("latest", "paper"))
    return build_facts(read_facts("mit_humanoid" if version == "latest" else "mit_humanoid_paper"), rotors)


@with_keyword_hints
def jvrc1(rotors: Rotors = "exact") -> System:
    """JVRC-1: floating base and 32 geared joints, 38 degrees of freedom, 65 bodies.

    rotors: "exact", "reflected" (an armature instead of a body) or "none".
    """
    return build_facts(read_facts("jvrc1"), rotors)


# φ of the hip: rotors r1, r2 behind gearboxes of 6:1, gimbal l1 (roll) and thigh l2 (pitch); lengths (m), squared.
HIP_DIFFERENTIAL = Formula(
    "r1 r2 l1 l2",
    [
        "0.0228 * sin(y1) - 0.0098 * cos(l1) - 0.0128 * cos(y1) * cos(l2) - 0.0228 * cos(l1) * sin(l2)"
        " + (-0.01995 * sin(l1) - 0.0112 * sin(y1) * sin(l1) + 0.0112 * sin(l1) * sin(l2))"
        " - 0.0128 * cos(l1) * sin(y1) * sin(l2) + 3021 / 160000",
        "0.0228 * sin(y2) - 0.0098 * cos(l1) - 0.0128 * cos(y2) * cos(l2) - 0.0228 * cos(l1) * sin(l2)"
        " - (-0.01995 * sin(l1) - 0.0112 * sin(y2) * sin(l1) + 0.0112 * sin(l1) * sin(l2))"
        " - 0.0128 * cos(l1) * sin(y2) * sin(l2) + 3021 / 160000",
    ],
    where={"y1": "r1 / 6", "y2": "r2 / 6"},
)

# φ of knee and ankle: rotors r1, r2, shin l1 and foot l2. The motors' sum turns the knee, a four-bar the foot.
KNEE_ANKLE_DIFFERENTIAL = Formula(
    "r1 r2 l1 l2",
    ["crank + foot + both + ground", "l1 - (r1 + r2) / 12"],
    where={
        "half": "(r1 - r2) / 12",
        "crank": "0.00336 * cos(half + 1979 * pi / 4500) - 0.0208 * cos(half + 493 * pi / 1500)",
        "foot": "0.0182 * sin(l2 + 2 * pi / 15) - 0.00294 * sin(l2 + pi / 45)",
        "both": "-0.0028 * sin(half + l2 + 231 * pi / 500)",
        "ground": "163349 / 6250000 - 0.02184 * cos(pi / 9)",
    },
)

_FUNCTIONS = {"hip-differential": HIP_DIFFERENTIAL, "knee-ankle-differential": KNEE_ANKLE_DIFFERENTIAL}

# Where the differentials are far from their end positions; for random configurations. Not from the source.
_LIMITS = {"-gimbal": (-0.4, 0.4), "-thigh": (-0.6, 0.6), "-foot": (-1.0, 0.4)}


@with_keyword_hints
def tello(rotors: Rotors = "exact") -> System:
    """Floating torso and two legs of five joints: 16 degrees of freedom, 25 coordinates.

    The independent velocities of the differentials are those of the motors behind their gearboxes (rotor speed / 6).
    rotors: "exact"; "reflected": the links alone, with the rotors' inertia reflected to the joints at zero
    (the velocities of the links are then the independent ones), "block" likewise; or "none".
    """
    return build_facts(read_facts("tello"), rotors, _FUNCTIONS, _LIMITS)


@with_keyword_hints
def tello_with_arms(rotors: Rotors = "exact") -> System:
    """Tello with two arms of four geared joints: 24 degrees of freedom, 33 coordinates. `rotors` as for `tello`."""
    facts = merged_facts("tello_with_arms", read_facts("tello"), read_facts("tello_arms"))
    return build_facts(facts, rotors, _FUNCTIONS, _LIMITS)


KNEE = (0.1, 0.0, -0.06)  # in the thigh
ANKLE = (-0.2, 0.0, -0.38)  # in the shin
TOE = (0.25, 0.0, -0.32)  # in the tarsus
HIP_END, HEEL_END = (0.0, 0.05, 0.0), (-0.09, 0.03, 0.05)  # of the achilles rod, in thigh and tarsus
CRANK = (0.05, 0.0, -0.05)  # axis of the foot's crank, in the tarsus
LEVER = (0.045, 0.0, 0.035)  # of crank and foot


def cassie_leg() -> System:
    """A leg with two loops, five degrees of freedom: hip roll, yaw and pitch, knee, and the crank that moves the foot.

    The achilles rod, with balls at both ends, runs from the thigh past the knee to the heel: it turns the tarsus when
    the knee bends (a distance in space). The plantar rod runs along the tarsus from a crank to the foot (a planar
    four-bar). At q = 0 the leg is bent and both loops are closed.
    """
    b = Builder("cassie_leg")
    _add_hip(b)
    b.body(
        "shin", parent="thigh", joint=Revolute("y"), joint_name="knee", position=KNEE, limits=(-0.5, 0.5),
        **rod(1.2, ANKLE, 0.03),
    )  # fmt: skip
    b.body(
        "tarsus", parent="shin", joint=Revolute("y"), joint_name="ankle", position=ANKLE, limits=(-0.5, 0.5),
        **rod(0.9, TOE, 0.025),
    )  # fmt: skip
    hip_end, heel_end = np.array(HIP_END), np.array(KNEE) + ANKLE + HEEL_END
    length = float(np.linalg.norm(heel_end - hip_end))
    b.loop(Distance("thigh", "tarsus", HIP_END, HEEL_END, length), name="achilles_rod", independent=["knee"])
    _add_foot(b)
    return b.build()


def _add_hip(b: Builder) -> None:
    b.body(
        "pelvis", joint=Revolute("x"), joint_name="hip_roll", limits=(-0.3, 0.4), mass=1.8, com=(-0.02, 0.0, 0.0),
        inertia=(0.004, 0.006, 0.006),
    )  # fmt: skip
    b.body(
        "hip", parent="pelvis", joint=Revolute("z"), joint_name="hip_yaw", position=(0.0, 0.0, -0.07),
        limits=(-0.4, 0.4), mass=1.2, com=(0.0, 0.0, -0.03), inertia=(0.003, 0.003, 0.002),
    )  # fmt: skip
    b.body(
        "thigh", parent="hip", joint=Revolute("y"), joint_name="hip_pitch", position=(0.0, 0.0, -0.09),
        limits=(-0.8, 0.8), **rod(5.0, KNEE, 0.06),
    )  # fmt: skip


def _add_foot(b: Builder) -> None:
    """Crank and foot have equal levers, and the plantar rod is as long as the distance of their axes: a
    parallelogram.
    """
    plantar = np.array(TOE) - CRANK
    b.body(
        "crank", parent="tarsus", joint=Revolute("y"), joint_name="foot_crank", position=CRANK, limits=(-0.8, 0.8),
        **rod(0.12, LEVER, 0.015),
    )  # fmt: skip
    b.body(
        "plantar_rod", parent="crank", joint=Revolute("y"), position=LEVER, limits=(-0.8, 0.8),
        **rod(0.12, plantar, 0.008),
    )  # fmt: skip
    b.body(
        "foot", parent="tarsus", joint=Revolute("y"), joint_name="toe", position=TOE, limits=(-0.8, 0.8), mass=0.25,
        com=(0.02, 0.0, -0.01), inertia=(3e-4, 5e-4, 5e-4),
    )  # fmt: skip
    pin = Closure(Revolute("y"), "plantar_rod", "foot", at_predecessor=plantar, at_successor=LEVER)
    b.loop(pin, name="plantar_pin", independent=["foot_crank"])
    b.frame("sole", "foot", position=(0.04, 0.0, -0.03))
