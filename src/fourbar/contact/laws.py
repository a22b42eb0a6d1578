"""Contact laws: how the normal velocity after a step, the gap and the impulse are related.

All are c = v + R λ + bias with 0 ≤ λ ⟂ c ≥ 0 along the normal. Rigid: R = 0, and the bias is what closes the gap in
this step and no more. Compliant: a spring and a damper, stepped implicitly, so that any stiffness is stable.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..expr import maximum, minimum, select
from ..spatial.linear import Scalar


class NormalLaw(NamedTuple):
    """R and bias of a row along a normal."""

    compliance: Scalar
    bias: Scalar


class Law:
    """A contact law. What touches is the same for all shapes of a scene, unless a law says otherwise."""

    integrator = ""  # that of MuJoCo, if the law is MuJoCo's
    recovers = False  # whether penetrations are taken back apart from the impulses

    def on(self, model: Any, q: Any) -> Any:
        """The law for a robot, whose neutral coordinates are q."""
        return self

    def between(self, surfaces: Any, bodies: Any) -> Any:
        """The law of two surfaces of a file (None of others), on bodies or frames by name."""
        return self

    def of_joint(self, link: int, entry: int) -> Any:
        """Softness of the limits and the dry friction of a joint's velocity; None if they are rigid."""
        return None

    def acting(self, touch: Any, on_terrain: bool) -> Any:
        """A contact with the point at which forces act: on what does not move.

        The points of a foot on a plane are in one plane then, however far each of them is from it, and all of them can
        stick at once: on the foot itself the last of a gap would turn it, and what is not at the same height slides.
        """
        return touch._replace(point=touch.point - touch.normal * touch.gap) if on_terrain else touch

    def unkept(self, candidates: Any) -> str:
        """A message about what of some candidates does not act under this law; empty if all does."""
        return ""


@dataclass(frozen=True)
class Rigid(Law):
    """Contacts of bodies that do not enter each other: exact Signorini and Coulomb.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.contact.Rigid()
    Rigid()
    """

    recovers = True

    def normal(self, gap: Scalar, dt: Scalar) -> NormalLaw:
        """An open gap may close; where it is negative, bodies may rest (see `recovery`)."""
        return NormalLaw(0.0, maximum(gap / dt, 0.0))


@dataclass(frozen=True)
class Compliant(Law):
    """Contacts with a spring and a damper at every point; friction is that of Coulomb.

    Parameters
    ----------
    stiffness : float, default 100000.0
        Stiffness (N/m) of every point.
    damping : float, default 1000.0
        Damping (N s/m) of every point.

    Raises
    ------
    ModelError
        If a number is not what it should be.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.contact.Compliant(stiffness=2e4, damping=300.0)
    Compliant(stiffness=20000.0, damping=300.0)
    """

    stiffness: float = 1e5
    damping: float = 1e3

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            x = getattr(self, name)
            least = "above zero" if name == "stiffness" else "not negative"
            if not (isinstance(x, Real) and 0.0 <= float(x) < np.inf) or (name == "stiffness" and not float(x) > 0.0):
                raise ModelError(f"{name}={x!r}: expected a finite number {least}")
            object.__setattr__(self, name, float(x))

    def normal(self, gap: Scalar, dt: Scalar) -> NormalLaw:
        """λ = -dt (k (φ + dt v) + d v) where that pushes."""
        softness = 1.0 / (dt * self.stiffness + self.damping)
        return NormalLaw(softness / dt, gap * (softness * self.stiffness))


def rebound(bias: Scalar, gap: Scalar, dt: Scalar, before: Scalar, after: Scalar, e: Scalar, least: Scalar) -> Scalar:
    """The bias with restitution: what comes with a velocity `before` below -`least`, and would touch in this step
    (moving with `after`), leaves with e times that."""
    thrown = minimum(bias, e * before)
    fast = select(before < -least, thrown, bias)
    return select(gap + dt * after <= 0.0, fast, bias)
