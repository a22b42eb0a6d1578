"""Conditions, enforced by forces, and `Restriction`, the base of conditions and loops: rows A(q) v = 0. Adding one:
subclass `Condition`, write its rates.

A condition returns one number per row, linear in the velocities, which is checked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np

from ..errors import ModelError
from ..expr import Expr, evaluate
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform
from ..spatial.vectors import Twist

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


_SAME = 1e-9  # relative: what differs less is rounding
_PAIRS = 4  # of trial velocities


def look_up(condition: Any, kind: str, table: Mapping[str, Any], name: str) -> Any:
    """An item that a condition asks for; only what it declares is known."""
    if name not in table:
        declared = ", ".join(map(repr, table)) or "none"
        raise ModelError(
            f"{type(condition).__name__} looks at {name!r}, which is not among its `{kind}` ({declared}); name it there"
        )
    return table[name]


def read_rates(condition: Any, found: Any) -> list[Scalar]:
    """The rates as a list of scalars."""
    rates = list(found) if isinstance(found, Iterable) and not isinstance(found, str | Mapping) else None
    if rates is None or not all(map(is_entry, rates)):
        kind = type(condition).__name__
        raise ModelError(f"{kind}.rates must return a list of finite numbers, one for each row, got {found!r}")
    return [x if isinstance(x, Expr) else float(x) for x in rates]


def is_entry(x: Any) -> bool:
    """Whether something can be an entry of a row: an expression, or a finite number."""
    return isinstance(x, Expr) or (isinstance(x, Real) and isfinite(x))


def check_linear(
    condition: Any, rates: Sequence[Scalar], entries: Sequence[Scalar], inputs: Mapping[Expr, bool]
) -> None:
    """Refuse rates that are not A v (`inputs` says what is a velocity): those whose entries of A depend on velocities,
    by trials with velocities of all sizes and of either sign, and those that are not zero at rest."""
    rng = np.random.default_rng(0)
    still = {x: rng.uniform(0.5, 1.0) for x, moves in inputs.items() if not moves}
    speeds = [x for x, moves in inputs.items() if moves]
    kind = type(condition).__name__
    at_rest, *trials = (
        _numbers([*rates, *entries], {**still, **dict(zip(speeds, v, strict=True))})
        for v in (np.zeros(len(speeds)), *_velocities(rng, len(speeds)))
    )
    n = len(rates)
    for trial in trials:
        if _differ(trials[0][n:], trial[n:]).any():
            raise ModelError(f"{kind}.rates must be linear in the velocities, A(q) v: its rows A change with these")
    left, usual = at_rest[:n], np.abs(trials[0][:n])
    if np.any(np.isfinite(usual) & ~(np.abs(left) <= _SAME * usual)):
        raise ModelError(
            f"{kind}.rates must be linear in the velocities, A(q) v, so zero where nothing moves; there they are "
            f"{left.tolist()} at some coordinates. For rows that move use row_acceleration="
        )


def _velocities(rng: np.random.Generator, n: int) -> Iterator[np.ndarray]:
    """Pairs of velocities (n) of opposite signs and other sizes."""
    for _ in range(_PAIRS):
        sign = rng.choice([-1.0, 1.0], n)
        yield from (side * sign * 10.0 ** rng.uniform(-2.0, 2.0, n) for side in (1.0, -1.0))


def _numbers(expressions: Sequence[Scalar], values: Mapping[Expr, float]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.array(evaluate(expressions, values), float)


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether numbers differ by more than rounding, or only one of them is a number."""
    return (np.isnan(a) != np.isnan(b)) | (np.abs(a - b) > _SAME * (np.abs(a) + np.abs(b)))


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

    Given to `System.constrained`, they are enforced by forces.

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
