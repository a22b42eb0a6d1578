"""Tendons: fixed ones are sums of joint coordinates, which equalities may use; the others are reported."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..report import Reading
from .lines import ElementLines
from .names import MjcfNames
from .switches import DAMPING, FRICTION, LIMITS, SPRINGS, is_off

_SITE = 3  # mjWRAP_SITE
# What a tendon does to joints by itself, and what switches it off.
_FORCES = {"stiffness": SPRINGS, "damping": DAMPING, "frictionloss": FRICTION, "armature": 0}


def fixed_tendon(model: Any, tendon: int) -> list[tuple[int, float]]:
    """The joints of a fixed tendon and their coefficients: its length is their sum."""
    first = model.tendon_adr[tendon]
    wraps = range(first, first + model.tendon_num[tendon])
    return [(int(model.wrap_objid[w]), float(model.wrap_prm[w])) for w in wraps]


def straight_tendon(model: Any, tendon: int) -> tuple[int, int] | None:
    """The two sites that a spatial tendon is straight between; None if it passes others."""
    first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    if count != 2 or any(model.wrap_type[first : first + 2] != _SITE):
        return None
    return int(model.wrap_objid[first]), int(model.wrap_objid[first + 1])


def report_tendons(
    model: Any, names: MjcfNames, lines: ElementLines, reading: Reading, rods: Collection[int] = ()
) -> None:
    """A finding for each tendon: what of it the mechanism lacks. `rods`: those that became rods of loops."""
    for t, name in enumerate(names.tendons):
        kind = "spatial" if model.tendon_type[t] else "fixed"
        place, key = lines.of("tendon", name), f"tendon/{kind}"
        for attribute, switches in _FORCES.items():
            value = getattr(model, f"tendon_{attribute}")[t]
            if value and is_off(model, switches):
                reading.note(
                    place, f"tendon {name!r}: {attribute}={value:g} is disabled in the file", key=f"{key}@{attribute}"
                )
            elif value:
                message = f"tendon {name!r}: {attribute}={value:g} is ignored, and changes the motion"
                reading.doubt(place, message, "", f"{key}@{attribute}")
        if model.tendon_limited[t] and is_off(model, LIMITS):
            reading.note(place, f"tendon {name!r}: its limits are disabled in the file", key=f"{key}@range")
        elif model.tendon_limited[t]:
            reading.warn(place, f"tendon {name!r}: its limits are ignored", key=f"{key}@range")
        if t in rods:
            reading.note(place, f"{kind} tendon {name!r} is a rod of that length")
        else:
            use = "is used by equalities and actuators only" if kind == "fixed" else "is ignored"
            reading.note(place, f"{kind} tendon {name!r} {use}", key=key)
