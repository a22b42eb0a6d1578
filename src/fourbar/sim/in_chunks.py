"""Rollouts of dask arrays: lazily, chunk by chunk, in this process or on many machines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Argument, is_lazy
from ..chunks.apply import Result, apply
from ..chunks.payloads import Sent
from ..functions.step_end import OBSERVED
from ..system.system import System
from .given_numbers import NOWHERE, Grounds, which_numbers
from .observe import check_driven, read_observations
from .read_arguments import check_actuators, check_control
from .runge_kutta_step import Traced
from .wrenches import wrench_cores

Read = Callable[[Any], tuple[Any, ...]]
CONTROLS = ("control", "u", "f_ext")


def any_lazy(*given: Any) -> bool:
    """Whether some of these are dask arrays, or mappings that hold some."""
    return any(is_lazy(x) or (isinstance(x, Mapping) and any_lazy(*x.values())) for x in given)


class ChunkRollout:
    """Runs a rollout of some samples, `roll(**arrays, **options)`, and reads the arrays of its result.

    Controls that are functions of Python may keep state: each chunk has copies of its own.
    """

    def __init__(
        self, roll: Callable[..., Any], read: Read, options: Mapping[str, Any], controls: Mapping[str, Sent]
    ) -> None:
        self._roll, self._read, self._options, self._controls = roll, read, dict(options), dict(controls)

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
        controls = {name: sent.anew for name, sent in self._controls.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of samples by their number in the chunk; results say it of all samples
            return self._read(self._roll(**_nested(arrays), **controls, **self._options))


def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name; those of mappings as "numbers:hand.mass". What is None is left out."""
    found: dict[str, Any] = {}
    for name, x in given.items():
        if isinstance(x, Mapping):
            found |= {f"{name}:{inner}": value for inner, value in x.items()}
        elif x is not None:
            found[name] = x
    return found


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with their mappings restored."""
    found: dict[str, Any] = {}
    for name, x in flat.items():
        outer, _, inner = name.partition(":")
        if inner:
            found.setdefault(outer, {})[inner] = x
        else:
            found[name] = x
    return found


def rolled_lazily(
    name: str,
    roll: Callable[..., Any],
    read: Read,
    given: Mapping[str, Any],
    cores: Mapping[str, Any],
    results: list[Result],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Results of rollouts as dask arrays, by name.

    `given`: the arguments that differ from sample to sample, with core shapes `cores`; None where they are left out.
    Controls may be functions. Arguments that are mappings of arrays, such as numbers of the robot by name, have
    mappings of core shapes.
    """
    arrays, shapes = _flat(given), _flat(cores)
    controls, more = {}, {}
    for which in CONTROLS:
        if not callable(arrays.get(which)):
            continue
        function = arrays.pop(which)
        sent = Sent.of(f"{name}: {which}", function)
        if isinstance(function, Traced):  # which keeps nothing, and is compiled: once per process
            more[which] = function
        else:
            controls[which] = sent
    arguments = [Argument(x, shapes[x]) for x in arrays]
    run = ChunkRollout(roll, read, {**options, **more}, controls)
    found = apply(name, run, arrays, arguments, results)
    return dict(zip((x.name for x in results), found, strict=True))


class Lazy(NamedTuple):
    """The arguments of rollouts beside states, some of which are dask arrays, and what is recorded.

    `given` and `cores` are those of `rolled_lazily`; `observed` are the shapes of observations by name.
    """

    given: dict[str, Any]
    cores: dict[str, Any]
    observed: dict[str, tuple[int, ...]]

    @classmethod
    def read(
        cls,
        robot: System,
        given: Mapping[str, Any],
        observe: Any,
        rows: int,
        model: Any = None,
        grounds: Grounds = NOWHERE,
    ) -> Lazy:
        """From `given`: q, v, control, u, f_ext, numbers, by name; a control has at least so many rows.

        Observations are those of `model`, that of the robot if None; `grounds` have numbers too.
        """
        model = robot.model if model is None else model
        sizes = {"control": robot.nv, "u": robot.nu}
        if given["u"] is not None:
            check_actuators(robot)
        cores: dict[str, Any] = {"q": (robot.nq,), "v": (robot.nv,)}
        cores |= {name: control_core(name, given[name], rows, size) for name, size in sizes.items()}
        cores["f_ext"] = () if callable(given["f_ext"]) else wrench_cores("rollout", robot, given["f_ext"])
        which = which_numbers(robot.mechanism, given["numbers"], grounds, given.get("friction"))
        cores["numbers"] = {x.name: x.shape for x in which}
        observed = read_observations(observe, model)
        if given["u"] is None:
            check_driven(observed, robot.mechanism)
        return cls(dict(given), cores, {name: x.shape(model) for name, x in observed})

    def observations(self, found: dict[str, Any]) -> dict[str, Any]:
        """The observations, removed from the results."""
        return {name: found.pop(f"{OBSERVED}{name}") for name in self.observed}


def control_core(name: str, control: Any, rows: int, size: int) -> tuple[int, ...]:
    """The core shape of an array of controls (..., rows or more, size)."""
    if control is None or callable(control):
        return ()
    shape = tuple(np.shape(control))
    check_control(name, control, shape, rows, size)
    return shape[-2:]
