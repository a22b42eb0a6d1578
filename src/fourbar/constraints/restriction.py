"""The base of loops, given by a residual φ(q) = 0, and of conditions, given by rates A(q) v = 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..spatial.linear import Scalar

Rates = Callable[[Sequence[Scalar]], Sequence[Scalar]]


class Restriction(ABC):
    """Rows that motion keeps, written as a residual or as rates. Frozen and hashable."""

    holonomic: ClassVar[bool]  # whether the rows are rates of a residual
    sights: ClassVar[str]  # what it calls the bodies and frames that it looks at: the name of that property

    @property
    @abstractmethod
    def joints(self) -> tuple[str, ...]:
        """Joints whose coordinates or velocities it uses."""

    @abstractmethod
    def residual_and_rates(self, view: Any, rates_of: Rates) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        """φ (zero for rows that are not the rate of anything) and A v, as it sees the moving robot; `rates_of` gives
        the rates of scalars along time."""
