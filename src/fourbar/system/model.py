"""What a method of a robot works on: its mechanism, and the tree that this was lowered to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..model.lower import Lowered
from ..model.mechanism import Mechanism

if TYPE_CHECKING:
    from ..model.numbers import Number

Changes = tuple[tuple["Number", tuple[Any, ...]], ...]  # numbers, and the entries of their changes


@dataclass(frozen=True)
class Model:
    """A mechanism and what it was lowered to."""

    mechanism: Mechanism
    lowered: Lowered

    def shape(self, argument: str) -> tuple[int, ...]:
        """Core shape of an argument, by its name."""
        if argument in ("q", "q0", "q1"):
            return (self.lowered.nq,)
        if argument == "f_ext":
            return (len(self.mechanism.bodies), 6)
        if argument == "u":
            return (len(self.mechanism.actuators),)
        return () if argument == "dt" else (self.lowered.nv,)

    @property
    def numbers(self) -> list[Number]:
        """All numbers along which functions of the model can be differentiated."""
        from ..model.numbers import numbers

        return numbers(self.mechanism)

    def changed(self, lowered: Lowered, more: Changes) -> Model:
        """The same with other numbers: of the mechanism (`lowered`, which is another one then), and `more`."""
        assert not more, f"these belong to nothing: {more}"
        return replace(self, lowered=lowered)
