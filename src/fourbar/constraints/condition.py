"""Conditions, enforced by forces: rows A(q) v = 0. Adding one: subclass `Condition`, write its rates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .condition_checks import read_rates
from .restriction import Rates, Restriction


class MovingView(Protocol):
    """The moving robot as a condition sees it, by name, over any scalar."""

    def q(self, joint: str) -> Vec:
        """Coordinates of a joint."""
        ...

    def v(self, joint: str) -> Vec:
        """Velocities of a joint."""
        ...

    def pose(self, body: str) -> Transform:
        """Pose of a body or frame in the frame of the link that carries all that the condition looks at."""
        ...

    def twist(self, place: str) -> Twist:
        """Its velocity relative to that link, in its own axes."""
        ...


class Condition(Restriction):
    """Rates that are to be zero, or to change as prescribed: rows A(q) v = 0. Frozen and hashable.

    Given to `System.constrained`, they are kept by forces.

    Notes
    -----
    Only the rates are written, linear in the velocities and so zero where nothing moves. Their rows A and what velocity
    adds to their change, Ȧ v, come from differentiating the trace.
    """

    holonomic: ClassVar[bool] = False
    sights: ClassVar[str] = "places"

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints whose coordinates or velocities are used."""
        return ()

    @property
    def places(self) -> tuple[str, ...]:
        """Bodies and frames whose motions are used."""
        return ()

    @abstractmethod
    def rates(self, view: MovingView) -> Sequence[Scalar]:
        """A v: one number per row."""

    def residual_and_rates(self, view: MovingView, rates_of: Rates) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        """The rates, which are those of no residual."""
        rates = read_rates(self, self.rates(view))
        return [0.0] * len(rates), rates
