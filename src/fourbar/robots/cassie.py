"""A leg like Cassie's: motors high up, rods that transmit their motion. The real one's springs are rigid here."""

from __future__ import annotations

import numpy as np

from ..constraints import Closure, Distance
from ..joints import Revolute
from ..system.system import Builder, System
from .simple_inertias import rod

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
