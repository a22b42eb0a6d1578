"""Dynamics of actuators: how a control becomes the signal of a law, by an activation and by a delay. Frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..errors import ModelError
from .validate import read_number

Kind = Literal["integrator", "filter", "filterexact"]
_MOST_STEPS = 1000  # of a delay: each is a number of the state


@dataclass(frozen=True)
class Dynamics:
    """Dynamics of an actuator: its activation, which its law has in place of the control u, follows u.

    Parameters
    ----------
    kind : {'integrator', 'filter', 'filterexact'}
        "integrator": ȧct = u. "filter": ȧct = (u - act) / time_constant, integrated as the motion is: by an Euler step
        in scenes, by Runge-Kutta of a robot alone. "filterexact": the same, with the exact change of every step.
    time_constant : float, default 1.0
        Time constant (s) of a filter.
    range : tuple of float, optional
        Lower and upper activation; none if None.
    early : bool, default False
        The law has the activation at the end of the step, not that at its start.

    Raises
    ------
    ModelError
        If the kind or a number is not what it should be.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("arm")
    >>> _ = b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
    >>> robot = b.motor("motor", drives="rod", dynamics=fb.Dynamics("filterexact", 0.1)).build()
    >>> fb.simulate(robot, [0.0], u=[1.0], duration=0.1).act[-1].round(3)
    array([0.632])
    """

    kind: Kind
    time_constant: float = 1.0
    range: tuple[float, float] | None = None
    early: bool = False

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            words = ", ".join(map(repr, get_args(Kind)))
            raise ModelError(f"dynamics: kind={self.kind!r}: expected one of {words}")
        time = read_number("dynamics, time_constant", self.time_constant)
        if not time > 0.0:
            raise ModelError(f"dynamics: time_constant={self.time_constant!r}: expected a time (s) above zero")
        object.__setattr__(self, "time_constant", time)
        if self.range is not None:
            object.__setattr__(self, "range", read_range("dynamics, range", self.range))
        if not isinstance(self.early, bool | np.bool_):
            raise ModelError(f"dynamics: early={self.early!r}: expected True or False")


def read_range(what: str, value: Any) -> tuple[float, float]:
    """A pair (lower, upper)."""
    try:
        lower, upper = (float(x) for x in value)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: expected a pair (lower, upper), got {value!r}") from None
    if not (lower <= upper and lower < np.inf and upper > -np.inf):  # false for NaN too
        raise ModelError(f"{what}: the lower end must be a number not above the upper one, got {value!r}")
    return lower, upper


def read_dynamics(what: str, value: Any) -> Dynamics | None:
    """Dynamics from the user's argument, which may be its kind alone."""
    if value is None or isinstance(value, Dynamics):
        return value
    if isinstance(value, str):
        return Dynamics(value)  # type: ignore[arg-type]
    raise ModelError(f"{what}: dynamics={value!r}: expected fb.Dynamics(...), or 'integrator'")


def read_delay(what: str, value: Any) -> int:
    """A number of steps."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or not 0 <= int(value) <= _MOST_STEPS:
        raise ModelError(f"{what}: delay={value!r}: expected a whole number of steps, from 0 to {_MOST_STEPS}")
    return int(value)
