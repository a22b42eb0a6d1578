"""From a compiled MuJoCo model to a mechanism.

Equalities of a compiled MuJoCo model as loops: connect, weld, joint, and those of fixed tendons.

MuJoCo enforces them softly; here they hold exactly. Those that cannot become loops are reported.

Keyframes of a compiled MuJoCo model: named configurations with velocities and controls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...constraints import Closure, Coupling, Distance, Gear, Loop, Polynomial
from ...joints import Fixed, Spherical
from ...mechanism.builder import MechanismBuilder
from ...mechanism.mechanism import Mechanism
from ..report import Place, Reading
from .actuators import (
    DYNAMICS,
    WITH_STATE,
    ActuatorReader,
    fixed_tendon,
    report_tendons,
    straight_tendon,
    with_reflected,
)
from .bodies import FREE, Bodies, rotation
from .contacts import add_rules
from .findings import Findings
from .lines import ElementLines, MjcfNames
from .passive import Rotors, passive
from .shapes import GeomSource, geometries
from .switches import GRAVITY, is_off


def add_keyframes(b: MechanismBuilder, actuators: ActuatorReader) -> None:
    """Add the configuration in which MuJoCo compiles the model, then the keyframes; report what is not kept of them."""
    model, names, lines, reading = actuators.model, actuators.names, actuators.lines, actuators.reading
    if model.njnt:
        b.configuration("qpos0", _by_joint(actuators, model.qpos0, model.jnt_qposadr))
    for k, name in enumerate(names.keys):
        place = lines.of("key", name)
        controls = _controls(actuators, model.key_ctrl[k])
        if model.njnt:
            q = _by_joint(actuators, model.key_qpos[k], model.jnt_qposadr)
            with reading.element(), reading.naming(place):
                v, act = _velocities(actuators, model.key_qvel[k], q), _activations(actuators, model.key_act[k])
                b.configuration(name, q, velocities=v, controls=controls, activations=act)
        for attribute, lost in (
            ("act", np.count_nonzero(model.key_act[k]) > len(_activations(actuators, model.key_act[k]))),
            ("time", model.key_time[k]),
            ("ctrl", np.count_nonzero(model.key_ctrl[k]) > len(controls)),
        ):
            if np.any(lost):
                of_actuator = attribute in ("ctrl", "act")
                which = f"{attribute} of {'an actuator that is not read' if of_actuator else 'a keyframe'}"
                message = f"{which} is ignored; qpos, qvel, ctrl and act of keyframes are in scene.keyframes"
                reading.add("note", place, message, "", f"key@{attribute}")


def _by_joint(actuators: ActuatorReader, values: np.ndarray, starts: np.ndarray) -> dict[str, np.ndarray]:
    """The entries of an array of all joints, by joint."""
    parts = np.split(np.array(values), starts[1:])
    return dict(zip(actuators.names.joints, parts, strict=True))


def _velocities(actuators: ActuatorReader, qvel: np.ndarray, q: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The velocities by joint that are not zero.

    Those of a free joint are (linear in world axes, angular in body axes) in MuJoCo and (angular, linear) in body axes
    here, unless it has armature.
    """
    model = actuators.model
    by_joint = _by_joint(actuators, qvel, model.jnt_dofadr)
    for j, (name, v) in enumerate(by_joint.items()):
        if model.jnt_type[j] == FREE and not actuators.floating[j]:
            by_joint[name] = np.concatenate([v[3:], rotation(q[name][3:]).T @ v[:3]])
    return {name: v for name, v in by_joint.items() if v.any()}


def _controls(actuators: ActuatorReader, ctrl: np.ndarray) -> dict[str, Any]:
    """The controls that are not zero, by actuator; actuators with several controls have none here."""
    model = actuators.model
    by_actuator = {
        actuators.names.actuators[a]: float(ctrl[model.actuator_ctrladr[a]])
        for a in actuators.read
        if model.actuator_ctrlnum[a] == 1
    }
    return {name: u for name, u in by_actuator.items() if u}


def _activations(actuators: ActuatorReader, act: np.ndarray) -> dict[str, Any]:
    """The activations that are not zero, by actuator."""
    model, names = actuators.model, actuators.names.actuators
    with_one = [a for a in actuators.read if DYNAMICS[model.actuator_dyntype[a]] in WITH_STATE]
    by_actuator = {names[a]: float(act[model.actuator_actadr[a]]) for a in with_one}
    return {name: x for name, x in by_actuator.items() if x}


CONNECT, WELD, JOINT, TENDON, FLEX, FLEXVERT, FLEXSTRAIN, DISTANCE = range(8)
TAGS = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")
_SITE = 6  # mjOBJ_SITE
_OFF = 1 | 2  # mjDSBL_CONSTRAINT, mjDSBL_EQUALITY
Pose = tuple[str, np.ndarray, np.ndarray]


class Unusable(Exception):
    """Why an equality cannot be a loop."""


class EqualityReader:
    """Adds the loops of all equalities to a builder, and reports unused ones."""

    def __init__(self, model: Any, names: MjcfNames, lines: ElementLines, reading: Reading) -> None:
        self.model, self.names, self.lines, self.reading = model, names, lines, reading
        self.used: list[str] = []
        self.rods: set[int] = set()  # tendons that are rods

    def add_to(self, b: MechanismBuilder) -> None:
        """Add them."""
        for i in range(self.model.neq):
            name = self.names.equalities[i]
            place, key = self.lines.of("equality", name), f"equality/{TAGS[self.model.eq_type[i]]}"
            if not self.model.eq_active0[i] or self.model.opt.disableflags & _OFF:
                self.reading.warn(place, f"equality {name!r} is not active and is ignored", key=key)
                continue
            try:
                with self.reading.element(), self.reading.naming(place):
                    self._add(b, name, self._loop(i), place)
            except Unusable as why:
                self.reading.doubt(place, f"equality {name!r} is ignored: {why}", key=key)

    def _add(self, b: MechanismBuilder, name: str, loop: Loop | None, place: Place) -> None:
        if loop is None:
            self.reading.note(
                place, (f"equality {name!r} connects bodies that do not move relative to each other: ignored")
            )
            return
        b.loop(loop, name=name)
        self.used.append(name)

    def _loop(self, i: int) -> Loop | None:
        makers: dict[int, Callable[[int], Loop | None]] = {
            CONNECT: self._connect, WELD: self._weld, JOINT: self._joint, TENDON: self._tendon,
        }  # fmt: skip
        kind = int(self.model.eq_type[i])
        if kind not in makers:
            raise Unusable(f"a rigid mechanism has no equivalent of <{TAGS[kind]}>")
        return makers[kind](i)

    def _ends(self, i: int) -> tuple[int, int]:
        m, ends = self.model, (int(self.model.eq_obj1id[i]), int(self.model.eq_obj2id[i]))
        bodies = (m.site_bodyid[ends[0]], m.site_bodyid[ends[1]]) if m.eq_objtype[i] == _SITE else ends
        for body in bodies:
            if m.body_mocapid[body] >= 0:
                raise Unusable(f"body {self.names.bodies[body]!r} is a mocap body, which a program moves")
        return ends

    def _site(self, site: int) -> Pose:
        m = self.model
        return self.names.bodies[m.site_bodyid[site]], np.array(m.site_pos[site]), rotation(m.site_quat[site])

    def _at(self, body: int, p: np.ndarray) -> Pose:
        return self.names.bodies[body], np.array(p), np.eye(3)

    def _closure(self, joint: Any, first: Pose, second: Pose) -> Loop | None:
        if self._is_rigid(first[0], second[0]):
            return None
        return Closure(
            joint, first[0], second[0], at_predecessor=first[1], at_successor=second[1],
            predecessor_rotation=first[2], successor_rotation=second[2],
        )  # fmt: skip

    def _is_rigid(self, first: str, second: str) -> bool:
        """Whether two bodies do not move relative to each other."""
        m, bodies = self.model, self.names.bodies
        return m.body_weldid[bodies.index(first)] == m.body_weldid[bodies.index(second)]

    def _connect(self, i: int) -> Loop | None:
        (a, b), data = self._ends(i), self.model.eq_data[i]
        if self.model.eq_objtype[i] == _SITE:
            return self._closure(Spherical(), self._site(a), self._site(b))
        return self._closure(Spherical(), self._at(a, data[:3]), self._at(b, data[3:6]))

    def _weld(self, i: int) -> Loop | None:
        """The point data[3:6] of body 1 on data[0:3] of body 2, and R1 · quaternion data[6:10] = R2."""
        (a, b), data = self._ends(i), self.model.eq_data[i]
        joint = Spherical() if data[10] == 0.0 else Fixed()  # a torque scale of zero frees the rotation
        if self.model.eq_objtype[i] == _SITE:
            return self._closure(joint, self._site(a), self._site(b))
        first, second = self._at(a, data[3:6]), self._at(b, data[:3])
        return self._closure(joint, (first[0], first[1], rotation(data[6:10])), second)

    def _joint(self, i: int) -> Loop:
        """q1 - ref1 = Σ c_k (q2 - ref2)^k."""
        m = self.model
        first, second = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        driven, r1 = self.names.joints[first], m.qpos0[m.jnt_qposadr[first]]
        c = m.eq_data[i, :5]
        if second < 0 or not c[1:].any():
            return Coupling({driven: 1.0}, r1 + c[0])
        driver, r2 = self.names.joints[second], m.qpos0[m.jnt_qposadr[second]]
        if not c[2:].any():
            return Gear(driver, driven, c[1], r1 + c[0] - c[1] * r2)
        shifted = np.polynomial.Polynomial(c)(np.polynomial.Polynomial([-r2, 1.0])).coef if r2 else c.copy()
        shifted[0] += r1
        return Polynomial(driver, driven, tuple(shifted.tolist()))

    def _tendon(self, i: int) -> Loop | None:
        """L1 - L1₀ = Σ c_k (L2 - L2₀)^k with L = Σ coef · q, where all but c_0 and c_1 vanish."""
        m, c = self.model, self.model.eq_data[i, :5]
        ids = [int(x) for x in (m.eq_obj1id[i], m.eq_obj2id[i]) if x >= 0]
        if any(m.tendon_type[t] != 0 for t in ids):
            return self._rod(ids, c)
        if len(ids) > 1 and c[2:].any():
            raise Unusable("tendons are coupled by a polynomial of degree two or more")
        slope = c[1] if len(ids) > 1 else 0.0
        factors: dict[str, float] = {}
        offset = c[0]
        for tendon, scale in zip(ids, (1.0, -slope), strict=False):
            offset += scale * m.tendon_length0[tendon]
            for joint, coefficient in fixed_tendon(m, tendon):
                factors[self.names.joints[joint]] = factors.get(self.names.joints[joint], 0.0) + scale * coefficient
        return Coupling({name: x for name, x in factors.items() if x}, offset)

    def _rod(self, tendons: list[int], c: np.ndarray) -> Loop | None:
        """One spatial tendon straight from site to site, L = L₀ + c_0: a rod of this length."""
        m, ends = self.model, straight_tendon(self.model, tendons[0])
        if len(tendons) > 1 or ends is None:
            raise Unusable("only a single spatial tendon, straight from site to site, can become a rod")
        (first, p, _), (second, r, _) = (self._site(site) for site in ends)
        length = float(m.tendon_length0[tendons[0]] + c[0])
        if self._is_rigid(first, second):
            return None
        if not length > 0.0:
            raise Unusable(f"the tendon is held at a length of {length:g}, which is impossible for a rod")
        self.rods.add(tendons[0])
        return Distance(first, second, tuple(p.tolist()), tuple(r.tolist()), length)


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
