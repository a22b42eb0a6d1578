"""MuJoCo's law: soft contacts, limits and dry friction, whose forces solve a convex problem at the level of
accelerations.

A row with position r (a gap less its margin, zero of friction), velocity ṙ and acceleration r̈ = J a is drawn towards

    r̈_ref = -b ṙ - k d(r) r,      R = (1 - d) / d · weight,      d(r): the impedance, from solimp; b, k: from solref

and forces λ in the cones |λₜ / μ| ≤ λₙ minimise ½ λᵀ (A + R) λ + λᵀ (r̈_free - r̈_ref) with A = J M⁻¹ Jᵀ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..errors import ModelError
from ..expr import maximum, minimum, select, sqrt
from ..functions.model import Model
from ..mechanism.contact import PLAIN, JointSoftness, Surface
from ..mechanism.contact_pairs import SOLIMP, SOLREF, mix
from ..mechanism.contact_rules import is_number
from ..spatial.linear import Scalar
from .inverse_weights import Weights, body_of, weights
from .laws import Law

_TINY = 1e-15  # MuJoCo's least number
_LEAST, _MOST = 1e-4, 0.9999  # of impedances and of where they bend
_ROOTS = 3  # square roots: powers of impedances are multiples of an eighth
LEAST_FRICTION = 1e-5


EULER, EXPLICIT, IMPLICIT_FAST = INTEGRATORS = ("Euler", "explicit", "implicitfast")


_UNLIKE = {  # integrators of a file that have no equal here
    "RK4": "MuJoCo's law takes single Euler steps where the file says integrator='RK4': forces are MuJoCo's, states "
           "after a step are not; choose one with law=fb.contact.MuJoCo(integrator='Euler')",
    "implicit": "MuJoCo's law leaves out the derivative of Coriolis forces that integrator='implicit' of the file has: "
                "forces are MuJoCo's, states after a step are not; choose one with "
                "law=fb.contact.MuJoCo(integrator='implicitfast')",
}  # fmt: skip


class Drawn(NamedTuple):
    """The softness of a row: b and k d of the reference acceleration, and R."""

    damping: Scalar
    stiffness: Scalar
    softness: Scalar


@dataclass(frozen=True)
class Soft:
    """The softness of a row: solref and solimp as MuJoCo has them, its margin (m), and 1/kg of what it moves."""

    solref: tuple[float, float]
    solimp: tuple[float, float, float, float, float]
    margin: float
    weight: float

    def drawn(self, position: Scalar, dt: Scalar) -> Drawn:
        """At a position less its margin. A time constant is at least two steps."""
        high = _clipped(self.solimp)[1]
        d = impedance(self.solimp, position)
        first, second = self.solref
        if first > 0.0:
            time = maximum(first, 2.0 * dt)
            b, k = 2.0 / (high * time), 1.0 / (high * high * time * time * (second * second))
        else:
            b, k = -second / high, -first / (high * high)
        return Drawn(b, k * d, maximum((1.0 - d) / d * self.weight, _TINY))


@dataclass(frozen=True)
class SoftContact(Soft):
    """The softness of a contact: its normal; friction is as much stiffer as `ratio` says."""

    ratio: float = 1.0
    recovers: ClassVar[bool] = False

    def acting(self, touch: Any, on_terrain: bool) -> Any:
        """Forces act in the middle between two surfaces."""
        return touch._replace(point=touch.point - touch.normal * (0.5 * touch.gap)) if on_terrain else touch


@dataclass(frozen=True)
class SoftJoint:
    """The softness of a joint's limits and of its dry friction, which MuJoCo's files may not distinguish."""

    limit: Soft
    friction: Soft


def _clipped(solimp: Sequence[float]) -> tuple[float, float, float, float, float]:
    """The numbers of an impedance within what MuJoCo lets them be."""
    low, high, width, middle, power = solimp
    ends = (min(max(x, _LEAST), _MOST) for x in (low, high, middle))
    low, high, middle = ends
    return low, high, max(width, 0.0), middle, max(power, 1.0)


def impedance(solimp: Sequence[float], position: Scalar) -> Scalar:
    """d(r): from the first to the second number of solimp, as r grows from zero to a width."""
    low, high, width, middle, power = _clipped(solimp)
    if low == high or width <= _TINY:
        return 0.5 * (low + high)
    x = minimum(maximum(position, -position) / width, 1.0)
    if power == 1.0:
        return low + x * (high - low)
    below = raised(x, power) * (1.0 / middle ** (power - 1.0))
    above = 1.0 - raised(1.0 - x, power) * (1.0 / (1.0 - middle) ** (power - 1.0))
    return low + select(x <= middle, below, above) * (high - low)


def raised(x: Scalar, power: float) -> Scalar:
    """x to a power that is a multiple of 1/8, by products and square roots; x is not negative."""
    whole = int(power)
    part: Scalar = 1.0
    for _ in range(whole):
        part = part * x
    left, root = power - whole, x
    for _ in range(_ROOTS):
        root, left = sqrt(root), 2.0 * left
        if left >= 1.0:
            part, left = part * root, left - 1.0
    return part


@dataclass(frozen=True)
class MuJoCo(Law):
    """MuJoCo's law: contacts that are soft by its numbers, with elliptic cones, and forces that equal MuJoCo's.

    Forces are those that MuJoCo finds with ``cone="elliptic"``; a step ends where its integrator does. Restitution does
    not act.

    Parameters
    ----------
    solref : tuple of float, optional
        Time constant (s) and damping ratio, or -stiffness and -damping, of all contacts and joints. If None, what the
        file says of the shapes that touch, else (0.02, 1).
    solimp : tuple of float, optional
        Impedance at the surface and inside, the width (m) over which it changes, where and how it bends. If None, what
        the file says, else (0.9, 0.95, 0.001, 0.5, 2).
    impratio : float, optional
        How many times stiffer friction is than the normal. If None, what the file says, else 1.
    integrator : str, optional
        "Euler", with the damping of joints at the end of a step; "explicit", the same with that at its start (MuJoCo's
        Euler with its flag eulerdamp disabled); "implicitfast", with the damping of joints and of servos at its end. If
        None, what the file says, else "Euler": of "implicit", what "implicitfast" has of it, and of "RK4" single Euler
        steps, with a warning.

    Raises
    ------
    ModelError
        If a number is not what it should be.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> foot = fb.contact.Shape("ball", "sphere", 0.1)
    >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[foot], law=fb.contact.MuJoCo())
    >>> run = scene.simulate([0, 0, 0.1, 1, 0, 0, 0], duration=1.0)
    >>> run.contacts.force[-1].round(6).tolist(), bool(run.q[-1, 2] < 0.1)
    ([[0.0, 0.0, 9.81]], True)
    """

    solref: tuple[float, float] | None = None
    solimp: tuple[float, float, float, float, float] | None = None
    impratio: float | None = None
    integrator: str | None = None

    def __post_init__(self) -> None:
        if self.integrator is not None and self.integrator not in INTEGRATORS:
            raise ModelError(f"MuJoCo: integrator={self.integrator!r}: expected one of {', '.join(INTEGRATORS)}")
        for name, count in (("solref", 2), ("solimp", 5)):
            if (x := getattr(self, name)) is not None:
                object.__setattr__(self, name, _numbers(name, x, count))
        if self.solref is not None:
            _check_reference(self.solref)
        if self.solimp is not None:
            _check_power(self.solimp)
        if self.impratio is not None and not (is_number(self.impratio) and 0.0 < self.impratio < math.inf):
            raise ModelError(f"MuJoCo: impratio={self.impratio!r}: expected a finite number above zero")

    def on(self, model: Model, q: Sequence[float]) -> BoundMuJoCo:
        """The law for a robot, whose neutral coordinates are q."""
        ratio = self.impratio if self.impratio is not None else model.mechanism.contacts.impratio
        found = weights(model, q)
        return BoundMuJoCo(self, model, found, 1.0 if ratio is None else float(ratio))


@dataclass(frozen=True)
class BoundMuJoCo(Law):
    """The law for a robot."""

    law: MuJoCo
    model: Model
    weights: Weights
    ratio: float

    @property
    def integrator(self) -> str:
        """The integrator of the law, else that of the robot's file."""
        if self.law.integrator is not None:
            return self.law.integrator
        rules = self.model.mechanism.contacts
        if rules.integrator in ("implicit", "implicitfast"):
            return IMPLICIT_FAST
        return EXPLICIT if rules.implicit_damping is False else EULER

    def _soft(self, solref: Any, solimp: Any, margin: float, weight: float) -> dict[str, Any]:
        solref, solimp = self.law.solref or solref or SOLREF, self.law.solimp or solimp or SOLIMP
        _check_power(solimp)
        if (solref[0] > 0.0) != (solref[1] > 0.0):
            solref = SOLREF  # as MuJoCo does with numbers of both kinds
        return {"solref": tuple(solref), "solimp": tuple(solimp), "margin": margin, "weight": weight}

    def between(self, surfaces: Sequence[Surface | None], bodies: Sequence[str]) -> SoftContact:
        """The softness of the contact of two surfaces, on bodies (or frames) by name."""
        first, second = (PLAIN if x is None else x for x in surfaces)
        weight = sum(self.weights.bodies[body_of(self.model.mechanism, name)] for name in bodies)
        x = mix(first, second)
        return SoftContact(**self._soft(x.solref, x.solimp, x.margin, weight), ratio=self.ratio)

    def unkept(self, candidates: Any) -> str:
        """Restitution, and integrators that are not MuJoCo's in full; what rubs must slide too."""
        for x in candidates:
            if (x.torsion or x.rolling) and not x.friction > 0.0:
                raise ModelError(
                    f"contact {x.name!r} has torsional or rolling friction but no sliding friction, which MuJoCo's "
                    "law does not support; set friction=1e-5 or more"
                )
        written = self.model.mechanism.contacts.integrator if self.law.integrator is None else None
        messages = [_UNLIKE[written]] if written in _UNLIKE else []
        if bouncing := [x.name for x in candidates if x.restitution > 0.0]:
            names = ", ".join(map(repr, bouncing[:6]))
            messages.append(
                f"the restitution of {names} does not act under MuJoCo's law; let contacts bounce with "
                "law=fb.contact.MuJoCo(solref=(-stiffness, -damping))"
            )
        return "; ".join(messages)

    def of_joint(self, link: int, entry: int) -> SoftJoint:
        """The softness of a velocity of a joint."""
        x, weight = self.model.cluster_tree.moving[link].softness or JointSoftness(), self.weights.joints[link][entry]
        limit = Soft(**self._soft(x.limit_solref, x.limit_solimp, x.margin, weight))
        return SoftJoint(limit, Soft(**self._soft(x.friction_solref, x.friction_solimp, 0.0, weight)))


def _numbers(name: str, x: Any, count: int) -> tuple[float, ...]:
    try:
        found = tuple(float(y) for y in x)
    except (TypeError, ValueError, OverflowError):
        found = ()
    if len(found) != count or not all(map(math.isfinite, found)):
        raise ModelError(f"MuJoCo: {name}={x!r}: expected {count} finite numbers")
    return found


def _check_reference(solref: Sequence[float]) -> None:
    if (solref[0] > 0.0) != (solref[1] > 0.0):
        raise ModelError(
            f"MuJoCo: solref={tuple(solref)!r}: expected a time constant and a damping ratio, both above zero, or "
            "-stiffness and -damping, neither above zero"
        )


def _check_power(solimp: Sequence[float]) -> None:
    if (solimp[4] * 2**_ROOTS) % 1.0:
        raise ModelError(f"solimp={tuple(solimp)!r}: the power must be a multiple of 0.125, got {solimp[4]!r}")
