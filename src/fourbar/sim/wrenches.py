"""Wrenches on bodies in simulations, `f_ext`: constant ones, and functions of time and state.

Steps take them as one row of numbers, body after body, like other controls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Argument, named_rows, to_array, wrong_core
from ..functions.arguments import F_EXT
from ..system.system import System
from .read_arguments import on_copies, read_answer
from .runge_kutta_step import Traced

_ANSWER = f"{F_EXT.name}(t, q, v)"  # of a function of the user's


def read_wrenches(caller: str, robot: System, f_ext: Any, rows: int) -> Any:
    """f_ext as controls of a motion with so many periods: an array (..., rows, 6 n_bodies) with equal rows, a function
    (t, q, v) -> (..., 6 n_bodies), or None where there are none.
    """
    if f_ext is None:
        return None
    if isinstance(f_ext, Traced):
        return Traced(TracedWrenches(f_ext.function, robot.names.bodies))
    if callable(f_ext):
        return _asked(caller, robot, f_ext)
    flat = read_constant(caller, robot, f_ext)[..., None, :]
    return np.broadcast_to(flat, (*flat.shape[:-2], rows, flat.shape[-1]))


def read_constant(caller: str, robot: System, f_ext: Any, name: str = F_EXT.name) -> np.ndarray:
    """Wrenches (..., n_bodies, 6), or by the names of bodies, as (..., 6 n_bodies); messages call them `name`."""
    found = to_array(caller, F_EXT.on(robot.model)._replace(name=name), f_ext)
    return found.reshape(*found.shape[:-2], -1)


def wrench_cores(caller: str, robot: System, f_ext: Any) -> Any:
    """The core shapes of wrenches, some of which may be dask arrays: of all bodies, or of each that is named."""
    argument = F_EXT.on(robot.model)
    if not isinstance(f_ext, Mapping):
        return argument.shape
    named_rows(caller, argument, f_ext, lambda *_: np.zeros(6))  # which says what is wrong with a name
    return dict.fromkeys(f_ext, argument.shape[1:])


def _asked(caller: str, robot: System, function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """A function of the user's, which returns wrenches in any of their forms, as a function of flat results."""
    on_states = on_copies(function)

    def wrenches(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        found = read_constant(caller, robot, on_states(t, q, v), _ANSWER)
        return read_answer(caller, q.shape[:-1], found, F_EXT.name, found.shape[-1], (len(robot.names.bodies), 6))

    return wrenches


@dataclass(frozen=True)
class TracedWrenches:
    """A traced function (t, q, v) -> wrenches, on all bodies or on some by name, as one of flat results."""

    function: Callable[..., Any]
    bodies: tuple[str, ...]

    def __call__(self, t: Any, q: Any, v: Any) -> list[Any]:
        """The wrenches on all bodies, one after the other."""
        found = self.function(t, q, v)
        every = Argument(_ANSWER, (len(self.bodies), 6), rows=self.bodies)
        if not isinstance(found, Mapping):
            return _entries("traced", every, found).ravel().tolist()
        given, _ = named_rows("traced", every, found, _entries)
        still = [0.0] * 6
        return [x for k in range(len(self.bodies)) for x in given.get(k, still)]


def _entries(function: str, argument: Argument, value: Any) -> np.ndarray:
    """Traced scalars as an array of the shape of an argument, or of all its entries in a row."""
    found = np.asarray(value, dtype=object)
    if found.size != math.prod(argument.shape):
        raise wrong_core(function, argument, found.shape)
    return found.reshape(argument.shape)
