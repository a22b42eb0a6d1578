"""Rollouts of dask arrays: lazily, chunk by chunk, in this process or on many machines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Argument, is_lazy
from ...chunks.apply import Result, apply
from ...chunks.bundles import Sent
from ...errors import ArgumentError
from ...functions.step_end import OBSERVED
from ...system.system import System
from ..observe import check_driven, read_observations
from ..robot.runge_kutta_step import Traced
from .given_numbers import NOWHERE, which_numbers
from .read_arguments import MotionRequest, check_actuators, check_control, wrench_cores
from .run import MEASURES, Contacts, Residuals, Run

Read = Callable[[Any], tuple[Any, ...]]
CONTROLS = ("tau", "u", "f_ext")
_CONTACTS = ("gap", "force", "found")


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
            return self._read(self._roll(**_nest(arrays), **controls, **self._options))


def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name; those of mappings as "numbers:hand.mass". Arguments that are None are left out."""
    flat: dict[str, Any] = {}
    for name, argument in given.items():
        if isinstance(argument, Mapping):
            flat |= {f"{name}:{inner}": value for inner, value in argument.items()}
        elif argument is not None:
            flat[name] = argument
    return flat


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with their mappings restored."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        outer, _, inner = name.partition(":")
        if inner:
            nested.setdefault(outer, {})[inner] = value
        else:
            nested[name] = value
    return nested


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
    controls, constants = {}, {}
    for which in CONTROLS:
        if not callable(arrays.get(which)):
            continue
        function = arrays.pop(which)
        sent = Sent.of(f"{name}: {which}", function)
        if isinstance(function, Traced):  # which keeps nothing, and is compiled: once per process
            constants[which] = function
        else:
            controls[which] = sent
    arguments = [Argument(x, shapes[x]) for x in arrays]
    run = ChunkRollout(roll, read, {**options, **constants}, controls)
    found = apply(name, run, arrays, arguments, results)
    return dict(zip((x.name for x in results), found, strict=True))


class Lazy(NamedTuple):
    """The arguments that differ from sample to sample, by name, their core shapes, and the shapes of observations."""

    given: dict[str, Any]
    cores: dict[str, Any]
    observed: dict[str, tuple[int, ...]]

    @classmethod
    def read(cls, robot: System, scene: Any, request: MotionRequest) -> Lazy:
        """From a request for a motion of a robot, or of a scene if there is one."""
        model, grounds = (robot.model, NOWHERE) if scene is None else (scene.model, scene.grounds)
        arguments = {name: getattr(request, name) for name in ("q", "v", "act", *CONTROLS, "numbers")}
        if request.u is not None:
            check_actuators(robot)
        sizes, rows = {"tau": robot.nv, "u": robot.nu}, -(-request.steps // request.hold)
        cores: dict[str, Any] = {"q": (robot.nq,), "v": (robot.nv,), "act": (robot.na,)}
        cores |= {name: control_core(name, arguments[name], rows, size) for name, size in sizes.items()}
        cores["f_ext"] = () if callable(request.f_ext) else wrench_cores("rollout", robot, request.f_ext)
        cores["numbers"] = {x.name: x.shape for x in which_numbers(robot.mechanism, request.numbers, grounds)}
        observed = read_observations(request.observe, model)
        if request.u is None:
            check_driven(observed, robot.mechanism)
        return cls(arguments, cores, {name: x.shape(model) for name, x in observed})


def rollout_lazily(x: Any, scene: Any, roll: Callable[..., Run], request: MotionRequest, period: Any) -> Run:
    """`roll(x, ...)`, a rollout of a robot, or of a scene if there is one, with dask arrays as results."""
    robot = x if scene is None else scene.robot
    if not isinstance(robot, System):
        raise ArgumentError(
            f"rollout of dask arrays takes a robot, such as fb.load(...) returns, got {robot!r}; one that is "
            "constrained or actuated is simulated chunk by chunk by fb.dask.sweep"
        )
    lazy = Lazy.read(robot, scene, request)
    rows = 1 + -(-request.steps // request.every)  # the start, and the end too where it is none of the others
    results = _results(robot, scene, request, lazy.observed, rows)
    options = {name: getattr(request, name) for name in ("dt", "steps", "every", "passive", "observe", "threads")}
    arrays = rolled_lazily(
        "rollout", partial(roll, x), _read, lazy.given, lazy.cores, results, {**options, "period": period}
    )
    t = np.minimum(np.arange(rows) * request.every, request.steps) * request.dt
    observed = {name: arrays.pop(f"{OBSERVED}{name}") for name in lazy.observed}
    if scene is not None:
        arrays["contacts"] = Contacts(scene.contacts, **{name: arrays.pop(name) for name in _CONTACTS})
        arrays["last"] = arrays.pop("last_q"), arrays.pop("last_v")
        arrays["residuals"] = Residuals(*(arrays.pop(name) for name in Residuals._fields))
    return Run(t, robot=robot, observations=observed, scene=scene, **arrays)


def _results(robot: System, scene: Any, request: MotionRequest, observed: Mapping[str, Any], rows: int) -> list[Result]:
    """The arrays of a run with that number of rows, in the order of `_read`."""
    nq, nv, time = robot.nq, robot.nv, (rows,)
    results = [Result("q", (nq,), before=time), Result("v", (nv,), before=time), Result("steps", (), int),
             Result("diverged", (), bool)]  # fmt: skip
    if scene is None:
        results.append(Result("lost", (), before=time))
    else:
        n = len(scene.contacts)
        results += [
            *(Result(name, (), before=time) for name in MEASURES),
            Result("converged", (), bool, before=time),
            Result("gap", (n,), before=time), Result("force", (n, 3), before=time),
            Result("found", (n,), bool, before=time), Result("last_q", (nq,)), Result("last_v", (nv,)),
            *(Result(name, (), before=time) for name in Residuals._fields),
        ]  # fmt: skip
    if request.u is not None:
        results.append(Result("u", (robot.nu,), before=time))
        results += [Result("act", (robot.na,), before=time)] if robot.na else []
    return results + [Result(f"{OBSERVED}{name}", shape, before=time) for name, shape in observed.items()]


def _read(run: Run) -> tuple[np.ndarray, ...]:
    """The arrays of a run, in the order of the results."""
    arrays: list[Any] = [run.q, run.v, run.steps, run.diverged]
    if run.contacts is None:
        arrays.append(run.lost)
    else:
        contacts, last = (getattr(run.contacts, name) for name in _CONTACTS), run.last or ()
        arrays += [*(getattr(run, name) for name in MEASURES), run.converged, *contacts, *last, *run.residuals]
    if run.u is not None:
        arrays.append(run.u)
    if run.act is not None:
        arrays.append(run.act)
    return (*arrays, *run.observations.values())


def control_core(name: str, control: Any, rows: int, size: int) -> tuple[int, ...]:
    """The core shape of an array of controls (..., rows or more, size)."""
    if control is None or callable(control):
        return ()
    shape = tuple(np.shape(control))
    check_control(name, control, shape, rows, size)
    return shape[-2:]
