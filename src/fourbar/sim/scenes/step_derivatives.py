"""Derivatives of the steps of a scene as users ask for them: arguments by name, numbers, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...arrays import is_lazy
from ...contact.derivatives.recordings import StepInputs, step_derivative
from ...errors import ArgumentError, unknown, warn
from ...functions.derivatives import named_tuple, read_names
from ...linalg import transpose
from ...once import make_recent
from ...tree.parameters import Parameter
from ..loops.varied_loops import loop_parameters
from ..motions.given_numbers import FRICTION, NOTHING, GivenNumbers, nominal_numbers
from ..motions.outcome import SimulationWarning
from ..motions.read_arguments import read_constant, refuse_act
from .scene_motion import StepArguments, Stepped

if TYPE_CHECKING:
    from .scene import Scene

_ARGUMENTS = ("q", "v", "tau", "u")
_ROUNDING = 1e-9  # m/s: a residual, or a margin, that may be rounding
_RECOVERS = -3  # the place in a report of what is above zero where penetrations are taken back
_EDGE = 10.0  # times the tolerance: a solution within that does not tell the mode of a contact


@dataclass(frozen=True)
class Differentiated:
    """A step that was differentiated, and how far its derivative can be trusted.

    `step`: the step. `margins` (..., n): velocities (m/s, rad/s) by which contacts, and then limits and dry friction of
    joints, are away from a change of mode (open, stick, slide); `tolerance`: those below which a mode is not certain,
    and a one-sided derivative was taken. `condition` (...): by how much velocities of contacts may change per unit
    velocity; where it is large, 1e4 and more, v⁺ depends on how redundant contacts share their forces.
    """

    step: Stepped
    margins: np.ndarray
    condition: np.ndarray
    tolerance: float

    @property
    def edges(self) -> np.ndarray:
        """The contacts and joint rows (..., n) that are at a change of mode."""
        return np.asarray(self.margins <= self.tolerance)

    @property
    def at_edge(self) -> np.ndarray:
        """The samples (...) in which some are."""
        return np.asarray(self.edges.any(axis=-1))


@dataclass(frozen=True)
class StepJacobian(Differentiated):
    """First derivatives of (q⁺, v⁺), in tangents: A (..., 2 nv, 2 nv) by (q, v); B (..., 2 nv, nu) by u, or by tau
    (..., 2 nv, nv) where no u was given; `parameters`: (..., 2 nv, *number) by name.
    """

    A: np.ndarray
    B: np.ndarray
    parameters: dict[str, np.ndarray]


@dataclass(frozen=True)
class StepRates(Differentiated):
    """Rates of q⁺ and v⁺ (..., nv) along a direction."""

    q: np.ndarray
    v: np.ndarray


@dataclass(frozen=True)
class StepGradient(Differentiated):
    """The gradient by each argument that was given: `gradient.q`, `.v`, `.tau`, `.u`, each of its tangent's shape; and
    by `parameters`, by name.
    """

    gradient: Any
    parameters: dict[str, np.ndarray]


class MovingNumbers(NamedTuple):
    """Numbers of a step with values for all that are differentiated by, and their arguments by name."""

    numbers: GivenNumbers
    arguments: dict[str, str]
    parameters: dict[str, Parameter]


_NO_NUMBERS = MovingNumbers(NOTHING, {}, {})


class StepDerivatives:
    """The derivatives of a scene's steps: one compiled function for each choice of arguments."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._made: dict[Any, Any] = {}
        self._friction, self._still = scene.friction, np.zeros(scene.robot.nv)

    # ------------------------------------------------------------------ what users call

    def jacobian(self, x: StepArguments, numbers: Any, parameters: Any, smoothing: float) -> StepJacobian:
        """A, B and the blocks by parameters."""
        names = read_names("step.jacobian", parameters)
        moving = self.numbers("step.jacobian", numbers, names)
        control = "tau" if x.u is None else "u"
        wanted = ("q", "v", control, *moving.arguments.values())
        step, (matrix, report) = self._run("jacobian", x, moving, wanted, smoothing)
        n, count = self._scene.robot.nv, self._width(control)
        blocks, at = {}, 2 * n + count
        for name in names:
            parameter = moving.parameters[name]
            size = prod(parameter.shape)
            block = matrix[..., at : at + size].reshape(*matrix.shape[:-1], *parameter.shape)
            blocks[name] = symmetric_part(parameter, block)
            at += size
        rest = self.judge("step.jacobian", step, report)
        return StepJacobian(*rest, matrix[..., : 2 * n], matrix[..., 2 * n : 2 * n + count], blocks)

    def jvp(
        self, args: Any, tangents: Any, x: StepArguments, numbers: Any, parameters: Any, smoothing: float
    ) -> StepRates:
        """Rates along a direction."""
        x = _with_state("step.jvp", x, args)
        rates = _by_name("step.jvp, tangents", tangents)
        if parameters is not None and not isinstance(parameters, Mapping):
            raise TypeError(f"step.jvp: parameters are rates by name, {{'hand.mass': 1.0}}, got {parameters!r}")
        by_number = dict(parameters or {})
        moving = self.numbers("step.jvp", numbers, tuple(by_number))
        for name in rates:
            if getattr(x, name) is None and name != "tau":
                raise TypeError(f"step.jvp: a tangent of {name!r} is given, but not {name!r} itself")
        if not (rates or by_number):
            raise TypeError("step.jvp needs tangents of the arguments, or rates of parameters=")
        wanted = (*(n for n in _ARGUMENTS if n in rates), *moving.arguments.values())
        given = {f"d_{name}": rate for name, rate in rates.items()}
        given |= {f"d_{moving.arguments[name]}": rate for name, rate in by_number.items()}
        step, (dq, dv, report) = self._run("jvp", x, moving, wanted, smoothing, given)
        return StepRates(*self.judge("step.jvp", step, report), dq, dv)

    def vjp(
        self, args: Any, cotangent: Any, x: StepArguments, numbers: Any, parameters: Any, smoothing: float
    ) -> StepGradient:
        """The gradient of a weighted sum."""
        x = _with_state("step.vjp", x, args)
        if not isinstance(cotangent, tuple) or len(cotangent) != 2:
            raise TypeError("step.vjp: the cotangent is a pair of arrays (w_q, w_v), each (..., nv)")
        names = read_names("step.vjp", parameters)
        moving = self.numbers("step.vjp", numbers, names)
        arguments = tuple(name for name in _ARGUMENTS if getattr(x, name) is not None)
        still = np.zeros(self._scene.robot.nv)
        weights = {name: still if w is None else w for name, w in zip(("w_q", "w_v"), cotangent, strict=True)}
        count, wanted = len(arguments), (*arguments, *moving.arguments.values())
        step, (*gradients, report) = self._run("vjp", x, moving, wanted, smoothing, weights)
        both = zip(names, gradients[count:], strict=True)
        by_number = {name: symmetric_part(moving.parameters[name], g) for name, g in both}
        gradient = named_tuple("Gradient", arguments)(*gradients[:count])
        return StepGradient(*self.judge("step.vjp", step, report), gradient, by_number)

    # ------------------------------------------------------------------ running

    def _width(self, control: str) -> int:
        robot = self._scene.robot
        return len(robot.mechanism.actuators) if control == "u" else robot.nv

    def numbers(self, caller: str, numbers: Any, names: Sequence[str]) -> MovingNumbers:
        """The numbers of a call, with the scene's own values of those that are differentiated by and not given."""
        if numbers is None and not names:
            return _NO_NUMBERS
        scene = self._scene
        stated = numbers if isinstance(numbers, Mapping) else {}
        missing = tuple(x for x in names if x not in stated and x != FRICTION)
        nominal = nominal_numbers(scene.robot.mechanism, missing, scene.grounds)
        if FRICTION in names:
            nominal[FRICTION] = scene.friction
        known = scene.read_numbers({**nominal, **stated} if nominal else numbers)
        by_name = {x.name: x for x in known.every}
        places = dict(zip((x.name for x in known.every), known.values, strict=True))
        if FRICTION in names:
            by_name[FRICTION] = Parameter(FRICTION, (len(scene.contacts),), "contacts", 0, FRICTION)
            places[FRICTION] = FRICTION
        asked = tuple(by_name[name] for name in names)
        loops = loop_parameters(scene.robot, tuple(x for x in asked if x in known.which))
        if loops:
            raise ArgumentError(
                f"{caller}: {loops[0].name!r} changes loops that are solved while moving, and derivatives of steps by "
                "such numbers are not available; differentiate by others, or use finite differences"
            )
        return MovingNumbers(known, {name: places[name] for name in names}, {x.name: x for x in asked})

    def _run(
        self, kind: str, x: StepArguments, moving: MovingNumbers, wanted: tuple[str, ...], smoothing: float,
        more: Mapping[str, Any] | None = None,
    ) -> tuple[Stepped, Any]:  # fmt: skip
        """The step, and the results of a derivative at its solution."""
        step = self.solve(x, moving)
        return step, self.evaluate(kind, x._replace(impulse=step.impulse), moving, wanted, smoothing, more)

    def solve(self, x: StepArguments, moving: MovingNumbers) -> Stepped:
        """The step."""
        if x.u is not None:
            refuse_act("step", self._scene.robot)
        known = moving.numbers
        numbers: dict[str, Any] = dict(zip((y.name for y in known.every), known.values.values(), strict=True))
        if known.friction is not None:
            numbers[FRICTION] = known.friction
        by_name = {"u": x.u, "f_ext": x.f_ext, "impulse": x.impulse, "numbers": numbers or None, "threads": x.threads}
        return self._scene.step(x.q, x.v, x.tau, dt=x.dt, **by_name)

    def evaluate(
        self, kind: str, x: StepArguments, moving: MovingNumbers, wanted: tuple[str, ...], smoothing: float,
        more: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """The results of a derivative where the impulses are those of the step."""
        scene, known = self._scene, moving.numbers
        key = kind, wanted, known.which, known.terrain, x.u is not None, x.f_ext is not None, smoothing, False
        function = make_recent(self._made, key, lambda: self._make(key))
        friction = self._friction if known.friction is None else known.friction
        values = {"q": x.q, "v": x.v, "impulse": x.impulse, "dt": x.dt, "friction": friction, **known.values}
        values |= {"tau": self._still if x.tau is None else x.tau, "u": x.u}
        if x.f_ext is not None:
            flat = read_constant(kind, scene.robot, x.f_ext)
            values["f_ext"] = flat.reshape(*flat.shape[:-1], -1, 6)
        if more:
            values |= more
        arguments, threads = function.state[0].arguments, {} if x.threads is None else {"threads": x.threads}
        arrays = [values[a.name] for a in arguments]
        results = function(*arrays, **threads)
        deep = results[-1][..., _RECOVERS] > 0.0
        if is_lazy(deep) or not np.any(deep):
            return results
        recovering = make_recent(self._made, (*key[:-1], True), lambda: self._make((*key[:-1], True)))
        some = recovering(*(_of_samples(y, a.shape, deep) for y, a in zip(arrays, arguments, strict=True)), **threads)
        return tuple(_with_samples(y, deep, new) for y, new in zip(results, some, strict=True))

    def _make(self, key: tuple[Any, ...]) -> Any:
        """The function of a derivative."""
        kind, wanted, which, terrain, driven, pushed, smoothing, recovers = key
        _check_smoothing(kind, smoothing)
        if smoothing and self._scene.spec.soft:
            raise ArgumentError(f"step.{kind}: smoothing={smoothing!r}: MuJoCo's law is soft itself; leave it out")
        spec = self._scene.spec._replace(numbers=terrain)
        of = StepInputs(self._scene.robot.mechanism, spec, which, driven, pushed, float(smoothing), recovers)
        return step_derivative(kind, of, wanted)

    def judge(self, caller: str, step: Stepped, report: np.ndarray) -> tuple[Stepped, np.ndarray, np.ndarray, float]:
        """The step, with margins, condition and tolerance of its derivative; warns of steps that were not solved."""
        tolerance = max(_EDGE * self._scene.spec.tolerance, _ROUNDING)
        missed = np.asarray(report[..., -1] > tolerance)
        if missed if missed.ndim == 0 else missed.any():
            some = f" in {np.count_nonzero(missed)} of {missed.size} samples" if missed.ndim else ""
            warn(
                f"{caller}: the impulses of the step miss its equations by {np.max(report[..., -1]):.2g} m/s{some}, "
                f"more than the tolerance of {tolerance:g} m/s, so that the derivatives there are not those of the "
                "step: contacts were not solved, or restitution was reduced since it would have added energy",
                SimulationWarning,
            )
        return step, report[..., :_RECOVERS], report[..., -2], tolerance


def _of_samples(array: Any, core: tuple[int, ...], which: np.ndarray) -> np.ndarray:
    """The rows (samples, *core) of some samples of an argument, which may be the same for all."""
    array = np.asarray(array, float)
    return np.broadcast_to(array, (*which.shape, *core))[which]


def _with_samples(array: Any, which: np.ndarray, new: np.ndarray) -> np.ndarray:
    """An array (..., *core) with new rows (samples, *core) of some samples."""
    changed = np.array(array)
    changed[which] = new
    return changed


def _check_smoothing(kind: str, smoothing: Any) -> None:
    try:
        known = 0.0 <= float(smoothing) < np.inf
    except (TypeError, ValueError):
        known = False
    if not known:
        raise ArgumentError(f"step.{kind}: smoothing={smoothing!r}: expected a velocity in m/s, not negative")


def _by_name(what: str, given: Any) -> dict[str, Any]:
    """Arguments or tangents by name, without those left out."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in _ARGUMENTS:
                raise unknown(f"argument of {what.partition(',')[0]}", name, _ARGUMENTS)
        named = dict(given)
    elif isinstance(given, tuple) and len(given) <= len(_ARGUMENTS):
        named = dict(zip(_ARGUMENTS, given, strict=False))
    else:
        raise TypeError(f"{what}: expected a tuple of arrays (q, v, tau, u), of which the last may be left out, or a "
                        "dictionary by name")  # fmt: skip
    return {name: value for name, value in named.items() if value is not None}


def _with_state(caller: str, x: StepArguments, args: Any) -> StepArguments:
    """The arguments of a step with those of a tuple or dictionary."""
    named = _by_name(f"{caller}, arguments", args)
    for name in ("q", "v"):
        if name not in named:
            raise TypeError(f"{caller}: {name!r} is missing among the arguments")
    return x._replace(**named)


def symmetric_part(parameter: Parameter, block: np.ndarray) -> np.ndarray:
    """Derivatives (..., n, n) by a symmetric matrix, within symmetric changes."""
    return 0.5 * (block + transpose(block)) if parameter.is_symmetric else block
