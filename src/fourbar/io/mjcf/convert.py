"""From a compiled MuJoCo model to a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...mechanism.builder import MechanismBuilder
from ...mechanism.mechanism import Mechanism
from ..report import Place, Reading
from .actuators import ActuatorReader, with_reflected
from .bodies import Bodies, rotation
from .contacts import add_rules
from .equalities import EqualityReader
from .findings import Findings
from .keyframes import add_keyframes
from .lines import ElementLines
from .names import MjcfNames
from .passive import passive
from .rotors import Rotors
from .shapes import GeomSource, geometries
from .switches import GRAVITY, is_off
from .tendons import report_tendons


def convert(
    model: Any, lines: ElementLines, reading: Reading, shapes: Sequence[GeomSource] = (), ratios: Any = None
) -> Mechanism:
    """The mechanism of a `mujoco.MjModel`: its coordinates are MuJoCo's. Raises ParseError for what cannot be
    represented.

    `ratios`: gear ratios by joint, where armature is to become a rotor.
    """
    if model.nbody < 2:
        reading.fail(Place(lines.file, 1), "there is no <body> besides the world: nothing can move")
    names = MjcfNames(model)
    gravity = np.zeros(3) if is_off(model, GRAVITY) else np.array(model.opt.gravity)
    b = MechanismBuilder(model_name(model), gravity=gravity)
    geometry = geometries(model, shapes)
    rotors = Rotors(model, names, with_reflected(model, model.dof_armature, "armature"), ratios or {})
    Bodies(model, names, lines, reading, rotors, passive(model), geometry).add_to(b)
    for s in range(model.nsite):
        b.frame(
            names.sites[s], names.bodies[model.site_bodyid[s]],
            position=model.site_pos[s], rotation=rotation(model.site_quat[s]),
        )  # fmt: skip
    equalities = EqualityReader(model, names, lines, reading)
    equalities.add_to(b)
    actuators = ActuatorReader(model, names, lines, reading)
    actuators.add_to(b)
    report_tendons(model, names, lines, reading, equalities.rods)
    Findings(model, names, lines, reading).report()
    add_keyframes(b, actuators)
    b.world(*geometry.get(0, []))
    add_rules(b, model, names, reading, Place(lines.file))
    reading.check()
    with reading.naming(Place(lines.file, 1)):
        return b.mechanism()


def model_name(model: Any) -> str:
    """The name of the model."""
    return model.names.split(b"\0", 1)[0].decode("utf-8", "replace") or "robot"
