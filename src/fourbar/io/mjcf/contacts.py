"""Contacts of a compiled MuJoCo model: surfaces of geoms, pairs, exclusions and options."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...mechanism.builder import MechanismBuilder
from ...mechanism.contact import PLAIN, JointSoftness, Surface
from ...mechanism.contact_rules import Integrator
from ..report import Place, Reading
from .lines import MjcfNames
from .switches import CONTACT, EULER_DAMPING, FILTER, is_off

_SOLREF, _SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)  # where a file says nothing
_CONES = ("pyramidal", "elliptic")
INTEGRATORS: tuple[Integrator, ...] = ("Euler", "RK4", "implicit", "implicitfast")
_STEP, _RATIO = 0.002, 1.0


def colliding(model: Any) -> np.ndarray:
    """Whether each geom may touch others."""
    found = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    found[model.pair_geom1] = found[model.pair_geom2] = True
    return found


def surface(model: Any, g: int) -> Surface:
    """The surface of a geom."""
    slide, turn, roll = model.geom_friction[g].tolist()
    return Surface(
        friction=slide, torsion=turn, rolling=roll,
        margin=float(model.geom_margin[g]), gap=float(model.geom_gap[g]), dimensions=int(model.geom_condim[g]),
        priority=int(model.geom_priority[g]), mix=float(model.geom_solmix[g]),
        **_soft(model.geom_solref[g], model.geom_solimp[g]),
        groups=int(model.geom_contype[g]), meets=int(model.geom_conaffinity[g]),
    )  # fmt: skip


def joint_softness(model: Any, j: int) -> JointSoftness | None:
    """The softness of the limits and the dry friction of a joint; None if it is MuJoCo's own."""
    dof = model.jnt_dofadr[j]
    limit = _soft(model.jnt_solref[j], model.jnt_solimp[j]).values()
    friction = _soft(model.dof_solref[dof], model.dof_solimp[dof]).values()
    found = JointSoftness(*limit, *friction, margin=float(model.jnt_margin[j]))
    return None if found == JointSoftness() else found


def _soft(solref: np.ndarray, solimp: np.ndarray) -> dict[str, Any]:
    """Time constants and impedances; None where they are MuJoCo's own."""
    ref, imp = tuple(solref.tolist()), tuple(solimp.tolist())
    return {"solref": None if ref == _SOLREF else ref, "solimp": None if imp == _SOLIMP else imp}


def add_rules(b: MechanismBuilder, model: Any, names: MjcfNames, reading: Reading, whole: Place) -> None:
    """Add the rules of contact to a builder."""
    for signature in model.exclude_signature.tolist():
        b.exclude_contact(names.bodies[signature >> 16], names.bodies[signature & 0xFFFF])
    for i in range(model.npair):
        ends = [
            (names.bodies[model.geom_bodyid[g]], model.geom(g).name) for g in (model.pair_geom1[i], model.pair_geom2[i])
        ]
        b.contact_pair(ends[0], ends[1], _pair_surface(model, i), model.pair(i).name)
        rest = model.pair_friction[i]
        if rest[3] != rest[4] or np.any(model.pair_solreffriction[i]):
            message = "of a pair, a second coefficient of rolling and solreffriction are ignored"
            reading.add("note", whole, message, "", "contact/pair")
    option = model.opt
    b.contact_options(
        with_parents=is_off(model, FILTER),
        enabled=not is_off(model, CONTACT),
        cone=None if option.cone == 0 else _CONES[option.cone],
        impratio=None if option.impratio == _RATIO else float(option.impratio),
        timestep=None if option.timestep == _STEP else float(option.timestep),
        integrator=INTEGRATORS[option.integrator] if 0 < option.integrator < len(INTEGRATORS) else None,
        implicit_damping=False if is_off(model, EULER_DAMPING) else None,
    )


def _pair_surface(model: Any, i: int) -> Surface:
    slide, slide2, turn, roll, _ = model.pair_friction[i].tolist()
    return Surface(
        friction=slide, friction2=None if slide2 == slide else slide2, torsion=turn, rolling=roll,
        margin=float(model.pair_margin[i]), gap=float(model.pair_gap[i]), dimensions=int(model.pair_dim[i]),
        **_soft(model.pair_solref[i], model.pair_solimp[i]),
    )  # fmt: skip


def geom_contact(model: Any, g: int, touches: bool) -> dict[str, Any]:
    """Role and surface of a geom."""
    return {"role": "collision" if touches else "visual", "surface": surface(model, g) if touches else PLAIN}
