"""Actuators of a compiled MuJoCo model: those on joints and fixed tendons are read, the others are reported.

An actuator has one or more controls and one or more outputs, each with its own gear; only those with one output move
joints. MuJoCo's moment of a free joint is (force in world axes, torque in body axes); ours is (torque, force).

Fixed tendons are sums of joint coordinates, which equalities may use too; others are reported.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from ...mechanism.actuator_dynamics import Dynamics
from ...mechanism.actuators import Drive
from ...mechanism.builder import MechanismBuilder
from ..report import Place, Reading
from .bodies import BALL, FREE
from .lines import ElementLines, MjcfNames
from .switches import CLAMPING, DAMPING, FRICTION, LIMITS, SPRINGS, is_off

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


JOINT, IN_PARENT, _CRANK, TENDON = range(4)
_TRANSMISSIONS = ("joint", "joint", "slider-crank", "tendon", "site", "body", "site")
DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle", "dcmotor", "pid", "user")
GAINS = ("fixed", "affine", "muscle", "dcmotor", "so3", "pid", "user")
BIASES = ("none", "affine", "muscle", "dcmotor", "so3", "user")
_PLAIN = ("none", "fixed", "affine")
WITH_STATE = ("integrator", "filter", "filterexact")
_SAME = 1e-6  # of a step: a delay that is off by less is a whole number of steps


class ActuatorReader:
    """Adds the actuators of a model to a builder."""

    def __init__(self, model: Any, names: MjcfNames, lines: ElementLines, reading: Reading) -> None:
        self.model, self.names, self.lines, self.reading = model, names, lines, reading
        self.read: list[int] = []  # the actuators that are added
        self.floating = with_reflected(model, model.dof_armature, "armature")[model.jnt_dofadr] != 0.0

    def add_to(self, b: MechanismBuilder) -> None:
        """Add them, and report those that cannot be represented."""
        for a in range(len(self.model.actuator_trntype)):
            name = self.names.actuators[a]
            place = self.lines.of("actuator", name)
            drives = self._drives(a)
            if drives:
                with self.reading.element(), self.reading.naming(place):
                    self._add(b, a, name, drives)
                    self.read.append(a)
            else:
                kind = _TRANSMISSIONS[self.model.actuator_trntype[a]]
                message = f"actuator {name!r} acts on a {kind} and is ignored: add its force yourself"
                self.reading.warn(place, message, key=f"actuator@{kind.replace('-', '')}")
            self._report_inertia(a, name, place)

    def _add(self, b: MechanismBuilder, a: int, name: str, drives: list[Drive]) -> None:
        m, control = self.model, int(self.model.actuator_ctrladr[a])
        limited = m.actuator_ctrlnum[a] == 1 and m.actuator_ctrllimited[control] and not is_off(m, CLAMPING)
        kind, parameters = _law(m, a)
        b.actuator(
            name, drives=drives, kind=kind, parameters=parameters,
            dynamics=_dynamics(m, a), delay=self._delay(a, name),
            control_range=m.actuator_ctrlrange[control].tolist() if limited else None,
            force_range=self._force_range(a),
        )  # fmt: skip

    def _delay(self, a: int, name: str) -> int:
        """The delay of its control in steps of the file."""
        m = self.model
        if not m.actuator_delay[a] > 0.0:
            return 0
        steps, (held, interpolation) = m.actuator_delay[a] / m.opt.timestep, m.actuator_history[a]
        whole = math.ceil(steps - _SAME)
        if held < whole:
            message = f"actuator {name!r}: its history of {held} samples is shorter than its delay of {whole} steps"
            self.reading.doubt(self.lines.of("actuator", name), message, "", "actuator@nsample")
        if interpolation and abs(steps - round(steps)) > _SAME:
            message = f"actuator {name!r}: its delay of {steps:.6g} steps becomes {whole}; nothing is interpolated"
            self.reading.doubt(self.lines.of("actuator", name), message, "", "actuator@interp")
        return whole

    def _force_range(self, a: int) -> tuple[float, float] | None:
        """The range of its force: its own, and that of the tendon that it alone pulls at."""
        m = self.model
        lower, upper = m.actuator_forcerange[a].tolist() if m.actuator_forcelimited[a] else (-np.inf, np.inf)
        tendon = int(m.actuator_trnid[a, 0])
        if m.actuator_trntype[a] == TENDON and m.tendon_actfrclimited[tendon] and self._pulling(tendon) == 1:
            least, most = m.tendon_actfrcrange[tendon].tolist()
            lower, upper = (min(max(x, least), most) for x in (lower, upper))
        return (lower, upper) if lower > -np.inf or upper < np.inf else None

    def _pulling(self, tendon: int) -> int:
        """The number of actuators that pull at a tendon."""
        m = self.model
        return int(((m.actuator_trntype == TENDON) & (m.actuator_trnid[:, 0] == tendon)).sum())

    def _drives(self, a: int) -> list[Drive]:
        """The joints that an actuator moves; empty if it moves neither a joint nor a fixed tendon."""
        m = self.model
        kind, target = int(m.actuator_trntype[a]), int(m.actuator_trnid[a, 0])
        gear = m.actuator_gear[m.actuator_outadr[a]]
        if kind in (JOINT, IN_PARENT):
            return self._on_joint(target, gear, kind == IN_PARENT)
        if kind == TENDON and m.tendon_type[target] == 0:
            factors: dict[str, float] = {}
            for joint, x in fixed_tendon(m, target):
                factors[self.names.joints[joint]] = factors.get(self.names.joints[joint], 0.0) + x * float(gear[0])
            return [Drive(joint, (x,)) for joint, x in factors.items()]
        return []

    def _on_joint(self, j: int, gear: np.ndarray, in_parent: bool) -> list[Drive]:
        name, kind = self.names.joints[j], self.model.jnt_type[j]
        if kind == FREE and self.floating[j]:
            return [] if in_parent and gear[3:].any() else [Drive(name, tuple(gear.tolist()))]
        if kind == FREE:
            force, torque, nothing = gear[:3].tolist(), gear[3:].tolist(), [0.0] * 3
            if in_parent or not any(torque):
                return [Drive(name, (*torque, *force), "parent")]
            turn = Drive(name, (*torque, *nothing))
            return [turn, Drive(name, (*nothing, *force), "parent")] if any(force) else [turn]
        if kind == BALL:
            return [Drive(name, tuple(gear[:3].tolist()), "parent" if in_parent else "child")]
        return [Drive(name, (float(gear[0]),))]

    def _report_inertia(self, a: int, name: str, place: Place) -> None:
        """Armature and damping, which act by themselves, where they are not on a joint; and what else is not read."""
        m = self.model
        tendon = int(m.actuator_trnid[a, 0])
        if m.actuator_trntype[a] == TENDON and m.tendon_actfrclimited[tendon] and self._pulling(tendon) > 1:
            message = f"actuator {name!r}: the range of the forces of all actuators on its tendon is ignored"
            self.reading.warn(place, message, "give each a forcerange", "actuator@tendon")
        on_joint = m.actuator_trntype[a] in (JOINT, IN_PARENT)
        for attribute in ("armature", "damping"):
            if getattr(m, f"actuator_{attribute}")[a] and not on_joint:
                message = f"actuator {name!r}: its {attribute} is not on a joint and is ignored"
                self.reading.doubt(place, message, "", f"actuator@{attribute}")
        if np.any(m.actuator_dampingpoly[a]):
            message = f"actuator {name!r}: only the linear part of its damping is read"
            self.reading.doubt(place, message, "", "actuator@damping")


def _dynamics(model: Any, a: int) -> Dynamics | None:
    """The dynamics of an actuator, where they are among ours."""
    kind = DYNAMICS[model.actuator_dyntype[a]]
    if kind not in WITH_STATE:
        return None
    time = {} if kind == "integrator" else {"time_constant": float(model.actuator_dynprm[a, 0])}
    ends = tuple(model.actuator_actrange[a].tolist()) if model.actuator_actlimited[a] else None
    return Dynamics(kind, range=ends, early=bool(model.actuator_actearly[a]), **time)  # type: ignore[arg-type]


def _law(model: Any, a: int) -> tuple[str, dict[str, list[float]]]:
    """The control law: one word, and its numbers without trailing zeros."""
    dynamics = DYNAMICS[model.actuator_dyntype[a]]
    types = (
        "none" if dynamics in WITH_STATE else dynamics,
        GAINS[model.actuator_gaintype[a]],
        BIASES[model.actuator_biastype[a]],
    )
    numbers = (model.actuator_dynprm[a], model.actuator_gainprm[a], model.actuator_biasprm[a])
    trimmed_numbers = {}
    for key, kind, values in zip(("dynamics", "gain", "bias"), types, numbers, strict=True):
        used = values[:1] if kind == "fixed" else values[:3] if kind == "affine" else values
        trimmed = np.trim_zeros(used, "b").tolist() or [0.0]
        if kind != "none" and trimmed != ([1.0] if key == "gain" else [0.0]):
            trimmed_numbers[key] = trimmed
    unusual = [kind for kind in types if kind not in _PLAIN]
    return unusual[0] if unusual else "motor" if types[1:] == ("fixed", "none") else "affine", trimmed_numbers


def with_reflected(model: Any, own: np.ndarray, attribute: str) -> np.ndarray:
    """Armature or damping of each velocity (nv): that of joints, and of actuators on them times their gear squared."""
    reflected = np.array(own)
    for a, value in enumerate(getattr(model, f"actuator_{attribute}")):
        if value and model.actuator_trntype[a] in (JOINT, IN_PARENT):
            joint = model.actuator_trnid[a, 0]
            first, n = model.jnt_dofadr[joint], (6, 3, 1, 1)[model.jnt_type[joint]]
            reflected[first : first + n] += model.actuator_gear[model.actuator_outadr[a], 0] ** 2 * value
    return reflected
