"""Reading what a simulation is asked for: times, states, controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Argument, batch_shape, named_rows, to_array, to_count, tracing_advice, wrong_core
from ...errors import ArgumentError, warn
from ...functions.angles import stored_joints
from ...functions.arguments import F_EXT
from ...functions.nan_reasons import without_wrong_coordinates
from ...once import once_per_object
from ...representation import quantity
from ...system.system import System
from ...tolerances import OPEN
from ...tree.closed_positions import are_closed
from ...tree.cluster_tree import ClusterTree
from ..loops.varied_loops import Which, loop_parameters, varied_clusters, varied_functions
from ..robot.runge_kutta_step import Traced
from .outcome import SimulationWarning

_UNIT_TIME = np.array(1.0)  # an array, so that the call need not convert it
_ANSWER = f"{F_EXT.name}(t, q, v)"  # of a function of the user's
_LONGEST = 1 << 62  # steps that machine code can count
_NOT_UNIT = 1e-6  # a difference of a quaternion's length from 1 that is no rounding of written coordinates


class MotionRequest(NamedTuple):
    """The arguments of a motion as the user gives them to `caller`; times and counts have been read.

    Controls are held for `hold` steps; where `is_law` is set, a function `tau` is asked in every pass of a step.
    """

    caller: str
    q: Any
    v: Any
    tau: Any
    u: Any
    f_ext: Any
    dt: float
    steps: int
    hold: int
    is_law: bool
    every: int
    passive: bool
    numbers: Any
    observe: Any
    progress: Callable[[Iterable[int]], Iterable[int]] | None
    threads: int | None
    act: Any = None


def check_closed(robot: System, q: np.ndarray, which: Which = ()) -> None:
    """Refuse configurations whose loops are open, but for loops that depend on parameters `which`: these are closed
    for each sample (`varied_loops.close`).
    """
    varied = [loop for loops in varied_clusters(robot, which) for loop in loops] if which else []
    closed = are_closed(robot.model.cluster_tree, q, OPEN, varied)
    if not closed.all():
        gap = robot.loop_gap(q)[~closed].max()
        raise ArgumentError(
            f"q: the loops of {robot.name!r} are open by {gap:.3g} at the start; start from robot.assemble(q)"
        )


def starting_configuration(
    robot: System, q: np.ndarray, still: np.ndarray, which: Which = (), values: Mapping[str, np.ndarray] | None = None
) -> np.ndarray:
    """q with quaternions of unit length; refuses coordinates that describe no placement. Loops stay as they are: where
    they are ill-conditioned, closing them again would move them. They may depend on values of parameters, by name.
    """
    q = without_wrong_coordinates(robot.model.cluster_tree, "simulate", q)
    known = loop_parameters(robot, which) if which else ()
    integrate = varied_functions(robot, known).integrate if known else robot.integrate
    start = integrate(q, still, _UNIT_TIME, *((values or {})[x.name] for x in known))
    at = 0
    for cluster in robot.model.cluster_tree.clusters:
        own = slice(at, at + cluster.embedding.nq)
        at = own.stop
        if not cluster.is_free:
            start[..., own] = q[..., own]
    return start


def is_positive(x: Any) -> bool:
    """Whether a value is a finite positive number."""
    try:
        return isinstance(x, Real) and not isinstance(x, bool) and 0.0 < float(x) < np.inf
    except OverflowError:
        return False


def check_times(duration: Any, dt: Any) -> None:
    """Refuse times that are no times, or a step longer than all of them."""
    if not (is_positive(duration) and is_positive(dt) and np.isfinite(float(duration) / float(dt))):
        raise ArgumentError(f"duration and dt must be positive and finite, got duration={duration!r}, dt={dt!r}")
    if dt > (1.0 + 1e-9) * duration:
        raise ArgumentError(f"dt={dt!r} is longer than duration={duration!r}: no whole step fits")


def read_state(caller: str, robot: Any, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """q (..., nq) and v (..., nv; zero if None) as new arrays with the same leading axes."""
    if not isinstance(robot, System):
        raise ArgumentError(
            f"{caller} takes a robot, such as fb.load(...) returns, robot.constrained(...) or robot.actuated(...), got "
            f"{robot!r}"
        )
    arguments = [Argument("q", (robot.nq,)), Argument("v", (robot.nv,))]
    q = to_array(caller, arguments[0], q)
    v = np.zeros(robot.nv) if v is None else to_array(caller, arguments[1], v)
    batch = batch_shape(caller, arguments, [q, v])
    q = unit_quaternions(caller, robot, np.broadcast_to(q, (*batch, robot.nq)).copy())
    return q, np.broadcast_to(v, (*batch, robot.nv)).copy()


def unit_quaternions(caller: str, robot: System, q: np.ndarray) -> np.ndarray:
    """Configurations (..., nq) at which motions begin, changed in place: quaternions of another length than one are
    normalised, with a warning. Those that are zero or not finite are left as they are.
    """
    for name, first in _quaternions(robot.model.cluster_tree):
        quaternion = q[..., first : first + 4]
        size = np.linalg.norm(quaternion, axis=-1, keepdims=True)
        off = (np.abs(size - 1.0) > _NOT_UNIT) & (size > 0.0) & np.isfinite(size)
        if off.any():
            quaternion[...] = np.where(off, quaternion / np.where(off, size, 1.0), quaternion)
            warn(f"{caller}: the quaternion of joint {name!r}, q[{first}:{first + 4}], has the length "
                 f"{size[off][0]:.6g} at the start, not 1; it is normalised. The order is (w, x, y, z)",
                 SimulationWarning)  # fmt: skip
    return q


@once_per_object
def _quaternions(tree: ClusterTree) -> tuple[tuple[str, int], ...]:
    """The joints with quaternions in q, and the index of the first coordinate of each quaternion."""
    return tuple((name, first + k) for name, joint, first in stored_joints(tree) for k in joint.quaternions)


def read_counts(every: Any, passive: Any, threads: Any = None) -> int:
    """Validate `every`, `threads` and `passive`; `every` as a number of steps."""
    if (count := to_count(every)) is None:
        raise ArgumentError(f"every={every!r}: expected a whole number of steps, at least 1")
    if threads is not None and to_count(threads) is None:
        raise ArgumentError(f"threads must be a whole number of at least 1, got {threads!r}")
    if not isinstance(passive, bool | np.bool_):
        raise ArgumentError(f"passive={passive!r}: expected True or False")
    return min(count, _LONGEST)


def check_step(dt: Any) -> None:
    """Validate the length of a step (s), or an array of them."""
    if dt.__class__ is float and 0.0 < dt < np.inf:
        return
    try:
        array = np.asarray(dt, float)
        known = bool(((array > 0.0) & (array < np.inf)).all())
    except (TypeError, ValueError, OverflowError):
        known = False
    if not known:
        raise ArgumentError(f"step: dt={dt!r}: expected the length of a step in seconds, positive and finite")


def check_progress(progress: Any) -> None:
    """Refuse what cannot wrap the range of steps."""
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress={progress!r}: expected a function that wraps the range of steps, e.g. tqdm.tqdm")


def read_period(period: Any, dt: Any) -> int:
    """The steps of a control period, of a length that has to be one."""
    if not is_positive(dt):
        raise ArgumentError(f"dt={dt!r}: expected the length of a step in seconds, positive and finite")
    if period is None:
        return 1
    steps = round(float(period) / float(dt)) if is_positive(period) else 0
    if steps < 1 or abs(steps * dt - period) > 1e-6 * dt:
        raise ArgumentError(f"period={period!r}: expected a multiple of dt={dt!r}, in seconds")
    return steps


def read_hold(period: Any, dt: Any) -> tuple[int, bool]:
    """The steps for which controls are held, and whether a function of joint forces is asked in every pass of a step
    instead: with a period of zero.
    """
    if isinstance(period, Real) and not isinstance(period, bool) and period == 0:
        return read_period(None, dt), True
    return read_period(period, dt), False


def read_steps(steps: Any, period: int, *controls: Any) -> int:
    """The number of steps: if None, as long as the rows of the first array among controls last."""
    if steps is None:
        steps = _count_rows(*controls) * period
    if (count := to_count(steps)) is None:
        raise ArgumentError(f"steps={steps!r}: expected a whole number of steps, at least 1")
    return count


def _count_rows(*controls: Any) -> int:
    """The number of rows of the first array among controls."""
    for control in controls:
        if control is not None and not callable(control) and np.ndim(control) >= 2:
            return int(np.shape(control)[-2])
    raise ArgumentError("rollout: give steps=, or an array tau (..., rows, nv) or u (..., rows, nu)")


def check_actuators(robot: System) -> None:
    """Refuse controls of a robot without actuators."""
    if not robot.nu:
        raise ArgumentError(
            f"u: robot {robot.name!r} has no actuators that could be controlled; declare them with "
            "Builder.actuator(...), or give joint forces as tau="
        )


def read_act(caller: str, robot: System, act: Any, is_driven: bool) -> np.ndarray:
    """The state of the actuators (..., na) at the start; zero if None."""
    if act is None:
        return np.zeros(robot.na)
    if not is_driven:
        raise ArgumentError(f"{caller}: act= is the state of actuators, which act with controls only: give u= too")
    return to_array(caller, Argument("act", (robot.na,)), act)


def refuse_act(caller: str, robot: System) -> None:
    """Refuse actuators with states of their own, where derivatives do not know these."""
    if robot.na:
        raise ArgumentError(
            f"{caller}: actuators of {robot.name!r} have dynamics or delays, whose states ({robot.names.activations[0]}"
            f"{', ...' if robot.na > 1 else ''}) are not among those that are differentiated here. Replace them by "
            "robot.with_parameters(actuators={name: {'dynamics': None, 'delay': 0}}), or differentiate by tau"
        )


def on_copies(function: Any) -> Any:
    """A function (t, q, v) of the user's that is called on copies, which it may keep and change; what is traced, or
    None, as it is.
    """
    if function is None or isinstance(function, Traced):
        return function
    return lambda t, q, v: function(t, q.copy(), v.copy())


def read_control(caller: str, robot: System, control: Any, rows: int, name: str) -> Any:
    """A function, or an array (..., rows or more, size), of which one row (size) stands for all."""
    if name == "f_ext":
        return _read_wrenches(caller, robot, control, rows)
    if name == "u":
        check_actuators(robot)
    if callable(control):
        return on_copies(control)
    try:
        array: Any = np.asarray(control)
        if array.dtype.kind == "c":  # of which NumPy would take the real part
            raise ArgumentError(f"{name} must hold real numbers, got an array of dtype {array.dtype}")
        array = array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ArgumentError):
            raise
        if advice := tracing_advice(control):
            raise ArgumentError(f"{name} cannot be read as an array of numbers{advice}") from None
        array = np.array(np.nan)
    size = robot.nu if name == "u" else robot.nv
    check_control(name, control, array.shape, rows, size)
    return np.broadcast_to(array, (rows, size)) if array.ndim == 1 else array


def check_control(name: str, control: Any, shape: tuple[int, ...], rows: int, size: int) -> None:
    """Refuse a control of a shape that is neither (..., rows or more, size) nor (size,), which is constant."""
    if shape == (size,):
        return
    if len(shape) < 2 or shape[-1] != size:
        what = "controls of actuators" if name == "u" else "forces"
        raise ArgumentError(
            f"{name}: expected an array (..., rows, {size}) of {what}, or ({size},) if they are constant, or a "
            f"function {name}(t, q, v), got "
            f"{f'an array of shape {shape}' if shape else repr(control)}"
        )
    if shape[-2] < rows:
        raise ArgumentError(
            f"{name} has {quantity(shape[-2], 'row')}, but the motion needs {rows}: one for each period"
        )


@cache
def _answer(name: str, size: int) -> Argument:
    return Argument(f"{name}(t, q, v)", (size,))


def read_answer(
    caller: str, batch: tuple[int, ...], answer: Any, name: str, size: int, core: tuple[int, ...] = ()
) -> np.ndarray:
    """Forces or controls (..., size) that a user's function returned: one per state of a batch, or one for all. Its
    results had the shape (..., *core), (..., size) if that is empty.
    """
    answered = to_array(caller, _answer(name, size), answer)
    shape = answered.shape
    over = zip(reversed(shape[:-1]), reversed(batch), strict=False)
    if len(shape) - 1 > len(batch) or not all(n in (1, own) for n, own in over):
        states = f"a batch of states {batch}" if batch else "one state"
        core = core or (size,)
        raise ArgumentError(
            f"{caller}: {name}(t, q, v) returned shape {(*shape[:-1], *core)} for {states}, expected {(*batch, *core)}"
        )
    return answered


def _read_wrenches(caller: str, robot: System, f_ext: Any, rows: int) -> Any:
    """f_ext as an array (..., rows, 6 n_bodies) with equal rows, or a function (t, q, v) -> (..., 6 n_bodies)."""
    if isinstance(f_ext, Traced):
        return Traced(TracedWrenches(f_ext.function, robot.names.bodies))
    if callable(f_ext):
        return _wrench_function(caller, robot, f_ext)
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


def _wrench_function(caller: str, robot: System, function: Callable[..., Any]) -> Callable[..., np.ndarray]:
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
        wrenches = self.function(t, q, v)
        every = Argument(_ANSWER, (len(self.bodies), 6), rows=self.bodies)
        if not isinstance(wrenches, Mapping):
            return _entries("traced", every, wrenches).ravel().tolist()
        given, _ = named_rows("traced", every, wrenches, _entries)
        still = [0.0] * 6
        return [x for k in range(len(self.bodies)) for x in given.get(k, still)]


def _entries(function: str, argument: Argument, value: Any) -> np.ndarray:
    """Traced scalars as an array of the shape of an argument, or of all its entries in a row."""
    found = np.asarray(value, dtype=object)
    if found.size != math.prod(argument.shape):
        raise wrong_core(function, argument, found.shape)
    return found.reshape(argument.shape)
