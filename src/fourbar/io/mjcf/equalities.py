"""Equalities of a compiled MuJoCo model as loops: connect, weld, joint, and those of fixed tendons.

MuJoCo enforces them softly; here they hold exactly. Those that cannot become loops are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...constraints import Closure, Coupling, Distance, Gear, Loop, Polynomial
from ...joints import Fixed, Spherical
from ...mechanism.builder import MechanismBuilder
from ..report import Place, Reading
from .bodies import rotation
from .lines import ElementLines
from .names import MjcfNames
from .tendons import fixed_tendon, straight_tendon

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
