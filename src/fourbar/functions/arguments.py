"""The arguments of methods, each declared once: what it is called, what it is, and so its shape for a model.

A method names those that it takes: `@method(Q, V, A, results="tau", optional=[F_EXT])`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Argument, to_array
from .model import Model


@dataclass(frozen=True)
class DeclaredArgument(ABC):
    """An argument as it is declared."""

    name: str

    @abstractmethod
    def shape(self, model: Any) -> tuple[int, ...]:
        """Its core shape for a model."""

    def on(self, model: Model, optional: bool = False) -> Argument:
        """The argument of a function of a model, which may be left out or not."""
        return Argument(self.name, self.shape(model), optional)

    def read(self, model: Model, function: str, value: Any) -> np.ndarray:
        """A value given for it in a call of a function, as an array (..., *shape) of float64."""
        return to_array(function, self.on(model), value)


@dataclass(frozen=True)
class SizedArgument(DeclaredArgument):
    """A vector of a given number of entries, whatever the model; without entries, one number."""

    count: int

    def shape(self, model: Model) -> tuple[int, ...]:
        return (self.count,) if self.count else ()


class ConfigurationArgument(DeclaredArgument):
    """Coordinates (nq). It moves along the group and the loops: its tangent has nv entries."""

    def shape(self, model: Model) -> tuple[int, ...]:
        return (model.cluster_tree.nq,)

    def on(self, model: Model, optional: bool = False) -> Argument:
        return Argument(self.name, self.shape(model), optional, (model.cluster_tree.nv,))


class OpenCoordinates(DeclaredArgument):
    """Coordinates (nq) each of which may change by itself, also such that loops open."""

    def shape(self, model: Model) -> tuple[int, ...]:
        return (model.cluster_tree.nq,)


class Tangent(DeclaredArgument):
    """A number for each independent velocity (nv): velocities, accelerations, forces."""

    def shape(self, model: Model) -> tuple[int, ...]:
        return (model.cluster_tree.nv,)


class JointForces(DeclaredArgument):
    """A force of each velocity of each joint, independent or not."""

    def shape(self, model: Model) -> tuple[int, ...]:
        return (model.cluster_tree.spanning_tree.nv,)


class Wrenches(DeclaredArgument):
    """A wrench [moment; force] on each body (n_bodies, 6), or on some, by their names."""

    def shape(self, model: Model) -> tuple[int, ...]:
        return len(model.mechanism.bodies), 6

    def on(self, model: Model, optional: bool = False) -> Argument:
        return Argument(self.name, self.shape(model), optional, rows=tuple(b.name for b in model.mechanism.bodies))


class ActuatorForces(DeclaredArgument):
    """A force of each actuator (n_actuators)."""

    def shape(self, model: Model) -> tuple[int, ...]:
        return (len(model.mechanism.actuators),)


@dataclass(frozen=True)
class Scalar(DeclaredArgument):
    """One number, with a default or without."""

    default: float | None = None

    def shape(self, model: Model) -> tuple[int, ...]:
        return ()

    def on(self, model: Model, optional: bool = False) -> Argument:
        return Argument(self.name, self.shape(model), optional, default=self.default)


Q, Q0, Q1 = map(ConfigurationArgument, ("q", "q0", "q1"))
COORDINATES = OpenCoordinates("q")
V, A, TAU = map(Tangent, ("v", "a", "tau"))
B = Tangent("b")  # a right side of M x = b
THETA = Tangent("theta")  # in a chart: q = q0 ⊕ θ
F_EXT = Wrenches("f_ext")
U = ActuatorForces("u")
DT = Scalar("dt")
DT_OR_1 = Scalar("dt", 1.0)
TAU_PASSIVE = JointForces("tau_passive")
FRICTION_VELOCITY = Scalar("friction_velocity")
