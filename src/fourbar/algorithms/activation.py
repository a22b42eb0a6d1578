"""From controls to the signals of actuators' laws: activations that follow the controls, and delays by steps.

Neither depends on the motion: an activation is driven by its control alone, which is held during a step. So the signal
at any time of a step is known from the state at its start. Entries of the state are those of `signal_places`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..expr.functions import exp, select
from ..mechanism.actuator_dynamics import Dynamics
from ..mechanism.actuators import Actuator, SignalPlaces, signal_places
from ..spatial.linear import Scalar, Vec
from .actuators import Ends, ends_of, within


class Signal(NamedTuple):
    """How one actuator comes by its signal."""

    control: Ends
    dynamics: Dynamics | None
    places: SignalPlaces


@dataclass(frozen=True)
class Signals:
    """How all actuators come by their signals. `euler`: filters are integrated by Euler steps, else by Runge-Kutta."""

    each: tuple[Signal, ...]
    euler: bool

    @classmethod
    def of(cls, actuators: Sequence[Actuator], euler: bool) -> Signals:
        """Those of actuators, in order."""
        places = signal_places(actuators)
        both = zip(actuators, places, strict=True)
        return cls(tuple(Signal(ends_of(*a.control_range), a.dynamics, x) for a, x in both), euler)

    @property
    def size(self) -> int:
        """The entries of the state."""
        return sum((x.places.activation >= 0) + len(x.places.waiting) for x in self.each)

    def following(self, act: Vec, u: Vec, dt: Scalar) -> Vec:
        """The state at the end of a step."""
        after = list(act)
        for signal, control in zip(self.each, u, strict=True):
            if signal.dynamics is not None:
                after[signal.places.activation] = self._end(signal, act, control, dt)
            for place in signal.places.waiting[:-1]:
                after[place] = act[place + 1]
            for place in signal.places.waiting[-1:]:
                after[place] = control
        return Vec(after)

    def signals(self, act: Vec, u: Vec, dt: Scalar, number: Scalar = 0.0) -> Vec:
        """The inputs of the laws in a pass of a step: of an Euler step there is one, of Runge-Kutta 0, 1, 2, 3."""
        return Vec([self._signal(x, act, own, dt, number) for x, own in zip(self.each, u, strict=True)])

    def at_rest(self, act: Vec, u: Vec) -> Vec:
        """The inputs of the laws at a state, before its step."""
        found = []
        for x, own in zip(self.each, u, strict=True):
            found.append(_acting_control(x, act, own) if x.dynamics is None else act[x.places.activation])
        return Vec(found)

    def _signal(self, x: Signal, act: Vec, own: Scalar, dt: Scalar, number: Scalar) -> Scalar:
        if x.dynamics is None:
            return _acting_control(x, act, own)
        if x.dynamics.early:
            return self._end(x, act, own, dt)
        if self.euler:
            return act[x.places.activation]
        return within(self._during(x, act, own, dt, number), _range(x.dynamics))

    def _end(self, x: Signal, act: Vec, own: Scalar, dt: Scalar) -> Scalar:
        """The activation at the end of a step."""
        dynamics, a, u = x.dynamics, act[x.places.activation], within(_acting_control(x, act, own), x.control)
        assert dynamics is not None
        if dynamics.kind == "integrator":
            return within(a + dt * u, _range(dynamics))
        z = dt * (1.0 / dynamics.time_constant)
        if dynamics.kind == "filterexact":
            part: Scalar = 1.0 - exp(-z)
        else:
            part = z if self.euler else z * (1.0 - z * (0.5 - z * (1.0 / 6.0 - z * (1.0 / 24.0))))
        return within(a + (u - a) * part, _range(dynamics))

    def _during(self, x: Signal, act: Vec, own: Scalar, dt: Scalar, number: Scalar) -> Scalar:
        """The activation in a pass of a Runge-Kutta step, without its range."""
        dynamics, a, u = x.dynamics, act[x.places.activation], within(_acting_control(x, act, own), x.control)
        assert dynamics is not None
        time = dt * _by_pass(number, (0.0, 0.5, 0.5, 1.0))
        if dynamics.kind == "integrator":
            return a + time * u
        if dynamics.kind == "filterexact":
            return a + (u - a) * (1.0 - exp(-(time * (1.0 / dynamics.time_constant))))
        z = dt * (1.0 / dynamics.time_constant)
        first, second = 0.5 * z, 0.5 * z * (1.0 - 0.5 * z)
        return a + (u - a) * _by_pass(number, (0.0, first, second, z * (1.0 - second)))


def _by_pass(number: Scalar, values: tuple[Scalar, Scalar, Scalar, Scalar]) -> Scalar:
    early = select(number < 0.5, values[0], values[1])
    return select(number < 1.5, early, select(number < 2.5, values[2], values[3]))


def _acting_control(x: Signal, act: Vec, own: Scalar) -> Scalar:
    """The control that acts in a step: that of the step, or one that has waited."""
    return act[x.places.waiting[0]] if x.places.waiting else own


def _range(dynamics: Dynamics) -> Ends:
    return (None, None) if dynamics.range is None else ends_of(*dynamics.range)
