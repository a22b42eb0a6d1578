"""Parameters of a robot that differ from sample to sample of a simulation: `numbers={"hand.mass": masses}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..functions.varying import argument_names, parameters
from ..mechanism.mechanism import Mechanism
from ..tree.parameters import Parameter, variable

_NOT_NEGATIVE = ("mass", "armature", "damping", "friction", "kp", "kd", "kv")


class Numbers(NamedTuple):
    """Parameters, in the order of the model, and their values (..., *shape), by the names of arguments."""

    which: tuple[Parameter, ...]
    values: dict[str, np.ndarray]

    def called(self, x: Parameter) -> str:
        """The name of a parameter as an argument."""
        return argument_names(self.which)[self.which.index(x)]


NOTHING = Numbers((), {})


def which_numbers(mechanism: Mechanism, numbers: Any) -> tuple[Parameter, ...]:
    """The parameters that numbers by name are given for, in the order of the model; none if None."""
    if numbers is None or (isinstance(numbers, Mapping) and not numbers):
        return ()
    if not isinstance(numbers, Mapping):
        raise ArgumentError(f"numbers={numbers!r}: expected arrays by name, such as {{'hand.mass': masses}}")
    given = {x.name: x for x in parameters(mechanism, tuple(numbers))}
    which = tuple(x for x in variable(mechanism) if x.name in given)
    for x in which:
        if x.owners == "loops":
            raise ArgumentError(
                f"numbers: {x.name!r} belongs to a loop, which would have to be closed anew; build robots with other "
                "loops by robot.with_parameters"
            )
    return which


def refuse_dry_friction(which: Iterable[Parameter]) -> None:
    """Refuse parameters that act in scenes only."""
    for x in which:
        if x.owners == "joints" and x.field == "friction":
            raise ArgumentError(f"numbers: {x.name!r}: dry friction acts in scenes only; simulate fb.Scene(robot)")


def are_passive(which: Iterable[Parameter]) -> bool:
    """Whether springs or dampers are among parameters: joints may have them that have none in the robot."""
    return any(x.field in ("damping", "stiffness") for x in which)


def read_numbers(mechanism: Mechanism, numbers: Any) -> Numbers:
    """Numbers by name as the user gives them; nothing if None."""
    which = which_numbers(mechanism, numbers)
    values = [_read(x, numbers[x.name]) for x in which]
    return Numbers(which, dict(zip(argument_names(which), values, strict=True))) if which else NOTHING


def _read(x: Parameter, given: Any) -> np.ndarray:
    try:
        array = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"numbers: {x.name!r}: expected numbers, got {given!r}") from None
    if array.ndim < len(x.shape) or array.shape[array.ndim - len(x.shape) :] != x.shape:
        shape = ", ".join(["...", *map(str, x.shape)])
        raise ArgumentError(f"numbers: {x.name!r} must have shape ({shape}), got {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"numbers: {x.name!r} is NaN or infinite in some samples")
    if x.field in _NOT_NEGATIVE and (array < 0.0).any():
        raise ArgumentError(f"numbers: {x.name!r} is negative in some samples, the least is {array.min():g}")
    return array


def nominal(mechanism: Mechanism, x: Parameter) -> np.ndarray:
    """The value that a robot itself has."""
    own = mechanism.gravity if x.name == "gravity" else x.values(mechanism)
    return np.reshape(np.array(own, float), x.shape)
