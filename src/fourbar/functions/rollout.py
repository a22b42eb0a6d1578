"""Rollouts: a step, written once, that runs on its own results for as long as is asked, in machine code.

A `Step` says what a step is. Its `write(recorder, given)` records it: `given` holds the flat entries of all arguments
by name; it returns, by name, the flat entries of the new state and of whatever else can be recorded. For example a
mass on a spring, pushed by u, with a stiffness that may differ from sample to sample:

    def write(recorder, given):
        (x,), (v,), (u,), (k,), (dt,) = (given[name] for name in ("x", "v", "u", "k", "dt"))

        def move(x, v, u, k, dt):
            v = v + dt * (u - k * x)
            return x + dt * v, v, 0.5 * (v * v + k * x * x)

        x, v, energy = recorder.call(move, x, v, u, k, dt)
        return {"x": (x,), "v": (v,), "energy": (energy,)}

    step = Step("mass", write, state={"x": (), "v": ()}, controls={"u": ()}, numbers={"k": (), "dt": ()},
                records={"energy": ()})
    rolled = Rollout(step).run({"x": x0, "v": v0}, {"u": u}, {"k": k, "dt": 1e-3}, steps=1000, every=10)
    rolled.records["x"], rolled.records["energy"], rolled.state["x"], rolled.made, rolled.diverged

- *state* (..., *shape) is carried: the result of the same name takes its place after each step;
- *numbers* (..., *shape) stay as they are during the run, and may differ from sample to sample;
- *controls* (..., rows, *shape) have a row for every `hold` steps: a zero-order hold;
- *records* are results of a step besides its state. Row k of what is recorded is that of step (k + 1) `every`: the
  state after that step, and what that step computed.

Leading axes broadcast. A sample has the same bits in any batch and on any number of threads. One whose new state is not
finite is `diverged`: it keeps its last finite state, and its records are NaN from there on; the others go on. If
`stop` is set, the step returns a scalar "stop" too, and a sample where this is above zero moves no more after that
step. Ctrl-C ends a run after the same number of steps of all samples; the KeyboardInterrupt has the outcome as `run`.
With FOURBAR_BACKEND=numpy steps are interpreted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ..compile.cache import cached_program
from ..compile.llvm import batch_lanes, single_lane
from ..compile.rollout_kernel import Interpreter, Request, Roles, RolloutKernel, advance_patiently
from ..compile.rollout_loop import DIVERGED, RUNNING, STOPPED
from ..compile.workers import default_threads
from ..errors import ArgumentError
from ..expr import Program, select
from ..expr.partial_evaluation import KNOWN, Separated, separate
from ..once import cached_property, make_once, once_property
from ..spatial.linear import Vec
from .context import record_program
from .function import Variant, at_least_one, backend
from .recording import fingerprint

Shape = tuple[int, ...]
Entries = Mapping[str, Sequence[Any]]  # the flat entries of arguments or results, by name
GIVEN, NONE = "given", "none"  # controls: an array of the rollout, or there are none
ALWAYS = 1 << 62  # hold=ALWAYS: one row of controls for a whole call
_STOP = "stop"
PATIENCE = "patience"  # a state of steps that may be made with less of it first
_FEWEST_TOGETHER = 64  # samples from which on steps are made with little patience first
_AT_ONCE = 50_000_000  # operations between two looks at signals: some 5 to 30 ms
_AROUND = 100  # operations that go with every step
FEWEST = 8  # steps between two looks, however large the batch is
_WORTH_SHARING = 3_000_000  # operations from which on several threads pay
_FEW_NUMBERS = 1  # such as the length of steps, which decides hardly anything
_WORTH_SEPARATING = 50  # what numbers alone decide is computed once if it is more than one in so many operations


@dataclass(frozen=True)
class Step:
    """A step: how it is recorded, and the core shapes of what it takes and gives, by name.

    `key` identifies what `write` does, as far as fourbar's source does not: of steps with equal keys the program is
    written once (see `fingerprint`). With None it is written anew. `thresholds` are those of the numbers with which
    results are only compared, so that they decide nothing else.

    With `patience`, from the least to the most, a step has a state PATIENCE, the last one, which it returns as it was.
    With less than the most it may refuse to go on, by a state that is not finite: then it is made again with more, for
    all samples that refused together. What it takes must not depend on the patience with which it was made.
    """

    name: str
    write: Callable[[Any, dict[str, tuple[Any, ...]]], Entries]
    state: Mapping[str, Shape]
    controls: Mapping[str, Shape] = field(default_factory=dict)
    numbers: Mapping[str, Shape] = field(default_factory=dict)
    records: Mapping[str, Shape] = field(default_factory=dict)
    stop: bool = False
    key: Any = None
    thresholds: tuple[str, ...] = ()
    patience: tuple[float, ...] = ()

    @property
    def roles(self) -> Roles:
        """The roles of the arguments of its program."""
        state = {name: f"next_{name}" for name in self.state}
        return Roles(state, tuple(self.numbers), tuple(self.controls), _STOP if self.stop else "")

    def program(self) -> Program:
        """The program of one step."""
        if self.key is None:
            return record_program(self.name, self._record)
        return cached_program(
            partial(fingerprint, ("rollout", self.key)), partial(record_program, self.name, self._record)
        )

    def _record(self, recorder: Any) -> list[tuple[str, Shape, Sequence[Any]]]:
        shapes = {**self.state, **self.numbers, **self.controls}
        given = {name: recorder.input(name, shape) for name, shape in shapes.items()}
        values = self.write(recorder, given)
        wanted = {f"next_{name}": (shape, values[name]) for name, shape in self.state.items()}
        wanted |= {name: (shape, values[name]) for name, shape in self.records.items()}
        if self.stop:
            wanted[_STOP] = ((), values[_STOP])
        return [(name, shape, list(entries)) for name, (shape, entries) in wanted.items()]


class Now(NamedTuple):
    """Where all samples are: their states, what became of each, how many steps each has made; steps since the start."""

    state: list[np.ndarray]
    status: np.ndarray  # (n,)
    made: np.ndarray  # (n,)
    steps: int


@dataclass(frozen=True)
class Rolled:
    """The outcome of a run so far. `steps`: how many were made; `made` (...): in how many of them each sample moved.
    `state` is the last finite one.
    """

    state: dict[str, np.ndarray]
    records: dict[str, np.ndarray]
    steps: int
    made: np.ndarray
    diverged: np.ndarray  # (...)
    stopped: np.ndarray  # (...)


class Rollout:
    """A step that can be repeated. Programs and machine code are made when they are first needed."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self._kernels: dict[tuple[bool, tuple[str, ...], bool], Any] = {}

    @once_property
    def program(self) -> Program:
        """The program of one step."""
        return self.step.program()

    @once_property
    def separation(self) -> Separated | None:
        """The program in two: what the numbers alone decide, for once, and what is left of a step; None if there is
        hardly anything that they decide.
        """
        deciding = [shape for name, shape in self.step.numbers.items() if name not in self.step.thresholds]
        if sum(map(math.prod, deciding)) <= _FEW_NUMBERS:
            return None
        found = separate(self.program, self.step.numbers)
        return found if found.moved * _WORTH_SEPARATING > self.program.operations else None

    def precompute(self, numbers: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The argument of a step of `separation` for numbers (n, *shape): these themselves if it is not."""
        if self.separation is None or not len(numbers[0]):
            return list(numbers)
        before = self.separation.before
        (found,) = Variant(before, {}).run(list(numbers), numbers[0].shape[:1], None, default_threads())
        return [found]

    @cached_property
    def work(self) -> int:
        """Operations of a step of one sample, with those that put its state in place."""
        return self.program.operations + _AROUND + 4 * sum(math.prod(shape) for shape in self.step.state.values())

    def several(self, n: int) -> int:
        """Steps of n samples that take some milliseconds."""
        if backend() == "numpy":
            return FEWEST
        return max(FEWEST, _AT_ONCE // (self.work * max(1, n)))

    def start(
        self,
        state: Mapping[str, Any],
        numbers: Mapping[str, Any] | None = None,
        batch: Shape = (),
        made: np.ndarray | None = None,
        caller: str = "",
        separated: bool = True,
    ) -> RolloutRun:
        """A motion that is at its beginning; it has at least the leading axes `batch`. Errors name `caller`.

        `made` (n), if it is given, are the numbers of steps that its samples have behind them: it begins with the least
        of these, and a sample that is ahead waits for the others. What follows from numbers alone is computed once,
        if they are `separated`; live worlds, whose numbers may change, have other bits.
        """
        return RolloutRun(self, state, numbers or {}, batch, made, caller, separated)

    def runner(self, single: bool, records: tuple[str, ...], separated: bool = False) -> Any:
        """The kernel that makes steps, for one sample or for batches, and records these results.

        It takes numbers, which may then change from call to call, or `precompute` of them.
        """
        separation = self.separation if separated else None

        def make() -> Any:
            program, roles = self.program, self.step.roles
            if separation is not None:
                program, roles = separation.rest, roles._replace(numbers=(KNOWN,))
            if backend() == "numpy":
                return Interpreter(program, roles, records)
            return RolloutKernel(program, single_lane() if single else batch_lanes(), roles, records)

        return make_once(self._kernels, (single, records, separation is not None), make)

    def run(
        self,
        state: Mapping[str, Any],
        controls: Mapping[str, Any] | None = None,
        numbers: Mapping[str, Any] | None = None,
        *,
        steps: int,
        every: int = 1,
        hold: int = 1,
        records: Sequence[str] | None = None,
        threads: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> Rolled:
        """Make steps, and record after every `every` of them: all results, or those named in `records`.

        `on_progress(k)` is called whenever some are done, k in all.
        """
        for name, value in (("steps", steps), ("every", every), ("hold", hold)):
            at_least_one(self.step.name, name, value)
        rows = {name: np.asarray(x, float) for name, x in (controls or {}).items()}
        batch = _leading(self.step.name, self.step.controls, rows, 1)
        motion = self.start(state, numbers, batch)
        names = (*self.step.state, *self.step.records) if records is None else tuple(records)
        into = motion.room(names, steps // every)
        driven = motion.rows(rows, -(-steps // hold))
        try:
            while motion.now.steps < steps:
                count = min(motion.several, steps - motion.now.steps)
                motion.advance(count, driven, into, hold=hold, every=every, threads=threads)
                if on_progress is not None:
                    on_progress(motion.now.steps)
        except KeyboardInterrupt as error:  # what was computed is consistent, and its length says how far it came
            error.run = motion.outcome(into, every)  # type: ignore[attr-defined]
            raise
        return motion.outcome(into, every)

    def levels(self, n: int) -> tuple[float, ...]:
        """The values of PATIENCE with which n samples make a step one after the other; none if it is made at once."""
        return self.step.patience if n >= _FEWEST_TOGETHER and backend() != "numpy" else ()

    def threads_for(self, n: int, steps: int, asked: int | None) -> int:
        """The number of threads for some steps of n samples: `asked`, or what pays off if that is None."""
        if asked is not None:
            return at_least_one(self.step.name, "threads", asked)
        several = n > batch_lanes().width  # else all are computed side by side
        return default_threads() if several and self.work * n * steps >= _WORTH_SHARING else 1


class RolloutRun:
    """Samples under way. `now` is replaced as a whole: what interrupts a step leaves it as it was before."""

    def __init__(
        self,
        rollout: Rollout,
        state: Mapping[str, Any],
        numbers: Mapping[str, Any],
        batch: Shape,
        made: np.ndarray | None = None,
        caller: str = "",
        separated: bool = True,
    ) -> None:
        step = rollout.step
        state = {**state, PATIENCE: step.patience[-1]} if step.patience else state
        self._rollout, self._name, self._separated = rollout, caller or step.name, separated
        self.batch, flat = as_samples(self._name, {**step.state, **step.numbers}, {**state, **numbers}, batch)
        self.n = math.prod(self.batch)
        self._numbers = [flat[name] for name in step.numbers]
        if separated and self._numbers:
            self._numbers = rollout.precompute(self._numbers)
        self._places = {name: (k, (*self.batch, *shape)) for k, (name, shape) in enumerate(step.state.items())}
        behind = np.zeros(self.n) if made is None else np.broadcast_to(np.asarray(made, float), self.n)
        first = int(behind.min(initial=np.inf)) if self.n else 0
        self.now = Now([flat[name] for name in step.state], np.full(self.n, float(RUNNING)), behind, first)
        self._held: _HeldSteps | None = None

    @property
    def several(self) -> int:
        """Steps that take some milliseconds, so that what happens meanwhile need not wait long."""
        return self._rollout.several(self.n)

    @property
    def state(self) -> dict[str, np.ndarray]:
        """The state of every sample, by name."""
        return {name: self.part(name) for name in self._places}

    def part(self, name: str) -> np.ndarray:
        """A part of the state of every sample."""
        place, shape = self._places[name]
        return self.now.state[place].reshape(shape)

    @property
    def state_shapes(self) -> Mapping[str, Shape]:
        """The core shapes of the parts of the state, by name."""
        return self._rollout.step.state

    @property
    def record_shapes(self) -> Mapping[str, Shape]:
        """The core shapes of all that can be recorded, by name."""
        return {**self._rollout.step.state, **self._rollout.step.records}

    @property
    def control_shapes(self) -> Mapping[str, Shape]:
        """The core shapes of the controls that are given, by name."""
        return self._rollout.step.controls

    def room(self, names: Sequence[str], rows: int) -> dict[str, np.ndarray]:
        """Arrays for records, (n, rows, *shape) each."""
        shapes = self.record_shapes
        for name in names:
            if name not in shapes:
                raise ArgumentError(f"{self._name} has no result {name!r} to record; known: {', '.join(shapes)}")
        return {name: np.empty((self.n, rows, *shapes[name])) for name in names}

    def rows(self, controls: Mapping[str, np.ndarray], least: int) -> list[np.ndarray]:
        """Controls (..., rows, *shape) as (n, rows, *shape), in the order of the step; at least `least` rows."""
        arrays = []
        for name, shape in self._rollout.step.controls.items():
            if name not in controls:
                raise ArgumentError(f"{self._name}: no controls {name!r} were given")
            array = controls[name]
            there = array.shape[array.ndim - len(shape) - 1]
            if there < least:
                raise ArgumentError(f"{self._name}: {name} has {there} rows, the steps asked for need {least}")
            arrays.append(_samples(array, (there, *shape), self.batch))
        return arrays

    def advance(
        self,
        steps: int,
        controls: Sequence[np.ndarray] = (),
        records: Mapping[str, np.ndarray] | None = None,
        *,
        hold: int = 1,
        every: int = 1,
        first_control: int = 0,
        first_record: int = 0,
        threads: int | None = None,
    ) -> None:
        """Make some steps. Row k of `controls` (from `rows`) is that of steps k hold ... since the start of the motion
        (with hold=ALWAYS there is one row); row k of `records` (from `room`) is taken after step (k + 1) every. The
        arrays begin with the rows `first_control` and `first_record`.

        Calls with hold=ALWAYS and the same arrays again and again have little to do around them: controls are written
        into these arrays, and states go from one set of arrays to another and back. Who wants to keep one copies it.
        """
        records = {} if records is None else records
        levels = self._rollout.levels(self.n)
        if hold == ALWAYS and not first_record and self.n and not levels:
            held = self._held
            if held is None or not held.is_for(controls, records, every):
                self._held = _HeldSteps(controls, records, every)
            elif held.advance(self, steps, threads):
                return
        now, row = self.now, self.now.steps // hold - first_control
        request = Request(steps, now.steps, hold, every, first_record)
        after = [*(np.empty_like(x, order="C", subok=False) for x in now.state), np.empty(self.n), np.empty(self.n)]
        brought = [*now.state, *self._numbers, now.status, now.made]
        rows, into, count = [x[:, row:] for x in controls], list(records.values()), self.threads_for(steps, threads)
        if levels:
            advance_patiently(self._runner(records), levels, request, brought, rows, after, into, count)
        elif self.n:
            self._runner(records).run(request, brought, rows, after, into, count)
        self.now = Now(after[:-2], after[-2], after[-1], now.steps + steps)

    def _runner(self, records: Mapping[str, np.ndarray]) -> Any:
        return self._rollout.runner(self.n == 1, tuple(records), self._separated)

    def threads_for(self, steps: int, asked: int | None) -> int:
        """The number of threads for some steps: `asked`, or what pays off if that is None."""
        return self._rollout.threads_for(self.n, steps, asked)

    def bind_arrays(
        self, sets: Sequence[list[np.ndarray]], controls: Sequence[np.ndarray], records: Mapping[str, np.ndarray]
    ) -> list[Any]:
        """Steps from the first of two sets of arrays, of states, status and steps made, to the second, and back, which
        stay where they are; none where steps are interpreted.
        """
        laid = getattr(self._runner(records), "bind_arrays", None)
        before = [[*x[:-2], *self._numbers, *x[-2:]] for x in sets]
        directions = zip(before, sets[::-1], strict=True)
        return [] if laid is None else [laid(a, controls, b, list(records.values())) for a, b in directions]

    def outcome(self, records: Mapping[str, np.ndarray], every: int) -> Rolled:
        """The outcome of the motion so far."""
        return outcome(self.now, self.state, self.batch, records, every)


class _HeldSteps:
    """A few steps of samples at a time, again and again, with controls that are held for a call: arrays stay where they
    are.
    """

    def __init__(self, controls: Sequence[np.ndarray], records: Mapping[str, np.ndarray], every: int) -> None:
        self._controls, self._records, self._every = [*controls], records, every
        self._sets: list[list[np.ndarray]] = []
        self._there: list[Any] = []
        self._last: Now | None = None
        self._turn = 0

    def is_for(self, controls: Sequence[np.ndarray], records: Mapping[str, np.ndarray], every: int) -> bool:
        """Whether it is about these arrays."""
        return records is self._records and every == self._every and all(map(is_, controls, self._controls))

    def advance(self, samples: RolloutRun, steps: int, threads: int | None) -> bool:
        """Make some steps, unless they are interpreted."""
        now = samples.now
        if not self._sets:
            self._sets = [
                [np.empty_like(x, order="C", subok=False) for x in (*now.state, now.status, now.made)] for _ in range(2)
            ]
            self._there = samples.bind_arrays(self._sets, self._controls, self._records)
        if not self._there:
            return False
        if now is not self._last:
            self._turn = 0
            for mine, x in zip(self._sets[0], (*now.state, now.status, now.made), strict=True):
                mine[...] = x
        request = Request(steps, now.steps, ALWAYS, self._every, 0)
        self._there[self._turn].run(request, samples.threads_for(steps, threads))
        self._turn = 1 - self._turn
        *state, status, made = self._sets[self._turn]
        samples.now = self._last = Now(state, status, made, now.steps + steps)
        return True


def outcome(
    now: Any, state: dict[str, np.ndarray], batch: Shape, records: Mapping[str, np.ndarray], every: int
) -> Rolled:
    """The outcome of a motion so far: records (n, rows, ...) with the leading axes of its batch, and NaN where a sample
    had ended. `now` has `status`, `made` and `steps` as `Now` has them.
    """
    rows, ended = now.steps // every, now.status != RUNNING
    late = (np.arange(1, rows + 1) * every)[None] > now.made[ended, None]
    recorded = {}
    for name, whole in records.items():
        array = whole[:, :rows]
        if ended.any():
            array[ended] = np.where(late.reshape(*late.shape, *[1] * (array.ndim - 2)), np.nan, array[ended])
        recorded[name] = array.reshape((*batch, *array.shape[1:]))
    made, status = (x.reshape(batch) for x in (now.made, now.status))
    return Rolled(state, recorded, now.steps, made.astype(int), status == DIVERGED, status == STOPPED)


def as_samples(
    owner: str, shapes: Mapping[str, Shape], given: Mapping[str, Any], batch: Shape
) -> tuple[Shape, dict[str, np.ndarray]]:
    """The leading axes of arrays (..., *shape), which have at least those of `batch`, and the arrays (n, *shape)."""
    arrays = {name: np.asarray(x, float) for name, x in given.items()}
    whole = _broadcast(owner, _leading(owner, shapes, arrays, 0), batch)
    return whole, {name: _samples(arrays[name], shape, whole) for name, shape in shapes.items()}


def _samples(array: np.ndarray, core: Shape, batch: Shape) -> np.ndarray:
    """An array with one axis for the samples of a batch before its core ones."""
    wide = np.broadcast_to(array, (*batch, *array.shape[array.ndim - len(core) :]))
    return np.require(wide.reshape(math.prod(batch), *wide.shape[len(batch) :]), requirements="A")


def _broadcast(owner: str, *shapes: Shape) -> Shape:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ArgumentError(f"{owner}: leading axes {', '.join(map(str, shapes))} do not fit together") from None


def _leading(owner: str, shapes: Mapping[str, Shape], arrays: Mapping[str, np.ndarray], rows: int) -> Shape:
    """The leading axes of arrays (..., *shape), or (..., rows, *shape), together."""
    for name in arrays:
        if name not in shapes:
            raise ArgumentError(f"{owner}: there is no {name!r}; expected {', '.join(shapes) or 'none'}")
    leading_shapes = []
    for name, core in shapes.items():
        if name not in arrays:
            raise ArgumentError(f"{owner}: {name!r} is missing; expected {', '.join(shapes)}")
        shape = arrays[name].shape
        leading_axes = len(shape) - len(core)
        if leading_axes < rows or shape[leading_axes:] != core:
            expected = ", ".join(["...", *["rows"] * rows, *map(str, core)])
            raise ArgumentError(f"{owner}: {name} must have shape ({expected}), got {shape}")
        leading_shapes.append(shape[: leading_axes - rows])
    return _broadcast(owner, *leading_shapes)


def held_control(since: Any, new: Vec, old: Vec) -> Vec:
    """Controls of a zero-order hold within a step: new ones where a period begins, `since` being the number of steps
    since its start.
    """
    is_new = since < 0.5
    return Vec([select(is_new, x, y) for x, y in zip(new, old, strict=True)])


def steps_since(since: Any, period: float) -> Any:
    """The number of steps since the start of a period (steps), after one more."""
    return select(since + 1.0 < period - 0.5, since + 1.0, 0.0)
