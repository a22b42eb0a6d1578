"""`ControlledMotion`: samples that advance under controls, and what is recorded of them.

The samples are those of a rollout in machine code (`functions.rollout.RolloutRun`); of a robot whose loops are solved
while it moves each may be followed in velocities of its own (`loops.charted_run.ChartedRun`); where Python is asked for
forces in every pass of a step it makes the steps (`runge_kutta.PythonSamples`). All have `now` (status, made, steps),
`batch`, `n`, `several`, `state_shapes`, `record_shapes`, `control_shapes`, `rows`, `part` and `advance`.

Controls are joint forces `tau`, controls `u` of actuators and wrenches `f_ext` on bodies. Each is an array
(..., rows, size) with a row for every `hold` steps, a function (t, q, v) of Python that is asked once per period, or a
traced function, which is part of the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import memory
from ...compile.rollout_loop import DIVERGED, RUNNING
from ...contact.step_rollout import DRIVEN
from ...errors import ArgumentError
from ...functions.rollout import ALWAYS
from ...system.system import System
from ..robot.runge_kutta_step import Traced, control_sizes
from .read_arguments import MotionRequest, read_answer, read_control

if TYPE_CHECKING:
    from .run import Run

_BYTES = 8  # of a number
_ADDRESSES = 2.0**62  # bytes that arrays can have


class NotFinite:
    """The first of the user's forces or controls that was not finite at a finite state."""

    def __init__(self) -> None:
        self._first: tuple[float, str] | None = None

    def look(self, name: str, t: float, x: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """x (..., size) at time t and state q, v (..., nq and nv), returned as it is."""
        if not np.isfinite(x).all():
            valid = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
            if np.any(valid & ~np.isfinite(x).all(axis=-1)):
                self._note(name, t)
        return x

    def look_at_rows(self, name: str, x: np.ndarray, period: float) -> None:
        """Controls x (..., rows, size), of which each row acts for a period (s)."""
        rows = x.shape[-2]
        whole = np.isfinite(x).all(axis=-1).reshape(-1, rows).all(axis=0)
        if not whole.all():
            self._note(name, int(np.argmin(whole)) * period)

    def _note(self, name: str, t: float) -> None:
        if self._first is None or t < self._first[0]:
            self._first = (t, name)

    def reason(self) -> str | None:
        """A message about what was not finite, and when; None if everything was finite."""
        if self._first is None:
            return None
        return f"{self._first[1]} was NaN or infinite at t = {self._first[0]:.6g} s, where q and v were finite"


class MotionControls:
    """The controls of a motion by name, and the values that samples hold."""

    def __init__(self, caller: str, robot: System, steps: int, hold: int, **given: Any) -> None:
        self.caller, self.robot, self.hold = caller, robot, hold
        rows = -(-steps // hold)
        read = {name: read_control(caller, robot, x, rows, name) for name, x in given.items() if x is not None}
        self.every: dict[str, Any] = read
        self.arrays = {name: x for name, x in read.items() if isinstance(x, np.ndarray)}
        self.traced = {name: x for name, x in read.items() if isinstance(x, Traced)}
        self.functions = {name: x for name, x in read.items() if name not in self.arrays and name not in self.traced}
        self.not_finite = NotFinite()
        self.rows: list[np.ndarray] = []  # (n, rows, *shape), in the order of the step
        self._sizes = control_sizes(robot) if self.functions else {}
        self._targets: dict[
            str, np.ndarray
        ] = {}  # those of the period that runs, (..., size), where functions are asked
        self._recorded, self._kept = 0, dict[int, dict[str, np.ndarray]]()

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of all arrays."""
        return np.broadcast_shapes(*(x.shape[:-2] for x in self.arrays.values()))

    @property
    def period(self) -> int:
        """The steps for which a row acts, as a motion of samples takes it."""
        return self.hold if self.arrays and not self.functions else ALWAYS

    def attach(self, samples: Any, recorded: int = 0) -> None:
        """Put the rows into the order of samples. Answers of functions are kept for states after every `recorded`
        steps, if that is not zero.
        """
        shapes, batch, driven = samples.control_shapes, samples.batch, float("u" in self.every)
        self._recorded, self._kept = recorded, {}
        if self.functions:
            self.rows = [np.zeros((samples.n, 1, *shape)) for shape in shapes.values()]
            both = zip(shapes.items(), self.rows, strict=True)
            self._targets = {name: x.reshape((*batch, *shape)) for (name, shape), x in both}
            if DRIVEN in shapes:
                self._targets[DRIVEN][...] = driven
            return
        count = next((x.shape[-2] for x in self.arrays.values()), 1)
        still = {name: np.broadcast_to(0.0, (count, *shape)) for name, shape in shapes.items()}
        still |= {DRIVEN: np.broadcast_to(driven, (count,))} if DRIVEN in shapes else {}
        self.rows = samples.rows(still | self.arrays, count)

    def ask(self, samples: Any, dt: float) -> int:
        """Ask functions for the controls of a period where it begins; the steps that are left of it."""
        if not self.functions:
            return ALWAYS
        number = samples.now.steps
        if number % self.hold == 0:
            t, q, v = number * dt, samples.part("q"), samples.part("v")
            answers = {name: self._answer(name, t, q, v) for name in self.functions}
            rows = {name: x[..., number // self.hold, :] for name, x in self.arrays.items()}
            for name, x in {**rows, **answers}.items():
                self._targets[name][...] = self.not_finite.look(name, t, x, q, v)
            self._keep(number // self.hold, answers)
        return self.hold - number % self.hold

    def _answer(self, name: str, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The result of a user's function at a state, checked."""
        size = self._sizes[name]
        try:
            return read_answer(self.caller, q.shape[:-1], self.functions[name](t, q, v), name, size)
        except (TypeError, ValueError, OverflowError) as error:
            error.add_note(f"{name}(t, q, v) at t = {t:.6g} s, expected an array {(size,)}")
            raise

    def _keep(self, period: int, answers: Mapping[str, np.ndarray]) -> None:
        if not self._recorded:
            return
        self._kept[period] = {name: x.copy() for name, x in answers.items()}
        begin = (period - 2) * self.hold  # what the last state may need, wherever the motion ends, is later
        if (begin + self.hold) // self._recorded == begin // self._recorded:
            self._kept.pop(period - 2, None)

    def at(self, name: str, number: int) -> np.ndarray:
        """The control (..., size) of a step, of an array or a function."""
        if name in self.arrays:
            return self.arrays[name][..., number // self.hold, :]
        return self._kept[number // self.hold][name]

    def acting(self, samples: Any, ids: Any, number: int) -> dict[str, np.ndarray]:
        """The controls (m, size) of some samples in a step, by name, but those that are traced."""
        row = 0 if self.period == ALWAYS else number // self.hold
        return {
            name: x[ids, min(row, x.shape[1] - 1)] for name, x in zip(samples.control_shapes, self.rows, strict=True)
        }

    def look_at_rows(self, dt: float) -> None:
        """Note the first row of the arrays that is not finite."""
        for name, x in self.arrays.items():
            self.not_finite.look_at_rows(name, x, self.hold * dt)


def force_of_controls(robot: Any, q: np.ndarray, v: np.ndarray, acting: Mapping[str, np.ndarray]) -> Any:
    """Joint forces (..., nv) of controls (..., size) by name, of actuators and wrenches too; zero if there are none."""
    total: Any = acting.get("tau", 0.0)
    if "u" in acting:
        total = total + robot.control_force(q, v, acting["u"])
    if "f_ext" in acting:
        flat = acting["f_ext"]
        total = total + robot.generalized_force(q, flat.reshape(*flat.shape[:-1], -1, 6))
    return total


class ControlledMotion:
    """A motion under way. `first` is the row of the start of what is recorded, by name, zero where it is left out."""

    ends_early = False  # where no sample moves any more

    def __init__(
        self,
        request: MotionRequest,
        samples: Any,
        controls: MotionControls,
        names: Sequence[str],
        first: Mapping[str, Any],
    ) -> None:
        self.request, self.samples, self.controls = request, samples, controls
        self.dt, self.steps, self.every = request.dt, request.steps, request.every
        shapes, n, whole = samples.record_shapes, samples.n, self.steps // self.every
        check_room(request.caller, self.steps, self.every, n * sum(math.prod(shapes[name]) for name in names))
        count = 1 + -(-self.steps // self.every)  # of rows: the start, and the end if it is none of the others
        self._rows = {name: np.empty((count, n, *shapes[name])) for name in names}
        for name, x in self._rows.items():
            x[0] = np.broadcast_to(first.get(name, 0.0), (*samples.batch, *shapes[name])).reshape(n, *shapes[name])
        self._into = {name: x[1 : 1 + whole].swapaxes(0, 1) for name, x in self._rows.items()}
        self._tail = {name: x[1 + whole :].swapaxes(0, 1) for name, x in self._rows.items()}
        controls.attach(samples, self.every)

    @property
    def t(self) -> float:
        """The time that was reached (s)."""
        return self.samples.now.steps * self.dt

    @property
    def is_over(self) -> bool:
        """Whether no sample moves any more."""
        return self.ends_early and not (self.samples.now.status == RUNNING).any()

    @property
    def step_counts(self) -> np.ndarray:
        """The number of steps that each sample (...) made."""
        return self.samples.now.made.reshape(self.samples.batch).astype(int)

    @property
    def diverged(self) -> np.ndarray:
        """Which samples (...) have diverged."""
        return (self.samples.now.status == DIVERGED).reshape(self.samples.batch)

    def run(self) -> Run:
        """Make all steps. An error that ends them has the states so far."""
        request = self.request
        with attach_states(request.caller, lambda: self.t, self.result_so_far):
            for k in (self.steps - 1,) if request.progress is None else request.progress(range(self.steps)):
                self.reach(k + 1)
                if self.is_over:
                    break
            self.finish()
        run = self.result()
        self.warn_of(run)
        return run

    def reach(self, step: int) -> None:
        """Come at least to a step."""
        samples, controls, whole = self.samples, self.controls, self.steps - self.steps % self.every
        while (done := samples.now.steps) < step and not self.is_over:
            count = min(samples.several, self.steps - done, controls.ask(samples, self.dt))
            before = max(0, min(count, whole - done))
            for some, into, every in ((before, self._into, self.every), (count - before, self._tail, self.steps)):
                if some:
                    samples.advance(some, controls.rows, into, hold=controls.period, every=every,
                                    threads=self.request.threads)  # fmt: skip

    def records(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The times, and what was recorded (rows, ..., *shape) by name, so far; NaN where a sample had ended. The state
        that was reached is among them if all that is recorded are parts of the state.
        """
        now, batch = self.samples.now, self.samples.batch
        done = int(now.made.max(initial=0)) if self.is_over and self.samples.n else now.steps
        count, last = 1 + done // self.every, done % self.every
        if last and done < self.steps and self._rows.keys() <= self.samples.state_shapes.keys():
            for name, rows in self._rows.items():
                part = self.samples.part(name)
                rows[count] = part.reshape(rows.shape[1:])
        elif last and done < self.steps:
            last = 0
        count += bool(last)
        numbers = np.minimum(np.arange(count) * self.every, done)
        if (now.status != RUNNING).any():
            gone = (numbers[:, None] > now.made) & (now.status != RUNNING)
            for rows in self._rows.values():
                rows[:count][gone] = np.nan
        return numbers * self.dt, {
            name: x[:count].reshape(count, *batch, *x.shape[2:]) for name, x in self._rows.items()
        }

    # What a robot alone and a scene do each in their own way.

    def finish(self) -> None:
        """Look for the reason where samples ended before their time."""

    def result(self) -> Run:
        """The motion so far."""
        raise NotImplementedError

    def result_so_far(self, error: BaseException) -> Run:
        """The motion before an error."""
        return self.result()

    def warn_of(self, run: Run) -> None:
        """Warn of what went wrong."""


def check_room(caller: str, steps: int, every: int, numbers: int) -> None:
    """Refuse a motion whose records, of `numbers` each, are larger than the memory of this machine."""
    records, available = 2 + steps // every, memory()
    needed = float(records) * _BYTES * numbers
    if needed <= min(available, _ADDRESSES):
        return
    has = f"this machine has {_gigabytes(available)}" if available < needed else "no machine has that much"
    fitting = 0.1 * min(available, _ADDRESSES) / (_BYTES * numbers)
    exponent = max(1, math.ceil(math.log10(float(steps) / fitting)))
    raise ArgumentError(
        f"{caller}: {steps:.4g} steps with a record of every {_ordinal(every)} are {records:.4g} records, which need "
        f"{_gigabytes(needed)} of memory; {has}. Record fewer of them, such as every=10**{exponent}, or simulate a "
        "shorter time or fewer samples"
    )


def _gigabytes(x: float) -> str:
    return f"{x / 1e9:.3g} GB"


def _ordinal(every: int) -> str:
    return "one" if every == 1 else f"{every}th"


@contextmanager
def attach_states(caller: str, time: Callable[[], float], run: Callable[[BaseException], Any]) -> Iterator[None]:
    """Attach `run(error)`, the motion up to the time that was reached (s), to an error or interrupt that ends it."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        error.run = run(error)  # type: ignore[attr-defined]
        error.add_note(f"{caller}: at t = {time():.6g} s; the states so far are in the error's attribute 'run'")
        raise
